/* test_ledger.c: hours that are being counted while nodes come and go. */
#include "test.h"

#include <event2/event.h>
#include <event2/thread.h>
#include <sqlite3.h>

#include "base/clock.h"
#include "store_dir.h"
#include "usage/ledger.h"

#define H 3600000ll

struct fix {
    char *dir;
    struct event_base *loop;
    struct store *s;
    struct live *live;
    struct ledger *l;
    int64_t now_ms;
};

static void fix_open(struct fix *f)
{
    struct err err = {0};
    struct zone *utc = NULL;
    struct state_rule rule = {0};
    struct ledger_conf conf = {.every_ms = 60000};

    evthread_use_pthreads();
    *f = (struct fix){.dir = dir_new(), .loop = event_base_new(), .now_ms = clock_wall_ms()};
    f->live = live_new(&rule, NULL, NULL);
    if (store_open(&f->s, &(struct store_conf){.dir = f->dir, .commit_ms = 1}, NULL, &err) < 0 ||
        zone_load("UTC", &utc, &err) < 0)
        fail_msg("%s", err.msg);
    f->l = ledger_new(f->loop, f->s, f->dir, f->live, &utc, 1, &conf);
    assert_non_null(f->l);
    assert_int_equal(ledger_load(f->l, f->now_ms, &err), 0);
}

static void fix_close(struct fix *f)
{
    ledger_free(f->l);
    store_close(f->s);
    live_free(f->live);
    event_base_free(f->loop);
    dir_free(f->dir);
}

static size_t hours_waiting(const struct fix *f)
{
    struct ledger_stat st;

    ledger_stat(f->l, f->now_ms, &st);
    return st.waiting;
}

/* z's hours are the first to be counted; it is taken over before they are, and a's come next. */
static void what_was_counted_of_a_node_that_is_gone_is_dropped(void **unused)
{
    struct fix f;
    struct ledger_stat st;

    (void)unused;
    fix_open(&f);
    ledger_mark(f.l, "a", f.now_ms - 20 * H, f.now_ms - 20 * H, f.now_ms - 10 * H);
    size_t of_a = hours_waiting(&f);
    ledger_mark(f.l, "z", f.now_ms - 20 * H, f.now_ms - 15 * H, f.now_ms - 10 * H);
    size_t of_z = hours_waiting(&f) - of_a;
    assert_true(of_a && of_z > of_a);
    ledger_tick(f.l, f.now_ms);
    store_take_over(f.s, "z", "new");
    ledger_move(f.l, "z", "new", f.now_ms);
    do {
        event_base_loop(f.loop, EVLOOP_ONCE);
        ledger_stat(f.l, f.now_ms, &st);
        assert_string_equal(st.error, "");
    } while (ledger_counted(f.l) == 0);
    assert_int_equal(ledger_counted(f.l), of_a);
    assert_true(hours_waiting(&f) >= of_z); /* as the new one's */
    fix_close(&f);
}

/* Nothing can be written until it is closed. */
static sqlite3 *hold_writes(const struct fix *f)
{
    AUTO_FREE char *path = mem_fmt("%s/muster.db", f->dir);
    sqlite3 *db;

    assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
    sqlite3_busy_timeout(db, 60000);
    assert_int_equal(sqlite3_exec(db, "BEGIN IMMEDIATE", NULL, NULL, NULL), SQLITE_OK);
    return db;
}

/* Who waits for an hour reads it next: until the store has it, it is still waited for. */
static void counted_hours_wait_until_they_can_be_read(void **unused)
{
    struct fix f;
    struct err err = {0};

    (void)unused;
    fix_open(&f);
    ledger_mark(f.l, "a", f.now_ms - 20 * H, f.now_ms - 19 * H, f.now_ms - 10 * H);
    assert_int_equal(store_flush(f.s, &err), 0);
    size_t marked = hours_waiting(&f);
    sqlite3 *db = hold_writes(&f);
    ledger_tick(f.l, f.now_ms);
    while (ledger_counted(f.l) < marked)
        event_base_loop(f.loop, EVLOOP_ONCE);
    assert_int_equal(hours_waiting(&f), 1);
    assert_int_equal(sqlite3_close(db), SQLITE_OK);
    assert_int_equal(store_flush(f.s, &err), 0);
    assert_int_equal(hours_waiting(&f), 0);
    fix_close(&f);
}

static size_t zones_ready(const struct fix *f)
{
    struct ledger_stat st;

    ledger_stat(f->l, f->now_ms, &st);
    return st.n_days;
}

