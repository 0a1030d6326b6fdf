/*
 * db.c: opening SQLite files the one way this store wants them, and turning SQLite's answers into ours.
 * Durability rests on two settings made here: WAL, and synchronous=FULL (the WAL is synced at every commit).
 */
#include "store/db.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/file.h"
#include "base/mem.h"
#include "store/record_sql.h"

#define WAL_KEEP     (DB_WAL_PAGES * DB_PAGE) /* the WAL is cut back to this when it starts over */
#define OPEN_TRIES   50                       /* two processes may make the file at once: SQLite does not wait then */
#define OPEN_WAIT_MS 20
#define SQL_MAX      16384
#define URI_MAX      12500 /* a path of 4095 bytes, every one of them escaped */

int db_errno(sqlite3 *h, int rc)
{
    int sys = h ? sqlite3_system_errno(h) : 0;

    switch (rc & 0xff) {
    case SQLITE_OK:
    case SQLITE_ROW:
    case SQLITE_DONE:
        return 0;
    case SQLITE_FULL:
        return -ENOSPC;
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
        return -EBUSY;
    case SQLITE_CORRUPT:
    case SQLITE_NOTADB:
        return -EUCLEAN;
    case SQLITE_READONLY:
        return -EROFS;
    case SQLITE_PERM:
    case SQLITE_AUTH:
        return -EACCES;
    case SQLITE_TOOBIG:
        return -EMSGSIZE;
    case SQLITE_CONSTRAINT:
    case SQLITE_MISMATCH:
        return -EINVAL;
    case SQLITE_IOERR:
    case SQLITE_CANTOPEN:
        return sys == ENOSPC || sys == EDQUOT ? -ENOSPC : sys > 0 ? -sys : -EIO;
    default:
        return -EIO;
    }
}

static int db_fail_at(sqlite3 *h, int rc, const char *doing, const char *path, struct err *err)
{
    int code = db_errno(h, rc);
    const char *why = code == -EBUSY                     ? "another process is writing to it"
                      : code == -EUCLEAN || code == -EIO ? sqlite3_errstr(rc)
                                                         : strerror(-code);

    return err_set(err, code, "cannot %s '%s': %s", doing, path ? path : "?", why);
}

int db_fail(sqlite3 *h, int rc, const char *doing, struct err *err)
{
    return db_fail_at(h, rc, doing, h ? sqlite3_db_filename(h, "main") : NULL, err);
}

int db_exec(sqlite3 *h, const char *sql)
{
    return sqlite3_exec(h, sql, NULL, NULL, NULL);
}

int db_int(sqlite3 *h, const char *sql, int64_t *ret)
{
    sqlite3_stmt *st = NULL;
    int rc = sqlite3_prepare_v2(h, sql, -1, &st, NULL);

    if (rc == SQLITE_OK) {
        rc = sqlite3_step(st);
        if (rc == SQLITE_ROW)
            *ret = sqlite3_column_int64(st, 0);
        rc = rc == SQLITE_ROW ? SQLITE_OK : rc == SQLITE_DONE ? SQLITE_ERROR : rc;
    }
    sqlite3_finalize(st);
    return rc;
}

int db_run(sqlite3_stmt *st)
{
    int rc = sqlite3_step(st);

    sqlite3_reset(st);
    return rc == SQLITE_DONE || rc == SQLITE_ROW ? SQLITE_OK : rc;
}

static int db_wal_hook(void *arg, UNUSED sqlite3 *h, UNUSED const char *name, int pages)
{
    *(int *)arg = pages;
    return SQLITE_OK;
}

void db_watch_wal(sqlite3 *h, int *pages)
{
    sqlite3_wal_hook(h, db_wal_hook, pages);
}

void db_checkpoint(sqlite3 *h, int mode)
{
    sqlite3_wal_checkpoint_v2(h, "main", mode, NULL, NULL);
}

void db_close(sqlite3 *h)
{
    sqlite3_close_v2(h);
}

int db_sound(sqlite3 *h, struct err *err)
{
    int64_t ok = 0;
    int rc = db_int(h, "SELECT quick_check = 'ok' FROM pragma_quick_check(1)", &ok);

    if (rc == SQLITE_OK && ok)
        return 0;
    return db_fail(h, rc != SQLITE_OK ? rc : SQLITE_CORRUPT, "read", err);
}

