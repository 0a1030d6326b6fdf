/*
 * test_shared_bookings.c: bookings that several hubs put on one PostgreSQL server: no change is lost, no device is
 * given away twice, and no race ends in a deadlock. On a server of the test's own.
 */
#include "test.h"

#include <errno.h>

#include "pg_server.h"

#include "sql/lease.h"
#include "store/store.h"

#define H 3600000ll

static struct store *open_hub(const char *url, int64_t hub)
{
    struct store_conf conf = {.url = url, .hub = hub, .commit_ms = 1};
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

/* Whoever has not seen the grant yet: a new leader, a hub that heard of the waiter, one that gives up waiting for them.
 */
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
    assert_int_equal(put(b, 0, wait_of(1, "ann", 2, "")), 0); /* from what is stored */
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

/* Three hubs book the same devices at the same moment, each in another order; the exclusion constraint alone deadlocks.
 */
static void races_end_without_a_deadlock(void **unused)
{
    enum { HUBS = 3, ROUNDS = 200 };
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_change_counts_only_over_what_it_was_made_from),
        cmocka_unit_test(an_old_leader_grants_nothing),
        cmocka_unit_test(races_end_without_a_deadlock),
    };

    cmocka_set_test_filter(getenv("MUSTER_TEST_ONLY"));
    return cmocka_run_group_tests(tests, start_server, end_server);
}
