/* The rules that say how many GPUs a run has: the language, every rule the old dashboard had, and the regular
 * expressions within. */
#include "test.h"

#include <errno.h>
#include <jansson.h>

#include "base/buf.h"
#include "wandb_pull/config.h"
#include "wandb_pull/pattern.h"
#include "wandb_pull/rule.h"

#define COMPANIES                                                                                                      \
    "companies:\n"                                                                                                     \
    "  - company: acme\n"                                                                                              \
    "    teams: [acme-a, acme-b]\n"                                                                                    \
    "    schedule: [{date: 2024-01-01, assigned_gpu_node: 4}]\n"

/* A node of runs.edges whose config is `config`, JSON as the server has it inside a string. */
static json_t *node_of(const char *config, const char *summary, const char *description, int gpus)
{
    json_t *node = json_pack("{s:s, s:s, s:s, s:s*, s:s*, s:s*}", "name", "abcd1234", "createdAt",
                             "2024-11-01T00:00:00", "heartbeatAt", "2024-11-01T10:00:00", "config", config,
                             "summaryMetrics", summary, "description", description);
    if (gpus >= 0)
        json_object_set_new(node, "runInfo", json_pack("{s:s, s:i}", "gpu", "NVIDIA H100", "gpuCount", gpus));
    return node;
}

static int run_expr(const char *text, const char *config, const char *summary, const char *description, int gpus,
                    const char *metadata, int32_t *ret)
{
    struct rule_expr *e = NULL;
    struct err err = {0};
    struct run_node run;
    if (rule_expr_new(str_of(text), &e, &err) < 0) {
        print_message("%s\n", err.msg);
        return err.code;
    }
    json_t *node = node_of(config, summary, description, gpus);
    assert_int_equal(run_node_read(node, &run, NULL), 0);
    if (metadata)
        run_node_metadata(&run, str_of(metadata));
    int r = rule_expr_run(e, &run, NULL, ret, NULL);
    run_node_fini(&run);
    json_decref(node);
    rule_expr_free(e);
    return r;
}

