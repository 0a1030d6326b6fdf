/*
 * sums.c: sums the counted hours (or days) in one pass. Names become numbers once; a row is a key and a period. The
 * groups of a person are read once per period in which no groups change.
 */
#include "usage/sums.h"

#include <errno.h>

#include "base/lookup.h"
#include "base/order.h"
#include "model/now.h"

#define GROUPS_MAX  16
#define PERIODS_MAX 20000
#define SEEN_WORDS  4
#define MJ_PER_KWH  3600000000ll

/* ---- index by address, or another 64 bits ---- */

static uint64_t mix(uint64_t x)
{
    x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9u;
    x = (x ^ x >> 27) * 0x94d049bb133111ebu;
    return x ^ x >> 31;
}

/* The place of what has this key; one that is new gets the next. No two keys mix to the same. */
static size_t place_of(struct lookup *l, uint64_t key, size_t next)
{
    size_t at = 0, place = lookup_next_place(l, mix(key), &at);

    if (place == SIZE_MAX)
        lookup_add_place(l, mix(key), next);
    return MIN(place, next);
}

/* ---- rows ---- */

struct line { /* a key in a period */
    uint32_t key, period;
    struct usage_sum s;
#define WALL(field, ...) int64_t field;
#include "model/usage.def"
    __int128 cost;             /* millionths times ms */
    uint64_t seen[SEEN_WORDS]; /* devices, by number */
    uint32_t more;             /* beyond these */
};

struct key {
    const char *text; /* NULL: user unknown, or (with a name) unowned */
    const char *name, *node, *model, *person;
    uint32_t line; /* index of its newest line plus 1; 0: none */
};

struct somebody {
    const char *name; /* "": unknown or ignored user */
    int64_t until_ms; /* end of the time for which groups are valid */
    size_t n;
    uint32_t groups[GROUPS_MAX]; /* keys */
    bool wanted;
};

struct device {
    uint32_t number;
    int64_t price; /* -1: none */
};

struct node {
    const char *key, *name;
    const struct sums_node *now; /* NULL: unknown now */
    bool wanted;
    uint32_t *people; /* by number of login: place in people, and 1 */
    size_t n_people;
};

struct sums {
    const struct sums_query *ask;
    struct arena *mem;
    struct lookup keys_by_ptr, keys_by_text, logins_by, seen, devices_by, nodes_by, known_by;
    struct line *lines;
    size_t n_lines, cap_lines;
    struct key *keys;
    size_t n_keys, cap_keys;
    struct somebody *people;
    size_t n_people, cap_people;
    int64_t *periods;         /* starts, ascending; one more at the end */
    size_t n_periods, period; /* period of the current span */
    struct device *devices;
    size_t n_devices, cap_devices;
    struct node *nodes;
    size_t n_nodes, cap_nodes;
    struct line total;
    int64_t change_ms; /* next change of any groups */
    /* of the current span */
    struct node *node;
    int64_t at_ms;
    struct job_fact **jobs;
    size_t n_jobs, cap_jobs;
    struct job_fact **open;  /* jobs that may overlap the current span */
    size_t n_open, next_job; /* next: from the end of jobs, the oldest */
    uint32_t nobody;         /* the key plus 1 of unowned GPU usage; 0: none yet */
    bool too_much, people_only;
};

static uint32_t key_new(struct sums *s, const char *text)
{
    VEC_ROOM(s->keys, s->n_keys, s->cap_keys);
    s->keys[s->n_keys] = (struct key){.text = text};
    return (uint32_t)s->n_keys++;
}

/* Keys are the same if their text is; NULL is unowned. */
static uint32_t key_of(struct sums *s, const char *text)
{
    uint64_t ptr = mix((uint64_t)(uintptr_t)text);
    size_t at = 0, key = lookup_next_place(&s->keys_by_ptr, ptr, &at);

    if (key != SIZE_MAX)
        return (uint32_t)key;
    uint64_t hash = text ? lookup_hash(text) : 1;
    at = 0;
    do
        key = lookup_next_place(&s->keys_by_text, hash, &at);
    while (key != SIZE_MAX && !str_same(s->keys[key].text, text));
    if (key == SIZE_MAX) {
        key = key_new(s, arena_str(s->mem, text));
        lookup_add_place(&s->keys_by_text, hash, key);
    }
    lookup_add_place(&s->keys_by_ptr, ptr, key);
    return (uint32_t)key;
}

