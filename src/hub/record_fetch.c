/* record_fetch.c: reads single records on its own threads, and parks the requests that wait for them. */
#include "hub/record_fetch.h"

#include <assert.h>

#include "base/workers.h"
#include "hub/hub.h"

#define QUEUE_MAX  4096 /* pending reads; one needs microseconds */
#define LIMIT_MS   30000
#define TOO_MUCH   "too many queries at the same time; try again in a few seconds"
#define KEPT_BYTES (64 << 20) /* of requests that wait for one thread */
#define KEPT_MAX   4          /* records that one request needs: a job, and its parent; or what it leads to */

struct record_fetcher {
    struct hub *h;
    struct work *work;
    struct store *store; /* the thread's own, opened when first asked */
    size_t kept;         /* bytes of requests that wait */
};

static void handle_read(struct cached_request *k);

struct fetched_record {       /* one record */
    struct record_fetch read; /* first */
    struct record_result found;
    look_fn *then;
    void *arg;
};

struct record_fetcher *record_fetcher_new(struct hub *h)
{
    struct record_fetcher *l = NEW(struct record_fetcher, .h = h, .work = work_new(h->loop, 1, QUEUE_MAX));

    if (l->work)
        return l;
    free(l);
    return NULL;
}

void record_fetcher_free(struct record_fetcher *l)
{
    if (!l)
        return;
    work_free(l->work);
    store_close(l->store);
    free(l);
}

static struct record_fetch *read_of(struct work_job *j)
{
    return (struct record_fetch *)((char *)j - offsetof(struct record_fetch, job));
}

static void read_beside(struct work_job *j)
{
    struct record_fetch *r = read_of(j);
    struct record_fetcher *l = r->l;

    r->code = l->store ? 0 : store_open_tools(&l->store, l->h->place, NULL, &r->err);
    if (r->code == 0)
        r->code = r->read(r, l->store, &r->err);
}

static void read_done(struct work_job *j)
{
    struct record_fetch *r = read_of(j);

    if (!j->ran)
        r->code = err_set(&r->err, -EAGAIN, TOO_MUCH);
    if (r->kept)
        handle_read(r->kept);
    else
        r->done(r);
}

static struct record_fetcher *looks_for(struct hub *h, const struct record_fetch *r)
{
    return r->blobs ? h->blob_looks : h->looks;
}

int record_fetch(struct hub *h, struct record_fetch *r, struct err *err)
{
    r->job = (struct work_job){.run = read_beside, .done = read_done};
    r->l = looks_for(h, r);
    return r->l && work_add(r->l->work, &r->job, LIMIT_MS) == 0 ? 0 : err_set(err, -EAGAIN, TOO_MUCH);
}

static int read_record(struct record_fetch *r, struct store *s, struct err *err)
{
    struct record_result *f = &((struct fetched_record *)r)->found;

    return store_get(s, f->kind == STORE_JOB ? GET_JOB(f->id, &f->job) : GET_BOOKING(f->id, &f->booking), err);
}

static void tell(struct record_fetch *r)
{
    struct fetched_record *k = (struct fetched_record *)r;

    k->found.r = r->code;
    k->found.err = r->err;
    k->then(k->arg, &k->found);
    FREE_ALL(k->found.job, k->found.booking, k);
}

int look_up(struct hub *h, enum store_kind kind, int64_t id, look_fn *then, void *arg, struct err *err)
{
    struct fetched_record *k = NEW(struct fetched_record, .read = {.read = read_record, .done = tell},
                                   .found = {.kind = kind, .id = id}, .then = then, .arg = arg);
    int r = record_fetch(h, &k->read, err);
    if (r < 0)
        free(k);
    return r;
}

/* ---- requests that wait ---- */

struct cached_request {
    struct record_fetcher *l;
    struct request rq;
    struct asker who;
    struct late *late;
    struct record_result found[KEPT_MAX];
    size_t n, size;
    struct record_fetch *read; /* NULL: nothing else */
    bool waits;                /* for one more */
    char text[];
};

static void reply_kept_late(void *arg, struct reply *rp)
{
    httpd_late_reply(arg, rp);
}

static struct str no_header(UNUSED const struct request *rq, UNUSED const char *name)
{
    return str_n("", 0);
}

static void move_text(char **to, struct str *s)
{
    if (s->len)
        memcpy(*to, s->p, s->len);
    (*to)[s->len] = 0;
    s->p = *to;
    *to += s->len + 1;
}

