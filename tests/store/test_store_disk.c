/*
 * test_store_disk.c: the files of a store in a folder: rotation, retention, lock, versions, damage, concurrent command
 * line.
 */
#include "test.h"

#include <errno.h>
#include <sqlite3.h>

#include "base/clock.h"
#include "base/file.h"
#include "scan_store.h"
#include "store/quarantine.h"
#include "store_dir.h"

#define NOW 1700000000000ll

static struct store *open_conf(const struct store_conf *conf)
{
    struct store *s = NULL;
    struct err err = {0};

    if (store_open(&s, conf, NULL, &err) < 0)
        fail_msg("%s", err.msg);
    assert_string_equal(err.msg, "");
    return s;
}

static void flush(struct store *s)
{
    struct err err = {0};

    if (store_flush(s, &err) < 0)
        fail_msg("%s", err.msg);
}

static void put_of(struct store *s, const char *node, uint64_t number, uint64_t facts, size_t len)
{
    char bytes[20000];
    struct store_batch b = batch_make(node, 1, number, bytes, len);

    b.facts = facts;
    store_append(s, &b, 1, NULL, NULL);
    flush(s);
}

static void put_one(struct store *s, uint64_t number, size_t len)
{
    put_of(s, "n", number, 100 + number, len);
}

/* One commit each, so that rotation may follow each. */
static void put(struct store *s, uint64_t first, uint64_t last, size_t len)
{
    for (uint64_t i = first; i <= last; i++) {
        store_put_blob(s, "n", BLOB_FACTS, 100 + i, STR("facts"));
        put_one(s, i, len);
    }
}

struct count {
    uint64_t n, sum, first;
    bool whole;
};

static int count_one(void *arg, const struct store_batch *b)
{
    struct count *c = arg;

    c->first = c->n++ ? c->first : b->number;
    c->sum += b->number;
    c->whole = (c->n == 1 || c->whole) && batch_whole(b);
    return 0;
}

static struct count count(struct store *s)
{
    struct count c = {0};
    struct err err = {0};

    if (scan_store(s, count_one, &c, &err) < 0)
        fail_msg("%s", err.msg);
    return c;
}

static void count_log(void *arg, const char *path, const char *name)
{
    size_t len = strlen(name);

    (void)path;
    *(int *)arg += strncmp(name, "log-", 4) == 0 && strcmp(name + len - 3, ".db") == 0;
}

static int logs(const char *dir)
{
    int n = 0;

    dir_each(dir, count_log, &n);
    return n;
}

static int exec(const char *dir, const char *name, const char *sql)
{
    AUTO_FREE char *path = mem_fmt("%s/%s", dir, name);
    sqlite3 *h;

    assert_int_equal(sqlite3_open(path, &h), SQLITE_OK);
    int rc = sqlite3_exec(h, sql, NULL, NULL, NULL);
    sqlite3_close(h);
    return rc;
}

static int64_t ask(const char *dir, const char *name, const char *sql)
{
    AUTO_FREE char *path = mem_fmt("%s/%s", dir, name);
    sqlite3 *h;
    sqlite3_stmt *st;

    assert_int_equal(sqlite3_open(path, &h), SQLITE_OK);
    assert_int_equal(sqlite3_prepare_v2(h, sql, -1, &st, NULL), SQLITE_OK);
    assert_int_equal(sqlite3_step(st), SQLITE_ROW);
    int64_t v = sqlite3_column_int64(st, 0);
    sqlite3_finalize(st);
    sqlite3_close(h);
    return v;
}

/* ---- rotation ---- */

static void logs_rotate_and_are_read_in_order(void **unused)
{
    char *dir = dir_new();
    struct store_conf conf = {.dir = dir, .commit_ms = 1, .rotate_bytes = 5000};
    struct store *s = open_conf(&conf);

    (void)unused;
    put(s, 1, 20, 1000);
    assert_int_equal(logs(dir), 5);             /* 5 batches make 5000 bytes and more; four sealed, one new */
    assert_false(dir_has(dir, "log-1.db-wal")); /* sealed: one plain file */
    assert_int_equal(count(s).sum, 210);
    assert_false(dir_has(dir, "log-1.db-wal")); /* and reading leaves none */
    assert_false(dir_has(dir, "log-1.db-shm"));
    store_close(s);
    assert_int_equal(ask(dir, "muster.db", "SELECT count(*) FROM logs"), 4);
    assert_int_equal(ask(dir, "muster.db", "SELECT count(*) FROM seen"), 1); /* one range, however many files */
    s = open_conf(&conf);
    for (uint64_t i = 1; i <= 20; i++)
        assert_true(store_has(s, "n", 1, i));
    put(s, 15, 22, 1000); /* repeats, then new ones into the log that was open */
    struct count c = count(s);
    assert_int_equal(c.n, 22);
    assert_int_equal(c.sum, 253);
    assert_true(c.whole);
    store_close(s);
    dir_free(dir);
}

