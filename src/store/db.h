/*
 * db.h: SQLite for this folder alone: files opened with the settings they all share, failures as errno and a sentence.
 * A connection is used by one thread.
 */
#pragma once

#include <sqlite3.h>
#include <stdint.h>

#include "base/err.h"
#include "model/record.h"

#define DB_PAGE        4096
#define DB_WAL_PAGES   1000       /* checkpoint past this many: 4 MB */
#define DB_BUSY_MS     5000       /* how long to wait for another process's write */
#define DB_MAGIC_MAIN  0x6d737472 /* PRAGMA application_id: "mstr" */
#define DB_MAGIC_LOG   0x6d73746c /* "mstl" */
#define DB_MAGIC_WANDB 0x6d737477 /* "mstw" */

/* What makes a file ours, and its tables when it is new. */
struct db_kind {
    int64_t magic, version;
    const char *schema;
    const char *const *upgrades;              /* [v - 1]: from version v to v + 1 */
    const struct record_kind *const *records; /* of its tables; a column that is missing is added. NULL at the end */
    bool shrinks;                             /* free pages can be given back a few at a time */
};

enum db_mode {
    DB_READ,   /* must be there; never changes a byte of it */
    DB_STILL,  /* the same for one that nobody will ever write to again: no locks, no files beside it */
    DB_WRITE,  /* made if missing, mode 0600; WAL; checkpoints are the caller's (db_checkpoint) */
    DB_BESIDE, /* as DB_WRITE, but SQLite checkpoints by itself: for short visits */
};

/*
 * -EUCLEAN: damaged, or not a database; -ENOTSUP: written by a newer muster; -EINVAL: a database, but not ours;
 * -ENOENT. An older file is brought up to date when opened for writing. A file that was only just begun (no tables yet)
 * is finished when opened for writing, -ENODATA when for reading.
 */
int db_open(sqlite3 **ret, const char *path, const struct db_kind *kind, enum db_mode mode, struct err *err);
void db_close(sqlite3 *h);
int64_t db_file_bytes(const char *path); /* with its WAL; 0: not there */

int db_errno(sqlite3 *h, int rc); /* SQLite's answer as -errno: -ENOSPC when full, -EUCLEAN when damaged */
int db_fail(sqlite3 *h, int rc, const char *doing, struct err *err); /* "cannot DOING 'path': why"; returns -errno */
int db_sound(sqlite3 *h, struct err *err);                           /* is every page? 0 or -errno */
int db_exec(sqlite3 *h, const char *sql);                            /* 0 or SQLite's code */
int db_int(sqlite3 *h, const char *sql, int64_t *ret);               /* the first column of the first row */

/* Steps a statement that gives no rows, and makes it ready again: 0 or SQLite's code. */
int db_run(sqlite3_stmt *st);
/* Keeps *pages at the size of the WAL, for as long as the connection is open. */
void db_watch_wal(sqlite3 *h, int *pages);
void db_checkpoint(sqlite3 *h, int mode); /* SQLITE_CHECKPOINT_...; a failure only means a larger WAL */

/* Statements of one connection, prepared at first use. sql is a table that outlives it; records: of the marks in it
 * (record_sql.h), or NULL. */
struct db_stmts {
    sqlite3 *h;
    const char *const *sql;
    const struct record_kind *const *records;
    sqlite3_stmt **v;
    size_t n;
};
void db_stmts_init(struct db_stmts *s, sqlite3 *h, const char *const *sql, size_t n);
void db_stmts_fini(struct db_stmts *s);
/* What they cost since it was last asked, in steps of SQLite's machine: the same everywhere, so that tests count it. */
uint64_t db_stmts_steps(struct db_stmts *s);
sqlite3_stmt *db_stmt(struct db_stmts *s, size_t i); /* NULL: ask db_errno(h, sqlite3_errcode(h)) */

/* A value that is bound. */
struct db_value {
    enum { DB_IS_INT, DB_IS_TEXT, DB_IS_BYTES } type;
    int64_t number;
    const char *text;
    struct str bytes;
};
#define DB_INT(n)   ((struct db_value){.number = (n)})
#define DB_TEXT(s)  ((struct db_value){.type = DB_IS_TEXT, .text = (s)})
#define DB_BYTES(s) ((struct db_value){.type = DB_IS_BYTES, .bytes = (s)})
/* db_stmt with ?1, ?2 ... bound to these. */
#define DB_STMT(s, i, ...)                                                                                             \
    db_bind((s), (i), (const struct db_value[]){__VA_ARGS__},                                                          \
            sizeof((const struct db_value[]){__VA_ARGS__}) / sizeof(struct db_value))
sqlite3_stmt *db_bind(struct db_stmts *s, size_t i, const struct db_value *v, size_t n);
/* The same, run: for one that gives no rows. 0 or SQLite's code. */
#define DB_RUN(s, i, ...) db_try((s), DB_STMT((s), (i), __VA_ARGS__))
int db_try(struct db_stmts *s, sqlite3_stmt *st); /* st NULL: why it could not be prepared */
/* The next row: 1; 0 at the end; or -errno with a sentence. The statement is ready for the next use unless 1. */
int db_next(struct db_stmts *s, sqlite3_stmt *st, struct err *err);
/* The first column of a statement that gives one row: 1; 0: there is none, or nothing in it; or -errno. */
int db_one(struct db_stmts *s, sqlite3_stmt *st, int64_t *ret, struct err *err);
/* All rows: read makes a thing of this size of each. *ret points to them, for the caller to free. 0 or -errno. */
int db_list(struct db_stmts *s, sqlite3_stmt *st, size_t size, void (*read)(sqlite3_stmt *st, void *to), void *ret,
            size_t *ret_n, struct err *err);

/* Binding and reading, short. Text and bytes are not copied: they must live until the step. */
static inline void db_bind_int(sqlite3_stmt *st, int i, int64_t v)
{
    sqlite3_bind_int64(st, i, v);
}
static inline void db_bind_text(sqlite3_stmt *st, int i, const char *v)
{
    sqlite3_bind_text(st, i, v ? v : "", -1, SQLITE_STATIC);
}
static inline void db_bind_bytes(sqlite3_stmt *st, int i, struct str v)
{
    sqlite3_bind_blob64(st, i, v.len ? v.p : "", v.len, SQLITE_STATIC);
}
static inline const char *db_text(sqlite3_stmt *st, int i)
{
    const char *s = (const char *)sqlite3_column_text(st, i);
    return s ? s : "";
}
static inline struct str db_bytes(sqlite3_stmt *st, int i)
{
    const void *p = sqlite3_column_blob(st, i);
    return str_n(p ? p : "", p ? (size_t)sqlite3_column_bytes(st, i) : 0);
}