/* Who asks for days reads them next. */
static void days_of_a_new_zone_are_ready_when_they_can_be_read(void **unused)
{
    struct fix f;
    struct err err = {0};
    struct zone *zones[2] = {NULL};
    struct ledger_conf conf = {.every_ms = 60000};

    (void)unused;
    fix_open(&f);
    assert_int_equal(zones_ready(&f), 1);
    ledger_free(f.l);
    assert_int_equal(zone_load("UTC", &zones[0], &err), 0);
    assert_int_equal(zone_load("Asia/Tokyo", &zones[1], &err), 0);
    f.l = ledger_new(f.loop, f.s, f.dir, f.live, zones, 2, &conf);
    assert_int_equal(store_flush(f.s, &err), 0);
    assert_int_equal(ledger_load(f.l, f.now_ms, &err), 0);
    ledger_mark(f.l, "a", f.now_ms - 20 * H, f.now_ms - 19 * H, f.now_ms - 10 * H);
    assert_int_equal(store_flush(f.s, &err), 0);
    sqlite3 *db = hold_writes(&f);
    for (int i = 0; i < 3; i++)
        ledger_tick(f.l, f.now_ms + i);
    assert_int_equal(zones_ready(&f), 1);
    assert_int_equal(sqlite3_close(db), SQLITE_OK);
    assert_int_equal(store_flush(f.s, &err), 0);
    ledger_tick(f.l, f.now_ms + 3);
    assert_int_equal(zones_ready(&f), 2);
    fix_close(&f);
}

/* A sample may make an idle spell of the hour before long enough to be told apart, if there was such an hour. */
static void nothing_is_counted_before_a_nodes_first_hour(void **unused)
{
    struct fix f;
    struct err err = {0};
    struct ledger_conf conf = {.every_ms = 60000, .rule.spell_ms = 2 * H};

    (void)unused;
    fix_open(&f);
    ledger_set(f.l, &conf);
    int64_t hour_ms = f.now_ms / H * H - 48 * H;
    ledger_mark(f.l, "a", hour_ms, hour_ms, hour_ms + 24 * H);
    assert_int_equal(hours_waiting(&f), 3); /* its own, and two that it reaches into */
    assert_int_equal(ledger_first_before(f.l, "a", hour_ms), 0);
    assert_int_equal(ledger_first_before(f.l, "a", hour_ms + H), hour_ms);
    ledger_mark(f.l, "a", hour_ms - H, hour_ms - H, hour_ms + 24 * H);
    assert_int_equal(hours_waiting(&f), 4);
    ledger_tick(f.l, f.now_ms);
    while (ledger_counted(f.l) < 4)
        event_base_loop(f.loop, EVLOOP_ONCE);
    assert_int_equal(store_flush(f.s, &err), 0);
    ledger_mark(f.l, "a", hour_ms + H, hour_ms + H, hour_ms + 24 * H);
    assert_int_equal(hours_waiting(&f), 5); /* one more at the end, and all that it may change */
    fix_close(&f);
}

static int64_t counted_to(const struct fix *f, int64_t now_ms)
{
    struct ledger_stat st;

    ledger_stat(f->l, now_ms, &st);
    return st.counted_to_ms;
}

static void count_more(const struct fix *f, size_t n, int64_t now_ms)
{
    uint64_t counted = ledger_counted(f->l);

    while (ledger_counted(f->l) < counted + n) {
        ledger_tick(f->l, now_ms);
        event_base_loop(f->loop, EVLOOP_ONCE | EVLOOP_NONBLOCK);
        usleep(1000);
    }
}

/* The hour before is marked again for spells that reach into this one: what is in its sums goes up to now. */
static void it_is_counted_up_to_the_last_count_of_the_hour_under_way(void **unused)
{
    struct fix f;
    struct ledger_conf conf = {.every_ms = 60000, .rule.spell_ms = 2 * H};

    (void)unused;
    fix_open(&f);
    ledger_set(f.l, &conf);
    int64_t hour_ms = f.now_ms / H * H - 48 * H, now_ms = hour_ms + H / 2;
    ledger_mark(f.l, "a", hour_ms, now_ms, now_ms);
    count_more(&f, 1, now_ms);
    assert_int_equal(counted_to(&f, now_ms), now_ms);
    count_more(&f, 1, hour_ms + 2 * H - 60000);
    now_ms = hour_ms + H + H / 2;
    ledger_mark(f.l, "a", now_ms, now_ms, now_ms);
    count_more(&f, 1, now_ms);
    assert_int_equal(counted_to(&f, now_ms), now_ms);
    fix_close(&f);
}

