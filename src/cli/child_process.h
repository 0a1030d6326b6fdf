/*
 * child_process.h: child processes of a command: the hub and agent of `muster up`, a relay of `muster hub`. Each is
 * this program with other arguments and exits with its parent. A child that exits is restarted after a growing delay.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/err.h"

struct process_env;
struct child_process {
    const char *what, *area; /* for the log: "the agent ended", logged by "up" */
    pid_t pid;               /* 0: not running */
    char **argv;             /* NULL-terminated */
    size_t argc, cap;
    const struct process_env *env;          /* inherited variables (base/process.h); NULL: all */
    int out;                                /* its standard output, or -1 */
    int64_t started_ms, again_ms, pause_ms; /* monotonic; again_ms: next start, 0: not due */
};

void child_process_arg(struct child_process *p, const char *a);           /* a copy */
void child_process_args(struct child_process *p, const char *const *all); /* NULL-terminated */
void child_process_fini(struct child_process *p);
int child_process_start(struct child_process *p, bool capture,
                        struct err *err); /* capture: out is its standard output */
/* It exited with this status (from waitpid): logs it and schedules a restart. */
void child_process_ended(struct child_process *p, int status);
/* Starts it if due. Returns the milliseconds until the next start; -1: none. */
int64_t child_process_due(struct child_process *p);
/* For a caller without SIGCHLD: checks whether it exited, then does child_process_due. */
int64_t child_process_tend(struct child_process *p);
void child_process_stop(struct child_process *p); /* stops it and waits */
