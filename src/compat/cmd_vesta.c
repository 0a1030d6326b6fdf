/* cmd_vesta.c: `muster vesta VERB`: what a server of vesta leaves behind, taken over. */
#include "compat/cmd_vesta.h"

#include <string.h>

#include "cli/cli.h"
#include "cli/cmd.h"

const struct cmd vesta_verbs[] = {
    {"settings", cmd_vesta_settings, NULL, &vesta_settings_help, false, NULL},
    {"history", cmd_vesta_history, NULL, &vesta_history_help, false, NULL},
    {0},
};

static const struct opt vesta_opts[] = {{0}};
const struct opt_cmd vesta_help = {
    .name = "muster vesta",
    .summary = "import the settings and the history of vesta",
    .args = "VERB",
    .about = "`settings` makes a muster.yaml from vesta's local_settings.yaml; `history` imports its database. `muster "
             "vesta VERB --help` explains a verb; docs/migrating/vesta.md describes the migration.",
    .examples = "muster vesta settings local_settings.yaml  # what it would become\n"
                "muster vesta history data/gpu_states.db --data DIR",
    .opts = vesta_opts,
};

int cmd_vesta(int argc, char **argv)
{
    int argi, r;

    for (const struct cmd *v = vesta_verbs; argc > 1 && v->name; v++)
        if (strcmp(argv[1], v->name) == 0)
            return cmd_start(v, argc - 1, argv + 1);
    r = cli_parse(&vesta_help, NULL, argc, argv, &argi);
    return r >= 0 ? r : cli_fail(&vesta_help, EXIT_USAGE, "expected settings or history");
}
