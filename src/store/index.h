/*
 * index.h: what the store knows of each node without asking the disk: its kept batch numbers and its newest blobs.
 * Nodes are interned: a pointer is good until the index ends. Not locked here: see writer.h for who may touch what.
 */
#pragma once

#include "base/lookup.h"
#include "model/fact.h"
#include "store/seen.h"

#define NODE_BLOBS 16 /* remembered per node; older ones are asked of the disk */

struct node_blob {
    uint64_t id; /* 0: no entry */
    int64_t log; /* it is kept as long as this log: the newest that names it, or one after */
    bool have;   /* kept or queued */
    bool lost;   /* dropped, the queue being full: a batch that names it must wait until it comes again */
    const struct op_blob *queued; /* until it is durable */
};

struct index_node {
    char key[NODE_KEY_MAX];
    struct seen seen;
    struct node_blob blobs[NODE_BLOBS];
    unsigned next_blob;     /* the entry to reuse next */
    int64_t log, log_id;    /* its number in that log file */
    struct op_node *queued; /* its record, still to be written */
    uint64_t *rows; /* where its batches are in logs that are not compacted yet: index_row(log, row), ascending */
    size_t n_rows, cap_rows;
};

static inline uint64_t index_row(int64_t log, int64_t row)
{
    return (uint64_t)log << 32 | (uint64_t)row; /* a log is sealed long before it has 2^32 rows */
}

struct index {
    struct index_node **v; /* in the order they came */
    size_t n, cap;
    struct lookup by_key;
    struct index_node *last; /* found: a request asks for its node several times */
};

/*
 * When what was stored: of everything that begins before a moment, the newest. Both grow along the list, since what
 * begins earlier and came later stands for all it could be before. Old steps are made coarser when it is full, so that
 * what is told is never too little.
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
uint64_t changes_before(const struct changes *c, int64_t to_ms); /* of what begins before to_ms; 0: nothing did */

void index_fini(struct index *x);
struct index_node *index_find(struct index *x, const char *key);     /* or NULL */
struct index_node *index_get(struct index *x, const char *key);      /* made if new; key fits, or NULL */
struct node_blob *index_blob(struct index_node *n, uint64_t id);     /* or NULL */
struct node_blob *index_put_blob(struct index_node *n, uint64_t id); /* made if new, in place of the oldest */
/* Log files before this one are gone: forget the runs and blobs that only they spoke of. */
void index_prune(struct index_node *n, int64_t oldest_log);
void index_add_row(struct index_node *n, int64_t log, int64_t row);
void index_drop_rows(struct index_node *n, int64_t log); /* those of this log */
