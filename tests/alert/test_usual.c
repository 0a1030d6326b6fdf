/* Normal usage and deviations from it; usage of a worked example, around changes of the clock; rate of false alerts. */
#include "test.h"

#include <math.h>
#include <string.h>

#include "alert/baseline.h"
#include "alert/baseline_stats.h"
#include "base/buf.h"
#include "base/rand.h"
#include "people/people_build.h"
#include "temp_store.h"

#define H    3600000ll
#define GPUS 1000 /* in the unit of baseline_stats.h */

/* ---- normal usage ---- */

static void a_habit_is_what_most_weeks_agree_on(void **unused)
{
    static const struct {
        const char *what;
        int64_t v[8];
        size_t n;
        bool habit;
        int64_t usual, now;
        int far;
    } cases[] = {
        {"too few", {8000, 8000, 8000}, 3, false, 0, 0, 0},
        {"gaps leave too few", {8000, -1, 8000, -1, 8000, -1}, 6, false, 0, 0, 0},
        {"gaps leave enough", {64000, -1, 64000, -1, 64000, 64000}, 6, true, 64000, 31999, -1},
        {"always nothing", {0, 0, 0, 0, 0, 0, 0, 0}, 8, false, 0, 0, 0},
        {"mostly nothing", {0, 0, 0, 0, 0, 64000, 64000, 64000}, 8, false, 0, 0, 0},
        {"constant, and now nothing", {64000, 64000, 64000, 64000}, 4, true, 64000, 0, -1},
        {"constant, and half of it", {64000, 64000, 64000, 64000}, 4, true, 64000, 32000, 0},
        {"constant, and half more", {64000, 64000, 64000, 64000}, 4, true, 64000, 96000, 0},
        {"constant, and twice that", {64000, 64000, 64000, 64000}, 4, true, 64000, 128000, 1},
        {"a few GPUs are never far", {4000, 4000, 4000, 4000, 4000}, 5, true, 4000, 9000, 0},
        {"nor is their end", {5000, 5000, 5000, 5000, 5000}, 5, true, 5000, 0, 0},
        {"a holiday does not count", {64000, 62000, 0, 66000, 64000, 63000, 0, 65000}, 8, true, 63500, 0, -1},
        {"now this, now that", {0, 64000, 10000, 90000, 30000, 70000, 50000, 20000}, 8, false, 0, 0, 0},
    };
    (void)unused;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct baseline_stats h = {0};
        print_message("%s\n", cases[i].what);
        assert_int_equal(baseline_stats_from(cases[i].v, cases[i].n, &h), cases[i].habit);
        assert_int_equal(h.usual, cases[i].usual);
        if (cases[i].habit)
            assert_int_equal(baseline_deviation(&h, cases[i].now, false), cases[i].far);
    }
}

static void a_habit_is_told_in_words(void **unused)
{
    struct baseline_stats h;
    struct zone *z = NULL;
    AUTO_BUF b = BUF_INIT(4096);

    (void)unused;
    assert_int_equal(zone_load("Europe/Berlin", &z, NULL), 0);
    assert_true(baseline_stats_from((int64_t[]){58400, 62000, 66000, 61900, -1}, 5, &h));
    baseline_text(&b, "company acme", &h, 2540, z, 1794837600000ll); /* 2026-11-16 13:00 UTC */
    assert_string_equal(b.p, "company acme used 2.5 GPUs from 15:00 on; on a Monday at that hour it is usually 62 "
                             "(58 to 66 in 4 weeks)");
    buf_reset(&b);
    low_text(&b, "company acme", 37 * H + H / 2, 8 * 8 * 24 * H, 20771);
    assert_string_equal(b.p, "company acme used 37.5 of 1536 GPU-hours on 2026-11-14: 2.4 % of what was assigned");
    zone_free(z);
}

static void a_tenth_is_not_below_a_tenth(void **unused)
{
    (void)unused;
    assert_true(low_is(0, 1));
    assert_true(low_is(99, 1000));
    assert_false(low_is(100, 1000));
    assert_false(low_is(0, 0)); /* no assignment */
    assert_true(low_is(INT64_MAX / 100, INT64_MAX));
}

