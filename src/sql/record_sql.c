/* record_sql.c: writes SQL, binds values and reads rows in loops over the fields of a record. */
#include "sql/record_sql.h"

#include "base/buf.h"
#include "base/mem.h"
#include "base/order.h"

#define COLUMNS_MAX 8192 /* bytes of all names */

static char *table_here(const struct db *db, const char *table)
{
    return mem_fmt("%s%s", db->prefix ? db->prefix : "", table);
}

/* Lists the columns of a table, each followed by a comma. Returns 0 or -errno. */
static int list_columns(struct db *db, const char *table, struct buf *out)
{
    AUTO_FREE char *name = table_here(db, table);
    struct db_stmt *st = db_prepare(db, db->engine->columns);
    int r;

    db_bind_text(st, 1, name);
    while ((r = db_step(st)) == 1)
        buf_addf(out, "%s,", db_text(st, 0));
    db_finish(st);
    return r;
}

static bool has_column(const struct buf *columns, const char *column)
{
    return str_listed(columns->p, str_of(column));
}

/* The "unknown" value of a field, as SQL. */
static const char *none_of(const struct record_field *f, char room[24])
{
    snprintf(room, 24, "%lld", (long long)f->none);
    return record_is_number(f) ? room : f->type == FIELD_BYTES || f->type == FIELD_BLOB ? "x''" : "''";
}

bool record_lacks_columns(struct db *db, const struct record_kind *kind)
{
    AUTO_BUF columns = BUF_INIT(COLUMNS_MAX);

    if (list_columns(db, kind->table, &columns) < 0)
        return false;
    return ANY(kind->n, i, !has_column(&columns, kind->fields[i].column));
}

int record_add_columns(struct db *db, const struct record_kind *kind)
{
    AUTO_BUF columns = BUF_INIT(COLUMNS_MAX);
    AUTO_FREE char *table = table_here(db, kind->table);
    char sql[256], none[24];
    int r = list_columns(db, kind->table, &columns);

    for (size_t i = 0; r == 0 && i < kind->n; i++) {
        const struct record_field *f = &kind->fields[i];
        if (has_column(&columns, f->column))
            continue;
        snprintf(sql, sizeof(sql), "ALTER TABLE %s ADD COLUMN %s %s NOT NULL DEFAULT %s", table, f->column,
                 record_is_number(f)                               ? "INTEGER"
                 : f->type == FIELD_BYTES || f->type == FIELD_BLOB ? "BLOB"
                                                                   : "TEXT",
                 none_of(f, none));
        r = db_exec(db, sql);
    }
    return r;
}

/*
 * column = the new value, or the result of enum field_put from the new and the stored one. In a change @ is the column,
 * ~@ the stored value, ? the new one, # unknown.
 */
static void add_change(const char *table, const struct record_field *f, enum field_put put, struct buf *out)
{
    static const char *const changes[] = {
        [PUT_SET] = "@ = ?",
        [PUT_MIN] = "@ = min(~@, ?)",
        [PUT_MAX] = "@ = max(~@, ?)",
        [PUT_FILL] = "@ = CASE WHEN ? = # THEN ~@ ELSE ? END",
        [PUT_FIRST] = "@ = CASE WHEN ? <= # OR (~@ > # AND ~@ < ?) THEN ~@ ELSE ? END",
        [PUT_NEWER] = "@ = CASE WHEN excluded.last_ms >= ~last_ms THEN ? ELSE ~@ END",
    };
    char none[24];

    for (const char *c = changes[put]; *c; c++)
        if (*c == '@')
            buf_adds(out, f->column);
        else if (*c == '~')
            buf_addf(out, "%s.", table);
        else if (*c == '?')
            buf_addf(out, "?%d", f->no);
        else if (*c == '#')
            buf_adds(out, none_of(f, none));
        else
            buf_addc(out, *c);
}

