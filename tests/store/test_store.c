/* test_store.c: the promises of records.h by number. */
#include "test.h"

#include <errno.h>
#include <event2/event.h>
#include <pthread.h>

#include "base/order.h"
#include "places.h"
#include "scan_store.h"
#include "store_dir.h"

#define COUNT(a) ((int)ARRAY_LEN(a))

struct fix {
    char *dir;
    struct event_base *loop;
    struct store *s;
};

static void fix_flush(struct fix *f)
{
    struct err err = {0};

    if (store_flush(f->s, &err) < 0)
        fail_msg("%s", err.msg);
}

static void fix_reopen(struct fix *f)
{
    store_close(f->s);
    f->s = store_new_for_test(f->dir, f->loop);
}

static void with_store(void (*test)(struct fix *f), bool loop)
{
    struct fix f = {.dir = place_new(), .loop = loop ? event_base_new() : NULL};

    f.s = store_new_for_test(f.dir, f.loop);
    test(&f);
    store_close(f.s);
    if (f.loop)
        event_base_free(f.loop);
    place_free(f.dir);
}

#define WITH_STORE(name, loop)                                                                                         \
    static void name##_(struct fix *f);                                                                                \
    static void name(void **unused)                                                                                    \
    {                                                                                                                  \
        (void)unused;                                                                                                  \
        with_store(name##_, loop);                                                                                     \
    }                                                                                                                  \
    static void name##_(struct fix *f)

/* ---- results ---- */

struct results {
    int order[64], result[64];
    int n;
};
struct result {
    struct results *all;
    int id;
};

static void note(void *arg, int result)
{
    struct result *r = arg;

    assert_true(r->all->n < COUNT(r->all->order));
    r->all->order[r->all->n] = r->id;
    r->all->result[r->all->n++] = result;
}

static void put_one(struct fix *f, const char *node, uint64_t run, uint64_t number, struct result *r)
{
    char bytes[100];
    struct store_batch b = batch_make(node, run, number, bytes, sizeof(bytes));

    store_append(f->s, &b, 1, r ? note : NULL, r);
    memset(bytes, 0, sizeof(bytes)); /* append has copied its data */
}

/* ---- reading back ---- */

struct found {
    char text[4096];
    int n;
    bool whole;
};

static int found_one(void *arg, const struct store_batch *b)
{
    struct found *f = arg;
    size_t len = strlen(f->text);

    snprintf(f->text + len, sizeof(f->text) - len, "%s/%llu/%llu ", b->node, (unsigned long long)b->run,
             (unsigned long long)b->number);
    f->whole &= batch_whole(b);
    f->n++;
    return 0;
}

static struct found find_all(struct store *s)
{
    struct found f = {.whole = true};
    struct err err = {0};

    if (scan_store(s, found_one, &f, &err) < 0)
        fail_msg("%s", err.msg);
    return f;
}

/* ---- T1, T3 ---- */

WITH_STORE(t1_what_was_acknowledged_is_there_after_reopening, false)
{
    struct results all = {0};
    struct result r[] = {{&all, 1}, {&all, 2}};

    put_one(f, "a", 1, 1, &r[0]);
    put_one(f, "b", UINT64_MAX, UINT64_MAX, &r[1]);
    fix_flush(f);
    assert_int_equal(all.n, 2);
    assert_int_equal(all.result[0] | all.result[1], 0);
    fix_reopen(f);
    struct found got = find_all(f->s);
    assert_string_equal(got.text, "a/1/1 b/18446744073709551615/18446744073709551615 ");
    assert_true(got.whole);                                                     /* T3 */
    assert_int_equal(store_has(f->s, "b", UINT64_MAX, UINT64_MAX), !on_server); /* there the server knows */
    assert_false(store_has(f->s, "b", UINT64_MAX, 1));
    assert_false(store_has(f->s, "nobody", 1, 1));
}

WITH_STORE(t3_an_append_of_many_is_kept_in_order, false)
{
    char bytes[8][3000];
    struct store_batch b[8];

    for (size_t i = 0; i < ARRAY_LEN(b); i++) {
        b[i] = batch_make(i % 2 ? "b" : "a", 5, i + 1, bytes[i], i * 400);
        b[i].facts = i ? UINT64_MAX - i : 0;
        b[i].procs = i;
        if (i) {
            store_put_blob(f->s, b[i].node, BLOB_FACTS, b[i].facts, STR("facts"));
            store_put_blob(f->s, b[i].node, BLOB_PROCS, b[i].procs, STR("procs"));
        }
    }
    store_append(f->s, b, ARRAY_LEN(b), NULL, NULL);
    store_append(f->s, NULL, 0, NULL, NULL);
    fix_flush(f);
    struct found got = find_all(f->s);
    assert_string_equal(got.text, "a/5/1 b/5/2 a/5/3 b/5/4 a/5/5 b/5/6 a/5/7 b/5/8 ");
    assert_true(got.whole);
    struct store_stat st;
    store_stat(f->s, &st);
    assert_int_equal(st.batches, 8);
    assert_int_equal(st.bytes, 28 * 400);
    assert_int_equal(st.queue_bytes, 0);
}

static int stop_at_two(void *arg, const struct store_batch *b)
{
    (void)b;
    return ++*(int *)arg == 2 ? -77 : 0;
}

WITH_STORE(a_scan_can_be_stopped, false)
{
    int n = 0;

    for (uint64_t i = 1; i < 5; i++)
        put_one(f, "a", 1, i, NULL);
    fix_flush(f);
    assert_int_equal(scan_store(f->s, stop_at_two, &n, NULL), -77);
    assert_int_equal(n, 2);
}

/* ---- T2 ---- */

WITH_STORE(t2_a_repeat_is_kept_once_and_still_acknowledged, false)
{
    struct results all = {0};
    struct result r[] = {{&all, 1}, {&all, 2}, {&all, 3}, {&all, 4}};
    struct store_stat st;

    put_one(f, "a", 1, 1, &r[0]);
    put_one(f, "a", 1, 1, &r[1]); /* while the first is queued */
    fix_flush(f);
    put_one(f, "a", 1, 1, &r[2]); /* while it is kept */
    fix_flush(f);
    fix_reopen(f);
    put_one(f, "a", 1, 1, &r[3]); /* and after a restart */
    put_one(f, "b", 1, 1, NULL);  /* another node's, and another run's, is another batch */
    put_one(f, "a", 2, 1, NULL);
    fix_flush(f);
    assert_int_equal(all.n, 4);
    for (int i = 0; i < 4; i++)
        assert_int_equal(all.result[i], 0);
    assert_string_equal(find_all(f->s).text, "a/1/1 b/1/1 a/2/1 ");
    store_stat(f->s, &st);
    assert_int_equal(st.repeats, 1); /* since open */
}

WITH_STORE(t2_repeats_within_one_append, false)
{
    char bytes[10];
    struct store_batch b[4];

    for (size_t i = 0; i < ARRAY_LEN(b); i++)
        b[i] = batch_make("a", 1, i % 2, bytes, sizeof(bytes));
    b[1] = b[0];
    store_append(f->s, b, ARRAY_LEN(b), NULL, NULL);
    fix_flush(f);
    assert_int_equal(find_all(f->s).n, 2);
}

/* ---- T4, T5 ---- */

WITH_STORE(t5_results_come_on_the_loop_in_order_once_each, true)
{
    struct results all = {0};
    struct result r[20];

    for (int i = 0; i < COUNT(r); i++) {
        r[i] = (struct result){&all, i};
        put_one(f, i % 3 ? "a" : "b", 1, (uint64_t)i / 2, &r[i]);
        if (i == 7)
            fix_flush(f); /* durable, but only the loop delivers the result */
        assert_int_equal(all.n, 0);
    }
    while (all.n < COUNT(r))
        event_base_loop(f->loop, EVLOOP_ONCE);
    fix_flush(f);
    event_base_loop(f->loop, EVLOOP_NONBLOCK);
    assert_int_equal(all.n, COUNT(r));
    for (int i = 0; i < COUNT(r); i++) {
        assert_int_equal(all.order[i], i);
        assert_int_equal(all.result[i], 0);
    }
}

static void count_up(void *arg, int result)
{
    static int last;
    int *next = arg;

    assert_int_equal(result, 0);
    last = next[0] == 0 ? 0 : last;
    assert_int_equal(next[0], last);
    last++;
}

/* More results of one commit than are delivered in one event loop iteration. */
WITH_STORE(t5_many_results_come_in_order, true)
{
    enum { MANY = 1500 };
    AUTO_FREE int *no = mem_zero(MANY, sizeof(*no));
    struct results all = {0};
    struct result last = {&all, 1};

    for (int i = 0; i < MANY; i++) {
        char bytes[10];
        struct store_batch b = batch_make("a", 1, (uint64_t)i, bytes, sizeof(bytes));
        no[i] = i;
        store_append(f->s, &b, 1, count_up, &no[i]);
    }
    put_one(f, "b", 1, 1, &last);
    assert_int_equal(store_flush(f->s, NULL), 0);
    while (all.n == 0)
        event_base_loop(f->loop, EVLOOP_ONCE);
}

/* The rest after a commit would last longer than any test: it is cut short. */
static void t4_a_nudge_ends_the_rest(void **unused)
{
    char *dir = dir_new();
    struct store_conf conf = {.dir = dir, .commit_ms = 86400000};
    struct fix f = {.dir = dir, .loop = event_base_new()};
    struct results all = {0};
    struct result r[3];

    (void)unused;
    assert_int_equal(store_open(&f.s, &conf, f.loop, NULL), 0);
    for (int i = 0; i < COUNT(r); i++) {
        r[i] = (struct result){&all, i};
        put_one(&f, "a", 1, (uint64_t)i + 1, &r[i]);
        store_nudge(f.s);
        while (all.n <= i)
            event_base_loop(f.loop, EVLOOP_ONCE);
    }
    store_close(f.s);
    event_base_free(f.loop);
    dir_free(dir);
}

/* So does a record with a waiting caller. */
static void t4_a_record_with_a_result_ends_the_rest(void **unused)
{
    char *dir = dir_new();
    struct store_conf conf = {.dir = dir, .commit_ms = 86400000};
    struct fix f = {.dir = dir, .loop = event_base_new()};
    struct results all = {0};
    struct result r[] = {{&all, 0}, {&all, 1}};
    struct booking b = {.id = 1, .person = "kim", .devices = "GPU-a", .from_ms = 1, .until_ms = 2};

    (void)unused;
    assert_int_equal(store_open(&f.s, &conf, f.loop, NULL), 0);
    put_one(&f, "a", 1, 1, &r[0]);
    while (all.n < 1)
        event_base_loop(f.loop, EVLOOP_ONCE);
    assert_int_equal(store_put(f.s, STORE_BOOKING, &b, 1, note, &r[1]), 0);
    while (all.n < 2)
        event_base_loop(f.loop, EVLOOP_ONCE);
    store_close(f.s);
    event_base_free(f.loop);
    dir_free(dir);
}

struct chain {
    struct fix *f;
    uint64_t left;
};

static void append_next(void *arg, int result)
{
    struct chain *c = arg;

    assert_int_equal(result, 0);
    if (c->left--) {
        char bytes[10];
        struct store_batch b = batch_make("a", 1, c->left, bytes, sizeof(bytes));
        store_append(c->f->s, &b, 1, append_next, c);
    } else {
        event_base_loopbreak(c->f->loop);
    }
}

WITH_STORE(t5_a_result_may_append_again, true)
{
    struct chain c = {f, 10};

    store_append(f->s, NULL, 0, append_next, &c);
    event_base_dispatch(f->loop);
    assert_int_equal(find_all(f->s).n, 10);
}

WITH_STORE(t5_close_commits_and_calls_what_is_due, true)
{
    struct results all = {0};
    struct result r[] = {{&all, 1}, {&all, 2}};

    put_one(f, "a", 1, 1, &r[0]);
    put_one(f, "a", 1, 2, &r[1]);
    fix_reopen(f);
    assert_int_equal(all.n, 2);
    assert_int_equal(all.order[1], 2);
    assert_int_equal(all.result[0] | all.result[1], 0);
    assert_int_equal(find_all(f->s).n, 2);
    store_close(NULL);
}

WITH_STORE(an_append_with_a_bad_node_is_refused, false)
{
    char bytes[10], longest[NODE_KEY_MAX + 1] = {0};
    struct results all = {0};
    struct result r[] = {{&all, 1}, {&all, 2}, {&all, 3}};

    memset(longest, 'x', NODE_KEY_MAX);
    struct store_batch b[] = {batch_make("", 1, 1, bytes, 1), batch_make(longest, 1, 1, bytes, 1)};
    store_append(f->s, &b[0], 1, note, &r[0]);
    store_append(f->s, &b[1], 1, note, &r[1]);
    longest[NODE_KEY_MAX - 1] = 0;
    store_append(f->s, &b[1], 1, note, &r[2]);
    fix_flush(f);
    assert_int_equal(all.n, 3);
    for (int i = 0; i < 3; i++)
        assert_int_equal(all.result[i], all.order[i] == 3 ? 0 : -EINVAL);
    assert_int_equal(find_all(f->s).n, 1);
}

/* ---- blobs ---- */

/*
 * The batch is refused, the others of the append are not: without its blob, the names of its numbers would be unknown.
 */
WITH_STORE(a_batch_comes_again_with_its_blob, false)
{
    struct results all = {0};
    struct result r[] = {{&all, 0}, {&all, 1}, {&all, 2}};
    char bytes[3][100];
    struct store_batch b[3];

    for (size_t i = 0; i < ARRAY_LEN(b); i++) {
        b[i] = batch_make("a", 5, i + 1, bytes[i], sizeof(bytes[i]));
        b[i].facts = i == 1 ? 77 : 0;
    }
    for (int turn = 0; turn < 2; turn++) {
        for (size_t i = 0; i < ARRAY_LEN(b); i++)
            store_append(f->s, &b[i], 1, note, &r[i]);
        store_flush(f->s, NULL);
        assert_int_equal(all.n, 3);
        for (size_t i = 0; i < ARRAY_LEN(b); i++)
            assert_int_equal(all.result[FIRST(3, k, all.order[k] == (int)i)], i == 1 && !turn ? -EAGAIN : 0);
        assert_string_equal(find_all(f->s).text, turn ? "a/5/1 a/5/3 a/5/2 " : "a/5/1 a/5/3 ");
        assert_int_equal(store_has(f->s, "a", 5, 2), turn);
        assert_int_equal(store_get_blob(f->s, "a", 77, NULL, NULL), turn);
        store_put_blob(f->s, "a", BLOB_FACTS, 77, STR("facts"));
        all.n = 0;
    }
}

WITH_STORE(blobs_are_found_at_once_and_kept, false)
{
    AUTO_BUF got = BUF_INIT(100);
    AUTO_BUF small = BUF_INIT(2);
    struct err err;

    assert_false(store_get_blob(f->s, "a", 7, NULL, NULL) == 1);
    store_put_blob(f->s, "a", BLOB_FACTS, 7, STR("facts\0x"));
    store_put_blob(f->s, "a", BLOB_PROCS, UINT64_MAX, STR(""));
    store_put_blob(f->s, "a", BLOB_FACTS, 0, STR("no name"));
    for (int i = 0; i < 2; i++) { /* queued, then kept */
        assert_true(store_get_blob(f->s, "a", 7, NULL, NULL) == 1);
        assert_true(store_get_blob(f->s, "a", UINT64_MAX, NULL, NULL) == 1);
        assert_false(store_get_blob(f->s, "b", 7, NULL, NULL) == 1);
        assert_false(store_get_blob(f->s, "a", 0, NULL, NULL) == 1);
        buf_reset(&got);
        assert_int_equal(store_get_blob(f->s, "a", 7, &got, NULL), 1);
        assert_int_equal(got.len, 7);
        assert_memory_equal(got.p, "facts\0x", 7);
        assert_int_equal(store_get_blob(f->s, "b", 7, &got, NULL), 0);
        assert_int_equal(store_get_blob(f->s, "a", 7, &small, &err), -EMSGSIZE);
        buf_reset(&small);
        fix_flush(f);
        fix_reopen(f);
    }
    for (uint64_t i = 1; i < 50; i++) /* more than are remembered per node */
        store_put_blob(f->s, "a", BLOB_PROCS, 1000 + i, STR("p"));
    fix_flush(f);
    assert_true(store_get_blob(f->s, "a", 1001, NULL, NULL) == 1);
    assert_true(store_get_blob(f->s, "a", 7, NULL, NULL) == 1);
    store_put_blob(f->s, "a", BLOB_FACTS, 7, STR("facts\0x")); /* again: nothing changes */
    fix_flush(f);
}

/* ---- records ---- */

struct text {
    char s[4096];
};

static void node_text(void *arg, const struct store_node *n)
{
    struct text *t = arg;
    size_t len = strlen(t->s);

    snprintf(t->s + len, sizeof(t->s) - len, "%s,%s,%s,%s,%d%d%d,%lld,%lld,%llu,%llu,%s;", n->key, n->name, n->own_name,
             n->address, n->retired, n->maintenance, n->demo, (long long)n->first_ms, (long long)n->last_ms,
             (unsigned long long)n->facts, (unsigned long long)n->procs, n->secret);
}

static struct text nodes_text(struct store *s)
{
    struct text t = {""};

    assert_int_equal(store_each(s, EACH_NODE(node_text, &t), NULL), 0);
    return t;
}

WITH_STORE(node_records_are_replaced_but_first_and_last_seen_only_widen, false)
{
    struct store_node n = {.key = "b", .own_name = "dgx1", .address = "10.0.0.1", .first_ms = 50, .last_ms = 60};

    store_put(f->s, STORE_NODE, &n, 1, NULL, NULL);
    n.last_ms = 70;
    n.facts = UINT64_MAX;
    store_put(f->s, STORE_NODE, &n, 1, NULL, NULL);
    fix_flush(f);
    assert_string_equal(nodes_text(f->s).s, "b,,dgx1,10.0.0.1,000,50,70,18446744073709551615,0,;");
    struct store_node unknown = n; /* of a hub that knows less, and has another name for it */
    unknown.facts = 0;
    mem_copy_str(unknown.name, sizeof(unknown.name), "Hans");
    unknown.maintenance = true;
    store_put(f->s, STORE_NODE, &unknown, 1, NULL, NULL);
    fix_flush(f);
    assert_string_equal(nodes_text(f->s).s, "b,,dgx1,10.0.0.1,000,50,70,18446744073709551615,0,;");
    mem_copy_str(n.name, sizeof(n.name), "Grete");
    n.retired = n.demo = n.named = true;
    n.first_ms = 55;
    n.last_ms = 65;
    n.procs = 3;
    store_put(f->s, STORE_NODE, &n, 1, NULL, NULL);
    n.named = false;
    n.procs = n.facts = 0;
    store_put(f->s, STORE_NODE, &n, 1, NULL, NULL); /* one put with the one before */
    n = (struct store_node){.key = "a", .maintenance = true, .secret = "vesta-1"};
    store_put(f->s, STORE_NODE, &n, 1, NULL, NULL);
    fix_flush(f);
    const char *want = "a,,,,010,0,0,0,0,vesta-1;b,Grete,dgx1,10.0.0.1,101,50,70,18446744073709551615,3,;";
    assert_string_equal(nodes_text(f->s).s, want);
    fix_reopen(f);
    assert_string_equal(nodes_text(f->s).s, want);
}

static void proc_text(void *arg, const struct proc_span *p)
{
    struct text *t = arg;
    size_t len = strlen(t->s);

    snprintf(t->s + len, sizeof(t->s) - len, "%s,%s,%d,%lld,%s,%s,%lld,%lld,%lld,%d;", p->node, p->device, p->fact.pid,
             (long long)p->fact.start_ms, p->fact.user, p->fact.cmd, (long long)p->first_ms, (long long)p->last_ms,
             (long long)p->mem_max, p->ended);
}

static struct text procs_text(struct store *s, const char *node, int64_t from_ms)
{
    struct text t = {""};

    assert_int_equal(store_each(s, EACH_PROC(proc_text, &t, .node = node, .from_ms = from_ms), NULL), 0);
    return t;
}

WITH_STORE(a_process_is_extended_by_its_identity, false)
{
    struct proc_span p = {.node = "a", .device = "GPU-1", .first_ms = 100, .last_ms = 100, .mem_max = 5};

    p.fact = (struct proc_fact){.pid = 42, .start_ms = 90, .uid = -1, .cmd = "python3 train.py"};
    store_put(f->s, STORE_PROC, &p, 1, NULL, NULL);
    mem_copy_str(p.fact.user, sizeof(p.fact.user), "ada"); /* found out later */
    p.first_ms = p.last_ms = 105;
    p.mem_max = 9;
    store_put(f->s, STORE_PROC, &p, 1, NULL, NULL);
    p.last_ms = 103; /* a late update neither shortens nor ends it, nor removes known values */
    p.mem_max = 2;
    p.ended = true;
    p.fact.user[0] = 0;
    store_put(f->s, STORE_PROC, &p, 1, NULL, NULL);
    fix_flush(f);
    assert_string_equal(procs_text(f->s, "a", 0).s, "a,GPU-1,42,90,ada,python3 train.py,100,105,9,0;");
    mem_copy_str(p.fact.user, sizeof(p.fact.user), "ada");
    p.last_ms = 105;
    store_put(f->s, STORE_PROC, &p, 1, NULL, NULL);
    p.fact.start_ms = 200; /* the number again, another process */
    p.first_ms = p.last_ms = 210;
    p.ended = false;
    store_put(f->s, STORE_PROC, &p, 1, NULL, NULL);
    p.node = "b";
    p.device = "GPU-0";
    store_put(f->s, STORE_PROC, &p, 1, NULL, NULL);
    fix_flush(f);
    assert_string_equal(procs_text(f->s, NULL, 0).s, "a,GPU-1,42,90,ada,python3 train.py,100,105,9,1;"
                                                     "a,GPU-1,42,200,ada,python3 train.py,210,210,2,0;"
                                                     "b,GPU-0,42,200,ada,python3 train.py,210,210,2,0;");
    assert_string_equal(procs_text(f->s, "a", 106).s, "a,GPU-1,42,200,ada,python3 train.py,210,210,2,0;");
    assert_string_equal(procs_text(f->s, "c", 0).s, "");
}

static void event_text(void *arg, const char *node, const char *device, const struct node_event *e)
{
    struct text *t = arg;
    size_t len = strlen(t->s);

    snprintf(t->s + len, sizeof(t->s) - len, "%s,%s,%lld,%u,%u,%lld,%s;", node, device, (long long)e->at_ms, e->kind,
             e->slot, (long long)e->code, e->text);
}

static struct text events_text(struct store *s, const char *node, int64_t from_ms, size_t limit)
{
    struct text t = {""};

    assert_int_equal(store_each(s, EACH_EVENT(event_text, &t, .node = node, .from_ms = from_ms, .limit = limit), NULL),
                     0);
    return t;
}

WITH_STORE(events_come_newest_first_and_once, false)
{
    struct node_event e = {.at_ms = 10, .kind = EVENT_XID, .slot = 2, .code = 79, .text = "fell off the bus"};

    store_put(f->s, STORE_EVENT, &(struct store_event){"a", "GPU-1", e}, 1, NULL, NULL);
    store_put(f->s, STORE_EVENT, &(struct store_event){"a", "GPU-1", e}, 1, NULL, NULL);
    fix_flush(f);
    store_put(f->s, STORE_EVENT, &(struct store_event){"a", "GPU-1", e}, 1, NULL,
              NULL); /* the same batch sent again after a crash */
    e = (struct node_event){.at_ms = 20, .kind = EVENT_DOWN};
    store_put(f->s, STORE_EVENT, &(struct store_event){"b", NULL, e}, 1, NULL, NULL);
    e.at_ms = 5;
    store_put(f->s, STORE_EVENT, &(struct store_event){"a", "", e}, 1, NULL, NULL);
    fix_flush(f);
    assert_string_equal(events_text(f->s, NULL, 0, SIZE_MAX).s,
                        "b,,20,10,0,0,;a,GPU-1,10,1,2,79,fell off the bus;a,,5,10,0,0,;");
    assert_string_equal(events_text(f->s, "a", 6, 10).s, "a,GPU-1,10,1,2,79,fell off the bus;");
    assert_string_equal(events_text(f->s, NULL, 0, 1).s, "b,,20,10,0,0,;");
    assert_string_equal(events_text(f->s, NULL, 21, 10).s, "");
    assert_string_equal(events_text(f->s, NULL, 0, 0).s, "");
}

WITH_STORE(a_takeover_moves_history_and_leaves_the_future, false)
{
    struct store_node n = {.key = "old", .name = "rack 1", .first_ms = 1, .last_ms = 2};
    struct node_event e = {.at_ms = 10, .kind = EVENT_NEW};
    struct proc_span p = {.node = "old", .device = "GPU-1", .fact = {.pid = 1}};
    AUTO_BUF got = BUF_INIT(100);

    store_put_blob(f->s, "old", BLOB_FACTS, 7, STR("facts"));
    put_one(f, "old", 1, 1, NULL);
    fix_flush(f);
    put_one(f, "old", 1, 2, NULL); /* queued when the takeover is */
    store_put(f->s, STORE_NODE, &n, 1, NULL, NULL);
    store_put(f->s, STORE_EVENT, &(struct store_event){"old", NULL, e}, 1, NULL, NULL);
    store_put(f->s, STORE_PROC, &p, 1, NULL, NULL);
    mem_copy_str(n.key, sizeof(n.key), "new");
    n.first_ms = 5;
    n.name[0] = 0;
    store_put(f->s, STORE_NODE, &n, 1, NULL, NULL);
    store_take_over(f->s, "old", "new");
    put_one(f, "old", 1, 3, NULL); /* it came back anyway: a separate node again */
    fix_flush(f);
    store_take_over(f->s, "new", "newer");
    store_take_over(f->s, "same", "same");
    fix_flush(f);
    fix_reopen(f);
    assert_string_equal(find_all(f->s).text, "newer/1/1 newer/1/2 old/1/3 ");
    assert_int_equal(store_get_blob(f->s, "newer", 7, &got, NULL), 1);
    assert_string_equal(nodes_text(f->s).s, "newer,,,,000,1,2,0,0,;");
    assert_string_equal(events_text(f->s, NULL, 0, 9).s, "newer,,10,9,0,0,;");
    assert_string_equal(procs_text(f->s, "newer", 0).s, "newer,GPU-1,1,0,,,0,0,0,0;");
    put_one(f, "old", 1, 1, NULL); /* still a repeat under the name it was sent with */
    fix_flush(f);
    assert_int_equal(find_all(f->s).n, 3);
}

WITH_STORE(two_nodes_can_take_each_other_over, false)
{
    put_one(f, "a", 1, 1, NULL);
    put_one(f, "b", 2, 1, NULL);
    store_take_over(f->s, "a", "b");
    put_one(f, "a", 1, 2, NULL);
    fix_flush(f);
    store_take_over(f->s, "b", "a");
    put_one(f, "b", 2, 2, NULL);
    fix_flush(f);
    assert_string_equal(find_all(f->s).text, "a/1/1 a/2/1 a/1/2 b/2/2 ");
}

/* ---- tokens, settings ---- */

static void token_text(void *arg, const struct store_token *k)
{
    struct text *t = arg;
    size_t len = strlen(t->s);

    snprintf(t->s + len, sizeof(t->s) - len, "%s,%s,%s,%s,%s,%02x%02x,%lld,%lld,%lld;", k->id, k->role, k->person,
             k->node, k->note, k->hash[0], k->hash[31], (long long)k->created_ms, (long long)k->revoked_ms,
             (long long)k->used_ms);
}

WITH_STORE(tokens_are_there_at_once, false)
{
    struct store_token t = {.id = "k2", .role = "agent", .node = "a", .note = "dgx1", .created_ms = 5}, got;
    struct text all = {""};

    memset(t.hash, 0xab, sizeof(t.hash));
    assert_int_equal(store_get(f->s, GET_TOKEN("k2", &got), NULL), 0);
    assert_int_equal(store_put_now(f->s, STORE_TOKEN, &t, NULL), 0);
    assert_int_equal(store_get(f->s, GET_TOKEN("k2", &got), NULL), 1);
    assert_memory_equal(got.hash, t.hash, sizeof(t.hash));
    t.revoked_ms = 9;
    assert_int_equal(store_put_now(f->s, STORE_TOKEN, &t, NULL), 0);
    t = (struct store_token){.id = "k1", .role = "member", .person = "ada", .created_ms = 4, .used_ms = 6};
    assert_int_equal(store_put_now(f->s, STORE_TOKEN, &t, NULL), 0);
    assert_int_equal(store_each(f->s, EACH_TOKEN(token_text, &all), NULL), 0);
    assert_string_equal(all.s, "k1,member,ada,,,0000,4,0,6;k2,agent,,a,dgx1,abab,5,9,0;");
    all.s[0] = 0;
    assert_int_equal(store_each(f->s, EACH_TOKEN(token_text, &all, .node = "a"), NULL), 0);
    assert_string_equal(all.s, "k2,agent,,a,dgx1,abab,5,9,0;");
}

WITH_STORE(a_token_that_is_put_changes_their_version, false)
{
    struct store_token t = {.id = "k1", .role = "admin"};
    AUTO_BUF one = BUF_INIT(100), two = BUF_INIT(100);

    assert_int_equal(store_put_now(f->s, STORE_TOKEN, &t, NULL), 0);
    assert_int_equal(store_get(f->s, GET_SETTING(STORE_TOKENS_VERSION, &one), NULL), 1);
    t.revoked_ms = 9;
    assert_int_equal(store_put_now(f->s, STORE_TOKEN, &t, NULL), 0);
    assert_int_equal(store_get(f->s, GET_SETTING(STORE_TOKENS_VERSION, &two), NULL), 1);
    assert_string_not_equal(one.p, two.p);
}

WITH_STORE(who_looks_at_the_files_sees_that_records_were_written, false)
{
    const int64_t later_ms = 1ll << 50; /* so that nothing was written just now */
    struct store_token t = {.id = "k1", .role = "admin"};
    struct store_file_stat look = {0};

    fix_flush(f);
    assert_true(store_touched(f->s, &look, later_ms));
    assert_int_equal(store_touched(f->s, &look, later_ms), on_server); /* always true on a server */
    assert_true(store_touched(f->s, &look, 0));
    assert_int_equal(store_put_now(f->s, STORE_TOKEN, &t, NULL), 0);
    assert_true(store_touched(f->s, &look, later_ms));
}

WITH_STORE(settings_are_there_at_once, false)
{
    AUTO_BUF got = BUF_INIT(100);

    assert_int_equal(store_get(f->s, GET_SETTING("cookie key", &got), NULL), 0);
    assert_int_equal(store_put_now(f->s, STORE_SETTING, &(struct store_setting){"cookie key", STR("\0\1")}, NULL), 0);
    assert_int_equal(store_put_now(f->s, STORE_SETTING, &(struct store_setting){"cookie key", STR("\0\2\3")}, NULL), 0);
    assert_int_equal(store_get(f->s, GET_SETTING("cookie key", &got), NULL), 1);
    assert_int_equal(got.len, 3);
    assert_memory_equal(got.p, "\0\2\3", 3);
    AUTO_BUF zeroed = {0};
    assert_int_equal(store_get(f->s, GET_SETTING("cookie key", &zeroed), NULL), 1);
    assert_int_equal(zeroed.len, 3);
}

static void *query_async_internal(void *store)
{
    AUTO_BUF got = BUF_INIT(100);
    store_get(store, GET_SETTING("cookie key", &got), NULL);
    return NULL;
}

WITH_STORE(reads_on_a_thread_that_must_not_wait_are_counted, false)
{
    struct store_stat st;
    pthread_t other;
    AUTO_BUF got = BUF_INIT(100);
    struct store_token token;

    store_put_blob(f->s, "a", BLOB_FACTS, 7, STR("facts"));
    assert_int_equal(store_flush(f->s, NULL), 0);
    store_get(f->s, GET_SETTING("cookie key", &got), NULL);
    store_stat(f->s, &st);
    assert_int_equal(st.waits, 0);
    store_loaded(f->s);
    assert_int_equal(pthread_create(&other, NULL, query_async_internal, f->s), 0);
    pthread_join(other, NULL);
    store_stat(f->s, &st);
    assert_int_equal(st.waits, 0);
    store_get(f->s, GET_SETTING("cookie key", &got), NULL);
    store_each(f->s, EACH_NODE(NULL, NULL), NULL);
    store_put_now(f->s, STORE_SETTING, &(struct store_setting){"cookie key", STR("a")}, NULL);
    store_get(f->s, GET_TOKEN("aaaaaaaa", &token), NULL);
    store_each(f->s, EACH_TOKEN(NULL, NULL), NULL);
    store_stat(f->s, &st);
    assert_int_equal(st.waits, 5);
    assert_int_equal(store_get_blob(f->s, "a", 7, NULL, NULL), 1); /* known */
    assert_int_equal(store_get_blob(f->s, "a", 7, &got, NULL), 0); /* on disk, where the loop does not read */
    assert_int_equal(store_get_blob(f->s, "a", 8, NULL, NULL), 0);
    store_stat(f->s, &st);
    assert_int_equal(st.waits, 5);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(t1_what_was_acknowledged_is_there_after_reopening),
                                       cmocka_unit_test(t3_an_append_of_many_is_kept_in_order),
                                       cmocka_unit_test(a_scan_can_be_stopped),
                                       cmocka_unit_test(t2_a_repeat_is_kept_once_and_still_acknowledged),
                                       cmocka_unit_test(t2_repeats_within_one_append),
                                       cmocka_unit_test(t5_results_come_on_the_loop_in_order_once_each),
                                       cmocka_unit_test(t5_many_results_come_in_order),
                                       cmocka_unit_test(t4_a_nudge_ends_the_rest),
                                       cmocka_unit_test(t4_a_record_with_a_result_ends_the_rest),
                                       cmocka_unit_test(t5_a_result_may_append_again),
                                       cmocka_unit_test(t5_close_commits_and_calls_what_is_due),
                                       cmocka_unit_test(an_append_with_a_bad_node_is_refused),
                                       cmocka_unit_test(a_batch_comes_again_with_its_blob),
                                       cmocka_unit_test(blobs_are_found_at_once_and_kept),
                                       cmocka_unit_test(node_records_are_replaced_but_first_and_last_seen_only_widen),
                                       cmocka_unit_test(a_process_is_extended_by_its_identity),
                                       cmocka_unit_test(events_come_newest_first_and_once),
                                       cmocka_unit_test(a_takeover_moves_history_and_leaves_the_future),
                                       cmocka_unit_test(two_nodes_can_take_each_other_over),
                                       cmocka_unit_test(tokens_are_there_at_once),
                                       cmocka_unit_test(a_token_that_is_put_changes_their_version),
                                       cmocka_unit_test(who_looks_at_the_files_sees_that_records_were_written),
                                       cmocka_unit_test(settings_are_there_at_once),
                                       cmocka_unit_test(reads_on_a_thread_that_must_not_wait_are_counted)};

    return RUN_ON_BOTH(tests, ARRAY_LEN(tests));
}
