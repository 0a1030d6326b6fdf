/* advise.c: chooses the runs to read, caches their results and sums them up. */
#include "jobs/advise.h"

#include <errno.h>
#include <math.h>

#include "base/clock.h"
#include "base/lookup.h"
#include "base/mem.h"
#include "base/order.h"
#include "jobs/auto.h"
#include "people/people.h"

#define JOBS_MOST   20000
#define CELLS_PART  8       /* if more runs follow, one may use 1/CELLS_PART of the remaining values */
#define PRICED      64      /* GPUs of a run whose prices are used */
#define LEAST_HOURS 0.05    /* less is not shown */
#define LATE_MS     HOUR_MS /* data that arrives this long after a run's end still counts */

struct listed {
    struct job_fact *j;
    double hours;
    bool done; /* read as a part of another run */
};
struct listing_jobs {
    const struct advise_query *ask;
    struct listed *v;
    size_t n, cap;
    size_t todo; /* runs still to read */
};

/* ---- cached runs ---- */

struct cached_run {
    int64_t run, end_ms, read_ms;
    struct advise_verdict told;
    struct advise_found found; /* rule ADVICE_COUNT: none */
    double cells;
    size_t n_parts;
    int64_t *parts; /* runs that were read with it */
};
struct advise_cache {
    struct cached_run *v;
    size_t n, cap;
    struct lookup by_run;
    int64_t from_ms, round_ms; /* start of the period; start of the current round, 0: none */
};

static void kept_fini(struct cached_run *k)
{
    advise_found_fini(&k->found);
    free(k->parts);
}

static void forget_all(struct advise_cache *c)
{
    for (size_t i = 0; i < c->n; i++)
        kept_fini(&c->v[i]);
    lookup_fini(&c->by_run);
    free(c->v);
    *c = (struct advise_cache){0};
}

struct advise_cache *advise_cache_new(void)
{
    return NEW(struct advise_cache);
}

void advise_cache_free(struct advise_cache *c)
{
    if (c)
        forget_all(c);
    free(c);
}

static struct cached_run *kept_of(const struct advise_cache *c, int64_t run)
{
    size_t at = 0, i = lookup_next_place(&c->by_run, (uint64_t)run, &at);
    while (i != SIZE_MAX && c->v[i].run != run)
        i = lookup_next_place(&c->by_run, (uint64_t)run, &at);
    return i == SIZE_MAX ? NULL : &c->v[i];
}

/* Ended runs are read once; current and recently ended runs in each round. */
static bool is_read(const struct advise_cache *c, const struct cached_run *k, const struct job_fact *j)
{
    bool over = k && j->end_ms && k->end_ms == j->end_ms && k->read_ms - j->end_ms > LATE_MS;
    return k && (over || (k->read_ms >= c->round_ms && k->end_ms == j->end_ms));
}

static struct cached_run *keep_run(struct advise_cache *c, struct cached_run *k)
{
    struct cached_run *was = kept_of(c, k->run);
    if (was) {
        kept_fini(was);
        *was = *k;
        return was;
    }
    lookup_add_place(&c->by_run, (uint64_t)k->run, c->n);
    VEC_ADD(c->v, c->n, c->cap, *k);
    return &c->v[c->n - 1];
}

/* ---- which runs there are ---- */

static const char *person_of(const struct advise_query *k, const struct job_fact *j)
{
    const char *who = j->person[0] ? people_person(k->people, j->node, j->person, -1) : "";
    return who[0] ? who : j->person;
}

