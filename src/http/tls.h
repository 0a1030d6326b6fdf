/* tls.h: the hub's certificate: read from files, or made here and stored. */
#pragma once

#include "base/err.h"

struct ssl_ctx_st;

/* Reads both files and checks that they match. The caller frees *ret with SSL_CTX_free. */
int tls_load(const char *cert, const char *key, struct ssl_ctx_st **ret, struct err *err);
/* Makes dir/tls.key and dir/tls.crt unless both exist (a key of 256 bits, valid for ten years), then loads them. */
int tls_self_signed(const char *dir, struct ssl_ctx_st **ret, struct err *err);
/* "sha256//BASE64=" of the public key, for agents and curl to pin. */
int tls_pin(struct ssl_ctx_st *tls, char out[64]);