/* Spans are ordered by time, so a key's newest line is in this period, or it has no line yet. */
static struct line *line_of(struct sums *s, uint32_t key)
{
    struct key *k = &s->keys[key];

    if (!k->line || s->lines[k->line - 1].period != s->period) {
        if (s->n_lines >= SUMS_ROWS_MAX)
            s->too_much = true;
        VEC_ADD(s->lines, s->n_lines, s->cap_lines, (struct line){.key = key, .period = (uint32_t)s->period});
        k->line = (uint32_t)s->n_lines;
    }
    return &s->lines[k->line - 1];
}

/* Its price is that of the model it is now. */
static struct device *device_of(struct sums *s, const struct usage_device *d)
{
    size_t i = place_of(&s->devices_by, (uint64_t)(uintptr_t)d->device, s->n_devices);

    if (i == s->n_devices)
        VEC_ADD(s->devices, s->n_devices, s->cap_devices,
                (struct device){(uint32_t)i, s->ask->tariff ? tariff_price(s->ask->tariff, d->model) : -1});
    return &s->devices[i];
}

static void line_sees(struct sums *s, struct line *l, const struct usage_device *d, const struct device *x)
{
    uint64_t row = l == &s->total ? UINT64_MAX : (uint64_t)l->key << 32 | l->period;
    size_t seen = s->seen.n;

    if (x->number < 64 * SEEN_WORDS)
        l->seen[x->number / 64] |= 1ull << x->number % 64;
    else /* the first time in that row? */
        l->more += place_of(&s->seen, mix(row + 1) ^ (uint64_t)(uintptr_t)d->device, seen) == seen;
}

static void line_held(struct sums *s, struct line *l, const struct usage_device *d, const struct device *x,
                      const struct usage_sum *u)
{
    usage_add(&l->s, u);
    if (x->price > 0)
        l->cost += (__int128)x->price * u->held_ms;
    line_sees(s, l, d, x);
}

static void line_rest(struct sums *s, struct line *l, const struct usage_device *d, const struct device *x)
{
#define WALL(field, ...) l->field += d->field;
#include "model/usage.def"
    l->s.mj += d->mj;
    line_sees(s, l, d, x);
}

/* ---- people ---- */

static bool in_group(const struct sums *s, enum group_kind kind, const char *group, const char *person)
{
    return !group || people_in(s->ask->people, kind, group, person, s->at_ms);
}

static void person_groups(struct sums *s, struct somebody *p)
{
    static const enum group_kind kinds[] =
        {[BY_TEAM] = GROUP_TEAM, [BY_PROJECT] = GROUP_PROJECT, [BY_COMPANY] = GROUP_COMPANY};
    const struct sums_query *a = s->ask;
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
    size_t n = p->name[0] ? people_groups(a->people, kinds[a->by], p->name, s->at_ms, names, GROUPS_MAX) : 0;
    for (size_t i = 0; i < MIN(n, (size_t)GROUPS_MAX); i++)
        p->groups[p->n++] = key_of(s, names[i]);
}

static struct somebody *person_of(struct sums *s, const char *login)
{
    size_t number = place_of(&s->logins_by, (uint64_t)(uintptr_t)login, s->logins_by.n);
    struct node *n = s->node;

    if (number >= n->n_people) {
        size_t more = MAX(64u, 2 * number);
        n->people = mem_grow(n->people, more, sizeof(*n->people));
        memset(n->people + n->n_people, 0, (more - n->n_people) * sizeof(*n->people));
        n->n_people = more;
    }
    if (!n->people[number]) {
        const char *name = people_person(s->ask->people, s->node->name, login, -1);
        VEC_ADD(s->people, s->n_people, s->cap_people,
                (struct somebody){.name = arena_str(s->mem, name), .until_ms = INT64_MIN});
        n->people[number] = (uint32_t)s->n_people;
    }
    struct somebody *p = &s->people[n->people[number] - 1];
    if (p->until_ms <= s->at_ms)
        person_groups(s, p);
    return p;
}

