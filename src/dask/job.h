/* job.h: the samples of one job out of a worker's file, for drawing: times, and a column per metric and GPU. */
#pragma once

#include "dask/samples.h"

#define JOB_METRICS_MAX 32
#define JOB_VALUES_MAX  (16u << 20) /* of all metrics and GPUs */

struct job_metric {
    const char *name; /* the caller's */
    char unit[32];    /* "bytes", "%", ...; "" if unknown */
    size_t gpus;
    double **v; /* per GPU, n of them; NAN: absent */
};

struct dask_job {
    size_t n, cap;
    double *t; /* seconds since the worker's start, as in the file */
    size_t n_metrics;
    struct job_metric metrics[JOB_METRICS_MAX];
};

/*
 * job NULL: the whole file. Returns -ENOENT with a message in err that lists the existing ones: no such metric, or no
 * sample of such a job. -E2BIG: more than JOB_VALUES_MAX. told: as in peaks.h.
 */
int job_read(const char *path, const char *job, const char *const *metrics, size_t n_metrics,
             void (*told)(void *arg, int64_t bytes), void *arg, struct dask_job *ret, struct err *err);
void job_fini(struct dask_job *j);

/* ---- boxes ---- */

/*
 * Quartiles are interpolated between the two nearest values (as in numpy and matplotlib). Whiskers end at the last
 * value within 1.5 times the interquartile range; values beyond are outliers.
 */
struct box {
    double low, q1, median, q3, high;
    size_t n_below, n_above;     /* outliers: */
    const double *below, *above; /* in the values, which are sorted then */
};
/* Sorts v. Returns false if it has no numbers. Sets n to the number of numbers. */
bool box_of(double *v, size_t *n, struct box *ret);
