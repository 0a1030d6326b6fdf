/*
 * replay_node.c: turns minutes of a node's history into small batches of two ticks: one with the work, and one with
 * the newest values.
 */
#include "alert/replay_node.h"

#include <errno.h>

#include "base/clock.h"
#include "base/mem.h"
#include "base/order.h"
#include "now/judge.h"

#define DEVICES_AT   32     /* per query */
#define SEEN_MS      600000 /* interval at which the last time of a process is written */
#define LOOK_BACK_MS (30 * 86400000ll)
#define SPANS_MAX    1000 /* per load: facts that change more often are read once an hour */

struct lane {           /* one metric of one device over the loaded minutes */
    uint16_t metric;    /* wire number; 0: custom metric */
    int16_t custom;     /* index in the list of requested names; -1: none */
    int32_t device;     /* index into uuids; -1: the node */
    uint8_t work;       /* bit of the device's work; 0: the metric does not show work */
    int64_t work_value; /* values from here on are work */
};

struct span { /* facts valid from from_ms on */
    int64_t from_ms;
    struct node_at was;
};

struct stay {                      /* a process on a device */
    int64_t first_ms, end_ms, mem; /* sorted by the first of them */
    int32_t sm;
    uint8_t kind;
    const char *device, *fact; /* in the arena; packed */
};

struct upset { /* the driver hung from then on; since 0: recovered */
    int64_t at_ms, since_ms;
};

struct alert_replay_node {
    char key[NODE_KEY_MAX], name[NAME_MAX_LEN];
    char *labels;
    struct node_fact fact; /* current facts with devices */
    /* processes */
    struct arena arena;
    struct stay *stays; /* by start */
    size_t n_stays, cap_stays, next_stay;
    size_t *on, n_on, cap_on; /* running now */
    struct proc_use *uses;
    size_t n_uses, cap_uses;
    /* events */
    struct upset *upsets;
    size_t n_upsets, cap_upsets, next_upset;
    int64_t hung_ms;
    int64_t *looks; /* times after which facts may change */
    size_t n_looks, cap_looks;
    /* loaded data */
    int64_t from_ms;
    size_t minutes;
    struct span *spans;
    size_t n_spans, cap_spans, at_span;
    const char **uuids; /* devices of all spans */
    uint16_t *slots;    /* slot of each in the current facts; 0: absent */
    size_t n_uuids, cap_uuids;
    char (*customs)[64];
    size_t n_customs, cap_customs;
    struct lane *lanes;
    size_t n_lanes, cap_lanes;
    int64_t *values; /* by minute and lane; SERIES_NONE: no value */
    uint8_t *work;   /* by device and minute */
    uint8_t *alive;  /* by minute: any value is stored */
    struct column *columns;
    int64_t (*pairs)[2];
    /* replay */
    struct node_now *node; /* in live; NULL: not yet */
    int64_t heard_ms;      /* last report before the first load; 0: none */
    bool same;             /* the loaded data starts with the current facts */
    uint64_t facts, procs;
};

/* ---- requested metrics ---- */

static bool named(const struct alert_rule *r, const char *metric)
{
    const char *const texts[] = {r->when, r->until, r->text};

    return !r->off && ANY(ARRAY_LEN(texts), i, texts[i] && strcasestr(texts[i], metric));
}

void alert_replay_node_params_init(struct alert_replay_node_params *k, const struct alert_rules *rules,
                                   const struct state_rule *rule)
{
    static const enum metric usual[] = {M_util,     M_sm_active,    M_enc,         M_dec,
                                        M_mem_used, M_mem_reserved, M_mem_total,   M_temp,
                                        M_throttle, M_rows_pending, M_rows_failed, M_rows_spent};
    size_t n;
    const struct alert_rule *v = alert_rules_all(rules, &n);

    *k = (struct alert_replay_node_params){.rule = rule, .rules = rules};
    for (size_t i = 0; i < ARRAY_LEN(usual); i++)
        k->metrics[usual[i]] = true;
    k->metrics[M_mem_util] = rule->busy_mem_util >= 0;
    for (int m = 0; m < M_COUNT; m++)
        for (size_t i = 0; i < n && !k->metrics[m]; i++) /* mentioned anywhere: rather one too many */
            k->metrics[m] = named(&v[i], metrics[m].name);
}

