/* cmd_check.c: `muster wandb check`: are the tables at W&B there and right; an alert, an event and an exit code. */
#include <errno.h>

#include "base/clock.h"
#include "cli/cli.h"
#include "cli/cmd.h"
#include "wandb_pull/cmd_talk.h"
#include "wandb_pull/cmd_wandb.h"
#include "wandb_push/check.h"

struct check_conf {
    struct talk_conf talk;
    char *date;
    bool no_alert;
};

static const struct opt check_opts[] = {
    TALK_OPTS(check_conf, talk),
    OPT(check_conf, date, 0, OPT_STR, NULL, "DAY", "day that the tables must have", .default_text = "yesterday"),
    OPT(check_conf, no_alert, 0, OPT_BOOL, NULL, NULL, "send no alert to W&B"),
    {0},
};
const struct opt_cmd wandb_check_help = {
    .name = "muster wandb check",
    .summary = "check that the tables at W&B are there and correct",
    .args = "",
    .about = "Checks the runs tagged `latest`: one for each company with nodes and one for all companies, each with "
             "the tables of the day, and no others; for former companies the tables of their last day with nodes; and "
             "that no company is at 10 % or less. The result is printed, stored as events, and sent as one alert of "
             "W&B. Exit code: 0 no problem, 1 a problem, 3 W&B cannot be reached.",
    .examples = "muster wandb check --config config.yaml\n"
                "muster wandb check --date 2026-11-14 --no-alert",
    .opts = check_opts,
    .conf_size = sizeof(struct check_conf),
};

/* Stores the findings as events, for the hub, which notifies users. */
static int keep(const struct talk *t, const struct check_sum *c, int64_t now_ms, struct err *err)
{
    AUTO_WANDB_STORE *s = NULL;
    int r = talk_store(t, true, &s, err);

    for (size_t i = 0; i < c->findings.n && r == 0; i++) {
        const struct check_finding *f = &c->findings.v[i];
        struct wandb_event e = {.at_ms = now_ms, .kind = f->kind, .subject = f->company, .text = f->text};
        r = wandb_event_put(s, &e, err);
    }
    return r ?: wandb_store_flush(s, err);
}

static int report(const struct talk *t, const struct check_params *ask, const struct check_sum *c)
{
    struct err err = {0};
    int r = cli_print(&wandb_check_help, &c->text);

    if (c->alert.code)
        r = cli_fail(&wandb_check_help, EXIT_REACH, "the alert was not sent: %s", c->alert.msg);
    if (c->findings.n && keep(t, c, ask->now_ms, &err) < 0)
        cli_fail(&wandb_check_help, EXIT_REACH, "what is wrong was not kept: %s", err.msg);
    return c->findings.n ? EXIT_NO : r;
}

static int check(struct cmd_call *c, struct talk *t)
{
    const struct check_conf *conf = c->conf;
    struct check_params ask = {.config = t->config, .w = t->w, .now_ms = clock_wall_ms(), .alert = !conf->no_alert};
    struct check_sum sum = {0};

    ask.day = zone_date(t->config->zone, ask.now_ms) - 1;
    if (conf->date && !date_parse(str_of(conf->date), &ask.day))
        return err_set(&c->err, -EINVAL, "--date '%.40s': expected a day, as 2026-11-14", conf->date);
    int r = talk_store(t, false, &ask.store, &c->err);
    if (r == -ENOENT)
        r = 0; /* nothing was pulled here */
    r = r ?: wandb_check(&ask, &sum, &c->err);
    wandb_store_close(ask.store);
    r = r ?: report(t, &ask, &sum);
    check_fini(&sum);
    return r;
}

int cmd_wandb_check(struct cmd_call *c)
{
    return talk_run(c, true, check);
}
