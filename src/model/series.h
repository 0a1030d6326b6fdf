/* series.h: one metric of one device (or of a group of them) over time, in bins of equal length: what history/ makes
 * of the store and format/ shows. Everything is borrowed. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/str.h"

#define SERIES_NONE INT64_MIN /* a gap */

struct series {
    const char *node_id, *node; /* NULL: a group that is not one node */
    const char *device;         /* uuid; "" is the node itself, NULL a group */
    int32_t index, mig;         /* -1: not a device, not MIG */
    const char *user;           /* of a group by user; "": could not be found out; NULL: not such a group */
    const char *model;          /* NULL: not known, or of several models */
    size_t devices;             /* in a group; 0: not a group */
    struct str whose;           /* all of this as render_series_whose writes it; p NULL: it was not made ready */
    const char *metric, *unit, *agg;
    int64_t per; /* v counts 1 / per of the unit */
    size_t n;
    const int64_t *v; /* SERIES_NONE where there is nothing */
};

/* What all series of one answer share. v[i] is about [from_ms + i * step_ms, + step_ms). */
struct series_frame {
    int64_t from_ms, to_ms, step_ms;
    const char *tier;   /* "raw", "minute", "hour" */
    const char *filled; /* the coarser one that gaps were filled from; NULL: none was needed, or had more */
    bool users;         /* groups by user */
    uint32_t damaged;   /* columns that could not be read */
    char missing[160];  /* the archive of what is not kept here did not answer: why; "": nothing is missing */
};
