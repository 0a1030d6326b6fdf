/*
 * cmd_import_sink.h: where batches go that no agent sends: into a data folder through the store, or to a hub as an
 * agent would. For history that is made (simulate --backfill) and history that is brought (import).
 *
 * A batch is named by (node, run, number): one that is there already is not kept twice, so what broke off can be done
 * again from the start. Calls wait for the disk or the hub when too much is under way; nothing counts as kept before
 * import_sink_finish returned 0.
 */
#pragma once

#include "base/err.h"
#include "cli/client.h"
#include "store/samples.h"

struct import_sink;
struct import_sink_node;

/* data NULL: to the hub of client. */
int import_sink_open(struct import_sink **ret, const char *data, const struct client_conf *client, struct err *err);
void import_sink_close(struct import_sink *l);
bool import_sink_is_hub(const struct import_sink *l);
/* The store behind it; NULL when it is a hub. */
struct store *import_sink_store(struct import_sink *l);

/* Made at first; owned by the import_sink. key: 32 hex digits, or (a data folder alone) another node's key. */
int import_sink_node(struct import_sink *l, const char *key, const char *name, struct import_sink_node **ret,
                     struct err *err);
/* Where it came from, unless that is known. */
void import_sink_address(struct import_sink_node *n, const char *address);
/* In force for the batches that follow; of a hub the processes too. Given again unchanged it costs little. */
int import_sink_facts(struct import_sink *l, struct import_sink_node *n, const struct node_fact *f, struct err *err);
int import_sink_procs(struct import_sink *l, struct import_sink_node *n, const struct proc_list *p, struct err *err);
/* key.node, facts and procs are filled in here. 0, or -E2BIG (split it), or -errno. */
int import_sink_batch(struct import_sink *l, struct import_sink_node *n, struct batch *b, struct err *err);
/* What is put into a folder of this time changes who held what: to be counted again. */
void import_sink_mark(struct import_sink *l, const char *node, int64_t first_ms, int64_t last_ms);
/* What was given so far is durable in a data folder, and its store can be asked for it. */
int import_sink_sync(struct import_sink *l, struct err *err);
/* Everything is durable, and a data folder's logs are chunks. */
int import_sink_finish(struct import_sink *l, struct err *err);
