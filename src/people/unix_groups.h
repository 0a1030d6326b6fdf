/*
 * unix_groups.h: the system's groups, from the output of `getent group` and `getent passwd`, including LDAP and SSSD.
 * Pure: the hub runs getent, since a name service may be slow.
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
    const char **logins; /* members, and users with this primary group; may contain duplicates */
};

struct unix_groups {
    struct arena arena;
    size_t n, cap, members;
    struct unix_group *v;
};
/* Skips invalid lines and names, and data beyond the limits. */
void unix_groups_add(struct unix_groups *g, struct str getent_group, const struct opt_list *only); /* NULL: all */
void unix_groups_primary(struct unix_groups *g, struct str getent_passwd); /* after the groups */
bool unix_groups_same(const struct unix_groups *a, const struct unix_groups *b);
void unix_groups_fini(struct unix_groups *g);
