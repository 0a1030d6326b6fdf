/* Run-days out of records of processes and jobs. */
#include "report/runs.h"

#include <errno.h>
#include <string.h>

#include "test.h"

#define MIN_MS       60000ll
#define DAY          20000
#define GRAPHICS_MEM 1000

/* A moment of the days around DAY. */
static int64_t at(int day, int h, int m, int s)
{
    return (DAY + day) * DAY_MS + h * 3600000ll + m * MIN_MS + s * 1000ll;
}

struct world {
    const struct proc_span *procs;
    size_t n_procs;
    const struct job_fact *jobs;
    size_t n_jobs;
    bool minutes_gone; /* only hours are kept */
    int64_t no_util_before_ms;
    bool stopped;
    int asked;
};

static int each_record(void *arg, const struct store_each *e, struct err *err)
{
    struct world *w = arg;
    (void)err;
    for (size_t i = 0; e->kind == STORE_PROC && i < w->n_procs; i++)
        if (w->procs[i].last_ms >= e->from_ms)
            e->give.proc(e->arg, &w->procs[i]);
    for (size_t i = 0; e->kind == STORE_JOB && i < w->n_jobs; i++)
        if (job_fits(&w->jobs[i], e->jobs))
            e->give.job(e->arg, &w->jobs[i]);
    return 0;
}

/* Device "gN" is N0 % busy in the first half of an hour and 100 % in the second; its memory controller half of that,
 * its work a quarter. */
static int some_history(struct store *s, const struct bins_query *ask, struct history *ret, struct err *err)
{
    struct world *w = (struct world *)s;
    (void)err;
    w->asked++;
    *ret = (struct history){.from_ms = ask->from_ms - ask->from_ms % ask->step_ms,
                            .step_ms = ask->step_ms,
                            .n_series = ask->n_devices * ask->n_metrics,
                            .tier = ask->tier};
    ret->n = (size_t)((ask->to_ms - ret->from_ms + ask->step_ms - 1) / ask->step_ms);
    ret->v = mem_zero(ret->n_series * ret->n, sizeof(*ret->v));
    for (size_t d = 0; d < ask->n_devices; d++)
        for (size_t m = 0; m < ask->n_metrics; m++)
            for (size_t i = 0; i < ret->n; i++) {
                int64_t ms = ret->from_ms + (int64_t)i * ret->step_ms;
                int64_t low = (ask->devices[d][1] - '0') * 1000, v = ms / MIN_MS % 60 < 30 ? low : 10000;
                struct bin *b = &ret->v[(d * ask->n_metrics + m) * ret->n + i];
                if (w->minutes_gone && ask->step_ms == MIN_MS)
                    continue;
                if (ms < w->no_util_before_ms)
                    continue;
                v = ask->step_ms == MIN_MS ? v : 5000;
                const char *name = ask->metrics[m];
                if (strcmp(name, "tensor_active") == 0 && ms % HOUR_MS >= 30 * MIN_MS)
                    continue;
                v = v / (strcmp(name, "util") == 0 ? 1 : strcmp(name, "mem_util") == 0 ? 2 : 4);
                *b = (struct bin){.count = 60, .sum = v * 60, .max = v};
            }
    return 0;
}

static bool stopped(void *arg)
{
    return ((struct world *)arg)->stopped;
}

static struct past_source past_of(struct world *w)
{
    return (struct past_source){.store = (struct store *)w,
                                .each = each_record,
                                .arg = w,
                                .stop_arg = w,
                                .history = some_history,
                                .stop = stopped};
}

static struct runs runs;
static void read_runs_with(struct world *w, const struct zone *z, int from, int to, int64_t now_ms,
                           int64_t graphics_mem)
{
    static const struct runs_node nodes[] = {{"k1", "n1", INT64_MAX}, {"k2", "n2", INT64_MAX}, {"k3", "n3", 0}};
    struct past_source past = past_of(w);
    struct runs_query ask = {.zone = z,
                             .from = DAY + from,
                             .to = DAY + to,
                             .now_ms = now_ms,
                             .graphics_mem = graphics_mem,
                             .n_nodes = 3,
                             .nodes = nodes,
                             .past = &past,
                             .util = true};
    struct err err = {0};
    assert_int_equal(runs_of(&ask, &runs, &err), 0);
}

