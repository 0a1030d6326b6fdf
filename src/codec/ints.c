/*
 * ints.c: uses the smallest of a few codings, from sizes computed in one scan of the values; encodes only once.
 * Differences are modulo 2^64, so that every int64_t is restored. docs/internals/wire.md describes the bytes.
 */
#include "codec/ints.h"

#include <assert.h>
#include <errno.h>

#include "codec/pack.h"

static inline size_t varint_size(uint64_t v)
{
    return (bits_of(v | 1) + 6) / 7;
}

/* ---- division: util in 0.01 % has whole percent, memory has pages, clocks have MHz ---- */

uint64_t ints_divisor(const int64_t *v, size_t n)
{
    struct divisor d = DIVISOR_OF_ZERO;

    for (size_t i = 0; i < n && d.by != 1; i++)
        divisor_take(&d, v[i] < 0 ? 0 - (uint64_t)v[i] : (uint64_t)v[i]);
    return d.by;
}

/* ---- choice of the coding ---- */

struct sizes {
    uint64_t first;
    int64_t min, max;           /* of the values */
    int64_t step_min, step_max; /* of the differences after the first value */
    size_t delta, runs;         /* bytes, excluding the coding byte */
    bool same;
};

static struct sizes measure(const int64_t *v, size_t n, struct divisor by)
{
    uint64_t prev = divided(v[0], by), step = zigzag(prev);
    struct sizes s = {prev, (int64_t)prev, (int64_t)prev, INT64_MAX, INT64_MIN, varint_size(step), 0, true};
    size_t run = 1;

    for (size_t i = 1; i < n; i++) {
        uint64_t at = divided(v[i], by), d = at - prev, z = zigzag(d);
        int64_t signed_at = (int64_t)at, signed_d = (int64_t)d;
        prev = at;
        s.delta += varint_size(z);
        s.min = signed_at < s.min ? signed_at : s.min;
        s.max = signed_at > s.max ? signed_at : s.max;
        s.step_min = signed_d < s.step_min ? signed_d : s.step_min;
        s.step_max = signed_d > s.step_max ? signed_d : s.step_max;
        if (d == 0) {
            run++;
            continue;
        }
        s.runs += varint_size(run) + varint_size(step);
        run = 1;
        step = z;
        s.same = false;
    }
    s.runs += varint_size(run) + varint_size(step);
    return s;
}

/* ---- writing ---- */

static inline uint8_t *put_varint(uint8_t *p, uint64_t v)
{
    while (v >= 0x80) {
        *p++ = (uint8_t)(v | 0x80);
        v >>= 7;
    }
    *p++ = (uint8_t)v;
    return p;
}

/* One way to write a row: ints_put compares several and runs one. */
struct plan {
    struct divisor by;
    enum ints_coding coding;
    size_t size; /* all of it */
    uint64_t first, min;
    unsigned width;
};

static struct plan plan_of(const int64_t *v, size_t n, uint64_t divide_by)
{
    struct plan p = {.by = divisor_of(divide_by)};
    struct sizes s = measure(v, n, p.by);
    unsigned width = bits_of((uint64_t)s.max - (uint64_t)s.min);
    unsigned step_width = n > 1 ? bits_of((uint64_t)s.step_max - (uint64_t)s.step_min) : 0;
    size_t first = varint_size(zigzag(s.first));
    size_t size[] = {
        [INTS_CONST] = s.same ? first : SIZE_MAX,
        [INTS_DELTA] = s.delta,
        [INTS_RUNS] = s.runs,
        [INTS_PACK] = varint_size(zigzag((uint64_t)s.min)) + 1 + packed_size(n, width),
        [INTS_PACK_DELTA] =
            n > 1 ? first + varint_size(zigzag((uint64_t)s.step_min)) + 1 + packed_size(n - 1, step_width) : SIZE_MAX,
    };

    for (unsigned c = 1; c < sizeof(size) / sizeof(size[0]); c++)
        if (size[c] < size[p.coding])
            p.coding = (enum ints_coding)c;
    p.size = 1 + (divide_by > 1 ? varint_size(divide_by) : 0) + size[p.coding];
    p.first = s.first;
    p.min = (uint64_t)(p.coding == INTS_PACK ? s.min : s.step_min);
    p.width = p.coding == INTS_PACK ? width : step_width;
    return p;
}

static uint8_t *put_delta(uint8_t *at, const int64_t *v, size_t n, const struct plan *p)
{
    uint64_t prev = 0;

    for (size_t i = 0; i < n; i++) {
        uint64_t x = divided(v[i], p->by);
        at = put_varint(at, zigzag(x - prev));
        prev = x;
    }
    return at;
}

static uint8_t *put_runs(uint8_t *at, const int64_t *v, size_t n, const struct plan *p)
{
    uint64_t prev = 0;

    for (size_t i = 0, end; i < n; i = end) {
        uint64_t x = divided(v[i], p->by);
        for (end = i + 1; end < n && v[end] == v[i]; end++)
            ;
        at = put_varint(at, end - i);
        at = put_varint(at, zigzag(x - prev));
        prev = x;
    }
    return at;
}

static uint8_t *put_pack(uint8_t *at, const int64_t *v, size_t n, const struct plan *p)
{
    at = put_varint(at, zigzag(p->min));
    *at++ = (uint8_t)p->width;
    struct packer k = {.p = at};
    for (size_t i = 0; i < n; i++)
        pack(&k, divided(v[i], p->by) - p->min, p->width);
    return pack_end(&k);
}

