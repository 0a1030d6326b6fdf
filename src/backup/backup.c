/*
 * backup.c: writes a data folder to a bundle. The order of steps makes it consistent (K1):
 *
 *   1. open every log file and note its last row: a log only grows, and an open file stays readable after unlink
 *   2. open a snapshot of history.db, then 3. a snapshot of muster.db
 *   4. skip logs that history has as done: they are in chunks. Any other must still have its file; otherwise it was
 *     compacted between 1 and 2, and the backup starts over. It also does if a log was created meanwhile.
 *
 * A batch is in a log from its acknowledgement until its chunks are durable, so 1 before 2 loses none. muster.db comes
 * last because it gets a batch's blobs before the log gets the batch. Rows of logs are read in short steps, since the
 * hub's writer waits for readers when it seals one.
 */
#include "backup/backup.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "backup/bundle.h"
#include "base/file.h"
#include "base/mem.h"
#include "sql/sqlite.h"
#include "store/chunks.h"
#include "store/log.h"
#include "store/schema.h"
#include "wandb/store_sql.h"

enum { TRIES = 50, ROWS_BYTES = 256 << 10, LOG_STEP = 256, FILE_MOST = 1 << 20, WAIT_MS = 20 };

struct one_log {
    int64_t n, last;
    struct db *db;
    bool done;
};

struct backup {
    const char *dir;
    const struct backup_watch *watch;
    struct bundle_writer out;
    struct db *main, *history, *wandb;
    struct one_log *logs;
    size_t n_logs, cap_logs;
    struct buf rows; /* the current part */
    uint64_t n_rows;
    int64_t done, total;
    struct backup_sum sum;
};

/* ---- snapshots of all files ---- */

static void let_go(struct backup *b)
{
    for (size_t i = 0; i < b->n_logs; i++)
        db_close(b->logs[i].db);
    b->n_logs = 0;
    db_close(b->history);
    db_close(b->main);
    db_close(b->wandb);
    b->history = b->main = b->wandb = NULL;
}

static int open_log(struct backup *b, int64_t n, bool sealed, struct err *err)
{
    AUTO_FREE char *path = log_path(b->dir, n);
    struct one_log l = {.n = n};
    int r = log_open_read(&l.db, path, sealed, err);

    if (r == -ENOENT || r == -ENODATA)
        return 0; /* just compacted: its chunks will be visible; or just created */
    if (r == -EUCLEAN || r == -EINVAL) {
        b->sum.damaged++;
        return 0;
    }
    if (r < 0)
        return r;
    r = db_int(l.db, "SELECT coalesce(max(id), 0) FROM batch", &l.last);
    if (r < 0) {
        db_fail(l.db, r, "read", err);
        db_close(l.db);
        return r;
    }
    VEC_ADD(b->logs, b->n_logs, b->cap_logs, l);
    return 0;
}

static int open_snapshot(struct db **ret, const char *dir, const char *file, const struct db_kind *kind,
                         struct err *err)
{
    AUTO_FREE char *path = mem_fmt("%s/%s", dir, file);
    int64_t any;
    int r = db_open(ret, path, kind, DB_READ, err);

    if (r < 0)
        return r;
    r = db_begin(*ret, false);
    if (r == 0)
        r = db_int(*ret, "SELECT count(*) FROM sqlite_master", &any); /* this starts the snapshot */
    return r == 0 ? 0 : db_fail(*ret, r, "read", err);
}

static int64_t asked(struct db *db, const char *sql, int64_t n)
{
    struct db_stmt *st = db_prepare(db, sql);
    int64_t v = 0;

    db_bind_int(st, 1, n);
    db_one(st, &v, NULL);
    db_finish(st);
    return v;
}

static bool is_sealed(struct backup *b, int64_t log)
{
    return asked(b->main, "SELECT count(*) FROM logs WHERE n = ?1", log) != 0;
}

