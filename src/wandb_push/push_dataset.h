/* push_dataset.h: the dataset's part of a push. */
#pragma once

#include "wandb_push/push.h"

/* Reads it, takes what it has into the store, writes a version with all of both. Fills rows, taken and sent. */
int push_dataset(const struct push_params *ask, struct push_sum *sum, struct err *err);
