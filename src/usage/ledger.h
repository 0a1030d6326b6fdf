/*
 * ledger.h: keeps usage counted. Data that arrives marks the hours it is about, and those within reach (count.h), as to
 * be counted; a thread counts them again out of the store, a node and a day at a time; the store keeps the sums and
 * forgets the marks.
 *
 * L1 A mark is durable no later than the batch that made it, so nothing is left out after a crash. L2 The hours of a
 * node are counted without a gap from its first to now: one of which nothing is known counts as down. Of a gap of more
 * than two days (a hub that was away, a clock that jumped) they are marked bit by bit, and what is left of that when
 * the hub ends stays out. L3 The loop never waits here, but in ledger_free. L4 Of several hubs the one that has a
 * node's part (hub/others.h) counts it; the others only note marks for it. What is counted is put with the epoch in
 * which it was begun.
 */
#pragma once

#include "base/zone.h"
#include "now/live.h"
#include "store/records.h"
#include "usage/count.h"

struct event_base;
struct ledger;

struct ledger_conf {
    struct count_rule rule;
    int64_t every_ms;            /* the hour under way is counted so often */
    int64_t keep_ms;             /* samples and records older than this are gone; 0: never */
    int64_t (*epoch)(void *arg); /* of this hub as the one that leads; -1: it does not. NULL: it is alone */
    int64_t (*part)(void *arg, unsigned part); /* in which it counts that part of the nodes; -1: another hub does */
    void *epoch_arg;
};

/* zones: at most USAGE_ZONES, of names that differ; the first says where hours begin. They are taken. NULL when no
 * thread could be started. */
struct ledger *ledger_new(struct event_base *loop, struct store *store, const char *dir, struct live *live,
                          struct zone *const *zones, size_t n_zones, const struct ledger_conf *conf);
void ledger_free(struct ledger *l); /* before the store */
/* Marks that were left, and hours that went by meanwhile. */
int ledger_load(struct ledger *l, int64_t now_ms, struct err *err);
void ledger_set(struct ledger *l, const struct ledger_conf *conf);

/* Something about [from, to] of this node is in the store, or about to be. */
void ledger_mark(struct ledger *l, const char *node, int64_t from_ms, int64_t to_ms, int64_t now_ms);
void ledger_mark_all(struct ledger *l, int64_t from_ms, int64_t to_ms, int64_t now_ms); /* of every node */
void ledger_move(struct ledger *l, const char *from, const char *to, int64_t now_ms);   /* a node was taken over */
/* The first hour of a node that was ever marked, where no sample of then or later can have done it; 0: there is none.
 */
int64_t ledger_first_before(struct ledger *l, const char *node, int64_t then_ms);
/* Another hub heard of something in that hour; passed over where this one does not count that node. */
void ledger_take_mark(struct ledger *l, const struct usage_mark *m, int64_t now_ms);
void ledger_tick(struct ledger *l, int64_t now_ms);
/* Count everything again that can be: how many hours. */
size_t ledger_recount(struct ledger *l, int64_t now_ms);

struct ledger_stat {
    size_t waiting; /* hours that are over and not counted since the last that came of them, and what is not to be read
                       yet */
    int64_t records_ms;      /* the first hour of any node; 0: none */
    int64_t counted_to_ms;   /* everything before is counted, as far as it has come */
    const struct zone *zone; /* the first */
    size_t n_days;
    const struct zone *days[USAGE_ZONES]; /* days of these are there */
    char error[200];                      /* why the last hour could not be counted; empty: it could */
};
uint64_t ledger_counted(const struct ledger *l); /* hours of nodes since it was made; accepts NULL */
bool ledger_counts_all(const struct ledger *l);  /* of no node another hub does; accepts NULL */
void ledger_stat(const struct ledger *l, int64_t now_ms, struct ledger_stat *ret);
