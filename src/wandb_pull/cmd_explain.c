/*
 * cmd_explain.c: `muster wandb explain RUN`: explains how the run's GPUs were counted, from W&B or, offline, from the
 * store.
 */
#include <errno.h>

#include "base/clock.h"
#include "base/json.h"
#include "base/mem.h"
#include "base/order.h"
#include "cli/cli.h"
#include "cli/client.h"
#include "cli/cmd.h"
#include "cli/listing.h"
#include "model/job.h"
#include "wandb/store.h"
#include "wandb_pull/cmd_talk.h"
#include "wandb_pull/cmd_wandb.h"
#include "wandb_pull/explain.h"
#include "wandb_pull/graphql.h"

#define OUT_MAX (16u << 20)
#define TRIES   4 /* a user is waiting */

struct explain_conf {
    struct talk_conf talk;
    struct client_conf client;
    bool offline, json;
    struct run_path path; /* parsed RUN; not an option */
};

static const struct opt explain_opts[] = {
    TALK_OPTS(explain_conf, talk),
    OPT(explain_conf, offline, 0, OPT_BOOL, NULL, NULL, "read wandb.db only, with the result of the last pull"),
    OPT(explain_conf, json, 0, OPT_BOOL, NULL, NULL, "print JSON"),
    OPTN(explain_conf, "hub", client.hub, 0, OPT_STR, NULL, "URL", "hub for the link to the run's page", .url = true),
    OPTN(explain_conf, "token_file", client.token_file, 0, OPT_PATH, NULL, "FILE",
         "file that holds a token of that hub"),
    OPTN(explain_conf, "pin", client.pin, 0, OPT_STR, NULL, "PIN", "public key of that hub, the only one to trust"),
    {0},
};
const struct opt_cmd wandb_explain_help = {
    .name = "muster wandb explain",
    .summary = "explain how the GPUs of a run were counted",
    .args = "RUN",
    .about = "RUN is TEAM/PROJECT/RUN, or the address of its page. Prints every rule of the config in order: what it "
             "checked and found, which rule applies and why the others do not; whether the run counts, and for how "
             "many hours on which day. It queries W&B for the run; --offline uses the data of the last pull.",
    .examples = "muster wandb explain acme/pretraining/3f9a2b1c --config config.yaml\n"
                "muster wandb explain https://wandb.ai/acme/pretraining/runs/3f9a2b1c --json",
    .opts = explain_opts,
    .conf_size = sizeof(struct explain_conf),
};

static const char run_query[] = "query Run($project: String!, $entity: String!, $name: String!) {"
                                " project(name: $project, entityName: $entity) { run(name: $name) {"
                                " id name displayName state tags host createdAt heartbeatAt user { name username }"
                                " runInfo { gpu gpuCount cpuCount } config summaryMetrics description } } }";

/* ---- the store ---- */

struct stored {
    bool found, barred;
    int32_t gpus;
    char *rule;
    struct buf *out; /* NULL: only the above is wanted */
    bool json;
};

static void stored_json(struct buf *out, const struct wandb_run *r)
{
    char created[32], heartbeat[32], logged[32];
    json_print(out, "{'team':%s,'project':%s,'run':%s,'created':%s,'heartbeat':%s,'logged':%s,'gpus':%lld,'rule':%s}\n",
               r->team, r->project, r->id, clock_iso(r->created_ms, created), clock_iso(r->heartbeat_ms, heartbeat),
               clock_iso(r->logged_ms, logged), (long long)r->gpus, r->rule);
}

static int on_stored(void *arg, const struct wandb_run *r)
{
    struct stored *s = arg;
    char created[32], heartbeat[32], logged[32];
    s->found = true;
    s->gpus = r->gpus;
    s->rule = mem_str(r->rule);
    if (s->out && s->json)
        stored_json(s->out, r);
    else if (s->out)
        buf_addf(s->out,
                 "%s/%s/%s\n  ran       %s to %s\n  logged    %s\n\n%d GPU%s, by %s\n\nThe input of the rules is "
                 "not stored: without --offline it is fetched from W&B.\n",
                 r->team, r->project, r->id, clock_iso(r->created_ms, created), clock_iso(r->heartbeat_ms, heartbeat),
                 clock_iso(r->logged_ms, logged), (int)r->gpus, r->gpus == 1 ? "" : "s",
                 r->rule[0] ? r->rule : "a dataset that was imported");
    return 0;
}

