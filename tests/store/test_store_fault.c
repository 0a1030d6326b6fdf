/*
 * test_store_fault.c: the store's promises on a failing disk. A small scenario runs repeatedly with the first, second,
 * third ... disk access failing, until one run has no failure. After each run the folder is opened on a good disk and
 * checked.
 */
#include "test.h"

#include <errno.h>
#include <event2/event.h>

#include "fault_vfs.h"
#include "scan_store.h"
#include "store_dir.h"

#define BATCHES   6
#define ROUNDS    3 /* flushes: batches come in groups */
#define FRAME     700
#define NODE_NAME "n"

struct play {
    char *dir;
    struct store *s;
    int result[BATCHES + 1]; /* 1: done was not called */
    bool token, full;
    bool kept[BATCHES + 1];
    int copies[BATCHES + 1];
    int torn, blobless;
    struct err why;
};

static uint64_t blob_of(uint64_t number)
{
    return number <= BATCHES / 2 ? 77 : 78; /* facts change once */
}

struct notified {
    struct play *p;
    uint64_t number;
};

static void tell(void *arg, int result)
{
    struct notified *t = arg;

    assert_int_equal(t->p->result[t->number], 1); /* T5: once */
    t->p->result[t->number] = result;
    t->p->full |= result == -ENOSPC;
    free(t);
}

static int play_open(struct play *p)
{
    struct store_conf conf = {.dir = p->dir, .commit_ms = 1, .rotate_bytes = 2 * FRAME};
    struct err err = {0};

    p->s = NULL;
    int r = store_open(&p->s, &conf, NULL, &err);
    p->why = err;
    if (r < 0)
        assert_true(err.msg[0]); /* one sentence */
    return r;
}

static void play_append(struct play *p, uint64_t number)
{
    char bytes[FRAME];
    struct store_batch b = batch_make(NODE_NAME, 9, number, bytes, sizeof(bytes));
    struct notified *t = mem_alloc(sizeof(*t));

    *t = (struct notified){p, number};
    p->result[number] = 1;
    b.facts = blob_of(number);
    if (store_get_blob(p->s, NODE_NAME, b.facts, NULL, NULL) != 1)
        store_put_blob(p->s, NODE_NAME, BLOB_FACTS, b.facts, STR("facts"));
    store_append(p->s, &b, 1, tell, t);
}

static void play_scenario(struct play *p)
{
    struct store_token t = {.id = "k", .role = "agent"};

    for (int i = 0; i <= BATCHES; i++)
        p->result[i] = -EIO;
    if (play_open(p) < 0)
        return;
    for (uint64_t i = 1; i <= BATCHES; i++) {
        play_append(p, i);
        if (i % (BATCHES / ROUNDS) == 0)
            store_flush(p->s, NULL);
        if (i == BATCHES / 2)
            p->token = store_put_now(p->s, STORE_TOKEN, &t, NULL) == 0;
    }
    store_flush(p->s, NULL);
}

static int play_count(void *arg, const struct store_batch *b)
{
    struct play *p = arg;
    AUTO_BUF blob = BUF_INIT(100);

    assert_true(b->number >= 1 && b->number <= BATCHES);
    p->copies[b->number]++;
    p->torn += b->bytes.len != FRAME || !batch_whole(b);
    p->blobless += store_get_blob(p->s, NODE_NAME, b->facts, &blob, NULL) != 1;
    return 0;
}

/* T1, T2, T3, W2 on a sound disk; then everything is sent again, as agents would. */
static void play_check(struct play *p)
{
    struct err err = {0};
    struct store_token t;

    if (play_open(p) < 0)
        fail_msg("%s", p->why.msg);
    for (int again = 0; again < 2; again++) {
        memset(p->copies, 0, sizeof(p->copies));
        p->torn = p->blobless = 0;
        if (scan_store(p->s, play_count, p, &err) < 0)
            fail_msg("%s", err.msg);
        for (uint64_t i = 1; i <= BATCHES; i++) {
            if (again || p->kept[i])
                assert_int_equal(p->copies[i], 1);
            assert_true(p->copies[i] <= 1);
            assert_int_equal(store_has(p->s, NODE_NAME, 9, i), p->copies[i]);
        }
        assert_int_equal(p->torn, 0);
        assert_int_equal(p->blobless, 0);
        for (uint64_t i = 1; i <= BATCHES && !again; i++)
            play_append(p, i);
        assert_int_equal(store_flush(p->s, &err), 0);
        for (uint64_t i = 1; i <= BATCHES; i++)
            assert_int_equal(p->result[i], 0);
    }
    if (p->token)
        assert_int_equal(store_get(p->s, GET_TOKEN("k", &t), NULL), 1);
    store_close(p->s);
}

