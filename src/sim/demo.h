/* demo.h: data that a demo's hub needs at its start: a week of history, and the node that is down. */
#pragma once

#include "base/err.h"

/* Writes it into the data folder; the week only if there is no history yet. Sets story to the start time of the story,
 * for `muster simulate --cast-demo --until`, which continues it. */
int demo_prepare(const char *dir, char story[32], struct err *err);
/* Writes DIR/demo.yaml with teams and companies of the simulated users, and bookings of the viewer, unless it exists.
 */
int demo_config(const char *dir, struct err *err);