int64_t db_file_bytes(const char *path)
{
    AUTO_FREE char *wal = mem_fmt("%s-wal", path);
    int64_t size = file_size(path), more = file_size(wal);

    return MAX(size, 0) + MAX(more, 0);
}

/*
 * Ours alone to read: tokens and command lines are inside. Only ever touched when new: closing a descriptor of a file
 * that SQLite has open in this process would drop SQLite's locks.
 */
static int db_make(const char *path, struct err *err)
{
    AUTO_FREE char *dir = mem_str(path);
    char *slash = strrchr(dir, '/');
    AUTO_CLOSE int fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);

    if (fd < 0 && errno == EEXIST)
        return 0;
    if (fd < 0)
        return err_set(err, -errno, "cannot make '%s': %s", path, strerror(errno));
    file_leave_to_folder(fd, path);
    if (slash)
        slash[slash == dir] = 0;
    int r = file_sync_dir(slash ? dir : ".");
    if (r < 0)
        return err_set(err, r, "cannot sync the folder of '%s': %s", path, strerror(-r));
    return 0;
}

/* 0: ours and of our version; 1: empty, to be made; 2: of an older version. Else as db_open says. */
static int db_check(sqlite3 *h, const char *path, const struct db_kind *kind, struct err *err)
{
    int64_t magic = 0, version = 0, tables = 0;
    int rc = db_exec(h, "BEGIN"); /* one moment: somebody may be making it just now */

    if (rc == SQLITE_OK)
        rc = db_int(h, "PRAGMA application_id", &magic);
    if (rc == SQLITE_OK)
        rc = db_int(h, "PRAGMA user_version", &version);
    if (rc == SQLITE_OK)
        rc = db_int(h, "SELECT count(*) FROM sqlite_schema", &tables);
    if (rc == SQLITE_OK)
        rc = db_exec(h, "COMMIT");
    if (rc != SQLITE_OK)
        return db_fail(h, rc, "read", err);
    if (magic == 0 && version == 0 && tables == 0)
        return 1;
    if (magic != kind->magic)
        return err_set(err, -EINVAL, "cannot use '%s': it is a database, but not one of muster's", path);
    if (version > kind->version)
        return err_set(err, -ENOTSUP,
                       "cannot use '%s': it was written by a newer muster (format %lld, this one knows up to %lld); "
                       "install that version again",
                       path, (long long)version, (long long)kind->version);
    if (version < 1)
        return err_set(err, -EUCLEAN, "cannot use '%s': it has no version", path);
    return version < kind->version ? 2 : 0;
}

static bool only_reads(enum db_mode mode)
{
    return mode == DB_READ || mode == DB_STILL;
}

static int db_settings(sqlite3 *h, const struct db_kind *kind, enum db_mode mode)
{
    char sql[160];

    sqlite3_extended_result_codes(h, 1);
    sqlite3_busy_timeout(h, DB_BUSY_MS);
    int rc = db_exec(h, "PRAGMA trusted_schema=OFF; PRAGMA cell_size_check=ON; PRAGMA synchronous=FULL");
    if (rc == SQLITE_OK && only_reads(mode))
        return db_exec(h, "PRAGMA cache_size=-512"); /* KiB: the system keeps the file's pages, once for all readers */
    if (rc != SQLITE_OK)
        return rc;
    snprintf(sql, sizeof(sql), "PRAGMA page_size=%d; %sPRAGMA journal_mode=WAL; PRAGMA journal_size_limit=%d", DB_PAGE,
             kind->shrinks ? "PRAGMA auto_vacuum=INCREMENTAL; " : "", WAL_KEEP);
    rc = db_exec(h, sql);
    if (rc == SQLITE_OK)
        rc = sqlite3_wal_autocheckpoint(h, mode == DB_WRITE ? 0 : DB_WAL_PAGES);
    return rc;
}

/* Of a transaction: all or nothing. */
static int db_end(sqlite3 *h, int rc)
{
    if (rc == SQLITE_OK)
        rc = db_exec(h, "COMMIT");
    if (rc != SQLITE_OK)
        db_exec(h, "ROLLBACK");
    return rc;
}

