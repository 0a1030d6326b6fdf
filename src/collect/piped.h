/*
 * piped.h: a command that runs beside us, whose output we read as it comes. It has a process group of its own, no
 * standard input and no standard error, and is told to end when this process does. Nothing here ever waits for it.
 */
#pragma once

#include <stdbool.h>
#include <sys/types.h>

#include "base/buf.h"
#include "base/err.h"

struct piped {
    pid_t pid;      /* 0: not running */
    int fd;         /* its output; -1 once that ended */
    struct buf out; /* what it printed and nobody took yet */
    int status;     /* as of waitpid, once it ended */
};

#define PIPED_NONE ((struct piped){.fd = -1})

/* out takes at most max bytes at a time. 0, or -errno: -EBUSY when two that were stopped before cannot be ended. */
int piped_start(struct piped *p, const char *const *argv, size_t max, struct err *err);
/* Take in what is there. 0; 1 when it has ended and all of it is in out; -ENOBUFS when out is full. */
int piped_read(struct piped *p);
/* The next whole line of out, without its end; the last one needs none once the command ended. False: not yet. It is
 * good until the next call. `at` counts the bytes taken; piped_taken drops them. */
bool piped_line(const struct piped *p, size_t *at, struct str *ret);
void piped_taken(struct piped *p, size_t at);
void piped_stop(struct piped *p); /* ask its group to end, later make it; accepts what never ran */

void piped_end_all(void);       /* before leaving: give those stopped a moment, then end them */
void piped_signal_all(int sig); /* to every group; from a signal handler too */

/* "exit status 3", "killed by signal 9". */
const char *piped_words(int status, char out[40]);
