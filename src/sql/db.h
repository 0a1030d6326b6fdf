/*
 * db.h: SQL over an engine: SQLite (sqlite.h) or PostgreSQL (pg.h). Statements are listed in tables, prepared at first
 * use and written so that every engine accepts them. A connection is used by one thread. Functions that can fail return
 * -errno (-ENOSPC: the disk is full, -EUCLEAN: damaged), and db_fail sets the message.
 */
#pragma once

#include <stdint.h>

#include "base/err.h"
#include "model/record.h"

#define DB_MAGIC_MAIN  0x6d737472 /* PRAGMA application_id: "mstr" */
#define DB_MAGIC_LOG   0x6d73746c /* "mstl" */
#define DB_MAGIC_WANDB 0x6d737477 /* "mstw" */

struct buf;
struct db;
struct db_stmt;

/* Identifies a file as ours; its tables when it is new. */
struct db_kind {
    int64_t magic, version;
    const char *schema, *pg_schema;           /* pg_: variants for PostgreSQL, if any */
    const char *pg_later, *pg_later_has;      /* for a database without this function; NULL: no additions */
    const char *const *upgrades;              /* [v - 1]: from version v to v + 1 */
    const struct record_kind *const *records; /* of its tables; missing columns are added. NULL at the end */
    /*
     * before each {.table} on a server, where all kinds share one database; the schema then has such marks
     * (record_sql.h). NULL: no prefix
     */
    const char *pg_prefix;
    bool shrinks; /* free pages can be returned in small steps */
    int page;     /* page size of a new file; 0: default */
};

enum db_mode {
    DB_READ,   /* must exist; never changes a byte of it */
    DB_STILL,  /* the same for a file without any future writer: no locks, no files next to it */
    DB_WRITE,  /* created if missing, mode 0600; WAL; the caller checkpoints (db_tidy) */
    DB_BESIDE, /* as DB_WRITE, but SQLite checkpoints automatically: for short use */
};

/* A value to bind. Text and bytes are not copied: they must live until the step. */
struct db_value {
    enum { DB_IS_INT, DB_IS_TEXT, DB_IS_BYTES } type;
    int64_t number;
    struct str s;
};
#define DB_INT(n)   ((struct db_value){.number = (n)})
#define DB_TEXT(t)  ((struct db_value){.type = DB_IS_TEXT, .s = str_of(t)})
#define DB_BYTES(b) ((struct db_value){.type = DB_IS_BYTES, .s = (b)})

/* The operations of an engine; see the functions below. */
struct db_engine {
    int (*open)(struct db **ret, const char *place, const struct db_kind *kind, enum db_mode mode, struct err *err);
    void (*close)(struct db *db);
    int (*fail)(struct db *db, int code, const char *doing, struct err *err);
    int (*exec)(struct db *db, const char *sql);
    int (*begin)(struct db *db, bool write);
    int (*commit)(struct db *db);
    void (*rollback)(struct db *db);
    bool (*in_transaction)(struct db *db);
    int64_t (*changes)(struct db *db);
    void (*tidy)(struct db *db, bool all);
    int64_t (*used_bytes)(struct db *db, const char *table);
    int (*give_back)(struct db *db, int n);
    int (*read_part)(struct db *db, const char *table, int64_t id, size_t off, size_t len, void *to);
    int (*own_tables)(struct db *db); /* starts a transaction with exclusive access to the tables' schema */
    int (*get_version)(struct db *db, const struct db_kind *kind, int64_t *ret);
    int (*set_version)(struct db *db, const struct db_kind *kind);
    const char *columns; /* statement that lists the columns of table ?1 */

    struct db_stmt *(*prepare)(struct db *db, const char *sql, bool keep); /* keep: it will run often */
    void (*finish)(struct db_stmt *st);                                    /* accepts NULL */
    int (*place)(struct db_stmt *st, const char *name);
    void (*bind_int)(struct db_stmt *st, int i, int64_t v);
    void (*bind_text)(struct db_stmt *st, int i, struct str v);
    void (*bind_bytes)(struct db_stmt *st, int i, struct str v);
    int (*step)(struct db_stmt *st);
    int (*post)(struct db_stmt *st); /* NULL: same as step */
    void (*reset)(struct db_stmt *st);
    bool (*is_null)(struct db_stmt *st, int i);
    int64_t (*number)(struct db_stmt *st, int i);
    const char *(*text)(struct db_stmt *st, int i);
    struct str (*bytes)(struct db_stmt *st, int i);
    uint64_t (*steps)(struct db_stmt *st);
};
/* First member of each engine's struct. */
struct db {
    const struct db_engine *engine;
    const char *prefix; /* of its tables; NULL: none */
};
struct db_stmt {
    const struct db_engine *engine;
    struct db *db;
    bool bad; /* preparing failed: a step returns the error */
};

/* The place of a kind of tables: this file of a folder, or the server of postgres://... The caller frees it. */
char *db_place_of(const char *where, const char *file);
/*
 * Returns -EUCLEAN: damaged, or not a database; -ENOTSUP: written by a newer muster; -EINVAL: a database, but not ours;
 * -ENOENT. Opening for writing upgrades an older file and completes one without tables; opening the latter for reading
 * returns -ENODATA.
 */
