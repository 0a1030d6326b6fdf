/*
 * dataset.h: all_runs_data.csv of the W&B dashboard, a row per run and day, in its three historical sets of columns;
 * and deleted_runs_data.csv. Reads and writes in pieces: the memory is that of one record for files of any length.
 *
 * D1 Columns are found by name, in any order. Unknown columns are ignored, missing ones are null.
 * D2 Numbers are decimals and stay exact: minutes, and 1e-9 %.
 * D3 An invalid row is reported with its line and the reason, and the others are read. A file that is not such a table
 *    is rejected.
 * D4 Written rows are read back unchanged.
 * D5 Times are in the zone, without an offset; a time with an offset is converted.
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
    int (*row)(void *arg, const struct dataset_row *row, struct err *err); /* nonzero: stops, and is returned */
    void (*bad)(void *arg, uint64_t line, const char *why);                /* may be NULL */
    void *arg;
};

struct dataset;
/* zone outlives it. */
struct dataset *dataset_new(const struct zone *zone, const struct dataset_take *take);
void dataset_free(struct dataset *d);
/*
 * Parses the next piece of the file. Returns 0; the result of row; -EINVAL with a message in err if it is not such a
 * table, or if a record does not end.
 */
int dataset_feed(struct dataset *d, struct str piece, struct err *err);
/* Ends the file. Returns -EINVAL if there was no header line. */
int dataset_end(struct dataset *d, struct err *err);

/* ---- out ---- */

/* Gets the bytes in order, in pieces of about DATASET_PIECE at most. Nonzero: stops, and is returned. */
typedef int dataset_out_fn(void *arg, struct str piece);
#define DATASET_PIECE 65536

struct dataset_params {
    enum dataset_set set;
    const struct zone *zone;
    int32_t from, to; /* days; INT32_MIN, INT32_MAX: all */
};
/*
 * Writes every stored row except those of barred runs; rows of deleted runs are included (see column run_exists).
 * Sorted by team, newest day first, run id, project. Returns the number of rows, the result of out, or an error of the
 * store.
 */
int64_t dataset_write(struct wandb_store *s, const struct dataset_params *ask, dataset_out_fn *out, void *arg,
                      struct err *err);
/* Writes runs found deleted at since_ms or later, a line each. Always writes the header line. */
int64_t dataset_write_deleted(struct wandb_store *s, const struct zone *zone, int64_t since_ms, dataset_out_fn *out,
                              void *arg, struct err *err);

/* One row, for tests. */
void dataset_row_text(struct buf *out, enum dataset_set set, const struct zone *zone, const struct wandb_run *run,
                      const struct wandb_day *day);
void dataset_head_text(struct buf *out, enum dataset_set set);
