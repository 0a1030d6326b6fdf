/*
 * test_archive.c: the promises of archive.h, with an in-memory archive: it gets exactly the samples given to the store.
 */
#include "test.h"

#include "history_model.h"
#include "mem_archive.h"

#define DAY (24 * H_HOUR)

static _Atomic int64_t now_ms; /* read by several threads */

static int64_t tell_now(void)
{
    return now_ms;
}

static struct store *open_with(const char *dir, struct archive *a, int64_t keep_ms)
{
    struct store *s = NULL;
    struct err err = {0};
    struct store_conf conf =
        {.dir = dir, .commit_ms = 1, .now_ms = tell_now, .decoder = &hub_decoder, .keep_raw_ms = keep_ms, .archive = a};

    if (store_open(&s, &conf, NULL, &err) < 0)
        fail_msg("%s", err.msg);
    return s;
}

static void send_some(struct store *s, struct h_model *m, int64_t from, int batches)
{
    for (int i = 0; i < batches; i++)
        for (unsigned node = 0; node < H_NODES; node++)
            h_send(s, m, h_batch(m, node, from + i * 10000, 5, 2000), NULL, NULL);
    assert_int_equal(store_flush(s, NULL), 0);
}

static int count_logs(const char *dir)
{
    int n = 0;

    for (int i = 1; i < 40; i++) {
        char name[32];
        snprintf(name, sizeof(name), "log-%d.db", i);
        n += dir_has(dir, name);
    }
    return n;
}

static void check_raw(struct store *s, const struct h_model *m, int64_t from, int64_t to)
{
    for (unsigned node = 0; node < H_NODES; node++) {
        h_check(s, m, node, from, to, H_HOUR, TIER_RAW);
        h_check(s, m, node, from + 12345, from + 400000, 60000, TIER_RAW);
        h_check(s, m, node, from, from + 60000, 1000, -1);
    }
}

static void what_is_no_more_kept_here_is_asked_there(void **unused)
{
    char *dir = dir_new_quick();
    struct h_model m;
    struct mem_archive a;
    int64_t from = h_floor(H0, 2 * H_HOUR);

    (void)unused;
    h_init(&m, 1);
    mem_archive_init(&a);
    now_ms = from + H_HOUR;
    struct store *s = open_with(dir, &a.a, DAY);
    send_some(s, &m, from, 60);
    assert_int_equal(store_settle(s, NULL), 0);
    assert_int_equal(count_logs(dir), 1);
    assert_int_equal(a.n, m.n); /* each value, once */
    check_raw(s, &m, from, from + H_HOUR);
    assert_int_equal(a.asked, 0); /* all of it is here */
    now_ms = from + 26 * H_HOUR + 3 * 60000;
    send_some(s, &m, now_ms - H_HOUR, 6);
    assert_int_equal(store_settle(s, NULL), 0); /* day-old data expires */
    check_raw(s, &m, from, now_ms);             /* half local, half archived, and one bin in both */
    assert_true(a.asked > 0);
    store_close(s);
    s = open_with(dir, &a.a, DAY);
    check_raw(s, &m, from, now_ms);
    assert_int_equal(a.again, 0);
    store_close(s);
    mem_archive_fini(&a);
    h_fini(&m);
    dir_free(dir);
}

