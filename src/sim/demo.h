/* demo.h: what a demo's hub must already know when it starts: a week gone by, and the node that went down before. */
#pragma once

#include "base/err.h"

/* Put it into the data folder: the week only where there is no history yet. story: when it opened, for
 * `muster simulate --cast-demo --until`, which goes on from there. */
int demo_prepare(const char *dir, char story[32], struct err *err);
/* DIR/demo.yaml: the invented people's teams and companies, and bookings for whoever looks. Written where it is not. */
int demo_config(const char *dir, struct err *err);
