/* peaks.c: finds the highest value per job and device, in a single scan of the samples. */
#include <errno.h>
#include <math.h>

#include "base/lock.h"
#include "base/mem.h"
#include "base/order.h"
#include "lib/sampler.h"

#define JOBS_MAX (1u << 20)

struct job_peaks {
    char *job; /* NULL: all jobs */
    double *v;
};

struct peaks {
    muster_cursor *c;
    const char *name;
    int metric; /* -1: a value of the program's own */
    bool each;  /* of such a value: one per device */
    size_t width;
    size_t n, cap;
    struct job_peaks *jobs;
    size_t last; /* the job found last: most samples have it too */
};

static struct job_peaks *job_of(struct peaks *p, const char *job)
{
    if (p->n && (!job || !strcmp(p->jobs[p->last].job, job)))
        return &p->jobs[p->last];
    p->last = FIRST(p->n, i, !strcmp(p->jobs[i].job, job));
    if (p->last < p->n)
        return &p->jobs[p->last];
    if (p->n == JOBS_MAX)
        return NULL;
    VEC_ROOM(p->jobs, p->n, p->cap);
    struct job_peaks *j = &p->jobs[p->n++];
    *j = (struct job_peaks){.job = mem_str(job), .v = mem_zero(p->width, sizeof(*j->v))};
    for (size_t i = 0; i < p->width; i++)
        j->v[i] = (double)NAN;
    return j;
}

static int take_sample(struct peaks *p, bool per_job)
{
    struct job_peaks *j = job_of(p, per_job ? muster_cursor_label(p->c, "job") : NULL);

    if (!j)
        return -ENOSPC;
    for (size_t i = 0; i < p->width; i++) {
        double v;
        int r = p->metric >= 0 ? muster_cursor_metric(p->c, p->metric, (int)i, &v)
                               : muster_cursor_value(p->c, p->name, p->each ? (int)i : -1, &v);
        if (r == 0 && !(v <= j->v[i])) /* also over NaN */
            j->v[i] = v;
    }
    return 0;
}

static int find_what(muster_sampler *s, struct peaks *p)
{
    p->metric = muster_metric_find(s, p->name);
    p->width = s->n_devices;
    if (p->metric >= 0)
        return 0;
    LOCKED(&s->keep.lock);
    const struct mark *m = tape_mark(&s->now, p->name);
    bool own = m && m->kind != MARK_LABEL;
    p->each = own && m->kind == MARK_EACH;
    p->metric = -1;
    p->width = p->each ? s->n_devices : 1;
    return own ? 0 : -ENOENT;
}

int muster_peaks(muster_sampler *s, const char *metric, int per_job, muster_peaks_fn fn, void *arg)
{
    struct peaks p = {.name = metric};

    if (sampler_dead(s))
        return sampler_check(s);
    if (!metric || !fn)
        return -EINVAL;
    int r = find_what(s, &p);
    if (r == 0)
        r = muster_cursor_open(s, 0, &p.c);
    if (r < 0)
        return r;
    while ((r = muster_cursor_next(p.c)) == 1)
        if ((r = take_sample(&p, per_job != 0)) < 0)
            break;
    for (size_t i = 0; i < p.n && r == 0; i++)
        r = fn(arg, p.jobs[i].job, p.jobs[i].v, (int)p.width);
    for (size_t i = 0; i < p.n; i++) {
        free(p.jobs[i].job);
        free(p.jobs[i].v);
    }
    free(p.jobs);
    muster_cursor_close(p.c);
    return r;
}
