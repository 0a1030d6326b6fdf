/*
 * usage_trend.h: keeps trend.h up: a step a minute out of live. What went before is read back from counted hours when the hub
 * starts, so it needs no file of its own.
 */
#ifndef USAGE_USAGE_TREND_H
#define USAGE_USAGE_TREND_H

#include "usage/trend.h"

struct asked;
struct hub;
struct asked *asked_new(struct hub *h); /* reads back, on a worker */
void asked_free(struct asked *a);       /* after the workers */
void asked_tick(struct asked *a, int64_t now_ms);
const struct trend *asked_trend(const struct asked *a);

#endif
