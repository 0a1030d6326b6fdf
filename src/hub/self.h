/* self.h: what the hub says of itself: notices on every screen, lines in the log, and its own metrics. */
#ifndef HUB_SELF_H
#define HUB_SELF_H

#include "hub/hub.h"

/* What every screen should say of the hub; empty when all is well. */
void self_notice(struct hub *h, char out[NOTICE_MAX]);
void self_say(struct hub *h); /* to the log and to screens what is new of it */
void self_metrics(struct hub *h, struct buf *out, bool openmetrics);

#endif
