/* room.h: how many connections the hub may accept: as many as it may open files, less those it needs itself. */
#pragma once

#include <stddef.h>

/*
 * want connections, or as many as the limit on open files allows (it is raised first, as far as that may be). now: how
 * many there are already. Databases, children, webhooks and questions about the past keep theirs. *ret_limit: the limit
 * where it is what decided, else 0.
 */
size_t room_connections(size_t want, size_t now, size_t *ret_limit);
