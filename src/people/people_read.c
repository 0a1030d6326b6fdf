/*
 * people_read.c: reads the sections people, teams, projects and companies (docs/people.md), and the companies of a W&B
 * dashboard's config.yaml. An unknown key is an error in muster.yaml and ignored in config.yaml.
 */
#include <errno.h>

#include "base/buf.h"
#include "base/order.h"
#include "people/draft.h"

#define TAGS_MAX  1000
#define COUNT_MAX 1000000 /* nodes of a company, GPUs of a node: far beyond real numbers */

struct reading {
    struct draft *d;
    const struct ytree *t;
    bool lax;
};

#define fail(rd, at, ...) ytree_fail((rd)->t, (at), (rd)->d->err, __VA_ARGS__)

static int shown(struct str s)
{
    return str_utf8_ok(s) ? (int)MIN(s.len, 60u) : 0;
}

/* ---- values ---- */

static int read_name(struct reading *rd, const struct ynode *at, size_t max, const char *what, const char **ret)
{
    if (at->kind != YNODE_TEXT || at->null || !str_trim(at->text).len)
        return fail(rd, at, "expected %s", what);
    struct str s = str_trim(at->text);
    if (s.len > max || !str_utf8_ok(s))
        return fail(rd, at, "'%.*s' is not %s: expected up to %zu bytes of plain text", shown(s), s.p, what, max);
    *ret = draft_keep(rd->d, s);
    return 0;
}

/* Reads a value into `to`; what: its name for errors. */
typedef int reader(struct reading *rd, const struct ynode *v, const char *what, void *to);

static int read_group_name(struct reading *rd, const struct ynode *v, const char *what, void *to)
{
    return read_name(rd, v, GROUP_MAX, what, to);
}

static int read_text(struct reading *rd, const struct ynode *v, const char *what, void *to)
{
    return v->null ? 0 : read_name(rd, v, 255, what, to);
}

static int read_count(struct reading *rd, const struct ynode *v, const char *what, void *to)
{
    int64_t n;
    if (v->kind != YNODE_TEXT || !str_int(str_trim(v->text), &n) || n < 0 || n > COUNT_MAX)
        return fail(rd, v, "expected %s, a whole number", what);
    *(int32_t *)to = (int32_t)n;
    return 0;
}

static int read_gpus_per_node(struct reading *rd, const struct ynode *v, const char *what, void *to)
{
    int r = read_count(rd, v, what, to);
    return r == 0 && !*(int32_t *)to ? fail(rd, v, "a node has at least one GPU") : r;
}

static int read_day(struct reading *rd, const struct ynode *v, UNUSED const char *what, void *to)
{
    if (v->kind != YNODE_TEXT || !date_parse(str_trim(v->text), to))
        return fail(rd, v, "expected a day, as 2026-01-31");
    return 0;
}

static int read_some_day(struct reading *rd, const struct ynode *v, const char *what, void *to)
{
    return v->null ? 0 : read_day(rd, v, what, to);
}

static int read_flag(struct reading *rd, const struct ynode *v, const char *what, void *to)
{
    return v->null || (v->kind == YNODE_TEXT && str_bool(v->text, to)) ? 0 : fail(rd, v, "expected %s", what);
}

static int64_t midnight(const struct reading *rd, int32_t day)
{
    const struct zone *z = rd->d->src->zone;
    return z ? zone_date_ms(z, day) : (int64_t)day * 86400000;
}

/* One, or a list of them. */
static int each(struct reading *rd, const struct ynode *v, reader *one, const char *what, void *to)
{
    int r = 0;
    if (v->null)
        return 0;
    if (v->kind != YNODE_LIST)
        return one(rd, v, what, to);
    for (size_t i = 0; i < v->n && r == 0; i++)
        r = one(rd, &v->v[i], what, to);
    return r;
}

/* ---- keys ---- */

struct key {
    const char *name;
    reader *read;
    size_t at; /* offset in the struct that read_keys fills */
    const char *what;
    bool list;   /* one, or a list of them */
    bool points; /* the member points to the value to fill */
};

