/*
 * ssh.h: a shell on another machine through the system's ssh: keys, agents, jump hosts and known_hosts as people have
 * them set up already. One process per connection; nothing here waits for it.
 *
 * S1 Never asks anybody anything (BatchMode), takes a host key that is not known only where accept_new is set, and one
 * that has changed never. S2 Lines come whole; one
 * longer than SSH_LINE_MAX is cut and its rest passed over. S3 ended is called exactly once for each start, with a
 * sentence that says what to do, unless it was stopped first. S4 Bounded: as base/process.h says.
 */
#pragma once

#include "base/err.h"
#include "base/str.h"

#define SSH_LINE_MAX    16384
#define SSH_ARGS_MAX    48
#define SSH_KEY_UNKNOWN (-2) /* as a status: the host's key is not known, and accept_new was not set */

struct event_base;

struct ssh_conf {
    const char *program; /* "ssh" */
    const char *config;  /* -F; NULL: the user's own */
    const char *key;     /* -i; NULL: as ssh finds them */
    const char *known_hosts;
    const char *jump;        /* -J */
    const char *control_dir; /* connections to one host are shared through sockets here; NULL: not shared */
    bool accept_new;         /* a host that was never seen is believed, and known from then on (ssh's accept-new) */
    int64_t connect_ms;
};

struct ssh_target {
    const char *host; /* as ssh takes it: a name of its configuration, too */
    const char *user; /* NULL: ssh's choice */
    int port;         /* 0: ssh's choice */
};

struct ssh_calls {
    void (*line)(void *arg, struct str line);   /* of its standard output, without the end */
    void (*bytes)(void *arg, struct str bytes); /* the same, as it is, after ssh_bytes; may be NULL without it */
    /* The struct ssh is gone when this is called. status: the far side's exit status, 255 when it is ssh's own trouble,
     * -1 when ssh was killed, SSH_KEY_UNKNOWN. */
    void (*ended)(void *arg, const char *sentence, int status);
};

struct ssh;
/* /bin/sh there reads script from its standard input, which stays open until the end. 0 or -errno. */
int ssh_start(struct ssh **ret, struct event_base *loop, const struct ssh_conf *conf, const struct ssh_target *to,
              struct str script, const struct ssh_calls *calls, void *arg, struct err *err);
/* What comes from now on are no lines: for calls.bytes. May be called from calls.line. */
void ssh_bytes(struct ssh *s);
void ssh_stop(struct ssh *s); /* accepts NULL; no call comes after it */

/* ---- pure, for tests ---- */
struct ssh_args {
    char *v[SSH_ARGS_MAX + 1];
    int n;
};
/* 0, or -EINVAL with a sentence: a host or user that ssh would take for an option. Ended with ssh_args_fini. */
int ssh_args(const struct ssh_conf *conf, const struct ssh_target *to, struct ssh_args *ret, struct err *err);
void ssh_args_fini(struct ssh_args *a);
/* What ssh's last words and its exit status (as of waitpid) mean, for whoever runs the hub. The status for `ended`. */
int ssh_words(struct str said, int status, const struct ssh_target *to, bool accept_new, char ret[160]);
