/*
 * recount.c: collects the input of count.c: devices from the facts of that time, minutes from the minute tier, uses
 * from process records and Slurm's jobs, and bookings from their records.
 */
#include "usage/recount.h"

#include "base/order.h"

#include <errno.h>

#define LOST_MS   (7 * 86400000ll) /* a removed device counts as down for this long */
#define JOBS_MOST 10000
#define MJ_MOST   10000000000ll /* maximum of a minute; a larger value is not energy */

enum { B_UTIL, B_MEM, B_ENERGY, B_POWER, B_BUSY, B_WORK, B_TENSOR, BINS };
static const char *const bin_names[BINS] = {"util", "mem_used", "energy", "power", "busy", "work", "tensor_active"};

struct dev {
    const char *uuid, *model;
    struct count_use *uses;
    size_t n_uses, cap_uses;
    struct count_booked *booked;
    size_t n_booked, cap_booked;
    uint32_t in; /* bit i: it belongs to hours[i] */
};

struct work {
    const struct count_rule *rule;
    const struct recount_params *ask;
    struct recounted *ret;
    struct dev *devs;
    size_t n, cap, hint;
    int64_t from_ms, to_ms; /* of all that is read */
    int64_t tick_ms;
    bool mixed;             /* it was sampled more or less often in some of the hours */
    struct usage_span *out; /* of the first hour */
};

static struct dev *find_dev(struct work *w, const char *uuid)
{
    for (size_t i = 0; i < w->n; i++) {
        struct dev *d = &w->devs[(w->hint + i) % w->n];
        if (strcmp(d->uuid, uuid) == 0) {
            w->hint = (size_t)(d - w->devs);
            return d;
        }
    }
    return NULL;
}

static bool is_split(const struct node_fact *f, const struct device_fact *d)
{
    return ANY(f->n_devices, i, !f->devices[i].lost && strcmp(f->devices[i].parent, d->uuid) == 0);
}

/* Adds the devices in the facts of one time to the hour. */
static void take_devices(struct work *w, const struct facts_at *was, uint32_t in)
{
    for (size_t i = 0; was->has_fact && i < was->fact.n_devices; i++) {
        const struct device_fact *f = &was->fact.devices[i];
        struct dev *d = find_dev(w, f->uuid);
        if (f->lost || is_split(&was->fact, f))
            continue;
        if (!d) {
            VEC_ROOM(w->devs, w->n, w->cap);
            d = &w->devs[w->n++];
            *d = (struct dev){.uuid = arena_str(&w->ret->mem, f->uuid), .model = arena_str(&w->ret->mem, f->name)};
        }
        d->in |= in;
    }
    if (was->has_fact && was->fact.tick_ms > 0) {
        w->mixed |= w->tick_ms && w->tick_ms != was->fact.tick_ms;
        w->tick_ms = MAX(w->tick_ms, was->fact.tick_ms); /* of an hour in which that changed: the longer */
    }
}

static int ask_facts(struct work *w, struct store *past, int64_t at_ms, uint64_t known, struct facts_at *ret,
                     struct err *err)
{
    int r = store_facts_at(past, w->ask->session, w->ask->node, at_ms, known, ret, err);

    return MIN(r, 0);
}

/* Adds the devices at the start and at the end of the hour, which are mostly the same: reads the end first. */
static int find_devices_of(struct work *w, struct store *past, size_t hour, struct err *err)
{
    int64_t at_ms = w->ask->hours[hour], end_ms = MIN(at_ms + HOUR_MS, w->ask->until_ms) - 1;
    struct facts_at first = {0}, last = {0}, before = {0};
    int r = ask_facts(w, past, MAX(end_ms, at_ms), 0, &last, err);
    bool same = last.id && last.from_ms <= at_ms;

    if (r == 0 && !same)
        r = ask_facts(w, past, at_ms, last.id, &first, err);
    same |= first.id && first.id == last.id;
    const struct facts_at *begin = same ? &last : &first;
    bool lost = begin->has_fact && ANY(begin->fact.n_devices, i, begin->fact.devices[i].lost);
    take_devices(w, &first, 1u << hour);
    take_devices(w, &last, 1u << hour);
    if (r == 0 && lost) { /* were they there not long before? */
        r = ask_facts(w, past, at_ms - LOST_MS, 0, &before, err);
        take_devices(w, &before, 1u << hour);
    }
    node_fact_fini(&first.fact);
    node_fact_fini(&last.fact);
    node_fact_fini(&before.fact);
    return r;
}

