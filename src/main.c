/* main.c: muster: runs a subcommand. */
#include <limits.h>
#include <signal.h>
#include <stdio.h>

#include "base/mem.h"
#include "base/secret.h"
#include "base/version.h"
#include "cli/cmd.h"
#include "model/quantities.h"

static int help(FILE *to)
{
    fprintf(to, "muster " MUSTER_VERSION ": monitor the GPUs of a cluster\n\nUsage: muster COMMAND [OPTIONS]\n");
    for (const struct cmd *c = cmds; c->name; c++) {
        if (cmd_group(c))
            fprintf(to, "\n%s:\n", cmd_group(c));
        if (!c->hidden)
            fprintf(to, "  %-11s %s\n", c->name, c->help->summary);
    }
    fprintf(to, "\nHow much a GPU is used:\n");
    for (const struct quantity *t = quantities; t->word; t++)
        fprintf(to, "  %-11s %s\n", t->word, t->meaning);
    fprintf(to, "\n`muster COMMAND --help` describes a command. Start with `muster up`, or `muster ls` for this "
                "machine alone.\n");
    return to == stderr ? EXIT_USAGE : EXIT_OK;
}

/* `muster help ls` is `muster ls --help`, `muster help wandb pull` is `muster wandb pull --help`. */
static void put_help_last(int argc, char **argv)
{
    static char flag[] = "--help";
    memmove(argv + 1, argv + 2, (size_t)(argc - 2) * sizeof(*argv));
    argv[argc - 1] = flag;
}

static int refuse_word(const char *word)
{
    const char *near = NULL;
    int least = INT_MAX;
    for (const struct cmd *c = cmds; c->name; c++) {
        int slips = c->hidden ? -1 : str_near(str_of(word), str_of(c->name));
        if (slips >= 0 && slips < least) {
            least = slips;
            near = c->name;
        }
    }
    fprintf(stderr, "muster: unknown command '%s'; ", word);
    fprintf(stderr, near ? "did you mean '%s'?\n" : "`muster --help` lists them\n", near);
    return EXIT_USAGE;
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
    if (strcmp(argv[1], "help") == 0 && argc > 2)
        put_help_last(argc, argv);
    if (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0 || strcmp(argv[1], "help") == 0)
        return help(stdout);
    if (strcmp(argv[1], "--version") == 0) {
        printf("muster %s, store format %d, wire format %d\n", muster_build, MUSTER_FORMAT, MUSTER_WIRE);
        return EXIT_OK;
    }
    for (const struct cmd *c = cmds; c->name; c++)
        if (strcmp(argv[1], c->name) == 0) {
            secret_args(options_of(c, argc, argv), argc - 1, argv + 1); /* before anything that takes its time */
            return cmd_start(c, argc - 1, argv + 1);
        }
    return refuse_word(argv[1]);
}
