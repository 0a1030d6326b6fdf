/*
 * travel.c: rebuilds nodes as they were at a time, one at a time, from bins of history and records of processes.
 * Thread-safe.
 */
#include "history/travel.h"

#include "base/clock.h"
#include "base/order.h"
#include "now/judge.h"

struct stop { /* the current data of a node */
    char key[NODE_KEY_MAX], name[NAME_MAX_LEN], address[64];
    bool demo, retired, maintenance;
    int64_t at_ms;         /* newest report; 0: never */
    struct node_fact fact; /* with its devices */
};

struct travel {
    int64_t at_ms;
    bool minutes; /* out of the minute tier */
    bool whole;   /* the whole minute before at_ms: any process seen in it counts */
    struct state_rule rule;
    size_t n;
    struct stop *stops;
};

void travel_to(struct travel *t, int64_t at_ms, int64_t now_ms)
{
    t->at_ms = at_ms;
    t->minutes = now_ms - at_ms > TRAVEL_RAW_MS;
    t->whole = now_ms == TRAVEL_MINUTE;
}

struct travel *travel_new(const struct view *v, const struct state_rule *rule, int64_t at_ms, int64_t now_ms)
{
    struct travel *t = mem_zero(1, sizeof(*t));

    travel_to(t, at_ms, now_ms);
    t->rule = *rule;
    t->stops = mem_zero(MAX(v->n, 1u), sizeof(*t->stops));
    for (size_t i = 0; i < v->n; i++) {
        const struct node_now *n = v->nodes[i];
        struct stop *s = &t->stops[t->n++];
        *s = (struct stop){.demo = n->demo, .retired = n->retired, .maintenance = n->maintenance, .at_ms = n->at_ms};
        mem_copy_str(s->key, sizeof(s->key), n->key);
        mem_copy_str(s->name, sizeof(s->name), n->name);
        mem_copy_str(s->address, sizeof(s->address), n->address);
        s->fact = n->fact;
        s->fact.custom = mem_zero(MAX(n->fact.n_custom, 1u), sizeof(*s->fact.custom));
        if (n->fact.n_custom)
            memcpy(s->fact.custom, n->fact.custom, n->fact.n_custom * sizeof(*s->fact.custom));
        s->fact.n_devices = n->n_devices;
        s->fact.devices = mem_zero(MAX(n->n_devices, 1u), sizeof(*s->fact.devices));
        for (size_t k = 0; k < n->n_devices; k++)
            s->fact.devices[k] = n->devices[k].fact;
    }
    return t;
}

void travel_free(struct travel *t)
{
    if (!t)
        return;
    for (size_t i = 0; i < t->n; i++)
        node_fact_fini(&t->stops[i].fact);
    free(t->stops);
    free(t);
}

size_t travel_count(const struct travel *t)
{
    return t->n;
}

/* ---- values ---- */

struct values { /* of a device or of the node */
    struct sample *now;
    int64_t *v_at_ms, *at_ms;
    struct custom_now **custom;
    size_t *n_custom;
};

/* The newest of the bins and its time: to the second, and never after at_ms. */
static bool newest(const struct travel *t, const struct history *h, const struct bin *b, size_t *ret_i,
                   int64_t *ret_at_ms)
{
    for (size_t i = h->n; i-- > 0;)
        if (b[i].count) {
            *ret_i = i;
            *ret_at_ms = t->minutes ? MIN(h->from_ms + (int64_t)(i + 1) * h->step_ms - 1, t->at_ms)
                                    : floor_to(h->last_ms[(size_t)(b - h->v) + i], 1000);
            return true;
        }
    return false;
}

static void take_value(const struct travel *t, const struct history *h, const struct bin *b, enum metric m,
                       const struct values *to)
{
    size_t i;
    int64_t at_ms;

    if (!newest(t, h, b, &i, &at_ms))
        return;
    sample_set(to->now, m, b[i].last);
    to->v_at_ms[m] = at_ms;
    *to->at_ms = MAX(*to->at_ms, at_ms);
    to->now->at_ms = *to->at_ms;
}

