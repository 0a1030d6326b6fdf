/*
 * node.c: applies facts and batches to a node: the newest value of each metric, times of work, processes of devices.
 * judge.c decides the state.
 */
#include "now/node.h"

#include "base/clock.h"
#include "base/order.h"
#include "model/names.h"

#define VALUE_KEEP_MS 120000 /* drop values the device no longer sends; slow metrics come once a minute */
#define PROC_MEM_MAX  ((int64_t)1 << 50)
#define UNSEEN_MS     600000 /* after longer without data, idle time starts when it is seen again */
#define AHEAD_MAX_MS  10000  /* times further ahead are errors */

void node_free(struct live_node *n)
{
    for (size_t i = 0; i < n->now.n_devices; i++)
        gpu_watch_free(n->devs[i].watch);
    node_now_fini(&n->now);
    proc_list_fini(&n->procs);
    proc_list_fini(&n->procs_next);
    free(n->devs);
    free(n);
}

/* ---- facts ---- */

/* Whether a device missing in new facts is lost. It is not if it was a MIG instance (they come and go), if another
 * card is in its place, or if it only gained or lost its suffix (UUID~2: another node has it, too). */
static bool is_missed(const struct device_now *d, const struct node_fact *f)
{
    if (d->fact.parent[0])
        return false;
    for (size_t k = 0; k < f->n_devices; k++) {
        const struct device_fact *to = &f->devices[k];
        if ((d->fact.pci[0] && strcmp(d->fact.pci, to->pci) == 0) || name_is_nth(to->uuid, d->fact.uuid) ||
            name_is_nth(d->fact.uuid, to->uuid))
            return false;
    }
    return true;
}

/* Lists the devices of the facts in order, each with its data so far, then the missing ones. */
static void take_devices(struct live_node *n, const struct node_fact *f)
{
    size_t had = n->now.n_devices, cap = f->n_devices + had, count = f->n_devices;
    struct device_now *to = mem_zero(MAX(cap, 1), sizeof(*to));
    struct live_dev *devs = mem_zero(MAX(cap, 1), sizeof(*devs));

    for (size_t i = 0; i < f->n_devices; i++) {
        for (size_t k = 0; k < had; k++) {
            struct device_now *d = &n->now.devices[k];
            if (!d->fact.uuid[0] || strcmp(d->fact.uuid, f->devices[i].uuid) != 0)
                continue;
            to[i] = *d;
            devs[i] = n->devs[k];
            *d = (struct device_now){0}; /* moved */
            n->devs[k] = (struct live_dev){0};
            break;
        }
        if (!to[i].fact.uuid[0])
            to[i].state = DEV_STALE; /* until its first sample */
        to[i].fact = f->devices[i];
        devs[i].why = WHY_NOT_YET;
    }
    for (size_t k = 0; k < had; k++) {
        struct device_now *d = &n->now.devices[k];
        if (d->fact.uuid[0] && is_missed(d, f) && count < DEVICES_MAX) {
            to[count] = *d;
            devs[count] = n->devs[k];
            devs[count].why = WHY_NOT_YET;
            n->devs[k] = (struct live_dev){0};       /* moved */
            to[count].fact.lost |= f->n_devices > 0; /* no devices at all: the driver is gone, not the GPU */
            to[count].n_procs = 0;
            count++;
        } else {
            device_now_fini(d);
            gpu_watch_free(n->devs[k].watch);
        }
    }
    FREE_ALL(n->now.devices, n->devs);
    n->now.devices = to;
    n->now.n_devices = count;
    n->devs = devs;
    n->n_slots = MIN(f->n_devices, DEVICES_MAX);
}
void node_take_facts(struct live_node *n, uint64_t id, const struct node_fact *f)
{
    struct node_now *now = &n->now;
    struct node_fact flat = *f;

    n->facts = id;
    if (f->n_custom != now->fact.n_custom ||
        (f->n_custom && memcmp(f->custom, now->fact.custom, f->n_custom * sizeof(*f->custom)) != 0)) {
        now->n_custom = 0; /* positions now refer to other metrics */
        for (size_t i = 0; i < now->n_devices; i++)
            now->devices[i].n_custom = 0;
    }
    flat.n_devices = 0;
    node_fact_copy(&now->fact, &flat);
    take_devices(n, f);
}

