/*
 * restore.c: writes a bundle to a data folder. Reads it twice: first to check that it is complete, then into a folder
 * next to the destination, which one rename puts in place (K3, K4). The tables are as in the bundle, so that an older
 * backup is restored unchanged; the hub upgrades it when it opens it.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <sys/stat.h>
#include <unistd.h>

#include "backup/backup.h"
#include "backup/bundle.h"
#include "base/file.h"
#include "base/mem.h"
#include "base/order.h"
#include "sql/sqlite.h"
#include "store/chunks.h"
#include "store/lock.h"
#include "store/log.h"
#include "store/schema.h"
#include "wandb/store_sql.h"

#define UNFINISHED "unfinished" /* marks a folder that may be deleted */
enum { SQL_MAX = 256, COLUMNS_MAX = 128, NAME_LEN = 128, FILES_MAX = 64 };

struct restore {
    const char *path, *dir; /* dir NULL: only check */
    const struct backup_watch *watch;
    struct backup_sum sum;
    uint64_t started; /* rows before the current database */
    bool head, in_db;
    bool seen_main;
    sqlite3 *h;
    char file[NAME_LEN], table[NAME_LEN];
    uint64_t cols;
    char **later; /* indexes and triggers: created after the rows */
    size_t n_later, cap_later;
    sqlite3_stmt *put;
};

static int bad(const struct restore *x, const char *how, struct err *err)
{
    return err_set(err, -EBADMSG, "'%s' is damaged: %s", x->path, how);
}

/* ---- a database ---- */

static const struct db_kind *kind_of(const char *name)
{
    int64_t n;
    struct str s = str_of(name);

    if (strcmp(name, "muster.db") == 0)
        return &records_kind;
    if (strcmp(name, "history.db") == 0)
        return &chunks_kind;
    if (strcmp(name, WANDB_FILE) == 0)
        return &wandb_kind;
    if (str_skip(&s, "log-") && str_ends(s, ".db") && str_int(str_n(s.p, s.len - 3), &n) && n > 0)
        return &log_kind;
    return NULL;
}

/* SQL from a bundle may create tables, indexes and triggers, and nothing else. */
static int only_make(UNUSED void *arg, int what, UNUSED const char *a, UNUSED const char *b, UNUSED const char *c,
                     UNUSED const char *d)
{
    static const int makes[] = {SQLITE_CREATE_TABLE, SQLITE_CREATE_INDEX, SQLITE_CREATE_TRIGGER, SQLITE_REINDEX,
                                SQLITE_INSERT,       SQLITE_UPDATE,       SQLITE_READ,           SQLITE_SELECT,
                                SQLITE_FUNCTION}; /* inserts: into the schema table only */

    return ANY(ARRAY_LEN(makes), i, makes[i] == what) ? SQLITE_OK : SQLITE_DENY;
}

static int run_once(sqlite3_stmt *st)
{
    int rc = sqlite3_step(st);

    sqlite3_reset(st);
    return rc == SQLITE_DONE || rc == SQLITE_ROW ? SQLITE_OK : rc;
}

static int make(struct restore *x, const char *sql, struct err *err)
{
    sqlite3_stmt *st = NULL;
    const char *rest = "";

    sqlite3_set_authorizer(x->h, only_make, NULL);
    int rc = sqlite3_prepare_v2(x->h, sql, -1, &st, &rest);
    if (rc == SQLITE_OK && (!st || *rest || strncmp(sql, "CREATE ", 7) != 0))
        rc = SQLITE_AUTH;
    if (rc == SQLITE_OK)
        rc = run_once(st);
    sqlite3_finalize(st);
    sqlite3_set_authorizer(x->h, NULL, NULL);
    if (rc == SQLITE_AUTH || rc == SQLITE_ERROR)
        return bad(x, "it would do something else than make tables", err);
    return rc == SQLITE_OK ? 0 : sqlite_fail(x->h, rc, "make tables in", err);
}