static int read_keys(struct reading *rd, const struct ynode *map, const struct key *keys, size_t n, const char *whose,
                     void *ret)
{
    int r = 0;
    uint32_t seen = 0;
    for (size_t i = 0; i < map->n && r == 0; i++) {
        const struct ynode *key = &map->keys[i];
        size_t k = FIRST(n, j, str_eq(key->text, keys[j].name));
        if (k == n && rd->lax)
            continue;
        if (k == n) {
            AUTO_BUF all = BUF_INIT(300);
            for (size_t j = 0; j < n; j++)
                buf_addf(&all, "%s%s", j ? j + 1 == n ? " and " : ", " : "", keys[j].name);
            return fail(rd, key, "'%.*s' is not known: %s has %s", shown(key->text), key->text.p, whose, all.p);
        }
        if (seen & 1u << k && !rd->lax)
            return fail(rd, key, "'%s' is there twice", keys[k].name);
        seen |= 1u << k;
        void *to = (char *)ret + keys[k].at;
        if (keys[k].points)
            memcpy(&to, to, sizeof(to));
        r = keys[k].list ? each(rd, &map->v[i], keys[k].read, keys[k].what, to)
                         : keys[k].read(rd, &map->v[i], keys[k].what, to);
    }
    return r;
}

COMPARE(key_cmp, struct ynode *const, str_cmp((*x)->text, (*y)->text))

/* Checks that no name occurs twice. */
static int names_once(struct reading *rd, const struct ynode *map)
{
    const struct ynode *found = NULL;
    AUTO_FREE const struct ynode **keys = mem_zero(MAX(map->n, 1u), sizeof(*keys));
    for (size_t i = 0; i < map->n; i++)
        keys[i] = &map->keys[i];
    qsort(keys, map->n, sizeof(*keys), key_cmp);
    for (size_t i = 1; i < map->n && !found; i++)
        if (key_cmp(&keys[i - 1], &keys[i]) == 0)
            found = MAX(keys[i - 1], keys[i]);
    return found ? fail(rd, found, "'%.*s' is there twice", shown(found->text), found->text.p) : 0;
}

/* ---- people ---- */

/* "kim", or "kim@ws*": kim on nodes that match. A login may contain an @, so the whole text is added as a login, too.
 */
static int read_account(struct reading *rd, const struct ynode *v, const char *what, const char *person, bool uid)
{
    struct draft *d = rd->d;
    const char *text;
    int64_t id;
    int r = read_name(rd, v, 255, what, &text);
    if (r < 0)
        return r;
    int at = str_rfind(str_of(text), "@");
    const char *node = at > 0 && text[at + 1] ? text + at + 1 : NULL;
    struct str login = str_n(text, node ? (size_t)at : strlen(text));
    if (login.len > PERSON_MAX)
        return fail(rd, v, "'%.*s' is too long for a login: expected up to %d bytes", shown(login), login.p,
                    PERSON_MAX);
    if (uid && (!str_int(login, &id) || id < 0 || id > UINT32_MAX))
        return fail(rd, v, "'%.*s' is not a uid: expected a number, or NUMBER@NODE", shown(login), login.p);
    const char *name = draft_keep(d, login);
    bool glob = strpbrk(name, "*?[") != NULL;
    draft_rule(uid ? &d->uids : glob ? &d->patterns : &d->logins, name, node, person, v);
    if (!uid && node && !glob && strlen(text) <= PERSON_MAX && !strpbrk(node, "*?["))
        draft_rule(&d->logins, text, NULL, person, v);
    return 0;
}

static int read_login(struct reading *rd, const struct ynode *v, const char *what, void *to)
{
    return read_account(rd, v, what, ((struct person *)to)->name, false);
}

static int read_uid(struct reading *rd, const struct ynode *v, const char *what, void *to)
{
    return read_account(rd, v, what, ((struct person *)to)->name, true);
}

static int add_rule(struct reading *rd, const struct ynode *v, const char *what, void *to)
{
    const char *name = "";
    int r = read_group_name(rd, v, what, &name);

    return r < 0 ? r : buf_addf(to, "%s%s", ((struct buf *)to)->len ? "," : "", name);
}

/* no, yes, or the rules to notify them about */
static int read_tell(struct reading *rd, const struct ynode *v, const char *what, void *to)
{
    struct person *p = to;
    AUTO_BUF b = BUF_INIT(4096);
    bool on;

    if (v->kind == YNODE_TEXT && !v->null && str_bool(str_trim(v->text), &on)) {
        p->tell = on ? NULL : "";
        return 0;
    }
    int r = each(rd, v, add_rule, what, &b);
    if (r == -EMSGSIZE)
        return fail(rd, v, "too many rules");
    if (r == 0)
        p->tell = v->null ? NULL : draft_keep(rd->d, buf_str(&b));
    return r;
}

