/* What W&B says, read: the config, runs, their metrics by the day, and where the key comes from. */
#include "test.h"

#include <errno.h>
#include <jansson.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/file.h"
#include "report/report.h"
#include "wandb_pull/config.h"
#include "wandb_pull/fold.h"
#include "wandb_pull/key.h"
#include "wandb_pull/rule.h"
#include "wandb_pull/run.h"

/* ---- config ---- */

static const char theirs[] = "# as the old tool has it\n"
                             "testmode: false\n"
                             "enable_alert: true\n"
                             "ignore_tags: [\"other_gpu\", \"Others_GPU\"]\n"
                             "wandb_dir: /tmp/wandb\n"
                             "max_workers: 1\n"
                             "something: &later {deep: [[[[[[[[[[1]]]]]]]]]]}\n"
                             "dashboard:\n"
                             "  entity: geniac-gpu\n"
                             "  project: gpu-dashboard2\n"
                             "  tag_for_latest: latest\n"
                             "dataset:\n"
                             "  entity: geniac-gpu\n"
                             "  project: gpu-dashboard2\n"
                             "  artifact_name: all_runs_data\n"
                             "  deleted_runs_artifact_name: deleted_runs_data\n"
                             "companies:\n"
                             "  - company: acme\n"
                             "    teams: [acme-a, acme-b]\n"
                             "    ignore_project_pattern: 'test-*'\n"
                             "    schedule:\n"
                             "      - date: \"2024-11-01\"\n"
                             "        assigned_gpu_node: 4\n"
                             "      - date: \"2024-12-01\"\n"
                             "        assigned_gpu_node: 0\n"
                             "  - company: beta\n"
                             "    teams: [beta]\n"
                             "    ignore_project_pattern: 'x*'\n"
                             "    include_project_pattern: 'xy*'\n"
                             "    schedule: [{date: \"2024-10-01\", assigned_gpu_node: 1}]\n";

static struct wandb_config *config_of(const char *text)
{
    struct wandb_config *c = NULL;
    struct err err = {0};
    int r = wandb_config_read(str_of(text), "config.yaml", &c, &err);
    if (r < 0)
        print_message("%s\n", err.msg);
    assert_int_equal(r, 0);
    return c;
}

static void the_old_config_is_read_as_it_is(void **unused)
{
    (void)unused;
    struct wandb_config *c = config_of(theirs);
    size_t n;
    people_companies(c->people, &n);
    assert_int_equal(n, 2);
    assert_true(c->enable_alert);
    assert_int_equal(c->n_ignore_tags, 2);
    assert_string_equal(c->ignore_tags[1], "others_gpu");
    assert_string_equal(c->dashboard.entity, "geniac-gpu");
    assert_string_equal(c->dashboard.name, "latest");
    assert_string_equal(c->dataset.name, "all_runs_data");
    assert_string_equal(c->deleted_name, "deleted_runs_data");
    assert_null(c->blacklist.name);
    assert_string_equal(zone_name(c->zone), "Asia/Tokyo");
    assert_string_equal(c->base_url, "https://api.wandb.ai");
    assert_int_equal(c->samples, 10000);
    assert_int_equal(c->project_start, date_of(2024, 10, 25));
    assert_string_equal(wandb_config_company(c, "acme-b")->name, "acme");
    assert_null(wandb_config_company(c, "acme"));

    const struct company *acme = wandb_config_company(c, "acme-a"), *beta = wandb_config_company(c, "beta");
    assert_true(company_counts(acme, "train"));
    assert_false(company_counts(acme, "test-1"));
    assert_true(company_counts(beta, "xyz")); /* the other pattern is not asked */
    assert_false(company_counts(beta, "train"));
    assert_true(wandb_company_active(acme, date_of(2024, 10, 1), date_of(2024, 11, 1)));
    assert_false(wandb_company_active(acme, date_of(2024, 10, 1), date_of(2024, 10, 31)));
    assert_true(wandb_company_active(acme, date_of(2024, 12, 1), date_of(2025, 1, 1)));
    assert_false(wandb_company_active(acme, date_of(2024, 12, 2), date_of(2025, 1, 1)));
    assert_true(wandb_company_active(beta, date_of(2030, 1, 1), date_of(2030, 1, 1)));
    wandb_config_free(c);
}

