/*
 * test_deadlock.c: what a hub writes when another locked the same names the other way round: PostgreSQL ends one of the
 * two, here the hub's, which writes all of it again. On a server of the test's own.
 */
#include "test.h"

#include <pthread.h>

#include "pg_server.h"

#include "store/store.h"

#define H     3600000ll
#define WAITS "SELECT count(*) FROM pg_locks WHERE NOT granted AND "

static struct store *open_hub(const char *url)
{
    struct store_conf conf = {.url = url, .hub = 1, .commit_ms = 1};
    struct store *s = NULL;
    struct err err = {0};

    if (store_open(&s, &conf, NULL, &err) < 0)
        fail_msg("%s", err.msg);
    return s;
}

static struct records *connect_beside(const char *url)
{
    struct records *r = NULL;

    assert_int_equal(records_open(&r, url, DB_WRITE, NULL), 0);
    return r;
}

static void say(struct records *r, const char *sql)
{
    struct db *db = records_db(r);
    struct err err = {0};

    if (db_exec(db, sql) < 0) {
        db_fail(db, -1, "ask", &err);
        fail_msg("%s", err.msg);
    }
}

static int64_t ask(struct records *r, const char *sql)
{
    int64_t n = -1;

    assert_int_equal(db_int(records_db(r), sql, &n), 0);
    return n;
}

static void wait_for_one(struct records *r, const char *sql)
{
    while (ask(r, sql) != 1)
        usleep(1000);
}

static int count_span(void *arg, const char *node, const struct usage_span *s)
{
    assert_int_equal(s->n, 1);
    assert_string_equal(s->devices[0].device, strcmp(node, "n1") == 0 ? "n2" : "n3");
    ++*(int *)arg;
    return 0;
}

static void put(struct store *s, const char *node, struct usage_span *span)
{
    store_put(s, STORE_USAGE, &(struct usage_put){node, 1, 0, span, NULL, "UTC", NULL}, 1, NULL, NULL);
}

static void note_result(void *arg, int result)
{
    *(int *)arg = result;
}

struct other {
    struct records *r;
    int result;
};

static void *put_the_first_name(void *arg)
{
    struct other *o = arg;

    o->result = db_exec(records_db(o->r), "INSERT INTO usage_names(text) VALUES('n1')");
    return NULL;
}

/* The hub has n1 and wants n2, the other has n2 and wants n1; and the hub alone looks for such a thing. */
static void names_locked_the_other_way_round_are_put_again(void **unused)
{
    AUTO_FREE char *url = pg_base(&server);
    struct usage_device free_one = {"n3", "H200", 1, 0, 0, 0, 0, NULL}, device = {"n2", "H200", 77, 0, 0, 0, 0, NULL};
    struct usage_span none = {24 * H, 25 * H, 1, &free_one}, span = {24 * H, 25 * H, 1, &device};
    struct usage_query all = {.from_ms = 0, .to_ms = 1000 * H};
    struct store *s = open_hub(url);
    struct records *gate = connect_beside(url);
    struct other other = {connect_beside(url), -1};
    struct store_stat st;
    pthread_t thread;
    int spans = 0, stored = -1;
    (void)unused;

    say(gate, "CREATE FUNCTION wait() RETURNS trigger LANGUAGE plpgsql AS $$ DECLARE n int := CASE NEW.text WHEN 'n0'"
              " THEN 6 WHEN 'n2' THEN 7 END; BEGIN IF n > 0 THEN SET LOCAL deadlock_timeout = '10ms';"
              " PERFORM pg_advisory_lock_shared(n); PERFORM pg_advisory_unlock_shared(n); END IF; RETURN NEW; END $$;"
              "CREATE TRIGGER wait BEFORE INSERT ON usage_names FOR EACH ROW EXECUTE FUNCTION wait()");
    say(other.r, "BEGIN; INSERT INTO usage_names(text) VALUES('n2'); SET LOCAL deadlock_timeout = '1h'");
    say(gate, "SELECT pg_advisory_lock(6), pg_advisory_lock(7)");
    put(s, "n0", &none);
    wait_for_one(gate, WAITS "objid = 6"); /* what is queued now is the next commit */
    put(s, "n1", &span);
    store_append(s, &(struct store_batch){.node = "n1", .run = 1, .number = 1, .bytes = STR("x")}, 1, note_result,
                 &stored);
    say(gate, "SELECT pg_advisory_unlock(6)");
    wait_for_one(gate, WAITS "objid = 7"); /* it has the one, and not yet the other */
    assert_int_equal(pthread_create(&thread, NULL, put_the_first_name, &other), 0);
    wait_for_one(gate, WAITS "locktype = 'transactionid'");
    say(gate, "SELECT pg_advisory_unlock(7)");
    pthread_join(thread, NULL);
    assert_int_equal(other.result, 0); /* so the hub was ended: the other would wait for an hour */
    say(other.r, "COMMIT");
    assert_int_equal(store_flush(s, NULL), 0);
    assert_int_equal(store_each(s, EACH_USAGE(&all, count_span, &spans), NULL), 0);
    assert_int_equal(spans, 2);
    assert_int_equal(stored, 0); /* what was in the same commit did not fail with it */
    store_stat(s, &st);
    assert_int_equal(st.lost, 0);
    assert_int_equal(st.last_error, 0);
    records_close(gate);
    records_close(other.r);
    store_close(s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names_locked_the_other_way_round_are_put_again),
    };

    return RUN_SOME(tests, start_server, end_server);
}
