/* The hub's parts one by one: nodes' records, processes, renderings, the rule. */
#include "test.h"

#include <errno.h>

#include "http/cache.h"
#include "http/conn_limit.h"
#include "nodes/peers.h"
#include "whole_hub.h"

#define NOW 1700000000000

/* ---- nodes ---- */

static void a_batch_is_news_once(void **unused)
{
    struct peer p = {0};
    (void)unused;
    for (uint64_t n = 1; n < 100; n++) {
        assert_true(peer_first_seen(&p, 7, n));
        assert_false(peer_first_seen(&p, 7, n));
        assert_true(peer_first_seen(&p, 8, n));
    }
}

static void a_node_has_a_budget_that_comes_back(void **unused)
{
    struct peer p = {0};
    (void)unused;
    assert_true(peer_rate_ok(&p, 63 << 20, NOW));
    assert_true(peer_rate_ok(&p, 40 << 20, NOW)); /* below the limit when it came: the last one may go over */
    assert_false(peer_rate_ok(&p, 1, NOW));
    assert_false(peer_rate_ok(&p, 1, NOW + 1000));
    assert_true(peer_rate_ok(&p, 1, NOW + 6000));
    assert_true(peer_rate_ok(&p, 60 << 20, NOW + 600000));
    assert_true(peer_rate_ok(&p, 1, NOW)); /* a clock that was set back gives nothing and takes nothing */
}

static void many_nodes_are_all_found_and_one_is_dropped(void **unused)
{
    char *dir = dir_new_quick();
    struct store *s = store_new_for_test(dir, NULL);
    char key[NODE_KEY_MAX];
    (void)unused;
    struct peers *p = peers_new(s);
    for (int i = 0; i < 3000; i++) {
        snprintf(key, sizeof(key), "node-%d", i);
        peers_get(p, key);
    }
    assert_int_equal(peers_count(p), 3000);
    peers_drop(p, "node-7");
    peers_drop(p, "nobody");
    assert_null(peers_find(p, "node-7"));
    assert_string_equal(peers_find(p, "node-2999")->rec.key, "node-2999");
    peers_get(p, "node-8");
    assert_int_equal(peers_count(p), 2999);
    peers_free(p);
    store_close(s);
    dir_free(dir);
}

/* ---- processes ---- */

struct seen {
    int n, ended;
    struct proc_span last;
};

static void see(void *arg, const struct proc_span *p)
{
    struct seen *s = arg;
    s->n++;
    s->ended += p->ended;
    s->last = *p;
    s->last.node = s->last.device = NULL;
}

static void a_process_is_a_record_with_a_start_and_an_end(void **unused)
{
    char *dir = dir_new_quick();
    struct store *s = store_new_for_test(dir, NULL);
    struct seen seen = {0};
    struct proc_fact facts[2] = {{.pid = 1, .start_ms = 5, .name = "a"}, {.pid = 2, .start_ms = 6, .name = "b"}};
    struct proc_now two[2] = {{.fact = &facts[0], .mem = 10, .sm = -1}, {.fact = &facts[1], .mem = -1, .sm = -1}};
    struct device_now d = {.fact = {.uuid = "GPU-1"}, .procs = two};
    struct node_now n = {.n_devices = 1, .devices = &d};
    (void)unused;
    struct peers *p = peers_new(s);
    struct peer *peer = peers_get(p, "k");
    d.n_procs = 2;
    peer_track(p, peer, &n, NOW);
    two[0].mem = 50;
    memcpy(facts[0].user, "kim", 4); /* names come a moment later */
    peer_track(p, peer, &n, NOW + 1000);
    two[0].mem = 20;
    d.n_procs = 1;
    peer_track(p, peer, &n, NOW + 2000); /* b is gone */
    store_flush(s, NULL);
    assert_int_equal(store_each(s, EACH_PROC(see, &seen), NULL), 0);
    assert_int_equal(seen.n, 2);
    assert_int_equal(seen.ended, 1);
    assert_string_equal(seen.last.fact.name, "b");
    assert_true(seen.last.first_ms == NOW && seen.last.last_ms == NOW + 1000);
    peers_free(p); /* the hub starts again, and a has ended meanwhile */
    p = peers_new(s);
    peer = peers_get(p, "k");
    assert_true(peers_load_procs(p, 0, NULL) >= 0);
    assert_int_equal(peer->n_procs, 1);
    d.n_procs = 0;
    peer_track(p, peer, &n, NOW + 9000);
    store_flush(s, NULL);
    seen = (struct seen){0};
    store_each(s, EACH_PROC(see, &seen), NULL);
    assert_int_equal(seen.ended, 2);
    peers_free(p);
    store_close(s);
    dir_free(dir);
}

