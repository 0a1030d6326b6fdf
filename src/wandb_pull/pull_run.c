/* pull_run.c: stores one run, day by day: minutes from its times, metrics from W&B's samples. */
#include <errno.h>

#include "base/mem.h"
#include "report/report.h"
#include "wandb_pull/events.h"
#include "wandb_pull/pull_body.h"

void pull_run_free(struct pull_run *r)
{
    free(r->run);
    free(r);
}

/* ---- due runs ---- */

static int take_due(void *arg, const struct wandb_run *run)
{
    struct pull *p = arg;
    struct pull_run *r = NEW(struct pull_run, .p = p, .run = record_copy(&wandb_run_record, run),
                             .samples = wandb_config_samples(p->config, run->created_ms, run->heartbeat_ms));

    *p->due_end = r;
    p->due_end = &r->next;
    return 0;
}

/*
 * Reads the next due runs. New runs are listed last, but known runs keep their place. So if pages arrived meanwhile,
 * another pass starts at 0, after all runs in flight are done.
 */
static bool refill(struct pull *p)
{
    if (p->pass_over && !p->fresh) {
        if (p->flying || !p->again)
            return false;
        p->after = 0;
        p->again = false;
    }
    p->fresh = false;
    int n = wandb_due(p->store, &p->rec, p->after, PULL_BATCH, take_due, p, &p->after, &p->err);
    if (n < 0)
        pull_fatal(p);
    p->pass_over = n <= 0;
    return p->due != NULL;
}

/* ---- days ---- */

static size_t days_of(struct pull *p, const struct wandb_run *run, bool metrics)
{
    const struct zone *z = p->config->zone;
    int32_t first = MAX(p->rec.from, zone_date(z, run->created_ms));
    int32_t last = MIN(p->rec.to, zone_date(z, MAX(run->heartbeat_ms, run->created_ms)));
    size_t n = 0;

    for (int32_t day = first; day <= last; day++) {
        struct wandb_day *d = &p->days[n];
        *d = (struct wandb_day){.day = day,
                                .minutes = run_minutes(run->created_ms, run->heartbeat_ms, zone_date_ms(z, day),
                                                       zone_date_ms(z, day + 1))};
        if (d->minutes == 0)
            continue;
        if (metrics)
            fold_get(p->fold, day, d);
        n++;
    }
    return n;
}

static void put(struct pull_run *r, bool fetched, bool done)
{
    struct pull *p = r->p;
    size_t n = days_of(p, r->run, fetched);

    if (wandb_days_put(p->store, &p->rec, r->run, p->days, n, fetched, done, &p->err) < 0)
        pull_fatal(p);
    p->st->runs_done += done;
}

/* Hours are known; metrics are still missing. */
static void put_owed(struct pull_run *r, const char *why)
{
    struct pull_sum *sum = r->p->sum;

    put(r, false, false);
    if (!sum->first[0])
        snprintf(sum->first, sizeof(sum->first), "%s/%s/%s: %s", r->run->team, r->run->project, r->run->id, why);
    sum->state.runs_failed++;
    pull_run_free(r);
}

/* True if the metrics of this heartbeat, and all its days in the window, are stored. */
static bool known(const struct pull *p, const struct wandb_run *run)
{
    const struct zone *z = p->config->zone;

    return run->metrics_ms == run->heartbeat_ms && run->metrics_ms > 0 &&
           run->metrics_from <= MAX(p->rec.from, zone_date(z, run->created_ms)) &&
           run->metrics_to >= MIN(p->rec.to, zone_date(z, run->heartbeat_ms));
}

/* ---- metrics ---- */

static void on_events(void *arg, const struct wandb_answer *a);

static int ask(struct pull_run *r, struct err *err)
{
    struct pull *p = r->p;
    AUTO_BUF vars = BUF_INIT(16384);

    graphql_events_variables(&vars, r->run->team, r->run->project, r->run->id, r->samples);
    AUTO_FREE char *part = mem_fmt("%s/%s", r->run->team, r->run->project);
    struct wandb_request q = {.op = ASK_EVENTS_OP,
                              .query = ask_events,
                              .variables = buf_str(&vars),
                              .part = part,
                              .raw = true};
    int code = vars.err ? err_set(err, vars.err, "its name is too long") : wandb_send(p->w, &q, on_events, r, err);
    p->flying += code == 0;
    return code;
}

static void take_sample(void *arg, struct str sample)
{
    struct fold *f = arg;

    if (sample.p)
        fold_add(f, sample);
    else
        fold_reset(f);
}

static int take_events(struct pull_run *r, struct str body, struct err *err)
{
    struct pull *p = r->p;

    fold_reset(p->fold);
    int64_t n = events_read(ASK_EVENTS_OP, body, &p->sample, take_sample, p->fold, err);
    if (n < 0)
        return (int)n;
    /* If samples are missing now but were stored before, the stored ones stay. */
    put(r, r->run->metrics_ms == 0 || fold_any(p->fold), true);
    return 0;
}

static void on_events(void *arg, const struct wandb_answer *a)
{
    struct pull_run *r = arg;
    struct pull *p = r->p;
    struct err err = a->err;

    p->flying--;
    if (p->over || pull_is_fatal(p, a)) {
        pull_run_free(r);
        return;
    }
    int code = err.code ?: take_events(r, a->body, &err);
    bool gone = code == -ENOENT && a->err.code == 0, again = false;
    if (code == -EMSGSIZE && r->samples > WANDB_SAMPLES_MIN) {
        r->samples = MAX(r->samples / 2, WANDB_SAMPLES_MIN);
        again = true;
    } else if (gone && !r->gone) {
        again = r->gone = true; /* it was listed shortly before: believe this only the second time */
    } else if (gone) {
        put(r, false, true);
        code = 0;
        if (wandb_exists_set(p->store, r->run->team, r->run->project, r->run->id, WANDB_DELETED, p->rec.begun_ms,
                             &p->err) < 0)
            pull_fatal(p);
    }
    if (again)
        code = ask(r, &err);
    if (code < 0)
        put_owed(r, err.msg);
    else if (!again)
        pull_run_free(r);
    pull_step(p);
}

bool pull_run_next(struct pull *p)
{
    struct err err = {0};

    if (!p->due && !refill(p))
        return false;
    struct pull_run *r = p->due;
    p->due = r->next;
    if (!p->due)
        p->due_end = &p->due;
    r->next = NULL;
    if (known(p, r->run)) {
        put(r, false, true);
        pull_run_free(r);
    } else if (ask(r, &err) < 0) {
        put_owed(r, err.msg);
    }
    return true;
}
