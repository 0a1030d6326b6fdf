/*
 * member.h: this hub as one of several on a PostgreSQL server. A thread with its own connection renews its leases
 * (sql/lease.h), lists the other hubs, reserves ids, and reads the changes of other hubs.
 *
 * K1 The leader holds the lease `leader`. Each start of a hub has a unique number.
 * K2 A change that another hub committed reaches the loop within a second, at least once, in commit order per record.
 *    NOTIFY is only a hint; no change is lost without it: each is read again until every older transaction has ended.
 * K3 Nothing here blocks the caller's thread except member_open, member_follow and member_close.
 * K4 Parts of the nodes (sql/lease.h) are spread over the live hubs. With three or more hubs the leader has none,
 *    because it has enough to do.
 */
#pragma once

#include "hub/peer_hubs.h"
#include "sql/lease.h"

#define MEMBER_HUBS_MAX 64 /* maximum number listed */

struct event_base;
struct member;

struct member_conf {
    const char *place; /* of the server, including the password */
    struct hub_row self;
};
/* Connects, gets a number, and renews the leases from then on. */
int member_open(struct member **ret, const struct member_conf *conf, struct err *err);
void member_close(struct member *m); /* others may take over immediately */

/* K4: the parts of this hub, as bits, computed from all hubs in order of their numbers. */
uint32_t member_parts_of(int64_t id, const struct hub_row *rows, size_t n);

int64_t member_id(const struct member *m);
/*
 * The host to which its password and all samples may be sent without TLS, by the address of the server. NULL if none.
 */
const char *member_open_way(const struct member *m);
const char *member_place(const struct member *m); /* for the store's connections: marks their writes as ours */

/* Thread-safe. */
bool member_leads(const struct member *m, int64_t *ret_epoch);
int64_t member_part(const struct member *m, unsigned part); /* the epoch in which this hub has it; -1: it does not */
bool member_has_left(struct member *m, int64_t hub);        /* that hub holds no lease: it writes nothing any longer */
int64_t member_next_id(struct member *m, enum hub_ids of);  /* 0: none reserved, the server is unreachable */

/* Call once the tables exist: from now on passes changes of other hubs to changed, on the loop thread. */
typedef void member_changed_fn(void *arg, const struct peer_record *r);
int member_follow(struct member *m, struct event_base *loop, member_changed_fn *changed, void *arg, struct err *err);
void member_unfollow(struct member *m);
/* Writes this hub's address, the hash of its settings and the pin of its TLS key to the table of hubs. */
void member_publish(struct member *m, const char *url, const char *conf, const char *pin);

struct member_stat {
    struct hub_row hubs[MEMBER_HUBS_MAX]; /* live hubs, as last read */
    size_t n;
    int64_t away_ms;      /* how long the server has been unreachable; 0: it is reachable */
    int64_t away_wall_ms; /* start of that outage */
    char why[480];        /* error message */
    bool full;            /* its disk, even if it responds */
    bool leads;
    struct hub_row missed;  /* a hub that disappeared without a clean shutdown; id 0: none */
    int64_t missed_wall_ms; /* its last renewal, by the server's clock */
    uint64_t changes;       /* by other hubs, since the start */
};
void member_stat(struct member *m, struct member_stat *ret);