static bool custom_wanted(const struct alert_replay_node_params *k, const char *name)
{
    size_t n;
    const struct alert_rule *v = alert_rules_all(k->rules, &n);

    return ANY(n, i, named(&v[i], name));
}

/* ---- history of one node ---- */

struct alert_replay_node *alert_replay_node_new(const struct node_now *n)
{
    struct alert_replay_node *r = mem_zero(1, sizeof(*r));
    struct node_fact f = n->fact;
    AUTO_FREE struct device_fact *devices = mem_zero(MAX(n->n_devices, 1u), sizeof(*devices));

    mem_copy_str(r->key, sizeof(r->key), n->key);
    mem_copy_str(r->name, sizeof(r->name), node_shown(n));
    r->labels = mem_str(n->labels);
    f.devices = devices;
    f.n_devices = 0;
    for (size_t i = 0; i < n->n_devices; i++) {
        if (n->devices[i].fact.lost)
            continue;
        devices[f.n_devices] = n->devices[i].fact;
        devices[f.n_devices].asleep = false; /* a current state, not one of the period */
        devices[f.n_devices++].note[0] = 0;
    }
    node_fact_copy(&r->fact, &f);
    return r;
}

static void unload(struct alert_replay_node *r)
{
    for (size_t i = 0; i < r->n_spans; i++)
        node_fact_fini(&r->spans[i].was.fact);
    r->n_spans = r->at_span = r->n_uuids = r->n_customs = r->n_lanes = 0;
    FREE_ALL(r->values, r->work, r->alive, r->slots, r->columns, r->pairs);
    r->values = NULL;
    r->work = r->alive = NULL;
    r->slots = NULL;
    r->columns = NULL;
    r->pairs = NULL;
}

void alert_replay_node_free(struct alert_replay_node *r)
{
    if (!r)
        return;
    unload(r);
    free(r->labels);
    node_fact_fini(&r->fact);
    arena_fini(&r->arena);
    FREE_ALL(r->stays, r->on, r->uses, r->upsets, r->looks, r->spans, r->uuids, r->customs, r->lanes);
    free(r);
}

const char *alert_replay_node_key(const struct alert_replay_node *r)
{
    return r->key;
}

size_t alert_replay_node_minute_bytes(const struct alert_replay_node *r, const struct alert_replay_node_params *k)
{
    size_t of_node = 0, of_device = 0;

    for (int m = 0; m < M_COUNT; m++)
        if (k->metrics[m])
            *(metrics[m].scope == SCOPE_NODE ? &of_node : &of_device) += sizeof(int64_t);
    return of_node + 1 + r->fact.n_devices * (of_device + 1);
}

/* ---- processes ---- */

struct taking {
    struct alert_replay_node *r;
    int64_t to_ms;
    size_t max;
    bool full;
};

static void take_proc(void *arg, const struct proc_span *p)
{
    struct taking *k = arg;
    struct alert_replay_node *r = k->r;
    const char *before = r->n_stays ? r->stays[r->n_stays - 1].device : "";

    if (p->first_ms > k->to_ms)
        return;
    if (r->n_stays >= k->max) {
        k->full = true;
        return;
    }
    char *fact = arena_alloc(&r->arena, record_pack(&proc_wire, &p->fact, NULL), 1);
    record_pack(&proc_wire, &p->fact, fact);
    VEC_ADD(r->stays, r->n_stays, r->cap_stays,
            (struct stay){.first_ms = p->first_ms,
                          .end_ms = p->ended ? p->last_ms : p->last_ms + SEEN_MS,
                          .mem = p->mem_max > 0 ? p->mem_max : -1,
                          .sm = p->sm,
                          .kind = p->kind ? p->kind : PROC_COMPUTE,
                          .device = strcmp(before, p->device) == 0 ? before : arena_str(&r->arena, p->device),
                          .fact = fact});
}

static int take_procs(struct alert_replay_node *r, const struct past_source *past, int64_t from_ms, struct taking *k,
                      struct err *err)
{
    int code = past_each(past, EACH_PROC(take_proc, k, .node = r->key, .from_ms = from_ms - SEEN_MS), err);

