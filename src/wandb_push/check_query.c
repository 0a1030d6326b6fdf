/* check_query.c: fetches the data for check.c from W&B, and reports the result. */
#include <errno.h>

#include "base/csv.h"
#include "base/mem.h"
#include "wandb_pull/artifact_get.h"
#include "wandb_pull/job.h"
#include "wandb_push/alert.h"
#include "wandb_push/check.h"

#define TEXT_MAX    (1u << 20)
#define COLUMNS_MAX 64
#define KEY         "company_daily_gpu_usage"

/* ---- tables ---- */

/* True if W&B replied with an error of this one artifact: its own fault. On any other error nothing is known. */
static bool about_artifact(int code)
{
    return code == -EPROTO || code == -EBADMSG || code == -ENOENT || code == -EINVAL || code == -EMSGSIZE;
}

static int one_table(const struct check_params *ask, const struct check_board *b, const struct company *co,
                     const struct tagged_run *run, struct findings *ret, struct err *err)
{
    AUTO_FREE char *name = mem_fmt("run-%s-" KEY ":v0", run->id);
    AUTO_ARTIFACT_GET g = {.entity = ask->config->dashboard.entity,
                           .project = ask->config->dashboard.project,
                           .name = name,
                           .file = KEY ".table.json"};
    artifact_get_init(&g);
    int r = wandb_job_run(ask->w, artifact_get_job(&g), err);
    if (r < 0 && !about_artifact(r))
        return r;
    if (r == 0 && g.found && !g.empty)
        check_table(b, co, run->id, buf_str(&g.bytes), ret);
    else
        finding_add(ret, WANDB_EVENT_CHECK, "", "Error of artifact: table " KEY " of %.100s (run %.60s): %.300s",
                    co->name, run->id, r < 0 ? err->msg : "it does not exist");
    return 0;
}

static int tables(const struct check_params *ask, const struct check_board *b, struct findings *ret, struct err *err)
{
    size_t n;
    const struct company *v = people_companies(ask->config->people, &n);
    int r = 0;

    for (size_t i = 0; i < n; i++)
        for (size_t k = 0; k < b->tagged->n && r == 0 && company_nodes_on(&v[i], ask->day) > 0; k++)
            if (tagged_has(&b->tagged->v[k], v[i].name))
                r = one_table(ask, b, &v[i], &b->tagged->v[k], ret, err);
    return r;
}

/* ---- deleted runs ---- */

struct deleted {
    const struct wandb_config *config;
    const struct company *companies;
    size_t n, total, others;
    size_t *of;
};

static void count_team(struct deleted *d, const char *team)
{
    const struct company *co = wandb_config_company(d->config, team);

    d->total++;
    if (co)
        d->of[co - d->companies]++;
    else
        d->others++;
}

static int count_run(void *arg, const struct wandb_run *run)
{
    count_team(arg, run->team);
    return 0;
}

/* deleted_runs_data.csv: what was pushed of them. A file that cannot be read is as good as none: it is a note. */
static void count_lines(struct deleted *d, struct str text)
{
    struct str cells[COLUMNS_MAX];
    struct err err = {0};
    AUTO_CSV c = {0};
    int n, at = -1;

    csv_init(&c, text);
    n = csv_next(&c, cells, COLUMNS_MAX, &err);
    for (int i = 0; i < MIN(n, COLUMNS_MAX); i++)
        at = str_eq(cells[i], "company_name") ? i : at;
    while (at >= 0 && csv_next(&c, cells, COLUMNS_MAX, &err) > at) {
        AUTO_FREE char *team = mem_strn(cells[at].p, cells[at].len);
        count_team(d, team);
    }
}