/* ---- current facts and processes ---- */

const char *live_called(const struct node_now *now)
{
    return ((const struct live_node *)now)->admin_name;
}

bool live_knows(const struct node_now *now, uint64_t facts, uint64_t procs)
{
    const struct live_node *n = (const struct live_node *)now;

    return (facts == 0 || n->facts == facts) && (procs == 0 || n->procs_id == procs);
}

uint64_t live_facts_id(const struct node_now *now)
{
    return ((const struct live_node *)now)->facts;
}

const char *live_agent_reason(const struct node_now *now)
{
    return ((const struct live_node *)now)->why_told;
}

const struct proc_list *live_proc_list(const struct node_now *now)
{
    const struct live_node *n = (const struct live_node *)now;

    return n->procs_new ? &n->procs_next : &n->procs;
}

size_t live_slots(const struct node_now *now)
{
    return ((const struct live_node *)now)->n_slots;
}

/* ---- batches ---- */

/* Destination of a slot's values: the node (slot 0), or a device. */
struct target {
    struct sample *now;
    int64_t *v_at_ms, *at_ms;
    struct live_dev *dev; /* NULL: the node */
    struct custom_now **custom;
    size_t *n_custom, *cap_custom;
};

static struct target target_of(struct live_node *n, size_t slot)
{
    struct node_now *now = &n->now;

    if (slot == 0)
        return (struct target){&now->now,    now->v_at_ms,   &now->now.at_ms, NULL,
                               &now->custom, &now->n_custom, &n->cap_custom};
    struct device_now *d = &now->devices[slot - 1];
    struct live_dev *ld = &n->devs[slot - 1];
    return (struct target){&d->now, d->v_at_ms, &d->at_ms, ld, &d->custom, &d->n_custom, &ld->cap_custom};
}

static int64_t tick_at(const struct batch *b, size_t i, int64_t shift_ms, int64_t now_ms)
{
    return MIN(node_sane_ms(b->at_ms[i]) + shift_ms, now_ms + AHEAD_MAX_MS);
}

/* The newest tick of c with a value, or false. */
static bool newest_tick(const struct batch *b, const struct column *c, size_t *ret)
{
    for (size_t i = b->n_ticks; i-- > 0;)
        if (column_has(c, i)) {
            *ret = i;
            return true;
        }
    return false;
}

static void take_custom(const struct target *t, uint16_t metric, int64_t v, int64_t at_ms)
{
    struct custom_now *list = *t->custom;
    size_t i = (size_t)(metric - METRIC_CUSTOM); /* usually a node sends all metrics it declared */

    if (i >= *t->n_custom || list[i].metric != metric)
        i = COUNT_BEFORE(*t->n_custom, k, list[k].metric < metric);

    if (i == *t->n_custom || list[i].metric != metric) {
        if (*t->n_custom >= CUSTOM_MAX)
            return;
        VEC_INSERT(*t->custom, *t->n_custom, *t->cap_custom, i, (struct custom_now){.metric = metric});
        list = *t->custom;
    }
    if (at_ms > list[i].at_ms) {
        list[i].v = v;
        list[i].at_ms = at_ms;
    }
}

/* Updates the times of work and of known work state, from every new tick. */
static void watch_work(const struct state_rule *rule, struct live_dev *ld, const struct batch *b,
                       const struct column *c, enum metric m, size_t newest, int64_t shift_ms, int64_t now_ms)
{
    int64_t at = tick_at(b, newest, shift_ms, now_ms);

    if (at <= ld->known_ms)
        return;
    ld->new_known_ms = MAX(ld->new_known_ms, at);
    for (size_t i = newest + 1; i-- > 0;) {
        at = tick_at(b, i, shift_ms, now_ms);
        if (at <= ld->known_ms || at <= ld->new_work_ms)
            return;
        if (column_has(c, i) && judge_is_work(rule, m, c->v[i])) {
            ld->new_work_ms = at;
            return;
        }
    }
}

