/*
 * dataset.h: all_runs_data.csv of the W&B dashboard, a row per run and day, in the three sets of columns it has had;
 * and deleted_runs_data.csv. Read piece by piece and written piece by piece: a file of any length takes the memory of
 * one record.
 *
 * D1 Columns are found by their names, in any order; those that are not known are passed over, those that are missing
 * are null. D2 Numbers are decimals and stay exact: minutes, and 1e-9 %. D3 A row that cannot be taken is told of with
 * its line and why, and the others go on; a file that is not such a table at all is refused. D4 What is written is read
 * back the same. D5 Times are those of the zone, without an offset; one that names an offset is taken by it.
 */
#pragma once

#include "base/err.h"
#include "base/zone.h"
#include "wandb/store.h"

struct buf;

enum dataset_set {
    DATASET_18,  /* with cpu_count and run_exists */
    DATASET_16,  /* as first described */
    DATASET_OLD, /* before that: assigned_gpu_node and testmode, no tags and hosts */
    DATASET_SETS
};
extern const char *const dataset_words[DATASET_SETS + 1]; /* "18", "16", "old"; ends with NULL */

#define DATASET_COLUMNS_MAX 64 /* of a file */

/* ---- in ---- */

struct dataset_row {
    struct wandb_run run; /* its key and exists; text valid during the call */
    struct wandb_day day;
    uint64_t line;
};
struct dataset_take {
    int (*row)(void *arg, const struct dataset_row *row, struct err *err); /* other than 0: it stops, with that */
    void (*bad)(void *arg, uint64_t line, const char *why);                /* NULL: nobody asks */
    void *arg;
};

struct dataset;
/* zone outlives it. */
struct dataset *dataset_new(const struct zone *zone, const struct dataset_take *take);
void dataset_free(struct dataset *d);
/* Any piece of the file, in order. 0; what row returned; -EINVAL with a sentence: not such a table, or a record that
 * never ends. */
int dataset_feed(struct dataset *d, struct str piece, struct err *err);
/* There is no more. -EINVAL: there was no line of names. */
int dataset_end(struct dataset *d, struct err *err);

/* ---- out ---- */

/* Some bytes, in order, at most about DATASET_PIECE at once. Other than 0: it stops, with that. */
typedef int dataset_out_fn(void *arg, struct str piece);
#define DATASET_PIECE 65536

struct dataset_ask {
    enum dataset_set set;
    const struct zone *zone;
    int32_t from, to; /* days; INT32_MIN, INT32_MAX: all */
};
/*
 * Every row that is stored, also of deleted runs (run_exists says so where there is that column), but none of barred
 * ones; by team, newest day first, run id, project. The number of rows, what out returned, or what the store gave.
 */
int64_t dataset_write(struct wandb_store *s, const struct dataset_ask *ask, dataset_out_fn *out, void *arg,
                      struct err *err);
/* Runs found deleted at since_ms or later, a line each; the line of names also when there is none. */
int64_t dataset_write_deleted(struct wandb_store *s, const struct zone *zone, int64_t since_ms, dataset_out_fn *out,
                              void *arg, struct err *err);

/* One row, for tests. */
void dataset_row_text(struct buf *out, enum dataset_set set, const struct zone *zone, const struct wandb_run *run,
                      const struct wandb_day *day);
void dataset_head_text(struct buf *out, enum dataset_set set);
