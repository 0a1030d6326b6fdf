/*
 * test_history.c: the promises of samples.h: each sample is returned once, whether it is in a log, in chunks, in merged
 * chunks, late, sent twice, or half of each.
 */
#include "test.h"

#include <errno.h>
#include <pthread.h>
#include <sqlite3.h>

#include "base/file.h"
#include "history_model.h"
#include "places.h"
#include "store/chunks.h"
#include "store/store.h"

static int64_t now_ms;
static _Atomic int doubted; /* number of further calls without a trusted time */

static int64_t tell_now(void)
{
    return doubted > 0 && doubted-- > 0 ? 0 : now_ms;
}

static struct store *open_at(const char *dir, const struct store_conf *more)
{
    struct store_conf conf = more ? *more : (struct store_conf){0};
    struct store *s = NULL;
    struct err err = {0};

    conf_place(&conf, dir);
    conf.commit_ms = 1;
    conf.now_ms = tell_now;
    conf.decoder = &hub_decoder;
    if (store_open(&s, &conf, NULL, &err) < 0)
        fail_msg("%s", err.msg);
    assert_string_equal(err.msg, "");
    return s;
}

static void settle(struct store *s)
{
    struct err err = {0};

    if (store_settle(s, &err) < 0)
        fail_msg("%s", err.msg);
}

static int64_t ask_server(const char *url, const char *sql)
{
    struct records *r;
    int64_t v = 0;

    assert_int_equal(records_open(&r, url, DB_READ, NULL), 0);
    assert_int_equal(db_int(records_db(r), sql, &v), 0);
    records_close(r);
    return v;
}

