/*
 * test_life_fault.c: the whole life of a store on a failing disk. A folder of the oldest format is upgraded, batches
 * are appended, logs rotate and are compacted, a node is taken over, old chunks expire by size and by age, the file is
 * vacuumed. The life is repeated with another disk access failing each time: once, permanently, because the disk is
 * full, or because the power is lost. Afterwards, on a good disk, acknowledged data is there once, in every tier that
 * still keeps it.
 */
#include "test.h"

#include <errno.h>

#include "fault_vfs.h"
#include "history_model.h"
#include "store/chunks.h"

#define OLD     6 /* batches in the old folder */
#define ALL     15
#define DAY     (24 * H_HOUR)
#define H1      (H0 + 3 * DAY) /* when the new ones come */
#define LATE    (H0 + 31 * DAY)
#define KEEP    (30 * DAY)
#define BYTES   (1 << 20)
#define JUNK    56 /* chunks that are in the way: of a bucket that is too old, and of one that is too much */
#define JUNK_KB 64
#define SMALL   (11 << 19) /* 1024 free pages may stay */
#define GONE    "zz"       /* the node taken over by cc */

static int64_t now_ms;
static long tried;

static int64_t tell_now(void)
{
    return now_ms;
}

static struct store *open_dir(const char *dir)
{
    struct store_conf conf = {.dir = dir,
                              .commit_ms = 1,
                              .rotate_bytes = 3000,
                              .keep_raw_ms = KEEP,
                              .keep_bytes = BYTES,
                              .now_ms = tell_now,
                              .decoder = &hub_decoder};
    struct err err = {0};
    struct store *s = NULL;
    int r = store_open(&s, &conf, NULL, &err);

    if (r < 0)
        assert_true(err.msg[0]); /* one sentence */
    return r == 0 ? s : NULL;
}

static void note_kept(void *arg, int result)
{
    *(int *)arg = result;
}

static bool is_gone(int i) /* sent by the node that is taken over */
{
    return i < OLD && i % H_NODES == 2;
}

static void send_one(struct store *s, const struct h_model *m, int i, int *kept)
{
    const struct h_sent *x = &m->sent[i];
    const char *node = is_gone(i) ? GONE : h_nodes[x->node];
    struct store_batch b = {.node = node,
                            .run = x->run,
                            .number = x->number,
                            .facts = x->facts,
                            .at_ms = x->at_ms,
                            .shift_ms = x->shift_ms,
                            .bytes = {x->bytes, x->len}};

    if (store_get_blob(s, node, x->facts, NULL, NULL) != 1)
        store_put_blob(s, node, BLOB_FACTS, x->facts, buf_str(&m->facts));
    store_append(s, &b, 1, kept ? note_kept : NULL, kept);
}

static void make_model(struct h_model *m)
{
    h_init(m, 1);
    for (int i = 0; i < ALL; i++)
        h_batch(m, (unsigned)i % H_NODES, (i < OLD ? H0 : H1) + i / H_NODES * 50000, 4, 5000);
}

/* ---- the old folder ---- */

static void exec(const char *dir, const char *sql)
{
    AUTO_FREE char *path = mem_fmt("%s/muster.db", dir);
    sqlite3 *h;

    assert_int_equal(sqlite3_open(path, &h), SQLITE_OK);
    if (sqlite3_exec(h, sql, NULL, NULL, NULL) != SQLITE_OK)
        fail_msg("%s", sqlite3_errmsg(h));
    sqlite3_close(h);
}

/* muster.db as the first version of it was, with the rows it has now. */
static void make_old_format(const char *dir)
{
    AUTO_FREE char *now = mem_fmt("%s/muster.db", dir), *was = mem_fmt("%s/was.db", dir);
    AUTO_BUF schema = {0};
    struct err err = {0};

    assert_int_equal(rename(now, was), 0);
    if (file_read("tests/kit/data/muster-v1.sql", 1 << 20, &schema, &err) < 0)
        fail_msg("%s", err.msg);
    exec(dir, buf_str(&schema).p);
    AUTO_FREE char *copy = mem_fmt("ATTACH '%s' AS was;"
                                   "INSERT INTO logs SELECT n, batches, bytes, first_ms, last_ms FROM was.logs;"
                                   "INSERT INTO seen SELECT node, run, last_log, ranges FROM was.seen;"
                                   "INSERT INTO blobs SELECT node, id, kind, last_log, bytes FROM was.blobs",
                                   was);
    exec(dir, copy);
    unlink(was);
}

