/*
 * ledger.h: keeps usage counted. New data marks its hours, and hours within reach (count.h), as to be counted. A thread
 * counts them again from the store, a node and a day per step; the store keeps the sums and removes the marks.
 *
 * L1 A mark is durable no later than the batch that made it, so no hour is missed after a crash.
 * L2 The hours of a node are counted without a gap from its first hour to now: an hour without data counts as down. A
 *    gap of more than two days (the hub was off, a clock jumped) is marked gradually; its rest is dropped when the hub
 *    ends.
 * L3 The loop never waits here, except in ledger_free.
 * L4 Of several hubs the hub that has a node's part (hub/peer_hubs.h) counts it; the others only store marks for it.
 *    Results are stored with the epoch in which counting started.
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
    int64_t every_ms;            /* interval for counting the current hour again */
    int64_t keep_ms;             /* samples and records older than this are deleted; 0: never */
    int64_t (*epoch)(void *arg); /* this hub's epoch as the leader; -1: not the leader. NULL: the hub is alone */
    int64_t (*part)(void *arg, unsigned part); /* epoch in which it counts that part of the nodes; -1: another hub
                                                * does */
    void *epoch_arg;
};

/* zones: at most USAGE_ZONES with different names; the first defines the start of hours. Takes ownership of the zones.
 * Returns NULL when no thread could be started. */
struct ledger *ledger_new(struct event_base *loop, struct store *store, const char *dir, struct live *live,
                          struct zone *const *zones, size_t n_zones, const struct ledger_conf *conf);
void ledger_free(struct ledger *l); /* before the store */
/* Reads stored marks, and marks the hours that passed meanwhile. */
int ledger_load(struct ledger *l, int64_t now_ms, struct err *err);
void ledger_set(struct ledger *l, const struct ledger_conf *conf);

/* Data about [from, to] of this node is in the store, or about to be. */
void ledger_mark(struct ledger *l, const char *node, int64_t from_ms, int64_t to_ms, int64_t now_ms);
void ledger_mark_all(struct ledger *l, int64_t from_ms, int64_t to_ms, int64_t now_ms); /* of all nodes */
void ledger_move(struct ledger *l, const char *from, const char *to, int64_t now_ms);   /* a node was replaced by
                                                                                         * another */
/* The first hour of a node that was ever marked, if it is before then_ms; 0: none. */
int64_t ledger_first_before(struct ledger *l, const char *node, int64_t then_ms);
/* A mark of another hub for that hour; ignored if this hub does not count that node. */
void ledger_take_mark(struct ledger *l, const struct usage_mark *m, int64_t now_ms);
void ledger_tick(struct ledger *l, int64_t now_ms);
/* Marks all hours that can be counted again. Returns their number. */
size_t ledger_recount(struct ledger *l, int64_t now_ms);

struct ledger_stat {
    size_t waiting;          /* past hours with uncounted data, and data that cannot be read yet */
    int64_t records_ms;      /* the first hour of any node; 0: none */
    int64_t counted_to_ms;   /* all earlier data is counted, as far as it has arrived */
    const struct zone *zone; /* the first */
    size_t n_days;
    const struct zone *days[USAGE_ZONES]; /* zones whose days are stored */
    char error[200];                      /* why the last hour could not be counted; "": no error */
};
uint64_t ledger_counted(const struct ledger *l); /* hours of nodes counted since ledger_new; accepts NULL */
bool ledger_counts_all(const struct ledger *l);  /* no other hub counts any node; accepts NULL */
void ledger_stat(const struct ledger *l, int64_t now_ms, struct ledger_stat *ret);