/* Expands a mark; how: 0, '?', '=', '#' or '!'. */
static void add_mark(struct db *db, const struct record_kind *kind, char how, struct buf *out)
{
    AUTO_BUF columns = BUF_INIT(COLUMNS_MAX);
    bool all = how || list_columns(db, kind->table, &columns) < 0; /* a later statement reports the failure */
    bool changes = how == '=' || how == '!';
    const char *comma = "";
    char none[24];

    for (size_t i = 0; i < kind->n; i++) {
        const struct record_field *f = &kind->fields[i];
        if ((changes && f->put == PUT_KEY) || (how == '#' && f->put != PUT_KEY) || (how == '!' && f->put == PUT_KEEP))
            continue;
        buf_adds(out, comma);
        comma = ", ";
        if (how == '?')
            buf_addf(out, "?%d", f->no);
        else if (changes)
            add_change(kind->table, f, how == '=' ? PUT_SET : f->put, out);
        else if (all || has_column(&columns, f->column))
            buf_adds(out, f->column);
        else
            buf_addf(out, "%s AS %s", none_of(f, none), f->column);
    }
}

static const struct record_kind *kind_of(const struct record_kind *const *kinds, struct str table)
{
    for (; kinds && *kinds; kinds++)
        if (str_eq(table, (*kinds)->table))
            return *kinds;
    return NULL;
}

void record_sql(struct db *db, const struct record_kind *const *kinds, const char *sql, struct buf *out)
{
    for (const char *end, *mark; (mark = strchr(sql, '{')) && (end = strchr(mark, '}')); sql = end + 1) {
        if (mark[1] == '.') {
            buf_addf(out, "%.*s%s%.*s", (int)(mark - sql), sql, db->prefix ? db->prefix : "", (int)(end - mark) - 2,
                     mark + 2);
            continue;
        }
        char how = strchr("?=#!", end[-1]) ? end[-1] : 0;
        struct str table = str_n(mark + 1, (size_t)(end - mark) - 1 - (how != 0));
        const struct record_kind *kind = kind_of(kinds, table);
        buf_addstr(out, str_n(sql, (size_t)(mark - sql)));
        if (kind)
            add_mark(db, kind, how, out);
    }
    buf_adds(out, sql);
}

void record_tables(const char *prefix, const char *sql, struct buf *out)
{
    record_sql(&(struct db){.prefix = prefix}, NULL, sql, out);
}

static void bind_field(struct db_stmt *st, const struct record_field *f, const void *record)
{
    switch (f->type) {
    case FIELD_TEXT:
        db_bind_text(st, f->no, *record_text(f, record));
        break;
    case FIELD_NAME:
        db_bind_text(st, f->no, record_array(f, record));
        break;
    case FIELD_BLOB:
        db_bind_bytes(st, f->no, *record_blob(f, record));
        break;
    case FIELD_BYTES:
        db_bind_bytes(st, f->no, str_n(record_array(f, record), f->size));
        break;
    default:
        db_bind_int(st, f->no, record_int(f, record));
    }
}

void record_bind(struct db_stmt *st, const struct record_kind *kind, const void *record)
{
    for (size_t i = 0; i < kind->n; i++)
        bind_field(st, &kind->fields[i], record);
}

/* Bytes of a wrong length count as missing: all 0. */
static void read_array(struct db_stmt *st, int column, const struct record_field *f, void *ret)
{
    char *to = record_array(f, ret);

    if (f->type == FIELD_NAME) {
        mem_copy_str(to, f->size, db_text(st, column));
        return;
    }
    struct str s = db_bytes(st, column);
    if (s.len == f->size)
        memcpy(to, s.p, s.len);
    else
        memset(to, 0, f->size);
}

void record_read_at(struct db_stmt *st, int first, const struct record_kind *kind, void *ret)
{
    for (size_t i = 0; i < kind->n; i++) {
        const struct record_field *f = &kind->fields[i];
        int column = first + (int)i;
        if (f->type == FIELD_TEXT)
            *record_text(f, ret) = db_text(st, column);
        else if (f->type == FIELD_BLOB)
            *record_blob(f, ret) = db_bytes(st, column);
        else if (record_is_number(f))
            record_set_int(f, ret, db_number(st, column));
        else
            read_array(st, column, f, ret);
    }
}