/* ---- false alerts ---- */

static double normal(uint64_t *seed)
{
    double sum = 0;

    for (int i = 0; i < 12; i++) {
        *seed = *seed * 6364136223846793005u + 1442695040888963407u;
        sum += (double)(*seed >> 11) / 9007199254740992.0;
    }
    return sum - 6;
}

/* 64 GPUs by day, a third by night, half of that at weekends; noise as a share of it. */
static int64_t simulated(int hour, double noise, uint64_t *seed)
{
    int of_day = hour % 24, of_week = hour / 24 % 7;
    double v = of_day >= 8 && of_day < 20 ? 64000 : 21000;

    v = of_week >= 5 ? v / 2 : v;
    v *= 1 + noise * normal(seed);
    return v > 0 ? (int64_t)v : 0;
}

#define CLEAR_HOURS 3 /* clear time of the rule */
/* Number of times an alert starts: far for two consecutive hours. */
static int false_ones(const int64_t *v, int weeks)
{
    int n = 0, before = 0, fires = 0;

    for (int t = USUAL_WEEKS * 168; t < weeks * 168; t++) {
        int64_t past[USUAL_WEEKS];
        struct baseline_stats h;
        for (int w = 0; w < USUAL_WEEKS; w++)
            past[w] = v[t - (w + 1) * 168];
        bool known = baseline_stats_from(past, USUAL_WEEKS, &h);
        int far = known ? baseline_deviation(&h, v[t], false) : 0;
        bool begins = far && far == before, goes_on = known && baseline_deviation(&h, v[t], true);
        n += begins && !fires;
        fires = begins || goes_on ? (fires || begins ? CLEAR_HOURS : 0) : MAX(fires - 1, 0);
        before = far;
    }
    return n;
}

#define YEARS_OF 100 /* companies, one year each */
#define WEEKS    (52 + USUAL_WEEKS)

/* The numbers are in docs/internals/alerts.md. */
static void h3_steady_use_with_noise_is_hardly_ever_far(void **unused)
{
    static const struct {
        double noise;
        int most; /* per hundred years of a company */
        int told; /* maximum, for a week without usage */
    } cases[] = {{0.05, 0, 1}, {0.10, 0, 1}, {0.20, 20, 4}};
    AUTO_FREE int64_t *v = mem_zero(WEEKS * 168, sizeof(*v));
    uint64_t seed = 7;

    (void)unused;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        int n = 0;
        for (int c = 0; c < YEARS_OF; c++) {
            for (int t = 0; t < WEEKS * 168; t++)
                v[t] = simulated(t, cases[i].noise, &seed);
            n += false_ones(v, WEEKS);
        }
        print_message("noise of %.0f %%: %d false in %d years\n", cases[i].noise * 100, n, YEARS_OF);
        assert_true(n <= cases[i].most);
        for (int t = (WEEKS - 1) * 168; t < WEEKS * 168; t++)
            v[t] = 0; /* usage stops */
        int told = false_ones(v + (WEEKS - 9) * 168, 9);
        assert_true(told >= 1 && told <= cases[i].told);
    }
    /* up to 44 GPUs, changing every twelve hours or so, regardless of the hour: the worst case */
    int n = 0;
    for (int c = 0; c < YEARS_OF; c++) {
        int64_t level = 0;
        for (int t = 0; t < WEEKS * 168; t++) {
            seed = seed * 6364136223846793005u + 1442695040888963407u;
            if ((seed >> 33) % 12 == 0)
                level = (int64_t)((seed >> 40) % 3) * (4 + (int64_t)((seed >> 45) % 19)) * GPUS;
            v[t] = level;
        }
        n += false_ones(v, WEEKS);
    }
    print_message("jobs that come and go: %d false in %d years\n", n, YEARS_OF);
    assert_true(n < 10 * YEARS_OF);
}

/* ---- a worked example ---- */

static char *dir;
static struct store *store;

static void open_store(void)
{
    dir = dir_new_quick();
    store = store_new_for_test(dir, NULL);
}

static void close_store(void)
{
    store_close(store);
    dir_free(dir);
}

