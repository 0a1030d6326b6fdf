/* db.c: creates and upgrades tables, prepares statements once for repeated use: for any engine. */
#include "sql/db.h"

#include <errno.h>

#include "base/buf.h"
#include "base/file.h"
#include "base/mem.h"
#include "sql/pg.h"
#include "sql/record_sql.h"
#include "sql/sqlite.h"

#define SQL_MAX 16384

char *db_place_of(const char *where, const char *file)
{
    return pg_is_place(where) ? mem_str(where) : mem_fmt("%s/%s", where, file);
}

int db_open(struct db **ret, const char *place, const struct db_kind *kind, enum db_mode mode, struct err *err)
{
    const struct db_engine *engine = pg_is_place(place) ? &pg_engine : &sqlite_engine;

    return engine->open(ret, place, kind, mode, err);
}

/* The variant for this engine. */
static const char *text_of(const struct db *db, const char *sql, const char *pg)
{
    return pg && db->engine == &pg_engine ? pg : sql;
}

void db_close(struct db *db)
{
    if (db)
        db->engine->close(db);
}

int64_t db_file_bytes(const char *path)
{
    AUTO_FREE char *wal = mem_fmt("%s-wal", path);
    int64_t size = file_size(path), more = file_size(wal);

    return MAX(size, 0) + MAX(more, 0);
}

int db_fail(struct db *db, int code, const char *doing, struct err *err)
{
    return db->engine->fail(db, code, doing, err);
}

int db_exec(struct db *db, const char *sql)
{
    return db->engine->exec(db, sql);
}

int db_int(struct db *db, const char *sql, int64_t *ret)
{
    struct db_stmt *st = db_prepare(db, sql);
    int r = db_step(st);

    if (r == 1)
        *ret = db_number(st, 0);
    db_finish(st);
    return r == 1 ? 0 : r == 0 ? -EIO : r;
}

/* ---- transactions ---- */

int db_begin(struct db *db, bool write)
{
    return db->engine->begin(db, write);
}

int db_commit(struct db *db)
{
    return db->engine->commit(db);
}

void db_rollback(struct db *db)
{
    db->engine->rollback(db);
}

bool db_in_transaction(struct db *db)
{
    return db->engine->in_transaction(db);
}

int db_end(struct db *db, int code)
{
    int r = code < 0 ? code : db_commit(db);

    if (r < 0)
        db_rollback(db);
    return r;
}

int64_t db_changes(struct db *db)
{
    return db->engine->changes(db);
}

void db_tidy(struct db *db, bool all)
{
    db->engine->tidy(db, all);
}

int64_t db_used_bytes(struct db *db, const char *table)
{
    return db->engine->used_bytes(db, table);
}

int db_give_back(struct db *db, int n)
{
    return db->engine->give_back(db, n);
}

int db_read_part(struct db *db, const char *table, int64_t id, size_t off, size_t len, void *to)
{
    return db->engine->read_part(db, table, id, off, len, to);
}

/* ---- tables ---- */

static int exec_schema(struct db *db, const struct db_kind *kind)
{
    AUTO_BUF sql = BUF_INIT(SQL_MAX);

    if (!kind->pg_prefix)
        return db_exec(db, text_of(db, kind->schema, kind->pg_schema));
    record_tables(db->prefix, kind->schema, &sql);
    return db_exec(db, buf_str(&sql).p);
}

/* Creates tables and version in one transaction: all of them or none. Upgrades step by step to our version. */
int db_make_tables(struct db *db, const struct db_kind *kind)
{
    int64_t version = 0;
    int r = db->engine->own_tables(db);

    if (r < 0)
        return r;
    r = db->engine->get_version(db, kind, &version); /* another process may have been first */
    if (r < 0 || version >= kind->version)
        return db_end(db, r);
    if (version == 0)
        r = exec_schema(db, kind);
    for (; r == 0 && version && version < kind->version; version++)
        r = db_exec(db, kind->upgrades[version - 1]);
    return db_end(db, r < 0 ? r : db->engine->set_version(db, kind));
}

bool db_has_table(struct db *db, const char *name)
{
    struct db_stmt *st = db_prepare(db, db->engine->columns);

    db_bind_text(st, 1, name);
    bool has = db_step(st) == 1;
    db_finish(st);
    return has;
}

