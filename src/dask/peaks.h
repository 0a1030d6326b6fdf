/* peaks.h: the highest value of a metric per GPU, of a worker's file as a whole or per job. */
#pragma once

#include "base/lookup.h"
#include "dask/samples.h"

#define PEAKS_JOBS_MAX 1000000 /* of a file */

struct peaks_job {
    const char *job; /* as in the file; "" for the whole file */
    int64_t number;  /* of a job that is a number; else INT64_MAX */
    size_t n;
    double *v; /* per GPU; NAN: no value */
};
struct peaks {
    size_t n, cap;
    struct peaks_job *v; /* jobs by number, then by name */
    struct lookup by_job;
};

/*
 * told (may be NULL): called periodically with the bytes read. Returns -ENOENT if there is no such metric, with the
 * existing ones in err; -EINVAL if the file is damaged.
 */
int peaks_of(const char *path, const char *metric, bool per_job, void (*told)(void *arg, int64_t bytes), void *arg,
             struct peaks *ret, struct err *err);
bool peaks_any(const struct peaks *p); /* has it a value at all? */
void peaks_fini(struct peaks *p);