static void make_junk(const char *dir)
{
    struct chunks *c;
    AUTO_FREE char *bytes = mem_zero(1, JUNK_KB << 10);
    int64_t node;

    assert_int_equal(chunks_open(&c, dir, DB_WRITE, NULL), 0);
    assert_int_equal(chunks_begin(c, true), 0);
    assert_int_equal(chunks_node(c, "junk", true, &node), 1);
    for (int i = 0; i < 2 * JUNK; i++) {
        struct chunk_row row = {.node = node,
                                .tier = TIER_RAW,
                                .bucket = floor_to(i % 2 ? H0 - 60 * DAY : H0 - DAY, tier_bucket_ms(TIER_RAW)),
                                .level = CHUNK_FINAL,
                                .bytes = {bytes, JUNK_KB << 10}};
        row.from_ms = row.to_ms = row.bucket;
        assert_int_equal(chunks_put(c, &row), 0);
    }
    assert_int_equal(chunks_end(c, 0, NULL), 0);
    chunks_close(c);
}

static char *make_old(void)
{
    char *dir = dir_new_quick();
    struct store_conf conf = {.dir = dir, .commit_ms = 1, .rotate_bytes = 1500};
    struct store *s;
    struct h_model m;

    make_model(&m);
    fault_arm(FAULT_NONE, 0);
    assert_int_equal(store_open(&s, &conf, NULL, NULL), 0);
    for (int i = 0; i < OLD; i++) {
        send_one(s, &m, i, NULL);
        assert_int_equal(store_flush(s, NULL), 0);
    }
    store_close(s);
    h_fini(&m);
    make_old_format(dir);
    make_junk(dir);
    return dir;
}

/* ---- one life, and its remaining data ---- */

static void check_gone(struct store *s, unsigned node)
{
    struct bins_query ask = {.node = h_nodes[node],
                             .devices = h_devices,
                             .metrics = h_metrics,
                             .n_devices = H_DEVICES,
                             .n_metrics = H_METRICS,
                             .from_ms = H0 - DAY,
                             .to_ms = H0 + DAY,
                             .step_ms = H_HOUR,
                             .tier = TIER_RAW};
    struct history h;

    assert_int_equal(store_history(s, &ask, &h, NULL), 0);
    for (size_t i = 0; i < h.n * h.n_series; i++)
        assert_int_equal(h.v[i].count, 0);
    history_fini(&h);
}

/* Everything that was not acknowledged comes again, as agents would send it; then every sample counts once. */
static void make_good(struct store *s, const struct h_model *m, int *kept)
{
    struct err err = {0};

    for (int turn = 0; turn < 2; turn++) { /* again, where facts have gone for their age meanwhile: they come, too */
        for (int i = OLD; i < ALL; i++)
            if (kept[i] < 0)
                send_one(s, m, i, &kept[i]);
        if (store_flush(s, &err) < 0)
            fail_msg("%s", err.msg);
    }
    store_take_over(s, GONE, "cc"); /* the hub does so again when it does not remember it */
    for (int i = OLD; i < ALL; i++)
        assert_int_equal(kept[i], 0);
    for (int i = 0; i < 2; i++) {
        if ((i ? store_settle(s, &err) : store_flush(s, &err)) < 0)
            fail_msg("%s", err.msg);
        for (unsigned node = 0; node < H_NODES; node++) {
            h_check(s, m, node, H1, H1 + H_HOUR, 60000, TIER_RAW);
            h_check(s, m, node, H1, H1 + H_HOUR, 60000, TIER_MINUTE);
            h_check(s, m, node, H0, H0 + H_HOUR, 60000, TIER_MINUTE);
            h_check(s, m, node, H0, H0 + 4 * DAY, H_HOUR, TIER_HOUR);
            if (i)
                check_gone(s, node);
        }
    }
}

