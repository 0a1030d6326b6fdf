/* past.h: what a question about the past is answered from, beside the loop (past_ask of api.h). */
#ifndef HUB_PAST_H
#define HUB_PAST_H

#include "model/job.h"
#include "store/samples.h"

/* What a thread beside the loop works on: store_history, or a test's, and the store's records. */
struct past_source {
    struct store *store;
    const char *dir; /* the data folder, for what has a file of its own there; NULL: none */
    int (*history)(struct store *s, const struct history_ask *ask, struct history *ret, struct err *err);
    struct history_session *session; /* of this request; may be NULL */
    bool (*stop)(void *arg);
    void *stop_arg;
    /* store_procs_at; NULL: nobody was ever on a device */
    int (*procs_at)(struct store *s, const char *node, int64_t at_ms,
                    void (*each)(void *arg, const struct store_proc *p), void *each_arg, struct err *err);
    /* store_node_at; NULL: everything was as it is now */
    int (*was)(struct store *s, const char *node, int64_t at_ms, struct node_was *ret, struct err *err);
    /* store_procs, from this thread; NULL: nobody was ever on a device */
    int (*procs)(void *arg, const char *node, int64_t from_ms, void (*each)(void *arg, const struct store_proc *p),
                 void *each_arg, struct err *err);
    void *procs_arg;
    /* store_jobs, from this thread */
    int (*jobs)(void *procs_arg, const struct job_ask *ask, void (*each)(void *arg, const struct job_fact *j),
                void *each_arg, struct err *err);
    /* store_holds, from this thread */
    int (*holds)(void *procs_arg, int64_t from_ms, int64_t to_ms, void (*each)(void *arg, const struct booking *h),
                 void *each_arg, struct err *err);
    /* store_events of all nodes, from this thread; NULL: nothing ever happened */
    int (*events)(void *procs_arg, int64_t from_ms, size_t limit,
                  void (*each)(void *arg, const char *node, const char *device, const struct node_event *e),
                  void *each_arg, struct err *err);
    /* store_usage, from this thread */
    int (*usage)(void *procs_arg, const struct usage_ask *ask,
                 int (*each)(void *arg, const char *node, const struct usage_span *s), void *each_arg, struct err *err);
    /* store_notes, from this thread */
    int (*notes)(void *procs_arg, int32_t kind, bool open, void (*each)(void *arg, const struct note *n),
                 void *each_arg, struct err *err);
    /* store_token_put, from this thread */
    int (*token_put)(void *procs_arg, const struct store_token *t, struct err *err);
};
static inline bool past_stopped(const struct past_source *past)
{
    return past->stop && past->stop(past->stop_arg);
}
/* What ask says, in the session of this request and until it is stopped. */
static inline int past_history(const struct past_source *past, struct history_ask ask, struct history *ret,
                               struct err *err)
{
    ask.session = past->session;
    ask.stop = past->stop;
    ask.arg = past->stop_arg;
    return past->history(past->store, &ask, ret, err);
}

#endif
