/* Options: flags, environment, env files, --help, man pages. */
#include "test.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/file.h"
#include "base/mem.h"
#include "base/order.h"
#include "opt_table.h"

/* Parse up to eight arguments; the conf is left for the caller to look at and to opt_fini. */
static int parse(struct conf *c, const char *const args[], bool mixed, int *argi, char *argv[10], struct err *err)
{
    int argc = 1;

    argv[0] = (char *)"prog";
    for (; argc < 9 && args[argc - 1]; argc++)
        argv[argc] = (char *)args[argc - 1];
    argv[argc] = NULL;
    opt_defaults(table, c);
    *err = (struct err){0};
    *argi = -1;
    return (mixed ? opt_args_mixed : opt_args)(table, c, argc, argv, argi, err);
}

static void a_conf_begins_with_its_defaults(void **unused)
{
    struct conf c;

    (void)unused;
    memset(&c, 0x5a, sizeof(c));
    opt_defaults(table, &c);
    assert_int_equal(c.interval, 10);
    assert_false(c.demo);
    assert_true(c.color);
    assert_null(c.hub);
    assert_string_equal(c.data, "/var/lib/muster");
    assert_int_equal(c.keep, 30 * 86400000ll);
    assert_int_equal(c.util, 500);
    assert_int_equal(c.room, 512 << 20);
    assert_int_equal(c.collector, 0);
    assert_int_equal(c.level, 2);
    assert_int_equal(c.node.n, 2);
    assert_string_equal(c.node.v[1], "b");
    assert_int_equal(c.tags.n, 0);
    opt_fini(table, &c);
    assert_null(c.data);
    opt_fini(table, &c); /* twice does no harm */
    opt_fini(table, NULL);
}

static void a_flag_sets_its_value(void **unused)
{
    static const struct {
        const char *args[6];
        int64_t interval, util;
        bool demo, color;
        const char *hub;
        int argi;
    } cases[] = {
        {{"--interval", "5"}, 5, 500, false, true, NULL, 3},
        {{"--interval=5", "rest"}, 5, 500, false, true, NULL, 2},
        {{"-i", "7", "--demo"}, 7, 500, true, true, NULL, 4},
        {{"-i7"}, 7, 500, false, true, NULL, 2},
        {{"-di7"}, 7, 500, true, true, NULL, 2},
        {{"--no-color", "--demo=false"}, 10, 500, false, false, NULL, 3},
        {{"--no_color"}, 10, 500, false, false, NULL, 2},
        {{"--rule-util", "12.5%"}, 10, 1250, false, true, NULL, 3},
        {{"--rule.util=3"}, 10, 300, false, true, NULL, 2},
        {{"--rule_util=3"}, 10, 300, false, true, NULL, 2},
        {{"--hub=a=b"}, 10, 500, false, true, "a=b", 2},
        {{"--hub=x", "--hub="}, 10, 500, false, true, NULL, 3},
        {{"--hub", "-"}, 10, 500, false, true, "-", 3},
        {{"-"}, 10, 500, false, true, NULL, 1},
        {{"--", "--interval", "5"}, 10, 500, false, true, NULL, 2},
        {{"word", "--interval", "5"}, 10, 500, false, true, NULL, 1},
        {{NULL}, 10, 500, false, true, NULL, 1},
    };

    (void)unused;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct conf c;
        struct err err;
        char *argv[10];
        int argi;
        print_message("%zu: %s\n", i, cases[i].args[0] ? cases[i].args[0] : "");
        assert_int_equal(parse(&c, cases[i].args, false, &argi, argv, &err), 0);
        assert_int_equal(c.interval, cases[i].interval);
        assert_int_equal(c.util, cases[i].util);
        assert_int_equal(c.demo, cases[i].demo);
        assert_int_equal(c.color, cases[i].color);
        assert_int_equal(argi, cases[i].argi);
        if (cases[i].hub)
            assert_string_equal(c.hub, cases[i].hub);
        else
            assert_null(c.hub);
        opt_fini(table, &c);
    }
}