static int read_people(struct reading *rd, const struct ynode *map)
{
    static const struct key keys[] = {{"logins", read_login, .what = "a login", .list = true},
                                      {"uids", read_uid, .what = "a uid", .list = true},
                                      {"name", read_text, .at = offsetof(struct person, full), .what = "a name"},
                                      {"mail", read_text, .at = offsetof(struct person, mail), .what = "an address"},
                                      {"slack", read_text, .at = offsetof(struct person, slack),
                                       .what = "a name in Slack"},
                                      {"tell", read_tell, .what = "the name of a rule"}};
    if (map->kind != YNODE_MAP)
        return fail(rd, map, "people: expected persons, each with logins under it");
    int r = names_once(rd, map);
    for (size_t i = 0; i < map->n && r == 0; i++) {
        const struct ynode *v = &map->v[i];
        const char *name = "";
        struct person p = {0};
        r = read_name(rd, &map->keys[i], PERSON_MAX, "a person's name", &name);
        if (r < 0)
            return r;
        p.name = name;
        if (v->kind == YNODE_MAP)
            r = read_keys(rd, v, keys, ARRAY_LEN(keys), "a person", &p);
        else if (v->kind == YNODE_LIST)
            r = each(rd, v, read_login, "a login", &p);
        else if (!v->null)
            r = fail(rd, v, "expected logins, uids, name, mail, slack or tell under '%s'", name);
        if (r == 0)
            *draft_person(rd->d, str_of(name)) = p;
    }
    return r;
}

/* ---- assignments ---- */

/* {date: 2026-01-01, assigned_gpu_node: 4} */
static int read_step(struct reading *rd, const struct ynode *v, const char *what, void *ret)
{
    static const struct key keys[] = {{"date", read_day, .at = offsetof(struct company_step, day)},
                                      {"assigned_gpu_node", read_count, .at = offsetof(struct company_step, nodes),
                                       .what = "a number of nodes"}};
    struct draft_steps *to = ret;
    struct company_step s = {INT32_MIN, -1};
    int r = v->kind == YNODE_MAP ? read_keys(rd, v, keys, ARRAY_LEN(keys), what, &s) : 0;
    if (r < 0)
        return r;
    if (s.day == INT32_MIN || s.nodes < 0)
        return fail(rd, v, "expected a step: {date: 2026-01-01, assigned_gpu_node: 4}");
    VEC_ADD(to->v, to->n, to->cap, s);
    return 0;
}

COMPARE(step_cmp, struct company_step, ORDER(x->day, y->day))

/* In order; whose: the owner for errors. */
static int steps_end(struct reading *rd, const struct ynode *at, struct draft_steps *s, const char *whose)
{
    SORT(s->v, s->n, step_cmp);
    for (size_t i = 1; i < s->n; i++)
        if (s->v[i].day == s->v[i - 1].day)
            return fail(rd, at, "the schedule of '%s' has one day twice", whose);
    return 0;
}

/* ---- teams and projects ---- */

struct term {
    const char *name;
    int32_t from, until; /* days, both inclusive; INT32_MIN and INT32_MAX: no limit */
};

/* "kim", or {name: kim, from: 2026-01-01, until: 2026-06-30} */
static int read_term(struct reading *rd, const struct ynode *v, const char *what, void *group)
{
    static const struct key keys[] = {{"name", read_group_name, .at = offsetof(struct term, name), .what = "a name"},
                                      {"from", read_some_day, .at = offsetof(struct term, from)},
                                      {"until", read_some_day, .at = offsetof(struct term, until)}};
    struct term m = {NULL, INT32_MIN, INT32_MAX};
    int r = v->kind == YNODE_MAP ? read_keys(rd, v, keys, ARRAY_LEN(keys), what, &m)
                                 : read_group_name(rd, v, "a name", &m.name);
    if (r < 0)
        return r;
    if (!m.name)
        return fail(rd, v, "expected a name: {name: kim, from: 2026-01-01}");
    if (m.from > m.until)
        return fail(rd, v, "'%s' ends before it begins", m.name);
    draft_join(group, m.name, m.from == INT32_MIN ? INT64_MIN : midnight(rd, m.from),
               m.until == INT32_MAX ? INT64_MAX : midnight(rd, m.until + 1));
    return 0;
}

