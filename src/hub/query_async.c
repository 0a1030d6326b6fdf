/*
 * query_async.c: runs queries of history on a worker and sends the responses: late replies, ETags, gzip, clients that
 * left.
 */

#include "base/clock.h"
#include "base/mem.h"
#include "base/rand.h"
#include "base/workers.h"
#include "http/address.h"
#include "hub/hub.h"
#include "hub/past.h"

#define ASK_LIMIT_MS 30000
#define OWN_LIMIT_MS 120000 /* for internal queries: no user is waiting for them */
#define GZIP_LEAST   1024
#define COSTLY_MOST  64 /* costly queries in progress or waiting */
#define COSTLY_EACH  16 /* the same for one address */

struct question {
    struct work_job job; /* first */
    struct hub *h;
    struct late *late; /* NULL: an internal query, reported to then() */
    struct async_query *ask;
    void (*settle)(struct async_query *k, struct api *a, struct reply *rp); /* NULL: nothing more to do */
    void (*then)(void *arg, struct reply *rp);
    void *then_arg;
    struct reply rp;
    char if_none[200];
    bool gzip;
    char peer[64]; /* empty: the hub itself */
    /* Of a costly one: */
    bool given;       /* to a worker; the next of its address waits for its end */
    int64_t until_ms; /* monotonic */
    struct question *next;
};

/* Records are read through a store of this thread's own: the hub's is the loop's. */
struct thread_store {
    const char *dir;
    struct store *hub, *store; /* store: opened at the first query */
};

static int open_beside(struct thread_store *b, struct err *err)
{
    return b->store ? 0 : store_open_tools(&b->store, b->dir, NULL, err);
}

static int put_beside(void *arg, enum store_kind kind, const void *record, struct err *err)
{
    struct thread_store *b = arg;
    int r = open_beside(b, err);

    return r < 0 ? r : store_put_now(b->store, kind, record, err);
}

static int each_beside(void *arg, const struct store_each *e, struct err *err)
{
    struct thread_store *b = arg;
    int r = e->at_ms ? 0 : open_beside(b, err); /* any thread may query a snapshot */

    return r < 0 ? r : store_each(e->at_ms ? b->hub : b->store, e, err);
}

static void on_worker(struct work_job *j)
{
    struct question *q = (struct question *)j;
    struct thread_store beside = {.dir = q->h->place, .hub = q->h->store};
    struct past_source past = {.store = q->h->store,
                               .dir = q->h->place,
                               .history = store_history,
                               .histories = store_histories,
                               .archive = q->h->archive != NULL,
                               .session = store_session(q->h->store),
                               .stop = job_stopped,
                               .stop_arg = j,
                               .was = store_node_at,
                               .each = each_beside,
                               .put_now = put_beside,
                               .arg = &beside};
    struct reply *rp = &q->rp;

    q->ask->run(q->ask, &past, rp);
    store_close(beside.store);
    store_session_end(past.session);
    if (rp->status || !rp->body.len)
        return;
    /* the CRC instruction on each half: a tenth of the cost of a hash byte by byte */
    size_t half = rp->body.len / 2;
    snprintf(rp->etag, sizeof(rp->etag), "\"%08x%08x%zx\"", crc32c(0, rp->body.p, half),
             crc32c(0, rp->body.p + half, rp->body.len - half), rp->body.len);
    if (!rp->cache[0])
        snprintf(rp->cache, sizeof(rp->cache), "private, no-cache");
    if (str_find(str_of(q->if_none), rp->etag) >= 0) {
        rp->status = 304;
        return;
    }
    if (q->gzip && rp->body.len >= GZIP_LEAST) { /* here, not on the loop */
        rp->blob = blob_new(&rp->body);
        blob_gzip(rp->blob);
    }
}

static int64_t limit_of(const struct async_query *k)
{
    return k->limit_ms ? k->limit_ms : ASK_LIMIT_MS;
}

static int give(struct question *q, int64_t limit_ms)
{
    return work_add(q->ask->costly ? q->h->costly_work : q->h->work, &q->job, limit_ms);
}

static bool run_again(struct question *q)
{
    struct async_query *k = q->ask;

    if (!k->then_run || !q->job.ran || q->rp.status || atomic_load(&q->job.cancelled))
        return false;
    k->run = k->then_run;
    k->then_run = NULL;
    q->settle = NULL;
    if (give(q, limit_of(k)) == 0)
        return true;
    reply_problem(&q->rp, 503, "too many queries at the same time; try again in a few seconds");
    return false;
}