static int find_devices(struct work *w, struct store *past, struct err *err)
{
    int r = 0;

    for (size_t i = 0; i < w->ask->n_hours && r == 0; i++)
        r = find_devices_of(w, past, i, err);
    return r;
}

/* ---- uses ---- */

static void add_use(struct work *w, const char *uuid, const struct count_use *u)
{
    struct dev *d = find_dev(w, uuid);

    if (!d || u->to_ms <= w->from_ms || u->from_ms >= w->to_ms)
        return;
    VEC_ADD(d->uses, d->n_uses, d->cap_uses, *u);
    d->uses[d->n_uses - 1].login = arena_str(&w->ret->mem, u->login);
}

static void take_proc(void *arg, const struct proc_span *p)
{
    struct work *w = arg;
    int64_t last_ms = p->last_ms + w->tick_ms + (p->ended ? 0 : USAGE_LATE_MS);

    add_use(w, p->device,
            &(struct count_use){p->fact.user, p->first_ms, last_ms, usage_weight(p->mem_max),
                                (int32_t)usage_weight(p->sm), p->kind == PROC_GRAPHICS, p->fact.start_ms});
}

static void take_job(void *arg, const struct job_fact *j)
{
    struct work *w = arg;
    struct str rest = str_of(j->devices), one;
    char uuid[UUID_MAX];

    while (j->person[0] && str_cut(&rest, ',', &one)) {
        if (!one.len || one.len >= sizeof(uuid))
            continue;
        memcpy(uuid, one.p, one.len);
        uuid[one.len] = 0;
        add_use(w, uuid,
                &(struct count_use){j->person, j->start_ms, j->end_ms ? j->end_ms : INT64_MAX, 0, 0, false, 0});
    }
}

static void take_booking(struct work *w, const struct booking *h)
{
    struct count_booked b = {h->from_ms, booking_end_ms(h)};

    if (h->kind != BOOKING_FIRM || b.to_ms <= b.from_ms || b.to_ms <= w->from_ms || b.from_ms >= w->to_ms)
        return;
    for (size_t i = 0; i < w->n; i++) {
        struct dev *d = &w->devs[i];
        if (booking_has_device(h, str_of(d->uuid)))
            VEC_ADD(d->booked, d->n_booked, d->cap_booked, b);
    }
}

void recount_common_fini(struct recount_common *c)
{
    for (size_t i = 0; i < c->n; i++)
        free(c->bookings[i]);
    free(c->bookings);
    *c = (struct recount_common){0};
}

static void keep_booking(void *arg, const struct booking *h)
{
    struct recount_common *c = arg;

    VEC_ADD(c->bookings, c->n, c->cap, booking_copy(h));
}

static int read_common(const struct work *w, struct recount_common *c, struct store *records, struct err *err)
{
    if (c->read && c->from_ms == w->from_ms && c->to_ms == w->to_ms)
        return 0;
    recount_common_fini(c);
    int r = store_has_jobs(records, err);
    c->jobs = r == 1;
    if (r >= 0)
        r = store_each(records, EACH_BOOKING(keep_booking, c, .from_ms = w->from_ms, .to_ms = w->to_ms), err);
    c->read = r >= 0;
    c->from_ms = w->from_ms;
    c->to_ms = w->to_ms;
    return MIN(r, 0);
}

