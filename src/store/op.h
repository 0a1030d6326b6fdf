/*
 * op.h: what waits for the writer thread, one allocation each, in a list. The struct says by its kind what it is: each
 * begins with struct store_op.
 */
#pragma once

#include "store/index.h"
#include "store/samples.h"

enum op_kind { OP_APPEND, OP_BLOB, OP_NODE, OP_TAKE_OVER, OP_RECORDS, OP_JOB_CHANGE, OP_USAGE };

struct store_op {
    struct store_op *next;
    enum op_kind kind;
    bool durable;  /* set by the writer: it need not be tried again */
    bool refused;  /* so: the engine will never take it */
    int64_t epoch; /* it is done by whoever leads, or has its part of the nodes, in this one; 0: by anybody */
    unsigned part; /* from 1; 0: whoever leads */
    size_t size;   /* of the allocation: what the queue is bounded by */
};

struct op_batch {
    struct index_node *node;
    struct store_batch b; /* bytes point behind the op */
    bool put;             /* set by the writer: this one is in the log; a repeat is not */
    bool known;           /* so: a repeat of one that is durable, from whichever hub */
    int64_t row;          /* and where */
};
struct op_append {
    struct store_op op;
    store_done_fn *done;
    void *arg;
    bool fresh;   /* some of it is not kept yet: its result is that of the commit */
    bool refused; /* set by the writer: some of it names a blob that is not there, and must come again */
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
    struct index_node *node; /* whose queued points here */
    struct store_node n;
};
struct op_take_over {
    struct store_op op;
    char from[NODE_KEY_MAX], to[NODE_KEY_MAX];
};

struct op_usage { /* a usage_put as text: op_usage_get */
    struct store_op op;
    size_t n;
    char bytes[];
};
struct op_told { /* what may have a result: whoever gave it is told how it went */
    struct store_op op;
    store_done_fn *done;
    void *arg;
    int result; /* set by the writer: 0, or why it was not taken though the commit went well */
};

struct op_records { /* all of them or none */
    struct op_told told;
    enum store_kind of;
    size_t n;
    char bytes[]; /* each as record_pack writes it */
};

struct op_job_change {
    struct op_told told;
    struct job_change change; /* text behind the op */
};

/* Whether it has one: what has none is tried again. */
static inline bool op_is_told(const struct store_op *op)
{
    enum store_kind of = op->kind == OP_RECORDS ? ((const struct op_records *)op)->of : STORE_TABLES;

    return op->kind == OP_JOB_CHANGE || of == STORE_JOB || of == STORE_BOOKING || of == STORE_NOTE;
}

struct op_list {
    struct store_op *head, **tail; /* tail NULL: empty and never used */
};
void op_push(struct op_list *l, struct store_op *op);
void op_push_front(struct op_list *l, struct op_list *front); /* front ends up empty */
void op_free_all(struct store_op *op);

struct op_append *op_append_new(size_t n, size_t bytes); /* bytes of room behind v[n]: op_append_room */
char *op_append_room(struct op_append *a);
struct op_blob *op_blob_new(struct index_node *node, enum blob_kind kind, uint64_t id, struct str bytes);
struct op_node *op_node_new(struct index_node *node, const struct store_node *n);
void op_node_set(struct op_node *o, const struct store_node *n); /* both puts as one */
int op_usage_get(const struct op_usage *o, struct arena *mem, struct usage_put *ret);
struct op_take_over *op_take_over_new(const char *from, const char *to);
/* Any other records that can wait, but for their done. NULL: they are too large. */
struct store_op *op_records_new(enum store_kind kind, const void *v, size_t n);
