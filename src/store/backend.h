/* backend.h: what a backend must provide; store.c calls it for records.h and samples.h, which says what is promised.
 * One const struct each. */
#pragma once

#include <pthread.h>

#include "store/done.h"
#include "store/sink.h"

struct store_ops {
    const char *name;
    void (*close)(struct store *s);
    int (*flush)(struct store *s, bool settle, struct err *err); /* settle: as store_settle says */

    /* Records. */
    int (*put)(struct store *s, enum store_kind kind, const void *v, size_t n, store_done_fn *done, void *arg);
    int (*put_now)(struct store *s, enum store_kind kind, const void *record, struct err *err);
    int (*get)(struct store *s, const struct store_get *g, struct err *err);
    int (*each)(struct store *s, const struct store_each *e, struct err *err);

    /* Batches, and the blobs they name. */
    void (*append)(struct store *s, const struct store_batch *b, size_t n, store_done_fn *done, void *arg);
    bool (*has)(struct store *s, const char *node, uint64_t run, uint64_t number);
    void (*put_blob)(struct store *s, const char *node, enum blob_kind kind, uint64_t id, struct str bytes);
    int (*get_blob)(struct store *s, const char *node, uint64_t id, struct buf *ret, struct err *err);
    int (*each_batch)(struct store *s, const struct newest_ask *newest,
                      int (*each)(void *arg, const struct store_batch *b), void *arg, struct err *err);

    /* Both. */
    void (*take_over)(struct store *s, const char *from, const char *to); /* to "": it just goes */
    void (*stat)(struct store *s, struct store_stat *ret);

    /* The past, from any thread. history: everything of a node in the sink's span; -ENOTSUP without a decoder */
    void *(*session)(struct store *s); /* NULL: there is no history */
    void (*session_end)(struct store *s, void *session);
    int (*history)(struct store *s, const char *node, int tier, struct sink *sink, struct err *err);
    int (*node_at)(struct store *s, const char *node, int64_t at_ms, struct node_was *ret, struct err *err);
};

struct history_session {
    struct store *store;
    void *own; /* the backend's */
};

/* A backend's own struct begins with this. */
struct store {
    const struct store_ops *ops;
    struct store_conf conf; /* as it was opened; beside a running hub all zero but for dir and decoder */
    bool loaded;            /* thread is to wait for the disk no more: */
    pthread_t thread;
    uint64_t waits; /* how often it did all the same */
};
