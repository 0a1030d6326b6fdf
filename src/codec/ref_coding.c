/* ref_coding.c: see ref_coding.h. The multiple of the reference is found by least squares, a line through zero per
 * series. */
#include "codec/ref_coding.h"

#include <math.h>

#include "base/mem.h"
#include "codec/ints.h"
#include "codec/pack.h"
#include "model/metric.h"

#define SHIFT_ROOM 60u  /* maximum bits of a product of slope and reference */
#define LOOK       128u /* values of a series that are sampled to estimate the savings */
/* minimum savings, as a fraction of the bits: below it reading two columns for one is not worth it */
#define LEAST_PART 0.04
#define LEAST_BITS 0.2   /* per value */
#define SPLIT      0x80u /* flag in the shift */
#define SPLIT_PART 16u   /* at least 1/SPLIT_PART of the values are where the reference is 0, and where it is not */

static const int bases[LEAN_BASES] = {M_util, M_power, M_nvlink_rx, M_mem_used};
static const struct {
    int on;
    bool sums;
} leans[M_COUNT] = {
    [M_mem_util] = {M_util + 1, false},      [M_energy] = {M_power + 1, true},
    [M_pcie_rx] = {M_util + 1, false},       [M_pcie_tx] = {M_util + 1, false},
    [M_dec] = {M_util + 1, false},           [M_nvlink_tx] = {M_nvlink_rx + 1, false},
    [M_sm_active] = {M_util + 1, false},     [M_sm_occupancy] = {M_util + 1, false},
    [M_tensor_active] = {M_util + 1, false}, [M_dram_active] = {M_util + 1, false},
};

uint16_t ref_metric(uint16_t metric, bool *ret_sums)
{
    int m = metric ? metric_by_no(metric) : -1;

    if (!metric)
        return metrics[M_mem_used].no;
    if (m < 0 || !leans[m].on)
        return 0;
    *ret_sums = leans[m].sums;
    return metrics[leans[m].on - 1].no;
}

unsigned ref_index(uint16_t metric)
{
    int m = metric ? metric_by_no(metric) : -1;
    unsigned i = 0;

    while (i < LEAN_BASES && bases[i] != m)
        i++;
    return i;
}

void ref_fini(struct ref_coding *l)
{
    FREE_ALL(l->slope, l->first, l->busy);
    *l = (struct ref_coding){0};
}

static void room_for(struct ref_coding *l, size_t n_series)
{
    if (n_series <= l->cap)
        return;
    l->cap = n_series;
    l->slope = mem_grow(l->slope, n_series, sizeof(*l->slope));
    l->first = mem_grow(l->first, n_series, sizeof(*l->first));
    l->busy = mem_grow(l->busy, n_series, sizeof(*l->busy));
}

/* ---- writing ---- */

/* The values to code, or their differences, the first of which is 0. */
static void take_steps(const uint64_t *v, size_t n, bool sums, uint64_t *ret)
{
    if (!sums) {
        memcpy(ret, v, n * sizeof(*v));
        return;
    }
    ret[0] = 0;
    for (size_t i = 1; i < n; i++)
        ret[i] = v[i] - v[i - 1];
}

/* The slope of the line through zero that best fits y over x. */
static double fit(const uint64_t *y, const uint64_t *x, size_t n)
{
    double xy = 0, xx = 0;

    for (size_t i = 0; i < n; i++) {
        double a = (double)(int64_t)x[i];
        xy += a * (double)(int64_t)y[i];
        xx += a * a;
    }
    return xx > 0 ? xy / xx : 0;
}

static inline uint64_t told(int64_t slope, uint64_t x, unsigned shift)
{
    return (uint64_t)((int64_t)((uint64_t)slope * x) >> shift);
}

/*
 * Compares the estimated bits of the values alone, around their mean or as differences, with those of the remainders.
 */
static bool is_worth_it(const uint64_t *y, const uint64_t *rest, const size_t *n, size_t n_series)
{
    double alone = 0, left = 0;
    size_t count = 0;

    for (size_t k = 0; k < n_series; y += n[k], rest += n[k], k++) {
        uint64_t around = 0, steps = 0, after = 0;
        double sum = 0;
        size_t step = n[k] / LOOK + 1, seen = 0;
        for (size_t i = 1; i < n[k]; i += step, seen++)
            sum += (double)(int64_t)y[i];
        int64_t middle = seen ? (int64_t)(sum / (double)seen) : 0;
        for (size_t i = 1; i < n[k]; i += step) {
            around += bits_of(zigzag(y[i] - (uint64_t)middle));
            steps += bits_of(zigzag(y[i] - y[i - 1]));
            after += bits_of(zigzag(rest[i]));
        }
        alone += (double)MIN(around, steps);
        left += (double)after;
        count += seen;
    }
    return alone - left > MAX(LEAST_BITS * (double)count, LEAST_PART * alone);
}

