/* identities.c: a table of identities by person, made on first use. */
#include "people/identities.h"

#include "base/buf.h"
#include "base/order.h"

#define ROLL_MAX     65536 /* persons; agents may send any login */
#define GROUPS_SHOWN 16u   /* per person and kind */

struct identities {
    struct people *people;
    int64_t at_ms;
    struct arena arena;
    size_t n, cap;
    struct identity **v; /* by person */
};

struct identities *identities_new(const struct people *c, int64_t at_ms)
{
    return NEW(struct identities, .people = people_ref(c), .at_ms = at_ms);
}

void identities_free(struct identities *r)
{
    if (!r)
        return;
    people_unref(r->people);
    arena_fini(&r->arena);
    FREE_ALL(r->v, r);
}

static struct identity *add(struct identities *r, size_t at, const char *person)
{
    const char *names[GROUPS_SHOWN];
    struct identity *who = arena_alloc(&r->arena, 1, sizeof(*who));
    who->person = arena_str(&r->arena, person);
    for (int kind = 0; kind < GROUP_KINDS; kind++) {
        AUTO_BUF b = BUF_INIT((size_t)GROUPS_SHOWN * 256);
        size_t n = people_groups(r->people, (enum group_kind)kind, person, r->at_ms, names, GROUPS_SHOWN);
        for (size_t i = 0; i < MIN(n, GROUPS_SHOWN); i++)
            buf_addf(&b, "%s%s", i ? "\n" : "", names[i]);
        who->groups[kind] = b.len ? arena_strn(&r->arena, b.p, b.len) : "";
    }
    VEC_INSERT(r->v, r->n, r->cap, at, who);
    return who;
}

const struct identity *identities_find(struct identities *r, const char *node, const struct proc_fact *f)
{
    const char *person = people_person(r->people, node, f->user, f->uid);
    if (!person[0] && !f->user[0])
        return NULL;
    size_t at = COUNT_BEFORE(r->n, i, strcmp(r->v[i]->person, person) < 0);
    bool met = at < r->n && strcmp(r->v[at]->person, person) == 0;
    if (!met && r->n >= ROLL_MAX)
        return NULL;
    const struct identity *who = met ? r->v[at] : add(r, at, person);
    bool plain = strcmp(person, f->user) == 0 && !who->groups[0][0] && !who->groups[1][0] && !who->groups[2][0];
    return plain ? NULL : who;
}

void identities_node(struct identities *r, struct node_now *n)
{
    for (size_t i = 0; i < n->n_devices; i++)
        for (size_t k = 0; k < n->devices[i].n_procs; k++)
            n->devices[i].procs[k].who = identities_find(r, n->name, n->devices[i].procs[k].fact);
}
