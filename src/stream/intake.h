/*
 * intake.h: parses a hub's stream incrementally into nodes. Independent of connections and threads.
 *
 * I1 It collects at most one node for each key.
 * I2 No text in the result has control characters.
 * I3 Unknown events and members are skipped.
 */
#pragma once

#include "base/err.h"
#include "base/lookup.h"
#include "model/now.h"
#include "stream/sse.h"

/* Nodes by key. */
struct stream_nodes {
    size_t n, cap;
    struct stream_node {
        char key[NODE_KEY_MAX];
        struct node_now *node; /* NULL: gone */
    } * *v;
    struct lookup by_key;
};
/* Takes ownership of node; NULL marks a removed node. */
void stream_nodes_put(struct stream_nodes *s, const char *key, struct node_now *node);
void stream_nodes_tidy(struct stream_nodes *s); /* deletes removed nodes */
void stream_nodes_fini(struct stream_nodes *s); /* empty again */

#define STREAM_ID_MAX  40
#define STREAM_FOLLOWS 64 /* maximum number of followed hubs that a hub reports */
#define STREAM_HOPS    8  /* maximum distance; hubs beyond it are not reported */

/* Identity of a hub that others may follow; first event of its stream with own=1. */
struct stream_hub {
    char id[STREAM_ID_MAX]; /* "" if not sent */
    size_t n;               /* number of hubs that it follows, directly or indirectly */
    struct stream_follow {
        char id[STREAM_ID_MAX];
        int hops; /* 1: directly */
    } follows[STREAM_FOLLOWS];
};
/* Parse and render {"id":…, "follows":{ID: HOPS}}. Parsing returns 0 or -EBADMSG. */
int stream_hub_parse(struct str json, struct stream_hub *ret);
void stream_hub_render(const struct stream_hub *h, struct buf *out);
/* Adds a followed hub. Keeps the smallest distance per id; ignores hubs that are too far or too many. */
void stream_hub_add(struct stream_hub *h, const char *id, int hops);
bool stream_hub_has(const struct stream_hub *h, const char *id);

/* Updates since the last time. */
struct stream_changes {
    struct stream_nodes nodes;
    bool begun;       /* nodes are of a new list: earlier nodes may be gone */
    bool whole;       /* the list is complete: nodes not in it are gone */
    bool demo;        /* as in the last list */
    int64_t clock_ms; /* the hub's clock minus our monotonic one */
    char notice[NOTICE_MAX], currency[16];
    struct stream_hub hub;
};
/* Merges newer updates into waiting ones; from has no nodes then, and starts empty. */
void stream_changes_merge(struct stream_changes *to, struct stream_changes *from);

struct intake {
    struct sse sse;
    bool own;         /* requested with own=1: nodes in the format for following hubs (node_parse) */
    size_t max_nodes; /* in a list; 0: no limit */
    size_t listed;    /* nodes received since the list started */
    bool listing;
    /* Called with the hub's identity. Returns -errno with a message in err to reject it. NULL: accept any. */
    int (*meet)(void *arg, const struct stream_hub *who, struct err *err);
    void *arg;
    struct err err; /* of the last intake_take */
    struct stream_changes news;
};
void intake_reset(struct intake *in, size_t event_max); /* for a new connection: drops incomplete data, keeps updates */
void intake_fini(struct intake *in);
/* Returns 0, or -errno with a message in err, or without one if it is not a hub's stream. mono_ms: now. */
int intake_take(struct intake *in, struct str piece, int64_t mono_ms, struct err *err);