static int look_up(const struct talk *t, const struct run_path *p, struct stored *ret, struct err *err)
{
    AUTO_WANDB_STORE *s = NULL;
    int r = talk_store(t, false, &s, err);
    if (r < 0)
        return r;
    ret->barred = wandb_barred(s, p->team, p->project, p->id, NULL) > 0;
    return wandb_run_find(s, p->team, p->project, p->id, on_stored, ret, err);
}

static int offline(const struct explain_conf *conf, struct err *err)
{
    AUTO_BUF out = BUF_INIT(OUT_MAX);
    const struct run_path *p = &conf->path;
    struct talk t = {0};
    struct stored s = {.out = &out, .json = conf->json};
    int r = talk_place(&conf->talk.runs, false, &t, err);
    if (r < 0)
        return r;
    r = look_up(&t, p, &s, err);
    if (r < 0 && r != -ENOENT)
        r = -EIO;
    else if (!s.found)
        r = cli_fail(&wandb_explain_help, EXIT_NO, "no pull has kept %s/%s/%s", p->team, p->project, p->id);
    else
        r = cli_print(&wandb_explain_help, &out);
    free(s.rule);
    return r;
}

/* ---- W&B ---- */

static int fetch_metadata(struct talk *t, const struct run_path *p, struct run_node *run, struct err *err)
{
    AUTO_BUF path = BUF_INIT(8192), body = BUF_INIT(RUN_SCALAR_MAX);
    url_run_file(&path, p->team, p->project, p->id, ASK_METADATA);
    struct wandb_request q = {.op = ASK_METADATA, .method = "GET", .url = buf_str(&path).p, .max = RUN_SCALAR_MAX};
    int r = wandb_wait(t->w, &q, NULL, &body, err);
    if (r < 0 && r != -ENOENT)
        return -EIO; /* W&B's no is not the user's mistake */
    run_node_metadata(run, buf_str(&body));
    return 0;
}

/* ---- the hub ---- */

/* Finds the run's own job, or the job of its host with the longest overlap; "" if none. */
static void most_of(const json_t *jobs, const struct run_path *path, const struct run_node *run, char ret[32])
{
    char own[JOB_ID_LEN];
    int64_t most_ms = 0;
    size_t i;
    json_t *j;
    job_id_text(job_wandb_id(path->team, path->project, path->id), own);
    json_array_foreach (jobs, i, j) {
        if (strcmp(text_of(j, "id"), own) == 0) {
            mem_copy_str(ret, 32, own);
            return;
        }
        int64_t end_ms = json_is_integer(json_object_get(j, "end")) ? int_of(j, "end") : INT64_MAX;
        int64_t both = MIN(end_ms, run->heartbeat_ms) - MAX(int_of(j, "start"), run->created_ms);
        if (both <= most_ms || json_is_string(json_object_get(j, "parent")))
            continue;
        most_ms = both;
        mem_copy_str(ret, 32, text_of(j, "id"));
    }
}

static int ask_page(const struct explain_conf *conf, const struct run_node *run, const char *host, char ret[32],
                    struct err *err)
{
    AUTO_BUF path = BUF_INIT(8192), raw = {0};
    json_auto_t *o = NULL;
    char from[32], to[32];
    snprintf(from, sizeof(from), "%lld", (long long)run->created_ms);
    snprintf(to, sizeof(to), "%lld", (long long)MAX(run->heartbeat_ms, run->created_ms + 1));
    buf_adds(&path, "/api/v1/jobs?limit=1000");
    client_param(&path, "node", host);
    client_param(&path, "from", from);
    client_param(&path, "to", to);
    int r = client_request_object(&conf->client, "GET", path.p, str_n("", 0), &o, &raw, err);
    if (r >= 0)
        most_of(json_object_get(o, "jobs"), &conf->path, run, ret);
    return r;
}

