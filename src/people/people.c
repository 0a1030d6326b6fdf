/* people.c: looks up persons, teams, projects and companies. people_build.c reads them. */
#include "people/people.h"

#include "base/order.h"
#include "base/str.h"
#include "model/fact.h"
#include "people/people_body.h"

const char *const group_words[GROUP_KINDS] = {"team", "project", "company"};

struct people *people_empty(void)
{
    struct people *c = mem_zero(1, sizeof(*c));
    atomic_init(&c->refs, 1);
    return c;
}

struct people *people_ref(const struct people *c)
{
    struct people *own = (struct people *)c; /* only its reference count changes */
    if (own)
        atomic_fetch_add_explicit(&own->refs, 1, memory_order_relaxed);
    return own;
}

void people_unref(struct people *c)
{
    if (!c || atomic_fetch_sub_explicit(&c->refs, 1, memory_order_acq_rel) != 1)
        return;
    arena_fini(&c->arena);
    free(c);
}

bool people_knows(const struct people *c)
{
    return c && (c->logins.n || c->patterns.n || c->uids.n || c->aliases.n || c->n_ignored || c->groups[GROUP_TEAM].n ||
                 c->groups[GROUP_PROJECT].n || c->groups[GROUP_COMPANY].n);
}

/* Binary search in a list whose elements start with their name. */
static const void *find_named(const void *v, size_t n, size_t size, const char *name)
{
    return n ? bsearch(&name, v, n, size, order_texts) : NULL;
}

/* ---- persons ---- */

static bool node_fits(const struct login_rule *r, const char *node)
{
    return !r->node || (node && str_glob(str_of(r->node), str_of(node)));
}

static const char *rules_find(const struct rules *r, const char *node, const char *login)
{
    size_t at = COUNT_BEFORE(r->n, i, strcmp(r->v[i].login, login) < 0);
    for (; at < r->n && strcmp(r->v[at].login, login) == 0; at++)
        if (node_fits(&r->v[at], node))
            return r->v[at].person;
    return NULL;
}

static const char *patterns_find(const struct rules *r, const char *node, const char *login)
{
    const struct login_rule *found =
        FIND(r->v, r->n, x, node_fits(x, node) && str_glob(str_of(x->login), str_of(login)));
    return found ? found->person : NULL;
}

bool alias_fold(struct str s, char out[PERSON_MAX + 1])
{
    size_t n = 0;
    for (size_t i = 0; i < s.len; i++) {
        if (s.p[i] == '+')
            continue;
        if (n == PERSON_MAX)
            return false;
        out[n++] = s.p[i] >= 'A' && s.p[i] <= 'Z' ? (char)(s.p[i] + 32) : s.p[i];
    }
    out[n] = 0;
    return true;
}

static const char *aliases_find(const struct people *c, const char *login)
{
    char low[PERSON_MAX + 1];
    return c->aliases.n && alias_fold(str_of(login), low) ? rules_find(&c->aliases, NULL, low) : NULL;
}

static bool ignores(const struct people *c, const char *login)
{
    return strcmp(login, PROC_GONE) == 0 || (c && ANY(c->n_ignored, i, str_glob(str_of(c->ignored[i]), str_of(login))));
}

/* The person configured for this login or uid; NULL if none. */
static const char *told_of(const struct people *c, const char *node, const char *login, int64_t uid)
{
    char text[24];
    const char *person = NULL;
    if (login[0])
        person = rules_find(&c->logins, node, login) ?: patterns_find(&c->patterns, node, login);
    if (login[0] && !person)
        person = aliases_find(c, login);
    if (person || uid < 0 || !c->uids.n)
        return person;
    snprintf(text, sizeof(text), "%lld", (long long)uid);
    return rules_find(&c->uids, node, text);
}

const char *people_person(const struct people *c, const char *node, const char *login, int64_t uid)
{
    const char *person = c ? told_of(c, node, login, uid) : NULL;
    if (person)
        return person;
    return login[0] && ignores(c, login) ? "" : login;
}

bool people_ignored(const struct people *c, const char *node, const char *login, int64_t uid)
{
    return login[0] && ignores(c, login) && !(c && told_of(c, node, login, uid));
}

const struct person *people_find(const struct people *c, const char *person)
{
    return c ? find_named(c->persons, c->n_persons, sizeof(*c->persons), person) : NULL;
}

bool people_wants(const struct people *c, const char *person, const char *rule)
{
    const struct person *p = people_find(c, person);

    return !p || !p->tell || str_listed(p->tell, str_of(rule));
}

const struct person *people_persons(const struct people *c, size_t *n)
{
    *n = c ? c->n_persons : 0;
    return c ? c->persons : NULL;
}

/* ---- groups ---- */

