/* test_advise.c: runs and what the rules found of them become at most five lines, the largest first. */
#include "test.h"

#include <math.h>

#include "base/clock.h"
#include "base/mem.h"
#include "base/order.h"
#include "jobs/advise.h"

static double price(void *arg, const char *uuid)
{
    (void)arg;
    return strcmp(uuid, "dear") == 0 ? 2.5 : strcmp(uuid, "fair") == 0 ? 1.5 : 0;
}

static void add(struct advise_all *a, int64_t run, const char *person, enum advice_rule rule, double hours,
                const char *uuid)
{
    struct advise_found f = {.run = run, .rule = rule, .hours = hours};
    mem_copy_str(f.person, sizeof(f.person), person);
    f.n_gpus = 1;
    f.gpus = mem_zero(1, sizeof(*f.gpus));
    mem_copy_str(f.gpus[0], sizeof(*f.gpus), uuid);
    VEC_ADD(a->v, a->n, a->cap, f);
}

static void lines_are_by_person_and_rule_the_largest_first(void **unused)
{
    struct advise_all a = {0};
    struct advise_line l[ADVISE_LINES];
    (void)unused;
    assert_int_equal(advise_lines(&a, NULL, price, NULL, l), 0);
    add(&a, 1, "kim", ADVICE_starved, 4, "dear");
    add(&a, 2, "lee", ADVICE_fp32, 8, "cheap");
    add(&a, 3, "kim", ADVICE_starved, 6, "dear");
    add(&a, 4, "kim", ADVICE_fp32, 1, "dear");
    assert_int_equal(advise_lines(&a, NULL, price, NULL, l), 3);
    assert_string_equal(l[0].most->person, "kim");
    assert_int_equal(l[0].most->rule, ADVICE_starved);
    assert_int_equal(l[0].most->run, 3); /* where most of it was */
    assert_int_equal(l[0].runs, 2);
    assert_near(l[0].hours, 10, 1e-9);
    assert_near(l[0].cost, 25, 1e-9);
    assert_string_equal(l[1].most->person, "lee");
    assert_true(isnan(l[1].cost)); /* no price, no money */
    for (int i = 0; i < 20; i++)
        add(&a, 10 + i, "somebody", (enum advice_rule)(i % ADVICE_COUNT), 20 + i, "cheap");
    assert_int_equal(advise_lines(&a, NULL, price, NULL, l), ADVISE_LINES);
    assert_true(l[0].hours >= l[1].hours && l[3].hours >= l[4].hours);
    advise_fini(&a);
}

static void a_run_gives_back_no_more_than_it_held(void **unused)
{
    struct run_verdict v = {.n = 4, .n_all = 4, .all.held_ms = 4 * 3600000};
    struct run_advice starved = {.a = {.rule = ADVICE_starved, .ms = 1800000, .lost = 0.4}, .n_gpus = 2};
    struct run_advice apart = {.a = {.rule = ADVICE_straggler, .ms = 1800000, .lost = 0.2}, .n_gpus = 1};
    struct run_advice spins = {.a = {.rule = ADVICE_spinning, .ms = 36000000, .lost = 1}, .n_gpus = 4};
    (void)unused;
    assert_near(advise_hours(&v, &starved), 0.4, 1e-9);
    assert_near(advise_hours(&v, &apart), 0.4, 1e-9); /* all four wait for it */
    assert_near(advise_hours(&v, &spins), 4, 1e-9);
    v.n_all = 40; /* four of forty were read */
    assert_near(advise_hours(&v, &starved), 4, 1e-9);
    assert_near(advise_hours(&v, &apart), 4, 1e-9);
    assert_near(advise_hours(&v, &spins), 40, 1e-9);
}

