/*
 * replay.h: a recorded trace (CSV with a header line), loaded once and played in a loop. One trace serves many virtual
 * GPUs, each with its own offset. Thread-safe: after loading it does not change.
 */
#pragma once

#include "base/err.h"
#include "base/str.h"
#include "model/metric.h"

#define REPLAY_BYTES_MAX (16u << 20)
#define REPLAY_ROWS_MAX  (1u << 20)

struct replay;

/*
 * Columns are found by name: the names of data/h200-trace.csv (t, gpu_util, mem_used_b, power_mw, ...), or a metric's
 * Prometheus name with values in base units. Other columns are ignored. t is in seconds, ascending. An empty cell, N/A
 * or [N/A] is absent. Without a column for them, mem_total is the sum of the memory columns, and busy is the integral
 * of utilisation. Returns 0, or -EINVAL with the line number (or file_read's error). The caller frees *ret.
 */
int replay_load(struct replay **ret, struct str text, const char *name, struct err *err);
int replay_load_file(struct replay **ret, const char *path, struct err *err);
void replay_free(struct replay *r); /* accepts NULL */

int64_t replay_length_ms(const struct replay *r); /* of one lap */
/*
 * The newest row at t_ms since the start of the trace, in any lap. Counters keep growing lap by lap, so count t_ms from
 * a recent start, not from 1970. Sets ret->at_ms to t_ms. For device and node metrics.
 */
void replay_at(const struct replay *r, int64_t t_ms, struct sample *ret);

struct replay_use {
    int32_t pid;
    int64_t mem;      /* -1 unknown */
    int64_t since_ms; /* on the scale of t_ms: start of the process's uninterrupted presence, in this lap */
};
size_t replay_uses(const struct replay *r, int64_t t_ms, struct replay_use *ret, size_t max); /* how many there are */