static int open_db(struct restore *x, int64_t magic, int64_t version, int64_t vacuum, struct err *err)
{
    AUTO_FREE char *path = mem_fmt("%s/%s", x->dir, x->file);
    char sql[256];
    int fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);

    if (fd < 0)
        return err_set(err, -errno, "cannot make '%s': %s", path, strerror(errno));
    close(fd);
    int rc = sqlite3_open_v2(path, &x->h, SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX, NULL);
    snprintf(sql, sizeof(sql),
             "PRAGMA trusted_schema=OFF; PRAGMA page_size=%d; PRAGMA auto_vacuum=%d; PRAGMA journal_mode=OFF;"
             " PRAGMA synchronous=OFF; PRAGMA locking_mode=EXCLUSIVE; BEGIN; PRAGMA application_id=%lld;"
             " PRAGMA user_version=%lld",
             DB_PAGE, (int)vacuum, (long long)magic, (long long)version);
    if (rc == SQLITE_OK)
        rc = sqlite3_exec(x->h, sql, NULL, NULL, NULL);
    return rc == SQLITE_OK ? 0 : sqlite_fail(x->h, rc, "make", err);
}

static int begin_db(struct restore *x, struct str part, struct err *err)
{
    struct rd rd = rd_of(part.p, part.len);
    struct str name = rd_text(&rd, NAME_LEN - 1);
    uint64_t magic = rd_varint(&rd), version = rd_varint(&rd), vacuum = rd_varint(&rd), n = rd_varint(&rd);

    snprintf(x->file, sizeof(x->file), "%.*s", STR_ARG(name));
    const struct db_kind *kind = kind_of(x->file);
    if (rd.bad || n > SQL_MAX || x->in_db || vacuum > 2)
        return bad(x, "a database begins wrongly", err);
    if (!kind || (int64_t)magic != kind->magic)
        return bad(x, "it has a database that is not muster's", err);
    if (version > (uint64_t)kind->version)
        return err_set(err, -ENOTSUP,
                       "'%s' holds data of a newer muster (%s of format %llu, this one knows up to %lld): install that "
                       "version",
                       x->path, x->file, (unsigned long long)version, (long long)kind->version);
    x->in_db = true;
    x->seen_main |= kind == &records_kind;
    x->started = x->sum.rows;
    x->table[0] = 0;
    int r = x->dir ? open_db(x, kind->magic, (int64_t)version, (int64_t)vacuum, err) : 0;
    for (uint64_t i = 0; i < n && r == 0; i++) {
        struct str sql = rd_text(&rd, 1 << 16);
        if (rd.bad)
            return bad(x, "a database begins wrongly", err);
        AUTO_FREE char *text = mem_strn(sql.p, sql.len);
        if (x->dir && str_starts(sql, "CREATE TABLE"))
            r = make(x, text, err);
        else if (x->dir)
            VEC_ADD(x->later, x->n_later, x->cap_later, mem_str(text));
    }
    return r == 0 && rd_left(&rd) ? bad(x, "a database begins wrongly", err) : r;
}

static int begin_table(struct restore *x, struct str part, struct err *err)
{
    struct rd rd = rd_of(part.p, part.len);
    struct str name = rd_text(&rd, NAME_LEN - 1);

    x->cols = rd_varint(&rd);
    if (rd.bad || rd_left(&rd) || !x->in_db || x->cols < 1 || x->cols > COLUMNS_MAX || !name.len ||
        memchr(name.p, '"', name.len) || memchr(name.p, 0, name.len))
        return bad(x, "a table begins wrongly", err);
    snprintf(x->table, sizeof(x->table), "%.*s", STR_ARG(name));
    if (!x->dir)
        return 0;
    AUTO_BUF sql = BUF_INIT(4096);
    buf_addf(&sql, "INSERT INTO \"%s\" VALUES(", x->table);
    for (uint64_t i = 0; i < x->cols; i++)
        buf_adds(&sql, i ? ",?" : "?");
    buf_addc(&sql, ')');
    sqlite3_finalize(x->put);
    x->put = NULL;
    int rc = sqlite3_prepare_v2(x->h, sql.p, -1, &x->put, NULL);
    return rc == SQLITE_OK ? 0 : sqlite_fail(x->h, rc, "write", err);
}

