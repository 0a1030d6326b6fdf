/*
 * as_jobs.h: makes jobs of W&B runs, so that each has a page. Covers runs that were pulled recently and ran on a node
 * of this hub during a run there (match.h). A worker thread finds them, a few at a time; the leading hub writes.
 *
 * A job's id is derived from the run's path, so a run gets one job, and later pulls update it. While the job is a part
 * of a run that is not from W&B, it is matched again each time: runs in progress at first may have ended.
 */
#pragma once

#include "hub/hub.h"

struct wandb_jobs;
struct wandb_jobs *wandb_jobs_new(struct hub *h);
void wandb_jobs_tick(struct wandb_jobs *x, const char *base_url); /* base_url NULL: W&B's own */
void wandb_jobs_due(struct wandb_jobs *x);                        /* new runs were pulled: the next tick checks them */
void wandb_jobs_free(struct wandb_jobs *x);                       /* call it when no request is pending; accepts NULL */