static void a_log_that_is_old_enough_rotates(void **unused)
{
    char *dir = dir_new();
    struct store_conf conf = {.dir = dir, .commit_ms = 1, .rotate_ms = 60000};

    (void)unused;
    clock_set_for_test(NOW);
    struct store *s = open_conf(&conf);
    put(s, 1, 3, 10);
    assert_int_equal(logs(dir), 1);
    clock_set_for_test(NOW + 60000);
    put_one(s, 4, 10); /* its own commit: a blob's before it would rotate too, and leave this batch in the new log */
    assert_int_equal(logs(dir), 2);
    clock_set_for_test(NOW + 200000); /* an empty one does not */
    put(s, 1, 1, 10);
    assert_int_equal(logs(dir), 2);
    store_close(s);
    clock_set_for_test(-1);
    dir_free(dir);
}

/* ---- retention ---- */

static void what_is_older_than_keep_ms_goes(void **unused)
{
    char *dir = dir_new();
    struct store_conf conf = {.dir = dir,
                              .commit_ms = 1,
                              .rotate_bytes = 1000,
                              .keep_raw_ms = 10000,
                              .now_ms = clock_wall_ms};

    (void)unused;
    clock_set_for_test(NOW + 7000);
    struct store *s = open_conf(&conf);
    put(s, 1, 6, 1000); /* a file each, a second apart: batch_make gives them NOW + number seconds */
    assert_int_equal(count(s).n, 6);
    clock_set_for_test(NOW + 13500);
    put(s, 7, 7, 1000);
    struct count c = count(s);
    assert_int_equal(c.first, 4);
    assert_int_equal(c.n, 4);
    assert_false(dir_has(dir, "log-1.db"));
    assert_false(store_get_blob(s, "n", 101, NULL, NULL) == 1); /* no batch names it any longer */
    assert_true(store_get_blob(s, "n", 104, NULL, NULL) == 1);
    assert_true(store_has(s, "n", 1, 1)); /* remembered while its run continues */
    clock_set_for_test(NOW + 1000000);
    put(s, 8, 8, 1000); /* late: it expires too, with the run that only it belonged to */
    put(s, 1, 1, 1000);
    store_close(s);
    s = open_conf(&conf);
    assert_int_equal(count(s).n, 0);
    assert_false(store_has(s, "n", 1, 8));
    store_close(s);
    clock_set_for_test(-1);
    dir_free(dir);
}

static void without_a_clock_nothing_goes_by_age(void **unused)
{
    char *dir = dir_new();
    struct store_conf conf = {.dir = dir, .commit_ms = 1, .rotate_bytes = 1000, .keep_raw_ms = 1};
    struct store *s = open_conf(&conf);

    (void)unused;
    put(s, 1, 3, 1000);
    assert_int_equal(count(s).n, 3);
    store_close(s);
    dir_free(dir);
}

static void a_time_in_the_future_does_not_keep_a_file_for_ever(void **unused)
{
    char *dir = dir_new();
    struct store_conf conf = {.dir = dir,
                              .commit_ms = 1,
                              .rotate_bytes = 1000,
                              .keep_raw_ms = 10000,
                              .now_ms = clock_wall_ms};

    (void)unused;
    clock_set_for_test(NOW);
    struct store *s = open_conf(&conf);
    put(s, 1000000, 1000000, 1000); /* eleven days ahead */
    clock_set_for_test(NOW + 20000);
    put(s, 10, 10, 1000);
    assert_int_equal(count(s).first, 10);
    store_close(s);
    clock_set_for_test(-1);
    dir_free(dir);
}

static void what_is_beyond_keep_bytes_goes(void **unused)
{
    char *dir = dir_new();
    struct store_conf conf = {.dir = dir, .commit_ms = 1, .rotate_bytes = 20000, .keep_bytes = 200000};
    struct store *s = open_conf(&conf);
    struct store_stat st;

    (void)unused;
    put(s, 1, 60, 10000);
    struct count c = count(s);
    assert_true(c.n >= 8 && c.n <= 20);
    assert_int_equal(c.first, 60 - c.n + 1); /* the oldest went */
    store_stat(s, &st);
    assert_true(st.files_bytes > 0 && st.files_bytes < 8 << 20);
    store_close(s);
    dir_free(dir);
}

