/*
 * sums.c: one pass over the counted hours (or days). Names become numbers once; a row is a key and a period. What the
 * census says of a person is asked once per stretch in which nobody's groups change.
 */
#include "usage/sums.h"

#include <errno.h>
#include <stdlib.h>

#include "base/rand.h"

#define GROUPS_MAX  16
#define PERIODS_MAX 20000
#define MJ_PER_KWH  3600000000ll

/* ---- 64-bit numbers -> numbers ---- */

struct map {
    struct slot {
        uint64_t key;
        uint32_t v; /* 0: empty */
    } * v;
    size_t n, cap;
};

static uint64_t mix(uint64_t x)
{
    x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9u;
    x = (x ^ x >> 27) * 0x94d049bb133111ebu;
    return x ^ x >> 31;
}

/* Where key is or belongs; *ret_new: it was not there, and v is 0 until the caller says what. */
static uint32_t *map_at(struct map *m, uint64_t key, bool *ret_new)
{
    if (2 * (m->n + 1) > m->cap) {
        struct map old = *m;
        m->cap = old.cap ? old.cap * 2 : 256;
        m->v = mem_zero(m->cap, sizeof(*m->v));
        for (size_t i = 0; i < old.cap; i++)
            if (old.v[i].v) {
                size_t at = mix(old.v[i].key) & (m->cap - 1);
                while (m->v[at].v)
                    at = (at + 1) & (m->cap - 1);
                m->v[at] = old.v[i];
            }
        free(old.v);
    }
    size_t at = mix(key) & (m->cap - 1);
    while (m->v[at].v && m->v[at].key != key)
        at = (at + 1) & (m->cap - 1);
    *ret_new = !m->v[at].v;
    m->v[at].key = key;
    m->n += *ret_new;
    return &m->v[at].v;
}

/* ---- rows ---- */

struct line { /* a key in a period */
    uint32_t key, period;
    struct usage_sum s;
    int64_t free_ms, unused_ms, down_ms;
    __int128 cost; /* millionths times ms */
    uint32_t gpus;
};

struct key {
    const char *text; /* NULL: nobody */
    const char *name, *node, *model, *person;
};

struct somebody {
    const char *name; /* "": nobody known, or ignored */
    int64_t until_ms; /* groups are these until then */
    size_t n;
    uint32_t groups[GROUPS_MAX]; /* keys */
    bool wanted;
};

struct sums {
    const struct sums_ask *ask;
    struct arena *mem;
    struct map lines_by, keys_by_ptr, keys_by_text, people_by, seen, models_by;
    struct line *lines;
    size_t n_lines, cap_lines;
    struct key *keys;
    size_t n_keys, cap_keys;
    struct somebody *people;
    size_t n_people, cap_people;
    int64_t *periods; /* beginnings, ascending; one more at the end */
    size_t n_periods, at_period;
    int64_t *prices; /* of models, by number */
    size_t n_models, cap_models;
    struct line total;
    int64_t change_ms; /* of anybody's groups */
    /* of the span at hand */
    const char *node_key, *node_name;
    const struct sums_node *node;
    int64_t at_ms;
    uint32_t period;
    struct job_fact **jobs;
    size_t n_jobs, cap_jobs;
    bool too_much, people_only;
};

static uint32_t key_new(struct sums *s, const char *text)
{
    VEC_ROOM(s->keys, s->n_keys, s->cap_keys);
    s->keys[s->n_keys] = (struct key){.text = text};
    return (uint32_t)s->n_keys++;
}

/* Keys are the same when their text is; NULL is nobody. */
static uint32_t key_of(struct sums *s, const char *text)
{
    bool fresh;
    uint32_t *by_ptr = map_at(&s->keys_by_ptr, (uint64_t)(uintptr_t)text, &fresh);

    if (!fresh)
        return *by_ptr - 1;
    uint64_t hash = text ? fnv64(text, strlen(text)) : 1;
    uint32_t *by_text;
    for (;; hash++) { /* another text of the same hash: the next number */
        by_text = map_at(&s->keys_by_text, hash, &fresh);
        if (fresh || (text && s->keys[*by_text - 1].text ? strcmp(s->keys[*by_text - 1].text, text) == 0
                                                         : text == s->keys[*by_text - 1].text))
            break;
    }
    if (fresh)
        *by_text = key_new(s, text ? arena_strn(s->mem, text, strlen(text)) : NULL) + 1;
    uint32_t key = *by_text - 1;
    *by_ptr = key + 1;
    return key;
}