    SORT(r->stays, r->n_stays, order_numbers);
    if (code >= 0 && k->full)
        code = err_set(err, -E2BIG, "too many processes ran in that period: request a shorter one");
    return MIN(code, 0);
}

/* If a node does not report at the start, it was down, or it did not exist yet. */
static int last_heard(struct alert_replay_node *r, const struct past_source *past, int64_t before_ms, struct err *err)
{
    const char *itself[1] = {""}, *names[M_COUNT];
    struct history h = {0};
    size_t n = 0;

    for (int m = 0; m < M_COUNT; m++)
        if (metrics[m].scope == SCOPE_NODE)
            names[n++] = metrics[m].name;
    struct bins_query ask = {.node = r->key,
                             .devices = itself,
                             .metrics = names,
                             .n_devices = 1,
                             .n_metrics = n,
                             .from_ms = MAX(before_ms / HOUR_MS * HOUR_MS - LOOK_BACK_MS, 0),
                             .to_ms = before_ms / HOUR_MS * HOUR_MS,
                             .step_ms = HOUR_MS,
                             .fields = BIN_LAST,
                             .tier = TIER_HOUR,
                             .stop = past->stop,
                             .arg = past->stop_arg,
                             .session = past->session};
    int code = past->history(past->store, &ask, &h, err);
    if (code < 0)
        return code;
    for (size_t s = 0; s < h.n_series; s++)
        for (size_t i = 0; i < h.n; i++)
            if (h.v[s * h.n + i].count)
                r->heard_ms = MAX(r->heard_ms, h.from_ms + (int64_t)(i + 1) * h.step_ms);
    history_fini(&h);
    return 0;
}

int alert_replay_node_begin(struct alert_replay_node *r, const struct past_source *past, int64_t from_ms, int64_t to_ms,
                            size_t max, struct err *err)
{
    struct taking k = {.r = r, .to_ms = to_ms, .max = max};
    int code = take_procs(r, past, from_ms, &k, err);

    if (code == 0)
        code = last_heard(r, past, from_ms, err);
    return code < 0 ? code : (int)r->n_stays;
}

/* ---- events ---- */

void alert_replay_node_event(struct alert_replay_node *r, const struct recent *e)
{
    if (e->kind >= EVENT_BACK && e->kind <= EVENT_DOWN && !e->device[0]) /* as in store_node_at */
        VEC_ADD(r->upsets, r->n_upsets, r->cap_upsets, (struct upset){e->at_ms, e->kind == EVENT_HUNG ? e->at_ms : 0});
    if (e->kind == EVENT_LOST || e->kind == EVENT_BACK || e->kind == EVENT_START || e->kind == EVENT_NEW)
        VEC_ADD(r->looks, r->n_looks, r->cap_looks, e->at_ms);
}

/* ---- facts ---- */

static bool same_facts(const struct node_fact *a, const struct node_fact *b)
{
    if (a->n_devices != b->n_devices || a->n_custom != b->n_custom || a->tick_ms != b->tick_ms)
        return false;
    for (size_t i = 0; i < a->n_devices; i++) {
        const struct device_fact *x = &a->devices[i], *y = &b->devices[i];
        if (strcmp(x->uuid, y->uuid) != 0 || strcmp(x->parent, y->parent) != 0 || x->index != y->index ||
            x->lost != y->lost || x->asleep != y->asleep)
            return false;
    }
    return !ANY(a->n_custom, i, strcmp(a->custom[i].name, b->custom[i].name) != 0);
}

static bool same_was(const struct node_at *a, const struct node_at *b)
{
    return a->has_fact == b->has_fact && a->maintenance == b->maintenance && same_facts(&a->fact, &b->fact);
}

/* Returns 1 if facts are stored, 0 if not, or -errno. */
static int ask_was(struct alert_replay_node *r, const struct past_source *past, int64_t at_ms, struct node_at *ret,
                   struct err *err)
{
    if (past->stop && past->stop(past->stop_arg))
        return -ECANCELED;
    return past->was ? past->was(past->store, past->session, r->key, at_ms, ret, err) : 0;
}

