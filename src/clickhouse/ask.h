/*
 * ask.h: questions about bins as one SELECT that groups on the server, and what it answers. Pure: no network.
 *
 * An answer is rows of RowBinary: node, dev, bin, and for each metric its count and what else was asked for. Of custom
 * metrics there is one, and its name stands behind dev.
 */
#pragma once

#include "base/buf.h"
#include "clickhouse/schema.h"
#include "store/archive.h"

#define CLICK_METRICS 320u

/* What one SELECT asks for: metrics of one table. */
struct click_shape {
    enum click_table table;
    unsigned fields; /* enum bin_field */
    size_t n_metrics;
    const char *metrics[CLICK_METRICS]; /* of all the asks, each once */
};
/* False: none of the asks has a metric of this table. */
bool click_shape_of(struct click_shape *ret, enum click_table table, const struct archive_ask *v, size_t n);
int click_select(struct buf *out, const struct click_place *p, const struct click_shape *s, const struct archive_ask *v,
                 size_t n);
/* Every bin of the answer to out->each. 0, or -EBADMSG: it is none of ours, or is cut off. */
int click_answer(struct str answer, const struct click_shape *s, const struct archive_ask *v, size_t n,
                 const struct archive_out *out);
/* Whether asks can be one SELECT: their names are whole nodes', which nobody took over. */
bool click_plain(const struct archive_ask *k);