static void read_runs(struct world *w, const struct zone *z, int from, int to, int64_t now_ms)
{
    read_runs_with(w, z, from, to, now_ms, GRAPHICS_MEM);
}

static void check(size_t i, const char *id, int day, int minutes, int gpus, int64_t util, int64_t util_max)
{
    assert_true(i < runs.n);
    const struct run_day *r = &runs.v[i];
    print_message("%s day %d: %d minutes of %d\n", r->run_id, r->day - DAY, r->minutes, r->gpus);
    if (strchr(id, '@') || strchr(id, ':'))
        assert_string_equal(r->run_id, id);
    assert_int_equal(r->day, DAY + day);
    assert_int_equal(r->minutes, minutes);
    assert_int_equal(r->gpus, gpus);
    if (util < 0) {
        assert_int_equal(r->have, 0);
        return;
    }
    assert_int_equal(r->have, RUN_UTIL | RUN_MEM);
    assert_true(llabs(r->work[WORK_EFFECTIVE].avg * 4 - r->util_avg) <= 2);
    assert_true(r->work[WORK_EFFECTIVE].minutes > 0 &&
                r->work[WORK_EFFECTIVE].minutes <= (int64_t)r->minutes * r->gpus);
    assert_int_equal(r->util_avg, util);
    assert_int_equal(r->util_max, util_max);
    assert_true(llabs(r->mem_avg * 2 - r->util_avg) <= 1);
}

#define PROC(n, d, p, root, who, from, until)                                                                          \
    {                                                                                                                  \
        .node = (n), .device = (d), .fact = {.pid = (p), .root_pid = (root), .uid = 1000, .user = who},                \
        .first_ms = (from), .last_ms = (until), .ended = true                                                          \
    }
#define NOW at(9, 0, 0, 0)

static void a_tree_is_one_run_on_the_devices_of_its_processes(void **unused)
{
    const struct proc_span procs[] = {
        PROC("k1", "g1", 11, 10, "kim", at(0, 10, 0, 0), at(0, 10, 59, 59)),
        PROC("k1", "g2", 12, 10, "kim", at(0, 10, 0, 0), at(0, 10, 59, 59)),
        PROC("k1", "g1", 21, 20, "lee", at(0, 12, 0, 0), at(0, 12, 0, 0)),
        PROC("k2", "g1", 11, 10, "kim", at(0, 12, 30, 0), at(0, 12, 59, 59)),
    };
    struct world w = {procs, ARRAY_LEN(procs), .n_jobs = 0};
    struct zone *z = zone_utc();
    (void)unused;
    read_runs(&w, z, 0, 0, NOW);
    assert_int_equal(runs.n, 3);
    /* (10 + 100) / 2 of one and (20 + 100) / 2 of the other */
    check(0, "k1/10@1728036000", 0, 60, 2, 57500000000, 100 * PERCENT_ONE);
    assert_string_equal(runs.v[0].host, "n1");
    assert_int_equal(runs.v[0].devices, 3);
    check(1, "k1/20@1728043200", 0, 1, 1, 10 * PERCENT_ONE, 10 * PERCENT_ONE);
    check(2, "k2/10@1728045000", 0, 30, 1, 100 * PERCENT_ONE, 100 * PERCENT_ONE);
    runs_fini(&runs);
    zone_free(z);
}

