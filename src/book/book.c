/* book.c: a vector of the open bookings, sorted by start. There are few: every query scans all of them. */
#include "book/book.h"

#include <errno.h>

#include "base/mem.h"
#include "base/order.h"

struct entry {
    struct booking *h;        /* as it is, or is about to be */
    struct booking *was;      /* being changed: as it was; NULL: new, or not being changed */
    bool pending;             /* being written */
    enum booking_state state; /* as last reported by book_tick */
};

struct book {
    struct entry *v;
    size_t n, cap;
    int64_t last_id;
    int64_t due_ms; /* no booking starts or ends before */
    const struct booking **all;
    size_t cap_all;
    void (*changed)(void *arg);
    void *changed_arg;
};

struct book *book_new(void)
{
    return NEW(struct book, .due_ms = INT64_MAX);
}

static void entry_fini(struct entry *e)
{
    free(e->h);
    free(e->was);
}

void book_free(struct book *b)
{
    if (!b)
        return;
    for (size_t i = 0; i < b->n; i++)
        entry_fini(&b->v[i]);
    FREE_ALL(b->v, b->all, b);
}

void book_watch(struct book *b, void (*changed)(void *arg), void *arg)
{
    b->changed = changed;
    b->changed_arg = arg;
}

static void tell_change(const struct book *b)
{
    if (b->changed)
        b->changed(b->changed_arg);
}

static struct entry *find(const struct book *b, int64_t id)
{
    return FIND(b->v, b->n, e, e->h->id == id);
}

static void forget(struct book *b, struct entry *e)
{
    entry_fini(e);
    *e = b->v[--b->n];
}

static struct entry *add(struct book *b, const struct booking *h)
{
    VEC_ROOM(b->v, b->n, b->cap);
    b->v[b->n] = (struct entry){.h = booking_copy(h)};
    b->last_id = MAX(b->last_id, h->id);
    return &b->v[b->n++];
}

void book_load(struct book *b, const struct booking *h, int64_t now_ms)
{
    if (find(b, h->id) || b->n >= BOOK_MAX)
        return;
    struct entry *e = add(b, h);
    e->state = booking_state(h, now_ms);
    b->due_ms = INT64_MIN;
}

void book_take(struct book *b, const struct booking *h, int64_t now_ms)
{
    struct entry *e = find(b, h->id);
    struct booking **to = e && e->pending ? &e->was : e ? &e->h : NULL;

    if (!to) {
        if (booking_end_ms(h) > now_ms)
            book_load(b, h, now_ms);
        tell_change(b);
        return;
    }
    if (*to && (*to)->changes > h->changes)
        return; /* late data: older than the known version */
    free(*to);
    *to = booking_copy(h);
    b->due_ms = INT64_MIN;
    tell_change(b);
}

void book_set_last(struct book *b, int64_t id)
{
    b->last_id = MAX(b->last_id, id);
}

int64_t book_next_id(struct book *b)
{
    return ++b->last_id;
}

/* ---- overlap ---- */

static bool shares_device(const struct booking *a, const struct booking *b)
{
    struct str rest = str_of(a->devices), one;

    while (str_cut(&rest, ',', &one))
        if (one.len && booking_has_device(b, one))
            return true;
    return false;
}

/* What one waited for inside one's own booking. */
static bool own_pair(const struct booking *a, const struct booking *b)
{
    return a->kind != b->kind && strcmp(a->person, b->person) == 0;
}

static bool entry_conflicts(const struct entry *e, const struct booking *h)
{
    if (own_pair(e->h, h))
        return false;
    return (booking_overlaps(e->h, h->from_ms, booking_end_ms(h)) && shares_device(h, e->h)) ||
           (e->was && booking_overlaps(e->was, h->from_ms, booking_end_ms(h)) && shares_device(h, e->was));
}

size_t book_conflicts(const struct book *b, const struct booking *h, const struct booking **ret, size_t max)
{
    size_t n = 0, kept = 0;

    for (size_t i = 0; i < b->n; i++) {
        if (b->v[i].h->id == h->id || !entry_conflicts(&b->v[i], h))
            continue;
        n++;
        size_t at = kept < max ? kept++ : max;
        for (; at > 0 && ret[at - 1]->from_ms > b->v[i].h->from_ms; at--)
            if (at < max)
                ret[at] = ret[at - 1];
        if (at < max)
            ret[at] = b->v[i].h;
    }
    return n;
}

