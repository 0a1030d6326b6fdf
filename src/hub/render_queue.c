/* render_queue.c: a queue of responses that are made in pieces. A timer makes some pieces in each event loop iteration.
 */
#include "hub/render_queue.h"

#include <event2/event.h>

#include "base/clock.h"
#include "base/mem.h"
#include "http/address.h"
#include "http/chunked_reply.h"
#include "hub/hub.h"

#define PIECE_BYTES (256u << 10) /* about a millisecond */
#define TURN_US     4000         /* per event loop iteration, plus the rest of the last piece */
#define SHARE_US    50000        /* while agents wait: one iteration in this time */
#define PAUSE_US    5000
#define BUSY_MS     1000 /* agents have waited this long: no further responses are started */
#define QUEUE_MAX   32
#define EACH_MAX    8 /* for one address */

struct sheet {
    struct sheet *next;
    struct render_job *d;
    struct chunked_reply *out; /* NULL: an internal drawing, delivered whole: */
    void (*done)(void *arg, struct blob *b);
    void *arg;
    bool left;
    char peer[64]; /* client address; empty: the hub itself */
};

struct render_queue {
    struct hub *h;
    struct event *turn;
    struct sheet *head;
    int64_t drew_us; /* the last turn with a piece */
    uint64_t turns;
};

static bool is_unwanted(const struct sheet *s)
{
    return s->out ? chunked_reply_is_closed(s->out) : s->left;
}

static void sheet_end(struct sheet *s, bool whole)
{
    struct render_job *d = s->d;

    if (s->out) {
        chunked_reply_end(s->out, whole);
    } else {
        struct blob *b = whole && !d->out.err ? blob_new(&d->out) : NULL;
        if (b) {
            b->piece = d->piece;
            d->piece = (struct buf){0};
        }
        if (!s->left)
            s->done(s->arg, b);
        blob_unref(b);
    }
    d->end(d);
    free(s);
}

/* Moves the drawings of an address that had its turn behind all others, in their order. */
static void go_behind(struct render_queue *e, const char *peer)
{
    struct sheet *theirs = NULL, **last = &theirs, **at = &e->head;

    while (*at) {
        struct sheet *s = *at;
        if (!address_same_client(s->peer, peer)) {
            at = &s->next;
            continue;
        }
        *at = s->next;
        s->next = NULL;
        *last = s;
        last = &s->next;
    }
    *at = theirs;
}

/* The first that can be drawn now; NULL: all wait for their clients. */
static struct sheet *next_ready(const struct render_queue *e)
{
    struct sheet *s = e->head;

    while (s && s->out && !is_unwanted(s) && !chunked_reply_has_room(s->out))
        s = s->next;
    return s;
}

static void next_turn(void *arg)
{
    struct render_queue *e = arg;

    if (next_ready(e))
        event_add(e->turn, &(struct timeval){0});
}

static void sheet_remove(struct render_queue *e, struct sheet *s)
{
    struct sheet **at = &e->head;

    while (*at != s)
        at = &(*at)->next;
    *at = s->next;
    go_behind(e, s->peer);
}

static void draw_piece(struct render_queue *e, struct sheet *s)
{
    bool unwanted = is_unwanted(s), done = unwanted;

    if (!unwanted) {
        done = s->d->step(s->d, &e->h->api, PIECE_BYTES);
        e->turns++;
        if (s->out)
            chunked_reply_add(s->out, &s->d->out);
    }
    if (!done)
        return;
    sheet_remove(e, s);
    sheet_end(s, !unwanted);
}

static void on_turn(UNUSED evutil_socket_t fd, UNUSED short what, void *arg)
{
    struct render_queue *e = arg;
    struct sheet *s = next_ready(e);
    int64_t begin_us = clock_mono_us();

    if (s && httpd_patient_wait_ms(e->h->httpd) && begin_us - e->drew_us < SHARE_US) {
        event_add(e->turn, &(struct timeval){.tv_usec = PAUSE_US});
        return;
    }
    e->drew_us = begin_us;
    while (s) {
        bool more = s->out; /* what the hub gets whole is drawn a piece a turn */
        draw_piece(e, s);
        s = more && clock_mono_us() - begin_us < TURN_US ? next_ready(e) : NULL;
    }
    next_turn(e);
}

struct render_queue *render_queue_new(struct hub *h)
{
    struct render_queue *e = NEW(struct render_queue, .h = h);

    e->turn = event_new(h->loop, -1, 0, on_turn, e);
    return e;
}

void render_queue_free(struct render_queue *e)
{
    if (!e)
        return;
    while (e->head) {
        struct sheet *s = e->head;
        e->head = s->next;
        sheet_end(s, false);
    }
    event_free(e->turn);
    free(e);
}

uint64_t render_queue_piece_count(const struct render_queue *e)
{
    return e->turns;
}

static bool has_room(const struct render_queue *e, const struct request *rq)
{
    size_t n = 0, theirs = 0;

    for (const struct sheet *s = e->head; s; s = s->next) {
        n += s->out != NULL;
        theirs += s->out && rq->peer[0] && address_same_client(s->peer, rq->peer);
    }
    return n < QUEUE_MAX && theirs < EACH_MAX;
}

static struct sheet *sheet_add(struct render_queue *e, struct render_job *d, const char *peer)
{
    struct sheet *s = NEW(struct sheet, .d = d), **at = &e->head;

    mem_copy_str(s->peer, sizeof(s->peer), peer);
    while (*at)
        at = &(*at)->next;
    *at = s;
    return s;
}

struct sheet *render_queue_submit_internal(struct render_queue *e, const char *peer, struct render_job *d,
                                           void (*done)(void *arg, struct blob *b), void *arg)
{
    struct sheet *s = sheet_add(e, d, peer);

    s->done = done;
    s->arg = arg;
    next_turn(e);
    return s;
}

void render_queue_cancel(struct sheet *s)
{
    if (s)
        s->left = true;
}

enum reply_mode render_queue_submit(struct hub *h, struct request *rq, struct reply *rp, struct render_job *d)
{
    struct render_queue *e = h->easel;
    bool busy = httpd_patient_wait_ms(h->httpd) > BUSY_MS;

    if (busy || !has_room(e, rq)) {
        d->end(d);
        snprintf(rp->extra, sizeof(rp->extra), "Retry-After: %d", busy ? 5 : 2);
        return reply_problem(rp, 503,
                             busy ? "the hub is busy with samples from agents; retry in a few seconds"
                                  : "too many large answers are requested at the same time; retry in a few "
                                    "seconds");
    }
    struct chunked_reply *out = chunked_reply_new(rq, rp, next_turn, e);
    if (out)
        sheet_add(e, d, rq->peer)->out = out;
    else
        d->end(d);
    next_turn(e);
    return REPLY_LATER;
}