/* Adds every new tick of utilisation to its mean over a minute. */
static void average_util(struct live_dev *ld, const struct batch *b, const struct column *c, int64_t shift_ms,
                         int64_t now_ms)
{
    for (size_t i = 0; i < b->n_ticks; i++)
        if (column_has(c, i))
            last_minute_add(&ld->util, tick_at(b, i, shift_ms, now_ms), c->v[i]);
}

/* to: destination of each slot. */
static void take_columns(struct live_node *n, const struct target *to, const struct state_rule *rule,
                         const struct batch *b, int64_t shift_ms, int64_t now_ms)
{
    int64_t last_ms = tick_at(b, b->n_ticks - 1, shift_ms, now_ms);
    int m = -1; /* from a newer agent, or a custom metric */
    bool tells = false;

    for (size_t k = 0; k < b->n_columns; k++) {
        const struct column *c = &b->columns[k];
        size_t i;

        if (k == 0 || c->metric != c[-1].metric) { /* sorted by metric, then slot */
            m = metric_by_no(c->metric);
            tells = m >= 0 && judge_is_activity((enum metric)m);
        }
        if (c->slot > n->n_slots || !newest_tick(b, c, &i))
            continue;
        const struct target *t = &to[c->slot];
        int64_t at = i + 1 == b->n_ticks ? last_ms : tick_at(b, i, shift_ms, now_ms);
        *t->at_ms = MAX(*t->at_ms, at);
        if (m >= 0 && at > t->v_at_ms[m]) {
            sample_set(t->now, (enum metric)m, c->v[i]);
            t->v_at_ms[m] = at;
        }
        if (tells && t->dev)
            watch_work(rule, t->dev, b, c, (enum metric)m, i, shift_ms, now_ms);
        if (m == M_util && t->dev)
            average_util(t->dev, b, c, shift_ms, now_ms);
        if (c->metric >= METRIC_CUSTOM && (size_t)(c->metric - METRIC_CUSTOM) < n->now.fact.n_custom)
            take_custom(t, c->metric, c->v[i], at);
    }
}

static void let_go_custom(struct custom_now *v, size_t *n, int64_t at_ms, int64_t keep_ms)
{
    size_t kept = 0;

    for (size_t i = 0; i < *n; i++)
        if (at_ms - v[i].at_ms <= keep_ms)
            v[kept++] = v[i];
    *n = kept;
}

/* Drops values that newer samples no longer contain. */
static void let_go(const struct target *t, int64_t keep_ms)
{
    struct sample *now = t->now;
    int64_t least_ms = *t->at_ms - keep_ms;

    for (size_t w = 0; w < ARRAY_LEN(now->have.w); w++)
        for (uint64_t left = now->have.w[w]; left; left &= left - 1) {
            unsigned m = (unsigned)(w * 64) + (unsigned)__builtin_ctzll(left);
            if (t->v_at_ms[m] < least_ms)
                bits_clear(&now->have, m);
        }
    if (*t->n_custom)
        let_go_custom(*t->custom, t->n_custom, *t->at_ms, keep_ms);
}

/* begin_ms: the first tick of the batch. */
static void settle_device(struct device_now *d, struct live_dev *ld, int64_t begin_ms, int64_t keep_ms)
{
    d->now.at_ms = d->at_ms;
    d->util_mean = last_minute_mean(&ld->util);
    if (ld->new_known_ms) {
        if (ld->known_ms && begin_ms - ld->known_ms > MAX(UNSEEN_MS, keep_ms)) { /* its work state was unknown */
            ld->work_ms = 0;
            d->idle_since_ms = 0;
        }
        if (ld->from_before && ld->work_ms &&
            begin_ms - ld->work_ms < BUSY_KEEP_MS) { /* as if the hub had been running */
            d->state = DEV_BUSY;
            d->since_ms = ld->work_ms;
            ld->why = WHY_NOT_YET;
        }
        ld->from_before = false;
        if (ld->new_work_ms) {
            ld->work_ms = ld->new_work_ms;
            if (d->state != DEV_BUSY) { /* worked within this batch: busy from then on; judged next */
                d->state = DEV_BUSY;
                d->since_ms = ld->new_work_ms;
                ld->why = WHY_NOT_YET;
            }
        }
        ld->known_ms = ld->new_known_ms;
        if (ld->work_ms == ld->known_ms)
            d->idle_since_ms = 0;
        else if (ld->work_ms)
            d->idle_since_ms = ld->work_ms;
        else if (!d->idle_since_ms)
            d->idle_since_ms = ld->known_ms;
        ld->new_known_ms = ld->new_work_ms = 0;
    }
}

