/* past.h: the sources of a query of history on a worker thread (past_ask of api.h). */
#pragma once

#include "model/job.h"
#include "store/samples.h"

/* The data a worker thread reads: store_history, or a test's, and the store's records. */
struct past_source {
    struct store *store;
    const char *dir; /* the store's location, for files next to it: a folder or a server; NULL: none */
    int (*history)(struct store *s, const struct bins_query *ask, struct history *ret, struct err *err);
    /* store_histories: reads several nodes concurrently if there is much to read; NULL: sequentially */
    int (*histories)(struct store *s, const struct bins_query *asks, size_t n, struct history *ret, struct err *err);
    bool archive;                    /* it reads many nodes as fast as one */
    struct history_session *session; /* of this request; may be NULL */
    bool (*stop)(void *arg);
    void *stop_arg;
    /* store_node_at; NULL: everything was then as it is now */
    int (*was)(struct store *s, struct history_session *x, const char *node, int64_t at_ms, struct node_at *ret,
               struct err *err);
    /* store_each and store_put_now, from this thread; each NULL: no records */
    store_each_fn *each;
    int (*put_now)(void *arg, enum store_kind kind, const void *record, struct err *err);
    void *arg; /* of both */
};
static inline bool past_stopped(const struct past_source *past)
{
    return past->stop && past->stop(past->stop_arg);
}
/* Runs ask, in the session of this request and until it is stopped. */
static inline int past_history(const struct past_source *past, struct bins_query ask, struct history *ret,
                               struct err *err)
{
    ask.session = past->session;
    ask.stop = past->stop;
    ask.arg = past->stop_arg;
    return past->history(past->store, &ask, ret, err);
}
static inline int past_each(const struct past_source *past, const struct store_each *e, struct err *err)
{
    return past->each ? past->each(past->arg, e, err) : 0;
}
