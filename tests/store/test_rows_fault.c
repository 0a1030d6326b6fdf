/*
 * test_rows_fault.c: a log on a PostgreSQL server that fails to compact. The others are compacted, unless the server
 * itself fails: then they are not tried. The test runs its own server.
 */
#include "test.h"

#include <errno.h>
#include <unistd.h>

#include "history_model.h"
#include "pg_server.h"

#include "store/store.h"

#define WAITING "SELECT count(*) FROM batch WHERE log NOT IN (SELECT log FROM mark WHERE done = 1)"

static int64_t tell_now(void)
{
    return H0;
}

/* Every commit creates its own log. */
static struct store *open_hub(const char *url)
{
    struct store_conf conf =
        {.url = url, .hub = 1, .commit_ms = 1, .rotate_bytes = 1, .now_ms = tell_now, .decoder = &hub_decoder};
    struct store *s = NULL;
    struct err err = {0};

    if (store_open(&s, &conf, NULL, &err) < 0)
        fail_msg("%s", err.msg);
    return s;
}

static void must(int r, const struct err *err)
{
    if (r < 0)
        fail_msg("%s", err->msg);
}

/* Compacts everything possible; retries for a while if the server is unreachable. */
static void settle(struct store *s)
{
    struct err err = {0};
    int r = store_settle(s, &err);

    for (int i = 0; i < 6000 && r == -ENOTCONN; i++) {
        usleep(50000);
        r = store_settle(s, &err);
    }
    must(r, &err);
}

static int64_t ask(struct store *s, const char *sql)
{
    int64_t n = -1;

    assert_int_equal(db_int(records_db(s->rec), sql, &n), 0);
    return n;
}

static void tell(struct store *s, const char *sql)
{
    assert_int_equal(db_exec(records_db(s->rec), sql), 0);
}

/* The mark of this log fails: the server rejects it with that SQL state. */
static void break_log(struct store *s, int64_t log, const char *state)
{
    AUTO_FREE char *how = mem_fmt("CREATE OR REPLACE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS "
                                  "'BEGIN RAISE EXCEPTION ''it is broken'' USING ERRCODE = ''%s''; END'",
                                  state);
    AUTO_FREE char *when = mem_fmt("CREATE TRIGGER refuse BEFORE INSERT ON mark FOR EACH ROW WHEN (NEW.log = %lld) "
                                   "EXECUTE FUNCTION refuse()",
                                   (long long)log);

    tell(s, how);
    tell(s, when);
}

static void a_log_that_fails_keeps_no_other_from_becoming_chunks(void **unused)
{
    static const struct {
        const char *what, *state;
        int code;
        bool ends; /* the round */
    } cases[] = {
        {"damaged", "XX001", -EUCLEAN, false},    {"refused", "23514", -EINVAL, false},
        {"anything", "P0001", -EIO, false},       {"the server goes away", "57P01", -ENOTCONN, true},
        {"no room", "53100", -ENOSPC, true},      {"a standby by now", "25006", -EROFS, true},
        {"cancelled", "57014", -ECANCELED, true},
    };
    AUTO_FREE char *url = pg_base(&server);
    struct h_model m;
    struct store_stat stat;
    struct err err = {0};

    (void)unused;
    h_init(&m, 41);
    struct store *s = open_hub(url);
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        print_message("%s\n", cases[i].what);
        settle(s);
        assert_int_equal(ask(s, WAITING), 0);
        int64_t broken = ask(s, "SELECT max(n) FROM logs") + 1; /* the one being written, and then this one */
        break_log(s, broken, cases[i].state);
        for (int k = 0; k < 4; k++) {
            for (unsigned node = 0; node < H_NODES; node++)
                h_send(s, &m, h_batch(&m, node, H0 + (int64_t)(i * 4 + (size_t)k) * 60000, 5, 2000), NULL, NULL);
            must(store_flush(s, &err), &err);
        }
        assert_int_equal(store_settle(s, &err), cases[i].code);
        if (cases[i].code != -ENOTCONN) /* an earlier round may have got it: the server counts as unreachable */
            assert_non_null(strstr(err.msg, "it is broken"));
        store_stat(s, &stat);
        assert_int_equal(stat.history_error, cases[i].code); /* as shown on the hub's page */
        AUTO_FREE char *done = mem_fmt("SELECT count(*) FROM mark WHERE done = 1 AND log > %lld", (long long)broken);
        AUTO_FREE char *wait = mem_fmt(WAITING " AND log > %lld", (long long)broken);
        assert_int_equal(ask(s, wait) > 0, cases[i].ends);
        assert_true(ask(s, done) == 0 || !cases[i].ends);
        h_check_all(s, &m, H0, H0 + H_HOUR); /* logs without chunks are read from their rows */
        tell(s, "DROP TRIGGER refuse ON mark");
        err = (struct err){0};
    }
    settle(s);
    h_check_all(s, &m, H0, H0 + H_HOUR);
    store_close(s);
    h_fini(&m);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(a_log_that_fails_keeps_no_other_from_becoming_chunks)};

    return RUN_SOME(tests, start_server, end_server);
}