static void find_late(void *arg, const struct proc_span *p)
{
    struct seen *s = arg;
    if (strcmp(p->fact.name, "gone") == 0) {
        assert_true(p->first_ms == NOW - 9000 && p->last_ms == NOW - 7000 && p->mem_max == 70);
        assert_true(p->ended); /* nobody sees it now */
        assert_string_equal(p->fact.user, "lee");
    } else {
        assert_true(p->first_ms == NOW - 9000 && p->last_ms == NOW);
        assert_false(p->ended);
    }
    s->n++;
}

static void processes_of_late_batches_are_records_too(void **unused)
{
    char *dir = dir_new_quick();
    struct store *s = store_new_for_test(dir, NULL);
    struct seen seen = {0};
    struct proc_fact still = {.pid = 1, .start_ms = 5, .name = "still", .user = "kim"},
                     gone = {.pid = 2, .start_ms = 6, .name = "gone"};
    struct proc_now one = {.fact = &still, .mem = 10, .sm = -1};
    struct device_now d = {.fact = {.uuid = "GPU-1"}, .procs = &one, .n_procs = 1};
    struct node_now n = {.n_devices = 1, .devices = &d};
    struct late_procs late = {0};
    (void)unused;
    struct peers *p = peers_new(s);
    struct peer *peer = peers_get(p, "k");
    peer_track(p, peer, &n, NOW);
    late_see(&late, "GPU-1", &still, &(struct proc_use){.mem = 5, .sm = -1}, NOW - 9000, NOW - 8000);
    late_see(&late, "GPU-1", &gone, &(struct proc_use){.mem = 70, .sm = -1}, NOW - 9000, NOW - 8000);
    memcpy(gone.user, "lee", 4);
    late_see(&late, "GPU-1", &gone, &(struct proc_use){.mem = 60, .sm = -1}, NOW - 8000, NOW - 7000);
    assert_int_equal(late.n, 2);
    late_put(&late, p, peer);
    store_flush(s, NULL);
    store_each(s, EACH_PROC(find_late, &seen), NULL);
    assert_int_equal(seen.n, 2);
    late_put(&late, p, peer);            /* nothing is left */
    for (int32_t i = 0; i < 5000; i++) { /* and no request makes it grow without end */
        gone.pid = 10 + i;
        late_see(&late, "GPU-1", &gone, &(struct proc_use){.mem = 60, .sm = -1}, NOW - 8000, NOW - 7000);
    }
    assert_true(late.n <= 4096);
    late_put(&late, p, peer);
    peers_free(p);
    store_close(s);
    dir_free(dir);
}

/* ---- renderings ---- */

static struct blob *blob_of(const char *text)
{
    struct buf b = BUF_INIT(1 << 20);
    buf_adds(&b, text);
    return blob_new(&b);
}

