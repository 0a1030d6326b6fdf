/*
 * easel.c: a queue of answers that are drawn in pieces, and of who waits for each. A timer without delay draws one
 * piece in each turn of the loop.
 */
#include "hub/easel.h"

#include <event2/event.h>

#include "base/clock.h"
#include "base/mem.h"
#include "hub/hub.h"

#define PIECE_BYTES (256u << 10) /* of a turn: about a millisecond */
#define QUEUE_MAX   64
#define EACH_MAX    8    /* of one address */
#define NEW_MS      2000 /* one that was begun this lately will do for another who asks */

struct viewer {
    struct viewer *next;
    struct late *late;
    struct reply rp; /* all but the body */
    void (*done)(void *arg, struct blob *b);
    void *arg; /* instead of both: the hub itself */
    bool gone;
};

struct sheet {
    struct sheet *next;
    struct drawing *d;
    struct viewer *viewers;
    char peer[64]; /* who asked first; empty: the hub itself */
    bool counted;  /* among the places there are */
    char etag[48]; /* of the answer to who asked first */
};

struct easel {
    struct hub *h;
    struct event *turn;
    struct sheet *head; /* the one being drawn */
    size_t n;
    uint64_t turns;
};

static void viewer_gone(void *arg)
{
    ((struct viewer *)arg)->gone = true;
}

static bool anybody_waits(const struct sheet *s)
{
    for (const struct viewer *v = s->viewers; v; v = v->next)
        if (!v->gone)
            return true;
    return false;
}

/* To everybody who waits: what was drawn, or why not. */
static void sheet_give(struct easel *e, struct sheet *s, int status, const char *why)
{
    struct drawing *d = s->d;
    struct blob *b = status ? NULL : blob_new(&d->out);

    if (b) {
        b->piece = d->piece;
        d->piece = (struct buf){0};
        memcpy(b->etag, s->etag, sizeof(b->etag));
    }
    if (b && d->key.len)
        cache_put(e->h->api.cache, buf_str(&d->key), d->version, clock_wall_ms(), d->cost_us, b);
    for (struct viewer *v = s->viewers, *next; v; v = next) {
        next = v->next;
        if (v->done) {
            if (!v->gone)
                v->done(v->arg, b);
            free(v);
            continue;
        }
        if (b) {
            v->rp.blob = blob_ref(b);
            memcpy(v->rp.etag, b->etag, sizeof(v->rp.etag));
        } else {
            reply_problem(&v->rp, status, "%s", why);
        }
        httpd_late_reply(v->late, &v->rp);
        free(v);
    }
    blob_unref(b);
    d->end(d);
    free(s);
}

/* Those of the address that had its turn go behind all others, in their order. */
static void go_behind(struct easel *e, const char *peer)
{
    struct sheet *theirs = NULL, **last = &theirs, **at = &e->head;

    while (*at) {
        struct sheet *s = *at;
        if (strcmp(s->peer, peer) != 0) {
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

static void next_turn(struct easel *e)
{
    if (e->head)
        event_add(e->turn, &(struct timeval){0});
}

static void on_turn(UNUSED evutil_socket_t fd, UNUSED short what, void *arg)
{
    struct easel *e = arg;
    struct sheet *s = e->head;
    bool done = false;

    if (!s)
        return;
    bool wanted = anybody_waits(s);
    if (wanted) {
        int64_t begin_us = clock_thread_us();
        done = s->d->step(s->d, &e->h->api, PIECE_BYTES);
        s->d->cost_us += clock_thread_us() - begin_us;
        e->turns++;
    }
    if (done || !wanted) {
        e->head = s->next;
        e->n -= s->counted;
        go_behind(e, s->peer);
        if (!wanted)
            sheet_give(e, s, 503, "nobody waits for this any more");
        else if (s->d->out.err)
            sheet_give(e, s, 500, "the answer is too large; ask for one node");
        else
            sheet_give(e, s, 0, NULL);
    }
    next_turn(e);
}

struct easel *easel_new(struct hub *h)
{
    struct easel *e = NEW(struct easel, .h = h);

    e->turn = event_new(h->loop, -1, 0, on_turn, e);
    return e;
}

void easel_free(struct easel *e)
{
    if (!e)
        return;
    while (e->head) {
        struct sheet *s = e->head;
        e->head = s->next;
        sheet_give(e, s, 503, "the hub stops; try again in a moment");
    }
    event_free(e->turn);
    free(e);
}

uint64_t easel_turns(const struct easel *e)
{
    return e->turns;
}

static bool has_room(const struct easel *e, const struct request *rq)
{
    size_t theirs = 0;

    for (const struct sheet *s = e->head; s && rq->peer[0]; s = s->next)
        theirs += s->counted && strcmp(s->peer, rq->peer) == 0;
    return e->n < QUEUE_MAX && theirs < EACH_MAX;
}

static struct sheet *sheet_new(struct drawing *d, const char *peer)
{
    struct sheet *s = NEW(struct sheet, .d = d);

    mem_copy_str(s->peer, sizeof(s->peer), peer);
    return s;
}

struct viewer *easel_make(struct easel *e, const char *peer, struct drawing *d, void (*done)(void *arg, struct blob *b),
                          void *arg)
{
    struct sheet **at = &e->head;
    struct viewer *v = NEW(struct viewer, .done = done, .arg = arg);

    while (*at)
        at = &(*at)->next;
    *at = sheet_new(d, peer);
    (*at)->viewers = v;
    next_turn(e);
    return v;
}

void easel_leave(struct viewer *v)
{
    if (v)
        v->gone = true;
}

enum reply_how easel_draw(struct hub *h, struct request *rq, struct reply *rp, struct drawing *d)
{
    struct easel *e = h->easel;
    struct sheet **at = &e->head, *s = NULL;

    for (; *at; at = &(*at)->next)
        if (d->at_ms - (*at)->d->at_ms < NEW_MS && d->at_ms >= (*at)->d->at_ms &&
            str_eq_str(buf_str(&(*at)->d->key), buf_str(&d->key)))
            s = *at;
    if (!s && !has_room(e, rq)) {
        d->end(d);
        snprintf(rp->extra, sizeof(rp->extra), "Retry-After: 2");
        return reply_problem(rp, 503, "too much is being asked at once; try again in a moment");
    }
    if (s) {
        d->end(d);
    } else {
        s = *at = sheet_new(d, rq->peer);
        s->counted = true;
        memcpy(s->etag, rp->etag, sizeof(s->etag));
        e->n++;
    }
    struct viewer *v = NEW(struct viewer, .rp = *rp);
    *rp = (struct reply){0};
    v->late = httpd_late(rq);
    v->next = s->viewers;
    s->viewers = v;
    httpd_late_watch(v->late, viewer_gone, v);
    next_turn(e);
    return REPLY_LATER;
}
