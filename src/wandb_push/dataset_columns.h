/* dataset_columns.h: the columns of a dataset (dataset.def), for reading and writing it. */
#pragma once

#include "wandb_push/dataset.h"

enum dataset_kind {
    IS_DATE,
    IS_NAME, /* of a team, a project, a run: never empty */
    IS_WORD,
    IS_TAGS, /* a JSON list */
    IS_TIME,
    IS_HOURS,
    IS_COUNT, /* -1: null */
    IS_UTIL,  /* percentages: an average and its maximum are there or not there together */
    IS_MEM,
    IS_EXISTS,
    IS_ZERO, /* unused columns: always this value */
    IS_FALSE,
};

extern const struct dataset_column {
    const char *name;
    enum dataset_kind kind;
    size_t at;     /* in struct dataset_row */
    unsigned sets; /* that have it: bits */
} dataset_columns[];
enum {
#define COLUMN(name, kind, field, sets) COLUMN_##name,
#include "wandb_push/dataset.def"
    DATASET_COLUMNS
};
