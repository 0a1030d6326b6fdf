/*
 * pull.c: chooses the next request, in this order: projects of teams, metadata for waiting pages, pages of projects,
 * metrics of runs. Ends the pull when all is done. Pages are in pull_page.c, runs in pull_run.c.
 */
#include "wandb_pull/pull.h"

#include <errno.h>

#include "base/mem.h"
#include "base/order.h"
#include "base/rand.h"
#include "base/timer.h"
#include "wandb_pull/pull_body.h"
#include "wandb_pull/rule.h"
#include "wandb_pull/run.h"

void pull_fatal(struct pull *p)
{
    if (!p->fatal.code)
        p->fatal = p->err;
    p->over = true;
}

bool pull_is_fatal(struct pull *p, const struct wandb_answer *a)
{
    if (a->status == 401) {
        p->err = a->err;
        pull_fatal(p);
    }
    return p->over;
}

/* ---- teams ---- */

static void add_project(struct pull_team *t, const char *name)
{
    struct pull *p = t->p;
    struct wandb_progress had;

    if (wandb_project_state(p->store, &p->rec, t->name, name, &had, &p->err) < 0)
        pull_fatal(p);
    struct pull_project *pr = NEW(struct pull_project, .p = p, .team = t, .name = mem_str(name),
                                  .cursor = !p->fatal.code && had.cursor[0] ? mem_str(had.cursor) : NULL,
                                  .per_page = p->fields & (RUN_CONFIG | RUN_SUMMARY) ? PULL_HEAVY : ASK_PAGE,
                                  .over = p->fatal.code || had.done);
    VEC_ADD(p->projects, p->n_projects, p->cap_projects, pr);
    p->st->projects++;
    p->st->projects_done += pr->over;
}

static void fail(struct pull *p, const char *team, const char *project, const char *sentence)
{
    p->st->failed++;
    if (wandb_project_fail(p->store, &p->rec, team, project, sentence, &p->err) < 0)
        pull_fatal(p);
}

static void team_over(struct pull_team *t)
{
    t->over = true;
    t->p->st->teams_done++;
}

/* Lists all projects, so that removed ones are known. Projects that do not count are not queried. */
static int take_projects(struct pull_team *t, const struct graphql_page *page, struct err *err)
{
    struct pull *p = t->p;
    size_t n = json_array_size(page->edges), i;
    AUTO_FREE const char **names = mem_zero(n, sizeof(*names));
    const json_t *edge;

    json_array_foreach (page->edges, i, edge) {
        names[i] = json_string_value(json_object_get(json_object_get(edge, "node"), "name"));
        if (!names[i] || !names[i][0] || strlen(names[i]) > WANDB_NAME_MAX || !str_utf8_ok(str_of(names[i])))
            return err_set(err, -EBADMSG, "project %zu of the list has no name that can be one", i + 1);
    }
    struct wandb_page put = {.team = t->name,
                             .project = "",
                             .cursor = page->cursor ? page->cursor : "",
                             .last = !page->cursor,
                             .n_listed = n,
                             .listed = names,
                             .all_before_ms = INT64_MAX};
    if (t->put && wandb_page_put(p->store, &p->rec, &put, &p->err) < 0)
        pull_fatal(p);
    for (i = 0; i < n; i++)
        if (company_counts(t->co, names[i]))
            add_project(t, names[i]);
    return 0;
}

static void on_projects(void *arg, const struct wandb_answer *a)
{
    struct pull_team *t = arg;
    struct pull *p = t->p;
    struct graphql_page page = {0};
    struct err err = a->err;

    t->busy = false;
    if (p->over || pull_is_fatal(p, a))
        return;
    int r = err.code ?: graphql_projects_parse(a->data, t->cursor, &page, &err) ?: take_projects(t, &page, &err);
    if (r == 0 && !t->cursor && !json_array_size(page.edges)) {
        size_t n = strlen(p->sum->empty);
        snprintf(p->sum->empty + n, sizeof(p->sum->empty) - n, "%s%s", n ? ", " : "", t->name);
    }
    free(t->cursor);
    t->cursor = r == 0 ? mem_str(page.cursor) : NULL;
    if (r < 0)
        fail(p, t->name, "", err.msg);
    if (!t->cursor)
        team_over(t);
    pull_step(p);
}

