/* history_model.h: random histories of a few nodes, and what a query over them should answer, worked out naively. */
#ifndef TESTS_UNIT_HISTORY_MODEL_H
#define TESTS_UNIT_HISTORY_MODEL_H

#include <stdlib.h>

#include "base/buf.h"
#include "base/mem.h"
#include "base/rand.h"
#include "hub/decode.h"
#include "model/gather.h"
#include "store_dir.h"
#include "wire/wire.h"

#define H0        1700000000000ll
#define H_NODES   3
#define H_DEVICES 3
#define H_METRICS 6
#define H_HOUR    3600000ll

static const char *const h_nodes[H_NODES] = {"aa", "bb", "cc"};
static const char *const h_devices[H_DEVICES] = {"", "GPU-one", "GPU-two"};
static const char *const h_metrics[H_METRICS] = {"util", "power", "energy", "mem_used", "loss", "temp"};

struct h_sample {
    uint8_t node, device, metric;
    int64_t at, v;
};

/* A batch as it was sent, so that it can be sent again. */
struct h_sent {
    uint8_t node;
    uint64_t run, number, facts;
    int64_t at_ms, shift_ms;
    char *bytes;
    size_t len;
    size_t first, n; /* its samples */
};

struct h_model {
    struct h_sample *v;
    size_t n, cap;
    struct h_sent *sent;
    size_t n_sent, cap_sent;
    struct prng g;
    struct wire_enc *enc;
    uint64_t next[H_NODES];
    struct buf facts;
    uint64_t facts_id;
};

static inline void h_facts(struct h_model *m)
{
    struct device_fact devices[] = {{.uuid = "GPU-one"}, {.uuid = "GPU-two", .index = 1}};
    struct custom_fact custom[] = {{.name = "loss", .per = 1000}};
    struct node_fact f =
        {.name = "n", .tick_ms = 1000, .n_devices = 2, .n_custom = 1, .devices = devices, .custom = custom};
    struct node_id id = {{1}};

    m->facts = BUF_INIT(1 << 20);
    assert_int_equal(wire_put_facts(&m->facts, &id, &f, &m->facts_id), 0);
}

static inline void h_init(struct h_model *m, uint64_t seed)
{
    *m = (struct h_model){.g = {seed}, .enc = wire_enc_new(1)};
    h_facts(m);
}

static inline void h_fini(struct h_model *m)
{
    for (size_t i = 0; i < m->n_sent; i++)
        free(m->sent[i].bytes);
    free(m->sent);
    free(m->v);
    wire_enc_free(m->enc);
    buf_fini(&m->facts);
}

static inline uint64_t h_rand(struct h_model *m, uint64_t below)
{
    return prng_next(&m->g) % below;
}

static inline int h_metric_no(int metric)
{
    int i = metric_by_name(str_of(h_metrics[metric]));

    return i >= 0 ? metrics[i].no : METRIC_CUSTOM;
}

/* Some ticks from at_ms on, by the hub's clock. */
static inline struct h_sent *h_batch(struct h_model *m, unsigned node, int64_t at_ms, size_t ticks, int64_t step)
{
    struct gather *g = gather_new();
    int64_t shift = node == 2 ? -90000 : 0; /* its clock is off */
    size_t first = m->n;

    for (size_t i = 0; i < ticks; i++) {
        int64_t at = at_ms + (int64_t)i * step;
        gather_tick(g, at - shift);
        for (uint8_t d = 0; d < H_DEVICES; d++)
            for (uint8_t k = 0; k < H_METRICS; k++) {
                if ((d == 0) != (k == 4) || (k == 3 && i % 5) ||
                    (k != 5 && h_rand(m, 20) == 0)) /* temp is always there, and long the same */
                    continue;
                int64_t v = k == 0   ? (int64_t)h_rand(m, 101) * 100
                            : k == 2 ? at * 300 + (int64_t)h_rand(m, 300)
                            : k == 3 ? (int64_t)h_rand(m, 4) << 30
                            : k == 5 ? 55 + at / 47000 % 9 * (d == 1 ? -7 : 1)
                                     : (int64_t)h_rand(m, 700000) - (k == 4 ? 350000 : 0);
                gather_value(g, d, (uint16_t)h_metric_no(k), v);
                VEC_ROOM(m->v, m->n, m->cap);
                m->v[m->n++] = (struct h_sample){(uint8_t)node, d, k, at, v};
            }
    }
    struct batch b;
    gather_batch(g, &b);
    b.key = (struct batch_key){.node = {{1}}, .run = 7 + node, .number = ++m->next[node]};
    b.facts = m->facts_id;
    AUTO_BUF out = BUF_INIT(1 << 20);
    assert_int_equal(wire_put_batch(m->enc, &out, &b), 0);
    VEC_ROOM(m->sent, m->n_sent, m->cap_sent);
    struct h_sent *s = &m->sent[m->n_sent++];
    *s = (struct h_sent){.node = (uint8_t)node,
                         .run = b.key.run,
                         .number = b.key.number,
                         .facts = m->facts_id,
                         .at_ms = at_ms,
                         .shift_ms = shift,
                         .len = out.len,
                         .first = first,
                         .n = m->n - first};
    s->bytes = buf_take(&out);
    gather_free(g);
    return s;
}