/* The tables, the magic and the version come in one transaction: a file has all of them or none. */
static int db_create(sqlite3 *h, const struct db_kind *kind)
{
    AUTO_FREE char *sql = mem_fmt("%s; PRAGMA application_id=%lld; PRAGMA user_version=%lld", kind->schema,
                                  (long long)kind->magic, (long long)kind->version);
    int64_t version = 0;
    int rc = db_exec(h, "BEGIN IMMEDIATE");

    if (rc != SQLITE_OK)
        return rc;
    rc = db_int(h, "PRAGMA user_version", &version); /* another process may have been first */
    if (rc == SQLITE_OK && version == 0)
        rc = db_exec(h, sql);
    return db_end(h, rc);
}

/* Columns of records that are newer than the file. */
static int db_add_columns(sqlite3 *h, const struct record_kind *const *kinds)
{
    int rc = db_exec(h, "BEGIN IMMEDIATE");

    if (rc != SQLITE_OK)
        return rc;
    for (; rc == SQLITE_OK && *kinds; kinds++)
        rc = record_add_columns(h, *kinds); /* looks itself: another process may have been first */
    return db_end(h, rc);
}

static bool db_lacks_columns(sqlite3 *h, const struct record_kind *const *kinds)
{
    for (; kinds && *kinds; kinds++)
        if (record_lacks_columns(h, *kinds))
            return true;
    return false;
}

/* Step by step up to our version. */
static int db_upgrade(sqlite3 *h, const struct db_kind *kind)
{
    int64_t version = 0;
    char sql[64];
    int rc = db_exec(h, "BEGIN IMMEDIATE");

    if (rc != SQLITE_OK)
        return rc;
    rc = db_int(h, "PRAGMA user_version", &version); /* another process may have been first */
    while (rc == SQLITE_OK && version < kind->version)
        rc = db_exec(h, kind->upgrades[version++ - 1]);
    snprintf(sql, sizeof(sql), "PRAGMA user_version=%lld", (long long)version);
    if (rc == SQLITE_OK)
        rc = db_exec(h, sql);
    return db_end(h, rc);
}

/* A file name as SQLite wants it in a URI. */
static void db_uri(struct buf *out, const char *path)
{
    buf_adds(out, "file:");
    for (; *path; path++)
        if (strchr("%?#", *path))
            buf_addf(out, "%%%02x", (unsigned char)*path);
        else
            buf_addc(out, *path);
    buf_adds(out, "?immutable=1");
}

static int db_try_open(sqlite3 **ret, const char *path, const struct db_kind *kind, enum db_mode mode, struct err *err)
{
    static const int flags[] = {
        [DB_READ] = SQLITE_OPEN_READONLY,
        [DB_STILL] = SQLITE_OPEN_READONLY | SQLITE_OPEN_URI,
        [DB_WRITE] = SQLITE_OPEN_READWRITE,
        [DB_BESIDE] = SQLITE_OPEN_READWRITE,
    };
    AUTO_BUF name = BUF_INIT(URI_MAX);
    sqlite3 *h = NULL;
    int r = 0;

    if (mode == DB_STILL)
        db_uri(&name, path);
    int rc = sqlite3_open_v2(mode == DB_STILL ? buf_str(&name).p : path, &h, flags[mode] | SQLITE_OPEN_NOMUTEX, NULL);
    if (rc == SQLITE_OK)
        rc = db_settings(h, kind, mode);
    if (rc != SQLITE_OK)
        r = db_fail_at(h, rc, "open", path, err); /* what is not open has no name */
    if (r == 0)
        r = db_check(h, path, kind, err);
    if (r == 1 && only_reads(mode))
        r = err_set(err, -ENODATA, "cannot read '%s': it is empty", path);
    if (r > 0 && !only_reads(mode)) {
        rc = r == 1 ? db_create(h, kind) : db_upgrade(h, kind);
        r = rc == SQLITE_OK ? 0 : db_fail(h, rc, r == 1 ? "make tables in" : "bring up to date", err);
    }
    if (r == 0 && !only_reads(mode) && db_lacks_columns(h, kind->records)) {
        rc = db_add_columns(h, kind->records);
        r = rc == SQLITE_OK ? 0 : db_fail(h, rc, "bring up to date", err);
    }
    if (r < 0) {
        db_close(h);
        return r;
    }
    *ret = h;
    return 0;
}

/*
 * A journal beside a file of ours can only be the one under which it became a WAL file, come back after a loss of
 * power. SQLite rolls it back, but a connection that found the file in WAL mode then goes on so over a header that says
 * otherwise, and others do not see what it writes. So one connection does only that.
 */
