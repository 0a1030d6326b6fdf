/* test_wandb_ask.c: questions of a pull, and which answers are whole pages. */
#include <errno.h>
#include <string.h>

#include "base/buf.h"
#include "base/mem.h"
#include "wandb_pull/graphql.h"
#include "wandb_pull/run.h"

#include "test.h"

static json_t *json_of(const char *text)
{
    json_t *j = json_loads(text, 0, NULL);
    assert_non_null(j);
    return j;
}

static void variables_are_as_the_vendors_client_sends_them(void **unused)
{
    AUTO_BUF b = BUF_INIT(4096);
    json_t *j;
    (void)unused;
    graphql_projects_variables(&b, "te\"am", NULL);
    assert_string_equal(b.p, "{\"entity\":\"te\\\"am\",\"cursor\":null,\"perPage\":200}");
    buf_reset(&b);
    graphql_runs_variables(&b, "team", "proj", "abc", 1000, 1730386800000);
    assert_string_equal(b.p, "{\"entity\":\"team\",\"project\":\"proj\",\"cursor\":\"abc\",\"perPage\":1000,\"order\":"
                             "\"+created_at\","
                             "\"filters\":\"{\\\"createdAt\\\":{\\\"$lt\\\":\\\"2024-10-31T15:00:00.000Z\\\"}}\"}");
    j = json_of(b.p); /* JSON within JSON */
    json_decref(json_of(json_string_value(json_object_get(j, "filters"))));
    json_decref(j);
    buf_reset(&b);
    graphql_events_variables(&b, "team", "proj", "run1", 500);
    assert_string_equal(b.p, "{\"entity\":\"team\",\"project\":\"proj\",\"name\":\"run1\",\"samples\":500}");
    buf_reset(&b);
    url_run_file(&b, "te am", "a/b?c", "../r", ASK_METADATA);
    assert_string_equal(b.p, "/files/te%20am/a%2Fb%3Fc/..%2Fr/wandb-metadata.json");
}

static void only_what_rules_look_at_is_asked_for(void **unused)
{
    static const struct {
        unsigned field;
        const char *word;
    } cases[] = {{RUN_CONFIG, " config"},
                 {RUN_SUMMARY, " summaryMetrics"},
                 {RUN_DESCRIPTION, " description"},
                 {RUN_CPUS, " cpuCount"}};
    (void)unused;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        AUTO_BUF without = BUF_INIT(4096), with = BUF_INIT(4096);
        graphql_runs_query(&without, ~cases[i].field);
        graphql_runs_query(&with, cases[i].field);
        assert_null(strstr(without.p, cases[i].word));
        assert_non_null(strstr(with.p, cases[i].word));
    }
}

#define INFO(more, cursor) "\"pageInfo\":{\"hasNextPage\":" more ",\"endCursor\":" cursor "}"
#define EDGE               "{\"node\":{\"name\":\"a\"}}"