/* Parts of others are read with them, those on other nodes count with them. */
static void list_job(void *arg, const struct job_fact *j)
{
    struct listing_jobs *l = arg;
    if (!j->devices[0] || (j->parent && strcmp(j->kind, AUTO_KIND) != 0) || auto_joined(j))
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

/* Scales from the GPUs that were read to all GPUs of the run. */
static double stands_for(const struct run_verdict *v)
{
    return v->n ? (double)v->n_all / (double)v->n : 1;
}

/* All GPUs of the run lose by it, not only those that the advice names. */
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
        if (seen++ * most / n == f.n_gpus) /* evenly spread over all GPUs */
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

/* ---- reading ---- */

static struct advise_found found_in(const struct run_verdict *v, const struct job_fact *j)
{
    const struct run_advice *best = NULL;
    for (size_t i = 0; i < v->n_advice; i++)
        if (!best || advise_hours(v, &v->advice[i]) > advise_hours(v, best))
            best = &v->advice[i];
    if (!best || advise_hours(v, best) < LEAST_HOURS)
        return (struct advise_found){.rule = ADVICE_COUNT};
    struct advise_found f = advise_found_of(v, best);
    f.run = j->id;
    mem_copy_str(f.login, sizeof(f.login), j->person);
    mem_copy_str(f.name, sizeof(f.name), j->name);
    return f;
}

static void take_verdict(struct cached_run *k, const struct run_verdict *v, const struct job_fact *j)
{
    double part = v->all.mean[RUN_WORK];
    k->told.looked = true;
    k->told.sampled = v->n < v->n_all || v->cut;
    k->told.hours = (double)v->all.held_ms / HOUR_MS * stands_for(v);
    k->told.effective = isnan(part) ? NAN : part * (double)v->all.measured_ms / HOUR_MS * stands_for(v);
    k->told.withheld = run_verdict_silent(v, j) == v->n && v->n;
    if (!k->told.withheld)
        k->found = found_in(v, j);
    k->n_parts = v->n_parts;
    k->parts = mem_zero(v->n_parts + 1, sizeof(*k->parts));
    for (size_t p = 0; p < v->n_parts; p++)
        k->parts[p] = v->parts[p].id;
}

/* cells: maximum number of values to read. */
static int read_run(const struct past_source *past, const struct advise_query *ask, const struct job_fact *j,
                    double cells, struct cached_run *ret, struct err *err)
{
    struct run_verdict v;
    struct verdict_reach reach = {ask->from_ms, ask->to_ms, cells};
    int code = run_verdict_read(past, j, &reach, &v, err);
    *ret = (struct cached_run){.run = j->id, .end_ms = j->end_ms, .read_ms = ask->to_ms, .found.rule = ADVICE_COUNT};
    if (code >= 0)
        take_verdict(ret, &v, j);
    ret->cells = v.cells;
    run_verdict_fini(&v);
    return code;
}

static void drop_parts(struct listing_jobs *l, size_t i, const struct cached_run *k)
{
    for (size_t p = 0; p < k->n_parts; p++)
        for (size_t n = i + 1; n < l->n; n++)
            if (l->v[n].j->id == k->parts[p] && !l->v[n].done) {
                l->v[n].done = true;
                l->todo--;
            }
}

static void add_run(struct advise_all *to, const struct advise_query *ask, const struct job_fact *j,
                    const struct cached_run *k)
{
    struct advise_verdict t = k->told;
    const char *person = person_of(ask, j);
    mem_copy_str(t.person, sizeof(t.person), person);
    mem_copy_str(t.login, sizeof(t.login), j->person);
    VEC_ADD(to->told, to->n_told, to->cap_told, t);
    if (k->found.rule == ADVICE_COUNT)
        return;
    struct advise_found f = k->found;
    f.gpus = mem_zero(f.n_gpus + 1, sizeof(*f.gpus));
    memcpy(f.gpus, k->found.gpus, f.n_gpus * sizeof(*f.gpus));
    mem_copy_str(f.person, sizeof(f.person), person);
    VEC_ADD(to->v, to->n, to->cap, f);
}

/* Adds one run: cached, read now, or left. code: result of earlier runs; below 0 nothing more is read. */
static int take_run(const struct past_source *past, const struct advise_query *ask, struct listing_jobs *l, size_t i,
                    int code, double *cells, struct advise_all *ret, struct err *err)
{
    const struct job_fact *j = l->v[i].j;
    const struct cached_run *kept = kept_of(ask->cache, j->id);
    const struct cached_run unread = {.found.rule = ADVICE_COUNT, .told = {.hours = l->v[i].hours, .effective = NAN}};
    bool late = code < 0 || (ask->until_us && clock_thread_us() >= ask->until_us);
    if (!is_read(ask->cache, kept, j)) {
        struct cached_run k;
        double most = MIN(*cells / (double)MIN(l->todo, (size_t)CELLS_PART), ADVISE_RUN_CELLS);
        kept = NULL;
        ret->left += late;
        if (!late && *cells > 0) {
            code = read_run(past, ask, j, most, &k, err);
            kept = code < 0 ? NULL : keep_run(ask->cache, &k);
        }
    }
    *cells -= kept ? kept->cells : 0;
    drop_parts(l, i, kept ? kept : &unread);
    add_run(ret, ask, j, kept ? kept : &unread);
    return code;
}

static int take_runs(const struct past_source *past, const struct advise_query *ask, struct listing_jobs *l,
                     struct advise_all *ret, struct err *err)
{
    double cells = ask->cells;
    int code = 0;
    join_parts(l);
    SORT(l->v, l->n, by_size);
    l->todo = l->n;
    for (size_t i = 0; i < l->n; i++) {
        if (l->v[i].done)
            continue;
        code = take_run(past, ask, l, i, code, &cells, ret, err);
        l->todo--;
    }
    return code;
}

int advise_read(const struct past_source *past, const struct advise_query *k, struct advise_all *ret, struct err *err)
{
    struct advise_cache own = {0};
    struct advise_query ask = *k;
    struct listing_jobs l = {.ask = &ask};
    struct job_query jobs = {.from_ms = k->from_ms,
                             .to_ms = k->to_ms,
                             .limit = JOBS_MOST,
                             .stop = past->stop,
                             .stop_arg = past->stop_arg};
    *ret = (struct advise_all){0};
    ask.cache = k->cache ? k->cache : &own;
    if (ask.cache->from_ms != k->from_ms)
        forget_all(ask.cache); /* all of it is of another time */
    ask.cache->from_ms = k->from_ms;
    ask.cache->round_ms = ask.cache->round_ms ? ask.cache->round_ms : k->to_ms;
    int code = past_each(past, EACH_JOB(&jobs, list_job, &l), err);
    if (code >= 0)
        code = take_runs(past, &ask, &l, ret, err);
    if (code >= 0 && !ret->left)
        ask.cache->round_ms = 0;
    for (size_t i = 0; i < l.n; i++)
        free(l.v[i].j);
    free(l.v);
    forget_all(&own);
    bool some = ANY(ret->n_told, i, ret->told[i].looked);
    return code == -ECANCELED && some ? 0 : MIN(code, 0); /* out of time: the runs read so far count */
}

void advise_fini(struct advise_all *a)
{
    for (size_t i = 0; i < a->n; i++)
        advise_found_fini(&a->v[i]);
    FREE_ALL(a->v, a->told);
    *a = (struct advise_all){0};
}

/* ---- what they add up to ---- */

static bool is_of(const struct advise_owner *w, const char *person, const char *login)
{
    if (w && w->person && strcmp(w->person, person) != 0 && strcmp(w->person, login) != 0)
        return false;
    return !w || !w->team || people_in(w->people, GROUP_TEAM, w->team, person, w->at_ms);
}

struct advise_sums advise_sums_of(const struct advise_all *a, const struct advise_owner *who)
{
    struct advise_sums s = {.effective = NAN};
    for (size_t i = 0; i < a->n_told; i++) {
        const struct advise_verdict *t = &a->told[i];
        if (!is_of(who, t->person, t->login))
            continue;
        s.runs++;
        s.looked += t->looked;
        s.sampled += t->sampled;
        s.withheld += t->withheld;
        s.hours += t->hours;
        s.held += t->looked ? t->hours : 0;
        if (!isnan(t->effective))
            s.effective = (isnan(s.effective) ? 0 : s.effective) + t->effective;
    }
    return s;
}

COMPARE(by_hours, struct advise_line, ORDER(y->hours, x->hours) ?: strcmp(x->most->person, y->most->person))

size_t advise_lines(const struct advise_all *a, const struct advise_owner *who, advise_price_fn *price, void *arg,
                    struct advise_line ret[ADVISE_LINES])
{
    AUTO_FREE struct advise_line *v = mem_zero(a->n + 1, sizeof(*v));
    size_t n = 0;
    for (size_t i = 0; i < a->n; i++) {
        const struct advise_found *f = &a->v[i];
        if (!is_of(who, f->person, f->login))
            continue;
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
