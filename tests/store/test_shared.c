/*
 * test_shared.c: stores of several hubs on one PostgreSQL server: each sees the data of the others, a batch that
 * reaches several of them is kept once, and the logs of a dead hub are adopted. log_rows.h has R1 to R5.
 */
#include "test.h"

#include <errno.h>
#include <pthread.h>

#include "history_model.h"
#include "mem_archive.h"
#include "pg_server.h"

#include "sql/lease.h"
#include "sql/pg.h"
#include "store/log_rows.h"
#include "store/store.h"

static int64_t now_ms;
static bool is_gone[8]; /* by hub */

static int64_t tell_now(void)
{
    return now_ms;
}

static bool tell_gone(void *arg, int64_t hub)
{
    (void)arg;
    return hub < (int64_t)ARRAY_LEN(is_gone) && is_gone[hub];
}

static struct store *open_hub(const char *url, int64_t hub)
{
    struct store_conf conf =
        {.url = url, .hub = hub, .commit_ms = 1, .now_ms = tell_now, .gone = tell_gone, .decoder = &hub_decoder};
    struct store *s = NULL;
    struct err err = {0};

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

static void flush(struct store *s)
{
    struct err err = {0};

    if (store_flush(s, &err) < 0)
        fail_msg("%s", err.msg);
}

static int64_t ask(struct store *s, const char *sql)
{
    struct db *db = records_db(s->rec);
    int64_t v = -1;

    if (db_int(db, sql, &v) < 0) {
        struct err err = {0};
        db_fail(db, -EIO, "ask", &err);
        fail_msg("%s", err.msg);
    }
    return v;
}

static void tell(struct store *s, const char *sql)
{
    assert_int_equal(db_exec(records_db(s->rec), sql), 0);
}

/* All frames of logs that are in chunks go, as they do a while after they were sealed. */
static void ripen(struct store *s)
{
    tell(s, "UPDATE logs SET sealed_at = sealed_at - interval '2 min'");
}

/* Of every second batch each hub gets one; both get every third. */
static void send_to_two(struct store *a, struct store *b, struct h_model *m, int64_t from, int minutes)
{
    for (int i = 0; i < minutes * 6; i++)
        for (unsigned node = 0; node < H_NODES; node++) {
            const struct h_sent *sent = h_batch(m, node, from + i * 10000, 5, 2000);
            if (i % 2 || i % 3 == 0)
                h_send(a, m, sent, NULL, NULL);
            if (i % 2 == 0 || i % 3 == 0)
                h_send(b, m, sent, NULL, NULL);
        }
    flush(a);
    flush(b);
}

static void send_all_again(struct store *to, const struct h_model *m)
{
    for (size_t i = 0; i < m->n_sent; i++)
        h_send(to, m, &m->sent[i], NULL, NULL);
    flush(to);
}

static void check_both(struct store *a, struct store *b, const struct h_model *m)
{
    h_check_all(a, m, H0, H0 + 2 * H_HOUR);
    h_check_all(b, m, H0, H0 + 2 * H_HOUR);
}

/* T2, H1, over two hubs, from the first commit until nothing is left of the rows. */
static void two_hubs_have_one_history(void **unused)
{
    AUTO_FREE char *url = pg_base(&server);
    struct h_model m;
    struct store_stat st;

    (void)unused;
    h_init(&m, 21);
    now_ms = H0;
    struct store *a = open_hub(url, 1), *b = open_hub(url, 2);
    send_to_two(a, b, &m, H0, 3);
    check_both(a, b, &m); /* in rows */
    assert_int_equal(ask(a, "SELECT count(*) FROM batch"), m.n_sent);
    settle(a);
    check_both(a, b, &m); /* one hub's in chunks, the other's in rows */
    send_to_two(b, a, &m, H0 + 180000, 3);
    send_all_again(b, &m);
    check_both(a, b, &m);
    settle(b);
    settle(a);
    check_both(a, b, &m);
    send_all_again(a, &m);
    assert_int_equal(ask(a, "SELECT count(*) FROM batch"), m.n_sent); /* they are still there */
    ripen(a);
    settle(a);
    settle(b);
    assert_int_equal(ask(a, "SELECT count(*) FROM batch"), 0);
    assert_int_equal(ask(a, "SELECT count(*) FROM mark JOIN logs ON n = log WHERE batches > 0"), 0);
    check_both(a, b, &m);
    store_close(a);
    a = open_hub(url, 3); /* knows nothing of them itself */
    send_all_again(a, &m);
    send_all_again(b, &m);
    store_stat(a, &st);
    assert_int_equal(st.batches, 0);
    assert_int_equal(st.repeats, m.n_sent);
    assert_int_equal(ask(a, "SELECT count(*) FROM batch"), 0);
    now_ms = H0 + 40 * 24 * H_HOUR; /* all buckets are over, and all days */
    settle(a);
    settle(b);
    assert_int_equal(ask(a, "SELECT count(*) FROM chunk WHERE level < 2"), 0);
    assert_int_equal(ask(a, "SELECT count(*) FROM pg_class WHERE relname LIKE 'batch_202311%' AND relkind = 'r'"), 0);
    check_both(a, b, &m);
    send_all_again(a, &m); /* their partitions are gone */
    assert_int_equal(ask(a, "SELECT count(*) FROM batch"), 0);
    store_close(b);
    store_close(a);
    h_fini(&m);
}

/* A run's numbers become one range in any order; missing numbers separate ranges. */
static void what_was_taken_is_few_ranges(void **unused)
{
    AUTO_FREE char *url = pg_base(&server);
    struct store_batch b = {.node = "n", .at_ms = H0, .bytes = STR("x")};
    static const uint64_t numbers[][6] = {{1, 2, 3, 9, 20, 0},
                                          {4, 5, 11, 0},
                                          {10, 6, 0},
                                          {UINT64_MAX, UINT64_MAX - 1, INT64_MAX, 1ull << 63, 0}};

    (void)unused;
    now_ms = H0;
    struct store *s[2] = {open_hub(url, 1), open_hub(url, 2)};
    for (size_t i = 0; i < ARRAY_LEN(numbers); i++) {
        for (size_t k = 0; numbers[i][k]; k++) {
            b.run = i == 3 ? UINT64_MAX : 7;
            b.number = numbers[i][k];
            store_append(s[i % 2], &b, 1, NULL, NULL);
        }
        flush(s[i % 2]);
        settle(s[i % 2]); /* seals */
    }
    assert_int_equal(ask(s[0], "SELECT count(*) FROM taken WHERE run = 7"), 3); /* 1-6, 9-11, 20 */
    assert_int_equal(ask(s[0], "SELECT count(*) FROM taken WHERE run = 7 AND first = 1 AND last = 6"), 1);
    assert_int_equal(ask(s[0], "SELECT count(*) FROM taken WHERE run = 7 AND first = 9 AND last = 11"), 1);
    assert_int_equal(ask(s[0], "SELECT count(*) FROM taken WHERE run = -1"), 3); /* as numbers with a sign */
    store_close(s[0]);
    store_close(s[1]);
}

/* R4: logs of a dead hub are adopted, from rows and from partial chunks. */
static void logs_of_a_hub_that_is_gone_are_adopted(void **unused)
{
    AUTO_FREE char *url = pg_base(&server);
    struct h_model m;

    (void)unused;
    h_init(&m, 22);
    now_ms = H0;
    struct store *a = open_hub(url, 1), *b = open_hub(url, 2);
    send_to_two(a, b, &m, H0, 3);
    store_close(a);
    settle(b);
    assert_int_equal(ask(b, "SELECT count(*) FROM logs WHERE owner = 1 AND sealed_at IS NULL"),
                     1); /* it may be there */
    is_gone[1] = true;
    settle(b);
    is_gone[1] = false;
    assert_int_equal(ask(b, "SELECT count(*) FROM logs WHERE owner = 1"), 0);
    assert_int_equal(ask(b, "SELECT count(*) FROM logs WHERE epoch = 1 AND sealed_at IS NOT NULL"), 1);
    h_check_all(b, &m, H0, H0 + H_HOUR);
    ripen(b);
    settle(b);
    assert_int_equal(ask(b, "SELECT count(*) FROM batch"), 0);
    h_check_all(b, &m, H0, H0 + H_HOUR);
    a = open_hub(url, 3);
    send_all_again(a, &m);
    h_check_all(a, &m, H0, H0 + H_HOUR);
    store_close(a);
    store_close(b);
    h_fini(&m);
}

/* R2: it was only thought to be gone. */
static void who_was_thought_gone_begins_another_log(void **unused)
{
    AUTO_FREE char *url = pg_base(&server);
    struct h_model m;

    (void)unused;
    h_init(&m, 23);
    now_ms = H0;
    struct store *a = open_hub(url, 1), *b = open_hub(url, 2);
    for (int i = 0; i < 3; i++) {
        send_to_two(a, b, &m, H0 + i * 180000, 3);
        is_gone[1] = true;
        settle(b);
        is_gone[1] = false;
        check_both(a, b, &m);
    }
    assert_true(ask(a, "SELECT count(*) FROM logs WHERE epoch = 1") >= 3);
    ripen(a);
    settle(a);
    settle(b);
    check_both(a, b, &m);
    store_close(a);
    store_close(b);
    h_fini(&m);
}

struct outcome {
    int n, last;
};

static void note(void *arg, int result)
{
    struct outcome *o = arg;

    o->n++;
    o->last = result;
}

/* T8: appends fail, records wait, and everything resumes when the server is back. */
static void a_server_that_is_away_comes_back(void **unused)
{
    AUTO_FREE char *url = pg_base(&server);
    struct outcome refused = {0}, taken = {0};
    struct h_model m;
    struct history h;
    struct bins_query q = {.node = "aa",
                           .devices = h_devices,
                           .metrics = h_metrics,
                           .n_devices = 1,
                           .n_metrics = 1,
                           .from_ms = H0,
                           .to_ms = H0 + H_HOUR,
                           .step_ms = 60000,
                           .tier = -1};

    (void)unused;
    h_init(&m, 24);
    now_ms = H0;
    struct store *a = open_hub(url, 1), *b = open_hub(url, 2);
    send_to_two(a, b, &m, H0, 2);
    pg_stop(&server, SIGQUIT);
    const struct h_sent *sent = h_batch(&m, 0, H0 + 300000, 5, 2000);
    store_put(a, STORE_NODE, &(struct store_node){.key = "kept"}, 1, NULL, NULL);
    h_send(a, &m, sent, note, &refused);
    assert_true(store_flush(a, NULL) < 0);
    assert_int_equal(refused.n, 1);
    assert_true(refused.last < 0);
    assert_true(store_history(b, &q, &h, NULL) < 0);
    assert_true(store_settle(b, NULL) < 0);
    pg_start(&server);
    h_send(a, &m, sent, note, &taken);
    flush(a);
    assert_int_equal(taken.n, 1);
    assert_int_equal(taken.last, 0);
    check_both(a, b, &m);
    assert_int_equal(ask(b, "SELECT count(*) FROM nodes WHERE key = 'kept'"), 1);
    h_send(b, &m, sent, NULL, NULL);
    flush(b);
    settle(a);
    settle(b);
    check_both(a, b, &m);
    store_close(a);
    store_close(b);
    h_fini(&m);
}

/* All processes of the server except the one that accepts connections. */
static void signal_backends(const char *sign)
{
    AUTO_FREE char *pid = mem_fmt("%d", (int)server.pid);
    char *argv[] = {"/usr/bin/pkill", (char *)sign, "-P", pid, NULL};

    assert_int_equal(pg_run(&server, argv), 0);
}

/*
 * A server that hangs counts as unreachable: the writer waits no longer than its limit, and the batch is kept in the
 * end.
 */
static void a_server_that_hangs_is_given_up(void **unused)
{
    AUTO_FREE char *url = pg_base(&server);
    struct store_batch one = {.node = "n", .run = 1, .number = 1, .at_ms = H0, .bytes = STR("frame")};
    struct outcome o = {0};

    (void)unused;
    now_ms = H0;
    struct store *a = open_hub(url, 1);
    store_append(a, &one, 1, note, &o);
    flush(a);
    assert_int_equal(o.last, 0);
    signal_backends("-STOP");
    one.number = 2;
    store_append(a, &one, 1, note, &o);
    assert_int_equal(store_flush(a, NULL), -ENOTCONN);
    assert_int_equal(o.n, 2);
    assert_int_equal(o.last, -ENOTCONN);
    signal_backends("-CONT");
    store_append(a, &one, 1, note, &o);
    flush(a);
    assert_int_equal(o.n, 3);
    assert_int_equal(o.last, 0);
    assert_int_equal(ask(a, "SELECT count(*) FROM batch"), 2);
    store_close(a);
}

static void want_standby(const char *name)
{
    AUTO_FREE char *sql = mem_fmt("ALTER SYSTEM SET synchronous_standby_names = '%s'", name);

    assert_int_equal(pg_sql(&server, "postgres", sql), 0);
    assert_int_equal(pg_sql(&server, "postgres", "SELECT pg_reload_conf()"), 0);
    AUTO_FREE char *look = mem_fmt("DO $$ BEGIN IF current_setting('synchronous_standby_names') <> '%s' THEN RAISE "
                                   "'not yet'; END IF; END $$",
                                   name);
    while (pg_sql(&server, "postgres", look) != 0)
        usleep(20000);
}

/* R1, R5: a commit that a standby does not have is not acknowledged; when it has it, the batch is there once. */
static void a_standby_that_is_away_keeps_commits_from_being_acknowledged(void **unused)
{
    AUTO_FREE char *url = pg_base(&server);
    struct store_batch one = {.node = "n", .run = 1, .number = 1, .at_ms = H0, .bytes = STR("frame")};
    struct outcome o = {0};

    (void)unused;
    now_ms = H0;
    struct store *a = open_hub(url, 1), *b = open_hub(url, 2);
    want_standby("nobody");
    store_append(a, &one, 1, note, &o);
    assert_true(store_flush(a, NULL) < 0);
    assert_int_equal(o.n, 1);
    assert_true(o.last < 0);
    store_append(b, &one, 1, note, &o); /* waits for the one that waits */
    assert_true(store_flush(b, NULL) < 0);
    assert_true(o.last < 0);
    want_standby("");
    store_append(b, &one, 1, note, &o);
    flush(b);
    assert_int_equal(o.n, 3);
    assert_int_equal(o.last, 0);
    store_append(a, &one, 1, note, &o);
    flush(a);
    assert_int_equal(o.last, 0);
    assert_int_equal(ask(a, "SELECT count(*) FROM batch"), 1);
    store_close(a);
    store_close(b);
}

/* R1: a commit of repeats only is acknowledged by a transaction that writes. */
static void a_repeat_is_acknowledged_by_a_commit_that_writes(void **unused)
{
    AUTO_FREE char *url = pg_base(&server);
    struct store_batch one = {.node = "n", .run = 1, .number = 1, .at_ms = H0, .bytes = STR("frame")};
    struct outcome o = {0};

    (void)unused;
    now_ms = H0;
    struct store *a = open_hub(url, 1), *b = open_hub(url, 2);
    store_append(a, &one, 1, note, &o);
    flush(a);
    int64_t before = ask(b, "SELECT max(n) FROM logs WHERE owner = 2");
    AUTO_FREE char *sql = mem_fmt("SELECT xmin::text::bigint FROM logs WHERE n = %lld", (long long)before);
    int64_t was = ask(b, sql);
    store_append(b, &one, 1, note, &o);
    flush(b);
    assert_int_equal(o.n, 2);
    assert_int_equal(o.last, 0);
    assert_true(ask(b, sql) != was);
    assert_int_equal(ask(b, "SELECT count(*) FROM batch"), 1);
    store_close(a);
    store_close(b);
}

struct pusher {
    struct store *s;
    struct h_model *m;
    size_t from;
    bool takes_over; /* meanwhile bb takes over aa */
};

static void *push_all(void *arg)
{
    const struct pusher *p = arg;

    for (size_t i = 0; i < p->m->n_sent; i++) {
        h_send(p->s, p->m, &p->m->sent[(i + p->from) % p->m->n_sent], NULL, NULL);
        if (p->takes_over && i == p->m->n_sent / 2)
            store_take_over(p->s, "aa", "bb");
        if (i % 25 == 0)
            store_settle(p->s, NULL); /* one that loses a race is tried again */
    }
    return NULL;
}

/* Three hubs receive everything concurrently, and compact and merge meanwhile. */
static void race(const char *url, struct store *s[3], struct h_model *m, bool takes_over)
{
    struct pusher p[3];
    pthread_t t[3];

    now_ms = H0 + 40 * 24 * H_HOUR;
    for (size_t i = 0; i < 3; i++) {
        s[i] = open_hub(url, (int64_t)i + 1);
        p[i] = (struct pusher){s[i], m, i * 20, takes_over && i == 0};
        assert_int_equal(pthread_create(&t[i], NULL, push_all, &p[i]), 0);
    }
    for (size_t i = 0; i < 3; i++)
        pthread_join(t[i], NULL);
    for (size_t i = 0; i < 3; i++)
        flush(s[i]);
}

static void hubs_race_and_nothing_is_lost_or_doubled(void **unused)
{
    AUTO_FREE char *url = pg_base(&server);
    struct store *s[3];
    struct h_model m;
    uint64_t batches = 0;

    (void)unused;
    h_init(&m, 25);
    for (int i = 0; i < 60; i++)
        for (unsigned node = 0; node < H_NODES; node++)
            h_batch(&m, node, H0 + i * 60000, 5, 2000);
    race(url, s, &m, false);
    for (size_t i = 0; i < 3; i++) {
        struct store_stat st;
        store_stat(s[i], &st);
        batches += st.batches;
        assert_int_equal(st.batches + st.repeats, m.n_sent);
    }
    assert_int_equal(batches, m.n_sent);
    for (size_t i = 0; i < 3; i++)
        settle(s[i]);
    for (size_t i = 0; i < 3; i++) {
        h_check_all(s[i], &m, H0, H0 + 2 * H_HOUR);
        store_close(s[i]);
    }
    h_fini(&m);
}

/* A takeover covers all earlier batches, of any hub, and no later ones. */
static void a_takeover_counts_for_all_hubs(void **unused)
{
    AUTO_FREE char *url = pg_base(&server);
    struct h_model m;

    (void)unused;
    h_init(&m, 26);
    now_ms = H0;
    struct store *a = open_hub(url, 1), *b = open_hub(url, 2);
    send_to_two(a, b, &m, H0, 2);
    size_t before = m.n;
    store_take_over(a, "aa", "bb");
    for (int i = 0; i < 12; i++)
        h_send(a, &m, h_batch(&m, 0, H0 + 600000 + i * 10000, 5, 2000), NULL, NULL);
    flush(a);
    for (size_t i = 0; i < before; i++)
        m.v[i].node = m.v[i].node == 0 ? 1 : m.v[i].node;
    check_both(a, b, &m);
    settle(a);
    check_both(a, b, &m);
    settle(b);
    check_both(a, b, &m);
    ripen(a);
    settle(a);
    settle(b);
    check_both(a, b, &m);
    store_close(a);
    store_close(b);
    h_fini(&m);
}

/* Which minutes of aa's are bb's in the end; nothing else is bb's. */
static void sort_out_takeover(struct store *s, struct h_model *m)
{
    struct bins_query ask = {.node = "bb",
                             .devices = &h_devices[1],
                             .metrics = &h_metrics[1],
                             .n_devices = 1,
                             .n_metrics = 1,
                             .from_ms = H0 / 60000 * 60000,
                             .to_ms = H0 + 2 * H_HOUR,
                             .step_ms = 60000,
                             .tier = TIER_RAW};
    struct history h;
    struct err err = {0};

    if (store_history(s, &ask, &h, &err) < 0)
        fail_msg("%s", err.msg);
    for (size_t i = 0; i < m->n; i++)
        if (m->v[i].node == 0 && h.v[(m->v[i].at - h.from_ms) / 60000].count)
            m->v[i].node = 1;
    history_fini(&h);
}

/* The others write, seal and compact meanwhile: each batch is one node's or the other's, and there once. */
static void a_takeover_while_others_write_loses_and_doubles_nothing(void **unused)
{
    AUTO_FREE char *url = pg_base(&server);
    struct store *s[3];
    struct h_model m;

    (void)unused;
    h_init(&m, 27);
    for (int i = 0; i < 100; i++) {
        h_batch(&m, 0, H0 / 60000 * 60000 + i * 60000, 5, 2000);
        h_batch(&m, 2, H0 / 60000 * 60000 + i * 60000, 5, 2000);
    }
    race(url, s, &m, true);
    sort_out_takeover(s[0], &m);
    for (size_t i = 0; i < 6; i++) {
        h_check_all(s[i % 3], &m, H0, H0 + 2 * H_HOUR);
        settle(s[i % 3]);
        if (i == 2)
            ripen(s[0]);
    }
    for (size_t i = 0; i < 3; i++) {
        h_check_all(s[i], &m, H0, H0 + 2 * H_HOUR);
        store_close(s[i]);
    }
    h_fini(&m);
}

struct newest {
    char text[1024];
};

static int add_newest(void *arg, const struct store_batch *b)
{
    struct newest *x = arg;
    size_t len = strlen(x->text);

    snprintf(x->text + len, sizeof(x->text) - len, "%s/%llu ", b->node, (unsigned long long)b->number);
    return 0;
}

static void a_start_finds_the_newest_of_all_hubs(void **unused)
{
    AUTO_FREE char *url = pg_base(&server);
    struct newest x = {0};

    (void)unused;
    now_ms = H0;
    struct store *a = open_hub(url, 1), *b = open_hub(url, 2);
    for (unsigned i = 1; i <= 4; i++) {
        struct store_batch one = {.node = "n", .run = 1, .number = i, .at_ms = H0 + i * 1000, .bytes = STR("frame")};
        store_append(i % 2 ? a : b, &one, 1, NULL, NULL);
        one.node = "other";
        one.at_ms -= 100000;
        store_append(i % 2 ? b : a, &one, 1, NULL, NULL);
        flush(a);
        flush(b);
    }
    struct store *c = open_hub(url, 3);
    assert_int_equal(store_each_batch(c, &(struct newest_query){.back_ms = 1000, .max = 100}, add_newest, &x, NULL), 0);
    assert_string_equal(x.text, "other/3 other/4 n/3 n/4 ");
    store_close(a);
    store_close(b);
    store_close(c);
}

/* A1 on PostgreSQL: frames stay until the archive has them, and then go. */
static void frames_wait_for_the_archive(void **unused)
{
    AUTO_FREE char *url = pg_base(&server);
    struct mem_archive x;
    struct h_model m;
    struct store_stat st;
    struct store *s = NULL;
    struct store_conf conf = {.url = url,
                              .hub = 1,
                              .commit_ms = 1,
                              .now_ms = tell_now,
                              .decoder = &hub_decoder,
                              .keep_raw_ms = 24 * H_HOUR,
                              .archive = &x.a};

    (void)unused;
    h_init(&m, 31);
    mem_archive_init(&x);
    mem_archive_set(&x, true, false);
    now_ms = H0;
    assert_int_equal(store_open(&s, &conf, NULL, NULL), 0);
    for (int i = 0; i < 6; i++)
        for (unsigned node = 0; node < H_NODES; node++)
            h_send(s, &m, h_batch(&m, node, H0 + i * 10000, 5, 2000), NULL, NULL);
    flush(s);
    store_settle(s, NULL);
    ripen(s);
    for (int i = 0; i < 3; i++)
        assert_true(store_settle(s, NULL) < 0);
    assert_int_equal(ask(s, "SELECT count(*) FROM batch"), m.n_sent);
    store_stat(s, &st);
    assert_true(st.archive_logs == 1 && st.archive_error == -EIO);
    mem_archive_set(&x, false, false);
    for (int i = 0; i < 3; i++)
        settle(s);
    assert_int_equal(ask(s, "SELECT count(*) FROM batch"), 0);
    assert_int_equal(x.n, m.n);
    store_stat(s, &st);
    assert_true(st.archive_logs == 0 && st.archive_error == 0 && st.archive_missed == 0);
    now_ms = H0 + 30 * H_HOUR; /* day-old data is read from the archive */
    settle(s);
    for (unsigned node = 0; node < H_NODES; node++)
        h_check(s, &m, node, H0, H0 + H_HOUR, 1000, TIER_RAW);
    assert_true(x.asked > 0);
    store_close(s);
    mem_archive_fini(&x);
    h_fini(&m);
}

/* Z4: puts of a hub that is no longer the leader are not written, and done gets the error. */
static void what_an_old_leader_puts_is_not_written(void **unused)
{
    AUTO_FREE char *url = pg_base(&server);
    const struct note mine = {.kind = NOTE_ALERT, .id = 1, .bytes = STR("x")},
                      late = {.kind = NOTE_ALERT, .id = 2, .bytes = STR("x")};
    const struct usage_span hour = {H0, H0 + H_HOUR, 0, NULL};
    const int64_t mark = 1;
    const struct usage_put usage = {.node = "aa", .n = 1, .hours = &hour, .marks = &mark, .zone = "UTC"};
    struct outcome led = {0}, old = {0}, never = {0};
    struct db *db = NULL;
    struct leases leases;
    struct lease l;
    (void)unused;

    assert_int_equal(db_open(&db, url, &lease_kind, DB_WRITE, NULL), 0);
    struct store *s = open_hub(url, 1);
    leases_init(&leases, db);
    lease_init(&l, LEASE_LEADER, 1, 60000);
    assert_int_equal(lease_take(&leases, &l, NULL), 1);
    int64_t epoch = l.epoch;
    assert_int_equal(store_put_led(s, epoch, STORE_NOTE, &mine, 1, note, &led), 0);
    store_put(s, STORE_USAGE_MARK, &(struct usage_mark){"aa", H0, 1}, 1, NULL, NULL);
    flush(s);
    assert_int_equal(lease_give_up(&leases, &l, NULL), 0);
    lease_init(&l, LEASE_LEADER, 2, 60000);
    assert_int_equal(lease_take(&leases, &l, NULL), 1); /* another leads */
    assert_int_equal(store_put_led(s, epoch, STORE_NOTE, &late, 1, note, &old), 0);
    assert_int_equal(store_put_led(s, epoch, STORE_USAGE, &usage, 1, NULL, NULL), 0);
    store_put_led(s, -1, STORE_NOTE, &late, 1, note, &never);
    store_put_led(s, -1, STORE_USAGE, &usage, 1, NULL, NULL);
    store_put(s, STORE_NODE, &(struct store_node){.key = "kept"}, 1, NULL, NULL); /* of the same commit */
    flush(s);
    assert_true(led.n == 1 && led.last == 0);
    assert_true(old.n == 1 && old.last == -ESTALE);
    assert_true(never.n == 1 && never.last == -ESTALE);
    assert_int_equal(ask(s, "SELECT count(*) FROM notes"), 1);
    assert_int_equal(ask(s, "SELECT count(*) FROM usage_marks"), 1); /* to be counted still */
    assert_int_equal(ask(s, "SELECT count(*) FROM nodes WHERE key = 'kept'"), 1);
    assert_int_equal(store_put_led(s, l.epoch, STORE_USAGE, &usage, 1, NULL, NULL), 0);
    flush(s);
    assert_int_equal(ask(s, "SELECT count(*) FROM usage_marks"), 0);
    leases_fini(&leases);
    db_close(db);
    store_close(s);
}

/* The same for a part of the nodes: the owner of the part puts usage hours. */
static void what_is_counted_is_put_by_who_has_the_part(void **unused)
{
    AUTO_FREE char *url = pg_base(&server);
    const struct usage_span hour = {H0, H0 + H_HOUR, 0, NULL};
    const int64_t mark = 1;
    const struct usage_put usage = {.node = "aa", .n = 1, .hours = &hour, .marks = &mark, .zone = "UTC"},
                           days = {.node = "aa", .zone = "UTC"};
    struct outcome done = {0};
    char name[LEASE_NAME_MAX];
    unsigned part = store_part_of("aa");
    struct db *db = NULL;
    struct leases leases;
    struct lease l, leader;
    (void)unused;

    assert_int_equal(db_open(&db, url, &lease_kind, DB_WRITE, NULL), 0);
    struct store *s = open_hub(url, 1);
    leases_init(&leases, db);
    lease_init(&l, lease_of_part(part, name), 1, 60000);
    lease_init(&leader, LEASE_LEADER, 2, 60000);
    assert_int_equal(lease_take(&leases, &l, NULL), 1);
    assert_int_equal(lease_give_up(&leases, &l, NULL), 0);
    assert_int_equal(lease_take(&leases, &l, NULL), 1); /* in its second epoch */
    assert_int_equal(lease_take(&leases, &leader, NULL), 1);
    store_put(s, STORE_USAGE_MARK, &(struct usage_mark){"aa", H0, 1}, 1, NULL, NULL);
    assert_int_equal(store_put_part(s, part, 1, STORE_USAGE, &usage, 1), 0);
    assert_int_equal(store_put_part(s, (part + 1) % STORE_PARTS, 2, STORE_USAGE, &usage, 1), 0);
    assert_int_equal(store_put_part(s, part, -1, STORE_USAGE, &usage, 1), -ESTALE);
    flush(s);
    assert_int_equal(ask(s, "SELECT count(*) FROM usage_marks"), 1);
    assert_int_equal(store_put_part(s, part, 2, STORE_USAGE, &usage, 1), 0);
    store_put_led(s, leader.epoch, STORE_USAGE, &days, 1, NULL, NULL); /* the leader computes days, */
    store_put_led(s, leader.epoch, STORE_NOTE, &(struct note){.kind = NOTE_ALERT, .id = 1, .bytes = STR("x")}, 1, note,
                  &done); /* concurrently */
    flush(s);
    assert_int_equal(ask(s, "SELECT count(*) FROM usage_marks"), 0);
    assert_true(done.n == 1 && done.last == 0);
    leases_fini(&leases);
    db_close(db);
    store_close(s);
}

static void two_hubs_give_a_name_one_number(void **unused)
{
    AUTO_FREE char *url = pg_base(&server);
    struct usage_device gpu = {.device = "GPU-1", .model = "H200"};
    const struct usage_span hour = {H0, H0 + H_HOUR, 1, &gpu};
    (void)unused;

    struct store *v[] = {open_hub(url, 1), open_hub(url, 2)};
    for (int round = 0; round < 20; round++) {
        char model[16], uuid[2][16];
        snprintf(model, sizeof(model), "H%d", round);
        for (size_t i = 0; i < ARRAY_LEN(v); i++) { /* both write at the same time, in their threads */
            snprintf(uuid[i], sizeof(uuid[i]), "GPU-%d-%zu", round, i);
            gpu.device = uuid[i];
            gpu.model = model;
            struct usage_put u = {.node = uuid[i], .n = 1, .hours = &hour, .zone = "UTC"};
            assert_int_equal(store_put(v[i], STORE_USAGE, &u, 1, NULL, NULL), 0);
        }
    }
    flush(v[0]);
    flush(v[1]);
    assert_int_equal(ask(v[0], "SELECT count(*) FROM usage_hours"), 40);
    assert_int_equal(ask(v[0], "SELECT count(*) FROM usage_names WHERE text LIKE 'H%'"), 20);
    store_close(v[0]);
    store_close(v[1]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(two_hubs_have_one_history),
        cmocka_unit_test(what_was_taken_is_few_ranges),
        cmocka_unit_test(frames_wait_for_the_archive),
        cmocka_unit_test(logs_of_a_hub_that_is_gone_are_adopted),
        cmocka_unit_test(who_was_thought_gone_begins_another_log),
        cmocka_unit_test(a_server_that_is_away_comes_back),
        cmocka_unit_test(a_server_that_hangs_is_given_up),
        cmocka_unit_test(a_standby_that_is_away_keeps_commits_from_being_acknowledged),
        cmocka_unit_test(a_repeat_is_acknowledged_by_a_commit_that_writes),
        cmocka_unit_test(hubs_race_and_nothing_is_lost_or_doubled),
        cmocka_unit_test(what_an_old_leader_puts_is_not_written),
        cmocka_unit_test(what_is_counted_is_put_by_who_has_the_part),
        cmocka_unit_test(two_hubs_give_a_name_one_number),
        cmocka_unit_test(a_takeover_counts_for_all_hubs),
        cmocka_unit_test(a_takeover_while_others_write_loses_and_doubles_nothing),
        cmocka_unit_test(a_start_finds_the_newest_of_all_hubs),
    };

    return RUN_SOME(tests, start_server, end_server);
}
