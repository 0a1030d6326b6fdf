/* cmd.h: the subcommands. Exit codes: 0 done, 1 the answer is no, 2 usage, 3 could not reach or read something. */
#pragma once

#include "base/opt.h"

enum { EXIT_OK = 0, EXIT_NO = 1, EXIT_USAGE = 2, EXIT_REACH = 3 };

/* A command that is called: what its options filled, and its operands. */
struct cmd_call {
    void *conf;
    int argc;
    char **argv;
    struct err err;
};

struct cmd {
    const char *name;
    /* An exit code; or -errno with a sentence in err: EXIT_USAGE of -EINVAL, EXIT_NO of what help names, else
     * EXIT_REACH. What its options filled is freed behind it. */
    int (*run)(struct cmd_call *c);
    int (*main)(int argc, char **argv); /* instead, of one that reads its arguments itself; argv[0] is its name */
    const struct opt_cmd *help;         /* summary, options, examples: --help and the man page */
    bool hidden;
    const struct cmd *verbs; /* NULL, or what may follow it: a table like this one */
};
extern const struct cmd cmds[], wandb_verbs[], vesta_verbs[]; /* end with name NULL */
const char *cmd_group(const struct cmd *c);                   /* the title of the group that it begins, or NULL */

int cmd_start(const struct cmd *c, int argc, char **argv); /* its exit code */

#define COMMAND(word, name)                                                                                            \
    int cmd_##name(struct cmd_call *c);                                                                                \
    extern const struct opt_cmd name##_help;
#define PROGRAM(word, name, hidden, verbs)                                                                             \
    int cmd_##name(int argc, char **argv);                                                                             \
    extern const struct opt_cmd name##_help;
#include "cli/commands.def"
