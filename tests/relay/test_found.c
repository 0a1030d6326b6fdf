/* What sources of names say, and the list it becomes. */
#include "test.h"

#include <errno.h>
#include <stdio.h>

#include "base/buf.h"
#include "net/http.h"
#include "relay/consul.h"
#include "relay/found.h"

/* "name address:port label=value ...; ..." so that a row of a table says it all. */
static const char *shown(const struct found_list *l, struct buf *b)
{
    buf_reset(b);
    for (size_t i = 0; i < l->n; i++) {
        const struct found *f = &l->v[i];
        buf_addf(b, "%s%s %s:%d", i ? "; " : "", f->name, f->address, f->port);
        struct str rest = str_of(f->labels ? f->labels : ""), name, value;
        while (labels_next(&rest, &name, &value))
            buf_addf(b, " %.*s=%.*s", STR_ARG(name), STR_ARG(value));
    }
    return b->p ? b->p : "";
}

typedef int reader(struct found_list *l, struct str text, struct err *err);
struct row {
    const char *text;
    int want;
    const char *list, *error;
    size_t skipped;
};

static void check(reader *read, const struct row *rows, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        AUTO_FOUND l = {0};
        AUTO_BUF b = BUF_INIT(1 << 16);
        struct err err = {0};
        print_message("%s\n", rows[i].text);
        assert_int_equal(read(&l, str_of(rows[i].text), &err), rows[i].want);
        if (rows[i].want < 0) {
            assert_string_equal(err.msg, rows[i].error);
            continue;
        }
        found_list_settle(&l);
        assert_string_equal(shown(&l, &b), rows[i].list);
        assert_int_equal(l.skipped, rows[i].skipped);
    }
}

static void consul_speaks_of_catalog_and_health(void **unused)
{
    static const struct row rows[] = {
        {"[]", 0, "", NULL, 0},
        {"[{\"Node\":\"gpu01\",\"Address\":\"10.0.0.1\",\"Datacenter\":\"ams\",\"ServiceName\":\"gpu\","
         "\"ServiceAddress\":\"\",\"ServicePort\":8114,\"ServiceTags\":[\"a\",\"b\"],\"NodeMeta\":{\"rack\":\"r1\","
         "\"consul-version\":\"1\"},\"ServiceMeta\":{\"team\":\"vision\"}}]",
         0, "gpu01 10.0.0.1:8114 consul_dc=ams consul_service=gpu consul_tags=a,b rack=r1 team=vision", NULL, 0},
        {"[{\"Node\":\"gpu01\",\"Address\":\"10.0.0.1\",\"ServiceAddress\":\"10.9.0.1\",\"ServicePort\":0}]", 0,
         "gpu01 10.9.0.1:0", NULL, 0},
        {"[{\"Node\":{\"Node\":\"b\",\"Address\":\"10.0.0.2\"},\"Service\":{\"Service\":\"gpu\",\"Address\":\"\","
         "\"Port\":22},\"Checks\":[{\"Status\":\"passing\"},{\"Status\":\"critical\"},{\"Status\":\"warning\"}]},"
         "{\"Node\":{\"Node\":\"a\",\"Address\":\"\"},\"Service\":{},\"Checks\":[]}]",
         0, "a a:0 consul_health=passing; b 10.0.0.2:22 consul_health=critical consul_service=gpu", NULL, 0},
        {"[{\"Node\":\"-oProxyCommand=x\"},{\"Node\":\"ok\"},{\"Node\":\"a b\"},{\"Node\":7},{},null,1]", 0, "ok ok:0",
         NULL, 6},
        {"{}", -EBADMSG, NULL, "Consul's answer is not a list", 0},
        {"", -EBADMSG, NULL, "Consul's answer is not JSON: line 1, column 0", 0},
        {"<html>", -EBADMSG, NULL, "Consul's answer is not JSON: line 1, column 1", 0},
        {"[{\"Node\":\"a\"}", -EBADMSG, NULL, "Consul's answer is not JSON: line 1, column 13", 0},
    };
    (void)unused;
    check(found_consul, rows, ARRAY_LEN(rows));
}

