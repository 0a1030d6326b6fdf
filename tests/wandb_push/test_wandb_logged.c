/* A run of our own: its id, what is said of it and in which order; runs that have a tag, and how one loses it. */
#include "wandb_push/logged.h"

#include <errno.h>

#include "base/mem.h"
#include "test.h"
#include "wandb_pull/artifact_get.h"
#include "wandb_push/tagged.h"

static struct table_set one_table(void)
{
    struct table_set s = {.tag = "Acme", .n = 1};
    s.v[0] = (struct table){.key = "company_summary", .file = BUF_INIT(100), .media = BUF_INIT(100), .n_cols = 7};
    buf_adds(&s.v[0].file, "{\"_type\":\"table\"}");
    buf_adds(&s.v[0].media, "{\"columns\":[]}");
    return s;
}

static struct logged tables_run(const struct table_set *s, const char *salt)
{
    struct logged l = {.entity = "geniac gpu",
                       .project = "board",
                       .name = "Tables_2026-05-09",
                       .job_type = "update-table",
                       .tag = s->tag,
                       .latest = "latest",
                       .set = s,
                       .config = "{\"end_date\":{\"value\":\"2026-05-09\"}}",
                       .salt = salt,
                       .at_ms = 1778400000250};
    logged_init(&l);
    return l;
}

static int asks(struct wandb_job e, struct wandb_request *q)
{
    struct err err = {0};
    *q = (struct wandb_request){0};
    return e.next(e.self, q, &err);
}

static int answer(struct wandb_job e, const char *json)
{
    struct err err = {0};
    struct wandb_answer got = {.status = 200, .data = json ? json_loads(json, 0, NULL) : NULL};
    int r = e.take(e.self, &got, &err);
    json_decref(got.data);
    return r;
}

static bool has(struct str text, const char *what)
{
    if (str_find(text, what) < 0)
        print_message("'%.*s' lacks '%s'\n", STR_ARG(text), what);
    return str_find(text, what) >= 0;
}

static void the_same_tables_are_the_same_run(void **unused)
{
    struct table_set s = one_table(), t = one_table();
    struct logged a = tables_run(&s, NULL), b = tables_run(&t, ""), c = tables_run(&s, "again"), d;
    (void)unused;
    buf_adds(&t.v[0].file, " ");
    d = tables_run(&t, NULL);
    assert_int_equal(strlen(a.id), LOGGED_ID);
    assert_string_equal(a.id, b.id);
    assert_string_not_equal(a.id, c.id);
    assert_string_not_equal(a.id, d.id);
    logged_fini(&a);
    logged_fini(&b);
    logged_fini(&c);
    logged_fini(&d);
    table_fini(&s.v[0]);
    table_fini(&t.v[0]);
}

