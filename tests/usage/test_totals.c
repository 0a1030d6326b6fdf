/* Counters of persons and teams: T1 to T3 of totals.h, and what Prometheus reads. */
#include "test.h"

#include <errno.h>

#include "base/buf.h"
#include "usage/totals.h"

static void add(struct totals *t, enum total_of of, const char *name, int64_t held_s, int64_t effective_s,
                enum total_part part)
{
    struct usage_sum s = {.held_ms = held_s * 1000,
                          .work_ms = MAX(effective_s, 0) * 1000,
                          .work_of_ms = effective_s >= 0 ? held_s * 1000 : 0};
    totals_add(t, of, name, &s, part);
}

static int64_t told(const struct totals *t, const char *name)
{
    for (size_t i = 0; i < t->n; i++)
        if (strcmp(t->v[i].name, name) == 0)
            return t->v[i].told.held_ms / 1000;
    return -1;
}

/* T1, T2 */
static void a_sum_that_falls_waits_until_it_has_grown(void **unused)
{
    static const struct {
        int64_t before, since, want; /* of this turn */
    } turns[] = {{500, 100, 600}, {0, 40, 600}, {0, 90, 600}, {0, 101, 601}, {101, 0, 601}, {0, 3, 604}};
    struct totals t = {0};

    (void)unused;
    for (size_t i = 0; i < ARRAY_LEN(turns); i++) {
        struct totals next = {0};
        totals_copy(&next, &t);
        totals_begin(&next, true);
        next.since_ms = (int64_t)i + 1;
        add(&next, TOTAL_PERSON, "kim", turns[i].before, -1, TOTAL_BEFORE);
        add(&next, TOTAL_PERSON, "kim", turns[i].since, -1, TOTAL_NEWEST);
        totals_settle(&next);
        print_message("turn %zu\n", i);
        assert_int_equal(told(&next, "kim"), turns[i].want);
        AUTO_BUF b = BUF_INIT(10000); /* over a restart, too */
        totals_write(&next, &b);
        totals_fini(&next);
        totals_fini(&t);
        assert_int_equal(totals_read(buf_str(&b), &t), 0);
        assert_int_equal(told(&t, "kim"), turns[i].want);
        assert_int_equal(t.since_ms, (int64_t)i + 1);
    }
    totals_fini(&t);
}

/* T1: what is summed now and then stays meanwhile, and is not counted twice. */
static void older_hours_stay_until_they_are_summed_again(void **unused)
{
    struct totals t = {0};

    (void)unused;
    totals_begin(&t, true);
    add(&t, TOTAL_PERSON, "kim", 100, -1, TOTAL_OLDER);
    add(&t, TOTAL_PERSON, "kim", 10, -1, TOTAL_NEWEST);
    totals_settle(&t);
    totals_begin(&t, false);
    add(&t, TOTAL_PERSON, "kim", 11, -1, TOTAL_NEWEST);
    totals_settle(&t);
    assert_int_equal(told(&t, "kim"), 111);
    totals_begin(&t, true);
    add(&t, TOTAL_PERSON, "kim", 105, -1, TOTAL_OLDER);
    add(&t, TOTAL_PERSON, "kim", 11, -1, TOTAL_NEWEST);
    totals_settle(&t);
    assert_int_equal(told(&t, "kim"), 116);
    totals_fini(&t);
}

static void what_is_written_is_read(void **unused)
{
    AUTO_BUF a = BUF_INIT(10000), b = BUF_INIT(10000);
    struct totals t = {0}, back = {0};

    (void)unused;
    totals_begin(&t, true);
    t.since_ms = 17;
    add(&t, TOTAL_PERSON, "Kim \"K\" Lee\\", 1, 1, TOTAL_BEFORE);
    add(&t, TOTAL_TEAM, "Kim \"K\" Lee\\", 2, -1, TOTAL_NEWEST);
    add(&t, TOTAL_TEAM, " ", 3, 2, TOTAL_NEWEST);
    add(&t, TOTAL_TEAM, "two\nlines", 3, 2, TOTAL_NEWEST); /* no name */
    totals_settle(&t);
    assert_int_equal(t.n, 3);
    totals_write(&t, &a);
    assert_int_equal(totals_read(buf_str(&a), &back), 0);
    totals_write(&back, &b);
    assert_string_equal(a.p, b.p);
    assert_int_equal(back.v[1].of, TOTAL_TEAM);
    totals_fini(&t);
    totals_fini(&back);
}