static int64_t ask(const char *dir, const char *sql)
{
    if (on_server)
        return ask_server(dir, sql);
    AUTO_FREE char *path = mem_fmt("%s/history.db", dir);
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

static void send_live(struct store *s, struct h_model *m, int64_t from, int minutes)
{
    for (int i = 0; i < minutes * 6; i++)
        for (unsigned node = 0; node < H_NODES; node++)
            h_send(s, m, h_batch(m, node, from + i * 10000, 5, 2000), NULL, NULL);
    assert_int_equal(store_flush(s, NULL), 0);
}

static int count_logs(const char *dir)
{
    int n = 0;

    if (on_server)
        return 1; /* rows stay for a while */
    for (int i = 1; i < 40; i++) {
        char name[32];
        snprintf(name, sizeof(name), "log-%d.db", i);
        n += dir_has(dir, name);
    }
    return n;
}

static void history_is_the_same_in_logs_in_chunks_and_merged(void **unused)
{
    char *dir = place_new();
    struct h_model m;
    int64_t from = h_floor(H0, 2 * H_HOUR) + H_HOUR + 50 * 60000, to = from + 3 * H_HOUR; /* crosses a bucket */

    (void)unused;
    h_init(&m, 1);
    now_ms = from;
    struct store *s = open_at(dir, NULL);
    send_live(s, &m, from, 12);
    h_check_all(s, &m, from, to);           /* in the log */
    assert_true(h_together >= 7 * H_NODES); /* the temperature is alike */
    settle(s);
    assert_true(ask(dir, "SELECT count(*) FROM chunk") >= 9);
    assert_int_equal(count_logs(dir), 1); /* the new one */
    h_check_all(s, &m, from, to);         /* in chunks */
    send_live(s, &m, from + 12 * 60000 + 30000, 3);
    h_check_all(s, &m, from, to); /* half and half: H1; a minute is split over both */
    settle(s);
    h_check_all(s, &m, from, to);
    for (unsigned node = 0; node < H_NODES; node++) /* late: H2 */
        h_send(s, &m, h_batch(&m, node, from + 61000, 40, 1500), NULL, NULL);
    for (size_t i = 0; i < m.n_sent; i += 7) /* and again: T2 */
        h_send(s, &m, &m.sent[i], NULL, NULL);
    assert_int_equal(store_flush(s, NULL), 0);
    h_check_all(s, &m, from, to);
    settle(s);
    h_check_all(s, &m, from, to);
    now_ms = from + 40 * 24 * H_HOUR; /* all buckets are over */
    int64_t before = ask(dir, "SELECT count(*) FROM chunk");
    settle(s);
    assert_true(ask(dir, "SELECT count(*) FROM chunk") < before);
    assert_int_equal(ask(dir, "SELECT count(*) FROM chunk WHERE level < 2"), 0);
    assert_int_equal(ask(dir, "SELECT count(*) FROM (SELECT 1 FROM chunk GROUP BY node, tier, bucket) x"),
                     ask(dir, "SELECT count(*) FROM chunk"));
    h_together = 0;
    h_check_all(s, &m, from, to); /* merged */
    assert_true(h_together >= 7 * H_NODES);
    for (unsigned node = 0; node < H_NODES; node++) /* later still */
        h_send(s, &m, h_batch(&m, node, from + 5 * 60000 + 333, 30, 1000), NULL, NULL);
    settle(s);
    h_check_all(s, &m, from, to);
    store_close(s);
    assert_false(dir_has(dir, "history.db-wal"));
    s = open_at(dir, NULL);
    h_check_all(s, &m, from, to);
    for (size_t i = 0; i < m.n_sent; i++) /* their logs are long gone, and still they are known */
        h_send(s, &m, &m.sent[i], NULL, NULL);
    settle(s);
    h_check_all(s, &m, from, to);
    store_close(s);
    h_fini(&m);
    place_free(dir);
}

static void what_was_not_compacted_before_a_stop_is_after_it(void **unused)
{
    char *dir = place_new();
    struct h_model m;
    struct store_conf small = {.rotate_bytes = 20000};

    (void)unused;
    h_init(&m, 2);
    now_ms = H0;
    struct store *s = open_at(dir, &small);
    send_live(s, &m, H0, 5);
    store_close(s);
    s = open_at(dir, &small); /* rows that were there before are found by looking */
    h_check_all(s, &m, H0, H0 + H_HOUR);
    send_live(s, &m, H0 + 300000, 2);
    h_check_all(s, &m, H0, H0 + H_HOUR);
    settle(s);
    h_check_all(s, &m, H0, H0 + H_HOUR);
    store_close(s);
    place_free(dir);
    h_fini(&m);
}

static void without_a_decoder_there_is_no_history(void **unused)
{
    char *dir = place_new();
    struct store *s = store_new_for_test(dir, NULL);
    int n = 0;

    (void)unused;
    assert_int_equal(store_series(s, "aa", 0, H0, h_count_series, &n, NULL), -ENOTSUP);
    assert_int_equal(store_settle(s, NULL), 0);
    store_close(s);
    place_free(dir);
}

static void a_tool_reads_beside_the_hub(void **unused)
{
    char *dir = place_new();
    struct h_model m;
    struct store *tool;

    (void)unused;
    h_init(&m, 4);
    now_ms = H0;
    struct store *s = open_at(dir, NULL);
    send_live(s, &m, H0, 2);
    settle(s);
    send_live(s, &m, H0 + 120000, 1);
    assert_int_equal(store_open_tools(&tool, dir, &hub_decoder, NULL), 0);
    h_check_all(tool, &m, H0, H0 + H_HOUR);
    store_close(tool);
    store_close(s);
    place_free(dir);
    h_fini(&m);
}

static void what_is_too_old_goes_tier_by_tier(void **unused)
{
    char *dir = place_new();
    struct h_model m;
    struct store_conf conf = {.keep_raw_ms = 24 * H_HOUR, .keep_minute_ms = 10 * 24 * H_HOUR};

    (void)unused;
    h_init(&m, 5);
    now_ms = H0;
    struct store *s = open_at(dir, &conf);
    send_live(s, &m, H0, 3);
    settle(s);
    assert_true(ask(dir, "SELECT count(*) FROM chunk WHERE tier = 0") > 0);
    now_ms = H0 + 30 * H_HOUR;
    settle(s);
    assert_int_equal(ask(dir, "SELECT count(*) FROM chunk WHERE tier = 0"), 0);
    h_check(s, &m, 0, H0, H0 + H_HOUR, 60000, -1);
    h_check(s, &m, 0, h_floor(H0, 60000), H0 + 240000, 60000, -1);
    now_ms = H0 + 12 * 24 * H_HOUR;
    settle(s);
    assert_int_equal(ask(dir, "SELECT count(*) FROM chunk WHERE tier = 1"), 0);
    assert_int_equal(ask(dir, "SELECT count(*) FROM chunk WHERE tier = 2"), H_NODES);
    h_check(s, &m, 1, H0, H0 + H_HOUR, H_HOUR, -1);
    store_close(s);
    place_free(dir);
    h_fini(&m);
}

/* The clock can become trusted again at any time: old data is not deleted before it is in hours. */
static void a_clock_that_comes_back_costs_nothing(void **unused)
{
    struct store_conf conf = {.keep_raw_ms = 24 * H_HOUR, .keep_minute_ms = 10 * 24 * H_HOUR};

    (void)unused;
    for (int times = 0; times < 12; times++) {
        char *dir = place_new();
        struct h_model m;
        h_init(&m, 5);
        now_ms = H0 + 40 * 24 * H_HOUR;
        struct store *s = open_at(dir, &conf);
        settle(s);
        send_live(s, &m, H0, 3);
        doubted = times;
        settle(s);
        doubted = 0;
        print_message("doubted %d times\n", times);
        h_check(s, &m, 1, H0, H0 + H_HOUR, H_HOUR, -1);
        settle(s);
        h_check(s, &m, 1, H0, H0 + H_HOUR, H_HOUR, -1);
        store_close(s);
        place_free(dir);
        h_fini(&m);
    }
}

static void what_is_beyond_keep_bytes_goes_oldest_first(void **unused)
{
    char *dir = place_new();
    struct h_model m;
    struct store_conf conf = {.keep_bytes = 110000};

    (void)unused;
    h_init(&m, 6);
    now_ms = H0;
    struct store *s = open_at(dir, &conf);
    for (int i = 0; i < 10; i++) {
        send_live(s, &m, H0 + i * 2 * H_HOUR, 8);
        settle(s);
    }
    if (on_server)
        assert_true(ask(dir, "SELECT sum(length(bytes))::bigint FROM chunk") <= 110000);
    else
        assert_true(ask(dir, "PRAGMA page_count") - ask(dir, "PRAGMA freelist_count") <= 110000 / 4096);
    assert_true(ask(dir, "SELECT min(from_ms) FROM chunk WHERE tier = 0") > H0 + H_HOUR);
    assert_true(ask(dir, "SELECT max(to_ms) FROM chunk WHERE tier = 0") > H0 + 18 * H_HOUR);
    assert_true(ask(dir, "SELECT min(from_ms) FROM chunk WHERE tier = 1") <= H0); /* the tiers go last */
    store_close(s);
    place_free(dir);
    h_fini(&m);
}

/* H5: a chunk with changed bytes loses only its own data. */
static void damage_is_counted_and_the_rest_is_read(void **unused)
{
    char *dir = dir_new();
    struct h_model m;

    (void)unused;
    h_init(&m, 7);
    now_ms = H0;
    struct store *s = open_at(dir, NULL);
    send_live(s, &m, H0, 2);
    settle(s);
    store_close(s);
    AUTO_FREE char *path = mem_fmt("%s/history.db", dir);
    sqlite3 *h;
    assert_int_equal(sqlite3_open(path, &h), SQLITE_OK);
    assert_int_equal(sqlite3_exec(h,
                                  "UPDATE chunk SET bytes = CAST(substr(bytes, 1, length(bytes) - 3) || x'ffffff' AS"
                                  " BLOB) WHERE tier = 0 AND node = (SELECT id FROM node WHERE key = 'aa')",
                                  NULL, NULL, NULL),
                     SQLITE_OK);
    sqlite3_close(h);
    s = open_at(dir, NULL);
    h_check(s, &m, 1, H0, H0 + 120000, 1000, -1);
    struct bins_query q = {.node = "aa",
                           .devices = h_devices,
                           .metrics = h_metrics,
                           .n_devices = H_DEVICES,
                           .n_metrics = H_METRICS,
                           .from_ms = H0,
                           .to_ms = H0 + 120000,
                           .step_ms = 1000,
                           .tier = TIER_RAW};
    struct history got;
    assert_int_equal(store_history(s, &q, &got, NULL), 0);
    assert_int_equal(got.damaged, 1);
    size_t whole = 0;
    for (size_t i = 0; i < got.n_series * got.n; i++)
        whole += got.v[i].count;
    assert_true(whole > 0 && whole < m.n / 3);
    history_fini(&got);
    /* M2: merging skips it, and loses no further data */
    send_live(s, &m, H0 + 120000, 2);
    send_live(s, &m, H0 + 240000, 2);
    settle(s);
    now_ms = H0 + 40 * 24 * H_HOUR;
    settle(s);
    assert_int_equal(ask(dir, "SELECT count(*) FROM chunk WHERE tier = 0 AND level = 2"), H_NODES + 1);
    assert_int_equal(ask(dir, "SELECT count(*) FROM chunk WHERE level < 2"), 0);
    assert_int_equal(store_history(s, &q, &got, NULL), 0);
    assert_int_equal(got.damaged, 1);
    for (size_t i = 0; i < got.n_series * got.n; i++)
        whole -= got.v[i].count;
    assert_int_equal(whole, 0);
    history_fini(&got);
    h_check(s, &m, 0, H0, H0 + 360000, 60000, TIER_MINUTE);
    store_close(s);
    dir_free(dir);
    h_fini(&m);
}

/* Data that arrives after its day is complete is stored as if merged; later data is merged with it. */
static void a_day_that_is_over_is_written_once(void **unused)
{
    char *dir = dir_new();
    struct h_model m;

    (void)unused;
    h_init(&m, 9);
    now_ms = H0;
    struct store *s = open_at(dir, NULL);
    send_live(s, &m, H0, 8);
    now_ms = H0 + 3 * 24 * H_HOUR;
    settle(s);
    assert_int_equal(ask(dir, "SELECT count(*) FROM chunk"), 3 * H_NODES);
    assert_int_equal(ask(dir, "SELECT count(*) FROM chunk WHERE level = 2 AND tier < 2"), 2 * H_NODES);
    assert_int_equal(ask(dir, "SELECT count(*) FROM chunk WHERE summed = 0"), 0);
    h_check_all(s, &m, H0, H0 + H_HOUR);
    for (unsigned node = 0; node < H_NODES; node++)
        h_send(s, &m, h_batch(&m, node, H0 + 61000, 40, 1500), NULL, NULL);
    settle(s);
    assert_int_equal(ask(dir, "SELECT count(*) FROM chunk WHERE tier < 2"), 2 * H_NODES);
    assert_int_equal(ask(dir, "SELECT count(*) FROM chunk WHERE level = 2"), 2 * H_NODES);
    h_check_all(s, &m, H0, H0 + H_HOUR);
    store_close(s);
    dir_free(dir);
    h_fini(&m);
}

/* M3: hours equal the sums of the minutes, stored or not; those of an older file are not made again. */
static void hours_are_counted_once(void **unused)
{
    char *dir = dir_new();
    struct h_model m;

    (void)unused;
    h_init(&m, 8);
    now_ms = H0;
    struct store *s = open_at(dir, NULL);
    send_live(s, &m, H0, 8);
    settle(s);
    assert_int_equal(ask(dir, "SELECT count(*) FROM chunk WHERE tier = 2"), 0);
    for (unsigned node = 0; node < H_NODES; node++)
        h_check(s, &m, node, H0, H0 + H_HOUR, H_HOUR, TIER_HOUR);
    now_ms = H0 + 3 * 24 * H_HOUR; /* the day is over */
    settle(s);
    assert_int_equal(ask(dir, "SELECT count(*) FROM chunk WHERE tier = 2"), H_NODES);
    assert_int_equal(ask(dir, "SELECT count(*) FROM chunk WHERE summed = 0"), 0);
    store_close(s);
    AUTO_FREE char *path = mem_fmt("%s/history.db", dir);
    sqlite3 *h;
    assert_int_equal(sqlite3_open(path, &h), SQLITE_OK);
    assert_int_equal(sqlite3_exec(h,
                                  "UPDATE chunk SET level = 0; ALTER TABLE chunk DROP COLUMN summed;"
                                  " PRAGMA user_version = 1",
                                  NULL, NULL, NULL),
                     SQLITE_OK); /* the format of version 1 */
    sqlite3_close(h);
    s = open_at(dir, NULL);
    for (int late = 0; late < 2; late++) {
        for (unsigned node = 0; node < H_NODES; node++) {
            h_check(s, &m, node, H0, H0 + H_HOUR, H_HOUR, TIER_HOUR);
            h_send(s, &m, h_batch(&m, node, H0 + 7000 + late, 40, 1500), NULL, NULL);
        }
        assert_int_equal(store_flush(s, NULL), 0);
        for (unsigned node = 0; node < H_NODES; node++)
            h_check(s, &m, node, H0, H0 + H_HOUR, H_HOUR, TIER_HOUR);
        settle(s);
    }
    for (unsigned node = 0; node < H_NODES; node++)
        h_check(s, &m, node, H0, H0 + H_HOUR, H_HOUR, TIER_HOUR);
    store_close(s);
    dir_free(dir);
    h_fini(&m);
}

static void a_history_that_cannot_be_opened_is_set_aside(void **unused)
{
    char *dir = dir_new();
    struct h_model m;
    struct store *s = NULL;
    struct err err = {0};
    struct store_conf conf = {.dir = dir, .commit_ms = 1, .decoder = &hub_decoder};

    (void)unused;
    h_init(&m, 8);
    AUTO_FREE char *path = mem_fmt("%s/history.db", dir);
    static const struct {
        const char *how, *say, *file;
    } cases[] = {{"junk", "renamed to history.db.damaged,", "history.db.damaged"},
                 {"junk", "renamed to history.db.damaged.2,", "history.db.damaged.2"}, /* the first is not touched */
                 {"empty", "renamed to history.db.damaged.3,", "history.db.damaged.3"},
                 {"missing", "is missing", "history.db.missing"}};
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        print_message("%s\n", cases[i].how);
        assert_int_equal(store_open(&s, &conf, NULL, &err), 0);
        assert_string_equal(err.msg, "");
        now_ms = H0 + (int64_t)i * H_HOUR;
        send_live(s, &m, now_ms, 1);
        settle(s);
        store_close(s);
        unlink(path);
        FILE *f = strcmp(cases[i].how, "missing") == 0 ? NULL : fopen(path, "w");
        for (int k = 0; f && strcmp(cases[i].how, "junk") == 0 && k < 9000; k++)
            fputc('x', f);
        if (f)
            fclose(f);
        err = (struct err){0};
        assert_int_equal(store_open(&s, &conf, NULL, &err), 0);
        assert_non_null(strstr(err.msg, cases[i].say));
        assert_true(dir_has(dir, cases[i].file));
        store_close(s);
        err = (struct err){0};
    }
    assert_int_equal(store_open(&s, &conf, NULL, &err), 0);
    now_ms = H0 + 24 * H_HOUR;
    send_live(s, &m, now_ms, 1);
    settle(s);
    for (unsigned node = 0; node < H_NODES; node++)
        h_check(s, &m, node, now_ms, now_ms + H_HOUR, 60000, TIER_RAW);
    store_close(s);
    dir_free(dir);
    h_fini(&m);
}

