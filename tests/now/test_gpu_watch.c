/* test_gpu_watch.c: jobs recorded on an H200 arrive at the hub in batches: advice for the GPU, and its time. */
#include "recorded.h"
#include "test.h"

#include "model/gather.h"
#include "now/live.h"

#define GIB ((int64_t)1 << 30)
enum { ROWS_MAX = 400, PER_BATCH = 5, LATER_MS = 200000 }; /* later: than a recorded job is long */

static struct recorded_row rows[ROWS_MAX];

/* A recorded job; returns how many samples. */
static size_t load(const char *file, const char *job)
{
    static struct recorded r;
    AUTO_FILE FILE *f = fopen(file, "re");
    size_t n = 0;

    assert_non_null(f);
    assert_true(recorded_begin(&r, f));
    while (n < ROWS_MAX && recorded_next(&r, &rows[n]))
        n += strcmp(rows[n].job, job) == 0;
    assert_true(n > 60);
    return n;
}

static struct node_now *make_node(struct live *l, int64_t now_ms)
{
    struct device_fact d = {.uuid = "GPU-a", .pci = "0000:01:00.0", .mig = -1};
    struct hello h = {.run = 1, .sent_ms = now_ms, .state_since_ms = now_ms, .collect = COLLECT_OK};
    struct node_now *n = live_node(l, "k1", "dgx1", now_ms);

    live_hello(l, n, &h, "10.0.0.1", now_ms);
    live_facts(l, n, 7, &(struct node_fact){.n_devices = 1, .devices = &d}, now_ms);
    return n;
}

static void send_samples(struct live *l, struct node_now *n, const struct sample *const *v, size_t count,
                         const char *user)
{
    struct gather *g = gather_new();
    struct batch b;
    struct proc_fact p = {.pid = 5};
    struct proc_use use = {.slot = 1, .kind = PROC_COMPUTE, .mem = GIB, .sm = -1};
    int64_t at_ms = 0;

    for (size_t i = 0; i < count; i++) {
        struct sample s = *v[i];
        at_ms = s.at_ms;
        assert_true(gather_tick(g, at_ms));
        if (!user)
            sample_set(&s, M_mem_used, 0);
        gather_sample(g, 1, &s);
    }
    gather_batch(g, &b);
    b.key.run = 1;
    b.facts = 7;
    if (user) {
        snprintf(p.user, sizeof(p.user), "%s", user);
        b.procs = (uint64_t)(unsigned char)user[0];
        live_procs(l, n, b.procs, &(struct proc_list){.v = &p, .n = 1}, at_ms);
        b.uses = &use;
        b.n_uses = 1;
    }
    live_batch(l, n, &b, 0, at_ms);
    gather_free(g);
}

static void send_job(struct live *l, struct node_now *n, size_t count, const char *user)
{
    const struct sample *v[PER_BATCH];

    for (size_t i = 0; i + PER_BATCH <= count; i += PER_BATCH) {
        for (size_t k = 0; k < PER_BATCH; k++)
            v[k] = &rows[i + k].s;
        send_samples(l, n, v, PER_BATCH, user);
    }
}

static void what_a_gpu_is_used_for_stands_in_its_state(void **unused)
{
    static const struct {
        const char *file, *job;
    } jobs[] = {{"compute", "bf16"},      {"compute", "gpt"},    {"compute", "fp32"}, {"compute", "gpt-fp32"},
                {"waiting", "gpt-stall"}, {"waiting", "loader"}, {"memory", "copy"},  {"memory", "gemv"},
                {"tensor", "tf32"},       {"tensor", "fp8"},     {"waiting", "tiny"}, {"waiting", "spin"},
                {"pauses", "idle-tail"}};

    (void)unused;
    for (size_t i = 0; i < ARRAY_LEN(jobs); i++) {
        char file[80];
        snprintf(file, sizeof(file), "tests/device/recorded/h200-%s.csv", jobs[i].file);
        size_t count = load(file, jobs[i].job);
        struct live *l = live_new(NULL, NULL, NULL);
        struct node_now *n = make_node(l, rows[0].s.at_ms);
        send_job(l, n, count, "kim");
        const struct device_now *d = &n->devices[0];
        print_message("%s: %s\n", jobs[i].job, d->n_advice ? advice_rules[d->advice[0].rule].title : "nothing");
        assert_int_equal(d->n_advice, rows[0].want[0] != 0);
        if (d->n_advice) {
            assert_string_equal(advice_rules[d->advice[0].rule].name, rows[0].want);
            assert_true(d->advice[0].from_ms >= rows[0].s.at_ms);
        }
        live_free(l);
    }
}

