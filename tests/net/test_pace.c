/* test_pace.c: how fast a server may be asked (A1 to A3 of pace.h). */
#include "net/pace.h"

#include <stdio.h>

#include "test.h"

static void headers_decide_how_long_to_wait(void **unused)
{
    static const struct {
        const char *remaining, *reset;
        int under_way;
        int64_t since_ms; /* the newest request */
        int64_t min, max; /* of the wait */
    } cases[] = {
        {"1000", "60", 0, 0, 0, 0},      /* plenty: at once */
        {"501", "60", 0, 0, 0, 0},       /* more than half of the most ever told */
        {"400", "60", 0, 0, 150, 156},   /* the rest is spread: 61 s for 400 */
        {"400", "60.0", 0, 0, 148, 152}, /* seconds with decimals were not rounded */
        {"400", "60", 200, 0, 300, 310}, /* what is under way is taken off */
        {"400", "60", 200, 250, 50, 60}, /* some of it has passed */
        {"0", "60", 0, 0, 61000, 61000}, /* nothing left: until there is more */
        {"0", "30.0", 0, 9000, 30050, 30050},
        {"0.5", "60", 0, 0, 10000, 10000}, /* less than one costs */
        {"0", "3", 0, 0, 4000, 4000},      /* there is more again before that */
        {"3", "60", 3, 9000, 1000, 1000},  /* all that is left is under way */
        {"-1", "60", 0, 0, 0, 0},          /* not numbers that can be meant: as if nothing was told */
        {"x", "60", 0, 0, 0, 0},
        {"", "", 0, 0, 0, 0},
        {"1", "99999999999", 0, 0, 0, 0},
    };
    (void)unused;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct pace p;
        print_message("%s in %s, %d under way\n", cases[i].remaining, cases[i].reset, cases[i].under_way);
        pace_init(&p, 0);
        p.limit = 1000;
        pace_sent(&p, 5000 - cases[i].since_ms);
        pace_update(&p, 5000, str_of(cases[i].remaining), str_of(cases[i].reset));
        assert_in_range(pace_wait(&p, 5000, cases[i].under_way), cases[i].min, cases[i].max);
    }
}

static void a_rate_of_our_own_and_a_hold_count_too(void **unused)
{
    struct pace p;
    (void)unused;
    pace_init(&p, 4);
    assert_int_equal(pace_wait(&p, 1000, 0), 0);
    pace_sent(&p, 1000);
    assert_in_range(pace_wait(&p, 1000, 1), 250, 251);
    assert_int_equal(pace_wait(&p, 1251, 1), 0);
    pace_hold(&p, 9000);
    pace_hold(&p, 2000); /* the longer one holds */
    assert_int_equal(pace_wait(&p, 1251, 1), 7749);
}

static void where_nothing_remains_nobody_asks_until_the_reset(void **unused)
{
    struct pace_parts p;
    (void)unused;
    pace_parts_init(&p, 0);
    pace_parts_sent(&p, 1, 1000);
    pace_parts_back(&p, 1);
    pace_parts_update(&p, 1, 1000, str_of("0"), str_of("30.0"));
    for (uint64_t part = 0; part < 3; part++) {
        assert_int_equal(pace_parts_wait(&p, part, 1000), 30050); /* of one host, whichever project */
        assert_int_equal(pace_parts_wait(&p, part, 30000), 1050);
        assert_int_equal(pace_parts_wait(&p, part, 31050), 0);
    }
    pace_parts_sent(&p, 2, 31050); /* one goes first: what it is told counts for all */
    assert_int_equal(pace_parts_wait(&p, 1, 31060), 9990);
    pace_parts_back(&p, 2);
    pace_parts_update(&p, 2, 31200, str_of("500"), str_of("60.0"));
    assert_int_equal(pace_parts_wait(&p, 1, 31200), 0);
    pace_parts_fini(&p);
}

static void where_one_of_parts_counted_apart_is_empty_nobody_asks_either(void **unused)
{
    struct pace_parts p;
    (void)unused;
    pace_parts_init(&p, 0);
    p.known = true;
    p.one = false;
    pace_parts_update(&p, 2, 1000, str_of("500"), str_of("60.0"));
    pace_parts_update(&p, 1, 1000, str_of("60"), str_of("60.0"));
    assert_int_equal(pace_parts_wait(&p, 2, 1000), 0);
    pace_parts_update(&p, 1, 2000, str_of("0"), str_of("8.0")); /* this is when, not the minute of the one before */
    pace_parts_update(&p, 2, 3000, str_of("499"), str_of("58.0"));
    for (uint64_t part = 1; part < 4; part++) {
        assert_int_equal(pace_parts_wait(&p, part, 3000), 7050);
        assert_int_equal(pace_parts_wait(&p, part, 10050), 0);
    }
    pace_parts_fini(&p);
}

/* An answer that came late says so little of when its window ends that the next one seems to be the same. */
static void what_is_told_of_a_window_counts_until_that_one_is_over(void **unused)
{
    struct pace p;
    (void)unused;
    pace_init(&p, 0);
    pace_update(&p, 1000, str_of("59"), str_of("0.900"));
    pace_sent(&p, 1700);
    pace_update(&p, 1800, str_of("20"), str_of("0.700")); /* until 2500, not until 1950 */
    assert_true(pace_wait(&p, 2000, 0) > 0);
    assert_int_equal(pace_wait(&p, 2551, 0), 0);
}