static void a_nodes_newest_blobs_stay(void **unused)
{
    char *dir = dir_new();
    struct store_conf conf = {.dir = dir,
                              .commit_ms = 1,
                              .rotate_bytes = 1000,
                              .keep_raw_ms = 10000,
                              .now_ms = clock_wall_ms};
    struct store_node n = {.key = "n", .facts = 101};

    (void)unused;
    clock_set_for_test(NOW);
    struct store *s = open_conf(&conf);
    put(s, 1, 2, 1000);
    store_put(s, STORE_NODE, &n, 1, NULL, NULL);
    flush(s);
    clock_set_for_test(NOW + 100000);
    put(s, 100, 110, 1000); /* blobs are kept for some logs more */
    clock_set_for_test(NOW + 200000);
    put(s, 200, 200, 1000);
    assert_int_equal(count(s).n, 1);
    assert_true(store_get_blob(s, "n", 101, NULL, NULL) == 1);
    assert_false(store_get_blob(s, "n", 102, NULL, NULL) == 1);
    store_close(s);
    clock_set_for_test(-1);
    dir_free(dir);
}

/* ---- who may open it ---- */

/* Nodes whose facts arrived together: the next log rewrites only few of them at its start. */
static void blobs_of_many_nodes_are_not_touched_at_once(void **unused)
{
    enum { NODES = 64 };
    char *dir = dir_new(), name[16];
    struct store_conf conf = {.dir = dir, .commit_ms = 1, .rotate_bytes = NODES * 1000};
    struct store *s = open_conf(&conf);

    (void)unused;
    for (uint64_t round = 1; round <= 8; round++) {
        for (int i = 0; i < NODES; i++) {
            snprintf(name, sizeof(name), "n%d", i);
            if (round == 1)
                store_put_blob(s, name, BLOB_FACTS, 7, STR("facts"));
            put_of(s, name, round, 7, 1000);
        }
        AUTO_FREE char *now = mem_fmt("SELECT count(*) FROM blobs WHERE last_log < %d", logs(dir) - 1);
        assert_int_equal(ask(dir, "muster.db", now), 0); /* all are kept as long as a log names them */
        if (round == 1)
            assert_true(ask(dir, "muster.db",
                            "SELECT max(n) FROM (SELECT count(*) AS n FROM blobs GROUP BY last_log)") < NODES / 2);
    }
    assert_int_equal(count(s).n, 8 * NODES);
    store_close(s);
    dir_free(dir);
}

static void a_second_hub_is_refused(void **unused)
{
    char *dir = dir_new();
    struct store_conf conf = {.dir = dir};
    struct store *s = open_conf(&conf), *second = NULL;
    struct err err = {0};

    (void)unused;
    assert_int_equal(store_open(&second, &conf, NULL, &err), -EBUSY);
    assert_null(second);
    assert_non_null(strstr(err.msg, "another hub"));
    assert_non_null(strstr(err.msg, dir));
    store_close(s);
    store_close(open_conf(&conf)); /* and may when the first has gone */
    dir_free(dir);
}

static void note_result(void *arg, int result)
{
    *(int *)arg = result;
}

static void tools_read_everything_and_write_tokens_beside_a_hub(void **unused)
{
    char *dir = dir_new();
    AUTO_FREE char *deep = mem_fmt("%s/new", dir);
    struct store_conf conf = {.dir = deep, .commit_ms = 1};
    struct store *tools, *hub;
    struct store_token t = {.id = "k1", .role = "admin"};
    struct node_event e = {.at_ms = 1, .kind = EVENT_XID};
    struct store_node n = {.key = "n"};
    struct proc_span p = {.node = "n", .device = "d"};
    int result = 1;

    (void)unused;
    assert_int_equal(store_open_tools(&tools, deep, NULL, NULL), 0); /* before there ever was a hub */
    assert_int_equal(store_put_now(tools, STORE_TOKEN, &t, NULL), 0);
    assert_int_equal(count(tools).n, 0);
    hub = open_conf(&conf);
    assert_int_equal(store_get(hub, GET_TOKEN("k1", &t), NULL), 1);
    t.revoked_ms = 77;
    assert_int_equal(store_put_now(tools, STORE_TOKEN, &t, NULL), 0);
    t.revoked_ms = 0;
    assert_int_equal(store_get(hub, GET_TOKEN("k1", &t), NULL), 1); /* fresh */
    assert_int_equal(t.revoked_ms, 77);
    put(hub, 1, 3, 100);
    assert_int_equal(count(tools).n, 3);
    assert_true(store_get_blob(tools, "n", 101, NULL, NULL) == 1);
    char bytes[10];
    struct store_batch b = batch_make("n", 1, 4, bytes, sizeof(bytes));
    store_append(tools, &b, 1, note_result, &result);
    store_put(tools, STORE_EVENT, &(struct store_event){"n", NULL, e}, 1, NULL, NULL);
    store_put(tools, STORE_NODE, &n, 1, NULL, NULL);
    store_put(tools, STORE_PROC, &p, 1, NULL, NULL);
    store_put_blob(tools, "n", BLOB_FACTS, 1, STR("x"));
    store_take_over(tools, "n", "m");
    assert_false(store_has(tools, "n", 1, 1)); /* it keeps no index */
    assert_int_equal(store_flush(tools, NULL), 0);
    assert_int_equal(result, -EROFS);
    store_close(tools);
    assert_int_equal(count(hub).n, 3);
    store_close(hub);
    dir_empty(deep);
    rmdir(deep);
    dir_free(dir);
}

