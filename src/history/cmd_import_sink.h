/*
 * cmd_import_sink.h: stores batches that no agent sends: in a data folder through the store, or in a hub as an agent
 * would. For generated history (simulate --backfill) and imported history (import).
 *
 * A batch is identified by (node, run, number): a batch that exists is not stored twice, so an interrupted import can
 * be repeated from the start. Calls wait for the disk or the hub when too much is in flight. Data is durable only after
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
/* The store; NULL for a hub. */
struct store *import_sink_store(struct import_sink *l);

/* Creates the node at the first call; owned by the import_sink. key: 32 hex digits, or (a data folder only) another
 * node's key. */
int import_sink_node(struct import_sink *l, const char *key, const char *name, struct import_sink_node **ret,
                     struct err *err);
/* Sets the node's address, unless it has one. */
void import_sink_address(struct import_sink_node *n, const char *address);
/* Sets the facts, and for a hub the processes, of the following batches. Repeating unchanged values is cheap. */
int import_sink_facts(struct import_sink *l, struct import_sink_node *n, const struct node_fact *f, struct err *err);
int import_sink_procs(struct import_sink *l, struct import_sink_node *n, const struct proc_list *p, struct err *err);
/* Fills in key.node, facts and procs. Returns 0, -E2BIG (split it) or -errno. */
int import_sink_batch(struct import_sink *l, struct import_sink_node *n, struct batch *b, struct err *err);
/* Marks the usage of this time in a data folder to be counted again. */
void import_sink_mark(struct import_sink *l, const char *node, int64_t first_ms, int64_t last_ms);
/* Makes all data so far durable in a data folder, so that its store can be queried. */
int import_sink_sync(struct import_sink *l, struct err *err);
/* Makes everything durable, and turns a data folder's logs into chunks. */
int import_sink_finish(struct import_sink *l, struct err *err);
