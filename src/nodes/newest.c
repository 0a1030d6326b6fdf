/* newest.c: converts the newest values of a batch to bytes and back. */
#include "nodes/newest.h"

#include <errno.h>

#include "base/order.h"
#include "model/batch.h"
#include "model/metric.h"
#include "now/judge.h"
#include "wire/wire.h"

#define MARK 'N' /* not a frame type */

struct cell { /* relevant ticks of a column; -1: none */
    int newest, work;
};

/* m: its metric if it shows work, else -1. */
static struct cell cell_of(const struct batch *b, const struct column *c, int m, const struct state_rule *rule)
{
    struct cell x = {-1, -1};

    for (size_t i = b->n_ticks; i-- > 0 && x.newest < 0;)
        x.newest = column_has(c, i) ? (int)i : -1;
    if (m < 0 || x.newest < 0 || judge_is_work(rule, (enum metric)m, c->v[x.newest]))
        return x;
    for (size_t i = (size_t)x.newest; i-- > 0 && x.work < 0;)
        x.work = column_has(c, i) && judge_is_work(rule, (enum metric)m, c->v[i]) ? (int)i : -1;
    return x;
}

/* ---- writing ---- */

struct run { /* adjacent columns: of one metric and one tick, slot after slot */
    const struct column *first;
    size_t n;
    int tick;
    bool work;
};

static void put_run(struct buf *out, const struct run *r, const int *places)
{
    if (!r->n)
        return;
    buf_varint(out, r->first->metric);
    buf_varint(out, r->first->slot);
    buf_varint(out, (uint64_t)places[r->tick]);
    buf_varint(out, r->n);
    for (size_t i = 0; i < r->n; i++)
        buf_zigzag(out, r->first[i].v[r->tick]);
}

/* The columns unchanged (work false), or those with work before the newest value. */
static void put_columns(struct buf *out, const struct batch *b, const struct cell *cells, const int *places, bool work)
{
    struct run r = {.n = 0};

    for (size_t k = 0; k < b->n_columns; k++) {
        const struct column *c = &b->columns[k];
        int tick = work ? cells[k].work : cells[k].newest;
        bool on = r.n && c == r.first + r.n && tick == r.tick && c->metric == r.first->metric &&
                  c->slot == r.first->slot + r.n;
        if (!on) {
            put_run(out, &r, places);
            r = (struct run){.first = c, .tick = tick};
        }
        r.n += tick >= 0;
    }
    put_run(out, &r, places);
}

static void put_uses(struct buf *out, const struct batch *b)
{
    buf_varint(out, b->n_uses);
    for (size_t i = 0; i < b->n_uses; i++) {
        const struct proc_use *u = &b->uses[i];
        buf_varint(out, u->proc);
        buf_varint(out, u->slot);
        buf_u8(out, u->kind);
        buf_zigzag(out, u->mem);
        buf_zigzag(out, u->sm);
    }
}

/* places: index of each relevant tick. */
static void put_times(struct buf *out, const struct batch *b, uint64_t ticks, int *places)
{
    int64_t last_ms = b->at_ms[b->n_ticks - 1];
    int n = 0;

    buf_varint(out, (uint64_t)__builtin_popcountll(ticks));
    buf_zigzag(out, last_ms);
    for (size_t i = 0; i < b->n_ticks; i++) {
        if (!(ticks >> i & 1))
            continue;
        places[i] = n++;
        if (i + 1 < b->n_ticks)
            buf_varint(out, (uint64_t)(last_ms - b->at_ms[i]));
    }
}

int newest_put(struct buf *out, const struct batch *b, const struct state_rule *rule)
{
    size_t before = out->len, n = 0;
    uint64_t ticks = b->n_ticks && b->n_ticks <= 64 ? 1ull << (b->n_ticks - 1) : 0;
    int places[64], m = -1;

    if (!ticks || b->n_columns > WIRE_COLUMNS_MAX / 2)
        return -E2BIG;
    AUTO_FREE struct cell *cells = mem_alloc((b->n_columns + 1) * sizeof(*cells));
    for (size_t k = 0; k < b->n_columns; k++) {
        const struct column *c = &b->columns[k];
        if (k == 0 || c->metric != c[-1].metric) {
            m = metric_by_no(c->metric);
            m = m >= 0 && judge_is_activity((enum metric)m) ? m : -1;
        }
        cells[k] = cell_of(b, c, m, rule);
        ticks |= cells[k].newest >= 0 ? 1ull << cells[k].newest : 0;
        ticks |= cells[k].work >= 0 ? 1ull << cells[k].work : 0;
        n += (cells[k].newest >= 0) + (size_t)(cells[k].work >= 0);
    }
    if (__builtin_popcountll(ticks) > NEWEST_TICKS)
        return -E2BIG;
    buf_u8(out, MARK);
    buf_varint(out, b->key.run);
    buf_varint(out, b->key.number);
    put_times(out, b, ticks, places);
    buf_varint(out, n);
    put_columns(out, b, cells, places, false);
    put_columns(out, b, cells, places, true);
    put_uses(out, b);
    if (!out->err)
        return 0;
    out->err = 0;
    buf_cut(out, before);
    return -EMSGSIZE;
}

