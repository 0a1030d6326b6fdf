/* muster.yaml: what it takes, what it refuses and where, and that `config show` comes back as it was. */
#include "test.h"

#include <errno.h>
#include <string.h>

#include "base/buf.h"
#include "base/mem.h"
#include "opt_table.h"

static void good_yaml_fills_the_conf(void **unused)
{
    static const char text[] = "# a comment\n"
                               "interval: 30\n"
                               "demo: yes\n"
                               "hub: \"http://h:1/\\u00e9\"\n"
                               "keep-raw: 1h30m\n"
                               "rule:\n"
                               "  util: 7.5%\n"
                               "  room: 1.5G\n"
                               "log: {level: warn}\n"
                               "node: [x, 'y z']\n"
                               "tags:\n"
                               "- one\n"
                               "- \"2\"\n"
                               "data: ~\n"
                               "collector: nvml\n";
    struct conf c;
    struct err err = {0};

    (void)unused;
    opt_defaults(table, &c);
    assert_int_equal(opt_yaml(table, &c, STR(text), "m.yaml", &err), 0);
    assert_int_equal(c.interval, 30);
    assert_true(c.demo);
    assert_string_equal(c.hub, "http://h:1/\xc3\xa9");
    assert_int_equal(c.keep, 5400000);
    assert_int_equal(c.util, 750);
    assert_int_equal(c.room, 3ll << 29);
    assert_int_equal(c.level, 1);
    assert_int_equal(c.node.n, 2);
    assert_string_equal(c.node.v[1], "y z");
    assert_int_equal(c.tags.n, 2);
    assert_string_equal(c.tags.v[1], "2");
    assert_null(c.data);
    assert_int_equal(c.collector, 1);
    opt_fini(table, &c);
}

static void yaml_with_nothing_in_it_keeps_the_defaults(void **unused)
{
    static const char *const cases[] = {"", "# only a comment\n", "---\n", "{}", "rule:\n", "~", "rule: {}"};

    (void)unused;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct conf c;
        struct err err = {0};
        print_message("'%s'\n", cases[i]);
        opt_defaults(table, &c);
        assert_int_equal(opt_yaml(table, &c, str_of(cases[i]), "m.yaml", &err), 0);
        assert_int_equal(c.interval, 10);
        assert_int_equal(c.node.n, 2);
        opt_fini(table, &c);
    }
}

static void bad_yaml_is_refused_with_its_place(void **unused)
{
    static const struct {
        const char *text, *want;
    } cases[] = {
        {"interval: 3x\n", "m.yaml:1:11: interval: '3x' is not a whole number"},
        {"\ninterval: 0", "m.yaml:2:11: interval: '0' is below 1"},
        {"intervall: 5", "m.yaml:1:1: unknown key 'intervall' (did you mean 'interval'?)"},
        {"rule:\n  utill: 5", "m.yaml:2:3: unknown key 'rule.utill' (did you mean 'rule.util'?)"},
        {"rul:\n  util: 5", "m.yaml:1:1: unknown key 'rul' (did you mean 'rule'?)"},
        {"util: 5", "m.yaml:1:1: unknown key 'util' (did you mean 'rule.util'?)"},
        {"nonsense: 5", "m.yaml:1:1: unknown key 'nonsense'"},
        {"rule: 5", "m.yaml:1:7: rule: expected keys under it, each on its own line"},
        {"rule: [a]", "m.yaml:1:7: rule: expected keys under it, each on its own line"},
        {"interval: [5]", "m.yaml:1:11: interval: expected a whole number"},
        {"interval: {a: 5}", "m.yaml:1:11: interval: expected a whole number"},
        {"interval:", "m.yaml:1:10: interval: expected a whole number"},
        {"node: x", "m.yaml:1:7: node: expected a list, like [a, b]"},
        {"node: [[x]]", "m.yaml:1:8: node: expected a list of plain texts"},
        {"node: [x, null]", "m.yaml:1:11: node: expected a list of plain texts"},
        {"hub: [x]", "m.yaml:1:6: hub: expected one text"},
        {"hub: a\nhub: b", "m.yaml:2:1: hub: given twice"},
        {"keep_raw: 1d\nkeep-raw: 1d", "m.yaml:2:1: keep_raw: given twice"},
        {"hub: &x a", "m.yaml:1:6: anchors are not supported: write the value out"},
        {"hub: *x", "m.yaml:1:6: aliases are not supported: write the value out"},
        {"hub: !!str a", "m.yaml:1:6: tags are not supported"},
        {"only_flag: a", "m.yaml:1:1: only_flag: cannot be set in a file"},
        {"hub: \"a\\0b\"", "m.yaml:1:6: hub: the value has control characters or is not UTF-8"},
        {"- a", "m.yaml:1:1: expected 'name: value' lines"},
        {"word", "m.yaml:1:1: expected 'name: value' lines"},
        {"[a]: 5", "m.yaml:1:1: expected a key"},
        {"? [a]\n: 5", "m.yaml:1:3: expected a key"},
        {"\"\": 5", "m.yaml:1:1: an empty key"},
        {"hub: a\n---\nhub: b", "m.yaml:2:1: a second document: there can be one"},
        {"collector: amd", "m.yaml:1:12: collector: 'amd' is not one of auto, nvml, smi"},
    };

    (void)unused;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct conf c;
        struct err err = {0};
        print_message("'%s'\n", cases[i].text);
        opt_defaults(table, &c);
        assert_int_equal(opt_yaml(table, &c, str_of(cases[i].text), "m.yaml", &err), -EINVAL);
        assert_string_equal(err.msg, cases[i].want);
        opt_fini(table, &c);
    }
}

