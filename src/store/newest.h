/* newest.h: each node's newest batches, from the logs there are: what the hub shows of it when it starts. */
#pragma once

#include "store/logs.h"
#include "store/main_db.h"

/* As store_each_batch says. Of many logs (history is not kept up) only the newest few are looked at: work is bounded.
 */
struct newest_to { /* whom the batches go to */
    const struct alias *aliases;
    size_t n_aliases;
    int (*each)(void *arg, const struct store_batch *b);
    void *arg;
};
int newest_of_rows(struct batch_rows *x, const struct newest_ask *ask, const struct newest_to *to, struct err *err);
int newest_each(const char *dir, const struct log_ref *logs, size_t n_logs, const struct alias *aliases,
                size_t n_aliases, int64_t back_ms, size_t max, int (*each)(void *arg, const struct store_batch *b),
                void *arg, struct err *err);
