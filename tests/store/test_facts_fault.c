/*
 * test_facts_fault.c: a batch has only numbers; a node's facts map them to GPUs. Unreadable facts are not missing
 * facts. Expired facts are sent again before a batch that names them is kept. A log older than the retention of raw
 * samples is still compacted into minutes and hours.
 */
#include "test.h"

#include <errno.h>

#include "fault_vfs.h"
#include "history_model.h"

#define DAY  (24 * H_HOUR)
#define KEEP (30 * DAY)
#define LATE (H0 + 31 * DAY)

static int64_t now_ms;

static int64_t tell_now(void)
{
    return now_ms;
}

static struct store *open_dir(const char *dir, bool compacts)
{
    struct store_conf conf = {.dir = dir,
                              .commit_ms = 1,
                              .rotate_bytes = compacts ? 0 : 1,
                              .keep_raw_ms = KEEP,
                              .now_ms = tell_now,
                              .decoder = compacts ? &hub_decoder : NULL};
    struct store *s = NULL;

    return store_open(&s, &conf, NULL, NULL) == 0 ? s : NULL;
}

static void must(int r, const struct err *err)
{
    if (r < 0)
        fail_msg("%s", err->msg);
}

static void note_kept(void *arg, int result)
{
    *(int *)arg = result;
}

static int ask(struct store *s, struct err *err)
{
    struct bins_query ask = {.node = "aa",
                             .devices = h_devices,
                             .metrics = h_metrics,
                             .n_devices = H_DEVICES,
                             .n_metrics = H_METRICS,
                             .from_ms = H0,
                             .to_ms = H0 + H_HOUR,
                             .step_ms = 60000,
                             .tier = TIER_MINUTE};
    struct history h;
    int r = store_history(s, &ask, &h, err);

    if (r == 0)
        history_fini(&h);
    return r;
}

static void facts_that_cannot_be_read_are_not_missing(void **unused)
{
    char *dir = dir_new_quick();
    struct h_model m;
    struct err err = {0};

    (void)unused;
    fault_install();
    fault_arm(FAULT_NONE, 0);
    now_ms = H0;
    h_init(&m, 1);
    h_batch(&m, 0, H0, 4, 5000);
    struct store *s = open_dir(dir, true);
    must(ask(s, &err), &err); /* the reader has opened its files by now */
    must(store_settle(s, &err), &err);
    h_send(s, &m, &m.sent[0], NULL, NULL);
    must(store_flush(s, &err), &err);

    fault_arm(FAULT_BLIND, 0);
    assert_int_equal(ask(s, &err), -EIO);
    assert_non_null(strstr(err.msg, "cannot read history"));
    assert_true(fault_was_hit());
    fault_arm(FAULT_NONE, 0);
    h_check(s, &m, 0, H0, H0 + H_HOUR, 60000, TIER_RAW);

    fault_arm(FAULT_BLIND, 0);
    err = (struct err){0};
    assert_true(store_settle(s, &err) < 0); /* chunks are final: better none than wrong ones */
    assert_true(err.msg[0]);
    fault_arm(FAULT_NONE, 0);
    must(store_settle(s, &err), &err);
    h_check(s, &m, 0, H0, H0 + H_HOUR, 60000, TIER_RAW);
    h_check(s, &m, 0, H0, H0 + H_HOUR, 60000, TIER_MINUTE);
    store_close(s);
    h_fini(&m);
    dir_free(dir);
}

/* Rows of compacted logs: a leftover file must not count as a new log. */
static int logs_kept(const char *dir)
{
    AUTO_FREE char *path = mem_fmt("%s/muster.db", dir);
    sqlite3_stmt *st;
    sqlite3 *h;

    assert_int_equal(sqlite3_open(path, &h), SQLITE_OK);
    assert_int_equal(sqlite3_prepare_v2(h, "SELECT count(*) FROM logs WHERE compacted = 1", -1, &st, NULL), SQLITE_OK);
    assert_int_equal(sqlite3_step(st), SQLITE_ROW);
    int n = sqlite3_column_int(st, 0);
    sqlite3_finalize(st);
    sqlite3_close(h);
    return n;
}

