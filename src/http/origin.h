/* origin.h: whether a request was meant for this server: by its Host and its Origin. */
#pragma once

#include "base/str.h"

/* "host:port" -> host without brackets and port. False when it is not of that form. */
bool host_part(struct str h, struct str *ret);
/*
 * Host header: loopback names, any address (a page under a foreign name cannot have asked for that), and the names
 * given (shell patterns) are ours; anything else is refused (421). An absent one is the caller's business.
 */
bool host_allowed(struct str host_header, const char *const *names, size_t n);
/* Origin of a write must be the host asked; absent is allowed only for clients that are no browser (no Cookie). */
bool origin_allowed(struct str origin, struct str host_header, bool has_cookie);
