/* cmd_push.c: `muster wandb push`: the dataset and the tables to where W&B's dashboards look for them. */

#include "base/clock.h"
#include "cli/cli.h"
#include "cli/cmd.h"
#include "wandb_pull/cmd_talk.h"
#include "wandb_pull/cmd_wandb.h"
#include "wandb_push/push.h"

struct push_conf {
    struct talk_conf talk;
    char *start_date, *end_date;
    int columns, week;
    bool again, tables_only, partial;
};

#define S(n) ((n) == 1 ? "" : "s")

static const char *const weeks[] = {"this", "last", NULL};

static const struct opt push_opts[] = {
    TALK_OPTS(push_conf, talk),
    OPT(push_conf, start_date, 0, OPT_STR, NULL, "DAY", "first day on which a company with nodes gets new tables",
        .default_text = "the end; with --end-date alone the config's project_start"),
    OPT(push_conf, end_date, 0, OPT_STR, NULL, "DAY", "day of the tables", .default_text = "yesterday"),
    OPT(push_conf, columns, 0, OPT_CHOICE, "18", "SET", "columns of the dataset", .choices = dataset_words),
    OPT(push_conf, partial, 0, OPT_BOOL, NULL, NULL, "include the current month in the monthly table"),
    OPT(push_conf, week, 0, OPT_CHOICE, "this", "WEEK",
        "Sunday week of the summaries: that of the end, or the last complete one", .choices = weeks),
    OPT(push_conf, tables_only, 0, OPT_BOOL, NULL, NULL, "do not write the dataset"),
    OPT(push_conf, again, 0, OPT_BOOL, NULL, NULL,
        "make new runs even if the same tables exist (e.g. after a run was deleted at W&B)"),
    {0},
};
const struct opt_cmd wandb_push_help = {
    .name = "muster wandb push",
    .summary = "write the tables and the dataset to W&B, where dashboards expect them",
    .args = "",
    .about = "Reads the dataset at W&B, merges it with the pulled runs, writes it back, and makes the tables of all "
             "companies from it. Each table set is a run, tagged `latest` when it is complete; only then older runs "
             "lose the tag. If the dataset cannot be read, nothing is written. The same tables are not written twice, "
             "and the next push repairs an interrupted one.",
    .examples = "WANDB_API_KEY=... muster wandb push --config config.yaml  # tables of yesterday\n"
                "muster wandb push --end-date 2026-10-31 --tables-only",
    .opts = push_opts,
    .conf_size = sizeof(struct push_conf),
};

static void say(const struct push_conf *conf, const struct push_sum *s, int32_t to)
{
    char day[16];

    if (!conf->tables_only)
        printf("dataset: %lld row%s, %lld of them only at W&B before; %s\n", (long long)s->rows, S(s->rows),
               (long long)s->taken, s->sent ? "written" : "W&B has just that");
    printf("tables of %s: %zu run%s, %zu of them there already; %zu table%s written; the tag taken from %zu older "
           "run%s\n",
           date_text(to, day), s->runs, S(s->runs), s->runs_there, s->tables, S(s->tables), s->untagged,
           S(s->untagged));
}

/* A pull that was cut off left rows out. */
static void warn(struct wandb_store *s, int32_t to)
{
    struct wandb_pull last = {0};
    struct err err = {0};
    char day[16];

    if (wandb_pull_last(s, &last, &err) != 1 || last.to < to)
        cli_fail(&wandb_push_help, 0, "no finished pull reaches %s: the stored data is pushed", date_text(to, day));
}

static int push(struct cmd_call *c, struct talk *t)
{
    const struct push_conf *conf = c->conf;
    struct push_params ask = {.config = t->config,
                              .w = t->w,
                              .now_ms = clock_wall_ms(),
                              .columns = (enum dataset_set)conf->columns,
                              .again = conf->again,
                              .no_dataset = conf->tables_only,
                              .partial = conf->partial,
                              .last_week = conf->week};
    struct push_sum sum = {0};
    int r = talk_days(t, conf->start_date, conf->end_date, &ask.from, &ask.to, &c->err);

    r = r ?: talk_store(t, true, &ask.store, &c->err);
    if (r < 0)
        return r;
    warn(ask.store, ask.to);
    r = wandb_push(&ask, &sum, &c->err);
    if (r == 0)
        say(conf, &sum, ask.to);
    wandb_store_close(ask.store);
    return r;
}

int cmd_wandb_push(struct cmd_call *c)
{
    return talk_run(c, true, push);
}
