/* The report's tables against the example that docs/report-example.md works out by hand, digit by digit. */
#include "report/report.h"

#include <errno.h>
#include <string.h>

#include "base/mem.h"
#include "base/zone.h"
#include "test.h"

#define SUNDAY   6
#define MINUTE   60000ll
#define TOKYO_MS (9 * 3600000ll)

/* ---- the example ---- */

static int32_t may(int day)
{
    return date_of(2026, 5, day);
}
static int32_t april(int day)
{
    return date_of(2026, 4, day);
}
static int64_t at(int32_t date, int h, int m, int s)
{
    return date * 86400000ll + h * 3600000ll + m * MINUTE + s * 1000ll - TOKYO_MS;
}

static const char *const alpha_teams[] = {"alpha-ai", "alpha-lab"}, *const beta_teams[] = {"beta"},
                         *const gamma_teams[] = {"gamma"}, *const delta_teams[] = {"delta"};
static struct company_step alpha_steps[3], beta_steps[1], gamma_steps[2], delta_steps[1];
static struct company companies[4];

struct run {
    const char *id, *team, *project, *host;
    int gpus;
    int64_t from_ms, until_ms;
    bool ignored;
};

/* Percent as text into billionths. */
static int64_t pct(const char *s)
{
    int64_t v = 0;
    assert_true(str_fixed(str_of(s), PERCENT_ONE, &v));
    return v;
}

#define RUN_DAYS 32
static struct run_day days[RUN_DAYS];
static size_t n_days;

/* Cut a run into days by the minute rule. */
static void add_run(const struct run *r)
{
    for (int32_t d = april(28); d <= may(10); d++) {
        int32_t minutes = run_minutes(r->from_ms, r->until_ms, at(d, 0, 0, 0), at(d + 1, 0, 0, 0));
        if (!minutes)
            continue;
        assert_true(n_days < RUN_DAYS);
        days[n_days++] = (struct run_day){.day = d,
                                          .minutes = minutes,
                                          .gpus = r->gpus,
                                          .team = r->team,
                                          .project = r->project,
                                          .run_id = r->id,
                                          .host = r->host,
                                          .ignored = r->ignored,
                                          .from_ms = r->from_ms,
                                          .until_ms = r->until_ms};
    }
}

static struct run_day *day_of(const char *id, int32_t day)
{
    for (size_t i = 0; i < n_days; i++)
        if (strcmp(days[i].run_id, id) == 0 && days[i].day == day)
            return &days[i];
    fail_msg("%s did not run that day", id);
    return NULL;
}

static void measure(const char *id, int32_t day, const char *util, const char *util_max, const char *mem,
                    const char *mem_max)
{
    struct run_day *r = day_of(id, day);
    r->have = RUN_UTIL | RUN_MEM;
    r->util_avg = pct(util);
    r->util_max = pct(util_max);
    r->mem_avg = pct(mem);
    r->mem_max = pct(mem_max);
}