static void take_custom(const struct travel *t, const struct history *h, const struct bin *b, size_t which, size_t of,
                        const struct values *to)
{
    size_t i;
    int64_t at_ms;

    if (!newest(t, h, b, &i, &at_ms))
        return;
    if (!*to->custom)
        *to->custom = mem_zero(of, sizeof(**to->custom));
    (*to->custom)[(*to->n_custom)++] =
        (struct custom_now){.metric = (uint16_t)(METRIC_CUSTOM + which), .v = b[i].last, .at_ms = at_ms};
    *to->at_ms = MAX(*to->at_ms, at_ms);
}

static void note_work(struct device_now *d, int64_t end_ms)
{
    d->state = DEV_BUSY;
    d->idle_since_ms = MAX(d->idle_since_ms, end_ms);
}

/* Work seen before the newest bin: then the device was busy and is idle since. */
static void take_work(const struct travel *t, const struct history *h, const struct bin *b, enum metric m,
                      struct device_now *d)
{
    for (size_t i = h->n; i-- > 0;)
        if (b[i].count && judge_is_work(&t->rule, m, b[i].max)) {
            note_work(d, MIN(h->from_ms + (int64_t)(i + 1) * h->step_ms, t->at_ms));
            return;
        }
}

/* The same where bins are longer than it should be known: false when it was somewhere within them. */
static bool guess_work(const struct travel *t, const struct history *h, const struct bin *b, enum metric m,
                       struct device_now *d)
{
    size_t i;
    int64_t at_ms;

    if (!newest(t, h, b, &i, &at_ms) || !ANY(h->n, k, b[k].count && judge_is_work(&t->rule, m, b[k].max)))
        return true;
    if (!judge_is_work(&t->rule, m, b[i].last))
        return false;
    note_work(d, MIN(at_ms + 1000, t->at_ms));
    return true;
}

/* Reads the activity metrics by the second. */
static int ask_work(const struct travel *t, const struct past_source *past, struct bins_query ask, struct node_now *n,
                    struct err *err)
{
    const char *names[M_COUNT];
    enum metric which[M_COUNT];
    size_t n_names = 0;
    struct history h = {0};

    for (int m = 0; m < M_COUNT; m++)
        if (judge_is_activity((enum metric)m)) {
            which[n_names] = (enum metric)m;
            names[n_names++] = metrics[m].name;
        }
    ask.metrics = names;
    ask.n_metrics = n_names;
    ask.step_ms = 1000;
    ask.fields = BIN_MAX;
    int r = past_history(past, ask, &h, err);
    for (size_t d = 0; r == 0 && d < ask.n_devices && h.n_series == ask.n_devices * n_names; d++)
        for (size_t m = 0; m < n_names; m++)
            take_work(t, &h, h.v + (d * n_names + m) * h.n, which[m], &n->devices[d]);
    history_fini(&h);
    return r;
}

static int ask_values(const struct travel *t, const struct past_source *past, struct node_now *n, enum scope scope,
                      struct err *err)
{
    const char *itself[1] = {""};
    enum metric which[M_COUNT];
    size_t n_custom = n->fact.n_custom, n_names = 0, n_known, n_devices = scope == SCOPE_NODE ? 1 : n->n_devices;
    int64_t fine_ms = t->minutes ? MINUTE_MS : 1000, last_ms = t->at_ms / fine_ms * fine_ms;
    bool unsure = false;
    AUTO_FREE const char **devices = mem_zero(MAX(n->n_devices, 1u), sizeof(*devices));
    AUTO_FREE const char **names = mem_zero(M_COUNT + n_custom, sizeof(*names));
    struct history h = {0};