static void live(struct store *s, const struct h_model *m, int *kept)
{
    for (int i = OLD; s && i < ALL; i++) {
        send_one(s, m, i, &kept[i]);
        if (i % H_NODES == H_NODES - 1)
            store_settle(s, NULL);
        if (i == OLD + H_NODES)
            store_take_over(s, GONE, "cc");
    }
    if (s)
        store_settle(s, NULL);
    now_ms = LATE; /* the old raw bucket goes, all buckets are over */
    if (s)
        store_settle(s, NULL);
}

/* False when it met no failure. */
static bool play(const char *old, enum fault_mode mode, long at)
{
    char *dir = dir_new_quick();
    struct h_model m;
    int kept[ALL];

    dir_each(old, dir_copy_one, dir);
    make_model(&m);
    for (int i = 0; i < ALL; i++)
        kept[i] = -EIO;
    now_ms = H1;
    fault_arm(mode, at);
    struct store *s = open_dir(dir);
    live(s, &m, kept);
    bool hit = fault_was_hit();
    if (s && mode == FAULT_FULL) { /* T8: there is space again, without a restart */
        fault_arm(FAULT_NONE, 0);
        make_good(s, &m, kept);
    }
    store_close(s);
    if (mode == FAULT_POWER)
        fault_power_returns((uint64_t)at);
    fault_arm(FAULT_NONE, 0);

    s = open_dir(dir);
    assert_non_null(s);
    for (int i = OLD; i < ALL; i++) /* T1: acknowledged batches need not be sent again */
        if (kept[i] == 0)
            assert_true(store_has(s, h_nodes[m.sent[i].node], m.sent[i].run, m.sent[i].number));
    make_good(s, &m, kept);
    store_close(s);
    assert_true(dir_bytes(dir) < SMALL); /* the junk went, and its pages with it */
    h_fini(&m);
    dir_free(dir);
    tried += hit;
    return hit;
}

/*
 * Fails every 381st access, or every access if MUSTER_TEST_ALL is set, which takes minutes. With sanitizers each takes
 * ten times as long, and fewer are tried; builds without sanitizers cover the same accesses.
 */
static void play_all(enum fault_mode mode, long first)
{
    long step = getenv("MUSTER_TEST_ALL") ? 1
                : getenv("MUSTER_SAN")    ? 127 * 12
                                          : 127 * 3,
         at = step == 1 ? 1 : first, n = 0;

    fault_install();
    char *old = make_old();
    for (; play(old, mode, at); at += step)
        n++;
    print_message("about %ld accesses to the disk, %ld tried: lost 0, doubled 0\n", at - 1, n);
    assert_true(at > 1000); /* it does reach the disk */
    dir_free(old);
}

static void one_access_fails(void **unused)
{
    (void)unused;
    play_all(FAULT_ONCE, 1);
}

static void the_disk_dies(void **unused)
{
    (void)unused;
    play_all(FAULT_DEAD, 11);
}

static void the_disk_is_full_and_then_is_not(void **unused)
{
    (void)unused;
    play_all(FAULT_FULL, 21);
}

static void the_power_goes(void **unused)
{
    (void)unused;
    play_all(FAULT_POWER, 31);
}

static void so_many_points_were_tried(void **unused)
{
    (void)unused;
    print_message("%ld points of failure tried: lost 0, doubled 0\n", tried);
    assert_true(tried > (getenv("MUSTER_SAN") ? 12 : 50));
}

TESTS(cmocka_unit_test(one_access_fails), cmocka_unit_test(the_disk_dies),
      cmocka_unit_test(the_disk_is_full_and_then_is_not), cmocka_unit_test(the_power_goes),
      cmocka_unit_test(so_many_points_were_tried))