static void a_nodes_history_moves_with_it(void **unused)
{
    char *dir = place_new();
    struct h_model m;

    (void)unused;
    h_init(&m, 9);
    now_ms = H0;
    struct store *s = open_at(dir, NULL);
    send_live(s, &m, H0, 2);
    settle(s);
    send_live(s, &m, H0 + 120000, 1); /* some of it still in the log */
    store_take_over(s, "bb", "aa");
    assert_int_equal(store_flush(s, NULL), 0);
    for (size_t i = 0; i < m.n; i++)
        if (m.v[i].node == 1)
            m.v[i].node = 0;
    for (int i = 0; i < 3; i++) {
        h_check_all(s, &m, H0, H0 + H_HOUR);
        settle(s);
        now_ms = H0 + i * 90 * 24 * H_HOUR;
    }
    size_t was = m.n_sent;
    m.next[1] += 100; /* it is back under its old name: that is its own again */
    h_send(s, &m, h_batch(&m, 1, H0 + 400000, 5, 1000), NULL, NULL);
    assert_int_equal(m.n_sent, was + 1);
    for (int i = 0; i < 3; i++) {
        assert_int_equal(store_flush(s, NULL), 0);
        h_check_all(s, &m, H0, H0 + H_HOUR);
        settle(s);
    }
    store_close(s);
    place_free(dir);
    h_fini(&m);
}

