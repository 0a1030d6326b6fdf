/*
 * history.c: parses a query of history (the parameters of a URL). It looks up devices and metrics once and copies them,
 * so that another thread (history_run.c) can run the query while nodes come and go.
 */
#include "history/history.h"

#include <errno.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/order.h"
#include "base/when.h"
#include "history/history_plan.h"
#include "people/people.h"

const char *const agg_words[AGGS] = {"avg", "min", "max", "sum", "last", "count", "rate"};
static const char *const grouping_words[GROUPS] = {"", "node", "model", "user", "person", "team", "all"};
static const char *const fold_words[FOLDS] = {"mean", "sum", "min", "max"};
static const char *const tier_names[TIER_COUNT + 1] = {"raw", "minute", "hour", "auto"};

/* ---- names ---- */

static int add_words(struct str *v, size_t *n, size_t max, const char *what, struct str value, struct err *err)
{
    struct str one;

    while (str_cut(&value, ',', &one)) {
        one = str_trim(one);
        if (one.len == 0)
            continue;
        if (*n == max)
            return err_set(err, -EINVAL, "more than %zu %s at once; use a pattern as 'dgx*'", max, what);
        v[(*n)++] = one;
    }
    return 0;
}

bool history_word(struct history_words *w, struct str name, struct str value, int *ret, struct err *err)
{
    const struct {
        const char *name;
        struct str *to;
    } plain[] = {{"from", &w->from},   {"to", &w->to},     {"step", &w->step}, {"points", &w->points},
                 {"group", &w->group}, {"fold", &w->fold}, {"tier", &w->tier}};

    *ret = 0;
    for (size_t i = 0; i < ARRAY_LEN(plain); i++)
        if (str_eq(name, plain[i].name)) {
            *plain[i].to = str_trim(value);
            return true;
        }
    if (str_eq(name, "device"))
        *ret = add_words(w->devices, &w->n_devices, HISTORY_WORDS, "devices", value, err);
    else if (str_eq(name, "metric"))
        *ret = add_words(w->metrics, &w->n_metrics, HISTORY_WORDS, "metrics", value, err);
    else if (str_eq(name, "agg"))
        *ret = add_words(w->aggs, &w->n_aggs, AGGS, "aggregations", value, err);
    else
        return false;
    return true;
}

static int word_of(struct str s, const char *const *words, size_t n, const char *what, struct err *err)
{
    AUTO_BUF all = BUF_INIT(256);

    for (size_t i = 0; i < n; i++) {
        if (str_eq(s, words[i]))
            return (int)i;
        if (words[i][0])
            buf_addf(&all, "%s%s", all.len ? ", " : "", words[i]);
    }
    return err_set(err, -EINVAL, "%s '%.*s' is not known: there are %s", what, (int)MIN(s.len, 60u), s.p,
                   all.p ? all.p : "");
}

/* ---- when, and how fine ---- */

#define S 1000ll
#define M (60 * S)
#define H (60 * M)
#define D (24 * H)
static const int64_t round_steps[] = {S,      2 * S,  5 * S,  10 * S, 15 * S, 30 * S, M,      2 * M,
                                      5 * M,  10 * M, 15 * M, 30 * M, H,      2 * H,  3 * H,  6 * H,
                                      12 * H, D,      2 * D,  7 * D,  14 * D, 28 * D, 91 * D, 364 * D};

int64_t history_step(int64_t span_ms, int64_t points)
{
    for (size_t i = 0; i < ARRAY_LEN(round_steps); i++)
        if (span_ms / round_steps[i] < points)
            return round_steps[i];
    return (span_ms / points / D + 1) * D;
}