static void the_next_rendering_has_the_room_of_the_last(void **unused)
{
    struct cache *c = cache_new(1000);
    struct blob *b = blob_of("state");
    (void)unused;
    cache_put(c, STR("kept"), 1, 1000, 0, b);
    cache_keep(c, STR("for ever"), 1, 1000, b);
    struct buf room = cache_room(c, STR("kept"), 1 << 20); /* somebody reads it */
    assert_null(room.p);
    assert_int_equal(room.max, 1 << 20);
    blob_unref(b);
    assert_null(cache_room(c, STR("for ever"), 1 << 20).p);
    assert_null(cache_room(c, STR("other"), 1 << 20).p);
    cache_reset(c);
    b = blob_of("state");
    const char *was = b->plain.p;
    cache_put(c, STR("kept"), 1, 1000, 0, b);
    blob_unref(b);
    room = cache_room(c, STR("kept"), 1 << 20);
    assert_ptr_equal(room.p, was);
    assert_int_equal(room.len, 0);
    assert_int_equal(room.max, 1 << 20);
    assert_null(cache_get(c, STR("kept"), 1, 1000));
    buf_fini(&room);
    cache_free(c);
}

static void a_rendering_is_reused_while_it_is_good(void **unused)
{
    struct cache *c = cache_new(1000);
    struct blob *b = blob_of("x"), *got;
    (void)unused;
    cache_put(c, STR("cheap"), 5, 1000, 10, b);
    cache_put(c, STR("dear"), 5, 1000, 20000, b);
    static const struct {
        const char *key;
        uint64_t version;
        int64_t at;
        bool want;
    } cases[] = {{"cheap", 5, 1999, true}, {"cheap", 5, 2000, false}, {"cheap", 6, 1001, false},
                 {"dear", 6, 1399, true},  {"dear", 6, 1400, false},  {"dear", 5, 999, false},
                 {"other", 5, 1000, false}};
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        print_message("%s %llu at %lld\n", cases[i].key, (unsigned long long)cases[i].version, (long long)cases[i].at);
        got = cache_get(c, str_of(cases[i].key), cases[i].version, cases[i].at);
        assert_int_equal(got != NULL, cases[i].want);
        blob_unref(got);
    }
    blob_unref(b);
    for (int i = 0; i < 500; i++) { /* bounded in number and in bytes */
        char key[16], text[301];
        snprintf(key, sizeof(key), "k%d", i);
        memset(text, 'a', sizeof(text) - 1);
        text[sizeof(text) - 1] = 0;
        b = blob_of(text);
        cache_put(c, str_of(key), 1, 3000 + i, 0, b);
        blob_unref(b);
        assert_non_null(got = cache_get(c, str_of(key), 1, 3000 + i));
        assert_true(str_eq(buf_str(&got->plain), text));
        blob_unref(got);
    }
    assert_null(cache_get(c, STR("k0"), 1, 3000));
    cache_free(c);
}

/* ---- configuration ---- */

static void what_is_kept_stays_until_its_version_changes(void **unused)
{
    struct cache *c = cache_new(1000);
    struct buf b = BUF_INIT(2000);
    (void)unused;
    buf_fill(&b, 'x', 900);
    struct blob *kept = blob_new(&b), *other;
    cache_keep(c, STR("kept"), 7, NOW, kept);
    cache_sweep(c, NOW + 100000);
    for (int i = 0; i < 200; i++) { /* nothing that requests bring pushes it out */
        char key[16];
        struct buf more = BUF_INIT(2000);
        snprintf(key, sizeof(key), "%d", i);
        buf_fill(&more, 'y', 500);
        other = blob_new(&more);
        cache_put(c, str_of(key), 1, NOW, 0, other);
        blob_unref(other);
    }
    assert_ptr_equal(other = cache_get(c, STR("kept"), 7, NOW + 200000), kept);
    blob_unref(other);
    assert_null(cache_get(c, STR("kept"), 8, NOW));
    blob_unref(kept);
    cache_free(c);
}