static void devices_that_come_and_go_count_as_long_as_they_were_held(void **unused)
{
    const struct proc_span procs[] = {
        PROC("k1", "g1", 11, 10, "kim", at(0, 1, 0, 0), at(0, 1, 59, 59)),
        PROC("k1", "g2", 12, 10, "kim", at(0, 1, 20, 0), at(0, 1, 29, 59)),
        PROC("k1", "g2", 13, 10, "kim", at(0, 1, 25, 0),
             at(0, 1, 34, 59)), /* beside the one before: still one device */
    };
    struct world w = {procs, ARRAY_LEN(procs), .n_jobs = 0};
    struct zone *z = zone_utc();
    int64_t gpu_minutes = 0;
    (void)unused;
    read_runs(&w, z, 0, 0, NOW);
    assert_int_equal(runs.n, 2);
    for (size_t i = 0; i < runs.n; i++) {
        gpu_minutes += runs.v[i].minutes * runs.v[i].gpus;
        assert_int_equal(runs.v[i].minutes, runs.v[i].gpus == 2 ? 15 : 45);
        assert_string_equal(runs.v[i].run_id, runs.v[0].run_id);
    }
    assert_int_equal(gpu_minutes, 60 + 15);
    runs_fini(&runs);
    zone_free(z);
}

static void a_pid_that_comes_back_much_later_is_another_run(void **unused)
{
    const struct proc_span procs[] = {
        PROC("k1", "g1", 11, 10, "kim", at(0, 1, 0, 0), at(0, 1, 9, 59)),
        PROC("k1", "g1", 12, 10, "kim", at(0, 1, 15, 0), at(0, 1, 24, 59)), /* 5 minutes later: the same */
        PROC("k1", "g1", 10, 10, "kim", at(0, 7, 0, 0), at(0, 7, 9, 59)),
    };
    struct world w = {procs, ARRAY_LEN(procs), .n_jobs = 0};
    struct zone *z = zone_utc();
    (void)unused;
    read_runs(&w, z, 0, 0, NOW);
    assert_int_equal(runs.n, 2);
    check(0, "", 0, 20, 1, 10 * PERCENT_ONE, 10 * PERCENT_ONE);
    check(1, "", 0, 10, 1, 10 * PERCENT_ONE, 10 * PERCENT_ONE);
    runs_fini(&runs);
    zone_free(z);
}

static void a_labelled_job_takes_its_processes(void **unused)
{
    const struct proc_span procs[] = {
        PROC("k1", "g1", 11, 10, "kim", at(0, 1, 0, 0), at(0, 1, 29, 59)), /* by device and person */
        PROC("k1", "g3", 77, 70, "kim", at(0, 1, 0, 0), at(0, 1, 29, 59)), /* by its root's pid: one device more */
        PROC("k1", "g1", 31, 30, "lee", at(0, 1, 0, 0), at(0, 1, 29, 59)), /* somebody else there */
        PROC("k1", "g1", 41, 40, "kim", at(0, 5, 0, 0), at(0, 5, 9, 59)),  /* after it */
    };
    const struct job_fact jobs[] = {
        {.id = 7,
         .start_ms = at(0, 1, 0, 0),
         .end_ms = at(0, 1, 29, 59),
         .name = "train",
         .kind = "record",
         .person = "kim",
         .owner = "",
         .node = "k1",
         .devices = "g1,g2",
         .pids = "70",
         .attrs = ""},
        {.id = 8,
         .parent = 7,
         .start_ms = at(0, 1, 0, 0),
         .end_ms = at(0, 1, 10, 0),
         .name = "part",
         .kind = "record",
         .person = "kim",
         .owner = "",
         .node = "k1",
         .devices = "g1",
         .pids = "",
         .attrs = ""},
        {.id = 9,
         .start_ms = at(-3, 0, 0, 0),
         .end_ms = 0,
         .name = "lost",
         .kind = "record",
         .person = "kim",
         .owner = "",
         .node = "k3",
         .devices = "g1",
         .pids = "",
         .attrs = ""}, /* its node was never heard of again */
    };
    struct world w = {procs, ARRAY_LEN(procs), jobs, ARRAY_LEN(jobs), .stopped = false};
    struct zone *z = zone_utc();
    (void)unused;
    read_runs(&w, z, 0, 0, NOW);
    assert_int_equal(runs.n, 3);
    check(0, "job:0000000000000007", 0, 30, 3, 20 * PERCENT_ONE, 30 * PERCENT_ONE);
    check(1, "", 0, 30, 1, 10 * PERCENT_ONE, 10 * PERCENT_ONE);
    check(2, "", 0, 10, 1, 10 * PERCENT_ONE, 10 * PERCENT_ONE);
    runs_fini(&runs);
    zone_free(z);
}