int db_open(struct db **ret, const char *place, const struct db_kind *kind, enum db_mode mode, struct err *err);
void db_close(struct db *db);
int64_t db_file_bytes(const char *path); /* including its WAL; 0 if missing */
/* For an engine that opens one: all current tables of that kind, with columns. */
int db_make_tables(struct db *db, const struct db_kind *kind);
bool db_has_table(struct db *db, const char *name);
bool db_lacks_columns(struct db *db, const struct db_kind *kind);
int db_add_columns(struct db *db, const struct db_kind *kind);

int db_fail(struct db *db, int code, const char *doing, struct err *err); /* "cannot DOING 'path': why"; returns code */
int db_exec(struct db *db, const char *sql);                              /* statements without result rows */
int db_int(struct db *db, const char *sql, int64_t *ret);                 /* the first column of the first row */

/* A reader sees one snapshot until it rolls back. */
int db_begin(struct db *db, bool write);
int db_commit(struct db *db);
void db_rollback(struct db *db); /* if a transaction is open */
bool db_in_transaction(struct db *db);
int db_end(struct db *db, int code);   /* commits, or rolls back if code < 0 or the commit fails */
int64_t db_changes(struct db *db);     /* rows inserted, changed or deleted by the last statement */
void db_tidy(struct db *db, bool all); /* checkpoints if the WAL has grown; all: now, and truncates it */
int64_t db_used_bytes(struct db *db, const char *table); /* without free pages; SQLite: all tables; or -errno */
int db_give_back(struct db *db, int n); /* returns at most n free pages, if there are many. 1: there is more to do */
/* Reads len bytes of the column `bytes` of row `id` from off, and no other bytes. Within a transaction. -ENOENT. */
int db_read_part(struct db *db, const char *table, int64_t id, size_t off, size_t len, void *to);

/* A separate statement, to run once. */
struct db_stmt *db_prepare(struct db *db, const char *sql);
void db_finish(struct db_stmt *st);

/*
 * Statements of one connection, prepared at first use. sql is a table that outlives it; pg: variants for PostgreSQL,
 * NULL if the same; records: for its marks (record_sql.h), or NULL.
 */
struct db_stmts {
    struct db *db;
    const char *const *sql, *const *pg;
    const struct record_kind *const *records;
    struct db_stmt **v;
    size_t n;
};
void db_stmts_init(struct db_stmts *s, struct db *db, const char *const *sql, size_t n);
void db_stmts_fini(struct db_stmts *s);
/* Cost since the last call, in SQLite VM steps: the same on every machine, so that tests can compare it. */
uint64_t db_stmts_steps(struct db_stmts *s);
struct db_stmt *db_stmt(struct db_stmts *s, size_t i); /* never NULL */

/* db_stmt with values bound to ?1, ?2 ... */
#define DB_STMT(s, i, ...)                                                                                             \
    db_bind((s), (i), (const struct db_value[]){__VA_ARGS__},                                                          \
            sizeof((const struct db_value[]){__VA_ARGS__}) / sizeof(struct db_value))
struct db_stmt *db_bind(struct db_stmts *s, size_t i, const struct db_value *v, size_t n);
void db_bind_value(struct db_stmt *st, int i, const struct db_value *v);
/* The same, and runs it: for statements without result rows. Returns 0 or -errno. */
#define DB_RUN(s, i, ...) db_run(DB_STMT((s), (i), __VA_ARGS__))
int db_run(struct db_stmt *st); /* it can be run again afterwards */
/*
 * The same within a transaction, without waiting for a server: a later statement, or the commit, returns its error.
 * db_changes does not count it.
 */
#define DB_POST(s, i, ...) db_post(DB_STMT((s), (i), __VA_ARGS__))
int db_post(struct db_stmt *st);
/*
 * The next row: returns 1; 0 at the end; or -errno with a message in err. Unless it returns 1, the statement is reset.
 */
int db_next(struct db_stmt *st, struct err *err);
/* The first column of a statement that returns one row: 1; 0 if there is no row, or NULL in it; or -errno. */
int db_one(struct db_stmt *st, int64_t *ret, struct err *err);
/*
 * All rows: read fills an element of this size from each. *ret points to them; the caller frees it. Returns 0 or
 * -errno.
 */
int db_list(struct db_stmt *st, size_t size, void (*read)(struct db_stmt *st, void *to), void *ret, size_t *ret_n,
            struct err *err);

/* Short forms to bind and read. A parameter that the statement lacks is ignored. */
static inline void db_bind_int(struct db_stmt *st, int i, int64_t v)
{
    st->engine->bind_int(st, i, v);
}
static inline void db_bind_str(struct db_stmt *st, int i, struct str v)
{
    st->engine->bind_text(st, i, v);
}
static inline void db_bind_text(struct db_stmt *st, int i, const char *v)
{
    db_bind_str(st, i, str_of(v));
}
static inline void db_bind_bytes(struct db_stmt *st, int i, struct str v)
{
    st->engine->bind_bytes(st, i, v);
}
static inline int db_place(struct db_stmt *st, const char *name) /* of ":name"; 0: not in the statement */
{
    return st->engine->place(st, name);
}
static inline int db_step(struct db_stmt *st) /* 1, 0 or -errno; the caller resets it */
{
    return st->engine->step(st);
}
static inline void db_reset(struct db_stmt *st)
{
    st->engine->reset(st);
}
static inline int64_t db_number(struct db_stmt *st, int i)
{
    return st->engine->number(st, i);
}
static inline const char *db_text(struct db_stmt *st, int i)
{
    return st->engine->text(st, i);
}
static inline struct str db_bytes(struct db_stmt *st, int i)
{
    return st->engine->bytes(st, i);
}