static void a_run_begins_untagged_and_is_tagged_at_its_end(void **unused)
{
    struct table_set s = one_table();
    struct logged l = tables_run(&s, NULL);
    struct wandb_request q;
    struct wandb_job e = logged_begin(&l);
    char path[128];
    (void)unused;

    assert_int_equal(asks(e, &q), 1);
    assert_string_equal(q.op, "UpsertBucket");
    assert_true(q.conflict_again);
    assert_true(has(q.variables, "\"tags\":[\"Acme\"]"));
    assert_true(has(q.variables, "\"displayName\":\"Tables_2026-05-09\""));
    assert_true(has(q.variables, "\"jobType\":\"update-table\""));
    assert_int_equal(answer(e, "{\"upsertBucket\":{\"bucket\":null}}"), -EBADMSG);
    assert_int_equal(answer(e, "{\"upsertBucket\":{\"bucket\":{\"id\":\"S1\"}}}"), 0);
    assert_int_equal(asks(e, &q), 0);

    e = logged_files(&l);
    assert_int_equal(asks(e, &q), 1);
    assert_true(has(q.variables, "media/table/company_summary_0_"));
    assert_int_equal(answer(e, "{\"createRunFiles\":{\"files\":[]}}"), -EBADMSG);
    e = logged_files(&l);
    assert_int_equal(asks(e, &q), 1);
    char text[400];
    snprintf(text, sizeof(text),
             "{\"createRunFiles\":{\"uploadHeaders\":[\"A:b\"],\"files\":[{\"name\":\"%s\",\"uploadUrl\":\"http://"
             "u\"}]}}",
             l.paths[0]);
    assert_int_equal(answer(e, text), 0);
    assert_int_equal(asks(e, &q), 1);
    assert_string_equal(q.url, "http://u");
    assert_string_equal(q.headers[0], "A:b");
    assert_true(str_eq(q.body, "{\"columns\":[]}"));
    assert_int_equal(answer(e, NULL), 0);
    assert_int_equal(asks(e, &q), 0);

    e = logged_finish(&l);
    assert_int_equal(asks(e, &q), 1);
    snprintf(path, sizeof(path), "/files/geniac%%20gpu/board/%s/file_stream", l.id);
    assert_string_equal(q.url, path);
    assert_true(has(q.body, "\"complete\":true,\"exitcode\":0}"));
    assert_true(has(q.body, "\"wandb-history.jsonl\":{\"offset\":0,\"content\":[\"{\\\"_step\\\":0,"
                            "\\\"_timestamp\\\":1778400000.25,"));
    assert_true(has(q.body, "wandb-client-artifact://"));
    assert_int_equal(answer(e, NULL), 0);

    e = logged_tag(&l);
    assert_int_equal(asks(e, &q), 1);
    assert_true(has(q.variables, "\"id\":\"S1\""));
    assert_true(has(q.variables, "\"tags\":[\"Acme\",\"latest\"]"));
    logged_fini(&l);
    table_fini(&s.v[0]);
}

static void tagged_runs_come_page_by_page(void **unused)
{
    struct tagged t = {.entity = "e", .project = "p", .tag = "latest"};
    struct wandb_request q;
    tagged_init(&t);
    struct wandb_job e = tagged_job(&t);
    (void)unused;
    assert_int_equal(asks(e, &q), 1);
    assert_true(has(q.variables, "\"filters\":\"{\\\"tags\\\":{\\\"$in\\\":[\\\"latest\\\"]}}\""));
    assert_int_equal(
        answer(e,
               "{\"project\":{\"runs\":{\"edges\":[{\"node\":{\"id\":\"S1\",\"name\":\"r1\",\"displayName\":\"T_1\","
               "\"tags\":[\"Acme\",\"latest\"],\"config\":\"{\\\"a\\\":1}\"}},null,{\"node\":null},{\"node\":{\"id\":"
               "\"S2\",\"name\":\"r2\",\"tags\":[\"other\"]}}],\"pageInfo\":{\"hasNextPage\":true,\"endCursor\":\"c\"}}"
               "}}"),
        0);
    assert_int_equal(asks(e, &q), 1);
    assert_true(has(q.variables, "\"cursor\":\"c\""));
    assert_int_equal(answer(e, "{\"project\":{\"runs\":{\"edges\":[{\"node\":{\"id\":\"S3\",\"name\":\"r3\",\"tags\":["
                               "\"latest\"]}}],\"pageInfo\":{\"hasNextPage\":true,\"endCursor\":\"c\"}}}}"),
                     -EBADMSG); /* it would never end */
    t.done = false;
    assert_int_equal(answer(e, "{\"project\":{\"runs\":{\"edges\":[],\"pageInfo\":{\"hasNextPage\":false}}}}"), 0);
    assert_int_equal(asks(e, &q), 0);
    assert_int_equal(t.n, 2);
    assert_string_equal(t.v[0].id, "r1");

    struct untag u = {.run = &t.v[0], .tag = "latest"};
    e = untag_job(&u);
    assert_int_equal(asks(e, &q), 1);
    assert_true(str_eq(q.variables, "{\"id\":\"S1\",\"displayName\":\"T_1\",\"notes\":null,\"groupName\":null,"
                                    "\"config\":\"{\\\"a\\\":1}\",\"tags\":[\"Acme\"]}"));
    assert_int_equal(answer(e, "{\"upsertBucket\":{\"bucket\":{\"id\":\"S1\"}}}"), 0);
    assert_int_equal(asks(e, &q), 0);
    untag_fini(&u);
    tagged_fini(&t);
}

