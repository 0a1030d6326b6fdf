/*
 * test_recorded.c: jobs recorded through the agent on a real H200 (tests/device/recorded), sample by sample: each rule
 * is told of the job it is for and, at no moment, of another. Runs of eight GPUs are put together from the readings of
 * a job that trains, in any order: their spread is the real one.
 */
#include "recorded.h"
#include "test.h"
#include "verdict/straggler.h"
#include "verdict/tracker.h"

enum { ROWS_MAX = 4000, GPUS = 8, MINUTES = 30, PER_MINUTE = 12 };

static struct recorded_row rows[ROWS_MAX];
static size_t n_rows;

static void load(void)
{
    static const char *const files[] = {"compute", "waiting", "pauses", "memory", "tensor", "idle"};
    static struct recorded file;
    for (size_t i = 0; i < ARRAY_LEN(files) && (i || !n_rows); i++) {
        char path[80];
        snprintf(path, sizeof(path), "tests/device/recorded/h200-%s.csv", files[i]);
        AUTO_FILE FILE *f = fopen(path, "re");
        assert_non_null(f);
        assert_true(recorded_begin(&file, f));
        while (n_rows < ROWS_MAX && recorded_next(&file, &rows[n_rows]))
            n_rows++;
        assert_true(n_rows < ROWS_MAX);
    }
    assert_true(n_rows > 1000);
}

static size_t job_end(size_t from)
{
    size_t to = from;
    while (to < n_rows && strcmp(rows[to].job, rows[from].job) == 0)
        to++;
    return to;
}

static void each_rule_is_told_of_the_recorded_job_it_is_for(void **unused)
{
    size_t jobs = 0;
    (void)unused;
    load();
    for (size_t from = 0, to; from < n_rows; from = to, jobs++) {
        struct tracker *w = tracker_new(ADVICE_READING_MS);
        struct advice a[ADVICE_COUNT];
        size_t n = 0;
        to = job_end(from);
        for (size_t i = from; i < to; i++) {
            tracker_add(w, &rows[i].s);
            n = tracker_advice(w, a, ARRAY_LEN(a));
            for (size_t k = 0; k < n; k++)
                if (strcmp(advice_rules[a[k].rule].name, rows[i].want) != 0)
                    fail_msg("%s, sample %zu: %s (%s), wanted '%s'", rows[i].job, i - from,
                             advice_rules[a[k].rule].name, a[k].evidence, rows[i].want);
        }
        print_message("%s: %s\n", rows[from].job, n ? a[0].evidence : "nothing");
        assert_int_equal(n, rows[from].want[0] != 0);
        bool known = strcmp(rows[from].want, "memory") != 0; /* what less traffic would give back nobody knows */
        assert_true(!n || (a[0].now && (a[0].lost > 0) == known && a[0].lost <= 1));
        tracker_free(w);
    }
    assert_int_equal(jobs, 16);
}

/* ---- runs of eight ---- */

static uint64_t seed;

static size_t any(size_t n)
{
    seed = seed * 6364136223846793005ull + 1442695040888963407ull;
    return (size_t)(seed >> 33) % n;
}

/* Readings of a job with activity. */
static size_t readings_of(const char *job, const struct sample *ret[64])
{
    size_t n = 0;
    for (size_t i = 0; i < n_rows && n < 64; i++)
        if (strcmp(rows[i].job, job) == 0 && sample_has(&rows[i].s, M_active))
            ret[n++] = &rows[i].s;
    assert_true(n > 10);
    return n;
}

static void times(struct sample *s, enum metric m, double by)
{
    if (sample_has(s, m))
        s->v[m] = (int64_t)((double)s->v[m] * by);
}

/* What a stage of a pipeline, or a GPU that is slowed down, does less: it waits in a kernel of NCCL's. */
static void slow_down(struct sample *s, double by)
{
    static const enum metric all[] = {M_sm_active,   M_tensor_active, M_hmma_active, M_dram_active,
                                      M_fp32_active, M_work,          M_nvlink_rx,   M_nvlink_tx};
    for (size_t i = 0; i < ARRAY_LEN(all); i++)
        times(s, all[i], by);
    times(s, M_power, 0.4 + 0.6 * by);
}

struct run {
    struct tracker *w[GPUS];
    struct sibling s[GPUS];
};

/* How fast each is by its stage, and one from a minute on; told by minute, -1: nobody ever. */
static int replay_run(const double *stage, int slow, double by, struct advice *ret)
{
    const struct sample *from[64], *limits = &rows[0].s;
    struct run run = {0};
    const struct sibling *list[GPUS];
    size_t n = readings_of("gpt", from);
    int found = -1;
    for (size_t i = 0; i < GPUS; i++) {
        run.w[i] = tracker_new(ADVICE_READING_MS);
        tracker_add(run.w[i], limits);
        list[i] = &run.s[i];
    }
    for (int t = 0; t < MINUTES * PER_MINUTE && found < 0; t++) {
        for (size_t i = 0; i < GPUS; i++) {
            struct sample s = *from[any(n)];
            s.at_ms = 1794768960000 + (int64_t)t * 60000 / PER_MINUTE;
            sample_set(&s, M_nvlink_rx, 40000000000 + (int64_t)any(2000000000)); /* one GPU alone has no link */
            sample_set(&s, M_nvlink_tx, 40000000000 + (int64_t)any(2000000000));
            slow_down(&s, (stage ? stage[i] : 1) * ((int)i == slow && t >= 15 * PER_MINUTE ? by : 1));
            tracker_add(run.w[i], &s);
            sibling_add(&run.s[i], &s);
        }
        if (t % PER_MINUTE == 0)
            found = straggler_find(list, GPUS, ret);
    }
    for (size_t i = 0; i < GPUS; i++) {
        struct advice a[ADVICE_COUNT];
        if (slow < 0 && tracker_advice(run.w[i], a, ADVICE_COUNT))
            fail_msg("GPU %zu: %s (%s)", i, advice_rules[a[0].rule].name, a[0].evidence);
        tracker_free(run.w[i]);
    }
    return found;
}

static const double pipeline[GPUS] = {1, 0.97, 0.95, 0.93, 0.9, 0.88, 0.86, 0.84};

static void a_straggler_among_eight_replayed_gpus_is_found(void **unused)
{
    (void)unused;
    load();
    for (int i = 0; i < GPUS; i++) {
        struct advice a;
        seed = 100 + (uint64_t)i;
        assert_int_equal(replay_run(i % 2 ? pipeline : NULL, i, 0.75, &a), i);
        print_message("GPU %d: %s\n", i, a.evidence);
    }
}

static void a_hundred_healthy_replays_raise_none(void **unused)
{
    (void)unused;
    load();
    for (uint64_t k = 0; k < 100; k++) {
        struct advice a;
        seed = 1000 + k;
        int found = replay_run(k % 10 == 0 ? pipeline : NULL, -1, 1, &a);
        if (found >= 0)
            fail_msg("run %d: GPU %d: %s", (int)k, found, a.evidence);
    }
}

TESTS(cmocka_unit_test(each_rule_is_told_of_the_recorded_job_it_is_for),
      cmocka_unit_test(a_straggler_among_eight_replayed_gpus_is_found),
      cmocka_unit_test(a_hundred_healthy_replays_raise_none))
