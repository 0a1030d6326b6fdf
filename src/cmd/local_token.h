/* local_token.h: tokens that a hub's own user has without asking: kept in its data folder, mode 0600. */
#ifndef CMD_LOCAL_TOKEN_H
#define CMD_LOCAL_TOKEN_H

#include "auth/auth.h"
#include "base/err.h"

/* Make sure that dir/file holds a valid token of this role; one that was revoked or is unknown is replaced. */
int local_token(const char *dir, const char *file, enum role role, const char *note, struct err *err);

#endif