static int find_uses(struct work *w, struct store *records, struct err *err)
{
    struct recount_common own = {0}, *c = w->ask->common ? w->ask->common : &own;
    struct job_query jobs = {.from_ms = w->from_ms,
                             .to_ms = w->to_ms,
                             .node = w->ask->node,
                             .kind = "slurm",
                             .limit = JOBS_MOST};
    int64_t late_ms = w->tick_ms + USAGE_LATE_MS;
    int r =
        store_each(records,
                   EACH_PROC(take_proc, w, .node = w->ask->node, .from_ms = w->from_ms - late_ms, .to_ms = w->to_ms),
                   err);

    if (r >= 0)
        r = read_common(w, c, records, err);
    if (r >= 0 && c->jobs)
        r = store_each(records, EACH_JOB(&jobs, take_job, w), err);
    for (size_t i = 0; i < c->n && r >= 0; i++)
        take_booking(w, c->bookings[i]);
    recount_common_fini(&own);
    return MIN(r, 0);
}

/* ---- minutes ---- */

static int64_t mean(const struct bin *b)
{
    return b->count ? b->sum / b->count : -1;
}

/* A minute times the mean share, in 0.01 %; -1: no samples. */
static int32_t share_ms(const struct bin *b)
{
    int64_t n = b->count, ms = n ? (b->sum * (MINUTE_MS / 10000) + n / 2) / n : -1;

    return (int32_t)MIN(ms, MINUTE_MS);
}

/* How much a counter grew since the newest value before, at most COUNT_CARRY minutes earlier; -1: unknown. */
static int64_t grew(const struct bin *b, size_t i, size_t *ret_minutes)
{
    for (size_t k = 1; b[i].count && k <= COUNT_CARRY && k <= i; k++)
        if (b[i - k].count) {
            *ret_minutes = k;
            return b[i].last >= b[i - k].last ? b[i].last - b[i - k].last : -1;
        }
    return -1;
}

/* A minute's energy by its mean power. */
static int64_t mj_by_power(const struct bin *power)
{
    int64_t mw = mean(power);

    return mw > 0 && mw < MJ_MOST / 60 ? mw * 60 : 0;
}

/* What the counter grew, less what minutes without a reading of it counted by power. */
static int64_t mj_of(const struct bin *energy, const struct bin *power, size_t i)
{
    size_t over = 1;
    int64_t mj = grew(energy, i, &over);

    if (mj < 0 || mj > MJ_MOST)
        return mj < 0 ? mj_by_power(&power[i]) : 0;
    for (size_t k = 1; k < over; k++)
        mj -= mj_by_power(&power[i - k]);
    return MAX(mj, 0);
}

static void make_minutes(const struct history *h, size_t d, struct count_minute *m)
{
    const struct bin *v[BINS];
    size_t over = 1;

    for (size_t k = 0; k < BINS; k++)
        v[k] = h->v + (d * BINS + k) * h->n;
    for (size_t i = 0; i < h->n; i++) {
        int64_t util = mean(&v[B_UTIL][i]), busy_us = grew(v[B_BUSY], i, &over);
        m[i] = (struct count_minute){.mem = mean(&v[B_MEM][i]),
                                     .busy_ms = -1,
                                     .work_ms = share_ms(&v[B_WORK][i]),
                                     .tensor_ms = share_ms(&v[B_TENSOR][i])};
        for (size_t k = 0; k < BINS; k++)
            m[i].seen |= v[k][i].count > 0;
        if (busy_us >= 0)
            m[i].busy_ms = (int32_t)MIN(busy_us / 1000 / (int64_t)over, MINUTE_MS);
        else if (util >= 0)
            m[i].busy_ms = (int32_t)(MIN(util, 10000) * (MINUTE_MS / 10000));
        m[i].mj = mj_of(v[B_ENERGY], v[B_POWER], i);
    }
}

static int count_all(struct work *w, const struct history *h, struct err *err)
{
    const struct recount_params *ask = w->ask;
    AUTO_FREE struct count_minute *minutes = mem_alloc((h->n + 1) * sizeof(*minutes));
    AUTO_FREE struct usage_device *out = mem_zero(ask->n_hours, sizeof(*out));
    struct count_input in = {w->from_ms, h->n, ask->until_ms, 1, ask->n_hours, ask->hours};

    in.carry = (int)MAX(1, MIN((w->tick_ms + MINUTE_MS - 1) / MINUTE_MS, COUNT_CARRY));
    for (size_t i = 0; i < w->n; i++) {
        struct dev *d = &w->devs[i];
        struct count_device cd = {d->uuid, d->model, minutes, d->n_uses, d->n_booked, d->uses, d->booked};
        if (ask->stop && ask->stop(ask->arg))
            return err_set(err, -ECANCELED, "stopped");
        make_minutes(h, i, minutes);
        count_device(w->rule, &in, &cd, &w->ret->mem, out);
        for (size_t k = 0; k < ask->n_hours; k++) {
            struct usage_span *s = &w->out[k];
            if (d->in >> k & 1 && ask->until_ms > s->at_ms)
                s->devices[s->n++] = out[k];
        }
    }
    return 0;
}

