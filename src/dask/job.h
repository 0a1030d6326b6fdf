/* job.h: the samples of one job out of a worker's file, for drawing: times, and a column per metric and GPU. */
#pragma once

#include "dask/samples.h"

#define JOB_METRICS_MAX 32
#define JOB_VALUES_MAX  (16u << 20) /* of all metrics and GPUs */

struct job_metric {
    const char *name; /* the caller's */
    char unit[32];    /* "bytes", "%", ...; "" where nobody knows */
    size_t gpus;
    double **v; /* per GPU, n of them; NAN: not there */
};

struct dask_job {
    size_t n, cap;
    double *t; /* seconds since the worker's start, as the file has them */
    size_t n_metrics;
    struct job_metric metrics[JOB_METRICS_MAX];
};

/*
 * job NULL: all of the file. -ENOENT with a sentence that says what there is: no such metric, or no sample of such a
 * job. -E2BIG: more than JOB_VALUES_MAX. told: as in peaks.h.
 */
int job_read(const char *path, const char *job, const char *const *metrics, size_t n_metrics,
             void (*told)(void *arg, int64_t bytes), void *arg, struct dask_job *ret, struct err *err);
void job_fini(struct dask_job *j);

/* ---- boxes ---- */

/*
 * Quartiles are between the two values that are nearest (as numpy and matplotlib have them); whiskers end at the last
 * value within 1.5 times the distance of the quartiles; what lies beyond is an outlier.
 */
struct box {
    double low, q1, median, q3, high;
    size_t n_below, n_above;     /* outliers: */
    const double *below, *above; /* in the values, which are sorted then */
};
/* Sorts v. False: none of them is a number. n is left with how many are. */
bool box_of(double *v, size_t *n, struct box *ret);
