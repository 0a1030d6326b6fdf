/* main.c: the table of subcommands. */
#include <signal.h>
#include <stdio.h>

#include "base/secret.h"
#include "cli/cmd.h"

const struct cmd cmds[] = {
#define COMMAND(word, name)                {word, cmd_##name, NULL, &name##_help, false, NULL},
#define PROGRAM(word, name, hidden, verbs) {word, NULL, cmd_##name, &name##_help, hidden, verbs},
#include "cli/commands.def"
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
            return cmd_start(c, argc - 1, argv + 1);
        }
    fprintf(stderr, "muster: unknown command '%s'; `muster --help` lists them\n", argv[1]);
    return EXIT_USAGE;
}