static int parse_span(const struct history_words *w, int64_t now_ms, struct history_query *q, struct err *err)
{
    int64_t points = HISTORY_POINTS;
    int r = 0;

    q->now_ms = q->to_ms = now_ms;
    if (w->to.len)
        r = when_parse(w->to, "to", now_ms, &q->to_ms, err);
    q->from_ms = q->to_ms - H;
    if (r == 0 && w->from.len)
        r = when_parse(w->from, "from", now_ms, &q->from_ms, err);
    if (r < 0)
        return r;
    q->from_ms = MAX(q->from_ms, 0);
    if (q->from_ms >= q->to_ms)
        return err_set(err, -EINVAL, "from must be before to");
    if (w->points.len && (!str_int(w->points, &points) || points < 1 || points > HISTORY_POINTS_MAX))
        return err_set(err, -EINVAL, "points '%.*s' must be a number from 1 to %d", (int)MIN(w->points.len, 40u),
                       w->points.p, HISTORY_POINTS_MAX);
    q->chosen = w->step.len == 0 || str_eq(w->step, "auto");
    if (q->chosen) {
        q->step_ms = history_step(q->to_ms - q->from_ms, points);
        return 0;
    }
    if (!str_duration_ms(w->step, &q->step_ms) || q->step_ms < 100 || q->step_ms > WHEN_END_MS)
        return err_set(err, -EINVAL, "step '%.*s' must be a time of at least 100ms, as 10s, 5m or 1h, or 'auto'",
                       (int)MIN(w->step.len, 40u), w->step.p);
    if ((q->to_ms - q->from_ms) / q->step_ms >= HISTORY_POINTS_MAX)
        return err_set(err, -E2BIG, "that is %lld points per series, and at most %d are given: use a longer step",
                       (long long)(q->to_ms - q->from_ms) / q->step_ms + 1, HISTORY_POINTS_MAX);
    return 0;
}

#undef S
#undef M
#undef H
#undef D

/* ---- which metrics ---- */

static void add_metric(struct history_query *q, const char *name, bool maybe)
{
    if (q->n_metrics == PLAN_METRICS || ANY(q->n_metrics, i, strcmp(q->metrics[i].name, name) == 0))
        return;
    struct plan_metric *m = &q->metrics[q->n_metrics++];
    mem_copy_str(m->name, sizeof(m->name), name);
    m->no = metric_by_name(str_of(m->name));
    m->maybe = maybe || m->no < 0;
}

static bool is_pattern(struct str s)
{
    return ANY(s.len, i, s.p[i] == '*' || s.p[i] == '?' || s.p[i] == '[');
}

/* Both declared the same metrics: most nodes of a cluster did. */
static bool same_custom(const struct node_now *a, const struct node_now *b)
{
    const struct node_fact *x = &a->fact, *y = &b->fact;

    return x->n_custom == y->n_custom &&
           (x->n_custom == 0 || memcmp(x->custom, y->custom, x->n_custom * sizeof(*x->custom)) == 0);
}

/* A name of metrics.def, one declared at run time by a node, or a pattern of either. */
static bool resolve_metric(struct history_query *q, const struct view *v, struct str word)
{
    bool pattern = is_pattern(word), any = false;

    for (int m = 0; m < M_COUNT; m++)
        if (pattern ? str_glob(word, str_of(metrics[m].name)) : str_eq(word, metrics[m].name)) {
            add_metric(q, metrics[m].name, pattern);
            any = true;
        }
    for (size_t i = 0; i < v->n && (pattern || !any); i++) {
        if (i && same_custom(v->nodes[i], v->nodes[i - 1]))
            continue;
        for (size_t k = 0; k < v->nodes[i]->fact.n_custom; k++) {
            const char *name = v->nodes[i]->fact.custom[k].name;
            if (metric_by_name(str_of(name)) < 0 && (pattern ? str_glob(word, str_of(name)) : str_eq(word, name))) {
                add_metric(q, name, pattern);
                any = true;
            }
        }
    }
    return any;
}

static int unknown_metric(struct str word, struct err *err)
{
    const char *near = NULL;
    int best = 0;

    for (int m = 0; m < M_COUNT; m++) {
        int slips = str_near(word, str_of(metrics[m].name));
        if (slips >= 0 && (!near || slips < best)) {
            near = metrics[m].name;
            best = slips;
        }
    }
    return err_set(err, -ENOENT, "no metric is called '%.*s'%s%s%s", (int)MIN(word.len, 64u), word.p,
                   near ? "; did you mean '" : "", near ? near : "", near ? "'?" : "");
}

