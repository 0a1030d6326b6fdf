/*
 * replay.h: a recorded trace (CSV with a header line), read once and asked at any moment: it loops. One trace serves
 * many virtual GPUs, each with its own offset, from any thread: after loading nothing changes.
 */
#pragma once

#include "base/err.h"
#include "base/str.h"
#include "model/metric.h"

#define REPLAY_BYTES_MAX (16u << 20)
#define REPLAY_ROWS_MAX  (1u << 20)

struct replay;

/*
 * Columns are found by name: those of data/h200-trace.csv (t, gpu_util, mem_used_b, power_mw, ...), or a metric's
 * Prometheus name with values in base units; others are ignored. t is seconds, ascending. An empty cell, N/A or [N/A]
 * is absent. Where there is no column for it, mem_total is what the memory columns add up to and busy is utilisation
 * summed up. 0, or -EINVAL with the line at fault (or file_read's error). The caller frees *ret.
 */
int replay_load(struct replay **ret, struct str text, const char *name, struct err *err);
int replay_load_file(struct replay **ret, const char *path, struct err *err);
void replay_free(struct replay *r); /* accepts NULL */

int64_t replay_length_ms(const struct replay *r); /* of one lap */
/*
 * The newest row at t_ms since the start of the trace, any number of laps on. Counters go on growing lap by lap, so
 * t_ms should count from a start near to now, not from 1970. ret->at_ms is t_ms. Device and node metrics alike.
 */
void replay_at(const struct replay *r, int64_t t_ms, struct sample *ret);

struct replay_use {
    int32_t pid;
    int64_t mem;      /* -1 unknown */
    int64_t since_ms; /* on the scale of t_ms: when the process was first there without a gap, in this lap */
};
size_t replay_uses(const struct replay *r, int64_t t_ms, struct replay_use *ret, size_t max); /* how many there are */