/* What libyaml itself refuses: its words are its own, the place is ours to give. */
static void text_that_is_no_yaml_is_refused_with_its_place(void **unused)
{
    static const struct {
        const char *text, *place;
    } cases[] = {
        {"node: [a", "m.yaml:2:1: "},  {"hub: \"a", "m.yaml:1:8: "}, {"node:\n\t- b", "m.yaml:2:1: "},
        {"hub: a: b", "m.yaml:1:7: "}, {"hub: \xff", "m.yaml: "},    {"hub: a\x01", "m.yaml: "},
    };

    (void)unused;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct conf c;
        struct err err = {0};
        opt_defaults(table, &c);
        assert_int_equal(opt_yaml(table, &c, str_of(cases[i].text), "m.yaml", &err), -EINVAL);
        print_message("'%s': %s\n", cases[i].text, err.msg);
        assert_true(str_starts(str_of(err.msg), cases[i].place) && strlen(err.msg) > strlen(cases[i].place));
        opt_fini(table, &c);
    }
}

static void yaml_is_bounded_in_size_and_depth(void **unused)
{
    AUTO_BUF big = BUF_INIT(2 << 20), deep = BUF_INIT(1 << 20);
    struct conf c;
    struct err err = {0};

    (void)unused;
    opt_defaults(table, &c);
    buf_fill(&big, '#', (1 << 20) + 1);
    assert_int_equal(opt_yaml(table, &c, buf_str(&big), "m.yaml", &err), -EMSGSIZE);
    buf_cut(&big, 1 << 20);
    assert_int_equal(opt_yaml(table, &c, buf_str(&big), "m.yaml", &err), 0);
    buf_adds(&deep, "rule: ");
    buf_fill(&deep, '{', 500000);
    assert_int_equal(opt_yaml(table, &c, buf_str(&deep), "m.yaml", &err), -EINVAL);
    opt_fini(table, &c);
}

static void what_config_show_prints_reads_back_the_same(void **unused)
{
    static const char *const texts[] = {
        "plain",
        "",
        "true",
        "null",
        "~",
        "12",
        "1e3",
        "a: b",
        "# no",
        "- x",
        "[x]",
        "\"q\"",
        "back\\slash",
        "'",
        "tab\tx",
        " lead",
        "trail ",
        "\xc3\xa9",
        "\xe2\x80\xa8",
        "\xef\xbb\xbf",
        "\xef\xbf\xbf",
        "y",
        "%x",
        "http://h:80",
        "*a",
        "&a",
        "!t",
        "\xf0\x9f\x98\x80",
        "---",
        "a\xc2\xa0z",
    };

    (void)unused;
    for (size_t i = 0; i < ARRAY_LEN(texts); i++) {
        AUTO_BUF one = BUF_INIT(10000), two = BUF_INIT(10000);
        struct conf a, b;
        struct err err = {0};
        opt_defaults(table, &a);
        opt_defaults(table, &b);
        assert_int_equal(opt_set(opt_find(table, STR("hub")), &a, str_of(texts[i]), &err), 0);
        assert_int_equal(opt_set(opt_find(table, STR("node")), &a, str_of(texts[i]), &err), 0);
        a.util = 1 + (int64_t)i * 77;
        a.keep = 3600001 + (int64_t)i * 1000;
        a.room = (int64_t)1 << i;
        assert_int_equal(opt_show(table, &a, &one), 0);
        print_message("%s", one.p);
        assert_int_equal(opt_yaml(table, &b, buf_str(&one), "show", &err), 0);
        assert_int_equal(opt_show(table, &b, &two), 0);
        assert_string_equal(one.p, two.p);
        if (a.hub)
            assert_string_equal(b.hub, a.hub);
        else
            assert_null(b.hub);
        assert_string_equal(b.node.v[2], texts[i]);
        assert_int_equal(b.util, a.util);
        assert_int_equal(b.keep, a.keep);
        assert_int_equal(b.room, a.room);
        opt_fini(table, &a);
        opt_fini(table, &b);
    }
}

