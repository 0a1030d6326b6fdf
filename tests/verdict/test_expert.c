/*
 * test_expert.c: jobs that the rules were not tuned for (tests/device/jobs.py, recorded on an H200 by
 * tests/device/verdicts.py): each has the verdict that an expert gave before it ran, except the misses below. A job was
 * recorded for eight seconds, which are replayed for five minutes: as the agent reads them (pipes and cores every 5 s,
 * the rest every second), and as means of 5 s and of a minute, as a run's verdict reads its samples.
 */
#include "base/order.h"
#include "model/work.h"
#include "recorded.h"
#include "test.h"
#include "verdict/tracker.h"

enum { ROWS_MAX = 1000, SECONDS = 300 };

static struct recorded_row rows[ROWS_MAX];
static size_t n_rows;

static void load(void)
{
    static struct recorded file;
    AUTO_FILE FILE *f = fopen("tests/device/recorded/h200-jobs.csv", "re");
    assert_non_null(f);
    assert_true(recorded_begin(&file, f));
    for (n_rows = 0; n_rows < ROWS_MAX && recorded_next(&file, &rows[n_rows]);)
        n_rows++;
    assert_true(n_rows > 200 && n_rows < ROWS_MAX);
}

static size_t job_end(size_t from)
{
    size_t to = from;
    while (to < n_rows && strcmp(rows[to].job, rows[from].job) == 0)
        to++;
    return to;
}

/* What the agent reads every 5 s; the rest comes every second. */
static bool is_slow(enum metric m)
{
    static const enum metric slow[] = {M_active,      M_sm_active,    M_sm_occupancy, M_int_active,   M_tensor_active,
                                       M_dfma_active, M_hmma_active,  M_imma_active,  M_dram_active,  M_fp64_active,
                                       M_fp32_active, M_fp16_active,  M_work,         M_pcie_rx,      M_pcie_tx,
                                       M_host_cpu,    M_host_cpu_top, M_power_limit,  M_power_default};
    return ANY(ARRAY_LEN(slow), i, slow[i] == m);
}

/* The mean of some seconds of a job that goes on for ever. */
static struct sample mean_of(const struct recorded_row *job, size_t n, size_t from, size_t seconds)
{
    struct sample ret = {.at_ms = 1794768960000 + (int64_t)(from + seconds) * 1000};
    int64_t work;
    for (enum metric m = 0; m < M_COUNT; m++) {
        int64_t sum = 0, of = 0, mask = 0;
        for (size_t t = from; t < from + seconds; t++)
            if (sample_has(&job[t % n].s, m)) {
                sum += job[t % n].s.v[m];
                mask |= job[t % n].s.v[m];
                of++;
            }
        if (of)
            sample_set(&ret, m, m == M_throttle ? mask : sum / of);
    }
    if (work_of(&ret, &work))
        sample_set(&ret, M_work, work);
    return ret;
}

static struct tracker *as_the_agent_reads(const struct recorded_row *job, size_t n, size_t seconds)
{
    struct tracker *w = tracker_new(ADVICE_READING_MS);
    for (size_t t = 0; t < seconds; t++) {
        struct sample s = mean_of(job, n, t, 1), slow = t % 5 == 4 ? mean_of(job, n, t - 4, 5) : (struct sample){0};
        for (enum metric m = 0; m < M_COUNT; m++)
            if (is_slow(m) && t) {
                bits_clear(&s.have, m);
                if (sample_has(&slow, m))
                    sample_set(&s, m, slow.v[m]);
            }
        tracker_add(w, &s);
    }
    return w;
}

static struct tracker *as_means(const struct recorded_row *job, size_t n, size_t seconds)
{
    struct tracker *w = tracker_new(MAX((int64_t)seconds * 1000, ADVICE_READING_MS));
    for (size_t t = 0; t < SECONDS; t += seconds) {
        struct sample s = mean_of(job, n, t, seconds);
        tracker_add(w, &s);
    }
    return w;
}

/* Jobs that do not have the expert's verdict (docs/internals/verdict.md), and their verdict. */
static const struct {
    const char *job, *has;
} misses[] = {{"decode-sampled", "host-or-small"}};

static const char *wanted(const struct recorded_row *job)
{
    size_t i = FIRST(ARRAY_LEN(misses), k, strcmp(misses[k].job, job->job) == 0);
    return i < ARRAY_LEN(misses) ? misses[i].has : job->want;
}