static void add_span(struct alert_replay_node *r, int64_t from_ms, struct node_at *was)
{
    VEC_ADD(r->spans, r->n_spans, r->cap_spans, (struct span){from_ms, *was});
    *was = (struct node_at){0}; /* ownership moved to the span */
}

/* Finds changes of facts in (lo, hi], to the minute. */
static int find_changes(struct alert_replay_node *r, const struct past_source *past, int64_t lo_ms, int64_t hi_ms,
                        struct err *err)
{
    while (r->n_spans < SPANS_MAX) {
        struct node_at at = {0}, found = {0};
        int64_t lo = lo_ms, hi = hi_ms;
        int code = ask_was(r, past, hi, &found, err);
        if (code < 0)
            return code;
        if (same_was(&found, &r->spans[r->n_spans - 1].was)) {
            node_fact_fini(&found.fact);
            return 0;
        }
        while (hi - lo > MINUTE_MS) {
            int64_t mid = lo + (hi - lo) / MINUTE_MS / 2 * MINUTE_MS;
            code = ask_was(r, past, mid, &at, err);
            if (code < 0) {
                node_fact_fini(&found.fact);
                return code;
            }
            if (same_was(&at, &r->spans[r->n_spans - 1].was)) {
                lo = mid;
                node_fact_fini(&at.fact);
            } else {
                hi = mid;
                node_fact_fini(&found.fact);
                found = at;
            }
            at = (struct node_at){0};
        }
        add_span(r, hi, &found);
        lo_ms = hi;
    }
    return 0;
}

/* Reads the facts every hour, and three times in the minutes after each possible change. */
static int load_spans(struct alert_replay_node *r, const struct past_source *past, int64_t to_ms, struct err *err)
{
    AUTO_FREE int64_t *at = mem_alloc((r->n_looks * 3 + (size_t)((to_ms - r->from_ms) / HOUR_MS) + 2) * sizeof(*at));
    struct node_at was = {0};
    int64_t before = r->from_ms;
    size_t n = 0;
    int code = ask_was(r, past, r->from_ms, &was, err);

    if (code < 0)
        return code;
    code = 0;
    add_span(r, r->from_ms, &was);
    for (int64_t t = r->from_ms + HOUR_MS; t < to_ms; t += HOUR_MS)
        at[n++] = t;
    at[n++] = to_ms;
    for (size_t i = 0; i < r->n_looks; i++)
        for (int64_t k = 1; k <= 3; k++) {
            int64_t t = (r->looks[i] / MINUTE_MS + k) * MINUTE_MS;
            if (t > r->from_ms && t < to_ms)
                at[n++] = t;
        }
    qsort(at, n, sizeof(*at), order_numbers);
    for (size_t i = 0; i < n && code == 0; i++) {
        if (at[i] == before)
            continue;
        code = find_changes(r, past, before, at[i], err);
        before = at[i];
    }
    return code;
}

static const struct node_fact *fact_of(const struct alert_replay_node *r, size_t span)
{
    return r->spans[span].was.has_fact ? &r->spans[span].was.fact : &r->fact;
}

/* Index among the devices, or their number. */
static size_t device_at(const struct node_fact *f, const char *uuid)
{
    return FIRST(f->n_devices, i, strcmp(f->devices[i].uuid, uuid) == 0);
}

/* Collects all devices and custom metrics of the period. */
static void gather_names(struct alert_replay_node *r, const struct alert_replay_node_params *k)
{
    for (size_t s = 0; s < r->n_spans; s++) {
        const struct node_fact *f = fact_of(r, s);
        for (size_t i = 0; i < f->n_devices; i++)
            if (!ANY(r->n_uuids, at, strcmp(r->uuids[at], f->devices[i].uuid) == 0))
                VEC_ADD(r->uuids, r->n_uuids, r->cap_uuids, f->devices[i].uuid);
        for (size_t i = 0; i < f->n_custom; i++) {
            bool known = ANY(r->n_customs, at, strcmp(r->customs[at], f->custom[i].name) == 0);
            if (known || r->n_customs == CUSTOM_MAX || !custom_wanted(k, f->custom[i].name))
                continue;
            VEC_ROOM(r->customs, r->n_customs, r->cap_customs);
            mem_copy_str(r->customs[r->n_customs++], sizeof(*r->customs), f->custom[i].name);
        }
    }
}

