/*
 * test_tracker.c: the rules over one GPU, second by second over recorded jobs (tests/data/truework.csv): each fires on
 * the job it is for and on no other. What was not recorded is put together from recorded seconds, and says so.
 */
#include "base/order.h"
#include "truework.h"
#include "verdict/pauses.h"
#include "verdict/tracker.h"

#define T0  1794768949000
#define GIB ((int64_t)1 << 30)

/* A second of a scene: which recorded job, and what is different. */
typedef void second_fn(size_t t, struct sample *s);

static struct sample mixed(const struct sample *a, const struct sample *b, double share)
{
    struct sample s = *a;
    for (enum metric m = 0; m < M_COUNT; m++)
        if (sample_has(a, m) && sample_has(b, m))
            s.v[m] = (int64_t)((double)a->v[m] * share + (double)b->v[m] * (1 - share));
    return s;
}

static void take_job(const char *job, size_t t, struct sample *s)
{
    int64_t mem = s->v[M_mem_used];
    *s = *truework_at(job, t);
    if (mem)
        sample_set(s, M_mem_used, mem);
}

/* Put together from recorded seconds: */
static void low_limit(size_t t, struct sample *s)
{
    (void)t;
    sample_set(s, M_power_limit, 400000);
}
static void low_limit_not_felt(size_t t, struct sample *s)
{
    low_limit(t, s);
    sample_set(s, M_throttle, 0);
}
static void low_clock(size_t t, struct sample *s)
{
    (void)t;
    sample_set(s, M_clock_sm, s->v[M_clock_sm] / 2);
}
static void too_hot(size_t t, struct sample *s)
{
    low_clock(t, s);
    sample_set(s, M_throttle, 0x24);
}
static void now_and_then(size_t t, struct sample *s) /* a notebook: 8 % of each second, with little memory */
{
    *s = mixed(truework_at("gpt", t), truework_at("idle", t), 0.08);
    sample_set(s, M_throttle, 0);
    sample_set(s, M_mem_used, 20 * GIB);
}
static void little_memory(size_t t, struct sample *s)
{
    (void)t;
    sample_set(s, M_mem_used, 2 * GIB);
}
static void no_work_after_a_minute(size_t t, struct sample *s)
{
    if (t >= 100)
        take_job("idle", t, s);
}
static void checkpoints(size_t t, struct sample *s) /* eight seconds every forty */
{
    if (t % 40 >= 32)
        take_job("idle", t, s);
}
static void stalling(size_t t, struct sample *s) /* as long, at odd times */
{
    static const size_t at[] = {20, 35, 140, 180, 195, 270};
    for (size_t i = 0; i < ARRAY_LEN(at); i++)
        if (t >= at[i] && t < at[i] + 8)
            take_job("idle", t, s);
}
static void slow_loader(size_t t, struct sample *s) /* with one process that does it all */
{
    (void)t;
    sample_set(s, M_host_cpu, 1100);
    sample_set(s, M_host_cpu_top, 1000);
}
/* A training whose Python loader makes the batches: as in the issue that asked for it, in shares of a second. */
static void loads_in_python(size_t t, struct sample *s, double active, double filled, int64_t cores)
{
    (void)t;
    *s = mixed(truework_at("gpt", 0), truework_at("idle", 0), active);
    sample_set(s, M_sm_active, (int64_t)(1e4 * active * filled));
    sample_set(s, M_util, s->v[M_active]);
    sample_set(s, M_throttle, 0);
    sample_set(s, M_mem_used, 6 * GIB);
    sample_set(s, M_host_cpu, cores);
    sample_set(s, M_host_cpu_top, cores);
}
static void python_loader(size_t t, struct sample *s)
{
    loads_in_python(t, s, 0.14, 0.73, 2000);
}
static void loader_workers(size_t t, struct sample *s) /* kernels that fill little of it, and four workers */
{
    loads_in_python(t, s, 0.3, 0.65, 4200);
    sample_set(s, M_host_cpu_top, 1000);
}
static void one_thread(size_t t, struct sample *s) /* it loads, or it launches */
{
    loads_in_python(t, s, 0.5, 0.65, 1000);
}
static void waits_for_storage(size_t t, struct sample *s)
{
    loads_in_python(t, s, 0.4, 0.7, 200);
}
static void seldom(size_t t, struct sample *s) /* with all its memory: no slice would do */
{
    loads_in_python(t, s, 0.06, 0.7, 100);
    sample_set(s, M_mem_used, 100 * GIB);
}
static void asked_by_few(size_t t, struct sample *s)
{
    loads_in_python(t, s, 0.14, 0.73, 200);
}
static void launches(size_t t, struct sample *s)
{
    loads_in_python(t, s, 0.5, 0.58, 1000);
}
static void half_filled(size_t t, struct sample *s) /* never without a kernel */
{
    loads_in_python(t, s, 0.99, 0.6, 1000);
}
static void half_a_minute(size_t t, struct sample *s) /* then it is well for as long */
{
    if (t / 40 % 2 == 0)
        take_job("gpt", t, s);
}
static void no_activity(size_t t, struct sample *s) /* an older GPU */
{
    (void)t;
    for (enum metric m = M_sm_active; m <= M_flops; m++)
        if (m != M_busy)
            bits_clear(&s->have, m);
    bits_clear(&s->have, M_active);
}