static void expressions_have_a_value_or_none(void **unused)
{
    static const struct {
        const char *expr, *config;
        int want; /* GPUs, or -ENODATA */
    } cases[] = {
        {"8", "{}", 8},
        {"0", "{}", 0}, /* written: meant */
        {"config.n", "{\"n\":{\"value\":0}}", -ENODATA},
        {"config.n or 0", "{}", 0},
        {"config.n or 0", "{\"n\":{\"value\":0}}", 0},
        {"config.n", "{\"n\":{\"value\":16,\"desc\":null}}", 16},
        {"config.n", "{\"n\":16}", 16},
        {"config.n", "{\"n\":{\"value\":\"16\"}}", 16},
        {"config.n", "{\"n\":\" 16 \"}", 16},
        {"config.n", "{\"n\":\"{\\\"value\\\": 16}\"}", 16},
        {"config.n", "{\"n\":\"{'value': 16}\"}", 16},
        {"config.n", "{\"n\":{\"value\":\"{'value': '16'}\"}}", 16},
        {"config.n", "{\"n\":{\"value\":16.0}}", 16},
        {"config.n", "{\"n\":{\"value\":null}}", -ENODATA},
        {"config.n", "{\"n\":null}", -ENODATA},
        {"config.n", "{\"n\":{\"value\":true}}", -ENODATA},
        {"config.n", "{\"n\":{\"value\":[8]}}", -ENODATA},
        {"config.n", "{\"n\":{\"value\":\"eight\"}}", -ENODATA},
        {"config.n", "{\"n\":{\"value\":-8}}", -ENODATA},
        {"config.n", "{\"n\":{\"value\":1e30}}", -ENODATA},
        {"config.n", "not JSON", -ENODATA},
        {"config.n", "[1]", -ENODATA},
        {"config.a.b", "{\"a.b\":{\"value\":2},\"a\":{\"value\":{\"b\":3}}}", 2}, /* flat first */
        {"config.a.b", "{\"a\":{\"value\":{\"b\":3}}}", 3},
        {"config.a.b", "{\"a\":{\"b\":{\"value\":3}}}", 3},
        {"config.a.b.c", "{\"a.b\":{\"value\":{\"c\":4}}}", 4},
        {"config[\"world size\"]", "{\"world size\":{\"value\":24}}", 24},
        {"config['world size']", "{\"world size\":{\"value\":24}}", 24},
        {"config['a-b'].c", "{\"a-b\":{\"value\":{\"c\":5}}}", 5},
        {"config.a * config.b", "{\"a\":{\"value\":2},\"b\":{\"value\":8}}", 16},
        {"config.a * config.b", "{\"a\":{\"value\":2}}", -ENODATA},
        {"config.a * config.b or config.c", "{\"a\":{\"value\":2},\"c\":{\"value\":7}}", 7},
        {"1 + 2 * 3", "{}", 7},
        {"(1 + 2) * 3", "{}", 9},
        {"16 - 4 - 2", "{}", 10},
        {"64 / 8 / 2", "{}", 4},
        {"1 / 3 * 24", "{}", 8}, /* exact */
        {"5 / 2", "{}", 3},      /* rounded once, half up */
        {"8 / 0", "{}", -ENODATA},
        {"8 / config.z", "{\"z\":{\"value\":0}}", -ENODATA},
        {"1 - 2", "{}", -ENODATA},
        {"min(8, config.n)", "{\"n\":{\"value\":3}}", 3},
        {"max(8, config.n, 2)", "{\"n\":{\"value\":3}}", 8},
        {"max(8, config.n)", "{}", -ENODATA},
        {"gpu_count", "{}", 8},
        {"gpu_count * 2", "{}", 16},
        {"cpu_count", "{}", -ENODATA},
        {"match(gpu, \"H(100)\")", "{}", 100},
        {"match(config.n, \"^([0-9]+)x\")", "{\"n\":{\"value\":\"4x8\"}}", 4},
        {"match(config.n, \"x\\d+$\")", "{\"n\":{\"value\":\"4x8\"}}", -ENODATA}, /* matches x8, which is no number */
        {"9000000000 * 9000000000 * 9000000000", "{}", -ENODATA},
        {"10000001", "{}", -ENODATA},
        {"10000000", "{}", 10000000},
        {"10000000.6", "{}", -ENODATA},
    };
    (void)unused;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        int32_t v = -1;
        print_message("%s of %s\n", cases[i].expr, cases[i].config);
        int r = run_expr(cases[i].expr, cases[i].config, NULL, NULL, 8, NULL, &v);
        assert_int_equal(r < 0 ? r : v, cases[i].want);
    }
}

static void an_expression_that_is_wrong_is_refused_with_its_column(void **unused)
{
    static const struct {
        const char *expr, *want;
    } cases[] = {
        {"", "column 1: expected a number, a name or '('"},
        {"8 *", "column 4: expected a number, a name or '('"},
        {"8 8", "column 3: expected + - * / or 'or'"},
        {"(8", "column 3: expected ')'"},
        {"nodes * 8", "column 1: 'nodes' is not known: there are config.NAME"},
        {"config * 8", "column 1: expected a name within it, as config.num_nodes"},
        {"config. * 8", "column 8: expected a name behind the dot"},
        {"host.x", "column 1: 'host' has no parts"},
        {"config[\"a", "column 8: the quotes are not closed"},
        {"config[a]", "column 8: expected text in quotes"},
        {"8x", "column 1: expected a number, as 8 or 0.5"},
        {"match(description)", "column 18: expected ',' and a regular expression in quotes"},
        {"match(description, \"(\")", "column 20: '(' without ')'"},
        {"match(8, \"x\")", "column 7: '8' is not known"},
        {"min 8", "column 5: expected '('"},
        {"config.a.b.c.d.e.f.g.h.i", "column 23: more than 8 parts"},
        {"8 or", "column 5: expected a number, a name or '('"},
        {"\xff", "column 1: expected plain text"},
    };
    (void)unused;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct rule_expr *e = NULL;
        struct err err = {0};
        assert_int_equal(rule_expr_new(str_of(cases[i].expr), &e, &err), -EINVAL);
        assert_null(e);
        err.msg[strlen(cases[i].want)] = 0;
        assert_string_equal(err.msg, cases[i].want);
    }
}