static void our_own_keys_stand_beside_theirs(void **unused)
{
    (void)unused;
    AUTO_BUF text = BUF_INIT(8000);
    buf_adds(&text, theirs);
    buf_adds(&text, "zone: Europe/Berlin\nbase_url: http://127.0.0.1:9/\nsamples: 500\nin_flight: 4\nrate: 2.5\n"
                    "project_start: 2025-01-01\ngpu_count: []\nblacklist: {artifact_name: blacklist}\n");
    struct wandb_config *c = config_of(text.p), *other = config_of(theirs);
    assert_string_equal(zone_name(c->zone), "Europe/Berlin");
    assert_string_equal(c->base_url, "http://127.0.0.1:9");
    assert_int_equal(c->samples, 500);
    assert_int_equal(c->in_flight, 4);
    assert_int_equal(c->rate_milli, 2500);
    assert_int_equal(c->project_start, date_of(2025, 1, 1));
    assert_string_equal(c->blacklist.name, "blacklist");
    assert_true(c->hash != other->hash);
    assert_int_equal(wandb_config_samples(c, 0, 0), 100);
    assert_int_equal(wandb_config_samples(c, 0, 60000 * 299), 300);
    assert_int_equal(wandb_config_samples(c, 0, 60000 * 9999), 500);
    wandb_config_free(c);
    wandb_config_free(other);
}

static void a_config_that_is_wrong_is_refused_with_its_line(void **unused)
{
    static const struct {
        const char *text, *want;
    } cases[] = {
        {"enable_alert: maybe\ncompanies: []\n", "c.yaml:1:15: enable_alert: expected true or false"},
        {"companies: []\ndashboard: x\n", "c.yaml:2:12: dashboard: expected entity, project and tag_for_latest"},
        {"companies: []\ndataset:\n  entity: [a]\n", "c.yaml:3:11: entity: expected up to 255 bytes"},
        {"companies: []\nzone: Mars/Olympus\n", "c.yaml:2:7: zone: "},
        {"companies: []\nsamples: 0\n", "c.yaml:2:10: samples: expected a whole number from 1 to"},
        {"companies: []\nrate: fast\n", "c.yaml:2:7: rate: expected requests a second"},
        {"companies: []\nbase_url: api.wandb.ai\n", "c.yaml:2:11: base_url: expected an address"},
        {"companies: []\nproject_start: soon\n", "c.yaml:2:16: project_start: expected a day"},
        {"companies: []\nignore_tags: {a: b}\n", "c.yaml:2:14: ignore_tags: expected a list"},
        {"companies: []\ncpu_tables: 8\n", "c.yaml:2:13: cpu_tables: expected companies, and how many CPUs"},
        {"companies: []\ncpu_tables: {A: 8}\n", "c.yaml:2:13: cpu_tables: no company is called 'A'"},
        {"companies: [{company: A}]\ncpu_tables: {A: many}\n", "c.yaml:2:17: cpu_tables: expected a whole number"},
        {"companies: []\ngpu_count: 8\n", "c.yaml:2:12: gpu_count: expected a list of rules"},
        {"companies: []\ngpu_count: [8]\n", "c.yaml:2:13: expected a rule: {team: PATTERN, gpus: EXPRESSION}"},
        {"companies: []\ngpu_count:\n- {team: a}\n", "c.yaml:3:3: expected 'gpus': an expression"},
        {"companies: []\ngpu_count:\n- {teams: a, gpus: 8}\n", "c.yaml:3:4: not known: a rule has team, project,"},
        {"companies: []\ngpu_count:\n- gpus: 8 *\n", "c.yaml:3:9: gpus: column 4: expected a number"},
        {"companies: []\ngpu_count:\n- {gpus: 8, from: x}\n", "c.yaml:3:19: expected a day, as 2026-01-31"},
        {"companies: []\ngpu_count:\n- {gpus: 8, from: 2025-01-02, to: 2025-01-01}\n",
         "c.yaml:3:3: the rule ends before it begins"},
        {"companies:\n- company: a\n  schedule: [{date: x}]\n", "c.yaml:3:21: expected a day, as 2026-01-31"},
        {"testmode: true\n", "c.yaml: there is no 'companies' in it"},
        {"", "c.yaml: there is no 'companies' in it"},
        {"a: [\n", "c.yaml:"},
        {"- a\n", "c.yaml: there is no 'companies' in it"},
    };
    (void)unused;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct wandb_config *c = NULL;
        struct err err = {0};
        assert_true(wandb_config_read(str_of(cases[i].text), "c.yaml", &c, &err) < 0);
        assert_null(c);
        print_message("%s\n", err.msg);
        err.msg[strlen(cases[i].want)] = 0;
        assert_string_equal(err.msg, cases[i].want);
    }
}