static void a_bad_flag_gets_one_clear_sentence(void **unused)
{
    static const struct {
        const char *args[4], *want;
    } cases[] = {
        {{"--intervall", "5"}, "unknown option '--intervall' (did you mean '--interval'?)"},
        {{"--rule-utl=5"}, "unknown option '--rule-utl' (did you mean '--rule-util'?)"},
        {{"--inter"}, "unknown option '--inter' (did you mean '--interval'?)"},
        {{"--zzz"}, "unknown option '--zzz'"},
        {{"--no-hub"}, "unknown option '--no-hub'"},
        {{"-z"}, "unknown option '-z'"},
        {{"--interval", "0"}, "--interval: '0' is below 1"},
        {{"--interval=3601"}, "--interval: '3601' is above 3600"},
        {{"--interval", "ten"}, "--interval: 'ten' is not a whole number"},
        {{"--interval", "3x"}, "--interval: '3x' is not a whole number"},
        {{"-i", ""}, "-i: '' is not a whole number"},
        {{"--interval"}, "--interval needs a value: SECONDS"},
        {{"-i"}, "-i needs a value: SECONDS"},
        {{"--keep-raw=10m"}, "--keep-raw: '10m' is below 1h"},
        {{"--keep-raw=soon"}, "--keep-raw: 'soon' is not a length of time (like 500ms, 10s, 5m or 1h30m)"},
        {{"--rule-util=101"}, "--rule-util: '101' is above 100%"},
        {{"--rule-util=x"}, "--rule-util: 'x' is not a percentage (like 5 or 12.5%)"},
        {{"--rule-room=2T"}, "--rule-room: '2T' is above 1T"},
        {{"--rule-room=lots"}, "--rule-room: 'lots' is not a size (like 512, 40M or 1.5G)"},
        {{"--rule-offset=-6"}, "--rule-offset: '-6' is below -5"},
        {{"-c", "amd"}, "-c: 'amd' is not one of auto, nvml, smi"},
        {{"--demo=maybe"}, "--demo: 'maybe' is not yes or no"},
        {{"--no-demo=yes"}, "--no-demo accepts no value"},
        {{"--hub", "a\nb"}, "--hub: the value has control characters or is not UTF-8"},
        {{"--token", "s3cret\x01"}, "--token: the value is not plain text"},
    };

    (void)unused;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct conf c;
        struct err err;
        char *argv[10];
        int argi;
        assert_int_equal(parse(&c, cases[i].args, false, &argi, argv, &err), -EINVAL);
        assert_string_equal(err.msg, cases[i].want);
        assert_int_equal(err.code, -EINVAL);
        assert_int_equal(argi, -1);
        opt_fini(table, &c);
    }
}

static void help_is_asked_for_not_printed(void **unused)
{
    static const char *const cases[][4] = {{"--help"}, {"-h"}, {"-dh"}, {"--interval=5", "--help", "--nonsense"}};

    (void)unused;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct conf c;
        struct err err;
        char *argv[10];
        int argi;
        assert_int_equal(parse(&c, cases[i], false, &argi, argv, &err), 1);
        opt_fini(table, &c);
    }
}

static void a_list_flag_replaces_the_default_and_repeats(void **unused)
{
    static const char *const args[] = {"-n", "x,y", "--node=z", NULL};
    struct conf c;
    struct err err;
    char *argv[10];
    int argi;

    (void)unused;
    assert_int_equal(parse(&c, args, false, &argi, argv, &err), 0);
    assert_int_equal(c.node.n, 2);
    assert_string_equal(c.node.v[0], "x,y"); /* a name may have a comma: node[1,3] */
    assert_string_equal(c.node.v[1], "z");
    opt_fini(table, &c);
}

static void mixed_operands_move_to_the_end_in_order(void **unused)
{
    static const struct {
        const char *args[8], *operands[4];
        int64_t interval;
    } cases[] = {
        {{"a", "-i", "3", "b"}, {"a", "b"}, 3},
        {{"a", "b"}, {"a", "b"}, 10},
        {{"-i3", "a", "--", "-i", "4"}, {"a", "-i", "4"}, 3},
        {{"a", "--hub", "a", "b"}, {"a", "b"}, 10},
        {{"-i", "3"}, {NULL}, 3},
    };

    (void)unused;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct conf c;
        struct err err;
        char *argv[10];
        int argi;
        assert_int_equal(parse(&c, cases[i].args, true, &argi, argv, &err), 0);
        assert_int_equal(c.interval, cases[i].interval);
        for (size_t k = 0; cases[i].operands[k]; k++)
            assert_string_equal(argv[(size_t)argi + k], cases[i].operands[k]);
        opt_fini(table, &c);
    }
}

