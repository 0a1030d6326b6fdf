/* token.h: an access token: its owner and role. */
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
int role_by_word(struct str s); /* or -1; "none" is not a valid role */

struct token {
    char id[20];
    enum role role;
    char person[64], node[NODE_KEY_MAX]; /* member: its person; agent: its node (empty: bound at first use) */
    uint8_t hash[32];
    bool revoked;
    int64_t expires_ms; /* 0: never. An expired token is also revoked */
};
