/*
 * child_process.h: one of several processes that make up a whole: `muster up` has a hub and an agent, `muster hub` a relay. Each
 * is this program again, started with its own arguments and ended with its parent; one that dies by itself is started
 * again, a little later each time.
 */
#ifndef CLI_CHILD_PROCESS_H
#define CLI_CHILD_PROCESS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/err.h"

struct process_env;
struct part {
    const char *what, *area; /* for the log: "the agent ended", said by "up" */
    pid_t pid;               /* 0: it does not run */
    char **argv;             /* ends with NULL */
    size_t argc, cap;
    const struct process_env *env;          /* what it gets of ours (base/process.h); NULL: all */
    int out;                                /* its standard output, or -1 */
    int64_t started_ms, again_ms, pause_ms; /* monotonic; again_ms: when to start it again, 0 not due */
};

void part_arg(struct part *p, const char *a); /* a copy */
void part_fini(struct part *p);
int part_start(struct part *p, bool capture, struct err *err); /* capture: out is its standard output */
/* It ended with this status (of waitpid): say so, and when it is started again. */
void part_ended(struct part *p, int status);
/* Start it if that is due. Milliseconds until something is; -1: nothing is. */
int64_t part_due(struct part *p);
/* For whoever has no SIGCHLD: look whether it ended, then as part_due. */
int64_t part_tend(struct part *p);
void part_stop(struct part *p); /* ask it to end, and wait */

#endif