static void targets_come_with_the_labels_of_their_group(void **unused)
{
    static const struct row json[] = {
        {"[]", 0, "", NULL, 0},
        {"[{\"targets\":[\"b:9100\",\"a\"],\"labels\":{\"job\":\"gpu\",\"__meta_x\":\"y\",\"n\":\"\"}},"
         "{\"targets\":[\"[::1]:9100\",\"::2\",\"a\"],\"labels\":{\"rack\":\"r1\",\"job\":\"other\"}}]",
         0, "::1 ::1:9100 job=other rack=r1; ::2 ::2:0 job=other rack=r1; a a:0 job=gpu rack=r1; b b:9100 job=gpu",
         NULL, 0},
        {"[{\"targets\":[\"a:x\",\"\",\"http://a/\",5,\"a:70000\"]}]", 0, "a a:0", NULL, 4},
        {"[{\"labels\":{}}]", -EBADMSG, NULL, "group 1 is not {\"targets\": [...], \"labels\": {...}}", 0},
        {"[{\"targets\":[\"a\"],\"labels\":[]}]", -EBADMSG, NULL,
         "group 1 is not {\"targets\": [...], \"labels\": {...}}", 0},
        {"{}", -EBADMSG, NULL, "the list of targets is not a list", 0},
    };
#define NOT_PLAIN "it is not a list of {targets, labels} in plain YAML (no anchors, aliases or tags)"
    static const struct row yaml[] = {
        {"", 0, "", NULL, 0},
        {"# nothing\n", 0, "", NULL, 0},
        {"[]", 0, "", NULL, 0},
        {"- targets:\n  - a:9100\n  - 'b:9100'\n  labels:\n    job: gpu\n    rack: 7\n- targets: [c]\n", 0,
         "a a:9100 job=gpu rack=7; b b:9100 job=gpu rack=7; c c:0", NULL, 0},
        {"- targets: &x [a]\n- targets: *x\n", -EBADMSG, NULL, NOT_PLAIN, 0},
        {"- targets: [[[[[a]]]]]\n", -EBADMSG, NULL, NOT_PLAIN, 0},
        {"targets: [a]\n", -EBADMSG, NULL, NOT_PLAIN, 0},
        {"- targets: [a\n", -EBADMSG, NULL, "line 2: did not find expected ',' or ']'", 0},
        {"- {targets: [a], ? [b] : c}\n", -EBADMSG, NULL, NOT_PLAIN, 0},
    };
    (void)unused;
    check(found_sd_json, json, ARRAY_LEN(json));
    check(found_sd_yaml, yaml, ARRAY_LEN(yaml));
}

static void sinfo_lists_a_node_once_per_partition(void **unused)
{
    static const struct row rows[] = {
        {"", 0, "", NULL, 0},
        {"gpu01 gpu:a100:8(S:0-1) mix\ngpu01 gpu:a100:8(S:0-1) mix\ncpu01 (null) idle\n"
         "gpu02 shard:8,gpu:4 drain*\nx tgpu:1 idle\n",
         0,
         "gpu01 gpu01:0 slurm_gres=gpu:a100:8(S:0-1) slurm_state=mix; gpu02 gpu02:0 slurm_gres=shard:8,gpu:4 "
         "slurm_state=drain",
         NULL, 0},
        {"gpu01 gpu:1\n", -EBADMSG, NULL, "line 1 of sinfo's answer is not a node, its gres and its state", 0},
        {"a gpu:1 idle\nslurm: error: x y\n", -EBADMSG, NULL,
         "line 2 of sinfo's answer is not a node, its gres and its state", 0},
    };
    (void)unused;
    check(found_sinfo, rows, ARRAY_LEN(rows));
}

static void included(void *arg, struct str path)
{
    buf_addf(arg, "<%.*s>", STR_ARG(path));
}