static void config_show_nests_groups_and_hides_secrets(void **unused)
{
    struct conf c;
    struct err err = {0};
    AUTO_BUF out = BUF_INIT(10000);

    (void)unused;
    opt_defaults(table, &c);
    assert_int_equal(opt_set(opt_find(table, STR("token")), &c, STR("s3cret"), &err), 0);
    assert_int_equal(opt_show(table, &c, &out), 0);
    assert_string_equal(out.p, "interval: 10\n"
                               "demo: false\n"
                               "color: true\n"
                               "hub: \"\"\n"
                               "data: /var/lib/muster\n"
                               "# token: (set)\n"
                               "keep_raw: 30d\n"
                               "rule:\n"
                               "  util: 5%\n"
                               "  room: 512M\n"
                               "  offset: 0\n"
                               "collector: auto\n"
                               "node:\n"
                               "  - \"a\"\n"
                               "  - \"b\"\n"
                               "tags: []\n"
                               "log:\n"
                               "  level: info\n"
                               "people: {}\n");
    opt_fini(table, &c);
}

static void a_section_is_kept_as_written_for_its_owner(void **unused)
{
    static const struct {
        const char *text, *want;
        unsigned line;
    } cases[] = {
        {"people:\n  kim: {logins: [a]}\n  lee:\n    uids: [1]\ninterval: 7\n",
         "  kim: {logins: [a]}\n  lee:\n    uids: [1]\n", 1},
        {"interval: 7\npeople: {kim: 1,\n lee: 2}", "        {kim: 1,\n lee: 2}", 1},
        {"# \xc3\xa9\xe2\x82\xac\n\npeople:\n- x\n- y # why\n# more\ninterval: 7\n", "- x\n- y # why\n# more\n", 3},
        {"{interval: 7, people: [\xc3\xa9]}", "                      [\xc3\xa9]", 0},
        {"interval: 7\npeople:\n", NULL, 0},
        {"interval: 7\npeople: {}\n", NULL, 0},
    };

    (void)unused;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        AUTO_BUF one = BUF_INIT(10000), two = BUF_INIT(10000);
        struct conf a, b;
        struct err err = {0};
        print_message("'%s'\n", cases[i].text);
        opt_defaults(table, &a);
        opt_defaults(table, &b);
        assert_int_equal(opt_yaml(table, &a, str_of(cases[i].text), "m.yaml", &err), 0);
        assert_int_equal(a.interval, 7);
        if (cases[i].want) {
            assert_string_equal(a.people.text, cases[i].want);
            assert_string_equal(a.people.path, "m.yaml");
            assert_int_equal(a.people.line, cases[i].line);
        } else {
            assert_null(a.people.text);
        }
        assert_int_equal(opt_show(table, &a, &one), 0);
        assert_int_equal(opt_yaml(table, &b, buf_str(&one), "show", &err), 0);
        assert_int_equal(opt_show(table, &b, &two), 0);
        assert_string_equal(one.p, two.p);
        opt_fini(table, &a);
        opt_fini(table, &b);
    }
}

static void a_section_has_no_flag_and_no_variable(void **unused)
{
    char *argv[] = {"x", "--people", "kim", NULL};
    struct conf c;
    struct err err = {0};
    int argi;

    (void)unused;
    opt_defaults(table, &c);
    assert_int_equal(opt_args(table, &c, 3, argv, &argi, &err), -EINVAL);
    assert_string_equal(err.msg, "--people: can only be set in a file");
    assert_int_equal(opt_env_text(table, &c, STR("MUSTER_PEOPLE=kim"), "f", &err), -EINVAL);
    assert_int_equal(opt_yaml(table, &c, STR("people: kim"), "m.yaml", &err), -EINVAL);
    assert_string_equal(err.msg, "m.yaml:1:9: people: expected keys or a list under it");
    assert_int_equal(opt_yaml(table, &c, STR("people: {a: {b: {c: {d: {e: {f: {g: {h: 1}}}}}}}}"), "m.yaml", &err),
                     -EINVAL);
    assert_int_equal(opt_yaml(table, &c, STR("people: {a: &x 1, b: *x}"), "m.yaml", &err), -EINVAL);
    opt_fini(table, &c);
}

TESTS(cmocka_unit_test(a_section_is_kept_as_written_for_its_owner),
      cmocka_unit_test(a_section_has_no_flag_and_no_variable), cmocka_unit_test(good_yaml_fills_the_conf),
      cmocka_unit_test(yaml_with_nothing_in_it_keeps_the_defaults),
      cmocka_unit_test(bad_yaml_is_refused_with_its_place),
      cmocka_unit_test(text_that_is_no_yaml_is_refused_with_its_place),
      cmocka_unit_test(yaml_is_bounded_in_size_and_depth),
      cmocka_unit_test(what_config_show_prints_reads_back_the_same),
      cmocka_unit_test(config_show_nests_groups_and_hides_secrets))
