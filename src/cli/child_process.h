/*
 * child_process.h: one of several processes that make up a whole: `muster up` has a hub and an agent, `muster hub` a
 * relay. Each is this program again, started with its own arguments and ended with its parent; one that dies by itself
 * is started again, a little later each time.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/err.h"

struct process_env;
struct child_process {
    const char *what, *area; /* for the log: "the agent ended", said by "up" */
    pid_t pid;               /* 0: it does not run */
    char **argv;             /* ends with NULL */
    size_t argc, cap;
    const struct process_env *env;          /* what it gets of ours (base/process.h); NULL: all */
    int out;                                /* its standard output, or -1 */
    int64_t started_ms, again_ms, pause_ms; /* monotonic; again_ms: when to start it again, 0 not due */
};

void child_process_arg(struct child_process *p, const char *a);           /* a copy */
void child_process_args(struct child_process *p, const char *const *all); /* NULL-ended */
void child_process_fini(struct child_process *p);
int child_process_start(struct child_process *p, bool capture,
                        struct err *err); /* capture: out is its standard output */
/* It ended with this status (of waitpid): say so, and when it is started again. */
void child_process_ended(struct child_process *p, int status);
/* Start it if that is due. Milliseconds until something is; -1: nothing is. */
int64_t child_process_due(struct child_process *p);
/* For whoever has no SIGCHLD: look whether it ended, then as child_process_due. */
int64_t child_process_tend(struct child_process *p);
void child_process_stop(struct child_process *p); /* ask it to end, and wait */
