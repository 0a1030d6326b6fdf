/* cmd.h: the subcommands. Exit codes: 0 success, 1 negative result, 2 usage, 3 cannot connect or read. */
#pragma once

#include "base/opt.h"

enum { EXIT_OK = 0, EXIT_NO = 1, EXIT_USAGE = 2, EXIT_REACH = 3 };

/* The call of a command: its options and operands. */
struct cmd_call {
    void *conf;
    int argc;
    char **argv;
    struct err err;
};

struct cmd {
    const char *name;
    /* Returns an exit code, or -errno with a message in err: EXIT_USAGE for -EINVAL, EXIT_NO for errors listed in
     * help, else EXIT_REACH. The caller frees the options. */
    int (*run)(struct cmd_call *c);
    int (*main)(int argc, char **argv); /* instead, for a command that parses its own arguments; argv[0] is its name */
    const struct opt_cmd *help;         /* summary, options, examples: --help and the man page */
    bool hidden;
    const struct cmd *verbs; /* NULL, or its subcommands: a table like this one */
};
extern const struct cmd cmds[], wandb_verbs[], vesta_verbs[]; /* end with name NULL */
const char *cmd_group(const struct cmd *c);                   /* the title of the group that starts here, or NULL */

int cmd_start(const struct cmd *c, int argc, char **argv); /* returns the exit code */

#define COMMAND(word, name)                                                                                            \
    int cmd_##name(struct cmd_call *c);                                                                                \
    extern const struct opt_cmd name##_help;
#define PROGRAM(word, name, hidden, verbs)                                                                             \
    int cmd_##name(int argc, char **argv);                                                                             \
    extern const struct opt_cmd name##_help;
#include "cli/commands.def"
