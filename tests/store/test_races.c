/*
 * test_races.c: what several hubs put on one PostgreSQL server at the same time: no booking's change is lost, no
 * device is given away twice, and nothing ends in a deadlock or another error. On a server of the test's own.
 */
#include "test.h"

#include <errno.h>
#include <pthread.h>

#include "pg_server.h"

#include "sql/lease.h"
#include "store/store.h"

#define H    3600000ll
#define HUBS 3

static int64_t now_ms;

static int64_t tell_now(void)
{
    return now_ms;
}

static struct store *open_hub(const char *url, int64_t hub)
{
    struct store_conf conf = {.url = url, .hub = hub, .commit_ms = 1, .now_ms = tell_now};
    struct store *s = NULL;
    struct err err = {0};

    if (store_open(&s, &conf, NULL, &err) < 0)
        fail_msg("%s", err.msg);
    return s;
}

static int64_t ask(struct store *s, const char *sql)
{
    int64_t v = -1;

    assert_int_equal(db_int(records_db(s->rec), sql, &v), 0);
    return v;
}

static void note(void *arg, int result)
{
    *(int *)arg = result;
}

/* Far in the future, where no clock ends it. */
static struct booking wait_of(int64_t id, const char *person, int64_t changes, const char *devices)
{
    return (struct booking){.id = id,
                            .kind = BOOKING_WAIT,
                            .changes = changes,
                            .count = 1,
                            .from_ms = 1000000 * H,
                            .until_ms = 1000001 * H,
                            .person = person,
                            .by = person,
                            .devices = devices,
                            .places = "",
                            .model = "",
                            .where = "",
                            .comment = ""};
}

/* The result, once it is known. */
static int put(struct store *s, int64_t epoch, struct booking x)
{
    int result = 1;

    store_put_led(s, epoch, STORE_BOOKING, &x, 1, note, &result);
    assert_int_equal(store_flush(s, NULL), 0);
    assert_int_not_equal(result, 1);
    return result;
}

/* A hub that has not read the grant yet writes: a new leader, or a hub that notes a sign of life of the waiter. */
static void a_change_counts_only_over_what_it_was_made_from(void **unused)
{
    AUTO_FREE char *url = pg_base(&server);
    struct store *a = open_hub(url, 1), *b = open_hub(url, 2);
    (void)unused;

    assert_int_equal(put(a, 0, wait_of(1, "ann", 0, "")), 0);
    assert_int_equal(put(a, 0, wait_of(2, "lee", 0, "")), 0);
    assert_int_equal(put(a, 0, wait_of(1, "ann", 1, "GPU-1")), 0);
    assert_int_equal(put(b, 0, wait_of(1, "ann", 1, "GPU-0")), -ESTALE);
    assert_int_equal(put(b, 0, wait_of(1, "ann", 1, "")), -ESTALE);
    assert_int_equal(put(b, 0, wait_of(2, "lee", 1, "GPU-1")), -EEXIST);
    assert_int_equal(ask(b, "SELECT count(*) FROM holds WHERE id = 1 AND devices = 'GPU-1' AND changes = 1"), 1);
    assert_int_equal(ask(b, "SELECT count(*) FROM booked WHERE hold = 1 AND device = 'GPU-1'"), 1);
    assert_int_equal(ask(b, "SELECT count(*) FROM holds WHERE devices <> ''"), 1);
    assert_int_equal(put(b, 0, wait_of(1, "ann", 2, "")), 0); /* from the stored version */
    assert_int_equal(put(b, 0, wait_of(2, "lee", 1, "GPU-1")), 0);
    store_close(a);
    store_close(b);
}

/* Z4 */
static void an_old_leader_grants_nothing(void **unused)
{
    AUTO_FREE char *url = pg_base(&server);
    struct leases leases;
    struct lease l;
    struct db *db = NULL;
    (void)unused;

    assert_int_equal(db_open(&db, url, &lease_kind, DB_WRITE, NULL), 0);
    struct store *s = open_hub(url, 1);
    leases_init(&leases, db);
    lease_init(&l, LEASE_LEADER, 1, 60000);
    assert_int_equal(lease_take(&leases, &l, NULL), 1);
    int64_t epoch = l.epoch;
    assert_int_equal(put(s, epoch, wait_of(1, "ann", 1, "GPU-1")), 0);
    assert_int_equal(lease_give_up(&leases, &l, NULL), 0);
    lease_init(&l, LEASE_LEADER, 2, 60000);
    assert_int_equal(lease_take(&leases, &l, NULL), 1);
    assert_int_equal(put(s, epoch, wait_of(2, "lee", 1, "GPU-2")), -ESTALE);
    assert_int_equal(ask(s, "SELECT count(*) FROM holds"), 1);
    assert_int_equal(put(s, l.epoch, wait_of(2, "lee", 1, "GPU-2")), 0);
    leases_fini(&leases);
    db_close(db);
    store_close(s);
}

static bool log_has(const char *text)
{
    AUTO_FREE char *path = mem_fmt("%s/log", server.dir);
    AUTO_BUF log = BUF_INIT(64 << 20);

    assert_int_equal(file_read(path, 64 << 20, &log, NULL), 0);
    return str_find(buf_str(&log), text) >= 0;
}