bool ref_can_split(const uint64_t *const *base, const size_t *n, size_t n_series)
{
    size_t values = 0, busy = 0;

    for (size_t k = 0; k < n_series; values += n[k++])
        for (size_t i = 0; i < n[k]; i++)
            busy += base[k][i] != 0;
    return values && busy * SPLIT_PART >= values && (values - busy) * SPLIT_PART >= values;
}

bool ref_encode(struct ref_coding *l, bool sums, const uint64_t *const *v, const uint64_t *const *base, const size_t *n,
                size_t n_series, uint64_t *ret)
{
    size_t values = 0, at = 0;
    uint64_t most_x = 0;
    double most = 0;

    room_for(l, n_series);
    for (size_t k = 0; k < n_series; k++)
        values += n[k];
    AUTO_FREE uint64_t *y = mem_alloc(values * sizeof(*y));
    AUTO_FREE double *slope = mem_alloc(n_series * sizeof(*slope));
    for (size_t k = 0; k < n_series; at += n[k++])
        take_steps(v[k], n[k], sums, y + at);
    l->sums = sums;
    l->split = false;
    l->by = ints_divisor((const int64_t *)y, values);
    if (!l->by)
        return false;
    struct divisor by = divisor_of(l->by);
    for (size_t i = 0; i < values && l->by > 1; i++)
        y[i] = divided((int64_t)y[i], by);
    for (size_t k = at = 0; k < n_series; at += n[k++]) {
        uint64_t all = 0;
        for (size_t i = 0; i < n[k]; i++)
            all |= base[k][i] ^ (0 - (base[k][i] >> 63));
        slope[k] = fit(y + at, base[k], n[k]);
        most_x |= all;
        most = MAX(most, fabs(slope[k]) * (double)all);
    }
    if (!(most >= 1 && most < 0x1p50))
        return false;
    l->shift = MIN(bits_of(most_x), SHIFT_ROOM - bits_of((uint64_t)most));
    for (size_t k = at = 0; k < n_series; at += n[k++]) {
        l->slope[k] = (int64_t)llrint(ldexp(slope[k], (int)l->shift));
        l->first[k] = (int64_t)v[k][0];
        for (size_t i = 0; i < n[k]; i++)
            ret[at + i] = sums && i == 0 ? 0 : y[at + i] - told(l->slope[k], base[k][i], l->shift);
    }
    return is_worth_it(y, ret, n, n_series);
}

void ref_split(struct ref_coding *l, const uint64_t *const *base, const size_t *n, size_t n_series)
{
    room_for(l, n_series);
    l->split = true;
    for (size_t k = 0; k < n_series; k++) {
        l->busy[k] = 0;
        for (size_t i = 0; i < n[k]; i++)
            l->busy[k] += base[k][i] != 0;
    }
}

bool ref_encode_const(struct ref_coding *l, const uint64_t *const *v, const uint64_t *const *base, const size_t *n,
                      size_t n_series, uint64_t *ret)
{
    /* nonzero unless the column is: a constant, its base plus a constant, a constant minus its base */
    uint64_t moves = 0, more = 0, less = 0;
    size_t at = 0;

    for (size_t k = 0; k < n_series && (more == 0 || less == 0); k++)
        for (size_t i = 0; i < n[k]; i++) {
            uint64_t step = v[k][i] - v[k][0], under = base[k][i] - base[k][0];
            moves |= step;
            more |= step - under;
            less |= step + under;
        }
    if (!moves || (more && less))
        return false; /* constants are as small alone */
    room_for(l, n_series);
    l->sums = l->split = false;
    l->by = 1;
    l->shift = 0;
    for (size_t k = 0; k < n_series; k++) {
        l->slope[k] = more ? -1 : 1;
        for (size_t i = 0; i < n[k]; i++)
            ret[at++] = v[k][i] - told(l->slope[k], base[k][i], 0);
    }
    return true;
}

static size_t count_busy(const struct ref_coding *l, size_t n_series)
{
    size_t n = 0;

    for (size_t k = 0; k < n_series; k++)
        n += l->busy[k] > 0;
    return n;
}

