/*
 * lease.h: leases for work that one of several hubs does alone: rows in PostgreSQL. lease.c has their tables.
 *
 * Z1 At most one hub holds a lease at a time. Only the server's clock decides when it ends. If that was set back, a
 *    lease lasts for its duration again and no longer.
 * Z2 Each acquisition gets a new epoch.
 * Z3 The holder stops by itself (lease_holds) when two thirds of the duration since its last request are over by
 *    CLOCK_BOOTTIME. That is before any other hub can acquire it, independent of its wall clock and of suspends.
 * Z4 A transaction that calls lease_fence is committed only while that epoch is the newest: acquiring the lease waits
 *    for the transaction, renewing does not.
 */
#pragma once

#include <stdatomic.h>
#include <stdint.h>

#include "sql/db.h"

#define LEASE_NAME_MAX 64
#define LEASE_LEADER   "leader" /* its holder does the work that must happen once */
/*
 * Work that must happen once per node, and is too much for one hub, is split by parts of the nodes: part/0, part/1 ...
 */
#define LEASE_PARTS 12

extern const struct db_kind lease_kind; /* the tables: lease, hub */

/* A lease to acquire, or held. lease_holds is thread-safe; call the others on one thread. */
struct lease {
    char name[LEASE_NAME_MAX];
    int64_t holder;          /* number of the hub */
    int64_t ms;              /* duration */
    _Atomic int64_t epoch;   /* of the last acquisition; 0: never */
    _Atomic int64_t stop_ms; /* by CLOCK_BOOTTIME; 0: not held */
};

/* Statements over the caller's connection, of any kind of tables, which must outlive them. */
struct leases {
    struct db_stmts st;
};
void leases_init(struct leases *s, struct db *db);
void leases_fini(struct leases *s);

void lease_init(struct lease *l, const char *name, int64_t holder, int64_t ms);
int lease_take(struct leases *s, struct lease *l, struct err *err); /* acquires; 1: it is ours; 0: another's; -errno */
/*
 * Renews. Returns 1: extended by its duration; 0: it expired and another hub has it, or it was revoked; -errno:
 * unknown, and lease_holds is true until it is too late.
 */
int lease_keep(struct leases *s, struct lease *l, struct err *err);
/* releases it for others immediately; 0 or -errno */
int lease_give_up(struct leases *s, struct lease *l, struct err *err);
bool lease_holds(const struct lease *l);
/* The same for n parts, some of which may not be held: expired ones are lost. */
int lease_keep_parts(struct leases *s, struct lease *v, size_t n, struct err *err);
/*
 * Within a write transaction: returns 1, or 0 if another hub has it by now; then nothing may be written under this
 * epoch.
 */
int lease_fence(struct leases *s, const char *name, int64_t epoch, struct err *err);
/* The same for several parts, bits of a mask: ret gets the current epoch of each; 0: never held. */
int lease_fence_parts(struct leases *s, uint32_t parts, int64_t ret[LEASE_PARTS], struct err *err);
/* Within a transaction: until it ends no hub writes for that part. */
int lease_stop_part(struct leases *s, unsigned part, struct err *err);
unsigned lease_part_of(const char *node);                           /* the node's part, by its key */
const char *lease_of_part(unsigned part, char out[LEASE_NAME_MAX]); /* part/N */

/* ---- hubs: each start adds a row; lease hub/ID shows whether it is alive ---- */
struct hub_row {
    int64_t id;
    char url[256], name[64];
    char version[64];             /* base/version.h */
    char conf[72];                /* a hash of its settings, as text */
    char pin[64];                 /* sha256//BASE64 of its TLS key; "" without TLS */
    int64_t started_ms, until_ms; /* by the server's clock; the hub is gone after until */
    int64_t now_ms;               /* the server's clock at the time of reading */
    bool here, leads;
};
const char *lease_of_hub(int64_t id, char out[LEASE_NAME_MAX]); /* hub/ID */
int hub_row_add(struct leases *s, const struct hub_row *row, int64_t *ret_id, struct err *err);
/* Writes url, conf and pin of the row with this id. */
int hub_row_change(struct leases *s, const struct hub_row *row, struct err *err);
/* by number; the caller frees *ret */
int hub_rows(struct leases *s, struct hub_row **ret, size_t *ret_n, struct err *err);
/* Deletes rows of hubs that have been gone for gone_ms, with their leases. Returns their number, or -errno. */
int64_t hub_rows_drop(struct leases *s, int64_t gone_ms, struct err *err);