static bool say_stop(void *arg)
{
    return ++*(int *)arg > 3;
}

static void a_question_can_be_stopped_and_has_limits(void **unused)
{
    char *dir = place_new();
    struct h_model m;
    int asked = 0;

    (void)unused;
    h_init(&m, 10);
    now_ms = H0;
    struct store *s = open_at(dir, NULL);
    send_live(s, &m, H0, 2);
    struct bins_query q = {.node = "aa",
                           .devices = h_devices,
                           .metrics = h_metrics,
                           .n_devices = H_DEVICES,
                           .n_metrics = H_METRICS,
                           .from_ms = H0,
                           .to_ms = H0 + H_HOUR,
                           .step_ms = 1000,
                           .tier = -1,
                           .stop = say_stop,
                           .arg = &asked};
    struct history h;
    assert_int_equal(store_history(s, &q, &h, NULL), -ECANCELED);
    q.stop = NULL;
    q.step_ms = 100;
    q.to_ms = H0 + 999 * H_HOUR;
    assert_int_equal(store_history(s, &q, &h, NULL), -E2BIG);
    q.step_ms = 1;
    assert_int_equal(store_history(s, &q, &h, NULL), -EINVAL);
    q.step_ms = 1000;
    q.to_ms = q.from_ms;
    assert_int_equal(store_history(s, &q, &h, NULL), -EINVAL);
    q.to_ms = H0 + H_HOUR;
    q.node = "nobody";
    assert_int_equal(store_history(s, &q, &h, NULL), 0);
    for (size_t i = 0; i < h.n * h.n_series; i++)
        assert_int_equal(h.v[i].count, 0); /* H3 */
    history_fini(&h);
    store_close(s);
    place_free(dir);
    h_fini(&m);
}