static bool take_cell(struct restore *x, struct rd *rd, int i)
{
    struct str s;
    int64_t v;
    double d = 0;

    switch (rd_u8(rd)) {
    case 0:
        if (x->put)
            sqlite3_bind_null(x->put, i);
        break;
    case 1:
        v = rd_zigzag(rd);
        if (x->put)
            sqlite3_bind_int64(x->put, i, v);
        break;
    case 2:
        s = rd_text(rd, BUNDLE_PART_MAX);
        if (x->put && !rd->bad)
            sqlite3_bind_text64(x->put, i, s.p, s.len, SQLITE_STATIC, SQLITE_UTF8);
        break;
    case 3:
        s = rd_text(rd, BUNDLE_PART_MAX);
        if (x->put && !rd->bad)
            sqlite3_bind_blob64(x->put, i, s.len ? s.p : "", s.len, SQLITE_STATIC);
        break;
    case 4: {
        const uint8_t *p = rd_bytes(rd, sizeof(d));
        if (p)
            memcpy(&d, p, sizeof(d));
        if (x->put)
            sqlite3_bind_double(x->put, i, d);
        break;
    }
    default:
        return false;
    }
    return !rd->bad;
}

static int take_rows(struct restore *x, struct str part, struct err *err)
{
    struct rd rd = rd_of(part.p, part.len);
    uint64_t n = rd_varint(&rd);

    if (rd.bad || !x->table[0])
        return bad(x, "rows without a table", err);
    for (uint64_t k = 0; k < n; k++) {
        for (uint64_t i = 0; i < x->cols; i++)
            if (!take_cell(x, &rd, (int)i + 1))
                return bad(x, "a row cannot be read", err);
        int rc = x->put ? run_once(x->put) : SQLITE_OK;
        if (rc != SQLITE_OK)
            return sqlite_fail(x->h, rc, "write", err);
    }
    x->sum.rows += n;
    if (strcmp(x->table, "batch") == 0)
        x->sum.batches += n;
    if (strcmp(x->table, "chunk") == 0)
        x->sum.chunks += n;
    return rd_left(&rd) ? bad(x, "a row cannot be read", err) : 0;
}

static void drop_db(struct restore *x)
{
    sqlite3_finalize(x->put);
    x->put = NULL;
    sqlite3_close(x->h);
    x->h = NULL;
    for (size_t i = 0; i < x->n_later; i++)
        free(x->later[i]);
    x->n_later = 0;
    x->in_db = false;
    x->table[0] = 0;
}

static int sync_file(const char *path, struct err *err)
{
    AUTO_CLOSE int fd = open(path, O_RDONLY | O_CLOEXEC);

    if (fd < 0 || fsync(fd) < 0)
        return err_set(err, -errno, "cannot sync '%s': %s", path, strerror(errno));
    return 0;
}

static int end_db(struct restore *x, struct str part, struct err *err)
{
    struct rd rd = rd_of(part.p, part.len);
    uint64_t rows = rd_varint(&rd);
    int r = 0;

    if (rd.bad || rd_left(&rd) || !x->in_db || rows != x->sum.rows - x->started)
        return bad(x, "the number of rows is wrong", err);
    if (!x->dir) {
        drop_db(x);
        return 0;
    }
    sqlite3_finalize(x->put);
    x->put = NULL;
    for (size_t i = 0; i < x->n_later && r == 0; i++)
        r = make(x, x->later[i], err);
    if (r == 0) {
        /* WAL mode from the start: the same state as a hub leaves it */
        int rc = sqlite3_exec(x->h, "COMMIT", NULL, NULL, NULL);
        if (rc == SQLITE_OK)
            rc = sqlite3_exec(x->h, "PRAGMA locking_mode=NORMAL; PRAGMA journal_mode=WAL", NULL, NULL, NULL);
        if (rc != SQLITE_OK)
            r = sqlite_fail(x->h, rc, "write", err);
    }
    AUTO_FREE char *path = mem_fmt("%s/%s", x->dir, x->file);
    drop_db(x);
    return r == 0 ? sync_file(path, err) : r;
}

/* ---- other files ---- */

static int take_file(struct restore *x, struct str part, struct err *err)
{
    struct rd rd = rd_of(part.p, part.len);
    struct str name = rd_text(&rd, NAME_LEN - 1);
    uint64_t mode = rd_varint(&rd);
    size_t n = rd_left(&rd);

    if (rd.bad || x->in_db || !name_ok(name, NAME_LEN - 1) || name.p[0] == '.' || mode > 0777 || str_eq(name, "lock") ||
        str_ends(name, ".db") || str_eq(name, UNFINISHED))
        return bad(x, "a file has a name it cannot have", err);
    if (!x->dir)
        return 0;
    AUTO_FREE char *path = mem_fmt("%s/%.*s", x->dir, STR_ARG(name));
    return file_write(path, (mode_t)mode & 0700, rd_bytes(&rd, n), n, err);
}

