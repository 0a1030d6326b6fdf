/*
 * op.h: queue entries of the writer thread, one allocation each, in a list. kind gives the struct's type; each starts
 * with struct store_op.
 */
#pragma once

#include "store/index.h"
#include "store/samples.h"

enum op_kind { OP_APPEND, OP_BLOB, OP_NODE, OP_TAKE_OVER, OP_RECORDS, OP_JOB_CHANGE, OP_USAGE };

struct store_op {
    struct store_op *next;
    enum op_kind kind;
    bool durable;  /* set by the writer: no retry needed */
    bool refused;  /* set by the writer: the database will never accept it */
    int64_t epoch; /* the write needs this epoch of the leader, or of the part's owner; 0: any hub may write it */
    unsigned part; /* from 1; 0: the leader */
    size_t size;   /* of the allocation; the queue is bounded by the sum */
};

struct op_batch {
    struct index_node *node;
    struct store_batch b; /* bytes are behind the op */
    bool put;             /* set by the writer: this batch is in the log; false for a repeat */
    bool known;           /* set by the writer: a repeat of a durable one, of any hub */
    int64_t row;          /* set by the writer: its row */
};
struct op_append {
    struct store_op op;
    store_done_fn *done;
    void *arg;
    bool fresh;   /* some of it is not stored yet: its result is that of the commit */
    bool refused; /* set by the writer: some of it names a missing blob and must be sent again */
    size_t n;
    struct op_batch v[];
};
struct op_blob {
    struct store_op op;
    struct index_node *node;
    enum blob_kind kind;
    uint64_t id;
    struct str bytes;
};
struct op_node {
    struct store_op op;
    struct index_node *node; /* its queued member points here */
    struct store_node n;
};
struct op_take_over {
    struct store_op op;
    char from[NODE_KEY_MAX], to[NODE_KEY_MAX];
};

struct op_usage { /* a usage_put as text: see op_usage_get() */
    struct store_op op;
    size_t n;
    char bytes[];
};
struct op_callback { /* an operation that may have a result: done gets it */
    struct store_op op;
    store_done_fn *done;
    void *arg;
    int result; /* set by the writer: 0, or why this operation failed although the commit succeeded */
};

struct op_records { /* all of them are written, or none */
    struct op_callback told;
    enum store_kind of;
    size_t n;
    char bytes[]; /* each in the format of record_pack() */
};

struct op_job_change {
    struct op_callback told;
    struct job_change change; /* its strings are behind the op */
};

/* Whether the operation has a result. Operations without one are retried. */
static inline bool op_has_callback(const struct store_op *op)
{
    enum store_kind of = op->kind == OP_RECORDS ? ((const struct op_records *)op)->of : STORE_TABLES;

    return op->kind == OP_JOB_CHANGE || of == STORE_JOB || of == STORE_BOOKING || of == STORE_NOTE;
}

struct op_list {
    struct store_op *head, **tail; /* tail NULL: empty and never used */
};
void op_push(struct op_list *l, struct store_op *op);
void op_push_front(struct op_list *l, struct op_list *front); /* front is empty afterwards */
void op_free_all(struct store_op *op);

struct op_append *op_append_new(size_t n, size_t bytes); /* bytes of space behind v[n]: op_append_room */
char *op_append_room(struct op_append *a);
struct op_blob *op_blob_new(struct index_node *node, enum blob_kind kind, uint64_t id, struct str bytes);
struct op_node *op_node_new(struct index_node *node, const struct store_node *n);
void op_node_set(struct op_node *o, const struct store_node *n); /* merges both puts */
int op_usage_get(const struct op_usage *o, struct arena *mem, struct usage_put *ret);
struct op_take_over *op_take_over_new(const char *from, const char *to);
/* Any other records that can wait. The caller sets done. Returns NULL if they are too large. */
struct store_op *op_records_new(enum store_kind kind, const void *v, size_t n);
