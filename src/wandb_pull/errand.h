/*
 * errand.h: something that takes several requests, each after the answer to the one before; many errands at once.
 * What an errand asks and does with an answer is its own business and touches no network, so that a test can play the
 * server.
 *
 * D1 The errands of one errands_run go on side by side. D2 After the first failure no further request is sent; those
 * under way are waited for, and the first failure is returned.
 */
#pragma once

#include <stddef.h>

#include "wandb_pull/web_api.h"

struct errand {
    /* What is asked next: 1 and the request (its text must live until the answer), 0: it is done, or -errno. */
    int (*next)(void *self, struct wandb_request *ret, struct err *err);
    /* The answer to it; never told of one that failed. */
    int (*take)(void *self, const struct wandb_answer *a, struct err *err);
    void *self;
};

int errands_run(struct wandb *w, const struct errand *v, size_t n, struct err *err);
static inline int errand_run(struct wandb *w, struct errand e, struct err *err)
{
    return errands_run(w, &e, 1, err);
}

/* "createArtifact.artifact.id": a member of a member ..., NULL where there is none. */
const json_t *answer_at(const json_t *data, const char *path);
/* The same of a text: NULL for anything else, and for an empty one. */
const char *answer_text(const json_t *data, const char *path);