/* The start of a booking of this device that ends after from_ms, or INT64_MAX. */
static int64_t booked_from(const struct booking *h, struct str uuid, int64_t from_ms)
{
    return h && booking_overlaps(h, from_ms, INT64_MAX) && booking_has_device(h, uuid) ? h->from_ms : INT64_MAX;
}

int64_t book_free_until(const struct book *b, struct str uuid, int64_t from_ms, int64_t except, const char *person)
{
    int64_t until_ms = INT64_MAX;

    for (size_t i = 0; i < b->n; i++) {
        const struct entry *e = &b->v[i];
        if (e->h->id == except || (person && e->h->kind == BOOKING_FIRM && strcmp(e->h->person, person) == 0))
            continue;
        until_ms = MIN(until_ms, booked_from(e->h, uuid, from_ms));
        until_ms = MIN(until_ms, booked_from(e->was, uuid, from_ms));
    }
    return until_ms;
}

/* ---- changes ---- */

int book_begin(struct book *b, const struct booking *h)
{
    struct entry *e = find(b, h->id);

    if (e && e->pending)
        return -EBUSY;
    if (booking_end_ms(h) > h->from_ms && book_conflicts(b, h, NULL, 0))
        return -EEXIST;
    if (!e && b->n >= BOOK_MAX)
        return -ENOSPC;
    if (e) {
        e->was = e->h;
        e->h = booking_copy(h);
    } else {
        e = add(b, h);
        e->state = BOOKING_PLANNED;
    }
    e->pending = true;
    return 0;
}

void book_settle(struct book *b, int64_t id, bool durable)
{
    struct entry *e = find(b, id);

    if (!e || !e->pending)
        return;
    tell_change(b);
    e->pending = false;
    if (!durable && !e->was) {
        forget(b, e);
        return;
    }
    if (!durable) {
        free(e->h);
        e->h = e->was;
    } else {
        free(e->was);
    }
    e->was = NULL;
    b->due_ms = INT64_MIN;
}

/* ---- queries ---- */

static const struct booking *durable(const struct entry *e)
{
    return e->pending ? e->was : e->h;
}

const struct booking *book_find(const struct book *b, int64_t id)
{
    const struct entry *e = find(b, id);

    return e ? durable(e) : NULL;
}

bool book_changing(const struct book *b, int64_t id)
{
    const struct entry *e = find(b, id);

    return e && e->pending;
}

const struct booking *const *book_all(struct book *b, size_t *ret_n)
{
    VEC_LEAST(b->all, b->cap_all, b->cap);
    size_t n = 0;
    for (size_t i = 0; i < b->n; i++) {
        const struct booking *h = durable(&b->v[i]);
        if (h)
            b->all[n++] = h;
    }
    SORT(b->all, n, booking_order);
    *ret_n = n;
    return b->all;
}

void book_of_device(const struct book *b, struct str uuid, int64_t now_ms, const struct booking **ret_now,
                    const struct booking **ret_next)
{
    *ret_now = *ret_next = NULL;
    for (size_t i = 0; i < b->n; i++) {
        const struct booking *h = durable(&b->v[i]);
        if (!h || booking_end_ms(h) <= MAX(now_ms, h->from_ms) || !booking_has_device(h, uuid))
            continue;
        if (h->from_ms <= now_ms)
            *ret_now = h;
        else if (!*ret_next || h->from_ms < (*ret_next)->from_ms)
            *ret_next = h;
    }
}

/* ---- time ---- */

void book_tick(struct book *b, int64_t now_ms, void (*each)(void *arg, const struct booking *h, enum booking_state to),
               void *arg)
{
    if (now_ms < b->due_ms)
        return;
    b->due_ms = INT64_MAX;
    for (size_t i = b->n; i-- > 0;) {
        struct entry *e = &b->v[i];
        if (e->pending)
            continue;
        enum booking_state to = booking_state(e->h, now_ms);
        bool moved = to != e->state;
        e->state = to;
        if (moved) {
            tell_change(b);
            each(arg, e->h, to);
        }
        if (to == BOOKING_OVER || to == BOOKING_RELEASED)
            forget(b, e);
        else
            b->due_ms = MIN(b->due_ms, to == BOOKING_PLANNED ? e->h->from_ms : e->h->until_ms);
    }
}
