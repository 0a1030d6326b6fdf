/* newest.h: each node's newest batches from the existing logs: the hub's initial state after a start. */
#pragma once

#include "store/logs.h"
#include "store/main_db.h"

/*
 * Same contract as store_each_batch(). If there are many logs (compaction is behind) it reads only the newest few: the
 * work is bounded.
 */
struct newest_to { /* receiver of the batches */
    const struct alias *aliases;
    size_t n_aliases;
    int (*each)(void *arg, const struct store_batch *b);
    void *arg;
};
int newest_of_rows(struct batch_rows *x, const struct newest_query *ask, const struct newest_to *to, struct err *err);
int newest_each(const char *dir, const struct log_ref *logs, size_t n_logs, const struct alias *aliases,
                size_t n_aliases, int64_t back_ms, size_t max, int (*each)(void *arg, const struct store_batch *b),
                void *arg, struct err *err);
