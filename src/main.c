/* main.c: the table of subcommands. */
#include <signal.h>
#include <stdio.h>

#include "base/mem.h"
#include "cmd/cmd.h"

const struct cmd cmds[] = {
    {"up", cmd_up, &up_face, false},
    {"hub", cmd_hub, &hub_face, false},
    {"agent", cmd_agent, &agent_face, false},
    {"relay", cmd_relay, &relay_face, false},
    {"fetch", cmd_fetch, &fetch_face, false},
    {"render", cmd_render, &render_face, false},
    {"ls", cmd_ls, &ls_face, false},
    {"top", cmd_top, &top_face, false},
    {"history", cmd_history, &history_face, false},
    {"record", cmd_record, &record_face, false},
    {"jobs", cmd_jobs, &jobs_face, false},
    {"usage", cmd_usage, &usage_face, false},
    {"people", cmd_people, &people_face, false},
    {"idle", cmd_idle, &idle_face, false},
    {"book", cmd_book, &book_face, false},
    {"report", cmd_report, &report_face, false},
    {"node", cmd_node, &node_face, false},
    {"token", cmd_token, &token_face, false},
    {"backup", cmd_backup, &backup_face, false},
    {"restore", cmd_restore, &restore_face, false},
    {"export", cmd_export, &export_face, false},
    {"import", cmd_import, &import_face, false},
    {"config", cmd_config, &config_face, false},
    {"doctor", cmd_doctor, &doctor_face, false},
    {"simulate", cmd_simulate, &simulate_face, false},
    {"completion", cmd_completion, &completion_face, false},
    {"man", cmd_man, &man_face, true},
    {0},
};

static int help(FILE *to)
{
    fprintf(to, "muster " MUSTER_VERSION ": roll call for every GPU\n\nUsage: muster COMMAND [OPTIONS]\n\n");
    for (const struct cmd *c = cmds; c->name; c++)
        if (!c->hidden)
            fprintf(to, "  %-11s %s\n", c->name, c->face->summary);
    fprintf(to,
            "\n`muster COMMAND --help` explains one. Start with `muster up`, or `muster ls` for this machine alone.\n");
    return to == stderr ? EXIT_USAGE : EXIT_OK;
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
        if (strcmp(argv[1], c->name) == 0)
            return c->run(argc - 1, argv + 1);
    fprintf(stderr, "muster: unknown command '%s'; `muster --help` lists them\n", argv[1]);
    return EXIT_USAGE;
}