static void host_lines_without_patterns_are_hosts(void **unused)
{
    AUTO_FOUND l = {0};
    AUTO_BUF b = BUF_INIT(4096), inc = BUF_INIT(4096);
    (void)unused;
    found_ssh_config(&l,
                     STR("# Host no\nHost gpu01 gpu02 # and\n  HostName 10.0.0.1\nHost *.x !y z?\nhost=\"gpu 3\"\n"
                         "HOST = gpu04\nMatch host gpu05\nHostKeyAlgorithms x\nHost\nInclude conf.d/*.conf \"a b\"\n"
                         "Host \"gpu06\"\r\nHost -oX\n"),
                     included, &inc);
    found_list_settle(&l);
    assert_string_equal(shown(&l, &b), "gpu01 gpu01:0; gpu02 gpu02:0; gpu04 gpu04:0; gpu06 gpu06:0");
    assert_string_equal(inc.p, "<conf.d/*.conf><a b>");
    assert_int_equal(l.skipped, 2);
}

/* A question, and two answers whose names point back to it. */
static const uint8_t srv_answer[] = {0,    1,    0x81, 0x80, 0,   1,   0,    3,  0,   0, 0, 0,  4, '_', 'g',
                                     'p',  'u',  4,    '_',  't', 'c', 'p',  1,  'x', 0, 0, 33, 0, 1, /* the question */
                                     0xc0, 12,   0,    33,   0,   1,   0,    0,  0,   5, 0, 11, 0, 1,   0,
                                     1,    0x1f, 0xb2, 2,    'g', '2', 0xc0, 22, /* g2.x 8114 */
                                     0xc0, 12,   0,    33,   0,   1,   0,    0,  0,   5, 0, 11, 0, 1,   0,
                                     1,    0x1f, 0xb2, 2,    'g', '1', 0xc0, 22, /* g1.x 8114 */
                                     0xc0, 12,   0,    33,   0,   1,   0,    0,  0,   5, 0, 7,  0, 0,   0,
                                     0,    0,    0,    0}; /* "." */

static void srv_records_have_a_target_and_a_port(void **unused)
{
    AUTO_FOUND l = {0};
    AUTO_BUF b = BUF_INIT(4096);
    struct err err = {0};
    (void)unused;
    assert_int_equal(found_srv(&l, srv_answer, sizeof(srv_answer), &err), 0);
    found_list_settle(&l);
    assert_string_equal(shown(&l, &b), "g1.x g1.x:8114; g2.x g2.x:8114");
    for (size_t n = 0; n < sizeof(srv_answer); n++) {
        AUTO_FOUND cut = {0};
        AUTO_FREE uint8_t *exact = mem_alloc(n + 1);
        memcpy(exact, srv_answer, n);
        assert_int_equal(found_srv(&cut, exact, n, &err), -EBADMSG);
    }
}

static void a_list_is_bounded_and_says_so(void **unused)
{
    AUTO_FOUND l = {0};
    AUTO_BUF text = BUF_INIT(1 << 20);
    struct err err = {0};
    (void)unused;
    for (int i = 0; i <= FOUND_MAX; i++)
        buf_addf(&text, "g%d gpu:1 idle\n", i);
    assert_int_equal(found_sinfo(&l, buf_str(&text), &err), -EBADMSG);
    assert_true(l.full && l.n == FOUND_MAX);

    AUTO_FOUND one = {0};
    struct found *f = found_list_add(&one, STR("a"), STR(""), 99999);
    assert_int_equal(f->port, 0);
}

static void lists_are_the_same_or_not(void **unused)
{
    static const char *const texts[] = {"a gpu:1 idle", "a gpu:1 mix", "a gpu:2 idle", "b gpu:1 idle",
                                        "a gpu:1 idle\nb gpu:1 idle"};
    (void)unused;
    for (size_t i = 0; i < ARRAY_LEN(texts); i++)
        for (size_t k = 0; k < ARRAY_LEN(texts); k++) {
            AUTO_FOUND a = {0};
            AUTO_FOUND b = {0};
            found_sinfo(&a, str_of(texts[i]), NULL);
            found_sinfo(&b, str_of(texts[k]), NULL);
            found_list_settle(&a);
            found_list_settle(&b);
            assert_int_equal(found_list_same(&a, &b), i == k);
        }
}

