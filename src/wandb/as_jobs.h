/*
 * as_jobs.h: runs of W&B as jobs of ours, so that each has a page: of those that were pulled lately and ran on a node
 * of this hub at the time of a run there (match.h). Found beside the loop, a few at a time; the hub that leads writes.
 *
 * A job's id is made of the run's path, so it is made once, and a pull that knows more changes it. While it is a part
 * of a run that is not of W&B, it is matched again each time: what went on at first may have ended.
 */
#pragma once

#include "hub/hub.h"

struct wandb_jobs;
struct wandb_jobs *wandb_jobs_new(struct hub *h);
void wandb_jobs_tick(struct wandb_jobs *x, const char *base_url); /* base_url NULL: W&B's own */
void wandb_jobs_due(struct wandb_jobs *x);                        /* something was pulled: the next tick looks */
void wandb_jobs_free(struct wandb_jobs *x);                       /* once nothing is under way; accepts NULL */
