/* Tables as W&B has them: keys, headings, numbers, which company has a run, and what is there when nothing ran. */
#include "wandb_push/tables.h"

#include <errno.h>
#include <jansson.h>
#include <string.h>

#include "base/mem.h"
#include "base/zone.h"
#include "test.h"

static const char *const acme_teams[] = {"acme"}, *const beta_teams[] = {"beta"}, *const old_teams[] = {"old"};
static struct company_step acme_steps[1], beta_steps[1], old_steps[2];
static struct company companies[3];
static struct run_day days[3];

static int32_t may(int day)
{
    return date_of(2026, 5, day);
}

static int set_up(void **unused)
{
    (void)unused;
    acme_steps[0] = (struct company_step){may(1), 1};
    beta_steps[0] = (struct company_step){may(8), 2};
    old_steps[0] = (struct company_step){may(1), 1};
    old_steps[1] = (struct company_step){may(3), 0};
    companies[0] = (struct company){.name = "Beta",
                                    .n_teams = 1,
                                    .teams = beta_teams,
                                    .n_steps = 1,
                                    .steps = beta_steps,
                                    .gpus_per_node = 8};
    companies[1] = (struct company){.name = "Acme",
                                    .n_teams = 1,
                                    .teams = acme_teams,
                                    .n_steps = 1,
                                    .steps = acme_steps,
                                    .gpus_per_node = 8};
    companies[2] = (struct company){.name = "Old",
                                    .n_teams = 1,
                                    .teams = old_teams,
                                    .n_steps = 2,
                                    .steps = old_steps,
                                    .gpus_per_node = 8};
    days[0] = (struct run_day){.day = may(9),
                               .minutes = 1440,
                               .gpus = 8,
                               .have = RUN_UTIL | RUN_MEM,
                               .util_avg = 53272727273,
                               .util_max = 100 * PERCENT_ONE,
                               .mem_avg = 24 * PERCENT_ONE,
                               .mem_max = 30500000000,
                               .team = "acme",
                               .project = "llm",
                               .run_id = "run00001",
                               .host = "n1"};
    days[1] =
        (struct run_day){.day = may(8), .minutes = 20, .gpus = 1, .team = "acme", .project = "a\"b", .run_id = "r2"};
    days[2] = (struct run_day){.day = may(2), .minutes = 60, .gpus = 1, .team = "old", .project = "p", .run_id = "r3"};
    return 0;
}

static struct tables_params yesterday(void)
{
    return (struct tables_params){.companies = companies,
                                  .n_companies = ARRAY_LEN(companies),
                                  .runs = days,
                                  .n_runs = ARRAY_LEN(days),
                                  .from = may(9),
                                  .to = may(9)};
}

static const struct table *table(const struct tables *t, const char *tag, const char *key)
{
    for (size_t i = 0; i < t->n; i++)
        for (size_t k = 0; strcmp(t->sets[i].tag, tag) == 0 && k < t->sets[i].n; k++)
            if (strcmp(t->sets[i].v[k].key, key) == 0)
                return &t->sets[i].v[k];
    fail_msg("%s has no table %s", tag, key);
    return NULL;
}

