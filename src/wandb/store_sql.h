/*
 * store_sql.h: the tables of wandb.db, all statements on them, and the conversion of values: for store*.c of this
 * folder, and for backups.
 */
#pragma once

#include "sql/lease.h"
#include "sql/record_sql.h"
#include "wandb/claim.h"
#include "wandb/store.h"

enum {
#define QUERY(name, sql) W_##name,
#include "wandb/store.def"
    W_COUNT
};
extern const char *const wandb_sql[W_COUNT];
extern const struct db_kind wandb_kind;
extern const struct record_kind wandb_pull_record, wandb_event_record;
extern const struct record_kind *const wandb_records[]; /* all of them; NULL-terminated */

struct wandb_store {
    struct db *db;
    struct db_stmts st;
    bool write;
    int lock_fd;               /* of a folder; -1 if none */
    struct wandb_claim *claim; /* of a server that is written to; else NULL */
    struct leases leases;
    int64_t epoch;     /* of the leading hub that it is written for; 0 if none */
    unsigned put;      /* puts since the transaction began; 0 if there is no transaction */
    struct err failed; /* code not 0: all further puts are rejected */
    char zone[256];
    int32_t *taken; /* the days, in order, of rows from elsewhere that no pull of this file logged */
    size_t n_taken, cap_taken;
    int64_t logged_ms; /* of the row before */
    bool logged_here;
};

/* Start and end of a put, within the transaction of earlier ones. rc: 0, or -errno of the put. */
int wandb_put_begin(struct wandb_store *s, struct err *err);
int wandb_put_end(struct wandb_store *s, int rc, struct err *err);

#define RUN_ID(r) DB_TEXT((r)->team), DB_TEXT((r)->project), DB_TEXT((r)->id) /* ?1, ?2 and ?3 */
/* A statement with the fields of a record bound. Text longer than its field is cut at a whole character. */
struct db_stmt *wandb_stmt_record(struct wandb_store *s, size_t i, const struct record_kind *kind, const void *record);

/* Reads the numbers of a single row. Returns 1, 0 if there is no row, or -errno. */
int wandb_ints(struct db_stmt *st, int64_t *ret, int n);