static const struct alert_input {
    const char *name, *job;
    second_fn *change; /* NULL: as recorded */
    int rule;          /* the one that fires; -1: none */
    const char *evidence;
} scenes[] = {
    {"idle", "idle", NULL, -1, NULL},
    {"bf16 matrix products", "bf16", NULL, -1, NULL},
    {"tf32", "tf32", NULL, -1, NULL},
    {"fp8", "fp8", NULL, -1, NULL},
    {"a GPT trains", "gpt", NULL, -1, NULL},
    {"small products", "small", NULL, ADVICE_small_kernels, "active 34 %, SM 19 %"},
    {"small products, little memory", "small", little_memory, ADVICE_small_kernels, NULL},
    {"a thread that spins, little memory", "spin", little_memory, ADVICE_spinning, NULL},
    {"a GPT, little memory", "gpt", little_memory, -1, NULL},
    {"fp32", "fp32", NULL, ADVICE_fp32, "active 100 %, fp32 77 %, tensor 0 %"},
    {"the GPT in fp32 by mistake", "gpt-fp32", NULL, ADVICE_fp32, "active 100 %, fp32 66 %, tensor 3 %"},
    {"a copy", "copy", NULL, ADVICE_memory_bound, "active 99 %, SM 99 %, memory bandwidth 89 %, tensor 0 %"},
    {"decoding", "gemv", NULL, ADVICE_memory_bound, "active 97 %, SM 80 %, memory bandwidth 76 %, tensor 3 %"},
    {"one thread that spins", "spin", NULL, ADVICE_spinning, "active 100 %, SM 1 %"},
    {"100 ms of waiting for data", "gpt-stall", NULL, ADVICE_starved, "active 60 %, SM 53 %"},
    {"the same with a loader", "gpt-stall", slow_loader, ADVICE_starved,
     "active 60 %, SM 53 %, its processes use 1.1 cores, the busiest 1.0: it is what limits"},
    {"a loader in Python", "gpt", python_loader, ADVICE_starved,
     "active 14 %, SM 10 %, its processes use 2.0 cores, the busiest 2.0: it is what limits"},
    {"a loader with workers", "gpt", loader_workers, ADVICE_starved, NULL},
    {"one thread that loads or launches", "gpt", one_thread, ADVICE_host_or_small,
     "active 49 %, SM 32 %, its processes use 1.0 cores, the busiest 1.0"},
    {"slow storage", "gpt", waits_for_storage, ADVICE_starved,
     "active 39 %, SM 28 %, its processes use 0.2 cores, the busiest 0.2: they wait as well, for storage, the network "
     "or requests"},
    {"little work, all of the memory", "gpt", seldom, ADVICE_starved, NULL},
    {"a server with few requests", "gpt", asked_by_few, ADVICE_slice, NULL},
    {"launches without a break", "gpt", launches, ADVICE_small_kernels, NULL},
    {"kernels beside each other would fit", "gpt", half_filled, ADVICE_small_kernels, NULL},
    {"a lower power limit", "gpt", low_limit, ADVICE_power_capped,
     "active 100 %, clock 80 % of its highest, limit 400 of 700 W"},
    {"a lower limit that is not reached", "gpt", low_limit_not_felt, -1, NULL},
    {"half of the clock", "gpt", low_clock, ADVICE_power_capped, NULL},
    {"heat", "gpt", too_hot, ADVICE_hot, "active 100 %, clock 40 % of its highest"},
    {"a notebook", "gpt", now_and_then, ADVICE_slice, "at most 20.0 GiB of 140 GiB, efficiency 4 %"},
    {"an end of which nobody told the GPU", "gpt", no_work_after_a_minute, ADVICE_idle_tail, NULL},
    {"checkpoints", "gpt", checkpoints, ADVICE_pauses, "7 pauses of 8 s on average, every 40 s: 20 % of 4 m"},
    {"stalls", "gpt", stalling, ADVICE_stalls, NULL},
    {"fp32 for forty seconds at a time", "gpt-fp32", half_a_minute, -1, NULL},
    {"an older GPU", "spin", no_activity, -1, NULL},
};