static void put(const char *node, int64_t at_ms, const char *login, int64_t held_ms, int64_t down_ms)
{
    struct usage_held h = {login, {.held_ms = held_ms}};
    struct usage_device d = {"GPU-1", "NVIDIA H200", MAX(0, 100 * H - held_ms - down_ms), 0, down_ms, 0, 1, &h};
    struct usage_span s = {at_ms, at_ms + H, 1, &d};

    store_put(store, STORE_USAGE, &(struct usage_put){node, 1, 0, &s, NULL, "UTC", NULL}, 1, NULL, NULL);
}

static int each_of(void *arg, const struct store_each *e, struct err *err)
{
    (void)arg;
    return store_each(store, e, err);
}

static struct people *companies(void)
{
    struct opt_section
        t = {(char *)"{vision: {members: [kim], schedule: [{date: 2026-01-01, assigned_gpu_node: 16}], gpus_per_node: "
                     "4}, free: {members: [lee]}}",
             "m.yaml", 0},
        c = {(char *)"{acme: {teams: [vision], schedule: [{date: 2026-01-01, assigned_gpu_node: 8}]}, "
                     "bolt: {teams: [other], schedule: [{date: 2026-01-01, assigned_gpu_node: 1}, {date: "
                     "2026-10-25, assigned_gpu_node: 0}]}, none: {teams: [x]}}",
             "m.yaml", 0};
    struct people *ret = NULL;
    struct err err = {0};
    struct opt_list ignore = {0};

    if (people_new(&(struct people_src){.teams = &t, .companies = &c, .ignore = &ignore}, &ret, &err) < 0)
        fail_msg("%s", err.msg);
    return ret;
}

static void look(const struct zone *z, int64_t hour_ms, struct buf *out)
{
    struct people *c = companies();
    struct usage_baseline s;
    struct err err = {0};
    struct usage_baseline_query ask = {.hour_ms = hour_ms, .sums = {.zone = z, .people = c, .each = each_of}};

    buf_reset(out);
    assert_int_equal(store_flush(store, NULL), 0);
    if (usage_baseline_run(&ask, &s, &err) < 0)
        fail_msg("%s", err.msg);
    for (size_t i = 0; i < s.n; i++)
        buf_addf(out, "%s %s: %s\n",
                 s.v[i].kind == USAGE_LOW ? "low"
                 : s.v[i].weak            ? "goes on"
                                          : "unusual",
                 s.v[i].subject, s.v[i].text);
    usage_baseline_fini(&s);
    people_unref(c);
}

static void has(const struct buf *b, const char *what, bool want)
{
    if ((strstr(b->p ? b->p : "", what) != NULL) != want)
        fail_msg("%s '%s' in\n%s", want ? "no" : "there is", what, b->p ? b->p : "");
}

/* In Berlin 2026-10-25 has 25 hours: 8 nodes with 8 GPUs are 1600 GPU-hours. */
static void u1_a_day_is_as_long_as_it_was(void **unused)
{
    struct zone *z = NULL;
    AUTO_BUF b = BUF_INIT(1 << 20);
    int32_t day = date_of(2026, 10, 25);

    (void)unused;
    assert_int_equal(zone_load("Europe/Berlin", &z, NULL), 0);
    open_store();
    int64_t from_ms = zone_date_ms(z, day), to_ms = zone_date_ms(z, day + 1);
    assert_int_equal(to_ms - from_ms, 25 * H);
    put("n1", from_ms - H, "kim", 99 * H, 0); /* of the previous day, and of the next day */
    put("n1", to_ms, "kim", 99 * H, 0);
    for (int h = 0; h < 25; h++)
        put("n1", from_ms + h * H, "kim", h < 15 ? 10 * H : H / 2, 0);
    look(z, to_ms - H, &b); /* 155 of 1600 */
    has(&b, "low company:acme: company acme used 155.0 of 1600 GPU-hours on 2026-10-25: 9.6 % of what was assigned",
        true);
    has(&b, "low team:vision: team vision used 155.0 of 1600 GPU-hours on 2026-10-25: 9.6 %", true);
    has(&b, "free", false); /* without an assignment */
    has(&b, "bolt", false); /* assigned until the previous day */
    has(&b, "none", false);
    put("n1", from_ms + 20 * H, "kim", 5 * H + H / 2, 0);
    look(z, to_ms + 5 * H, &b); /* 160 of 1600 are a tenth */
    has(&b, "low", false);
    look(z, from_ms + 5 * H, &b); /* the previous day: mostly unknown, and used */
    has(&b, "low company:acme: company acme used 99.0 of 1536 GPU-hours on 2026-10-24", true);
    has(&b, "low company:bolt: company bolt used 0.0 of 192 GPU-hours on 2026-10-24: 0.0 %", true);
    look(z, to_ms - 2 * H, &b); /* the day is not over */
    has(&b, "2026-10-25", false);
    close_store();
    zone_free(z);
}