static void files_are_ours_alone_to_read(void **unused)
{
    char *dir = dir_new();
    AUTO_FREE char *main_file = mem_fmt("%s/muster.db", dir);
    AUTO_FREE char *log_file = mem_fmt("%s/log-1.db", dir);
    struct store_conf conf = {.dir = dir};
    struct stat st;
    mode_t old = umask(0);
    struct store *s = open_conf(&conf);

    (void)unused;
    umask(old);
    assert_int_equal(stat(main_file, &st), 0);
    assert_int_equal(st.st_mode & 0777, 0600);
    assert_int_equal(stat(log_file, &st), 0);
    assert_int_equal(st.st_mode & 0777, 0600);
    store_close(s);
    dir_free(dir);
}

/* ---- versions and damage ---- */

static void refused(const char *dir, int want, const char *name, const char *say)
{
    struct store_conf conf = {.dir = dir};
    struct store *s = NULL;
    struct err err = {0};

    assert_int_equal(store_open(&s, &conf, NULL, &err), want);
    print_message("%s\n", err.msg);
    assert_non_null(strstr(err.msg, name));
    assert_non_null(strstr(err.msg, say));
}

static void t7_a_newer_file_is_refused(void **unused)
{
    char *dir = dir_new();
    struct store_conf conf = {.dir = dir};
    struct store *s = open_conf(&conf);

    (void)unused;
    put(s, 1, 1, 10);
    store_close(s);
    assert_int_equal(ask(dir, "log-1.db", "PRAGMA user_version"), 1); /* every file has one */
    assert_int_equal(ask(dir, "muster.db", "PRAGMA user_version"), 9);
    assert_int_equal(exec(dir, "log-1.db", "PRAGMA user_version=2"), SQLITE_OK);
    refused(dir, -ENOTSUP, "log-1.db", "newer muster");
    assert_true(dir_has(dir, "log-1.db")); /* untouched */
    exec(dir, "log-1.db", "PRAGMA user_version=1");
    exec(dir, "muster.db", "PRAGMA user_version=10");
    refused(dir, -ENOTSUP, "muster.db", "newer muster");
    assert_int_equal(store_open_tools(&s, dir, NULL, NULL), -ENOTSUP);
    exec(dir, "muster.db", "PRAGMA user_version=9");
    s = open_conf(&conf);
    assert_int_equal(count(s).n, 1);
    store_close(s);
    dir_free(dir);
}

static void t7_an_older_file_is_brought_up_to_date(void **unused)
{
    char *dir = dir_new();
    struct store_conf conf = {.dir = dir, .commit_ms = 1, .rotate_bytes = 1000};
    struct store *s = open_conf(&conf);

    (void)unused;
    put(s, 1, 5, 600);
    store_close(s);
    int64_t sealed = ask(dir, "muster.db", "SELECT count(*) FROM logs");
    assert_true(sealed > 0);
    assert_int_equal(
        exec(dir, "muster.db",
             "DROP TRIGGER nodes_new; DROP TRIGGER nodes_changed; DROP TABLE node_spans; DROP INDEX "
             "events_upset; DROP INDEX processes_long;"
             "INSERT INTO nodes VALUES('old', '', 'old', '', 0, 0, 0, 5, 6, 7, 0, '', 0);"
             "INSERT INTO nodes VALUES('ghost', '', 'ghost', '', 0, 0, 0, 5, 6, 0, 0, '', 0);"
             "INSERT INTO tokens(id, role, person, node, note, hash, created_ms, revoked_ms, used_ms)"
             " VALUES('eeeeeeee', 'enroll', '', '', '', x'00', 1, 0, 0);"
             "DROP TRIGGER tokens_enrolled; ALTER TABLE tokens DROP COLUMN expires_ms;"
             "ALTER TABLE tokens DROP COLUMN uses; ALTER TABLE tokens DROP COLUMN enrolled;"
             "ALTER TABLE nodes DROP COLUMN sampled_ms;"
             "DROP TABLE usage_names; DROP TABLE usage_hours; DROP TABLE usage_days; DROP TABLE usage_marks; "
             "DROP TABLE notes; DROP TABLE holds; DROP TABLE jobs; DROP TABLE job_devices; DROP INDEX processes_last; "
             "DROP INDEX "
             "processes_node_last; ALTER TABLE processes DROP COLUMN kind; ALTER TABLE processes DROP COLUMN sm; "
             "ALTER TABLE logs DROP COLUMN compacted; PRAGMA user_version=1"),
        SQLITE_OK);
    s = open_conf(&conf);
    assert_int_equal(count(s).n, 5);
    put(s, 6, 6, 600);
    assert_int_equal(count(s).n, 6);
    store_close(s);
    assert_int_equal(ask(dir, "muster.db", "PRAGMA user_version"), 9);
    assert_int_equal(ask(dir, "muster.db", "SELECT sampled_ms FROM nodes WHERE key = 'old'"), 6);
    assert_int_equal(ask(dir, "muster.db", "SELECT sampled_ms FROM nodes WHERE key = 'ghost'"), 0);
    assert_int_equal(ask(dir, "muster.db", "SELECT expires_ms + uses + enrolled FROM tokens"), 0);
    assert_int_equal(ask(dir, "muster.db", "SELECT count(*) FROM holds"), 0);
    assert_int_equal(ask(dir, "muster.db", "SELECT count(*) FROM notes"), 0);
    assert_int_equal(ask(dir, "muster.db", "SELECT count(*) FROM jobs"), 0);
    assert_int_equal(ask(dir, "muster.db", "SELECT count(*) FROM usage_hours"), 0);
    assert_int_equal(ask(dir, "muster.db", "SELECT count(sm) + count(kind) FROM processes"), 0);
    assert_int_equal(ask(dir, "muster.db", "SELECT facts FROM node_spans WHERE node = 'old' AND from_ms = 0"), 7);
    assert_int_equal(ask(dir, "muster.db", "SELECT count(*) FROM logs WHERE compacted = 0"), sealed + 1);
    dir_free(dir);
}

