/* cmd_export.c: `muster wandb export`: writes the stored W&B runs as the dashboard's dataset. */
#include <errno.h>

#include "cli/cli.h"
#include "cli/cmd.h"
#include "wandb_pull/cmd_talk.h"
#include "wandb_pull/cmd_wandb.h"
#include "wandb_push/dataset.h"

struct wandb_export_conf {
    struct runs_conf runs;
    char *from, *to, *output;
    int columns;
    bool deleted;
};

static const struct opt wandb_export_opts[] = {
    RUNS_OPTS(wandb_export_conf, runs),
    OPT(wandb_export_conf, columns, 0, OPT_CHOICE, "18", "SET",
        "18: all; 16: without cpu_count and run_exists; old: with assigned_gpu_node and testmode",
        .choices = dataset_words),
    OPT(wandb_export_conf, from, 0, OPT_STR, NULL, "DATE", "first day"),
    OPT(wandb_export_conf, to, 0, OPT_STR, NULL, "DATE", "last day"),
    OPT(wandb_export_conf, deleted, 0, OPT_BOOL, NULL, NULL,
        "print a line per run deleted in W&B instead (deleted_runs_data.csv)"),
    OPT(wandb_export_conf, output, 'o', OPT_PATH, NULL, "FILE",
        "file to write instead of standard output, whole or not at all"),
    {0},
};
const struct opt_cmd wandb_export_help = {
    .name = "muster wandb export",
    .summary = "export the stored W&B runs as the dashboard's dataset",
    .about = "Prints all_runs_data.csv: a row per run and day, ordered by team, newest day, run and project, with "
             "times in the zone of the pull. It includes deleted runs, as the old dataset did; runs of the blacklist "
             "are not in it. `muster wandb import` reads it.",
    .examples = "muster wandb export -o all_runs_data.csv\n"
                "muster wandb export --columns 16 --from 2024-11-01 | head\n"
                "muster wandb export --deleted -o deleted_runs_data.csv",
    .opts = wandb_export_opts,
    .conf_size = sizeof(struct wandb_export_conf),
};

struct exporting {
    const struct wandb_export_conf *conf;
    struct wandb_store *store;
    struct dataset_params ask;
    FILE *to;
};

static int out(void *arg, struct str piece)
{
    struct exporting *x = arg;

    return fwrite(piece.p, 1, piece.len, x->to) == piece.len ? 0 : -(errno ? errno : EIO);
}

static int write_all(void *arg, FILE *to, struct err *err)
{
    struct exporting *x = arg;

    x->to = to;
    int64_t n = x->conf->deleted ? dataset_write_deleted(x->store, x->ask.zone, 0, out, x, err)
                                 : dataset_write(x->store, &x->ask, out, x, err);
    if (n >= 0 && fflush(to) != 0)
        n = -errno;
    if (n < 0 && n != -EPIPE && !err->msg[0])
        return err_set(err, (int)n, "cannot write '%s': %s", x->conf->output ? x->conf->output : "standard output",
                       strerror((int)-n));
    return n < 0 ? (int)n : 0;
}

static int day_of(const char *text, const char *flag, int32_t *ret, struct err *err)
{
    if (text && !date_parse(str_of(text), ret))
        return err_set(err, -EINVAL, "%s: '%s' is not a date; expected YYYY-MM-DD", flag, text);
    return 0;
}

static int export(struct exporting *x, const struct talk *t, struct err *err)
{
    struct zone *zone = NULL;
    int r = talk_store(t, false, &x->store, err);

    if (r == -ENOENT)
        return err_set(err, r,
                       "there are no W&B runs in '%s': pull or import some, or say where with --data or --store",
                       t->shown);
    const char *name = r == 0 ? wandb_store_zone(x->store) : "";
    r = r ?: zone_load(name[0] ? name : "UTC", &zone, err);
    x->ask.zone = zone;
    r = r ?: cli_stream(x->conf->output, write_all, x, err);
    wandb_store_close(x->store);
    zone_free(zone);
    return r;
}

int cmd_wandb_export(struct cmd_call *c)
{
    const struct wandb_export_conf *conf = c->conf;
    struct exporting x = {.conf = conf, .ask = {.from = INT32_MIN, .to = INT32_MAX}};
    struct talk t = {0};
    struct err *err = &c->err;

    if (c->argc)
        return err_set(err, -EINVAL, "unexpected argument '%s'", c->argv[0]);
    x.ask.set = (enum dataset_set)conf->columns;
    int r = talk_place(&conf->runs, false, &t, err);
    r = r ?: day_of(conf->from, "--from", &x.ask.from, err) ?: day_of(conf->to, "--to", &x.ask.to, err);
    if (r == 0 && x.ask.from > x.ask.to)
        r = err_set(err, -EINVAL, "the first day, %s, is after the last, %s", conf->from, conf->to);
    r = r ?: export(&x, &t, err);
    return r >= 0 || r == -EPIPE ? EXIT_OK : r;
}