static bool team_next(struct pull *p)
{
    for (size_t i = 0; i < p->n_teams; i++) {
        struct pull_team *t = &p->teams[i];
        struct err err = {0};
        if (t->busy || t->over)
            continue;
        AUTO_BUF vars = BUF_INIT(16384);
        graphql_projects_variables(&vars, t->name, t->cursor);
        struct wandb_request q = {.op = ASK_PROJECTS_OP, .query = ask_projects, .variables = buf_str(&vars)};
        t->busy = wandb_send(p->w, &q, on_projects, t, &err) == 0;
        if (!t->busy) {
            fail(p, t->name, "", err.msg);
            team_over(t);
        }
        return true;
    }
    return false;
}

/* ---- projects ---- */

static void project_over(struct pull_project *pr)
{
    pr->over = true;
    pr->p->listing--;
    pr->p->st->projects_done++;
}

void pull_project_fail(struct pull_project *pr, const char *sentence)
{
    fail(pr->p, pr->team->name, pr->name, sentence);
    project_over(pr);
}

void pull_project_next(struct pull_project *pr, char *cursor)
{
    free(pr->cursor);
    pr->cursor = cursor;
    if (cursor)
        pr->p->listing--;
    else
        project_over(pr);
}

/*
 * Changes the query after a failure: an older server does not know a field, or a page must have fewer runs. Returns
 * true to retry.
 */
static bool ask_otherwise(struct pull_project *pr, const struct err *err)
{
    struct pull *p = pr->p;
    bool cpus = (err->code == -EINVAL || err->code == -EPROTO) && strstr(err->msg, "cpuCount");

    if (cpus && p->fields & RUN_CPUS) {
        p->fields &= ~(unsigned)RUN_CPUS;
        buf_reset(&p->query);
        graphql_runs_query(&p->query, p->fields);
        return true;
    }
    if ((err->code == -EMSGSIZE || err->code == -EINVAL) && pr->per_page > ASK_PAGE_MIN) {
        pr->per_page = MAX(pr->per_page / 2, ASK_PAGE_MIN);
        return true;
    }
    return cpus; /* sent while the query still had the field */
}

static void on_runs(void *arg, const struct wandb_answer *a)
{
    struct pull_project *pr = arg;
    struct pull *p = pr->p;

    pr->busy = false;
    if (p->over || pull_is_fatal(p, a))
        return;
    if (a->err.code == 0)
        pull_page_take(pr, a);
    else if (ask_otherwise(pr, &a->err))
        p->listing--;
    else
        pull_project_fail(pr, a->err.msg);
    pull_step(p);
}

static bool project_next(struct pull *p)
{
    while (p->first_project < p->n_projects && p->projects[p->first_project]->over)
        p->first_project++;
    for (size_t i = p->first_project; i < p->n_projects && p->listing < PULL_LISTING; i++) {
        struct pull_project *pr = p->projects[i];
        struct err err = {0};
        if (pr->over || pr->busy || pr->page)
            continue;
        AUTO_BUF vars = BUF_INIT(32768);
        graphql_runs_variables(&vars, pr->team->name, pr->name, pr->cursor, pr->per_page, p->before_ms);
        AUTO_FREE char *part = mem_fmt("%s/%s", pr->team->name, pr->name);
        struct wandb_request q = {.op = ASK_RUNS_OP, .query = p->query.p, .variables = buf_str(&vars), .part = part};
        p->listing++;
        pr->busy = wandb_send(p->w, &q, on_runs, pr, &err) == 0;
        if (!pr->busy)
            pull_project_fail(pr, err.msg);
        return true;
    }
    return false;
}

static bool metadata_next(struct pull *p)
{
    for (size_t i = p->first_project; i < p->n_projects; i++)
        if (p->projects[i]->page && pull_page_request(p->projects[i]->page))
            return true;
    return false;
}

/* ---- the whole ---- */

void pull_step(struct pull *p)
{
    while (!p->over && wandb_room(p->w) > 0)
        if (!team_next(p) && !metadata_next(p) && !project_next(p) && !pull_run_next(p))
            break;
    p->st->listing = p->st->teams_done < p->n_teams || p->first_project < p->n_projects;
    if (!p->st->listing && p->flying == 0 && !p->due && p->pass_over && !p->fresh && !p->again)
        p->over = true;
}

static void on_tick(void *arg)
{
    struct pull *p = arg;

    if (wandb_store_flush(p->store, &p->err) < 0)
        pull_fatal(p);
    if (p->ask->progress && p->ask->progress(p->ask->arg, p->st) != 0) {
        err_set(&p->err, -ECANCELED, "stopped; fetched runs are kept, and the same command continues from there");
        pull_fatal(p);
    }
    pull_step(p);
}

