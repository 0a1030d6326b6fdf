/* test_render_json.c: the API's JSON, its way back, and vesta's. */
#include "test.h"

#include <errno.h>
#include <jansson.h>

#include "base/json.h"
#include "format/render.h"
#include "now/ls.h"
#include "view_fixture.h"

static json_t *load(const struct buf *b)
{
    json_error_t bad;
    json_t *j = json_loadb(b->p, b->len, JSON_REJECT_DUPLICATES, &bad);

    if (!j)
        fail_msg("line %d: %s in %s", bad.line, bad.text, b->p);
    return j;
}

static void the_state_is_as_the_golden_file(void **unused)
{
    struct cluster *c = cluster_new();
    AUTO_BUF b = BUF_INIT(1 << 20);

    (void)unused;
    render_state(&b, &c->v);
    assert_golden("state.json", &b);
    json_decref(load(&b));
    cluster_free(c);
}

/* `since` of the state is SINCE of `muster ls`. */
static void since_is_the_same_in_state_and_list(void **unused)
{
    struct cluster *c = cluster_new();
    AUTO_BUF state = BUF_INIT(1 << 20), list = BUF_INIT(1 << 20);
    AUTO_ROWS rows = {0};
    size_t row = 0, held = 0;

    (void)unused;
    render_state(&state, &c->v);
    ls_rows(&c->v, LS_PLAIN, &rows);
    render_rows_json(&list, &rows);
    json_t *top = load(&state), *ls = load(&list), *node, *d;
    size_t i, k;
    json_array_foreach (json_object_get(top, "nodes"), i, node) {
        json_array_foreach (json_object_get(node, "devices"), k, d) {
            const json_t *other = json_array_get(ls, row++);
            assert_int_equal(json_integer_value(json_object_get(d, "since")),
                             json_integer_value(json_object_get(other, "since")));
            held += strcmp(json_string_value(json_object_get(d, "state")), "held") == 0;
        }
        row += json_array_size(json_object_get(node, "devices")) == 0; /* a node without GPUs has a row */
    }
    assert_true(held > 0);
    json_decref(top);
    json_decref(ls);
    cluster_free(c);
}

static void every_metric_is_in_the_state_and_absent_ones_are_not(void **unused)
{
    struct cluster *c = cluster_new();
    AUTO_BUF b = BUF_INIT(1 << 20);

    (void)unused;
    for (int m = 0; m < M_COUNT; m++)
        if (metrics[m].scope == SCOPE_NODE)
            sample_set(&c->n[0].now, (enum metric)m, 5000 + m);
    render_state(&b, &c->v);
    json_t *top = load(&b), *node = json_array_get(json_object_get(top, "nodes"), 0);
    json_t *busy = json_object_get(json_array_get(json_object_get(node, "devices"), 0), "metrics");
    json_t *free_ = json_object_get(json_array_get(json_object_get(node, "devices"), 2), "metrics");
    for (int m = 0; m < M_COUNT; m++) {
        json_t *from = metrics[m].scope == SCOPE_NODE ? json_object_get(node, "metrics") : busy;
        json_t *v = json_object_get(from, metrics[m].name);
        print_message("%s\n", metrics[m].name);
        assert_true(json_is_number(v));
        int64_t want = metrics[m].scope == SCOPE_NODE ? c->n[0].now.v[m] : c->n[0].devices[0].now.v[m];
        assert_near(json_number_value(v), (double)want / (double)metrics[m].per, 1e-9);
    }
    assert_null(json_object_get(free_, "power"));
    assert_int_equal(json_object_size(free_), 4);
    json_decref(top);
    cluster_free(c);
}

