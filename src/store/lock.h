/* lock.h: makes sure that one hub, or one tool that replaces everything, has a data folder at a time. */
#ifndef STORE_LOCK_H
#define STORE_LOCK_H

#include "base/err.h"

/* Held until *ret is closed, however the process ends. -EBUSY with a sentence that names who has it. */
int store_lock(const char *dir, int *ret, struct err *err);
/* The same for who writes wandb.db, beside a hub: the two do not meet. */
int store_lock_wandb(const char *dir, int *ret, struct err *err);

#endif