/* Finds the address of its page at a hub, if --hub is given. */
static void find_page(const struct explain_conf *conf, const struct run_node *run, struct buf *out)
{
    char id[32] = "", brief[256];
    struct err err = {0};
    if (!conf->client.hub || !conf->client.hub[0] || !run->host)
        return;
    mem_copy_str(brief, sizeof(brief), run->host);
    brief[strcspn(brief, ".")] = 0;
    int r = ask_page(conf, run, run->host, id, &err);
    if (r >= 0 && !id[0] && strcmp(brief, run->host) != 0)
        r = ask_page(conf, run, brief, id, &err);
    if (r < 0)
        cli_fail(&wandb_explain_help, 0, "what it did is not known: %s", err.msg);
    else if (id[0])
        buf_addf(out, "%s/run/%s", client_url(&conf->client), id);
}

static int show(const struct explain_conf *conf, struct talk *t, struct run_node *run, struct err *err)
{
    AUTO_BUF out = BUF_INIT(OUT_MAX), page = BUF_INIT(4096);
    const struct run_path *p = &conf->path;
    struct stored s = {0};
    struct rule_answer a;

    if (rules_apply(t->config->rules, p->team, p->project, explain_day(t->config, run), run, NULL, &a) ==
            RULES_NEED_METADATA &&
        fetch_metadata(t, p, run, err) < 0)
        return -EIO;
    look_up(t, p, &s, NULL); /* an unreadable store is not compared */
    struct explain_params ask = {.config = t->config,
                                 .path = p,
                                 .run = run,
                                 .stored_gpus = s.gpus,
                                 .stored_rule = s.found && s.rule[0] ? s.rule : NULL,
                                 .barred = s.barred};
    find_page(conf, run, &page);
    ask.page = page.len ? page.p : NULL;
    (conf->json ? explain_json : explain_text)(&out, &ask);
    free(s.rule);
    return cli_print(&wandb_explain_help, &out);
}

static int explain(struct cmd_call *c, struct talk *t)
{
    const struct explain_conf *conf = c->conf;
    const struct run_path *p = &conf->path;
    AUTO_BUF variables = BUF_INIT(8192);
    json_auto_t *data = NULL;
    struct run_node run;
    struct err why = {0};

    json_print(&variables, "{'entity':%s,'project':%s,'name':%s}", p->team, p->project, p->id);
    struct wandb_request q = {.op = "Run", .query = run_query, .variables = buf_str(&variables)};
    if (wandb_wait(t->w, &q, &data, NULL, &why) < 0)
        return err_set(&c->err, -EIO, "%s; what the last pull kept is shown with --offline", why.msg);
    const json_t *node = json_object_get(json_object_get(data, "project"), "run");
    if (!json_is_object(node))
        return cli_fail(&wandb_explain_help, EXIT_NO, "W&B has no run %s/%s/%s, or the key may not see it", p->team,
                        p->project, p->id);
    int r = run_node_read(node, &run, &c->err);
    if (r < 0)
        return r;
    r = show(conf, t, &run, &c->err);
    run_node_fini(&run);
    return r;
}

int cmd_wandb_explain(struct cmd_call *c)
{
    struct explain_conf *conf = c->conf;

    if (c->argc != 1)
        return err_set(&c->err, -EINVAL, "expected one run: TEAM/PROJECT/RUN");
    if (!run_path_parse(str_of(c->argv[0]), &conf->path))
        return err_set(&c->err, -EINVAL, "'%.200s' is not a run: expected TEAM/PROJECT/RUN, or the address of its page",
                       c->argv[0]);
    if (!conf->talk.tries)
        conf->talk.tries = TRIES;
    if (conf->offline)
        return offline(conf, &c->err);
    return talk_run(c, false, explain);
}