static void environment_fills_options_and_nothing_else(void **unused)
{
    struct conf c;
    struct err err = {0};

    (void)unused;
    opt_defaults(table, &c);
    setenv("MUSTER_INTERVAL", "20", 1);
    setenv("MUSTER_RULE_UTIL", "7", 1);
    setenv("MUSTER_NODE", "x, y,,z", 1);
    setenv("MUSTER_HUB", "", 1);
    setenv("MUSTER_NOT_OURS", "junk", 1);
    assert_int_equal(opt_env(table, &c, &err), 0);
    assert_int_equal(c.interval, 20);
    assert_int_equal(c.util, 700);
    assert_null(c.hub);
    assert_int_equal(c.node.n, 3);
    assert_string_equal(c.node.v[1], "y");
    setenv("MUSTER_INTERVAL", "never", 1);
    assert_int_equal(opt_env(table, &c, &err), -EINVAL);
    assert_string_equal(err.msg, "MUSTER_INTERVAL: 'never' is not a whole number");
    unsetenv("MUSTER_INTERVAL");
    unsetenv("MUSTER_RULE_UTIL");
    unsetenv("MUSTER_NODE");
    unsetenv("MUSTER_HUB");
    unsetenv("MUSTER_NOT_OURS");
    opt_fini(table, &c);
}

static void an_env_file_is_read_by_line(void **unused)
{
    static const struct {
        const char *text, *want; /* NULL: fine */
        const char *hub;
    } cases[] = {
        {"# note\n; too\n\nMUSTER_HUB=http://h:1\r\n", NULL, "http://h:1"},
        {"MUSTER_HUB=\"a \\\"b\\\" \\\\c\"", NULL, "a \"b\" \\c"},
        {" MUSTER_HUB = 'x' \n", "f:1: unknown name 'MUSTER_HUB ' (did you mean 'MUSTER_HUB'?)", NULL},
        {"MUSTER_HUB= 'x y' \n", NULL, "x y"},
        {"MUSTER_HUB=\n", NULL, NULL},
        {"MUSTER_HUB='x\n", "f:1: MUSTER_HUB: a quote is not closed", NULL},
        {"MUSTER_HUB='x'y\n", "f:1: MUSTER_HUB: text after the closing quote", NULL},
        {"\nMUSTER_INTERVL=5\n", "f:2: unknown name 'MUSTER_INTERVL' (did you mean 'MUSTER_INTERVAL'?)", NULL},
        {"PATH=/bin\n", "f:1: unknown name 'PATH'", NULL},
        {"MUSTER_HUB\n", "f:1: expected MUSTER_NAME=value", NULL},
        {"MUSTER_INTERVAL=0\n", "f:1: MUSTER_INTERVAL: '0' is below 1", NULL},
        {"MUSTER_ONLY_FLAG=1\n", "f:1: MUSTER_ONLY_FLAG cannot be set in a file", NULL},
    };

    (void)unused;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct conf c;
        struct err err = {0};
        print_message("%s\n", cases[i].text);
        opt_defaults(table, &c);
        int r = opt_env_text(table, &c, str_of(cases[i].text), "f", &err);
        assert_int_equal(r, cases[i].want ? -EINVAL : 0);
        assert_string_equal(err.msg, cases[i].want ? cases[i].want : "");
        if (cases[i].hub)
            assert_string_equal(c.hub, cases[i].hub);
        opt_fini(table, &c);
    }
    struct conf c;
    struct err err = {0};
    opt_defaults(table, &c);
    assert_int_equal(opt_env_file(table, &c, "/nonexistent/env", &err), -ENOENT);
    opt_fini(table, &c);
}