static void an_index_never_goes_back(void **unused)
{
    static const struct {
        uint64_t had;
        const char *header;
        uint64_t want;
    } rows[] = {{0, "7", 7}, {7, "7", 7},  {7, "9", 9},
                {9, "7", 0}, {9, "0", 0},  {9, "", 0},
                {9, "x", 0}, {9, "-1", 0}, {0, "18446744073709551616", 0}};
    (void)unused;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++)
        assert_int_equal(consul_index(rows[i].had, str_of(rows[i].header)), rows[i].want);
}

static void consul_is_asked_by_address_or_by_name(void **unused)
{
    static const struct {
        const char *what, *first, *next;
    } rows[] = {
        {"gpu", "http://127.0.0.1:8500/v1/health/service/gpu",
         "http://127.0.0.1:8500/v1/health/service/gpu?index=7&wait=60s"},
        {"https://c/v1/catalog/service/gpu?dc=ams", "https://c/v1/catalog/service/gpu?dc=ams",
         "https://c/v1/catalog/service/gpu?dc=ams&index=7&wait=60s"},
        {"http://c/v1/kv/x", NULL, NULL},
        {"file:///v1/health/service/x", NULL, NULL},
        {"http://c/v1/health/service/x y", NULL, NULL},
        {"http://c/v1/health/service/x#y", NULL, NULL},
        {"a/b", NULL, NULL},
        {"", NULL, NULL},
    };
    (void)unused;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        AUTO_BUF base = BUF_INIT(1024), first = BUF_INIT(1024), next = BUF_INIT(1024);
        struct err err = {0};
        print_message("%s\n", rows[i].what);
        assert_int_equal(consul_base(rows[i].what, &base, &err), rows[i].first ? 0 : -EINVAL);
        if (!rows[i].first)
            continue;
        consul_url(buf_str(&base), 0, &first);
        consul_url(buf_str(&base), 7, &next);
        assert_string_equal(first.p, rows[i].first);
        assert_string_equal(next.p, rows[i].next);
    }
}

static void the_old_file_has_an_address(void **unused)
{
    static const char *const bad[] = {"", "[]", "{}", "{\"CONSUL_SERVICE_URI\": \"\"}", "{\"CONSUL_SERVICE_URI\": 1}"};
    AUTO_BUF b = BUF_INIT(1024);
    struct err err = {0};
    (void)unused;
    assert_int_equal(consul_old_conf(STR("{\"CONSUL_SERVICE_URI\": \"http://consul:8500/v1/catalog/service/gpu\"}"), &b,
                                     &err),
                     0);
    assert_string_equal(b.p, "http://consul:8500/v1/catalog/service/gpu");
    for (size_t i = 0; i < ARRAY_LEN(bad); i++)
        assert_int_equal(consul_old_conf(str_of(bad[i]), &b, &err), -EINVAL);
}

static void headers_are_found_by_name(void **unused)
{
    struct http_result r = {.head = STR("HTTP/1.1 200 OK\r\nx-consul-index:  42 \r\nEmpty:\r\n\r\n")};
    struct str v = {0};
    (void)unused;
    assert_true(http_header(&r, "X-Consul-Index", &v) && str_eq(v, "42"));
    assert_true(http_header(&r, "Empty", &v) && v.len == 0);
    assert_false(http_header(&r, "X-Consul", &v));
}

TESTS(cmocka_unit_test(consul_speaks_of_catalog_and_health),
      cmocka_unit_test(targets_come_with_the_labels_of_their_group),
      cmocka_unit_test(sinfo_lists_a_node_once_per_partition), cmocka_unit_test(host_lines_without_patterns_are_hosts),
      cmocka_unit_test(srv_records_have_a_target_and_a_port), cmocka_unit_test(a_list_is_bounded_and_says_so),
      cmocka_unit_test(lists_are_the_same_or_not), cmocka_unit_test(an_index_never_goes_back),
      cmocka_unit_test(consul_is_asked_by_address_or_by_name), cmocka_unit_test(the_old_file_has_an_address),
      cmocka_unit_test(headers_are_found_by_name))