/* ---- values ---- */

static const enum metric tells[] = {M_util, M_mem_util, M_sm_active, M_enc, M_dec};

static uint8_t work_bit(enum metric m)
{
    size_t i = FIRST(ARRAY_LEN(tells), k, tells[k] == m);

    return i < ARRAY_LEN(tells) ? (uint8_t)(1u << i) : 0;
}

static void add_lane(struct alert_replay_node *r, const struct alert_replay_node_params *k, int device, int m,
                     int custom)
{
    uint8_t work = device >= 0 && m >= 0 && judge_is_activity((enum metric)m) ? work_bit((enum metric)m) : 0;

    VEC_ADD(r->lanes, r->n_lanes, r->cap_lanes,
            (struct lane){.metric = m >= 0 ? metrics[m].no : 0,
                          .custom = (int16_t)custom,
                          .device = device,
                          .work = work,
                          .work_value = m == M_mem_util ? k->rule->busy_mem_util + 1 : k->rule->busy_util});
}

/* Lists the requested names and the enum of each, custom metrics last. Returns their number. */
static size_t names_of(const struct alert_replay_node *r, const struct alert_replay_node_params *k, enum scope scope,
                       const char **names, int *which)
{
    size_t n = 0;

    for (int m = 0; m < M_COUNT; m++) /* all metrics of the node: any value shows that it reported */
        if (metrics[m].scope == scope && (scope == SCOPE_NODE || k->metrics[m])) {
            which[n] = m;
            names[n++] = metrics[m].name;
        }
    for (size_t i = 0; i < r->n_customs; i++) {
        which[n] = -1 - (int)i;
        names[n++] = r->customs[i];
    }
    return n;
}

static struct lane *lane_of(struct alert_replay_node *r, int device, int which)
{
    uint16_t metric = which >= 0 ? metrics[which].no : 0;

    return FIND(r->lanes, r->n_lanes, l,
                l->device == device && l->metric == metric && (which >= 0 || l->custom == -1 - which));
}

static void fill_lane(struct alert_replay_node *r, const struct alert_replay_node_params *k, const struct lane *l,
                      int which, const struct history *h, const struct bin *b, int device)
{
    size_t off = (size_t)((r->from_ms - h->from_ms) / MINUTE_MS);

    for (size_t i = 0; i < r->minutes && i + off < h->n; i++) {
        const struct bin *x = &b[i + off];
        if (!x->count)
            continue;
        r->alive[i] = 1;
        if (!l)
            continue;
        r->values[i * r->n_lanes + (size_t)(l - r->lanes)] = x->last;
        if (l->work && judge_is_work(k->rule, (enum metric)which, x->max))
            r->work[(size_t)device * r->minutes + i] |= l->work;
    }
}

static int ask_values(struct alert_replay_node *r, const struct alert_replay_node_params *k,
                      const struct past_source *past, int first, size_t n, struct err *err)
{
    const char *itself[1] = {""}, *names[M_COUNT + CUSTOM_MAX];
    int which[M_COUNT + CUSTOM_MAX];
    enum scope scope = first < 0 ? SCOPE_NODE : SCOPE_DEVICE;
    size_t n_names = names_of(r, k, scope, names, which);
    struct history h = {0};
    struct bins_query ask = {.node = r->key,
                             .devices = first < 0 ? itself : r->uuids + first,
                             .metrics = names,
                             .n_devices = n,
                             .n_metrics = n_names,
                             .from_ms = r->from_ms,
                             .to_ms = r->from_ms + (int64_t)r->minutes * MINUTE_MS,
                             .step_ms = MINUTE_MS,
                             .fields = BIN_MAX | BIN_LAST,
                             .tier = TIER_MINUTE,
                             .stop = past->stop,
                             .arg = past->stop_arg,
                             .session = past->session};
    int code = past->history(past->store, &ask, &h, err);

    if (code < 0)
        return code;
    for (size_t d = 0; d < n && h.n_series == n * n_names; d++)
        for (size_t m = 0; m < n_names; m++) {
            int device = first < 0 ? -1 : first + (int)d;
            fill_lane(r, k, lane_of(r, device, which[m]), which[m], &h, h.v + (d * n_names + m) * h.n, device);
        }
    history_fini(&h);
    return 0;
}

