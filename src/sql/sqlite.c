/*
 * sqlite.c: opens SQLite files with the store's settings, and maps SQLite's errors to ours. Durability depends on two
 * settings made here: WAL, and synchronous=FULL (the WAL is synced at every commit).
 */
#include "sql/sqlite.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/file.h"
#include "base/mem.h"

#define WAL_PAGES 1000                  /* pages: checkpoint when the WAL is larger: 4 MB */
#define WAL_KEEP  (WAL_PAGES * DB_PAGE) /* the WAL is truncated to this when it restarts */
#define BUSY_MS   5000                  /* how long to wait for another process's write */
/* two processes may create the file concurrently: SQLite does not wait then */
#define OPEN_TRIES   50
#define OPEN_WAIT_MS 20
#define URI_MAX      12500 /* a path of 4095 bytes, all of them escaped */
#define VACUUM_LEAST 64    /* free pages that may stay for later use */

enum mark { MARK_READ, MARK_WRITE, MARK_COMMIT, MARK_ROLLBACK, MARK_COUNT };

struct sqlite_db {
    struct db db;
    sqlite3 *h;
    sqlite3_stmt *marks[MARK_COUNT]; /* the statements that start and end transactions: prepared once */
    sqlite3_blob *blob;              /* open within a transaction, moved from row to row */
    const char *blob_of;             /* its table */
    int64_t blob_id;
    int wal_pages;
};

struct sqlite_stmt {
    struct db_stmt st;
    sqlite3_stmt *h;
    int failed; /* error if h is NULL */
};

/* SQLite's result as -errno. */
static int errno_of(sqlite3 *h, int rc)
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

/* SQLite opens a file that this user may not write for reading, and reports READONLY as on a read-only disk. */
static bool is_forbidden(const char *path)
{
    struct statvfs fs;

    return path && statvfs(path, &fs) == 0 && !(fs.f_flag & ST_RDONLY) && access(path, W_OK) < 0;
}

static int fail_at(int code, int rc, const char *doing, const char *path, struct err *err)
{
    if (code == -EROFS && is_forbidden(path))
        code = -EACCES;
    const char *why = code == -EBUSY                     ? "another process is writing to it"
                      : code == -EUCLEAN || code == -EIO ? sqlite3_errstr(rc)
                                                         : strerror(-code);

    return err_set(err, code, "cannot %s '%s': %s", doing, path ? path : "?", why);
}

int sqlite_fail(sqlite3 *h, int rc, const char *doing, struct err *err)
{
    return fail_at(errno_of(h, rc), rc, doing, h ? sqlite3_db_filename(h, "main") : NULL, err);
}

sqlite3 *sqlite_handle(struct db *db)
{
    return ((struct sqlite_db *)db)->h;
}

/* Uses the error stored in the handle, unless it was not SQLite that failed. */
static int fail_last(struct db *db, int code, const char *doing, struct err *err)
{
    sqlite3 *h = sqlite_handle(db);
    int rc = sqlite3_extended_errcode(h);

    if (errno_of(h, rc) != code)
        rc = code == -EUCLEAN ? SQLITE_CORRUPT : SQLITE_IOERR;
    return fail_at(code, rc, doing, sqlite3_db_filename(h, "main"), err);
}

static int exec_all(struct db *db, const char *sql)
{
    sqlite3 *h = sqlite_handle(db);

    return errno_of(h, sqlite3_exec(h, sql, NULL, NULL, NULL));
}

int sqlite_sound(struct db *db, struct err *err)
{
    int64_t ok = 0;
    int r = db_int(db, "SELECT quick_check = 'ok' FROM pragma_quick_check(1)", &ok);

    return r == 0 && ok ? 0 : db_fail(db, r < 0 ? r : -EUCLEAN, "read", err);
}

/* ---- transactions ---- */

