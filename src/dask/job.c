/* job.c: reads the samples of one job into columns. */
#include "dask/job.h"

#include <errno.h>
#include <math.h>

#include "base/buf.h"
#include "base/mem.h"
#include "base/order.h"

#define TELL_EVERY 4096
#define SEEN_MAX   100000 /* jobs that are remembered, to name them when it is another */

struct seen {
    size_t n, cap;
    int64_t *v;
    bool others; /* jobs that are no numbers, or too many */
};

static void see(struct seen *s, struct str job)
{
    int64_t number;
    if (!str_int(job, &number) || s->n == SEEN_MAX) {
        s->others = true;
    } else if (!s->n || s->v[s->n - 1] != number) {
        VEC_ADD(s->v, s->n, s->cap, number);
    }
}

/* "0-4, 6, 8-30" */
static void add_ranges(struct buf *b, struct seen *s)
{
    SORT(s->v, s->n, order_numbers);
    for (size_t i = 0; i < s->n && b->len < 200;) {
        size_t end = i + 1;
        while (end < s->n && s->v[end] <= s->v[end - 1] + 1)
            end++;
        buf_addf(b, "%s%lld", b->len ? ", " : "", (long long)s->v[i]);
        if (s->v[end - 1] > s->v[i])
            buf_addf(b, "-%lld", (long long)s->v[end - 1]);
        i = end;
        if (b->len >= 200 && i < s->n)
            buf_adds(b, " ...");
    }
    if (s->others)
        buf_adds(b, b->len ? " and others" : "others");
    if (!b->len)
        buf_adds(b, "none");
}

/* ---- reading ---- */

static void add_row(struct dask_job *j)
{
    if (j->n == j->cap) {
        j->cap = j->cap ? j->cap * 2 : 1024;
        j->t = mem_grow(j->t, j->cap, sizeof(*j->t));
        for (size_t m = 0; m < j->n_metrics; m++)
            for (size_t g = 0; g < j->metrics[m].gpus; g++)
                j->metrics[m].v[g] = mem_grow(j->metrics[m].v[g], j->cap, sizeof(double));
    }
    j->n++;
}

/* Adds GPUs; their values are unknown in earlier rows. */
static void add_gpus(struct dask_job *j, struct job_metric *m, size_t gpus)
{
    m->v = mem_grow(m->v, gpus, sizeof(*m->v));
    for (; m->gpus < gpus; m->gpus++) {
        m->v[m->gpus] = mem_zero(j->cap, sizeof(double));
        for (size_t i = 0; i + 1 < j->n; i++)
            m->v[m->gpus][i] = NAN;
    }
}

static int take(struct dask_job *j, const struct str *cells, double *room, struct err *err)
{
    double t = NAN;
    size_t all = 0;
    samples_number(str_trim(cells[1]), &t);
    if (isnan(t))
        return 0; /* a sample without a time has no place */
    add_row(j);
    j->t[j->n - 1] = t;
    for (size_t m = 0; m < j->n_metrics; m++) {
        struct job_metric *to = &j->metrics[m];
        size_t n = samples_numbers(cells[m + 2], room);
        if (n > to->gpus)
            add_gpus(j, to, n);
        for (size_t g = 0; g < to->gpus; g++)
            to->v[g][j->n - 1] = g < n ? room[g] : NAN;
        all += to->gpus;
    }
    if (all * j->n > JOB_VALUES_MAX)
        return err_set(err, -E2BIG, "more than %u values: too much to draw; choose a job", JOB_VALUES_MAX);
    return 0;
}

