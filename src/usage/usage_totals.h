/*
 * usage_totals.h: keeps the counters of totals.h up to date in the hub that counts: sums on a worker after hours were
 * counted, stores the sums, and reports them once they are durable.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct buf;
struct hub;
struct hub_event;
struct usage_totals;

struct usage_totals *usage_totals_new(struct hub *h);           /* with the stored values */
void usage_totals_free(struct usage_totals *u);                 /* after the workers and the store; accepts NULL */
void usage_totals_tick(struct usage_totals *u, int64_t now_ms); /* if this hub counts */
void usage_totals_on_event(struct usage_totals *u, const struct hub_event *n); /* events: sums of another hub */
void usage_totals_prom(const struct usage_totals *u, struct buf *out, bool openmetrics);
