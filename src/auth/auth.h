/*
 * auth.h: tokens, roles, browser sessions, who may do what. Pure of storage: look-ups are passed in.
 * A token is "mst_" id(8) "_" secret(43 base64url characters); only SHA-256 of the secret is kept.
 */
#ifndef AUTH_AUTH_H
#define AUTH_AUTH_H

#include "base/err.h"
#include "model/fact.h"

enum role { ROLE_NONE, ROLE_AGENT, ROLE_ENROLL, ROLE_MEMBER, ROLE_ADMIN, ROLE_COUNT };
extern const char *const role_words[ROLE_COUNT];
int role_by_word(struct str s); /* or -1 */

struct token {
    char id[20];
    enum role role;
    char person[64], node[NODE_KEY_MAX]; /* member: whose; agent: which node (empty: bound at first use) */
    uint8_t hash[32];
    bool revoked;
};

/* text: the whole secret token, to be shown once. */
void token_new(struct token *ret, char text[64]);
bool token_split(struct str text, char id[20], uint8_t hash[32]); /* false: not one of ours */
bool token_match(const struct token *t, const uint8_t hash[32]);  /* constant time */

/* Cookie value "id.expiry.mac" for a browser that logged in with a token; key is 32 random bytes kept by the hub. */
void session_new(const uint8_t key[32], const char *token_id, int64_t expires_ms, char out[128]);
bool session_check(const uint8_t key[32], struct str cookie, int64_t now_ms, char token_id[20]);

/* Host header: loopback names and addresses, the addresses listened on, and configured names are ours; anything else is
 * refused (421). */
bool host_allowed(struct str host_header, const char *const *names, size_t n);
/* Origin (or Referer) of a write must be the host asked; absent is allowed only for non-browser clients (no Cookie). */
bool origin_allowed(struct str origin, struct str host_header, bool has_cookie);
/* Address in a list of CIDR blocks, for proxy mode. */
bool address_in(const char *address, const char *const *blocks, size_t n);

#endif