static void a_page_that_is_not_whole_is_an_error(void **unused)
{
    static const struct {
        const char *runs;
        int want, edges;
        const char *cursor;
    } cases[] = {
        {"{\"edges\":[" EDGE "]," INFO("false", "\"x\"") "}", 0, 1, NULL},
        {"{\"edges\":[" EDGE "]," INFO("true", "\"x\"") "}", 0, 1, "x"},
        {"{\"edges\":[]," INFO("false", "null") ",\"new\":[1]}", 0, 0, NULL},
        {"{\"edges\":[" EDGE ",null]," INFO("false", "null") "}", -EBADMSG, 0, NULL},
        {"{\"edges\":[{\"node\":null}]," INFO("false", "null") "}", -EBADMSG, 0, NULL},
        {"{\"edges\":[{}]," INFO("false", "null") "}", -EBADMSG, 0, NULL},
        {"{\"edges\":null," INFO("false", "null") "}", -EBADMSG, 0, NULL},
        {"{" INFO("false", "null") "}", -EBADMSG, 0, NULL},
        {"{\"edges\":[" EDGE "],\"pageInfo\":null}", -EBADMSG, 0, NULL}, /* nobody knows whether there is more */
        {"{\"edges\":[" EDGE "]}", -EBADMSG, 0, NULL},
        {"{\"edges\":[" EDGE "]," INFO("null", "\"x\"") "}", -EBADMSG, 0, NULL},
        {"{\"edges\":[" EDGE "]," INFO("\"false\"", "\"x\"") "}", -EBADMSG, 0, NULL},
        {"{\"edges\":[" EDGE "]," INFO("true", "null") "}", -EBADMSG, 0, NULL},
        {"{\"edges\":[" EDGE "]," INFO("true", "\"\"") "}", -EBADMSG, 0, NULL},
        {"{\"edges\":[" EDGE "]," INFO("true", "\"before\"") "}", -EBADMSG, 0, NULL}, /* it would go on for ever */
        {"{\"edges\":[]," INFO("true", "\"x\"") "}", -EBADMSG, 0, NULL},
        {"null", -EBADMSG, 0, NULL},
        {"[]", -EBADMSG, 0, NULL},
    };
    (void)unused;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++)
        for (int kind = 0; kind < 2; kind++) {
            AUTO_FREE char *text =
                mem_fmt(kind ? "{\"project\":{\"runCount\":7,\"runs\":%s}}" : "{\"models\":%s}", cases[i].runs);
            struct graphql_page p = {0};
            struct err err = {0};
            json_t *j = json_of(text);
            print_message("%s\n", text);
            assert_int_equal(kind ? graphql_runs_parse(j, "before", &p, &err)
                                  : graphql_projects_parse(j, "before", &p, &err),
                             cases[i].want);
            assert_int_equal(err.msg[0] != 0, cases[i].want != 0);
            assert_int_equal(json_array_size(p.edges), cases[i].edges);
            if (cases[i].cursor)
                assert_string_equal(p.cursor, cases[i].cursor);
            else
                assert_null(p.cursor);
            if (kind && cases[i].want == 0)
                assert_int_equal(p.count, 7);
            json_decref(j);
        }
}

static void a_project_or_a_run_that_is_gone_is_told_from_a_broken_answer(void **unused)
{
    static const struct {
        const char *data;
        int want;
        int n; /* samples; -1: no list */
    } cases[] = {
        {"{\"project\":{\"run\":{\"events\":[\"{}\",\"{}\"]}}}", 0, 2},
        {"{\"project\":{\"run\":{\"events\":[]}}}", 0, 0},
        {"{\"project\":{\"run\":{\"events\":null}}}", 0, -1},
        {"{\"project\":{\"run\":{}}}", 0, -1},
        {"{\"project\":{\"run\":null}}", -ENOENT, -1},
        {"{\"project\":null}", -ENOENT, -1},
        {"{\"project\":{}}", -EBADMSG, -1},
        {"{}", -EBADMSG, -1},
        {"{\"project\":{\"run\":{\"events\":\"x\"}}}", -EBADMSG, -1},
        {"{\"project\":{\"run\":[]}}", -EBADMSG, -1},
    };
    struct graphql_page p = {0};
    struct err err = {0};
    json_t *j = json_of("{\"project\":null}");
    (void)unused;
    assert_int_equal(graphql_runs_parse(j, NULL, &p, &err), -EBADMSG); /* of a project that was listed: its failure */
    json_decref(j);
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        const json_t *events = NULL;
        j = json_of(cases[i].data);
        print_message("%s\n", cases[i].data);
        assert_int_equal(graphql_events_parse(j, &events, &err), cases[i].want);
        assert_int_equal(events ? (int)json_array_size(events) : -1, cases[i].n);
        json_decref(j);
    }
}

TESTS(cmocka_unit_test(variables_are_as_the_vendors_client_sends_them),
      cmocka_unit_test(only_what_rules_look_at_is_asked_for), cmocka_unit_test(a_page_that_is_not_whole_is_an_error),
      cmocka_unit_test(a_project_or_a_run_that_is_gone_is_told_from_a_broken_answer))
