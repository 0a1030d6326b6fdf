/* The health check: each fault of the old tool's list, planted alone, is found, and nothing else. */
#include "wandb_push/check.h"

#include <string.h>

#include "base/mem.h"
#include "test.h"

static const char config_text[] = "enable_alert: true\n"
                                  "dashboard: {entity: geniac-gpu, project: board, tag_for_latest: latest}\n"
                                  "companies:\n"
                                  "  - company: Acme\n"
                                  "    teams: [acme]\n"
                                  "    schedule: [{date: '2026-05-01', assigned_gpu_node: 1}]\n"
                                  "  - company: Beta\n"
                                  "    teams: [beta]\n"
                                  "    schedule: [{date: '2026-05-08', assigned_gpu_node: 2}]\n"
                                  "  - company: Old\n"
                                  "    teams: [old]\n"
                                  "    schedule:\n"
                                  "      - {date: '2026-05-01', assigned_gpu_node: 1}\n"
                                  "      - {date: '2026-05-03', assigned_gpu_node: 0}\n"
                                  "  - company: Soon\n"
                                  "    teams: [soon]\n"
                                  "    schedule: [{date: '2026-06-01', assigned_gpu_node: 4}]\n";

static struct wandb_config *config;

static int read_config(void **unused)
{
    struct err err = {0};
    (void)unused;
    if (wandb_config_read(STR(config_text), "config.yaml", &config, &err) < 0)
        fail_msg("%s", err.msg);
    return 0;
}

static int free_config(void **unused)
{
    (void)unused;
    wandb_config_free(config);
    return 0;
}

/* "id name tag tag ...", a run each. */
static size_t runs_of(const char *const *lines, struct tagged_run *v, char *(*tags)[4], char (*text)[128])
{
    size_t n = 0;
    for (; lines[n]; n++) {
        char *at = text[n], *word;
        snprintf(text[n], 128, "%s", lines[n]);
        v[n] = (struct tagged_run){.tags = tags[n]};
        for (int k = 0; (word = strsep(&at, " ")); k++)
            *(k == 0 ? &v[n].id : k == 1 ? &v[n].display : &tags[n][v[n].n_tags++]) = word;
    }
    return n;
}

#define GOOD "r0 Tables_2026-05-09 overall latest", "r1 Tables_2026-05-09 Acme latest"
#define BETA "r2 Tables_2026-05-09 Beta latest"
#define OLD  "r3 Tables_2026-05-02 Old latest"

static void each_fault_is_found_and_nothing_else(void **unused)
{
    static const struct {
        int day;
        const char *runs[8];
        const char *want[4];
    } cases[] = {
        {9, {GOOD, BETA, OLD}, {0}},
        {9, {GOOD, BETA}, {0}}, /* a company that is done need not be there */
        {9, {GOOD, OLD}, {"Missing latest runs: Beta"}},
        {9, {BETA}, {"Missing latest runs: overall, Acme"}},
        {9, {NULL}, {"Missing latest runs: overall, Acme, Beta"}},
        {9,
         {GOOD, "r2 Tables_2026-05-08 Beta latest"},
         {"Error of target date: Beta: run r2 is called 'Tables_2026-05-08', expected 2026-05-09"}},
        {9,
         {GOOD, "r2 Tables Beta latest"},
         {"Error of target date: Beta: run r2 is called 'Tables', expected 2026-05-09"}},
        {9,
         {GOOD, BETA, "r3 Tables_2026-05-09 Old latest"},
         {"Error of target date: Old: run r3 is called 'Tables_2026-05-09', expected 2026-05-02, the last day it had "
          "nodes"}},
        {9, {GOOD, BETA, "r4 Tables_2026-05-09 Beta latest"}, {"Error of number of latest runs: Beta has 2: r2, r4"}},
        {9, {GOOD, BETA, "r4 Tables_2026-05-09 Nobody latest"}, {"Unexpected latest runs: Nobody"}},
        {9, {GOOD, BETA, "r4 Tables_2026-05-09 Soon latest"}, {"Unexpected latest runs: Soon"}},
        {9,
         {GOOD, BETA, "r4 Tables_2026-05-09 latest"},
         {"Error of number of tags: run r4 (Tables_2026-05-09) has the tags latest"}},
        {9,
         {GOOD, "r2 Tables_2026-05-09 Beta more latest"},
         {"Error of number of tags: run r2 (Tables_2026-05-09) has the tags Beta, more, latest"}},
        {30, {NULL}, {"Missing latest runs: overall, Acme, Beta"}},
        {-30, {NULL}, {"No active companies: nobody has nodes on 2026-03-31"}},
    };
    (void)unused;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct tagged_run v[8];
        char *tags[8][4], text[8][128];
        struct tagged t = {.tag = "latest", .v = v, .n = runs_of(cases[i].runs, v, tags, text)};
        struct check_board b = {config, date_of(2026, 5, cases[i].day), &t};
        struct findings f = {0};
        check_runs(&b, &f);
        print_message("case %zu\n", i);
        for (size_t k = 0; k < f.n; k++) {
            print_message("%s\n", f.v[k].text);
            assert_true(k < ARRAY_LEN(cases[i].want) && cases[i].want[k]);
            assert_string_equal(f.v[k].text, cases[i].want[k]);
            assert_int_equal(f.v[k].kind, WANDB_EVENT_CHECK);
        }
        assert_null(cases[i].want[f.n]);
        findings_fini(&f);
    }
}

