/*
 * usage_trend.h: keeps the averages of trend.h up to date: a step a minute out of the live state. What went before is
 * read back from counted hours when the hub starts, and when older ones were counted since, so it needs no file of its
 * own.
 */
#pragma once

#include "usage/trend.h"

struct usage_trend;
struct hub;
struct usage_trend *usage_trend_new(struct hub *h); /* reads back, on a worker */
void usage_trend_free(struct usage_trend *a);       /* after the workers */
void usage_trend_tick(struct usage_trend *a, int64_t now_ms);
void usage_trend_stale(struct usage_trend *a); /* hours of before will be counted again; accepts NULL */
void usage_trend_look(struct usage_trend *a);  /* who uses what at this moment: goes over every process there is */
/* As of the last look; *ret_known: their averages have all of the past in them. */
const struct trend *usage_trend_trend(const struct usage_trend *a, bool *ret_known);
