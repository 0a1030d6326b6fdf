/* quarantine.c: quarantines damaged files and finds quarantined ones. */
#include "store/quarantine.h"

#include <dirent.h>
#include <errno.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/file.h"
#include "base/mem.h"
#include "sql/sqlite.h"
#include "store/lock.h"
#include "store/main_db.h"
#include "store/schema.h"

#define DAMAGED ".damaged"
#define MISSING ".missing"
#define FOLDER  "set-aside-"
#define TRIES   100000

static bool is_there(const char *dir, const char *name, const char *tail)
{
    AUTO_FREE char *path = mem_fmt("%s/%s%s", dir, name, tail);
    struct stat st;

    return lstat(path, &st) == 0;
}

static int move(const char *dir, const char *from, const char *to, const char *tail)
{
    AUTO_FREE char *old = mem_fmt("%s/%s%s", dir, from, tail), *new = mem_fmt("%s/%s%s", dir, to, tail);

    return rename(old, new) < 0 && errno != ENOENT ? -errno : 0;
}

/* A WAL may exist alone, after a run that was killed in between: it belongs to this file. */
static bool is_taken(const char *dir, const char *name, bool wal)
{
    return is_there(dir, name, "") || (wal && is_there(dir, name, "-wal"));
}

int quarantine_file(const char *dir, const char *name, char ret[ASIDE_NAME])
{
    AUTO_FREE char *shm = mem_fmt("%s/%s-shm", dir, name);
    char to[ASIDE_NAME];
    bool wal = is_there(dir, name, "-wal");

    snprintf(to, sizeof(to), "%.80s" DAMAGED, name);
    for (int i = 2; i < TRIES && is_taken(dir, to, wal); i++)
        snprintf(to, sizeof(to), "%.80s" DAMAGED ".%d", name, i);
    if (is_taken(dir, to, wal))
        return -EEXIST;
    int r = move(dir, name, to, "-wal"); /* first: SQLite finds it next to the new name */
    if (r == 0)
        r = move(dir, name, to, "");
    if (r < 0)
        return r;
    unlink(shm);
    if (ret)
        mem_copy_str(ret, ASIDE_NAME, to);
    return file_sync_dir(dir);
}

int quarantine_note_missing(const char *dir, const char *name)
{
    static const char text[] = "This file was missing when the hub started. While this note is here every screen "
                               "reports it; remove it after you have read it.\n";
    AUTO_FREE char *path = mem_fmt("%s/%s" MISSING, dir, name);

    return file_write(path, 0600, text, sizeof(text) - 1, NULL);
}

size_t quarantine_name_length(const char *file)
{
    struct str s = str_of(file);
    int at = str_find(s, DAMAGED);
    int64_t n;

    if (at <= 0)
        return 0;
    struct str rest = str_drop(s, (size_t)at + strlen(DAMAGED));
    if (rest.len && (!str_skip(&rest, ".") || !str_int(rest, &n)))
        return 0;
    return (size_t)at;
}

/* ---- muster.db ---- */

/* A file of the store, by its prefix: "muster.db-wal" too. */
static bool is_ours(const char *name)
{
    return (strncmp(name, "log-", 4) == 0 && strstr(name, ".db")) || strncmp(name, "muster.db", 9) == 0 ||
           strncmp(name, "history.db", 10) == 0;
}

/* Whether the folder has data of a store. */
static int has_data(const char *dir, struct err *err)
{
    DIR *d = opendir(dir);
    bool any = false;

    if (!d)
        return errno == ENOENT ? 0 : err_set(err, -errno, "cannot list '%s': %s", dir, strerror(errno));
    for (struct dirent *e; !any && (e = readdir(d));) {
        struct str name = str_of(e->d_name);
        if (!is_ours(e->d_name) || str_starts(name, "muster.db") || !str_ends(name, ".db"))
            continue;
        AUTO_FREE char *path = mem_fmt("%s/%s", dir, e->d_name);
        any = file_size(path) > 0;
    }
    closedir(d);
    return any;
}

