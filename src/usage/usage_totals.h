/*
 * usage_totals.h: keeps the counters of totals.h up to date in the hub that counts: summed on a worker when hours were
 * counted, kept in the store, and told once they are durable there.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct buf;
struct hub;
struct news;
struct usage_totals;

struct usage_totals *usage_totals_new(struct hub *h);           /* with what is kept */
void usage_totals_free(struct usage_totals *u);                 /* after the workers and the store; accepts NULL */
void usage_totals_tick(struct usage_totals *u, int64_t now_ms); /* where this hub counts */
void usage_totals_hear(struct usage_totals *u, const struct news *n); /* what another hub counted */
void usage_totals_prom(const struct usage_totals *u, struct buf *out, bool openmetrics);