static void a_log_waits_while_the_archive_is_away(void **unused)
{
    char *dir = dir_new_quick();
    struct h_model m;
    struct mem_archive a;
    struct store_stat st;
    int64_t from = h_floor(H0, 2 * H_HOUR);

    (void)unused;
    h_init(&m, 2);
    mem_archive_init(&a);
    mem_archive_set(&a, true, false);
    now_ms = from + H_HOUR;
    struct store *s = open_with(dir, &a.a, DAY);
    for (int i = 0; i < 3; i++) {
        send_some(s, &m, from + i * 600000, 5);
        assert_true(store_settle(s, NULL) < 0);
    }
    store_stat(s, &st);
    assert_int_equal(st.archive_logs, 3); /* A1 */
    assert_true(st.archive_bytes > 0 && st.archive_error == -EIO && !st.history_error && !st.last_error);
    assert_string_equal(st.archive_why, "the archive is away");
    check_raw(s, &m, from, from + H_HOUR); /* A4: local in chunks anyway, and read once */
    struct store *tools = NULL;
    assert_int_equal(store_open_tools(&tools, dir, &hub_decoder, NULL), 0);
    check_raw(tools, &m, from, from + H_HOUR); /* the same through store_open_tools() */
    store_close(tools);
    store_close(s);
    s = open_with(dir, &a.a, DAY); /* and after a restart */
    check_raw(s, &m, from, from + H_HOUR);
    mem_archive_set(&a, false, true); /* A2: it has them, but its responses are lost */
    assert_true(store_settle(s, NULL) < 0);
    mem_archive_set(&a, false, false);
    assert_int_equal(store_settle(s, NULL), 0);
    assert_int_equal(a.n, m.n);
    assert_true(a.again > 0);
    assert_int_equal(count_logs(dir), 1);
    store_stat(s, &st);
    assert_true(st.archive_logs == 0 && st.archive_error == 0 && st.archive_missed == 0 && st.archive_rows > 0);
    store_close(s);
    mem_archive_fini(&a);
    h_fini(&m);
    dir_free(dir);
}

static void a_log_waits_no_longer_than_samples_are_kept(void **unused)
{
    char *dir = dir_new_quick();
    struct h_model m;
    struct mem_archive a;
    struct store_stat st;

    (void)unused;
    h_init(&m, 3);
    mem_archive_init(&a);
    mem_archive_set(&a, true, false);
    now_ms = H0;
    struct store *s = open_with(dir, &a.a, DAY);
    send_some(s, &m, H0 - H_HOUR, 5);
    assert_true(store_settle(s, NULL) < 0);
    now_ms += 2 * DAY;
    size_t before = m.n;
    send_some(s, &m, now_ms - H_HOUR, 5);
    assert_true(store_settle(s, NULL) < 0);
    store_stat(s, &st);
    assert_int_equal(st.archive_logs, 1);
    assert_int_equal(st.archive_missed, 1);
    store_close(s);
    s = open_with(dir, &a.a, DAY); /* its row is gone, and so is its file: it does not come back */
    mem_archive_set(&a, false, false);
    assert_int_equal(store_settle(s, NULL), 0);
    assert_int_equal(a.n, m.n - before);
    store_close(s);
    s = open_with(dir, NULL, DAY); /* without an archive nothing waits */
    assert_int_equal(store_settle(s, NULL), 0);
    assert_int_equal(count_logs(dir), 1);
    store_close(s);
    mem_archive_fini(&a);
    h_fini(&m);
    dir_free(dir);
}

static void an_archive_that_is_away_is_named_in_the_answer(void **unused)
{
    char *dir = dir_new_quick();
    struct h_model m;
    struct mem_archive a;
    const char *const devices[] = {"GPU-one"}, *const names[] = {"util"};
    struct history h;

    (void)unused;
    h_init(&m, 4);
    mem_archive_init(&a);
    now_ms = H0;
    struct store *s = open_with(dir, &a.a, DAY);
    struct bins_query ask = {.node = "aa",
                             .devices = devices,
                             .metrics = names,
                             .n_devices = 1,
                             .n_metrics = 1,
                             .from_ms = H0 - 3 * DAY,
                             .to_ms = H0,
                             .step_ms = H_HOUR,
                             .tier = TIER_RAW};
    mem_archive_set(&a, true, false);
    assert_int_equal(store_history(s, &ask, &h, NULL), 0);
    assert_string_equal(h.missing, "the archive is away");
    history_fini(&h);
    ask.from_ms = H0 - H_HOUR; /* local data needs no query of the archive */
    assert_int_equal(store_history(s, &ask, &h, NULL), 0);
    assert_string_equal(h.missing, "");
    history_fini(&h);
    store_close(s);
    mem_archive_fini(&a);
    h_fini(&m);
    dir_free(dir);
}