static void a_slurm_job_is_one_run_on_all_its_nodes(void **unused)
{
    struct proc_span procs[] = {
        PROC("k1", "g1", 11, 11, "kim", at(0, 1, 0, 0), at(0, 1, 59, 59)),
        PROC("k2", "g1", 12, 12, "kim", at(0, 1, 0, 0), at(0, 1, 59, 59)),
    };
    struct world w = {procs, ARRAY_LEN(procs), .n_jobs = 0};
    struct zone *z = zone_utc();
    (void)unused;
    procs[0].fact.slurm_job = procs[1].fact.slurm_job = 4711;
    read_runs(&w, z, 0, 0, NOW);
    assert_int_equal(runs.n, 1);
    check(0, "slurm:4711", 0, 60, 2, 55 * PERCENT_ONE, 100 * PERCENT_ONE);
    runs_fini(&runs);
    zone_free(z);
}

static void an_allocation_of_slurm_is_a_run_and_what_is_labelled_in_it_is_not(void **unused)
{
    struct proc_span procs[] = {
        PROC("k1", "g1", 11, 11, "kim", at(0, 1, 10, 0), at(0, 1, 59, 59)), /* of both */
        PROC("k2", "g2", 12, 12, "kim", at(0, 1, 10, 0), at(0, 1, 59, 59)),
    };
#define ALLOCATION(i, n, gpus)                                                                                         \
    {                                                                                                                  \
        .id = (i), .start_ms = at(0, 1, 0, 0), .end_ms = at(0, 1, 59, 59), .name = "x", .kind = "slurm",               \
        .person = "kim", .owner = "slurm", .node = (n), .devices = (gpus), .pids = "",                                 \
        .attrs = "{\"job\":4711,\"account\":\"a\"}"                                                                    \
    }
    const struct job_fact jobs[] = {
        ALLOCATION(21, "k1", "g1,g2"),
        ALLOCATION(22, "k2", "g2"),
        {.id = 23,
         .start_ms = at(0, 1, 10, 0),
         .end_ms = at(0, 1, 59, 59),
         .name = "train",
         .kind = "record",
         .person = "kim",
         .owner = "",
         .node = "k1",
         .devices = "g1",
         .pids = "11",
         .attrs = ""},
        {.id = 24,
         .start_ms = at(0, 1, 10, 0),
         .end_ms = at(0, 1, 59, 59),
         .name = "train",
         .kind = "record",
         .person = "lee",
         .owner = "",
         .node = "k1",
         .devices = "g1",
         .pids = "",
         .attrs = ""}, /* not kim's: beside it */
    };
    struct world w = {procs, ARRAY_LEN(procs), jobs, ARRAY_LEN(jobs), .stopped = false};
    struct zone *z = zone_utc();
    (void)unused;
    procs[0].fact.slurm_job = 4711; /* the other's is not known: its device says it */
    read_runs(&w, z, 0, 0, NOW);
    assert_int_equal(runs.n, 2);
    check(0, "job:0000000000000018", 0, 50, 1, 64 * PERCENT_ONE, 100 * PERCENT_ONE);
    assert_string_equal(runs.v[1].run_id, "slurm:4711");
    assert_int_equal(runs.v[1].minutes, 60);
    assert_int_equal(runs.v[1].gpus, 3);
    runs_fini(&runs);
    zone_free(z);
}

static void a_display_server_is_no_run(void **unused)
{
    struct proc_span procs[] = {PROC("k1", "g1", 11, 11, "gdm", at(0, 1, 0, 0), at(0, 1, 59, 59)),
                                PROC("k1", "g1", 12, 12, "kim", at(0, 2, 0, 0), at(0, 2, 59, 59)),
                                PROC("k1", "g1", 13, 13, "kim", at(0, 3, 0, 0), at(0, 3, 59, 59))};
    struct world w = {procs, ARRAY_LEN(procs), .n_jobs = 0};
    struct zone *z = zone_utc();
    (void)unused;
    procs[0].kind = procs[1].kind = PROC_GRAPHICS;
    procs[2].kind = PROC_GRAPHICS | PROC_COMPUTE;
    procs[1].mem_max = GRAPHICS_MEM; /* it renders */
    read_runs(&w, z, 0, 0, NOW);
    assert_int_equal(runs.n, 2);
    assert_int_equal(runs.v[0].from_ms, at(0, 2, 0, 0));
    assert_int_equal(runs.v[1].from_ms, at(0, 3, 0, 0));
    runs_fini(&runs);
    procs[0].mem_max = -1;
    read_runs_with(&w, z, 0, 0, NOW, 0); /* whoever draws runs, however little is known of it */
    assert_int_equal(runs.n, 3);
    runs_fini(&runs);
    zone_free(z);
}