static void question_end(struct question *q)
{
    if (q->then) {
        q->then(q->then_arg, &q->rp);
        reply_fini(&q->rp);
    } else {
        httpd_late_reply(q->late, &q->rp);
    }
    q->ask->end(q->ask);
    free(q);
}

static void refuse_late(struct question *q)
{
    snprintf(q->rp.extra, sizeof(q->rp.extra), "Retry-After: 2");
    reply_problem(&q->rp, 503, "too many queries at the same time: this one waited too long; try again");
}

/* ---- costly queries: one at a time per address, so that no address blocks all workers ---- */

static bool same_address(const struct question *a, const struct question *b)
{
    return a->peer[0] && address_same_client(a->peer, b->peer);
}

static bool has_room(const struct hub *h, const struct question *q)
{
    size_t n = 0, theirs = 0;

    for (const struct question *o = h->costly; o; o = o->next, n++)
        theirs += same_address(o, q);
    return n < COSTLY_MOST && theirs < COSTLY_EACH;
}

static bool is_turn(const struct hub *h, const struct question *q)
{
    for (const struct question *o = h->costly; o; o = o->next)
        if (o->given && same_address(o, q))
            return false;
    return true;
}

static void costly_remove(struct question *q)
{
    struct question **at = &q->h->costly;

    while (*at != q)
        at = &(*at)->next;
    *at = q->next;
}

void costly_next(struct hub *h)
{
    int64_t now_ms = clock_mono_ms();

    for (struct question *q = h->costly, *next; q; q = next) {
        next = q->next;
        bool over = now_ms >= q->until_ms || atomic_load(&q->job.cancelled);
        if (q->given || (!over && !is_turn(h, q)))
            continue;
        q->given = !over && give(q, q->until_ms - now_ms) == 0;
        if (q->given)
            continue;
        costly_remove(q);
        refuse_late(q);
        question_end(q);
    }
}

static void costly_add(struct question *q)
{
    struct question **at = &q->h->costly;

    while (*at)
        at = &(*at)->next;
    q->until_ms = clock_mono_ms() + limit_of(q->ask);
    q->given = is_turn(q->h, q) && give(q, limit_of(q->ask)) == 0;
    *at = q;
}

static void back_on_loop(struct work_job *j)
{
    struct question *q = (struct question *)j;
    struct hub *h = q->h;
    bool costly = q->given;

    if (!j->ran)
        refuse_late(q);
    else if (q->settle && !q->rp.status)
        q->settle(q->ask, &q->h->api, &q->rp);
    if (run_again(q))
        return;
    if (costly)
        costly_remove(q);
    question_end(q);
    if (costly)
        costly_next(h);
}

static void reader_gone(void *arg)
{
    job_cancel(arg);
}

enum reply_mode query_async_then(struct hub *h, struct request *rq, struct reply *rp, struct async_query *k,
                                 void (*settle)(struct async_query *k, struct api *a, struct reply *rp))
{
    struct question *q =
        NEW(struct question, .job = {.run = on_worker, .done = back_on_loop}, .h = h, .ask = k, .settle = settle);
    struct str if_none = rq->header(rq, "If-None-Match");

    snprintf(q->if_none, sizeof(q->if_none), "%.*s", (int)MIN(if_none.len, sizeof(q->if_none) - 1), if_none.p);
    q->gzip = str_find(rq->header(rq, "Accept-Encoding"), "gzip") >= 0;
    mem_copy_str(q->peer, sizeof(q->peer), rq->peer);
    if (k->costly ? !has_room(h, q) : give(q, limit_of(k)) < 0) {
        k->end(k);
        free(q);
        snprintf(rp->extra, sizeof(rp->extra), "Retry-After: 2");
        return reply_problem(rp, 503, "too many queries at the same time; try again in a few seconds");
    }
    q->late = httpd_late(rq);
    httpd_late_watch(q->late, reader_gone, &q->job);
    if (k->costly)
        costly_add(q);
    return REPLY_LATER;
}

enum reply_mode query_async(struct hub *h, struct request *rq, struct reply *rp, struct async_query *k)
{
    return query_async_then(h, rq, rp, k, NULL);
}

int query_async_internal(struct hub *h, struct async_query *k, void (*then)(void *arg, struct reply *rp), void *arg)
{
    struct question *q = NEW(struct question, .job = {.run = on_worker, .done = back_on_loop}, .h = h, .ask = k,
                             .then = then, .then_arg = arg);
    int r = work_add(h->work, &q->job, OWN_LIMIT_MS);
    if (r < 0)
        free(q);
    return r;
}