static int load_values(struct alert_replay_node *r, const struct alert_replay_node_params *k,
                       const struct past_source *past, struct err *err)
{
    for (int d = -1; d < (int)r->n_uuids; d++) {
        for (int m = 0; m < M_COUNT; m++)
            if (k->metrics[m] && (metrics[m].scope == SCOPE_NODE) == (d < 0))
                add_lane(r, k, d, m, -1);
        for (size_t i = 0; i < r->n_customs; i++)
            add_lane(r, k, d, -1, (int)i);
    }
    r->values = mem_alloc(MAX(r->n_lanes * r->minutes, 1u) * sizeof(*r->values));
    for (size_t i = 0; i < r->n_lanes * r->minutes; i++)
        r->values[i] = SERIES_NONE;
    r->work = mem_zero(MAX(r->n_uuids * r->minutes, 1u), 1);
    r->alive = mem_zero(MAX(r->minutes, 1u), 1);
    r->slots = mem_zero(MAX(r->n_uuids, 1u), sizeof(*r->slots));
    r->columns = mem_zero(MAX(r->n_lanes, 1u), sizeof(*r->columns));
    r->pairs = mem_zero(MAX(r->n_lanes, 1u), sizeof(*r->pairs));
    int code = ask_values(r, k, past, -1, 1, err);
    for (size_t d = 0; d < r->n_uuids && code == 0; d += DEVICES_AT)
        code = ask_values(r, k, past, (int)d, MIN(r->n_uuids - d, (size_t)DEVICES_AT), err);
    return code;
}

int alert_replay_node_load(struct alert_replay_node *r, const struct alert_replay_node_params *k,
                           const struct past_source *past, int64_t from_ms, int64_t to_ms, struct err *err)
{
    struct node_at before = {0};

    if (r->n_spans) { /* keep the newest, to compare with */
        before = r->spans[r->n_spans - 1].was;
        r->n_spans--;
    }
    unload(r);
    r->from_ms = from_ms;
    r->minutes = (size_t)((to_ms - from_ms) / MINUTE_MS);
    int code = load_spans(r, past, to_ms, err);
    r->same = code == 0 && same_was(&before, &r->spans[0].was);
    node_fact_fini(&before.fact);
    if (code < 0)
        return code;
    gather_names(r, k);
    return load_values(r, k, past, err);
}

/* ---- replay ---- */

/* seam: between two loads, where the facts may be the same. */
static void play_facts(struct alert_replay_node *r, struct live *l, bool seam)
{
    const struct span *s = &r->spans[r->at_span];
    const struct node_fact *f = fact_of(r, r->at_span);

    for (size_t i = 0; i < r->n_uuids; i++) {
        size_t d = device_at(f, r->uuids[i]);
        r->slots[i] = d < f->n_devices ? (uint16_t)(d + 1) : 0;
    }
    if (!seam || !r->same || !r->facts)
        r->facts++;
    live_facts(l, r->node, r->facts, f, 0);
    if (r->node->maintenance != s->was.maintenance)
        live_admin(l, r->node, NULL, false, s->was.maintenance);
}

static void rebuild_procs(struct alert_replay_node *r, struct live *l)
{
    const struct node_fact *f = fact_of(r, r->at_span);
    struct proc_list list = {.v = mem_zero(MAX(r->n_on, 1u), sizeof(*list.v))};

    r->n_uses = 0;
    for (size_t i = 0; i < r->n_on && list.n < PROCS_MAX; i++) {
        const struct stay *s = &r->stays[r->on[i]];
        size_t d = device_at(f, s->device);
        if (d == f->n_devices)
            continue;
        record_unpack(&proc_wire, s->fact, &list.v[list.n]);
        VEC_ADD(r->uses, r->n_uses, r->cap_uses,
                (struct proc_use){.proc = (uint16_t)list.n++,
                                  .slot = (uint16_t)(d + 1),
                                  .kind = s->kind,
                                  .mem = s->mem,
                                  .sm = s->sm});
    }
    live_procs(l, r->node, ++r->procs, &list, 0);
    free(list.v);
}

