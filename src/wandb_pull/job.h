/*
 * job.h: a sequence of requests, each sent after the reply to the previous one; many errands run concurrently. An
 * errand builds requests and handles replies without touching the network, so that a test can play the server.
 *
 * D1 The errands of one errands_run run concurrently.
 * D2 After the first failure no further request is sent. Requests in flight are waited for, and the first failure is
 *    returned.
 */
#pragma once

#include <stddef.h>

#include "wandb_pull/web_api.h"

struct wandb_job {
    /*
     * Builds the next request. Returns 1 with the request (its text must live until the reply), 0 if done, or -errno.
     */
    int (*next)(void *self, struct wandb_request *ret, struct err *err);
    /* Handles the reply; not called for a failed request. */
    int (*take)(void *self, const struct wandb_answer *a, struct err *err);
    void *self;
};

int errands_run(struct wandb *w, const struct wandb_job *v, size_t n, struct err *err);
static inline int wandb_job_run(struct wandb *w, struct wandb_job e, struct err *err)
{
    return errands_run(w, &e, 1, err);
}

/* Finds "createArtifact.artifact.id": a member of a member ...; NULL if not found. */
const json_t *answer_at(const json_t *data, const char *path);
/* The same of a text: NULL for anything else, and for an empty one. */
const char *answer_text(const json_t *data, const char *path);