static void money_is_by_the_gpus_of_which_it_is_told(void **unused)
{
    static const struct {
        const char *what, *gpus[4];
        uint8_t told[4];
        enum advice_rule rule;
        double hour; /* NAN: not known */
    } cases[] = {{"of one", {"fair", "dear", "fair", "fair"}, {0, 1, 0, 0}, ADVICE_starved, 2.5},
                 {"the mean", {"dear", "fair", "fair", "dear"}, {1, 1, 0, 0}, ADVICE_starved, 2},
                 {"another has no price", {"dear", "fair", "old", "old"}, {1, 1, 0, 0}, ADVICE_starved, 2},
                 {"one has no price", {"dear", "old", "fair", "fair"}, {1, 1, 0, 0}, ADVICE_starved, NAN},
                 {"all wait for one", {"dear", "fair", "fair", "fair"}, {1, 0, 0, 0}, ADVICE_straggler, 1.75}};
    (void)unused;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct verdict_gpu gpus[4] = {0};
        struct run_verdict v = {.n = 4, .n_all = 8, .all.held_ms = 4 * HOUR_MS, .gpus = gpus};
        struct run_advice r = {.a = {.rule = cases[i].rule, .ms = HOUR_MS, .lost = 0.5}};
        uint8_t told[4];
        print_message("%s\n", cases[i].what);
        for (size_t k = 0; k < 4; k++) {
            mem_copy_str(gpus[k].uuid, sizeof(gpus[k].uuid), cases[i].gpus[k]);
            r.n_gpus += told[k] = cases[i].told[k];
        }
        r.gpus = told;
        struct advise_found f = advise_found_of(&v, &r);
        double cost = advise_cost(&f, price, NULL);
        if (isnan(cases[i].hour))
            assert_true(isnan(cost));
        else
            assert_near(cost, cases[i].hour * advise_hours(&v, &r), 1e-9);
        advise_found_fini(&f);
    }
}

static void of_many_gpus_some_say_the_price(void **unused)
{
    static struct verdict_gpu gpus[300];
    struct run_verdict v = {.n = 300, .n_all = 300, .all.held_ms = 300 * HOUR_MS, .gpus = gpus};
    struct run_advice r = {.a = {.rule = ADVICE_straggler, .ms = HOUR_MS, .lost = 0.5}, .n_gpus = 1};
    (void)unused;
    for (size_t i = 0; i < 300; i++)
        mem_copy_str(gpus[i].uuid, sizeof(gpus[i].uuid), i < 150 ? "dear" : "fair");
    struct advise_found f = advise_found_of(&v, &r);
    assert_int_equal(f.n_gpus, 64);
    assert_near(advise_cost(&f, price, NULL), 300, 1e-9); /* 150 hours, half of them dear */
    advise_found_fini(&f);
}

/* ---- what is read ---- */

#define T0   1794700800000
#define WEEK (7 * 24 * HOUR_MS)
#define GPUS 4096

static struct job_fact jobs[8];
static size_t n_jobs;
static double cells;
static bool endless; /* there are as many parts as are asked for */
static char devices[GPUS * 12];
static int stop_after;          /* questions; 0: never */
static struct advise_sums sums; /* of what was read last */

static bool stopped(void *arg)
{
    (void)arg;
    return stop_after && --stop_after == 0;
}

static int each_job(void *arg, const struct store_each *e, struct err *err)
{
    (void)arg;
    (void)err;
    for (size_t i = 0; i < n_jobs; i++)
        if (!e->jobs->parent || e->jobs->parent == jobs[i].parent)
            for (size_t times = e->jobs->parent && endless ? e->jobs->limit : 1; times > 0; times--)
                e->give.job(e->arg, &jobs[i]);
    return 0;
}

static int64_t slow_ms; /* from when on the last GPU is slower than the others; 0: all of them wait for the host */

static const struct value {
    const char *name;
    int64_t waits, works;
} values[] = {{"active", 6000, 9990}, {"sm_active", 5500, 9400}, {"work", 4000, 5600}, {"power", 0, 700000}};

static int64_t value_at(const struct value *v, bool last, int64_t at_ms)
{
    return !slow_ms ? v->waits : last && at_ms >= slow_ms ? v->works * 7 / 10 : v->works;
}

static int history_of(struct store *st, const struct bins_query *a, struct history *ret, struct err *err)
{
    size_t n = (size_t)((a->to_ms - a->from_ms + a->step_ms - 1) / a->step_ms);
    (void)st;
    (void)err;
    cells += (double)(n * a->n_devices * a->n_metrics);
    *ret = (struct history){.from_ms = a->from_ms,
                            .step_ms = a->step_ms,
                            .n_series = a->n_devices * a->n_metrics,
                            .n = n,
                            .v = mem_zero(n * a->n_devices * a->n_metrics, sizeof(struct bin)),
                            .last_ms = mem_zero(n * a->n_devices * a->n_metrics, sizeof(int64_t))};
    for (size_t s = 0; s < ret->n_series; s++) {
        bool last = strcmp(a->devices[s / a->n_metrics], "GPU-0004095") == 0;
        size_t k = FIRST(ARRAY_LEN(values), m, strcmp(values[m].name, a->metrics[s % a->n_metrics]) == 0);
        for (size_t i = 0; k < ARRAY_LEN(values) && i < n; i++) {
            int64_t v = value_at(&values[k], last, a->from_ms + (int64_t)i * a->step_ms);
            ret->last_ms[s * n + i] = a->from_ms + (int64_t)(i + 1) * a->step_ms - 1;
            if (v)
                ret->v[s * n + i] = (struct bin){.count = 1, .sum = v, .max = v, .last = v};
        }
    }
    return 0;
}