/* Seconds of a scene; of every so many the mean is read, as an agent does. */
static struct tracker *replay(const struct alert_input *c, size_t seconds, size_t every)
{
    struct tracker *w = tracker_new(ADVICE_READING_MS);
    for (size_t t = 0; t + every <= seconds; t += every) {
        struct sample sum = {0};
        for (size_t k = 0; k < every; k++) {
            struct sample s = *truework_at(c->job, t + k);
            if (c->change)
                c->change(t + k, &s);
            sum = k ? mixed(&sum, &s, (double)k / (double)(k + 1)) : s;
        }
        sum.at_ms = T0 + (int64_t)(t + every) * 1000;
        tracker_add(w, &sum);
    }
    return w;
}

static void each_rule_fires_on_the_job_it_is_for_and_on_no_other(void **unused)
{
    (void)unused;
    for (size_t i = 0; i < ARRAY_LEN(scenes); i++)
        for (size_t every = 1; every <= 5; every += 4) {
            struct advice a[ADVICE_COUNT];
            struct tracker *w = replay(&scenes[i], 300, every);
            size_t n = tracker_advice(w, a, ARRAY_LEN(a));
            print_message("%s, every %zu s:%s\n", scenes[i].name, every, n ? "" : " nothing");
            for (size_t k = 0; k < n; k++)
                print_message("    %s: %s. %s\n", advice_rules[a[k].rule].title, a[k].evidence,
                              advice_rules[a[k].rule].remedy);
            assert_int_equal(n, scenes[i].rule >= 0);
            if (n) {
                assert_int_equal(a[0].rule, scenes[i].rule);
                assert_true(a[0].evidence[0] && a[0].ms >= 30000 && a[0].from_ms >= T0);
                if (scenes[i].evidence && every == 1)
                    assert_string_equal(a[0].evidence, scenes[i].evidence);
            }
            tracker_free(w);
        }
}

static void every_rule_of_one_gpu_has_a_scene(void **unused)
{
    (void)unused;
    for (int r = 0; r < ADVICE_COUNT; r++) {
        assert_true(advice_rules[r].name[0] && advice_rules[r].title[0] && advice_rules[r].remedy[0]);
        assert_true(r == ADVICE_straggler || r == ADVICE_unused /* below */ ||
                    ANY(ARRAY_LEN(scenes), i, scenes[i].rule == r));
    }
}

/* Hours of a GPU that is held, put together from recorded seconds: */
static void ten_gib(size_t t, struct sample *s)
{
    (void)t;
    sample_set(s, M_mem_used, 10 * GIB);
}
static void nobody(size_t t, struct sample *s)
{
    (void)t;
    sample_set(s, M_mem_used, 0);
}
static void loads_slowly(size_t t, struct sample *s) /* a GiB in five minutes, to the end */
{
    sample_set(s, M_mem_used, (1 + (int64_t)t / 300) * GIB);
}
static void works_after_nine_minutes(size_t t, struct sample *s)
{
    if (t >= 540)
        take_job("gpt", t, s);
}
static void one_step_only(size_t t, struct sample *s)
{
    if (t >= 30 && t < 40)
        take_job("gpt", t, s);
}
static void asked_now_and_then(size_t t, struct sample *s) /* a server: 80 ms in five minutes */
{
    if (t % 300 == 0)
        *s = mixed(truework_at("gpt", t), truework_at("idle", t), 0.08);
}
static void another_rule_after_an_hour(size_t t, struct sample *s)
{
    if (t >= 3000)
        take_job("gpt-fp32", t, s);
}

static void what_is_held_and_never_used_is_found(void **unused)
{
    static const struct alert_input hours[] =
        {{"10 GiB held", "idle", ten_gib, ADVICE_unused, "no work for 59 m 59 s, 10.0 GiB held"},
         {"100 GiB held", "idle", NULL, ADVICE_unused, "no work for 59 m 59 s, 100 GiB held"},
         {"one step, then nothing", "idle", one_step_only, ADVICE_unused, NULL},
         {"nobody's", "idle", nobody, -1, NULL},
         {"loads slowly", "idle", loads_slowly, -1, NULL},
         {"loads, then works", "idle", works_after_nine_minutes, -1, NULL},
         {"a server with little to do", "idle", asked_now_and_then, -1, NULL},
         {"works at last", "idle", another_rule_after_an_hour, ADVICE_fp32, NULL}};
    (void)unused;
    for (size_t i = 0; i < ARRAY_LEN(hours); i++)
        for (size_t every = 1; every <= 5; every += 4) {
            struct advice a[ADVICE_COUNT];
            struct tracker *w = replay(&hours[i], 3600, every);
            size_t n = tracker_advice(w, a, ARRAY_LEN(a));
            print_message("%s, every %zu s: %s\n", hours[i].name, every, n ? a[0].evidence : "nothing");
            assert_int_equal(n, hours[i].rule >= 0);
            assert_true(!n || ((int)a[0].rule == hours[i].rule && a[0].now));
            if (hours[i].evidence && every == 1)
                assert_string_equal(a[0].evidence, hours[i].evidence);
            tracker_free(w);
        }
    struct advice a[ADVICE_COUNT];
    struct tracker *w = replay(&hours[0], 600, 5); /* its first minutes are nobody's business */
    assert_int_equal(tracker_advice(w, a, ARRAY_LEN(a)), 0);
    tracker_free(w);
}

