/* What W&B said of runs, as run-days. */
#include "wandb/days.h"

#include <errno.h>

#include "test.h"

#include "store_dir.h"

#define DAY 20000

static void tags_are_found_in_any_case_of_letters(void **unused)
{
    static const char *const wanted[] = {"other_gpu", "others_gpu"};
    static const struct {
        const char *tags;
        bool want;
    } cases[] = {{"[]", false},
                 {"[\"a\",\"other_gpu\"]", true},
                 {"[\"Others_GPU\"]", true},
                 {"[\"other_gpu2\"]", false},
                 {"[1,null,{\"x\":\"other_gpu\"}]", false},
                 {"", false},
                 {NULL, false},
                 {"other_gpu", false},
                 {"{\"other_gpu\":1}", false},
                 {"[\"other_gpu\"", false}};
    (void)unused;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        print_message("%s\n", cases[i].tags ? cases[i].tags : "NULL");
        assert_int_equal(wandb_tagged(cases[i].tags, wanted, ARRAY_LEN(wanted)), cases[i].want);
        assert_false(wandb_tagged(cases[i].tags, NULL, 0));
    }
}

static void put(struct wandb_store *s, const char *team, const char *id, int32_t day, const char *tags,
                enum wandb_exists exists)
{
    struct wandb_run run = {.team = team, .project = "p", .id = id, .exists = exists, .gpus = 8};
    struct wandb_day d = {.day = day,
                          .minutes = 90,
                          .have = WANDB_UTIL,
                          .util_avg = 50 * PERCENT_ONE,
                          .util_max = 99 * PERCENT_ONE,
                          .gpus = 8,
                          .cpus = -1,
                          .created_ms = DAY * DAY_MS,
                          .heartbeat_ms = (DAY + 2) * DAY_MS,
                          .logged_ms = 1,
                          .host = "gpu01",
                          .tags = tags};
    struct err err = {0};
    enum wandb_put how;
    assert_int_equal(wandb_row_put(s, &run, &d, &how, &err), 0);
}

/* As a pull puts it. */
static void pull(struct wandb_store *s, const char *team, const char *id)
{
    struct wandb_run run = {.team = team,
                            .project = "p",
                            .id = id,
                            .user = "kim",
                            .host = "gpu01",
                            .tags = "[]",
                            .created_ms = DAY * DAY_MS,
                            .heartbeat_ms = (DAY + 2) * DAY_MS,
                            .gpus = 8,
                            .cpus = -1,
                            .exists = WANDB_EXISTS};
    struct wandb_page page = {.team = team, .project = "p", .cursor = "", .last = true, .n_runs = 1, .runs = &run};
    struct wandb_day d = {.day = DAY,
                          .minutes = 90,
                          .have = WANDB_UTIL,
                          .util_avg = 50 * PERCENT_ONE,
                          .util_max = 99 * PERCENT_ONE};
    struct wandb_pull p = {.from = DAY, .to = DAY + 1, .zone = "Asia/Tokyo"};
    struct err err = {0};
    assert_int_equal(wandb_pull_begin(s, &p, 5000, &err), 0);
    assert_int_equal(wandb_page_put(s, &p, &page, &err), 0);
    assert_int_equal(wandb_days_put(s, &p, &run, &d, 1, true, true, &err), 0);
    assert_int_equal(wandb_pull_end(s, &p, true, &err), 0);
}

static bool always(void *arg)
{
    (void)arg;
    return true;
}

static void rows_become_run_days(void **unused)
{
    static const char *const ignore[] = {"other_gpu"};
    struct runs_available_query ask = {.from = DAY, .to = DAY + 1, .n_ignore_tags = 1, .ignore_tags = ignore};
    struct runs_available told;
    struct wandb_store *s = NULL;
    struct runs runs = {0};
    struct err err = {0};
    char *dir = dir_new_quick();
    (void)unused;
    assert_int_equal(wandb_source(dir, &told, &err), 0); /* nothing was ever pulled */
    assert_false(told.any);
    assert_int_equal(wandb_days_in(dir, &ask, &runs, &err), 0);
    assert_int_equal(runs.n, 0);
    assert_int_equal(wandb_days_in(NULL, &ask, &runs, &err), 0);
    assert_int_equal(wandb_store_open(&s, dir, true, &err), 0);
    assert_int_equal(wandb_zone_set(s, "Asia/Tokyo", &err), 0);
    put(s, "acme", "b", DAY + 1, "[]", WANDB_EXISTS);
    put(s, "acme", "b", DAY, "[\"Other_GPU\"]", WANDB_EXISTS);
    put(s, "acme", "a", DAY, "[]", WANDB_NOT_TOLD);
    put(s, "acme", "c", DAY, "[]", WANDB_DELETED);
    put(s, "acme", "d", DAY + 2, "[]", WANDB_EXISTS);
    pull(s, "zeta", "z");
    wandb_store_close(s);
    assert_int_equal(wandb_source(dir, &told, &err), 0);
    assert_true(told.any);
    assert_string_equal(told.zone, "Asia/Tokyo");
    assert_int_equal(told.pulled_ms, 5000);
    assert_int_equal(wandb_days_in(dir, &ask, &runs, &err), 0);
    assert_int_equal(runs.n, 4);                    /* not c, which is deleted, nor d, which ran later */
    assert_int_equal(runs_known(&runs)->days.n, 0); /* no team's list is whole: that is told, too */
    assert_string_equal(runs.v[0].run_id, "a");
    assert_string_equal(runs.v[1].run_id, "b");
    assert_int_equal(runs.v[1].day, DAY);
    assert_true(runs.v[1].ignored);
    assert_int_equal(runs.v[2].day, DAY + 1);
    assert_false(runs.v[2].ignored);
    assert_ptr_equal(runs.v[1].run_id, runs.v[2].run_id); /* its text is kept once */
    assert_string_equal(runs.v[3].team, "zeta");
    assert_int_equal(runs.v[3].minutes, 90);
    assert_int_equal(runs.v[3].gpus, 8);
    assert_int_equal(runs.v[3].have, RUN_UTIL);
    assert_int_equal(runs.v[3].util_avg, 50 * PERCENT_ONE);
    assert_int_equal(runs.v[3].util_max, 99 * PERCENT_ONE);
    assert_string_equal(runs.v[3].host, "gpu01");
    assert_string_equal(runs.v[3].user, "kim");
    assert_string_equal(runs.v[3].project, "p");
    assert_int_equal(runs.v[3].from_ms, DAY * DAY_MS);
    assert_int_equal(runs.v[3].until_ms, (DAY + 2) * DAY_MS);
    runs_fini(&runs);
    ask.stop = always;
    assert_int_equal(wandb_days_in(dir, &ask, &runs, &err), -ECANCELED);
    runs_fini(&runs);
    dir_free(dir);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(tags_are_found_in_any_case_of_letters),
                                       cmocka_unit_test(rows_become_run_days)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