/* ---- reading the bundle ---- */

static int take_head(struct restore *x, struct str part, struct err *err)
{
    struct rd rd = rd_of(part.p, part.len);

    x->sum.made_ms = (int64_t)rd_u64(&rd);
    struct str version = rd_text(&rd, sizeof(x->sum.version) - 1);
    rd_varint(&rd);
    if (rd.bad || x->head)
        return bad(x, "it begins wrongly", err);
    snprintf(x->sum.version, sizeof(x->sum.version), "%.*s", STR_ARG(version));
    x->head = true;
    return 0;
}

static int take_part(struct restore *x, enum part_type type, struct str part, struct err *err)
{
    static int (*const takers[])(struct restore * x, struct str part, struct err * err) = {
        [PART_HEAD] = take_head, [PART_DB] = begin_db,   [PART_TABLE] = begin_table,
        [PART_ROWS] = take_rows, [PART_DB_END] = end_db, [PART_FILE] = take_file,
    };

    if (!x->head && type != PART_HEAD)
        return bad(x, "it begins wrongly", err);
    if (type >= ARRAY_LEN(takers) || !takers[type])
        return bad(x, "it has a part of no known kind", err);
    return takers[type](x, part, err);
}

static int run(struct restore *x, struct err *err)
{
    AUTO_CLOSE int fd = open(x->path, O_RDONLY | O_CLOEXEC);
    struct bundle_reader in = {.fd = fd, .name = x->path};
    enum part_type type;
    struct str part;

    if (fd < 0)
        return err_set(err, -errno, "cannot open '%s': %s", x->path, strerror(errno));
    int64_t size = file_size(x->path);
    int r = bundle_open(&in, err);
    while (r >= 0 && (r = bundle_next(&in, &type, &part, err)) == 1) {
        r = take_part(x, type, part, err);
        if (r == 0 && x->watch)
            x->watch->at(x->watch->arg, in.bytes, size);
    }
    if (r == 0 && (x->in_db || !x->seen_main))
        r = bad(x, "it ends too early", err);
    drop_db(x);
    free(x->later);
    x->sum.bytes = in.bytes;
    bundle_reader_fini(&in);
    return r;
}

int backup_check(const char *path, const struct backup_watch *watch, struct backup_sum *ret, struct err *err)
{
    struct restore x = {.path = path, .watch = watch};
    int r = run(&x, err);

    if (r == 0)
        *ret = x.sum;
    return r;
}

/* ---- folders ---- */

/* Removes a folder of ours, which has no subfolders. */
static void remove_folder(const char *path)
{
    DIR *d = opendir(path);
    struct dirent *e;

    while (d && (e = readdir(d)))
        if (strcmp(e->d_name, ".") != 0 && strcmp(e->d_name, "..") != 0 && strcmp(e->d_name, UNFINISHED) != 0) {
            AUTO_FREE char *file = mem_fmt("%s/%s", path, e->d_name);
            unlink(file);
        }
    if (d)
        closedir(d);
    AUTO_FREE char *mark = mem_fmt("%s/" UNFINISHED, path); /* last: while the mark exists, the folder may be deleted */
    unlink(mark);
    rmdir(path);
}

/* Removes the folders of a killed restore. */
static void remove_leftovers(const char *dir)
{
    AUTO_FREE char *copy = mem_str(dir), *copy2 = mem_str(dir);
    const char *parent = dirname(copy), *base = basename(copy2);
    AUTO_FREE char *prefix = mem_fmt("%s.restore-", base);
    DIR *d = opendir(parent);
    struct dirent *e;

    while (d && (e = readdir(d)))
        if (str_starts(str_of(e->d_name), prefix)) {
            AUTO_FREE char *path = mem_fmt("%s/%s", parent, e->d_name);
            AUTO_FREE char *mark = mem_fmt("%s/" UNFINISHED, path);
            if (access(mark, F_OK) == 0)
                remove_folder(path);
        }
    if (d)
        closedir(d);
}