static int read_unix_group(struct reading *rd, const struct ynode *v, const char *what, void *group)
{
    struct draft *d = rd->d;
    const char *name = "";
    int r = read_group_name(rd, v, what, &name);
    if (r < 0)
        return r;
    if (name[0] == '-')
        return fail(rd, v, "'%s' is not a Unix group", name);
    VEC_ADD(d->wanted, d->n_wanted, d->cap_wanted, name);
    draft_join_unix(d, group, name);
    return 0;
}

struct group_read {
    struct draft_group *to;
    struct draft_allotment assigned; /* of a team */
};

/* [kim, lee], or {members: [kim], ...}; for a team also its assignment. */
static int read_group(struct reading *rd, const struct ynode *v, enum group_kind kind, const char *name)
{
    static const struct key keys[] = {{"members", read_term, .at = offsetof(struct group_read, to), .what = "a member",
                                       .list = true, .points = true},
                                      {"unix_groups", read_unix_group, .at = offsetof(struct group_read, to),
                                       .what = "a Unix group", .list = true, .points = true},
                                      {"schedule", read_step, .at = offsetof(struct group_read, assigned.steps),
                                       .what = "a step", .list = true},
                                      {"gpus_per_node", read_gpus_per_node,
                                       .at = offsetof(struct group_read, assigned.a.gpus_per_node),
                                       .what = "a number of GPUs"}};
    struct draft *d = rd->d;
    struct group_read g = {.to = draft_group(d, kind, name), .assigned = {.a = {.team = name, .gpus_per_node = 8}}};
    if (v->kind != YNODE_MAP)
        return each(rd, v, read_term, "a member", g.to);
    if (kind != GROUP_TEAM)
        return read_keys(rd, v, keys, 2, "it", &g);
    int r = read_keys(rd, v, keys, ARRAY_LEN(keys), "a team", &g);
    if (r == 0)
        r = steps_end(rd, v, &g.assigned.steps, name);
    VEC_ROOM(d->allotments, d->n_allotments, d->cap_allotments);
    d->allotments[d->n_allotments++] = g.assigned; /* also on error: freed with the others */
    return r;
}

static int read_groups(struct reading *rd, const struct ynode *map, enum group_kind kind)
{
    if (map->kind != YNODE_MAP)
        return fail(rd, map, "%ss: expected names, each with a list of members", group_words[kind]);
    int r = names_once(rd, map);
    for (size_t i = 0; i < map->n && r == 0; i++) {
        const char *name = "";
        r = read_group_name(rd, &map->keys[i], "a name", &name);
        if (r == 0)
            r = read_group(rd, &map->v[i], kind, name);
    }
    return r;
}

/* ---- companies ---- */

struct company_read {
    struct draft_company c;
    struct draft_group *members;
};

static int read_team(struct reading *rd, const struct ynode *v, const char *what, void *to)
{
    struct draft_company *c = to;
    const char *name = "";
    int r = read_group_name(rd, v, what, &name);
    if (r < 0)
        return r;
    VEC_ADD(c->teams, c->co.n_teams, c->cap_teams, name);
    return 0;
}

