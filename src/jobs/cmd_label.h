/*
 * cmd_label.h: reports a command as a job to a hub, from a dedicated thread: its start, its GPUs and processes as they
 * appear, its end. The command never waits for the hub. The thread retries an unreachable hub periodically; after the
 * command has ended, for a few more seconds.
 */
#pragma once

#include <sys/types.h>

#include "cli/client.h"

struct label_facts {
    const char *name;
    char *const *argv; /* the command */
    pid_t pid;
    int64_t start_ms;
    /* The hub has stored the job, and the command still runs; called once, on the thread. May be NULL. */
    void (*taken)(void *arg, const char *id);
    void *arg;
};

struct label_end {
    int64_t end_ms;
    int exit_code;
};

struct label;
/* conf and f must live until label_end. If conf names no hub and none runs here, nothing is sent. NULL: no thread could
 * be started. */
struct label *label_begin(const struct client_conf *conf, const struct label_facts *f);
/* Reports a process of the command on this GPU, if it is new. Accepts NULL. */
void label_saw(struct label *l, const char *uuid, pid_t pid);
/* Sends the result of the command, and waits until the hub has it or time is up. Returns 0, or -errno with a message in
 * err, -ENOTCONN without a hub. ret_id is the id of the job, "" if the hub has none. Frees l, and accepts NULL. */
int label_end(struct label *l, const struct label_end *e, char ret_id[32], struct err *err);
