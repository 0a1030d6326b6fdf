/* origin.h: whether a request was meant for this server: by its Host and its Origin. */
#pragma once

#include "base/str.h"

/* "host:port" -> host without brackets and port. False when it is not of that form. */
bool host_part(struct str h, struct str *ret);
/*
 * Accepts a Host header with a loopback name, any address (a page under a foreign name cannot send that), or one of the
 * given names (shell patterns); refuses others (421). The caller handles an absent one.
 */
bool host_allowed(struct str host_header, const char *const *names, size_t n);
/* Origin of a write must be the host of the request; absent is allowed only for clients that are not browsers (no
 * Cookie). */
bool origin_allowed(struct str origin, struct str host_header, bool has_cookie);
