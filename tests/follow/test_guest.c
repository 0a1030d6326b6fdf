/* A node of another hub as this one shows it, and the section of muster.yaml that names such hubs. */
#include "test.h"

#include <errno.h>

#include "base/mem.h"
#include "follow/conf.h"
#include "follow/guest.h"
#include "format/render.h"

static void a_guest_has_names_and_times_of_its_own(void **unused)
{
    struct node_now n;
    struct err err = {0};

    (void)unused;
    assert_int_equal(
        node_parse(
            STR("{\"id\":\"6b0e\",\"name\":\"dgx1\",\"display\":\"Big\",\"state\":\"up\",\"since\":1000,\"age_ms\":500,"
                "\"metrics\":{},\"devices\":[{\"uuid\":\"GPU-1\",\"name\":\"H200\",\"price\":2,\"state\":\"dreaming\","
                "\"since\":2000,\"metrics\":{\"util\":0.5},\"booking\":{\"id\":7,\"person\":\"kim\",\"from\":3000,"
                "\"until\":4000},\"processes\":[{\"pid\":5,\"user\":\"lee\",\"start\":1500}]},"
                "{\"uuid\":\"MIG-1\",\"parent\":\"GPU-1\",\"name\":\"H200\",\"state\":\"free\",\"metrics\":{},"
                "\"processes\":[]}]}"),
            10000, true, &n, &err),
        0);
    guest_make(&n, "munich", 60000);
    assert_string_equal(n.key, "munich/6b0e");
    assert_string_equal(n.name, "munich/dgx1");
    assert_null(n.display);
    assert_int_equal(n.since_ms, 61000);
    assert_int_equal(n.at_ms, 69500);
    assert_int_equal(n.collect_since_ms, 0); /* not said is not moved */
    assert_string_equal(n.devices[0].fact.uuid, "munich/GPU-1");
    assert_string_equal(n.devices[1].fact.parent, "munich/GPU-1");
    assert_int_equal(n.devices[0].state, DEV_UNKNOWN); /* of a hub that is newer */
    assert_int_equal(n.devices[0].price, 0);
    assert_int_equal(n.devices[0].booking->id, 0);
    assert_int_equal(n.devices[0].booking->until_ms, 64000);
    assert_int_equal(n.devices[0].procs[0].fact->start_ms, 61500);
    node_now_fini(&n);
}

static void what_is_too_long_is_still_told_apart(void **unused)
{
    char a[NODE_KEY_MAX], b[NODE_KEY_MAX], key[NODE_KEY_MAX];

    (void)unused;
    memset(key, 'x', sizeof(key) - 1);
    key[sizeof(key) - 1] = 0;
    guest_key("munich", key, a);
    key[sizeof(key) - 2] = 'y';
    guest_key("munich", key, b);
    assert_string_not_equal(a, b);
    assert_memory_equal(a, "munich/", 7);
}

static void clocks_that_agree_are_left_alone(void **unused)
{
    static const struct {
        int64_t was, ours, theirs, want;
    } cases[] = {{0, 100000, 100000, 0},           {0, 101900, 100000, 0},           {0, 100000, 160000, -60000},
                 {-60000, 101500, 160000, -60000}, {-60000, 105000, 160000, -55000}, {-60000, 160100, 160000, 0}};

    (void)unused;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++)
        assert_int_equal(guest_shift(cases[i].was, cases[i].ours, cases[i].theirs), cases[i].want);
}

static int read_text(const char *text, struct follow_conf *c, struct err *err)
{
    char path[] = "m.yaml";
    AUTO_FREE char *copy = mem_str(text);

    return follow_conf_read(c, &(struct opt_section){.text = copy, .path = path}, err);
}

static void sites_are_read_or_refused_with_their_place(void **unused)
{
    static const struct {
        const char *text, *want; /* NULL: it is understood */
        size_t n;
    } cases[] = {
        {"", NULL, 0},
        {"[]", NULL, 0},
        {"- {url: \"http://h:1/\", name: munich}\n- {url: https://i, name: tokyo, token_file: /t, page: https://j}",
         NULL, 2},
        {"url: http://h", "1:1: expected a list of", 0},
        {"- munich", "1:3: expected a list of", 0},
        {"- {url: http://h}", "name is missing", 0},
        {"- {name: a}", "url is missing", 0},
        {"- {url: ftp://h, name: a}", "expected an address without a password", 0},
        {"- {url: \"http://kim:pw@h\", name: a}", "expected an address without a password", 0},
        {"- {url: http://h, name: a/b}", "expected a name of at most 24", 0},
        {"- {url: http://h, name: aaaaaaaaaaaaaaaaaaaaaaaaa}", "expected a name of at most 24", 0},
        {"- {url: http://h, name: a, token: secret}", "a secret does not belong here", 0},
        {"- {url: http://h, name: a, pin: abc}", "expected a pin", 0},
        {"- {url: http://h, name: a, colour: red}", "not understood here", 0},
        {"- {url: http://h, name: a}\n- {url: http://i, name: a}", "2:3: two hubs are called 'a'", 0},
        {"- {url: http://h, name: a}\n- {url: http://h/, name: b}", "'a' and 'b' are one hub", 0},
    };

    (void)unused;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct follow_conf *c = follow_conf_new();
        struct err err = {0};
        print_message("%s\n", cases[i].text);
        assert_int_equal(read_text(cases[i].text, c, &err), cases[i].want ? -EINVAL : 0);
        if (cases[i].want)
            assert_non_null(strstr(err.msg, cases[i].want));
        else
            assert_int_equal(c->n, cases[i].n);
        if (c->n == 2 && !cases[i].want) {
            assert_string_equal(c->v[0].url, "http://h:1");
            assert_string_equal(c->v[0].page, "http://h:1");
            assert_string_equal(c->v[1].page, "https://j");
            assert_true(follow_site_same(&c->v[0], &c->v[0]));
            assert_false(follow_site_same(&c->v[0], &c->v[1]));
        }
        follow_conf_free(c);
    }
}

TESTS(cmocka_unit_test(a_guest_has_names_and_times_of_its_own), cmocka_unit_test(what_is_too_long_is_still_told_apart),
      cmocka_unit_test(clocks_that_agree_are_left_alone), cmocka_unit_test(sites_are_read_or_refused_with_their_place))