int ref_write(const struct ref_coding *l, struct buf *out, size_t n_series)
{
    buf_varint(out, l->by);
    buf_u8(out, (uint8_t)(l->shift | (l->split ? SPLIT : 0)));
    if (l->split)
        ints_put(out, l->busy, n_series);
    ints_put(out, l->slope, l->split ? count_busy(l, n_series) : n_series);
    if (l->sums)
        ints_put(out, l->first, n_series);
    return out->err;
}

/* ---- reading ---- */

bool ref_read(struct ref_coding *l, struct rd *r, bool sums, size_t n_series)
{
    room_for(l, n_series);
    l->by = rd_varint(r);
    unsigned shift = rd_u8(r);
    l->shift = shift & ~SPLIT;
    l->split = shift & SPLIT;
    l->sums = sums && !l->split;
    if (r->bad || l->shift >= 64 || (l->split && (!sums || ints_get(r, l->busy, n_series) < 0)))
        return false;
    return ints_get(r, l->slope, l->split ? count_busy(l, n_series) : n_series) == 0 &&
           (!l->sums || ints_get(r, l->first, n_series) == 0);
}

/* Number of present values in [0, to), and of those where the reference is not 0. */
static size_t count_there(const int64_t *base, const uint64_t *have, size_t to, size_t *ret_busy)
{
    size_t there = 0, busy = 0;

    for (size_t i = 0; i < to && !have; i++)
        busy += base[i] != 0;
    for (size_t i = 0; i < to && have; i++) {
        bool has = have[i / 64] >> i % 64 & 1;
        there += has;
        busy += has && base[i];
    }
    *ret_busy = busy;
    return have ? there : to;
}

/* As ref_merge, if every value is present. GPUs stay busy or idle for long stretches. */
static void join_full(const struct ref_coding *l, int64_t slope, const struct ref_parts *p, int64_t *v,
                      const int64_t *base, size_t to)
{
    const uint64_t *busy = p->busy, *idle = p->idle;
    uint64_t by = l->by;
    unsigned shift = l->shift;

    for (size_t i = 0; i < to;) {
        for (; i < to && base[i]; i++)
            v[i] = (int64_t)((*busy++ + told(slope, (uint64_t)base[i], shift)) * by);
        for (; i < to && !base[i]; i++)
            v[i] = (int64_t)*idle++;
    }
}

bool ref_merge(const struct ref_coding *l, size_t at, const struct ref_parts *p, int64_t *v, const int64_t *base,
               const uint64_t *have, size_t to, bool all)
{
    struct ref_parts rest = *p;
    int64_t slope = p->n_busy ? l->slope[at] : 0;
    size_t n_busy, there = count_there(base, have, to, &n_busy);

    if (n_busy > p->n_busy || there - n_busy > p->n_idle || (all && there != p->n_busy + p->n_idle))
        return false;
    if (!have) {
        join_full(l, slope, p, v, base, to);
        return true;
    }
    for (size_t i = 0; i < to; i++) {
        if (!(have[i / 64] >> i % 64 & 1))
            v[i] = 0;
        else if (base[i])
            v[i] = (int64_t)((*rest.busy++ + told(slope, (uint64_t)base[i], l->shift)) * l->by);
        else
            v[i] = (int64_t)*rest.idle++;
    }
    return true;
}

void ref_decode(const struct ref_coding *l, size_t series, int64_t *v, const int64_t *base, const uint64_t *have,
                size_t from, size_t to)
{
    uint64_t by = l->by, now = 0;
    int64_t slope = l->slope[series];
    unsigned shift = l->shift;
    bool begun = false;

    if (!l->sums && !have && by == 1) {
        for (size_t i = from; i < to; i++)
            v[i] = (int64_t)((uint64_t)v[i] + told(slope, (uint64_t)base[i], shift));
        return;
    }
    if (!l->sums && !have) {
        for (size_t i = from; i < to; i++)
            v[i] = (int64_t)(((uint64_t)v[i] + told(slope, (uint64_t)base[i], shift)) * by);
        return;
    }
    for (size_t i = from; i < to; i++) {
        if (have && !(have[i / 64] >> i % 64 & 1))
            continue;
        uint64_t more = ((uint64_t)v[i] + told(slope, (uint64_t)base[i], shift)) * by;
        now = !l->sums ? more : begun ? now + more : (uint64_t)l->first[series];
        begun = true;
        v[i] = (int64_t)now;
    }
}
