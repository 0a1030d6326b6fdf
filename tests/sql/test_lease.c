/*
 * test_lease.c: leases on a PostgreSQL server of the test's own. That time passes for the server is done by moving what
 * it wrote down; for the holder, by moving its clock.
 */
#include "test.h"

#include <errno.h>
#include <pthread.h>

#include "pg_server.h"

#include "base/clock.h"
#include "sql/lease.h"

#define MS 15000

struct hub_of_test {
    struct db *db;
    struct leases s;
    struct lease l;
};

static void join(struct hub_of_test *h, const char *url, int64_t id)
{
    struct err err = {0};

    if (db_open(&h->db, url, &lease_kind, DB_WRITE, &err) < 0)
        fail_msg("%s", err.msg);
    leases_init(&h->s, h->db);
    lease_init(&h->l, LEASE_LEADER, id, MS);
}

static void leave(struct hub_of_test *h)
{
    leases_fini(&h->s);
    db_close(h->db);
}

static int take(struct hub_of_test *h)
{
    struct err err = {0};
    int r = lease_take(&h->s, &h->l, &err);

    if (r < 0)
        fail_msg("%s", err.msg);
    return r;
}

/* The server's clock is ahead of what it was by so much. */
static void pass(struct hub_of_test *h, int64_t ms)
{
    AUTO_FREE char *sql = mem_fmt("UPDATE lease SET until = until - %lld * interval '1 ms'", (long long)ms);

    assert_int_equal(db_exec(h->db, sql), 0);
}

/* Z1, Z2 */
static void one_has_it_until_its_time_is_over(void **unused)
{
    AUTO_FREE char *url = pg_base(&server);
    struct hub_of_test a, b;
    (void)unused;

    join(&a, url, 1);
    join(&b, url, 2);
    assert_false(lease_holds(&a.l));
    assert_int_equal(take(&a), 1);
    assert_true(lease_holds(&a.l));
    assert_int_equal(a.l.epoch, 1);
    assert_int_equal(take(&b), 0);
    assert_false(lease_holds(&b.l));
    pass(&a, MS / 2);
    assert_int_equal(take(&b), 0);
    assert_int_equal(lease_keep(&a.s, &a.l, NULL), 1);
    pass(&a, MS / 2); /* it was kept meanwhile */
    assert_int_equal(take(&b), 0);
    pass(&a, MS);
    assert_int_equal(take(&b), 1);
    assert_int_equal(b.l.epoch, 2);
    assert_int_equal(lease_keep(&a.s, &a.l, NULL), 0);
    assert_false(lease_holds(&a.l));
    assert_int_equal(lease_give_up(&a.s, &a.l, NULL), 0); /* it is not the one to */
    assert_int_equal(lease_keep(&b.s, &b.l, NULL), 1);
    assert_int_equal(lease_give_up(&b.s, &b.l, NULL), 0);
    assert_false(lease_holds(&b.l));
    assert_int_equal(lease_keep(&b.s, &b.l, NULL), 0);
    assert_int_equal(take(&a), 1);
    assert_int_equal(a.l.epoch, 3);
    leave(&a);
    leave(&b);
}

/* Z1: else nobody could take it for as long as that was. */
static void a_lease_lasts_no_longer_when_the_servers_clock_is_set_back(void **unused)
{
    AUTO_FREE char *url = pg_base(&server);
    struct hub_of_test a, b;
    (void)unused;

    join(&a, url, 1);
    join(&b, url, 2);
    assert_int_equal(take(&a), 1);
    pass(&a, -86400000);
    assert_int_equal(take(&b), 0);
    pass(&a, MS + 1000);
    assert_int_equal(take(&b), 1);
    leave(&a);
    leave(&b);
}

