/*
 * auth.h: tokens, roles, secrets, and who may do what. It stores nothing: looking a token up is a function passed in. A
 * token is "mst_" id(8) "_" secret(43 base64url characters); only SHA-256 of the secret is kept.
 */
#ifndef ACCESS_AUTH_H
#define ACCESS_AUTH_H

#include "base/err.h"
#include "model/fact.h"

enum role { ROLE_NONE, ROLE_AGENT, ROLE_ENROLL, ROLE_MEMBER, ROLE_ADMIN, ROLE_RELAY, ROLE_READER, ROLE_COUNT };
extern const char *const role_words[ROLE_COUNT];
int role_by_word(struct str s); /* or -1; "none" is not a role one can have */

struct token {
    char id[20];
    enum role role;
    char person[64], node[NODE_KEY_MAX]; /* member: whose; agent: which node (empty: bound at first use) */
    uint8_t hash[32];
    bool revoked;
    int64_t expires_ms; /* 0: never. One that has expired is revoked, too */
};

#define TOKEN_SPAN_MIN 60000
#define TOKEN_SPAN_MAX (3650 * 86400000ll)
#define TOKEN_USES_MAX 1000000

/* text: the whole secret token, to be shown once. Role, person and node are the caller's to fill. */
void token_new(struct token *ret, char text[64]);
bool token_split(struct str text, char id[20], uint8_t hash[32]); /* false: not one of ours */
bool token_match(const struct token *t, const uint8_t hash[32]);  /* constant time; a revoked one never matches */
/* Two secrets that are not tokens of ours, compared without telling how far they agree. */
bool secret_equal(struct str a, struct str b);
void sha256(const void *p, size_t n, uint8_t out[32]);

/* A secret without a name, for cookies and links: 256 random bits as base64url, and the hash to keep of them. */
#define SECRET_MAX 44
void secret_new(char text[SECRET_MAX], uint8_t hash[32]);
bool secret_hash(struct str text, uint8_t hash[32]); /* false: not of that form */
/* The value of one cookie out of a Cookie header; empty when it is not there. */
struct str cookie_value(struct str header, const char *name);

/*
 * Host header: loopback names, any address (a page under a foreign name cannot have asked for that), and the names
 * given (shell patterns) are ours; anything else is refused (421). An absent one is the caller's business.
 */
bool host_allowed(struct str host_header, const char *const *names, size_t n);
/* Origin of a write must be the host asked; absent is allowed only for clients that are no browser (no Cookie). */
bool origin_allowed(struct str origin, struct str host_header, bool has_cookie);

#endif
