/* block_read.c: reads blocks. Any input is safe (B2). */
#include <string.h>

#include "base/mem.h"
#include "base/order.h"
#include "codec/bin.h"
#include "codec/block.h"
#include "codec/chunk_coding.h"
#include "codec/ints.h"
#include "codec/pack.h"

struct undo {
    uint64_t *ret;
    const size_t *n;
    size_t n_series;
    const struct block_part *part;
    bool some;            /* only a part of each series is requested, and all have the same length */
    const uint8_t *same;  /* a bit per series; NULL: none is constant */
    const int64_t *a, *b; /* what the coding stored of each series that is not constant */
    uint64_t by;
};

static bool is_same(const struct undo *u, size_t k)
{
    return u->same && u->same[k / 8] >> k % 8 & 1;
}

/* Values [i, end), or more, since each needs the previous ones. */
static void undo_values(uint64_t *v, size_t i, size_t end, const struct undo *u, size_t at, const uint64_t *from)
{
    uint64_t least = (uint64_t)u->a[at], by = u->by;

    if (by == 1)
        for (; i < end; i++)
            v[i] = from[i] + least;
    else
        for (; i < end; i++)
            v[i] = from[i] * by + least;
}

static void undo_delta(uint64_t *v, UNUSED size_t begin, size_t end, const struct undo *u, size_t at,
                       const uint64_t *from)
{
    uint64_t now = (uint64_t)u->a[at], least = (uint64_t)u->b[at], by = u->by;

    v[0] = now;
    for (size_t i = 1; i < end; i++)
        v[i] = now += from[i - 1] * by + least;
}

static void undo_zigzag(uint64_t *v, UNUSED size_t begin, size_t end, const struct undo *u, size_t at,
                        const uint64_t *from)
{
    uint64_t now = (uint64_t)u->a[at], by = u->by;

    v[0] = now;
    for (size_t i = 1; i < end; i++)
        v[i] = now += unzigzag(from[i - 1]) * by;
}

static void undo_dod(uint64_t *v, UNUSED size_t begin, size_t end, const struct undo *u, size_t at,
                     const uint64_t *from)
{
    uint64_t now = (uint64_t)u->a[at], step = (uint64_t)u->b[at], by = u->by;

    v[0] = now;
    if (end > 1)
        v[1] = now += step;
    for (size_t i = 2; i < end; i++) {
        step += unzigzag(from[i - 2]) * by;
        v[i] = now += step;
    }
}

static void undo_signed(uint64_t *v, size_t i, size_t end, UNUSED const struct undo *u, UNUSED size_t at,
                        const uint64_t *from)
{
    for (; i < end; i++)
        v[i] = unzigzag(from[i]);
}

static const struct {
    void (*undo)(uint64_t *v, size_t i, size_t end, const struct undo *u, size_t at, const uint64_t *from);
    size_t fewer; /* how many fewer numbers than values a series has */
    unsigned rows;
} codings[BLOCK_CODINGS] = {
    [BLOCK_VALUES] = {undo_values, 0, 1}, [BLOCK_DELTA] = {undo_delta, 1, 2},   [BLOCK_ZIGZAG] = {undo_zigzag, 1, 1},
    [BLOCK_DOD] = {undo_dod, 2, 2},       [BLOCK_COMMON] = {undo_values, 0, 0}, [BLOCK_SIGNED] = {undo_signed, 0, 0},
};

/* The requested range of a series of n values. */
static size_t part_from(const struct undo *u)
{
    return u->some ? u->part->from : 0;
}

static size_t part_to(const struct undo *u, size_t n)
{
    return u->some ? u->part->to : n;
}

/* ---- sums per cut ---- */

static void sum_cuts(uint64_t *ret, const uint64_t *v, const struct block_part *part)
{
    size_t i = part->from;

    for (size_t k = 0; k < part->n_cuts; k++) {
        uint64_t sum = 0;
        for (size_t end = part->cuts[k].end; i < end; i++)
            sum += v[i];
        ret[k] = sum;
    }
}

/* Sums of the values that undo_values would produce from the numbers in, from index `number` on. */
static void sum_values(uint64_t *ret, struct numbers_in *in, size_t number, const struct undo *u, size_t at)
{
    size_t i = u->part->from;

    for (size_t k = 0; k < u->part->n_cuts; i = u->part->cuts[k++].end) {
        size_t end = u->part->cuts[k].end;
        ret[k] = numbers_sum(in, number + i, number + end) * u->by + (end - i) * (uint64_t)u->a[at];
    }
}

/* The sums for undo_zigzag, the coding of most noisy series. */
static void sum_zigzag(uint64_t *ret, const uint64_t *from, const struct undo *u, size_t at)
{
    const struct block_part *part = u->part;
    uint64_t now = (uint64_t)u->a[at], by = u->by;
    size_t i = 0;

    for (; i < part->from; i++)
        now += unzigzag(from[i]) * by;
    uint64_t sum = now;
    for (size_t k = 0; k < part->n_cuts; k++) {
        for (size_t end = part->cuts[k].end - 1; i < end; i++)
            sum += now += unzigzag(from[i]) * by;
        ret[k] = sum;
        sum = 0;
    }
}