/* It is over, and nobody took it: it must be taken anew, with another epoch. */
static void what_is_over_is_not_kept(void **unused)
{
    AUTO_FREE char *url = pg_base(&server);
    struct hub_of_test a;
    (void)unused;

    join(&a, url, 1);
    assert_int_equal(take(&a), 1);
    pass(&a, MS + 1000);
    assert_int_equal(lease_keep(&a.s, &a.l, NULL), 0);
    assert_false(lease_holds(&a.l));
    assert_int_equal(take(&a), 1);
    assert_int_equal(a.l.epoch, 2);
    leave(&a);
}

/* Z3 */
static void the_holder_stops_by_itself(void **unused)
{
    AUTO_FREE char *url = pg_base(&server);
    struct hub_of_test a;
    (void)unused;

    join(&a, url, 1);
    clock_set_for_test(1000000);
    assert_int_equal(take(&a), 1);
    clock_set_for_test(1000000 + MS * 2 / 3 - 1);
    assert_true(lease_holds(&a.l));
    clock_set_for_test(1000000 + MS * 2 / 3);
    assert_false(lease_holds(&a.l));
    assert_int_equal(lease_keep(&a.s, &a.l, NULL), 1); /* the server knows that it is not over yet */
    assert_true(lease_holds(&a.l));
    assert_int_equal(pg_sql(&server, "postgres",
                            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
                            " WHERE application_name = 'muster'"),
                     0);
    clock_set_for_test(1000000 + MS * 4 / 3 - 1);
    lease_keep(&a.s, &a.l, NULL); /* how this goes is not known: the connection was cut */
    assert_true(lease_holds(&a.l));
    clock_set_for_test(1000000 + MS * 3);
    assert_false(lease_holds(&a.l));
    clock_set_for_test(-1);
    leave(&a);
}

struct taker {
    const char *url;
    int64_t id;
    int got;
    int64_t epoch;
};

static void *take_beside(void *arg)
{
    struct taker *t = arg;
    struct hub_of_test h;

    join(&h, t->url, t->id);
    t->got = lease_take(&h.s, &h.l, NULL);
    t->epoch = h.l.epoch;
    leave(&h);
    return NULL;
}

static void of_many_that_want_it_one_gets_it(void **unused)
{
    AUTO_FREE char *url = pg_base(&server);
    struct taker t[8];
    pthread_t threads[ARRAY_LEN(t)];
    int got = 0;
    (void)unused;

    for (size_t i = 0; i < ARRAY_LEN(t); i++) {
        t[i] = (struct taker){url, (int64_t)i + 1, -1, 0};
        assert_int_equal(pthread_create(&threads[i], NULL, take_beside, &t[i]), 0);
    }
    for (size_t i = 0; i < ARRAY_LEN(t); i++) {
        pthread_join(threads[i], NULL);
        assert_in_range(t[i].got, 0, 1);
        got += t[i].got;
    }
    assert_int_equal(got, 1);
}

/* How many of this database wait for an advisory lock. */
static int64_t count_waiting(struct hub_of_test *h)
{
    int64_t n = 0;

    assert_int_equal(db_int(h->db, "SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND NOT granted", &n), 0);
    return n;
}

/*
 * Both have seen that there is no such row, and neither has put its own yet: an index in front of the others, whose
 * expression waits, holds them there.
 */
