/* upsert.h: the mutation that creates a run and changes it; fields that are not set stay unchanged. */
#pragma once

#include "wandb_pull/job.h"

/* variables: a whole JSON object, borrowed. 1, or -EMSGSIZE. */
int upsert_request(const struct buf *variables, struct wandb_request *ret, struct err *err);
