/*
 * history.h: a query of history: devices, metrics, time range, step, and how the samples of a bin become one number.
 * The loop thread parses it and resolves it against the current nodes; any thread can run it on the store.
 *
 * Q1 Every word has a maximum length and is refused with a message that names it.
 * Q2 The work is bounded: at most HISTORY_POINTS_MAX bins per series and HISTORY_CELLS_MAX in total.
 * Q3 A gap is SERIES_NONE, never 0.
 * Q4 Numbers are exact: stored integers for min, max, sum, last and count; a hundredth of the stored unit for avg and
 *    rate.
 */
#pragma once

#include "history/key.h"
#include "hub/past.h"
#include "model/now.h"
#include "model/series.h"

#define HISTORY_POINTS     500 /* default per series */
#define HISTORY_POINTS_MAX 11000
#define HISTORY_CELLS_MAX  4000000
#define HISTORY_SERIES_MAX 20000
#define HISTORY_READ_MAX   400000 /* series that go into groups */
#define HISTORY_WORDS      64     /* device patterns, metric names */

enum agg { AGG_AVG, AGG_MIN, AGG_MAX, AGG_SUM, AGG_LAST, AGG_COUNT, AGG_RATE, AGGS };
extern const char *const agg_words[AGGS];

/* A request's text, borrowed. Devices, metrics and aggs may be repeated, and may be comma-separated lists. */
struct history_words {
    size_t n_devices, n_metrics, n_aggs;
    struct str devices[HISTORY_WORDS], metrics[HISTORY_WORDS], aggs[AGGS];
    struct str from, to, step, points, group, fold, tier;
    const struct node_now *only; /* the only possible node of its devices, if the caller knows it; else NULL */
    struct roster *roster;       /* cached names of nodes; may be NULL */
};
/* Parses one parameter of a request. True: accepted; false: not a parameter of history. *ret is -EINVAL if there are
 * too many of it. */
bool history_word(struct history_words *w, struct str name, struct str value, int *ret, struct err *err);

struct history_query; /* owns copies of everything it needs */
/*
 * Resolves the words against v, all nodes. keep: returns false for devices to skip (a filter); NULL: all.
 * Returns 0; -EINVAL; -ENOENT: nothing of that name; -E2BIG: too much data.
 */
int history_query_new(const struct history_words *w, const struct view *v, int64_t now_ms,
                      bool (*keep)(void *arg, const struct node_now *n, const struct device_now *d), void *arg,
                      struct history_query **ret, struct err *err);
/* Sets the identity mapping for group=person and group=team, before the query runs. Without it logins are persons, in
 * no team. */
struct people;
void history_query_people(struct history_query *q, const struct people *c);
void history_query_free(struct history_query *q);

/*
 * The key of the resolved query: two queries with the same key have the same result while the stored data up to
 * *ret_to_ms is the same. False: the result also depends on the time, or on records. seed: of this start.
 */
bool history_query_key(const struct history_query *q, uint64_t seed, struct history_key *ret, int64_t *ret_to_ms);

/* The output: start once (again if a finer tier had no data and a coarser one is tried), then each series. */
struct series_out {
    void *arg;
    void (*start)(void *arg, const struct series_frame *f);
    void (*each)(void *arg, const struct series *s);
    void (*end)(void *arg, const struct series_frame *f);
};
int history_query_run(const struct history_query *q, const struct past_source *past, const struct series_out *sink,
                      struct err *err);
int64_t history_step(int64_t span_ms, int64_t points); /* the finest of a table of round steps that needs no more
                                                        * points */

/* ---- for tests ---- */
/* Converts n bins behind `before` earlier ones to n numbers. */
void history_fold_bins(const struct bin *b, size_t before, size_t n, enum agg agg, int64_t step_ms, int64_t *v);