static void of_two_that_find_none_one_gets_it_and_the_other_is_told_so(void **unused)
{
    AUTO_FREE char *url = pg_base(&server);
    struct taker t[2];
    pthread_t threads[ARRAY_LEN(t)];
    struct hub_of_test a;
    (void)unused;

    join(&a, url, 9);
    assert_int_equal(db_exec(a.db, "CREATE FUNCTION wait(t text) RETURNS text LANGUAGE plpgsql IMMUTABLE AS $$ BEGIN"
                                   " PERFORM pg_advisory_xact_lock_shared(7); RETURN t; END $$;"
                                   "ALTER TABLE lease DROP CONSTRAINT lease_pkey, DROP CONSTRAINT lease_name_epoch_key;"
                                   "CREATE INDEX ON lease(wait(name));"
                                   "ALTER TABLE lease ADD PRIMARY KEY(name);"
                                   "ALTER TABLE lease ADD UNIQUE(name, epoch);"
                                   "SELECT pg_advisory_lock(7)"),
                     0);
    for (size_t i = 0; i < ARRAY_LEN(t); i++) {
        t[i] = (struct taker){url, (int64_t)i + 1, -1, 0};
        assert_int_equal(pthread_create(&threads[i], NULL, take_beside, &t[i]), 0);
    }
    while (count_waiting(&a) < (int64_t)ARRAY_LEN(t))
        usleep(1000);
    assert_int_equal(db_exec(a.db, "SELECT pg_advisory_unlock(7)"), 0);
    for (size_t i = 0; i < ARRAY_LEN(t); i++)
        pthread_join(threads[i], NULL);
    assert_int_equal(MIN(t[0].got, t[1].got), 0);
    assert_int_equal(MAX(t[0].got, t[1].got), 1);
    leave(&a);
}

/* Z4 */
static void a_stale_epoch_writes_nothing(void **unused)
{
    AUTO_FREE char *url = pg_base(&server);
    struct hub_of_test a, b;
    struct leases writer;
    struct db *db;
    (void)unused;

    join(&a, url, 1);
    join(&b, url, 2);
    assert_int_equal(db_open(&db, url, &lease_kind, DB_WRITE, NULL), 0);
    leases_init(&writer, db);
    assert_int_equal(take(&a), 1);
    assert_int_equal(db_begin(db, true), 0);
    assert_int_equal(lease_fence(&writer, LEASE_LEADER, 1, NULL), 1);
    assert_int_equal(lease_keep(&a.s, &a.l, NULL), 1); /* does not wait for it */
    assert_int_equal(db_exec(a.db, "SET lock_timeout = '10ms'"), 0);
    assert_int_equal(db_exec(a.db, "UPDATE lease SET epoch = epoch + 1"), -EBUSY); /* taking it would */
    assert_int_equal(db_commit(db), 0);
    pass(&a, MS + 1000);
    assert_int_equal(take(&b), 1);
    assert_int_equal(db_begin(db, true), 0);
    assert_int_equal(lease_fence(&writer, LEASE_LEADER, 1, NULL), 0);
    assert_int_equal(lease_fence(&writer, LEASE_LEADER, 2, NULL), 1);
    db_rollback(db);
    leases_fini(&writer);
    db_close(db);
    leave(&a);
    leave(&b);
}

static void init_parts(struct lease v[LEASE_PARTS], int64_t holder)
{
    char name[LEASE_NAME_MAX];

    for (unsigned i = 0; i < LEASE_PARTS; i++)
        lease_init(&v[i], lease_of_part(i, name), holder, MS);
}

static size_t count_held(const struct lease v[LEASE_PARTS])
{
    size_t n = 0;

    for (size_t i = 0; i < LEASE_PARTS; i++)
        n += lease_holds(&v[i]);
    return n;
}