static void command_lines_are_shown_to_whom_they_may(void **unused)
{
    static const struct {
        bool show;
        const char *reader;
        bool kim, ana;
    } cases[] = {{false, "", false, false},
                 {true, "", true, true},
                 {false, "kim", true, false},
                 {false, "ana", false, true},
                 {false, "root", false, false}};
    struct cluster *c = cluster_new();

    (void)unused;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        AUTO_BUF b = BUF_INIT(1 << 20);
        c->v.show_cmd = cases[i].show;
        SET(c->v.reader, "%s", cases[i].reader);
        render_node(&b, &c->v, c->p[0]);
        assert_int_equal(strstr(b.p, "--secret 48121") != NULL, cases[i].kim);
        assert_int_equal(strstr(b.p, "--secret 48122") != NULL, cases[i].ana);
    }
    /* nobody's process is nobody's to read */
    AUTO_BUF b = BUF_INIT(1 << 20);
    c->v.reader[0] = 0;
    c->v.show_cmd = false;
    c->n[0].devices[0].procs[0].fact->user[0] = 0;
    render_node(&b, &c->v, c->p[0]);
    assert_null(strstr(b.p, "secret"));
    cluster_free(c);
}

static void what_was_written_is_read_back(void **unused)
{
    struct cluster *c = cluster_new();
    AUTO_BUF one = BUF_INIT(1 << 20);
    AUTO_BUF two = BUF_INIT(1 << 20);
    struct err err = {0};
    struct read_state got;
    const struct node_now *p[8];

    (void)unused;
    c->v.demo = c->v.show_cmd = true;
    c->v.notice = "store full: \"no\" room";
    c->n[1].retired = c->n[2].maintenance = c->n[3].demo = c->n[3].unlisted = true;
    c->n[3].backlog = 4000000000u;
    SET(c->n[4].name, "日本 \\ <x>");
    c->n[0].devices[0].n_advice = 2;
    c->n[0].devices[0].advice = mem_zero(2, sizeof(struct advice_now));
    c->n[0].devices[0].advice[0] = (struct advice_now){.rule = ADVICE_starved, .from_ms = NOW - 90000};
    c->n[0].devices[0].advice[1] = (struct advice_now){.rule = ADVICE_memory_bound, .from_ms = NOW - 70000};
    render_state(&one, &c->v);
    assert_int_equal(state_parse(buf_str(&one), &got, &err), 0);
    assert_int_equal(got.n, c->v.n);
    assert_int_equal(got.at_ms, NOW);
    assert_true(got.demo);
    assert_int_equal(got.nodes[0].devices[0].now.v[M_energy], c->n[0].devices[0].now.v[M_energy]);
    assert_int_equal(got.nodes[0].devices[0].v_at_ms[M_energy], c->n[0].devices[0].v_at_ms[M_energy]);
    assert_int_equal(got.nodes[0].devices[1].procs[0].mem, -1);
    assert_int_equal(got.nodes[4].at_ms, 0);
    assert_true(got.nodes[3].unlisted && !got.nodes[4].unlisted);
    assert_int_equal(got.nodes[0].devices[0].n_advice, 2);
    assert_true(strstr(one.p, "\"remedy\":\"try more data-loader workers") && !strstr(one.p, "\"evidence\""));
    for (size_t i = 0; i < got.n; i++)
        p[i] = &got.nodes[i];
    struct view v = {.at_ms = got.at_ms,
                     .demo = got.demo,
                     .version = c->v.version,
                     .n = got.n,
                     .nodes = p,
                     .show_cmd = true,
                     .notice = got.notice};
    render_state(&two, &v);
    assert_string_equal(one.p, two.p);
    read_state_fini(&got);
    cluster_free(c);
}

#define DEV  "{\"uuid\":\"u\",\"index\":0,\"name\":\"g\",\"state\":\"free\""
#define NODE "{\"id\":\"i\",\"name\":\"n\",\"state\":\"up\""

