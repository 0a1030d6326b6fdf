/*
 * judge.c: decides the state of a device (free, held, busy, …) and of a node (up, down, …). Pure; docs/states.md
 * describes the rule.
 */
#include "now/judge.h"

#include <errno.h>

#include "base/buf.h"
#include "base/clock.h"
#include "model/work.h"

#define GIB          ((int64_t)1 << 30)
#define MIB          ((int64_t)1 << 20)
#define MEMORY_GRAIN (128 * MIB) /* so that a reason does not change with every page */

const struct state_rule state_rule_default = {
    .busy_util = 500,
    .busy_mem_util = -1,
    .held_mem = GIB,
    .graphics_mem = 512 * MIB,
    .stale_after_ms = 15000,
    .down_after_ms = 60000,
    .hung_after_ms = 5000,
};

int state_rule_preset(const char *name, struct state_rule *ret)
{
    struct state_rule r = state_rule_default;

    if (strcmp(name, "muster") == 0) {
        /* unchanged */
    } else if (strcmp(name, "web-gpu-monitor") == 0) { /* load >= 5, or memory controller > 2, or any user */
        r.busy_mem_util = 200;
        r.held_mem = -1;
        r.graphics_mem = 0;
    } else if (strcmp(name, "gpu-monitor") == 0) { /* no process and below 1 %; reports may be 500 s old */
        r.busy_util = 100;
        r.held_mem = -1;
        r.graphics_mem = 0;
        r.stale_after_ms = 500000;
        r.down_after_ms = 500000;
    } else if (strcmp(name, "strict") == 0) { /* any sign of use counts */
        r.busy_util = 100;
        r.busy_mem_util = 100;
        r.held_mem = 256 * MIB;
        r.graphics_mem = 0;
    } else {
        return -ENOENT;
    }
    *ret = r;
    return 0;
}

bool judge_is_activity(enum metric m)
{
    return m == M_util || m == M_mem_util || m == M_sm_active || m == M_enc || m == M_dec;
}

bool judge_is_work(const struct state_rule *rule, enum metric m, int64_t v)
{
    if (m == M_mem_util)
        return rule->busy_mem_util >= 0 && v > rule->busy_mem_util;
    return judge_is_activity(m) && v >= rule->busy_util;
}

static int64_t age(int64_t now_ms, int64_t at_ms)
{
    return MAX(0, now_ms - at_ms);
}

/* Limits are at least three ticks of a slow sender. */
static int64_t at_least_ticks(const struct node_now *n, int64_t ms)
{
    return MAX(ms, 3 * (int64_t)n->fact.tick_ms);
}

int64_t judge_down_ms(const struct state_rule *rule, const struct node_now *n)
{
    return rule->down_exact ? rule->down_after_ms : at_least_ticks(n, rule->down_after_ms);
}

/* GPU Monitor's scripts write a sample about every 20 s and may pause; its page treats 500 s as too old. */
static int64_t stale_after(const struct state_rule *rule, const struct node_now *n)
{
    bool files = str_starts(str_of(n->key), "file:");
    return at_least_ticks(n, files ? MAX(rule->stale_after_ms, FILES_STALE_MS) : rule->stale_after_ms);
}

/* Sets this state and reason. Always returns true: no further checks are needed. */
static bool settle(struct verdict *v, int state, enum reason_code why)
{
    v->state = state;
    v->why = why;
    return true;
}

/* The same with the time since then. It gets coarser as it grows, so that an offline cluster does not change its texts
 * every second. */
static bool settle_since(struct verdict *v, int state, enum reason_code why, int64_t now_ms, int64_t since_ms)
{
    int64_t ms = age(now_ms, since_ms), step = ms < 60000 ? 5000 : ms < 86400000 ? 60000 : 3600000;

    v->amount = MAX(ms - ms % step, 1000);
    v->until_ms = MIN(v->until_ms, now_ms + step - ms % step);
    return settle(v, state, why);
}

bool state_rule_holds(const struct state_rule *rule, const struct proc_now *p)
{
    return !proc_only_draws(p->kind, p->mem, rule->graphics_mem);
}