static int run_mark(struct db *db, enum mark i)
{
    static const char *const sql[] = {"BEGIN", "BEGIN IMMEDIATE", "COMMIT", "ROLLBACK"};
    struct sqlite_db *d = (struct sqlite_db *)db;
    int rc = SQLITE_OK;

    if (!d->marks[i])
        rc = sqlite3_prepare_v3(d->h, sql[i], -1, SQLITE_PREPARE_PERSISTENT, &d->marks[i], NULL);
    if (rc == SQLITE_OK)
        rc = sqlite3_step(d->marks[i]);
    sqlite3_reset(d->marks[i]);
    return errno_of(d->h, rc);
}

static int begin_transaction(struct db *db, bool write)
{
    return run_mark(db, write ? MARK_WRITE : MARK_READ);
}

static int commit(struct db *db)
{
    return run_mark(db, MARK_COMMIT);
}

static bool in_transaction(struct db *db)
{
    return !sqlite3_get_autocommit(sqlite_handle(db));
}

static void shut_blob(struct sqlite_db *d)
{
    sqlite3_blob_close(d->blob);
    d->blob = NULL;
}

static void rollback(struct db *db)
{
    shut_blob((struct sqlite_db *)db); /* an open blob would keep the snapshot */
    if (in_transaction(db))
        run_mark(db, MARK_ROLLBACK);
}

static int64_t count_changes(struct db *db)
{
    return sqlite3_changes64(sqlite_handle(db));
}

/* ---- statements ---- */

static sqlite3_stmt *stmt_of(struct db_stmt *st)
{
    return ((struct sqlite_stmt *)st)->h;
}

static struct db_stmt *prepare(struct db *db, const char *sql, bool keep)
{
    struct sqlite_stmt *s = NEW(struct sqlite_stmt, .st = {.engine = &sqlite_engine, .db = db});

    s->failed = sqlite3_prepare_v3(sqlite_handle(db), sql, -1, keep ? SQLITE_PREPARE_PERSISTENT : 0, &s->h, NULL);
    s->st.bad = s->failed != SQLITE_OK;
    return &s->st;
}

static void finish(struct db_stmt *st)
{
    sqlite3_finalize(stmt_of(st));
    free(st);
}

static int find_place(struct db_stmt *st, const char *name)
{
    return sqlite3_bind_parameter_index(stmt_of(st), name);
}

static void bind_int(struct db_stmt *st, int i, int64_t v)
{
    sqlite3_bind_int64(stmt_of(st), i, v);
}

static void bind_text(struct db_stmt *st, int i, struct str v)
{
    sqlite3_bind_text(stmt_of(st), i, v.len ? v.p : "", (int)v.len, SQLITE_STATIC);
}

static void bind_bytes(struct db_stmt *st, int i, struct str v)
{
    sqlite3_bind_blob64(stmt_of(st), i, v.len ? v.p : "", v.len, SQLITE_STATIC);
}

static int step(struct db_stmt *st)
{
    const struct sqlite_stmt *s = (struct sqlite_stmt *)st;
    int rc = s->h ? sqlite3_step(s->h) : s->failed;

    return rc == SQLITE_ROW ? 1 : rc == SQLITE_DONE ? 0 : errno_of(sqlite_handle(st->db), rc);
}

static void reset(struct db_stmt *st)
{
    sqlite3_reset(stmt_of(st));
}

static bool is_null(struct db_stmt *st, int i)
{
    return sqlite3_column_type(stmt_of(st), i) == SQLITE_NULL;
}

static int64_t get_number(struct db_stmt *st, int i)
{
    return sqlite3_column_int64(stmt_of(st), i);
}

static const char *get_text(struct db_stmt *st, int i)
{
    const char *s = (const char *)sqlite3_column_text(stmt_of(st), i);

    return s ? s : "";
}

static struct str get_bytes(struct db_stmt *st, int i)
{
    const void *p = sqlite3_column_blob(stmt_of(st), i);

    return str_n(p ? p : "", p ? (size_t)sqlite3_column_bytes(stmt_of(st), i) : 0);
}

