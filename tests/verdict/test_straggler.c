/* test_straggler.c: eight replayed GPUs of one run, minute by minute: one that falls behind is found, healthy ones are
 * left alone, also where stages differ by design. Minutes are means of recorded seconds with spread. */
#include "truework.h"
#include "verdict/straggler.h"

enum { GPUS = 8, MINUTES = 40 };

static double v[GPUS][SIBLING_VALUES][MINUTES];
static uint64_t seed;

static double unit(void)
{
    seed = seed * 6364136223846793005ull + 1442695040888963407ull;
    return (double)(seed >> 40) / (double)(1 << 24);
}

/* A healthy run: GPUs differ by up to a tenth as they are made, stages as `stage` says, seconds by what was recorded,
 * minutes by three percent. */
static void make_run(uint64_t with, const double *stage)
{
    seed = with;
    for (size_t i = 0; i < GPUS; i++) {
        double made = 0.95 + 0.1 * unit(), at = stage ? stage[i] : 1;
        for (size_t t = 0; t < MINUTES; t++) {
            const struct sample *s = truework_at("gpt", (size_t)(unit() * 1000));
            v[i][SIBLING_POWER][t] = (double)s->v[M_power] / 1000 * made * (0.5 + 0.5 * at) * (0.985 + 0.03 * unit());
            v[i][SIBLING_SM][t] = (double)s->v[M_sm_active] / 10000 * at * (0.985 + 0.03 * unit());
            v[i][SIBLING_LINK][t] = 80e9 * at * (0.97 + 0.06 * unit());
        }
    }
}

static void change_from(size_t minute, size_t i, double power, double sm, double link)
{
    for (size_t t = minute; t < MINUTES; t++) {
        v[i][SIBLING_POWER][t] *= power;
        v[i][SIBLING_SM][t] *= sm;
        v[i][SIBLING_LINK][t] *= link;
    }
}

/* The first n GPUs over their first minutes. */
static int find(size_t n, size_t minutes, struct advice *ret)
{
    struct sibling s[GPUS] = {0};
    const struct sibling *list[GPUS];
    for (size_t i = 0; i < n; i++) {
        list[i] = &s[i];
        for (size_t t = 0; t < minutes; t++)
            sibling_minute(&s[i], (double[]){v[i][SIBLING_POWER][t], v[i][SIBLING_SM][t], v[i][SIBLING_LINK][t]});
    }
    return straggler_find(list, n, ret);
}

static void a_straggler_among_eight_is_found(void **unused)
{
    static const struct {
        const char *what;
        double power, sm, link;
        bool others; /* that happens to all but one */
    } cases[] = {{"throttled", 0.7, 1, 1, false},
                 {"waits for its data", 0.73, 0.57, 1, false},
                 {"a bad link", 1, 1, 0.5, false},
                 {"works while the others wait for it", 0.75, 1, 1, true},
                 {"a little of all", 0.85, 0.85, 1, false}};
    static const double stages[GPUS] = {1, 0.8, 0.6, 0.9, 0.7, 0.85, 0.95, 0.5};
    (void)unused;
    for (size_t c = 0; c < ARRAY_LEN(cases); c++)
        for (size_t i = 0; i < GPUS; i++) {
            struct advice a;
            make_run(7 + i, i % 2 ? stages : NULL);
            for (size_t k = 0; k < GPUS; k++)
                if ((k == i) != cases[c].others)
                    change_from(25, k, cases[c].power, cases[c].sm, cases[c].link);
            int found = find(GPUS, MINUTES, &a);
            print_message("%s: GPU %d: %s\n", cases[c].what, found, found >= 0 ? a.evidence : "-");
            assert_int_equal(found, i);
            assert_int_equal(a.rule, ADVICE_straggler);
        }
}