static int resolve_metrics(const struct history_words *w, const struct view *v, struct history_query *q,
                           struct err *err)
{
    if (w->n_metrics == 0)
        return err_set(err, -EINVAL, "which metric? Write metric=util, or several as metric=util,mem_used");
    for (size_t i = 0; i < w->n_metrics; i++)
        if (!resolve_metric(q, v, w->metrics[i]))
            return unknown_metric(w->metrics[i], err);
    q->custom = ANY(q->n_metrics, i, q->metrics[i].no < 0);
    for (size_t i = 0; i < q->n_metrics; i++)
        if (q->group > GROUP_NODE && q->metrics[i].no >= 0 && metrics[q->metrics[i].no].scope == SCOPE_NODE)
            return err_set(err, -EINVAL, "'%s' is a metric of nodes: devices are grouped by %s", q->metrics[i].name,
                           grouping_words[q->group]);
    return 0;
}

/* ---- which devices ---- */

/* A device pattern, parsed once. */
struct aim {
    struct str all, node, index; /* node:index, if there is a colon */
    bool pattern, colon, hit;
    bool placed; /* a node has the name before the colon: the word is no uuid */
};

static bool fits(struct str word, bool pattern, const char *text)
{
    if (pattern)
        return str_glob(word, str_of(text));
    return word.len && text[0] == word.p[0] && strncmp(text, word.p, word.len) == 0 && text[word.len] == 0;
}

static void aim_at(struct aim *a, struct str word)
{
    int colon = str_rfind(word, ":");

    *a = (struct aim){.all = word, .pattern = is_pattern(word), .colon = colon >= 0};
    if (colon < 0)
        return;
    a->node = str_n(word.p, (size_t)colon);
    a->index = str_n(word.p + colon + 1, word.len - (size_t)colon - 1);
}

static bool names_node(struct str word, bool pattern, const struct node_now *n)
{
    return fits(word, pattern, n->name) || fits(word, pattern, n->key);
}

static bool names_index(const struct aim *a, const struct device_fact *f)
{
    char text[24];

    return fits(a->index, a->pattern, device_index_text(f, text));
}

struct aims {
    size_t n;
    struct aim v[HISTORY_WORDS];
};

/*
 * Selects devices of a node: picked[i]. True: the node itself is selected, too. A retired node matches only its own
 * name, not a pattern.
 */
static bool pick_devices(struct aims *w, const struct node_now *n, bool *picked)
{
    bool self = w->n == 0 && !n->retired;

    for (size_t k = 0; k < n->n_devices; k++)
        picked[k] = self;
    for (size_t i = 0; i < w->n; i++) {
        struct aim *a = &w->v[i];
        if (n->retired && a->pattern)
            continue;
        if (names_node(a->all, a->pattern, n)) {
            self = a->hit = true;
            for (size_t k = 0; k < n->n_devices; k++)
                picked[k] = true;
            continue;
        }
        bool here = a->colon && names_node(a->node, a->pattern, n);
        if (a->placed && !here)
            continue;
        for (size_t k = 0; k < n->n_devices; k++) {
            const struct device_fact *f = &n->devices[k].fact;
            if ((!a->placed && fits(a->all, a->pattern, f->uuid)) || (here && names_index(a, f)))
                picked[k] = a->hit = true;
        }
    }
    return self;
}

static void asked_room(struct history_query *q, struct plan_metrics *a)
{
    a->which = arena_alloc(&q->mem, q->n_metrics, sizeof(*a->which));
    a->names = arena_alloc(&q->mem, q->n_metrics, sizeof(*a->names));
    a->known = arena_alloc(&q->mem, q->n_metrics, sizeof(*a->known));
}

static void asked_add(const struct history_query *q, struct plan_metrics *a, size_t metric)
{
    a->which[a->n] = metric;
    a->names[a->n] = q->metrics[metric].name;
    a->known[a->n++] = q->metrics[metric].no;
}

static struct plan_scales *scales_new(struct history_query *q, const struct node_now *n)
{
    struct plan_scales *all = arena_alloc(&q->mem, 1, sizeof(*all) + q->n_metrics * sizeof(all->v[0]));

    asked_room(q, &all->of_devices);
    asked_room(q, &all->of_node);
    for (size_t i = 0; i < q->n_metrics; i++) {
        struct plan_scale *s = &all->v[i];
        if (q->metrics[i].no >= 0) {
            const struct metric_info *m = &metrics[q->metrics[i].no];
            *s = (struct plan_scale){m->per, m->unit, m->kind, m->scope == SCOPE_DEVICE, m->scope == SCOPE_NODE};
        }
        for (size_t k = 0; q->metrics[i].no < 0 && k < n->fact.n_custom; k++) {
            const struct custom_fact *c = &n->fact.custom[k];
            if (strcmp(c->name, q->metrics[i].name) == 0)
                *s = (struct plan_scale){MAX(c->per, 1), c->unit, c->kind, true, true};
        }
        if (s->device)
            asked_add(q, &all->of_devices, i);
        if (s->node)
            asked_add(q, &all->of_node, i);
    }
    return all;
}

