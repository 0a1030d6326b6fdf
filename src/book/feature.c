/*
 * feature.c: bookings in the hub: each change is checked against existing bookings and stored. Only when it is durable
 * the hub shows and announces it and replies. Changes run in order, on the loop.
 */
#include "book/feature.h"

#include <errno.h>
#include <inttypes.h>

#include "access/sessions.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/time_text.h"
#include "base/zone.h"
#include "book/pick.h"
#include "book/queue.h"
#include "book/routes.h"
#include "hub/handlers.h"

#define AWAY_MS (7 * 86400000ll)

/* ---- what happened ---- */

static const char *const verbs[EVENT_KINDS] = {[EVENT_BOOKED] = "booked",
                                               [EVENT_REBOOKED] = "changed the booking of",
                                               [EVENT_RELEASED] = "released",
                                               [EVENT_EXPIRED] = "had"};

/* Events of a wait to publish: a grant, and a release. */
static bool worth_telling(const struct booking *x, enum event_kind kind)
{
    return x->kind == BOOKING_FIRM || kind == EVENT_BOOKED || kind == EVENT_RELEASED;
}

/* One event per node: for its device if there is only one there, else for the node. */
static void tell(struct hub *h, const struct booking *x, enum event_kind kind, const char *by, int64_t at_ms)
{
    struct node_event e = {.at_ms = at_ms, .kind = (uint16_t)kind, .code = x->id};
    char until[MOMENT_TEXT];
    bool own = strcmp(by, x->person) == 0;
    AUTO_BUF text = BUF_INIT(4096);
    AUTO_BUF told = BUF_INIT(BOOKING_DEVICES * (size_t)(NODE_KEY_MAX + 1));
    if (!worth_telling(x, kind))
        return;
    time_text_zoned(kind == EVENT_EXPIRED ? booking_end_ms(x) : x->until_ms, h->zone, until);
    own |= kind == EVENT_EXPIRED;
    buf_addf(&text, "%s %s %s%s%s%s until %s%s%s", own ? x->person : by,
             x->kind == BOOKING_WAIT && kind == EVENT_BOOKED ? "waited for and got" : verbs[kind], x->places,
             own ? "" : " for ", own ? "" : x->person, kind == EVENT_RELEASED ? ", booked" : "", until,
             x->comment[0] ? ": " : "", x->comment);
    mem_copy_str(e.text, sizeof(e.text), text.p);
    log_debug("book", "booking %" PRId64 ": %s", x->id, e.text);
    for (struct pick_device p = {.rest = str_of(x->devices)}; pick_next(h->live, &p);) {
        if (!p.d || str_find(buf_str(&told), p.n->key) >= 0)
            continue;
        buf_addf(&told, "%s ", p.n->key);
        bool only = strlen(x->devices) == p.uuid.len;
        hub_event(h, p.n->key, only ? p.d->fact.uuid : NULL, &e);
    }
}

/* ---- on the screens ---- */

static const struct booking_now *as_now(const struct hub *h, const struct booking *x, struct booking_now *ret)
{
    if (!x || !pick_booking(x, ret))
        return NULL;
    time_text_zoned(x->until_ms, h->zone, ret->until);
    return ret;
}

/* x: the changed booking, or NULL. judge_ms 0: the next tick updates the state. */
static void show_device(struct hub *h, struct node_now *n, size_t device, const struct booking *x, int64_t now_ms,
                        int64_t judge_ms)
{
    const struct booking_now *had = n->devices[device].booking;
    int64_t ended_ms = !had ? 0 : x && x->id == had->id ? booking_end_ms(x) : had->until_ms;
    const struct booking *now = NULL, *next = NULL;
    const struct node_now *on;
    struct booking_now a = {0}, b = {0};
    struct str uuid = str_of(n->devices[device].fact.uuid);
    if (live_find_device(h->live, uuid, &on) && on == n) /* else another node has it, too, and had it first */
        book_of_device(h->book, uuid, now_ms, &now, &next);
    live_book(h->live, n, device, as_now(h, now, &a), as_now(h, next, &b), ended_ms, judge_ms);
}

/* The devices a node has now carry their bookings. */
static void show_bookings(void *self, const struct hub_event *w)
{
    struct hub *h = ((struct hub_book *)self)->h;
    struct node_now *n = w->kind == HUB_EVENT_DEVICES ? live_find(h->live, w->node) : NULL;
    for (size_t i = 0; n && i < n->n_devices; i++)
        show_device(h, n, i, NULL, w->now_ms, w->now_ms);
}

/* The nodes that have a device of these. */
static void show_all(struct hub *h, const char *devices, const struct booking *x, int64_t now_ms)
{
    for (struct pick_device p = {.rest = str_of(devices)}; pick_next(h->live, &p);)
        if (p.d)
            show_device(h, live_find(h->live, p.n->key), (size_t)(p.d - p.n->devices), x, now_ms, now_ms);
}

