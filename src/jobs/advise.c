/* advise.c: which runs are looked at, and what they add up to. */
#include "jobs/advise.h"

#include <errno.h>
#include <math.h>

#include "base/clock.h"
#include "base/mem.h"
#include "base/order.h"
#include "jobs/auto.h"
#include "people/people.h"

#define JOBS_MOST   20000
#define CELLS_PART  8    /* where there are more runs, one may take so many'th of what is left */
#define PRICED      64   /* GPUs of a run whose price is asked for */
#define LEAST_HOURS 0.05 /* less is not worth a word */

struct listed {
    struct job_fact *j;
    double hours;
    bool done; /* with another of which it is a part */
};
struct listing_jobs {
    const struct advise_ask *ask;
    struct listed *v;
    size_t n, cap;
    size_t todo; /* that are still to be looked at */
};

static const char *person_of(const struct advise_ask *k, const struct job_fact *j)
{
    const char *who = j->person[0] ? people_person(k->people, j->node, j->person, -1) : "";
    return who[0] ? who : j->person;
}

static bool is_asked(const struct advise_ask *k, const struct job_fact *j)
{
    const char *who = person_of(k, j);
    if (k->person && strcmp(k->person, who) != 0 && strcmp(k->person, j->person) != 0)
        return false;
    return !k->team || people_in(k->people, GROUP_TEAM, k->team, who, k->to_ms - 1);
}

/* Parts of others are read with them, those on other nodes count with them. */
static void list_job(void *arg, const struct job_fact *j)
{
    struct listing_jobs *l = arg;
    if (!j->devices[0] || (j->parent && strcmp(j->kind, AUTO_KIND) != 0) || auto_joined(j) || !is_asked(l->ask, j))
        return;
    int64_t from_ms = MAX(j->start_ms, l->ask->from_ms), to_ms = j->end_ms ? j->end_ms : l->ask->to_ms;
    size_t gpus = 1;
    for (const char *p = j->devices; *p; p++)
        gpus += *p == ',';
    VEC_ADD(l->v, l->n, l->cap,
            (struct listed){.j = job_copy(j),
                            .hours = (double)(MIN(to_ms, l->ask->to_ms) - from_ms) / HOUR_MS * (double)gpus});
}

static int64_t whole_of(const struct job_fact *j)
{
    return j->parent ? j->parent : j->id;
}

COMPARE(by_whole, struct listed, ORDER(whole_of(x->j), whole_of(y->j)) ?: ORDER(x->j->parent, y->j->parent))

/* Parts of runs over nodes add their hours to the run; those of a run that is not listed are none. */
static void join_parts(struct listing_jobs *l)
{
    size_t n = 0;
    SORT(l->v, l->n, by_whole);
    for (size_t i = 0; i < l->n; i++) {
        if (!l->v[i].j->parent) {
            l->v[n++] = l->v[i];
            continue;
        }
        if (n && l->v[n - 1].j->id == l->v[i].j->parent)
            l->v[n - 1].hours += l->v[i].hours;
        free(l->v[i].j);
    }
    l->n = n;
}

COMPARE(by_size, struct listed, ORDER(y->hours, x->hours) ?: ORDER(x->j->id, y->j->id))

/* Those that were read stand for all it has. */
static double stands_for(const struct run_verdict *v)
{
    return v->n ? (double)v->n_all / (double)v->n : 1;
}

/* All GPUs of the run lose by it, not only those of which it is told. */
static bool waits_for_one(const struct run_advice *r)
{
    return r->a.rule == ADVICE_straggler;
}

double advise_hours(const struct run_verdict *v, const struct run_advice *r)
{
    size_t gpus = waits_for_one(r) ? v->n : r->n_gpus;
    double hours = (double)r->a.ms / HOUR_MS * (double)gpus * r->a.lost;
    return MIN(hours, (double)v->all.held_ms / HOUR_MS) * stands_for(v);
}

struct advise_found advise_found_of(const struct run_verdict *v, const struct run_advice *r)
{
    struct advise_found f = {.rule = r->a.rule, .hours = advise_hours(v, r)};
    size_t n = waits_for_one(r) ? v->n : r->n_gpus, most = MIN(n, (size_t)PRICED), seen = 0;
    mem_copy_str(f.evidence, sizeof(f.evidence), r->a.evidence);
    f.gpus = mem_zero(most + 1, sizeof(*f.gpus));
    for (size_t i = 0; i < v->n && f.n_gpus < most; i++) {
        if (!waits_for_one(r) && !r->gpus[i])
            continue;
        if (seen++ * most / n == f.n_gpus) /* as far among all as among those that are taken */
            mem_copy_str(f.gpus[f.n_gpus++], sizeof(*f.gpus), v->gpus[i].uuid);
    }
    return f;
}

void advise_found_fini(struct advise_found *f)
{
    free(f->gpus);
    *f = (struct advise_found){0};
}