static const struct plan_scales *take_scales(struct history_query *q, const struct node_now *n)
{
    if (!q->scaled || (q->custom && !same_custom(q->scaled, n))) {
        q->scales = scales_new(q, n);
        q->scaled = n;
    }
    return q->scales;
}

static void take_node(struct history_query *q, const struct node_now *n, struct card *card, bool self)
{
    struct plan_node *p = &q->nodes[q->n_nodes++];
    const struct plan_scales *s = take_scales(q, n);

    *p = (struct plan_node){card, self, s};
    size_t of_node = self ? s->of_node.n : 0;
    q->n_read += q->n_aggs * (s->of_devices.n * card->n_devices + of_node);
    q->n_series +=
        q->n_aggs * (s->of_devices.n * (q->group == GROUP_NONE ? card->n_devices : MIN(card->n_devices, 1u)) + of_node);
}

static int resolve_devices(const struct history_words *words, const struct view *v, struct history_query *q,
                           bool (*keep)(void *arg, const struct node_now *n, const struct device_now *d), void *arg,
                           struct err *err)
{
    AUTO_FREE struct aims *w = mem_zero(1, sizeof(*w));
    AUTO_FREE bool *picked = NULL;
    size_t cap = 0;
    const struct node_now *const *nodes = words->only ? &words->only : v->nodes;
    size_t n_nodes = words->only ? 1 : v->n;

    for (size_t i = 0; i < words->n_devices; i++)
        aim_at(&w->v[w->n++], words->devices[i]);
    for (size_t i = 0; i < w->n; i++)
        for (size_t k = 0; k < n_nodes && w->v[i].colon && !w->v[i].pattern && !w->v[i].placed; k++)
            w->v[i].placed = names_node(w->v[i].node, false, nodes[k]);
    q->nodes = mem_zero(MAX(n_nodes, 1u), sizeof(*q->nodes));
    for (size_t i = 0; i < n_nodes; i++) {
        const struct node_now *n = nodes[i];
        size_t n_picked = 0;
        VEC_LEAST(picked, cap, n->n_devices);
        bool self = pick_devices(w, n, picked);
        for (size_t k = 0; k < n->n_devices; k++) {
            picked[k] = picked[k] && (!keep || keep(arg, n, &n->devices[k]));
            n_picked += picked[k];
        }
        self = n_picked > 0 || (!keep && self);
        bool whole = n_picked == n->n_devices && words->roster && !words->only;
        if (self)
            take_node(q, n, whole ? roster_card(words->roster, i, n) : card_new(n, picked), self);
        if (q->n_series > HISTORY_SERIES_MAX || q->n_read > HISTORY_READ_MAX)
            return err_set(err, -E2BIG, "more than %d series: request fewer devices or metrics", HISTORY_SERIES_MAX);
    }
    for (size_t i = 0; i < w->n; i++)
        if (!w->v[i].hit)
            return err_set(err, -ENOENT, "no device or node is called '%.*s': write a UUID, node:index or a node",
                           (int)MIN(w->v[i].all.len, 80u), w->v[i].all.p);
    return 0;
}

static int parse_how(const struct history_words *w, struct history_query *q, struct err *err)
{
    for (size_t i = 0; i < w->n_aggs; i++) {
        int a = word_of(w->aggs[i], agg_words, AGGS, "agg", err);
        if (a < 0)
            return a;
        q->aggs[q->n_aggs++] = (enum agg)a;
    }
    if (q->n_aggs == 0) {
        q->usual = true;
        q->n_aggs = 1;
    }
    int group = word_of(w->group, grouping_words, GROUPS, "group", err);
    if (group < 0)
        return group;
    int fold = w->fold.len ? word_of(w->fold, fold_words, FOLDS, "fold", err) : FOLD_MEAN;
    if (fold < 0)
        return fold;
    int tier = w->tier.len ? word_of(w->tier, tier_names, TIER_COUNT + 1, "tier", err) : TIER_COUNT;
    if (tier < 0)
        return tier;
    static const int64_t bins_ms[] = {1, 60000, 3600000};
    if (tier < TIER_COUNT && q->step_ms % bins_ms[tier]) {
        if (!q->chosen)
            return err_set(err, -EINVAL, "the %s tier needs a step of whole %ss", tier_names[tier], tier_names[tier]);
        q->step_ms = bins_ms[tier];
    }
    q->tier = tier < TIER_COUNT ? tier : -1;
    q->group = (enum group)group;
    q->fold = (enum fold)fold;
    return 0;
}