/* A3: the owner of a row follows takeovers, also if it was sent before the takeover or twice */
static void a_node_that_was_taken_over_is_found_there(void **unused)
{
    char *dir = dir_new_quick();
    struct h_model m;
    struct mem_archive a;
    int64_t from = h_floor(H0, 2 * H_HOUR);

    (void)unused;
    h_init(&m, 5);
    mem_archive_init(&a);
    now_ms = from + H_HOUR;
    struct store *s = open_with(dir, &a.a, DAY);
    send_some(s, &m, from, 12);
    mem_archive_set(&a, false, true);
    assert_true(store_settle(s, NULL) < 0); /* there, and to be sent again */
    send_some(s, &m, from + 300000, 6);
    store_take_over(s, "bb", "aa");
    assert_int_equal(store_flush(s, NULL), 0);
    size_t old = m.n;
    for (int i = 0; i < 6; i++) /* a later sender with that key is another node */
        h_send(s, &m, h_batch(&m, 1, from + 900000 + i * 10000, 5, 2000), NULL, NULL);
    mem_archive_set(&a, false, false);
    assert_int_equal(store_settle(s, NULL), 0);
    now_ms = from + 30 * H_HOUR;
    send_some(s, &m, now_ms - 60000, 1);
    assert_int_equal(store_settle(s, NULL), 0);
    assert_int_equal(a.n, m.n);
    for (size_t i = 0; i < old; i++)
        if (m.v[i].node == 1)
            m.v[i].node = 0;
    check_raw(s, &m, from, now_ms);
    store_close(s);
    mem_archive_fini(&a);
    h_fini(&m);
    dir_free(dir);
}

static void several_nodes_are_one_question(void **unused)
{
    char *dir = dir_new_quick();
    struct h_model m;
    struct mem_archive a;
    struct history one, all[H_NODES];
    struct bins_query asks[H_NODES];
    int64_t from = h_floor(H0, 2 * H_HOUR);

    (void)unused;
    h_init(&m, 6);
    mem_archive_init(&a);
    now_ms = from + H_HOUR;
    struct store *s = open_with(dir, &a.a, DAY);
    send_some(s, &m, from, 30);
    assert_int_equal(store_settle(s, NULL), 0);
    now_ms = from + 30 * H_HOUR;
    for (size_t i = 0; i < H_NODES; i++)
        asks[i] = (struct bins_query){.node = h_nodes[i],
                                      .devices = h_devices,
                                      .metrics = h_metrics,
                                      .n_devices = H_DEVICES,
                                      .n_metrics = H_METRICS,
                                      .from_ms = from,
                                      .to_ms = now_ms,
                                      .step_ms = 60000,
                                      .tier = TIER_RAW};
    assert_int_equal(store_histories(s, asks, H_NODES, all, NULL), 0);
    assert_int_equal(a.asked, 1);
    for (size_t i = 0; i < H_NODES; i++) {
        assert_int_equal(store_history(s, &asks[i], &one, NULL), 0);
        assert_int_equal(one.n_series * one.n, all[i].n_series * all[i].n);
        for (size_t k = 0; k < one.n_series * one.n; k++) { /* not as bytes: there is a gap behind the count */
            const struct bin *x = &one.v[k], *y = &all[i].v[k];
            assert_true(x->count == y->count && x->sum == y->sum && x->min == y->min && x->max == y->max &&
                        x->last == y->last);
        }
        history_fini(&one);
        history_fini(&all[i]);
    }
    assert_int_equal(store_histories(s, asks, 0, all, NULL), 0);
    store_close(s);
    mem_archive_fini(&a);
    h_fini(&m);
    dir_free(dir);
}

TESTS(cmocka_unit_test(what_is_no_more_kept_here_is_asked_there),
      cmocka_unit_test(a_log_waits_while_the_archive_is_away),
      cmocka_unit_test(a_log_waits_no_longer_than_samples_are_kept),
      cmocka_unit_test(an_archive_that_is_away_is_named_in_the_answer),
      cmocka_unit_test(a_node_that_was_taken_over_is_found_there), cmocka_unit_test(several_nodes_are_one_question))
