/* pg_tables.c: tables on a PostgreSQL server: version, size, free space, and printing them. */
#include "sql/pg_tables.h"

#include <errno.h>

#include "base/buf.h"
#include "base/mem.h"
#include "sql/pg.h"
#include "sql/pg_text.h"
#include "sql/record_sql.h"

#define SQL_MAX 65536

int64_t pg_used_bytes(struct db *db, const char *table)
{
    AUTO_FREE char *sql = mem_fmt("SELECT coalesce(sum(octet_length(bytes)), 0)::bigint FROM %s", table);
    int64_t n = 0;
    int r = db_int(db, sql, &n);

    return r < 0 ? r : n;
}

/*
 * Uses a function's rows: the server spools them to a file when they exceed the work memory, which is set to its
 * minimum.
 */
int pg_has_room(struct db *db, struct err *err)
{
    int r = db_begin(db, false);

    if (r == 0)
        r = db_exec(db, "SET LOCAL work_mem = '64kB'; SELECT count(*) FROM generate_series(1, 8000)");
    if (r < 0)
        db_fail(db, r, "ask", err);
    db_rollback(db);
    if (r == -ENOSPC)
        return 0;
    /* a server that forbids temporary files reveals nothing about its disk */
    return r == -ENOTCONN || r == -ECANCELED ? r : 1;
}

int pg_lock_tables(struct db *db)
{
    int r = db_begin(db, true);

    if (r < 0)
        return r;
    r = db_exec(db, "SELECT pg_advisory_xact_lock(1836413044)"); /* "must" */
    if (r == 0)
        r = db_exec(db,
                    "CREATE TABLE IF NOT EXISTS muster_version(magic INTEGER PRIMARY KEY, version INTEGER NOT NULL)");
    if (r < 0)
        db_rollback(db);
    return r;
}

static int lacks_function(struct db *db, const char *name)
{
    struct db_stmt *st = db_prepare(db, "SELECT (to_regproc(?1) IS NULL)::int");
    int64_t lacks = 0;

    db_bind_text(st, 1, name);
    int r = db_one(st, &lacks, NULL);
    db_finish(st);
    return r < 0 ? r : (int)lacks;
}

int pg_add_later(struct db *db, const struct db_kind *kind)
{
    int r = kind->pg_later ? lacks_function(db, kind->pg_later_has) : 0;

    if (r <= 0)
        return r;
    r = pg_lock_tables(db);
    if (r < 0)
        return r;
    r = lacks_function(db, kind->pg_later_has); /* another process may have been first */
    if (r > 0)
        r = db_exec(db, kind->pg_later);
    return db_end(db, MIN(r, 0));
}

int pg_get_version(struct db *db, const struct db_kind *kind, int64_t *ret)
{
    int64_t there = 0;
    int r = db_int(db, "SELECT (to_regclass('muster_version') IS NOT NULL)::int", &there);

    if (r < 0 || !there)
        return r;
    struct db_stmt *st = db_prepare(db, "SELECT version FROM muster_version WHERE magic = ?1");
    db_bind_int(st, 1, kind->magic);
    r = db_one(st, ret, NULL);
    db_finish(st);
    return MIN(r, 0);
}

int pg_set_version(struct db *db, const struct db_kind *kind)
{
    struct db_stmt *st = db_prepare(db, "INSERT INTO muster_version(magic, version) VALUES(?1, ?2)"
                                        " ON CONFLICT(magic) DO UPDATE SET version = ?2");

    db_bind_int(st, 1, kind->magic);
    db_bind_int(st, 2, kind->version);
    int r = db_run(st);
    db_finish(st);
    return r;
}

void pg_print_tables(const struct db_kind *kind, struct buf *out)
{
    AUTO_BUF sql = BUF_INIT(SQL_MAX), text = BUF_INIT(SQL_MAX);
    struct pg_places none;
    struct str rest, part;

    if (kind->pg_prefix)
        record_tables(kind->pg_prefix, kind->schema, &sql);
    else
        buf_adds(&sql, kind->pg_schema ? kind->pg_schema : kind->schema);
    pg_text(buf_str(&sql).p, &none, &text);
    rest = buf_str(&text);
    while (rest.len && str_cut(&rest, ';', &part)) /* one statement per line, also within a function */
        if (str_trim(part).len)
            buf_addf(out, "%.*s;\n", STR_ARG(str_trim(part)));
    buf_addf(out, "INSERT INTO muster_version(magic, version) VALUES(%lld, %lld);\n", (long long)kind->magic,
             (long long)kind->version);
}
