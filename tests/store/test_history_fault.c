/*
 * test_history_fault.c: H1 when the disk fails or the power is lost while logs are compacted, chunks are merged and old
 * ones deleted. The scenario runs repeatedly with the first, second, third ... disk access failing. After each run the
 * folder is opened on a good disk and everything is sent again, as agents would. Every sample must be there once, in
 * every tier.
 */
#include "test.h"

#include <errno.h>

#include "fault_vfs.h"
#include "history_model.h"

static int64_t now_ms;

static int64_t tell_now(void)
{
    return now_ms;
}

static struct store *open_dir(const char *dir)
{
    struct store_conf conf = {.dir = dir,
                              .commit_ms = 1,
                              .rotate_bytes = 3000,
                              .now_ms = tell_now,
                              .decoder = &hub_decoder};
    struct store *s = NULL;

    return store_open(&s, &conf, NULL, NULL) == 0 ? s : NULL;
}

static void count_kept(void *arg, int result)
{
    *(int *)arg = result;
}

#define BATCHES 9

/* False when it met no failure. */
static bool play(enum fault_mode mode, long at)
{
    char *dir = dir_new_quick();
    struct h_model m;
    int kept[BATCHES];
    struct err err = {0};

    for (int i = 0; i < BATCHES; i++)
        kept[i] = -EIO;
    h_init(&m, 1);
    for (int i = 0; i < BATCHES; i++)
        h_batch(&m, (unsigned)i % H_NODES, H0 + i / H_NODES * 50000, 4, 5000);
    now_ms = H0;
    fault_arm(mode, at);
    struct store *s = open_dir(dir);
    for (int i = 0; s && i < BATCHES; i++) {
        h_send(s, &m, &m.sent[i], count_kept, &kept[i]);
        if (i % H_NODES == H_NODES - 1)
            store_settle(s, NULL);
    }
    now_ms = H0 + 50 * 24 * H_HOUR; /* all buckets are over: merge */
    if (s)
        store_settle(s, NULL);
    store_close(s);
    bool hit = fault_was_hit();
    if (mode == FAULT_POWER)
        fault_power_returns((uint64_t)at);
    fault_arm(FAULT_NONE, 0);

    s = open_dir(dir);
    assert_non_null(s);
    for (int i = 0; i < BATCHES; i++)
        if (kept[i] == 0) /* T1: acknowledged batches need not be sent again */
            assert_true(store_has(s, h_nodes[m.sent[i].node], m.sent[i].run, m.sent[i].number));
    for (int i = 0; i < BATCHES; i++)
        h_send(s, &m, &m.sent[i], NULL, NULL);
    for (int i = 0; i < 2; i++) {
        if ((i ? store_settle(s, &err) : store_flush(s, &err)) < 0)
            fail_msg("%s", err.msg);
        for (unsigned node = 0; node < H_NODES; node++) {
            h_check(s, &m, node, H0, H0 + H_HOUR, 60000, TIER_RAW);
            h_check(s, &m, node, H0, H0 + H_HOUR, 60000, TIER_MINUTE);
            h_check(s, &m, node, H0, H0 + H_HOUR, H_HOUR, TIER_HOUR);
        }
    }
    store_close(s);
    h_fini(&m);
    dir_free(dir);
    return hit;
}

/*
 * Fails every 8th access, or every access if MUSTER_TEST_ALL is set, which takes a minute. Fewer with sanitizers, as in
 * test_life_fault.c.
 */
static void play_all(enum fault_mode mode, long first)
{
    long step = getenv("MUSTER_TEST_ALL") ? 1 : getenv("MUSTER_SAN") ? 8 * 8 : 8, at = step == 1 ? 1 : first, n = 1;

    fault_install();
    for (; play(mode, at); at += step)
        n++;
    print_message("about %ld accesses to the disk, %ld tried\n", at - 1, n);
    assert_true(at > 100); /* the scenario does reach the disk */
}

static void one_access_fails(void **unused)
{
    (void)unused;
    play_all(FAULT_ONCE, 1);
}

static void the_disk_dies(void **unused)
{
    (void)unused;
    play_all(FAULT_DEAD, 3);
}

static void the_disk_is_full(void **unused)
{
    (void)unused;
    play_all(FAULT_FULL, 5);
}

static void the_power_goes(void **unused)
{
    (void)unused;
    play_all(FAULT_POWER, 2);
}

TESTS(cmocka_unit_test(one_access_fails), cmocka_unit_test(the_disk_dies), cmocka_unit_test(the_disk_is_full),
      cmocka_unit_test(the_power_goes))