static void add_job(int64_t id, int64_t parent, size_t gpus, int64_t hours)
{
    jobs[n_jobs++] = (struct job_fact){.id = id,
                                       .parent = parent,
                                       .start_ms = T0,
                                       .end_ms = T0 + hours * HOUR_MS,
                                       .name = "train",
                                       .kind = "auto",
                                       .person = id == 1 ? "kim" : "lee",
                                       .owner = "",
                                       .node = "dgx1",
                                       .devices = devices + sizeof(devices) - gpus * 12,
                                       .pids = "",
                                       .attrs = ""};
}

static void read_some(struct advise_all *ret, double most)
{
    struct past_source past = {.history = history_of, .each = each_job, .stop = stopped};
    cells = 0;
    for (size_t i = 0; i < GPUS; i++)
        snprintf(devices + i * 12, 13 - (i == GPUS - 1), "GPU-%07zu%s", i, i < GPUS - 1 ? "," : "");
    struct advise_query ask = {.from_ms = T0, .to_ms = T0 + WEEK, .cells = most};
    assert_int_equal(advise_read(&past, &ask, ret, NULL), 0);
    sums = advise_sums_of(ret, NULL);
}

static void read_jobs(struct advise_all *ret)
{
    read_some(ret, ADVISE_CELLS);
}

static void the_largest_run_is_looked_at_by_some_of_its_gpus(void **unused)
{
    struct advise_all a;
    struct advise_line l[ADVISE_LINES];
    (void)unused;
    n_jobs = 0;
    add_job(7, 0, 1, 10);
    add_job(1, 0, 256, 168); /* 43,008 GPU-hours */
    add_job(2, 0, 8, 100);
    read_some(&a, 60e6);
    assert_int_equal(sums.runs, 3);
    assert_int_equal(sums.looked, 3);
    assert_int_equal(sums.sampled, 1);
    assert_near(sums.hours, 256 * 168 + 800 + 10, 1e-6);
    assert_near(sums.held, sums.hours, 1e-6);
    assert_near(sums.effective, 0.4 * sums.hours, 1);
    assert_true(cells < 50e6);
    assert_int_equal(advise_lines(&a, NULL, price, NULL, l), 2);
    assert_string_equal(l[0].most->person, "kim");
    assert_near(l[0].hours, 256 * 168 * 0.4, 20);
    assert_near(l[1].hours, 810 * 0.4, 1);
    advise_fini(&a);
}

static void a_run_of_more_gpus_than_are_read_counts_with_all(void **unused)
{
    struct advise_all a;
    (void)unused;
    for (int i = 0; i < 2; i++) {
        n_jobs = 0;
        add_job(1, 0, i ? 1 : GPUS, 0);
        add_job(2, 1, i ? 1 : GPUS, 0); /* the same GPUs: they count once */
        jobs[0].end_ms = jobs[1].end_ms = T0 + 6 * MINUTE_MS;
        endless = i; /* or of more parts than are looked for */
        read_jobs(&a);
        endless = false;
        assert_int_equal(sums.sampled, 1);
        assert_near(sums.held, (i ? 1 : GPUS) * 0.1, 1e-6);
        assert_near(sums.hours, sums.held, 1e-6);
        if (!i)
            assert_near(a.v[0].hours, GPUS * 0.1 * 0.4, 3);
        advise_fini(&a);
    }
}

static void the_fewer_runs_the_more_is_read_of_each(void **unused)
{
    static const struct {
        size_t runs;
        double most; /* all GPUs of a run by the minute are 1.15 million values, four of them 0.58 */
        size_t looked, sampled;
    } cases[] = {{1, 2e6, 1, 0}, {2, 2.4e6, 2, 0}, {1, 0.6e6, 1, 1}, {8, 20e6, 8, 0}, {8, 4.4e6, 8, 8}, {8, 1e6, 2, 2}};
    struct advise_all a;
    (void)unused;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        n_jobs = 0;
        for (size_t k = 0; k < cases[i].runs; k++)
            add_job((int64_t)k + 1, 0, 8, 100);
        read_some(&a, cases[i].most);
        print_message("%zu runs, %.1f million values: %zu looked at, %zu sampled, %.1f million read\n", cases[i].runs,
                      cases[i].most / 1e6, sums.looked, sums.sampled, cells / 1e6);
        assert_int_equal(sums.runs, cases[i].runs);
        assert_int_equal(sums.looked, cases[i].looked);
        assert_int_equal(sums.sampled, cases[i].sampled);
        assert_near(sums.held, 800.0 * (double)cases[i].looked, 1e-6);
        assert_near(sums.hours, 800.0 * (double)cases[i].runs, 1e-6); /* also of those that were not looked at */
        assert_true(cells < cases[i].most + 0.6e6);
        advise_fini(&a);
    }
}