static int set_up(void **unused)
{
    (void)unused;
    alpha_steps[0] = (struct company_step){april(29), 1};
    alpha_steps[1] = (struct company_step){may(2), 2};
    alpha_steps[2] = (struct company_step){may(5), 0};
    beta_steps[0] = (struct company_step){may(1), 1};
    gamma_steps[0] = (struct company_step){may(4), 1};
    gamma_steps[1] = (struct company_step){date_of(2026, 6, 1), 0};
    delta_steps[0] = (struct company_step){date_of(2026, 6, 1), 4};
    /* not by name, to see that rows are */
    companies[0] = (struct company){.name = "Gamma",
                                    .n_teams = 1,
                                    .teams = gamma_teams,
                                    .n_steps = 2,
                                    .steps = gamma_steps,
                                    .gpus_per_node = 8};
    companies[1] = (struct company){.name = "Beta",
                                    .n_teams = 1,
                                    .teams = beta_teams,
                                    .n_steps = 1,
                                    .steps = beta_steps,
                                    .gpus_per_node = 8,
                                    .ignore_project = "test-*"};
    companies[2] = (struct company){.name = "Delta",
                                    .n_teams = 1,
                                    .teams = delta_teams,
                                    .n_steps = 1,
                                    .steps = delta_steps,
                                    .gpus_per_node = 8};
    companies[3] = (struct company){.name = "Alpha",
                                    .n_teams = 2,
                                    .teams = alpha_teams,
                                    .n_steps = 3,
                                    .steps = alpha_steps,
                                    .gpus_per_node = 8};
    const struct run runs[] = {
        {"b0", "beta", "ocr", "m1", 8, at(april(30), 20, 0, 0), at(may(1), 0, 59, 59), false},
        {"b1", "beta", "ocr", "m1", 8, at(may(5), 0, 0, 0), at(may(5), 23, 59, 59), false},
        {"b2", "beta", "ocr", "m1", 8, at(may(5), 12, 0, 0), at(may(5), 12, 59, 59), true},
        {"b3", "beta", "test-x", "m1", 8, at(may(6), 9, 0, 0), at(may(6), 9, 59, 59), false},
        {"b4", "beta", "tts", "m2", 2, at(may(6), 8, 0, 0), at(may(6), 8, 44, 59), false},
        {"a1", "alpha-ai", "llm", "n1", 8, at(april(29), 22, 30, 0), at(may(1), 1, 0, 0), false},
        {"a2", "alpha-lab", "vision", "n1", 4, at(april(30), 10, 0, 0), at(april(30), 12, 29, 59), false},
        {"a3", "alpha-ai", "llm", "n2", 16, at(may(2), 0, 0, 0), at(may(2), 23, 59, 30), false},
        {"a4", "alpha-lab", "vision", "n3", 3, at(may(3), 9, 0, 0), at(may(3), 9, 6, 59), false},
        {"a5", "alpha-ai", "llm", "n3", 8, at(may(4), 9, 0, 0), at(may(4), 11, 59, 59), false},
        {"a6", "alpha-ai", "llm", "n3", 8, at(may(4), 10, 30, 0), at(may(4), 10, 30, 0), false},
        {"a7", "alpha-ai", "llm", "n3", 1, at(may(4), 11, 0, 0), at(may(4), 11, 29, 59), false},
        {"x1", "elsewhere", "misc", "z9", 4, at(may(4), 6, 0, 0), at(may(4), 6, 24, 59), false},
    };
    n_days = 0;
    for (size_t i = 0; i < ARRAY_LEN(runs); i++)
        add_run(&runs[i]);
    measure("a1", april(29), "50", "90", "20", "30");
    measure("a1", april(30), "80.25", "100", "40.5", "55.5");
    measure("a1", may(1), "33.3", "70", "10.05", "12");
    measure("a3", may(2), "99.95", "100", "61", "80");
    measure("a4", may(3), "12.25", "12.25", "0.05", "0.05");
    measure("a5", may(4), "60", "75.5", "25", "30");
    measure("a7", may(4), "10", "20", "5", "6");
    measure("b0", april(30), "40", "100", "90", "100");
    measure("b0", may(1), "45", "60", "15", "20");
    measure("b1", may(5), "70", "95", "35", "50");
    measure("b2", may(5), "1", "100", "1", "100");
    return 0;
}

/* Columns as the tables have them: total, rate, performance avg and max, memory avg and max, runs, nodes, assigned,
 * uncapped, metrics: of tenths but for runs and nodes. */
struct want {
    const char *company;
    int month, day;
    int64_t v[11];
};

static void check(const struct report *r, const struct want *want, size_t n)
{
    for (size_t i = 0; i < n && i < r->n; i++) {
        const struct report_row *row = &r->rows[i];
        const int64_t got[] = {row->total, row->rate,  row->util_avg, row->util_max, row->mem_avg, row->mem_max,
                               row->runs,  row->nodes, row->assigned, row->uncapped, row->metrics};
        char text[16];
        print_message("%s %s\n", row->company, date_text(row->day, text));
        assert_string_equal(row->company, want[i].company);
        assert_int_equal(row->day, date_of(2026, want[i].month, want[i].day));
        for (size_t k = 0; k < ARRAY_LEN(got); k++) {
            if (got[k] != want[i].v[k])
                print_message("column %zu\n", k);
            assert_int_equal(got[k], want[i].v[k]);
        }
    }
    assert_int_equal(r->n, n);
}