static inline void h_send(struct store *to, const struct h_model *m, const struct h_sent *s, store_done_fn *done,
                          void *arg)
{
    const char *node = h_nodes[s->node];
    struct store_batch b = {.node = node,
                            .run = s->run,
                            .number = s->number,
                            .facts = s->facts,
                            .at_ms = s->at_ms,
                            .shift_ms = s->shift_ms,
                            .bytes = {s->bytes, s->len}};

    if (store_get_blob(to, node, s->facts, NULL, NULL) != 1)
        store_put_blob(to, node, BLOB_FACTS, s->facts, buf_str(&m->facts));
    store_append(to, &b, 1, done, arg);
}

/* ---- what should be there ---- */

static inline int64_t h_floor(int64_t v, int64_t step)
{
    return v - v % step;
}

/* Of what is measured, tiers do not keep the newest value: a mean stands for it (H4). */
static inline bool h_keeps_last(int metric, int tier)
{
    return tier == TIER_RAW || metric == 2 || metric == 4; /* energy counts, loss is declared by others */
}

/* What a bin should hold. */
struct h_bin {
    struct bin b;
    int64_t newest;
    bool last; /* what was given as the newest value may be it */
};

/* The one of n that a sample is in, those of each device's metrics behind each other; NULL: none. */
static inline struct h_bin *h_bin_of(struct h_bin *v, const struct history *h, const struct h_sample *s)
{
    int64_t i = (s->at - h->from_ms) / h->step_ms;

    return s->at < h->from_ms || i >= (int64_t)h->n
               ? NULL
               : &v[(size_t)(s->device * H_METRICS + s->metric) * h->n + (size_t)i];
}

/* The newest value may be any of those within slack of the newest moment. */
static inline struct h_bin *h_want(const struct h_model *m, unsigned node, const struct history *h, int64_t slack)
{
    struct h_bin *v = mem_zero(H_DEVICES * H_METRICS * h->n, sizeof(*v));

    for (size_t i = 0; i < m->n; i++) {
        const struct h_sample *s = &m->v[i];
        struct h_bin *w = s->node == node ? h_bin_of(v, h, s) : NULL;
        if (!w)
            continue;
        w->b.min = w->b.count ? MIN(w->b.min, s->v) : s->v;
        w->b.max = w->b.count ? MAX(w->b.max, s->v) : s->v;
        w->b.sum += s->v;
        w->b.count++;
        w->newest = MAX(w->newest, s->at);
    }
    for (size_t i = 0; i < m->n; i++) {
        const struct h_sample *s = &m->v[i];
        struct h_bin *w = s->node == node ? h_bin_of(v, h, s) : NULL;
        if (w)
            w->last |= s->at >= w->newest - slack && s->v == h->v[w - v].last;
    }
    return v;
}

