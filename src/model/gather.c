/*
 * gather.c: samples in, one batch out. Columns are [column][tick] in vectors that grow once and are reused, so that a
 * running agent allocates nothing. wire/ does the encoding.
 */
#include "model/gather.h"

#include "base/order.h"

struct col {
    uint16_t metric, slot;
    uint64_t *have; /* one bit per tick, cap_ticks of them */
    int64_t *v;
    size_t cap_ticks, filled; /* filled: ticks this column has a value in */
};

struct gather {
    size_t n_ticks, n_cols, cap_cols, n_uses, cap_uses, n_events, cap_events, cap_ticks;
    int64_t *at_ms;
    struct col *cols;
    struct column *out;
    size_t cap_out;
    struct proc_use *uses;
    struct node_event *events;
    int32_t *index; /* (slot, metric < 256) -> column + 1 */
    size_t n_index; /* slots it covers */
};

enum { FAST_METRICS = 256 };

struct gather *gather_new(void)
{
    return mem_zero(1, sizeof(struct gather));
}

void gather_free(struct gather *g)
{
    if (!g)
        return;
    for (size_t i = 0; i < g->n_cols; i++) {
        free(g->cols[i].have);
        free(g->cols[i].v);
    }
    FREE_ALL(g->cols, g->out, g->at_ms, g->uses, g->events, g->index);
    free(g);
}

size_t gather_ticks(const struct gather *g)
{
    return g->n_ticks;
}

bool gather_tick(struct gather *g, int64_t at_ms)
{
    if (g->n_ticks == TICKS_MAX)
        return false;
    if (g->n_ticks && at_ms <= g->at_ms[g->n_ticks - 1])
        at_ms = g->at_ms[g->n_ticks - 1] + 1;
    VEC_ADD(g->at_ms, g->n_ticks, g->cap_ticks, at_ms);
    return true;
}

static struct col *find_col(struct gather *g, uint16_t slot, uint16_t metric)
{
    bool fast = metric < FAST_METRICS;
    if (fast) {
        if (slot >= g->n_index) {
            g->index = mem_grow(g->index, (size_t)(slot + 1) * FAST_METRICS, sizeof(*g->index));
            memset(g->index + g->n_index * FAST_METRICS, 0, (slot + 1 - g->n_index) * FAST_METRICS * sizeof(*g->index));
            g->n_index = slot + 1u;
        }
        int32_t at = g->index[(size_t)slot * FAST_METRICS + metric];
        if (at)
            return &g->cols[at - 1];
    } else {
        for (size_t i = 0; i < g->n_cols; i++)
            if (g->cols[i].metric == metric && g->cols[i].slot == slot)
                return &g->cols[i];
    }
    VEC_ROOM(g->cols, g->n_cols, g->cap_cols);
    g->cols[g->n_cols] = (struct col){.metric = metric, .slot = slot};
    if (fast)
        g->index[(size_t)slot * FAST_METRICS + metric] = (int32_t)g->n_cols + 1;
    return &g->cols[g->n_cols++];
}

static void room_for(struct col *c, size_t ticks)
{
    size_t was = c->cap_ticks;

    c->cap_ticks = (ticks + 63) / 64 * 64;
    c->v = mem_grow(c->v, c->cap_ticks, sizeof(*c->v));
    c->have = mem_grow(c->have, c->cap_ticks / 64, sizeof(*c->have));
    memset(c->have + was / 64, 0, (c->cap_ticks - was) / 8);
}

void gather_value(struct gather *g, uint16_t slot, uint16_t metric, int64_t v)
{
    if (!g->n_ticks || slot > DEVICES_MAX)
        return;
    struct col *c = find_col(g, slot, metric);
    size_t tick = g->n_ticks - 1;
    if (tick >= c->cap_ticks)
        room_for(c, g->cap_ticks);
    uint64_t bit = 1ull << (tick % 64);
    c->filled += !(c->have[tick / 64] & bit);
    c->have[tick / 64] |= bit;
    c->v[tick] = v;
}

void gather_sample(struct gather *g, uint16_t slot, const struct sample *s)
{
    for (int m = 0; m < M_COUNT; m++)
        if (sample_has(s, (enum metric)m))
            gather_value(g, slot, metrics[m].no, s->v[m]);
}

void gather_uses(struct gather *g, const struct proc_use *uses, size_t n)
{
    while (g->cap_uses < n) {
        g->cap_uses = g->cap_uses ? g->cap_uses * 2 : 16;
        g->uses = mem_grow(g->uses, g->cap_uses, sizeof(*g->uses));
    }
    if (n)
        memcpy(g->uses, uses, n * sizeof(*uses));
    g->n_uses = n;
}

void gather_event(struct gather *g, const struct node_event *e)
{
    VEC_ADD(g->events, g->n_events, g->cap_events, *e);
}

COMPARE(by_metric_slot, struct column,
        x->metric != y->metric ? (int)x->metric - (int)y->metric : (int)x->slot - (int)y->slot)

void gather_batch(struct gather *g, struct batch *ret)
{
    size_t n = 0;
    if (g->cap_out < g->n_cols) {
        g->cap_out = g->cap_cols;
        g->out = mem_grow(g->out, g->cap_out, sizeof(*g->out));
    }
    for (size_t i = 0; i < g->n_cols; i++) {
        struct col *c = &g->cols[i];
        if (!c->filled)
            continue;
        bool all = c->filled == g->n_ticks;
        if (!all && c->cap_ticks < g->n_ticks) /* it stopped before the batch did: make room for the absent rest */
            room_for(c, g->n_ticks);
        for (size_t t = 0; !all && t < g->n_ticks; t++)
            if (!(c->have[t / 64] >> (t % 64) & 1))
                c->v[t] = 0; /* never seen by a reader, yet never left over from a batch before */
        g->out[n++] = (struct column){c->metric, c->slot, all ? NULL : c->have, c->v};
    }
    SORT(g->out, n, by_metric_slot);
    *ret = (struct batch){.n_ticks = g->n_ticks,
                          .n_columns = n,
                          .n_uses = g->n_uses,
                          .n_events = g->n_events,
                          .at_ms = g->at_ms,
                          .columns = g->out,
                          .uses = g->uses,
                          .events = g->events};
}

void gather_reset(struct gather *g)
{
    for (size_t i = 0; i < g->n_cols; i++) {
        if (g->cols[i].filled)
            memset(g->cols[i].have, 0, g->cols[i].cap_ticks / 8);
        g->cols[i].filled = 0;
    }
    g->n_ticks = g->n_uses = g->n_events = 0;
}
