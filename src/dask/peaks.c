/* peaks.c: finds the highest values in a single scan of a worker's file. */
#include "dask/peaks.h"

#include <errno.h>
#include <math.h>

#include "base/mem.h"
#include "base/order.h"
#include "base/rand.h"

#define TELL_EVERY 4096 /* records */

/* NULL: too many. */
static struct peaks_job *job_of(struct peaks *p, struct str job)
{
    uint64_t hash = fnv64(job.p, job.len);
    size_t at = 0, i;
    int64_t number;

    while (p->v && (i = lookup_next_place(&p->by_job, hash, &at)) != SIZE_MAX)
        if (str_eq(job, p->v[i].job))
            return &p->v[i];
    if (p->n == PEAKS_JOBS_MAX)
        return NULL;
    lookup_add_place(&p->by_job, hash, p->n);
    VEC_ADD(p->v, p->n, p->cap, (struct peaks_job){.job = mem_strn(job.p, job.len), .number = INT64_MAX});
    if (str_int(job, &number))
        p->v[p->n - 1].number = number;
    return &p->v[p->n - 1];
}

static void take(struct peaks_job *j, const double *v, size_t n)
{
    if (n > j->n) {
        j->v = mem_grow(j->v, n, sizeof(*j->v));
        for (; j->n < n; j->n++)
            j->v[j->n] = NAN;
    }
    for (size_t i = 0; i < n; i++)
        if (!(v[i] <= j->v[i]) && !isnan(v[i])) /* NAN is not above anything, and everything is above NAN */
            j->v[i] = v[i];
}

COMPARE(cmp, struct peaks_job, ORDER(x->number, y->number) ?: strcmp(x->job, y->job))

static int read_all(struct samples *s, const int columns[2], bool per_job, void (*told)(void *, int64_t), void *arg,
                    struct peaks *p, struct err *err)
{
    AUTO_FREE double *v = mem_zero(SAMPLES_GPUS_MAX, sizeof(*v));
    struct str cells[2], last = {0};
    struct peaks_job *j = NULL;
    size_t records = 0;
    int r;
    while ((r = samples_next(s, columns, 2, cells, err)) > 0) {
        struct str job = per_job ? str_trim(cells[0]) : str_n("", 0);
        if (!j || (per_job && !str_eq_str(job, last))) {
            j = job_of(p, job);
            if (!j)
                return err_set(err, -E2BIG, "more than %d jobs", PEAKS_JOBS_MAX);
            last = str_of(j->job);
        }
        take(j, v, samples_numbers(cells[1], v));
        if (told && ++records % TELL_EVERY == 0)
            told(arg, samples_done(s));
    }
    return r;
}

int peaks_of(const char *path, const char *metric, bool per_job, void (*told)(void *arg, int64_t bytes), void *arg,
             struct peaks *ret, struct err *err)
{
    struct samples *s = NULL;
    struct peaks p = {0};
    int r = samples_open(path, &s, err);
    if (r < 0)
        return r;
    int columns[2] = {samples_find(s, "job"), samples_metric(s, metric, err)};
    r = columns[1] < 0 ? columns[1] : read_all(s, columns, per_job, told, arg, &p, err);
    samples_close(s);
    if (r < 0) {
        peaks_fini(&p);
        return r;
    }
    SORT(p.v, p.n, cmp);
    *ret = p;
    return 0;
}

bool peaks_any(const struct peaks *p)
{
    for (size_t i = 0; i < p->n; i++)
        if (ANY(p->v[i].n, k, !isnan(p->v[i].v[k])))
            return true;
    return false;
}

void peaks_fini(struct peaks *p)
{
    for (size_t i = 0; i < p->n; i++) {
        free((char *)p->v[i].job);
        free(p->v[i].v);
    }
    free(p->v);
    lookup_fini(&p->by_job);
    *p = (struct peaks){0};
}