static void make(const struct report_query *ask, struct report *ret)
{
    struct err err = {0};
    int r = report_make(ask, companies, ARRAY_LEN(companies), days, n_days, ret, &err);
    if (r < 0)
        print_message("%s\n", err.msg);
    assert_int_equal(r, 0);
}

static void runs_are_cut_into_days_by_whole_minutes(void **unused)
{
    static const struct {
        const char *id;
        int month, day, minutes;
    } cases[] = {{"a1", 4, 29, 90},  {"a1", 4, 30, 1440}, {"a1", 5, 1, 61},  {"a2", 4, 30, 150},
                 {"a3", 5, 2, 1440}, {"a4", 5, 3, 7},     {"a5", 5, 4, 180}, {"a6", 5, 4, 1},
                 {"a7", 5, 4, 30},   {"b0", 4, 30, 240},  {"b0", 5, 1, 60},  {"b1", 5, 5, 1440},
                 {"b2", 5, 5, 60},   {"b3", 5, 6, 60},    {"b4", 5, 6, 45},  {"x1", 5, 4, 25}};
    (void)unused;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        print_message("%s %d-%d\n", cases[i].id, cases[i].month, cases[i].day);
        assert_int_equal(day_of(cases[i].id, date_of(2026, cases[i].month, cases[i].day))->minutes, cases[i].minutes);
    }
    assert_int_equal(n_days, ARRAY_LEN(cases));
}

static void a_run_that_ends_before_it_begins_has_no_minutes(void **unused)
{
    (void)unused;
    assert_int_equal(run_minutes(5000, 4999, 0, 86400000), 0);
    assert_int_equal(run_minutes(5000, 5000, 0, 86400000), 1);
    assert_int_equal(run_minutes(86400000, 86400000, 0, 86400000), 0);
    assert_int_equal(run_minutes(86399999, 86459998, 86400000, 172800000), 0); /* the next instant is 1 ms later */
    assert_int_equal(run_minutes(86399999, 86459999, 86400000, 172800000), 1);
    assert_int_equal(run_minutes(-7, 86400000 * 3ll, 86400000, 172800000), 1440);
}

static void the_daily_table_is_the_one_worked_by_hand(void **unused)
{
    static const struct want want[] = {
        {"Alpha", 5, 4, {246, 64, 529, 755, 221, 300, 3, 2, 3840, 246, 35}},
        {"Alpha", 5, 3, {4, 1, 123, 123, 1, 1, 1, 2, 3840, 4, 1}},
        {"Alpha", 5, 2, {3840, 1000, 1000, 1000, 610, 800, 1, 2, 3840, 3840, 240}},
        {"Alpha", 5, 1, {81, 42, 333, 700, 101, 120, 1, 1, 1920, 81, 10}},
        {"Alpha", 4, 30, {1920, 1000, 803, 1000, 405, 555, 2, 1, 1920, 2020, 240}},
        {"Alpha", 4, 29, {120, 63, 500, 900, 200, 300, 1, 1, 1920, 120, 15}},
        {"Beta", 5, 6, {15, 8, 0, 0, 0, 0, 1, 1, 1920, 15, 0}},
        {"Beta", 5, 5, {1920, 1000, 700, 950, 350, 500, 1, 1, 1920, 1920, 240}},
        {"Beta", 5, 4, {0, 0, 0, 0, 0, 0, 0, 1, 1920, 0, 0}},
        {"Beta", 5, 3, {0, 0, 0, 0, 0, 0, 0, 1, 1920, 0, 0}},
        {"Beta", 5, 2, {0, 0, 0, 0, 0, 0, 0, 1, 1920, 0, 0}},
        {"Beta", 5, 1, {80, 42, 450, 600, 150, 200, 1, 1, 1920, 80, 10}},
        {"Gamma", 5, 6, {0, 0, 0, 0, 0, 0, 0, 1, 1920, 0, 0}},
        {"Gamma", 5, 5, {0, 0, 0, 0, 0, 0, 0, 1, 1920, 0, 0}},
        {"Gamma", 5, 4, {0, 0, 0, 0, 0, 0, 0, 1, 1920, 0, 0}},
    };
    struct report r;
    (void)unused;
    make(&(struct report_query){.period = REPORT_DAILY, .from = april(29), .to = may(6), .week_start = SUNDAY}, &r);
    check(&r, want, ARRAY_LEN(want));
    assert_int_equal(r.unassigned, 240 * 8);          /* b0 on 30 April */
    assert_int_equal(r.not_counted, 60 * 8 + 60 * 8); /* b2, b3 */
    assert_int_equal(r.no_company, 25 * 4);           /* x1 */
    report_fini(&r);
}