static void a_table_is_as_wandb_writes_it(void **unused)
{
    struct tables t;
    struct err err = {0};
    struct tables_params ask = yesterday();
    (void)unused;
    assert_int_equal(tables_make(&ask, &t, &err), 0);
    const struct table *weekly = table(&t, "Acme", "company_weekly_gpu_usage_within_4weeks");
    assert_string_equal(weekly->media.p,
                        "{\"columns\":[\"企業名\",\"週開始日\",\"合計GPU使用時間(h)\",\"GPU稼働率(%)\","
                        "\"平均GPUパフォーマンス率(%)\",\"最大GPUパフォーマンス率(%)\",\"平均GPUメモリ利用率(%)\","
                        "\"最大GPUメモリ利用率(%)\",\"n_runs\",\"assigned_gpu_node\",\"assigned_gpu_hour\",\"_total_"
                        "gpu_hour\","
                        "\"total_metrics_hour\"],\"data\":["
                        "[\"Acme\",\"2026-05-03\",192.3,14.3,53.3,100.0,24.0,30.5,2,7,1344.0,192.3,24.0],"
                        "[\"Acme\",\"2026-04-26\",0.0,0.0,0.0,0.0,0.0,0.0,0,2,384.0,0.0,0.0]]}");
    const struct table *summary = table(&t, "Acme", "company_summary");
    assert_string_equal(
        summary->file.p,
        "{\"_type\":\"table\",\"columns\":[\"company_name\",\"project\",\"Total hours\",\"Total runs\","
        "\"master_node_runs\",\"overlap_runs\",\"ignore_runs\"],\"data\":[[\"Acme\",\"a\\\"b\",0.33,1,0,0,0],"
        "[\"Acme\",\"llm\",192.0,1,0,0,0]],\"ncols\":7,\"nrows\":2,\"column_types\":{\"wb_type\":\"typedDict\","
        "\"params\":{\"type_map\":{"
        "\"company_name\":{\"wb_type\":\"union\",\"params\":{\"allowed_types\":[{\"wb_type\":\"none\"},"
        "{\"wb_type\":\"string\"}]}},"
        "\"project\":{\"wb_type\":\"union\",\"params\":{\"allowed_types\":[{\"wb_type\":\"none\"},"
        "{\"wb_type\":\"string\"}]}},"
        "\"Total hours\":{\"wb_type\":\"union\",\"params\":{\"allowed_types\":[{\"wb_type\":\"none\"},"
        "{\"wb_type\":\"number\"}]}},"
        "\"Total runs\":{\"wb_type\":\"union\",\"params\":{\"allowed_types\":[{\"wb_type\":\"none\"},"
        "{\"wb_type\":\"number\"}]}},"
        "\"master_node_runs\":{\"wb_type\":\"union\",\"params\":{\"allowed_types\":[{\"wb_type\":\"none\"},"
        "{\"wb_type\":\"number\"}]}},"
        "\"overlap_runs\":{\"wb_type\":\"union\",\"params\":{\"allowed_types\":[{\"wb_type\":\"none\"},"
        "{\"wb_type\":\"number\"}]}},"
        "\"ignore_runs\":{\"wb_type\":\"union\",\"params\":{\"allowed_types\":[{\"wb_type\":\"none\"},"
        "{\"wb_type\":\"number\"}]}}}}},\"log_mode\":\"IMMUTABLE\"}");
    tables_fini(&t);
}

static void runs_have_the_keys_of_the_old_tool(void **unused)
{
    static const char *const want[] = {
        "overall overall_gpu_usage 3 12",
        "overall monthly_gpu_usage 0 1",
        "overall weekly_gpu_usage 4 13",
        "overall daily_gpu_usage 13 13",
        "Acme company_daily_gpu_usage 9 13",
        "Acme company_daily_gpu_usage_within_30days 9 13",
        "Acme company_weekly_gpu_usage 2 13",
        "Acme company_weekly_gpu_usage_within_4weeks 2 13",
        "Acme company_summary 2 7",
        "Beta company_daily_gpu_usage 2 13",
        "Beta company_daily_gpu_usage_within_30days 2 13",
        "Beta company_weekly_gpu_usage 1 13",
        "Beta company_weekly_gpu_usage_within_4weeks 1 13",
        "Beta company_summary 0 7",
    };
    struct tables t;
    struct err err = {0};
    struct tables_params ask = yesterday();
    size_t at = 0;
    (void)unused;
    assert_int_equal(tables_make(&ask, &t, &err), 0);
    for (size_t i = 0; i < t.n; i++)
        for (size_t k = 0; k < t.sets[i].n; k++) {
            const struct table *one = &t.sets[i].v[k];
            char text[128];
            snprintf(text, sizeof(text), "%s %s %zu %zu", t.sets[i].tag, one->key, one->n_rows, one->n_cols);
            assert_true(at < ARRAY_LEN(want));
            assert_string_equal(text, want[at++]);
            json_t *j = json_loadb(one->file.p, one->file.len, 0, NULL);
            assert_int_equal(json_array_size(json_object_get(j, "data")), one->n_rows);
            assert_int_equal(json_array_size(json_object_get(j, "columns")), one->n_cols);
            json_decref(j);
        }
    assert_int_equal(at, ARRAY_LEN(want)); /* Old has nodes no more: it keeps the tables it has */
    assert_false(t.sets[0].warning);
    assert_false(t.sets[1].warning);
    assert_true(t.sets[2].warning); /* nothing of Beta ran */
    tables_fini(&t);
}