/* Returns 0 if muster.db is readable, -ENOENT if missing, -ENODATA if empty, else -errno. deep: checks every page. */
static int try_records(const char *dir, bool deep, struct err *err)
{
    AUTO_FREE char *path = mem_fmt("%s/muster.db", dir);
    int64_t size = file_size(path);
    struct db *db = NULL;

    if (size <= 0)
        return size < 0 ? (int)size : -ENODATA;
    int r = db_open(&db, path, &records_kind, DB_READ, err);
    if (r < 0)
        return r;
    if (deep)
        r = sqlite_sound(db, err);
    db_close(db);
    return r;
}

int data_folder_check(const char *dir, struct err *err)
{
    struct err unused = {0};
    int r = has_data(dir, err);

    if (r <= 0)
        return r;
    r = try_records(dir, false, &unused);
    if (r != -ENOENT && r != -ENODATA)
        return 0;
    return err_set(err, -ENODATA,
                   "'%s/muster.db' %s, although there is history next to it: nothing was changed. Put it back, or run "
                   "`muster restore BACKUP --data %s --force`; without a backup `muster hub --start-empty` sets "
                   "everything there aside and starts from scratch (tokens and names are lost then)",
                   dir, r == -ENOENT ? "is missing" : "is empty", dir);
}

/* ---- moving everything ---- */

static int make_folder(const char *dir, char ret[ASIDE_NAME], struct err *err)
{
    for (int i = 1; i < TRIES; i++) {
        AUTO_FREE char *path = mem_fmt("%s/" FOLDER "%d", dir, i);
        if (mkdir(path, 0700) == 0) {
            snprintf(ret, ASIDE_NAME, FOLDER "%d", i);
            return 0;
        }
        if (errno != EEXIST)
            return err_set(err, -errno, "cannot make '%s': %s", path, strerror(errno));
    }
    return err_set(err, -EEXIST, "'%s' has too many folders " FOLDER "N", dir);
}

static int move_all(const char *dir, const char *folder, struct err *err)
{
    DIR *d = opendir(dir);
    int r = 0;

    if (!d)
        return err_set(err, -errno, "cannot list '%s': %s", dir, strerror(errno));
    for (struct dirent *e; r == 0 && (e = readdir(d));) {
        if (!is_ours(e->d_name) || strstr(e->d_name, DAMAGED) || strstr(e->d_name, MISSING))
            continue;
        AUTO_FREE char *from = mem_fmt("%s/%s", dir, e->d_name), *to = mem_fmt("%s/%s/%s", dir, folder, e->d_name);
        if (rename(from, to) < 0)
            r = err_set(err, -errno, "cannot move '%s' to '%s': %s", from, to, strerror(errno));
    }
    closedir(d);
    return r;
}

int quarantine_all(const char *dir, char ret[ASIDE_NAME], struct err *err)
{
    AUTO_CLOSE int lock = -1;
    struct err why = {0};
    int r = has_data(dir, err);

    if (r < 0)
        return r;
    int state = try_records(dir, true, &why);
    if (state == 0 || (r == 0 && (state == -ENOENT || state == -ENODATA)))
        return 0; /* intact, or a folder without data */
    if (state != -ENOENT && state != -ENODATA && state != -EUCLEAN && state != -EINVAL)
        return err_set(err, state, "%s", why.msg); /* from a newer muster, or no permission: not damage */
    r = store_lock(dir, &lock, err);
    if (r == 0)
        r = make_folder(dir, ret, err);
    if (r == 0)
        r = move_all(dir, ret, err);
    if (r < 0)
        return r;
    AUTO_FREE char *folder = mem_fmt("%s/%s", dir, ret);
    if (state == -ENOENT || state == -ENODATA) { /* the remaining files are readable next to a new one */
        struct records *rec = NULL;
        if (state == -ENODATA)
            quarantine_file(folder, "muster.db", NULL);
        records_open(&rec, folder, DB_BESIDE, NULL);
        records_close(rec);
    }
    file_sync_dir(folder);
    r = file_sync_dir(dir);
    return r < 0 ? err_set(err, r, "cannot sync '%s': %s", dir, strerror(-r)) : 1;
}