static void bad_states_are_refused_with_a_reason(void **unused)
{
    static const struct {
        const char *text, *why;
    } cases[] = {
        {"", "state: line "},
        {"{", "state: line 1: "},
        {"[]", "state: not a JSON object"},
        {"{}", "state: 'nodes' is missing"},
        {"{\"nodes\":{}}", "state: 'nodes' is not an array"},
        {"{\"at\":\"x\",\"nodes\":[]}", "state: 'at' is not a whole number"},
        {"{\"at\":9223372036854775807,\"nodes\":[]}", "state: 'at' is out of range"},
        {"{\"demo\":1,\"nodes\":[]}", "state: 'demo' is not true or false"},
        {"{\"nodes\":[1]}", "state: nodes[0]: 'nodes' is not an array of objects"},
        {"{\"nodes\":[{}]}", "state: nodes[0]: 'id' is missing"},
        {"{\"nodes\":[{\"id\":\"i\",\"name\":\"n\",\"state\":\"well\"}]}",
         "state: nodes[0]: 'state' is not a state of a node"},
        {"{\"nodes\":[{\"id\":\"i\",\"name\":\"a\\u001b[2Jb\",\"state\":\"up\"}]}",
         "state: nodes[0]: 'name' has control characters"},
        {"{\"nodes\":[" NODE ",\"driver\":\"012345678901234567890123456789012\"}]}",
         "state: nodes[0]: 'driver' is too long"},
        {"{\"nodes\":[" NODE ",\"metrics\":{\"cpu\":\"high\"}}]}", "state: nodes[0]: 'cpu' is not a number"},
        {"{\"nodes\":[" NODE ",\"metrics\":{\"cpu\":1e30}}]}", "state: nodes[0]: 'cpu' is out of range"},
        {"{\"nodes\":[" NODE ",\"metrics\":{\"cpu\":9223372036854775807}}]}", "state: nodes[0]: 'cpu' is out of range"},
        {"{\"nodes\":[" NODE ",\"devices\":[7]}]}", "state: nodes[0].devices[0]: 'devices' is not an array of objects"},
        {"{\"nodes\":[" NODE ",\"devices\":[" DEV "},{}]}]}", "state: nodes[0].devices[1]: 'uuid' is missing"},
        {"{\"nodes\":[" NODE ",\"devices\":[" DEV ",\"processes\":[{\"pid\":1.5}]}]}]}",
         "state: nodes[0].devices[0]: 'pid' is not a whole number"},
        {"{\"nodes\":[" NODE ",\"devices\":[" DEV ",\"processes\":[{\"kind\":\"odd\"}]}]}]}",
         "state: nodes[0].devices[0]: 'kind' is not a kind of process"},
        {"{\"nodes\":[" NODE ",\"custom_metrics\":[{\"name\":\"x\",\"per\":0}]}]}",
         "state: nodes[0]: 'per' is out of range"},
    };
    (void)unused;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct err err = {0};
        struct read_state got = {.nodes = (void *)1, .n = 77};

        print_message("%s\n", cases[i].text);
        assert_int_equal(state_parse(str_of(cases[i].text), &got, &err), -EBADMSG);
        assert_true(str_starts(str_of(err.msg), cases[i].why));
        assert_ptr_equal(got.nodes, (void *)1);
        assert_int_equal(got.n, 77);
    }
}

static void a_dense_text_does_not_grow_memory_without_bound(void **unused)
{
    AUTO_BUF b = BUF_INIT(8 << 20);
    struct err err = {0};
    struct read_state got;

    (void)unused;
    buf_adds(&b, "{\"nodes\":[{}");
    for (int i = 0; i < 100000; i++) /* 3 bytes each that would be 2 KB each */
        buf_adds(&b, ",{}");
    buf_adds(&b, "]}");
    assert_int_equal(state_parse(buf_str(&b), &got, &err), -EBADMSG);
    assert_string_equal(err.msg, "state: 'nodes' has too many elements");
}

static void unknown_fields_are_passed_over(void **unused)
{
    struct err err = {0};
    struct read_state got = {.demo = true};

    (void)unused;
    assert_int_equal(state_parse(STR("{\"at\":5,\"new\":[1],\"nodes\":[" NODE ",\"mood\":{},\"metrics\":{\"joy\":"
                                     "\"much\"},\"address\":null}]}"),
                                 &got, &err),
                     0);
    assert_int_equal(got.n, 1);
    assert_false(got.demo);
    read_state_fini(&got);
}

#define ALL_ESCAPES(array) memset(array, 1, sizeof(array) - 1)

