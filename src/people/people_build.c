/* people_build.c: sorts the lists and merges entries with the same name. */
#include "people/people_build.h"

#include <errno.h>

#include "base/order.h"
#include "people/draft.h"

/* ---- growing ---- */

const char *draft_keep(struct draft *d, struct str s)
{
    return arena_strn(&d->c->arena, s.p, s.len);
}

struct person *draft_person(struct draft *d, struct str name)
{
    VEC_ADD(d->persons, d->n_persons, d->cap_persons, (struct person){.name = draft_keep(d, name)});
    struct person *p = &d->persons[d->n_persons - 1];
    return p;
}

struct draft_group *draft_group(struct draft *d, enum group_kind kind, const char *name)
{
    struct draft_groups *g = &d->groups[kind];
    VEC_ADD(g->v, g->n, g->cap, (struct draft_group){.name = name});
    return &g->v[g->n - 1];
}

void draft_join(struct draft_group *g, const char *name, int64_t from_ms, int64_t until_ms)
{
    VEC_ADD(g->v, g->n, g->cap, (struct member){name, from_ms, until_ms});
}

void draft_join_unix(struct draft *d, struct draft_group *g, const char *unix_group)
{
    const struct unix_groups *all = d->src->groups;
    for (size_t i = 0; all && i < all->n; i++)
        if (strcmp(all->v[i].name, unix_group) == 0)
            for (size_t k = 0; k < all->v[i].n; k++)
                draft_join(g, draft_keep(d, str_of(all->v[i].logins[k])), INT64_MIN, INT64_MAX);
}

void draft_rule(struct draft_rules *r, const char *login, const char *node, const char *person, const struct ynode *at)
{
    VEC_ROOM(r->v, r->n, r->cap);
    r->v[r->n] = (struct draft_rule){{login, node, person}, at, r->n};
    r->n++;
}

/* A copy of a list with the lifetime of the people. */
static void *list_keep(struct draft *d, const void *v, size_t n, size_t size)
{
    void *to = arena_alloc(&d->c->arena, MAX(n, 1u), size);
    if (n && v)
        memcpy(to, v, n * size);
    return to;
}

/* ---- sorting: by the name at the start of each element ---- */

/* By login; those with a node before the one without; then in input order. */
COMPARE(rule_cmp, struct draft_rule,
        strcmp(x->r.login, y->r.login) ?: !x->r.node - !y->r.node ?: ORDER(x->order, y->order))

COMPARE(later_first_cmp, struct draft_rule, strcmp(x->r.login, y->r.login) ?: ORDER(y->order, x->order))

static void rules_keep(struct draft *d, const struct draft_rules *from, struct rules *to)
{
    to->n = from->n;
    to->v = arena_alloc(&d->c->arena, MAX(from->n, 1u), sizeof(*to->v));
    for (size_t i = 0; i < from->n; i++)
        to->v[i] = from->v[i].r;
}

/* One login for two persons is an error, unless the nodes differ. */
static int rules_check(struct draft *d, const struct draft_rules *r, const char *what)
{
    for (size_t i = 1; i < r->n; i++) {
        const struct login_rule *a = &r->v[i - 1].r, *b = &r->v[i].r;
        bool same_node = a->node && b->node ? strcmp(a->node, b->node) == 0 : !a->node && !b->node;
        if (strcmp(a->login, b->login) == 0 && same_node && strcmp(a->person, b->person) != 0)
            return ytree_fail(&d->people, r->v[i].at, d->err, "%s '%s' of '%s' is one of '%s' already", what, b->login,
                              b->person, a->person);
    }
    return 0;
}

static int rules_settle(struct draft *d)
{
    struct people *c = d->c;
    SORT(d->logins.v, d->logins.n, rule_cmp);
    SORT(d->uids.v, d->uids.n, rule_cmp);
    SORT(d->aliases.v, d->aliases.n, later_first_cmp);
    int r = rules_check(d, &d->logins, "login");
    if (r == 0)
        r = rules_check(d, &d->uids, "uid");
    if (r < 0)
        return r;
    rules_keep(d, &d->logins, &c->logins);
    rules_keep(d, &d->patterns, &c->patterns);
    rules_keep(d, &d->uids, &c->uids);
    return 0;
}

static bool has_more(const struct person *p)
{
    return p->full || p->mail || p->slack || p->tell;
}

/* Entries with data first: aliases.csv may contain a person of `people` again. */
COMPARE(person_order, struct person, strcmp(x->name, y->name) ?: has_more(y) - has_more(x))

