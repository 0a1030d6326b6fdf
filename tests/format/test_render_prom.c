/* test_render_prom.c: /metrics, checked by promtool where it is installed and by a strict reader of OpenMetrics here.
 */
#include "test.h"

#include <ctype.h>
#include <errno.h>

#include "base/version.h"
#include "format/render.h"
#include "view_fixture.h"

/* ---- a strict reader of OpenMetrics 1.0, as far as we use it ---- */

struct fam {
    char name[128], type[16], unit[32], help[256];
};

struct om {
    struct fam cur;
    char seen[256][128]; /* families, each once */
    size_t n_seen, n_lines;
    char *line[4096]; /* name and labels of each sample, each once */
};

static bool om_name(struct str s)
{
    if (!s.len || isdigit((unsigned char)s.p[0]))
        return false;
    for (size_t i = 0; i < s.len; i++)
        if (!isalnum((unsigned char)s.p[i]) && s.p[i] != '_' && s.p[i] != ':')
            return false;
    return true;
}

/* {a="b",c="d"}: true when well formed; *rest is moved behind it. */
static bool om_labels(struct str *rest)
{
    struct str s = *rest, name;

    if (!str_skip(&s, "{"))
        return true;
    while (!str_skip(&s, "}")) {
        if (!str_cut(&s, '=', &name) || !om_name(name) || str_starts(name, "__") || !str_skip(&s, "\""))
            return false;
        while (s.len && s.p[0] != '"') {
            size_t step = 1;
            if (s.p[0] == '\\') {
                if (s.len < 2 || !strchr("\\\"n", s.p[1]))
                    return false;
                step = 2;
            }
            s = str_n(s.p + step, s.len - step);
        }
        if (!str_skip(&s, "\""))
            return false;
        str_skip(&s, ",");
    }
    *rest = s;
    return true;
}

static void om_meta(struct om *o, struct str line)
{
    struct str kind, name;

    assert_true(str_cut(&line, ' ', &kind) && str_cut(&line, ' ', &name) && om_name(name));
    if (str_eq(kind, "TYPE")) {
        for (size_t i = 0; i < o->n_seen; i++)
            assert_false(str_eq(name, o->seen[i])); /* together, and once */
        assert_true(o->n_seen < ARRAY_LEN(o->seen));
        o->cur = (struct fam){0};
        SET(o->cur.name, "%.*s", STR_ARG(name));
        SET(o->cur.type, "%.*s", STR_ARG(line));
        SET(o->seen[o->n_seen++], "%.*s", STR_ARG(name));
        return;
    }
    assert_true(str_eq(name, o->cur.name));
    assert_int_equal(o->cur.help[0], 0); /* HELP is the last of the three */
    if (str_eq(kind, "UNIT")) {
        char suffix[40];
        snprintf(suffix, sizeof(suffix), "_%.*s", STR_ARG(line));
        assert_true(str_ends(name, suffix));
        assert_int_equal(o->cur.unit[0], 0);
        SET(o->cur.unit, "%.*s", STR_ARG(line));
    } else {
        assert_true(str_eq(kind, "HELP"));
        assert_null(memchr(line.p, '"', line.len));
        SET(o->cur.help, "%.*s", STR_ARG(line));
    }
}

static void om_sample(struct om *o, struct str line)
{
    struct str rest = line, name;
    size_t n = 0;
    char want[140], value[64];

    while (n < rest.len && rest.p[n] != '{' && rest.p[n] != ' ')
        n++;
    name = str_n(rest.p, n);
    rest = str_n(rest.p + n, rest.len - n);
    assert_true(om_name(name));
    SET(want, "%s%s", o->cur.name,
        strcmp(o->cur.type, "counter") == 0 ? "_total"
        : strcmp(o->cur.type, "info") == 0  ? "_info"
                                            : "");
    assert_true(str_eq(name, want)); /* of the family that is being told */
    assert_true(om_labels(&rest));
    char *key = mem_strn(line.p, line.len - rest.len);
    for (size_t i = 0; i < o->n_lines; i++)
        assert_string_not_equal(o->line[i], key);
    assert_true(o->n_lines < ARRAY_LEN(o->line));
    o->line[o->n_lines++] = key;
    assert_true(str_skip(&rest, " "));
    SET(value, "%.*s", STR_ARG(rest));
    char *end;
    double v = strtod(value, &end);
    assert_true(end != value && *end == 0); /* a value, and no timestamp */
    if (strcmp(o->cur.type, "counter") == 0)
        assert_true(v >= 0);
    if (strcmp(o->cur.type, "info") == 0)
        assert_near(v, 1, 0);
}

