/* series.h: one metric of one device (or of a group of them) over time, in bins of equal length: history/ makes it from
 * the store, format/ shows it. Everything is borrowed. */
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
    const char *user;           /* of a group by user; "": unknown; NULL: not such a group */
    const char *model;          /* NULL: unknown, or several models */
    size_t devices;             /* number in a group; 0: not a group */
    struct str whose;           /* all of this in the format of render_series_owner; p NULL: not prepared */
    const char *metric, *unit, *agg;
    int64_t per; /* v counts 1 / per of the unit */
    size_t n;
    const int64_t *v; /* SERIES_NONE for a gap */
};

/* Shared by all series of one result. v[i] covers [from_ms + i * step_ms, + step_ms). */
struct series_frame {
    int64_t from_ms, to_ms, step_ms;
    const char *tier;   /* "raw", "minute", "hour" */
    const char *filled; /* the coarser tier that filled gaps; NULL: no gaps, or no data */
    bool users;         /* groups by user */
    uint32_t damaged;   /* columns that could not be read */
    char missing[160];  /* why the archive with older data did not respond; "": nothing is missing */
};