static void the_weekly_table_is_the_one_worked_by_hand(void **unused)
{
    static const struct want want[] = {
        {"Alpha", 5, 3, {250, 33, 515, 755, 214, 300, 4, 4, 7680, 250, 36}},
        {"Alpha", 4, 26, {5961, 621, 878, 1000, 490, 800, 3, 5, 9600, 6061, 505}},
        {"Beta", 5, 3, {1935, 252, 700, 950, 350, 500, 2, 4, 7680, 1935, 240}},
        {"Beta", 4, 26, {80, 21, 450, 600, 150, 200, 1, 2, 3840, 80, 10}},
        {"Gamma", 5, 3, {0, 0, 0, 0, 0, 0, 0, 3, 5760, 0, 0}},
    };
    struct report r;
    (void)unused;
    make(&(struct report_query){.period = REPORT_WEEKLY, .from = april(29), .to = may(6), .week_start = SUNDAY}, &r);
    check(&r, want, ARRAY_LEN(want));
    report_fini(&r);
}

static void the_monthly_table_is_the_one_worked_by_hand(void **unused)
{
    static const struct want whole[] = {
        {"Alpha", 4, 1, {2040, 531, 785, 1000, 393, 555, 2, 2, 3840, 2140, 255}},
    };
    static const struct want partial[] = {
        {"Alpha", 5, 1, {4171, 310, 915, 1000, 542, 800, 6, 7, 13440, 4171, 286}},
        {"Alpha", 4, 1, {2040, 531, 785, 1000, 393, 555, 2, 2, 3840, 2140, 255}},
        {"Beta", 5, 1, {2015, 175, 690, 950, 342, 500, 3, 6, 11520, 2015, 250}},
        {"Gamma", 5, 1, {0, 0, 0, 0, 0, 0, 0, 3, 5760, 0, 0}},
    };
    struct report_query ask = {.period = REPORT_MONTHLY, .from = april(29), .to = may(6), .week_start = SUNDAY};
    struct report r;
    (void)unused;
    make(&ask, &r);
    check(&r, whole, ARRAY_LEN(whole));
    assert_true(r.month_left_out);
    report_fini(&r);
    ask.partial = true;
    make(&ask, &r);
    check(&r, partial, ARRAY_LEN(partial));
    assert_false(r.month_left_out);
    report_fini(&r);
    ask.partial = false;
    ask.to = may(31); /* over: it is listed */
    make(&ask, &r);
    assert_false(r.month_left_out);
    assert_int_equal(r.n, 4);
    assert_int_equal(r.rows[0].nodes, 7);      /* Alpha ended on 5 May */
    assert_int_equal(r.rows[2].nodes, 31);     /* Beta goes on without another entry */
    assert_int_equal(r.rows[3].nodes, 31 - 3); /* Gamma from the 4th on */
    report_fini(&r);
}

static void the_overall_table_is_the_one_worked_by_hand(void **unused)
{
    static const struct want want[] = {
        {"Alpha", 4, 29, {6211, 359, 853, 1000, 472, 800, 7, 9, 17280, 6311, 541}},
        {"Beta", 4, 29, {2015, 175, 690, 950, 342, 500, 3, 6, 11520, 2015, 250}},
        {"Gamma", 4, 29, {0, 0, 0, 0, 0, 0, 0, 3, 5760, 0, 0}},
    };
    struct report r;
    (void)unused;
    make(&(struct report_query){.period = REPORT_OVERALL, .from = april(29), .to = may(6), .week_start = SUNDAY}, &r);
    check(&r, want, ARRAY_LEN(want));
    report_fini(&r);
}

