/*
 * relay_child.h: the relay that a hub starts for its `nodes`, `sources` and `files`: a process of its own, so that
 * nothing a machine says is parsed in the hub, with a token of its own in the hub's data folder.
 */
#ifndef CMD_RELAY_CHILD_H
#define CMD_RELAY_CHILD_H

#include "hub/server.h"

/* Would these settings do? 0 or -errno with a sentence. */
int relay_child_check(const struct hub_conf *c, struct err *err);

struct relay_child;
/* Looks at the hub's settings; without nodes nothing is started until a reload names some. */
struct relay_child *relay_child_new(struct hub *h, const char *data);
void relay_child_renew(struct relay_child *t); /* after a reload */
void relay_child_free(struct relay_child *t);

#endif