/* Updates the processes on the devices from the newest batch. */
static void take_uses(struct live_node *n, const struct batch *b)
{
    if (b->procs && b->procs != n->procs_id)
        return; /* the list is not available: keep the current one */
    for (size_t i = 0; i < n->now.n_devices; i++)
        n->now.devices[i].n_procs = 0;
    if (n->procs_new) {
        proc_list_fini(&n->procs);
        n->procs = n->procs_next;
        n->procs_next = (struct proc_list){0};
        n->procs_new = false;
    }
    for (size_t i = 0; b->procs && i < b->n_uses; i++) {
        const struct proc_use *u = &b->uses[i];
        if (u->slot == 0 || u->slot > n->n_slots || u->proc >= n->procs.n)
            continue;
        struct device_now *d = &n->now.devices[u->slot - 1];
        struct live_dev *ld = &n->devs[u->slot - 1];
        if (d->n_procs >= PROCS_MAX)
            continue;
        VEC_ROOM(d->procs, d->n_procs, ld->cap_procs);
        d->procs[d->n_procs++] = (struct proc_now){.fact = &n->procs.v[u->proc],
                                                   .kind = u->kind,
                                                   .mem = MAX(-1, MIN(u->mem, PROC_MEM_MAX)), /* limited for sums */
                                                   .sm = u->sm};
    }
}

static void watch_device(struct live_node *n, const struct state_rule *rule, size_t i)
{
    struct device_now *d = &n->now.devices[i];
    struct gpu_watch **w = &n->devs[i].watch;

    if (*w || sample_has(&d->now, M_active))
        gpu_watch_take(w, d, (d->n_procs || live_held_memory(rule, d)) && !device_is_parent(&n->now, d));
}

/* The hub's clock was set back: stored times must not block new data. */
static void forget_future(struct live_node *n, int64_t now_ms)
{
    struct node_now *now = &n->now;

    if (now->sample_at_ms <= now_ms + AHEAD_MAX_MS)
        return;
    now->sample_at_ms = now->now.at_ms = 0;
    memset(now->v_at_ms, 0, sizeof(now->v_at_ms));
    now->n_custom = 0;
    for (size_t i = 0; i < now->n_devices; i++) {
        struct device_now *d = &now->devices[i];
        d->at_ms = d->now.at_ms = 0;
        d->idle_since_ms = MIN(d->idle_since_ms, now_ms);
        d->since_ms = MIN(d->since_ms, now_ms);
        memset(d->v_at_ms, 0, sizeof(d->v_at_ms));
        d->n_custom = 0;
        n->devs[i].known_ms = n->devs[i].work_ms = 0;
        n->devs[i].util = (struct last_minute){0};
    }
}
bool node_take_batch(struct live_node *n, const struct state_rule *rule, const struct batch *b, int64_t shift_ms,
                     int64_t now_ms)
{
    struct node_now *now = &n->now;
    struct target to[1 + DEVICES_MAX];
    int64_t keep_ms = MAX(VALUE_KEEP_MS, 3 * (int64_t)now->fact.tick_ms);

    if (!b->n_ticks || b->facts != n->facts)
        return false;
    forget_future(n, now_ms);
    for (size_t slot = 0; slot <= n->n_slots; slot++)
        to[slot] = target_of(n, slot);
    take_columns(n, to, rule, b, shift_ms, now_ms);
    for (size_t i = 0; i < n->n_slots; i++)
        settle_device(&now->devices[i], &n->devs[i], tick_at(b, 0, shift_ms, now_ms), keep_ms);
    for (size_t slot = 0; slot <= n->n_slots; slot++)
        let_go(&to[slot], keep_ms);
    int64_t at = tick_at(b, b->n_ticks - 1, shift_ms, now_ms);
    if (at <= now->sample_at_ms)
        return false;
    take_uses(n, b);
    for (size_t i = 0; i < n->n_slots; i++)
        watch_device(n, rule, i);
    now->sample_at_ms = at;
    now->never_sampled = false;
    return true;
}

