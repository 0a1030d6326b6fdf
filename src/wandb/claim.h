/*
 * claim.h: a lock for writing W&B runs on a server, for one process at a time, like the lock of a folder's file. It is
 * a lease (sql/lease.h) that a thread renews while the process lives. The lease of a killed process expires after some
 * seconds.
 */
#pragma once

#include <stdint.h>

#include "base/err.h"

#define WANDB_LEASE "wandb"

struct wandb_claim;
/* Waits until the lease of a dead process would have expired. Returns -EBUSY if a live process has it. */
int wandb_claim_take(struct wandb_claim **ret, const char *url, struct err *err);
int64_t wandb_claim_epoch(const struct wandb_claim *c); /* for lease_fence */
void wandb_claim_drop(struct wandb_claim *c);           /* accepts NULL */