/* ---- several threads ---- */

struct asker {
    struct store *s;
    size_t least; /* samples that existed at its start */
    bool *stop;
    int rounds, wrong;
    char why[160]; /* of the last that was wrong */
};

static void *keep_asking(void *arg)
{
    struct asker *a = arg;
    struct bins_query q = {.node = "aa",
                           .devices = h_devices,
                           .metrics = h_metrics,
                           .n_devices = H_DEVICES,
                           .n_metrics = H_METRICS,
                           .from_ms = H0,
                           .to_ms = H0 + H_HOUR,
                           .step_ms = 60000,
                           .tier = -1};

    while (!__atomic_load_n(a->stop, __ATOMIC_RELAXED)) {
        struct history h;
        size_t n = 0;
        if (a->rounds % 5 == 0) { /* some queries share a session, some have none */
            store_session_end(q.session);
            q.session = a->rounds % 15 ? store_session(a->s) : NULL;
        }
        struct err err = {0};
        if (store_history(a->s, &q, &h, &err) < 0) {
            snprintf(a->why, sizeof(a->why), "%.150s", err.msg);
            a->wrong++;
            continue;
        }
        for (size_t i = 0; i < h.n * h.n_series; i++)
            n += h.v[i].count;
        history_fini(&h);
        if (n < a->least) { /* never fewer than before: H1 */
            snprintf(a->why, sizeof(a->why), "%zu samples, after %zu", n, a->least);
            a->wrong++;
        }
        a->least = n;
        a->rounds++;
    }
    store_session_end(q.session);
    return NULL;
}