static void a1_nothing_is_told_before_a_minute_and_over_a_hole(void **unused)
{
    const struct alert_input spin = {"spin", "spin", NULL, ADVICE_spinning, NULL};
    struct advice a[ADVICE_COUNT];
    struct tracker *w = replay(&spin, 60, 1);
    struct sample s = *truework_at("spin", 0);
    (void)unused;
    assert_int_equal(tracker_advice(w, a, ARRAY_LEN(a)), 0); /* the first reading stands for nothing yet: 59 s */
    s.at_ms = T0 + 61000;
    tracker_add(w, &s);
    assert_int_equal(tracker_advice(w, a, ARRAY_LEN(a)), 1);
    assert_true(a[0].now);
    assert_int_equal(a[0].ms, 60000);
    assert_int_equal(a[0].from_ms, T0 + 1000);
    tracker_free(w);
    w = replay(&spin, 50, 1);
    for (int i = 0; i < 40; i++) { /* nobody knows what was in the ten minutes between */
        s.at_ms = T0 + 650000 + i * 1000;
        tracker_add(w, &s);
    }
    assert_int_equal(tracker_advice(w, a, ARRAY_LEN(a)), 0);
    tracker_free(w);
}

static void what_is_over_is_told_as_such(void **unused)
{
    const struct alert_input fp32 = {"fp32", "gpt-fp32", NULL, ADVICE_fp32, NULL};
    struct advice a[ADVICE_COUNT];
    struct tracker *w = replay(&fp32, 101, 1);
    (void)unused;
    for (int i = 0; i < 100; i++) {
        struct sample s = *truework_at("gpt", (size_t)i);
        s.at_ms = T0 + 102000 + i * 1000;
        tracker_add(w, &s);
    }
    assert_int_equal(tracker_advice(w, a, ARRAY_LEN(a)), 1);
    assert_int_equal(a[0].rule, ADVICE_fp32);
    assert_false(a[0].now);
    assert_int_equal(a[0].ms, 100000);
    for (int i = 0; i < 100; i++) { /* and again */
        struct sample s = *truework_at("gpt-fp32", (size_t)i);
        s.at_ms = T0 + 202000 + i * 1000;
        tracker_add(w, &s);
    }
    assert_int_equal(tracker_advice(w, a, ARRAY_LEN(a)), 1);
    assert_true(a[0].now);
    assert_int_equal(a[0].ms, 200000);
    assert_int_equal(a[0].to_ms, T0 + 301000);
    tracker_free(w);
}

static void healthy_replays_with_spread_raise_nothing(void **unused)
{
    static const char *const jobs[] = {"bf16", "tf32", "fp8", "gpt"};
    uint64_t seed = 42;
    (void)unused;
    for (int run = 0; run < 100; run++) {
        struct tracker *w = tracker_new(ADVICE_READING_MS);
        struct advice a[ADVICE_COUNT];
        for (size_t t = 0; t < 600; t++) {
            struct sample s = *truework_at(jobs[run % ARRAY_LEN(jobs)], t + (size_t)run);
            for (enum metric m = 0; m < M_COUNT; m++) {
                seed = seed * 6364136223846793005ull + 1442695040888963407ull;
                if (m != M_throttle && m != M_mem_total && m != M_clock_sm_max && m != M_power_default &&
                    m != M_power_limit) /* four percent either way */
                    s.v[m] = (int64_t)((double)s.v[m] * (0.96 + 0.08 * (double)(seed >> 40) / (double)(1 << 24)));
            }
            s.at_ms = T0 + (int64_t)t * 1000;
            tracker_add(w, &s);
        }
        size_t n = tracker_advice(w, a, ARRAY_LEN(a));
        if (n)
            fail_msg("run %d: %s: %s", run, advice_rules[a[0].rule].title, a[0].evidence);
        tracker_free(w);
    }
}

TESTS(cmocka_unit_test(each_rule_fires_on_the_job_it_is_for_and_on_no_other),
      cmocka_unit_test(every_rule_of_one_gpu_has_a_scene), cmocka_unit_test(what_is_held_and_never_used_is_found),
      cmocka_unit_test(a1_nothing_is_told_before_a_minute_and_over_a_hole),
      cmocka_unit_test(what_is_over_is_told_as_such), cmocka_unit_test(healthy_replays_with_spread_raise_nothing))
