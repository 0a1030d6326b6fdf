/*
 * claim.h: who writes W&B runs on a server: one process at a time, as the lock of a folder's file says. It is a lease
 * (sql/lease.h) that a thread keeps while the process lives; of one that was killed it is over after some seconds.
 */
#pragma once

#include <stdint.h>

#include "base/err.h"

#define WANDB_LEASE "wandb"

struct wandb_claim;
/* Waits for as long as somebody who is gone may have it. -EBUSY: a process that lives has it. */
int wandb_claim_take(struct wandb_claim **ret, const char *url, struct err *err);
int64_t wandb_claim_epoch(const struct wandb_claim *c); /* for lease_fence */
void wandb_claim_drop(struct wandb_claim *c);           /* accepts NULL */