/* Cases without information about the device: no report, no sample, no response, not there. Returns true if so. */
static bool out_of_sight(const struct state_rule *rule, const struct node_now *n, const struct device_now *d,
                         int64_t now_ms, struct verdict *v)
{
    int64_t stale_ms = stale_after(rule, n), down_ms = judge_down_ms(rule, n);

    if (d->fact.lost)
        return settle(v, DEV_LOST, WHY_LOST);
    if (!n->at_ms)
        return n->state == NODE_UP ? settle(v, DEV_STARTING, WHY_STARTING) : settle(v, DEV_STALE, WHY_NEVER_HEARD);
    if (n->state == NODE_UP && n->awaited && age(now_ms, n->at_ms) >= stale_ms)
        return settle_since(v, DEV_STARTING, WHY_AWAITED, now_ms, n->at_ms);
    if (age(now_ms, n->at_ms) >= down_ms)
        return settle_since(v, DEV_STALE, WHY_NO_NEWS, now_ms, n->at_ms);
    v->until_ms = n->at_ms + down_ms;
    if (n->collect == COLLECT_HUNG && age(now_ms, n->collect_since_ms) >= rule->hung_after_ms)
        return settle_since(v, DEV_HUNG, WHY_HUNG, now_ms, n->collect_since_ms);
    if (n->collect == COLLECT_HUNG)
        v->until_ms = MIN(v->until_ms, n->collect_since_ms + rule->hung_after_ms);
    if (n->collect == COLLECT_PAUSED) /* the agent has stopped reading: its last sample is outdated */
        return settle(v, DEV_STALE, WHY_PAUSED);
    if (d->fact.asleep)
        return false;
    if (d->at_ms && age(now_ms, d->at_ms) < stale_ms) {
        v->until_ms = MIN(v->until_ms, d->at_ms + stale_ms);
        return false;
    }
    if (n->collect == COLLECT_FAILED || n->collect == COLLECT_NONE)
        return settle(v, DEV_STALE, WHY_UNREADABLE);
    if (n->state == NODE_UP && n->collect == COLLECT_STARTING)
        return settle(v, DEV_STARTING, WHY_STARTING);
    if (!d->at_ms)
        return settle(v, DEV_STALE, WHY_NO_SAMPLE);
    if (age(now_ms, n->at_ms) >= stale_ms)
        return settle_since(v, DEV_STALE, WHY_NO_NEWS, now_ms, n->at_ms);
    return settle_since(v, DEV_STALE, WHY_OLD_SAMPLE, now_ms, d->at_ms);
}

/* A GPU split into MIG instances: busy if an instance is busy, else held, since the whole GPU is not available. */
static bool is_split(const struct node_now *n, const struct device_now *d, struct verdict *v)
{
    size_t instances = 0, busy = 0;

    for (size_t i = 0; i < n->n_devices; i++) {
        const struct device_now *o = &n->devices[i];
        if (!o->fact.parent[0] || o->fact.lost || strcmp(o->fact.parent, d->fact.uuid) != 0)
            continue;
        instances++;
        busy += o->state == DEV_BUSY;
    }
    if (!instances)
        return false;
    v->amount = (int64_t)(busy ? busy : instances);
    return busy ? settle(v, DEV_BUSY, WHY_SPLIT_BUSY) : settle(v, DEV_HELD, WHY_SPLIT);
}

static bool works(const struct state_rule *rule, const struct device_now *d, bool *ret_known)
{
    static const enum metric tell[] = {M_util, M_sm_active, M_enc, M_dec, M_mem_util};
    bool work = false;

    *ret_known = sample_has(&d->now, M_util) || sample_has(&d->now, M_sm_active);
    for (size_t i = 0; i < ARRAY_LEN(tell); i++)
        work |= sample_has(&d->now, tell[i]) && judge_is_work(rule, tell[i], d->now.v[tell[i]]);
    for (size_t i = 0; i < d->n_procs; i++) {
        *ret_known |= d->procs[i].sm >= 0;
        work |= d->procs[i].sm >= 0 && d->procs[i].sm >= rule->busy_util;
    }
    return work;
}

bool live_held_memory(const struct state_rule *rule, const struct device_now *d)
{
    int64_t display = 0;

    for (size_t i = 0; i < d->n_procs; i++)
        display += state_rule_holds(rule, &d->procs[i]) ? 0 : MAX(d->procs[i].mem, 0);
    return rule->held_mem >= 0 && sample_has(&d->now, M_mem_used) && d->now.v[M_mem_used] > rule->held_mem + display;
}

