/*
 * index.h: the store's in-memory index of each node: its stored batch numbers and its newest blobs. Nodes are interned:
 * a pointer is valid until index_fini(). No locking here; writer.h defines the access rules.
 */
#pragma once

#include "base/lookup.h"
#include "model/fact.h"
#include "store/seen.h"

#define NODE_BLOBS 16 /* remembered per node; for older ones the disk is read */

struct node_blob {
    uint64_t id; /* 0: no entry */
    int64_t log; /* the blob is kept as long as this log: the newest that names it, or a later one */
    bool have;   /* stored or queued */
    bool lost;   /* dropped because the queue was full: batches that name it are refused until it is sent again */
    const struct op_blob *queued; /* NULL once durable */
};

struct index_node {
    char key[NODE_KEY_MAX];
    struct seen seen;
    struct node_blob blobs[NODE_BLOBS];
    unsigned next_blob;     /* the entry to reuse next */
    int64_t log, log_id;    /* its number in that log file */
    struct op_node *queued; /* its record, not written yet */
    uint64_t *rows;         /* its batches in logs that are not compacted yet: index_row(log, row), ascending */
    size_t n_rows, cap_rows;
};

static inline uint64_t index_row(int64_t log, int64_t row)
{
    return (uint64_t)log << 32 | (uint64_t)row; /* a log is sealed long before it has 2^32 rows */
}

struct index {
    struct index_node **v; /* in the order of creation */
    size_t n, cap;
    struct lookup by_key;
    struct index_node *last; /* the last one found: a request looks up its node several times */
};

/*
 * Maps a time to the newest change of data that starts before it. Both fields ascend along the list, because a later
 * change with an earlier start replaces all entries after that start. A full list merges its older steps, so that
 * changes_before() never reports too old a stamp.
 */
struct changes {
    uint64_t stamp; /* of the newest change */
    size_t n;
    struct change {
        int64_t from_ms;
        uint64_t stamp;
    } v[256];
};
void changes_add(struct changes *c, int64_t from_ms);
/* newest stamp of data that starts before to_ms; 0 if none */
uint64_t changes_before(const struct changes *c, int64_t to_ms);

void index_fini(struct index *x);
struct index_node *index_find(struct index *x, const char *key);     /* NULL if not found */
struct index_node *index_get(struct index *x, const char *key);      /* created if new; NULL if key is too long */
struct node_blob *index_blob(struct index_node *n, uint64_t id);     /* NULL if not found */
struct node_blob *index_put_blob(struct index_node *n, uint64_t id); /* created if new, in place of the oldest */
/* Log files before this one were deleted: forget the runs and blobs that only they referenced. */
void index_prune(struct index_node *n, int64_t oldest_log);
void index_add_row(struct index_node *n, int64_t log, int64_t row);
void index_drop_rows(struct index_node *n, int64_t log); /* rows of this log */
