/* hub.h: the parts of a hub, for the files of this folder. Programs use server.h. */
#pragma once

#include "http/httpd.h"
#include "hub/api.h"
#include "hub/conf.h"
#include "hub/feature.h"
#include "hub/news.h"
#include "hub/others.h"
#include "store/records.h"
#include "wire/wire.h"

struct archive;
struct audit;
struct book;
struct easel;
struct compress;
struct outbox;
struct peers;
struct question;
struct usage_trend;
struct ledger;
struct looks;
struct sessions;
struct streams;
struct telling;
struct tokens;
struct work;

#define HUB_PLACE_MAX 2048

struct hub {
    struct event_base *loop;
    struct features features;
    struct hub_conf conf; /* owned */
    char data[512];
    struct buf addresses; /* where it listens, a line each */
    struct live *live;
    struct store *store;
    char *place; /* where that is: the data folder, or a server's URL with its password */
    struct others others;
    struct archive *archive; /* where samples are kept for longer; NULL: nowhere */
    struct httpd *httpd;
    struct api api;
    struct peers *peers;
    struct tokens *tokens;
    struct sessions *sessions; /* browsers that are logged in */
    struct audit *audit;
    struct book *book;
    struct zone *zone; /* of times in sentences: the system's */
    struct streams *streams;
    struct ledger *ledger;           /* usage, counted */
    struct usage_trend *usage_trend; /* who to ask for a GPU */
    struct work *work;               /* for questions about the past */
    struct work *own_work;           /* the same for the hub's own, which may be long: nobody waits behind them */
    struct work *costly_work;        /* for costly questions: */
    struct question *costly;         /* those in progress or waiting, oldest first (ask.c) */
    struct looks *looks;             /* for single records of it */
    struct looks *blob_looks;        /* for blobs of it */
    struct compress *compress;
    struct easel *easel;   /* answers about all nodes */
    struct outbox *outbox; /* who is to be told of it */
    struct wire_dec *dec;
    struct wire_enc *enc;
    struct answer answer; /* scratch: it is large */
    int64_t started_ms;
    int64_t newest_ms;                  /* when any node was last heard, before this start */
    int64_t said_ms[256];               /* when something was last said of an address; see hub_may_say */
    int store_said;                     /* the last error of the store that was logged */
    uint64_t damage_said;               /* damaged columns of history that were logged */
    int64_t damage_said_ms;             /* when, monotonic */
    char versions[NOTICE_MAX];          /* agents of another version, at the last check */
    int64_t versions_ms;                /* when, monotonic; 0: never */
    char clear[NOTICE_MAX];             /* the secret that leaves without TLS, as text; "": none */
    char aside[NOTICE_MAX];             /* files of the data folder that were set aside, as text; "": none */
    bool full;                          /* the disk under it */
    int64_t looked_ms;                  /* when these were looked at, monotonic; 0: never */
    uint64_t batches, repeats, refused; /* taken, already there, not ours to take */
    bool shows;                         /* what is taken in now is another hub's to store */
    bool tells;                         /* other hubs share the store, and are told what is taken: */
    bool tells_all;                     /* somebody looks at one of them */
    struct telling *telling;            /* nodes/tell.c */
    struct buf shared, shared_all;      /* nodes/share.h: for those nobody looks at, and for the others */
};

/* Something that goes on is logged once a minute, not each time. */
bool hub_may_say(struct hub *h, const char *about, int64_t now_ms);

/* ---- server.c ---- */
/* Can batches be stored? why: also where they can but something else is wrong; "": all is well. */
bool hub_ready(struct hub *h, char why[NOTICE_MAX]);

/* ---- ask.c ---- */
/* Takes k in any case. ETag, If-None-Match and gzip of the answer are its business. */
enum reply_how ask_later(struct hub *h, struct request *rq, struct reply *rp, struct past_ask *k);
/* The same for one whose last part needs live: settle makes the answer on the loop, unless run did. */
enum reply_how ask_then(struct hub *h, struct request *rq, struct reply *rp, struct past_ask *k,
                        void (*settle)(struct past_ask *k, struct api *a, struct reply *rp));
/* Costly questions that wait: starts those whose turn it is, refuses those that waited too long. */
void costly_next(struct hub *h);
/* The hub's own question: then is told how it went, on the loop, before k's end. -EAGAIN: too much is asked at once; k
 * is the caller's still. */
int ask_beside(struct hub *h, struct past_ask *k, void (*then)(void *arg, struct reply *rp), void *arg);