/* ---- notices ---- */

struct quarantine_scan {
    const char *dir;
    struct quarantine_summary *sum;
    int64_t damaged_ms, missing_ms, folder_ms;
};

static void keep_newest(char *name, const char *to, int64_t *at, int64_t mtime)
{
    if (name[0] && mtime < *at)
        return;
    *at = mtime;
    mem_copy_str(name, ASIDE_NAME, to);
}

static void look_at(struct quarantine_scan *l, const char *name)
{
    AUTO_FREE char *path = mem_fmt("%s/%s", l->dir, name);
    struct quarantine_summary *a = l->sum;
    struct stat st;
    int64_t at_ms;

    if (lstat(path, &st) < 0)
        return;
    at_ms = (int64_t)st.st_ctim.tv_sec * 1000 + st.st_ctim.tv_nsec / 1000000; /* a rename updates ctime */
    if (S_ISREG(st.st_mode) && quarantine_name_length(name)) {
        a->damaged++;
        a->bytes += db_file_bytes(path);
        keep_newest(a->a_damaged, name, &l->damaged_ms, at_ms);
    } else if (S_ISREG(st.st_mode) && str_ends(str_of(name), ".db" MISSING)) {
        a->missing++;
        keep_newest(a->a_missing, name, &l->missing_ms, at_ms);
    } else if (S_ISDIR(st.st_mode) && strncmp(name, FOLDER, strlen(FOLDER)) == 0) {
        a->folders++;
        keep_newest(a->folder, name, &l->folder_ms, at_ms);
    }
}

int quarantine_list(const char *dir, struct quarantine_summary *ret)
{
    struct quarantine_summary sum = {0};
    struct quarantine_scan l = {.dir = dir, .sum = &sum};
    DIR *d = opendir(dir);

    if (!d)
        return -errno;
    for (struct dirent *e; (e = readdir(d));)
        if (quarantine_name_length(e->d_name) || strstr(e->d_name, MISSING) ||
            strncmp(e->d_name, FOLDER, strlen(FOLDER)) == 0)
            look_at(&l, e->d_name);
    closedir(d);
    AUTO_FREE char *records = mem_fmt("%s/muster.db", dir);
    sum.no_records = file_size(records) == -ENOENT || file_size(records) == 0;
    *ret = sum;
    return 0;
}

static void add_words(struct buf *b, const char *before, const char *name, size_t n)
{
    buf_addf(b, "%s%s%s", b->len ? "; " : "", before, name);
    if (n > 1)
        buf_addf(b, " and %zu more", n - 1);
}

void quarantine_text(const struct quarantine_summary *a, char *out, size_t size)
{
    AUTO_BUF b = BUF_INIT(2048);

    if (a->no_records)
        buf_adds(&b,
                 "muster.db was removed or emptied while the hub is running: make a backup of the other files, then "
                 "restore muster.db before you start the hub again");
    if (a->damaged) {
        add_words(&b, "damaged data was set aside as ", a->a_damaged, a->damaged);
        buf_addf(&b, " (%lld MB)", (long long)((a->bytes + 999999) / 1000000));
    }
    if (a->missing) {
        AUTO_FREE char *name = mem_strn(a->a_missing, strlen(a->a_missing) - strlen(MISSING));
        add_words(&b, "it was missing and started from scratch: ", name, a->missing);
    }
    if (a->folders)
        add_words(&b, "the hub was started empty, the previous data is in ", a->folder, a->folders);
    if (a->damaged || a->missing || a->folders)
        buf_addf(&b, "; shown until %s moved away", a->damaged + a->missing + a->folders > 1 ? "they are" : "it is");
    mem_copy_str(out, size, b.len ? b.p : "");
}
