/* token.c: the names of roles. */
#include "model/token.h"

const char *const role_words[ROLE_COUNT] = {"none", "agent", "enroll", "member", "admin", "relay", "reader", "hub"};

int role_by_word(struct str s)
{
    for (int r = ROLE_AGENT; r < ROLE_COUNT; r++)
        if (str_eq(s, role_words[r]))
            return r;
    return -1;
}
