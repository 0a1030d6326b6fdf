/*
 * push.c: sends the tables to W&B in stages: requests of a stage run concurrently, and the next stage starts when all
 * are done. The dataset is in push_dataset.c.
 */
#include "wandb_push/push.h"

#include <errno.h>

#include "base/json.h"
#include "base/mem.h"
#include "base/order.h"
#include "base/rand.h"
#include "wandb/days.h"
#include "wandb_push/logged.h"
#include "wandb_push/push_dataset.h"
#include "wandb_push/tagged.h"

#define LIST_TRIES   5    /* until a run that was tagged is in W&B's own list */
#define LIST_WAIT_MS 1000 /* between these */

struct pushing {
    const struct push_params *ask;
    struct tables tables;
    struct logged *runs; /* one for each set of tables */
    char (*names)[32];
    struct buf config;
    char salt[32];
    struct push_sum sum;
};

/* ---- what is pushed ---- */

static int make_tables(struct pushing *p, struct err *err)
{
    const struct wandb_config *c = p->ask->config;
    struct runs_available_query days = {.from = INT32_MIN,
                                        .to = p->ask->to,
                                        .n_ignore_tags = c->n_ignore_tags,
                                        .ignore_tags = c->ignore_tags};
    struct runs runs;
    struct tables_params ask = {.from = p->ask->from,
                                .to = p->ask->to,
                                .day_minutes = report_day_minutes,
                                .arg = c->zone,
                                .partial = p->ask->partial,
                                .last_week = p->ask->last_week,
                                .cpus = c->cpu_tables,
                                .n_cpus = c->n_cpu_tables};

    int r = wandb_days(p->ask->store, &days, &runs, err);
    if (r == 0) {
        ask.companies = people_companies(c->people, &ask.n_companies);
        ask.runs = runs.v;
        ask.n_runs = runs.n;
        ask.known = runs_known(&runs);
        r = tables_make(&ask, &p->tables, err);
    }
    runs_fini(&runs);
    return r;
}

static void name_runs(struct pushing *p)
{
    const struct wandb_config *c = p->ask->config;
    char from[16], to[16];

    json_print(&p->config, "{'start_date':{'value':%s},'end_date':{'value':%s},'muster':{'value':%s}}",
               date_text(p->ask->from, from), date_text(p->ask->to, to), MUSTER_VERSION);
    if (p->ask->again)
        snprintf(p->salt, sizeof(p->salt), "%016llx", (unsigned long long)rand_u64());
    p->runs = mem_zero(p->tables.n, sizeof(*p->runs));
    p->names = mem_zero(p->tables.n, sizeof(*p->names));
    for (size_t i = 0; i < p->tables.n; i++) {
        const struct company *co = i ? people_company(c->people, p->tables.sets[i].tag) : NULL;
        /* of one whose assignment is over: the last day that is in its tables */
        snprintf(p->names[i], sizeof(p->names[i]), "Tables_%s",
                 date_text(co ? tables_last_day(co, p->ask->to) : p->ask->to, to));
        p->runs[i] = (struct logged){.entity = c->dashboard.entity,
                                     .project = c->dashboard.project,
                                     .name = p->names[i],
                                     .job_type = "update-table",
                                     .tag = p->tables.sets[i].tag,
                                     .latest = c->dashboard.name,
                                     .set = &p->tables.sets[i],
                                     .config = p->config.p,
                                     .salt = p->salt,
                                     .at_ms = p->ask->now_ms};
        logged_init(&p->runs[i]);
    }
}

/* ---- stages ---- */

static int stage(struct pushing *p, struct wandb_job (*of)(struct logged *), struct err *err)
{
    AUTO_FREE struct wandb_job *v = mem_zero(p->tables.n + 1, sizeof(*v));
    size_t n = 0;

    for (size_t i = 0; i < p->tables.n; i++)
        if (!p->runs[i].there)
            v[n++] = of(&p->runs[i]);
    return errands_run(p->ask->w, v, n, err);
}

/* Files and artifacts of all runs. */
static int fill(struct pushing *p, struct err *err)
{
    AUTO_FREE struct wandb_job *v = mem_zero(p->tables.n * (TABLES_MAX + 1) + 1, sizeof(*v));
    size_t n = 0;

    for (size_t i = 0; i < p->tables.n; i++) {
        struct logged *l = &p->runs[i];
        if (l->there)
            continue;
        v[n++] = logged_files(l);
        for (size_t k = 0; k < l->set->n; k++)
            v[n++] = artifact_job(&l->artifacts[k]);
        p->sum.tables += l->set->n;
    }
    return errands_run(p->ask->w, v, n, err);
}

static int list(struct pushing *p, struct tagged *ret, struct err *err)
{
    const struct wandb_place *at = &p->ask->config->dashboard;

    *ret = (struct tagged){.entity = at->entity, .project = at->project, .tag = at->name};
    tagged_init(ret);
    return wandb_job_run(p->ask->w, tagged_job(ret), err);
}

