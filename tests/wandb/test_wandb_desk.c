/* When W&B is asked: times of day in a zone. */
#include <errno.h>

#include "base/zone.h"
#include "test.h"
#include "wandb/feature.h"

static int64_t utc(int month, int day, int hour, int minute)
{
    return ((int64_t)date_of(2026, month, day) * 1440 + hour * 60 + minute) * 60000;
}

static void times_of_day_are_read(void **unused)
{
    static const struct {
        const char *text;
        int32_t want; /* -1: refused */
    } cases[] = {{"00:15", 15},  {"9:05", 545},  {" 23:59 ", 1439}, {"24:00", -1},  {"12:60", -1},
                 {"12", -1},     {"12:5", -1},   {"", -1},          {"1:15pm", -1}, {"-1:30", -1},
                 {"0x1:30", -1}, {"001:15", -1}, {"12:+5", -1}};
    (void)unused;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        char *one = (char *)cases[i].text;
        struct opt_list l = {.n = 1, .v = &one};
        struct err err = {0};
        int32_t got = -1;
        print_message("'%s'\n", cases[i].text);
        int r = wandb_times(&l, "wandb.schedule", &got, 1, &err);
        assert_int_equal(r, cases[i].want < 0 ? -EINVAL : 1);
        assert_int_equal(got, cases[i].want);
        if (r < 0)
            assert_non_null(strstr(err.msg, "wandb.schedule"));
    }
}

static void the_last_and_the_next_time_are_of_the_zone(void **unused)
{
    static const int32_t tokyo[] = {15}, twice[] = {15, 720}, berlin[] = {150}; /* 02:30 */
    static const struct {
        const char *zone;
        const int32_t *minutes;
        size_t n;
        int now[4], last[4], next[4];
    } cases[] = {
        /* 00:15 in Tokyo is 15:15 of the day before */
        {"Asia/Tokyo", tokyo, 1, {11, 15, 15, 14}, {11, 14, 15, 15}, {11, 15, 15, 15}},
        {"Asia/Tokyo", tokyo, 1, {11, 15, 15, 15}, {11, 15, 15, 15}, {11, 16, 15, 15}},
        {"Asia/Tokyo", tokyo, 1, {11, 15, 23, 59}, {11, 15, 15, 15}, {11, 16, 15, 15}},
        {"Asia/Tokyo", twice, 2, {11, 15, 4, 0}, {11, 15, 3, 0}, {11, 15, 15, 15}},
        /* clocks go forward on 29 March 2026: 02:30 does not come, 03:00 (01:00 UTC) is the first moment after it */
        {"Europe/Berlin", berlin, 1, {3, 29, 0, 59}, {3, 28, 1, 30}, {3, 29, 1, 0}},
        {"Europe/Berlin", berlin, 1, {3, 29, 12, 0}, {3, 29, 1, 0}, {3, 30, 0, 30}},
        /* and back on 25 October: the first 02:30 is meant */
        {"Europe/Berlin", berlin, 1, {10, 25, 0, 45}, {10, 25, 0, 30}, {10, 26, 1, 30}},
        {"Europe/Berlin", berlin, 1, {10, 25, 1, 45}, {10, 25, 0, 30}, {10, 26, 1, 30}},
    };
    (void)unused;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct zone *z = NULL;
        struct err err = {0};
        int64_t last, next;
        print_message("%zu\n", i);
        assert_int_equal(zone_load(cases[i].zone, &z, &err), 0);
        wandb_slots(cases[i].minutes, cases[i].n, z,
                    utc(cases[i].now[0], cases[i].now[1], cases[i].now[2], cases[i].now[3]), &last, &next);
        assert_int_equal(last, utc(cases[i].last[0], cases[i].last[1], cases[i].last[2], cases[i].last[3]));
        assert_int_equal(next, utc(cases[i].next[0], cases[i].next[1], cases[i].next[2], cases[i].next[3]));
        wandb_slots(NULL, 0, z, 0, &last, &next);
        assert_true(last == INT64_MIN && next == INT64_MAX);
        zone_free(z);
    }
}

static void what_does_not_fit_together_is_refused(void **unused)
{
    static const struct {
        const char *settings;
        int want;
    } cases[] = {{"", 0},
                 {"wandb: {config: c, schedule: ['00:15']}", 0},
                 {"wandb: {schedule: ['00:15']}", -EINVAL},
                 {"wandb: {check: ['00:15']}", -EINVAL},
                 {"wandb: {config: c, push: true}", -EINVAL}};
    (void)unused;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct hub_conf conf = {0};
        struct err err = {0};
        void *next = NULL;
        print_message("%s\n", cases[i].settings);
        opt_defaults(hub_opts, &conf);
        assert_int_equal(opt_yaml(hub_opts, &conf, str_of(cases[i].settings), "settings", &err), 0);
        assert_int_equal(wandb_feature.prepare(NULL, &conf, &next, &err), cases[i].want);
        opt_fini(hub_opts, &conf);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(times_of_day_are_read),
                                       cmocka_unit_test(the_last_and_the_next_time_are_of_the_zone),
                                       cmocka_unit_test(what_does_not_fit_together_is_refused)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
