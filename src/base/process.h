/*
 * process.h: runs a child process on the loop: its pipes and its end. Below command.h and ssh.h.
 *
 * C1 Nothing here waits for the process, except process_end_all().
 * C2 ended is called exactly once for each start, also after a stop; the owner can free its state then.
 * C3 At most PROCESS_READ_MAX bytes of its output are read per event loop iteration.
 * C4 It has its own process group and no terminal. A stop sends the group SIGTERM and, after a while, SIGKILL. It ends
 *    when we do.
 * C5 No shell is involved. It gets only the part of our environment that is named below, with LC_ALL=C, and of our
 *    descriptors only its three.
 * C6 A caller that frees a loop calls process_end_all() first: no process and no memory of it is left.
 */
#pragma once

#include "base/err.h"
#include "base/str.h"

#define PROCESS_READ_MAX 65536
#define PROCESS_SAID_MAX 4096

struct event_base;

struct process_calls {
    void (*out)(void *arg, struct str bytes); /* its standard output, as it comes */
    void (*ended)(void *arg, int status);     /* status as of waitpid; struct process is freed after the call */
};

/* The parts of our environment that a program needs in addition to PATH, HOME, USER, LOGNAME, SHELL, LANG, TZ, TMPDIR
 * and LD_LIBRARY_PATH. */
enum {
    NEEDS_NET = 1,   /* proxies, certificates */
    NEEDS_SSH = 2,   /* ssh's agent, Kerberos */
    NEEDS_SLURM = 4, /* SLURM_… */
    NEEDS_WANDB = 8, /* the key of W&B, or its place; the same for a PostgreSQL server's password */
};
struct process_env {
    unsigned needs;
    const char *secret; /* MUSTER_SECRET there; NULL: none */
};
/* The strings of `environ` that it gets, NULL-ended; the caller frees the array and *ret_room. */
char **process_env_of(const struct process_env *env, char **ret_room);

struct process;
/* env NULL: no additional environment. in: its standard input, which stays open until process_input_ends(); in.p NULL:
 * no standard input. Returns 0 or -errno. */
int process_start(struct process **ret, struct event_base *loop, const char *const *argv, const struct process_env *env,
                  struct str in, const struct process_calls *calls, void *arg, struct err *err);
/* Appends to its standard input. Returns -EMSGSIZE if a MiB is unread, -EPIPE if the process no longer reads. */
int process_write(struct process *p, struct str bytes);
/* Closes its standard input once all pending bytes are written. */
void process_input_ends(struct process *p);
/* Reads no more of its output and sends it SIGTERM. May be called from out. */
void process_stop(struct process *p);
/* The same for an owner that is freed: ended is not called, and p must not be used any more. */
void process_drop(struct process *p);
/* To call before the loop is freed: stops every process on it, waits, kills the slow ones and reaps; ended is called
 * for each. The only call that waits, for seconds at most. */
void process_end_all(struct event_base *loop);
struct str process_stderr(const struct process *p); /* the last bytes of its standard error */
/* The last line of `said` that is not empty, without unprintable characters. */
void process_last_words(struct str said, char *ret, size_t size);