/* Three hubs book the same devices, each in another order. With the exclusion constraint alone they deadlock. */
static void bookings_race_without_a_deadlock(void **unused)
{
    enum { ROUNDS = 200 };
    AUTO_FREE char *url = pg_base(&server);
    struct store *v[HUBS];
    int64_t id = 0;
    (void)unused;

    for (int i = 0; i < HUBS; i++)
        v[i] = open_hub(url, i + 1);
    for (int round = 0; round < ROUNDS; round++) {
        int results[HUBS][2], won = 0;
        for (int i = 0; i < HUBS; i++)
            for (int k = 0; k < 2; k++) {
                char person[8];
                snprintf(person, sizeof(person), "p%d", i);
                struct booking x = wait_of(++id, person, 0, (i + k) % 2 ? "GPU-a,GPU-b" : "GPU-b,GPU-a");
                x.from_ms += 2 * round * H;
                x.until_ms += 2 * round * H;
                store_put(v[i], STORE_BOOKING, &x, 1, note, &results[i][k]);
            }
        for (int i = 0; i < HUBS; i++)
            assert_int_equal(store_flush(v[i], NULL), 0);
        for (int i = 0; i < HUBS; i++)
            for (int k = 0; k < 2; k++) {
                won += results[i][k] == 0;
                assert_true(results[i][k] == 0 || results[i][k] == -EEXIST);
            }
        assert_int_equal(won, 1);
    }
    for (int i = 0; i < HUBS; i++)
        store_close(v[i]);
    assert_false(log_has("deadlock detected"));
}

/* Nodes send the same facts and processes to several hubs, whose batches name them in another order. */
static void blobs_race_without_a_deadlock(void **unused)
{
    enum { ROUNDS = 30, NODES = 30 };
    AUTO_FREE char *url = pg_base(&server);
    struct store *v[HUBS];
    (void)unused;

    for (int i = 0; i < HUBS; i++)
        v[i] = open_hub(url, i + 1);
    for (int round = 0; round < ROUNDS; round++) {
        int results[HUBS][NODES];
        for (int k = 0; k < NODES; k++)
            for (int i = 0; i < HUBS; i++) {
                char node[8];
                uint64_t id = (uint64_t)round + 1;
                snprintf(node, sizeof(node), "n%02d", i % 2 ? k : NODES - 1 - k);
                store_put_blob(v[i], node, BLOB_FACTS, id, STR("facts"));
                struct store_batch b = {.node = node, .run = 1, .number = id, .facts = id, .bytes = STR("x")};
                store_append(v[i], &b, 1, note, &results[i][k]);
            }
        for (int i = 0; i < HUBS; i++)
            assert_int_equal(store_flush(v[i], NULL), 0);
    }
    assert_int_equal(ask(v[0], "SELECT count(*) FROM blobs"), ROUNDS * NODES);
    assert_int_equal(ask(v[0], "SELECT count(*) FROM batch"), ROUNDS * NODES);
    for (int i = 0; i < HUBS; i++)
        store_close(v[i]);
    assert_false(log_has("deadlock detected"));
}

/* No user knows errno's texts: "Stale file handle", "Transport endpoint is not connected". */
static void a_result_is_explained_in_words(void **unused)
{
    static const int results[] = {-ENOSPC, -ENOTCONN, -ECANCELED, -EBUSY, -ESTALE, -EEXIST, -EAGAIN, -EROFS};
    (void)unused;

    for (size_t i = 0; i < ARRAY_LEN(results); i++)
        assert_string_not_equal(store_error_text(results[i]), strerror(-results[i]));
}

struct opening {
    const char *url;
    int64_t hub;
    struct store *s;
};

static void *open_at_once(void *arg)
{
    struct opening *o = arg;

    o->s = open_hub(o->url, o->hub);
    return NULL;
}

static void hubs_make_the_next_days_without_an_error(void **unused)
{
    enum { ROUNDS = 10 };
    AUTO_FREE char *url = pg_base(&server);
    int64_t hub = 0;
    (void)unused;

    store_close(open_hub(url, ++hub)); /* makes the tables */
    for (int round = 0; round < ROUNDS; round++) {
        struct opening v[HUBS];
        pthread_t threads[HUBS];
        now_ms = (20000 + 10 * (int64_t)round) * 24 * H;
        for (int i = 0; i < HUBS; i++) {
            v[i] = (struct opening){.url = url, .hub = ++hub};
            assert_int_equal(pthread_create(&threads[i], NULL, open_at_once, &v[i]), 0);
        }
        for (int i = 0; i < HUBS; i++) {
            pthread_join(threads[i], NULL);
            store_close(v[i].s);
        }
    }
    now_ms = 0;
    assert_false(log_has("already exists"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_change_counts_only_over_what_it_was_made_from),
        cmocka_unit_test(an_old_leader_grants_nothing),
        cmocka_unit_test(bookings_race_without_a_deadlock),
        cmocka_unit_test(blobs_race_without_a_deadlock),
        cmocka_unit_test(a_result_is_explained_in_words),
        cmocka_unit_test(hubs_make_the_next_days_without_an_error),
    };

    cmocka_set_test_filter(getenv("MUSTER_TEST_ONLY"));
    return cmocka_run_group_tests(tests, start_server, end_server);
}