static void expressions_are_capped(void **unused)
{
    AUTO_BUF deep = BUF_INIT(4000), many = BUF_INIT(4000), ors = BUF_INIT(4000);
    struct rule_expr *e = NULL;
    struct err err = {0};
    (void)unused;
    buf_fill(&deep, '(', 100);
    buf_adds(&deep, "8");
    buf_fill(&deep, ')', 100);
    assert_int_equal(rule_expr_new(buf_str(&deep), &e, &err), -EINVAL);
    buf_adds(&many, "1");
    for (int i = 0; i < 150; i++)
        buf_adds(&many, "+1");
    assert_int_equal(rule_expr_new(buf_str(&many), &e, &err), -EINVAL);
    buf_fill(&many, ' ', 1000);
    assert_int_equal(rule_expr_new(buf_str(&many), &e, &err), -EINVAL);
    buf_adds(&ors, "config.a");
    for (int i = 0; i < 80; i++)
        buf_adds(&ors, " or 3");
    assert_int_equal(rule_expr_new(buf_str(&ors), &e, &err), 0);
    rule_expr_free(e);
}

/* ---- every rule that predecessors.md lists in 1.6, in our language ---- */

static const char all_rules[] =
    COMPANIES "gpu_count:\n"
              "  - {team: t-NUM_NODES, gpus: config.NUM_NODES * 8}\n"
              "  - {team: t-NNODES, gpus: config.NNODES * 8}\n"
              "  - {team: t-nnodes, gpus: config.nnodes * 8}\n"
              "  - {team: t-trainer, gpus: config.trainer.num_nodes * 8}\n"
              "  - {team: t-nodes-gpus, gpus: config.num_nodes * config.num_gpus}\n"
              "  - {team: t-per-node, gpus: config.num_nodes * config.num_gpus_per_node}\n"
              "  - {team: t-NUM_GPUS, gpus: config.NNODES * config.NUM_GPUS}\n"
              "  - {team: t-world, gpus: 'config.world_size or config[\"world size\"]'}\n"
              "  - {team: t-ntasks, gpus: config.SLURM_NTASKS}\n"
              "  - {team: t-gpu_num, gpus: config.gpu_num}\n"
              "  - {team: t-summary, gpus: summary.gpus}\n"
              "  - {team: t-description, gpus: 'match(description, \"([0-9]+) ?Nodes?\") * 8'}\n"
              "  - {team: t-slurm, gpus: metadata.slurm.nnodes * 8}\n"
              "  - {team: t-const, project: small-*, gpus: 16}\n"
              "  - {team: t-const, project: [big, large], gpus: 64}\n"
              "  - {team: t-const, project: huge, gpus: 80}\n"
              "  - {team: t-window, from: 2024-11-01, to: 2024-11-30, gpus: 96}\n"
              "  - {team: t-zero, project: [sandbox, 'test-*'], gpus: 0}\n"
              "  - {team: t-no-info, gpus: gpu_count or 8}\n"
              "  - {team: t-general, gpus: config.num_nodes * config.num_gpus or config.world_size}\n";

#define V(k, v) "{\"" k "\":{\"value\":" v "}}"

