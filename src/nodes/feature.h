/* feature.h: nodes in the hub: what the files of this folder share, and what others ask of them. */
#pragma once

#include "hub/hub.h"
#include "nodes/peers.h"

#define SETTINGS nodes
#include "base/opt_def.h"

/* ---- ingest.c ---- */
enum reply_how post_batches(struct api *a, struct request *rq, struct reply *rp);
/* The node and its record, made if new. NULL: there are too many. */
struct peer *ingest_node(struct hub *h, const char *key, const char *name, int64_t now_ms, struct node_now **ret);

/* ---- facts.c ---- */
/* Make these facts the ones in force, on screens alone. */
void facts_show(struct hub *h, struct node_now *n, uint64_t id, const struct node_fact *f, int64_t now_ms);
/* The same of a node whose batches this hub takes: its record names them, too. */
void facts_take(struct hub *h, struct peer *peer, struct node_now *n, uint64_t id, const struct node_fact *f,
                int64_t now_ms);
/* Keep facts that are not as they came: the name of their blob, or id where that fails. */
uint64_t facts_keep(struct hub *h, const char *key, const struct node_fact *f, uint64_t id);

/* ---- shown.c ---- */
enum reply_how post_shared(struct api *a, struct request *rq, struct reply *rp);
void nodes_tell_others(struct hub *h, bool tell); /* whether what is taken is kept for other hubs */
struct taken {                                    /* a request that was taken */
    const char *key, *address;
    struct str hello; /* its frame */
    const struct frame *frames;
    size_t n_frames, n_batches;
    const struct store_batch *batches;
    struct peer *peer;
    const struct node_now *n;
    bool events;               /* it brought some */
    const struct batch *batch; /* the only one, decoded; NULL: there are more, or none */
};
void nodes_tell(struct hub *h, const struct taken *p, int64_t now_ms);
/* What there is since the last time; all: also what nobody who does not look misses. The caller's; empty: nothing. */
void nodes_take_shared(struct hub *h, bool all, struct buf *ret);

/* ---- tell.c ---- */
struct telling;
int telling_new(struct hub *h, struct telling **ret, struct err *err); /* while the hub loads */
void telling_free(struct telling *t);                                  /* accepts NULL */
void telling_notice(const struct telling *t, char out[NOTICE_MAX]);    /* who does not answer; accepts NULL */

/* ---- twins.c ---- */
/* GPUs that another node has, too, get a uuid of their own in f, or in was of n it is said whose they were; true: f is
 * another now. Not to be called again for the same facts while peer->shares is false, or twins_sight the same. */
bool twins_part(struct hub *h, struct peer *peer, struct node_now *n, struct node_fact *f, int64_t now_ms);
/* The same, and f is kept; the name of facts in force for those the agent calls id. */
uint64_t twins_facts(struct hub *h, struct peer *peer, struct node_now *n, uint64_t id, struct node_fact *f,
                     int64_t now_ms);
/* The same of facts that were looked at lately; 0: they were not, or are to be looked at again. */
uint64_t twins_known(struct hub *h, struct peer *peer, const struct node_now *n, uint64_t id, int64_t now_ms);
/* All that twins_part goes by beside the facts, as one number: who else has n's GPUs, and is it silent? */
uint64_t twins_sight(const struct hub *h, const struct node_now *n, int64_t now_ms);
/* n was retired or is no more: who has its GPUs, too, looks again with its next batch. */
void twins_again(struct hub *h, const struct node_now *n, int64_t now_ms);
void twins_load(struct hub *h, struct node_now *n); /* after all were loaded: whose GPUs it has */

/* ---- versions.c ---- */
/* Which agents are of another version than this hub, some seconds old; "": none. */
void versions_notice(struct hub *h, char out[NOTICE_MAX]);

/* ---- registry.c ---- */
/* History, usage and bookings of old become n's, and old is no more. */
void registry_move(struct hub *h, struct node_now *n, struct node_now *old, int64_t now_ms);
/* new_one takes old_one's place. -EBUSY: one is alive, or their samples overlap. */
int registry_join(struct hub *h, const char *new_one, const char *old_one, struct err *err);
void registry_labels(struct hub *h, const char *key, const char *labels); /* a key that is not known is passed over */
/* rename NULL, retired and maintenance -1: leave. */
int registry_admin(struct hub *h, const char *key_or_name, const char *rename, int retired, int maintenance,
                   struct err *err);
int registry_delete(struct hub *h, const char *key_or_name, struct err *err); /* -EEXIST: it has sent samples */