/* One run with the at-th access failing. False when it met no failure. */
static bool play(enum fault_mode mode, long at)
{
    struct play p = {.dir = dir_new_quick()};

    fault_arm(mode, at);
    play_scenario(&p);
    bool hit = fault_was_hit();
    if (mode == FAULT_FULL && p.s) { /* T8: there is space again, without a restart */
        fault_arm(FAULT_NONE, 0);
        for (uint64_t i = 1; i <= BATCHES; i++)
            if (p.result[i] < 0) {
                assert_int_equal(p.result[i], -ENOSPC);
                play_append(&p, i);
            }
        assert_int_equal(store_flush(p.s, NULL), 0);
        for (uint64_t i = 1; i <= BATCHES; i++)
            assert_int_equal(p.result[i], 0);
    }
    store_close(p.s);
    for (int i = 1; i <= BATCHES; i++) {
        assert_int_not_equal(p.result[i], 1); /* T5: done was called for each */
        p.kept[i] = p.result[i] == 0;
    }
    if (mode == FAULT_POWER)
        fault_power_returns((uint64_t)at);
    fault_arm(FAULT_NONE, 0);
    play_check(&p);
    dir_free(p.dir);
    return hit;
}

/* Every access, or with sanitizers every fifth: each takes ten times as long there. */
static void play_all(enum fault_mode mode)
{
    long at = 1, step = getenv("MUSTER_SAN") ? 5 : 1;

    fault_install();
    for (; play(mode, at); at += step)
        print_message("%ld ", at);
    print_message("%ld accesses to the disk\n", at - 1);
    assert_true(at > 40); /* the scenario does reach the disk */
}

static void one_access_fails(void **unused)
{
    (void)unused;
    play_all(FAULT_ONCE);
}

static void the_disk_dies(void **unused)
{
    (void)unused;
    play_all(FAULT_DEAD);
}

static void t8_the_disk_is_full_and_then_is_not(void **unused)
{
    (void)unused;
    play_all(FAULT_FULL);
}

static void t1_the_power_goes(void **unused)
{
    (void)unused;
    play_all(FAULT_POWER);
}

/* ---- a slow disk ---- */

static void count_results(void *arg, int result)
{
    int *n = arg; /* by kind: done, refused, else */

    n[result == 0 ? 0 : result == -EAGAIN ? 1 : 2]++;
}

static void t4_the_caller_never_waits_and_the_queue_is_bounded(void **unused)
{
    struct play p = {.dir = dir_new_quick()};
    struct store_conf conf = {.dir = p.dir, .commit_ms = 1, .queue_bytes = 20000};
    char bytes[30000];
    int n[3] = {0};
    struct store_stat st;
    struct event_base *loop = event_base_new();

    (void)unused;
    fault_install();
    assert_int_equal(store_open(&p.s, &conf, loop, NULL), 0);
    fault_arm(FAULT_STALL, 0);
    for (uint64_t i = 1; i <= 100; i++) { /* 100 000 bytes; it would hang here */
        struct store_batch b = batch_make(NODE_NAME, 1, i, bytes, 1000);
        store_append(p.s, &b, 1, count_results, n);
    }
    store_stat(p.s, &st);
    assert_true(st.queue_bytes > 10000 && st.queue_bytes <= 20000 + 1000);
    while (n[1] == 0)
        event_base_loop(loop, EVLOOP_ONCE);
    assert_true(n[1] >= 80); /* refused, and reported immediately */
    assert_int_equal(n[0] + n[2], 0);
    assert_false(store_has(p.s, NODE_NAME, 1, 1)); /* not yet durable */
    struct store_batch big = batch_make(NODE_NAME, 1, 200, bytes, sizeof(bytes));
    store_append(p.s, &big, 1, count_results, n); /* can never fit: the error must not suggest a retry */
    while (n[2] == 0)
        event_base_loop(loop, EVLOOP_ONCE);
    assert_int_equal(n[2], 1);
    fault_arm(FAULT_NONE, 0);
    while (n[0] + n[1] + n[2] < 101)
        event_base_loop(loop, EVLOOP_ONCE);
    assert_true(store_has(p.s, NODE_NAME, 1, 1));
    struct store_batch late = batch_make(NODE_NAME, 1, 100, bytes, 1000);
    store_append(p.s, &late, 1, count_results, n); /* there is room again */
    assert_int_equal(store_flush(p.s, NULL), 0);
    assert_true(store_has(p.s, NODE_NAME, 1, 100));
    store_close(p.s);
    assert_int_equal(n[0] + n[1] + n[2], 102);
    event_base_free(loop);
    dir_free(p.dir);
}

