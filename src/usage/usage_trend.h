/*
 * usage_trend.h: keeps the averages of trend.h up to date. They are read out of the counted hours of the store, so
 * every hub of a store has the same.
 */
#pragma once

#include "usage/trend.h"

struct usage_trend;
struct hub;
struct usage_trend *usage_trend_new(struct hub *h); /* reads them, on a worker */
void usage_trend_free(struct usage_trend *a);       /* after the workers */
void usage_trend_tick(struct usage_trend *a, int64_t now_ms);
const struct trend *usage_trend_now(const struct usage_trend *a); /* NULL: not read yet, or no hour is counted */
uint64_t usage_trend_version(const struct usage_trend *a);