    for (int m = 0; m < M_COUNT; m++)
        if (metrics[m].scope == scope) {
            which[n_names] = (enum metric)m;
            names[n_names++] = metrics[m].name;
        }
    n_known = n_names;
    for (size_t i = 0; i < n_custom; i++)
        names[n_names++] = n->fact.custom[i].name;
    if (n_devices == 0)
        return 0;
    for (size_t i = 0; i < n->n_devices; i++)
        devices[i] = n->devices[i].fact.uuid;
    struct bins_query ask = {.node = n->key,
                             .devices = scope == SCOPE_NODE ? itself : devices,
                             .metrics = names,
                             .n_devices = n_devices,
                             .n_metrics = n_names,
                             .from_ms = MAX(last_ms - TRAVEL_WINDOW_MS, 0),
                             .to_ms = last_ms + fine_ms,
                             .step_ms = MINUTE_MS,
                             .fields = BIN_LAST | BIN_MAX,
                             .exact = true,
                             .tier = t->minutes ? TIER_MINUTE : TIER_RAW};
    int r = past_history(past, ask, &h, err);
    if (r < 0)
        return r;
    for (size_t d = 0; d < n_devices && h.n_series == n_devices * n_names; d++) {
        struct device_now *dev = scope == SCOPE_NODE ? NULL : &n->devices[d];
        struct values to = dev ? (struct values){&dev->now, dev->v_at_ms, &dev->at_ms, &dev->custom, &dev->n_custom}
                               : (struct values){&n->now, n->v_at_ms, &n->sample_at_ms, &n->custom, &n->n_custom};
        for (size_t m = 0; m < n_names; m++) {
            const struct bin *b = h.v + (d * n_names + m) * h.n;
            if (m >= n_known) {
                take_custom(t, &h, b, m - n_known, n_custom, &to);
                continue;
            }
            take_value(t, &h, b, which[m], &to);
            if (dev && judge_is_activity(which[m]) && t->minutes)
                take_work(t, &h, b, which[m], dev);
            else if (dev && judge_is_activity(which[m]))
                unsure |= !guess_work(t, &h, b, which[m], dev);
        }
        n->at_ms = MAX(n->at_ms, *to.at_ms);
    }
    history_fini(&h);
    return unsure ? ask_work(t, past, ask, n, err) : 0;
}

/* ---- processes ---- */

struct found {
    size_t device;
    int64_t mem;
    struct proc_fact fact;
};

struct taking {
    const struct travel *t;
    const struct node_now *n;
    struct found *v;
    size_t count, cap;
};

static void take_proc(void *arg, const struct proc_span *p)
{
    struct taking *k = arg;

    int64_t seen_ms = MIN(k->t->at_ms, k->n->at_ms) - (k->t->whole ? MINUTE_MS - 1 : 0); /* by the newest sample */
    if (p->first_ms > k->t->at_ms || (p->ended && p->last_ms < seen_ms))
        return;
    for (size_t i = 0; i < k->n->n_devices && k->count < PROCS_MAX; i++) {
        if (strcmp(k->n->devices[i].fact.uuid, p->device) != 0)
            continue;
        VEC_ADD(k->v, k->count, k->cap, (struct found){i, p->mem_max > 0 ? p->mem_max : -1, p->fact});
    }
}

/* Adds them to their device, with the facts after the list in the same block. */
static void put_procs(struct device_now *d, size_t device, const struct taking *k)
{
    size_t n = 0;

    for (size_t i = 0; i < k->count; i++)
        n += k->v[i].device == device;
    if (n == 0)
        return;
    d->procs = mem_zero(n, sizeof(*d->procs) + sizeof(*d->procs->fact));
    struct proc_fact *facts = (struct proc_fact *)(d->procs + n);
    for (size_t i = 0; i < k->count; i++)
        if (k->v[i].device == device) {
            facts[d->n_procs] = k->v[i].fact;
            d->procs[d->n_procs] =
                (struct proc_now){.fact = &facts[d->n_procs], .kind = PROC_COMPUTE, .mem = k->v[i].mem, .sm = -1};
            d->n_procs++;
        }
}

static int ask_procs(const struct travel *t, const struct past_source *past, struct node_now *n, struct err *err)
{
    struct taking k = {.t = t, .n = n};
    int r = past_each(past, EACH_PROC(take_proc, &k, .node = n->key, .at_ms = t->at_ms, .session = past->session), err);

    for (size_t i = 0; r >= 0 && i < n->n_devices; i++)
        put_procs(&n->devices[i], i, &k);
    free(k.v);
    return MIN(r, 0);
}

/* ---- a node ---- */

