/*
 * cmd_label.h: tells a hub of a command as a job, from a thread beside it: that it began, its GPUs and processes as
 * they are seen, its end. The command never waits for the hub. A hub that is away is asked again now and then; when the
 * command has ended, for a few seconds more.
 */
#pragma once

#include <sys/types.h>

#include "cli/client.h"

struct label_facts {
    const char *name;
    char *const *argv; /* the command */
    pid_t pid;
    int64_t start_ms;
    /* The hub has it, while the command runs; called once, by the thread. NULL: nobody wants to know. */
    void (*taken)(void *arg, const char *id);
    void *arg;
};

struct label_end {
    int64_t end_ms;
    int exit_code;
};

struct label;
/* conf and f must live until label_end. Where conf names no hub and none runs here, nothing is sent. NULL: no thread
 * could be started. */
struct label *label_begin(const struct client_conf *conf, const struct label_facts *f);
/* A process of the command is on this GPU. What is new is told. Accepts NULL. */
void label_saw(struct label *l, const char *uuid, pid_t pid);
/* Sends how it ended, and waits until the hub has it or the time for that is up. 0, or -errno with a sentence,
 * -ENOTCONN where there is no hub; ret_id is the job's, "" where the hub has none. Frees l, and accepts NULL. */
int label_end(struct label *l, const struct label_end *e, char ret_id[32], struct err *err);