static void somebody_elses_database_is_refused(void **unused)
{
    char *dir = dir_new();

    (void)unused;
    assert_int_equal(exec(dir, "muster.db", "CREATE TABLE theirs(x)"), SQLITE_OK);
    refused(dir, -EINVAL, "muster.db", "not one of muster's");
    dir_free(dir);
}

static void overwrite(const char *dir, const char *name, long at, const char *with, size_t len)
{
    AUTO_FREE char *path = mem_fmt("%s/%s", dir, name);
    AUTO_CLOSE int fd = open(path, O_WRONLY);

    assert_true(fd >= 0);
    assert_int_equal(pwrite(fd, with, len, at), len);
}

static void a_damaged_log_costs_only_itself(void **unused)
{
    static const struct {
        const char *say, *name;
        long at;
        int left; /* batches */
    } cases[] = {{"the header of a sealed one", "log-1.db", 0, 15},
                 {"the header of the open one", "log-4.db", 0, 15},
                 {"the middle of the open one", "log-4.db", 3 * 4096, 15}};

    (void)unused;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        char *dir = dir_new();
        struct store_conf conf = {.dir = dir, .commit_ms = 1, .rotate_bytes = 15000};
        struct store *s = open_conf(&conf);
        struct store_stat st;
        struct err err = {0};
        char junk[4096];
        AUTO_FREE char *aside = mem_fmt("%s.damaged", cases[i].name);

        print_message("%s\n", cases[i].say);
        put(s, 1, 19, 3000); /* five a file; four in the last */
        store_close(s);
        memset(junk, 0x5a, sizeof(junk));
        overwrite(dir, cases[i].name, cases[i].at, junk, sizeof(junk));
        assert_int_equal(store_open(&s, &conf, NULL, &err), 0);
        print_message("%s\n", err.msg);
        assert_non_null(strstr(err.msg, cases[i].name));
        assert_true(dir_has(dir, aside) && !dir_has(dir, cases[i].name));
        store_stat(s, &st);
        assert_int_equal(st.damaged, 1);
        struct count c = count(s);
        assert_true(c.n == 14 || c.n == 15);
        assert_true(c.whole);
        put(s, 100, 105, 3000); /* and it continues, under an unused number */
        assert_int_equal(count(s).n, c.n + 6);
        assert_false(dir_has(dir, cases[i].name));
        store_close(s);
        s = open_conf(&conf); /* reported once */
        store_close(s);
        dir_free(dir);
    }
}

static int count_quietly(void *arg, const struct store_batch *b)
{
    (void)b;
    ++*(int *)arg;
    return 0;
}

static void a_scan_reads_around_damage_and_says_so(void **unused)
{
    char *dir = dir_new();
    struct store_conf conf = {.dir = dir, .commit_ms = 1, .rotate_bytes = 15000};
    struct store *s = open_conf(&conf);
    struct err err = {0};
    char junk[8192];
    int n = 0;

    (void)unused;
    put(s, 1, 15, 3000);
    memset(junk, 0x5a, sizeof(junk));
    overwrite(dir, "log-2.db", 2 * 4096, junk, sizeof(junk)); /* while it runs */
    assert_int_equal(scan_store(s, count_quietly, &n, &err), -EUCLEAN);
    assert_non_null(strstr(err.msg, "log-2.db"));
    assert_true(n >= 10 && n < 15);
    store_close(s);
    dir_free(dir);
}