static void days_of_a_pull_follow_the_old_rule(void **unused)
{
    enum { NONE = INT32_MIN };
    (void)unused;
    struct wandb_config *c = config_of(theirs);
    const int32_t today = date_of(2024, 11, 20), start = date_of(2024, 10, 25);
    const struct {
        int32_t from, to, want_from, want_to;
    } cases[] = {
        {NONE, NONE, today - 1, today - 1},
        {NONE, today - 5, start, today - 5},
        {today - 9, NONE, today - 9, today - 1},
        {today - 9, today, today - 9, today},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        int32_t from = cases[i].from, to = cases[i].to;
        assert_int_equal(wandb_config_days(c, today, &from, &to, NULL), 0);
        assert_int_equal(from, cases[i].want_from);
        assert_int_equal(to, cases[i].want_to);
    }
    int32_t from = today, to = NONE;
    struct err err = {0};
    assert_int_equal(wandb_config_days(c, today, &from, &to, &err), -EINVAL);
    assert_string_equal(err.msg, "the start, 2024-11-20, is after the end, 2024-11-19");
    wandb_config_free(c);
}

/* ---- runs ---- */

static void times_are_read_with_and_without_a_zone(void **unused)
{
    static const struct {
        const char *text;
        int64_t want; /* -1: refused */
    } cases[] = {
        {"2024-11-01T00:00:00", 1730419200000},
        {"2024-11-01T00:00:00Z", 1730419200000},
        {"2024-11-01T00:00:00.123456Z", 1730419200123},
        {"2024-11-01T00:00:00.999999", 1730419200999},
        {"2024-11-01T09:00:00+09:00", 1730419200000},
        {"2024-11-01 00:00:00", 1730419200000},
        {"2024-11-01", -1},
        {"1730419200", -1},
        {"", -1},
        {"2024-13-01T00:00:00", -1},
        {"yesterday, more or less", -1},
    };
    (void)unused;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        int64_t v = -1;
        print_message("'%s'\n", cases[i].text);
        assert_int_equal(run_time(str_of(cases[i].text), &v), cases[i].want >= 0);
        assert_int_equal(v, cases[i].want);
    }
}

static json_t *json_of(const char *text)
{
    json_t *j = json_loads(text, 0, NULL);
    assert_non_null(j);
    return j;
}