static struct line *line_of(struct sums *s, uint32_t key)
{
    bool fresh;
    uint32_t *at = map_at(&s->lines_by, (uint64_t)key << 32 | s->period, &fresh);

    if (fresh) {
        if (s->n_lines >= SUMS_ROWS_MAX)
            s->too_much = true;
        VEC_ROOM(s->lines, s->n_lines, s->cap_lines);
        s->lines[s->n_lines++] = (struct line){.key = key, .period = s->period};
        *at = (uint32_t)s->n_lines;
    }
    return &s->lines[*at - 1];
}

/* True the first time this device is seen in that row. */
static bool first_seen(struct sums *s, uint64_t row, const char *device)
{
    bool fresh;
    uint32_t *at = map_at(&s->seen, mix(row + 1) ^ (uint64_t)(uintptr_t)device, &fresh);

    *at = 1;
    return fresh;
}

static int64_t price_of(struct sums *s, const char *model)
{
    bool fresh;
    uint32_t *at = map_at(&s->models_by, (uint64_t)(uintptr_t)model, &fresh);

    if (fresh) {
        VEC_ROOM(s->prices, s->n_models, s->cap_models);
        s->prices[s->n_models++] = s->ask->tariff ? tariff_price(s->ask->tariff, model) : -1;
        *at = (uint32_t)s->n_models;
    }
    return s->prices[*at - 1];
}

static void line_held(struct sums *s, struct line *l, const struct usage_device *d, const struct usage_sum *u)
{
    int64_t price = price_of(s, d->model);

    usage_add(&l->s, u);
    if (price > 0)
        l->cost += (__int128)price * u->held_ms;
    if (l == &s->total ? first_seen(s, UINT64_MAX, d->device)
                       : first_seen(s, (uint64_t)l->key << 32 | l->period, d->device))
        l->gpus++;
}

static void line_rest(struct sums *s, struct line *l, const struct usage_device *d)
{
    l->free_ms += d->free_ms;
    l->unused_ms += d->unused_ms;
    l->down_ms += d->down_ms;
    l->s.mj += d->mj;
    if (l == &s->total ? first_seen(s, UINT64_MAX, d->device)
                       : first_seen(s, (uint64_t)l->key << 32 | l->period, d->device))
        l->gpus++;
}

/* ---- people ---- */

static bool in_group(const struct sums *s, enum group_kind kind, const char *group, const char *person)
{
    return !group || census_in(s->ask->census, kind, group, person, s->at_ms);
}

static void person_groups(struct sums *s, struct somebody *p)
{
    static const enum group_kind kinds[] =
        {[BY_TEAM] = GROUP_TEAM, [BY_PROJECT] = GROUP_PROJECT, [BY_COMPANY] = GROUP_COMPANY};
    const struct sums_ask *a = s->ask;
    const char *names[GROUPS_MAX];

    p->wanted = (!a->person || strcmp(a->person, p->name) == 0) && in_group(s, GROUP_TEAM, a->team, p->name) &&
                in_group(s, GROUP_PROJECT, a->project, p->name) && in_group(s, GROUP_COMPANY, a->company, p->name);
    p->n = 0;
    p->until_ms = s->change_ms;
    if (a->by == BY_PERSON) {
        p->groups[p->n++] = key_of(s, p->name[0] ? p->name : NULL);
        return;
    }
    if (a->by < BY_TEAM || a->by > BY_COMPANY)
        return;
    size_t n = p->name[0] ? census_groups(a->census, kinds[a->by], p->name, s->at_ms, names, GROUPS_MAX) : 0;
    for (size_t i = 0; i < MIN(n, (size_t)GROUPS_MAX); i++)
        p->groups[p->n++] = key_of(s, names[i]);
}

static struct somebody *person_of(struct sums *s, const char *login)
{
    bool fresh;
    uint32_t *at = map_at(&s->people_by, mix((uint64_t)(uintptr_t)s->node_key) ^ (uint64_t)(uintptr_t)login, &fresh);

    if (fresh) {
        const char *name = census_person(s->ask->census, s->node_name, login, -1);
        VEC_ROOM(s->people, s->n_people, s->cap_people);
        s->people[s->n_people++] =
            (struct somebody){.name = arena_strn(s->mem, name, strlen(name)), .until_ms = INT64_MIN};
        *at = (uint32_t)s->n_people;
    }
    struct somebody *p = &s->people[*at - 1];
    if (p->until_ms <= s->at_ms)
        person_groups(s, p);
    return p;
}

/* ---- jobs: a person's time on a device goes to the jobs he had there then, as far as they reach ---- */