static void a_batch_waits_for_a_blob_that_found_no_room(void **unused)
{
    struct play p = {.dir = dir_new_quick()};
    struct store_conf conf = {.dir = p.dir, .commit_ms = 1, .queue_bytes = 1000};
    AUTO_FREE char *bytes = mem_zero(1, 20 << 20);
    int n[3] = {0};
    struct store_stat st;

    (void)unused;
    fault_install();
    assert_int_equal(store_open(&p.s, &conf, NULL, NULL), 0);
    store_put_blob(p.s, NODE_NAME, BLOB_FACTS, 5, str_n(bytes, 20 << 20)); /* more than the queue ever accepts */
    assert_false(store_get_blob(p.s, NODE_NAME, 5, NULL, NULL) == 1);
    struct store_batch b = batch_make(NODE_NAME, 1, 1, bytes, 100);
    b.facts = 5;
    store_append(p.s, &b, 1, count_results, n);
    assert_int_equal(store_flush(p.s, NULL), 0);
    assert_int_equal(n[1], 1);
    store_put_blob(p.s, NODE_NAME, BLOB_FACTS, 5, STR("facts"));
    store_append(p.s, &b, 1, count_results, n);
    assert_int_equal(store_flush(p.s, NULL), 0);
    assert_int_equal(n[0], 1);
    store_stat(p.s, &st);
    assert_int_equal(st.lost, 1);
    store_close(p.s);
    dir_free(p.dir);
}

static void count_event(void *arg, const char *node, const char *device, const struct node_event *e)
{
    (void)node;
    (void)device;
    (void)e;
    ++*(int *)arg;
}

static void records_are_tried_again_until_they_are_durable(void **unused)
{
    struct play p = {.dir = dir_new_quick()};
    struct node_event e = {.at_ms = 1, .kind = EVENT_XID};
    struct store_stat st;
    int n = 0;

    (void)unused;
    fault_install();
    assert_int_equal(play_open(&p), 0);
    play_append(&p, 1);
    assert_int_equal(store_flush(p.s, NULL), 0);
    fault_arm(FAULT_FULL, 1);
    play_append(&p, 2);
    assert_int_equal(store_flush(p.s, NULL), -ENOSPC);
    assert_int_equal(store_flush(p.s, NULL), 0); /* reported once */
    /* stored already: needs no disk access, and says nothing about the disk */
    play_append(&p, 1);
    assert_int_equal(store_flush(p.s, NULL), 0);
    assert_int_equal(p.result[1], 0);
    store_put(p.s, STORE_EVENT, &(struct store_event){NODE_NAME, NULL, e}, 1, NULL, NULL);
    assert_int_equal(store_flush(p.s, NULL), -ENOSPC);
    store_stat(p.s, &st);
    assert_int_equal(st.last_error, -ENOSPC);
    assert_non_null(strstr(st.error, "muster.db"));
    assert_non_null(strstr(st.error, "No space left"));
    e.at_ms = 2;
    store_put(p.s, STORE_EVENT, &(struct store_event){NODE_NAME, NULL, e}, 1, NULL, NULL);
    fault_arm(FAULT_NONE, 0);
    assert_int_equal(store_flush(p.s, NULL), 0);
    assert_int_equal(store_each(p.s, EACH_EVENT(count_event, &n, .limit = 10), NULL), 0);
    assert_int_equal(n, 2);
    store_stat(p.s, &st);
    assert_int_equal(st.last_error, 0);
    assert_string_equal(st.error, "");
    assert_int_equal(st.lost, 0);
    store_close(p.s);
    dir_free(p.dir);
}

static void on_stored(void *arg, int result)
{
    *(int *)arg = result;
}

static void what_has_a_result_is_refused_while_the_disk_is_full(void **unused)
{
    struct play p = {.dir = dir_new_quick()};
    struct job_fact *got, j = {.id = 7,
                               .start_ms = 1000,
                               .name = "train",
                               .kind = "",
                               .person = "kim",
                               .owner = "",
                               .node = "",
                               .devices = "",
                               .pids = "",
                               .attrs = ""};
    int result = 1;

    (void)unused;
    fault_install();
    assert_int_equal(play_open(&p), 0);
    fault_arm(FAULT_FULL, 1);
    store_put(p.s, STORE_JOB, &j, 1, on_stored, &result);
    store_flush(p.s, NULL);
    fault_arm(FAULT_NONE, 0);
    assert_int_equal(result, -ENOSPC);
    assert_int_equal(store_flush(p.s, NULL), 0);
    assert_int_equal(store_get(p.s, GET_JOB(7, &got), NULL), 0); /* not retried: the caller got the error */
    store_put(p.s, STORE_JOB, &j, 1, on_stored, &result);
    assert_int_equal(store_flush(p.s, NULL), 0);
    assert_int_equal(result, 0);
    store_close(p.s);
    dir_free(p.dir);
}

TESTS(cmocka_unit_test(one_access_fails), cmocka_unit_test(the_disk_dies),
      cmocka_unit_test(t8_the_disk_is_full_and_then_is_not), cmocka_unit_test(t1_the_power_goes),
      cmocka_unit_test(t4_the_caller_never_waits_and_the_queue_is_bounded),
      cmocka_unit_test(a_batch_waits_for_a_blob_that_found_no_room),
      cmocka_unit_test(records_are_tried_again_until_they_are_durable),
      cmocka_unit_test(what_has_a_result_is_refused_while_the_disk_is_full))