static void a_run_that_goes_on_counts_to_now(void **unused)
{
    struct proc_span procs[] = {PROC("k1", "g1", 11, 11, "kim", at(0, 1, 0, 0), at(0, 1, 52, 0)),
                                PROC("k1", "g2", 12, 12, "kim", at(0, 1, 0, 0), at(0, 1, 40, 0))};
    struct world w = {procs, ARRAY_LEN(procs), .n_jobs = 0};
    struct zone *z = zone_utc();
    (void)unused;
    procs[0].ended = procs[1].ended = false; /* the second was not seen for long: it ended unheard of */
    read_runs(&w, z, 0, 0, at(0, 1, 59, 59));
    assert_int_equal(runs.n, 2);
    check(0, "", 0, 60, 1, 55 * PERCENT_ONE, 100 * PERCENT_ONE);
    assert_int_equal(runs.v[1].minutes, 41);
    runs_fini(&runs);
    zone_free(z);
}

static void days_are_those_of_the_zone_and_so_is_their_utilisation(void **unused)
{
    /* 20:00 to 03:59 UTC is 05:00 to 12:59 of the next day in Tokyo; in Berlin it is cut at 22:00 UTC in summer */
    static const struct {
        const char *zone;
        size_t n;
        int day[2], minutes[2];
    } cases[] = {{"UTC0", 2, {0, 1}, {240, 240}},
                 {"JST-9", 1, {1, 1}, {480, 0}},
                 {"CET-1CEST,M3.5.0,M10.5.0/3", 2, {0, 1}, {120, 360}},
                 {"<+0530>-5:30", 1, {1, 1}, {480, 0}},
                 {"<-0930>9:30", 1, {0, 0}, {480, 0}}};
    const struct proc_span procs[] = {PROC("k1", "g1", 11, 11, "kim", at(0, 20, 0, 0), at(1, 3, 59, 59))};
    struct err err = {0};
    (void)unused;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        /* measured from 22:00 UTC on: whatever the zone, those minutes are of the day they are in */
        struct world w = {procs, 1, .no_util_before_ms = at(0, 22, 0, 0)};
        struct zone *z;
        print_message("%s\n", cases[i].zone);
        if (zone_load(cases[i].zone, &z, &err) < 0)
            fail_msg("%s", err.msg);
        read_runs(&w, z, -1, 2, NOW);
        assert_int_equal(runs.n, cases[i].n);
        for (size_t k = 0; k < runs.n; k++) {
            bool none = strncmp(cases[i].zone, "CET", 3) == 0 && k == 0; /* ended at 22:00 UTC */
            check(k, "", cases[i].day[k], cases[i].minutes[k], 1, none ? -1 : 55 * PERCENT_ONE, 100 * PERCENT_ONE);
        }
        int64_t worked[WORK_KINDS] = {0}; /* what is not measured does not count as measured */
        for (size_t k = 0; k < runs.n; k++)
            for (size_t o = 0; o < WORK_KINDS; o++)
                worked[o] += runs.v[k].work[o].minutes;
        assert_int_equal(worked[WORK_EFFECTIVE], 360);
        assert_int_equal(worked[WORK_TENSOR], 180);
        runs_fini(&runs);
        zone_free(z);
    }
}

