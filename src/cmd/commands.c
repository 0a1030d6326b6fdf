/* commands.c: the table of subcommands. */
#include <string.h>

#include "base/mem.h"
#include "cli/cmd.h"

const struct cmd cmds[] = {
#define COMMAND(word, name)                {word, cmd_##name, NULL, &name##_help, false, NULL},
#define PROGRAM(word, name, hidden, verbs) {word, NULL, cmd_##name, &name##_help, hidden, verbs},
#include "cli/commands.def"
    {0},
};

const char *cmd_group(const struct cmd *c)
{
    static const struct {
        const char *first, *title;
    } groups[] = {
#define COMMAND(word, name)
#define PROGRAM(word, name, hidden, verbs)
#define GROUP(first, title) {first, title},
#include "cli/commands.def"
    };
    for (size_t i = 0; i < ARRAY_LEN(groups); i++)
        if (strcmp(c->name, groups[i].first) == 0)
            return groups[i].title;
    return NULL;
}