double advise_cost(const struct advise_found *f, advise_price_fn *price, void *arg)
{
    double sum = 0;
    for (size_t i = 0; i < f->n_gpus; i++) {
        double hour = price(arg, f->gpus[i]);
        sum += hour > 0 ? hour : NAN;
    }
    return f->n_gpus ? sum / (double)f->n_gpus * f->hours : NAN;
}

static void add_found(struct advise_all *to, const struct advise_ask *k, const struct job_fact *j,
                      const struct run_verdict *v)
{
    const struct run_advice *best = NULL;
    for (size_t i = 0; i < v->n_advice; i++)
        if (!best || advise_hours(v, &v->advice[i]) > advise_hours(v, best))
            best = &v->advice[i];
    if (!best || advise_hours(v, best) < LEAST_HOURS)
        return;
    struct advise_found f = advise_found_of(v, best);
    f.run = j->id;
    mem_copy_str(f.person, sizeof(f.person), person_of(k, j));
    mem_copy_str(f.name, sizeof(f.name), j->name);
    VEC_ADD(to->v, to->n, to->cap, f);
}

static int look_at_run(const struct past_source *past, const struct advise_ask *k, struct listing_jobs *l, size_t i,
                       double *left, struct advise_all *ret, struct err *err)
{
    const struct job_fact *j = l->v[i].j;
    struct run_verdict v;
    struct verdict_reach reach = {k->from_ms, k->to_ms, *left / (double)MIN(l->todo, (size_t)CELLS_PART)};
    int code = run_verdict_read(past, j, &reach, &v, err);
    if (code >= 0) {
        double hours = (double)v.all.held_ms / HOUR_MS * stands_for(&v);
        ret->looked++;
        ret->sampled += v.n < v.n_all || v.cut;
        ret->hours += hours;
        ret->held += hours;
        if (!isnan(v.all.mean[RUN_WORK]))
            ret->effective = (isnan(ret->effective) ? 0 : ret->effective) +
                             v.all.mean[RUN_WORK] * (double)v.all.measured_ms / HOUR_MS * stands_for(&v);
        add_found(ret, k, j, &v);
        for (size_t p = 0; p < v.n_parts; p++)
            for (size_t n = i + 1; n < l->n; n++)
                if (l->v[n].j->id == v.parts[p].id && !l->v[n].done) {
                    l->v[n].done = true;
                    l->todo--;
                }
    }
    *left -= v.cells;
    run_verdict_fini(&v);
    return code;
}

int advise_read(const struct past_source *past, const struct advise_ask *k, struct advise_all *ret, struct err *err)
{
    struct listing_jobs l = {.ask = k};
    struct job_ask ask = {.from_ms = k->from_ms,
                          .to_ms = k->to_ms,
                          .limit = JOBS_MOST,
                          .stop = past->stop,
                          .stop_arg = past->stop_arg};
    double left = k->cells;
    *ret = (struct advise_all){.effective = NAN};
    int code = past_each(past, EACH_JOB(&ask, list_job, &l), err);
    join_parts(&l);
    SORT(l.v, l.n, by_size);
    l.todo = l.n;
    for (size_t i = 0; i < l.n; i++) {
        if (l.v[i].done)
            continue;
        bool look = code >= 0 && left > 0;
        ret->runs++;
        if (look)
            code = look_at_run(past, k, &l, i, &left, ret, err);
        if (!look || code < 0)
            ret->hours += l.v[i].hours;
        l.todo--;
    }
    for (size_t i = 0; i < l.n; i++)
        free(l.v[i].j);
    free(l.v);
    return code == -ECANCELED && ret->looked ? 0 : MIN(code, 0); /* out of time: what was seen until then counts */
}

void advise_fini(struct advise_all *a)
{
    for (size_t i = 0; i < a->n; i++)
        advise_found_fini(&a->v[i]);
    free(a->v);
    *a = (struct advise_all){0};
}

COMPARE(by_hours, struct advise_line, ORDER(y->hours, x->hours) ?: strcmp(x->most->person, y->most->person))

size_t advise_lines(const struct advise_all *a, advise_price_fn *price, void *arg, struct advise_line ret[ADVISE_LINES])
{
    AUTO_FREE struct advise_line *v = mem_zero(a->n + 1, sizeof(*v));
    size_t n = 0;
    for (size_t i = 0; i < a->n; i++) {
        const struct advise_found *f = &a->v[i];
        struct advise_line *l =
            FIND(v, n, e, e->most->rule == f->rule && strcmp(e->most->person, f->person) == 0) ?: &v[n];
        if (l == &v[n])
            v[n++] = (struct advise_line){.most = f};
        l->most = f->hours > l->most->hours ? f : l->most;
        l->runs++;
        l->hours += f->hours;
        l->cost += advise_cost(f, price, arg);
    }
    SORT(v, n, by_hours);
    n = MIN(n, ADVISE_LINES);
    if (n)
        memcpy(ret, v, n * sizeof(*v));
    return n;
}
