/*
 * relay_child.h: the relay that a hub starts for its `nodes`, `sources` and `files`: a process of its own, so that nothing a
 * machine says is parsed in the hub, with a token of its own in the hub's data folder.
 */
#ifndef CMD_RELAY_CHILD_H
#define CMD_RELAY_CHILD_H

#include "hub/server.h"

/* Would these settings do? 0 or -errno with a sentence. */
int tender_check(const struct hub_conf *c, struct err *err);

struct tender;
/* Looks at the hub's settings; without nodes nothing is started until a reload names some. */
struct tender *tender_new(struct hub *h, const char *data);
void tender_renew(struct tender *t); /* after a reload */
void tender_free(struct tender *t);

#endif
