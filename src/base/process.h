/*
 * process.h: a program that runs beside us, on the loop: its pipes, and its end. Beneath command.h and ssh.h.
 *
 * C1 Nothing here waits for it, but for process_end_all. C2 ended is called exactly once for each start, after a stop
 * too; what the owner keeps of it can go then. C3 At most PROCESS_READ_MAX bytes of it are taken per turn of the loop.
 * C4 It has a process group of its own and no terminal; the group is asked to end and, after a while, made to; it ends
 * when we do. C5 No shell is involved; of our environment it gets what is named below and no more, with LC_ALL=C, and
 * of our descriptors none but its three. C6 Whoever frees a loop calls process_end_all first: nothing that was started
 * stays behind, neither as a process nor as memory.
 */
#pragma once

#include "base/err.h"
#include "base/str.h"

#define PROCESS_READ_MAX 65536
#define PROCESS_SAID_MAX 4096

struct event_base;

struct process_calls {
    void (*out)(void *arg, struct str bytes); /* of its standard output, as they come */
    void (*ended)(void *arg, int status);     /* as of waitpid; the struct process is gone after it */
};

/* What of our environment a program needs beside PATH, HOME, USER, LOGNAME, SHELL, LANG, TZ, TMPDIR and
 * LD_LIBRARY_PATH. */
enum {
    NEEDS_NET = 1,   /* proxies, certificates */
    NEEDS_SSH = 2,   /* ssh's agent, Kerberos */
    NEEDS_SLURM = 4, /* SLURM_… */
    NEEDS_WANDB = 8, /* the key of W&B, or where it is; the same of a PostgreSQL server's password */
};
struct process_env {
    unsigned needs;
    const char *secret; /* MUSTER_SECRET there; NULL: none */
};
/* The strings of `environ` that it gets, NULL-ended; the caller frees the array and *ret_room. */
char **process_env_of(const struct process_env *env, char **ret_room);

struct process;
/* env NULL: it needs nothing more. in: for its standard input, which then stays open until the end; in.p NULL: it has
 * none. 0 or -errno. */
int process_start(struct process **ret, struct event_base *loop, const char *const *argv, const struct process_env *env,
                  struct str in, const struct process_calls *calls, void *arg, struct err *err);
/* More for its standard input, behind what there is: -EMSGSIZE when it has not read a MiB, -EPIPE when it reads no
 * more. */
int process_write(struct process *p, struct str bytes);
/* There is no more for its standard input: it is closed once what there was is written. */
void process_input_ends(struct process *p);
/* Nothing of its output is taken any more, and it is told to end. May be called from out. */
void process_stop(struct process *p);
/* The same for an owner that goes: ended is not called, and p is not to be used any more. */
void process_drop(struct process *p);
/* Before the loop goes: every process on it is told to end, waited for, made to end if it takes its time, and reaped;
 * ended is called for each. The one place that waits, for seconds at most. */
void process_end_all(struct event_base *loop);
struct str process_said(const struct process *p); /* the end of what came on its standard error */
/* The last line of that which is not empty, without what cannot be shown. */
void process_last_words(struct str said, char *ret, size_t size);
