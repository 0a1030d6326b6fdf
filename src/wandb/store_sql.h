/* store_sql.h: the tables of wandb.db and every statement run on them, for store*.c of this folder and for backups. */
#ifndef WANDB_STORE_SQL_H
#define WANDB_STORE_SQL_H

#include "store/db.h"
#include "wandb/store.h"

enum {
    W_SETTING,
    W_PUT_SETTING,
    W_ANY_RUN,
    W_FIND_PULL,
    W_PUT_PULL,
    W_END_PULL,
    W_LAST_PULL,
    W_PROJECT,
    W_PUT_PAGE,
    W_PUT_FAILURE,
    W_FAILED,
    W_COUNT_PROJECTS,
    W_COUNT_RUNS,
    W_COUNT_DUE,
    W_PUT_RUN,
    W_PUT_RUN_OF_ROW,
    W_SEE_RUN,
    W_RUN_KEY,
    W_PUT_LISTED,
    W_DROP_LISTED,
    W_DROP_STALE,
    W_MARK_GONE,
    W_MARK_FOUND,
    W_MARK_PROJECTS_GONE,
    W_SET_FOUND,
    W_DUE,
    W_PUT_DAY,
    W_PUT_DAY_HOURS,
    W_DAY_LOGGED,
    W_SET_METRICS,
    W_DAYS,
    W_DAYS_DATASET,
    W_RUNS,
    W_DELETED,
    W_RUN,
    W_BAR,
    W_UNBAR_ALL,
    W_COUNT_BARRED,
    W_PUT_EVENT,
    W_DROP_EVENTS,
    W_EVENTS,
    W_COUNT
};
extern const char *const wandb_sql[W_COUNT];
extern const struct db_kind wandb_kind;

/* How a run's columns follow each other in W_DUE, W_DAYS, W_DAYS_DATASET, W_RUNS, W_DELETED and W_RUN. */
#define WANDB_RUN_COLUMNS                                                                                              \
    "r.team, r.project, r.run, r.storage_id, r.display, r.state, r.host, r.user, r.tags, r.rule, r.created_ms,"        \
    " r.heartbeat_ms, r.gpus, r.cpus, r.gpu_info, r.found, r.logged_ms, r.metrics_ms, r.metrics_from, r.metrics_to"
#define WANDB_RUN_WIDTH 20

struct wandb_store {
    sqlite3 *h;
    struct db_stmts st;
    int lock_fd;       /* -1: reads */
    unsigned put;      /* since the transaction began; 0: there is none */
    struct err failed; /* code not 0: nothing is put any more */
    char zone[256];
};

void wandb_run_of(sqlite3_stmt *st, struct wandb_run *ret); /* text borrowed until the next step */
/* A statement ready to be bound; NULL when it cannot be: ask sqlite3_errcode. */
sqlite3_stmt *wandb_stmt(struct wandb_store *s, size_t i);
/* Text that is put: at most max bytes of it, whole letters. */
void wandb_bind(sqlite3_stmt *st, int i, const char *text, size_t max);

#endif