static const struct person_group *group_find(const struct people *c, enum group_kind kind, const char *name)
{
    const struct groups *g = &c->groups[kind];
    return find_named(g->v, g->n, sizeof(*g->v), name);
}

static bool is_member(const struct person_group *g, const char *name, int64_t at_ms)
{
    size_t lo = COUNT_BEFORE(g->n, i, strcmp(g->v[i].name, name) < 0);
    for (; lo < g->n && strcmp(g->v[lo].name, name) == 0; lo++)
        if (at_ms >= g->v[lo].from_ms && at_ms < g->v[lo].until_ms)
            return true;
    return false;
}

static bool group_has(const struct people *c, enum group_kind kind, const struct person_group *g, const char *person,
                      int64_t at_ms)
{
    if (is_member(g, person, at_ms))
        return true;
    const struct company *co = kind == GROUP_COMPANY ? people_company(c, g->name) : NULL;
    for (size_t i = 0; co && i < co->n_teams; i++) {
        const struct person_group *team = group_find(c, GROUP_TEAM, co->teams[i]);
        if (team && is_member(team, person, at_ms))
            return true;
    }
    return false;
}

size_t people_groups(const struct people *c, enum group_kind kind, const char *person, int64_t at_ms, const char **ret,
                     size_t max)
{
    size_t n = 0;
    for (size_t i = 0; c && i < c->groups[kind].n; i++)
        if (group_has(c, kind, &c->groups[kind].v[i], person, at_ms)) {
            if (n < max)
                ret[n] = c->groups[kind].v[i].name;
            n++;
        }
    return n;
}

bool people_in(const struct people *c, enum group_kind kind, const char *group, const char *person, int64_t at_ms)
{
    const struct person_group *g = c ? group_find(c, kind, group) : NULL;
    return g && group_has(c, kind, g, person, at_ms);
}

const char *const *people_group_names(const struct people *c, enum group_kind kind, size_t *n)
{
    *n = c ? c->groups[kind].n : 0;
    return c ? c->groups[kind].names : NULL;
}

const char *const *people_unix_groups(const struct people *c, size_t *n)
{
    *n = c ? c->n_wanted : 0;
    return c ? c->wanted : NULL;
}

const char *const *people_ignore_tags(const struct people *c, size_t *n)
{
    *n = c ? c->n_tags : 0;
    return c ? c->tags : NULL;
}

int64_t people_next_change(const struct people *c, int64_t at_ms)
{
    size_t lo = COUNT_BEFORE(c ? c->n_changes : 0, i, c->changes[i] <= at_ms);
    return c && lo < c->n_changes ? c->changes[lo] : INT64_MAX;
}

/* ---- companies ---- */

const struct company *people_companies(const struct people *c, size_t *n)
{
    *n = c ? c->n_companies : 0;
    return c ? c->companies : NULL;
}

const struct company *people_company(const struct people *c, const char *name)
{
    return c ? find_named(c->companies, c->n_companies, sizeof(*c->companies), name) : NULL;
}

const char *people_company_of_node(const struct people *c, const char *node, int64_t at_ms)
{
    for (size_t i = 0; c && i < c->n_companies; i++)
        for (size_t k = 0; k < c->lands[i].n; k++) {
            const struct member *m = &c->lands[i].v[k];
            if (at_ms >= m->from_ms && at_ms < m->until_ms && str_glob(str_of(m->name), str_of(node)))
                return c->companies[i].name;
        }
    return NULL;
}

static int32_t nodes_on(const struct company_step *v, size_t n, int32_t day)
{
    int32_t nodes = 0;
    for (size_t i = 0; i < n && v[i].day <= day; i++)
        nodes = v[i].nodes;
    return nodes;
}

int32_t company_nodes_on(const struct company *co, int32_t day)
{
    return nodes_on(co->steps, co->n_steps, day);
}

bool company_counts(const struct company *co, const char *project)
{
    struct str s = str_of(project ? project : "");

    if (co->include_project)
        return str_glob(str_of(co->include_project), s);
    return !co->ignore_project || !str_glob(str_of(co->ignore_project), s);
}

const struct allotment *people_allotments(const struct people *c, size_t *n)
{
    *n = c ? c->n_allotments : 0;
    return *n ? c->allotments : NULL;
}

int32_t allotment_nodes_on(const struct allotment *a, int32_t day)
{
    return nodes_on(a->steps, a->n_steps, day);
}

bool company_period(const struct company *co, int32_t *first, int32_t *end)
{
    if (!co->n_steps)
        return false;
    const struct company_step *last = &co->steps[co->n_steps - 1];
    *first = co->steps[0].day;
    *end = last->nodes ? INT32_MAX : last->day;
    return true;
}