static void threads_ask_while_logs_become_chunks(void **unused)
{
    char *dir = place_new();
    struct h_model m;
    bool stop = false;

    (void)unused;
    h_init(&m, 11);
    now_ms = H0;
    struct store *s = open_at(dir, &(struct store_conf){.rotate_bytes = 30000});
    send_live(s, &m, H0, 1);
    struct asker a[2] = {{s, 0, &stop, 0, 0, ""}, {s, 0, &stop, 0, 0, ""}};
    pthread_t t[2];
    for (int i = 0; i < 2; i++)
        assert_int_equal(pthread_create(&t[i], NULL, keep_asking, &a[i]), 0);
    for (int i = 1; i < 12; i++) {
        send_live(s, &m, H0 + i * 60000, 1);
        settle(s);
    }
    __atomic_store_n(&stop, true, __ATOMIC_RELAXED);
    for (int i = 0; i < 2; i++) {
        pthread_join(t[i], NULL);
        if (a[i].wrong)
            fail_msg("%d of %d: %s", a[i].wrong, a[i].rounds, a[i].why);
        assert_true(a[i].rounds > 0);
    }
    h_check_all(s, &m, H0, H0 + H_HOUR);
    store_close(s);
    place_free(dir);
    h_fini(&m);
}

/* H1: data that arrives after a session's first query is in the next, also in those of others. */
static void a_session_sees_what_comes_while_it_lasts(void **unused)
{
    char *dir = place_new();
    struct h_model m;
    struct history h;

    (void)unused;
    h_init(&m, 12);
    now_ms = H0;
    struct store *s = open_at(dir, &(struct store_conf){0});
    struct bins_query q = {.node = "aa",
                           .devices = h_devices,
                           .metrics = h_metrics,
                           .n_devices = H_DEVICES,
                           .n_metrics = H_METRICS,
                           .from_ms = H0,
                           .to_ms = H0 + 4 * H_HOUR,
                           .step_ms = 60000,
                           .tier = -1,
                           .session = store_session(s)};
    for (int i = 0; i < 4; i++) {
        send_live(s, &m, H0 + i * H_HOUR / 2, 12);
        assert_int_equal(store_flush(s, NULL), 0);
        assert_int_equal(store_history(s, &q, &h, NULL), 0);
        history_fini(&h);
    }
    h_check_all(s, &m, H0, H0 + 4 * H_HOUR);
    store_session_end(q.session);
    store_close(s);
    place_free(dir);
    h_fini(&m);
}

