/*
 * travel.h: the whole cluster as it was at a moment: the newest value of each metric within two minutes before, who was
 * on the devices, and states judged by the rule in force now. Up to two hours back the samples themselves are read,
 * further back the minute tier. Names, devices and custom metrics are those in force then, as far as they are known.
 */
#pragma once

#include "history/history.h"
#include "now/live.h"

#define TRAVEL_WINDOW_MS 120000
#define TRAVEL_RAW_MS    7200000
#define TRAVEL_MINUTE    INT64_MAX /* as now_ms: the whole minute that ends at at_ms */

struct api;
void travel_register(struct api *a); /* routes_travel.c: what api.h asks of it */

struct travel;
/* Copies what it needs of v's nodes. */
struct travel *travel_new(const struct view *v, const struct state_rule *rule, int64_t at_ms, int64_t now_ms);
void travel_free(struct travel *t);
size_t travel_count(const struct travel *t); /* nodes */
/* The i-th as it was, ended with node_now_fini. 1; 0: it was not there (retired, and nothing stored of then); -errno.
 */
int travel_node(const struct travel *t, size_t i, const struct past_source *past, struct node_now *ret,
                struct err *err);

/* To another moment; what is kept of the nodes stays. */
void travel_to(struct travel *t, int64_t at_ms, int64_t now_ms);
/* The newest moments at or before at_ms, at most max of them and within a day before its newest news, of which the i-th
 * node has samples, oldest first; ret has room for max. minutes: all that is left are minutes. A count, or -errno. */
int travel_moments(const struct travel *t, size_t i, const struct past_source *past, size_t max, int64_t *ret,
                   bool *ret_minutes, struct err *err);