static void a_damaged_muster_db_is_named_with_what_to_do(void **unused)
{
    char *dir = dir_new();
    struct store_conf conf = {.dir = dir, .commit_ms = 1, .rotate_bytes = 3000};
    struct store *s = open_conf(&conf);
    char junk[8192];

    (void)unused;
    put(s, 1, 10, 1000);
    store_close(s);
    memset(junk, 0x5a, sizeof(junk));
    overwrite(dir, "muster.db", 0, junk, sizeof(junk));
    refused(dir, -EUCLEAN, "muster.db", ".recover");
    dir_free(dir);
}

/* The message of A3, then the remaining data after --start-empty. */
static void a_muster_db_that_is_lost_is_refused_and_can_be_set_aside(void **unused)
{
    static const char *const how[] = {"missing", "empty", "an empty database", "damaged"};

    (void)unused;
    for (size_t i = 0; i < ARRAY_LEN(how); i++) {
        char *dir = dir_new(), to[ASIDE_NAME] = "";
        struct store_conf conf = {.dir = dir, .commit_ms = 1, .rotate_bytes = 3000};
        struct store *s = open_conf(&conf);
        AUTO_FREE char *path = mem_fmt("%s/muster.db", dir), *folder = mem_fmt("%s/set-aside-1", dir);
        struct quarantine_summary sum;
        struct err err = {0};
        char junk[8192], words[300];

        print_message("%s\n", how[i]);
        put(s, 1, 10, 1000);
        store_close(s);
        assert_int_equal(quarantine_all(dir, to, &err), 0); /* sound: nothing is done, however often */
        assert_false(dir_has(dir, "set-aside-1"));
        memset(junk, 0x5a, sizeof(junk));
        if (i == 3)
            overwrite(dir, "muster.db", 0, junk, sizeof(junk));
        else
            assert_int_equal(i == 0 ? unlink(path) : truncate(path, 0), 0);
        if (i == 2)
            exec(dir, "muster.db", "PRAGMA journal_mode=WAL");
        refused(dir, i == 3 ? -EUCLEAN : -ENODATA, "muster.db", "--start-empty");
        assert_int_equal(store_open_tools(&s, dir, NULL, &err),
                         i == 3 ? -EUCLEAN : -ENODATA); /* nor does a tool make one */
        assert_int_equal(i == 0, !dir_has(dir, "muster.db"));
        assert_int_equal(quarantine_all(dir, to, &err), 1);
        assert_string_equal(to, "set-aside-1");
        s = open_conf(&conf);
        assert_int_equal(count(s).n, 0);
        put(s, 1, 2, 1000);
        store_close(s);
        assert_int_equal(quarantine_list(dir, &sum), 0);
        assert_int_equal(sum.folders, 1);
        quarantine_text(&sum, words, sizeof(words));
        assert_non_null(strstr(words, "set-aside-1"));
        conf.dir = folder; /* the remaining data is readable, unless a user may recover more of it */
        if (i < 3) {
            s = open_conf(&conf);
            assert_int_equal(count(s).n, 10);
            store_close(s);
        } else {
            assert_true(dir_has(folder, "muster.db") && dir_has(folder, "log-1.db"));
        }
        dir_empty(folder);
        rmdir(folder);
        dir_free(dir);
    }
}

static void a_name_that_is_taken_is_not_taken_again(void **unused)
{
    char *dir = dir_new(), to[ASIDE_NAME], words[300];
    static const char *const want[] = {"history.db.damaged", "history.db.damaged.2", "history.db.damaged.3"};
    struct quarantine_summary sum;

    (void)unused;
    for (size_t i = 0; i < ARRAY_LEN(want); i++) {
        AUTO_FREE char *path = mem_fmt("%s/history.db", dir), *wal = mem_fmt("%s-wal", path);
        char text[2] = {(char)('1' + i), 0};
        assert_int_equal(file_write(path, 0600, text, 1, NULL), 0);
        assert_int_equal(file_write(wal, 0600, text, 1, NULL), 0);
        assert_int_equal(quarantine_file(dir, "history.db", to), 0);
        assert_string_equal(to, want[i]);
    }
    for (size_t i = 0; i < ARRAY_LEN(want); i++) {
        AUTO_FREE char *path = mem_fmt("%s/%s", dir, want[i]), *wal = mem_fmt("%s-wal", path);
        char got[8] = "";
        assert_int_equal(file_read_small(path, got, sizeof(got)), 1);
        assert_int_equal(got[0], '1' + i);
        assert_int_equal(file_read_small(wal, got, sizeof(got)), 1);
        assert_int_equal(got[0], '1' + i);
    }
    assert_int_equal(quarantine_list(dir, &sum), 0);
    assert_int_equal(sum.damaged, 3);
    assert_int_equal(sum.bytes, 6);
    quarantine_text(&sum, words, sizeof(words));
    assert_non_null(strstr(words, "and 2 more"));
    assert_true(quarantine_name_length("log-3.db.damaged") == 8 && quarantine_name_length("log-3.db.damaged.12") == 8);
    assert_true(!quarantine_name_length("log-3.db") && !quarantine_name_length("log-3.db.damaged.") &&
                !quarantine_name_length("log-3.db.damaged-wal") && !quarantine_name_length(".damaged"));
    dir_empty(dir);
    assert_int_equal(quarantine_list(dir, &sum), 0);
    sum.no_records = false;
    quarantine_text(&sum, words, sizeof(words));
    assert_string_equal(words, ""); /* moved away: no notice any longer */
    dir_free(dir);
}

