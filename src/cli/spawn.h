/* spawn.h: runs a user's command as a child in the foreground, for `muster record` and `muster wait`. */
#pragma once

#include <sys/types.h>

/* Returns -1 and sets *ret_errno if it cannot start. Afterwards the terminal's interrupt goes to the command. */
pid_t spawn_start(char **argv, int *ret_errno);
int spawn_code(int status); /* converts a wait status like a shell: 128 + the signal */