static void a_list_that_is_none_is_an_error_and_no_project_is_none(void **unused)
{
    static const struct {
        const char *json;
        int want;
    } cases[] = {{"{\"project\":null}", 0},
                 {"{}", 0},
                 {"{\"project\":{\"runs\":null}}", -EBADMSG},
                 {"{\"project\":{\"runs\":{\"edges\":null}}}", -EBADMSG},
                 {"{\"project\":{\"runs\":{\"edges\":[null],\"pageInfo\":{\"hasNextPage\":true}}}}", -EBADMSG}};
    (void)unused;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct tagged t = {.entity = "e", .project = "p", .tag = "latest"};
        tagged_init(&t);
        print_message("%s\n", cases[i].json);
        assert_int_equal(answer(tagged_job(&t), cases[i].json), cases[i].want);
        tagged_fini(&t);
    }
}

static void a_file_of_an_artifact_is_looked_for_on_every_page(void **unused)
{
    struct artifact_get g = {.entity = "e", .project = "p", .name = "all:latest", .file = "all.csv"};
    struct wandb_request q;
    struct err err = {0};
    artifact_get_init(&g);
    struct wandb_job e = artifact_get_job(&g);
    (void)unused;
    assert_int_equal(asks(e, &q), 1);
    assert_int_equal(answer(e, "{\"project\":{\"artifact\":{\"id\":\"A1\"}}}"), 0);
    assert_int_equal(asks(e, &q), 1);
    assert_int_equal(answer(e, "{\"artifact\":{\"files\":{\"edges\":[{\"node\":{\"name\":\"x\",\"directUrl\":\"u\"}}],"
                               "\"pageInfo\":{\"hasNextPage\":true,\"endCursor\":\"c\"}}}}"),
                     0);
    assert_int_equal(asks(e, &q), 1);
    assert_true(has(q.variables, "\"cursor\":\"c\""));
    assert_int_equal(answer(e, "{\"artifact\":{\"files\":{\"edges\":[{\"node\":{\"name\":\"all.csv\",\"directUrl\":"
                               "\"http://f\"}}]}}}"),
                     0);
    assert_int_equal(asks(e, &q), 1);
    assert_string_equal(q.url, "http://f");
    struct wandb_answer got = {.status = 200, .body = STR("a,b\n")};
    assert_int_equal(e.take(e.self, &got, &err), 0);
    assert_int_equal(asks(e, &q), 0);
    assert_true(g.found && !g.empty);
    assert_string_equal(g.bytes.p, "a,b\n");
    artifact_get_fini(&g);

    g = (struct artifact_get){.entity = "e", .project = "p", .name = "all:latest", .file = "all.csv"};
    artifact_get_init(&g);
    assert_int_equal(answer(e, "{\"project\":{\"artifact\":null}}"), 0);
    assert_int_equal(asks(e, &q), 0);
    assert_false(g.found);
    artifact_get_fini(&g);
}

TESTS(cmocka_unit_test(the_same_tables_are_the_same_run),
      cmocka_unit_test(a_run_begins_untagged_and_is_tagged_at_its_end), cmocka_unit_test(tagged_runs_come_page_by_page),
      cmocka_unit_test(a_list_that_is_none_is_an_error_and_no_project_is_none),
      cmocka_unit_test(a_file_of_an_artifact_is_looked_for_on_every_page))