/* Returns 0: missing; 1: empty; 2: not empty; -errno. A lock file does not count. */
static int folder_state(const char *dir, struct err *err)
{
    DIR *d = opendir(dir);
    struct dirent *e;
    int r = 1;

    if (!d)
        return errno == ENOENT ? 0 : err_set(err, -errno, "cannot open '%s': %s", dir, strerror(errno));
    while ((e = readdir(d)))
        if (strcmp(e->d_name, ".") != 0 && strcmp(e->d_name, "..") != 0 && strcmp(e->d_name, "lock") != 0)
            r = 2;
    closedir(d);
    return r;
}

static int sync_parent(const char *dir)
{
    AUTO_FREE char *copy = mem_str(dir);

    return file_sync_dir(dirname(copy));
}

/* The final step is one rename. temp is complete and synced. */
static int put_in_place(const char *temp, const char *dir, int state, char *old, struct err *err)
{
    AUTO_FREE char *mark = mem_fmt("%s/" UNFINISHED, temp);
    AUTO_FREE char *lock = mem_fmt("%s/lock", dir);

    unlink(mark);
    int r = file_sync_dir(temp);
    if (r < 0)
        return err_set(err, r, "cannot sync '%s': %s", temp, strerror(-r));
    if (state == 1)
        unlink(lock); /* rename replaces only an empty folder */
    r = renameat2(AT_FDCWD, temp, AT_FDCWD, dir, state == 2 ? RENAME_EXCHANGE : 0);
    if (r < 0)
        return err_set(err, -errno, "cannot put '%s' in place as '%s': %s", temp, dir, strerror(errno));
    sync_parent(dir);
    if (state != 2)
        return 0;
    snprintf(old, 4096, "%s", temp); /* temp is the old folder now; give it a better name if possible */
    for (int i = 1; i < 1000; i++) {
        AUTO_FREE char *name = mem_fmt("%s.before-restore-%d", dir, i);
        if (renameat2(AT_FDCWD, temp, AT_FDCWD, name, RENAME_NOREPLACE) == 0) {
            snprintf(old, 4096, "%s", name);
            break;
        }
        if (errno != EEXIST)
            break;
    }
    sync_parent(dir);
    return 0;
}

static int fill(struct restore *x, const char *temp, struct err *err)
{
    AUTO_FREE char *mark = mem_fmt("%s/" UNFINISHED, temp);
    int r = file_write(mark, 0600, "", 0, err);

    x->dir = temp;
    if (r == 0)
        r = run(x, err);
    if (r == 0 && (r = file_sync_dir(temp)) < 0)
        err_set(err, r, "cannot sync '%s': %s", temp, strerror(-r));
    return r;
}

int backup_restore(const char *path, const char *dir, bool force, const struct backup_watch *watch,
                   struct backup_sum *ret, char *old, struct err *err)
{
    struct restore x = {.path = path, .watch = watch};
    AUTO_FREE char *where = mem_str(dir);
    AUTO_CLOSE int lock = -1, wandb = -1;
    size_t n = strlen(where);

    while (n > 1 && where[n - 1] == '/')
        where[--n] = 0;
    *old = 0;
    int state = folder_state(where, err);
    if (state == 2 && !force)
        return err_set(err, -ENOTEMPTY,
                       "'%s' is not empty: give another folder, or --force to replace it and keep the old one under "
                       "another name",
                       where);
    int r = state < 0 ? state : 0;
    if (state >= 1)
        r = store_lock(where, &lock, err);
    AUTO_FREE char *runs = mem_fmt("%s/" WANDB_FILE, where);
    if (r == 0 && access(runs, F_OK) == 0)
        r = wandb_store_lock(where, &wandb, err);
    if (r == 0)
        r = backup_check(path, watch, ret, err);
    if (r < 0)
        return r;
    AUTO_FREE char *temp = mem_fmt("%s.restore-XXXXXX", where);
    AUTO_FREE char *parent = mem_str(where);
    r = file_mkdirs(dirname(parent), 0700, err);
    if (r < 0)
        return r;
    remove_leftovers(where);
    if (!mkdtemp(temp))
        return err_set(err, -errno, "cannot create a folder next to '%s': %s", where, strerror(errno));
    r = fill(&x, temp, err);
    if (r == 0)
        r = put_in_place(temp, where, state, old, err);
    if (r < 0)
        remove_folder(temp);
    return r;
}
