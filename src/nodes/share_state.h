/*
 * share_state.h: this hub's data about each node, in the form the node would send it, for a hub that has just started
 * or missed messages. Nodes that no longer send then look the same on all hubs.
 */
#pragma once

#include "hub/hub.h"

/* Adds one part of a message (share.h) for each node that this hub received data from or has given up. */
void nodes_share_state(struct hub *h, struct buf *to);