/* The truncated open log, distinguished from one created just before a crash. */
static void a_log_that_was_emptied_is_told(void **unused)
{
    char *dir = dir_new();
    struct store_conf conf = {.dir = dir, .commit_ms = 1};
    struct store *s = open_conf(&conf);
    AUTO_FREE char *path = mem_fmt("%s/log-1.db", dir);
    struct err err = {0};

    (void)unused;
    store_close(s);
    assert_int_equal(truncate(path, 0), 0);
    s = open_conf(&conf); /* it was empty, and nothing refers to it */
    put(s, 1, 3, 1000);
    store_close(s);
    assert_int_equal(truncate(path, 0), 0);
    assert_int_equal(store_open(&s, &conf, NULL, &err), 0);
    assert_non_null(strstr(err.msg, "renamed to log-1.db.damaged"));
    assert_int_equal(count(s).n, 0);
    store_close(s);
    dir_free(dir);
}

static void a_log_that_somebody_removed_is_no_harm(void **unused)
{
    char *dir = dir_new();
    struct store_conf conf = {.dir = dir, .commit_ms = 1, .rotate_bytes = 1000};
    struct store *s = open_conf(&conf);
    AUTO_FREE char *path = mem_fmt("%s/log-1.db", dir);

    (void)unused;
    put(s, 1, 3, 1000);
    store_close(s);
    unlink(path);
    s = open_conf(&conf);
    assert_int_equal(count(s).first, 2);
    put(s, 4, 4, 1000);
    store_close(s);
    dir_empty(dir); /* all of them, and then the newest number must not start again below a takeover's */
    s = open_conf(&conf);
    assert_int_equal(count(s).n, 0);
    store_close(s);
    dir_free(dir);
}

/* What a kill -9 leaves: the files as they are, WAL and all. */
static void a_copy_taken_in_full_flight_opens(void **unused)
{
    char *dir = dir_new(), *copy = dir_new();
    struct store_conf conf = {.dir = dir, .commit_ms = 1, .rotate_bytes = 4000};
    struct store *s = open_conf(&conf);

    (void)unused;
    put(s, 1, 10, 1000);
    assert_true(dir_has(dir, "muster.db-wal"));
    dir_each(dir, dir_copy_one, copy);
    store_close(s);
    conf.dir = copy;
    s = open_conf(&conf);
    assert_int_equal(count(s).n, 10);
    put(s, 1, 12, 1000);
    assert_int_equal(count(s).n, 12);
    store_close(s);
    dir_free(dir);
    dir_free(copy);
}

struct found {
    size_t n, of[3];
    uint64_t last[3];
    bool whole;
};

static int note_found(void *arg, const struct store_batch *b)
{
    struct found *f = arg;
    int i = b->node[0] - 'a';

    assert_in_range(i, 0, 2);
    f->n++;
    f->of[i]++;
    f->whole &= batch_whole(b) && b->number > f->last[i]; /* each node's in the order they came */
    f->last[i] = b->number;
    return 0;
}