/* Sums of a series of runs that starts with `now`. Returns false if the runs do not match the series' length. */
static bool sum_runs(uint64_t *ret, const struct undo *u, const uint64_t *len, const uint64_t *diff, size_t runs,
                     uint64_t now, size_t n)
{
    const struct cut *cut = u->part->cuts, *last = cut + u->part->n_cuts;
    uint64_t sum = 0, by = u->by;
    size_t end = 0, at = u->part->from, next = cut->end; /* everything before `at` is summed; next: end of the cut */

    for (size_t run = 0; run < runs; run++) {
        now += run ? unzigzag(diff[run - 1]) * by : 0;
        if (len[run] >= n - end)
            return false;
        end += len[run] + 1;
        if (end <= at) /* before the first cut */
            continue;
        while (end >= next) {
            *ret++ = sum + now * (next - at);
            sum = 0;
            at = next;
            next = ++cut < last ? cut->end : n + 1; /* beyond any run */
        }
        sum += now * (end - at);
        at = end;
    }
    return end == n;
}

/* ---- series that are not constant ---- */

#define AT_ONCE 1024u /* numbers: up to this many are decoded together, more per series, which fits the L1 cache */

/* The at-th series; its numbers start at `number`. in NULL: they are decoded already. */
static void get_values(struct block_reader *b, const struct undo *u, unsigned coding, struct numbers_in *in,
                       size_t number, size_t k, size_t at, uint64_t *ret)
{
    size_t from = part_from(u), to = part_to(u, u->n[k]), fewer = codings[coding].fewer, first = fewer ? 0 : from;

    if (in)
        numbers_take(in, b->v + first, number + first, number + to - MIN(to, fewer));
    codings[coding].undo(ret, from, to, u, at, in ? b->v : b->v + number);
}

static void get_sums(struct block_reader *b, const struct undo *u, unsigned coding, struct numbers_in *in,
                     size_t number, size_t k, size_t at, uint64_t *ret)
{
    size_t to = part_to(u, u->n[k]);

    u->part->shape[k] = SHAPE_SUMS;
    if (codings[coding].undo == undo_values) {
        sum_values(ret, in, number, u, at);
    } else if (coding == BLOCK_ZIGZAG) {
        numbers_take(in, b->v, number, number + to - 1);
        sum_zigzag(ret, b->v, u, at);
    } else {
        get_values(b, u, coding, in, number, k, at, b->v + u->n[k]);
        sum_cuts(ret, b->v + u->n[k], u->part);
    }
}

static bool get_coded(struct block_reader *b, struct rd *r, const struct undo *u, unsigned coding, size_t moving)
{
    size_t fewer = codings[coding].fewer, at = 0, numbers = 0;
    struct numbers_in in;
    bool none = true; /* no series is requested */

    for (unsigned i = 0; i < codings[coding].rows; i++)
        if (ints_get(r, b->rows[1 + i], moving) < 0)
            return false;
    if (coding == BLOCK_COMMON) {
        int64_t least = rd_zigzag(r);
        for (size_t k = 0; k < moving; k++)
            b->rows[1][k] = least;
    }
    for (size_t k = 0; k < u->n_series; k++) {
        if (is_same(u, k))
            continue;
        none &= k < u->part->first || k >= u->part->last;
        numbers += u->n[k] - MIN(u->n[k], fewer);
    }
    if (!numbers_open(&b->numbers, r, numbers, none ? NULL : &in))
        return false;
    bool at_once = !u->part->cuts && numbers <= AT_ONCE && !none;
    uint64_t *ret = u->ret;
    if (at_once)
        numbers_take(&in, b->v, 0, numbers);
    numbers = 0;
    for (size_t k = 0; k < u->part->last && !none; ret += u->n[k++]) {
        if (is_same(u, k))
            continue;
        if (k >= u->part->first && u->part->cuts)
            get_sums(b, u, coding, &in, numbers, k, at, ret);
        else if (k >= u->part->first)
            get_values(b, u, coding, at_once ? NULL : &in, numbers, k, at, ret);
        at++;
        numbers += u->n[k] - MIN(u->n[k], fewer);
    }
    return true;
}

/* The values, or the short form, see SHAPE_RUNS. */
static bool undo_runs(uint64_t *ret, const struct undo *u, const uint64_t *len, const uint64_t *diff, size_t runs,
                      uint64_t now, size_t n, bool brief)
{
    uint64_t by = u->by;
    size_t i = 0;

    for (size_t run = 0; run < runs; run++) {
        now += run ? unzigzag(diff[run - 1]) * by : 0;
        if (len[run] >= n - i)
            return false;
        size_t end = i + (size_t)len[run] + 1;
        if (brief) {
            ret[2 * run] = i = end;
            ret[2 * run + 1] = now;
        }
        for (; i < end; i++)
            ret[i] = now;
    }
    return i == n;
}

