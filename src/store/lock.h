/* lock.h: locks a data folder for one hub, or for one tool that replaces all data. */
#pragma once

#include "base/err.h"

/* Locks the data folder until *ret is closed, or the process ends. Returns -EBUSY with the owner's pid in err. */
int store_lock(const char *dir, int *ret, struct err *err);
/* Locks another file. On -EBUSY sets pid to the owner and leaves err unset. */
int store_lock_file(const char *path, int *ret, char pid[24], struct err *err);