void bookings_take(struct hub *h, const struct booking *x, int64_t now_ms)
{
    const struct booking *was = book_find(h->book, x->id);
    AUTO_FREE char *left = mem_str(was ? was->devices : "");

    book_take(h->book, x, now_ms);
    show_all(h, left, x, now_ms);
    show_all(h, x->devices, x, now_ms);
}

/* Another hub changed the booking. A repeated write of a wait is a heartbeat there. */
static void hear_booking(struct hub_book *d, const struct booking *x, int64_t now_ms)
{
    bookings_take(d->h, x, now_ms);
    if (hold_waits(x))
        queue_seen(d->queue, x->id, now_ms);
}

static void hear_news(void *self, const struct hub_event *w)
{
    if (w->kind == HUB_EVENT_RECORD && w->record->kind == STORE_BOOKING)
        hear_booking(self, w->record->record, w->now_ms);
    show_bookings(self, w);
}

/* ---- writing ---- */

struct writing {
    struct hub *h;
    struct late *late; /* NULL: no client waits for a reply */
    store_done_fn *done;
    void *arg;
    int64_t id, epoch; /* epoch: as in store_put_led */
    int status;        /* HTTP status on success */
    const char *back;  /* redirect to this page, instead of the row; NULL: the row */
    enum event_kind kind;
    char by[BOOKING_PERSON_MAX], me[BOOKING_PERSON_MAX];
};

struct moving {
    struct hub *h;
    int64_t now_ms;
};

static void on_moved(void *arg, const struct booking *x, enum booking_state to)
{
    struct moving *m = arg;
    show_all(m->h, x->devices, x, m->now_ms);
    if (to == BOOKING_OVER)
        tell(m->h, x, EVENT_EXPIRED, x->person, x->until_ms);
    if (to == BOOKING_OVER && hold_waits(x) && hub_leads(m->h))
        waits_over(m->h, x);
}

static void begin_and_end(struct hub *h, int64_t now_ms)
{
    struct moving m = {h, now_ms};
    book_tick(h->book, now_ms, on_moved, &m);
}

static void reply_not_stored(struct reply *rp, int result)
{
    if (result == -EEXIST)
        reply_problem(rp, 409, "another user booked these GPUs at another hub: try again");
    else if (result == -ESTALE || result == -EBUSY)
        reply_problem(rp, 409, "the booking was changed at another hub: try again");
    else if (result == -ENOSPC)
        reply_problem(rp, 507, "the hub's disk is full: nothing was booked; try again later");
    else if (result == -ENOTCONN || result == -ECANCELED) /* its commit may still be carried out */
        reply_problem(rp, 503, "it is not known whether this was stored: %s; look at the bookings, then try again",
                      store_error_text(result));
    else
        reply_problem(rp, 503, "the hub cannot store it, nothing was changed: %s", store_error_text(result));
}

static void written(void *arg, int result)
{
    struct writing *w = arg;
    struct hub *h = w->h;
    struct reply rp = {0};
    int64_t now_ms = clock_wall_ms();
    const struct booking *was = book_find(h->book, w->id);
    AUTO_FREE char *left = mem_str(was ? was->devices : ""); /* it may have others now */
    book_settle(h->book, w->id, result == 0);
    hub_book_of(h)->stale |= result < 0;
    const struct booking *x = result == 0 ? book_find(h->book, w->id) : NULL;
    if (x) {
        tell(h, x, w->kind, w->by, x->changed_ms);
        show_all(h, left, x, now_ms);
        show_all(h, x->devices, x, now_ms);
    }
    if (w->late && x && x->kind == BOOKING_WAIT) {
        queue_seen(hub_book_of(h)->queue, x->id, now_ms);
        reply_wait(&rp, &h->api, x, now_ms, w->status);
    } else if (w->late && x)
        reply_booking(&rp, &h->api, x, w->me, now_ms, w->status);
    if (w->late && x && w->back) {
        rp.status = 303;
        mem_copy_str(rp.location, sizeof(rp.location), w->back);
    }
    if (w->late && !x)
        reply_not_stored(&rp, result);
    if (w->late)
        httpd_late_reply(w->late, &rp);
    begin_and_end(h, now_ms);
    if (w->done)
        w->done(w->arg, result);
    free(w);
}

/* tell_whom: who waits for it; copied. */
static int start(struct hub *h, struct booking *x, const char *by, const struct writing *tell_whom)
{
    const struct booking *was = x->id ? book_find(h->book, x->id) : NULL;
    bool fresh = !x->id;
    if (fresh)
        x->id = hub_is_alone(h) ? book_next_id(h->book) : hub_next_id(h, IDS_BOOKING, 0);
    if (!x->id)
        return -ENOTCONN;
    int r = book_begin(h->book, x);
    if (r < 0)
        return r;
    struct writing *w = mem_alloc(sizeof(*w));
    *w = *tell_whom;
    w->h = h;
    w->id = x->id;
    w->status = fresh ? 201 : 200;
    w->kind = !was || hold_waits(was)               ? EVENT_BOOKED
              : x->released_ms && !was->released_ms ? EVENT_RELEASED
                                                    : EVENT_REBOOKED;
    mem_copy_str(w->by, sizeof(w->by), by);
    if (x->kind != BOOKING_WAIT) /* hours are counted for bookings alone */
        hub_time(h, NULL, was ? MIN(was->from_ms, x->from_ms) : x->from_ms,
                 was ? MAX(was->until_ms, x->until_ms) : x->until_ms, clock_wall_ms());
    store_put_led(h->store, w->epoch, STORE_BOOKING, x, 1, written, w);
    return 0;
}