static bool job_on(const struct job_fact *j, const char *node, const char *device, const char *login)
{
    struct str rest = str_of(j->devices), one;

    if (strcmp(j->person, login) != 0 || (j->node[0] && strcmp(j->node, node) != 0))
        return false;
    if (!j->devices[0])
        return j->node[0] != 0;
    while (str_cut(&rest, ',', &one))
        if (str_eq(one, device))
            return true;
    return false;
}

static int64_t scaled(int64_t v, int64_t part, int64_t whole)
{
    return whole > 0 ? (int64_t)((__int128)v * part / whole) : 0;
}

static void take_part(struct usage_sum *from, int64_t part, int64_t whole, struct usage_sum *ret)
{
    *ret = (struct usage_sum){part, scaled(from->busy_ms, part, whole), scaled(from->long_ms, part, whole),
                              scaled(from->mib_s, part, whole), scaled(from->mj, part, whole)};
}

static uint32_t key_of_job(struct sums *s, const struct job_fact *j)
{
    char id[JOB_ID_LEN];
    bool fresh;
    uint32_t *at = map_at(&s->keys_by_ptr, (uint64_t)(uintptr_t)j, &fresh);

    if (fresh) {
        job_id_text(j->id, id);
        uint32_t key = key_new(s, arena_strn(s->mem, id, strlen(id)));
        s->keys[key].name = j->name;
        s->keys[key].person = j->person;
        *at = key + 1;
    }
    return *at - 1;
}

static void held_by_jobs(struct sums *s, const struct usage_span *span, const struct usage_device *d,
                         const struct usage_held *h)
{
    struct usage_sum left = h->s;

    for (size_t i = 0; i < s->n_jobs && left.held_ms > 0; i++) {
        const struct job_fact *j = s->jobs[i];
        int64_t from_ms = MAX(j->start_ms, span->at_ms), to_ms = MIN(j->end_ms ? j->end_ms : INT64_MAX, span->end_ms);
        if (to_ms <= from_ms || !job_on(j, s->node_key, d->device, h->login))
            continue;
        int64_t part = MIN(scaled(h->s.held_ms, to_ms - from_ms, span->end_ms - span->at_ms), left.held_ms);
        struct usage_sum u;
        take_part(&left, part, left.held_ms, &u);
        line_held(s, line_of(s, key_of_job(s, j)), d, &u);
        left.held_ms -= u.held_ms;
        left.busy_ms -= u.busy_ms;
        left.long_ms -= u.long_ms;
        left.mib_s -= u.mib_s;
        left.mj -= u.mj;
    }
    if (left.held_ms > 0)
        line_held(s, line_of(s, key_of(s, NULL)), d, &left);
}

/* ---- a span ---- */

static bool pattern_fits(const char *pattern, const char *text)
{
    return strpbrk(pattern, "*?[") ? str_glob(str_of(pattern), str_of(text)) : strcasestr(text, pattern) != NULL;
}

static bool wants_device(const struct sums *s, const struct usage_device *d)
{
    const struct sums_ask *a = s->ask;

    return (!a->device || strcmp(a->device, d->device) == 0) && (!a->model || pattern_fits(a->model, d->model)) &&
           (!a->keep || a->keep(a->keep_arg, d->device));
}

static bool wants_node(const struct sums *s)
{
    const char *want = s->ask->node;

    return !want || strcmp(want, s->node_key) == 0 || str_glob(str_of(want), str_of(s->node_name));
}

static void name_device(struct sums *s, struct key *k, const struct usage_device *d)
{
    k->node = s->node_name;
    k->model = arena_strn(s->mem, d->model, strlen(d->model));
    for (size_t i = 0; s->node && i < s->node->n; i++) {
        const struct sums_device *x = &s->node->devices[i];
        char text[NAME_MAX_LEN + 32];
        if (strcmp(x->uuid, d->device) != 0)
            continue;
        if (x->mig >= 0)
            snprintf(text, sizeof(text), "%s:%d.%d", s->node_name, (int)x->index, (int)x->mig);
        else
            snprintf(text, sizeof(text), "%s:%d", s->node_name, (int)x->index);
        k->name = arena_strn(s->mem, text, strlen(text));
    }
}

/* The row of a device's own time, where rows are of devices. */
static struct line *own_line(struct sums *s, const struct usage_device *d)
{
    enum usage_by by = s->ask->by;

