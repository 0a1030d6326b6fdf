/*
 * piped.h: runs a command and reads its output as it arrives. The command has its own process group, no standard input
 * and no standard error. It is stopped when this process ends. No call waits for it.
 */
#pragma once

#include <stdbool.h>
#include <sys/types.h>

#include "base/buf.h"
#include "base/err.h"

struct piped {
    pid_t pid;      /* 0: not running */
    int fd;         /* its output; -1 after the end of it */
    struct buf out; /* output that is not consumed yet */
    int status;     /* as from waitpid, after it ended */
};

#define PIPED_NONE ((struct piped){.fd = -1})

/* out holds at most max bytes at a time. Returns 0 or -errno: -EBUSY if two commands stopped before do not end. */
int piped_start(struct piped *p, const char *const *argv, size_t max, struct err *err);
/* Reads the available output. Returns 0; 1 if the command ended and out has the rest; -ENOBUFS if out is full. */
int piped_read(struct piped *p);
/*
 * The next line of out, without its end; the last line needs none after the command ended. Returns false if there is no
 * complete line yet. *ret is valid until the next call. `at` counts the bytes consumed; piped_consumed drops them.
 */
bool piped_line(const struct piped *p, size_t *at, struct str *ret);
void piped_consumed(struct piped *p, size_t at);
void piped_stop(struct piped *p); /* sends SIGTERM to its group, later SIGKILL; accepts a command that never ran */

void piped_end_all(void);       /* before exit: wait shortly for stopped commands, then kill them */
void piped_signal_all(int sig); /* to every group; from a signal handler too */

/* "exit status 3", "killed by signal 9". */
const char *piped_words(int status, char out[40]);
