/*
 * counter.h: keeps counters monotonic. A collector's own counters start at 0 with each new collector process. Here they
 * continue per device from the last value, so that sent values never decrease within a run.
 */
#pragma once

#include <stdint.h>

struct counters;
struct counters *counters_new(void);
void counters_free(struct counters *c);
void counters_restart(struct counters *c); /* the next value of each device comes from a new process */
/* The value to send for v. A v below the last one within a process counts as a start from 0, too. */
int64_t counters_take(struct counters *c, const char *uuid, int64_t v);
