/* room.h: how many connections the hub may accept: as many as it may open files, less those it needs itself. */
#pragma once

#include <stddef.h>

/*
 * Returns want connections, or as many as the limit on open files allows (it raises the limit first, as far as
 * allowed). now: current connections. Databases, children, webhooks and queries of history keep their share.
 * *ret_limit: the limit if it decided, else 0.
 */
size_t room_connections(size_t want, size_t now, size_t *ret_limit);
