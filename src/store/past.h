/*
 * past.h: reading history: chunks and logs of one node, on the caller's thread, over connections of a pool.
 *
 * The list of logs is taken first, then one moment of history.db; where a node's rows are is noted when it is its turn.
 * A log that this moment knows as done is in chunks; any other is read from its file. If a log has left the list since,
 * or its file is gone, it was compacted just now: its rows are forgotten, so the node begins again with a new moment
 * (H1). On PostgreSQL all of it, the logs of all hubs too, is read in one moment of one connection, which is a second
 * old at most.
 */
#pragma once

#include "store/main_db.h"
#include "store/sink.h"
#include "store/writer.h"

struct past;
/* w NULL: beside a running hub. folder: for files of a moment; NULL: none. */
struct past *past_new(const struct store_conf *conf, struct writer *w, const char *folder);
void past_free(struct past *p);
/*
 * What readings in a row share: connections, the list of logs and one moment of history.db, and one of the records of
 * then. One thread's. A sink may name one; without one a reading has its own.
 */
struct history_session *past_session_new(struct past *p);
void past_session_free(struct history_session *x);
/* Everything of a node in the sink's span goes into it. tier: which chunks. */
int past_read(struct past *p, const char *node, int tier, struct sink *s, struct err *err);
int past_aliases(struct past *p, struct alias **ret, size_t *ret_n, struct err *err); /* the caller frees */
/* As store_node_at, store_facts_at and store_each say. */
int past_node_at(struct past *p, struct history_session *x, const char *node, int64_t at_ms, struct node_was *ret,
                 struct err *err);
int past_facts_at(struct past *p, struct history_session *x, const char *node, int64_t at_ms, uint64_t known,
                  struct facts_was *ret, struct err *err);
int past_procs_at(struct past *p, const struct store_each *e, struct err *err);

/* Whose a batch is now: takeovers are applied in the order they happened, each to what was there before it. */
const char *alias_resolve(const struct alias *v, size_t n, const char *node, int64_t log, int64_t row);

/* Facts by their id, decoded; kept for the next batch. */
struct facts_cache {
    uint64_t id;
    char node[NODE_KEY_MAX];
    struct node_fact fact;
    bool have, known; /* known: asked for already */
};
/* 0 or -errno: whoever takes what cannot be read for what is not there gives a node's samples to no GPU at all. *ret
 * is NULL where they are not known. */
int facts_get(struct facts_cache *c, struct records *r, const struct store_decoder *dec, void *d, const char *node,
              uint64_t id, const struct node_fact **ret);
void facts_fini(struct facts_cache *c);
