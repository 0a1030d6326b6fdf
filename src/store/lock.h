/* lock.h: makes sure that one hub, or one tool that replaces everything, has a data folder at a time. */
#pragma once

#include "base/err.h"

/* Held until *ret is closed, however the process ends. -EBUSY with a sentence that names who has it. */
int store_lock(const char *dir, int *ret, struct err *err);
/* The same with another file, and without a sentence when it is -EBUSY: pid is who has it. */
int store_lock_file(const char *path, int *ret, char pid[24], struct err *err);
