/* node_sums.c: sums up the devices of a node per bin, while all of them have the same number of samples in it. */
#include "store/node_sums.h"

#include "base/mem.h"
#include "base/order.h"

#define SUMS_KEEP 4096u /* larger sums of a column are not cached */

static int add_to(struct bins_sink *b, size_t metric, const struct cut *cut, uint64_t each, int64_t sum)
{
    struct bin *to = &b->h.v[metric * b->h.n + cut->bin];

    to->count += (uint32_t)each;
    return __builtin_add_overflow(to->sum, sum, &to->sum) ? SINK_LEAVES : 0;
}

/* ---- tiers ---- */

static struct column_sums *sums_new(size_t n_ticks)
{
    size_t bytes = sizeof(struct column_sums) + 2 * n_ticks * sizeof(int64_t);
    struct column_sums *s = mem_alloc(bytes);

    *s = (struct column_sums){.bytes = bytes, .even = true};
    memset(s->v, 0, 2 * n_ticks * sizeof(*s->v));
    return s;
}

/* Sums over all devices in the cells, for ticks [from, to). */
static struct column_sums *add_up(const struct chunk_cells *c, size_t from, size_t to)
{
    struct column_sums *s = sums_new(c->n_ticks);
    const int64_t *usual = chunk_lane(c, 0, LANE_COUNT);
    bool odd = !c->full;

    for (size_t d = 0; d < c->n_devs && !odd; d++) {
        const int64_t *count = chunk_lane(c, d, LANE_COUNT), *min = chunk_lane(c, d, LANE_MIN);
        const int64_t *sum = chunk_lane(c, d, LANE_SUM);
        for (size_t i = from; i < to; i++) {
            int64_t one = (int64_t)((uint64_t)min[i] * (uint64_t)count[i] + (uint64_t)sum[i]);
            odd |= count[i] != usual[i];
            odd |= __builtin_add_overflow(s->v[i], one, &s->v[i]);
        }
    }
    s->even = !odd;
    if (odd) {
        s->bytes = sizeof(*s);
        return mem_grow(s, s->bytes, 1);
    }
    memcpy(s->v + c->n_ticks + from, usual + from, (to - from) * sizeof(*usual));
    return s;
}

static int add_sums(struct bins_sink *b, size_t metric, const struct column_sums *s, size_t n_ticks)
{
    const int64_t *sum = s->v, *each = s->v + n_ticks;
    struct bin *row = b->h.v + metric * b->h.n;
    size_t i = b->begin;
    bool odd = !s->even;

    for (size_t k = 0; k < b->n_cuts && !odd; k++) {
        struct bin *to = &row[b->cuts[k].bin];
        uint32_t count = to->count;
        int64_t all = to->sum;
        for (size_t end = b->cuts[k].end; i < end; i++) {
            count += (uint32_t)each[i];
            odd |= __builtin_add_overflow(all, sum[i], &all);
        }
        to->count = count;
        to->sum = all;
    }
    return odd ? SINK_LEAVES : 0;
}

int node_sums_tier(struct bins_sink *b, const struct chunk *c, size_t column, size_t metric)
{
    const struct column_sums *kept = b->s.sums ? b->s.sums(b->s.load_arg, column) : NULL;
    bool keep = b->s.keep_sums && sizeof(*kept) + 2 * c->n_ticks * sizeof(*kept->v) <= SUMS_KEEP;
    struct chunk_want want = {.last = c->columns[column].n_devs,
                              .lanes = 1u << LANE_COUNT | 1u << LANE_MIN | 1u << LANE_SUM,
                              .from = keep ? 0 : b->begin,
                              .to = keep ? c->n_ticks : b->cuts[b->n_cuts - 1].end};

    if (kept)
        return add_sums(b, metric, kept, c->n_ticks);
    int r = sink_read_column(&b->s, c, column, &want);
    if (r)
        return MIN(r, 0);
    struct column_sums *made = add_up(b->s.cells, want.from, want.to);
    r = add_sums(b, metric, made, c->n_ticks);
    if (keep)
        b->s.keep_sums(b->s.load_arg, column, made);
    else
        free(made);
    return r;
}

/* ---- samples ---- */

/* Sum of the present samples in [i, end). */
static size_t sum_there(const int64_t *v, const uint64_t *have, size_t i, size_t end, bool constant, int64_t *ret)
{
    uint64_t sum = 0;
    size_t n = 0;

    while (i < end) {
        size_t run = have ? chunk_run(have, i, end, true) : end - i;
        for (size_t k = i; k < i + run && !constant; k++)
            sum += (uint64_t)v[k];
        n += run;
        i += run;
        i += i < end ? chunk_run(have, i, end, false) : 0;
    }
    *ret = (int64_t)(constant ? (uint64_t)v[0] * n : sum);
    return n;
}

static int add_device(struct bins_sink *b, size_t metric, size_t dev, const uint64_t *have)
{
    const int64_t *v = chunk_lane(b->s.cells, dev, 0);
    uint8_t shape = b->s.cells->shape[dev];
    size_t i = b->begin;
    int r = 0;

    for (size_t k = 0; k < b->n_cuts && r == 0; i = b->cuts[k++].end) {
        size_t end = b->cuts[k].end, n = end - i;
        int64_t sum;
        if (shape == SHAPE_SUMS)
            sum = v[k];
        else
            n = sum_there(v, have, i, end, shape == SHAPE_ONE, &sum);
        if (n)
            r = add_to(b, metric, &b->cuts[k], dev ? 0 : n, sum);
    }
    return r;
}

int node_sums_raw(struct bins_sink *b, const struct chunk *c, size_t metric)
{
    size_t words = chunk_words(c->n_ticks), n = b->ask->n_devices, last = b->cuts[b->n_cuts - 1].end;
    const uint64_t *have = b->s.cells->have;
    bool full = b->s.cells->full, all = full || chunk_run(have, b->begin, last, true) == last - b->begin;
    int r = 0;

    for (size_t d = 1; d < n && !full; d++)
        if (memcmp(have, have + d * words, words * sizeof(*have)) != 0)
            return SINK_LEAVES;
    for (size_t d = 0; d < n && r == 0; d++)
        r = add_device(b, metric, d, all ? NULL : have);
    return r;
}

int node_sums_batch(struct bins_sink *b, size_t metric)
{
    size_t n = b->ask->n_devices, there = 0, i = b->begin;
    const struct column *const *of = b->of;
    int r = 0;

    for (size_t d = 0; d < n; d++)
        there += of[d] != NULL;
    if (there < n)
        return there ? SINK_LEAVES : 0;
    for (size_t k = 0; k < b->n_cuts && r == 0; k++)
        for (; i < b->cuts[k].end && r == 0; i++) {
            bool has = column_has(of[0], i);
            int64_t sum = 0;
            for (size_t d = 0; d < n; d++) {
                if (column_has(of[d], i) != has || (has && __builtin_add_overflow(sum, of[d]->v[i], &sum)))
                    return SINK_LEAVES;
            }
            if (has)
                r = add_to(b, metric, &b->cuts[k], 1, sum);
        }
    return r;
}