static void a_table_of_nothing_has_one_column_and_a_summary_all(void **unused)
{
    struct tables t;
    struct err err = {0};
    struct tables_params ask = yesterday();
    (void)unused;
    ask.n_runs = 0;
    assert_int_equal(tables_make(&ask, &t, &err), 0);
    assert_string_equal(table(&t, "Beta", "company_summary")->media.p,
                        "{\"columns\":[\"company_name\",\"project\",\"Total hours\",\"Total runs\","
                        "\"master_node_runs\",\"overlap_runs\",\"ignore_runs\"],\"data\":[]}");
    assert_true(t.sets[0].warning);
    tables_fini(&t);
    ask.n_companies = 0;
    assert_int_equal(tables_make(&ask, &t, &err), 0);
    assert_int_equal(t.n, 1);
    assert_string_equal(table(&t, "overall", "overall_gpu_usage")->media.p, "{\"columns\":[\"column\"],\"data\":[]}");
    tables_fini(&t);
}

static void thirty_days_and_four_weeks_are_the_newest(void **unused)
{
    struct tables t;
    struct err err = {0};
    struct tables_params ask = yesterday();
    (void)unused;
    ask.from = ask.to = date_of(2026, 7, 31);
    assert_int_equal(tables_make(&ask, &t, &err), 0);
    const struct table *daily = table(&t, "Acme", "company_daily_gpu_usage_within_30days");
    assert_int_equal(daily->n_rows, 30);
    assert_non_null(strstr(daily->media.p, "[[\"Acme\",\"2026-07-31\","));
    assert_null(strstr(daily->media.p, "2026-07-01"));
    assert_int_equal(table(&t, "Acme", "company_weekly_gpu_usage_within_4weeks")->n_rows, 4);
    assert_non_null(strstr(table(&t, "overall", "monthly_gpu_usage")->media.p, "[\"Acme\",\"2026-07\","));
    tables_fini(&t);
}

static void cpu_hours_of_a_week_are_at_most_what_was_lent(void **unused)
{
    static const struct cpu_lent lent[] = {{"Acme", 16}, {"Old", 1}};
    struct tables t;
    struct err err = {0};
    struct tables_params ask = yesterday();
    (void)unused;
    ask.cpus = lent;
    ask.n_cpus = ARRAY_LEN(lent);
    days[0].cpus = 96; /* for 24 hours: 2304 of 16 * 168 = 2688 */
    days[1].cpus = 7;  /* for 20 minutes */
    assert_int_equal(tables_make(&ask, &t, &err), 0);
    const struct table *cpu = table(&t, "Acme", "company_weekly_cpu_usage");
    assert_string_equal(cpu->media.p,
                        "{\"columns\":[\"企業名\",\"週開始日\",\"合計CPU使用時間(h)\",\"CPU稼働率(%)\",\"n_runs\","
                        "\"_total_cpu_hour\",\"assigned_cpus\",\"assigned_cpu_hour\"],\"data\":["
                        "[\"Acme\",\"2026-05-03\",2306.3,85.8,2,2306.3,16,2688.0],"
                        "[\"Acme\",\"2026-04-26\",0.0,0.0,0,0.0,16,2688.0]]}");
    assert_int_equal(table(&t, "Acme", "company_weekly_cpu_usage_within_4weeks")->n_rows, 2);
    assert_int_equal(t.sets[2].n, 5); /* Beta is lent none */
    tables_fini(&t);
    days[0].cpus = 960;
    assert_int_equal(tables_make(&ask, &t, &err), 0);
    assert_non_null(strstr(table(&t, "Acme", "company_weekly_cpu_usage")->media.p,
                           "[\"Acme\",\"2026-05-03\",2688.0,100.0,2,23042.3,16,2688.0]"));
    tables_fini(&t);
}

