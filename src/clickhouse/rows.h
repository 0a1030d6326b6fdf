/* rows.h: batches as rows in ClickHouse's RowBinary, in the order of schema.c. Pure: no clock, no network. */
#pragma once

#include "base/buf.h"
#include "clickhouse/schema.h"
#include "store/archive.h"

#define CLICK_DAYS       32u /* ClickHouse refuses an INSERT into many partitions */
#define CLICK_ROWS_BYTES (256u << 20)

/* Rows of one table; zero-initialise, free with click_heap_fini(). */
struct click_heap {
    struct buf bytes;
    size_t n_rows;
    size_t *ends; /* where an INSERT must end, because it would have too many days */
    size_t n_ends, cap_ends;
    int64_t days[CLICK_DAYS];
    size_t n_days;
};
struct click_rows {
    struct click_heap heaps[CLICK_TABLES];
};
void click_rows_add(struct click_rows *r, const struct archive_batch *b);
size_t click_rows_count(const struct click_rows *r);
void click_rows_reset(struct click_rows *r);
void click_rows_fini(struct click_rows *r);
/* The INSERTs of a heap, in order: *at counts from 0. Returns false after the last. */
bool click_heap_piece(const struct click_heap *h, size_t *at, struct str *ret);