/* Creates a new version of history.db without notifying the hub. */
static void change_unseen(const char *dir)
{
    AUTO_FREE char *path = mem_fmt("%s/history.db", dir);
    sqlite3 *h;

    assert_int_equal(sqlite3_open(path, &h), SQLITE_OK);
    sqlite3_busy_timeout(h, 600000); /* the hub may be writing to it */
    assert_int_equal(sqlite3_exec(h, "INSERT INTO mark VALUES(999999, 0, 0); DELETE FROM mark WHERE log = 999999", NULL,
                                  NULL, NULL),
                     SQLITE_OK);
    sqlite3_close(h);
}

/*
 * Cached data of history.db is valid while the file is unchanged; uncached data is read from the same snapshot, or all
 * of it is read again.
 */
static void what_is_kept_is_of_one_moment(void **unused)
{
    char *dir = place_new();
    struct h_model m;
    struct chunks *c;
    struct chunk_mark *marks;
    size_t n;
    int64_t version;

    (void)unused;
    h_init(&m, 13);
    now_ms = H0;
    struct store *s = open_at(dir, &(struct store_conf){0});
    send_live(s, &m, H0, 12);
    settle(s);
    h_check_all(s, &m, H0, H0 + H_HOUR); /* and all that is kept of them */
    assert_int_equal(chunks_open(&c, dir, DB_READ, NULL), 0);
    assert_int_equal(chunks_begin(c, false), 0);
    assert_int_equal(chunks_version(c, &version), 0);
    chunks_rollback(c);
    for (int other = 0; other < 2; other++) {
        if (other)
            change_unseen(dir); /* an unnoticed change */
        chunks_begin_later(c, version);
        assert_false(db_in_transaction(chunks_db(c)));
        assert_int_equal(chunks_marks(c, &marks, &n), other ? -ESTALE : 0);
        assert_true(db_in_transaction(chunks_db(c)));
        if (!other)
            free(marks);
        chunks_rollback(c);
        assert_false(db_in_transaction(chunks_db(c)));
        chunks_begin_later(c, version); /* and no read follows */
        chunks_rollback(c);
        assert_false(db_in_transaction(chunks_db(c)));
    }
    chunks_close(c);
    h_check_all(s, &m, H0, H0 + H_HOUR);
    for (int i = 1; i < 4; i++) {
        send_live(s, &m, H0 + i * H_HOUR, 12);
        settle(s);
        change_unseen(dir);
        /* this hour was not queried yet: it is not cached */
        h_check_all(s, &m, H0 + i * H_HOUR, H0 + (i + 1) * H_HOUR);
        change_unseen(dir);
        h_check_all(s, &m, H0, H0 + (i + 1) * H_HOUR);
    }
    store_close(s);
    place_free(dir);
    h_fini(&m);
}

