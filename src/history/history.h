/*
 * history.h: a question about the past: which devices, which metrics, from when to when, how fine, and how the samples
 * of a bin become one number. Parsed and resolved against the nodes there are now on the loop's thread; answered out of
 * the store on any thread.
 *
 * Q1 Every word is capped and refused with a sentence that names it. Q2 The work is bounded: at most
 * HISTORY_POINTS_MAX bins per series and HISTORY_CELLS_MAX in all. Q3 A gap is SERIES_NONE, never 0. Q4 Numbers are
 * exact: stored integers for min, max, sum, last and count; a hundredth of the stored unit for avg and rate.
 */
#pragma once

#include "history/key.h"
#include "hub/past.h"
#include "model/now.h"
#include "model/series.h"

#define HISTORY_POINTS     500 /* per series, unless told */
#define HISTORY_POINTS_MAX 11000
#define HISTORY_CELLS_MAX  4000000
#define HISTORY_SERIES_MAX 20000
#define HISTORY_READ_MAX   400000 /* series that go into groups */
#define HISTORY_WORDS      64     /* device patterns, metric names */

enum agg { AGG_AVG, AGG_MIN, AGG_MAX, AGG_SUM, AGG_LAST, AGG_COUNT, AGG_RATE, AGGS };
extern const char *const agg_words[AGGS];

/* A request's text, borrowed. Devices, metrics and aggs may be given several times, and as lists with commas. */
struct history_words {
    size_t n_devices, n_metrics, n_aggs;
    struct str devices[HISTORY_WORDS], metrics[HISTORY_WORDS], aggs[AGGS];
    struct str from, to, step, points, group, fold, tier;
    const struct node_now *only; /* NULL, or the one node that its devices can be of, known by who asks */
    struct roster *roster;       /* NULL, or what earlier questions learned of nodes */
};
/* One parameter of a request. True: taken; false: not one of ours. -EINVAL in *ret when there are too many of it. */
bool history_word(struct history_words *w, struct str name, struct str value, int *ret, struct err *err);

struct history_query; /* owns copies of everything it needs */
/*
 * Resolve against v, every node there is. keep: devices it says no to are left out (a filter); NULL: all.
 * 0; -EINVAL; -ENOENT: nothing of that name; -E2BIG: too much at once.
 */
int history_query_new(const struct history_words *w, const struct view *v, int64_t now_ms,
                      bool (*keep)(void *arg, const struct node_now *n, const struct device_now *d), void *arg,
                      struct history_query **ret, struct err *err);
/* Who is who, for group=person and group=team; before it is answered. Without: logins are persons, in no team. */
struct people;
void history_query_people(struct history_query *q, const struct people *c);
void history_query_free(struct history_query *q);

/*
 * What was asked, as it was resolved: two of the same key have the same answer while what is stored of them is the
 * same, up to *ret_to_ms. False: the answer also depends on the time, or on records. seed: of this start.
 */
bool history_query_key(const struct history_query *q, uint64_t seed, struct history_key *ret, int64_t *ret_to_ms);

/* What is given out: start once (again when a finer tier had nothing and a coarser one is tried), then each series. */
struct series_out {
    void *arg;
    void (*start)(void *arg, const struct series_frame *f);
    void (*each)(void *arg, const struct series *s);
    void (*end)(void *arg, const struct series_frame *f);
};
int history_query_run(const struct history_query *q, const struct past_source *past, const struct series_out *sink,
                      struct err *err);
int64_t history_step(int64_t span_ms, int64_t points); /* the finest of a table of round steps that needs no more */

/* ---- for tests ---- */
/* n bins behind `before` earlier ones into n numbers; extra: v counts this many to the stored unit. */
void history_fold_bins(const struct bin *b, size_t before, size_t n, enum agg agg, int64_t step_ms, int64_t *v);