static int read_company(struct reading *rd, const struct ynode *v, const char *name)
{
#define CO(field) offsetof(struct company_read, c.field)
    static const struct key keys[] =
        {{"company", read_group_name, .at = CO(co.name), .what = "a company's name"},
         {"teams", read_team, .what = "a team's name", .list = true},
         {"schedule", read_step, .at = CO(steps), .what = "a step", .list = true},
         {"ignore_project_pattern", read_text, .at = CO(co.ignore_project), .what = "a pattern"},
         {"include_project_pattern", read_text, .at = CO(co.include_project), .what = "a pattern"},
         {"distributed_learning", read_flag, .at = CO(co.world_size), .what = "yes or no"},
         {"gpus_per_node", read_gpus_per_node, .at = CO(co.gpus_per_node), .what = "a number of GPUs"},
         {"nodes", read_term, .at = CO(lands), .what = "a member", .list = true},
         {"members", read_term, .at = offsetof(struct company_read, members), .what = "a member", .list = true,
          .points = true}};
#undef CO
    struct draft *d = rd->d;
    if (v->kind != YNODE_MAP)
        return fail(rd, v, "expected a company: teams, schedule and the like");
    struct company_read to = {.c = {.co = {.name = name, .gpus_per_node = 8}, .at = v, .tree = rd->t},
                              .members = draft_group(d, GROUP_COMPANY, "")};
    int r = read_keys(rd, v, keys, ARRAY_LEN(keys), "a company", &to);
    if (r == 0 && !to.c.co.name)
        r = fail(rd, v, "the company has no name: 'company' is missing");
    if (r == 0) {
        to.members->name = to.c.co.name;
        r = steps_end(rd, v, &to.c.steps, to.c.co.name);
    }
    VEC_ROOM(d->companies_told, d->n_companies, d->cap_companies);
    d->companies_told[d->n_companies++] = to.c; /* also on error: freed with the others */
    return r;
}

/* A list, as in the W&B dashboard, or a map of names. */
static int read_companies(struct reading *rd, const struct ynode *v)
{
    int r = 0;
    if (v->null)
        return 0;
    if (v->kind == YNODE_TEXT)
        return fail(rd, v, "companies: expected a list of companies");
    for (size_t i = 0; i < v->n && r == 0; i++) {
        const char *name = NULL;
        if (v->kind == YNODE_MAP)
            r = read_group_name(rd, &v->keys[i], "a company's name", &name);
        if (r == 0)
            r = read_company(rd, &v->v[i], name);
    }
    return r;
}

/* ---- W&B tags ---- */

/* Reads `ignore_tags`, or `ignore_tag` in older files: a list or one text. Ignores everything that is not text. */
static void read_tags(struct draft *d, const struct ynode *v)
{
    size_t n = !v || v->null ? 0 : v->kind == YNODE_LIST ? v->n : v->kind == YNODE_TEXT;

    for (size_t i = 0; i < n && d->n_tags < TAGS_MAX; i++) {
        const struct ynode *tag = v->kind == YNODE_LIST ? &v->v[i] : v;
        struct str s = str_trim(tag->text);
        if (tag->kind != YNODE_TEXT || tag->null || !s.len || s.len > GROUP_MAX || !str_utf8_ok(s))
            continue;
        VEC_ADD(d->tags, d->n_tags, d->cap_tags, draft_keep(d, s));
    }
}

/* ---- all of them ---- */

static int read_teams(struct reading *rd, const struct ynode *map)
{
    return read_groups(rd, map, GROUP_TEAM);
}

static int read_projects(struct reading *rd, const struct ynode *map)
{
    return read_groups(rd, map, GROUP_PROJECT);
}

static int read_section(struct draft *d, const struct opt_section *s, struct ytree *t,
                        int (*read)(struct reading *rd, const struct ynode *map))
{
    int r = ytree_section(s, NULL, t, d->err);
    return r == 0 && t->root ? read(&(struct reading){d, t, false}, t->root) : r;
}

int draft_sections(struct draft *d)
{
    static const char *const only[] = {"companies", "ignore_tags", "ignore_tag", NULL};
    const struct people_src *src = d->src;
    int r = read_section(d, src->people, &d->people, read_people)
        ?: read_section(d, src->teams, &d->teams, read_teams)
        ?: read_section(d, src->projects, &d->projects, read_projects)
        ?: read_section(d, src->companies, &d->companies, read_companies);
    if (r == 0 && src->wandb_path)
        r = ytree_read(src->wandb, &(struct ytree_params){.path = src->wandb_path, .only = only}, &d->wandb, d->err);
    if (r == 0) {
        read_tags(d, ynode_get(d->wandb.root, "ignore_tags"));
        read_tags(d, ynode_get(d->wandb.root, "ignore_tag"));
    }
    const struct ynode *theirs = r == 0 ? ynode_get(d->wandb.root, "companies") : NULL;
    if (theirs)
        r = read_companies(&(struct reading){d, &d->wandb, true}, theirs);
    else if (r == 0 && src->wandb_path)
        r = err_set(d->err, -EINVAL, "%s: there is no 'companies' in it", src->wandb_path);
    return r;
}