/* ---- bookings ---- */

static bool same_booking(const struct booking_now *a, const struct booking_now *b)
{
    return a->id == b->id && a->from_ms == b->from_ms && a->until_ms == b->until_ms &&
           strcmp(a->person, b->person) == 0 && strcmp(a->comment, b->comment) == 0 && strcmp(a->until, b->until) == 0;
}

bool node_set_booking(struct booking_now **at, const struct booking_now *to)
{
    if (*at && to ? same_booking(*at, to) : *at == to)
        return false;
    free(*at);
    *at = to ? NEW(struct booking_now) : NULL;
    if (to)
        **at = *to;
    return true;
}

void node_make_remark(struct live_node *n)
{
    size_t twice = 0;

    for (size_t i = 0; i < n->now.n_devices; i++)
        twice += !n->now.devices[i].fact.parent[0] && strchr(n->now.devices[i].fact.uuid, '~');
    n->remark[0] = 0;
    if (n->now.was_id[0])
        snprintf(n->remark, sizeof(n->remark), "has GPUs that belonged to %.100s", n->now.was);
    else if (n->given)
        snprintf(n->remark, sizeof(n->remark), "calls itself %.100s, as another node does", n->own_name);
    else if (twice)
        snprintf(n->remark, sizeof(n->remark), "has %zu GPU%s that another node reports, too", twice,
                 twice == 1 ? "" : "s");
    n->why = WHY_NOT_YET; /* make the text again */
}

/* A hub that loaded the time has it to the minute. Below 0: this hub; above 0: the other one. */
static int cmp_idle(int64_t own_ms, int64_t other_ms)
{
    if (!own_ms || !other_ms || llabs(own_ms - other_ms) >= MINUTE_MS)
        return 0;
    return (own_ms % MINUTE_MS != 0) - (other_ms % MINUTE_MS != 0);
}

/*
 * Whether the other hub's time counts: below 0 if it does, above 0 if this hub's does, 0 if both have the same. Hubs
 * see a node's batches in any order, so the order of messages must not matter: the end of work counts more than the
 * first sample without work; of two ends the later counts, of two first samples the earlier.
 */
static int rank_idle(int64_t own_ms, bool own_work, const struct live_since *s)
{
    int known = cmp_idle(own_ms, s->idle_ms);

    if (known || own_ms == s->idle_ms)
        return known;
    if (!own_ms || !s->idle_ms)
        return s->better ? -1 : 0;
    if (own_work != s->work)
        return own_work ? 1 : -1;
    return (own_ms > s->idle_ms) == own_work ? 1 : -1;
}

bool node_take_since(struct live_node *n, struct device_now *d, const struct live_since *s, bool *ret_differs)
{
    int64_t *since_ms = d ? &d->since_ms : &n->now.since_ms;
    unsigned state = d ? (unsigned)d->state : (unsigned)n->now.state;

    struct live_dev *ld = d ? &n->devs[d - n->now.devices] : NULL;
    int known = d ? rank_idle(d->idle_since_ms, ld->work_ms != 0, s) : 0;
    if (known < 0) {
        d->idle_since_ms = s->idle_ms;
        ld->work_ms = s->idle_ms && (s->work || ld->work_ms) ? s->idle_ms : ld->work_ms;
        ld->idle_told = true;
        *ret_differs = true;
    }
    if (d && s->better && d->util_mean != s->util_mean) { /* this hub may have received the newest samples only */
        d->util_mean = s->util_mean;
        *ret_differs = true;
    }
    if (state != s->state || !s->since_ms)
        return known > 0;
    if (*since_ms <= s->since_ms)
        return known > 0 || *since_ms < s->since_ms;
    *since_ms = s->since_ms;
    return !(*ret_differs = true);
}

/* ---- judging ---- */

