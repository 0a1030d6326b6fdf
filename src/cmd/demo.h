/* demo.h: what a demo's hub must already know when it starts: the node that went down before. */
#ifndef CMD_DEMO_H
#define CMD_DEMO_H

#include "base/err.h"

/* Put the demo's silent node into the (empty or earlier) data folder. */
int demo_prepare(const char *dir, struct err *err);

#endif