static const struct opt_cmd cmd = {
    .name = "muster ls",
    .summary = "list devices, one line each",
    .args = "[FILTER]",
    .about = "First paragraph, which is long enough that it has to be wrapped somewhere, since a line of help is never "
             "wider than a hundred columns.\n\n  kept as it is\n\n.dots and 'quotes and back\\slash at a line's start.",
    .examples = "muster ls       # all of them\nmuster ls 'a-b'  # some",
    .opts = table,
};

static void help_says_all_there_is_in_a_hundred_columns(void **unused)
{
    static const char *const want[] = {
        "Usage: muster ls [OPTIONS] [FILTER]\n",
        "  -i, --interval SECONDS ",
        "time between samples (default: 10; 1 to 3600)",
        "--[no-]color ",
        "colours on the screen (default: on)",
        "(one of auto, nvml, smi; default: auto)",
        "(default: 30d; at least 1h)",
        "(default: 5%; 0% to 100%)",
        "(default: a,b; may be repeated)",
        "memory that does not count (default: half of it; 0 to 1T)",
        "  -h, --help ",
        "\n  kept as it is\n",
        "\nExamples:\n  muster ls       # all of them\n",
    };
    AUTO_BUF out = BUF_INIT(20000);
    struct str rest, line;

    (void)unused;
    assert_int_equal(opt_help(&cmd, &out), 0);
    for (size_t i = 0; i < ARRAY_LEN(want); i++) {
        print_message("'%s'\n", want[i]);
        assert_true(str_find(buf_str(&out), want[i]) >= 0);
    }
    assert_int_equal(str_find(buf_str(&out), "rule-offset"), -1); /* hidden */
    rest = buf_str(&out);
    while (str_line(&rest, &line)) {
        assert_true(str_width(line) <= 100);
        assert_false(str_ends(line, " "));
    }
}

static void a_man_page_has_no_line_that_is_a_request_by_chance(void **unused)
{
    static const char *const want[] = {
        ".TH MUSTER\\-LS 1 ",
        ".SH NAME\nmuster\\-ls \\- list devices, one line each\n",
        "\n\\&.dots and 'quotes and back\\eslash",
        "\\fB\\-i\\fR, \\fB\\-\\-interval\\fR \\fISECONDS\\fR\n",
        "Environment: \\%MUSTER_RULE_UTIL.",
        ".SH EXAMPLES\n.nf\nmuster ls       # all of them\n",
    };
    static const char *const requests[] = {".TH ", ".SH ", ".PP", ".TP", ".nf", ".fi", ".BR "};
    AUTO_BUF out = BUF_INIT(40000);
    struct str rest, line;

    (void)unused;
    assert_int_equal(opt_man(&cmd, &out), 0);
    for (size_t i = 0; i < ARRAY_LEN(want); i++) {
        print_message("'%s'\n", want[i]);
        assert_true(str_find(buf_str(&out), want[i]) >= 0);
    }
    rest = buf_str(&out);
    while (str_line(&rest, &line)) {
        bool known = !str_starts(line, ".") && !str_starts(line, "'");
        for (size_t i = 0; i < ARRAY_LEN(requests); i++)
            known |= str_starts(line, requests[i]);
        assert_true(known);
        assert_true(line.len > 0);
    }
}

static void printing_past_the_maximum_fails_and_is_bounded(void **unused)
{
    AUTO_BUF out = BUF_INIT(50);

    (void)unused;
    assert_int_equal(opt_help(&cmd, &out), -EMSGSIZE);
    buf_reset(&out);
    assert_int_equal(opt_man(&cmd, &out), -EMSGSIZE);
    assert_true(out.len <= 50);
}

