/* mem_archive.h: an archive in memory: it keeps a row once, answers naively, and is away when told to be. */
#ifndef TESTS_KIT_MEM_ARCHIVE_H
#define TESTS_KIT_MEM_ARCHIVE_H

#include <errno.h>
#include <pthread.h>

#include "base/lock.h"
#include "base/mem.h"
#include "model/metric.h"
#include "store/archive.h"

struct mem_value {
    char node[NODE_KEY_MAX], dev[64], metric[64];
    int64_t at_ms, v, log, row;
    uint64_t run, number;
};

struct mem_archive {
    struct archive a;
    pthread_mutex_t lock;
    struct mem_value *v, *waiting;
    size_t n, cap, n_waiting, cap_waiting;
    bool away, forgets;         /* forgets: it takes what is sent and says that it did not */
    size_t sends, again, asked; /* again: values that were there already; asked: questions */
};

static inline size_t mem_take(struct archive *a, const struct archive_batch *b)
{
    struct mem_archive *x = (struct mem_archive *)a;

    for (size_t i = 0; i < b->b->n_columns; i++)
        for (size_t t = 0; t < b->b->n_ticks; t++) {
            const struct column *c = &b->b->columns[i];
            char room[24], room2[24];
            int m = metric_by_no(c->metric);
            if (!column_has(c, t))
                continue;
            VEC_ROOM(x->waiting, x->n_waiting, x->cap_waiting);
            struct mem_value *v = &x->waiting[x->n_waiting++];
            *v = (struct mem_value){.at_ms = b->b->at_ms[t] + b->shift_ms,
                                    .v = c->v[t],
                                    .log = b->log,
                                    .row = b->row,
                                    .run = b->b->key.run,
                                    .number = b->b->key.number};
            struct str dev = slot_name(b->facts, c->slot, room);
            struct str metric = m >= 0 ? str_of(metrics[m].name) : custom_name(b->facts, c->metric, room2);
            mem_copy_str(v->node, sizeof(v->node), b->node);
            snprintf(v->dev, sizeof(v->dev), "%.*s", STR_ARG(dev));
            snprintf(v->metric, sizeof(v->metric), "%.*s", STR_ARG(metric));
        }
    return x->n_waiting;
}

static inline bool mem_same(const struct mem_value *a, const struct mem_value *b)
{
    return a->at_ms == b->at_ms && a->run == b->run && a->number == b->number && strcmp(a->node, b->node) == 0 &&
           strcmp(a->dev, b->dev) == 0 && strcmp(a->metric, b->metric) == 0;
}

static inline int mem_send(struct archive *a, struct err *err)
{
    struct mem_archive *x = (struct mem_archive *)a;

    LOCKED(&x->lock);
    if (x->away)
        return err_set(err, -EIO, "the archive is away");
    x->sends++;
    int n = (int)x->n_waiting;
    for (size_t i = 0; i < x->n_waiting; i++) {
        size_t k = 0;
        while (k < x->n && !mem_same(&x->v[k], &x->waiting[i]))
            k++;
        if (k == x->n)
            VEC_ROOM(x->v, x->n, x->cap);
        x->again += k < x->n;
        x->n += k == x->n;
        x->v[k] = x->waiting[i];
    }
    x->n_waiting = 0;
    return x->forgets ? err_set(err, -EIO, "the answer was lost") : n;
}

static inline void mem_drop(struct archive *a)
{
    ((struct mem_archive *)a)->n_waiting = 0;
}

static inline int mem_look(struct archive *a, int64_t now_ms, struct err *err)
{
    struct mem_archive *x = (struct mem_archive *)a;

    (void)now_ms;
    LOCKED(&x->lock);
    return x->away ? err_set(err, -EIO, "the archive is away") : 0;
}

static inline void mem_stop(struct archive *a)
{
    (void)a;
}

static inline bool mem_is(const struct archive_name *n, const struct mem_value *v)
{
    bool behind = v->log > n->after[0] || (v->log == n->after[0] && v->row > n->after[1]);
    bool before = v->log < n->upto[0] || (v->log == n->upto[0] && v->row <= n->upto[1]);

    return behind && before && strcmp(n->node, v->node) == 0;
}

static inline void mem_give(const struct archive_query *k, size_t ask, const struct mem_value *v,
                            const struct archive_out *out)
{
    const struct bins_query *a = k->ask;
    struct part_bin p = {{1, v->v, v->v, v->v, v->v}, v->at_ms};

    for (size_t i = 0; i < k->n_names; i++)
        for (size_t d = 0; d < a->n_devices && mem_is(&k->names[i], v); d++)
            for (size_t m = 0; m < a->n_metrics; m++)
                if (strcmp(a->devices[d], v->dev) == 0 && strcmp(a->metrics[m], v->metric) == 0)
                    out->each(out->arg, ask, d * a->n_metrics + m, (size_t)((v->at_ms - k->from_ms) / a->step_ms), &p);
}

static inline int mem_bins(struct archive *a, const struct archive_query *v, size_t n, const struct archive_out *out,
                           struct err *err)
{
    struct mem_archive *x = (struct mem_archive *)a;

    LOCKED(&x->lock);
    x->asked++;
    if (x->away)
        return err_set(err, -EIO, "the archive is away");
    for (size_t k = 0; k < n; k++)
        for (size_t i = 0; i < x->n; i++)
            if (x->v[i].at_ms >= v[k].from_ms && x->v[i].at_ms < v[k].to_ms)
                mem_give(&v[k], k, &x->v[i], out);
    return 0;
}

static inline void mem_archive_init(struct mem_archive *x)
{
    *x = (struct mem_archive){.a = {.take = mem_take,
                                    .send = mem_send,
                                    .drop = mem_drop,
                                    .look = mem_look,
                                    .stop = mem_stop,
                                    .bins = mem_bins}};
    pthread_mutex_init(&x->lock, NULL);
}

static inline void mem_archive_fini(struct mem_archive *x)
{
    free(x->v);
    free(x->waiting);
    pthread_mutex_destroy(&x->lock);
}

static inline void mem_archive_set(struct mem_archive *x, bool away, bool forgets)
{
    LOCKED(&x->lock);
    x->away = away;
    x->forgets = forgets;
}

#endif