static void db_roll_back(const char *path)
{
    AUTO_FREE char *journal = mem_fmt("%s-journal", path);
    sqlite3 *h = NULL;

    if (access(journal, F_OK) < 0)
        return;
    if (sqlite3_open_v2(path, &h, SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX, NULL) == SQLITE_OK)
        db_exec(h, "SELECT count(*) FROM sqlite_schema");
    sqlite3_close(h);
}

int db_open(sqlite3 **ret, const char *path, const struct db_kind *kind, enum db_mode mode, struct err *err)
{
    struct stat st;
    int r = only_reads(mode) ? 0 : db_make(path, err);

    if (r < 0)
        return r;
    if (!only_reads(mode))
        db_roll_back(path);
    else if (stat(path, &st) < 0)
        return err_set(err, -errno, "cannot open '%s': %s", path, strerror(errno));
    for (int i = 0; i < OPEN_TRIES; i++) {
        r = db_try_open(ret, path, kind, mode, err);
        if (r != -EBUSY)
            break;
        sqlite3_sleep(OPEN_WAIT_MS);
    }
    return r;
}

void db_stmts_init(struct db_stmts *s, sqlite3 *h, const char *const *sql, size_t n)
{
    *s = (struct db_stmts){.h = h, .sql = sql, .n = n, .v = mem_zero(n, sizeof(*s->v))};
}

void db_stmts_fini(struct db_stmts *s)
{
    for (size_t i = 0; i < s->n; i++)
        sqlite3_finalize(s->v[i]);
    free(s->v);
    *s = (struct db_stmts){0};
}

uint64_t db_stmts_steps(struct db_stmts *s)
{
    uint64_t sum = 0;

    for (size_t i = 0; i < s->n; i++)
        if (s->v[i]) /* they count in 32 bits */
            sum += (uint32_t)sqlite3_stmt_status(s->v[i], SQLITE_STMTSTATUS_VM_STEP, true);
    return sum;
}

static void prepare(struct db_stmts *s, size_t i)
{
    AUTO_BUF sql = BUF_INIT(SQL_MAX);

    record_sql(s->h, s->records, s->sql[i], &sql);
    sqlite3_prepare_v3(s->h, buf_str(&sql).p, -1, SQLITE_PREPARE_PERSISTENT, &s->v[i], NULL);
}

sqlite3_stmt *db_stmt(struct db_stmts *s, size_t i)
{
    if (!s->v[i])
        prepare(s, i);
    return s->v[i];
}

sqlite3_stmt *db_bind(struct db_stmts *s, size_t i, const struct db_value *v, size_t n)
{
    sqlite3_stmt *st = db_stmt(s, i);

    for (size_t k = 0; st && k < n; k++) {
        int at = (int)k + 1;
        if (v[k].type == DB_IS_TEXT)
            db_bind_text(st, at, v[k].text);
        else if (v[k].type == DB_IS_BYTES)
            db_bind_bytes(st, at, v[k].bytes);
        else
            db_bind_int(st, at, v[k].number);
    }
    return st;
}

int db_try(struct db_stmts *s, sqlite3_stmt *st)
{
    return st ? db_run(st) : sqlite3_errcode(s->h);
}

int db_next(struct db_stmts *s, sqlite3_stmt *st, struct err *err)
{
    int rc = st ? sqlite3_step(st) : sqlite3_errcode(s->h);

    if (rc == SQLITE_ROW)
        return 1;
    int r = rc == SQLITE_DONE ? 0 : db_fail(s->h, rc, "read", err);
    sqlite3_reset(st);
    return r;
}

int db_one(struct db_stmts *s, sqlite3_stmt *st, int64_t *ret, struct err *err)
{
    int r = db_next(s, st, err);

    if (r != 1)
        return r;
    r = sqlite3_column_type(st, 0) != SQLITE_NULL;
    if (r)
        *ret = sqlite3_column_int64(st, 0);
    sqlite3_reset(st);
    return r;
}

int db_list(struct db_stmts *s, sqlite3_stmt *st, size_t size, void (*read)(sqlite3_stmt *st, void *to), void *ret,
            size_t *ret_n, struct err *err)
{
    char *v = NULL;
    size_t n = 0, cap = 0;
    int r;

    while ((r = db_next(s, st, err)) == 1) {
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