struct want_project {
    const char *company, *project;
    int64_t total, runs, master, overlap, ignored;
};

static void check_summary(const struct report *r, const struct want_project *want, size_t n)
{
    for (size_t i = 0; i < n && i < r->n; i++) {
        const struct summary_row *p = &r->projects[i];
        print_message("%s %s\n", p->company, p->project ? p->project : "-");
        assert_string_equal(p->company, want[i].company);
        if (want[i].project)
            assert_string_equal(p->project, want[i].project);
        else
            assert_null(p->project);
        assert_int_equal(p->total, want[i].total);
        assert_int_equal(p->runs, want[i].runs);
        assert_int_equal(p->master_runs, want[i].master);
        assert_int_equal(p->overlap_runs, want[i].overlap);
        assert_int_equal(p->ignored_runs, want[i].ignored);
    }
    assert_int_equal(r->n, n);
}

static void the_summary_is_the_one_worked_by_hand(void **unused)
{
    static const struct want_project week[] = {
        {"Alpha", "llm", 2463, 3, 0, 2, 0}, {"Alpha", "vision", 35, 1, 0, 0, 0}, {"Beta", "ocr", 19200, 1, 0, 0, 1},
        {"Beta", "tts", 150, 1, 0, 0, 0},   {"Gamma", NULL, 0, 0, 0, 0, 0},
    };
    static const struct want_project all[] = {
        {"Alpha", "llm", 62077, 5, 1, 2, 0}, {"Alpha", "vision", 1035, 2, 0, 1, 0}, {"Beta", "ocr", 20000, 2, 0, 0, 1},
        {"Beta", "tts", 150, 1, 0, 0, 0},    {"Gamma", NULL, 0, 0, 0, 0, 0},
    };
    struct report r;
    (void)unused;
    make(&(struct report_query){.period = REPORT_SUMMARY, .from = may(3), .to = may(6), .week_start = SUNDAY}, &r);
    check_summary(&r, week, ARRAY_LEN(week));
    report_fini(&r);
    make(&(struct report_query){.period = REPORT_SUMMARY, .from = april(29), .to = may(6), .week_start = SUNDAY}, &r);
    check_summary(&r, all, ARRAY_LEN(all));
    report_fini(&r);
}

/* ---- rules, one by one ---- */

static void one_company_is_the_same_rows_alone(void **unused)
{
    struct report_query ask = {.period = REPORT_DAILY, .from = april(29), .to = may(6), .week_start = SUNDAY};
    struct report all, one;
    struct err err = {0};
    (void)unused;
    make(&ask, &all);
    ask.company = "Beta";
    make(&ask, &one);
    assert_int_equal(one.n, 6);
    for (size_t i = 0; i < one.n; i++) {
        const struct report_row *a = &one.rows[i], *b = &all.rows[6 + i];
        assert_string_equal(a->company, b->company);
        assert_int_equal(a->day, b->day); /* behind it are bytes that nobody sets */
        assert_memory_equal(&a->total, &b->total, sizeof(*a) - offsetof(struct report_row, total));
    }
    report_fini(&all);
    report_fini(&one);
    ask.company = "Omega";
    assert_int_equal(report_make(&ask, companies, 4, days, n_days, &one, &err), -EINVAL);
    assert_string_equal(err.msg, "no company is called 'Omega'");
    ask = (struct report_query){.from = may(2), .to = may(1)};
    assert_int_equal(report_make(&ask, companies, 4, days, n_days, &one, &err), -EINVAL);
}

static void weeks_begin_when_told(void **unused)
{
    static const struct {
        int start, month, day;
    } cases[] = {{0, 4, 27}, {3, 4, 30}, {4, 5, 1}, {5, 5, 2}, {6, 4, 26}};
    (void)unused;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++)
        assert_int_equal(report_week(may(2), cases[i].start), date_of(2026, cases[i].month, cases[i].day));
    assert_int_equal(report_month(may(31)), may(1));
    assert_int_equal(report_month(date_of(2028, 2, 29)), date_of(2028, 2, 1));
}

