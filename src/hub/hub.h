/* hub.h: the parts of a hub, for features and the files of this folder. Programs use server.h. */
#pragma once

#include "http/httpd.h"
#include "hub/api.h"
#include "hub/conf.h"
#include "hub/feature.h"
#include "hub/hub_event.h"
#include "hub/peer_hubs.h"
#include "store/records.h"
#include "wire/wire.h"

struct archive;
struct audit;
struct book;
struct render_queue;
struct compress;
struct outbox;
struct peers;
struct question;
struct usage_trend;
struct ledger;
struct record_fetcher;
struct sessions;
struct streams;
struct share_sender;
struct tokens;
struct work;

#define HUB_PLACE_MAX 2048

struct hub {
    struct event_base *loop;
    struct features features;
    struct hub_conf conf; /* owned */
    char data[512];
    struct buf addresses; /* its listening addresses, a line each */
    struct live *live;
    struct store *store;
    char *place; /* where the store is: the data folder, or a server's URL with its password */
    struct hub_peers others;
    struct archive *archive; /* long-term store of samples; NULL: none */
    struct httpd *httpd;
    struct api api;
    struct peers *peers;
    struct tokens *tokens;
    struct sessions *sessions; /* of logged-in browsers */
    struct audit *audit;
    struct book *book;
    struct zone *zone; /* of times in texts: the system's */
    struct streams *streams;
    struct ledger *ledger;             /* usage accounting */
    struct usage_trend *usage_trend;   /* trend of usage, to suggest whose GPU to request */
    struct work *work;                 /* workers for queries of history */
    struct work *own_work;             /* the same for long internal queries, so that no client waits behind them */
    struct work *costly_work;          /* workers for costly queries: */
    struct question *costly;           /* the queries in progress or waiting, oldest first (query_async.c) */
    struct record_fetcher *looks;      /* reads single records of the store */
    struct record_fetcher *blob_looks; /* reads blobs of the store */
    struct compress *compress;
    struct render_queue *easel; /* responses about all nodes */
    struct outbox *outbox;      /* messages to send */
    struct wire_dec *dec;
    struct wire_enc *enc;
    struct answer answer; /* scratch: too large for the stack */
    int64_t started_ms;
    int64_t newest_ms;                  /* when any node last reported before this start */
    int64_t said_ms[256];               /* when an address was last logged; see log_ratelimit */
    int store_said;                     /* the last error of the store that was logged */
    uint64_t damage_said;               /* damaged columns of history already logged */
    int64_t damage_said_ms;             /* when logged, monotonic */
    char versions[NOTICE_MAX];          /* agents of another version, at the last check */
    int64_t versions_ms;                /* when, monotonic; 0: never */
    char long_notice[NOTICE_MAX];       /* the last notice that screens show without its end; the log has all of it */
    char aside[NOTICE_MAX];             /* text about quarantined files of the data folder; "": none */
    bool full;                          /* the disk under the data folder is full */
    int64_t looked_ms;                  /* when these were checked, monotonic; 0: never */
    uint64_t batches, repeats, refused; /* batches accepted, duplicate, rejected */
    bool shows;                         /* the current batch is another hub's to store */
    bool tells;                         /* other hubs share the store and receive what this hub ingests */
    bool tells_all;                     /* a client of another hub is connected */
    struct share_sender *telling;       /* nodes/share_sender.c */
    struct buf shared, shared_all;      /* nodes/share.h: for hubs without connected clients, and for the others */
};

/* Limits the log of a continuing condition to one line a minute. */
bool log_ratelimit(struct hub *h, const char *about, int64_t now_ms);

/* ---- server.c ---- */
/* Can batches be stored? why: a problem, also if they can be stored; "": none. */
bool hub_ready(struct hub *h, char why[NOTICE_MAX]);

/* ---- query_async.c ---- */
/* Takes ownership of k, also on failure. Handles ETag, If-None-Match and gzip. */
enum reply_mode query_async(struct hub *h, struct request *rq, struct reply *rp, struct async_query *k);
/* The same for a query whose last part needs live: settle makes the response on the loop, unless run did. */
enum reply_mode query_async_then(struct hub *h, struct request *rq, struct reply *rp, struct async_query *k,
                                 void (*settle)(struct async_query *k, struct api *a, struct reply *rp));
/* Starts the costly queries whose turn it is, and refuses those that waited too long. */
void costly_next(struct hub *h);
/* An internal query: then() gets the result on the loop, before k's end. Returns -EAGAIN if too many queries are in
 * progress; the caller then still owns k. */
int query_async_internal(struct hub *h, struct async_query *k, void (*then)(void *arg, struct reply *rp), void *arg);