static size_t judge(struct tracker *w, const char *want, const char *job, const char *how)
{
    struct advice a[ADVICE_COUNT];
    size_t n = tracker_advice(w, a, ARRAY_LEN(a));
    bool right = n == (want[0] != 0) && (!n || strcmp(advice_rules[a[0].rule].name, want) == 0);
    print_message("%-5s %s, %s: wanted %s; %s (%s)%s\n", right ? "ok" : "WRONG", job, how, want[0] ? want : "nothing",
                  n ? advice_rules[a[0].rule].name : "nothing", n ? a[0].evidence : "", n > 1 ? ", and more" : "");
    tracker_free(w);
    return !right;
}

static void each_job_has_the_verdict_of_an_expert(void **unused)
{
    size_t wrong = 0, jobs = 0, silent = 0;
    (void)unused;
    load();
    for (size_t from = 0, to; from < n_rows; from = to, jobs++) {
        const struct recorded_row *job = &rows[from];
        to = job_end(from);
        silent += !job->want[0];
        wrong += judge(as_the_agent_reads(job, to - from, SECONDS), wanted(job), job->job, "live");
        wrong += judge(as_means(job, to - from, 5), wanted(job), job->job, "means of 5 s");
        wrong += judge(as_means(job, to - from, 60), wanted(job), job->job, "means of a minute");
    }
    assert_int_equal(wrong, 0);
    assert_true(jobs >= 54 && silent >= 14);
}

/* Another machine, another model: each value is up to 5 % more or less over the whole job. */
static void other_values_a_twentieth_apart_change_no_verdict(void **unused)
{
    uint64_t seed = 43;
    size_t wrong = 0;
    (void)unused;
    load();
    for (size_t from = 0, to; from < n_rows; from = to) {
        struct recorded_row job[64];
        to = job_end(from);
        assert_true(to - from <= ARRAY_LEN(job));
        for (int k = 0; k < 20; k++) {
            memcpy(job, &rows[from], (to - from) * sizeof(*job));
            for (enum metric m = 0; m < M_COUNT; m++) {
                seed = seed * 6364136223846793005ull + 1442695040888963407ull;
                double by = 0.95 + 0.1 * (double)(seed >> 40) / (double)(1 << 24);
                for (size_t i = 0; i < to - from; i++)
                    if (metrics[m].unit == UNIT_RATIO || m == M_pcie_rx || m == M_host_cpu || m == M_host_cpu_top)
                        job[i].s.v[m] = (int64_t)((double)job[i].s.v[m] * by);
            }
            wrong += judge(as_the_agent_reads(job, to - from, SECONDS), wanted(job), job->job, "a twentieth apart");
        }
    }
    assert_int_equal(wrong, 0);
}

/* A recorded job with some values changed; it goes on for long enough for every rule. */
static size_t judge_changed(const char *job, enum metric a, int64_t va, enum metric b, int64_t vb, const char *want)
{
    struct recorded_row v[64];
    size_t from = FIRST(n_rows, i, strcmp(rows[i].job, job) == 0), n = job_end(from) - from;
    assert_true(n > 0 && n <= ARRAY_LEN(v));
    memcpy(v, &rows[from], n * sizeof(*v));
    for (size_t i = 0; i < n; i++) {
        sample_set(&v[i].s, a, va);
        sample_set(&v[i].s, b, vb);
    }
    return judge(as_the_agent_reads(v, n, 1200), want, job, "changed");
}

/* Its process says which of the two it is: half a percent of activity alone does not. */
static void a_gpu_that_is_seldom_active_waits_or_is_idle(void **unused)
{
    size_t wrong = 0;
    (void)unused;
    load();
    wrong += judge_changed("neighbours", M_host_cpu, 1000, M_host_cpu_top, 1000, "starved");
    wrong += judge_changed("neighbours", M_host_cpu, 2000, M_host_cpu_top, 300, "starved"); /* several workers */
    wrong += judge_changed("neighbours", M_host_cpu, 20, M_host_cpu_top, 20, "unused");     /* a notebook */
    wrong += judge_changed("neighbours", M_active, 4, M_sm_active, 0, "unused"); /* a core that is not for the GPU */
    assert_int_equal(wrong, 0);
}

/* Also where nothing says what limits it: a slice has few of the multiprocessors that the job fills. */
static void a_gpu_whose_multiprocessors_are_full_needs_no_slice(void **unused)
{
    (void)unused;
    load();
    assert_int_equal(judge_changed("transposition", M_dram_active, 800, M_int_active, 1800, ""), 0);
}

TESTS(cmocka_unit_test(a_gpu_that_is_seldom_active_waits_or_is_idle),
      cmocka_unit_test(a_gpu_whose_multiprocessors_are_full_needs_no_slice),
      cmocka_unit_test(other_values_a_twentieth_apart_change_no_verdict),
      cmocka_unit_test(each_job_has_the_verdict_of_an_expert))
