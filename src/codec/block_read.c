/* block_read.c: reading blocks. Any bytes are survived (B2). */
#include "base/mem.h"
#include "base/order.h"
#include "codec/block.h"
#include "codec/chunk_coding.h"
#include "codec/ints.h"
#include "codec/pack.h"

struct undo {
    uint64_t *ret;
    const size_t *n;
    size_t n_series;
    const struct block_part *part;
    bool some;            /* of each series of the part: it has as many values as the first, and not all are wanted */
    const uint8_t *same;  /* a bit per series; NULL: none is constant */
    const int64_t *a, *b; /* what the coding left of each that is not */
    uint64_t by;
};

static bool is_same(const struct undo *u, size_t k)
{
    return u->same && u->same[k / 8] >> k % 8 & 1;
}

/* Values [i, end), or more of them, since each needs those before it. */
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
    size_t fewer; /* numbers than values */
    unsigned rows;
} codings[BLOCK_CODINGS] = {
    [BLOCK_VALUES] = {undo_values, 0, 1}, [BLOCK_DELTA] = {undo_delta, 1, 2},   [BLOCK_ZIGZAG] = {undo_zigzag, 1, 1},
    [BLOCK_DOD] = {undo_dod, 2, 2},       [BLOCK_COMMON] = {undo_values, 0, 0}, [BLOCK_SIGNED] = {undo_signed, 0, 0},
};

/* Which values of a series of n are wanted. */
static size_t part_from(const struct undo *u)
{
    return u->some ? u->part->from : 0;
}

static size_t part_to(const struct undo *u, size_t n)
{
    return u->some ? u->part->to : n;
}

/* Where the numbers of the part are among all. */
static size_t find_numbers(const struct undo *u, size_t fewer, struct numbers_rows *ret)
{
    size_t numbers = 0;

    *ret = (struct numbers_rows){0};
    for (size_t k = 0; k < u->n_series; k++) {
        if (k == u->part->first)
            ret->from = numbers;
        if (!is_same(u, k))
            numbers += u->n[k] - MIN(u->n[k], fewer);
        if (k < u->part->last)
            ret->to = numbers;
    }
    if (u->some && fewer == 0) {
        ret->row = u->n[u->part->first];
        ret->low = u->part->from;
        ret->high = u->part->to;
    } else {
        ret->row = MAX(ret->to - ret->from, 1u);
        ret->high = ret->to - ret->from;
    }
    return numbers;
}

static bool get_coded(struct block_reader *b, struct rd *r, struct undo *u, unsigned coding, size_t moving)
{
    size_t fewer = codings[coding].fewer, at = 0;
    struct numbers_rows rows = {.row = 1};

    for (unsigned i = 0; i < codings[coding].rows; i++)
        if (ints_get(r, b->rows[1 + i], moving) < 0)
            return false;
    if (coding == BLOCK_COMMON) {
        int64_t least = rd_zigzag(r);
        for (size_t k = 0; k < moving; k++)
            b->rows[1][k] = least;
    }
    size_t numbers = find_numbers(u, fewer, &rows);
    if (u->part->first == u->part->last)
        rows = (struct numbers_rows){.row = 1};
    if (!numbers_get_rows(&b->numbers, r, b->v, numbers, &rows))
        return false;
    const uint64_t *v = b->v;
    uint64_t *ret = u->ret;
    for (size_t k = 0; k < u->part->last; ret += u->n[k++]) {
        if (is_same(u, k))
            continue;
        if (k >= u->part->first)
            codings[coding].undo(ret, part_from(u), part_to(u, u->n[k]), u, at, v);
        at++;
        v += u->n[k] - MIN(u->n[k], fewer);
    }
    return true;
}

static bool get_runs(struct block_reader *b, struct rd *r, struct undo *u, size_t moving)
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
    /* lengths and differences fit side by side: there are fewer runs than values, and b->v has twice the room */
    uint64_t *diffs = b->v + runs;
    bool none = u->part->first == u->part->last;
    if (!numbers_get(&b->numbers, r, b->v, runs, 0, none ? 0 : runs) ||
        !numbers_get(&b->numbers, r, diffs, runs - moving, 0, none ? 0 : runs - moving))
        return false;
    if (none)
        return true;
    const uint64_t *len = b->v;
    uint64_t *to = u->ret;
    for (size_t k = 0; k < u->n_series; to += u->n[k++]) {
        uint64_t now;
        size_t i = 0;
        if (is_same(u, k))
            continue;
        now = (uint64_t)u->a[at];
        bool brief = u->part->runs && (uint64_t)u->b[at] <= u->n[k] / 2;
        for (int64_t run = 0; run < u->b[at]; run++) {
            if (run)
                now += unzigzag(*diffs++) * u->by;
            if (*len >= u->n[k] - i)
                return false;
            size_t end = i + (size_t)*len++ + 1;
            if (brief) {
                to[2 * run] = i = end;
                to[2 * run + 1] = now;
            }
            for (; i < end; i++)
                to[i] = now;
        }
        if (brief)
            u->part->shape[k] = SHAPE_RUNS;
        if (i != u->n[k])
            return false;
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