/* l may be NULL. NULL: too many wait. */
static struct cached_request *keep_request(struct record_fetcher *l, struct request *rq)
{
    size_t n = sizeof(struct cached_request) + rq->path.len + rq->tail.len + rq->body.len + 3;
    for (size_t i = 0; i < rq->n_query; i++)
        n += rq->query[i].name.len + rq->query[i].value.len + 2;
    if (!l || l->kept + n > KEPT_BYTES)
        return NULL;
    struct cached_request *k = mem_zero(1, n);
    char *at = k->text;

    k->l = l;
    l->kept += k->size = n;
    k->rq = *rq;
    k->who = *rq->who;
    k->rq.who = &k->who;
    k->rq.memo = k->rq.conn = NULL;
    k->rq.header = no_header;
    k->rq.header_count = NULL;
    k->rq.take = reply_kept_late;
    k->rq.kept = k;
    move_text(&at, &k->rq.path);
    move_text(&at, &k->rq.tail);
    move_text(&at, &k->rq.body);
    for (size_t i = 0; i < rq->n_query; i++) {
        move_text(&at, &k->rq.query[i].name);
        move_text(&at, &k->rq.query[i].value);
    }
    return k;
}

static void kept_free(struct cached_request *k)
{
    for (size_t i = 0; i < k->n; i++)
        FREE_ALL(k->found[i].job, k->found[i].booking);
    if (k->read)
        k->read->done(k->read);
    k->l->kept -= k->size;
    free(k);
}

static void handle_read(struct cached_request *k)
{
    struct api *a = &k->l->h->api;
    struct reply rp = {0};

    k->waits = false;
    k->who.people = a->people; /* they may be others by now */
    enum reply_mode how = api_handle(a, &k->rq, &rp);
    if (how == REPLY_NOW)
        httpd_late_reply(k->late, &rp);
    else
        reply_fini(&rp);
    if (!k->waits)
        kept_free(k);
}

static void handle_again(void *arg, struct record_result *found)
{
    struct cached_request *k = arg;

    k->found[k->n++] = *found;
    found->job = NULL;
    found->booking = NULL;
    handle_read(k);
}

/* Until what it waits for is there. */
static int wait_for(struct cached_request *k, struct request *rq)
{
    if (!k->late)
        k->rq.take_arg = k->late = httpd_late(rq);
    k->waits = true;
    return -EINPROGRESS;
}

int record_fetch_for(struct hub *h, struct request *rq, struct record_fetch *r, struct err *err)
{
    struct cached_request *k = keep_request(looks_for(h, r), rq);

    if (!k)
        return err_set(err, -EAGAIN, TOO_MUCH);
    r->kept = k;
    int code = record_fetch(h, r, err);
    if (code < 0) {
        kept_free(k);
        return code;
    }
    k->read = r;
    return wait_for(k, rq);
}

struct record_fetch *request_fetched(const struct request *rq)
{
    return rq->kept ? rq->kept->read : NULL;
}

/* Returns 1: it was read, *ret; 0: not requested yet; -EINPROGRESS: it is being read; -errno. */
static int find_looked(struct hub *h, struct request *rq, enum store_kind kind, int64_t id,
                       const struct record_result **ret, struct err *err)
{
    struct cached_request *k = rq->kept;

    for (size_t i = 0; k && i < k->n; i++)
        if (k->found[i].kind == kind && k->found[i].id == id) {
            *ret = &k->found[i];
            return (*ret)->r < 0 ? err_set(err, (*ret)->r, "%s", (*ret)->err.msg) : (*ret)->r;
        }
    if (!k && !(k = keep_request(h->looks, rq)))
        return err_set(err, -EAGAIN, TOO_MUCH);
    assert(k->n < KEPT_MAX);
    int r = look_up(h, kind, id, handle_again, k, err);
    if (r < 0) {
        if (!rq->kept)
            kept_free(k);
        return r;
    }
    return wait_for(k, rq);
}

int record_fetch_job(struct hub *h, struct request *rq, int64_t id, struct job_fact **ret, struct err *err)
{
    const struct record_result *f = NULL;
    int r = find_looked(h, rq, STORE_JOB, id, &f, err);

    if (r == 1 && f)
        *ret = job_copy(f->job);
    return r;
}

int record_fetch_booking(struct hub *h, struct request *rq, int64_t id, struct booking **ret, struct err *err)
{
    const struct record_result *f = NULL;
    int r = find_looked(h, rq, STORE_BOOKING, id, &f, err);

    if (r == 1 && f)
        *ret = booking_copy(f->booking);
    return r;
}
