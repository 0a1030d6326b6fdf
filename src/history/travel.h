/*
 * travel.h: the whole cluster at an earlier time: the newest value of each metric within two minutes before, the
 * processes on the devices, and states by the current rule. Up to two hours back it reads samples, further back the
 * minute tier. Names, devices and custom metrics are those of that time, as far as known.
 */
#pragma once

#include "history/history.h"
#include "now/live.h"

#define TRAVEL_WINDOW_MS 120000
#define TRAVEL_RAW_MS    7200000
#define TRAVEL_MINUTE    INT64_MAX /* as now_ms: the whole minute that ends at at_ms */

struct api;
void travel_register(struct api *a); /* routes_travel.c: registers callbacks of api.h */

struct travel;
/* Copies the data it needs of v's nodes. */
struct travel *travel_new(const struct view *v, const struct state_rule *rule, int64_t at_ms, int64_t now_ms);
void travel_free(struct travel *t);
size_t travel_count(const struct travel *t); /* nodes */
/* Returns the i-th node as it was, to free with node_now_fini(). 1; 0: it did not exist (retired, and no data of then);
 * -errno. */
int travel_node(const struct travel *t, size_t i, const struct past_source *past, struct node_now *ret,
                struct err *err);

/* Changes the time; cached data of the nodes stays. */
void travel_to(struct travel *t, int64_t at_ms, int64_t now_ms);
/* The newest times at or before at_ms at which the i-th node has samples, oldest first: at most max, within a day
 * before its newest report. ret has room for max. minutes: only minutes are left. Returns a count or -errno. */
int travel_times(const struct travel *t, size_t i, const struct past_source *past, size_t max, int64_t *ret,
                 bool *ret_minutes, struct err *err);