static bool listed(const struct tagged *t, const struct logged *l)
{
    return ANY(t->n, i, strcmp(t->v[i].id, l->id) == 0 && tagged_has(&t->v[i], l->tag));
}

/* A run with our id and the tag of the newest was tagged when all of it was there. */
static int find_there(struct pushing *p, struct err *err)
{
    AUTO_TAGGED t = {0};
    int r = list(p, &t, err);

    for (size_t i = 0; i < p->tables.n && r == 0; i++) {
        p->runs[i].there = listed(&t, &p->runs[i]);
        p->sum.runs_there += p->runs[i].there;
    }
    p->sum.runs = p->tables.n;
    return r;
}

static void wait_ms(struct event_base *base, int64_t ms)
{
    event_base_loopexit(base, &(struct timeval){ms / 1000, ms % 1000 * 1000});
    event_base_loop(base, EVLOOP_NO_EXIT_ON_EMPTY);
}

/* W&B's list of the newest, when it shows each of the new runs: only then an old one may go. */
static int list_all(struct pushing *p, struct tagged *ret, struct err *err)
{
    const char *lacks = NULL;

    for (int k = 0; k < LIST_TRIES; k++) {
        if (k)
            wait_ms(wandb_base(p->ask->w), LIST_WAIT_MS);
        int r = list(p, ret, err);
        lacks = NULL;
        for (size_t i = 0; i < p->tables.n && r == 0 && !lacks; i++)
            lacks = listed(ret, &p->runs[i]) ? NULL : p->runs[i].tag;
        if (r == 0 && !lacks)
            return 0;
        tagged_fini(ret);
        if (r < 0)
            return r;
    }
    return err_set(err, -ETIMEDOUT, "W&B does not list the new run of '%.60s' yet", lacks);
}

static bool replaced(const struct pushing *p, const struct tagged_run *r)
{
    const struct logged *v = p->runs;
    size_t n = p->tables.n;

    return ANY(n, i, tagged_has(r, v[i].tag)) && !ANY(n, i, strcmp(v[i].id, r->id) == 0);
}

static int hand_over(struct pushing *p, struct err *err)
{
    AUTO_TAGGED t = {0};
    int r = list_all(p, &t, err);

    if (r < 0)
        return r;
    AUTO_FREE struct untag *gone = mem_zero(t.n + 1, sizeof(*gone));
    AUTO_FREE struct wandb_job *v = mem_zero(t.n + 1, sizeof(*v));
    size_t n = 0;
    for (size_t i = 0; i < t.n; i++)
        if (replaced(p, &t.v[i])) {
            gone[n] = (struct untag){.run = &t.v[i], .tag = t.tag};
            v[n] = untag_job(&gone[n]);
            n++;
        }
    r = errands_run(p->ask->w, v, n, err);
    p->sum.untagged = n;
    for (size_t i = 0; i < n; i++)
        untag_fini(&gone[i]);
    return r;
}

/* ---- the whole ---- */

static int config_ok(const struct push_params *ask, struct err *err)
{
    const struct wandb_place *board = &ask->config->dashboard, *data = &ask->config->dataset;

    if (!board->entity || !board->project || !board->name)
        return err_set(err, -EINVAL, "'%.200s' has no destination for tables: it needs dashboard: {entity, project}",
                       ask->config->path);
    if (!ask->no_dataset && (!data->entity || !data->project || !data->name))
        return err_set(err, -EINVAL,
                       "'%.200s' does not say where the dataset is: it needs dataset: {entity, project, artifact_name}",
                       ask->config->path);
    return 0;
}

static int write_tables(struct pushing *p, struct err *err)
{
    int r = find_there(p, err) ?: stage(p, logged_begin, err) ?: fill(p, err);

    r = r ?: stage(p, logged_finish, err) ?: stage(p, logged_tag, err);
    return r < 0 ? err_prefix(err, r, "the tables could not be written, so older ones stay the newest") : 0;
}

static int push_tables(struct pushing *p, struct err *err)
{
    int r = make_tables(p, err);

    if (r < 0)
        return r;
    name_runs(p);
    r = write_tables(p, err);
    if (r < 0)
        return r;
    r = hand_over(p, err);
    return r < 0 ? err_prefix(err, r, "the new tables are there, but older ones may be tagged as well; push again") : 0;
}

int wandb_push(const struct push_params *ask, struct push_sum *ret, struct err *err)
{
    struct pushing p = {.ask = ask, .config = BUF_INIT(65536)};
    int r = config_ok(ask, err) ?: wandb_zone_set(ask->store, ask->config->zone_name, err);

    if (r == 0 && !ask->no_dataset)
        r = push_dataset(ask, &p.sum, err);
    r = r ?: push_tables(&p, err);
    for (size_t i = 0; p.runs && i < p.tables.n; i++)
        logged_fini(&p.runs[i]);
    free(p.runs);
    free(p.names);
    tables_fini(&p.tables);
    buf_fini(&p.config);
    if (r == 0)
        *ret = p.sum;
    return r;
}