static void u2_what_was_not_seen_is_not_low(void **unused)
{
    struct zone *z = zone_utc();
    AUTO_BUF b = BUF_INIT(1 << 20);
    int64_t from_ms = zone_date_ms(z, date_of(2026, 11, 10));

    (void)unused;
    open_store();
    for (int h = 0; h < 24; h++)
        put("n1", from_ms + h * H, "kim", H, 60 * H);
    look(z, from_ms + 24 * H, &b);
    assert_int_equal(b.len, 0);
    for (int h = 0; h < 24; h++)
        put("n1", from_ms + h * H, "kim", H, 10 * H);
    look(z, from_ms + 24 * H, &b);
    has(&b, "low company:acme: company acme used 24.0 of 1536", true);
    close_store();
    zone_free(z);
}

/* In local time, over the change to winter time; two consecutive hours; hours without data are ignored. */
static void far_from_the_same_hour_of_the_week(void **unused)
{
    struct zone *z = NULL;
    AUTO_BUF b = BUF_INIT(1 << 20);
    struct civil c = {2026, 11, 16, 14, 0, 0}; /* a Monday */

    (void)unused;
    assert_int_equal(zone_load("Europe/Berlin", &z, NULL), 0);
    open_store();
    int64_t hour_ms = zone_to_ms(z, &c);
    for (int w = 1; w <= 8; w++)
        for (int i = -3; i <= 3; i++) /* a peak of two hours, so that another hour has another normal value */
            put("n1", baseline_week_start_ms(z, hour_ms + i * H, w), "kim",
                i == 0 || i == -1 ? (60 + w % 3) * H : 2 * H, w == 5 ? 50 * H : 0);
    put("n1", hour_ms - H, "kim", 61 * H, 0);
    put("n1", hour_ms, "kim", 3 * H, 0);
    look(z, hour_ms, &b);
    has(&b, "unusual", false); /* only one hour */
    has(&b, "goes on company:acme: ", true);
    put("n1", hour_ms - H, "kim", 4 * H, 0);
    look(z, hour_ms, &b);
    has(&b,
        "unusual company:acme: company acme used 3 GPUs from 14:00 on; on a Monday at that hour it is usually 61 (60 "
        "to "
        "62 in 7 weeks)\n",
        true);
    has(&b, "unusual team:vision: team vision used 3 GPUs", true);
    has(&b, "unusual cluster: the cluster used 3 GPUs", true);
    put("n1", hour_ms, "kim", 3 * H, 80 * H);
    look(z, hour_ms, &b);
    has(&b, "unusual", false); /* no data */
    put("n1", hour_ms, "kim", 59 * H, 0);
    look(z, hour_ms, &b);
    has(&b, "unusual", false);
    close_store();
    zone_free(z);
}

TESTS(cmocka_unit_test(a_habit_is_what_most_weeks_agree_on), cmocka_unit_test(a_habit_is_told_in_words),
      cmocka_unit_test(a_tenth_is_not_below_a_tenth), cmocka_unit_test(h3_steady_use_with_noise_is_hardly_ever_far),
      cmocka_unit_test(u1_a_day_is_as_long_as_it_was), cmocka_unit_test(u2_what_was_not_seen_is_not_low),
      cmocka_unit_test(far_from_the_same_hour_of_the_week))