static int read_all(struct samples *s, const char *job, const int *columns, void (*told)(void *, int64_t), void *arg,
                    struct dask_job *j, struct seen *seen, struct err *err)
{
    AUTO_FREE double *room = mem_zero(SAMPLES_GPUS_MAX, sizeof(*room));
    struct str cells[JOB_METRICS_MAX + 2];
    size_t records = 0;
    int r;
    while ((r = samples_next(s, columns, j->n_metrics + 2, cells, err)) > 0) {
        struct str of = str_trim(cells[0]);
        if (job && !str_eq(of, job))
            see(seen, of);
        else if ((r = take(j, cells, room, err)) < 0)
            return r;
        if (told && ++records % TELL_EVERY == 0)
            told(arg, samples_done(s));
    }
    return r;
}

static int find_columns(const char *path, struct samples *s, const char *const *metrics, struct dask_job *j,
                        int *columns, struct err *err)
{
    columns[0] = samples_find(s, "job");
    columns[1] = samples_find(s, "timestamp");
    for (size_t m = 0; m < j->n_metrics; m++) {
        if ((columns[m + 2] = samples_metric(s, metrics[m], err)) < 0)
            return columns[m + 2];
        j->metrics[m].name = metrics[m];
        samples_unit(path, metrics[m], j->metrics[m].unit);
    }
    return 0;
}

int job_read(const char *path, const char *job, const char *const *metrics, size_t n_metrics,
             void (*told)(void *arg, int64_t bytes), void *arg, struct dask_job *ret, struct err *err)
{
    struct samples *s = NULL;
    struct dask_job j = {.n_metrics = n_metrics};
    struct seen seen = {0};
    int columns[JOB_METRICS_MAX + 2];
    if (!n_metrics || n_metrics > JOB_METRICS_MAX)
        return err_set(err, -EINVAL, "expected 1 to %d metrics", JOB_METRICS_MAX);
    int r = samples_open(path, &s, err);
    if (r == 0)
        r = find_columns(path, s, metrics, &j, columns, err);
    if (r == 0)
        r = read_all(s, job, columns, told, arg, &j, &seen, err);
    if (r == 0 && !j.n) {
        AUTO_BUF there = BUF_INIT(1024);
        add_ranges(&there, &seen);
        r = job ? err_set(err, -ENOENT, "'%s' has no job '%.40s'; its jobs are %s", path, job, there.p)
                : err_set(err, -ENOENT, "'%s' has no samples", path);
    }
    samples_close(s);
    free(seen.v);
    if (r < 0)
        job_fini(&j);
    else
        *ret = j;
    return r;
}

void job_fini(struct dask_job *j)
{
    for (size_t m = 0; m < j->n_metrics; m++) {
        for (size_t g = 0; g < j->metrics[m].gpus; g++)
            free(j->metrics[m].v[g]);
        free(j->metrics[m].v);
    }
    free(j->t);
    *j = (struct dask_job){0};
}

/* ---- boxes ---- */

COMPARE(cmp_double, double, ORDER(*x, *y))

static double quartile(const double *v, size_t n, double share)
{
    double at = (double)(n - 1) * share;
    size_t low = (size_t)floor(at), high = MIN(low + 1, n - 1);
    return v[low] + (v[high] - v[low]) * (at - (double)low);
}

bool box_of(double *v, size_t *n, struct box *ret)
{
    size_t known = 0;
    for (size_t i = 0; i < *n; i++)
        if (isfinite(v[i]))
            v[known++] = v[i];
    *n = known;
    if (!known)
        return false;
    qsort(v, known, sizeof(*v), cmp_double);
    struct box b = {.q1 = quartile(v, known, 0.25), .median = quartile(v, known, 0.5), .q3 = quartile(v, known, 0.75)};
    double reach = 1.5 * (b.q3 - b.q1);
    while (v[b.n_below] < b.q1 - reach)
        b.n_below++;
    while (v[known - 1 - b.n_above] > b.q3 + reach)
        b.n_above++;
    b.below = v;
    b.above = v + (known - b.n_above);
    b.low = MIN(v[b.n_below], b.q1);
    b.high = MAX(v[known - 1 - b.n_above], b.q3);
    *ret = b;
    return true;
}