    if (by == BY_NODE) {
        uint32_t key = key_of(s, s->node_name);
        s->keys[key].node = s->node_name;
        return line_of(s, key);
    }
    if (by == BY_MODEL)
        return line_of(s, key_of(s, d->model));
    if (by != BY_DEVICE)
        return NULL;
    uint32_t key = key_of(s, d->device);
    if (!s->keys[key].node)
        name_device(s, &s->keys[key], d);
    return line_of(s, key);
}

static void add_device(struct sums *s, const struct usage_span *span, const struct usage_device *d)
{
    struct line *own = own_line(s, d);
    const char *company = NULL;

    if (!s->people_only) {
        line_rest(s, &s->total, d);
        if (own)
            line_rest(s, own, d);
    }
    for (size_t k = 0; k < d->n; k++) {
        const struct usage_held *h = &d->held[k];
        const struct somebody *p = person_of(s, h->login);
        if (!p->wanted)
            continue;
        line_held(s, &s->total, d, &h->s);
        if (s->ask->by == BY_JOB) {
            held_by_jobs(s, span, d, h);
            continue;
        }
        if ((own = own_line(s, d))) {
            line_held(s, own, d, &h->s);
            continue;
        }
        if (p->n == 0 && s->ask->by == BY_COMPANY)
            company = census_company_of_node(s->ask->census, s->node_name, s->at_ms);
        for (size_t i = 0; i < MAX(p->n, 1u); i++)
            line_held(s, line_of(s, p->n ? p->groups[i] : key_of(s, company)), d, &h->s);
    }
}

static int take_span(void *arg, const char *node, const struct usage_span *span)
{
    struct sums *s = arg;

    s->at_ms = span->at_ms;
    if (s->at_ms >= s->change_ms || s->change_ms == INT64_MIN)
        s->change_ms = census_next_change(s->ask->census, s->at_ms);
    if (node != s->node_key) {
        s->node_key = node;
        s->node = NULL;
        for (size_t i = 0; i < s->ask->n_nodes && !s->node; i++)
            if (strcmp(s->ask->nodes[i].key, node) == 0)
                s->node = &s->ask->nodes[i];
        s->node_name = s->node ? s->node->name : node;
    }
    if (!wants_node(s))
        return 0;
    if (span->at_ms < s->periods[s->at_period])
        s->at_period = 0;
    while (s->at_period + 1 < s->n_periods && span->at_ms >= s->periods[s->at_period + 1])
        s->at_period++;
    s->period = (uint32_t)s->at_period;
    for (size_t i = 0; i < span->n; i++)
        if (wants_device(s, &span->devices[i]))
            add_device(s, span, &span->devices[i]);
    return s->too_much ? -E2BIG : 0;
}

static void take_job(void *arg, const struct job_fact *j)
{
    struct sums *s = arg;

    VEC_ROOM(s->jobs, s->n_jobs, s->cap_jobs);
    s->jobs[s->n_jobs++] = job_copy(j);
}

/* ---- the table ---- */

static int make_periods(struct sums *s, struct err *err)
{
    const struct sums_ask *a = s->ask;
    size_t cap = 0;

    for (int64_t at_ms = a->from_ms; at_ms < a->to_ms;) {
        int64_t next_ms;
        int64_t from_ms = zone_period(a->zone, a->period, a->week_start, at_ms, &next_ms);
        if (s->n_periods >= PERIODS_MAX)
            return err_set(err, -E2BIG, "that is more than %d %ss: ask for a shorter time, or longer periods",
                           PERIODS_MAX, period_words[a->period]);
        VEC_ROOM(s->periods, s->n_periods, cap);
        s->periods[s->n_periods++] = MAX(from_ms, a->from_ms);
        if (next_ms <= at_ms)
            break;
        at_ms = next_ms;
    }
    return 0;
}

static void row_of(const struct sums *s, const struct line *l, struct usage_row *r)
{
    const struct tariff *t = s->ask->tariff;

    *r = (struct usage_row){.s = l->s,
                            .free_ms = l->free_ms,
                            .unused_ms = l->unused_ms,
                            .down_ms = l->down_ms,
                            .gpus = l->gpus,
                            .cost = (int64_t)((l->cost + 1800000) / 3600000)};
    r->co2_mg = t && t->co2_mg > 0 ? (int64_t)((__int128)l->s.mj * t->co2_mg / MJ_PER_KWH) : 0;
}

static int by_time(const void *x, const void *y)
{
    const struct usage_row *a = x, *b = y;

    if (a->at_ms != b->at_ms)
        return a->at_ms < b->at_ms ? -1 : 1;
    if (a->s.held_ms != b->s.held_ms)
        return a->s.held_ms > b->s.held_ms ? -1 : 1;
    return !a->key || !b->key ? !a->key - !b->key : str_natural(a->key, b->key);
}

