/* spawn.h: start the collector process: this very program, executed again, with a socket pair between. */
#pragma once

#include <sys/types.h>

#include "agent/conf.h"

/*
 * first: a message that is in the socket when the child starts; may be empty. Returns 0 with the child's pid (the
 * caller reaps it) and our end of the pair (non-blocking); or -errno.
 */
int spawn_collector(const struct agent_conf *conf, struct str first, pid_t *ret_pid, int *ret_fd, struct err *err);
/* The child's side: called by main() if conf->child_fd is set. Returns an exit status. */
int spawn_be_collector(const struct agent_conf *conf);