/* Everything is written where there was room for the most that it may take; with SAN=1 this sees whether there was. */
static void texts_of_nothing_but_escapes_and_the_longest_numbers_have_room(void **unused)
{
    struct cluster *c = cluster_new();
    struct node_now *n = &c->n[0];
    struct device_now *d = &n->devices[0];
    struct proc_fact *f = d->procs[0].fact;

    (void)unused;
    ALL_ESCAPES(n->key), ALL_ESCAPES(n->name), ALL_ESCAPES(n->site), ALL_ESCAPES(n->reason), ALL_ESCAPES(n->was);
    ALL_ESCAPES(n->was_id), ALL_ESCAPES(n->address), ALL_ESCAPES(n->fact.agent), ALL_ESCAPES(n->fact.collector);
    ALL_ESCAPES(n->fact.driver), ALL_ESCAPES(n->fact.cuda), ALL_ESCAPES(n->fact.os), ALL_ESCAPES(n->fact.kernel);
    ALL_ESCAPES(n->fact.arch), ALL_ESCAPES(n->fact.cpu), ALL_ESCAPES(d->fact.uuid), ALL_ESCAPES(d->fact.name);
    ALL_ESCAPES(d->fact.parent), ALL_ESCAPES(d->fact.pci), ALL_ESCAPES(d->fact.serial), ALL_ESCAPES(d->fact.note);
    ALL_ESCAPES(d->reason), ALL_ESCAPES(f->user), ALL_ESCAPES(f->name), ALL_ESCAPES(f->cmd), ALL_ESCAPES(f->runtime);
    ALL_ESCAPES(f->container), ALL_ESCAPES(f->pod), ALL_ESCAPES(f->launch);
    n->since_ms = n->clock_off_ms = n->collect_since_ms = d->since_ms = d->price = INT64_MIN;
    d->procs[0].mem = f->start_ms = f->uid = f->slurm_job = INT64_MIN;
    n->version = INT64_MAX;
    for (unsigned m = 0; m < M_COUNT; m++) {
        sample_set(&n->now, (enum metric)m, INT64_MIN);
        sample_set(&d->now, (enum metric)m, m == M_throttle ? -1 : INT64_MIN);
    }
    c->v.show_cmd = true;
    for (size_t before = 0; before < 40000; before += 97) { /* the room there is anyway ends somewhere else each time */
        AUTO_BUF b = BUF_INIT(1 << 20);
        buf_fill(&b, ' ', before);
        render_node(&b, &c->v, n);
        if (before % 9700 == 0)
            json_decref(load(&b));
    }
    cluster_free(c);
}

static void a_state_too_large_for_its_buffer_is_an_error(void **unused)
{
    struct cluster *c = cluster_new();
    AUTO_BUF b = BUF_INIT(1000);

    (void)unused;
    render_state(&b, &c->v);
    assert_int_equal(b.err, -EMSGSIZE);
    assert_true(b.len <= 1000);
    cluster_free(c);
}

/* ---- vesta ---- */

/* Room is made for many of its values at once: none is lost where one such room ends. */
static void a_column_of_any_length_has_every_value(void **unused)
{
    static const int64_t pers[] = {1, 100, 1000000, 3};

    (void)unused;
    for (size_t n = 0; n < 140; n++) {
        int64_t v[140], per = pers[n % ARRAY_LEN(pers)];
        AUTO_BUF b = BUF_INIT(1 << 20);
        AUTO_BUF want = BUF_INIT(1 << 20);
        struct series_json w = {.out = &b};
        for (size_t i = 0; i < n; i++) {
            v[i] = i % 7 == 3 ? SERIES_NONE : (int64_t)(i * i * i * 12347) - 999999;
            buf_adds(&want, i ? "," : "");
            if (v[i] == SERIES_NONE)
                buf_adds(&want, "null");
            else
                buf_fixed(&want, v[i], per);
        }
        buf_adds(&want, "]}");
        render_series_json(&w, &(struct series){.node = "a",
                                                .node_id = "b",
                                                .metric = "util",
                                                .unit = "ratio",
                                                .agg = "avg",
                                                .index = -1,
                                                .mig = -1,
                                                .per = per,
                                                .n = n,
                                                .v = v});
        const char *column = strstr(b.p, "\"v\":[");
        assert_non_null(column);
        assert_string_equal(column + strlen("\"v\":["), want.p);
    }
}