int history_query_new(const struct history_words *w, const struct view *v, int64_t now_ms,
                      bool (*keep)(void *arg, const struct node_now *n, const struct device_now *d), void *arg,
                      struct history_query **ret, struct err *err)
{
    struct history_query *q = mem_alloc(sizeof(*q));
    memset(q, 0, offsetof(struct history_query, metrics));
    int r = parse_span(w, now_ms, q, err);

    if (r == 0)
        r = parse_how(w, q, err);
    if (r == 0)
        r = resolve_metrics(w, v, q, err);
    if (r == 0)
        r = resolve_devices(w, v, q, keep, arg, err);
    int64_t points = (q->to_ms - q->from_ms) / MAX(q->step_ms, 1) + 2;
    if (r == 0 && (int64_t)q->n_series * points > HISTORY_CELLS_MAX)
        r = err_set(err, -E2BIG, "%zu series of %lld points are too much at once: use a longer step, or fewer devices",
                    q->n_series, (long long)points);
    if (r < 0) {
        history_query_free(q);
        return r;
    }
    *ret = q;
    return 0;
}

/* ---- its key ---- */

static void key_text(struct history_key *k, const char *s)
{
    key_add(k, s, strlen(s));
}

static void key_numbers(struct history_key *k, const int64_t *v, size_t n)
{
    key_add(k, v, n * sizeof(*v));
}

static void key_node(struct history_key *k, const struct history_query *q, const struct plan_node *p)
{
    key_numbers(k, (int64_t[]){p->self, (int64_t)p->card->sum.v[0], (int64_t)p->card->sum.v[1]}, 3);
    for (size_t i = 0; i < q->n_metrics; i++)
        if (q->metrics[i].no < 0) { /* what a node declared */
            const struct plan_scale *s = &p->scales->v[i];
            key_numbers(k, (int64_t[]){s->per, s->unit, s->kind, s->device, s->node}, 5);
        }
}

bool history_query_key(const struct history_query *q, uint64_t seed, struct history_key *ret, int64_t *ret_to_ms)
{
    int64_t to_ms = (q->to_ms + q->step_ms - 1) / q->step_ms * q->step_ms;

    if (q->chosen) { /* coarser tiers may be read: up to the end of the hour, and never for the last hour */
        to_ms = (to_ms + HOUR_MS - 1) / HOUR_MS * HOUR_MS;
        if (q->to_ms > q->now_ms - HOUR_MS)
            return false;
    }
    if (to_ms > q->now_ms || group_by_holder(q->group))
        return false;
    *ret = (struct history_key){{seed, ~seed}};
    *ret_to_ms = to_ms;
    key_numbers(ret,
                (int64_t[]){q->from_ms, q->to_ms, q->step_ms, q->chosen, q->usual, q->group, q->fold, q->tier,
                            (int64_t)q->n_aggs, (int64_t)q->n_metrics, (int64_t)q->n_nodes},
                11);
    for (size_t i = 0; i < q->n_aggs; i++)
        key_numbers(ret, (int64_t[]){q->aggs[i]}, 1);
    for (size_t i = 0; i < q->n_metrics; i++) {
        key_text(ret, q->metrics[i].name);
        key_numbers(ret, (int64_t[]){q->metrics[i].maybe}, 1);
    }
    for (size_t i = 0; i < q->n_nodes; i++)
        key_node(ret, q, &q->nodes[i]);
    return true;
}

void history_query_people(struct history_query *q, const struct people *c)
{
    q->people = people_ref(c);
}

void history_query_free(struct history_query *q)
{
    if (!q)
        return;
    for (size_t i = 0; i < q->n_nodes; i++)
        card_unref(q->nodes[i].card);
    arena_fini(&q->mem);
    people_unref(q->people);
    free(q->nodes);
    free(q);
}