static void thresholds_stand_on_their_preset(void **unused)
{
    static const struct {
        const char *name, *value;
        int want;
    } cases[] = {{"rule.preset", "strict", 0},
                 {"rule.preset", "lax", -EINVAL},
                 {"rule.util", "7.5%", 0},
                 {"rule.util", "many", -EINVAL},
                 {"rule.util", "off", -EINVAL},
                 {"rule.mem_util", "off", 0},
                 {"rule.held_mem", "2G", 0},
                 {"rule.held_mem", "-1", -EINVAL},
                 {"rule.stale_after", "1m", 0},
                 {"rule.down_after", "soon", -EINVAL},
                 {"tls_cert", "x", -EINVAL},
                 {"proxy.header", "X-User", -EINVAL},
                 {"proxy.from", "10.0.0.0/99", -EINVAL}};
    (void)unused;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct hub_conf conf = {0};
        struct err err = {0};
        opt_defaults(hub_opts, &conf);
        print_message("%s: %s\n", cases[i].name, cases[i].value);
        assert_int_equal(opt_set(opt_find(hub_opts, str_of(cases[i].name)), &conf, str_of(cases[i].value), &err), 0);
        assert_int_equal(features_check(&conf, &err), cases[i].want);
        assert_int_equal(err.msg[0] != 0, cases[i].want != 0);
        opt_fini(hub_opts, &conf);
    }
    struct hub *h = whole_hub_open("rule: {preset: web-gpu-monitor, util: 7.5%, held_mem: 2G}");
    const struct state_rule *rule = live_rule(h->live);
    assert_true(rule->busy_util == 750 && rule->busy_mem_util == 200 && rule->held_mem == 2ll << 30);
    whole_hub_close(h);
}

static void an_address_has_so_many_connections_and_no_more(void **unused)
{
    struct conn_limit *g = conn_limit_new();
    char address[32];
    (void)unused;
    assert_true(conn_limit_enter(g, "10.0.0.1", 2));
    assert_true(conn_limit_enter(g, "10.0.0.1", 2));
    assert_false(conn_limit_enter(g, "10.0.0.1", 2));
    assert_true(conn_limit_enter(g, "10.0.0.1", 3)); /* the limit was raised */
    for (int i = 0; i < 1000; i++) {
        snprintf(address, sizeof(address), "10.1.%d.%d", i / 250, i % 250);
        assert_true(conn_limit_enter(g, address, 1));
    }
    assert_int_equal(conn_limit_count(g), 1001);
    assert_false(conn_limit_enter(g, "10.1.3.249", 1));
    conn_limit_leave(g, "10.1.3.249");
    assert_int_equal(conn_limit_count(g), 1000);
    assert_true(conn_limit_enter(g, "10.1.3.249", 1));
    for (int i = 0; i < 3; i++)
        conn_limit_leave(g, "10.0.0.1");
    conn_limit_leave(g, "10.0.0.1"); /* never entered: nothing happens */
    assert_int_equal(conn_limit_count(g), 1000);
    assert_true(conn_limit_enter(g, "2001:db8:0:1::1", 2)); /* of IPv6 its /64 */
    assert_true(conn_limit_enter(g, "2001:db8:0:1:ffff::2", 2));
    assert_false(conn_limit_enter(g, "2001:db8:0:1:1:2:3:4", 2));
    assert_true(conn_limit_enter(g, "2001:db8:0:2::1", 2));
    conn_limit_leave(g, "2001:db8:0:1::9");
    conn_limit_leave(g, "2001:db8:0:1::8");
    conn_limit_leave(g, "2001:db8:0:2::7");
    assert_int_equal(conn_limit_count(g), 1000);
    conn_limit_free(g);
}

TESTS(cmocka_unit_test(an_address_has_so_many_connections_and_no_more), cmocka_unit_test(a_batch_is_news_once),
      cmocka_unit_test(a_node_has_a_budget_that_comes_back),
      cmocka_unit_test(many_nodes_are_all_found_and_one_is_dropped),
      cmocka_unit_test(a_process_is_a_record_with_a_start_and_an_end),
      cmocka_unit_test(processes_of_late_batches_are_records_too),
      cmocka_unit_test(a_rendering_is_reused_while_it_is_good),
      cmocka_unit_test(the_next_rendering_has_the_room_of_the_last),
      cmocka_unit_test(what_is_kept_stays_until_its_version_changes),
      cmocka_unit_test(thresholds_stand_on_their_preset))