static void it_begins_anew_with_whoever_holds_it(void **unused)
{
    size_t count = load("tests/device/recorded/h200-waiting.csv", "spin");
    struct live *l = live_new(NULL, NULL, NULL);
    struct node_now *n = make_node(l, rows[0].s.at_ms);
    struct sample s = {.at_ms = rows[count - 1].s.at_ms + 5000};

    (void)unused;
    send_job(l, n, count, "kim");
    assert_int_equal(n->devices[0].n_advice, 1);
    for (size_t i = 0; i < count; i++)
        rows[i].s.at_ms += LATER_MS;
    send_job(l, n, 40, "lee"); /* another user, for less than a minute */
    assert_int_equal(n->devices[0].n_advice, 0);
    for (size_t i = 0; i < count; i++)
        rows[i].s.at_ms += LATER_MS;
    send_job(l, n, count, "lee");
    assert_int_equal(n->devices[0].n_advice, 1);
    s.at_ms += 2ll * LATER_MS;
    sample_set(&s, M_active, 0);
    send_samples(l, n, (const struct sample *[]){&s}, 1, NULL); /* no processes */
    assert_int_equal(n->devices[0].n_advice, 0);
    assert_null(n->devices[0].advice);
    live_free(l);
}

static void advice_is_withheld_while_the_driver_hangs(void **unused)
{
    size_t count = load("tests/device/recorded/h200-waiting.csv", "spin");
    struct live *l = live_new(NULL, NULL, NULL);
    struct node_now *n = make_node(l, rows[0].s.at_ms);
    int64_t end_ms = rows[count - 1].s.at_ms;
    struct hello h = {.run = 1, .sent_ms = end_ms, .state_since_ms = end_ms, .collect = COLLECT_HUNG};

    (void)unused;
    send_job(l, n, count, "kim");
    assert_int_equal(n->devices[0].n_advice, 1);
    live_hello(l, n, &h, "10.0.0.1", end_ms);
    live_tick(l, end_ms + 6000);
    assert_int_equal(n->devices[0].state, DEV_HUNG);
    assert_int_equal(n->devices[0].n_advice, 0);
    h.collect = COLLECT_OK;
    h.sent_ms = end_ms + LATER_MS;
    live_hello(l, n, &h, "10.0.0.1", end_ms + LATER_MS);
    for (size_t i = 0; i < count; i++)
        rows[i].s.at_ms += LATER_MS;
    send_job(l, n, count, "kim");
    assert_int_equal(n->devices[0].n_advice, 1);
    live_free(l);
}

static void a_gpu_that_tells_no_activity_has_no_advice(void **unused)
{
    size_t count = load("tests/device/recorded/h200-waiting.csv", "spin");
    struct live *l = live_new(NULL, NULL, NULL);
    struct node_now *n = make_node(l, rows[0].s.at_ms);

    (void)unused;
    for (size_t i = 0; i < count; i++)
        bits_clear(&rows[i].s.have, M_active);
    send_job(l, n, count, "kim");
    assert_int_equal(n->devices[0].state, DEV_BUSY);
    assert_int_equal(n->devices[0].n_advice, 0);
    live_free(l);
}

TESTS(cmocka_unit_test(what_a_gpu_is_used_for_stands_in_its_state),
      cmocka_unit_test(advice_is_withheld_while_the_driver_hangs),
      cmocka_unit_test(it_begins_anew_with_whoever_holds_it),
      cmocka_unit_test(a_gpu_that_tells_no_activity_has_no_advice))