#define NOTED(row)                                                                                                     \
    "{\"columns\":[\"企業名\",\"日付\",\"合計GPU使用時間(h)\",\"GPU稼働率(%)\",\"備考\"],\"data\":[" row "]}"
#define TABLE(rows) "{\"columns\":[\"企業名\",\"日付\",\"合計GPU使用時間(h)\",\"GPU稼働率(%)\"],\"data\":[" rows "]}"

static void a_table_must_be_of_the_day_and_its_rate_above_ten(void **unused)
{
    static const struct {
        const char *json, *want;
        enum wandb_event_kind kind;
    } cases[] = {
        {TABLE("[\"Acme\",\"2026-05-09\",20,10.1],[\"Acme\",\"2026-05-08\",0,0]"), NULL, 0},
        {TABLE("[\"Acme\",\"2026-05-09\",20,100]"), NULL, 0},
        {TABLE("[\"Acme\",\"2026-05-09\",20,10.0]"), "Low GPU Usage for Acme: 10.0 % on 2026-05-09", WANDB_EVENT_LOW},
        {TABLE("[\"Acme\",\"2026-05-09\",0,0]"), "Low GPU Usage for Acme: 0.0 % on 2026-05-09", WANDB_EVENT_LOW},
        {NOTED("[\"Acme\",\"2026-05-09\",0,0,\"stale since 2026-05-08\"]"),
         "Stale table of Acme: stale since 2026-05-08", WANDB_EVENT_CHECK},
        {NOTED("[\"Acme\",\"2026-05-09\",null,null,\"not pulled\"]"), "Stale table of Acme: not pulled",
         WANDB_EVENT_CHECK},
        {NOTED("[\"Acme\",\"2026-05-09\",90,90,null],[\"Acme\",\"2026-05-08\",0,0,\"not pulled\"]"), NULL, 0},
        {TABLE("[\"Acme\",\"2026-05-08\",0,50]"),
         "Error of artifact: table company_daily_gpu_usage of Acme (run r1): its newest day is 2026-05-08, expected "
         "2026-05-09",
         WANDB_EVENT_CHECK},
        {TABLE(""), "Error of artifact: table company_daily_gpu_usage of Acme (run r1): it has no rows",
         WANDB_EVENT_CHECK},
        {"{\"columns\":[\"column\"],\"data\":[[1]]}",
         "Error of artifact: table company_daily_gpu_usage of Acme (run r1): its first row has no date or no rate",
         WANDB_EVENT_CHECK},
        {TABLE("[\"Acme\",\"2026-05-09\",0,\"much\"]"),
         "Error of artifact: table company_daily_gpu_usage of Acme (run r1): its first row has no date or no rate",
         WANDB_EVENT_CHECK},
        {"{", "Error of artifact: table company_daily_gpu_usage of Acme (run r1): it is no JSON", WANDB_EVENT_CHECK},
        {"[]", "Error of artifact: table company_daily_gpu_usage of Acme (run r1): it has no rows", WANDB_EVENT_CHECK},
    };
    struct tagged t = {.tag = "latest"};
    struct check_board b = {config, date_of(2026, 5, 9), &t};
    (void)unused;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct findings f = {0};
        print_message("%s\n", cases[i].json);
        check_table(&b, people_company(config->people, "Acme"), "r1", str_of(cases[i].json), &f);
        assert_int_equal(f.n, cases[i].want ? 1 : 0);
        if (f.n) {
            assert_string_equal(f.v[0].text, cases[i].want);
            assert_int_equal(f.v[0].kind, cases[i].kind);
        }
        findings_fini(&f);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(each_fault_is_found_and_nothing_else),
                                       cmocka_unit_test(a_table_must_be_of_the_day_and_its_rate_above_ten)};
    cmocka_set_test_filter(getenv("MUSTER_TEST_ONLY"));
    return cmocka_run_group_tests(tests, read_config, free_config);
}
