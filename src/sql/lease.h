/*
 * lease.h: what one of several hubs does alone, and for how long: rows in PostgreSQL. lease.c has their tables.
 *
 * Z1 At most one holds a lease at a time: it is over when the server's clock says so, and nobody else's; where that was
 * set back, a lease lasts for its time again and no longer. Z2 Whoever
 * takes it gets an epoch that nobody had before. Z3 The holder stops by itself (lease_holds) when two thirds of the
 * time since it last asked are over by CLOCK_BOOTTIME, so before anybody else can take it, however far its wall clock
 * is off and though it slept. Z4 A transaction that calls lease_fence is committed only while that epoch is the
 * newest: taking the lease waits for it, keeping it does not.
 */
#pragma once

#include <stdatomic.h>
#include <stdint.h>

#include "sql/db.h"

#define LEASE_NAME_MAX 64
#define LEASE_LEADER   "leader" /* whoever has it does what must happen once */
/* What must happen once for each node, and is too much for one hub, goes by parts of the nodes: part/0, part/1 ... */
#define LEASE_PARTS 12

extern const struct db_kind lease_kind; /* the tables: lease, hub */

/* One that is wanted or held. Any thread may ask lease_holds; the others come from one thread. */
struct lease {
    char name[LEASE_NAME_MAX];
    int64_t holder;          /* number of the hub */
    int64_t ms;              /* how long it lasts */
    _Atomic int64_t epoch;   /* of the last time it was taken; 0: never */
    _Atomic int64_t stop_ms; /* by CLOCK_BOOTTIME; 0: not held */
};

/* Statements over a connection of the caller's, of any kind of tables, which must outlive it. */
struct leases {
    struct db_stmts st;
};
void leases_init(struct leases *s, struct db *db);
void leases_fini(struct leases *s);

void lease_init(struct lease *l, const char *name, int64_t holder, int64_t ms);
int lease_take(struct leases *s, struct lease *l, struct err *err); /* 1: it is ours; 0: another's; -errno */
/* 1: it lasts again for its time; 0: it was over and another has it, or it was taken away; -errno: not known, and
 * lease_holds until it is too late. */
int lease_keep(struct leases *s, struct lease *l, struct err *err);
int lease_give_up(struct leases *s, struct lease *l, struct err *err); /* at once another's to take; 0 or -errno */
bool lease_holds(const struct lease *l);
/* The same of parts, n of them, of which some may not be held: those that are over are lost by then. */
int lease_keep_parts(struct leases *s, struct lease *v, size_t n, struct err *err);
/* Within a transaction that writes: 1, or 0: another has it by now, and nothing may be written in its name. */
int lease_fence(struct leases *s, const char *name, int64_t epoch, struct err *err);
/* The same of several parts, bits of a mask: the epoch that each has now goes to ret; 0: nobody ever had it. */
int lease_fence_parts(struct leases *s, uint32_t parts, int64_t ret[LEASE_PARTS], struct err *err);
/* Within a transaction: until it ends nothing is written in the name of that part. */
int lease_stop_part(struct leases *s, unsigned part, struct err *err);
unsigned lease_part_of(const char *node);                           /* the part that a node is in, by its key */
const char *lease_of_part(unsigned part, char out[LEASE_NAME_MAX]); /* part/N */

/* ---- hubs: each start of one is a row, and lease hub/ID says whether it is there ---- */
struct hub_row {
    int64_t id;
    char url[256], name[64];
    char version[64];             /* base/version.h */
    char conf[72];                /* a hash of its settings, as text */
    char pin[64];                 /* sha256//BASE64 of its TLS key; "" without TLS */
    int64_t started_ms, until_ms; /* by the server's clock; until 0: gone */
    int64_t now_ms;               /* the server's, when this was read */
    bool here, leads;
};
const char *lease_of_hub(int64_t id, char out[LEASE_NAME_MAX]); /* hub/ID */
int hub_row_add(struct leases *s, const struct hub_row *row, int64_t *ret_id, struct err *err);
/* Writes url, conf and pin of the row with this id. */
int hub_row_change(struct leases *s, const struct hub_row *row, struct err *err);
int hub_rows(struct leases *s, struct hub_row **ret, size_t *ret_n, struct err *err); /* by number; for free() */
/* Rows of hubs that have been gone for so long, with their leases. How many, or -errno. */
int64_t hub_rows_drop(struct leases *s, int64_t gone_ms, struct err *err);