static uint64_t count_steps(struct db_stmt *st)
{
    /* SQLite's counter has 32 bits */
    return (uint32_t)sqlite3_stmt_status(stmt_of(st), SQLITE_STMTSTATUS_VM_STEP, true);
}

static int read_part(struct db *db, const char *table, int64_t id, size_t off, size_t len, void *to)
{
    struct sqlite_db *d = (struct sqlite_db *)db;

    if (off > INT_MAX || len > INT_MAX)
        return -ENOENT;
    if (d->blob_of != table)
        shut_blob(d);
    /*
     * the handle is reused for parts of one row, because it knows the row's pages. Fails if we changed the row
     * meanwhile
     */
    if (d->blob && d->blob_id == id && sqlite3_blob_read(d->blob, to, (int)len, (int)off) == SQLITE_OK)
        return 0;
    d->blob_of = table;
    d->blob_id = id;
    int rc =
        d->blob ? sqlite3_blob_reopen(d->blob, id) : sqlite3_blob_open(d->h, "main", table, "bytes", id, 0, &d->blob);
    if (rc == SQLITE_OK)
        rc = sqlite3_blob_read(d->blob, to, (int)len, (int)off);
    if (rc == SQLITE_OK)
        return 0;
    shut_blob(d);
    return rc == SQLITE_ERROR ? -ENOENT : errno_of(d->h, rc);
}

/* ---- the file ---- */

static int keep_wal_size(void *arg, UNUSED sqlite3 *h, UNUSED const char *name, int pages)
{
    *(int *)arg = pages;
    return SQLITE_OK;
}

/* A failure only means a larger WAL. */
static void tidy(struct db *db, bool all)
{
    struct sqlite_db *d = (struct sqlite_db *)db;

    if (!all && d->wal_pages <= WAL_PAGES)
        return;
    sqlite3_wal_checkpoint_v2(d->h, "main", all ? SQLITE_CHECKPOINT_TRUNCATE : SQLITE_CHECKPOINT_PASSIVE, NULL, NULL);
    d->wal_pages = 0; /* the next commit reports its size */
}

static int64_t used_bytes(struct db *db, UNUSED const char *table)
{
    int64_t pages = 0, spare = 0, size = 0;

    int r = db_int(db, "PRAGMA page_count", &pages);

    if (r >= 0)
        r = db_int(db, "PRAGMA freelist_count", &spare);
    if (r >= 0)
        r = db_int(db, "PRAGMA page_size", &size);
    return r < 0 ? r : (pages - spare) * size;
}

static int give_back(struct db *db, int n)
{
    int64_t pages = 0, spare = 0;
    char sql[64];

    db_int(db, "PRAGMA page_count", &pages);
    db_int(db, "PRAGMA freelist_count", &spare);
    if (spare < VACUUM_LEAST || spare < pages / 64)
        return 0;
    snprintf(sql, sizeof(sql), "PRAGMA incremental_vacuum(%d)", n);
    return db_exec(db, sql) == 0;
}

static int own_tables(struct db *db)
{
    return begin_transaction(db, true);
}

static int get_version(struct db *db, UNUSED const struct db_kind *kind, int64_t *ret)
{
    return db_int(db, "PRAGMA user_version", ret);
}

static int set_version(struct db *db, const struct db_kind *kind)
{
    char sql[128];

    snprintf(sql, sizeof(sql), "PRAGMA application_id=%lld; PRAGMA user_version=%lld", (long long)kind->magic,
             (long long)kind->version);
    return db_exec(db, sql);
}

static void close_file(struct db *db)
{
    struct sqlite_db *d = (struct sqlite_db *)db;

    shut_blob(d);
    for (size_t i = 0; i < MARK_COUNT; i++)
        sqlite3_finalize(d->marks[i]);
    sqlite3_close_v2(d->h);
    free(d);
}

/* ---- opening ---- */

