/*
 * compress.c: compresses responses on a worker, which reads the response's plain bytes (they do not change) and writes
 * its own.
 */
#include "http/compress.h"

#include "base/mem.h"
#include "base/workers.h"

#define LIMIT_MS 60000
#define WAIT_MAX 256 /* pending responses; further ones are sent uncompressed */
#define MORE     (64u << 10)

struct waiter {
    struct waiter *next;
    void (*done)(void *arg);
    void *arg;
};

struct packing {
    struct work_job job; /* first */
    struct compress *p;
    struct packing *next;
    struct blob *blob; /* a reference of ours */
    struct buf gz;
    struct waiter *waiters;
};

struct compress {
    struct work *work;
    struct packing *all; /* in progress */
};

struct compress *compress_new(struct event_base *loop)
{
    return NEW(struct compress, .work = work_new_background(loop, WAIT_MAX));
}

void compress_free(struct compress *p)
{
    struct work *w = p ? p->work : NULL;
    if (p)
        p->work = NULL; /* what ends now starts nothing more */
    work_free(w);
    free(p);
}

static void on_worker(struct work_job *j)
{
    struct packing *k = (struct packing *)j;
    if (gzip(buf_str(&k->blob->plain), gzip_way_of(k->blob->plain.len, k->blob->series), &k->gz) < 0)
        buf_fini(&k->gz);
}

static void back_on_loop(struct work_job *j)
{
    struct packing *k = (struct packing *)j, **at = &k->p->all;
    while (*at != k)
        at = &(*at)->next;
    *at = k->next;
    if (k->blob->gz.len == 0) {
        k->blob->gz = k->gz;
        k->gz = (struct buf){0};
    }
    for (struct waiter *w = k->waiters, *next; w; w = next) {
        next = w->next;
        w->done(w->arg);
        free(w);
    }
    buf_fini(&k->gz);
    blob_unref(k->blob);
    free(k);
}

bool compress_run(struct compress *p, struct work_job *job)
{
    return work_add(p->work, job, LIMIT_MS) == 0;
}

bool compress_add(struct compress *p, struct blob *b, void (*done)(void *arg), void *arg)
{
    struct packing *k = p->all;
    while (k && k->blob != b)
        k = k->next;
    if (!k) {
        k = NEW(struct packing, .job = {.run = on_worker, .done = back_on_loop}, .p = p, .blob = b,
                .gz = BUF_INIT(b->plain.len + MORE));
        if (!p->work || work_add(p->work, &k->job, LIMIT_MS) < 0) {
            free(k);
            return false;
        }
        blob_ref(b);
        k->next = p->all;
        p->all = k;
    }
    k->waiters = NEW(struct waiter, k->waiters, done, arg);
    return true;
}