static void a_fixed_option_that_differs_is_found(void **unused)
{
    struct opt opts[] = {OPT(conf, demo, 0, OPT_BOOL, NULL, NULL, ""),
                         OPT(conf, interval, 0, OPT_INT, "10", "N", ""),
                         OPT(conf, hub, 0, OPT_STR, NULL, "URL", ""),
                         OPT(conf, node, 0, OPT_LIST, NULL, "NAME", ""),
                         OPT(conf, collector, 0, OPT_CHOICE, "auto", "NAME", "", .choices = collector_names),
                         {0}};
    static const char *const other[] = {"yes", "11", "http://a", "b", "smi"};

    (void)unused;
    for (size_t i = 0; i < ARRAY_LEN(other); i++) {
        struct conf a = {0}, b = {0};
        struct err err = {0};
        opt_defaults(opts, &a);
        opt_defaults(opts, &b);
        opts[i].fixed = true;
        assert_null(opt_fixed_differs(opts, &a, &b));
        assert_int_equal(opt_set(&opts[i], &b, str_of(other[i]), &err), 0);
        assert_ptr_equal(opt_fixed_differs(opts, &a, &b), &opts[i]);
        assert_int_equal(opt_set(&opts[i], &a, str_of(other[i]), &err), 0);
        assert_null(opt_fixed_differs(opts, &a, &b));
        opts[i].fixed = false;
        opt_clear(&opts[i], &a);
        assert_null(opt_fixed_differs(opts, &a, &b)); /* others may change */
        opt_fini(opts, &a);
        opt_fini(opts, &b);
    }
}

static void one_option_can_be_read_ahead_in_every_form(void **unused)
{
    static const struct {
        const char *args[8];
        const char *want;
    } cases[] = {
        {{"x", "--hub", "a"}, "a"},
        {{"x", "--hub=a"}, "a"},
        {{"x", "-H", "a"}, "a"},
        {{"x", "-Ha"}, "a"},
        {{"x", "-dHa"}, "a"},
        {{"x", "-dH", "a"}, "a"},
        {{"x", "operand", "-H", "a"}, "a"},
        {{"x", "--", "-H", "a"}, NULL},
        {{"x", "-H", "a", "--hub=b"}, "b"},
        {{"x", "--token", "-H", "b"}, NULL},
        {{"x", "-t", "--hub=a"}, NULL},
        {{"x", "--no-such", "-H", "a"}, NULL},
        {{"x", "-H"}, NULL},
        {{"x"}, NULL},
    };
    (void)unused;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        int argc = (int)FIRST(ARRAY_LEN(cases[i].args), k, !cases[i].args[k]);
        char *argv[8];
        memcpy(argv, cases[i].args, sizeof(argv));
        print_message("case %zu\n", i);
        const char *got = opt_args_peek(table, "hub", true, argc, argv);
        assert_true(str_same(got, cases[i].want));
        assert_memory_equal(argv, cases[i].args, sizeof(argv));
    }
    char *leads[] = {"x", "-d", "program", "-H", "a"};
    assert_null(opt_args_peek(table, "hub", false, 5, leads)); /* the other program's flag */
    assert_null(opt_args_peek(table, "none", true, 5, leads));
}

static void a_flag_is_dropped_where_it_is_not_a_value(void **unused)
{
    char *argv[] = {"x", "--hub", "--color", "--color", "a", "-i", "5", "--color", "--", "--color", NULL};
    static const char *const want[] = {"x", "--hub", "--color", "a", "-i", "5", "--", "--color"};
    (void)unused;
    assert_int_equal(opt_args_drop(table, "color", ARRAY_LEN(argv) - 1, argv), ARRAY_LEN(want));
    for (size_t i = 0; i < ARRAY_LEN(want); i++)
        assert_string_equal(argv[i], want[i]);
    assert_null(argv[ARRAY_LEN(want)]);
}

TESTS(cmocka_unit_test(a_flag_is_dropped_where_it_is_not_a_value),
      cmocka_unit_test(one_option_can_be_read_ahead_in_every_form), cmocka_unit_test(a_conf_begins_with_its_defaults),
      cmocka_unit_test(a_flag_sets_its_value), cmocka_unit_test(a_bad_flag_gets_one_clear_sentence),
      cmocka_unit_test(help_is_asked_for_not_printed), cmocka_unit_test(a_list_flag_replaces_the_default_and_repeats),
      cmocka_unit_test(mixed_operands_move_to_the_end_in_order),
      cmocka_unit_test(environment_fills_options_and_nothing_else), cmocka_unit_test(an_env_file_is_read_by_line),
      cmocka_unit_test(help_says_all_there_is_in_a_hundred_columns),
      cmocka_unit_test(a_man_page_has_no_line_that_is_a_request_by_chance),
      cmocka_unit_test(printing_past_the_maximum_fails_and_is_bounded),
      cmocka_unit_test(a_fixed_option_that_differs_is_found))
