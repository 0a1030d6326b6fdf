/* upsert.h: the one mutation that makes a run and changes it; whatever of it is not named stays as it is. */
#pragma once

#include "wandb_pull/errand.h"

/* variables: a whole JSON object, borrowed. 1, or -EMSGSIZE. */
int upsert_request(const struct buf *variables, struct wandb_request *ret, struct err *err);