bool db_lacks_columns(struct db *db, const struct db_kind *kind)
{
    for (const struct record_kind *const *k = kind->records; k && *k; k++)
        if (record_lacks_columns(db, *k))
            return true;
    return false;
}

int db_add_columns(struct db *db, const struct db_kind *kind)
{
    int r = db->engine->own_tables(db);

    if (r < 0)
        return r;
    for (const struct record_kind *const *k = kind->records; r == 0 && *k; k++)
        r = record_add_columns(db, *k); /* checks again: another process may have been first */
    return db_end(db, r);
}

/* ---- statements ---- */

struct db_stmt *db_prepare(struct db *db, const char *sql)
{
    return db->engine->prepare(db, sql, false);
}

void db_finish(struct db_stmt *st)
{
    if (st)
        st->engine->finish(st);
}

void db_stmts_init(struct db_stmts *s, struct db *db, const char *const *sql, size_t n)
{
    *s = (struct db_stmts){.db = db, .sql = sql, .n = n, .v = mem_zero(n, sizeof(*s->v))};
}

void db_stmts_fini(struct db_stmts *s)
{
    for (size_t i = 0; i < s->n; i++)
        db_finish(s->v[i]);
    free(s->v);
    *s = (struct db_stmts){0};
}

uint64_t db_stmts_steps(struct db_stmts *s)
{
    uint64_t sum = 0;

    for (size_t i = 0; i < s->n; i++)
        if (s->v[i])
            sum += s->v[i]->engine->steps(s->v[i]);
    return sum;
}

static struct db_stmt *prepare(struct db_stmts *s, size_t i)
{
    AUTO_BUF sql = BUF_INIT(SQL_MAX);

    record_sql(s->db, s->records, text_of(s->db, s->sql[i], s->pg ? s->pg[i] : NULL), &sql);
    db_finish(s->v[i]);
    s->v[i] = s->db->engine->prepare(s->db, buf_str(&sql).p, true);
    return s->v[i];
}

struct db_stmt *db_stmt(struct db_stmts *s, size_t i)
{
    return s->v[i] && !s->v[i]->bad ? s->v[i] : prepare(s, i);
}

void db_bind_value(struct db_stmt *st, int i, const struct db_value *v)
{
    if (v->type == DB_IS_INT)
        db_bind_int(st, i, v->number);
    else if (v->type == DB_IS_TEXT)
        db_bind_str(st, i, v->s);
    else
        db_bind_bytes(st, i, v->s);
}

struct db_stmt *db_bind(struct db_stmts *s, size_t i, const struct db_value *v, size_t n)
{
    struct db_stmt *st = db_stmt(s, i);

    for (size_t k = 0; k < n; k++)
        db_bind_value(st, (int)k + 1, &v[k]);
    return st;
}

int db_run(struct db_stmt *st)
{
    int r = db_step(st);

    db_reset(st);
    return MIN(r, 0);
}

int db_post(struct db_stmt *st)
{
    return st->engine->post && !st->bad ? st->engine->post(st) : db_run(st);
}

int db_next(struct db_stmt *st, struct err *err)
{
    int r = db_step(st);

    if (r == 1)
        return 1;
    if (r < 0)
        db_fail(st->db, r, "read", err);
    db_reset(st);
    return r;
}

int db_one(struct db_stmt *st, int64_t *ret, struct err *err)
{
    int r = db_next(st, err);

    if (r != 1)
        return r;
    r = !st->engine->is_null(st, 0);
    if (r)
        *ret = db_number(st, 0);
    db_reset(st);
    return r;
}

int db_list(struct db_stmt *st, size_t size, void (*read)(struct db_stmt *st, void *to), void *ret, size_t *ret_n,
            struct err *err)
{
    char *v = NULL;
    size_t n = 0, cap = 0;
    int r;

    while ((r = db_next(st, err)) == 1) {
        if (n == cap) {
            cap = cap ? cap * 2 : 8;
            v = mem_grow(v, cap, size);
        }
        read(st, v + n++ * size);
    }
    if (r < 0) {
        free(v);
        return r;
    }
    memcpy(ret, &v, sizeof(v));
    *ret_n = n;
    return 0;
}