static void every_rule_of_the_old_dashboard_can_be_said(void **unused)
{
    static const struct {
        const char *team, *project, *day, *config, *summary, *description, *metadata;
        int gpus; /* runInfo's; -1: no runInfo */
        int want;
        int rule; /* its number; 0: runInfo.gpuCount */
    } cases[] = {
        {"t-NUM_NODES", "p", NULL, V("NUM_NODES", "4"), NULL, NULL, NULL, 8, 32, 1},
        {"t-NUM_NODES", "p", NULL, V("NUM_NODES", "\"4\""), NULL, NULL, NULL, 8, 32, 1},
        {"t-NUM_NODES", "p", NULL, V("NUM_NODES", "\"?\""), NULL, NULL, NULL, 8, 8, 0}, /* unreadable: runInfo */
        {"t-NNODES", "p", NULL, V("NNODES", "2"), NULL, NULL, NULL, 8, 16, 2},
        {"t-nnodes", "p", NULL, V("nnodes", "3"), NULL, NULL, NULL, 8, 24, 3},
        {"t-trainer", "p", NULL, V("trainer", "{\"num_nodes\":2}"), NULL, NULL, NULL, 8, 16, 4},
        {"t-trainer", "p", NULL, V("trainer.num_nodes", "5"), NULL, NULL, NULL, 8, 40, 4},
        {"t-nodes-gpus", "p", NULL, "{\"num_nodes\":{\"value\":2},\"num_gpus\":{\"value\":4}}", NULL, NULL, NULL, 8, 8,
         5},
        {"t-per-node", "p", NULL, "{\"num_nodes\":{\"value\":2},\"num_gpus_per_node\":{\"value\":8}}", NULL, NULL, NULL,
         8, 16, 6},
        {"t-NUM_GPUS", "p", NULL, "{\"NNODES\":{\"value\":2},\"NUM_GPUS\":{\"value\":6}}", NULL, NULL, NULL, 8, 12, 7},
        {"t-world", "p", NULL, V("world_size", "128"), NULL, NULL, NULL, 8, 128, 8},
        {"t-world", "p", NULL, V("world size", "64"), NULL, NULL, NULL, 8, 64, 8},
        {"t-ntasks", "p", NULL, V("SLURM_NTASKS", "\"32\""), NULL, NULL, NULL, 8, 32, 9},
        {"t-gpu_num", "p", NULL, V("gpu_num", "24"), NULL, NULL, NULL, 8, 24, 10},
        {"t-summary", "p", NULL, "{}", "{\"gpus\": 48, \"_runtime\": 1}", NULL, NULL, 8, 48, 11},
        {"t-description", "p", NULL, "{}", NULL, "4Node", NULL, 8, 32, 12},
        {"t-description", "p", NULL, "{}", NULL, "pretraining, 16Nodes, second try", NULL, 8, 128, 12},
        {"t-description", "p", NULL, "{}", NULL, "second try", NULL, 8, 8, 0},
        {"t-description", "p", NULL, "{}", NULL, NULL, NULL, 8, 8, 0},
        {"t-slurm", "p", NULL, "{}", NULL, NULL, "{\"slurm\":{\"nnodes\":\"6\"},\"gpu_count\":8}", 8, 48, 13},
        {"t-slurm", "p", NULL, "{}", NULL, NULL, "", 8, 8, 0}, /* there is no such file */
        {"t-const", "small-1", NULL, "{}", NULL, NULL, NULL, 8, 16, 14},
        {"t-const", "large", NULL, "{}", NULL, NULL, NULL, 8, 64, 15},
        {"t-const", "huge", NULL, "{}", NULL, NULL, NULL, 8, 80, 16},
        {"t-const", "other", NULL, "{}", NULL, NULL, NULL, 8, 8, 0},
        {"t-window", "p", "2024-10-31", "{}", NULL, NULL, NULL, 8, 8, 0},
        {"t-window", "p", "2024-11-01", "{}", NULL, NULL, NULL, 8, 96, 17},
        {"t-window", "p", "2024-11-30", "{}", NULL, NULL, NULL, 8, 96, 17},
        {"t-window", "p", "2024-12-01", "{}", NULL, NULL, NULL, 8, 8, 0},
        {"t-zero", "test-7", NULL, "{}", NULL, NULL, NULL, 8, 0, 18},
        {"t-zero", "real", NULL, "{}", NULL, NULL, NULL, 8, 8, 0},
        {"t-no-info", "p", NULL, "{}", NULL, NULL, NULL, -1, 8, 19},
        {"t-no-info", "p", NULL, "{}", NULL, NULL, NULL, 4, 4, 19},
        {"t-general", "p", NULL, V("world_size", "16"), NULL, NULL, NULL, 8, 16, 20},
        {"t-general", "p", NULL, V("num_nodes", "16"), NULL, NULL, NULL, 8, 8, 0},
        {"t-none", "p", NULL, V("world_size", "16"), NULL, NULL, NULL, 8, 8, 0},
        {"t-none", "p", NULL, "{}", NULL, NULL, NULL, -1, 0, 0},
    };
    struct wandb_config *c = NULL;
    struct err err = {0};
    (void)unused;
    int r = wandb_config_read(str_of(all_rules), "config.yaml", &c, &err);
    print_message("%s\n", err.msg);
    assert_int_equal(r, 0);
    assert_int_equal(rules_fields(c->rules), RUN_CONFIG | RUN_SUMMARY | RUN_DESCRIPTION | RUN_METADATA);
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct run_node run;
        struct rule_answer a = {0};
        char want[32];
        int32_t day = date_of(2024, 11, 5);
        json_t *node = node_of(cases[i].config, cases[i].summary, cases[i].description, cases[i].gpus);
        print_message("%zu: %s %s\n", i, cases[i].team, cases[i].config);
        if (cases[i].day)
            assert_true(date_parse(str_of(cases[i].day), &day));
        assert_int_equal(run_node_read(node, &run, NULL), 0);
        enum rules_result told = rules_apply(c->rules, cases[i].team, cases[i].project, day, &run, NULL, &a);
        assert_int_equal(told, cases[i].metadata ? RULES_NEED_METADATA : RULES_DONE);
        if (cases[i].metadata) {
            run_node_metadata(&run, str_of(cases[i].metadata));
            assert_int_equal(rules_apply(c->rules, cases[i].team, cases[i].project, day, &run, NULL, &a), RULES_DONE);
        }
        assert_int_equal(a.gpus, cases[i].want);
        assert_int_equal(a.by_rule, cases[i].rule > 0);
        snprintf(want, sizeof(want), cases[i].rule ? "gpu_count[%d]: " : "runInfo.gpuCount", cases[i].rule);
        assert_int_equal(strncmp(a.rule, want, strlen(want)), 0);
        run_node_fini(&run);
        json_decref(node);
    }
    wandb_config_free(c);
}

