/*
 * carry.h: W&B runs from one place to another, a folder or a server: for `muster store move`, and for a hub whose store
 * is on a server and whose folder has a file.
 *
 * Y1 What the other place has stays, unless it was logged before what comes (W3 of store.h). Y2 Broken off and begun
 * again it ends with the same rows; so it does when all of it is there already. Y3 Where it comes from nothing is
 * changed.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"

struct wandb_carried {
    int64_t runs, days; /* that came */
};
/* 0: there is nothing at `from`; 1: all of it came. -EBUSY: somebody writes; -EINVAL: the days of `to` are of another
 * zone; -ECANCELED: stop (NULL: never) said so. */
int wandb_carry(const char *from, const char *to, bool (*stop)(void *arg), void *arg, struct wandb_carried *ret,
                struct err *err);
/* The same from a folder, once for each time that its file changed: dir/wandb.carried remembers. */
int wandb_adopt(const char *dir, const char *to, bool (*stop)(void *arg), void *arg, struct wandb_carried *ret,
                struct err *err);