/* Z1 and Z4, of parts: kept and looked at all at once. */
static void parts_are_kept_at_once_and_a_stale_epoch_of_one_is_seen(void **unused)
{
    AUTO_FREE char *url = pg_base(&server);
    struct lease of_a[LEASE_PARTS], of_b[LEASE_PARTS];
    int64_t epochs[LEASE_PARTS];
    struct hub_of_test a, b;
    (void)unused;

    join(&a, url, 1);
    join(&b, url, 2);
    init_parts(of_a, 1);
    init_parts(of_b, 2);
    for (size_t i = 0; i < LEASE_PARTS; i++)
        assert_int_equal(lease_take(&a.s, &of_a[i], NULL), 1);
    assert_int_equal(lease_take(&b.s, &of_b[3], NULL), 0);
    pass(&a, MS / 2);
    assert_int_equal(lease_keep_parts(&a.s, of_a, LEASE_PARTS, NULL), 0);
    assert_int_equal(lease_keep_parts(&b.s, of_b, LEASE_PARTS, NULL), 0); /* it has none */
    pass(&a, MS / 2);
    assert_int_equal(count_held(of_a), LEASE_PARTS);
    assert_int_equal(count_held(of_b), 0);
    assert_int_equal(lease_give_up(&a.s, &of_a[3], NULL), 0);
    assert_int_equal(lease_take(&b.s, &of_b[3], NULL), 1);
    assert_int_equal(lease_keep_parts(&a.s, of_a, LEASE_PARTS, NULL), 0);
    assert_int_equal(lease_keep_parts(&b.s, of_b, LEASE_PARTS, NULL), 0);
    assert_int_equal(count_held(of_a), LEASE_PARTS - 1);
    assert_int_equal(count_held(of_b), 1);

    assert_int_equal(db_begin(a.db, true), 0);
    assert_int_equal(lease_fence_parts(&a.s, 1u << 3 | 1u << 5, epochs, NULL), 0);
    assert_int_equal(epochs[3], 2);
    assert_int_equal(epochs[5], 1);
    assert_int_equal(epochs[4], 0); /* not asked for */
    assert_int_equal(db_exec(b.db, "SET lock_timeout = '10ms'"), 0);
    assert_int_equal(lease_keep_parts(&b.s, of_b, LEASE_PARTS, NULL), 0); /* keeping does not wait for it, */
    assert_int_equal(db_exec(b.db, "UPDATE lease SET epoch = 9 WHERE name = 'part/5'"), -EBUSY); /* taking does, */
    assert_int_equal(db_begin(b.db, true), 0);
    assert_int_equal(lease_stop_part(&b.s, 5, NULL), -EBUSY); /* and so does who wants no one to write */
    db_rollback(b.db);
    assert_int_equal(db_commit(a.db), 0);
    pass(&a, MS + 1000);
    assert_int_equal(lease_keep_parts(&a.s, of_a, LEASE_PARTS, NULL), 0);
    assert_int_equal(count_held(of_a), 0);
    leave(&a);
    leave(&b);
}

static int64_t add_hub(struct hub_of_test *h, const char *name)
{
    struct hub_row row = {.url = "http://x:1", .version = "1", .conf = "c"};
    char lease[LEASE_NAME_MAX];
    int64_t id = 0;

    mem_copy_str(row.name, sizeof(row.name), name);
    assert_int_equal(hub_row_add(&h->s, &row, &id, NULL), 0);
    lease_init(&h->l, lease_of_hub(id, lease), id, MS);
    assert_int_equal(take(h), 1);
    return id;
}

/* The tables of version 1 had no column for pins. A reader of them gets none; opened for writing they have it. */
static void tables_of_version_1_get_pins(void **unused)
{
    AUTO_FREE char *url = pg_base(&server);
    AUTO_FREE struct hub_row *before = NULL, *after = NULL;
    struct hub_of_test old, now;
    struct leases reader;
    struct db *db;
    int64_t version = 0;
    size_t n = 0;
    (void)unused;

    join(&old, url, 0);
    add_hub(&old, "one");
    assert_int_equal(db_exec(old.db, "ALTER TABLE hub DROP COLUMN pin; UPDATE muster_version SET version = 1"), 0);
    leave(&old);
    assert_int_equal(db_open(&db, url, &lease_kind, DB_READ, NULL), 0);
    leases_init(&reader, db);
    assert_int_equal(hub_rows(&reader, &before, &n, NULL), 0);
    assert_int_equal(n, 1);
    assert_string_equal(before[0].pin, "");
    leases_fini(&reader);
    db_close(db);

    join(&now, url, 0);
    assert_int_equal(db_int(now.db, "SELECT version FROM muster_version", &version), 0);
    assert_int_equal(version, lease_kind.version);
    const struct hub_row change = {.id = before[0].id, .url = "http://x:1", .conf = "c", .pin = "sha256//k="};
    assert_int_equal(hub_row_change(&now.s, &change, NULL), 0);
    assert_int_equal(hub_rows(&now.s, &after, &n, NULL), 0);
    assert_int_equal(n, 1);
    assert_string_equal(after[0].name, "one");
    assert_string_equal(after[0].pin, "sha256//k=");
    /* A hub of version 1 still adds and changes its row. */
    assert_int_equal(db_exec(now.db, "INSERT INTO hub(url, name, version, conf, started) VALUES('', 'old', '1', 'c',"
                                     " clock_timestamp()); UPDATE hub SET url = 'u', conf = 'd' WHERE name = 'old'"),
                     0);
    leave(&now);
}

