/*
 * test_pg.c: what only a PostgreSQL server does: it says that its disk is full, waits for a standby, keeps one of what
 * two hubs put at once. On a server of the test's own.
 */
#include "test.h"

#include <errno.h>

#include "pg_server.h"
#include "store_dir.h"

#include "sql/pg.h"
#include "store/schema.h"

static struct records *open_base(const char *url)
{
    struct records *r = NULL;
    struct err err = {0};

    if (records_open(&r, url, DB_WRITE, &err) < 0)
        fail_msg("%s", err.msg);
    return r;
}

static void end_connections(void)
{
    assert_int_equal(pg_sql(&server, "postgres",
                            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname LIKE 'base%'"),
                     0);
}

static int64_t ask_number(struct records *r, const char *sql)
{
    int64_t n = -1;

    assert_int_equal(db_int(r->db, sql, &n), 0);
    return n;
}

/* A full disk is found by a file that is written; of none it would be said too late (test_faults.py fills one). */
static void room_is_asked_for_with_a_file(void **unused)
{
    AUTO_FREE char *url = pg_base(&server);
    struct records *r = open_base(url);
    struct db *db = records_db(r);
    int64_t bytes = 0;
    struct err err = {0};
    (void)unused;

    assert_int_equal(pg_has_room(db, &err), 1);
    assert_int_equal(db_exec(db, "SELECT pg_stat_force_next_flush()"), 0);
    assert_int_equal(db_int(db, "SELECT temp_bytes::bigint FROM pg_stat_database WHERE datname = current_database()",
                            &bytes),
                     0);
    assert_in_range(bytes, 65536, 1 << 20);
    assert_int_equal(db_exec(db, "SET temp_file_limit = 0"), 0); /* says nothing of the disk */
    assert_int_equal(pg_has_room(db, &err), 1);
    end_connections();
    pg_stop(&server, SIGINT);
    assert_int_equal(pg_has_room(db, &err), -ENOTCONN);
    assert_non_null(strstr(err.msg, "cannot ask 'postgres://"));
    pg_start(&server);
    records_close(r);
}

/* ---- tokens of several hubs ---- */

static struct store_token token_of(const char *id, const char *role, const char *node, const char *note)
{
    struct store_token t = {.created_ms = 1};

    mem_copy_str(t.id, sizeof(t.id), id);
    mem_copy_str(t.role, sizeof(t.role), role);
    mem_copy_str(t.node, sizeof(t.node), node);
    mem_copy_str(t.note, sizeof(t.note), note);
    return t;
}

/* Two hubs: neither waits for the other's transaction, and no more nodes come in than may. */
static void nodes_that_enrol_at_two_hubs_are_counted_once_and_never_too_many(void **unused)
{
    AUTO_FREE char *url = pg_base(&server);
    struct records *hubs[2] = {open_base(url), open_base(url)};
    struct store_token e = token_of("eeeeeeee", "enroll", "", ""), any = token_of("ffffffff", "enroll", "", "");
    (void)unused;

    e.uses = 3;
    assert_int_equal(records_put_now(hubs[0], STORE_TOKEN, &e, NULL), 0);
    assert_int_equal(records_put_now(hubs[0], STORE_TOKEN, &any, NULL), 0);
    for (int i = 0; i < 2; i++) {
        pg_set_limit(hubs[i]->db, 20000); /* so long one that does wait would */
        assert_int_equal(records_begin(hubs[i], NULL), 0);
        records_set_posts(hubs[i], false);
        for (int k = 0; k < 4; k++) {
            AUTO_FREE char *id = mem_fmt("hub%dnode%d", i, k), *node = mem_fmt("n%d", 4 * i + k);
            struct store_token t =
                token_of(id, "agent", node, k < 2 ? "enrolled with eeeeeeee" : "enrolled with ffffffff");
            assert_int_equal(records_put(hubs[i], STORE_TOKEN, &t), 0);
        }
    }
    for (int i = 0; i < 2; i++)
        assert_int_equal(records_end(hubs[i], 0, NULL), 0);
    assert_int_equal(ask_number(hubs[0], "SELECT enrolled FROM tokens WHERE id = 'eeeeeeee'"), 3);
    assert_int_equal(ask_number(hubs[0], "SELECT count(*) FROM tokens WHERE note = 'enrolled with eeeeeeee'"), 3);
    assert_int_equal(ask_number(hubs[0], "SELECT enrolled FROM tokens WHERE id = 'ffffffff'"), 4);
    assert_int_equal(ask_number(hubs[0], "SELECT convert_from(value, 'UTF8')::bigint FROM settings WHERE name ="
                                         " '" STORE_TOKENS_VERSION "'"),
                     4); /* one a transaction */
    for (int i = 0; i < 2; i++)
        records_close(hubs[i]);
}

static void a_token_that_two_hubs_give_away_is_the_first_ones(void **unused)
{
    static const struct {
        const char *node, *want;
    } puts[] = {{"n1", "n1"}, {"n2", "n1"}, {"n1", "n1"}, {"", ""}, {"n2", "n2"}};
    AUTO_FREE char *url = pg_base(&server), *hub = mem_fmt("%s?application_name=muster-hub-1", url);
    struct records *r = open_base(hub);
    struct store_token t = token_of("aaaaaaaa", "agent", "", ""), got;
    (void)unused;

    assert_int_equal(records_put_now(r, STORE_TOKEN, &t, NULL), 0);
    for (size_t i = 0; i < ARRAY_LEN(puts); i++) {
        mem_copy_str(t.node, sizeof(t.node), puts[i].node);
        t.used_ms = 100 + (int64_t)i;
        assert_int_equal(records_put(r, STORE_TOKEN, &t), 0);
        assert_int_equal(records_get(r, GET_TOKEN("aaaaaaaa", &got), NULL), 1);
        assert_string_equal(got.node, puts[i].want);
    }
    records_close(r);
}

/* As tables were made before the two above were so. */
static void what_came_to_the_tables_later_is_added(void **unused)
{
    AUTO_FREE char *url = pg_base(&server);
    struct records *r = open_base(url);
    (void)unused;

    assert_int_equal(
        db_exec(r->db,
                "DROP FUNCTION token_bound() CASCADE; DROP FUNCTION token_put() CASCADE;"
                "CREATE FUNCTION token_put() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RETURN NULL; END $$;"
                "CREATE FUNCTION token_enrolled() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RETURN new; END $$;"
                "CREATE TRIGGER tokens_put AFTER INSERT ON tokens EXECUTE FUNCTION token_put();"
                "CREATE TRIGGER tokens_enrolled BEFORE INSERT ON tokens FOR EACH ROW"
                " EXECUTE FUNCTION token_enrolled();"),
        0);
    records_close(r);
    r = open_base(url);
    assert_int_equal(ask_number(r, "SELECT count(*) FROM pg_trigger WHERE tgrelid = 'tokens'::regclass AND"
                                   " tgname IN ('tokens_put', 'tokens_bound')"),
                     2);
    assert_int_equal(ask_number(r, "SELECT count(*) FROM pg_proc WHERE proname = 'token_enrolled'"), 0);
    records_close(r);
}

/* ---- a standby that does not confirm ---- */

static void wait_for_standby(const char *names)
{
    AUTO_FREE char *sql = mem_fmt("ALTER SYSTEM SET synchronous_standby_names = '%s'", names);

    assert_int_equal(pg_sql(&server, "postgres", sql), 0);
    assert_int_equal(pg_sql(&server, "postgres", "SELECT pg_reload_conf()"), 0);
}

static int put_node(struct records *r, struct err *err)
{
    int code = records_begin(r, err);

    if (code == 0)
        code = records_end(r, records_put(r, STORE_NODE, &(struct store_node){.key = "a"}), err);
    else
        records_rollback(r);
    return code;
}

/* A commit that waits goes on doing so when its client is gone: however often it is tried, there is one. */
static void commits_that_wait_for_a_standby_do_not_pile_up(void **unused)
{
    static const char waiting[] = "SELECT count(*) FROM pg_stat_activity WHERE wait_event = 'SyncRep'";
    AUTO_FREE char *url = pg_base(&server), *hub = mem_fmt("%s?application_name=muster-hub-1", url);
    struct records *r = open_base(hub), *look = open_base(url);
    struct err err = {0};
    (void)unused;

    pg_set_limit(r->db, 2500); /* longer than a commit may wait before it counts as one that does */
    assert_int_equal(put_node(r, &err), 0);
    wait_for_standby("nobody");
    do /* until the server has read that */
        assert_in_range(-put_node(r, &err), 0, ENOTCONN);
    while (ask_number(look, waiting) == 0);
    for (int i = 0; i < 20; i++) {
        assert_int_equal(put_node(r, &err), -ECANCELED);
        assert_non_null(strstr(err.msg, "its standby does not confirm"));
    }
    assert_int_equal(ask_number(look, waiting), 1);
    wait_for_standby("");
    while (ask_number(look, waiting) > 0)
        usleep(20000);
    assert_int_equal(put_node(r, &err), 0);
    records_close(look);
    records_close(r);
}

static void begin(struct db *db)
{
    assert_int_equal(db_begin(db, true), 0);
}

/* Steps of a statement that gives 1, 2, 3 ... */
static void expect_rows(struct db_stmt *st, int64_t from, int64_t to)
{
    for (int64_t i = from; i <= to; i++) {
        assert_int_equal(db_step(st), 1);
        assert_int_equal(db_number(st, 0), i);
    }
}

/* BEGIN, and what is posted, are sent with the first statement that is waited for. */
static void what_is_sent_together_is_answered_one_by_one(void **unused)
{
    AUTO_FREE char *url = pg_base(&server);
    struct records *r = open_base(url);
    struct db *db = records_db(r);
    struct db_stmt *rows = db_prepare(db, "SELECT generate_series(1, 5)"), *one = db_prepare(db, "SELECT 10 / ?1"),
                   *put = db_prepare(db, "INSERT INTO once VALUES(?1)");
    (void)unused;

    assert_int_equal(db_exec(db, "CREATE TABLE once(v bigint PRIMARY KEY)"), 0);
    db_bind_int(one, 1, 10);
    db_bind_int(put, 1, 1);
    expect_rows(rows, 1, 5); /* what was run before is prepared */
    assert_int_equal(db_step(rows), 0);
    assert_int_equal(db_run(one), 0);
    assert_int_equal(db_run(put), 0);

    begin(db);
    expect_rows(rows, 1, 2);
    expect_rows(one, 1, 1); /* while there are more of the others */
    expect_rows(rows, 3, 5);
    assert_int_equal(db_step(rows), 0);
    db_reset(one);
    assert_int_equal(db_commit(db), 0);

    begin(db);
    db_bind_int(put, 1, 2);
    assert_int_equal(db_post(put), 0);
    expect_rows(rows, 1, 1);
    db_reset(rows);
    assert_int_equal(db_commit(db), 0);
    assert_int_equal(ask_number(r, "SELECT count(*) FROM once"), 2);

    begin(db); /* what was posted fails: so does what waits behind it */
    db_bind_int(put, 1, 2);
    assert_int_equal(db_post(put), 0);
    assert_int_equal(db_step(rows), -EINVAL);
    db_rollback(db);

    begin(db); /* its own fault */
    db_bind_int(one, 1, 0);
    assert_int_equal(db_step(one), -EINVAL);
    assert_true(db_commit(db) < 0);
    db_rollback(db);

    begin(db); /* nothing was said yet but that */
    end_connections();
    assert_int_equal(db_step(rows), -ENOTCONN);
    assert_int_equal(db_step(rows), -ENOTCONN);
    db_rollback(db);
    begin(db);
    expect_rows(rows, 1, 5);
    db_reset(rows);
    assert_int_equal(db_commit(db), 0);
    db_finish(rows);
    db_finish(one);
    db_finish(put);
    records_close(r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nodes_that_enrol_at_two_hubs_are_counted_once_and_never_too_many),
        cmocka_unit_test(a_token_that_two_hubs_give_away_is_the_first_ones),
        cmocka_unit_test(what_came_to_the_tables_later_is_added),
        cmocka_unit_test(commits_that_wait_for_a_standby_do_not_pile_up),
        cmocka_unit_test(what_is_sent_together_is_answered_one_by_one),
        cmocka_unit_test(room_is_asked_for_with_a_file), /* the last: it stops the server */
    };

    return RUN_SOME(tests, start_server, end_server);
}
