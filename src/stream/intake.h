/*
 * intake.h: what a hub's stream says, piece by piece, as nodes. Knows no line and no thread.
 *
 * I1 What is gathered is at most one node for each key. I2 No text that comes out has control characters. I3 Events and
 * members that are not known are passed over.
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
/* Takes node over; NULL stands for one that is gone. */
void stream_nodes_put(struct stream_nodes *s, const char *key, struct node_now *node);
void stream_nodes_tidy(struct stream_nodes *s); /* those that are gone are forgotten */
void stream_nodes_fini(struct stream_nodes *s); /* empty again */

#define STREAM_ID_MAX  40
#define STREAM_FOLLOWS 64 /* hubs that one says it follows */
#define STREAM_HOPS    8  /* over so many others; further ones are not told of */

/* Who a hub is that others may follow, as its stream says first with own=1. */
struct stream_hub {
    char id[STREAM_ID_MAX]; /* "": not said */
    size_t n;               /* whom it follows, and whom these follow */
    struct stream_follow {
        char id[STREAM_ID_MAX];
        int hops; /* 1: itself */
    } follows[STREAM_FOLLOWS];
};
/* {"id":…, "follows":{ID: HOPS}} there and back. 0 or -EBADMSG. */
int stream_hub_parse(struct str json, struct stream_hub *ret);
void stream_hub_render(const struct stream_hub *h, struct buf *out);
/* One more that it follows; of one id the nearest counts, and what is too far or too many is left out. */
void stream_hub_add(struct stream_hub *h, const char *id, int hops);
bool stream_hub_has(const struct stream_hub *h, const char *id);

/* What came since the last time. */
struct stream_news {
    struct stream_nodes nodes;
    bool begun;       /* nodes are of a new list: those before it may be gone */
    bool whole;       /* the list is complete: who was not named since it began is gone */
    bool demo;        /* as the last list has it */
    int64_t clock_ms; /* the hub's clock less our monotonic one */
    char notice[NOTICE_MAX], currency[16];
    struct stream_hub hub;
};
/* What is newer on top of what waits; from has no nodes then, and begins anew. */
void stream_news_merge(struct stream_news *to, struct stream_news *from);

struct intake {
    struct sse sse;
    bool own;         /* it was asked with own=1: nodes as a hub that follows takes them (node_parse) */
    size_t max_nodes; /* in a list; 0: no limit */
    size_t listed;    /* so many came since it began */
    bool listing;
    /* That is whom we read. -errno with a sentence: not that one. NULL: anybody. */
    int (*meet)(void *arg, const struct stream_hub *who, struct err *err);
    void *arg;
    struct err err; /* of the last intake_take */
    struct stream_news news;
};
void intake_reset(struct intake *in, size_t event_max); /* a new line: what was not whole is dropped, news are kept */
void intake_fini(struct intake *in);
/* 0, or -errno with a sentence, or without one where it is no hub's stream. mono_ms: now. */
int intake_take(struct intake *in, struct str piece, int64_t mono_ms, struct err *err);