static void a_run_is_read_with_everything_or_almost_nothing(void **unused)
{
    struct run_node r;
    struct err err = {0};
    (void)unused;
    json_t *full =
        json_of("{\"id\":\"UnVu\",\"name\":\"abcd1234\",\"displayName\":\"happy-1\",\"state\":\"running\","
                "\"tags\":[\"a\",\"Other_GPU\",7],\"host\":\"dgx1\",\"createdAt\":\"2024-11-01T00:00:00\","
                "\"heartbeatAt\":\"2024-11-01T02:00:00.5Z\",\"user\":{\"username\":\"kim\",\"name\":\"Kim\"},"
                "\"runInfo\":{\"gpu\":\"H100\",\"gpuCount\":8,\"cpuCount\":\"96\",\"new\":{}},"
                "\"config\":\"{\\\"a\\\":{\\\"value\\\":1}}\",\"summaryMetrics\":null,\"later\":[1]}");
    assert_int_equal(run_node_read(full, &r, &err), 0);
    assert_string_equal(r.id, "abcd1234");
    assert_string_equal(r.storage_id, "UnVu");
    assert_string_equal(r.user, "kim");
    assert_int_equal(r.heartbeat_ms - r.created_ms, 7200500);
    assert_true(r.gpu_info);
    assert_int_equal(r.gpus, 8);
    assert_int_equal(r.cpus, 96);
    assert_non_null(run_scalar_get(&r.config));
    assert_null(run_scalar_get(&r.summary));
    AUTO_BUF tags = BUF_INIT(1000);
    assert_int_equal(run_node_tags(&r, &tags), 0);
    assert_string_equal(tags.p, "[\"a\",\"Other_GPU\"]");
    struct wandb_config *c = config_of(theirs);
    assert_true(run_node_ignored(&r, c));
    run_node_fini(&r);
    json_decref(full);

    json_t *bare =
        json_of("{\"name\":\"x\",\"createdAt\":\"2024-11-01T00:00:00\",\"heartbeatAt\":null,\"runInfo\":null,"
                "\"tags\":null,\"user\":null,\"config\":\"[]\",\"host\":7}");
    assert_int_equal(run_node_read(bare, &r, &err), 0);
    assert_int_equal(r.heartbeat_ms, r.created_ms);
    assert_false(r.gpu_info);
    assert_int_equal(r.gpus, -1);
    assert_null(r.host);
    assert_null(run_scalar_get(&r.config));
    assert_string_equal(r.config.bad, "it is not a JSON object");
    assert_false(run_node_ignored(&r, c));
    buf_reset(&tags);
    assert_int_equal(run_node_tags(&r, &tags), 0);
    assert_string_equal(tags.p, "[]");
    run_node_fini(&r);
    json_decref(bare);
    wandb_config_free(c);

    json_t *odd = json_of("{\"name\":\"x\",\"createdAt\":\"2024-11-01T00:00:00\",\"host\":\"a\\nb\","
                          "\"state\":\"\\u001b[2J\",\"displayName\":\"\\u0007\",\"description\":\"two\\nlines\"}");
    assert_int_equal(run_node_read(odd, &r, &err), 0);
    assert_null(r.host);
    assert_null(r.state);
    assert_null(r.display);
    assert_string_equal(r.description, "two\nlines");
    json_decref(odd);

    static const char *const bad[] = {"[]",
                                      "{}",
                                      "{\"name\":\"\",\"createdAt\":\"2024-11-01T00:00:00\"}",
                                      "{\"name\":\"x\"}",
                                      "{\"name\":\"x\",\"createdAt\":5}",
                                      "{\"name\":null,\"createdAt\":\"2024-11-01T00:00:00\"}"};
    for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
        json_t *j = json_of(bad[i]);
        assert_int_equal(run_node_read(j, &r, &err), -EBADMSG);
        json_decref(j);
    }
}

static void a_run_is_named_in_the_ways_people_write_it(void **unused)
{
    static const struct {
        const char *text, *team, *project, *id; /* team NULL: refused */
    } cases[] = {
        {"a/b/c", "a", "b", "c"},
        {"a/b/runs/c", "a", "b", "c"},
        {"a/b/c/", "a", "b", "c"},
        {"https://wandb.ai/a/b/runs/c", "a", "b", "c"},
        {"https://wandb.ai/a/b%20x/runs/c/overview?nw=1#y", "a", "b x", "c"},
        {"http://127.0.0.1:9/a/b/runs/c/", "a", "b", "c"},
        {"a/b", NULL, NULL, NULL},
        {"a/b/c/d", NULL, NULL, NULL},
        {"a//c", NULL, NULL, NULL},
        {"", NULL, NULL, NULL},
        {"https://wandb.ai/a/b", NULL, NULL, NULL},
        {"https://", NULL, NULL, NULL},
        {"a/b/c%00d", NULL, NULL, NULL},
        {"a/b/%1b", NULL, NULL, NULL},
    };
    (void)unused;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct run_path p;
        print_message("%s\n", cases[i].text);
        assert_int_equal(run_path_parse(str_of(cases[i].text), &p), cases[i].team != NULL);
        if (cases[i].team) {
            assert_string_equal(p.team, cases[i].team);
            assert_string_equal(p.project, cases[i].project);
            assert_string_equal(p.id, cases[i].id);
        }
    }
}