/* Out of the store, or where nothing was ever pulled (a container that only checks) from W&B. */
static int count_deleted(const struct check_params *ask, struct deleted *d, struct err *err)
{
    const char *name = ask->config->deleted_name;

    if (ask->store)
        return (int)MIN(wandb_deleted_each(ask->store, 0, count_run, d, err), 0);
    if (!name || !ask->config->dataset.entity || !ask->config->dataset.project)
        return 0;
    AUTO_FREE char *version = mem_fmt("%s:latest", name), *file = mem_fmt("%s.csv", name);
    AUTO_ARTIFACT_GET g = {.entity = ask->config->dataset.entity,
                           .project = ask->config->dataset.project,
                           .name = version,
                           .file = file};
    artifact_get_init(&g);
    int r = wandb_job_run(ask->w, artifact_get_job(&g), err);
    if (r == 0 && g.found && !g.empty)
        count_lines(d, buf_str(&g.bytes));
    return about_artifact(r) ? 0 : r;
}

static int deleted(const struct check_params *ask, struct buf *ret, struct err *err)
{
    struct deleted d = {.config = ask->config};

    d.companies = people_companies(ask->config->people, &d.n);
    d.of = mem_zero(d.n + 1, sizeof(*d.of));
    int r = count_deleted(ask, &d, err);
    if (r == 0 && d.total) {
        buf_addf(ret, "Deleted Runs Summary: %zu in all", d.total);
        for (size_t i = 0; i < d.n; i++)
            if (d.of[i])
                buf_addf(ret, ", %.100s %zu", d.companies[i].name, d.of[i]);
        if (d.others)
            buf_addf(ret, ", of no company %zu", d.others);
        buf_addc(ret, '\n');
    }
    free(d.of);
    return r;
}

/* ---- telling ---- */

static void write_text(struct check_sum *c)
{
    for (size_t i = 0; i < c->findings.n; i++)
        buf_addf(&c->text, "%s\n", c->findings.v[i].text);
    if (!c->findings.n)
        buf_adds(&c->text, "No errors: the dashboard is as it must be.\n");
    buf_addstr(&c->text, buf_str(&c->note));
}

static void tell(const struct check_params *ask, const struct check_sum *c, struct err *err)
{
    char salt[16];
    struct wandb_alert a = {.run = "Health Alert",
                            .job_type = "health-check",
                            .salt = date_text(ask->day, salt),
                            .title = c->title,
                            .text = buf_str(&c->text),
                            .warn = c->findings.n > 0,
                            .at_ms = ask->now_ms};

    wandb_alert_send(ask->w, ask->config, &a, err);
}

/* ---- the whole ---- */

int wandb_check(const struct check_params *ask, struct check_sum *ret, struct err *err)
{
    const struct wandb_place *at = &ask->config->dashboard;
    AUTO_TAGGED t = {.entity = at->entity, .project = at->project, .tag = at->name};
    struct check_board b = {ask->config, ask->day, &t};
    char day[16];

    *ret = (struct check_sum){.note = BUF_INIT(TEXT_MAX), .text = BUF_INIT(TEXT_MAX)};
    snprintf(ret->title, sizeof(ret->title), "Dashboard health check for %s", date_text(ask->day, day));
    if (!at->entity || !at->project || !at->name)
        return err_set(err, -EINVAL,
                       "'%.200s' does not name the source of tables: it needs dashboard: {entity, project}",
                       ask->config->path);
    tagged_init(&t);
    int r = wandb_job_run(ask->w, tagged_job(&t), err);
    if (r == 0) {
        check_runs(&b, &ret->findings);
        r = tables(ask, &b, &ret->findings, err);
    }
    r = r ?: deleted(ask, &ret->note, err);
    if (r == 0)
        write_text(ret);
    if (r == 0 && ask->alert)
        tell(ask, ret, &ret->alert);
    return r < 0 ? err_prefix(err, r, "cannot read the dashboard") : 0;
}

void check_fini(struct check_sum *c)
{
    if (!c)
        return;
    findings_fini(&c->findings);
    buf_fini(&c->note);
    buf_fini(&c->text);
}
