/*
 * unix_groups.h: the system's groups, as `getent group` and `getent passwd` print them: what NSS knows, LDAP and SSSD
 * included. Pure: who runs getent is the hub's business, since a name service may take its time.
 */
#pragma once

#include "base/mem.h"
#include "base/opt.h"
#include "base/str.h"

#define UNIX_GROUPS_MAX  4096
#define UNIX_MEMBERS_MAX 100000

struct unix_group {
    const char *name;
    int64_t gid;
    size_t n, cap;
    const char **logins; /* members, and those whose own group it is; one may be there twice */
};

struct unix_groups {
    struct arena arena;
    size_t n, cap, members;
    struct unix_group *v;
};
/* Lines that are none, and names that cannot be, are passed over; so is what is beyond the limits. */
void unix_groups_add(struct unix_groups *g, struct str getent_group, const struct opt_list *only); /* NULL: all */
void unix_groups_primary(struct unix_groups *g, struct str getent_passwd); /* after the groups */
bool unix_groups_same(const struct unix_groups *a, const struct unix_groups *b);
void unix_groups_fini(struct unix_groups *g);