static void a_run_counts_or_there_is_a_reason(void **unused)
{
    static const struct {
        const char *team, *project, *created, *heartbeat;
        bool gpu, rule;
        int gpus;
        enum run_fate want;
    } cases[] = {
        {"acme-a", "p", "2024-11-05T00:00:00", "2024-11-05T01:00:00", true, false, 8, RUN_COUNTS},
        {"acme-a", "p", "2024-11-05T00:00:00", "2024-11-05T00:00:00", true, false, 8, RUN_COUNTS},
        {"acme-a", "p", "2024-11-05T00:00:00", "2024-11-05T01:00:00", false, false, 8, RUN_NO_GPU},
        {"acme-a", "p", "2024-11-05T00:00:00", "2024-11-05T01:00:00", false, true, 8, RUN_COUNTS},
        {"acme-a", "p", "2024-11-05T00:00:00", "2024-11-05T01:00:00", true, true, 0, RUN_EXCLUDED},
        {"acme-a", "test-1", "2024-11-05T00:00:00", "2024-11-05T01:00:00", true, false, 8, RUN_PROJECT},
        {"nobody", "p", "2024-11-05T00:00:00", "2024-11-05T01:00:00", true, false, 8, RUN_NO_COMPANY},
        /* days are Tokyo's: 15:00 UTC is the next day's midnight */
        {"acme-a", "p", "2024-11-03T14:00:00", "2024-11-03T14:59:59", true, false, 8, RUN_OUTSIDE},
        {"acme-a", "p", "2024-11-03T14:00:00", "2024-11-03T15:00:00", true, false, 8, RUN_COUNTS},
        {"acme-a", "p", "2024-12-20T14:59:59", "2024-12-30T15:00:00", true, false, 8, RUN_UNASSIGNED},
        {"acme-a", "p", "2024-12-31T15:00:00", "2024-12-31T16:00:00", true, false, 8, RUN_OUTSIDE},
    };
    (void)unused;
    struct wandb_config *c = config_of(theirs);
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct run_node r = {.id = "x", .gpu_info = cases[i].gpu};
        const struct rule_answer a = {cases[i].gpus, cases[i].rule, "x"};
        assert_true(run_time(str_of(cases[i].created), &r.created_ms));
        assert_true(run_time(str_of(cases[i].heartbeat), &r.heartbeat_ms));
        print_message("%zu\n", i);
        assert_int_equal(run_node_fate(c, cases[i].team, cases[i].project, &r, date_of(2024, 11, 4),
                                       date_of(2024, 12, 31), &a),
                         cases[i].want);
    }
    wandb_config_free(c);
}

/* ---- metrics ---- */

#define T0 1730646000 /* 2024-11-04 00:00 in Tokyo */

static void feed(struct fold *f, double at, const char *rest)
{
    AUTO_BUF b = BUF_INIT(4000);
    buf_addf(&b, "{\"_wandb\":true,\"_timestamp\":%.3f,%s}", at, rest);
    assert_int_equal(fold_add(f, buf_str(&b)), 0);
}