static size_t om_check(const struct buf *b)
{
    AUTO_FREE struct om *o = mem_zero(1, sizeof(*o));
    struct str rest = buf_str(b), line;
    bool eof = false;

    assert_true(str_ends(rest, "\n# EOF\n"));
    assert_null(memchr(rest.p, '\r', rest.len));
    while (str_line(&rest, &line)) {
        assert_false(eof);
        assert_true(line.len > 0);
        if (str_eq(line, "# EOF")) {
            eof = true;
        } else if (str_skip(&line, "# ")) {
            om_meta(o, line);
        } else {
            om_sample(o, line);
        }
    }
    assert_true(eof);
    for (size_t i = 0; i < o->n_lines; i++)
        free(o->line[i]);
    return o->n_lines;
}

/* ---- tests ---- */

/* The golden files are the same for each commit. */
static void assert_golden_metrics(const char *name, const struct buf *got)
{
    AUTO_BUF b = BUF_INIT(1 << 20);
    AUTO_FREE char *label = mem_fmt("commit=\"%s\"", muster_commit);
    const char *at = strstr(got->p, label);

    assert_non_null(at);
    buf_addf(&b, "%.*scommit=\"COMMIT\"%s", (int)(at - got->p), got->p, at + strlen(label));
    assert_golden(name, &b);
}

static void metrics_are_as_the_golden_files(void **unused)
{
    struct cluster *c = cluster_new();
    AUTO_BUF b = BUF_INIT(1 << 20);

    (void)unused;
    render_prom(&b, &c->v, false);
    assert_golden_metrics("metrics.txt", &b);
    buf_reset(&b);
    render_prom(&b, &c->v, true);
    assert_golden_metrics("metrics-openmetrics.txt", &b);
    cluster_free(c);
}

static void openmetrics_is_strictly_so(void **unused)
{
    struct cluster *c = cluster_new();
    AUTO_BUF b = BUF_INIT(1 << 20);
    struct view none = {.at_ms = NOW};

    (void)unused;
    render_prom(&b, &c->v, true);
    assert_true(om_check(&b) > 100);
    buf_reset(&b);
    render_prom(&b, &none, true);
    assert_int_equal(om_check(&b), 1);
    cluster_free(c);
}

static void odd_names_are_escaped_and_twins_told_apart(void **unused)
{
    struct cluster *c = cluster_new();
    AUTO_BUF b = BUF_INIT(1 << 20);

    (void)unused;
    SET(c->n[0].name, "a\"b\\c\nd");
    SET(c->n[1].name, "a\"b\\c\nd");
    SET(c->n[2].devices[1].fact.uuid, "MIG-2"); /* as its neighbour */
    SET(c->n[0].fact.custom[1].name, "queue.depth");
    c->n[0].fact.custom[1].kind = KIND_GAUGE;
    c->n[0].n_custom = 2;
    c->n[0].custom = mem_grow(c->n[0].custom, 2, sizeof(*c->n[0].custom));
    c->n[0].custom[1] = (struct custom_now){METRIC_CUSTOM + 1, 5, NOW};
    render_prom(&b, &c->v, true);
    om_check(&b);
    assert_non_null(strstr(b.p, "muster_node_up{node=\"a\\\"b\\\\c\\nd#key-dgx1\"} 1\n"));
    assert_non_null(strstr(b.p, "muster_node_up{node=\"a\\\"b\\\\c\\nd#key-dgx2\"} 0\n"));
    cluster_free(c);
}