int bookings_write(struct hub *h, struct booking *x, const char *by, store_done_fn *done, void *arg)
{
    return start(h, x, by, &(struct writing){.done = done, .arg = arg});
}

int bookings_write_led(struct hub *h, struct booking *x, const char *by)
{
    return start(h, x, by, &(struct writing){.epoch = hub_book_of(h)->epoch});
}

enum reply_mode bookings_put(struct hub *h, struct request *rq, struct reply *rp, const struct booking *x,
                             const char *by)
{
    struct booking to = *x;
    const char *me = rq->who->token.person[0] ? rq->who->token.person : by;
    if (book_conflicts(h->book, x, NULL, 0) && booking_end_ms(x) > x->from_ms)
        return reply_conflict(rp, &h->api, x, me, rq->now_ms);
    struct writing w = {.late = httpd_late(rq), .back = rq->back};
    mem_copy_str(w.me, sizeof(w.me), me);
    int r = start(h, &to, by, &w);
    if (r == 0)
        return REPLY_LATER;
    struct reply answer = {0};
    if (r == -EBUSY)
        reply_problem(&answer, 409, "booking %" PRId64 " is being changed: try again", x->id);
    else if (r == -ENOTCONN)
        reply_problem(&answer, 503, "the hub's PostgreSQL server is unreachable, nothing was booked: try again");
    else if (r == -ENOSPC)
        reply_problem(&answer, 503, "there are %d bookings already", BOOK_MAX);
    else
        reply_problem(&answer, 409, "another user just booked these GPUs: try again");
    httpd_late_reply(w.late, &answer);
    return REPLY_LATER;
}

/* ---- loading from the store ---- */

/* Publishes the end of a booking that ended while no hub ran. If it was published before, the store keeps the event
 * once. */
static void load_one(void *arg, const struct booking *x)
{
    struct hub *h = arg;
    if (booking_end_ms(x) > h->started_ms)
        book_load(h->book, x, h->started_ms);
    else if (booking_state(x, h->started_ms) == BOOKING_OVER)
        tell(h, x, EVENT_EXPIRED, x->person, x->until_ms);
}

static int load_bookings(void *self, struct err *err)
{
    struct hub *h = ((struct hub_book *)self)->h;
    AUTO_FREE struct booking *last = NULL;
    int r = store_get(h->store, GET_BOOKING(0, &last), err);
    if (last)
        book_set_last(h->book, last->id);
    if (r >= 0)
        r = store_each(h->store, EACH_BOOKING(load_one, h, .from_ms = h->started_ms - AWAY_MS), err);
    size_t n;
    const struct node_now *const *nodes = live_nodes(h->live, true, &n);
    for (size_t i = 0; r >= 0 && i < n; i++)
        for (size_t k = 0; k < nodes[i]->n_devices; k++)
            show_device(h, live_find(h->live, nodes[i]->key), k, NULL, h->started_ms, 0);
    return r;
}

/* ---- the feature: bookings, and those who wait ---- */

static void *open_book(struct hub *h)
{
    h->book = h->api.book = book_new();
    return NEW(struct hub_book, .h = h, .queue = queue_new());
}

#define SETTINGS book
#include "base/opt_def.h"

enum book_auth book_auth_of(const struct hub_conf *conf)
{
    const struct book_settings *c = feature_settings(conf, &book_feature);
    return (enum book_auth)c->auth;
}

static int check_settings(UNUSED void *self, const struct hub_conf *conf, UNUSED void **next, struct err *err)
{
    const struct access_settings *access = feature_settings(conf, &access_feature);
    if (book_auth_of(conf) == BOOK_PROXY && !access->proxy_header)
        return err_set(err, -EINVAL, "bookings.auth: proxy needs proxy.header, in which the proxy names people");
    return 0;
}

static void tick(void *self, int64_t now_ms)
{
    struct hub_book *d = self;
    begin_and_end(d->h, now_ms);
    if (bookings_are_current(d, now_ms) && hub_leads(d->h))
        waits_tick(d->h, now_ms);
}

static void close_book(void *self)
{
    struct hub_book *d = self;
    book_free(d->h->book);
    queue_free(d->queue);
    free(d);
}

const struct feature book_feature = {
    .name = "book",
    FEATURE_SETTINGS(book),
    .routes = book_routes,
    .open = open_book,
    .prepare = check_settings,
    .load = load_bookings,
    .hear = hear_news,
    .tick = tick,
    .close = close_book,
};