static void vestas_json_has_vestas_shape(void **unused)
{
    struct cluster *c = cluster_new();
    AUTO_BUF b = BUF_INIT(1 << 20);

    (void)unused;
    render_vesta_states(&b, &c->v);
    assert_golden("vesta-states.json", &b);
    json_t *top = load(&b), *gpu, *entry;
    const char *status, *ip;
    json_int_t stamp, used, total, left, util, temp;
    assert_int_equal(json_unpack(top, "{s:{s:[o],s:s,s:s}}", "dgx1", "data", &entry, "ip_address", &ip, "status",
                                 &status),
                     0);
    assert_string_equal(ip, "10.0.0.1");
    assert_string_equal(status, "running");
    assert_int_equal(json_unpack(entry, "{s:I,s:{s:o}}", "timestamp", &stamp, "gpu_data", "gpu:0", &gpu), 0);
    assert_int_equal(stamp, 20261115100611);
    assert_int_equal(json_unpack(gpu, "{s:I,s:I,s:I,s:I,s:I}", "used_memory", &used, "total_memory", &total,
                                 "available_memory", &left, "gpu_volatile", &util, "temperature", &temp),
                     0);
    assert_int_equal(used, 131072);
    assert_int_equal(total, 143771);
    assert_int_equal(util, 98);
    assert_int_equal(temp, 62);
    assert_true(json_is_string(
        json_object_get(json_array_get(json_object_get(gpu, "processes"), 0), "pid"))); /* a text, as it was */
    json_t *data = json_object_get(entry, "gpu_data");
    assert_int_equal(json_object_size(data), 3); /* the lost one is not there */

    /* down and waiting: no data, the last time or none */
    assert_int_equal(json_unpack(top, "{s:{s:[{s:o,s:I}],s:s}}", "ws3", "data", "gpu_data", &data, "timestamp", &stamp,
                                 "status", &status),
                     0);
    assert_int_equal(json_object_size(data), 0);
    assert_int_equal(stamp, 20261115100202);
    assert_string_equal(status, "down");
    const char *never;
    assert_int_equal(json_unpack(top, "{s:{s:[{s:s}],s:s}}", "ws10", "data", "timestamp", &never, "status", &status),
                     0);
    assert_string_equal(never, "no entry received.");
    assert_string_equal(status, "waiting for re-uplink");
    json_decref(top);

    /* one host: its data even when it is down */
    buf_reset(&b);
    render_vesta_host(&b, &c->v, c->p[3]);
    top = load(&b);
    assert_int_equal(json_unpack(top, "{s:{s:[{s:{s:o}}]}}", "ws3", "data", "gpu_data", "gpu:0", &gpu), 0);
    json_decref(top);
    cluster_free(c);
}

static void two_hosts_of_one_name_are_one_key(void **unused)
{
    struct cluster *c = mem_zero(1, sizeof(*c));
    AUTO_BUF b = BUF_INIT(1 << 20);

    (void)unused;
    add_host(c, "twin \"x\"", "1", 1);
    add_host(c, "twin \"x\"", "2", 1);
    render_vesta_states(&b, &c->v);
    json_t *top = load(&b);
    assert_int_equal(json_object_size(top), 1);
    assert_non_null(json_object_get(top, "twin \"x\""));
    json_decref(top);
    cluster_free(c);
}

TESTS(cmocka_unit_test(the_state_is_as_the_golden_file), cmocka_unit_test(since_is_the_same_in_state_and_list),
      cmocka_unit_test(every_metric_is_in_the_state_and_absent_ones_are_not),
      cmocka_unit_test(command_lines_are_shown_to_whom_they_may), cmocka_unit_test(what_was_written_is_read_back),
      cmocka_unit_test(bad_states_are_refused_with_a_reason),
      cmocka_unit_test(a_dense_text_does_not_grow_memory_without_bound),
      cmocka_unit_test(texts_of_nothing_but_escapes_and_the_longest_numbers_have_room),
      cmocka_unit_test(unknown_fields_are_passed_over), cmocka_unit_test(a_state_too_large_for_its_buffer_is_an_error),
      cmocka_unit_test(a_column_of_any_length_has_every_value),
      cmocka_unit_test_setup(vestas_json_has_vestas_shape, in_utc), cmocka_unit_test(two_hosts_of_one_name_are_one_key))
