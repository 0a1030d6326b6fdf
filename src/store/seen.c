/*
 * seen.c: sets of batch numbers as sorted ranges. Searches start at the end, so the common cases (the newest run, the
 * next number) are found first.
 */
#include "store/seen.h"

#include <errno.h>

#include "base/buf.h"
#include "base/mem.h"
#include "base/order.h"

void seen_fini(struct seen *s)
{
    for (size_t i = 0; i < s->n; i++)
        free(s->v[i].v);
    free(s->v);
    *s = (struct seen){0};
}

static struct seen_run *seen_find(const struct seen *s, uint64_t run)
{
    for (size_t i = s->n; i-- > 0;)
        if (s->v[i].run == run)
            return &s->v[i];
    return NULL;
}

/* Number of ranges that start at or before number. */
static size_t seen_upto(const struct seen_run *r, uint64_t number)
{
    if (r->n && r->v[r->n - 1].first <= number)
        return r->n;
    return COUNT_BEFORE(r->n, i, r->v[i].first <= number);
}

bool seen_has(const struct seen *s, uint64_t run, uint64_t number)
{
    const struct seen_run *r = seen_find(s, run);
    size_t i = r ? seen_upto(r, number) : 0;

    return i && number <= r->v[i - 1].last;
}

static void seen_drop(struct seen *s, size_t i)
{
    s->ranges -= s->v[i].n;
    free(s->v[i].v);
    memmove(&s->v[i], &s->v[i + 1], (s->n - i - 1) * sizeof(s->v[0]));
    s->n--;
}

/* Enforces the limits: removes the longest unused runs, never the one in use; then that one's lowest ranges. */
static void seen_trim(struct seen *s, uint64_t in_use)
{
    while (s->n > 1 && (s->n > SEEN_RUNS || s->ranges > SEEN_RANGES)) {
        size_t worst = s->n;
        for (size_t i = 0; i < s->n; i++)
            if (s->v[i].run != in_use && (worst == s->n || s->v[i].last_log < s->v[worst].last_log))
                worst = i;
        seen_drop(s, worst);
    }
    if (s->ranges > SEEN_RANGES) {
        struct seen_run *r = &s->v[0];
        size_t cut = r->n / 4;
        memmove(r->v, r->v + cut, (r->n - cut) * sizeof(r->v[0]));
        r->n -= cut;
        s->ranges -= cut;
    }
}

static struct seen_run *seen_new_run(struct seen *s, uint64_t run, int64_t log)
{
    VEC_ROOM(s->v, s->n, s->cap);
    s->v[s->n] = (struct seen_run){.run = run, .last_log = log};
    return &s->v[s->n++];
}

void seen_add(struct seen *s, uint64_t run, uint64_t number, int64_t log)
{
    struct seen_run *r = seen_find(s, run);

    if (!r)
        r = seen_new_run(s, run, log);
    r->last_log = MAX(r->last_log, log);
    size_t i = seen_upto(r, number);
    if (i && number <= r->v[i - 1].last)
        return;
    bool joins_before = i && r->v[i - 1].last + 1 == number, joins_after = i < r->n && number + 1 == r->v[i].first;
    if (joins_before && joins_after) {
        r->v[i - 1].last = r->v[i].last;
        memmove(&r->v[i], &r->v[i + 1], (r->n - i - 1) * sizeof(r->v[0]));
        r->n--;
        s->ranges--;
    } else if (joins_before) {
        r->v[i - 1].last = number;
    } else if (joins_after) {
        r->v[i].first = number;
    } else {
        VEC_INSERT(r->v, r->n, r->cap, i, (struct seen_range){number, number});
        s->ranges++;
        seen_trim(s, run);
    }
}

void seen_prune(struct seen *s, int64_t oldest_log)
{
    for (size_t i = s->n; i-- > 0;)
        if (s->v[i].last_log < oldest_log)
            seen_drop(s, i);
}

int seen_write(const struct seen_run *r, struct buf *out)
{
    uint64_t at = 0;

    for (size_t i = 0; i < r->n; i++) {
        buf_varint(out, r->v[i].first - at);
        buf_varint(out, r->v[i].last - r->v[i].first);
        at = r->v[i].last;
    }
    return out->err;
}

int seen_read(struct seen *s, uint64_t run, int64_t last_log, struct str bytes)
{
    struct rd rd = rd_of(bytes.p, bytes.len);
    struct seen_run r = {.run = run, .last_log = last_log};
    uint64_t at = 0;

    while (rd_left(&rd) && r.n <= SEEN_RANGES) {
        struct seen_range g;
        bool over = __builtin_add_overflow(at, rd_varint(&rd), &g.first);
        over |= __builtin_add_overflow(g.first, rd_varint(&rd), &g.last);
        if (rd.bad || over || (r.n && g.first <= at)) {
            rd.bad = true;
            break;
        }
        VEC_ADD(r.v, r.n, r.cap, g);
        at = g.last;
    }
    if (rd.bad || rd_left(&rd) || r.n == 0 || seen_find(s, run)) {
        free(r.v);
        return -EBADMSG;
    }
    VEC_ADD(s->v, s->n, s->cap, r);
    s->ranges += r.n;
    seen_trim(s, run);
    return 0;
}