static uint8_t *put_pack_delta(uint8_t *at, const int64_t *v, size_t n, const struct plan *p)
{
    uint64_t prev = p->first;

    at = put_varint(at, zigzag(prev));
    at = put_varint(at, zigzag(p->min));
    *at++ = (uint8_t)p->width;
    struct packer k = {.p = at};
    for (size_t i = 1; i < n; i++) {
        uint64_t x = divided(v[i], p->by);
        pack(&k, x - prev - p->min, p->width);
        prev = x;
    }
    return pack_end(&k);
}

static uint8_t *put_planned(uint8_t *at, const int64_t *v, size_t n, const struct plan *p)
{
    *at++ = (uint8_t)(p->coding | (p->by.by > 1 ? INTS_SCALED : 0));
    if (p->by.by > 1)
        at = put_varint(at, p->by.by);
    switch (p->coding) {
    case INTS_DELTA:
        return put_delta(at, v, n, p);
    case INTS_RUNS:
        return put_runs(at, v, n, p);
    case INTS_PACK:
        return put_pack(at, v, n, p);
    case INTS_PACK_DELTA:
        return put_pack_delta(at, v, n, p);
    default:
        return put_varint(at, zigzag(p->first));
    }
}

int ints_put(struct buf *out, const int64_t *v, size_t n)
{
    if (n == 0)
        return out->err;
    struct plan p = plan_of(v, n, 1);
    if (p.coding != INTS_CONST) {
        uint64_t by = ints_divisor(v, n);
        struct plan q = by > 1 ? plan_of(v, n, by) : p;
        if (q.size < p.size)
            p = q;
    }
    uint8_t *at = (uint8_t *)buf_room(out, p.size);
    if (!at)
        return out->err;
    uint8_t *end = put_planned(at, v, n, &p);
    assert(end == at + p.size);
    (void)end;
    buf_appended(out, p.size);
    return 0;
}

/* ---- reading ---- */

static int get_delta(struct rd *r, int64_t *ret, size_t n)
{
    uint64_t at = 0;

    for (size_t i = 0; i < n; i++) {
        at += unzigzag(quick_varint(r));
        ret[i] = (int64_t)at;
    }
    return r->bad ? -EBADMSG : 0;
}

static int get_runs(struct rd *r, int64_t *ret, size_t n)
{
    uint64_t at = 0;

    for (size_t i = 0; i < n;) {
        uint64_t run = quick_varint(r);
        at += unzigzag(quick_varint(r));
        if (r->bad || run == 0 || run > n - i)
            return -EBADMSG;
        for (size_t end = i + (size_t)run; i < end; i++)
            ret[i] = (int64_t)at;
    }
    return 0;
}

/* Finds n packed numbers, their width and their minimum. Returns 0 or -EBADMSG. */
static int find_pack(struct rd *r, size_t n, const uint8_t **ret, unsigned *ret_width, uint64_t *ret_min)
{
    *ret_min = unzigzag(rd_varint(r));
    *ret_width = rd_u8(r);
    if (r->bad || *ret_width > 64)
        return -EBADMSG;
    *ret = rd_bytes(r, packed_size(n, *ret_width));
    return *ret ? 0 : -EBADMSG;
}

static int get_pack(struct rd *r, int64_t *ret, size_t n)
{
    const uint8_t *p;
    unsigned width;
    uint64_t min;

    if (find_pack(r, n, &p, &width, &min) < 0)
        return -EBADMSG;
    unpack(p, packed_size(n, width), ret, 0, n, width, min);
    return 0;
}

static int get_pack_delta(struct rd *r, int64_t *ret, size_t n)
{
    uint64_t at = unzigzag(rd_varint(r)), min;
    const uint8_t *p;
    unsigned width;

    if (find_pack(r, n - 1, &p, &width, &min) < 0)
        return -EBADMSG;
    ret[0] = (int64_t)at;
    if (width == 0) { /* such as timestamps at even intervals */
        for (size_t i = 1; i < n; i++)
            ret[i] = (int64_t)(at += min);
        return 0;
    }
    unpack(p, packed_size(n - 1, width), ret + 1, 0, n - 1, width, min);
    for (size_t i = 1; i < n; i++) {
        at += (uint64_t)ret[i];
        ret[i] = (int64_t)at;
    }
    return 0;
}

static int get_const(struct rd *r, int64_t *ret, size_t n)
{
    int64_t v = rd_zigzag(r);

    for (size_t i = 0; i < n && !r->bad; i++)
        ret[i] = v;
    return r->bad ? -EBADMSG : 0;
}

static int (*const gets[])(struct rd *r, int64_t *ret, size_t n) = {
    [INTS_CONST] = get_const, [INTS_DELTA] = get_delta,           [INTS_RUNS] = get_runs,
    [INTS_PACK] = get_pack,   [INTS_PACK_DELTA] = get_pack_delta,
};

int ints_get(struct rd *r, int64_t *ret, size_t n)
{
    if (r->bad || n > SIZE_MAX / 128)
        return -EBADMSG;
    if (n == 0)
        return 0;
    unsigned coding = rd_u8(r);
    bool scaled = coding & INTS_SCALED;
    uint64_t factor = scaled ? rd_varint(r) : 1;
    coding &= ~(unsigned)INTS_SCALED;
    int rc = coding < ARRAY_LEN(gets) ? gets[coding](r, ret, n) : -EBADMSG;
    for (size_t i = 0; scaled && rc == 0 && i < n; i++)
        ret[i] = (int64_t)((uint64_t)ret[i] * factor);
    return rc;
}
