/* unix_groups.c: reads lines of group(5) and passwd(5). */
#include "people/unix_groups.h"

#include "base/order.h"
#include "model/fact.h"

#define LOGIN_MAX 63

static void join(struct unix_groups *all, struct unix_group *g, struct str login)
{
    login = str_trim(login);
    if (!name_ok(login, LOGIN_MAX) || all->members >= UNIX_MEMBERS_MAX)
        return;
    VEC_ADD(g->logins, g->n, g->cap, arena_strn(&all->arena, login.p, login.len));
    all->members++;
}

static bool wanted(const struct opt_list *only, struct str name)
{
    return !only || ANY(only->n, i, str_glob(str_of(only->v[i]), name));
}

/* "ml:x:1500:kim,lee" */
void unix_groups_add(struct unix_groups *all, struct str text, const struct opt_list *only)
{
    struct str line, name, password, gid, login;
    int64_t id;
    while (str_line(&text, &line)) {
        if (!str_cut(&line, ':', &name) || !str_cut(&line, ':', &password) || !str_cut(&line, ':', &gid) ||
            !name_ok(name, NAME_MAX_LEN - 1) || !str_int(gid, &id) || !wanted(only, name))
            continue;
        if (all->n >= UNIX_GROUPS_MAX)
            return;
        VEC_ROOM(all->v, all->n, all->cap);
        struct unix_group *g = &all->v[all->n++];
        *g = (struct unix_group){.name = arena_strn(&all->arena, name.p, name.len), .gid = id};
        while (str_cut(&line, ',', &login))
            join(all, g, login);
    }
}

COMPARE(by_gid, struct unix_group *const, ORDER((*x)->gid, (*y)->gid))

/* "kim:x:1004:1500:Kim Doe:/home/kim:/bin/bash" */
void unix_groups_primary(struct unix_groups *all, struct str text)
{
    struct str line, login, skip, gid;
    struct unix_group key = {0}, *want = &key;
    AUTO_FREE struct unix_group **sorted = mem_zero(MAX(all->n, 1u), sizeof(struct unix_group *));
    for (size_t i = 0; i < all->n; i++)
        sorted[i] = &all->v[i];
    qsort(sorted, all->n, sizeof(struct unix_group *), by_gid);
    while (str_line(&text, &line)) {
        if (!str_cut(&line, ':', &login) || !str_cut(&line, ':', &skip) || !str_cut(&line, ':', &skip) ||
            !str_cut(&line, ':', &gid) || !str_int(gid, &key.gid))
            continue;
        struct unix_group **g = bsearch(&want, sorted, all->n, sizeof(struct unix_group *), by_gid);
        if (g)
            join(all, *g, login);
    }
}

bool unix_groups_same(const struct unix_groups *a, const struct unix_groups *b)
{
    bool same = a->n == b->n;
    for (size_t i = 0; same && i < a->n; i++) {
        const struct unix_group *x = &a->v[i], *y = &b->v[i];
        same = strcmp(x->name, y->name) == 0 && x->n == y->n;
        for (size_t k = 0; same && k < x->n; k++)
            same = strcmp(x->logins[k], y->logins[k]) == 0;
    }
    return same;
}

void unix_groups_fini(struct unix_groups *g)
{
    for (size_t i = 0; i < g->n; i++)
        free(g->v[i].logins);
    free(g->v);
    arena_fini(&g->arena);
    *g = (struct unix_groups){0};
}
