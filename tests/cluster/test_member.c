/*
 * test_member.c: a hub among others whose connection to the server is lost: it listens again, and misses nothing. On a
 * PostgreSQL server of the test's own, whose log says what it was told.
 */
#include "test.h"

#include <event2/event.h>
#include <event2/thread.h>

#include "pg_server.h"

#include "base/clock.h"
#include "cluster/member.h"
#include "cluster/place.h"
#include "store/main_db.h"

#define LIMIT_MS 60000

static void note_change(void *arg, const struct peer_record *r)
{
    int64_t *last = arg;

    if (r->kind == STORE_NOTE)
        *last = ((const struct note *)r->record)->id;
}

/* How often the server was told this. */
static size_t count_told(const char *words)
{
    AUTO_FREE char *path = mem_fmt("%s/log", server.dir);
    AUTO_BUF log = {0};
    struct err err = {0};
    size_t n = 0;

    if (file_read(path, 64 << 20, &log, &err) < 0)
        fail_msg("%s", err.msg);
    for (const char *at = log.p; (at = strstr(at, words)); at++)
        n++;
    return n;
}

static void wait_until_told(const char *words, size_t times)
{
    int64_t end_ms = clock_mono_ms() + LIMIT_MS;

    while (count_told(words) < times && clock_mono_ms() < end_ms)
        usleep(20000);
    assert_true(count_told(words) >= times);
}

static void wait_for_note(struct event_base *loop, const int64_t *last, int64_t id)
{
    int64_t end_ms = clock_mono_ms() + LIMIT_MS;

    while (*last != id && clock_mono_ms() < end_ms) {
        event_base_loop(loop, EVLOOP_NONBLOCK);
        usleep(10000);
    }
    assert_int_equal(*last, id);
}

static void put_note(struct records *r, int64_t id)
{
    assert_int_equal(records_put(r, STORE_NOTE, &(struct note){.kind = NOTE_SILENCE, .id = id, .bytes = STR("x")}), 0);
}

static void who_lost_the_connection_listens_again_and_misses_nothing(void **unused)
{
    AUTO_FREE char *url = pg_base(&server), *place = place_for_hub(url, 99),
                   *own = mem_fmt("%s?application_name=listens", url);
    struct member_conf conf = {.place = own, .self = {.name = "a", .version = "1", .conf = "c"}};
    struct event_base *loop = event_base_new();
    struct records *other = NULL;
    struct member *m = NULL;
    struct err err = {0};
    int64_t last = 0;
    (void)unused;

    assert_int_equal(pg_sql(&server, "postgres", "ALTER SYSTEM SET log_statement = 'all'"), 0);
    assert_int_equal(pg_sql(&server, "postgres", "SELECT pg_reload_conf()"), 0);
    assert_int_equal(records_open(&other, place, DB_WRITE, &err), 0); /* makes the tables */
    if (member_open(&m, &conf, &err) < 0 || member_follow(m, loop, note_change, &last, &err) < 0)
        fail_msg("%s", err.msg);
    wait_until_told("LISTEN muster", 1);
    put_note(other, 1);
    wait_for_note(loop, &last, 1);
    assert_int_equal(pg_sql(&server, "postgres",
                            "SELECT pg_terminate_backend(pid, 60000) FROM pg_stat_activity"
                            " WHERE application_name = 'listens'"),
                     0);
    put_note(other, 2); /* perhaps while nobody listens */
    wait_until_told("LISTEN muster", 2);
    wait_for_note(loop, &last, 2);
    put_note(other, 3);
    wait_for_note(loop, &last, 3);
    member_close(m);
    records_close(other);
    event_base_free(loop);
}

static int start_all(void **unused)
{
    evthread_use_pthreads();
    return start_server(unused);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(who_lost_the_connection_listens_again_and_misses_nothing),
    };

    cmocka_set_test_filter(getenv("MUSTER_TEST_ONLY"));
    return cmocka_run_group_tests(tests, start_all, end_server);
}
