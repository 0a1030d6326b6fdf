/* test_advise.c: runs and what the rules found of them become at most five lines, the largest first. */
#include "test.h"

#include <math.h>

#include "jobs/advise.h"

static double price(void *arg, const char *uuid)
{
    (void)arg;
    return strcmp(uuid, "dear") == 0 ? 2.5 : 0;
}

static void add(struct advise_all *a, int64_t run, const char *person, enum advice_rule rule, double hours,
                const char *uuid)
{
    struct advise_found f = {.run = run, .rule = rule, .hours = hours};
    mem_copy_str(f.person, sizeof(f.person), person);
    mem_copy_str(f.uuid, sizeof(f.uuid), uuid);
    VEC_ADD(a->v, a->n, a->cap, f);
}

static void lines_are_by_person_and_rule_the_largest_first(void **unused)
{
    struct advise_all a = {0};
    struct advise_line l[ADVISE_LINES];
    (void)unused;
    assert_int_equal(advise_lines(&a, price, NULL, l), 0);
    add(&a, 1, "kim", ADVICE_starved, 4, "dear");
    add(&a, 2, "lee", ADVICE_fp32, 8, "cheap");
    add(&a, 3, "kim", ADVICE_starved, 6, "dear");
    add(&a, 4, "kim", ADVICE_fp32, 1, "dear");
    assert_int_equal(advise_lines(&a, price, NULL, l), 3);
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
    assert_int_equal(advise_lines(&a, price, NULL, l), ADVISE_LINES);
    assert_true(l[0].hours >= l[1].hours && l[3].hours >= l[4].hours);
    advise_fini(&a);
}

static void a_run_gives_back_no_more_than_it_held(void **unused)
{
    struct run_verdict v = {.n = 4, .all.held_ms = 4 * 3600000};
    struct run_advice starved = {.a = {.rule = ADVICE_starved, .ms = 1800000, .lost = 0.4}, .n_gpus = 2};
    struct run_advice apart = {.a = {.rule = ADVICE_straggler, .ms = 1800000, .lost = 0.2}, .n_gpus = 1};
    struct run_advice spins = {.a = {.rule = ADVICE_spinning, .ms = 36000000, .lost = 1}, .n_gpus = 4};
    (void)unused;
    assert_near(advise_hours(&v, &starved), 0.4, 1e-9);
    assert_near(advise_hours(&v, &apart), 0.4, 1e-9); /* all four wait for it */
    assert_near(advise_hours(&v, &spins), 4, 1e-9);
}

TESTS(cmocka_unit_test(lines_are_by_person_and_rule_the_largest_first),
      cmocka_unit_test(a_run_gives_back_no_more_than_it_held))