/* L2, after 400 days of nothing: what the store is given at once is bounded, and all hours come to be marked. */
static void a_long_gap_is_marked_bit_by_bit(void **unused)
{
    struct fix f;
    struct err err = {0};
    struct store_stat st;
    const int64_t days = 400, nodes = 3;
    char key[8];

    (void)unused;
    fix_open(&f);
    for (int64_t i = 0; i < 2 * nodes; i++) { /* all of them long ago, then all now */
        int64_t at_ms = i < nodes ? f.now_ms - days * 24 * H : f.now_ms;
        snprintf(key, sizeof(key), "n%lld", (long long)(i % nodes));
        ledger_mark(f.l, key, at_ms, at_ms, f.now_ms);
    }
    size_t all = hours_waiting(&f);
    assert_in_range(all, days * 24 * nodes - 2 * nodes, days * 24 * nodes + 2 * nodes);
    assert_int_equal(store_flush(f.s, &err), 0);
    store_stat(f.s, &st);
    assert_in_range(st.records, 2 * nodes, 10 * nodes);
    for (int i = 1; i < days * 24 * nodes / 2000 + 2; i++) {
        uint64_t before = st.records;
        ledger_tick(f.l, f.now_ms + i * 1000ll);
        assert_int_equal(store_flush(f.s, &err), 0);
        store_stat(f.s, &st);
        assert_in_range(st.records - before, 1, 4000); /* and what was counted meanwhile */
    }
    assert_in_range(st.records, days * 24 * nodes - 2 * nodes, UINT32_MAX);
    fix_close(&f);
}

static int64_t tell_part(void *arg, UNUSED unsigned part)
{
    return *(const int64_t *)arg;
}

static void take_newest(void *arg, UNUSED const char *node, UNUSED int64_t at_ms, int64_t seq)
{
    int64_t *newest = arg;
    *newest = MAX(*newest, seq);
}

static int64_t newest_mark(const struct fix *f)
{
    int64_t seq = 0;

    assert_int_equal(store_flush(f->s, NULL), 0);
    assert_true(store_each(f->s, EACH_USAGE_MARK(take_newest, &seq), NULL) >= 0);
    return seq;
}

struct marks_of {
    const char *node;
    size_t n;
};

static void count_mark(void *arg, const char *node, UNUSED int64_t at_ms, UNUSED int64_t seq)
{
    struct marks_of *m = arg;
    m->n += strcmp(node, m->node) == 0;
}

static size_t hours_of(const struct fix *f, const char *node)
{
    struct marks_of m = {.node = node};

    assert_int_equal(store_flush(f->s, NULL), 0);
    assert_true(store_each(f->s, EACH_USAGE_MARK(count_mark, &m), NULL) >= 0);
    return m.n;
}

/* L4 */
static void what_another_hub_counts_is_noted_for_it_until_it_is_this_ones_to_count(void **unused)
{
    struct fix f;
    int64_t epoch = -1;
    struct ledger_conf conf = {.every_ms = 60000, .part = tell_part, .epoch_arg = &epoch};

    (void)unused;
    fix_open(&f);
    ledger_set(f.l, &conf);
    ledger_tick(f.l, f.now_ms);
    assert_false(ledger_counts_all(f.l));
    ledger_mark(f.l, "a", f.now_ms - 20 * H, f.now_ms - 20 * H, f.now_ms);
    int64_t first = newest_mark(&f);
    assert_true(first > 0);
    ledger_mark(f.l, "a", f.now_ms - 20 * H, f.now_ms - 20 * H, f.now_ms); /* of the same request */
    assert_int_equal(newest_mark(&f), first);
    ledger_mark(f.l, "a", f.now_ms - 20 * H, f.now_ms - 20 * H, f.now_ms + 1000); /* it may be counted by now */
    assert_true(newest_mark(&f) > first);
    ledger_tick(f.l, f.now_ms + 70000);
    event_base_loop(f.loop, EVLOOP_NONBLOCK);
    assert_int_equal(ledger_counted(f.l), 0);
    ledger_take_mark(f.l, &(struct usage_mark){"b", (f.now_ms - 9 * H) / H * H, f.now_ms}, f.now_ms);
    assert_int_equal(hours_of(&f, "b"), 0);
    epoch = 0;
    ledger_tick(f.l, f.now_ms + 71000);
    assert_true(ledger_counts_all(f.l));
    for (int i = 9; i >= 3; i -= 6) /* L2: hours in between are marked with it */
        ledger_take_mark(f.l, &(struct usage_mark){"b", (f.now_ms - i * H) / H * H, f.now_ms}, f.now_ms + 71000);
    assert_int_equal(hours_of(&f, "b"), 6); /* the first is the other hub's to put */
    while (ledger_counted(f.l) == 0) {
        event_base_loop(f.loop, EVLOOP_ONCE);
        ledger_tick(f.l, f.now_ms + 80000);
    }
    fix_close(&f);
}

TESTS(cmocka_unit_test(it_is_counted_up_to_the_last_count_of_the_hour_under_way),
      cmocka_unit_test(a_long_gap_is_marked_bit_by_bit),
      cmocka_unit_test(days_of_a_new_zone_are_ready_when_they_can_be_read),
      cmocka_unit_test(nothing_is_counted_before_a_nodes_first_hour),
      cmocka_unit_test(what_was_counted_of_a_node_that_is_gone_is_dropped),
      cmocka_unit_test(counted_hours_wait_until_they_can_be_read),
      cmocka_unit_test(what_another_hub_counts_is_noted_for_it_until_it_is_this_ones_to_count))
