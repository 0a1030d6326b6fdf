/*
 * push.h: writes the dataset and the tables to the places of the old tool: artifact all_runs_data, and a W&B run for
 * all companies together and for each of them, tagged as the newest (docs/wandb.md).
 *
 * P1 The dataset is read first and its rows are put into the store. Only then a version with all rows of both is
 *    written. If it cannot be read, nothing is written.
 * P2 Each company (and the whole) has a run tagged as the newest at any time, if it had one before: new runs are
 *    complete and tagged before old ones lose the tag.
 * P3 Pushing the same again makes nothing new. An interrupted push is repaired by the next one.
 */
#pragma once

#include "wandb/store.h"
#include "wandb_pull/config.h"
#include "wandb_pull/web_api.h"
#include "wandb_push/dataset.h"

struct push_params {
    const struct wandb_config *config; /* with dashboard and dataset */
    struct wandb *w;
    struct wandb_store *store; /* open for writing */
    int32_t from, to;          /* companies without nodes on any of these days keep the tables they have */
    int64_t now_ms;
    enum dataset_set columns;
    bool again;              /* new runs, also where these tables are there already */
    bool no_dataset;         /* tables alone */
    bool partial, last_week; /* as in struct tables_params */
};

struct push_sum {
    size_t runs, runs_there; /* that have tables; of these, whole and tagged before */
    size_t tables;           /* of the runs that were made */
    size_t untagged;         /* old runs that are no longer the newest */
    int64_t rows, taken;     /* of the dataset; of these, that only W&B had */
    bool sent;               /* the dataset: false when W&B had just that */
};

/* -EINVAL: the config lacks something, as its dashboard. Else what W&B, the store or the report gave. */
int wandb_push(const struct push_params *ask, struct push_sum *ret, struct err *err);