static void without_rules_the_documented_forms_hold(void **unused)
{
    static const char old[] = COMPANIES "    distributed_learning: false\n"
                                        "  - {company: beta, teams: [beta], distributed_learning: true}\n";
    static const struct {
        const char *team, *config;
        int want;
    } cases[] = {
        {"acme-a", "{\"num_nodes\":{\"value\":2},\"num_gpus\":{\"value\":8},\"world_size\":{\"value\":4}}", 16},
        {"acme-a", V("world_size", "4"), 4},
        {"acme-a", V("world size", "4"), 8},
        {"beta", V("world size", "4"), 4},
        {"acme-a", "{}", 8},
        {"acme-a", V("num_nodes", "2"), 8},
        {"acme-a", V("world_size", "0"), 8},
    };
    struct wandb_config *c = NULL;
    (void)unused;
    assert_int_equal(wandb_config_read(str_of(old), "config.yaml", &c, NULL), 0);
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct run_node run;
        struct rule_answer a = {0};
        json_t *node = node_of(cases[i].config, NULL, NULL, 8);
        print_message("%s %s\n", cases[i].team, cases[i].config);
        assert_int_equal(run_node_read(node, &run, NULL), 0);
        assert_int_equal(rules_apply(c->rules, cases[i].team, "p", 20000, &run, NULL, &a), RULES_DONE);
        assert_int_equal(a.gpus, cases[i].want);
        assert_false(a.by_rule); /* a run without runInfo.gpu is left out all the same, as it was */
        run_node_fini(&run);
        json_decref(node);
    }
    wandb_config_free(c);
}

/* ---- why ---- */

static void add_value(void *arg, const char *name, const char *value)
{
    buf_addf(arg, "%s=%s;", name, value ? value : "-");
}

static void add_rule(void *arg, const char *rule, enum rule_reason why, const char *because)
{
    buf_addf(arg, "%.12s %d %s|", rule, (int)why, because ? because : "");
}

static void it_says_which_rule_applies_and_why_others_do_not(void **unused)
{
    static const char text[] = COMPANIES "gpu_count:\n"
                                         "  - {team: beta-*, gpus: 1}\n"
                                         "  - {project: q, gpus: 2}\n"
                                         "  - {to: 2024-01-01, gpus: 3}\n"
                                         "  - {gpus: config.a * config.b}\n"
                                         "  - {gpus: config.a * 8, name: nodes}\n"
                                         "  - {gpus: 6}\n";
    AUTO_BUF out = BUF_INIT(4000);
    struct wandb_config *c = NULL;
    struct run_node run;
    struct rule_answer a = {0};
    const struct rule_listener told = {add_value, add_rule, &out};
    json_t *node = node_of(V("a", "2"), NULL, NULL, 8);
    (void)unused;
    assert_int_equal(wandb_config_read(str_of(text), "config.yaml", &c, NULL), 0);
    assert_int_equal(run_node_read(node, &run, NULL), 0);
    assert_int_equal(rules_apply(c->rules, "acme-a", "p", date_of(2024, 11, 1), &run, &told, &a), RULES_DONE);
    assert_string_equal(out.p, "gpu_count[1] 1 |gpu_count[2] 2 |gpu_count[3] 3 |"
                               "config.a={\"value\":2};config.b=-;gpu_count[4] 4 config.b is not there|"
                               "config.a={\"value\":2};gpu_count[5] 0 |gpu_count[6] 5 |runInfo.gpuC 5 |");
    assert_string_equal(a.rule, "gpu_count[5] nodes: config.a * 8");
    assert_int_equal(a.gpus, 16);
    run_node_fini(&run);
    json_decref(node);
    wandb_config_free(c);
}

