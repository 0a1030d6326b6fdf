/*
 * carry.h: copies W&B runs from a folder or server to another: for `muster store move`, and for a hub whose store is on
 * a server while its folder has a file.
 *
 * Y1 Rows of the destination stay, unless they were logged before the copied ones (W3 of store.h).
 * Y2 A copy that is interrupted and started again ends with the same rows. So does a copy of rows that are all there
 *    already.
 * Y3 The source is not changed.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"

struct wandb_delivered {
    int64_t runs, days; /* copied */
};
/*
 * Returns 0 if there are no runs at `from`; 1 if all were copied. -EBUSY: another process writes; -EINVAL: the days of
 * `to` are of another zone; -ECANCELED: stop (may be NULL) returned true.
 */
int wandb_carry(const char *from, const char *to, bool (*stop)(void *arg), void *arg, struct wandb_delivered *ret,
                struct err *err);
/* The same from a folder, once for each change of its file; the file dir/wandb.carried keeps track. */
int wandb_adopt(const char *dir, const char *to, bool (*stop)(void *arg), void *arg, struct wandb_delivered *ret,
                struct err *err);