static void persons_settle(struct draft *d)
{
    struct people *c = d->c;
    SORT(d->persons, d->n_persons, person_order);
    c->persons = arena_alloc(&c->arena, MAX(d->n_persons, 1u), sizeof(*c->persons));
    for (size_t i = 0; i < d->n_persons; i++)
        if (i == 0 || strcmp(d->persons[i].name, d->persons[i - 1].name) != 0)
            c->persons[c->n_persons++] = d->persons[i];
}

/* A list may name a person by a login. */
static const char *resolve(const struct people *c, const char *name)
{
    if (people_find(c, name))
        return name;
    const char *person = people_person(c, NULL, name, -1);
    return person[0] ? person : name;
}

COMPARE(member_cmp, struct member, strcmp(x->name, y->name) ?: ORDER(x->from_ms, y->from_ms))

/* Merges groups with the same name. */
static void groups_settle(struct draft *d, enum group_kind kind)
{
    struct people *c = d->c;
    struct draft_groups *from = &d->groups[kind];
    struct groups *to = &c->groups[kind];
    SORT(from->v, from->n, order_texts);
    to->v = arena_alloc(&c->arena, MAX(from->n, 1u), sizeof(*to->v));
    to->names = arena_alloc(&c->arena, MAX(from->n, 1u), sizeof(*to->names));
    for (size_t i = 0, next; i < from->n; i = next) {
        struct person_group *g = &to->v[to->n];
        size_t n = 0;
        for (next = i; next < from->n && strcmp(from->v[next].name, from->v[i].name) == 0; next++)
            n += from->v[next].n;
        *g = (struct person_group){from->v[i].name, 0, arena_alloc(&c->arena, MAX(n, 1u), sizeof(*g->v))};
        for (size_t k = i; k < next; k++)
            for (size_t m = 0; m < from->v[k].n; m++) {
                g->v[g->n] = from->v[k].v[m];
                g->v[g->n].name = resolve(c, g->v[g->n].name);
                g->n++;
            }
        SORT(g->v, g->n, member_cmp);
        to->names[to->n++] = g->name;
    }
}

static void allotments_keep(struct draft *d)
{
    struct people *c = d->c;

    SORT(d->allotments, d->n_allotments, order_texts);
    c->allotments = arena_alloc(&c->arena, MAX(d->n_allotments, 1u), sizeof(*c->allotments));
    for (size_t i = 0; i < d->n_allotments; i++) {
        struct draft_allotment *from = &d->allotments[i];
        from->a.n_steps = from->steps.n;
        from->a.steps = list_keep(d, from->steps.v, from->steps.n, sizeof(*from->steps.v));
        if (from->steps.n)
            c->allotments[c->n_allotments++] = from->a;
    }
}

static int companies_settle(struct draft *d)
{
    struct people *c = d->c;
    size_t n = d->n_companies;
    struct draft_company *told = d->companies_told;
    SORT(told, n, order_texts);
    c->companies = arena_alloc(&c->arena, MAX(n, 1u), sizeof(*c->companies));
    c->lands = arena_alloc(&c->arena, MAX(n, 1u), sizeof(*c->lands));
    for (size_t i = 0; i < n; i++) {
        if (i && strcmp(told[i].co.name, told[i - 1].co.name) == 0)
            return ytree_fail(told[i].tree, told[i].at, d->err, "company '%s' is defined twice", told[i].co.name);
        struct company *co = &c->companies[c->n_companies];
        *co = told[i].co;
        co->teams = list_keep(d, told[i].teams, co->n_teams, sizeof(*told[i].teams));
        co->n_steps = told[i].steps.n;
        co->steps = list_keep(d, told[i].steps.v, co->n_steps, sizeof(*co->steps));
        c->lands[c->n_companies++] =
            (struct person_group){co->name, told[i].lands.n,
                                  list_keep(d, told[i].lands.v, told[i].lands.n, sizeof(struct member))};
    }
    return 0;
}

struct change_times {
    size_t n, cap;
    int64_t *v;
};

static void moments_of(struct change_times *m, const struct person_group *g)
{
    for (const struct member *x = g->v; x < g->v + g->n; x++) {
        if (x->from_ms != INT64_MIN)
            VEC_ADD(m->v, m->n, m->cap, x->from_ms);
        if (x->until_ms != INT64_MAX)
            VEC_ADD(m->v, m->n, m->cap, x->until_ms);
    }
}