/*
 * Mode 0600, because tokens and command lines are inside. Set only for a new file: closing a descriptor of a file that
 * SQLite has open in this process would drop SQLite's locks.
 */
static int make_file(const char *path, struct err *err)
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

/* Returns 0: ours and current; 1: empty, to be created; 2: an older version. Other errors as db_open(). */
static int check_kind(struct db *db, const char *path, const struct db_kind *kind, struct err *err)
{
    int64_t magic = 0, version = 0, tables = 0;
    int r = db_begin(db, false); /* one snapshot: another process may be creating it */

    if (r == 0)
        r = db_int(db, "PRAGMA application_id", &magic);
    if (r == 0)
        r = db_int(db, "PRAGMA user_version", &version);
    if (r == 0)
        r = db_int(db, "SELECT count(*) FROM sqlite_schema", &tables);
    if (r == 0)
        r = db_commit(db);
    if (r < 0)
        return db_fail(db, r, "read", err);
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

static int set_up(struct db *db, const struct db_kind *kind, enum db_mode mode)
{
    sqlite3 *h = sqlite_handle(db);
    char sql[160];

    sqlite3_extended_result_codes(h, 1);
    sqlite3_busy_timeout(h, BUSY_MS);
    int r = db_exec(db, "PRAGMA trusted_schema=OFF; PRAGMA cell_size_check=ON; PRAGMA synchronous=FULL");
    if (r == 0 && only_reads(mode))
        return db_exec(db, "PRAGMA cache_size=-512"); /* KiB: the kernel caches the file's pages, once for all
                                                       * readers */
    if (r < 0)
        return r;
    snprintf(sql, sizeof(sql), "PRAGMA page_size=%d; %sPRAGMA journal_mode=WAL; PRAGMA journal_size_limit=%d",
             kind->page ? kind->page : DB_PAGE, kind->shrinks ? "PRAGMA auto_vacuum=INCREMENTAL; " : "", WAL_KEEP);
    r = db_exec(db, sql);
    if (r == 0)
        r = errno_of(h, sqlite3_wal_autocheckpoint(h, mode == DB_WRITE ? 0 : WAL_PAGES));
    return r;
}

/* Escapes a file name for SQLite's URIs. */
static void write_uri(struct buf *out, const char *path)
{
    buf_adds(out, "file:");
    for (; *path; path++)
        if (strchr("%?#", *path))
            buf_addf(out, "%%%02x", (unsigned char)*path);
        else
            buf_addc(out, *path);
    buf_adds(out, "?immutable=1");
}

static int open_handle(sqlite3 **ret, const char *path, enum db_mode mode)
{
    static const int flags[] = {
        [DB_READ] = SQLITE_OPEN_READONLY,
        [DB_STILL] = SQLITE_OPEN_READONLY | SQLITE_OPEN_URI,
        [DB_WRITE] = SQLITE_OPEN_READWRITE,
        [DB_BESIDE] = SQLITE_OPEN_READWRITE,
    };
    AUTO_BUF name = BUF_INIT(URI_MAX);

    if (mode == DB_STILL)
        write_uri(&name, path);
    return sqlite3_open_v2(mode == DB_STILL ? buf_str(&name).p : path, ret, flags[mode] | SQLITE_OPEN_NOMUTEX, NULL);
}

static int bring_up_to_date(struct db *db, const char *path, const struct db_kind *kind, enum db_mode mode,
                            struct err *err)
{
    int state = check_kind(db, path, kind, err), r = 0;

    if (state < 0)
        return state;
    if (only_reads(mode))
        return state == 1 ? err_set(err, -ENODATA, "cannot read '%s': it is empty", path) : 0;
    if (state > 0)
        r = db_make_tables(db, kind);
    if (r < 0)
        return db_fail(db, r, state == 1 ? "make tables in" : "bring up to date", err);
    if (db_lacks_columns(db, kind))
        r = db_add_columns(db, kind);
    return r < 0 ? db_fail(db, r, "bring up to date", err) : 0;
}

/* SQLite reports "no such file" for a database in WAL mode if it cannot create the files next to it. */
static int explain_missing(const char *path, struct err *err)
{
    struct statvfs fs;

    if (access(path, F_OK) < 0 || statvfs(path, &fs) < 0)
        return -ENOENT; /* err is set */
    if (fs.f_flag & ST_RDONLY)
        return err_set(err, -EROFS, "cannot open '%s': its file system is read-only; `dmesg` may say why", path);
    return err_set(err, -EACCES, "cannot open '%s': this user may not write to its folder", path);
}

static int try_open(struct db **ret, const char *path, const struct db_kind *kind, enum db_mode mode, struct err *err)
{
    struct sqlite_db *d = NEW(struct sqlite_db, .db.engine = &sqlite_engine);
    int rc = open_handle(&d->h, path, mode);
    int r = rc == SQLITE_OK ? set_up(&d->db, kind, mode) : errno_of(d->h, rc);

    if (r < 0) /* a handle that is not open has no file name */
        fail_at(r, rc == SQLITE_OK ? sqlite3_extended_errcode(d->h) : rc, "open", path, err);
    else
        r = bring_up_to_date(&d->db, path, kind, mode, err);
    if (r == -ENOENT)
        r = explain_missing(path, err);
    if (r < 0) {
        close_file(&d->db);
        return r;
    }
    if (mode == DB_WRITE)
        sqlite3_wal_hook(d->h, keep_wal_size, &d->wal_pages);
    *ret = &d->db;
    return 0;
}

/*
 * A journal next to our file can only be the one of its switch to WAL mode, restored after a power loss. SQLite rolls
 * it back. But a connection that found the file in WAL mode then continues in that mode although the header says
 * otherwise, and others do not see its writes. So one connection does only the rollback.
 */
static void roll_journal_back(const char *path)
{
    AUTO_FREE char *journal = mem_fmt("%s-journal", path);
    sqlite3 *h = NULL;

    if (access(journal, F_OK) < 0)
        return;
    if (sqlite3_open_v2(path, &h, SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX, NULL) == SQLITE_OK)
        sqlite3_exec(h, "SELECT count(*) FROM sqlite_schema", NULL, NULL, NULL);
    sqlite3_close(h);
}

static int open_file(struct db **ret, const char *path, const struct db_kind *kind, enum db_mode mode, struct err *err)
{
    struct stat st;
    int r = only_reads(mode) ? 0 : make_file(path, err);

    if (r < 0)
        return r;
    if (!only_reads(mode))
        roll_journal_back(path);
    else if (stat(path, &st) < 0)
        return err_set(err, -errno, "cannot open '%s': %s", path, strerror(errno));
    for (int i = 0; i < OPEN_TRIES; i++) {
        r = try_open(ret, path, kind, mode, err);
        if (r != -EBUSY)
            break;
        sqlite3_sleep(OPEN_WAIT_MS);
    }
    return r;
}

const struct db_engine sqlite_engine = {
    .open = open_file,
    .close = close_file,
    .fail = fail_last,
    .exec = exec_all,
    .begin = begin_transaction,
    .commit = commit,
    .rollback = rollback,
    .in_transaction = in_transaction,
    .changes = count_changes,
    .tidy = tidy,
    .used_bytes = used_bytes,
    .give_back = give_back,
    .read_part = read_part,
    .own_tables = own_tables,
    .get_version = get_version,
    .set_version = set_version,
    .columns = "SELECT name FROM pragma_table_info(?1)",
    .prepare = prepare,
    .finish = finish,
    .place = find_place,
    .bind_int = bind_int,
    .bind_text = bind_text,
    .bind_bytes = bind_bytes,
    .step = step,
    .reset = reset,
    .is_null = is_null,
    .number = get_number,
    .text = get_text,
    .bytes = get_bytes,
    .steps = count_steps,
};