static void make_table(const struct sums *s, struct usage_table *t)
{
    const struct sums_ask *a = s->ask;

    t->n = s->n_lines;
    t->v = arena_alloc(s->mem, t->n + 1, sizeof(*t->v));
    for (size_t i = 0; i < t->n; i++) {
        const struct line *l = &s->lines[i];
        const struct key *k = &s->keys[l->key];
        row_of(s, l, &t->v[i]);
        t->v[i].key = k->text;
        t->v[i].name = k->name ? arena_strn(s->mem, k->name, strlen(k->name)) : NULL;
        t->v[i].node = k->node;
        t->v[i].model = k->model;
        t->v[i].person = k->person ? arena_strn(s->mem, k->person, strlen(k->person)) : NULL;
        t->v[i].at_ms = s->periods[l->period];
        zone_period_label(a->zone, a->period, a->week_start, t->v[i].at_ms, t->v[i].label);
    }
    if (t->n)
        qsort(t->v, t->n, sizeof(*t->v), by_time);
    row_of(s, &s->total, &t->total);
    t->total.at_ms = a->from_ms;
    zone_period_label(a->zone, PERIOD_DAY, 0, a->from_ms, t->total.label);
    t->by = a->by;
    t->from_ms = a->from_ms;
    t->to_ms = a->to_ms;
    t->period = period_words[a->period];
    mem_copy_str(t->zone, sizeof(t->zone), zone_name(a->zone));
    t->total_wall = !s->people_only;
    t->has_wall = t->total_wall && (a->by == BY_NODE || a->by == BY_MODEL || a->by == BY_DEVICE);
    t->has_cost = a->tariff && a->tariff->n > 0;
    t->has_co2 = a->tariff && a->tariff->co2_mg >= 0;
    if (a->tariff)
        mem_copy_str(t->currency, sizeof(t->currency), a->tariff->currency);
}

/* Whole days in the middle are read as days. */
static void plan_days(const struct sums *s, struct usage_ask *u)
{
    const struct sums_ask *a = s->ask;

    if (!a->days_zone || a->period == PERIOD_HOUR || a->by == BY_JOB || strcmp(a->days_zone, zone_name(a->zone)) != 0)
        return;
    int32_t first = zone_date(a->zone, a->from_ms), last = zone_date(a->zone, a->to_ms);
    if (zone_date_ms(a->zone, first) < a->from_ms)
        first++;
    u->days_from_ms = zone_date_ms(a->zone, first);
    u->days_to_ms = zone_date_ms(a->zone, last);
    if (u->days_to_ms <= u->days_from_ms)
        u->days_from_ms = u->days_to_ms = 0;
    u->zone = a->days_zone;
}

int sums_run(const struct sums_ask *a, struct arena *mem, struct usage_table *ret, struct err *err)
{
    struct sums s = {.ask = a, .mem = mem, .change_ms = INT64_MIN};
    struct usage_ask u = {.from_ms = a->from_ms, .to_ms = a->to_ms, .stop = a->stop, .stop_arg = a->stop_arg};
    struct job_ask jobs = {.from_ms = a->from_ms,
                           .to_ms = a->to_ms,
                           .limit = SUMS_ROWS_MAX,
                           .stop = a->stop,
                           .stop_arg = a->stop_arg};

    *ret = (struct usage_table){0};
    s.people_only = a->person || a->team || a->project || a->company;
    plan_days(&s, &u);
    int r = make_periods(&s, err);
    if (r == 0 && a->by == BY_JOB)
        r = a->jobs(a->arg, &jobs, take_job, &s, err);
    if (r >= 0)
        r = a->usage(a->arg, &u, take_span, &s, err);
    if (r == -E2BIG && s.too_much)
        err_set(err, r, "that is more than %d rows: ask for a shorter time, or longer periods", SUMS_ROWS_MAX);
    if (r >= 0)
        make_table(&s, ret);
    for (size_t i = 0; i < s.n_jobs; i++)
        free(s.jobs[i]);
    free(s.jobs);
    free(s.lines);
    free(s.keys);
    free(s.people);
    free(s.periods);
    free(s.prices);
    free(s.lines_by.v);
    free(s.keys_by_ptr.v);
    free(s.keys_by_text.v);
    free(s.people_by.v);
    free(s.seen.v);
    free(s.models_by.v);
    return MIN(r, 0);
}
