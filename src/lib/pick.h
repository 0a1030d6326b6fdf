/* pick.h: parses what a sampler records: which metrics, in which columns, and which devices. */
#pragma once

#include "base/err.h"
#include "collect/collect.h"
#include "model/metric.h"

#define PICK_METRICS 64

/* A column is a metric of metrics.def, or one of dask-metrics' integers. */
enum column_mode { COLUMN_FIXED, COLUMN_TAKEN, COLUMN_PERCENT, COLUMN_USED_PERCENT };
struct picked {
    const char *name, *unit;
    enum metric m;
    enum column_mode how;
    int64_t per; /* stored units per shown one: 1 for whole numbers */
    bool slow;   /* the driver is queried rarely: the last value holds until the next */
    int rank;    /* of the columns before that of tasks: 1, 2, 3; 0 for the others */
};

struct pick {
    size_t n;
    struct picked columns[PICK_METRICS]; /* in the order of the CSV */
    bool tasks;
    struct bits want; /* of metrics.def */
};
/* list NULL: dask-metrics' default. -EINVAL with the unknown name and a suggestion in err. */
int pick_metrics(const char *list, struct pick *ret, struct err *err);
/* The value of a column. False: absent. */
bool pick_value(const struct picked *c, const struct sample *s, int64_t *ret);

/*
 * Positions in r->devices of the requested ones, in their order there. list as in muster.h; visible is the value of
 * CUDA_VISIBLE_DEVICES (NULL: not set). Returns their number (at most max, the size of r), or -EINVAL, -ENODEV with a
 * message in err.
 */
int pick_devices(const struct reading *r, const char *list, const char *visible, size_t *ret, size_t max,
                 struct err *err);