/* In use: it has processes, or memory that no visible process explains. */
static bool is_held(const struct state_rule *rule, const struct device_now *d, bool known, struct verdict *v)
{
    int64_t holders = 0;

    for (size_t i = 0; i < d->n_procs; i++)
        holders += state_rule_holds(rule, &d->procs[i]);
    if (holders) {
        v->amount = holders;
        return settle(v, DEV_HELD, known ? WHY_PROCS : WHY_PROCS_UNKNOWN);
    }
    if (!live_held_memory(rule, d))
        return false;
    v->amount = MAX(d->now.v[M_mem_used] / MEMORY_GRAIN, 1) * MEMORY_GRAIN;
    return settle(v, DEV_HELD, WHY_MEMORY);
}

struct verdict judge_device(const struct state_rule *rule, const struct node_now *n, const struct device_now *d,
                            int64_t now_ms)
{
    struct verdict v = {.until_ms = INT64_MAX};
    bool known = false, awake = !d->fact.asleep;

    if (out_of_sight(rule, n, d, now_ms, &v) || is_split(n, d, &v))
        return v;
    if (awake && works(rule, d, &known)) {
        settle(&v, DEV_BUSY, work_spins(&d->now) ? WHY_SPINS : WHY_WORKS);
    } else if (awake && d->state == DEV_BUSY && d->idle_since_ms && age(now_ms, d->idle_since_ms) < BUSY_KEEP_MS) {
        settle(&v, DEV_BUSY, WHY_WORKED);
        v.until_ms = MIN(v.until_ms, d->idle_since_ms + BUSY_KEEP_MS);
    } else if (awake && is_held(rule, d, known, &v)) {
        /* handled above */
    } else if (n->maintenance) {
        settle(&v, DEV_HELD, WHY_MAINTENANCE);
    } else if (d->booking) {
        settle(&v, DEV_HELD, WHY_BOOKED);
    } else if (awake && !known && !sample_has(&d->now, M_mem_used)) {
        settle(&v, DEV_UNKNOWN, WHY_UNTOLD);
    } else {
        settle(&v, DEV_FREE, !awake ? WHY_ASLEEP : d->n_procs ? WHY_DISPLAY : WHY_NOBODY);
    }
    return v;
}

struct verdict judge_node(const struct state_rule *rule, const struct node_now *n, bool stopped, int64_t chance_ms,
                          int64_t now_ms)
{
    struct verdict v = {.state = NODE_UP, .why = WHY_UP, .until_ms = INT64_MAX};
    int64_t down_ms = judge_down_ms(rule, n);
    bool silent = age(now_ms, n->at_ms) >= down_ms, hung = age(now_ms, n->collect_since_ms) >= rule->hung_after_ms;

    if (silent && now_ms < chance_ms && !stopped) {
        v.until_ms = chance_ms;
        if (n->at_ms)
            settle_since(&v, NODE_UP, WHY_AWAITED, now_ms, n->at_ms);
        else
            settle(&v, NODE_UP, WHY_STARTING);
    } else if (!n->at_ms) {
        settle(&v, NODE_DOWN, WHY_NEVER_HEARD);
    } else if (silent) {
        settle_since(&v, NODE_DOWN, stopped ? WHY_STOPPED : WHY_NO_NEWS, now_ms, n->at_ms);
    } else {
        v.until_ms = n->at_ms + down_ms;
        if (n->collect == COLLECT_HUNG) {
            if (!hung)
                v.until_ms = MIN(v.until_ms, n->collect_since_ms + rule->hung_after_ms);
            settle_since(&v, hung ? NODE_HUNG : NODE_UP, WHY_HUNG, now_ms, n->collect_since_ms);
        } else if (n->collect == COLLECT_PAUSED) {
            settle(&v, NODE_PAUSED, WHY_PAUSED);
        } else if (n->collect == COLLECT_FAILED) {
            v.why = WHY_UNREADABLE;
        } else if (n->collect == COLLECT_NONE) {
            v.why = WHY_NO_DEVICE;
        } else if (n->collect == COLLECT_STARTING && !n->sample_at_ms) {
            v.why = WHY_STARTING;
        }
    }
    if (n->maintenance) {
        if (v.state == NODE_UP)
            v.why = WHY_MAINTENANCE;
        v.state = NODE_MAINTENANCE;
    }
    return v;
}

