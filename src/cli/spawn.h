/* spawn.h: another's command as our child, in the foreground: `muster record` and `muster wait` run one. */
#ifndef CLI_SPAWN_H
#define CLI_SPAWN_H

#include <sys/types.h>

/* -1 with *ret_errno: it could not be started. From then on an interrupt of the terminal is the command's. */
pid_t spawn_start(char **argv, int *ret_errno);
int spawn_code(int status); /* a wait status as a shell has it: 128 + the signal */

#endif
