/*
 * news.h: how a feature reaches those behind it in the list, which it may not call (docs/ARCHITECTURE.md, "The hub's
 * features"): it says what happened, and every feature with a `hear` is called. Where it needs an answer, the other one
 * registers a function with it.
 *
 * N1 All hear it before hub_news returns, in the order of the list; a feature that tells something hears that as well.
 * N2 It is told before the put that caused it is queued: what a hearer puts is durable no later. N3 What is told while
 * something is told goes out at once and to all: features behind the one that told it hear the inner news before the
 * outer one. N4 All of it is borrowed for the call. N5 Features that are not open yet, or are being closed, are not
 * told.
 */
#pragma once

#include <stdint.h>

struct hub;
struct node_event;
struct other_record;

enum news_kind {
    NEWS_EVENT,   /* something happened: event */
    NEWS_DEVICES, /* node has other devices now, or shares them with others than before */
    NEWS_RENAMED, /* what was kept under the key was is node's from now on, and was is no more */
    NEWS_TIME,    /* what is known of [from_ms, to_ms] is not what it was: whoever counted that counts again */
    NEWS_PEOPLE,  /* who is who changed */
    NEWS_RECORD,  /* another hub changed record (others.h) */
    NEWS_END,     /* the hub will end: who listens is let go */
};

struct news {
    enum news_kind kind;
    int64_t now_ms;
    const char *node; /* its key; of an event "": no node's; of time NULL: every node's */
    const char *was;
    const char *device; /* of an event: its uuid; NULL: the node's */
    const struct node_event *event;
    int64_t from_ms, to_ms;
    const struct other_record *record;
};
void hub_news(struct hub *h, const struct news *n);

/* Something happened: told and stored. node "": of none; device NULL: the node's. */
void hub_event(struct hub *h, const char *node, const char *device, const struct node_event *e);
/* NEWS_TIME; node NULL: of every node. */
void hub_time(struct hub *h, const char *node, int64_t from_ms, int64_t to_ms, int64_t now_ms);
