/* token.h: who has a token, and what for. */
#pragma once

#include "model/fact.h"

enum role {
    ROLE_NONE,
    ROLE_AGENT,
    ROLE_ENROLL,
    ROLE_MEMBER,
    ROLE_ADMIN,
    ROLE_RELAY,
    ROLE_READER,
    ROLE_HUB,
    ROLE_COUNT
};
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