/* ---- jobs: a person's time on a device goes to the jobs they had there then, as far as they reach ---- */

static bool job_on(const struct job_fact *j, const char *node, const char *device, const char *login,
                   const char *person)
{
    if ((strcmp(j->person, login) != 0 && strcmp(j->person, person) != 0) || (j->node[0] && strcmp(j->node, node) != 0))
        return false;
    return j->devices[0] ? str_listed(j->devices, str_of(device)) : j->node[0] != 0;
}

static int64_t scaled(int64_t v, int64_t part, int64_t whole)
{
    return whole > 0 ? (int64_t)((__int128)v * part / whole) : 0;
}

/* So much of the time held, and of all the rest with it. */
static struct usage_sum take_part(struct usage_sum *from, int64_t held_ms)
{
    struct usage_sum part;
    int64_t whole = from->held_ms;

#define SUM(field, ...) part.field = scaled(from->field, held_ms, whole);
#include "model/usage.def"
#define SUM(field, ...) from->field -= part.field;
#include "model/usage.def"
    return part;
}

/* Spans are ordered by time: a job is open from its start to its end. */
static void open_jobs(struct sums *s, const struct usage_span *span)
{
    size_t kept = 0;

    if (!s->open)
        s->open = mem_zero(s->n_jobs + 1, sizeof(*s->open));
    for (size_t i = 0; i < s->n_open; i++)
        if (!s->open[i]->end_ms || s->open[i]->end_ms > span->at_ms)
            s->open[kept++] = s->open[i];
    s->n_open = kept;
    while (s->next_job > 0 && s->jobs[s->next_job - 1]->start_ms < span->end_ms)
        s->open[s->n_open++] = s->jobs[--s->next_job];
}

static uint32_t key_of_job(struct sums *s, const struct job_fact *j)
{
    char id[JOB_ID_LEN];
    size_t key = place_of(&s->keys_by_ptr, (uint64_t)(uintptr_t)j, s->n_keys);

    if (key == s->n_keys) {
        job_id_text(j->id, id);
        key_new(s, arena_str(s->mem, id));
        s->keys[key].name = j->name;
        s->keys[key].person = j->person;
    }
    return (uint32_t)key;
}

static void held_by_jobs(struct sums *s, const struct usage_span *span, const struct usage_device *d,
                         const struct device *x, const struct usage_held *h, const char *person)
{
    struct usage_sum left = h->s;

    for (size_t i = 0; i < s->n_open && left.held_ms > 0; i++) {
        const struct job_fact *j = s->open[i];
        int64_t from_ms = MAX(j->start_ms, span->at_ms), to_ms = MIN(j->end_ms ? j->end_ms : INT64_MAX, span->end_ms);
        if (to_ms <= from_ms || !job_on(j, s->node->key, d->device, h->login, person))
            continue;
        int64_t part = MIN(scaled(h->s.held_ms, to_ms - from_ms, span->end_ms - span->at_ms), left.held_ms);
        struct usage_sum u = take_part(&left, part);
        line_held(s, line_of(s, key_of_job(s, j)), d, x, &u);
    }
    if (left.held_ms > 0)
        line_held(s, line_of(s, key_of(s, NULL)), d, x, &left);
}

/* ---- a span ---- */

static bool wants_device(const struct sums *s, const struct usage_device *d)
{
    const struct sums_query *a = s->ask;

    return (!a->device || strcmp(a->device, d->device) == 0) && (!a->model || model_fits(a->model, d->model)) &&
           (!a->keep || a->keep(a->keep_arg, d->device));
}