/* a sends all the time, b stopped in the middle. */
static void the_newest_batches_of_each_node_are_found(void **unused)
{
    static const struct {
        int64_t back_ms;
        size_t max, a, b;
    } cases[] = {{5000, 1000, 6, 6}, {0, 1000, 1, 1}, {1000000, 1000, 20, 10}, {1000000, 6, 3, 3}, {1000000, 1, 1, 1}};
    char *dir = dir_new(), bytes[1000];
    struct store_conf conf = {.dir = dir, .commit_ms = 1, .rotate_bytes = 20000}; /* two logs or three */
    struct store *s = open_conf(&conf);

    (void)unused;
    for (uint64_t i = 1; i <= 20; i++) {
        struct store_batch v = batch_make("a", 1, i, bytes, sizeof(bytes));
        store_append(s, &v, 1, NULL, NULL);
        v = batch_make("b", 2, i, bytes, sizeof(bytes));
        if (i <= 10)
            store_append(s, &v, 1, NULL, NULL);
        flush(s);
    }
    for (int again = 0; again < 2; again++) { /* before and after a restart */
        for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
            struct found f = {.whole = true};
            struct err err = {0};
            assert_int_equal(store_each_batch(s, &(struct newest_query){cases[i].back_ms, cases[i].max}, note_found, &f,
                                              &err),
                             0);
            print_message("%lld %zu: %zu %zu\n", (long long)cases[i].back_ms, cases[i].max, f.of[0], f.of[1]);
            assert_int_equal(f.of[0], cases[i].a);
            assert_int_equal(f.of[1], cases[i].b);
            assert_true(f.whole && f.last[0] == 20 && f.last[1] == 10);
        }
        store_close(s);
        s = open_conf(&conf);
    }
    store_take_over(s, "b", "c"); /* data of b is now c's */
    flush(s);
    struct found f = {.whole = true};
    assert_int_equal(store_each_batch(s, &(struct newest_query){0, 100}, note_found, &f, NULL), 0);
    assert_true(f.of[1] == 0 && f.of[2] == 1 && f.last[2] == 10);
    store_close(s);
    dir_free(dir);
}

/* a wrote into each log, b into the middle one alone, c into the last. */
static void the_newest_batches_are_found_around_damage(void **unused)
{
    static const struct {
        const char *say;
        long at;
    } cases[] = {{"pages of rows", 2 * 4096}, {"the header", 0}};

    (void)unused;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        char *dir = dir_new(), bytes[3000], junk[8192];
        struct store_conf conf = {.dir = dir, .commit_ms = 1, .rotate_bytes = 15000};
        struct store *s = open_conf(&conf);
        struct found f = {.whole = true};
        struct err err = {0};

        print_message("%s\n", cases[i].say);
        for (uint64_t k = 1; k <= 15; k++) { /* five a file */
            struct store_batch v = batch_make(k == 8 ? "b" : k > 10 ? "c" : "a", 1, k, bytes, sizeof(bytes));
            store_append(s, &v, 1, NULL, NULL);
            flush(s);
        }
        assert_true(dir_has(dir, "log-3.db"));
        memset(junk, 0x5a, sizeof(junk));
        overwrite(dir, "log-2.db", cases[i].at, junk, sizeof(junk));
        assert_int_equal(store_each_batch(s, &(struct newest_query){1000000, 1000}, note_found, &f, &err), -EUCLEAN);
        print_message("%zu %zu %zu: %s\n", f.of[0], f.of[1], f.of[2], err.msg);
        assert_true(f.whole && f.of[0] >= 5 && f.of[2] == 5);
        assert_non_null(strstr(err.msg, "log-2.db"));
        assert_null(strstr(err.msg, ";"));
        store_close(s);
        dir_free(dir);
    }
}

TESTS(cmocka_unit_test(the_newest_batches_of_each_node_are_found),
      cmocka_unit_test(the_newest_batches_are_found_around_damage), cmocka_unit_test(logs_rotate_and_are_read_in_order),
      cmocka_unit_test(a_log_that_is_old_enough_rotates), cmocka_unit_test(what_is_older_than_keep_ms_goes),
      cmocka_unit_test(without_a_clock_nothing_goes_by_age),
      cmocka_unit_test(a_time_in_the_future_does_not_keep_a_file_for_ever),
      cmocka_unit_test(what_is_beyond_keep_bytes_goes), cmocka_unit_test(a_nodes_newest_blobs_stay),
      cmocka_unit_test(blobs_of_many_nodes_are_not_touched_at_once), cmocka_unit_test(a_second_hub_is_refused),
      cmocka_unit_test(tools_read_everything_and_write_tokens_beside_a_hub),
      cmocka_unit_test(files_are_ours_alone_to_read), cmocka_unit_test(t7_a_newer_file_is_refused),
      cmocka_unit_test(t7_an_older_file_is_brought_up_to_date), cmocka_unit_test(somebody_elses_database_is_refused),
      cmocka_unit_test(a_damaged_log_costs_only_itself), cmocka_unit_test(a_scan_reads_around_damage_and_says_so),
      cmocka_unit_test(a_damaged_muster_db_is_named_with_what_to_do),
      cmocka_unit_test(a_muster_db_that_is_lost_is_refused_and_can_be_set_aside),
      cmocka_unit_test(a_name_that_is_taken_is_not_taken_again), cmocka_unit_test(a_log_that_was_emptied_is_told),
      cmocka_unit_test(a_log_that_somebody_removed_is_no_harm), cmocka_unit_test(a_copy_taken_in_full_flight_opens))
