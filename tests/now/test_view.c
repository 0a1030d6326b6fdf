/* test_view.c: a request's selection out of live state. */
#include "test.h"

#include <errno.h>

#include "base/mem.h"
#include "format/render.h"
#include "now/view.h"
#include "view_fixture.h"

static void a_view_has_what_was_asked_for(void **unused)
{
    static const struct {
        const char *node;
        bool all;
        int want;
        size_t n;
        const char *first;
    } cases[] = {{NULL, false, 0, 2, "dgx1"},     {NULL, true, 0, 3, "attic"},     {"dgx2", false, 0, 1, "dgx2"},
                 {"k1", false, 0, 1, "dgx1"},     {"attic", false, 0, 1, "attic"}, /* by name, though retired */
                 {"dgx3", false, -ENOENT, 77, ""}};
    struct live *l = live_new(NULL, NULL, NULL);

    (void)unused;
    live_node(l, "k1", "dgx1", NOW);
    live_node(l, "k2", "dgx2", NOW);
    live_admin(l, live_node(l, "k3", "attic", NOW), NULL, true, false);
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct view_query ask = {.node = cases[i].node, .all = cases[i].all, .demo = true, .reader = "kim"};
        struct view v = {.n = 77};

        assert_int_equal(view_of(l, &ask, NOW, &v), cases[i].want);
        assert_int_equal(v.n, cases[i].n);
        if (cases[i].want < 0)
            continue;
        assert_string_equal(v.nodes[0]->name, cases[i].first);
        assert_int_equal(v.at_ms, NOW);
        assert_int_equal(v.version, live_version(l));
        assert_true(v.demo);
        assert_false(v.show_cmd);
        assert_string_equal(v.reader, "kim");
    }
    live_free(l);
}

static void a_filter_leaves_what_matches_and_borrows_the_rest(void **unused)
{
    static const struct {
        const char *text, *nodes, *answer;
        size_t devices;
    } cases[] = {
        {"free", "dgx1 mig1", "3 of 8 free: 2 on mig1, 1 on dgx1", 3},
        {"busy", "dgx1", "1 of 8 matches 'busy': 1 on dgx1", 1},
        {"held", "dgx1 mig1", "1 of 8 matches 'held': 1 on dgx1",
         2}, /* a GPU split into instances is nothing to take */
        {"host:mig1", "mig1", "2 of 8 match 'host:mig1': 2 on mig1", 3},
        {"gpu>9", "", "none of 8 match 'gpu>9'", 0},
        {"host:zoo or hung", "dgx2 zoo", "1 of 8 matches 'host:zoo or hung': 1 on dgx2", 1},
    };
    struct cluster *c = cluster_new();

    (void)unused;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        AUTO_FILTER *f = NULL;
        AUTO_ARENA arena = {0};
        AUTO_BUF names = BUF_INIT(1024);
        AUTO_BUF answer = BUF_INIT(1024);
        struct filter_err err = {0};
        struct view v = c->v;
        struct tally t;
        size_t devices = 0;

        print_message("'%s'\n", cases[i].text);
        assert_int_equal(filter_new(str_of(cases[i].text), NULL, &f, &err), 0);
        view_filter(&v, f, &arena);
        buf_adds(&names, "");
        for (size_t k = 0; k < v.n; k++) {
            buf_addf(&names, "%s%s", k ? " " : "", v.nodes[k]->name);
            for (size_t d = 0; d < v.nodes[k]->n_devices; d++)
                assert_true(filter_match(f, v.nodes[k], &v.nodes[k]->devices[d], v.at_ms));
            devices += v.nodes[k]->n_devices;
        }
        view_tally(&v, &t);
        view_answer(&v, &t, &answer);
        assert_string_equal(buf_str(&names).p, cases[i].nodes);
        assert_string_equal(answer.p, cases[i].answer);
        assert_int_equal(devices, cases[i].devices);
        assert_string_equal(v.filter, cases[i].text);
        assert_int_equal(v.of, 8);
    }
    cluster_free(c);
}

