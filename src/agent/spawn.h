/* spawn.h: start the collector process: this very program, executed again, with a socket pair between. */
#pragma once

#include <sys/types.h>

#include "agent/conf.h"

/*
 * first: a message that waits in the socket when the child begins; may be empty.
 * 0 with the child's pid (the caller's to reap) and our end of the pair (non-blocking); or -errno.
 */
int spawn_collector(const struct agent_conf *conf, struct str first, pid_t *ret_pid, int *ret_fd, struct err *err);
/* The other side: what main() does when conf->child_fd says so. Returns an exit status. */
int spawn_be_collector(const struct agent_conf *conf);