static int32_t berlin_minutes(void *arg, int32_t day)
{
    return (int32_t)((zone_date_ms(arg, day + 1) - zone_date_ms(arg, day)) / MINUTE);
}

static void a_day_of_23_or_25_hours_has_as_many(void **unused)
{
    static const struct {
        int month, day, minutes;
        int64_t hours; /* 0.1 h of one node */
    } cases[] = {{3, 28, 1440, 1920}, {3, 29, 1380, 1840}, {10, 25, 1500, 2000}, {10, 26, 1440, 1920}};
    struct zone *z;
    struct err err = {0};
    (void)unused;
    if (zone_load("CET-1CEST,M3.5.0,M10.5.0/3", &z, &err) < 0)
        fail_msg("%s", err.msg);
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        int32_t day = date_of(2026, cases[i].month, cases[i].day);
        struct company_step step = {day, 1};
        struct company co =
            {.name = "A", .n_teams = 1, .teams = gamma_teams, .n_steps = 1, .steps = &step, .gpus_per_node = 8};
        struct run_day run = {.day = day, .gpus = 8, .team = "gamma", .run_id = "r"};
        struct report_query ask = {.period = REPORT_DAILY,
                                   .from = day,
                                   .to = day,
                                   .day_minutes = berlin_minutes,
                                   .arg = z};
        struct report r;
        run.minutes = run_minutes(0, INT64_MAX / 2, zone_date_ms(z, day), zone_date_ms(z, day + 1));
        assert_int_equal(run.minutes, cases[i].minutes);
        assert_int_equal(report_make(&ask, &co, 1, &run, 1, &r, &err), 0);
        assert_int_equal(r.rows[0].assigned, cases[i].hours);
        assert_int_equal(r.rows[0].total, cases[i].hours);
        assert_int_equal(r.rows[0].uncapped, cases[i].hours);
        assert_int_equal(r.rows[0].rate, 1000);
        report_fini(&r);
    }
    zone_free(z);
}

static void runs_on_other_devices_of_a_host_do_not_overlap(void **unused)
{
    struct company_step step = {may(1), 1};
    struct company co = {.name = "A", .n_steps = 1, .steps = &step, .gpus_per_node = 8};
    struct run_day runs[] = {
        {.day = may(1),
         .minutes = 60,
         .gpus = 2,
         .company = "A",
         .run_id = "1",
         .host = "n",
         .from_ms = 0,
         .until_ms = 100,
         .devices = 3},
        {.day = may(1),
         .minutes = 60,
         .gpus = 2,
         .company = "A",
         .run_id = "2",
         .host = "n",
         .from_ms = 10,
         .until_ms = 20,
         .devices = 12},
        {.day = may(1),
         .minutes = 60,
         .gpus = 2,
         .company = "A",
         .run_id = "3",
         .host = "n",
         .from_ms = 20,
         .until_ms = 30,
         .devices = 12},
        {.day = may(1),
         .minutes = 60,
         .gpus = 2,
         .company = "A",
         .run_id = "4",
         .host = "n",
         .from_ms = 99,
         .until_ms = 120,
         .devices = 2},
        {.day = may(1),
         .minutes = 60,
         .gpus = 2,
         .company = "A",
         .run_id = "5",
         .host = "m",
         .from_ms = 50,
         .until_ms = 60},
        {.day = may(1), .minutes = 60, .gpus = 2, .company = "A", .run_id = "6", .from_ms = 50, .until_ms = 60},
        {.day = may(1), .minutes = 60, .gpus = 2, .company = "A", .run_id = "7", .from_ms = 50, .until_ms = 60},
    };
    struct report r;
    struct err err;
    (void)unused;
    assert_int_equal(report_make(&(struct report_query){.period = REPORT_SUMMARY, .from = may(1), .to = may(1)}, &co, 1,
                                 runs, ARRAY_LEN(runs), &r, &err),
                     0);
    assert_int_equal(r.n, 1);
    assert_int_equal(r.projects[0].runs, 7);
    assert_int_equal(r.projects[0].overlap_runs, 1); /* 4 with 1; of 6 and 7 no host is known */
    report_fini(&r);
}