static int64_t device_since(const struct node_now *n, const struct device_now *d, const struct verdict *v,
                            int64_t now_ms)
{
    if (v->state == DEV_HUNG)
        return n->collect_since_ms;
    if (v->state == DEV_STALE && (d->at_ms || n->at_ms))
        return MIN(d->at_ms ? d->at_ms : n->at_ms, now_ms);
    bool was_held = d->state == DEV_BUSY || d->state == DEV_HELD;
    if (v->why == WHY_BOOKED && !was_held) /* the same on every hub, regardless of when it got the booking */
        return MIN(d->booking->from_ms, now_ms);
    return now_ms;
}

/* Time since when a device is free that was not free before. */
static int64_t free_since(const struct live_dev *ld, const struct device_now *d, int64_t now_ms)
{
    bool was_free = ld->free_ms && now_ms - d->since_ms <= LATELY_MS; /* before it was out of sight for a while */

    return ld->left_ms ? ld->left_ms : was_free ? ld->free_ms : now_ms;
}

static bool judge_one(struct live_node *n, const struct state_rule *rule, size_t i, int64_t now_ms)
{
    struct device_now *d = &n->now.devices[i];
    struct live_dev *ld = &n->devs[i];
    struct verdict v = judge_device(rule, &n->now, d, now_ms);
    bool moved = (int)d->state != v.state;

    n->next_ms = MIN(n->next_ms, v.until_ms);
    if (moved && d->state == DEV_FREE && v.state > DEV_IN_SIGHT)
        ld->free_ms = d->since_ms;
    if (moved || !d->since_ms)
        d->since_ms = v.state == DEV_FREE ? free_since(ld, d, now_ms) : device_since(&n->now, d, &v, now_ms);
    if (v.state <= DEV_IN_SIGHT)
        ld->left_ms = ld->free_ms = 0;
    else
        gpu_watch_withhold(d);
    if (!moved && ld->why == v.why && ld->amount == v.amount)
        return false;
    d->state = (enum dev_state)v.state;
    ld->why = v.why;
    ld->amount = v.amount;
    char booked[160];
    const char *told = v.why == WHY_UNREADABLE || v.why == WHY_PAUSED ? n->why_told
                       : v.why == WHY_BOOKED                          ? judge_booked(d, booked)
                                                                      : d->fact.note;
    judge_words(&v, told, d->reason);
    return true;
}

bool node_judge(struct live_node *n, const struct state_rule *rule, int64_t now_ms)
{
    struct verdict v = judge_node(rule, &n->now, n->stopped, n->chance_ms, now_ms);
    bool moved = (int)n->now.state != v.state, differs = moved || n->why != v.why || n->amount != v.amount;

    if (moved || !n->now.since_ms)
        n->now.since_ms = v.state == NODE_DOWN && n->now.at_ms ? n->now.at_ms
                          : v.state == NODE_HUNG               ? n->now.collect_since_ms
                                                               : now_ms;
    n->next_ms = v.until_ms;
    n->now.unlisted = n->now.collect == COLLECT_PAUSED && str_starts(str_of(n->why_told), UNLISTED);
    if (n->refused[0] && now_ms >= n->refused_until_ms) {
        n->refused[0] = 0;
        differs = true;
    }
    if (differs) {
        n->now.state = (enum node_state)v.state;
        n->why = v.why;
        n->amount = v.amount;
        judge_words(&v, n->why_told, n->now.reason);
    }
    if (n->refused[0]) {
        mem_copy_str(n->now.reason, sizeof(n->now.reason), n->refused);
        n->next_ms = MIN(n->next_ms, n->refused_until_ms);
    } else if (!n->now.reason[0] && n->remark[0]) {
        mem_copy_str(n->now.reason, sizeof(n->now.reason), n->remark);
    }
    for (size_t i = 0; i < n->now.n_devices; i++) /* instances first: their GPU's state depends on them */
        if (n->now.devices[i].fact.parent[0])
            differs |= judge_one(n, rule, i, now_ms);
    for (size_t i = 0; i < n->now.n_devices; i++)
        if (!n->now.devices[i].fact.parent[0])
            differs |= judge_one(n, rule, i, now_ms);
    return differs;
}