/* Applies process starts and exits up to at_ms. Returns true if there were any. */
static bool turn_procs(struct alert_replay_node *r, int64_t at_ms)
{
    size_t kept = 0, before = r->n_on;

    for (size_t i = 0; i < r->n_on; i++)
        if (r->stays[r->on[i]].end_ms >= at_ms)
            r->on[kept++] = r->on[i];
    r->n_on = kept;
    for (; r->next_stay < r->n_stays && r->stays[r->next_stay].first_ms <= at_ms; r->next_stay++)
        if (r->stays[r->next_stay].end_ms >= at_ms)
            VEC_ADD(r->on, r->n_on, r->cap_on, r->next_stay);
    return before != kept || r->n_on != kept;
}

static size_t make_columns(struct alert_replay_node *r, size_t minute)
{
    static const uint64_t newest[1] = {2}, both[1] = {3};
    const struct node_fact *f = fact_of(r, r->at_span);
    size_t n = 0;

    for (size_t i = 0; i < r->n_lanes; i++) {
        const struct lane *l = &r->lanes[i];
        int64_t v = r->values[minute * r->n_lanes + i];
        uint16_t slot = l->device < 0 ? 0 : r->slots[l->device], metric = l->metric;
        if (v == SERIES_NONE || (l->device >= 0 && !slot))
            continue;
        if (!metric) {
            size_t at = FIRST(f->n_custom, k, strcmp(f->custom[k].name, r->customs[l->custom]) == 0);
            if (at == f->n_custom)
                continue;
            metric = (uint16_t)(METRIC_CUSTOM + at);
        }
        bool worked = l->work && r->work[(size_t)l->device * r->minutes + minute] & l->work;
        r->pairs[n][0] = l->work_value;
        r->pairs[n][1] = v;
        r->columns[n] =
            (struct column){.metric = metric, .slot = slot, .have = worked ? both : newest, .v = r->pairs[n]};
        n++;
    }
    return n;
}

static void play_upsets(struct alert_replay_node *r, struct live *l, int64_t at_ms)
{
    bool was_hung = r->hung_ms != 0;

    while (r->next_upset < r->n_upsets && r->upsets[r->next_upset].at_ms <= at_ms)
        r->hung_ms = r->upsets[r->next_upset++].since_ms;
    if (!r->node || (!r->hung_ms && !was_hung))
        return;
    live_hello(l, r->node,
               &(struct hello){.run = 1,
                               .sent_ms = at_ms,
                               .state_since_ms = r->hung_ms ? r->hung_ms : at_ms,
                               .collect = r->hung_ms ? COLLECT_HUNG : COLLECT_OK},
               "", at_ms);
}

void alert_replay_node_play(struct alert_replay_node *r, struct live *l, int64_t at_ms)
{
    size_t minute = (size_t)((at_ms - r->from_ms) / MINUTE_MS) - 1;
    int64_t ticks[2] = {at_ms - MINUTE_MS / 2, at_ms};
    bool first = minute == 0;

    bool turned = turn_procs(r, at_ms);
    if (!r->node && (r->alive[minute] || r->heard_ms)) {
        r->node = live_node(l, r->key, r->name, at_ms);
        live_labels(l, r->node, r->labels);
        r->node->at_ms = r->heard_ms;
        first = true;
    }
    play_upsets(r, l, at_ms);
    if (!r->node)
        return;
    bool moved = first;
    while (r->at_span + 1 < r->n_spans && r->spans[r->at_span + 1].from_ms <= at_ms) {
        r->at_span++;
        moved = true;
        first = false;
    }
    if (moved)
        play_facts(r, l, first);
    if (moved || turned)
        rebuild_procs(r, l);
    if (!r->alive[minute])
        return;
    struct batch b = {.facts = r->facts,
                      .procs = r->n_uses ? r->procs : 0,
                      .n_ticks = 2,
                      .at_ms = ticks,
                      .n_columns = make_columns(r, minute),
                      .columns = r->columns,
                      .n_uses = r->n_uses,
                      .uses = r->uses};
    live_batch(l, r->node, &b, 0, at_ms);
}
