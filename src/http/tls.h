/* tls.h: the hub's certificate: read from files, or made here and kept. */
#pragma once

#include "base/err.h"

struct ssl_ctx_st;

/* Both files are read and checked against each other. The caller ends *ret with SSL_CTX_free. */
int tls_load(const char *cert, const char *key, struct ssl_ctx_st **ret, struct err *err);
/* Make dir/tls.key and dir/tls.crt unless both are there (a key of 256 bits, good for ten years), then load them. */
int tls_own(const char *dir, struct ssl_ctx_st **ret, struct err *err);
/* "sha256//BASE64=" of the public key: what agents and curl pin. */
int tls_pin(struct ssl_ctx_st *tls, char out[64]);