static void a_filter_does_not_choose_from_unlisted_nodes(void **unused)
{
    struct cluster *c = cluster_new();
    AUTO_FILTER *f = NULL;
    AUTO_ARENA arena = {0};
    AUTO_BUF answer = BUF_INIT(1024);
    struct filter_err err = {0};
    struct tally t;

    (void)unused;
    for (size_t i = 0; i < c->v.n; i++)
        if (strcmp(c->v.nodes[i]->name, "mig1") == 0)
            ((struct node_now *)(uintptr_t)c->v.nodes[i])->unlisted = true;
    struct view v = c->v;
    assert_int_equal(filter_new(str_of("host:mig1 or busy"), NULL, &f, &err), 0);
    view_filter(&v, f, &arena);
    view_tally(&v, &t);
    view_answer(&v, &t, &answer);
    assert_string_equal(answer.p, "1 of 6 matches 'host:mig1 or busy': 1 on dgx1");
    cluster_free(c);
}

static void a_node_that_matches_whole_is_not_copied(void **unused)
{
    struct cluster *c = cluster_new();
    AUTO_ARENA arena = {0};
    AUTO_FILTER *all = NULL, *some = NULL, *none = NULL;
    struct filter_err err = {0};
    uint64_t which[3];

    (void)unused;
    assert_int_equal(filter_new(str_of("host:dgx1"), NULL, &all, &err), 0);
    assert_int_equal(filter_new(str_of("busy or lost"), NULL, &some, &err), 0);
    assert_int_equal(filter_new(str_of("host:ws3"), NULL, &none, &err), 0);
    assert_ptr_equal(view_node(all, &c->n[0], NOW, &arena, &which[0]), &c->n[0]);
    assert_null(view_node(none, &c->n[0], NOW, &arena, &which[2]));
    const struct node_now *n = view_node(some, &c->n[0], NOW, &arena, &which[1]);
    assert_ptr_not_equal(n, &c->n[0]);
    assert_string_equal(n->key, c->n[0].key);
    assert_int_equal(n->n_devices, 2);
    assert_int_equal(n->of, 4); /* total number of devices */
    assert_int_equal(c->n[0].of, 0);
    assert_int_equal(n->devices[0].fact.index, 0);
    assert_int_equal(n->devices[1].fact.index, 3);
    assert_ptr_equal(n->devices[0].procs, c->n[0].devices[0].procs);
    assert_true(which[0] != which[1] && which[1] != which[2] && which[0] != which[2]);
    cluster_free(c);
}

static void a_filtered_state_reads_back(void **unused)
{
    struct cluster *c = cluster_new();
    AUTO_ARENA arena = {0};
    AUTO_FILTER *f = NULL;
    AUTO_BUF json = BUF_INIT(1 << 20);
    struct filter_err ferr = {0};
    struct err err = {0};
    struct read_state back;
    struct view v = c->v;

    (void)unused;
    assert_int_equal(filter_new(str_of("held"), NULL, &f, &ferr), 0);
    view_filter(&v, f, &arena);
    render_state(&json, &v);
    assert_int_equal(state_parse(buf_str(&json), &back, &err), 0);
    assert_int_equal(back.n, 2);
    assert_int_equal(back.of, 8);
    assert_string_equal(back.nodes[1].name, "mig1");
    assert_int_equal(back.nodes[1].n_devices, 1);
    assert_true(device_is_parent(&back.nodes[1], &back.nodes[1].devices[0])); /* though its instances were left out */
    read_state_fini(&back);
    cluster_free(c);
}

TESTS(cmocka_unit_test(a_view_has_what_was_asked_for),
      cmocka_unit_test(a_filter_leaves_what_matches_and_borrows_the_rest),
      cmocka_unit_test(a_filter_does_not_choose_from_unlisted_nodes),
      cmocka_unit_test(a_node_that_matches_whole_is_not_copied), cmocka_unit_test(a_filtered_state_reads_back))
