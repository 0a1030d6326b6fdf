/*
 * samples.h: a worker's CSV (docs/plot.md), record by record: job,dag,timestamp and a column per metric, where a cell
 * of several GPUs is "a, b". Files of any length: what is kept is one record.
 *
 * M1 Memory is bounded by the longest record, SAMPLES_RECORD_MAX. M2 Any bytes are survived; an error names the file
 * and the line. M3 A cell that is empty or no number (None, nan) is absent, not zero.
 */
#pragma once

#include "base/err.h"
#include "base/str.h"

#define SAMPLES_RECORD_MAX  (1u << 20)
#define SAMPLES_COLUMNS_MAX 1000
#define SAMPLES_GPUS_MAX    1024 /* values of a cell; more are passed over */

struct samples;
/* Opens it and reads the line of names. -EINVAL with a sentence: it has no columns job and timestamp. */
int samples_open(const char *path, struct samples **ret, struct err *err);
void samples_close(struct samples *s);
int samples_find(const struct samples *s, const char *name); /* or -1 */
/* The same for what is no job, dag or timestamp; -ENOENT with a sentence that says what there is. */
int samples_metric(const struct samples *s, const char *name, struct err *err);
int64_t samples_done(const struct samples *s); /* bytes read so far */

/*
 * The next record: the cells of n columns into cells, without their quotes (a quote within is still doubled), good
 * until the next call. 1, 0 at the end, -EINVAL with a sentence.
 */
int samples_next(struct samples *s, const int *columns, size_t n, struct str *cells, struct err *err);

/* The numbers of a cell, at most SAMPLES_GPUS_MAX, NAN where there is none. How many. */
size_t samples_numbers(struct str cell, double *ret);
bool samples_number(struct str s, double *ret); /* false: it is none */

/* What the companion file says (worker_0.json for worker_0.csv); empty where there is none, or it does not say. */
struct samples_about {
    char name[128], host[128];
};
void samples_about(const char *csv_path, struct samples_about *ret);
/* The unit of a metric as draw/plot.h has them ("bytes", "%", "watts"), by the companion file, else by its name; ""
 * where nobody knows. */
const char *samples_unit(const char *csv_path, const char *metric, char out[32]);

/* ---- a folder of them ---- */

struct worker_file {
    int64_t number; /* of worker_10.csv: 10 */
    char *path;
    int64_t bytes;
};
struct worker_files {
    size_t n;
    struct worker_file *v; /* by number */
};
/* Every *_<number>.csv of a folder, or one file. -ENOENT: there is none; -EEXIST: a number is there twice. */
int worker_files_find(const char *path, struct worker_files *ret, struct err *err);
void worker_files_fini(struct worker_files *w);
