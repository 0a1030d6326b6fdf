/* local_token.h: tokens that a hub's own user has without asking: kept in its data folder, mode 0600. */
#pragma once

#include "access/auth.h"
#include "base/err.h"

/* With --start-empty, before anything opens the folder: what is there goes aside where it cannot be used, and what was
 * done is said. 0 or -errno. */
int local_start_empty(const char *dir, const char *area, struct err *err);
/*
 * Make sure that dir/file holds a valid token of this role; one that was revoked or is unknown is replaced. place: the
 * store it must be known in; NULL: that of dir.
 */
int local_token(const char *place, const char *dir, const char *file, enum role role, const char *note,
                struct err *err);
