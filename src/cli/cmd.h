/* cmd.h: the subcommands. Exit codes: 0 done, 1 the answer is no, 2 usage, 3 could not reach or read something. */
#ifndef CLI_CMD_H
#define CLI_CMD_H

#include "base/opt.h"

enum { EXIT_OK = 0, EXIT_NO = 1, EXIT_USAGE = 2, EXIT_REACH = 3 };

struct cmd {
    const char *name;
    int (*run)(int argc, char **argv); /* argv[0] is the subcommand's name */
    const struct opt_cmd *help;        /* summary, options, examples: --help and the man page */
    bool hidden;
    const struct cmd *verbs; /* NULL, or what may follow it: a table like this one */
};
extern const struct cmd cmds[], wandb_verbs[], vesta_verbs[]; /* end with name NULL */

#define COMMAND(word, name, hidden, verbs)                                                                             \
    int cmd_##name(int argc, char **argv);                                                                             \
    extern const struct opt_cmd name##_help;
#include "cli/commands.def"
#undef COMMAND

#endif