static void samples_become_exact_means_and_maxima_of_days(void **unused)
{
    struct zone *z = NULL;
    struct wandb_day d = {0};
    (void)unused;
    assert_int_equal(zone_load("Asia/Tokyo", &z, NULL), 0);
    struct fold *f = fold_new(z, date_of(2024, 11, 3), date_of(2024, 11, 5));
    feed(f, T0 - 0.001, "\"system.gpu.0.gpu\":50"); /* the last millisecond of the 3rd */
    feed(f, T0, "\"system.gpu.0.gpu\":0.1,\"system.gpu.1.gpu\":0.2,\"system.gpu.0.memory\":10");
    feed(f, T0 + 60, "\"system.gpu.0.gpu\":100.0,\"system.gpu.0.memory\":null,\"system.gpu.1.memory\":NaN");
    feed(f, T0 + 61,
         "\"system.gpu.process.0.gpu\":99,\"system.gpu.0.gpuX\":99,\"system.gpu.x.gpu\":99,"
         "\"system.gpu..gpu\":99,\"system.gpu.0.memoryAllocated\":99,\"system.cpu\":99,"
         "\"system.gpu.0.gpu/l:\":99,\"system.gpu.0.gpu/x:a\":99,\"system.gpu.0.gpu\":\"99\"");
    feed(f, T0 + 62, "\"system.gpu.0.gpu/l:node3\":7,\"system.gpu.7.gpu\\/l:a b\":8,\"x\":{\"y\":[1,{\"z\":\"}\"}]}");
    feed(f, T0 + 86400 * 2, "\"system.gpu.0.gpu\":99"); /* the 6th: not asked for */

    assert_true(fold_get(f, date_of(2024, 11, 3), &d));
    assert_int_equal(d.have, RUN_UTIL);
    assert_int_equal(d.util_avg, 50 * PERCENT_ONE);
    assert_true(fold_get(f, date_of(2024, 11, 4), &d));
    assert_int_equal(d.have, RUN_UTIL | RUN_MEM);
    assert_int_equal(d.util_avg, 23060000000); /* (0.1 + 0.2 + 100 + 7 + 8) / 5 */
    assert_int_equal(d.util_max, 100 * PERCENT_ONE);
    assert_int_equal(d.mem_avg, 10 * PERCENT_ONE);
    assert_int_equal(d.mem_max, 10 * PERCENT_ONE);
    assert_false(fold_get(f, date_of(2024, 11, 5), &d));

    /* the next run begins with nothing, and one sample is none */
    fold_reset(f);
    feed(f, T0, "\"system.gpu.0.gpu\":1");
    assert_false(fold_any(f));
    assert_false(fold_get(f, date_of(2024, 11, 4), &d));
    feed(f, T0, "\"system.gpu.0.gpu\":1");
    feed(f, T0, "\"system.gpu.0.gpu\":0");
    assert_true(fold_get(f, date_of(2024, 11, 4), &d));
    assert_int_equal(d.util_avg, 666666667); /* 2/3, rounded */
    fold_free(f);
    zone_free(z);
}

static void what_is_not_a_sample_is_refused_whole(void **unused)
{
    static const char *const cases[] = {
        "",
        "null",
        "[]",
        "{",
        "{}x",
        "{\"a\"}",
        "{\"a\":}",
        "{\"a\":1,}",
        "{\"a\":[1,2}",
        "{\"a\":{\"b\":1]}",
        "{\"_timestamp\":1730646000,\"system.gpu.0.gpu\":5",
        "{\"a\":\"x}",
        "{\"a\\",
        "{a:1}",
        "{\"a\":[[[[[[[[[[[[[[[[[[[[1]]]]]]]]]]]]]]]]]]]]}",
    };
    static const char *const fine[] = {"{}", " { } ", "{\"a\":[]}", "{\"a\":{},\"b\":[[],{}]}", "{\"a\":\"\\\"\"}"};
    struct zone *z = zone_utc();
    struct fold *f = fold_new(z, 20000, 20100);
    (void)unused;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        print_message("%s\n", cases[i]);
        assert_int_equal(fold_add(f, str_of(cases[i])), -EBADMSG);
    }
    assert_false(fold_any(f));
    for (size_t i = 0; i < ARRAY_LEN(fine); i++)
        assert_int_equal(fold_add(f, str_of(fine[i])), 0);
    fold_free(f);
    assert_null(fold_new(z, 5, 4));
    assert_null(fold_new(z, INT32_MIN, INT32_MAX));
    zone_free(z);
}

/* ---- key ---- */

