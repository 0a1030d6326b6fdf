/*
 * auth.h: makes and compares tokens (model/token.h) and other secrets. It stores nothing. A token is "mst_" id(8) "_"
 * secret(43 base64url characters); only SHA-256 of the secret is kept.
 */
#pragma once

#include "base/err.h"
#include "model/token.h"

#define TOKEN_SPAN_MIN 60000
#define TOKEN_SPAN_MAX (3650 * 86400000ll)
#define TOKEN_USES_MAX 1000000

/* text: the whole secret token, to be shown once. */
void token_new(char id[20], uint8_t hash[32], char text[64]);
bool token_split(struct str text, char id[20], uint8_t hash[32]); /* false: not one of ours */
bool token_match(const struct token *t, const uint8_t hash[32]);  /* constant time; a revoked one never matches */
/* Two secrets that are not tokens of ours, compared without telling how far they agree. */
bool secret_equal(struct str a, struct str b);
void sha256(const void *p, size_t n, uint8_t out[32]);

/* A secret without a name, for cookies and links: 256 random bits as base64url, and the hash to keep of them. */
#define SECRET_MAX 44
void secret_new(char text[SECRET_MAX], uint8_t hash[32]);
int64_t secret_id(const uint8_t hash[32]);           /* the number of the note that has it */
bool secret_hash(struct str text, uint8_t hash[32]); /* false: not of that form */
/* The value of one cookie out of a Cookie header; empty when it is not there. */
struct str cookie_value(struct str header, const char *name);
/* The cookies of a session: over TLS the first, which browsers accept from this host and over TLS alone; else the
 * other. */
#define SESSION_COOKIE_TLS "__Host-muster"
#define SESSION_COOKIE     "muster"
/* The session of a Cookie header; empty if none. Over TLS only by the first name: other hosts of the domain can set the
 * second. */
struct str cookie_session(struct str header, bool tls);