static void changes_settle(struct draft *d)
{
    struct people *c = d->c;
    struct change_times m = {0};
    for (int kind = 0; kind < GROUP_KINDS; kind++)
        for (size_t i = 0; i < c->groups[kind].n; i++)
            moments_of(&m, &c->groups[kind].v[i]);
    for (size_t i = 0; i < c->n_companies; i++)
        moments_of(&m, &c->lands[i]);
    SORT(m.v, m.n, order_numbers);
    for (size_t i = 0; i < m.n; i++)
        if (!i || m.v[i] != m.v[i - 1])
            m.v[c->n_changes++] = m.v[i];
    c->changes = list_keep(d, m.v, c->n_changes, sizeof(*m.v));
    free(m.v);
}

/* ---- remaining settings ---- */

static int ignore_keep(struct draft *d)
{
    const struct opt_list *l = d->src->ignore;
    d->c->ignored = arena_alloc(&d->c->arena, MAX(l ? l->n : 0, 1u), sizeof(*d->c->ignored));
    for (size_t i = 0; l && i < l->n; i++) {
        struct str s = str_trim(str_of(l->v[i]));
        if (!s.len || s.len > PERSON_MAX)
            return err_set(d->err, -EINVAL, "people_ignore: '%.80s' is not a login or a pattern of logins", l->v[i]);
        d->c->ignored[d->c->n_ignored++] = draft_keep(d, s);
    }
    return 0;
}

static bool is_team(const struct opt_list *l, const char *group)
{
    return l && ANY(l->n, i, str_glob(str_of(l->v[i]), str_of(group)));
}

static void unix_teams(struct draft *d)
{
    const struct unix_groups *all = d->src->groups;
    for (size_t i = 0; all && i < all->n; i++)
        if (is_team(d->src->unix_groups, all->v[i].name)) {
            struct draft_group *g = draft_group(d, GROUP_TEAM, draft_keep(d, str_of(all->v[i].name)));
            for (size_t k = 0; k < all->v[i].n; k++)
                draft_join(g, draft_keep(d, str_of(all->v[i].logins[k])), INT64_MIN, INT64_MAX);
        }
}

static int settle(struct draft *d)
{
    struct people *c = d->c;
    int r = rules_settle(d);
    if (r < 0)
        return r;
    for (size_t i = 0; i < d->aliases.n; i++) { /* the name in the last column may be a login */
        struct login_rule *a = &d->aliases.v[i].r;
        a->person = people_person(c, NULL, a->person, -1);
        draft_person(d, str_of(a->person));
    }
    persons_settle(d);
    rules_keep(d, &d->aliases, &c->aliases);
    r = ignore_keep(d);
    if (r == 0)
        r = companies_settle(d);
    for (int kind = 0; r == 0 && kind < GROUP_KINDS; kind++)
        groups_settle(d, (enum group_kind)kind);
    if (r == 0)
        changes_settle(d);
    c->n_wanted = d->n_wanted;
    c->wanted = list_keep(d, d->wanted, d->n_wanted, sizeof(*d->wanted));
    c->n_tags = d->n_tags;
    c->tags = list_keep(d, d->tags, d->n_tags, sizeof(*d->tags));
    allotments_keep(d);
    return r;
}

static void draft_fini(struct draft *d)
{
    struct ytree *trees[] = {&d->people, &d->teams, &d->projects, &d->companies, &d->wandb};
    for (size_t i = 0; i < ARRAY_LEN(trees); i++)
        ytree_fini(trees[i]);
    for (int kind = 0; kind < GROUP_KINDS; kind++) {
        for (size_t i = 0; i < d->groups[kind].n; i++)
            free(d->groups[kind].v[i].v);
        free(d->groups[kind].v);
    }
    for (size_t i = 0; i < d->n_companies; i++)
        FREE_ALL(d->companies_told[i].teams, d->companies_told[i].steps.v, d->companies_told[i].lands.v);
    for (size_t i = 0; i < d->n_allotments; i++)
        free(d->allotments[i].steps.v);
    FREE_ALL(d->allotments, d->companies_told, d->persons, d->logins.v, d->patterns.v, d->uids.v, d->aliases.v,
             d->wanted, d->tags);
}

int people_new(const struct people_src *src, struct people **ret, struct err *err)
{
    struct draft d = {.c = people_empty(), .src = src, .err = err};
    int r = draft_sections(&d);
    if (r == 0 && src->aliases_path)
        r = draft_aliases(&d, src->aliases, src->aliases_path);
    unix_teams(&d);
    if (r == 0)
        r = settle(&d);
    draft_fini(&d);
    if (r < 0)
        people_unref(d.c);
    else
        *ret = d.c;
    return r;
}
