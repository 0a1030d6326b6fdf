/*
 * cmd_wandb.c: `muster wandb VERB`: the table of verbs. Each verb has its own file, cmd_VERB.c, here or in wandb_push/.
 */
#include <string.h>

#include "base/buf.h"
#include "cli/cli.h"
#include "cli/cmd.h"
#include "wandb_pull/cmd_wandb.h"

const struct cmd wandb_verbs[] = {
#define X(verb) {#verb, cmd_wandb_##verb, NULL, &wandb_##verb##_help, false, NULL},
    WANDB_VERBS(X)
#undef X
        {0},
};

static const struct opt wandb_opts[] = {{0}};
const struct opt_cmd wandb_help = {
    .name = "muster wandb",
    .summary = "measure the usage of companies by their runs at Weights & Biases",
    .args = "VERB",
    .about = "For programmes that lend nodes to companies and count the runs at Weights & Biases. `pull` reads the "
             "runs of the teams in a config.yaml and stores them by day; `push` writes the tables to W&B, where "
             "dashboards expect them; `check` checks that they are there and correct; `explain` explains how the GPUs "
             "of a run were counted; `overlap` lists runs that share a host; `import` and `export` read and write the "
             "dataset as CSV; `download` saves the tables and the dataset of W&B as files. `muster wandb VERB --help` "
             "explains a verb; docs/wandb.md describes all of them.",
    .examples = "WANDB_API_KEY=... muster wandb pull --config config.yaml  # yesterday\n"
                "muster report --source wandb  # the tables of it",
    .opts = wandb_opts,
};

static int unknown(const char *what)
{
    AUTO_BUF verbs = BUF_INIT(1024);

    for (const struct cmd *v = wandb_verbs; v->name; v++)
        buf_addf(&verbs, "%s%s", v == wandb_verbs ? "" : v[1].name ? ", " : " or ", v->name);
    return what ? cli_fail(&wandb_help, EXIT_USAGE, "unknown verb '%s'; expected %s", what, buf_str(&verbs).p)
                : cli_fail(&wandb_help, EXIT_USAGE, "expected %s", buf_str(&verbs).p);
}

int cmd_wandb(int argc, char **argv)
{
    int argi, r;

    for (const struct cmd *v = wandb_verbs; argc > 1 && v->name; v++)
        if (strcmp(argv[1], v->name) == 0)
            return cmd_start(v, argc - 1, argv + 1);
    r = cli_parse(&wandb_help, NULL, argc, argv, &argi);
    return r >= 0 ? r : unknown(argi < argc ? argv[argi] : NULL);
}