/* ---- reading ---- */

bool newest_is(struct str bytes)
{
    return bytes.len > 0 && bytes.p[0] == MARK;
}

struct parts { /* parts of one allocation */
    int64_t *at_ms, *v;
    uint64_t *bits; /* per tick */
    struct column *columns;
    struct proc_use *uses;
};

static bool get_times(struct rd *r, size_t n, struct parts *p)
{
    int64_t last_ms = rd_zigzag(r), before = INT64_MAX;

    r->bad |= last_ms <= 0 || last_ms >= WIRE_TIME_END;
    for (size_t i = 0; i < n && !r->bad; i++) {
        uint64_t age = i + 1 < n ? rd_varint(r) : 0;
        r->bad |= age >= (uint64_t)before || age >= (uint64_t)MAX(last_ms, 1);
        if (r->bad)
            return false;
        before = (int64_t)age;
        p->at_ms[i] = last_ms - before;
        p->bits[i] = 1ull << i;
    }
    return !r->bad;
}

static bool get_columns(struct rd *r, size_t n, size_t n_ticks, struct parts *p)
{
    size_t at = 0;

    while (at < n && !r->bad) {
        uint64_t metric = rd_varint(r), slot = rd_varint(r), tick = rd_varint(r), some = rd_varint(r);
        if (metric > UINT16_MAX || tick >= n_ticks || !some || some > n - at || slot > UINT16_MAX - some)
            r->bad = true;
        for (size_t i = 0; i < some && !r->bad; i++, at++) {
            int64_t *v = p->v + at * n_ticks;
            v[tick] = rd_zigzag(r);
            p->columns[at] =
                (struct column){(uint16_t)metric, (uint16_t)(slot + i), n_ticks > 1 ? &p->bits[tick] : NULL, v};
        }
    }
    return !r->bad;
}

static bool get_uses(struct rd *r, size_t n, struct parts *p)
{
    for (size_t i = 0; i < n && !r->bad; i++) {
        uint64_t proc = rd_varint(r), slot = rd_varint(r);
        uint8_t kind = rd_u8(r);
        int64_t mem = rd_zigzag(r), sm = rd_zigzag(r);
        r->bad |= proc > UINT16_MAX || slot > UINT16_MAX || sm < INT32_MIN || sm > INT32_MAX;
        p->uses[i] = (struct proc_use){(uint16_t)proc, (uint16_t)slot, kind, mem, (int32_t)sm};
    }
    return !r->bad;
}

/* Uses follow the columns: each needs at least five bytes. */
static size_t uses_most(const struct rd *r)
{
    return MIN(rd_left(r) / 5, (size_t)WIRE_USES_MAX);
}

int newest_get(struct str bytes, struct batch *ret, void **ret_mem, struct err *err)
{
    struct rd r = rd_of(bytes.p, bytes.len);
    struct batch b = {0};

    *ret_mem = NULL;
    r.bad = rd_u8(&r) != MARK;
    b.key.run = rd_varint(&r);
    b.key.number = rd_varint(&r);
    uint64_t ticks = rd_varint(&r);
    if (r.bad || !ticks || ticks > NEWEST_TICKS)
        return err_set(err, -EBADMSG, "values of a node are cut or damaged");
    int64_t at_ms[NEWEST_TICKS];
    uint64_t bits[NEWEST_TICKS];
    struct parts p = {.at_ms = at_ms, .bits = bits};
    bool ok = get_times(&r, ticks, &p);
    uint64_t n = rd_varint(&r);
    if (!ok || r.bad || n > rd_left(&r) || n > WIRE_COLUMNS_MAX)
        return err_set(err, -EBADMSG, "values of a node are cut or damaged");
    size_t most = uses_most(&r);
    int64_t *mem = mem_alloc(2 * ticks * sizeof(int64_t) + n * ticks * sizeof(int64_t) + n * sizeof(struct column) +
                             most * sizeof(struct proc_use) + 64);
    p = (struct parts){.at_ms = mem, .bits = (uint64_t *)(mem + ticks), .v = mem + 2 * ticks};
    memcpy(p.at_ms, at_ms, ticks * sizeof(*at_ms));
    memcpy(p.bits, bits, ticks * sizeof(*bits));
    p.columns = (struct column *)(p.v + n * ticks);
    p.uses = (struct proc_use *)(p.columns + n);
    ok = get_columns(&r, n, ticks, &p);
    b.n_uses = rd_varint(&r);
    ok = ok && !r.bad && b.n_uses <= most && get_uses(&r, b.n_uses, &p) && rd_left(&r) == 0;
    if (!ok) {
        free(mem);
        return err_set(err, -EBADMSG, "values of a node are cut or damaged");
    }
    b.n_ticks = ticks;
    b.n_columns = n;
    b.at_ms = p.at_ms;
    b.columns = p.columns;
    b.uses = p.uses;
    *ret = b;
    *ret_mem = mem;
    return 0;
}