static void every_metric_is_there_and_only_what_is_known(void **unused)
{
    struct cluster *c = cluster_new();
    AUTO_BUF b = BUF_INIT(1 << 20);

    (void)unused;
    for (int m = 0; m < M_COUNT; m++)
        if (metrics[m].scope == SCOPE_NODE)
            sample_set(&c->n[0].now, (enum metric)m, 5000 + m);
    render_prom(&b, &c->v, false);
    for (int m = 0; m < M_COUNT; m++) {
        AUTO_BUF want = BUF_INIT(1024);
        print_message("%s\n", metrics[m].name);
        if (metrics[m].scope == SCOPE_NODE)
            buf_addf(&want, "\n%s{node=\"dgx1\"} ", metrics[m].prom);
        else
            buf_addf(&want, "\n%s{node=\"dgx1\",gpu=\"0\",uuid=\"GPU-dgx1-0\"} ", metrics[m].prom);
        metric_base(&want, (enum metric)m,
                    metrics[m].scope == SCOPE_NODE ? c->n[0].now.v[m] : c->n[0].devices[0].now.v[m]);
        buf_addc(&want, '\n');
        assert_non_null(strstr(b.p, want.p));
    }
    assert_null(strstr(b.p, "muster_gpu_power_watts{node=\"dgx1\",gpu=\"2\"")); /* absent */
    /* lost, hung, stale: their last values are not told as if they were news; their states are */
    assert_null(strstr(b.p, "muster_gpu_utilization_ratio{node=\"dgx1\",gpu=\"3\""));
    assert_null(strstr(b.p, "muster_gpu_utilization_ratio{node=\"dgx2\""));
    assert_null(strstr(b.p, "muster_gpu_utilization_ratio{node=\"ws3\""));
    assert_null(strstr(b.p, "muster_node_load1{node=\"ws3\""));
    assert_non_null(strstr(b.p, "muster_node_up{node=\"ws3\"} 0\n"));
    assert_non_null(strstr(b.p, "muster_gpu_state{node=\"ws3\",gpu=\"0\",uuid=\"GPU-ws3-0\",state=\"stale\"} 1\n"));
    assert_null(strstr(b.p, "muster_gpu_state{node=\"ws3\",gpu=\"0\",uuid=\"GPU-ws3-0\",state=\"free\""));
    assert_non_null(strstr(b.p, "uuid=\"GPU-dgx1-0\",reason=\"sw thermal\"} 1\n"));
    assert_null(strstr(b.p, "uuid=\"GPU-dgx1-0\",reason=\"hw thermal\""));
    cluster_free(c);
}

/* Not those that are hung, or paused in maintenance long ago, or have no device in sight. */
static void a_node_is_up_while_its_devices_are_read(void **unused)
{
    static const struct {
        enum node_state node;
        enum dev_state devices;
        const char *want;
    } cases[] = {{NODE_UP, DEV_BUSY, "1"},   {NODE_UP, DEV_STALE, "0"},   {NODE_UP, DEV_LOST, "0"},
                 {NODE_UP, DEV_HUNG, "0"},   {NODE_HUNG, DEV_HUNG, "0"},  {NODE_HUNG, DEV_BUSY, "0"},
                 {NODE_DOWN, DEV_BUSY, "0"}, {NODE_PAUSED, DEV_FREE, "1"}};

    (void)unused;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct cluster *c = cluster_new();
        AUTO_BUF b = BUF_INIT(1 << 20);
        char want[80];

        print_message("%s, %s\n", node_words[cases[i].node], dev_states[cases[i].devices].word);
        c->n[0].state = cases[i].node;
        for (size_t k = 0; k < c->n[0].n_devices; k++)
            c->n[0].devices[k].state = cases[i].devices;
        render_prom(&b, &c->v, false);
        SET(want, "\nmuster_node_up{node=\"dgx1\"} %s\n", cases[i].want);
        assert_non_null(strstr(b.p, want));
        cluster_free(c);
    }
}

