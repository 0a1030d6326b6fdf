/*
 * samples_query.h: queries for bins as one SELECT that groups on the server, and parsing of its result. Pure: no
 * network.
 *
 * A result is rows of RowBinary: node, dev, bin, and for each metric its count and the other requested fields. A custom
 * metric is queried alone, and its name follows dev.
 */
#pragma once

#include "base/buf.h"
#include "clickhouse/schema.h"
#include "store/archive.h"

#define CLICK_METRICS 320u

/* The contents of one SELECT: metrics of one table. */
struct click_shape {
    enum click_table table;
    unsigned fields; /* enum bin_field */
    size_t n_metrics;
    const char *metrics[CLICK_METRICS]; /* of all the queries, each once */
};
/* Returns false if no query has a metric of this table. */
bool click_shape_of(struct click_shape *ret, enum click_table table, const struct archive_query *v, size_t n);
int click_select(struct buf *out, const struct click_place *p, const struct click_shape *s,
                 const struct archive_query *v, size_t n);
/* Passes every bin of the result to out->each. Returns 0, or -EBADMSG if it is not such a result, or truncated. */
int click_answer(struct str answer, const struct click_shape *s, const struct archive_query *v, size_t n,
                 const struct archive_out *out);
/* Whether queries can be one SELECT: their names are whole nodes without takeovers. */
bool click_plain(const struct archive_query *k);
