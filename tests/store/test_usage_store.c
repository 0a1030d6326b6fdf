/* test_usage_store.c: usage hours in the store: repeated puts, days, marks, takeover of a node, backup. */
#include "test.h"

#include <errno.h>
#include <fcntl.h>
#include <sqlite3.h>

#include "backup/backup.h"
#include "base/buf.h"
#include "store_dir.h"

#define H 3600000ll

struct fix {
    char *dir;
    struct store *s;
};

static void with_store(void (*test)(struct fix *f))
{
    struct fix f = {.dir = dir_new_quick()};

    f.s = store_new_for_test(f.dir, NULL);
    test(&f);
    store_close(f.s);
    dir_free(f.dir);
}

#define WITH_STORE(name)                                                                                               \
    static void name##_(struct fix *f);                                                                                \
    static void name(void **unused)                                                                                    \
    {                                                                                                                  \
        (void)unused;                                                                                                  \
        with_store(name##_);                                                                                           \
    }                                                                                                                  \
    static void name##_(struct fix *f)

/* The stored hours as text. */
static int say(void *arg, const char *node, const struct usage_span *s)
{
    struct buf *out = arg;

    buf_addf(out, "%s@%lld-%lld", node, (long long)(s->at_ms / H), (long long)(s->end_ms / H));
    for (size_t i = 0; i < s->n; i++) {
        const struct usage_device *d = &s->devices[i];
        buf_addf(out, " %s/%s f%lld u%lld d%lld e%lld", d->device, d->model, (long long)d->free_ms,
                 (long long)d->unused_ms, (long long)d->down_ms, (long long)d->mj);
        for (size_t k = 0; k < d->n; k++) {
            const struct usage_sum *x = &d->held[k].s;
            buf_addf(out, " %s=%lld,%lld,%lld,%lld,%lld", d->held[k].login, (long long)x->held_ms,
                     (long long)x->busy_ms, (long long)x->long_ms, (long long)x->mib_s, (long long)x->mj);
        }
    }
    buf_adds(out, "; ");
    return 0;
}

static void expect(struct fix *f, const struct usage_query *ask, const char *want)
{
    AUTO_BUF b = BUF_INIT(1 << 20);

    assert_int_equal(store_flush(f->s, NULL), 0);
    assert_int_equal(store_each(f->s, EACH_USAGE(ask, say, &b), NULL), 0);
    assert_string_equal(b.p ? b.p : "", want);
}

static void say_mark(void *arg, const char *node, int64_t at_ms, int64_t seq)
{
    buf_addf(arg, "%s@%lld:%lld ", node, (long long)(at_ms / H), (long long)seq);
}

static void expect_marks(struct fix *f, const char *want)
{
    AUTO_BUF b = BUF_INIT(1 << 20);

    assert_int_equal(store_flush(f->s, NULL), 0);
    assert_int_equal(store_each(f->s, EACH_USAGE_MARK(say_mark, &b), NULL), 0);
    assert_string_equal(b.p ? b.p : "", want);
}

static struct usage_held kim[] = {{"ann", {.held_ms = 1, .busy_ms = 1, .long_ms = 0, .mib_s = 0, .mj = 0}},
                                  {"kim", {.held_ms = 1000, .busy_ms = 400, .long_ms = 100, .mib_s = 7, .mj = 50}}};
static struct usage_held lee[] = {{"kim", {.held_ms = 5, .busy_ms = 5, .long_ms = 0, .mib_s = 1, .mj = 1}},
                                  {"lee", {.held_ms = 2000, .busy_ms = 0, .long_ms = 2000, .mib_s = 9, .mj = 60}}};
static struct usage_device first[] = {{"GPU-1", "H200", 10, 20, 30, 40, 2, kim},
                                      {"GPU-2", "H200", 99, 0, 0, 0, 0, NULL}};
static struct usage_device second[] = {{"GPU-1", "H200", 1, 2, 3, 4, 2, lee}};

static void put(struct fix *f, const char *node, int64_t hour, struct usage_device *d, size_t n, int64_t mark)
{
    struct usage_span s = {hour * H, (hour + 1) * H, n, d};
    struct usage_day day = {hour / 24 * 24 * H, (hour / 24 + 1) * 24 * H};

    store_put(f->s, STORE_USAGE, &(struct usage_put){node, 1, 1, &s, &mark, "UTC", &day}, 1, NULL, NULL);
}

static const struct usage_query all = {.from_ms = 0, .to_ms = 1000 * H};
static const struct usage_day always[] = {{0, 1000 * H}}, one_day[] = {{24 * H, 48 * H}};
static const struct usage_query days = {.from_ms = 0, .to_ms = 1000 * H, .days = always, .n_days = 1, .zone = "UTC"};

WITH_STORE(an_hour_put_again_takes_the_place_of_the_old_one)
{
    put(f, "a", 30, second, 1, 0);
    put(f, "b", 30, first, 2, 0);
    put(f, "b", 25, second, 1, 0);
    expect(f, &all,
           "b@25-26 GPU-1/H200 f1 u2 d3 e4 kim=5,5,0,1,1 lee=2000,0,2000,9,60; "
           "a@30-31 GPU-1/H200 f1 u2 d3 e4 kim=5,5,0,1,1 lee=2000,0,2000,9,60; "
           "b@30-31 GPU-1/H200 f10 u20 d30 e40 ann=1,1,0,0,0 kim=1000,400,100,7,50 GPU-2/H200 f99 u0 d0 e0; ");
    put(f, "b", 30, NULL, 0, 0);
    put(f, "a", 30, first + 1, 1, 0);
    expect(f, &all,
           "b@25-26 GPU-1/H200 f1 u2 d3 e4 kim=5,5,0,1,1 lee=2000,0,2000,9,60; "
           "a@30-31 GPU-2/H200 f99 u0 d0 e0; ");
    expect(f, &(struct usage_query){.from_ms = 0, .to_ms = 1000 * H, .node = "a"}, "a@30-31 GPU-2/H200 f99 u0 d0 e0; ");
    expect(f, &(struct usage_query){.from_ms = 26 * H, .to_ms = 30 * H}, "");
}

WITH_STORE(days_are_their_hours_added_up)
{
    put(f, "a", 24, first, 2, 0);
    put(f, "a", 47, second, 1, 0);
    put(f, "a", 48, second, 1, 0);
    expect(f, &days,
           "a@24-48 GPU-1/H200 f11 u22 d33 e44 ann=1,1,0,0,0 kim=1005,405,100,8,51 lee=2000,0,2000,9,60 GPU-2/H200 f99 "
           "u0 "
           "d0 e0; a@48-49 GPU-1/H200 f1 u2 d3 e4 kim=5,5,0,1,1 lee=2000,0,2000,9,60; ");
    put(f, "a", 24, NULL, 0, 0); /* late data: the previous hour is gone */
    put(f, "a", 48, NULL, 0, 0);
    expect(f, &days, "a@24-48 GPU-1/H200 f1 u2 d3 e4 kim=5,5,0,1,1 lee=2000,0,2000,9,60; ");
    expect(f, &(struct usage_query){.to_ms = 1000 * H, .days = always, .n_days = 1, .zone = "Asia/Tokyo"}, "");
    put(f, "a", 60, first + 1, 1, 0); /* hours around, days between */
    expect(f, &(struct usage_query){.from_ms = 24 * H, .to_ms = 61 * H, .days = one_day, .n_days = 1, .zone = "UTC"},
           "a@24-48 GPU-1/H200 f1 u2 d3 e4 kim=5,5,0,1,1 lee=2000,0,2000,9,60; a@60-61 GPU-2/H200 f99 u0 d0 e0; ");
}

WITH_STORE(a_mark_stays_until_its_hour_was_counted)
{
    store_put(f->s, STORE_USAGE_MARK, &(struct usage_mark){"a", 5 * H, 7}, 1, NULL, NULL);
    store_put(f->s, STORE_USAGE_MARK, &(struct usage_mark){"a", 6 * H, 8}, 1, NULL, NULL);
    expect_marks(f, "a@5:7 a@6:8 ");
    put(f, "a", 5, second, 1, 6); /* more has come since that was counted */
    expect_marks(f, "a@5:7 a@6:8 ");
    put(f, "a", 5, second, 1, 0);
    put(f, "a", 6, second, 1, 8);
    expect_marks(f, "a@5:7 ");
    store_put(f->s, STORE_USAGE_MARK, &(struct usage_mark){"a", 5 * H, 9}, 1, NULL, NULL);
    expect_marks(f, "a@5:9 ");
    store_put(f->s, STORE_USAGE_MARK, &(struct usage_mark){"a", 5 * H, 0}, 1, NULL, NULL);
    expect_marks(f, "");
}

static void say_reach(void *arg, const char *node, int64_t first_ms, int64_t last_ms)
{
    buf_addf(arg, "%s %lld to %lld ", node, (long long)(first_ms / H), (long long)(last_ms / H));
}

WITH_STORE(a_node_that_is_taken_over_brings_its_hours)
{
    AUTO_BUF b = BUF_INIT(1000);

    put(f, "old", 3, first + 1, 1, 0);
    put(f, "old", 4, first + 1, 1, 0);
    put(f, "new", 4, second, 1, 0);
    store_put(f->s, STORE_USAGE_MARK, &(struct usage_mark){"old", 4 * H, 3}, 1, NULL, NULL);
    store_take_over(f->s, "old", "new");
    expect(f, &all,
           "new@3-4 GPU-2/H200 f99 u0 d0 e0; new@4-5 GPU-1/H200 f1 u2 d3 e4 kim=5,5,0,1,1 lee=2000,0,2000,9,60; ");
    expect_marks(f, "new@4:3 ");
    assert_int_equal(store_each(f->s, EACH_USAGE_REACH(say_reach, &b), NULL), 0);
    assert_string_equal(b.p, "new 3 to 4 ");
}

static int stop_at_once(void *arg, const char *node, const struct usage_span *s)
{
    (void)node, (void)s;
    ++*(int *)arg;
    return -EPIPE;
}

static bool yes(void *arg)
{
    (void)arg;
    return true;
}

WITH_STORE(reading_stops_when_told)
{
    struct usage_query stopped = all;
    int n = 0;
    AUTO_BUF b = BUF_INIT(1000);

    put(f, "a", 3, second, 1, 0);
    put(f, "a", 4, second, 1, 0);
    assert_int_equal(store_flush(f->s, NULL), 0);
    assert_int_equal(store_each(f->s, EACH_USAGE(&all, stop_at_once, &n), NULL), -EPIPE);
    assert_int_equal(n, 1);
    stopped.stop = yes;
    assert_int_equal(store_each(f->s, EACH_USAGE(&stopped, say, &b), NULL), -ECANCELED);
}

static void usage_survives_a_restart_and_is_in_a_backup(void **unused)
{
    struct fix f = {.dir = dir_new()};
    char *elsewhere = dir_new(), old[4096];
    AUTO_FREE char *file = mem_fmt("%s/backup", elsewhere), *back = mem_fmt("%s/back", elsewhere);
    struct backup_sum sum;
    const char *want = "a@24-25 GPU-1/H200 f1 u2 d3 e4 kim=5,5,0,1,1 lee=2000,0,2000,9,60; ";

    (void)unused;
    f.s = store_new_for_test(f.dir, NULL);
    put(&f, "a", 24, second, 1, 0);
    store_put(f.s, STORE_USAGE_MARK, &(struct usage_mark){"a", 25 * H, 5}, 1, NULL, NULL);
    store_close(f.s);
    f.s = store_new_for_test(f.dir, NULL);
    expect(&f, &all, want);
    expect(&f, &days, want);
    put(&f, "a", 24, second, 1, 0); /* names are known by the same numbers */
    expect(&f, &all, want);
    int fd = open(file, O_CREAT | O_RDWR, 0600);
    assert_int_equal(backup_write(f.dir, fd, 1, NULL, &sum, NULL), 0);
    close(fd);
    store_close(f.s);
    assert_int_equal(backup_restore(file, back, false, NULL, &sum, old, NULL), 0);
    struct fix g = {.dir = back, .s = store_new_for_test(back, NULL)};
    expect(&g, &all, want);
    expect(&g, &days, want);
    expect_marks(&g, "a@25:5 ");
    store_close(g.s);
    dir_empty(back);
    rmdir(back);
    dir_free(elsewhere);
    dir_free(f.dir);
}

/* A node's usage, put again and again: counted in steps of SQLite's machine, since no test measures time. */
static void what_a_node_costs_does_not_depend_on_how_many_there_are(void **unused)
{
    uint64_t cost[2] = {0};

    (void)unused;
    for (int i = 0; i < 2; i++) {
        struct fix f = {.dir = dir_new_quick()};
        struct store_stat before, after;
        char names[8][40], node[40];
        struct usage_device d[8];
        int nodes = i ? 600 : 20;
        f.s = store_new_for_test(f.dir, NULL);
        for (int pass = 0; pass < 2; pass++) {
            assert_int_equal(store_flush(f.s, NULL), 0);
            store_stat(f.s, &before);
            for (int n = 0; n < nodes; n++) {
                snprintf(node, sizeof(node), "node-%d", n);
                for (int k = 0; k < 8; k++) {
                    snprintf(names[k], sizeof(names[k]), "GPU-%d-%d", n, k);
                    d[k] = (struct usage_device){names[k], "H200", 10, 20, 30, 40, 2, kim};
                }
                for (int64_t hour = 24; hour < (pass ? 27 : 26); hour++)
                    put(&f, node, hour, d, 8, 0);
            }
        }
        assert_int_equal(store_flush(f.s, NULL), 0);
        store_stat(f.s, &after);
        cost[i] = (after.steps - before.steps) / (uint64_t)nodes;
        print_message("%d nodes: %llu steps a node\n", nodes, (unsigned long long)cost[i]);
        store_close(f.s);
        dir_free(f.dir);
    }
    assert_true(cost[0] > 0);
    assert_true(cost[1] <= cost[0] + cost[0] / 4);
}

static void run_sql(const struct fix *f, const char *sql, int64_t *ret)
{
    AUTO_FREE char *path = mem_fmt("%s/muster.db", f->dir);
    sqlite3 *db;
    sqlite3_stmt *st;

    assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
    assert_int_equal(sqlite3_prepare_v2(db, sql, -1, &st, NULL), SQLITE_OK);
    assert_int_equal(sqlite3_step(st), ret ? SQLITE_ROW : SQLITE_DONE);
    if (ret)
        *ret = sqlite3_column_int64(st, 0);
    sqlite3_finalize(st);
    sqlite3_close(db);
}

static int count_spans(void *arg, UNUSED const char *node, const struct usage_span *s)
{
    *(int64_t *)arg += (int64_t)s->n;
    return 0;
}

#define UUID  "GPU-fddb3bc3-217a-9e02-bd2a-e1710a2637c0"
#define OTHER "GPU-FDDB3BC3-217a-9e02-bd2a-e1710a2637c0" /* not as a driver writes it */

/* Names of GPUs are short in the file, long ones of older files stay long, and both are returned unchanged. */
WITH_STORE(names_of_gpus_are_kept_short)
{
    struct usage_device d[] = {{OTHER, "H200", 1, 0, 0, 0, 0, NULL}, {UUID, "H200", 2, 0, 0, 0, 0, NULL}};
    int64_t n;

    for (int was_long = 0; was_long < 2; was_long++) {
        put(f, "a", 30, d, 2, 0);
        put(f, "a", 31, d, 2, 0);
        expect(f, &all,
               "a@30-31 " OTHER "/H200 f1 u0 d0 e0 " UUID "/H200 f2 u0 d0 e0; "
               "a@31-32 " OTHER "/H200 f1 u0 d0 e0 " UUID "/H200 f2 u0 d0 e0; ");
        expect(f, &days, "a@24-32 " OTHER "/H200 f2 u0 d0 e0 " UUID "/H200 f4 u0 d0 e0; ");
        store_close(f->s);
        run_sql(f, "SELECT count(*) FROM usage_names", &n);
        assert_int_equal(n, 5); /* the node, two GPUs, the model, the zone */
        run_sql(f, "SELECT count(*) FROM usage_names WHERE length(text) = 23", &n);
        assert_int_equal(n, was_long ? 0 : 1);
        run_sql(f, "UPDATE usage_names SET text = '" UUID "' WHERE length(text) = 23", NULL);
        f->s = store_new_for_test(f->dir, NULL);
    }
    run_sql(f, "UPDATE usage_names SET text = char(1) || '0123456789/:;<=>?@abcd' WHERE text = '" UUID "'", NULL);
    assert_int_equal(store_each(f->s, EACH_USAGE(&all, count_spans, &n), NULL), 0); /* damage: as it is */
}

TESTS(cmocka_unit_test(an_hour_put_again_takes_the_place_of_the_old_one),
      cmocka_unit_test(days_are_their_hours_added_up), cmocka_unit_test(a_mark_stays_until_its_hour_was_counted),
      cmocka_unit_test(a_node_that_is_taken_over_brings_its_hours), cmocka_unit_test(reading_stops_when_told),
      cmocka_unit_test(what_a_node_costs_does_not_depend_on_how_many_there_are),
      cmocka_unit_test(names_of_gpus_are_kept_short), cmocka_unit_test(usage_survives_a_restart_and_is_in_a_backup))
