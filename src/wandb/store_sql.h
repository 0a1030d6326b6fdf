/*
 * store_sql.h: the tables of wandb.db, every statement that is run on them, and how values get into those and out of
 * them: for store*.c of this folder, and for backups.
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
extern const struct record_kind *const wandb_records[]; /* all of them; NULL at the end */

struct wandb_store {
    struct db *db;
    struct db_stmts st;
    bool write;
    int lock_fd;               /* of a folder; -1: none */
    struct wandb_claim *claim; /* of a server that is written to; else NULL */
    struct leases leases;
    int64_t epoch;     /* of the hub that leads, for which it is written; 0: for nobody */
    unsigned put;      /* since the transaction began; 0: there is none */
    struct err failed; /* code not 0: nothing is put any more */
    char zone[256];
    int32_t *taken; /* the days, in order, of rows from elsewhere that no pull of this file logged */
    size_t n_taken, cap_taken;
    int64_t logged_ms; /* of the row before */
    bool logged_here;
};

/* Around what is put: in the transaction of others that were; rc: 0 or -errno of it. */
int wandb_put_begin(struct wandb_store *s, struct err *err);
int wandb_put_end(struct wandb_store *s, int rc, struct err *err);

#define RUN_ID(r) DB_TEXT((r)->team), DB_TEXT((r)->project), DB_TEXT((r)->id) /* ?1, ?2 and ?3 */
/* A statement with the fields of a record bound. Text that is longer than its field takes is cut, not within a letter.
 */
struct db_stmt *wandb_stmt_record(struct wandb_store *s, size_t i, const struct record_kind *kind, const void *record);

/* The numbers of the one row there is: 1, 0 (none), -errno. */
int wandb_ints(struct db_stmt *st, int64_t *ret, int n);