static void a_hundred_healthy_runs_raise_none(void **unused)
{
    static const double stages[GPUS] = {1, 0.8, 0.6, 0.9, 0.7, 0.85, 0.95, 0.5};
    struct advice a;
    (void)unused;
    for (uint64_t run = 0; run < 100; run++) {
        make_run(1000 + run, run % 10 == 0 ? stages : NULL); /* every tenth a pipeline */
        if (run % 3 == 0)                                    /* all of them slower together: nobody is apart */
            for (size_t i = 0; i < GPUS; i++)
                change_from(20, i, 0.8, 0.7, 0.7);
        for (size_t minutes = 1; minutes <= MINUTES; minutes++) {
            int found = find(GPUS, minutes, &a);
            if (found >= 0)
                fail_msg("run %d, minute %zu: GPU %d: %s", (int)run, minutes, found, a.evidence);
        }
    }
}

static void minutes_of_loading_before_the_work_do_not_count(void **unused)
{
    struct advice a;
    (void)unused;
    make_run(3, NULL);
    for (size_t i = 0; i < GPUS; i++)
        for (size_t t = 0; t < 8; t++) {
            v[i][SIBLING_SM][t] = 0;
            v[i][SIBLING_POWER][t] = 78;
            v[i][SIBLING_LINK][t] = 0;
        }
    assert_int_equal(find(GPUS, MINUTES, &a), -1);
    change_from(30, 5, 0.7, 0.8, 1);
    assert_int_equal(find(GPUS, 20, &a), -1); /* not yet */
    assert_int_equal(find(GPUS, MINUTES, &a), 5);
}

static void what_is_not_known_makes_no_straggler(void **unused)
{
    struct advice a;
    (void)unused;
    make_run(3, NULL);
    change_from(25, 2, 0.5, 0.5, 0.5);
    assert_int_equal(find(GPUS, MINUTES, &a), 2);
    assert_int_equal(find(2, MINUTES, &a), -1); /* of two nobody knows which */
    assert_int_equal(find(GPUS, 12, &a), -1);   /* too short */
    v[6][SIBLING_POWER][MINUTES - 1] = NAN;
    v[6][SIBLING_SM][MINUTES - 1] = NAN;
    v[6][SIBLING_LINK][MINUTES - 1] = NAN;
    assert_int_equal(find(GPUS, MINUTES, &a), -1);
}

static void one_that_has_ended_is_no_straggler(void **unused)
{
    struct advice a;
    (void)unused;
    make_run(11, NULL);
    for (size_t t = 30; t < MINUTES; t++) { /* it ended, the others go on */
        v[4][SIBLING_SM][t] = 0;
        v[4][SIBLING_POWER][t] = 78;
        v[4][SIBLING_LINK][t] = 0;
    }
    assert_int_equal(find(GPUS, MINUTES, &a), -1);
    change_from(25, 1, 0.7, 0.8, 1);
    assert_int_equal(find(GPUS, MINUTES, &a), 1); /* among those that work */
    assert_true(a.lost > 0.1 && a.lost < 0.5);
}

static void readings_make_minutes(void **unused)
{
    struct sibling s = {0};
    struct sample r = *truework_at("gpt", 0);
    (void)unused;
    for (int64_t at = 0; at < 14 * 60; at += 5) {
        r.at_ms = 1794768960000 + at * 1000;
        sibling_add(&s, &r);
    }
    assert_int_equal(s.n_first, STRAGGLER_FIRST);
    assert_int_equal(s.n_last, STRAGGLER_LAST);
    assert_near(s.last[2][SIBLING_SM], (double)r.v[M_sm_active] / 1e4, 1e-4);
    assert_true(isnan(s.last[0][SIBLING_LINK])); /* not recorded */
    r.at_ms += 180000;
    sibling_add(&s, &r);
    assert_int_equal(s.n_last, 0); /* a hole */
}

TESTS(cmocka_unit_test(a_straggler_among_eight_is_found), cmocka_unit_test(a_hundred_healthy_runs_raise_none),
      cmocka_unit_test(minutes_of_loading_before_the_work_do_not_count),
      cmocka_unit_test(one_that_has_ended_is_no_straggler), cmocka_unit_test(readings_make_minutes),
      cmocka_unit_test(what_is_not_known_makes_no_straggler))
