/*
 * past.h: reads history: chunks and logs of one node, on the caller's thread, over pooled connections.
 *
 * A read lists the logs first, then opens a snapshot of history.db. It reads where a node's rows are when it gets to
 * that node. A log that the snapshot has as done is in chunks; any other is read from its file. If a log was compacted
 * during the read (it left the list, or its file is gone), its rows are dropped and the node is read again from a new
 * snapshot (H1). On PostgreSQL everything, including the logs of all hubs, is read from one snapshot of one connection,
 * at most a second old.
 */
#pragma once

#include "store/main_db.h"
#include "store/sink.h"
#include "store/writer.h"

struct past;
/* w is NULL if another process runs the hub. folder is for temporary files; NULL if none are needed. */
struct past *past_new(const struct store_conf *conf, struct writer *w, const char *folder);
void past_free(struct past *p);
/*
 * Shared by several reads: connections, the list of logs, one snapshot of history.db and one of the records. Not
 * thread-safe. A sink may refer to one; otherwise a read has its own.
 */
struct history_session *past_session_new(struct past *p);
void past_session_free(struct history_session *x);
uint64_t past_damaged(const struct past *p); /* columns that could not be read since past_new; thread-safe */
/* Passes all data of a node in the sink's span to the sink. tier: which chunks to read. */
int past_read(struct past *p, const char *node, int tier, struct sink *s, struct err *err);
int past_aliases(struct past *p, struct alias **ret, size_t *ret_n, struct err *err); /* the caller frees */
/* Same contract as store_node_at(), store_facts_at() and store_each(). */
int past_node_at(struct past *p, struct history_session *x, const char *node, int64_t at_ms, struct node_at *ret,
                 struct err *err);
int past_facts_at(struct past *p, struct history_session *x, const char *node, int64_t at_ms, uint64_t known,
                  struct facts_at *ret, struct err *err);
int past_procs_at(struct past *p, const struct store_each *e, struct err *err);

/*
 * The current owner of a batch. Takeovers apply in the order they happened, each to the batches that existed before it.
 */
const char *alias_resolve(const struct alias *v, size_t n, const char *node, int64_t log, int64_t row);

/* Decoded facts by their id, cached for the next batch. */
struct facts_cache {
    uint64_t id;
    char node[NODE_KEY_MAX];
    struct node_fact fact;
    bool have, known; /* known: the lookup was done */
};
/*
 * Returns 0 or -errno. Do not treat an error as "no facts": that would assign a node's samples to no GPU. *ret is NULL
 * if the facts are unknown.
 */
int facts_get(struct facts_cache *c, struct records *r, const struct store_decoder *dec, void *d, const char *node,
              uint64_t id, const struct node_fact **ret);
void facts_fini(struct facts_cache *c);
