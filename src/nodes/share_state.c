/* share_state.c: converts a node of the live state to the frames of a message between hubs. */
#include "nodes/share_state.h"

#include "base/log.h"
#include "base/order.h"
#include "nodes/feature.h"
#include "nodes/newest.h"
#include "nodes/share.h"
#include "nodes/since.h"
#include "wire/wire.h"

#define PART_BYTES (256u << 10) /* per frame */

struct values { /* the newest values of a node as a batch */
    struct arena mem;
    int64_t at_ms[NEWEST_TICKS]; /* the newest times of values, ascending */
    uint64_t bits[NEWEST_TICKS];
    size_t n_ticks, n, cap;
    struct column *columns;
    size_t n_uses, cap_uses;
    struct proc_use *uses;
    size_t n_procs, cap_procs;
    struct proc_fact *procs;
};

static void add_time(struct values *x, int64_t at_ms)
{
    size_t i = COUNT_BEFORE(x->n_ticks, k, x->at_ms[k] < at_ms);

    if (at_ms <= 0 || (i < x->n_ticks && x->at_ms[i] == at_ms))
        return;
    if (x->n_ticks == NEWEST_TICKS) {
        if (i == 0)
            return;
        memmove(&x->at_ms[0], &x->at_ms[1], --i * sizeof(x->at_ms[0]));
    } else {
        memmove(&x->at_ms[i + 1], &x->at_ms[i], (x->n_ticks++ - i) * sizeof(x->at_ms[0]));
    }
    x->at_ms[i] = at_ms;
}

static void add_value(struct values *x, uint16_t metric, size_t slot, int64_t at_ms, int64_t v)
{
    size_t tick = FIRST(x->n_ticks, k, x->at_ms[k] == at_ms);

    if (tick == x->n_ticks)
        return;
    int64_t *ticks = arena_alloc(&x->mem, x->n_ticks, sizeof(*ticks));
    ticks[tick] = v;
    x->bits[tick] = 1ull << tick;
    VEC_ADD(x->columns, x->n, x->cap, (struct column){metric, (uint16_t)slot, &x->bits[tick], ticks});
}

struct slot { /* the node or a device */
    const struct sample *now;
    const int64_t *v_at_ms;
    const struct custom_now *custom;
    size_t n_custom;
};

static struct slot slot_of(const struct node_now *n, size_t slot)
{
    if (slot == 0)
        return (struct slot){&n->now, n->v_at_ms, n->custom, n->n_custom};
    const struct device_now *d = &n->devices[slot - 1];
    return (struct slot){&d->now, d->v_at_ms, d->custom, d->n_custom};
}

static void add_values(struct values *x, const struct node_now *n)
{
    size_t slots = live_slots(n) + 1;

    for (size_t s = 0; s < slots; s++) {
        struct slot of = slot_of(n, s);
        for (unsigned m = 0; m < M_COUNT; m++)
            add_time(x, sample_has(of.now, m) ? of.v_at_ms[m] : 0);
        for (size_t i = 0; i < of.n_custom; i++)
            add_time(x, of.custom[i].at_ms);
    }
    add_time(x, n->sample_at_ms);
    for (unsigned m = 0; m < M_COUNT; m++)
        for (size_t s = 0; s < slots; s++) {
            struct slot of = slot_of(n, s);
            if (sample_has(of.now, m))
                add_value(x, metrics[m].no, s, of.v_at_ms[m], of.now->v[m]);
        }
    for (size_t s = 0; s < slots; s++) {
        struct slot of = slot_of(n, s);
        for (size_t i = 0; i < of.n_custom; i++)
            add_value(x, of.custom[i].metric, s, of.custom[i].at_ms, of.custom[i].v);
    }
}

static void add_uses(struct values *x, const struct node_now *n)
{
    for (size_t s = 1; s <= live_slots(n); s++)
        for (size_t i = 0; i < n->devices[s - 1].n_procs; i++) {
            const struct proc_now *p = &n->devices[s - 1].procs[i];
            size_t at =
                FIRST(x->n_procs, k, x->procs[k].pid == p->fact->pid && x->procs[k].start_ms == p->fact->start_ms);
            if (at == x->n_procs)
                VEC_ADD(x->procs, x->n_procs, x->cap_procs, *p->fact);
            VEC_ADD(x->uses, x->n_uses, x->cap_uses,
                    (struct proc_use){(uint16_t)at, (uint16_t)s, p->kind, p->mem, (int32_t)p->sm});
        }
}

static void values_fini(struct values *x)
{
    arena_fini(&x->mem);
    FREE_ALL(x->columns, x->uses, x->procs);
}

/* Adds its processes and newest values. Returns false if it has none, or too many. */
static bool put_values(const struct hub *h, const struct node_now *n, struct buf *procs, struct buf *newest,
                       struct share_frame *ret)
{
    static const struct node_id none;
    struct values x = {0};
    bool ok = n->sample_at_ms > 0;

    if (ok) {
        add_values(&x, n);
        add_uses(&x, n);
        ok = wire_put_procs(procs, &none, &(struct proc_list){.n = x.n_procs, .v = x.procs}, &ret->procs) == 0;
    }
    const struct batch b = {.key = {.run = UINT64_MAX, .number = (uint64_t)n->sample_at_ms}, /* no agent's */
                            .n_ticks = x.n_ticks,
                            .n_columns = x.n,
                            .n_uses = x.n_uses,
                            .at_ms = x.at_ms,
                            .columns = x.columns,
                            .uses = x.uses};
    ok = ok && newest_put(newest, &b, live_rule(h->live)) == 0;
    ret->facts = live_facts_id(n);
    ret->whole = buf_str(newest);
    values_fini(&x);
    return ok;
}

static void put_node(const struct hub *h, const struct node_now *n, const struct peer *peer, struct buf *to)
{
    struct hub_share t = {.key = str_of(n->key), .address = str_of(n->address)};
    struct hello hello = {.sent_ms = n->at_ms + n->clock_off_ms,
                          .state_since_ms = n->collect_since_ms + n->clock_off_ms,
                          .collect = (uint8_t)n->collect,
                          .backlog = n->backlog};
    AUTO_BUF said = BUF_INIT(PART_BYTES), procs = BUF_INIT(PART_BYTES), newest = BUF_INIT(PART_BYTES),
             since = BUF_INIT(PART_BYTES);
    struct share_frame values = {0};

    mem_copy_str(hello.name, sizeof(hello.name), peer->rec.own_name);
    mem_copy_str(hello.why, sizeof(hello.why), live_agent_reason(n));
    if (wire_put_hello(&said, &hello) < 0 || since_put(&since, n, SINCE_AGAIN | (peer->mine ? SINCE_TAKES : 0)) < 0)
        return;
    t.v[t.n++] = (struct share_frame){.whole = buf_str(&said)};
    if (put_values(h, n, &procs, &newest, &values)) {
        t.v[t.n++] = (struct share_frame){.whole = buf_str(&procs)};
        t.v[t.n++] = values;
    }
    t.v[t.n++] = (struct share_frame){.whole = buf_str(&since)};
    if (share_put(to, &t) < 0)
        log_debug("cluster", "the state of node %s is too large for one message", n->name);
}

void nodes_share_state(struct hub *h, struct buf *to)
{
    size_t n;
    const struct node_now *const *v = live_nodes(h->live, true, &n);

    for (size_t i = 0; i < n; i++) {
        const struct peer *peer = peers_find(h->peers, v[i]->key);
        if (peer && v[i]->at_ms && (!v[i]->awaited || v[i]->state == NODE_DOWN))
            put_node(h, v[i], peer, to);
    }
}