/* The first answer to come was the last to be made: those it overtook do not make a request cheap. */
static void answers_that_were_overtaken_say_nothing_of_what_one_costs(void **unused)
{
    char left[16];
    struct pace p;
    (void)unused;
    pace_init(&p, 0);
    pace_update(&p, 1000, str_of("50"), str_of("60.0"));
    for (int i = 51; i < 100; i++) {
        snprintf(left, sizeof(left), "%d", i);
        pace_update(&p, 1000, str_of(left), str_of("60.0"));
    }
    pace_sent(&p, 1000);
    pace_update(&p, 1000, str_of("49"), str_of("60.0"));
    assert_int_equal(pace_wait(&p, 1000, 49), 10000); /* all that is left is under way */
}

/*
 * A server with `limit` in each window, told to the tenth of a second, answers in 50 ms; 32 at once. Simulated: never
 * refused, and nearly all that is given is used.
 */
static void what_a_server_gives_is_used_and_never_overdrawn(void **unused)
{
    static const struct {
        double limit, cost;
        int window_ms;
    } cases[] = {{1000, 1, 60000}, {200, 1, 10000}, {100, 2.5, 10000}, {40, 1, 5000}, {20000, 1, 60000}};
    (void)unused;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct pace p;
        int64_t now = 1, end = 1 + cases[i].window_ms, back[32];
        double left = cases[i].limit;
        int n = 0, refused = 0, sent = 0, windows = 0;
        print_message("%g in %d ms, %g each\n", cases[i].limit, cases[i].window_ms, cases[i].cost);
        pace_init(&p, 0);
        for (; windows < 5; now++) {
            if (now >= end) {
                end += cases[i].window_ms;
                left = cases[i].limit;
                windows++;
            }
            for (int k = 0; k < n; k++)
                if (back[k] == now) {
                    char a[32], b[32];
                    snprintf(a, sizeof(a), "%.1f", left);
                    snprintf(b, sizeof(b), "%.1f", (double)((end - now + 99) / 100) / 10);
                    back[k--] = back[--n];
                    pace_update(&p, now, str_of(a), str_of(b));
                }
            while (n < 32 && pace_wait(&p, now, n) == 0) {
                pace_sent(&p, now);
                refused += left < cases[i].cost;
                left -= left < cases[i].cost ? 0 : cases[i].cost;
                back[n++] = now + 50;
                sent++;
            }
        }
        print_message("%d sent, %d refused\n", sent, refused);
        assert_in_range(refused, 0, windows); /* the floor of one in ten seconds may meet an empty window */
        double most = cases[i].limit / cases[i].cost * 5;
        assert_true(sent > (most > 3200 ? 0.03 : 0.6) * most);
    }
}

/* The same with 40 projects in turn, of which one has half of all requests: one sum for all, or one each. */
static void projects_counted_apart_or_together_are_both_paced(void **unused)
{
    static const struct {
        bool each;
        int limit, window_ms, least; /* least: sent in 30 s */
    } cases[] = {{false, 400, 10000, 1000}, {true, 30, 5000, 3000}, {false, 60, 3000, 400}, {true, 1000, 60000, 10000}};
    (void)unused;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        enum { PARTS = 40, AT_ONCE = 32 };
        struct pace_parts p;
        int left[PARTS] = {0}, n = 0, refused = 0, sent = 0;
        int64_t end[PARTS] = {0}, back[AT_ONCE], turn = 0;
        int part[AT_ONCE], told[AT_ONCE];
        print_message("%d in %d ms, %s\n", cases[i].limit, cases[i].window_ms, cases[i].each ? "each" : "for all");
        pace_parts_init(&p, 0);
        for (int64_t now = 1; now < 30000; now++) {
            for (int k = 0; k < n; k++)
                if (back[k] == now) {
                    char a[32], b[32];
                    int q = cases[i].each ? part[k] : 0;
                    snprintf(a, sizeof(a), "%d", told[k]);
                    snprintf(b, sizeof(b), "%d", (int)((end[q] - now + 999) / 1000));
                    pace_parts_back(&p, (uint64_t)part[k]);
                    pace_parts_update(&p, (uint64_t)part[k], now, str_of(a), str_of(b));
                    n--;
                    back[k] = back[n];
                    part[k] = part[n];
                    told[k--] = told[n];
                }
            for (int tries = 0; n < AT_ONCE && tries < 2 * PARTS; tries++, turn++) {
                int who = turn % 2 ? 0 : (int)(turn / 2 % PARTS), q = cases[i].each ? who : 0;
                if (pace_parts_wait(&p, (uint64_t)who, now) > 0)
                    continue;
                if (now >= end[q]) {
                    end[q] = now + cases[i].window_ms;
                    left[q] = cases[i].limit;
                }
                pace_parts_sent(&p, (uint64_t)who, now);
                refused += left[q] <= 0;
                left[q] -= left[q] > 0;
                told[n] = left[q];
                part[n] = who;
                back[n++] = now + 50;
                sent++;
            }
        }
        print_message("%d sent, %d refused, %s\n", sent, refused, p.one ? "one" : "each");
        assert_int_equal(p.one, !cases[i].each);
        assert_in_range(refused, 0, 5);
        assert_true(sent >= cases[i].least);
        pace_parts_fini(&p);
    }
}

TESTS(cmocka_unit_test(headers_decide_how_long_to_wait), cmocka_unit_test(a_rate_of_our_own_and_a_hold_count_too),
      cmocka_unit_test(where_nothing_remains_nobody_asks_until_the_reset),
      cmocka_unit_test(where_one_of_parts_counted_apart_is_empty_nobody_asks_either),
      cmocka_unit_test(what_is_told_of_a_window_counts_until_that_one_is_over),
      cmocka_unit_test(answers_that_were_overtaken_say_nothing_of_what_one_costs),
      cmocka_unit_test(what_a_server_gives_is_used_and_never_overdrawn),
      cmocka_unit_test(projects_counted_apart_or_together_are_both_paced))