/* was: the known state of then; its facts move into n. NULL, or without facts: as it is now. */
static void start_node(const struct stop *s, struct node_at *was, struct node_now *n)
{
    *n =
        (struct node_now){.demo = s->demo, .retired = s->retired, .maintenance = s->maintenance, .collect = COLLECT_OK};
    mem_copy_str(n->key, sizeof(n->key), s->key);
    mem_copy_str(n->name, sizeof(n->name), was->name[0] ? was->name : s->name);
    mem_copy_str(n->address, sizeof(n->address), s->address);
    struct device_fact *devices = was->has_fact ? was->fact.devices : s->fact.devices;
    size_t n_devices = was->has_fact ? was->fact.n_devices : s->fact.n_devices;
    n->fact = was->has_fact ? was->fact : s->fact;
    if (was->has_fact)
        was->fact.custom = NULL; /* now the node's */
    else
        n->fact.custom = mem_zero(MAX(s->fact.n_custom, 1u), sizeof(*n->fact.custom));
    if (!was->has_fact && s->fact.n_custom)
        memcpy(n->fact.custom, s->fact.custom, s->fact.n_custom * sizeof(*n->fact.custom));
    n->fact.devices = NULL;
    n->fact.n_devices = 0;
    if (was->name[0])
        n->maintenance = was->maintenance;
    if (was->hung_since_ms) {
        n->collect = COLLECT_HUNG;
        n->collect_since_ms = was->hung_since_ms;
    }
    n->devices = mem_zero(MAX(n_devices, 1u), sizeof(*n->devices));
    for (size_t i = 0; i < n_devices; i++) {
        struct device_now *d = &n->devices[n->n_devices++];
        d->fact = devices[i];
        if (was->has_fact)
            continue;
        d->fact.asleep = false; /* of now, not of then */
        d->fact.note[0] = 0;
    }
    node_fact_fini(&was->fact);
}

/*
 * A sender of vesta reports all of its GPUs in each post, while past devices are known by the minute. So this reads all
 * devices it has had and keeps those of the newest post.
 */
static bool is_sender(const struct node_now *n)
{
    return strcmp(n->fact.collector, "vesta") == 0;
}

static void add_others(struct node_now *n, const struct stop *s)
{
    size_t had = n->n_devices;

    n->devices = mem_grow(n->devices, had + s->fact.n_devices + 1, sizeof(*n->devices));
    for (size_t i = 0; i < s->fact.n_devices; i++)
        if (!ANY(had, k, strcmp(n->devices[k].fact.uuid, s->fact.devices[i].uuid) == 0))
            n->devices[n->n_devices++] = (struct device_now){.fact = s->fact.devices[i]};
}

static void keep_newest(struct node_now *n)
{
    size_t kept = 0;

    for (size_t i = 0; i < n->n_devices; i++) {
        struct device_now *d = &n->devices[i];
        if (d->at_ms < n->at_ms) {
            device_now_fini(d);
            continue;
        }
        d->fact.lost = false;
        n->devices[kept++] = *d;
    }
    n->n_devices = kept;
}

/* Devices that are removed now and have no data of that time did not exist. */
static void drop_unknown(struct node_now *n, bool of_then)
{
    size_t kept = 0;

    for (size_t i = 0; i < n->n_devices; i++) {
        struct device_now *d = &n->devices[i];
        if (d->fact.lost && !d->at_ms && !of_then) {
            device_now_fini(d);
            continue;
        }
        d->fact.lost = of_then && !d->at_ms && d->fact.lost;
        if (kept != i)
            n->devices[kept] = *d;
        kept++;
    }
    n->n_devices = kept;
}

static void judge(const struct travel *t, struct node_now *n)
{
    bool silent = n->at_ms == 0;

    if (silent)
        n->at_ms = MAX(t->at_ms - TRAVEL_WINDOW_MS, 1);
    for (int parents = 0; parents < 2; parents++) /* instances first: they make their GPU's state */
        for (size_t i = 0; i < n->n_devices; i++) {
            struct device_now *d = &n->devices[i];
            if (device_is_parent(n, d) == (parents == 1)) {
                d->state = state_of(&t->rule, n, d, t->at_ms, d->reason);
                if (d->state == DEV_BUSY)
                    d->idle_since_ms = 0;
            }
        }
    struct verdict v = judge_node(&t->rule, n, false, 0, t->at_ms);
    n->state = (enum node_state)v.state;
    judge_words(&v, "", n->reason);
    if (!silent)
        return;
    n->at_ms = 0;
    snprintf(n->reason, sizeof(n->reason), "nothing is stored of the two minutes before");
    for (size_t i = 0; i < n->n_devices; i++)
        snprintf(n->devices[i].reason, sizeof(n->devices[i].reason), "%s", n->reason);
}

