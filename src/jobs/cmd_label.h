/*
 * cmd_label.h: tells a hub of a command as a job, from a thread beside it: the command never waits for the hub. A hub
 * that is away is asked again now and then; when the command has ended, for a few seconds more.
 */
#pragma once

#include <sys/types.h>

#include "cli/client.h"

struct label_facts {
    const char *name;
    char *const *argv; /* the command */
    pid_t pid;
    int64_t start_ms;
};

struct label_end {
    int64_t end_ms;
    int exit_code;
    const char *const *devices; /* uuids */
    size_t n_devices;
    const pid_t *pids;
    size_t n_pids;
};

struct label;
/* conf and f must live until label_end. NULL: no thread could be started. */
struct label *label_begin(const struct client_conf *conf, const struct label_facts *f);
/* Says how it ended, and waits until the hub knows or the time for that is up. 0 with the job's id, or -errno with a
 * sentence. Frees l, and accepts NULL. */
int label_end(struct label *l, const struct label_end *e, char ret_id[32], struct err *err);