static inline void h_check_bin(const struct history *h, unsigned node, size_t i, const struct h_bin *w)
{
    const struct bin *got = &h->v[i], *want = &w->b;
    size_t metric = i / h->n % H_METRICS;
    bool mean = !h_keeps_last((int)metric, h->tier) && got->last >= want->min && got->last <= want->max;

    if (got->count != want->count || got->sum != want->sum || got->min != want->min || got->max != want->max ||
        (want->count && !w->last && !mean))
        fail_msg("%s %s %s at %+lld of step %lld: count %u want %u, sum %lld want %lld, min %lld want %lld, max %lld "
                 "want "
                 "%lld, last %lld (%d)",
                 h_nodes[node], h_devices[i / h->n / H_METRICS], h_metrics[metric],
                 (long long)(h->from_ms + (int64_t)(i % h->n) * h->step_ms - H0), (long long)h->step_ms, got->count,
                 want->count, (long long)got->sum, (long long)want->sum, (long long)got->min, (long long)want->min,
                 (long long)got->max, (long long)want->max, (long long)got->last, w->last);
}

/* Asking for less (one device, some fields of bins: other ones each time) gives the same numbers. */
static inline void h_check_less(struct store *s, struct bins_query less, const struct history *whole)
{
    static unsigned turn;
    unsigned fields = 1 + turn++ % BIN_ALL;
    size_t d = turn % less.n_devices;
    struct history h;

    less.devices += d;
    less.n_devices = 1;
    less.fields = fields;
    assert_int_equal(store_history(s, &less, &h, NULL), 0);
    assert_int_equal(h.n_series, less.n_metrics);
    assert_int_equal(h.n, whole->n);
    for (size_t i = 0; i < h.n_series * h.n; i++) {
        const struct bin *got = &h.v[i], *want = &whole->v[d * h.n_series * h.n + i];
        bool same = got->count == want->count;
        if (want->count) {
            same &= !(fields & BIN_SUM) || got->sum == want->sum;
            same &= !(fields & BIN_MIN) || got->min == want->min;
            same &= !(fields & BIN_MAX) || got->max == want->max;
            /* what stands for the newest value in a tier changes when a log is compacted between the two questions */
            same &= !(fields & BIN_LAST) || h.tier != TIER_RAW || got->last == want->last;
        }
        if (!same)
            fail_msg("fields %#x of %s at bin %zu: count %u want %u, sum %lld want %lld, min %lld want %lld, max %lld "
                     "want "
                     "%lld, last %lld want %lld",
                     fields, h_devices[d], i, got->count, want->count, (long long)got->sum, (long long)want->sum,
                     (long long)got->min, (long long)want->min, (long long)got->max, (long long)want->max,
                     (long long)got->last, (long long)want->last);
    }
    history_fini(&h);
}

static unsigned h_together; /* so often GPUs were given together */

/* The GPUs together, of one metric and of all: what they add up to, or each by itself where they are not alike. */
static inline void h_check_together(struct store *s, const struct bins_query *ask, size_t metric, size_t n_metrics,
                                    const struct history *whole)
{
    struct bins_query both = *ask;
    struct history h;

    both.devices = ask->devices + 1;
    both.n_devices = H_DEVICES - 1;
    both.metrics = ask->metrics + metric;
    both.n_metrics = n_metrics;
    both.fields = BIN_SUM;
    both.together = true;
    assert_int_equal(store_history(s, &both, &h, NULL), 0);
    assert_int_equal(h.damaged, 0);
    assert_int_equal(h.n, whole->n);
    assert_int_equal(h.n_series, n_metrics * (h.together ? 1 : both.n_devices));
    h_together += h.together;
    for (size_t i = 0; i < n_metrics * h.n; i++) {
        const struct bin *a = &whole->v[(H_METRICS + metric) * h.n + i], *b = a + H_METRICS * h.n, *got = &h.v[i];
        const struct bin *other = h.together ? got : got + n_metrics * h.n;
        bool same = got->count == a->count && other->count == b->count &&
                    (h.together ? !a->count || got->sum == a->sum + b->sum
                                : (!a->count || got->sum == a->sum) && (!b->count || other->sum == b->sum));
        if (!same)
            fail_msg("%s at bin %zu of step %lld, %s: count %u of %u and %u, sum %lld of %lld and %lld",
                     h_metrics[metric + i / h.n], i % h.n, (long long)h.step_ms, h.together ? "together" : "apart",
                     got->count, a->count, b->count, (long long)got->sum, (long long)a->sum, (long long)b->sum);
    }
    history_fini(&h);
}

