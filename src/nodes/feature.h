/* feature.h: nodes in the hub: functions shared by the files of this folder or called by other folders. */
#pragma once

#include "hub/hub.h"
#include "nodes/peers.h"

#define SETTINGS nodes
#include "base/opt_def.h"

/* ---- ingest.c ---- */
enum reply_mode post_batches(struct api *a, struct request *rq, struct reply *rp);
/* Returns the node and its record; creates them if new. Returns NULL if there are too many nodes. */
struct peer *ingest_node(struct hub *h, const char *key, const char *name, int64_t now_ms, struct node_now **ret);

/* ---- facts.c ---- */
/* Makes these facts current on screens only. */
void facts_show(struct hub *h, struct node_now *n, uint64_t id, const struct node_fact *f, int64_t now_ms);
/* The same for a node whose batches this hub ingests: its record refers to the facts, too. */
void facts_take(struct hub *h, struct peer *peer, struct node_now *n, uint64_t id, const struct node_fact *f,
                int64_t now_ms);
/* Stores facts that differ from the ones received. Returns the id of their blob, or id on failure. */
uint64_t facts_keep(struct hub *h, const char *key, const struct node_fact *f, uint64_t id);

/* ---- shown.c ---- */
enum reply_mode post_shared(struct api *a, struct request *rq, struct reply *rp);
void share_enable(struct hub *h, bool tell); /* whether to keep ingested data for other hubs */
struct ingest_request {                      /* an ingested request */
    const char *key, *address;
    struct str hello; /* its frame */
    const struct frame *frames;
    size_t n_frames, n_batches;
    const struct store_batch *batches;
    struct peer *peer;
    const struct node_now *n;
    bool events;               /* it contained events */
    const struct batch *batch; /* the only batch, decoded; NULL: none or several */
};
void nodes_share(struct hub *h, const struct ingest_request *p, int64_t now_ms);
/* Changes since the previous call. all: include changes that only matter to connected clients. The caller owns ret;
 * empty: no changes. */
void nodes_take_shared(struct hub *h, bool all, struct buf *ret);

/* ---- share_sender.c ---- */
struct share_sender;
int share_sender_new(struct hub *h, struct share_sender **ret, struct err *err); /* while the hub loads */
void share_sender_free(struct share_sender *t);                                  /* accepts NULL */
void share_sender_notice(const struct share_sender *t,
                         char out[NOTICE_MAX]); /* hubs that do not respond; accepts NULL */

/* ---- GPUs of two nodes ---- */
/* If another node has the same GPUs, gives them a new uuid in f, or sets was of n to their previous node. Returns true
 * if f changed. Do not call it again for the same facts while peer->shares is false or dup_gpus_hash is unchanged. */
bool dup_gpus_resolve(struct hub *h, struct peer *peer, struct node_now *n, struct node_fact *f, int64_t now_ms);
/* The same, and stores f. Returns the id of the current facts for the agent's id. */
uint64_t dup_gpus_resolve_facts(struct hub *h, struct peer *peer, struct node_now *n, uint64_t id, struct node_fact *f,
                                int64_t now_ms);
/* The same for facts checked recently. Returns 0 if they were not, or must be checked again. */
uint64_t dup_gpus_cached(struct hub *h, struct peer *peer, const struct node_now *n, uint64_t id, int64_t now_ms);
/* A hash of all inputs of dup_gpus_resolve except the facts: the other nodes with n's GPUs, and whether they report. */
uint64_t dup_gpus_hash(const struct hub *h, const struct node_now *n, int64_t now_ms);
/* n was retired or removed: other nodes with its GPUs are checked again at their next batch. */
void dup_gpus_invalidate(struct hub *h, const struct node_now *n, int64_t now_ms);
void dup_gpus_load(struct hub *h, struct node_now *n); /* after all nodes were loaded: nodes with the same GPUs */

/* ---- versions.c ---- */
/* Agents with another version than the hub, up to a few seconds old; "": none. */
void versions_notice(struct hub *h, char out[NOTICE_MAX]);

/* ---- registry.c ---- */
/* Moves the history, usage and bookings of old to n and deletes old. */
void registry_move(struct hub *h, struct node_now *n, struct node_now *old, int64_t now_ms);
/* Replaces old_one by new_one. Returns -EBUSY if the old one is alive, or their samples overlap. */
int registry_join(struct hub *h, const char *new_one, const char *old_one, struct err *err);
void registry_labels(struct hub *h, const char *key, const char *labels); /* ignores unknown keys */
/* rename NULL, retired and maintenance -1: unchanged. */
int registry_admin(struct hub *h, const char *key_or_name, const char *rename, int retired, int maintenance,
                   struct err *err);
int registry_delete(struct hub *h, const char *key_or_name, struct err *err); /* -EEXIST: it has sent samples */