static void only_projects_that_are_included_count(void **unused)
{
    struct company_step step = {may(1), 1};
    struct company co = {.name = "A",
                         .n_steps = 1,
                         .steps = &step,
                         .gpus_per_node = 8,
                         .include_project = "prod*",
                         .ignore_project = "*"};
    struct run_day runs[] = {
        {.day = may(1), .minutes = 60, .gpus = 1, .company = "A", .run_id = "1", .project = "prod-1"},
        {.day = may(1), .minutes = 60, .gpus = 1, .company = "A", .run_id = "2", .project = "dev"},
        {.day = may(1), .minutes = 60, .gpus = 1, .company = "A", .run_id = "3"},
    };
    struct report r;
    struct err err;
    (void)unused;
    assert_int_equal(report_make(&(struct report_query){.period = REPORT_DAILY, .from = may(1), .to = may(1)}, &co, 1,
                                 runs, ARRAY_LEN(runs), &r, &err),
                     0);
    assert_int_equal(r.rows[0].total, 10);
    assert_int_equal(r.rows[0].runs, 1);
    assert_int_equal(r.not_counted, 120);
    report_fini(&r);
}

static void nodes_without_gpus_are_used_by_nobody(void **unused)
{
    struct company_step step = {may(1), 1};
    struct company co = {.name = "A", .n_steps = 1, .steps = &step, .gpus_per_node = 0};
    struct run_day run = {.day = may(1), .minutes = 60, .gpus = 1, .company = "A", .run_id = "1"};
    struct report r;
    struct err err;
    (void)unused;
    assert_int_equal(report_make(&(struct report_query){.period = REPORT_DAILY, .from = may(1), .to = may(1)}, &co, 1,
                                 &run, 1, &r, &err),
                     0);
    assert_int_equal(r.rows[0].total, 0);
    assert_int_equal(r.rows[0].uncapped, 10);
    assert_int_equal(r.rows[0].rate, 0);
    report_fini(&r);
}

static void what_was_never_pulled_or_could_not_be_read_is_told_by_row(void **unused)
{
    static const char *const teams[] = {"one", "two"};
    struct company_step step = {may(1), 1};
    struct company co = {.name = "Co",
                         .n_teams = 2,
                         .teams = teams,
                         .n_steps = 1,
                         .steps = &step,
                         .gpus_per_node = 8,
                         .ignore_project = "x*"};
    struct known_span spans[] = {{"", "", may(1), may(2)}, {"one", "", may(4), may(6)}, {"two", "", may(5), may(6)}};
    struct known_span stale[] = {{"one", "p", may(6), may(6)},
                                 {"one", "xp", may(4), may(6)},
                                 {"three", "", may(1), may(9)}};
    struct known known = {.days = {.n = 3, .v = spans}, .stale = {.n = 3, .v = stale}};
    static const struct {
        int unknown, stale;
    } want[] = {{1, 0}, {0, 6}, {0, 0}, {1, 0}, {1, 0}, {0, 0}, {0, 0}}; /* the 7th to the 1st */
    struct report_query ask = {.from = may(1), .to = may(7), .known = &known};
    struct report r;
    struct err err;
    (void)unused;
    assert_int_equal(report_make(&ask, &co, 1, NULL, 0, &r, &err), 0);
    assert_int_equal(r.n, 7);
    for (size_t i = 0; i < r.n; i++) {
        print_message("May %zu\n", 7 - i);
        assert_int_equal(r.rows[i].gap.days, 1);
        assert_int_equal(r.rows[i].gap.unknown, want[i].unknown);
        assert_int_equal(r.rows[i].gap.stale, want[i].stale ? may(want[i].stale) : 0);
    }
    report_fini(&r);
    for (int p = REPORT_OVERALL; p <= REPORT_SUMMARY; p++) {
        ask.period = (enum report_period)p;
        assert_int_equal(report_make(&ask, &co, 1, NULL, 0, &r, &err), 0);
        assert_int_equal(r.n, 1);
        const struct report_gap *g = p == REPORT_SUMMARY ? &r.projects[0].gap : &r.rows[0].gap;
        assert_int_equal(g->days, 7);
        assert_int_equal(g->unknown, 3);
        assert_int_equal(g->stale, may(6));
        report_fini(&r);
    }
}

