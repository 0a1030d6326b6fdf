/*
 * schema.h: the two tables of samples, as statements for ClickHouse 18.16 and newer.
 *
 *   muster_sample  a row for each device (or node: dev is "") and tick, a column for each metric of metrics.def
 *   muster_custom  a row for each value of a metric that was declared at run time
 *
 * Both are ReplacingMergeTree by node, device, time, run and number: rows written twice are read once with FINAL.
 */
#pragma once

#include "base/buf.h"
#include "clickhouse/place.h"

enum click_table { CLICK_SAMPLE, CLICK_CUSTOM, CLICK_TABLES };
extern const char *const click_tables[CLICK_TABLES];

int click_create(struct buf *out, const struct click_place *p, enum click_table t); /* IF NOT EXISTS */
/*
 * Columns that a table of an older muster lacks: have is the result of "SELECT name … FORMAT TSV". Appends one
 * statement, or nothing if none are missing.
 */
int click_add_columns(struct buf *out, const struct click_place *p, struct str have);
int click_insert(struct buf *out, const struct click_place *p, enum click_table t);
/* All statements for people to read: those the hub runs, and better ones for newer servers, marked as untested. */
int click_print(struct buf *out, const struct click_place *p);
