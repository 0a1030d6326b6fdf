/*
 * samples.h: reads a worker's CSV (docs/plot.md), record by record: job,dag,timestamp and a column per metric, where a
 * cell of several GPUs is "a, b". For files of any length: only one record is in memory.
 *
 * M1 Memory is bounded by the longest record, SAMPLES_RECORD_MAX.
 * M2 Invalid bytes are handled; an error names the file and the line.
 * M3 A cell that is empty or not a number (None, nan) is absent, not zero.
 */
#pragma once

#include "base/err.h"
#include "base/str.h"

#define SAMPLES_RECORD_MAX  (1u << 20)
#define SAMPLES_COLUMNS_MAX 1000
#define SAMPLES_GPUS_MAX    1024 /* values of a cell; further ones are ignored */

struct samples;
/* Opens it and reads the header line. Returns -EINVAL with a message in err if it has no columns job and timestamp. */
int samples_open(const char *path, struct samples **ret, struct err *err);
void samples_close(struct samples *s);
int samples_find(const struct samples *s, const char *name); /* or -1 */
/* The same for a metric (not job, dag or timestamp); -ENOENT with a message in err that lists the metrics. */
int samples_metric(const struct samples *s, const char *name, struct err *err);
int64_t samples_done(const struct samples *s); /* bytes read so far */

/*
 * Reads the next record: the cells of n columns into cells, without their quotes (a quote within is still doubled),
 * valid until the next call. Returns 1, 0 at the end, -EINVAL with a message in err.
 */
int samples_next(struct samples *s, const int *columns, size_t n, struct str *cells, struct err *err);

/* The numbers of a cell, at most SAMPLES_GPUS_MAX, NAN for other values. Returns how many. */
size_t samples_numbers(struct str cell, double *ret);
bool samples_number(struct str s, double *ret); /* false: not a number */

/* Data of the companion file (worker_0.json for worker_0.csv); empty if the file or the value is missing. */
struct samples_about {
    char name[128], host[128];
};
void samples_about(const char *csv_path, struct samples_about *ret);
/*
 * The unit of a metric in the form of draw/plot.h ("bytes", "%", "watts"), from the companion file, else from its name;
 * "" if unknown.
 */
const char *samples_unit(const char *csv_path, const char *metric, char out[32]);

/* ---- a folder of worker files ---- */

struct worker_file {
    int64_t number; /* of worker_10.csv: 10 */
    char *path;
    int64_t bytes;
};
struct worker_files {
    size_t n;
    struct worker_file *v; /* by number */
};
/*
 * Finds every *_<number>.csv of a folder, or one file. Returns -ENOENT if not found; -EEXIST if a number is there
 * twice.
 */
int worker_files_find(const char *path, struct worker_files *ret, struct err *err);
void worker_files_fini(struct worker_files *w);