/* The teams of companies that have nodes in the window, each once, under the company that has it. */
static int add_teams(struct pull *p, struct err *err)
{
    size_t n = 0, cap = 0;
    const struct company *co = people_companies(p->config->people, &n);

    for (size_t i = 0; i < n; i++)
        for (size_t k = 0; k < co[i].n_teams; k++) {
            const char *name = co[i].teams[k];
            const struct company *of = wandb_config_company(p->config, name);
            struct wandb_progress had;
            if (!of || !wandb_company_active(of, p->rec.from, p->rec.to) ||
                ANY(p->n_teams, t, strcmp(p->teams[t].name, name) == 0))
                continue;
            int r = wandb_project_state(p->store, &p->rec, name, "", &had, err);
            if (r < 0)
                return r;
            VEC_ADD(p->teams, p->n_teams, cap, (struct pull_team){.p = p, .name = name, .co = of, .put = !had.done});
        }
    p->st->teams = p->n_teams;
    return 0;
}

static int begin(struct pull *p, const struct pull_params *ask, struct err *err)
{
    uint64_t hash[] = {ask->config->hash, fnv64(ask->base_url, strlen(ask->base_url)), (uint64_t)ask->config->samples};
    size_t days = (size_t)((int64_t)ask->to - ask->from + 1);

    p->rec = (struct wandb_pull){.from = ask->from,
                                 .to = ask->to,
                                 .zone = ask->config->zone_name,
                                 .config = fnv64(hash, sizeof(hash))};
    if (!(p->fold = fold_new(ask->config->zone, ask->from, ask->to)))
        return err_set(err, -EINVAL, "these are more days than can be pulled at once");
    p->days = mem_zero(days, sizeof(*p->days));
    p->before_ms = zone_date_ms(ask->config->zone, ask->to + 1);
    p->fields = rules_fields(ask->config->rules) | RUN_CPUS;
    p->query = BUF_INIT(4096);
    p->sample = BUF_INIT(FOLD_EVENT_MAX + 1);
    graphql_runs_query(&p->query, p->fields);
    struct wandb_pull_sum had = {0};
    int r = wandb_pull_begin(p->store, &p->rec, ask->now_ms, err) ?: wandb_pull_count(p->store, &p->rec, &had, err);
    p->st->runs = had.runs;
    p->st->runs_done = had.runs - had.due;
    return r ?: add_teams(p, err);
}

static int end(struct pull *p, struct err *err)
{
    struct wandb_pull_sum sum = {0};

    if (p->fatal.code) {
        if (wandb_store_flush(p->store, NULL) == 0 || p->fatal.code != -ECANCELED)
            return err_set(err, p->fatal.code, "%s", p->fatal.msg);
        return err_set(err, -EIO, "cannot store the last runs");
    }
    int r = wandb_pull_count(p->store, &p->rec, &sum, err);
    if (r < 0)
        return r;
    p->st->runs_failed = sum.due; /* each once, however often it was tried */
    p->sum->complete = p->st->failed == 0 && sum.due == 0;
    return wandb_pull_end(p->store, &p->rec, p->sum->complete, err);
}

static void fini(struct pull *p)
{
    while (p->due) {
        struct pull_run *r = p->due;
        p->due = r->next;
        pull_run_free(r);
    }
    for (size_t i = 0; i < p->n_projects; i++) {
        pull_page_free(p->projects[i]->page);
        FREE_ALL(p->projects[i]->name, p->projects[i]->cursor, p->projects[i]);
    }
    for (size_t i = 0; i < p->n_teams; i++)
        free(p->teams[i].cursor);
    FREE_ALL(p->projects, p->teams, p->days);
    fold_free(p->fold);
    buf_fini(&p->query);
    buf_fini(&p->sample);
    timer_free(p->tick);
}

int wandb_pull(const struct pull_params *ask, struct pull_sum *ret, struct err *err)
{
    struct pull p =
        {.ask = ask, .config = ask->config, .w = ask->w, .store = ask->store, .sum = ret, .st = &ret->state};

    *ret = (struct pull_sum){0};
    p.due_end = &p.due;
    int r = begin(&p, ask, err);
    if (r == 0) {
        p.tick = timer_new(ask->base, on_tick, &p);
        timer_every(p.tick, PULL_TICK_MS);
        p.fresh = true;
        pull_step(&p);
        while (!p.over)
            if (event_base_loop(ask->base, EVLOOP_ONCE) != 0)
                break;
        wandb_cancel(p.w);
        r = end(&p, err);
    }
    ret->pull = p.rec;
    fini(&p);
    return r;
}
