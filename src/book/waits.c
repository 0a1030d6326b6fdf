/*
 * waits.c: runs the queue of `muster wait` on the loop: every second, and at a heartbeat, it grants GPUs for a short
 * time. Grants are stored like every booking (feature.c): durable first, then published. Users who requested it get a
 * message, too (notify/person.h).
 */
#include <inttypes.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/time_text.h"
#include "book/feature.h"
#include "book/queue.h"
#include "notify/person.h"

#define RULE "wait" /* name for a person's list of `tell` */

static void give(void *arg, const struct booking *h, const struct gpu_request *w, const char *uuids)
{
    struct hub *hub = arg;
    AUTO_BUF places = BUF_INIT(BOOKING_PLACES_MAX);
    int64_t now_ms = hub_book_of(hub)->serve_ms;
    struct booking to = *h;

    pick_places(hub->live, str_of(uuids), &places);
    to.devices = uuids;
    to.places = places.p ? places.p : "";
    to.from_ms = to.changed_ms = now_ms;
    to.until_ms = now_ms + w->hold_ms;
    to.changes++;
    int r = bookings_write_led(hub, &to, h->person);
    log_debug("wait", "%s gets %s (wait %" PRId64 "): %s", h->person, to.places, h->id,
              r < 0 ? store_error_text(r) : "ok");
}

static void out(void *arg, const struct booking *h)
{
    struct hub *hub = arg;
    struct booking to = *h;

    to.released_ms = to.changed_ms = hub_book_of(hub)->serve_ms;
    to.changes++;
    bookings_write_led(hub, &to, h->person);
    log_debug("wait", "%s (wait %" PRId64 ") sends nothing any longer", h->person, h->id);
}

/* ---- notification by message ---- */

struct turn_notice {
    struct hub *hub;
    int64_t id;
};

/* The message is in the outbox: notes it in the booking, so that it is not sent again after a restart. */
static void said(void *arg, int result)
{
    struct turn_notice *s = arg;
    const struct booking *h = book_find(s->hub->book, s->id);
    AUTO_BUF where = BUF_INIT(4096);
    struct gpu_request w;

    (void)result; /* a message that could not be stored is sent anyway, and repeated after a restart */
    if (h) {
        struct booking to = *h;
        gpu_request_parse(h, &w);
        w.said = true;
        gpu_request_format(&w, &where);
        to.where = buf_str(&where).p;
        to.changes++;
        bookings_write(s->hub, &to, h->person, NULL, NULL);
    }
    free(s);
}

static void say_given(struct hub *hub, const struct booking *h)
{
    AUTO_BUF title = BUF_INIT(4096), text = BUF_INIT(65536);
    struct turn_notice *s = NEW(struct turn_notice, hub, h->id);
    char until[MOMENT_TEXT], span[24];
    size_t n = 1;

    for (const char *p = h->devices; *p; p++)
        n += *p == ',';
    buf_addf(&title, "%s %s yours until %s: you waited %s for %zu GPU%s", h->places, n == 1 ? "is" : "are",
             time_text_zoned(h->until_ms, hub->zone, until), clock_span(h->from_ms - h->created_ms, span), n,
             n == 1 ? "" : "s");
    buf_addf(&text,
             "If nothing runs there by then, the next user in the queue may get them.\n"
             "CUDA_VISIBLE_DEVICES=%s",
             h->devices);
    if (!notify_person(hub, h->person, RULE, buf_str(&title).p, buf_str(&text).p, said, s)) {
        log_info("wait", "%s (wait %" PRId64 ") cannot be notified of their turn", h->person, h->id);
        said(s, 0);
    }
}

/* Sends the messages of all grants without one; also if a crash lost the message. */
static void say_all(struct hub *hub, int64_t now_ms)
{
    size_t n, n_due = 0;
    const struct booking *const *all = book_all(hub->book, &n);
    AUTO_FREE int64_t *due = mem_zero(n + 1, sizeof(*due));

    for (size_t i = 0; i < n; i++) {
        struct gpu_request w;
        if (all[i]->kind != BOOKING_WAIT || hold_waits(all[i]) || booking_state(all[i], now_ms) != BOOKING_ACTIVE ||
            book_changing(hub->book, all[i]->id))
            continue;
        gpu_request_parse(all[i], &w);
        if (w.told && !w.said && queue_first_notice(hub_book_of(hub)->queue, all[i]->id))
            due[n_due++] = all[i]->id;
    }
    for (size_t i = 0; i < n_due; i++) {
        const struct booking *h = book_find(hub->book, due[i]);
        if (h)
            say_given(hub, h);
    }
}

void waits_over(struct hub *hub, const struct booking *h)
{
    AUTO_BUF title = BUF_INIT(4096);
    char span[24];
    struct gpu_request w;

    gpu_request_parse(h, &w);
    if (!hold_waits(h) || !w.told)
        return;
    buf_addf(&title, "your request for %d GPU%s has ended: none became free within %s", (int)h->count,
             h->count == 1 ? "" : "s", clock_span(h->until_ms - h->created_ms, span));
    notify_person(hub, h->person, RULE, buf_str(&title).p, "Request again, or fewer: muster wait --tell", NULL, NULL);
}

bool waits_reach(struct hub *hub, const char *person)
{
    return notify_reaches(hub, person, RULE);
}

void waits_tick(struct hub *hub, int64_t now_ms)
{
    size_t n;
    const struct node_now *const *nodes = live_nodes(hub->live, false, &n);
    struct queue_calls calls = {hub, give, out};
    struct hub_book *d = hub_book_of(hub);

    d->serve_ms = now_ms;
    queue_serve(d->queue, hub->book, nodes, n, now_ms, &calls);
    say_all(hub, now_ms);
}

/* Extends the reservation of granted GPUs at each heartbeat. */
void waits_seen(struct hub *hub, const struct booking *h, int64_t now_ms)
{
    struct gpu_request w;

    queue_seen(hub_book_of(hub)->queue, h->id, now_ms);
    if (hold_waits(h) && !hub_leads(hub) && now_ms - h->changed_ms >= QUEUE_LEASE_MS / 4) {
        struct booking heard = *h; /* the leader hub must know */
        heard.changed_ms = now_ms;
        heard.changes++;
        bookings_write(hub, &heard, h->person, NULL, NULL);
    }
    if (hold_waits(h) || booking_state(h, now_ms) != BOOKING_ACTIVE)
        return;
    gpu_request_parse(h, &w);
    if (h->until_ms - now_ms > w.hold_ms / 2)
        return;
    struct booking to = *h;
    to.until_ms = now_ms + w.hold_ms;
    to.changed_ms = now_ms;
    to.changes++;
    bookings_write(hub, &to, h->person, NULL, NULL);
}