static void what_is_not_known_is_said_in_every_table(void **unused)
{
    static const struct cpu_lent lent[] = {{"Acme", 16}};
    struct known_span known = {"", "", may(9), may(9)}, stale = {"acme", "", may(8), may(8)};
    struct known all = {.told = true, .days = {1, 1, &known}, .stale = {1, 1, &stale}};
    struct tables t;
    struct err err = {0};
    struct tables_params ask = yesterday();
    (void)unused;
    ask.known = &all;
    ask.cpus = lent;
    ask.n_cpus = ARRAY_LEN(lent);
    days[0].cpus = 16;
    assert_int_equal(tables_make(&ask, &t, &err), 0);
    const struct table *cpu = table(&t, "Acme", "company_weekly_cpu_usage");
    assert_non_null(strstr(cpu->media.p, "\"assigned_cpu_hour\",\"備考\"]"));
    assert_non_null(strstr(cpu->media.p, "[\"Acme\",\"2026-05-03\",384.0,14.3,2,384.0,16,2688.0,"
                                         "\"stale since 2026-05-08, 5 of 7 days not pulled\"],"
                                         "[\"Acme\",\"2026-04-26\",null,null,null,null,16,2688.0,\"not pulled\"]"));
    tables_fini(&t);
    /* six days never pulled and one that could not be read: nothing is known of the week */
    known.from = known.to = may(20);
    stale.from = stale.to = may(9);
    ask.n_runs = 0;
    assert_int_equal(tables_make(&ask, &t, &err), 0);
    assert_non_null(strstr(table(&t, "Acme", "company_weekly_gpu_usage")->media.p,
                           "[\"Acme\",\"2026-05-03\",null,null,null,null,null,null,null,7,1344.0,null,null,"
                           "\"stale since 2026-05-09, 6 of 7 days not pulled\"]"));
    assert_non_null(strstr(table(&t, "Acme", "company_summary")->media.p,
                           "\"ignore_runs\",\"備考\"],\"data\":[[\"Acme\",null,null,null,null,null,null,"
                           "\"stale since 2026-05-09, 6 of 7 days not pulled\"]]"));
    tables_fini(&t);
    /* old weeks that nobody pulled leave the newest four without that column */
    known = (struct known_span){"", "", may(3), date_of(2026, 5, 30)};
    all.stale.n = 0;
    ask.from = ask.to = date_of(2026, 5, 30);
    assert_int_equal(tables_make(&ask, &t, &err), 0);
    assert_int_equal(table(&t, "Acme", "company_weekly_cpu_usage")->n_cols, 9);
    assert_int_equal(table(&t, "Acme", "company_weekly_cpu_usage_within_4weeks")->n_cols, 8);
    tables_fini(&t);
}

static void a_company_is_active_on_days_with_nodes(void **unused)
{
    (void)unused;
    assert_true(tables_active(&companies[2], may(1), may(1)));
    assert_true(tables_active(&companies[2], may(2), may(9)));
    assert_false(tables_active(&companies[2], may(3), may(9)));
    assert_true(tables_active(&companies[0], may(1), may(8)));
    assert_false(tables_active(&companies[0], may(1), may(7)));
    assert_false(tables_active(&companies[0], may(9), may(8)));
    assert_int_equal(tables_last_day(&companies[2], may(1)), may(1));
    assert_int_equal(tables_last_day(&companies[2], may(9)), may(2));
    assert_int_equal(tables_last_day(&companies[2], date_of(2026, 4, 30)), INT32_MIN);
    assert_int_equal(tables_last_day(&companies[1], may(9)), may(9));
}

TESTS(cmocka_unit_test_setup(a_table_is_as_wandb_writes_it, set_up),
      cmocka_unit_test_setup(runs_have_the_keys_of_the_old_tool, set_up),
      cmocka_unit_test_setup(a_table_of_nothing_has_one_column_and_a_summary_all, set_up),
      cmocka_unit_test_setup(thirty_days_and_four_weeks_are_the_newest, set_up),
      cmocka_unit_test_setup(cpu_hours_of_a_week_are_at_most_what_was_lent, set_up),
      cmocka_unit_test_setup(what_is_not_known_is_said_in_every_table, set_up),
      cmocka_unit_test_setup(a_company_is_active_on_days_with_nodes, set_up))
