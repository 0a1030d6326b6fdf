/*
 * again.h: what this hub knows of each node, as if the node had sent it just now, for a hub that was not there when the
 * node did: it has just started, or missed messages. A node that sends nothing any more is then the same on all hubs.
 */
#pragma once

#include "hub/hub.h"

/* One part of a message (share.h) for each node that this hub has heard or has given up. */
void nodes_put_again(struct hub *h, struct buf *to);
