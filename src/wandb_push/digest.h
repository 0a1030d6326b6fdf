/* digest.h: checksums as W&B writes them. */
#pragma once

#include "base/str.h"

/* In base64, with padding, as in an artifact's manifest. */
#define MD5_BASE64_SIZE 25
const char *md5_base64(struct str s, char out[MD5_BASE64_SIZE]);
#define MD5_HEX_SIZE 33
const char *md5_hex(struct str s, char out[MD5_HEX_SIZE]);
#define SHA256_HEX_SIZE 65
const char *sha256_hex(struct str s, char out[SHA256_HEX_SIZE]);

/*
 * Derives a name of n characters of [a-z0-9] from a text: the same text always has the same name. out has room for n +
 * 1.
 */
const char *digest_name(struct str s, size_t n, char *out);
