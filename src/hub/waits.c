/*
 * waits.c: the queue of `muster wait` on the loop: every second, and when somebody is heard of, whoever's turn it is
 * gets his GPUs for a short while. All of it goes the way of every hold (bookings.c): durable first, then told.
 */
#include <inttypes.h>

#include "base/log.h"
#include "base/mem.h"
#include "book/queue.h"
#include "hub/hub.h"

static void give(void *arg, const struct hold *h, const struct wish *w, const char *uuids)
{
    struct hub *hub = arg;
    AUTO_BUF places = BUF_INIT(HOLD_PLACES_MAX);
    int64_t now_ms = hub->serve_ms;
    struct hold to = *h;

    pick_places(hub->live, str_of(uuids), &places);
    to.devices = uuids;
    to.places = places.p ? places.p : "";
    to.from_ms = to.changed_ms = now_ms;
    to.until_ms = now_ms + w->hold_ms;
    to.changes++;
    int r = bookings_write(hub, &to, h->person, NULL, NULL);
    log_debug("wait", "%s gets %s (wait %" PRId64 "): %s", h->person, to.places, h->id, r < 0 ? strerror(-r) : "ok");
}

static void out(void *arg, const struct hold *h)
{
    struct hub *hub = arg;
    struct hold to = *h;

    to.released_ms = to.changed_ms = hub->serve_ms;
    to.changes++;
    bookings_write(hub, &to, h->person, NULL, NULL);
    log_debug("wait", "%s (wait %" PRId64 ") was not heard of any more", h->person, h->id);
}

void waits_tick(struct hub *hub, int64_t now_ms)
{
    size_t n;
    const struct node_now *const *nodes = live_nodes(hub->live, false, &n);
    struct queue_calls calls = {hub, give, out};

    hub->serve_ms = now_ms;
    queue_serve(hub->queue, hub->book, nodes, n, now_ms, &calls);
}

/* What was given is his for as long as he is heard of. */
void waits_heard(void *arg, const struct hold *h, int64_t now_ms)
{
    struct hub *hub = arg;
    struct wish w;

    queue_heard(hub->queue, h->id, now_ms);
    if (hold_waits(h) || hold_state(h, now_ms) != HOLD_ACTIVE)
        return;
    wish_read(h, &w);
    if (h->until_ms - now_ms > w.hold_ms / 2)
        return;
    struct hold to = *h;
    to.until_ms = now_ms + w.hold_ms;
    to.changed_ms = now_ms;
    to.changes++;
    bookings_write(hub, &to, h->person, NULL, NULL);
}
