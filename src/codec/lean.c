/* lean.c: see lean.h. How much of the base is taken away is found by least squares, a line through zero per series. */
#include "codec/lean.h"

#include <math.h>

#include "base/mem.h"
#include "codec/ints.h"
#include "codec/pack.h"
#include "model/metric.h"

#define SHIFT_ROOM 60u  /* a product of slope and base has no more bits */
#define LOOK       128u /* values of a series that are looked at to see what is saved */
#define LEAST_PART 0.04 /* of the bits, or it is not worth reading two columns for one */
#define LEAST_BITS 0.2  /* per value */

static const int bases[LEAN_BASES] = {M_util, M_power, M_nvlink_rx};
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

uint16_t lean_on(uint16_t metric, bool *ret_sums)
{
    int m = metric ? metric_by_no(metric) : -1;

    if (m < 0 || !leans[m].on)
        return 0;
    *ret_sums = leans[m].sums;
    return metrics[leans[m].on - 1].no;
}

unsigned lean_base(uint16_t metric)
{
    int m = metric ? metric_by_no(metric) : -1;
    unsigned i = 0;

    while (i < LEAN_BASES && bases[i] != m)
        i++;
    return i;
}

void lean_fini(struct lean *l)
{
    FREE_ALL(l->slope, l->first);
    *l = (struct lean){0};
}

static void room_for(struct lean *l, size_t n_series)
{
    if (n_series <= l->cap)
        return;
    l->cap = n_series;
    l->slope = mem_grow(l->slope, n_series, sizeof(*l->slope));
    l->first = mem_grow(l->first, n_series, sizeof(*l->first));
}

/* ---- writing ---- */

/* What leans: the values, or their differences, the first of which is none. */
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

/* What all of them are multiples of; 0: all are 0. */
static uint64_t common(const uint64_t *y, size_t n)
{
    uint64_t g = 0;
    struct divisor by = {0};

    for (size_t i = 0; i < n && g != 1; i++) {
        uint64_t size = y[i] >> 63 ? 0 - y[i] : y[i];
        if (g && (size >> by.shift) * by.inverse * g == size && (size >> by.shift) * by.inverse <= size)
            continue;
        g = gcd(size, g);
        if (g)
            by = divisor_of(g);
    }
    return g;
}

/* The slope of the line through zero that is nearest to y over x. */
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

/* About how many bits the values take by themselves, around their middle or as differences, and what is left of them.
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

bool lean_take(struct lean *l, bool sums, const uint64_t *const *v, const uint64_t *const *base, const size_t *n,
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
    l->by = common(y, values);
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

int lean_put(const struct lean *l, struct buf *out, size_t n_series)
{
    buf_varint(out, l->by);
    buf_u8(out, (uint8_t)l->shift);
    ints_put(out, l->slope, n_series);
    if (l->sums)
        ints_put(out, l->first, n_series);
    return out->err;
}

/* ---- reading ---- */

bool lean_get(struct lean *l, struct rd *r, bool sums, size_t n_series)
{
    room_for(l, n_series);
    l->sums = sums;
    l->by = rd_varint(r);
    l->shift = rd_u8(r);
    return !r->bad && l->shift < 64 && ints_get(r, l->slope, n_series) == 0 &&
           (!sums || ints_get(r, l->first, n_series) == 0);
}

void lean_undo(const struct lean *l, size_t series, int64_t *v, const int64_t *base, const uint64_t *have, size_t from,
               size_t to)
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
