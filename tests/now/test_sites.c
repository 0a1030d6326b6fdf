/* Nodes of followed hubs next to local ones: only screens see them. */
#include "test.h"

#include <errno.h>

#include "base/mem.h"
#include "now/sites.h"
#include "now/view.h"

#define NOW 1794733572345ll

static void put(struct live *l, struct site *s, const char *key, const char *name)
{
    struct node_now n = {.state = NODE_UP, .n_devices = 1, .devices = mem_zero(1, sizeof(*n.devices))};

    mem_copy_str(n.key, sizeof(n.key), key);
    mem_copy_str(n.name, sizeof(n.name), name);
    snprintf(n.devices[0].fact.uuid, sizeof(n.devices[0].fact.uuid), "%s/GPU", key);
    n.devices[0].state = DEV_FREE;
    assert_true(site_put(l, s, &n));
}

/* The names in a view. */
static const char *names(struct live *l, bool sites)
{
    static char out[256];
    struct view v;

    view_of(l, &(struct view_query){.sites = sites}, NOW, &v);
    out[0] = 0;
    for (size_t i = 0; i < v.n; i++)
        snprintf(out + strlen(out), sizeof(out) - strlen(out), "%s%s", i ? " " : "", v.nodes[i]->name);
    return out;
}

static void only_who_asks_for_them_sees_them(void **unused) /* G1 */
{
    struct live *l = live_new(NULL, NULL, NULL);
    struct site *s = site_open(l, "munich", "http://m");
    const struct node_now *on;
    size_t n;

    (void)unused;
    live_node(l, "k1", "zoo", NOW);
    site_begin(s);
    put(l, s, "munich/a", "munich/dgx10");
    put(l, s, "munich/b", "munich/dgx2");
    site_end(l, s);
    assert_string_equal(names(l, true), "munich/dgx2 munich/dgx10 zoo");
    assert_string_equal(names(l, false), "zoo");
    live_nodes(l, true, &n);
    assert_int_equal(n, 1);
    assert_int_equal(live_count(l), 1);
    assert_null(live_find(l, "munich/dgx2"));
    assert_null(live_find_device(l, STR("munich/a/GPU"), &on));
    assert_string_equal(live_any(l, "munich/dgx2")->key, "munich/b");
    assert_string_equal(live_any(l, "munich/b")->site, "munich");
    assert_string_equal(live_any(l, "munich/b")->site_url, "http://m");
    live_node(l, "k2", "ape", NOW); /* local nodes come and go in between */
    assert_string_equal(names(l, true), "ape munich/dgx2 munich/dgx10 zoo");
    site_close(l, s);
    assert_string_equal(names(l, true), "ape zoo");
    live_free(l);
}

static void who_is_not_on_a_new_list_is_gone(void **unused)
{
    struct live *l = live_new(NULL, NULL, NULL);
    struct site *s = site_open(l, "a", "http://a"), *t = site_open(l, "b", "http://b"); /* and no local node */

    (void)unused;
    site_begin(s);
    put(l, s, "a/1", "a/one");
    put(l, s, "a/2", "a/two");
    site_end(l, s);
    put(l, t, "b/1", "b/one");
    site_begin(s);
    put(l, s, "a/2", "a/renamed");
    assert_string_equal(names(l, true), "a/one a/renamed b/one"); /* not yet: the list is incomplete */
    site_end(l, s);
    assert_string_equal(names(l, true), "a/renamed b/one");
    assert_null(live_any(l, "a/two"));
    uint64_t version = live_version(l);
    site_removed(l, "b/1");
    site_removed(l, "b/7");
    assert_int_not_equal(live_version(l), version);
    assert_string_equal(names(l, true), "a/renamed");
    assert_int_equal(s->n, 1);
    assert_int_equal(t->n, 0);
    live_free(l);
}

static void a_site_that_is_away_is_stale_not_gone(void **unused) /* G3 */
{
    struct live *l = live_new(NULL, NULL, NULL);
    struct site *s = site_open(l, "a", "http://a");

    (void)unused;
    site_begin(s);
    put(l, s, "a/1", "a/one");
    site_end(l, s);
    site_away(l, s, NOW, "a is away");
    const struct node_now *n = live_any(l, "a/one");
    uint64_t version = n->version;
    assert_int_equal(n->state, NODE_DOWN);
    assert_int_equal(n->devices[0].state, DEV_STALE);
    assert_int_equal(n->devices[0].since_ms, NOW);
    assert_string_equal(n->devices[0].reason, "a is away");
    assert_string_equal(n->reason, "a is away");
    site_away(l, s, NOW, "a is away"); /* no change */
    assert_int_equal(n->version, version);
    site_begin(s);
    put(l, s, "a/1", "a/one");
    assert_int_equal(live_any(l, "a/one")->devices[0].state, DEV_FREE);
    live_free(l);
}

static void what_is_a_sites_is_done_there(void **unused)
{
    struct live *l = live_new(NULL, NULL, NULL);
    struct err err = {0};

    (void)unused;
    site_open(l, "munich", "https://muster.munich");
    assert_int_equal(site_refuse(l, STR("munich/dgx1:0"), &err), -EPERM);
    assert_non_null(strstr(err.msg, "https://muster.munich"));
    assert_non_null(strstr(err.msg, "'munich/dgx1:0' belongs to the site munich"));
    assert_int_equal(site_refuse(l, STR("munich"), &err), 0);
    assert_int_equal(site_refuse(l, STR("munichs/dgx1"), &err), 0);
    assert_int_equal(site_refuse(l, STR("/dgx1"), &err), 0);
    assert_int_equal(site_refuse(l, STR(""), &err), 0);
    live_free(l);
}

static void many_come_and_go(void **unused)
{
    enum { MANY = 3000 };
    struct live *l = live_new(NULL, NULL, NULL);
    struct site *s = site_open(l, "a", "http://a");
    char key[32];
    size_t n;

    (void)unused;
    for (int round = 0; round < 3; round++) {
        site_begin(s);
        for (int i = round; i < MANY; i += round + 1) {
            snprintf(key, sizeof(key), "a/%d", i);
            put(l, s, key, key);
        }
        site_end(l, s);
        const struct node_now *const *v = live_shown(l, false, &n);
        assert_int_equal(n, s->n);
        for (size_t i = 1; i < n; i++)
            assert_true(str_natural(v[i - 1]->name, v[i]->name) < 0);
    }
    assert_int_equal(n, MANY / 3);
    live_free(l);
}

TESTS(cmocka_unit_test(only_who_asks_for_them_sees_them), cmocka_unit_test(who_is_not_on_a_new_list_is_gone),
      cmocka_unit_test(a_site_that_is_away_is_stale_not_gone), cmocka_unit_test(what_is_a_sites_is_done_there),
      cmocka_unit_test(many_come_and_go))