/* ---- regular expressions ---- */

static void patterns_match_as_elsewhere(void **unused)
{
    static const struct {
        const char *pattern, *text, *want; /* NULL: no match */
    } cases[] = {
        {"([0-9]+)Nodes?", "12Node", "12"},
        {"([0-9]+)Nodes?$", "12Nodes", "12"},
        {"(?i)(\\d+) ?NODES?", "on 3 nodes", "3"},
        {"a|b", "xb", "b"},
        {"(a|ab)(c|bcd)(d*)", "abcd", "a"}, /* the first choice that leads on, as Perl and Python have it */
        {"x*", "aaa", ""},
        {"(x)?a", "a", NULL}, /* the group took nothing */
        {"^a", "ba", NULL},
        {"a$", "ab", NULL},
        {"\\bn(\\d)", "in1 n2", "2"},
        {"[^0-9]+", "12ab3", "ab"},
        {"[]a]+", "x]a", "]a"},
        {"[a-]+", "x-a", "-a"},
        {"a{2,3}", "aaaa", "aaa"},
        {"a{2,3}?", "aaaa", "aa"},
        {"(?:ab){2}", "ababab", "abab"},
        {"(a*)*b", "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaac", NULL},        /* at once */
        {"(?:a|a)*(?:a|a)*(?:a|a)*$", "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaab", ""}, /* the one at the end */
        {"", "abc", ""},
        {"()", "abc", ""},
        {"\\.", "a.b", "."},
    };
    (void)unused;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct pattern *p = NULL;
        struct str found = {0};
        struct err err = {0};
        print_message("%s in %s\n", cases[i].pattern, cases[i].text);
        assert_int_equal(pattern_new(str_of(cases[i].pattern), &p, &err), 0);
        bool hit = pattern_find(p, str_of(cases[i].text), &found);
        assert_int_equal(hit, cases[i].want != NULL);
        if (cases[i].want)
            assert_true(str_eq(found, cases[i].want));
        pattern_free(p);
    }
}

static void patterns_that_are_wrong_or_too_much_are_refused(void **unused)
{
    static const char *const cases[] = {"(",
                                        ")",
                                        "[",
                                        "a**",
                                        "*a",
                                        "a{3,2}",
                                        "a{",
                                        "\\1",
                                        "(?=a)",
                                        "[b-a]",
                                        "\\",
                                        "a{201}",
                                        "a{1000000}",
                                        "(((a{90}){90}){90}){90}",
                                        "((((((((((((((((((a))))))))))))))))))"};
    (void)unused;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct pattern *p = NULL;
        struct err err = {0};
        print_message("%s\n", cases[i]);
        assert_int_equal(pattern_new(str_of(cases[i]), &p, &err), -EINVAL);
        assert_null(p);
        assert_true(err.msg[0]);
    }
}

TESTS(cmocka_unit_test(expressions_have_a_value_or_none),
      cmocka_unit_test(an_expression_that_is_wrong_is_refused_with_its_column),
      cmocka_unit_test(expressions_are_capped), cmocka_unit_test(every_rule_of_the_old_dashboard_can_be_said),
      cmocka_unit_test(without_rules_the_documented_forms_hold),
      cmocka_unit_test(it_says_which_rule_applies_and_why_others_do_not), cmocka_unit_test(patterns_match_as_elsewhere),
      cmocka_unit_test(patterns_that_are_wrong_or_too_much_are_refused))