static int run(struct work *w, struct store *past, struct store *records, struct err *err)
{
    const struct recount_params *ask = w->ask;
    int r = w->n ? find_uses(w, records, err) : 0;

    AUTO_FREE const char **uuids = mem_zero(w->n + 1, sizeof(*uuids));
    for (size_t i = 0; i < w->n; i++)
        uuids[i] = w->devs[i].uuid;
    for (size_t k = 0; k < ask->n_hours; k++) {
        w->out[k].at_ms = ask->hours[k];
        w->out[k].end_ms = MAX(ask->hours[k], MIN(ask->hours[k] + HOUR_MS, ask->until_ms));
        w->out[k].devices = arena_alloc(&w->ret->mem, w->n + 1, sizeof(struct usage_device));
    }
    if (r < 0 || !w->n)
        return r;
    struct history h = {0};
    struct bins_query ha = {.node = ask->node,
                            .devices = uuids,
                            .metrics = bin_names,
                            .n_devices = w->n,
                            .n_metrics = BINS,
                            .from_ms = w->from_ms,
                            .to_ms = w->to_ms,
                            .step_ms = MINUTE_MS,
                            .fields = BIN_SUM | BIN_LAST,
                            .tier = TIER_MINUTE,
                            .stop = ask->stop,
                            .arg = ask->arg,
                            .once = ask->once,
                            .session = ask->session};
    r = store_history(past, &ha, &h, err);
    if (r == 0)
        r = count_all(w, &h, err);
    history_fini(&h);
    return r;
}

/* -EAGAIN: one hour at a time, for how often it was sampled decides how long a sample counts. */
static int run_part(struct store *past, struct store *records, const struct count_rule *rule,
                    const struct recount_params *ask, struct recounted *ret, struct usage_span *out, struct err *err)
{
    struct work w = {.rule = rule, .ask = ask, .ret = ret, .out = out};

    w.from_ms = ask->hours[0] - count_reach_ms(rule);
    w.to_ms = ask->hours[ask->n_hours - 1] + HOUR_MS + count_ahead_ms(rule);
    int r = find_devices(&w, past, err);
    w.tick_ms = w.tick_ms ? w.tick_ms : 1000;
    if (r == 0)
        r = w.mixed && ask->n_hours > 1 ? -EAGAIN : run(&w, past, records, err);
    for (size_t i = 0; i < w.n; i++)
        FREE_ALL(w.devs[i].uses, w.devs[i].booked);
    free(w.devs);
    return r;
}

int recount(struct store *past, struct store *records, const struct count_rule *rule, const struct recount_params *ask,
            struct recounted *ret, struct err *err)
{
    struct err why = {0};

    *ret = (struct recounted){0};
    if (!ask->n_hours || ask->n_hours > RECOUNT_HOURS)
        return err_set(err, -EINVAL, "too many hours at once");
    ret->hours = arena_alloc(&ret->mem, ask->n_hours, sizeof(*ret->hours));
    int r = run_part(past, records, rule, ask, ret, ret->hours, &why);
    for (size_t i = 0; r == -EAGAIN && i < ask->n_hours; i++) {
        struct recount_params one = *ask;
        one.n_hours = 1;
        one.hours = ask->hours + i;
        ret->hours[i] = (struct usage_span){0};
        r = run_part(past, records, rule, &one, ret, &ret->hours[i], &why);
        r = r == 0 && i + 1 < ask->n_hours ? -EAGAIN : r; /* more hours follow */
    }
    return r < 0 ? err_set(err, r, "%s", why.msg) : 0;
}
