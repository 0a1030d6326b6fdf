/* spawn.h: runs somebody's command as a child in the foreground, for `muster record` and `muster wait`. */
#pragma once

#include <sys/types.h>

/* -1 with *ret_errno: it could not be started. From then on an interrupt of the terminal is the command's. */
pid_t spawn_start(char **argv, int *ret_errno);
int spawn_code(int status); /* a wait status as a shell has it: 128 + the signal */
