/*
 * member.h: this hub as one of several on a PostgreSQL server: a thread with a connection of its own keeps its leases
 * (sql/lease.h), knows the others, takes numbers ahead, and reads what the others changed.
 *
 * K1 Whoever leads holds the lease `leader`; each start of a hub has a number that no other start has. K2 A change that
 * another hub committed is given to the loop within a second, at least once, in the order of their commits as far as
 * one record is concerned; NOTIFY is a hint, and none is lost without it: each is read again until no transaction that
 * began before it is under way. K4 Parts of the nodes (sql/lease.h) are spread over the hubs that are there; of three
 * and more the one that leads has none, for it has enough to do. K3 Nothing here waits on the caller's thread but
 * member_open, member_follow and member_close.
 */
#pragma once

#include "hub/others.h"
#include "sql/lease.h"

#define MEMBER_HUBS_MAX 64 /* that are looked at */

struct event_base;
struct member;

struct member_conf {
    const char *place; /* of the server, password and all */
    struct hub_row self;
};
/* Connects, gets a number, and keeps the leases from then on. */
int member_open(struct member **ret, const struct member_conf *conf, struct err *err);
void member_close(struct member *m); /* others may take over at once */

/* K4: which parts are this hub's, as bits, by all hubs in the order of their numbers. */
uint32_t member_parts_of(int64_t id, const struct hub_row *rows, size_t n);

int64_t member_id(const struct member *m);
/* The host to which its password and all samples can go without TLS: by the address of the server. NULL: none. */
const char *member_open_way(const struct member *m);
const char *member_place(const struct member *m); /* for the store's connections: what they write is known as ours */

/* From any thread. */
bool member_leads(const struct member *m, int64_t *ret_epoch);
int64_t member_part(const struct member *m, unsigned part); /* the epoch in which this hub has it; -1: it has not */
bool member_gone(struct member *m, int64_t hub);            /* that hub holds no lease: it writes nothing any more */
int64_t member_next_id(struct member *m, enum hub_ids of);  /* 0: there is none ahead, the server is away */

/* The tables are there: changes of others from this moment on are given to changed, on the loop. */
typedef void member_changed_fn(void *arg, const struct other_record *r);
int member_follow(struct member *m, struct event_base *loop, member_changed_fn *changed, void *arg, struct err *err);
void member_unfollow(struct member *m);
/* Writes this hub's address, the hash of its settings and the pin of its TLS key to the table of hubs. */
void member_publish(struct member *m, const char *url, const char *conf, const char *pin);

struct member_stat {
    struct hub_row hubs[MEMBER_HUBS_MAX]; /* those that are there, as last read */
    size_t n;
    int64_t away_ms;      /* how long the server does not answer; 0: it does */
    int64_t away_wall_ms; /* since when */
    char why[480];        /* in words */
    bool full;            /* its disk, though it may answer */
    bool leads;
    struct hub_row missed;  /* one that is away and did not say that it ends; id 0: none */
    int64_t missed_wall_ms; /* when it was last heard of, by the server's clock */
    uint64_t changes;       /* that others made, since the start */
};
void member_stat(struct member *m, struct member_stat *ret);