int travel_node(const struct travel *t, size_t i, const struct past_source *past, struct node_now *ret, struct err *err)
{
    struct node_now n;
    struct node_at was = {0};
    int r = past->was ? past->was(past->store, past->session, t->stops[i].key, t->at_ms, &was, err) : 0;

    if (r < 0)
        return r;
    bool of_then = was.has_fact;
    start_node(&t->stops[i], &was, &n);
    if (is_sender(&n))
        add_others(&n, &t->stops[i]);
    r = ask_values(t, past, &n, SCOPE_DEVICE, err);
    if (r == 0)
        r = ask_values(t, past, &n, SCOPE_NODE, err);
    if (n.collect == COLLECT_HUNG) /* its agent still reported */
        n.at_ms = t->at_ms;
    if (is_sender(&n) && n.at_ms)
        keep_newest(&n);
    if (r == 0 && n.at_ms && past->each)
        r = ask_procs(t, past, &n, err);
    drop_unknown(&n, of_then);
    if (r < 0 || (n.retired && !n.at_ms)) {
        node_now_fini(&n);
        return r < 0 ? r : 0;
    }
    judge(t, &n);
    *ret = n;
    return 1;
}

/* Into ret from its end, newest first, before those found already; how many there are then. */
static size_t moments_of(const struct history *h, int64_t at_ms, size_t max, size_t found, int64_t *ret)
{
    int64_t before_ms = found ? ret[max - found] : INT64_MAX;

    for (size_t k = h->n; k-- > 0 && found < max;) {
        int64_t end_ms = MIN(h->from_ms + (int64_t)(k + 1) * h->step_ms - 1, at_ms);
        if (end_ms < before_ms && ANY(h->n_series, s, h->v[s * h->n + k].count > 0))
            ret[max - ++found] = end_ms;
    }
    return found;
}

int travel_times(const struct travel *t, size_t i, const struct past_source *past, size_t max, int64_t *ret,
                 bool *ret_minutes, struct err *err)
{
    static const char *const names[] = {"util", "mem_used", "temp"};
    /* close by at a second, further back coarser, and by the minute where samples are no longer kept */
    const struct {
        int64_t span_ms, step_ms;
        int tier;
    } tries[] = {{MAX(MIN((int64_t)max * 10000, 3 * 3600000ll), 120000), 1000, TIER_RAW},
                 {86400000, 10000, TIER_RAW},
                 {86400000, MINUTE_MS, TIER_MINUTE}};
    const struct stop *s = &t->stops[i];
    int64_t at_ms =
        s->at_ms ? MIN(t->at_ms, s->at_ms + MINUTE_MS) : t->at_ms; /* before its end, long ago as it may be */
    AUTO_FREE const char **devices = mem_zero(MAX(s->fact.n_devices, 1u), sizeof(*devices));
    size_t found = 0;

    for (size_t k = 0; k < s->fact.n_devices; k++)
        devices[k] = s->fact.devices[k].uuid;
    for (size_t k = 0; k < ARRAY_LEN(tries) && found < max && s->fact.n_devices; k++) {
        struct history h = {0};
        int64_t step_ms = tries[k].step_ms, to_ms = at_ms / step_ms * step_ms + step_ms;
        if (tries[k].tier == TIER_MINUTE && found)
            break;
        *ret_minutes = tries[k].tier == TIER_MINUTE;
        struct bins_query ask = {.node = s->key,
                                 .devices = devices,
                                 .metrics = names,
                                 .n_devices = MIN(s->fact.n_devices, 16u), /* they are read together */
                                 .n_metrics = ARRAY_LEN(names),
                                 .from_ms = MAX(to_ms - tries[k].span_ms, 0),
                                 .to_ms = to_ms,
                                 .step_ms = step_ms,
                                 .tier = tries[k].tier};
        int r = past_history(past, ask, &h, err);
        if (r < 0)
            return r;
        found = moments_of(&h, at_ms, max, found, ret);
        history_fini(&h);
    }
    memmove(ret, ret + (max - found), found * sizeof(*ret));
    return (int)found;
}