/* Step 4. Returns 1 if the snapshots match. */
static int fits(struct backup *b)
{
    int64_t newest = 0;

    for (size_t i = 0; i < b->n_logs; i++) {
        struct one_log *l = &b->logs[i];
        AUTO_FREE char *path = log_path(b->dir, l->n);
        newest = MAX(newest, l->n);
        l->done = b->history && asked(b->history, "SELECT done FROM mark WHERE log = ?1", l->n) != 0;
        if (!l->done && access(path, F_OK) < 0)
            return 0;
        if (!l->done && is_sealed(b, l->n)) /* no more rows follow, and all existed before this snapshot of muster.db */
            db_int(l->db, "SELECT coalesce(max(id), 0) FROM batch", &l->last);
    }
    return asked(b->main, "SELECT count(*) FROM logs WHERE n > ?1 AND compacted = 0", newest) == 0;
}

static int take_moment(struct backup *b, struct err *err)
{
    AUTO_FREE int64_t *logs = NULL;
    size_t n = 0;
    int r = log_list(b->dir, &logs, &n, NULL, err);

    b->sum.damaged = 0;
    if (r == 0)
        r = open_snapshot(&b->main, b->dir, "muster.db", &records_kind, err); /* only to know which logs are sealed */
    for (size_t i = 0; i < n && r == 0; i++)
        r = open_log(b, logs[i], is_sealed(b, logs[i]), err);
    db_close(b->main);
    b->main = NULL;
    if (r == 0)
        r = open_snapshot(&b->history, b->dir, "history.db", &chunks_kind, err);
    if (r == -ENOENT || r == -ENODATA)
        r = 0;
    if (r == 0)
        r = open_snapshot(&b->main, b->dir, "muster.db", &records_kind, err);
    if (r == 0)
        r = open_snapshot(&b->wandb, b->dir, WANDB_FILE, &wandb_kind, err); /* any snapshot of it will do */
    if (r == -ENOENT || r == -ENODATA)
        r = b->main ? 0 : r;
    return r < 0 ? r : fits(b);
}

/* ---- rows ---- */

static int flush_rows(struct backup *b, struct err *err)
{
    AUTO_BUF part = BUF_INIT(BUNDLE_PART_MAX + 64ull);

    if (!b->n_rows)
        return 0;
    if (b->rows.err)
        return err_set(err, -E2BIG, "a record is too large for a backup");
    buf_varint(&part, b->n_rows);
    buf_addstr(&part, buf_str(&b->rows));
    b->sum.rows += b->n_rows;
    b->n_rows = 0;
    b->done += (int64_t)b->rows.len;
    buf_reset(&b->rows);
    if (b->watch)
        b->watch->at(b->watch->arg, b->done, MAX(b->done, b->total));
    return bundle_put(&b->out, PART_ROWS, buf_str(&part), err);
}

static void add_cell(struct buf *out, sqlite3_stmt *st, int i)
{
    double d;

    switch (sqlite3_column_type(st, i)) {
    case SQLITE_INTEGER:
        buf_u8(out, 1);
        buf_zigzag(out, sqlite3_column_int64(st, i));
        break;
    case SQLITE_TEXT:
    case SQLITE_BLOB: {
        buf_u8(out, sqlite3_column_type(st, i) == SQLITE_TEXT ? 2 : 3);
        const void *p = sqlite3_column_blob(st, i); /* for text: its bytes, unconverted */
        buf_text(out, str_n(p ? p : "", (size_t)sqlite3_column_bytes(st, i)));
        break;
    }
    case SQLITE_FLOAT:
        buf_u8(out, 4);
        d = sqlite3_column_double(st, i);
        buf_add(out, &d, sizeof(d));
        break;
    default:
        buf_u8(out, 0);
    }
}

static int put_rows(struct backup *b, sqlite3_stmt *st, int64_t *ret_last, struct err *err)
{
    int rc, r = 0, n = sqlite3_column_count(st);

    while (r == 0 && (rc = sqlite3_step(st)) == SQLITE_ROW) {
        for (int i = 0; i < n; i++)
            add_cell(&b->rows, st, i);
        *ret_last = sqlite3_column_int64(st, 0);
        b->n_rows++;
        if (b->rows.len >= ROWS_BYTES)
            r = flush_rows(b, err);
    }
    if (r == 0 && rc != SQLITE_DONE)
        r = sqlite_fail(sqlite3_db_handle(st), rc, "read", err);
    return r;
}