static void netrc_is_read_as_others_read_it(void **unused)
{
    static const struct {
        const char *text, *want; /* NULL: none; "!": refused */
    } cases[] = {
        {"machine api.wandb.ai login user password KEY", "KEY"},
        {"machine api.wandb.ai\n  login user\n  password KEY\n", "KEY"},
        {"machine other login a password NO\nmachine api.wandb.ai login user password KEY", "KEY"},
        {"machine api.wandb.ai password KEY login user", "KEY"},
        {"machine api.wandb.ai login user password \"K \\\"Y\"", "K \"Y"},
        {"default login user password ANY", "ANY"},
        {"machine api.wandb.ai login user\ndefault login a password ANY", "ANY"},
        {"# machine api.wandb.ai password NO\nmachine api.wandb.ai password KEY", "KEY"},
        {"macdef x\nmachine api.wandb.ai password NO\n\nmachine api.wandb.ai password KEY", "KEY"},
        {"machine other login a password NO", NULL},
        {"machine api.wandb.ai login user", NULL},
        {"", NULL},
        {"password KEY", "!"},
        {"machine", "!"},
        {"machine api.wandb.ai password", "!"},
        {"machine api.wandb.ai password \"KEY", "!"},
        {"hello", "!"},
    };
    (void)unused;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        AUTO_BUF key = BUF_INIT(KEY_MAX);
        print_message("%s\n", cases[i].text);
        int r = netrc_find(str_of(cases[i].text), STR("api.wandb.ai"), &key);
        assert_int_equal(r, !cases[i].want ? -ENOENT : cases[i].want[0] == '!' ? -EBADMSG : 0);
        if (r == 0)
            assert_true(str_eq(buf_str(&key), cases[i].want));
    }
}

static void the_key_comes_from_the_first_place_that_has_one(void **unused)
{
    char dir[] = "/tmp/wandb_key_XXXXXX", file[64], netrc[64];
    struct err err = {0};
    struct buf key = {0};
    (void)unused;
    assert_non_null(mkdtemp(dir));
    snprintf(file, sizeof(file), "%s/key", dir);
    snprintf(netrc, sizeof(netrc), "%s/netrc", dir);
    assert_int_equal(file_write(file, 0600, "from-file\n", 10, NULL), 0);
    assert_int_equal(file_write(netrc, 0600, "machine api.wandb.ai login u password from-netrc", 48, NULL), 0);
    struct key_params ask = {.flag = "from-flag",
                             .file = file,
                             .base_url = "https://api.wandb.ai:443/x",
                             .env = "from-env",
                             .netrc = netrc};
    static const char *const want[] = {"from-flag", "from-env", "from-file", "from-netrc"};
    for (size_t i = 0; i < ARRAY_LEN(want); i++) {
        assert_int_equal(key_find(&ask, &key, &err), 0);
        assert_string_equal(key.p, want[i]);
        key_wipe(&key);
        *(i == 0 ? &ask.flag : i == 1 ? &ask.env : &ask.file) = "";
    }
    ask.base_url = "https://wandb.example";
    assert_int_equal(key_find(&ask, &key, &err), -ENOENT);
    assert_non_null(strstr(err.msg, "machine wandb.example login user password KEY"));
    /* what is not one is refused, and not shown */
    ask.flag = "secret word";
    assert_int_equal(key_find(&ask, &key, &err), -EINVAL);
    assert_null(strstr(err.msg, "secret"));
    assert_int_equal(file_write(netrc, 0600, "machine \"", 9, NULL), 0);
    ask.flag = NULL;
    assert_int_equal(key_find(&ask, &key, &err), -EBADMSG);
    ask.file = "/nonexistent/key";
    assert_true(key_find(&ask, &key, &err) < 0);
    unlink(file);
    unlink(netrc);
    rmdir(dir);
}

TESTS(cmocka_unit_test(the_old_config_is_read_as_it_is), cmocka_unit_test(our_own_keys_stand_beside_theirs),
      cmocka_unit_test(a_config_that_is_wrong_is_refused_with_its_line),
      cmocka_unit_test(days_of_a_pull_follow_the_old_rule), cmocka_unit_test(times_are_read_with_and_without_a_zone),
      cmocka_unit_test(a_run_is_read_with_everything_or_almost_nothing),
      cmocka_unit_test(a_run_is_named_in_the_ways_people_write_it), cmocka_unit_test(a_run_counts_or_there_is_a_reason),
      cmocka_unit_test(samples_become_exact_means_and_maxima_of_days),
      cmocka_unit_test(what_is_not_a_sample_is_refused_whole), cmocka_unit_test(netrc_is_read_as_others_read_it),
      cmocka_unit_test(the_key_comes_from_the_first_place_that_has_one))