static void hubs_are_listed_while_they_are_there(void **unused)
{
    AUTO_FREE char *url = pg_base(&server);
    AUTO_FREE struct hub_row *rows = NULL, *left = NULL;
    struct hub_of_test a, b;
    struct lease leader;
    size_t n = 0;
    (void)unused;

    join(&a, url, 0);
    join(&b, url, 0);
    int64_t first = add_hub(&a, "one"), second = add_hub(&b, "two");
    assert_true(second > first);
    lease_init(&leader, LEASE_LEADER, second, MS);
    assert_int_equal(lease_take(&b.s, &leader, NULL), 1);
    assert_int_equal(lease_give_up(&a.s, &a.l, NULL), 0);
    const struct hub_row change = {.id = second, .url = "http://y:2", .conf = "d", .pin = "sha256//k="};
    assert_int_equal(hub_row_change(&b.s, &change, NULL), 0);
    assert_int_equal(hub_rows(&a.s, &rows, &n, NULL), 0);
    assert_int_equal(n, 2);
    assert_string_equal(rows[0].name, "one");
    assert_false(rows[0].here);
    assert_false(rows[0].leads);
    assert_int_equal(rows[0].until_ms, 0);
    assert_string_equal(rows[1].url, "http://y:2");
    assert_string_equal(rows[1].conf, "d");
    assert_string_equal(rows[0].pin, "");
    assert_string_equal(rows[1].pin, "sha256//k=");
    assert_true(rows[1].here);
    assert_true(rows[1].leads);
    assert_true(rows[1].until_ms > rows[1].now_ms && rows[1].until_ms <= rows[1].now_ms + MS);
    assert_int_equal(hub_rows_drop(&b.s, 3600000, NULL), 0);
    assert_int_equal(db_exec(b.db, "UPDATE hub SET started = started - interval '2 h'"), 0);
    assert_int_equal(hub_rows_drop(&b.s, 3600000, NULL), 1);
    assert_int_equal(hub_rows(&a.s, &left, &n, NULL), 0);
    assert_int_equal(n, 1);
    assert_int_equal(left[0].id, second);
    leave(&a);
    leave(&b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_has_it_until_its_time_is_over),
        cmocka_unit_test(a_lease_lasts_no_longer_when_the_servers_clock_is_set_back),
        cmocka_unit_test(what_is_over_is_not_kept),
        cmocka_unit_test(the_holder_stops_by_itself),
        cmocka_unit_test(of_many_that_want_it_one_gets_it),
        cmocka_unit_test(of_two_that_find_none_one_gets_it_and_the_other_is_told_so),
        cmocka_unit_test(a_stale_epoch_writes_nothing),
        cmocka_unit_test(parts_are_kept_at_once_and_a_stale_epoch_of_one_is_seen),
        cmocka_unit_test(hubs_are_listed_while_they_are_there),
        cmocka_unit_test(tables_of_version_1_get_pins),
    };

    cmocka_set_test_filter(getenv("MUSTER_TEST_ONLY"));
    return cmocka_run_group_tests(tests, start_server, end_server);
}