static void a_run_over_the_day_the_clocks_change_has_all_its_minutes(void **unused)
{
    static const struct {
        int month, day, minutes;
    } cases[] = {{3, 29, 1380}, {10, 25, 1500}, {10, 28, 1440}};
    struct zone *z;
    struct err err = {0};
    (void)unused;
    assert_int_equal(zone_load("CET-1CEST,M3.5.0,M10.5.0/3", &z, &err), 0);
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        int32_t date = date_of(2026, cases[i].month, cases[i].day);
        const struct proc_span procs[] = {
            PROC("k1", "g1", 11, 11, "kim", zone_date_ms(z, date - 1), zone_date_ms(z, date + 2) - 1)};
        struct world w = {procs, 1, .n_jobs = 0};
        read_runs(&w, z, date - DAY - 1, date - DAY + 1, zone_date_ms(z, date + 9));
        assert_int_equal(runs.n, 3);
        assert_int_equal(runs.v[1].day, date);
        assert_int_equal(runs.v[1].minutes, cases[i].minutes);
        assert_int_equal(runs.v[0].minutes + runs.v[1].minutes + runs.v[2].minutes, 2880 + cases[i].minutes);
        runs_fini(&runs);
    }
    zone_free(z);
}

static void where_minutes_are_gone_hours_are_asked(void **unused)
{
    const struct proc_span procs[] = {PROC("k1", "g1", 11, 11, "kim", at(0, 1, 0, 0), at(0, 1, 59, 59))};
    struct world w = {procs, 1, .minutes_gone = true};
    struct zone *z = zone_utc();
    (void)unused;
    read_runs(&w, z, 0, 0, NOW);
    check(0, "", 0, 60, 1, 50 * PERCENT_ONE, 50 * PERCENT_ONE);
    runs_fini(&runs);
    w.no_util_before_ms = INT64_MAX; /* nothing at all: absent, not 0 */
    read_runs(&w, z, 0, 0, NOW);
    check(0, "", 0, 60, 1, -1, -1);
    runs_fini(&runs);
    zone_free(z);
}

static void it_stops_when_told_and_nothing_is_nothing(void **unused)
{
    const struct proc_span procs[] = {PROC("k1", "g1", 11, 11, "kim", at(0, 1, 0, 0), at(0, 1, 59, 59))};
    struct world w = {procs, 1, .stopped = true};
    struct zone *z = zone_utc();
    struct past_source past = past_of(&w);
    struct runs_query ask = {.zone = z, .from = DAY, .to = DAY, .now_ms = NOW, .past = &past, .util = true};
    struct err err = {0};
    (void)unused;
    assert_int_equal(runs_of(&ask, &runs, &err), -ECANCELED);
    runs_fini(&runs);
    w.n_procs = 0;
    assert_int_equal(runs_of(&ask, &runs, &err), 0);
    assert_int_equal(runs.n, 0);
    runs_fini(&runs);
    ask.to = DAY + RUNS_DAYS_MAX;
    assert_int_equal(runs_of(&ask, &runs, &err), -E2BIG);
    runs_fini(&runs);
    ask.to = DAY - 1;
    assert_int_equal(runs_of(&ask, &runs, &err), 0);
    runs_fini(&runs);
    zone_free(z);
}

TESTS(cmocka_unit_test(a_tree_is_one_run_on_the_devices_of_its_processes),
      cmocka_unit_test(devices_that_come_and_go_count_as_long_as_they_were_held),
      cmocka_unit_test(a_pid_that_comes_back_much_later_is_another_run),
      cmocka_unit_test(a_labelled_job_takes_its_processes), cmocka_unit_test(a_slurm_job_is_one_run_on_all_its_nodes),
      cmocka_unit_test(an_allocation_of_slurm_is_a_run_and_what_is_labelled_in_it_is_not),
      cmocka_unit_test(a_display_server_is_no_run), cmocka_unit_test(a_run_that_goes_on_counts_to_now),
      cmocka_unit_test(days_are_those_of_the_zone_and_so_is_their_utilisation),
      cmocka_unit_test(a_run_over_the_day_the_clocks_change_has_all_its_minutes),
      cmocka_unit_test(where_minutes_are_gone_hours_are_asked),
      cmocka_unit_test(it_stops_when_told_and_nothing_is_nothing))
