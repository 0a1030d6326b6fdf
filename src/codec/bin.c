/*
 * bin.c: adds up bins (count, sum, min, max of a span); late and split data needs no special case. Arithmetic wraps; it
 * never traps.
 */
#include "codec/bin.h"

#include "base/mem.h"
#include "base/order.h"
#include "base/quotient.h"
#include "codec/chunk.h"
#include "model/metric.h"

#define CUT_NEAR 16u /* ticks: for bins with fewer, a linear search is used */

int64_t tier_bin_ms(int tier)
{
    return tier == TIER_HOUR ? 3600000 : tier == TIER_MINUTE ? 60000 : 1;
}

int64_t tier_bucket_ms(int tier)
{
    return tier == TIER_HOUR ? 32 * 86400000ll : tier == TIER_MINUTE ? 86400000ll : 7200000ll;
}

int64_t floor_to(int64_t v, int64_t step)
{
    int64_t to = quotient(v, step) * step;

    return to > v ? (int64_t)((uint64_t)to - (uint64_t)step) : to;
}

size_t ticks_before(const int64_t *ticks, size_t n, int64_t at_ms)
{
    if (n == 0 || ticks[0] >= at_ms) /* the common case at the ends of a query */
        return 0;
    if (ticks[n - 1] < at_ms)
        return n;
    return COUNT_BEFORE(n, i, ticks[i] < at_ms);
}

/* One tick in each bin, as in a tier at its own step. Sets all n cuts, or returns false with ret undefined. */
static bool cut_each(const int64_t *ticks, size_t i, size_t n, int64_t from_ms, int64_t step_ms, struct cut *ret)
{
    int64_t first = quotient(ticks[i] - from_ms, step_ms), begin = from_ms + first * step_ms, last;
    bool off = false;

    if (__builtin_mul_overflow((int64_t)(n - 1), step_ms, &last) || floor_to(ticks[i + n - 1] - begin, step_ms) != last)
        return false;
    for (size_t k = 0; k < n; k++) {
        off |= (uint64_t)(ticks[i + k] - begin) - k * (uint64_t)step_ms >= (uint64_t)step_ms;
        ret[k] = (struct cut){(uint32_t)(i + k + 1), (uint32_t)first + (uint32_t)k};
    }
    return !off;
}

size_t ticks_cut(const int64_t *ticks, size_t i, size_t end, int64_t from_ms, int64_t step_ms, struct cut *ret)
{
    int64_t next = from_ms + step_ms; /* start of the next bin */
    struct cut *cut = ret;
    uint32_t bin = 0;

    if (i < end && cut_each(ticks, i, end - i, from_ms, step_ms, ret))
        return end - i;
    while (i < end) {
        if (ticks[i] >= next) {
            int64_t on = ticks[i] - next < step_ms ? 1 : (ticks[i] - next) / step_ms + 1;
            bin += (uint32_t)on;
            next += on * step_ms;
        }
        size_t near = MIN(end, i + CUT_NEAR);
        do
            i++;
        while (i < near && ticks[i] < next);
        if (i == near && i < end)
            i += ticks_before(ticks + i, end - i, next);
        *cut++ = (struct cut){(uint32_t)i, bin};
    }
    return (size_t)(cut - ret);
}

void part_bin_point(struct part_bin *to, int64_t at_ms, int64_t v)
{
    part_bin_add(to, &(struct part_bin){{1, v, v, v, v}, at_ms});
}

void part_bin_add(struct part_bin *to, const struct part_bin *more)
{
    struct bin *b = &to->b;

    if (b->count == 0) {
        *to = *more;
        return;
    }
    if (more->b.count == 0)
        return;
    b->count += more->b.count;
    b->sum = (int64_t)((uint64_t)b->sum + (uint64_t)more->b.sum);
    b->min = MIN(b->min, more->b.min);
    b->max = MAX(b->max, more->b.max);
    if (more->last_ms >= to->last_ms) {
        b->last = more->b.last;
        to->last_ms = more->last_ms;
    }
}

/*
 * States (a mask, a number without a unit), counters and custom metrics need their newest value. For other metrics the
 * newest value of a minute is less useful than its mean, and costs as much as min and max.
 */
bool tier_keeps_last(struct chunk_key key)
{
    int m = key.no ? metric_by_no(key.no) : -1;

    return m < 0 || metrics[m].kind == KIND_COUNTER || metrics[m].unit == UNIT_NONE || metrics[m].unit == UNIT_MASK;
}

void part_bin_get(struct part_bin *ret, const int64_t *lane, size_t stride, int64_t start, int64_t len)
{
    uint64_t min = (uint64_t)lane[LANE_MIN * stride], count = (uint64_t)lane[LANE_COUNT * stride];
    uint64_t more = (uint64_t)lane[LANE_SUM * stride], last = (uint64_t)lane[LANE_LAST * stride];
    int64_t pos = lane[LANE_POS * stride];

    if (last == (uint64_t)LAST_IS_MEAN)
        last = count ? more / count : 0;
    else if (last == (uint64_t)LAST_IS_MOST)
        last = (uint64_t)lane[LANE_MAX * stride];
    ret->b.count = (uint32_t)count;
    ret->b.min = (int64_t)min;
    ret->b.max = (int64_t)(min + (uint64_t)lane[LANE_MAX * stride]);
    ret->b.last = (int64_t)(min + last);
    ret->b.sum = (int64_t)(min * count + more);
    ret->last_ms = start + (pos < 0 || pos >= LANE_POS_UNITS ? 0 : (pos * len + LANE_POS_UNITS - 1) / LANE_POS_UNITS);
}

int64_t lane_last(int64_t last, int64_t min, int64_t max)
{
    return last == max ? LAST_IS_MOST : (int64_t)((uint64_t)last - (uint64_t)min);
}

int64_t lane_pos(int64_t at_ms, int64_t start, int64_t len)
{
    return (at_ms - start) * LANE_POS_UNITS / len;
}

void part_bin_put(const struct part_bin *p, bool keep_last, int64_t *lane, size_t stride, int64_t start, int64_t len)
{
    uint64_t min = (uint64_t)p->b.min, count = p->b.count;

    lane[LANE_COUNT * stride] = (int64_t)count;
    lane[LANE_MIN * stride] = p->b.min;
    lane[LANE_MAX * stride] = (int64_t)((uint64_t)p->b.max - min);
    lane[LANE_LAST * stride] = keep_last ? lane_last(p->b.last, p->b.min, p->b.max) : LAST_IS_MEAN;
    lane[LANE_SUM * stride] = (int64_t)((uint64_t)p->b.sum - min * count);
    lane[LANE_POS * stride] = lane_pos(p->last_ms, start, len);
}

struct str slot_name(const struct node_fact *f, unsigned slot, char room[24])
{
    if (slot == 0)
        return STR("");
    if (f && slot <= f->n_devices && *f->devices[slot - 1].uuid)
        return str_of(f->devices[slot - 1].uuid);
    snprintf(room, 24, "slot:%u", slot); /* the facts were lost, but the samples may be intact */
    return str_of(room);
}

struct str custom_name(const struct node_fact *f, unsigned metric, char room[24])
{
    unsigned i = metric - METRIC_CUSTOM;

    if (f && i < f->n_custom && *f->custom[i].name)
        return str_of(f->custom[i].name);
    snprintf(room, 24, "custom:%u", i);
    return str_of(room);
}
