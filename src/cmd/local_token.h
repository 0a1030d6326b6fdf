/* local_token.h: tokens for the hub's own user, kept in its data folder, mode 0600. */
#pragma once

#include "access/auth.h"
#include "base/err.h"

/* For --start-empty, before the folder is opened: moves unusable data aside and logs it. Returns 0 or -errno. */
int local_start_empty(const char *dir, const char *area, struct err *err);
/*
 * Ensures that dir/file holds a valid token of this role; replaces a revoked or unknown one. place: the store that
 * must know it; NULL: the store of dir.
 */
int local_token(const char *place, const char *dir, const char *file, enum role role, const char *note,
                struct err *err);