/* What a round finds depends on the runs alone: not on what was read before, nor on how many slices it took. */
static void a_run_that_is_over_is_read_once(void **unused)
{
    struct past_source past = {.history = history_of, .each = each_job, .stop = stopped};
    struct advise_cache *cache = advise_cache_new();
    struct advise_query ask = {.from_ms = T0, .to_ms = T0 + WEEK, .cells = ADVISE_CELLS, .cache = cache};
    struct advise_all a, b;
    struct advise_line l[ADVISE_LINES];
    (void)unused;
    n_jobs = 0;
    add_job(1, 0, 2, 10);
    add_job(2, 0, 1, 5);
    add_job(3, 0, 4, 168); /* goes on */
    jobs[2].end_ms = 0;
    cells = 0;
    assert_int_equal(advise_read(&past, &ask, &a, NULL), 0);
    double first = cells;
    assert_int_equal(a.left, 0);
    cells = 0;
    ask.to_ms += MINUTE_MS;
    assert_int_equal(advise_read(&past, &ask, &b, NULL), 0);
    assert_true(cells > 0 && cells < first - 20 * 720 * 3); /* the third alone */
    sums = advise_sums_of(&b, NULL);
    assert_int_equal(sums.looked, 3);
    assert_near(sums.hours, 20 + 5 + 4 * 168, 0.1);
    assert_int_equal(advise_lines(&b, NULL, price, NULL, l), 2);
    assert_near(l[1].hours, 20 * 0.4, 0.1); /* kim's */
    advise_fini(&a);
    advise_fini(&b);
    ask.until_us = 1; /* no time: all are left for the next time, none is lost */
    ask.to_ms += MINUTE_MS;
    assert_int_equal(advise_read(&past, &ask, &b, NULL), 0);
    assert_int_equal(b.left, 1);
    advise_fini(&b);
    advise_cache_free(cache);
}

static void parts_on_other_nodes_count_with_their_run(void **unused)
{
    struct advise_all a;
    (void)unused;
    n_jobs = 0;
    add_job(1, 0, 4, 10);
    add_job(2, 0, 2, 15);
    add_job(3, 2, 2, 15); /* of run 2; on the same GPUs here, so it adds none when it is read */
    stop_after = 9;       /* the first is read, two hours at a time; the second is not */
    read_jobs(&a);
    stop_after = 0;
    assert_int_equal(sums.runs, 2);
    assert_int_equal(sums.looked, 1);
    assert_near(sums.held, 30, 1e-6); /* run 2 is the larger one, with its part */
    assert_near(sums.hours, 70, 1e-6);
    advise_fini(&a);
}

static void a_run_from_before_is_compared_with_its_own_first_minutes(void **unused)
{
    struct advise_all a;
    struct advise_line l[ADVISE_LINES];
    (void)unused;
    n_jobs = 0;
    add_job(1, 0, 8, 10);
    jobs[0].start_ms = T0 - 24 * HOUR_MS;
    slow_ms = T0 - 12 * HOUR_MS; /* and all of the time that is looked at */
    read_jobs(&a);
    slow_ms = 0;
    assert_near(sums.hours, 80, 1e-6);
    assert_int_equal(advise_lines(&a, NULL, price, NULL, l), 1);
    assert_int_equal(l[0].most->rule, ADVICE_straggler);
    assert_int_equal(l[0].most->n_gpus, 8); /* all of them wait for it */
    assert_near(l[0].hours, 80 * 0.3, 0.5);
    advise_fini(&a);
}

TESTS(cmocka_unit_test(lines_are_by_person_and_rule_the_largest_first),
      cmocka_unit_test(a_run_gives_back_no_more_than_it_held),
      cmocka_unit_test(money_is_by_the_gpus_of_which_it_is_told), cmocka_unit_test(of_many_gpus_some_say_the_price),
      cmocka_unit_test(the_largest_run_is_looked_at_by_some_of_its_gpus),
      cmocka_unit_test(a_run_of_more_gpus_than_are_read_counts_with_all),
      cmocka_unit_test(the_fewer_runs_the_more_is_read_of_each), cmocka_unit_test(a_run_that_is_over_is_read_once),
      cmocka_unit_test(parts_on_other_nodes_count_with_their_run),
      cmocka_unit_test(a_run_from_before_is_compared_with_its_own_first_minutes))