static inline void h_check(struct store *s, const struct h_model *m, unsigned node, int64_t from, int64_t to,
                           int64_t step, int tier)
{
    struct bins_query ask = {.node = h_nodes[node],
                             .devices = h_devices,
                             .metrics = h_metrics,
                             .n_devices = H_DEVICES,
                             .n_metrics = H_METRICS,
                             .from_ms = from,
                             .to_ms = to,
                             .step_ms = step,
                             .tier = tier};
    struct history h;
    struct err err = {0};

    if (store_history(s, &ask, &h, &err) < 0)
        fail_msg("%s", err.msg);
    assert_int_equal(h.damaged, 0);
    assert_int_equal(h.from_ms, h_floor(from, step));
    assert_int_equal(h.n, (to - h.from_ms + step - 1) / step);
    assert_int_equal(h.n_series, H_DEVICES * H_METRICS);
    int64_t slack = h.tier == TIER_RAW ? 0 : h.tier == TIER_MINUTE ? 60000 / 64 + 1 : H_HOUR / 64 + 1;
    AUTO_FREE struct h_bin *want = h_want(m, node, &h, slack);
    for (size_t i = 0; i < h.n_series * h.n; i++)
        h_check_bin(&h, node, i, &want[i]);
    h_check_less(s, ask, &h);
    for (size_t k = 0; k < H_METRICS; k++)
        h_check_together(s, &ask, k, 1, &h);
    h_check_together(s, &ask, 0, H_METRICS, &h);
    history_fini(&h);
}

struct h_points {
    size_t n;
    int64_t sum, last;
};

static inline int h_point(void *arg, int64_t at, int64_t v)
{
    struct h_points *p = arg;

    assert_true(at >= p->last);
    p->last = at;
    p->n++;
    p->sum += v ^ at;
    return 0;
}

static inline void h_check_points(struct store *s, const struct h_model *m, unsigned node, int device, int metric)
{
    struct h_points got = {0}, want = {0};
    struct err err = {0};

    if (store_points(s, h_nodes[node], h_devices[device], h_metrics[metric], 0, H0 * 2, h_point, &got, &err) < 0)
        fail_msg("%s", err.msg);
    for (size_t i = 0; i < m->n; i++)
        if (m->v[i].node == node && m->v[i].device == device && m->v[i].metric == metric) {
            want.n++;
            want.sum += m->v[i].v ^ m->v[i].at;
        }
    assert_int_equal(got.n, want.n);
    assert_int_equal(got.sum, want.sum);
}

static inline int h_count_series(void *arg, const char *device, const char *metric)
{
    (void)device;
    (void)metric;
    ++*(int *)arg;
    return 0;
}

/* Everything, in ways large and small. */
static inline void h_check_all(struct store *s, const struct h_model *m, int64_t from, int64_t to)
{
    for (unsigned node = 0; node < H_NODES; node++) {
        int series = 0, seen[H_DEVICES][H_METRICS] = {0}, want = 0;
        for (size_t i = 0; i < m->n; i++)
            if (m->v[i].node == node && !seen[m->v[i].device][m->v[i].metric]++)
                want++;
        assert_int_equal(store_series(s, h_nodes[node], from - 99 * H_HOUR, to, h_count_series, &series, NULL), 0);
        assert_int_equal(series, want);
        h_check(s, m, node, from, to, H_HOUR, -1);
        h_check(s, m, node, from, to, H_HOUR, TIER_RAW);
        h_check(s, m, node, from, to, 600000, -1);
        h_check(s, m, node, from + 12345, from + 400000, 60000, TIER_RAW);
        h_check(s, m, node, from + 12345, from + 400000, 60000, TIER_MINUTE);
        h_check(s, m, node, from, from + 60000, 1000, -1);
        h_check(s, m, node, from + 7, from + 90000, 7000, -1);
        for (int k = 0; k < H_METRICS; k++)
            h_check_points(s, m, node, k == 4 ? 0 : 1 + (int)(node % 2), k);
    }
}

#endif
