/* backend.h: what a backend must provide; store.c calls it for store.h. One const struct each. */
#ifndef STORE_BACKEND_H
#define STORE_BACKEND_H

#include "store/done.h"
#include "store/sink.h"
#include "store/store.h"

struct store_ops {
    const char *name;
    void (*close)(struct store *s);
    int (*flush)(struct store *s, struct err *err);
    void (*append)(struct store *s, const struct store_batch *b, size_t n, store_done_fn *done, void *arg);
    bool (*has)(struct store *s, const char *node, uint64_t run, uint64_t number);
    void (*put_blob)(struct store *s, const char *node, enum blob_kind kind, uint64_t id, struct str bytes);
    bool (*has_blob)(struct store *s, const char *node, uint64_t id);
    int (*get_blob)(struct store *s, const char *node, uint64_t id, struct buf *ret, struct err *err);
    void (*put_node)(struct store *s, const struct store_node *n);
    int (*nodes)(struct store *s, void (*each)(void *arg, const struct store_node *n), void *arg, struct err *err);
    void (*take_over)(struct store *s, const char *from, const char *to); /* to "": it just goes */
    void (*put_proc)(struct store *s, const struct store_proc *p);
    int (*procs)(struct store *s, const char *node, int64_t from_ms,
                 void (*each)(void *arg, const struct store_proc *p), void *arg, struct err *err);
    int (*procs_in)(struct store *s, const char *node, int64_t from_ms, int64_t to_ms,
                    void (*each)(void *arg, const struct store_proc *p), void *arg, struct err *err);
    void (*put_event)(struct store *s, const char *node, const char *device, const struct node_event *e);
    int (*events)(struct store *s, const char *node, int64_t from_ms, size_t limit,
                  void (*each)(void *arg, const char *node, const char *device, const struct node_event *e), void *arg,
                  struct err *err);
    void (*job_put)(struct store *s, const struct job_fact *j, store_done_fn *done, void *arg);
    void (*job_change)(struct store *s, const struct job_change *c, store_done_fn *done, void *arg);
    int (*job_get)(struct store *s, int64_t id, struct job_fact **ret, struct err *err);
    int (*jobs)(struct store *s, const struct job_ask *ask, void (*each)(void *arg, const struct job_fact *j),
                void *arg, struct err *err);
    void (*notes_put)(struct store *s, const struct note *v, size_t n, store_done_fn *done, void *arg);
    int (*notes)(struct store *s, int32_t kind, bool open, void (*each)(void *arg, const struct note *n), void *arg,
                 struct err *err);
    void (*booking_put)(struct store *s, const struct booking *h, store_done_fn *done, void *arg);
    int (*booking_get)(struct store *s, int64_t id, struct booking **ret, struct err *err);
    int (*holds)(struct store *s, int64_t from_ms, int64_t to_ms, void (*each)(void *arg, const struct booking *h),
                 void *arg, struct err *err);
    void (*usage_put)(struct store *s, const struct usage_put *u);
    void (*usage_mark)(struct store *s, const char *node, int64_t at_ms, int64_t seq);
    int (*usage)(struct store *s, const struct usage_ask *ask,
                 int (*each)(void *arg, const char *node, const struct usage_span *span), void *arg, struct err *err);
    int (*usage_marks)(struct store *s, void (*each)(void *arg, const char *node, int64_t at_ms, int64_t seq),
                       void *arg, struct err *err);
    int (*usage_reach)(struct store *s, void (*each)(void *arg, const char *node, int64_t first_ms, int64_t last_ms),
                       void *arg, struct err *err);
    int (*token_put)(struct store *s, const struct store_token *t, struct err *err);
    int (*token_put_soon)(struct store *s, const struct store_token *t, struct err *err);
    int (*token_get)(struct store *s, const char *id, struct store_token *ret, struct err *err);
    int (*tokens)(struct store *s, const char *node, void (*each)(void *arg, const struct store_token *t), void *arg,
                  struct err *err);
    int (*setting_get)(struct store *s, const char *name, struct buf *ret, struct err *err);
    int (*setting_put)(struct store *s, const char *name, struct str value, struct err *err);
    int (*newest)(struct store *s, int64_t back_ms, size_t max, int (*each)(void *arg, const struct store_batch *b),
                  void *arg, struct err *err); /* NULL: nothing is there at the start */
    int (*scan)(struct store *s, int (*each)(void *arg, const struct store_batch *b), void *arg, struct err *err);
    void (*stat)(struct store *s, struct store_stat *ret);
    int (*history_tier)(struct store *s, const struct history_ask *ask);
    /* everything of a node in the sink's span; -ENOTSUP without a decoder */
    int (*history)(struct store *s, const char *node, int tier, struct sink *sink, struct err *err);
    /* NULL: nothing is known of then, and nobody was on anything */
    int (*node_at)(struct store *s, const char *node, int64_t at_ms, struct node_was *ret, struct err *err);
    int (*procs_at)(struct store *s, const char *node, int64_t at_ms,
                    void (*each)(void *arg, const struct store_proc *p), void *arg, struct err *err);
    void *(*session)(struct store *s); /* NULL: has none */
    void (*session_end)(struct store *s, void *session);
    void (*set_decoder)(struct store *s, const struct store_decoder *d);
    int (*settle)(struct store *s, struct err *err);
};

struct history_session {
    struct store *store;
    void *own; /* the backend's */
};

/* A backend's own struct begins with this. */
struct store {
    const struct store_ops *ops;
};

#endif