int main(void)
{
    const struct CMUnitTest tests[] =
        {cmocka_unit_test(a_session_sees_what_comes_while_it_lasts),
         cmocka_unit_test(history_is_the_same_in_logs_in_chunks_and_merged),
         cmocka_unit_test(what_was_not_compacted_before_a_stop_is_after_it),
         cmocka_unit_test(without_a_decoder_there_is_no_history), cmocka_unit_test(a_tool_reads_beside_the_hub),
         cmocka_unit_test(what_is_too_old_goes_tier_by_tier), cmocka_unit_test(a_clock_that_comes_back_costs_nothing),
         cmocka_unit_test(what_is_beyond_keep_bytes_goes_oldest_first), cmocka_unit_test(a_nodes_history_moves_with_it),
         cmocka_unit_test(a_question_can_be_stopped_and_has_limits),
         cmocka_unit_test(threads_ask_while_logs_become_chunks),
         /* of files: */
         cmocka_unit_test(what_is_kept_is_of_one_moment), cmocka_unit_test(damage_is_counted_and_the_rest_is_read),
         cmocka_unit_test(a_day_that_is_over_is_written_once), cmocka_unit_test(hours_are_counted_once),
         cmocka_unit_test(a_history_that_cannot_be_opened_is_set_aside)};

    return RUN_ON_BOTH(tests, 11);
}