static bool get_runs(struct block_reader *b, struct rd *r, const struct undo *u, size_t moving)
{
    size_t runs = 0, at = 0, values = 0;

    if (ints_get(r, b->rows[1], moving) < 0 || ints_get(r, b->rows[2], moving) < 0)
        return false;
    for (size_t k = 0; k < u->n_series; k++)
        values += u->n[k];
    for (size_t k = 0; k < moving; k++) {
        if (u->b[k] < 1 || (uint64_t)u->b[k] > values - runs)
            return false;
        runs += (size_t)u->b[k];
    }
    /* lengths and differences fit next to each other: there are fewer runs than values, and b->v has twice the room */
    const struct block_part *part = u->part;
    uint64_t *diffs = b->v + runs;
    if (part->first == part->last)
        return numbers_open(&b->numbers, r, runs, NULL) && numbers_open(&b->numbers, r, runs - moving, NULL);
    if (!numbers_get(&b->numbers, r, b->v, runs) || !numbers_get(&b->numbers, r, diffs, runs - moving))
        return false;
    const uint64_t *len = b->v;
    uint64_t *to = u->ret;
    for (size_t k = 0; k < u->n_series; to += u->n[k++]) {
        if (is_same(u, k))
            continue;
        size_t some = (size_t)u->b[at], n = u->n[k];
        uint64_t first = (uint64_t)u->a[at];
        bool brief = part->runs && some <= n / 2;
        if (part->cuts || brief)
            part->shape[k] = part->cuts ? SHAPE_SUMS : SHAPE_RUNS;
        if (!(part->cuts ? sum_runs(to, u, len, diffs, some, first, n)
                         : undo_runs(to, u, len, diffs, some, first, n, brief)))
            return false;
        len += some;
        diffs += some - 1;
        at++;
    }
    return true;
}

static void room_for(struct block_reader *b, size_t values, size_t n_series)
{
    VEC_LEAST(b->v, b->cap, 2 * values);
    if (n_series > b->cap_rows) {
        b->cap_rows = n_series;
        for (size_t i = 0; i < ARRAY_LEN(b->rows); i++)
            b->rows[i] = mem_grow(b->rows[i], n_series, sizeof(*b->rows[i]));
    }
}

bool block_get_part(struct block_reader *b, struct rd *r, uint64_t *ret, const size_t *n, size_t n_series,
                    const struct block_part *part)
{
    struct undo u = {.ret = ret, .n = n, .n_series = n_series, .part = part};
    size_t first = part->first, last = part->last;
    unsigned kind = rd_u8(r), coding = kind & ~(unsigned)BLOCK_SOME_SAME;
    size_t same = 0, values = 0;

    if (r->bad || coding >= BLOCK_CODINGS || (coding == BLOCK_SAME && kind != BLOCK_SAME))
        return false;
    for (size_t k = 0; k < n_series; k++)
        values += n[k];
    u.some = first < last && part->from < part->to && part->to - part->from < n[first] &&
             !ANY(last - first, k, n[first + k] != n[first]);
    room_for(b, values, n_series);
    if (kind & BLOCK_SOME_SAME) {
        u.same = rd_bytes(r, (n_series + 7) / 8);
        if (!u.same)
            return false;
        for (size_t k = 0; k < n_series; k++)
            same += is_same(&u, k);
    } else if (coding == BLOCK_SAME) {
        same = n_series;
    }
    if (ints_get(r, b->rows[0], same) < 0)
        return false;
    uint64_t *to = ret;
    for (size_t k = 0, at = 0; k < last && same; to += n[k++]) {
        if (coding != BLOCK_SAME && !is_same(&u, k))
            continue;
        uint64_t one = (uint64_t)b->rows[0][at++];
        if (k >= first && part->shape) {
            part->shape[k] = SHAPE_ONE;
            to[0] = one;
            continue;
        }
        for (size_t i = part_from(&u), end = part_to(&u, n[k]); k >= first && i < end; i++)
            to[i] = one;
    }
    if (coding == BLOCK_SAME)
        return true;
    u.by = rd_varint(r);
    u.a = b->rows[1];
    u.b = b->rows[2];
    if (r->bad || same == n_series)
        return false;
    return coding == BLOCK_RUNS ? get_runs(b, r, &u, n_series - same) : get_coded(b, r, &u, coding, n_series - same);
}

void block_reader_fini(struct block_reader *b)
{
    numbers_room_fini(&b->numbers);
    free(b->v);
    for (size_t i = 0; i < ARRAY_LEN(b->rows); i++)
        free(b->rows[i]);
    *b = (struct block_reader){0};
}