static void an_old_value_of_a_fresh_device_is_left_out(void **unused)
{
    struct cluster *c = cluster_new();
    AUTO_BUF b = BUF_INIT(1 << 20);

    (void)unused;
    c->n[0].devices[0].v_at_ms[M_power] = NOW - 120001;
    c->n[0].v_at_ms[M_load1] = NOW - 120001;
    render_prom(&b, &c->v, false);
    assert_null(strstr(b.p, "muster_gpu_power_watts{node=\"dgx1\",gpu=\"0\""));
    assert_null(strstr(b.p, "muster_node_load1{"));
    assert_non_null(strstr(b.p, "muster_gpu_energy_joules_total{node=\"dgx1\",gpu=\"0\""));
    cluster_free(c);
}

static void custom_names_are_made_to_fit(void **unused)
{
    static const struct {
        const char *name;
        uint8_t unit, kind;
        const char *want;
    } cases[] = {{"loss", UNIT_NONE, KIND_GAUGE, "muster_custom_loss"},
                 {"Loss Value", UNIT_NONE, KIND_GAUGE, "muster_custom_loss_value"},
                 {"a..b--c", UNIT_NONE, KIND_GAUGE, "muster_custom_a_b_c"},
                 {"steps", UNIT_NONE, KIND_COUNTER, "muster_custom_steps_total"},
                 {"steps_total", UNIT_NONE, KIND_COUNTER, "muster_custom_steps_total"},
                 {"steps_total", UNIT_NONE, KIND_GAUGE, "muster_custom_steps"},
                 {"read", UNIT_BYTES, KIND_COUNTER, "muster_custom_read_bytes_total"},
                 {"read_bytes", UNIT_BYTES, KIND_GAUGE, "muster_custom_read_bytes"},
                 {"été", UNIT_SECONDS, KIND_GAUGE, "muster_custom_t_seconds"},
                 {"日", UNIT_NONE, KIND_GAUGE, "muster_custom_"}};
    (void)unused;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct cluster *c = cluster_new();
        AUTO_BUF b = BUF_INIT(1 << 20);
        char want[128];

        print_message("%s\n", cases[i].name);
        SET(c->n[0].fact.custom[0].name, "%s", cases[i].name);
        c->n[0].fact.custom[0].unit = cases[i].unit;
        c->n[0].fact.custom[0].kind = cases[i].kind;
        SET(want, "\n%s{node=\"dgx1\"} 17\n", cases[i].want);
        render_prom(&b, &c->v, true);
        om_check(&b);
        assert_non_null(strstr(b.p, want));
        cluster_free(c);
    }
}

static void promtool_finds_nothing_to_say(void **unused)
{
    struct cluster *c;
    AUTO_BUF b = BUF_INIT(1 << 20);
    char path[] = "/tmp/muster-promtool-XXXXXX", cmd[256], said[4096];

    (void)unused;
    if (system("command -v promtool >/dev/null 2>&1") != 0)
        skip();
    c = cluster_new();
    for (int m = 0; m < M_COUNT; m++)
        if (metrics[m].scope == SCOPE_NODE)
            sample_set(&c->n[0].now, (enum metric)m, 5000 + m);
    render_prom(&b, &c->v, false);
    AUTO_CLOSE int fd = mkstemp(path);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, b.p, b.len), b.len);
    snprintf(cmd, sizeof(cmd), "promtool check metrics < %s 2>&1", path);
    FILE *f = popen(cmd, "r");
    assert_non_null(f);
    size_t n = fread(said, 1, sizeof(said) - 1, f);
    said[n] = 0;
    int status = pclose(f);
    unlink(path);
    if (status != 0 || n)
        fail_msg("promtool: %s", said);
    cluster_free(c);
}

TESTS(cmocka_unit_test(metrics_are_as_the_golden_files), cmocka_unit_test(openmetrics_is_strictly_so),
      cmocka_unit_test(odd_names_are_escaped_and_twins_told_apart),
      cmocka_unit_test(every_metric_is_there_and_only_what_is_known),
      cmocka_unit_test(a_node_is_up_while_its_devices_are_read),
      cmocka_unit_test(an_old_value_of_a_fresh_device_is_left_out), cmocka_unit_test(custom_names_are_made_to_fit),
      cmocka_unit_test(promtool_finds_nothing_to_say))