static int put_table(struct backup *b, struct db *db, const char *name, const struct one_log *log, struct err *err)
{
    bool steps = log && strcmp(name, "batch") == 0;
    AUTO_FREE char *sql = steps
                              ? mem_fmt("SELECT * FROM batch WHERE id > ?1 AND id <= ?2 ORDER BY id LIMIT %d", LOG_STEP)
                              : mem_fmt("SELECT * FROM \"%s\"", name);
    AUTO_BUF part = BUF_INIT(4096);
    sqlite3_stmt *st = NULL;
    int64_t last = 0, before = -1;
    uint64_t rows = b->sum.rows + b->n_rows;
    int rc = sqlite3_prepare_v2(sqlite_handle(db), sql, -1, &st, NULL);

    if (rc != SQLITE_OK)
        return sqlite_fail(sqlite_handle(db), rc, "read", err);
    buf_text(&part, str_of(name));
    buf_varint(&part, (uint64_t)sqlite3_column_count(st));
    int r = bundle_put(&b->out, PART_TABLE, buf_str(&part), err);
    if (steps)
        while (r == 0 && last != before && last < log->last) {
            before = last;
            sqlite3_bind_int64(st, 1, last);
            sqlite3_bind_int64(st, 2, log->last);
            r = put_rows(b, st, &last, err);
            sqlite3_reset(st); /* the read ends here, so that a waiting writer can continue */
        }
    else if (r == 0)
        r = put_rows(b, st, &last, err);
    sqlite3_finalize(st);
    rows = b->sum.rows + b->n_rows - rows;
    b->sum.batches += steps ? rows : 0;
    b->sum.chunks += db == b->history && strcmp(name, "chunk") == 0 ? rows : 0;
    return r == 0 ? flush_rows(b, err) : r;
}

struct names {
    char *v[64];
    size_t n;
};

/* Writes the properties of the database and its tables by name. */
static int put_head(struct backup *b, struct db *db, const char *name, struct names *ret, struct err *err)
{
    AUTO_BUF part = BUF_INIT(1 << 20);
    AUTO_BUF all = BUF_INIT(1 << 20);
    static const char *const told[] = {"PRAGMA application_id", "PRAGMA user_version", "PRAGMA auto_vacuum"};
    uint64_t n = 0;
    int r = 0;

    buf_text(&part, str_of(name));
    for (size_t i = 0; i < ARRAY_LEN(told) && r == 0; i++) {
        int64_t v = 0;
        r = db_int(db, told[i], &v);
        buf_varint(&part, (uint64_t)v);
    }
    if (r < 0)
        return db_fail(db, r, "read", err);
    struct db_stmt *st = db_prepare(db, "SELECT type, name, sql FROM sqlite_master WHERE sql IS NOT NULL AND name NOT "
                                        "LIKE 'sqlite_%' ORDER BY type <> 'table', rowid");
    while ((r = db_next(st, err)) == 1) {
        if (strcmp(db_text(st, 0), "table") == 0 && ret->n < ARRAY_LEN(ret->v))
            ret->v[ret->n++] = mem_str(db_text(st, 1));
        buf_text(&all, str_of(db_text(st, 2)));
        n++;
    }
    db_finish(st);
    buf_varint(&part, n);
    buf_addstr(&part, buf_str(&all));
    return r == 0 ? bundle_put(&b->out, PART_DB, buf_str(&part), err) : r;
}

static int put_db(struct backup *b, struct db *db, const char *name, const struct one_log *log, struct err *err)
{
    struct names tables = {0};
    uint64_t rows = b->sum.rows;
    int r = put_head(b, db, name, &tables, err);

    for (size_t i = 0; i < tables.n && r == 0; i++)
        r = put_table(b, db, tables.v[i], log, err);
    for (size_t i = 0; i < tables.n; i++)
        free(tables.v[i]);
    AUTO_BUF part = BUF_INIT(16);
    buf_varint(&part, b->sum.rows - rows);
    return r == 0 ? bundle_put(&b->out, PART_DB_END, buf_str(&part), err) : r;
}

/* ---- other files: a certificate, the local token ---- */

static bool carried(const char *name)
{
    struct str s = str_of(name);

    return name[0] != '.' && !str_eq(s, "lock") && !str_ends(s, ".lock") && !str_ends(s, ".db") &&
           !str_ends(s, "-wal") && !str_ends(s, "-shm") && !str_ends(s, "-journal") && !quarantine_name_length(name) &&
           !str_ends(s, ".missing") && !str_ends(s, ".tmp") && !strchr(name, '/');
}