static void other_bytes_are_refused(void **unused)
{
    static const char *const good = "1 5 2\n0 1 2 3 4 kim\n";
    static const char *const bad[] = {"",
                                      "2 5 2\n",
                                      "1 x 2\n",
                                      "1 5 2\n3 1 2 3 4 kim\n",
                                      "1 5 2\n0 1 2 3 kim\n",
                                      "1 5 2\n0 1 2 3 4\n",
                                      "1 5 2\n0 1 -2 3 4 kim\n",
                                      "1 5 99\n",
                                      "1 5 2\n0 1 2 3 4 \n"};
    struct totals t = {0};

    (void)unused;
    assert_int_equal(totals_read(str_of(good), &t), 0); /* of a hub that knew two numbers */
    assert_int_equal(t.v[0].part[TOTAL_BEFORE].held_ms, 1);
    assert_int_equal(t.v[0].told.busy_ms, 4);
    assert_int_equal(t.v[0].told.work_ms, 0);
    totals_fini(&t);
    for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
        print_message("'%s'\n", bad[i]);
        assert_int_equal(totals_read(str_of(bad[i]), &t), -EBADMSG);
        assert_int_equal(t.n, 0);
    }
}

static void prometheus_has_what_is_known(void **unused)
{
    struct totals t = {0};
    AUTO_BUF plain = BUF_INIT(100000), om = BUF_INIT(100000);

    (void)unused;
    totals_begin(&t, true);
    add(&t, TOTAL_PERSON, "kim", 7200, 1800, TOTAL_NEWEST);
    add(&t, TOTAL_PERSON, "l\"ee", 10, -1, TOTAL_NEWEST);
    add(&t, TOTAL_TEAM, "vision", 7210, 1800, TOTAL_NEWEST);
    totals_settle(&t);
    totals_prom(&t, &plain, false);
    totals_prom(&t, &om, true);
    assert_non_null(strstr(plain.p, "# TYPE muster_person_held_seconds_total counter\n"));
    assert_non_null(strstr(om.p, "# TYPE muster_person_held_seconds counter\n"));
    assert_non_null(strstr(plain.p, "\nmuster_person_held_seconds_total{person=\"kim\"} 7200.000\n"));
    assert_non_null(strstr(plain.p, "\nmuster_person_held_seconds_total{person=\"l\\\"ee\"} 10.000\n"));
    assert_non_null(strstr(plain.p, "\nmuster_person_effective_seconds_total{person=\"kim\"} 1800.000\n"));
    assert_null(strstr(plain.p, "\nmuster_person_effective_seconds_total{person=\"l")); /* not known is not 0 */
    assert_non_null(strstr(plain.p, "\nmuster_person_effective_measured_seconds_total{person=\"l\\\"ee\"} 0.000\n"));
    assert_non_null(strstr(plain.p, "\nmuster_team_effective_seconds_total{team=\"vision\"} 1800.000\n"));
    assert_null(strstr(plain.p, "muster_person_tensor_seconds"));
    assert_null(strstr(plain.p, "memory"));
    totals_fini(&t);
}

TESTS(cmocka_unit_test(a_sum_that_falls_waits_until_it_has_grown),
      cmocka_unit_test(older_hours_stay_until_they_are_summed_again), cmocka_unit_test(what_is_written_is_read),
      cmocka_unit_test(other_bytes_are_refused), cmocka_unit_test(prometheus_has_what_is_known))