/* Text of each why: before, the amount as a number, span or bytes, after (singular; plural), and the agent's text. */
static const struct {
    const char *before, *after, *after_many;
    enum { PLAIN, COUNT, SPAN, BYTES } amount;
    bool told;
} words[] = {
    [WHY_NOBODY] = {.before = "nobody on it"},
    [WHY_DISPLAY] = {.before = "only a display on it"},
    [WHY_ASLEEP] = {.before = "asleep, not woken by muster"},
    [WHY_UNTOLD] = {.before = "its driver reports neither use nor memory", .told = true},
    [WHY_MAINTENANCE] = {.before = "in maintenance"},
    [WHY_BOOKED] = {.before = "booked by "},
    [WHY_PROCS] = {.amount = COUNT, .after = " process, no work", .after_many = " processes, no work"},
    [WHY_PROCS_UNKNOWN] = {.amount = COUNT,
                           .after = " process, not known to work",
                           .after_many = " processes, not known to work"},
    [WHY_MEMORY] = {.amount = BYTES, .after = " in use by no visible process"},
    [WHY_SPLIT] = {.before = "split into ", .amount = COUNT, .after = " MIG instance", .after_many = " MIG instances"},
    [WHY_SPLIT_BUSY] = {.amount = COUNT, .after = " MIG instance working", .after_many = " MIG instances working"},
    [WHY_WORKS] = {.before = "working"},
    [WHY_SPINS] = {.before = SPIN_WORDS},
    [WHY_WORKED] = {.before = "worked within the last minute"},
    [WHY_NEVER_HEARD] = {.before = "no data since the hub started"},
    [WHY_NO_NEWS] = {.before = "no data for ", .amount = SPAN},
    [WHY_STOPPED] = {.before = "agent stopped, no data for ", .amount = SPAN},
    [WHY_NO_SAMPLE] = {.before = "no sample yet", .told = true},
    [WHY_OLD_SAMPLE] = {.before = "no sample for ", .amount = SPAN, .told = true},
    [WHY_PAUSED] = {.before = "reading is paused", .told = true},
    [WHY_UNREADABLE] = {.before = "cannot be read", .told = true},
    [WHY_HUNG] = {.before = "driver does not answer for ", .amount = SPAN},
    [WHY_LOST] = {.before = "was there, is gone", .told = true},
    [WHY_STARTING] = {.before = "starting"},
    [WHY_NO_DEVICE] = {.before = "no device to read", .told = true},
    [WHY_AWAITED] = {.before = "no data since the hub started, the last came ", .amount = SPAN, .after = " ago"},
};

const char *judge_booked(const struct device_now *d, char out[160])
{
    const struct booking_now *h = d->booking;

    snprintf(out, 160, "%s%s%s", h ? h->person : "", h && h->until[0] ? " until " : "", h ? h->until : "");
    return out;
}

void judge_words(const struct verdict *v, const char *told, char reason[160])
{
    AUTO_BUF b = BUF_INIT(512);
    char span[24];
    const char *after = v->amount != 1 && words[v->why].after_many ? words[v->why].after_many : words[v->why].after;

    buf_adds(&b, words[v->why].before ? words[v->why].before : "");
    if (words[v->why].amount == COUNT)
        buf_addi(&b, v->amount);
    else if (words[v->why].amount == SPAN)
        buf_adds(&b, clock_span(v->amount, span));
    else if (words[v->why].amount == BYTES)
        metric_human(&b, M_mem_used, v->amount);
    buf_adds(&b, after ? after : "");
    const char *more = v->why == WHY_HUNG ? strchr(told, ';') : NULL; /* the text already contains the hang */
    if (v->why == WHY_BOOKED)
        buf_adds(&b, told);
    else if (words[v->why].told && told[0] && !note_of_work(told))
        buf_addf(&b, ": %s", told);
    else if (more)
        buf_adds(&b, more);
    mem_copy_str(reason, 160, b.p);
}

enum dev_state state_of(const struct state_rule *rule, const struct node_now *n, const struct device_now *d,
                        int64_t now_ms, char reason[160])
{
    struct verdict v = judge_device(rule, n, d, now_ms);

    char booked[160];
    judge_words(&v, v.why == WHY_BOOKED ? judge_booked(d, booked) : d->fact.note, reason);
    return (enum dev_state)v.state;
}