static void nobody_and_nothing_make_an_empty_table(void **unused)
{
    struct report r;
    struct err err;
    (void)unused;
    for (int p = 0; p < REPORT_PERIODS; p++) {
        assert_int_equal(report_make(&(struct report_query){.period = (enum report_period)p, .from = 0, .to = 100},
                                     NULL, 0, NULL, 0, &r, &err),
                         0);
        assert_int_equal(r.n, 0);
        report_fini(&r);
    }
    report_fini(NULL);
}

#define HAND(f) cmocka_unit_test_setup(f, set_up)
static void effective_hours_are_gpu_hours_times_work_where_it_is_known(void **unused)
{
    static struct company_step steps[1];
    static const char *const teams[] = {"t"};
    struct company co = {.name = "Co", .n_teams = 1, .teams = teams, .n_steps = 1, .steps = steps, .gpus_per_node = 8};
    /* 2 GPUs for 10 h of which 5 h are measured at 60 %; 8 GPUs for an hour at 25 %; one that is not measured */
    const struct run_day v[] = {
        {.day = 10,
         .minutes = 600,
         .gpus = 2,
         .team = "t",
         .run_id = "a",
         .work = {[WORK_EFFECTIVE] = {60 * PERCENT_ONE, 600}}},
        {.day = 10,
         .minutes = 60,
         .gpus = 8,
         .team = "t",
         .run_id = "b",
         .work = {{25 * PERCENT_ONE, 480}, [WORK_TENSOR] = {50 * PERCENT_ONE, 240}}},
        {.day = 11, .minutes = 60, .gpus = 8, .team = "t", .run_id = "c"},
    };
    struct report_query ask = {.period = REPORT_DAILY, .from = 10, .to = 11};
    struct report r;
    struct err err = {0};
    (void)unused;
    steps[0] = (struct company_step){1, 1};
    assert_int_equal(report_make(&ask, &co, 1, v, ARRAY_LEN(v), &r, &err), 0);
    assert_int_equal(r.n, 2);
    assert_int_equal(r.rows[0].day, 11);
    assert_int_equal(r.rows[0].work[WORK_EFFECTIVE].of, 0);     /* not known */
    assert_int_equal(r.rows[1].work[WORK_EFFECTIVE].hours, 80); /* 6 h and 2 h */
    assert_int_equal(r.rows[1].work[WORK_EFFECTIVE].of, 180);
    assert_int_equal(r.rows[1].work[WORK_TENSOR].hours, 20);
    assert_int_equal(r.rows[1].work[WORK_TENSOR].of, 40);
    report_fini(&r);
}

TESTS(cmocka_unit_test(effective_hours_are_gpu_hours_times_work_where_it_is_known),
      HAND(runs_are_cut_into_days_by_whole_minutes), HAND(the_daily_table_is_the_one_worked_by_hand),
      HAND(the_weekly_table_is_the_one_worked_by_hand), HAND(the_monthly_table_is_the_one_worked_by_hand),
      HAND(the_overall_table_is_the_one_worked_by_hand), HAND(the_summary_is_the_one_worked_by_hand),
      HAND(one_company_is_the_same_rows_alone), cmocka_unit_test(a_run_that_ends_before_it_begins_has_no_minutes),
      cmocka_unit_test(weeks_begin_when_told), cmocka_unit_test(a_day_of_23_or_25_hours_has_as_many),
      cmocka_unit_test(runs_on_other_devices_of_a_host_do_not_overlap),
      cmocka_unit_test(only_projects_that_are_included_count), cmocka_unit_test(nodes_without_gpus_are_used_by_nobody),
      cmocka_unit_test(what_was_never_pulled_or_could_not_be_read_is_told_by_row),
      cmocka_unit_test(nobody_and_nothing_make_an_empty_table))