static int put_file(struct backup *b, const char *name, struct err *err)
{
    AUTO_FREE char *path = mem_fmt("%s/%s", b->dir, name);
    AUTO_BUF bytes = {0};
    AUTO_BUF part = BUF_INIT(2 * (size_t)FILE_MOST);
    struct stat st;

    if (lstat(path, &st) < 0 || !S_ISREG(st.st_mode) || st.st_size > FILE_MOST)
        return 0;
    int r = file_read(path, FILE_MOST, &bytes, err);
    if (r == -ENOENT)
        return 0;
    buf_text(&part, str_of(name));
    buf_varint(&part, st.st_mode & 0777);
    buf_addstr(&part, buf_str(&bytes));
    return r == 0 ? bundle_put(&b->out, PART_FILE, buf_str(&part), err) : r;
}

static int put_files(struct backup *b, struct err *err)
{
    DIR *d = opendir(b->dir);
    struct dirent *e;
    int r = 0;

    while (d && r == 0 && (e = readdir(d)))
        if (carried(e->d_name))
            r = put_file(b, e->d_name, err);
    if (d)
        closedir(d);
    return r;
}

/* ---- the whole backup ---- */

static int64_t size_of(struct db *db)
{
    int64_t pages = 0, spare = 0, size = 0;

    if (!db || db_int(db, "PRAGMA page_count", &pages) || db_int(db, "PRAGMA freelist_count", &spare) ||
        db_int(db, "PRAGMA page_size", &size))
        return 0;
    return (pages - spare) * size;
}

static int put_all(struct backup *b, int64_t now_ms, struct err *err)
{
    AUTO_BUF head = BUF_INIT(4096);
    int r = bundle_begin(&b->out, err);

    b->total = size_of(b->main) + size_of(b->history) + size_of(b->wandb);
    for (size_t i = 0; i < b->n_logs; i++)
        b->total += b->logs[i].done ? 0 : size_of(b->logs[i].db);
    buf_u64(&head, (uint64_t)now_ms);
    buf_text(&head, STR(MUSTER_VERSION));
    buf_varint(&head, (uint64_t)b->total);
    r = r ?: bundle_put(&b->out, PART_HEAD, buf_str(&head), err) ?: put_files(b, err);
    r = r ?: put_db(b, b->main, "muster.db", NULL, err);
    db_close(b->main); /* lets its WAL restart */
    b->main = NULL;
    for (size_t i = 0; i < b->n_logs && r == 0; i++) {
        char name[48];
        snprintf(name, sizeof(name), "log-%lld.db", (long long)b->logs[i].n);
        if (!b->logs[i].done)
            r = put_db(b, b->logs[i].db, name, &b->logs[i], err);
    }
    if (r == 0 && b->history)
        r = put_db(b, b->history, "history.db", NULL, err);
    if (r == 0 && b->wandb)
        r = put_db(b, b->wandb, WANDB_FILE, NULL, err);
    return r == 0 ? bundle_end(&b->out, err) : r;
}

int backup_write(const char *dir, int fd, int64_t now_ms, const struct backup_watch *watch, struct backup_sum *ret,
                 struct err *err)
{
    struct backup b = {.dir = dir, .watch = watch, .out = {.fd = fd}, .rows = BUF_INIT(BUNDLE_PART_MAX)};
    int r = 0;

    for (int i = 0; i < TRIES && r == 0; i++) {
        let_go(&b);
        if (i)
            sqlite3_sleep(WAIT_MS);
        r = take_moment(&b, err);
    }
    if (r == 0)
        r = err_set(err, -EBUSY, "the hub starts new logs too often: try again when it is less busy");
    else if (r == 1)
        r = put_all(&b, now_ms, err);
    let_go(&b);
    free(b.logs);
    buf_fini(&b.rows);
    bundle_writer_fini(&b.out);
    if (r < 0)
        return r;
    b.sum.made_ms = now_ms;
    b.sum.bytes = b.out.bytes;
    mem_copy_str(b.sum.version, sizeof(b.sum.version), MUSTER_VERSION);
    *ret = b.sum;
    return 0;
}
