/*
 * reread.c: reads the open bookings of a store that several hubs share again. A hub does so before it leads the queue:
 * it may not have received the last grants of the previous leader. It does so after a failed write: another hub was
 * faster, or the hub does not know whether the write was stored. A PostgreSQL server that was stopped may also carry
 * out such a write later, and a hub is not notified of its own changes; so each hub does it every REREAD_MS, too.
 */
#include "base/clock.h"
#include "base/mem.h"
#include "book/feature.h"

#define REREAD_MS 30000

struct reread {
    struct record_fetch read; /* first */
    struct hub_book *d;
    int64_t epoch, from_ms;
    struct booking **v;
    size_t n, cap;
};

static void keep_booking(void *arg, const struct booking *x)
{
    struct reread *r = arg;

    VEC_ADD(r->v, r->n, r->cap, booking_copy(x));
}

static int read_bookings(struct record_fetch *read, struct store *s, struct err *err)
{
    struct reread *r = (struct reread *)read;

    return store_each(s, EACH_BOOKING(keep_booking, r, .from_ms = r->from_ms), err);
}

static void take_bookings(struct record_fetch *read)
{
    struct reread *r = (struct reread *)read;
    struct hub_book *d = r->d;
    int64_t now_ms = clock_wall_ms();

    d->rereads = false;
    if (read->code < 0) {
        d->stale = true;
    } else {
        d->epoch = r->epoch;
        d->read_ms = clock_mono_ms();
    }
    for (size_t i = 0; i < r->n; i++) {
        const struct booking *known = book_find(d->h->book, r->v[i]->id);
        if (read->code >= 0 && (!known || known->changes < r->v[i]->changes))
            bookings_take(d->h, r->v[i], now_ms);
        free(r->v[i]);
    }
    free(r->v);
    free(r);
}

bool bookings_are_current(struct hub_book *d, int64_t now_ms)
{
    int64_t epoch = hub_epoch(d->h);

    if (hub_is_alone(d->h) || d->rereads)
        return !d->rereads;
    if (!d->stale && (epoch < 0 || epoch == d->epoch) && clock_mono_ms() - d->read_ms < REREAD_MS)
        return true;
    struct reread *r = NEW(struct reread, .read = {.read = read_bookings, .done = take_bookings}, .d = d,
                           .epoch = epoch, .from_ms = now_ms);
    d->rereads = record_fetch(d->h, &r->read, NULL) == 0;
    if (d->rereads)
        d->stale = false;
    else
        free(r);
    return false;
}
