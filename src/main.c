/* main.c: the table of subcommands. */
#include <signal.h>
#include <stdio.h>

#include "base/mem.h"
#include "base/secret.h"
#include "cli/cmd.h"

const struct cmd cmds[] = {
    {"up", cmd_up, &up_help, false, NULL},
    {"hub", cmd_hub, &hub_help, false, NULL},
    {"agent", cmd_agent, &agent_help, false, NULL},
    {"relay", cmd_relay, &relay_help, false, NULL},
    {"fetch", cmd_fetch, &fetch_help, false, NULL},
    {"render", cmd_render, &render_help, false, NULL},
    {"ls", cmd_ls, &ls_help, false, NULL},
    {"top", cmd_top, &top_help, false, NULL},
    {"history", cmd_history, &history_help, false, NULL},
    {"record", cmd_record, &record_help, false, NULL},
    {"jobs", cmd_jobs, &jobs_help, false, NULL},
    {"usage", cmd_usage, &usage_help, false, NULL},
    {"people", cmd_people, &people_help, false, NULL},
    {"idle", cmd_idle, &idle_help, false, NULL},
    {"book", cmd_book, &book_help, false, NULL},
    {"alerts", cmd_alerts, &alerts_help, false, NULL},
    {"say", cmd_say, &say_help, false, NULL},
    {"free", cmd_free, &free_help, false, NULL},
    {"wait", cmd_wait, &wait_help, false, NULL},
    {"report", cmd_report, &report_help, false, NULL},
    {"reports", cmd_reports, &reports_help, false, NULL},
    {"peaks", cmd_peaks, &peaks_help, false, NULL},
    {"plot", cmd_plot, &plot_help, false, NULL},
    {"wandb", cmd_wandb, &wandb_help, false, wandb_verbs},
    {"node", cmd_node, &node_help, false, NULL},
    {"token", cmd_token, &token_help, false, NULL},
    {"backup", cmd_backup, &backup_help, false, NULL},
    {"restore", cmd_restore, &restore_help, false, NULL},
    {"export", cmd_export, &export_help, false, NULL},
    {"import", cmd_import, &import_help, false, NULL},
    {"vesta", cmd_vesta, &vesta_help, false, vesta_verbs},
    {"config", cmd_config, &config_help, false, NULL},
    {"doctor", cmd_doctor, &doctor_help, false, NULL},
    {"simulate", cmd_simulate, &simulate_help, false, NULL},
    {"completion", cmd_completion, &completion_help, false, NULL},
    {"slack-socket", cmd_slack_socket, &slack_socket_help, true, NULL},
    {"mail-send", cmd_mail_send, &mail_send_help, true, NULL},
    {"man", cmd_man, &man_help, true, NULL},
    {0},
};

static int help(FILE *to)
{
    fprintf(to, "muster " MUSTER_VERSION ": roll call for every GPU\n\nUsage: muster COMMAND [OPTIONS]\n\n");
    for (const struct cmd *c = cmds; c->name; c++)
        if (!c->hidden)
            fprintf(to, "  %-11s %s\n", c->name, c->help->summary);
    fprintf(to,
            "\n`muster COMMAND --help` explains one. Start with `muster up`, or `muster ls` for this machine alone.\n");
    return to == stderr ? EXIT_USAGE : EXIT_OK;
}

/* Whose options the arguments are: the command's, or those of its verb. */
static const struct opt *options_of(const struct cmd *c, int argc, char **argv)
{
    for (const struct cmd *v = c->verbs; v && v->name && argc > 2; v++)
        if (strcmp(argv[2], v->name) == 0)
            return v->help->opts;
    return c->help->opts;
}

int main(int argc, char **argv)
{
    signal(SIGPIPE, SIG_IGN);
    if (argc < 2)
        return help(stderr);
    if (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0 || strcmp(argv[1], "help") == 0)
        return help(stdout);
    if (strcmp(argv[1], "--version") == 0) {
        printf("muster " MUSTER_VERSION "\n");
        return EXIT_OK;
    }
    for (const struct cmd *c = cmds; c->name; c++)
        if (strcmp(argv[1], c->name) == 0) {
            secret_args(options_of(c, argc, argv), argc - 1, argv + 1); /* before anything that takes its time */
            return c->run(argc - 1, argv + 1);
        }
    fprintf(stderr, "muster: unknown command '%s'; `muster --help` lists them\n", argv[1]);
    return EXIT_USAGE;
}