static void name_device(struct sums *s, struct key *k, const struct usage_device *d)
{
    k->node = s->node->name;
    k->model = arena_str(s->mem, d->model);
    const struct sums_node *now = s->node->now;
    for (size_t i = 0; now && i < now->n; i++) {
        const struct sums_device *x = &now->devices[i];
        char text[NAME_MAX_LEN + 32];
        if (strcmp(x->uuid, d->device) != 0)
            continue;
        if (x->mig >= 0)
            snprintf(text, sizeof(text), "%s:%d.%d", s->node->name, (int)x->index, (int)x->mig);
        else
            snprintf(text, sizeof(text), "%s:%d", s->node->name, (int)x->index);
        k->name = arena_str(s->mem, text);
    }
}

/* The row of a device's own time, where rows are of devices. */
static struct line *own_line(struct sums *s, const struct usage_device *d)
{
    enum usage_by by = s->ask->by;

    if (by == BY_NODE) {
        uint32_t key = key_of(s, s->node->name);
        s->keys[key].node = s->node->name;
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

/* In rows by people, unowned usage of a GPU has its own row, so that rows sum up to the total. */
static struct line *nobodys_line(struct sums *s)
{
    if (!s->nobody) {
        s->nobody = key_new(s, NULL) + 1;
        s->keys[s->nobody - 1].name = "nobody";
    }
    return line_of(s, s->nobody - 1);
}

static void add_device(struct sums *s, const struct usage_span *span, const struct usage_device *d)
{
    const struct device *x = device_of(s, d);
    struct line *own = own_line(s, d);

    if (!s->people_only) {
        line_rest(s, &s->total, d, x);
        if (own || d->mj > 0)
            line_rest(s, own ? own : nobodys_line(s), d, x);
    }
    for (size_t k = 0; k < d->n; k++) {
        const struct usage_held *h = &d->held[k];
        struct somebody *p = person_of(s, h->login);
        if (!p->wanted)
            continue;
        line_held(s, &s->total, d, x, &h->s);
        if (own) /* no line is added while rows are of devices */
            line_held(s, own, d, x, &h->s);
        else if (s->ask->by == BY_JOB)
            held_by_jobs(s, span, d, x, h, p->name);
        else if (p->n == 0)
            line_held(s,
                      line_of(s, key_of(s, s->ask->by == BY_COMPANY
                                               ? people_company_of_node(s->ask->people, s->node->name, s->at_ms)
                                               : NULL)),
                      d, x, &h->s);
        for (size_t i = 0; !own && i < p->n; i++)
            line_held(s, line_of(s, p->groups[i]), d, x, &h->s);
    }
}

/* The current names of the node: each of ten thousand nodes is looked up once. */
static const struct sums_node *known_node(struct sums *s, const char *key)
{
    const struct sums_query *a = s->ask;
    size_t at = 0, i;

    while (s->known_by.n < a->n_nodes)
        lookup_add_place(&s->known_by, lookup_hash(a->nodes[s->known_by.n].key), s->known_by.n);
    do
        i = lookup_next_place(&s->known_by, lookup_hash(key), &at);
    while (i != SIZE_MAX && strcmp(a->nodes[i].key, key) != 0);
    return i != SIZE_MAX ? &a->nodes[i] : NULL;
}

static struct node *node_of(struct sums *s, const char *key)
{
    const struct sums_query *a = s->ask;
    size_t at = place_of(&s->nodes_by, (uint64_t)(uintptr_t)key, s->n_nodes);

    if (at == s->n_nodes) {
        struct node n = {.key = key, .now = known_node(s, key)};
        n.name = n.now ? n.now->name : arena_str(s->mem, key);
        n.wanted = !a->node || strcmp(a->node, key) == 0 || str_glob(str_of(a->node), str_of(n.name));
        VEC_ADD(s->nodes, s->n_nodes, s->cap_nodes, n);
    }
    return &s->nodes[at];
}

static int take_span(void *arg, const char *node, const struct usage_span *span)
{
    struct sums *s = arg;

    s->node = node_of(s, node);
    if (!s->node->wanted)
        return 0;
    s->at_ms = span->at_ms;
    if (s->at_ms >= s->change_ms || s->change_ms == INT64_MIN)
        s->change_ms = people_next_change(s->ask->people, s->at_ms);
    if (span->at_ms < s->periods[s->period])
        s->period = 0;
    while (s->period + 1 < s->n_periods && span->at_ms >= s->periods[s->period + 1])
        s->period++;
    if (s->n_jobs)
        open_jobs(s, span);
    for (size_t i = 0; i < span->n; i++)
        if (wants_device(s, &span->devices[i]))
            add_device(s, span, &span->devices[i]);
    return s->too_much ? -E2BIG : 0;
}

static void take_job(void *arg, const struct job_fact *j)
{
    struct sums *s = arg;

    VEC_ADD(s->jobs, s->n_jobs, s->cap_jobs, job_copy(j));
}

/* ---- the table ---- */

static int make_periods(struct sums *s, struct err *err)
{
    const struct sums_query *a = s->ask;
    size_t cap = 0;

    for (int64_t at_ms = a->from_ms; at_ms < a->to_ms;) {
        int64_t next_ms;
        int64_t from_ms = zone_period(a->zone, a->period, a->week_start, at_ms, &next_ms);
        if (s->n_periods >= PERIODS_MAX)
            return err_set(err, -E2BIG, "that is more than %d %ss: request a shorter time range, or longer periods",
                           PERIODS_MAX, period_words[a->period]);
        VEC_ADD(s->periods, s->n_periods, cap, MAX(from_ms, a->from_ms));
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
#define WALL(field, ...) .field = l->field,
#include "model/usage.def"
                            .gpus = l->more,
                            .cost = (int64_t)((l->cost + 1800000) / 3600000)};
    for (size_t i = 0; i < SEEN_WORDS; i++)
        r->gpus += (uint32_t)__builtin_popcountll(l->seen[i]);
    r->co2_mg = t && t->co2_mg > 0 ? (int64_t)((__int128)l->s.mj * t->co2_mg / MJ_PER_KWH) : 0;
}

static int by_time(const void *x, const void *y, void *arg)
{
    const struct sums *s = arg;
    const struct line *a = &s->lines[*(const uint32_t *)x], *b = &s->lines[*(const uint32_t *)y];
    const char *p = s->keys[a->key].text, *q = s->keys[b->key].text;

    if (a->period != b->period)
        return a->period < b->period ? -1 : 1;
    if (a->s.held_ms != b->s.held_ms)
        return a->s.held_ms > b->s.held_ms ? -1 : 1;
    return !p || !q ? !p - !q : str_natural(p, q);
}

static void describe(const struct sums *s, struct usage_table *t)
{
    const struct sums_query *a = s->ask;

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

static void make_table(struct sums *s, struct usage_table *t)
{
    const struct sums_query *a = s->ask;
    AUTO_FREE uint32_t *order = mem_zero(s->n_lines + 1, sizeof(*order));

    for (size_t i = 0; i < s->n_lines; i++)
        order[i] = (uint32_t)i;
    qsort_r(order, s->n_lines, sizeof(*order), by_time, s);
    for (size_t i = 0; i < s->n_keys; i++) { /* what a job is called goes with the jobs */
        struct key *k = &s->keys[i];
        k->name = arena_str(s->mem, k->name);
        k->person = arena_str(s->mem, k->person);
    }
    t->n = s->n_lines;
    t->v = arena_alloc(s->mem, t->n + 1, sizeof(*t->v));
    for (size_t i = 0; i < t->n; i++) {
        const struct line *l = &s->lines[order[i]];
        const struct key *k = &s->keys[l->key];
        struct usage_row *r = &t->v[i];
        row_of(s, l, r);
        r->key = k->text;
        r->name = k->name;
        r->node = k->node;
        r->model = k->model;
        r->person = k->person;
        r->at_ms = s->periods[l->period];
        if (i && r[-1].at_ms == r->at_ms)
            memcpy(r->label, r[-1].label, sizeof(r->label));
        else
            zone_period_label(a->zone, a->period, a->week_start, r->at_ms, r->label);
    }
    row_of(s, &s->total, &t->total);
    t->total.at_ms = a->from_ms;
    zone_period_label(a->zone, PERIOD_DAY, 0, a->from_ms, t->total.label);
    describe(s, t);
}

/*
 * Days of the store that lie wholly within a period are read as days; they are the hub's, whatever zone the periods are
 * of. By hour, by job, and per day of another zone every hour is read.
 */
static void plan_days(const struct sums *s, const struct zone *zone, struct usage_query *u, struct usage_day *days)
{
    const struct sums_query *a = s->ask;

    if (!zone || a->period == PERIOD_HOUR || (a->by == BY_JOB && s->n_jobs))
        return;
    for (size_t i = 0; i < s->n_periods; i++) {
        int64_t from_ms = s->periods[i], to_ms = i + 1 < s->n_periods ? s->periods[i + 1] : a->to_ms;
        int32_t first = zone_date(zone, from_ms), last = zone_date(zone, to_ms);
        first += zone_date_ms(zone, first) < from_ms;
        struct usage_day d = {zone_date_ms(zone, first), zone_date_ms(zone, last)};
        if (d.from_ms >= d.to_ms)
            continue;
        if (u->n_days && days[u->n_days - 1].to_ms == d.from_ms)
            days[u->n_days - 1].to_ms = d.to_ms;
        else
            days[u->n_days++] = d;
    }
    u->days = days;
    u->zone = zone_name(zone);
}

struct sums_node *sums_nodes(struct arena *mem, const struct node_now *const *v, size_t n)
{
    struct sums_node *all = arena_alloc(mem, n + 1, sizeof(*all));

    for (size_t i = 0; i < n; i++) {
        struct sums_node *to = &all[i];
        *to = (struct sums_node){arena_str(mem, v[i]->key), arena_str(mem, v[i]->name), v[i]->n_devices,
                                 arena_alloc(mem, v[i]->n_devices + 1, sizeof(*to->devices))};
        for (size_t d = 0; d < to->n; d++) {
            const struct device_fact *f = &v[i]->devices[d].fact;
            to->devices[d] = (struct sums_device){arena_str(mem, f->uuid), f->index, f->mig};
        }
    }
    return all;
}

int sums_run(const struct sums_query *a, struct arena *mem, struct usage_table *ret, struct err *err)
{
    struct sums s = {.ask = a, .mem = mem, .change_ms = INT64_MIN};
    struct usage_query u = {.from_ms = a->from_ms, .to_ms = a->to_ms, .stop = a->stop, .stop_arg = a->stop_arg};
    struct job_query jobs = {.from_ms = a->from_ms,
                             .to_ms = a->to_ms,
                             .limit = SUMS_ROWS_MAX,
                             .stop = a->stop,
                             .stop_arg = a->stop_arg};

    *ret = (struct usage_table){0};
    s.people_only = a->person || a->team || a->project || a->company;
    int r = make_periods(&s, err);
    if (r == 0 && a->by == BY_JOB)
        r = a->each(a->arg, EACH_JOB(&jobs, take_job, &s), err);
    SORT(s.jobs, s.n_jobs, job_order); /* newest first */
    s.next_job = s.n_jobs;
    AUTO_FREE struct usage_day *days = mem_zero(s.n_periods + 1, sizeof(*days));
    if (r >= 0)
        plan_days(&s, a->days_zone, &u, days);
    if (r >= 0)
        r = a->each(a->arg, EACH_USAGE(&u, take_span, &s), err);
    if (r == -E2BIG && s.too_much)
        err_set(err, r, "that is more than %d rows: request a shorter time range, or longer periods", SUMS_ROWS_MAX);
    if (r >= 0)
        make_table(&s, ret);
    for (size_t i = 0; i < s.n_jobs; i++)
        free(s.jobs[i]);
    FREE_ALL(s.jobs, s.open, s.lines, s.keys, s.people, s.periods, s.devices);
    for (size_t i = 0; i < s.n_nodes; i++)
        free(s.nodes[i].people);
    FREE_ALL(s.nodes, s.keys_by_ptr.v, s.keys_by_text.v, s.logins_by.v, s.seen.v, s.devices_by.v, s.nodes_by.v,
             s.known_by.v);
    return MIN(r, 0);
}