/* A hub that was off for longer than raw samples are kept, and has no space when it comes back. */
static void an_old_log_becomes_minutes(void **unused)
{
    char *dir = dir_new_quick();
    struct h_model m;
    struct err err = {0};

    (void)unused;
    fault_install();
    fault_arm(FAULT_NONE, 0);
    now_ms = H0;
    h_init(&m, 2);
    struct store *s = open_dir(dir, false); /* nothing becomes chunks yet */
    for (unsigned i = 0; i < 4; i++) {
        h_send(s, &m, h_batch(&m, 0, H0 + i * 50000, 4, 5000), NULL, NULL);
        must(store_flush(s, &err), &err);
    }
    store_close(s);

    now_ms = LATE;
    s = NULL;
    for (long at = 1; !s; at++) {
        fault_arm(FAULT_FULL, at); /* the minimum number of writes to open */
        s = open_dir(dir, true);
    }
    assert_true(store_settle(s, NULL) < 0);
    store_flush(s, NULL); /* files that are too old go between commits */
    fault_arm(FAULT_NONE, 0);
    must(store_settle(s, &err), &err);
    h_check(s, &m, 0, H0, H0 + H_HOUR, 60000, TIER_MINUTE);
    h_check(s, &m, 0, H0, H0 + H_HOUR, H_HOUR, TIER_HOUR);
    store_close(s);
    assert_int_equal(logs_kept(dir), 4); /* as if they had come today */
    h_fini(&m);
    dir_free(dir);
}

/* aa sends a batch whose facts were confirmed as stored, and expired just after. */
static void facts_that_went_come_again(void **unused)
{
    char *dir = dir_new_quick();
    struct h_model m;
    struct err err = {0};
    int kept = 1;

    (void)unused;
    fault_arm(FAULT_NONE, 0);
    now_ms = H0;
    h_init(&m, 3);
    struct store *s = open_dir(dir, true);
    h_send(s, &m, h_batch(&m, 0, H0, 4, 5000), NULL, NULL);
    must(store_settle(s, &err), &err);
    for (int i = 0; i < 8; i++) { /* blobs are kept for some logs more */
        h_send(s, &m, h_batch(&m, 1, H0 + i * 20000, 4, 5000), NULL, NULL);
        must(store_settle(s, &err), &err);
    }
    now_ms = LATE;
    h_send(s, &m, h_batch(&m, 1, LATE, 4, 5000), NULL, NULL);
    must(store_settle(s, &err), &err);

    const struct h_sent *x = h_batch(&m, 0, LATE, 4, 5000);
    struct store_batch b = {.node = "aa",
                            .run = x->run,
                            .number = x->number,
                            .facts = x->facts,
                            .at_ms = x->at_ms,
                            .bytes = {x->bytes, x->len}};
    store_append(s, &b, 1, note_kept, &kept);
    store_flush(s, NULL);
    assert_int_equal(kept, -EAGAIN);
    assert_false(store_has(s, "aa", x->run, x->number));
    assert_int_equal(store_get_blob(s, "aa", x->facts, NULL, NULL), 0);
    h_send(s, &m, x, note_kept, &kept);
    for (int i = 0; i < 2; i++) {
        must(i ? store_settle(s, &err) : store_flush(s, &err), &err);
        assert_int_equal(kept, 0);
        for (unsigned node = 0; node < 2; node++)
            h_check(s, &m, node, LATE, LATE + H_HOUR, 60000, TIER_RAW);
    }
    store_close(s);
    h_fini(&m);
    dir_free(dir);
}

TESTS(cmocka_unit_test(facts_that_cannot_be_read_are_not_missing), cmocka_unit_test(an_old_log_becomes_minutes),
      cmocka_unit_test(facts_that_went_come_again))
