/* test_filter.c: the filter language: meaning of each condition, unknown values, and positions of errors. */
#include "test.h"

#include <errno.h>

#include "base/buf.h"
#include "now/filter.h"
#include "view_fixture.h"

/* Matching devices: "dgx1/0 mig1/0.2"; a node without devices by its name. */
static void matches(const struct view *v, const struct filter *f, struct buf *out)
{
    for (size_t i = 0; i < v->n; i++) {
        const struct node_now *n = v->nodes[i];
        if (!n->n_devices && filter_match(f, n, NULL, v->at_ms))
            buf_addf(out, "%s%s", out->len ? " " : "", n->name);
        for (size_t k = 0; k < n->n_devices; k++) {
            const struct device_now *d = &n->devices[k];
            if (!filter_match(f, n, d, v->at_ms))
                continue;
            buf_addf(out, "%s%s/%d", out->len ? " " : "", n->name, (int)d->fact.index);
            if (d->fact.mig >= 0)
                buf_addf(out, ".%d", (int)d->fact.mig);
        }
    }
    buf_adds(out, "");
}

struct want {
    const char *text, *found;
};

static void check(const struct want *w, size_t n)
{
    struct cluster *c = cluster_new();

    for (size_t i = 0; i < n; i++) {
        struct filter_err err = {0};
        AUTO_FILTER *f = NULL;
        AUTO_BUF b = BUF_INIT(65536);
        print_message("'%s'\n", w[i].text);
        if (filter_new(str_of(w[i].text), "lee", &f, &err) < 0)
            fail_msg("column %u: %s", err.column, err.message);
        matches(&c->v, f, &b);
        assert_string_equal(b.p ? b.p : "", w[i].found);
    }
    cluster_free(c);
}
#define ALL_DGX1 "dgx1/0 dgx1/1 dgx1/2 dgx1/3"
#define ALL_MIG  "mig1/0 mig1/0.1 mig1/0.2"

static void every_condition_means_what_the_manual_says(void **unused)
{
    static const struct want cases[] = {
        /* custom metrics: of a device or its node, in the display unit */
        {"metric:tokens>1234.5", "dgx1/0"},
        {"metric:tokens=1234.567", "dgx1/0"},
        {"metric:tokens>1234.567", ""},
        {"metric:TOK*<1300", "dgx1/0"},
        {"not metric:tokens>2000", "dgx1/0"}, /* other devices have none: unknown */
        {"metric:tokens<1.5G", "dgx1/0"},
        {"metric:'queue \"depth\"'=17", ALL_DGX1},
        {"metric:queue*>=17 busy", "dgx1/0"},
        {"metric:queue*>17", ""},
        {"metric:queue*>1700%", ""},
        {"metric:queue*=1700%", ALL_DGX1},
        {"metric:nothing>0", ""},
        {"metric:tokens<99999999999999999", "dgx1/0"},
        {"metric:power>1W busy", "dgx1/0"}, /* a built-in metric */
        /* labels: a node without a label is known to have none */
        {"label:rack=a1", ALL_DGX1},
        {"label:RACK=A1", ALL_DGX1},
        {"label:rack=a", ""},
        {"label:rack:a", ALL_DGX1},
        {"label:rack=a*", ALL_DGX1},
        {"label:rack=\"a*\"", ""},
        {"label:r?ck", ALL_DGX1},
        {"label:'rack' busy", "dgx1/0"},
        {"label:*=vision busy", "dgx1/0"},
        {"label:*=a1 label:*=vision busy", "dgx1/0"},
        {"label:team : \"computer vision\" free", ""},
        {"label:rack!=a1 free", "mig1/0.1 mig1/0.2"},
        {"not label:rack free", "mig1/0.1 mig1/0.2"},
        {"(label:rack) free", "dgx1/2"},
        {"label:note=\"<img onerror=x>\" busy", "dgx1/0"},
        {"label:nothing", ""},
        /* states */
        {"free", "dgx1/2 mig1/0.1 mig1/0.2"},
        {"busy", "dgx1/0"},
        {"held", "dgx1/1 mig1/0"},
        {"stale", "ws3/0"},
        {"offline", "ws3/0"},
        {"starting", ""},
        {"hung", "dgx2/0"},
        {"lost", "dgx1/3"},
        {"missing", "dgx1/3"},
        {"broken", "dgx1/3 dgx2/0 ws3/0"},
        {"state=held", "dgx1/1 mig1/0"},
        {"state:broken", "dgx1/3 dgx2/0 ws3/0"},
        {"state!=free host:dgx1", "dgx1/0 dgx1/1 dgx1/3"},
        {"FREE", "dgx1/2 mig1/0.1 mig1/0.2"},
        /* people and processes */
        {"user:kim", "dgx1/0"},
        {"user:ki", ""},
        {"user:KIM", "dgx1/0"},
        {"user:k*", "dgx1/0"},
        {"user=ana", "dgx1/0"},
        {"user:*", "dgx1/0 dgx1/1"},
        {"user!=kim host:dgx1", "dgx1/1 dgx1/2 dgx1/3"},
        {"mine", "dgx1/1"},
        {"not mine and user:*", "dgx1/0"},
        {"booked", "dgx1/1"},
        {"booked not user:kim", "dgx1/1"},
        {"not booked host:dgx1", "dgx1/0 dgx1/2 dgx1/3"},
        {"booker:kim", "dgx1/1"},
        {"booker:K*", "dgx1/1"},
        {"booker:lee", ""},
        {"booker!=kim host:dgx1", "dgx1/0 dgx1/2 dgx1/3"},
        {"program:python", "dgx1/0"},
        {"program:pyth*", "dgx1/0"},
        {"program=python3", ""},
        {"program:conda", "dgx1/0"},
        {"container:3f9", "dgx1/0"},
        {"runtime:docker", "dgx1/0"},
        {"pod:x", ""},
        {"slurm:77", "dgx1/0"},
        {"slurm>76", "dgx1/0"},
        {"slurm!=77 host:dgx1", "dgx1/1 dgx1/2 dgx1/3"},
        {"slurm:78", ""},
        {"pid:500", "dgx1/1"},
        /* what it is and where */
        {"model:h200", ALL_DGX1 " dgx2/0 " ALL_MIG " ws3/0"},
        {"model:*18gb", "mig1/0.1 mig1/0.2"},
        {"model:mig", "mig1/0.1 mig1/0.2"},
        {"model:\"h200 mig\"", "mig1/0.1 mig1/0.2"},
        {"model:'H200 MIG'", "mig1/0.1 mig1/0.2"},
        {"model:\"*18gb\"", ""},
        {"model=\"NVIDIA H200\" host:mig1", "mig1/0"},
        {"model=h200", ""},
        {"host:dgx*", ALL_DGX1 " dgx2/0"},
        {"node:dgx2", "dgx2/0"},
        {"host:dgx", ""},
        {"host:dgx[13]", ALL_DGX1},
        {"host:ws1?", "ws10"},
        {"host:zoo", "zoo"},
        {"host!=dgx1 host:dgx*", "dgx2/0"},
        {"gpu:0", "dgx1/0 dgx2/0 " ALL_MIG " ws3/0"},
        {"gpu>=2", "dgx1/2 dgx1/3"},
        {"index!=0", "dgx1/1 dgx1/2 dgx1/3"},
        {"uuid:GPU-dgx1-2", "dgx1/2"},
        {"uuid:gpu-dgx1", ALL_DGX1},
        {"uuid:MIG-*", "mig1/0.1 mig1/0.2"},
        {"pci:07:00", "dgx1/3"},
        {"serial:1", ""},
        {"driver:580* host:dgx2", "dgx2/0"},
        {"driver:535*", ""},
        {"os:debian gpu:0", "dgx1/0"},
        {"agent:0.1.0 gpu:2", "dgx1/2"},
        {"cuda:13", ""},
        {"mig", "mig1/0.1 mig1/0.2"},
        {"mig:2", "mig1/0.2"},
        {"not mig host:mig1", "mig1/0"},
        {"asleep", ""},
        {"maintenance", ""},
        /* numbers */
        {"mem>40G", "dgx1/0"},
        {"mem>=2GiB", "dgx1/0 dgx1/1"},
        {"mem=2048M", "dgx1/1"},
        {"mem=0", "dgx1/2"},
        {"mem > 40G", "dgx1/0"},
        {"mem>90%", "dgx1/0"},
        {"mem_used>40G", "dgx1/0"},
        {"memfree>=40G", "dgx1/1 dgx1/2"},
        {"memfree>=99%", "dgx1/2 mig1/0.1 mig1/0.2"},
        {"memfree<16G", "dgx1/0 mig1/0.1 mig1/0.2"},
        {"memtotal>100G", ALL_DGX1 " dgx2/0"},
        {"mem_total<=24564M", "mig1/0.1 mig1/0.2 ws3/0"},
        {"util>50%", "dgx1/0"},
        {"util>50", "dgx1/0"},
        {"util=0", "dgx1/1 dgx1/2"},
        {"temp>60", "dgx1/0"},
        {"temp<=30C", "dgx1/2"},
        {"temp=35°C", "dgx1/1"},
        {"power>0.5", "dgx1/0"},
        {"power>300W", ""},
        {"clock_sm<1MHz", "dgx1/0"},
        {"energy<1kWh", "dgx1/0"},
        {"pcie_rx>1K/s", ""},
        {"pcie_rx>0", "dgx1/0"},
        {"busy<1s", "dgx1/0"},
        {"load1>14", ALL_DGX1},
        {"ram_used>=100G", ALL_DGX1},
        {"throttle:power", "dgx1/0"},
        {"throttle:\"sw thermal\"", "dgx1/0"},
        {"throttle:brake", ""},
        {"throttle!=power", ""},
        {"throttle:none", ""},
        /* times */
        {"idle>2h", "dgx1/1 dgx1/2"},
        {"idle>1d", ""},
        {"idle>=1d", "dgx1/2"},
        {"idle<10m", "dgx1/0"},
        {"since>30m host:dgx1", ALL_DGX1},
        {"since>3h", "dgx1/0 dgx1/1"}, /* held for this long, whatever happened meanwhile */
        {"since>4h", ""},
        {"age<10s", "dgx1/0 dgx1/1 dgx1/2 " ALL_MIG},
        {"age>4m", "dgx1/3 dgx2/0 ws3/0"},
    };

    (void)unused;
    check(cases, ARRAY_LEN(cases));
}

static void conditions_join_as_people_write_them(void **unused)
{
    static const struct want cases[] = {
        {"free host:dgx1", "dgx1/2"},
        {"free and host:dgx1", "dgx1/2"},
        {"free AND host:dgx1", "dgx1/2"},
        {"busy or hung", "dgx1/0 dgx2/0"},
        {"busy or free host:dgx1", "dgx1/0 dgx1/2"}, /* and binds tighter */
        {"(busy or free) host:dgx1", "dgx1/0 dgx1/2"},
        {"(busy or free)and(host:mig1)", "mig1/0.1 mig1/0.2"},
        {"not broken host:dgx1", "dgx1/0 dgx1/1 dgx1/2"},
        {"not (broken or free) host:dgx1", "dgx1/0 dgx1/1"},
        {"not not free", "dgx1/2 mig1/0.1 mig1/0.2"},
        {"not not not free host:dgx1", "dgx1/0 dgx1/1 dgx1/3"},
        {"not(free)host:dgx1", "dgx1/0 dgx1/1 dgx1/3"},
        {"((((free)))) gpu:2", "dgx1/2"},
        {"  free\tgpu:2 \n", "dgx1/2"},
        {"hung or (busy and user:kim) or (free and idle>2h)", "dgx1/0 dgx1/2 dgx2/0"},
        {"busy and not user:kim or lost", "dgx1/3"},
        {"free or free or free or busy", "dgx1/0 dgx1/2 mig1/0.1 mig1/0.2"},
    };

    (void)unused;
    check(cases, ARRAY_LEN(cases));
}

static void what_is_not_known_never_matches(void **unused)
{
    static const struct want cases[] = {
        /* dgx1/3 is lost with old values, mig1 never had a util */
        {"util>5", "dgx1/0"},
        {"not util>5", "dgx1/1 dgx1/2"},
        {"not not util>5", "dgx1/0"},
        {"util>5 or not util>5", "dgx1/0 dgx1/1 dgx1/2"},
        {"util!=98", "dgx1/1 dgx1/2"},
        {"not (util>5 and free)", "dgx1/0 dgx1/1 dgx1/2 dgx1/3 dgx2/0 mig1/0 ws3/0"}, /* certain without util */
        {"util>5 or free", "dgx1/0 dgx1/2 mig1/0.1 mig1/0.2"},
        {"not (util>5 or free)", "dgx1/1"},
        {"not idle>2h", "dgx1/0"},
        {"not age>1w host:ws*", "ws3/0"},                           /* ws10 never reported */
        {"free or not free", ALL_DGX1 " dgx2/0 " ALL_MIG " ws3/0"}, /* nodes without devices have no state */
        {"not host:dgx*", ALL_MIG " ws3/0 ws10 zoo"},
        {"cuda:13 or not cuda:13", ""},
        {"load1>1", ALL_DGX1}, /* ws3 is down: its load is old */
    };

    (void)unused;
    check(cases, ARRAY_LEN(cases));
}

static void a_user_not_known_could_be_anybody(void **unused)
{
    static const struct {
        const char *text;
        bool match;
    } cases[] = {{"user:kim", false},  {"not user:kim", false},    {"user!=kim", false},     {"user:lee", true},
                 {"user!=lee", false}, {"busy or user:kim", true}, {"not container:x", true}};
    struct cluster *c = cluster_new();
    struct device_now *d = &c->n[0].devices[1];

    (void)unused;
    add_proc(d, 501, "", "x", 0);
    d->state = DEV_BUSY;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct filter_err err = {0};
        AUTO_FILTER *f = NULL;
        print_message("'%s'\n", cases[i].text);
        assert_int_equal(filter_new(str_of(cases[i].text), NULL, &f, &err), 0);
        assert_int_equal(filter_match(f, &c->n[0], d, NOW), cases[i].match);
    }
    cluster_free(c);
}

static void whoever_is_on_a_gpu_that_broke_is_still_told(void **unused)
{
    struct cluster *c = cluster_new();
    struct filter_err err = {0};
    AUTO_FILTER *f = NULL;
    struct device_now *d = &c->n[0].devices[0];

    (void)unused;
    assert_int_equal(filter_new(str_of("user:kim hung"), NULL, &f, &err), 0);
    assert_false(filter_match(f, &c->n[0], d, NOW));
    d->state = DEV_HUNG;
    assert_true(filter_match(f, &c->n[0], d, NOW));
    cluster_free(c);
}

static void a_process_is_asked_alone(void **unused)
{
    static const struct {
        const char *text;
        bool kim, ana;
    } cases[] = {{"user:kim", true, false}, {"not user:kim", false, true}, {"busy", true, true},
                 {"mem>40G", true, true},   {"slurm:77", true, false},     {"free", false, false}};
    struct cluster *c = cluster_new();
    const struct device_now *d = &c->n[0].devices[0];

    (void)unused;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct filter_err err = {0};
        AUTO_FILTER *f = NULL;
        print_message("'%s'\n", cases[i].text);
        assert_int_equal(filter_new(str_of(cases[i].text), NULL, &f, &err), 0);
        assert_int_equal(filter_match_proc(f, &c->n[0], d, &d->procs[0], NOW), cases[i].kim);
        assert_int_equal(filter_match_proc(f, &c->n[0], d, &d->procs[1], NOW), cases[i].ana);
    }
    cluster_free(c);
}

static void errors_name_the_column_and_what_was_expected(void **unused)
{
    static const struct {
        const char *text;
        unsigned column;
        const char *message;
    } cases[] = {
        {"", 1, "expected a condition such as free or mem>40G"},
        {"   ", 4, "expected a condition"},
        {"label", 6, "as in label:rack=a1"},
        {"label=x", 6, "as in label:rack=a1"},
        {"label:", 7, "expected a label's name"},
        {"label:=x", 7, "expected a label's name"},
        {"label:rack=", 12, "expected some text"},
        {"label:rack>3", 11, "which has no order"},
        {"label:\u00e9t\u00e9 < 3", 11, "which has no order"},
        {"label:rack='a", 12, "expected a second '"},
        {"metric", 7, "as in metric:tokens>100"},
        {"metric:", 8, "expected a metric's name"},
        {"metric:tokens", 14, "expected one of = !="},
        {"metric:tokens:5", 16, "expected one of = !="},
        {"metric:tokens>", 15, "expected a number such as 4"},
        {"metric:tokens>many", 15, "after 'metric:tokens>'"},
        {"metric:util>40G", 13, "expected a share"},
        {"mem>", 5, "expected a size such as 40G, or a share such as 50%, after 'mem>'"},
        {"mem>big", 5, "expected a size such as 40G"},
        {"mem>40", 5, "expected a size such as 40G"}, /* 40 bytes is never intended */
        {"memtotal>40%", 10, "expected a size such as 40G after 'memtotal>'"},
        {"free util>x", 11, "expected a share such as 50% after 'util>'"},
        {"clock_sm>1500", 10, "expected a clock such as 1500MHz"},
        {"pcie_rx>1", 9, "expected a rate such as 2G/s"},
        {"temp>hot", 6, "expected a temperature such as 80"},
        {"power>1MW", 7, "expected a power such as 300W"},
        {"energy>1x", 8, "expected an energy such as 2kWh"},
        {"uptime>x", 8, "expected a time such as 2h"},
        {"idle>2x", 6, "expected a time such as 30m or 2h after 'idle>'"},
        {"pstate>P2", 8, "expected a number such as 4"},
        {"gpu:one", 5, "expected a whole number after 'gpu:'"},
        {"state=good", 7, "expected free, held, busy, unknown, starting, offline, hung or lost"},
        {"state=mine", 7, "expected free"},
        {"advice:fp16", 8, "expected starved, fp32, small-kernels or another rule's name"},
        {"advice>fp32", 7, "which has no order"},
        {"throttle:maybe", 10, "expected power, thermal, slowdown"},
        {"user:", 6, "expected a name, or a pattern such as dgx*, after 'user:'"},
        {"user:\"\"", 6, "expected a name"},
        {"user>kim", 5, "expected : = or != after 'user', which has no order"},
        {"state<held", 6, "expected : = or !="},
        {"memfre>1G", 1, "did you mean 'memfree'?"},
        {"colour:red", 1, "'colour' is not known: expected a name such as user"},
        {"util", 5, "expected one of : = != < <= > >= and a value after 'util'"},
        {"free=1", 5, "'free' stands alone"},
        {"free and", 9, "expected a condition such as free or mem>40G after 'and'"},
        {"free or", 8, "expected a condition such as free or mem>40G after 'or'"},
        {"not", 4, "after 'not'"},
        {"or free", 1, "expected a condition, not 'or'"},
        {"free or and busy", 9, "expected a condition after 'or', not 'and'"},
        {"()", 2, "expected a condition such as free or mem>40G after '('"},
        {"(free", 6, "expected ')' for the '(' in column 1"},
        {"busy or ((free) held", 21, "expected ')' for the '(' in column 9"},
        {"free)", 5, "there is no '(' for this ')'"},
        {")", 1, "expected a condition"},
        {"model:\"h200", 7, "expected a second \" for this one"},
        {"'free'", 1, "expected a condition"},
        {"!free", 1, "expected a condition"},
        {"user:größe >", 12, "expected a condition"}, /* characters, not bytes */
        {"mine", 1, "'mine' needs a user"},
        {"free\001", 5, "expected text, not a control character"},
        {"age<5m age<99999999999999999999h", 12, "expected a time"},
        {"util>1e400", 6, "expected a share"},
    };

    (void)unused;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct filter_err err = {0};
        struct filter *f = NULL;
        print_message("'%s'\n", cases[i].text);
        assert_int_equal(filter_new(str_of(cases[i].text), NULL, &f, &err), -EINVAL);
        assert_null(f);
        if (err.column != cases[i].column || !strstr(err.message, cases[i].message))
            fail_msg("column %u: %s", err.column, err.message);
    }
}

static void a_bare_word_is_whatever_fits_and_it_is_said_which(void **unused)
{
    static const struct {
        const char *text, *found, *said;
        bool odd;
    } cases[] = {
        {"kim", "dgx1/0", "kim: person", false},
        {"KIM", "dgx1/0", "kim: person", false},
        {"dgx2", "dgx2/0", "dgx2: node", false},
        {"dgx*", ALL_DGX1 " dgx2/0", "dgx*: node", false},
        {"python", "dgx1/0", "python: program", false},
        {"kim python", "dgx1/0", "kim: person, python: program", false},
        {"not kim user:*", "dgx1/1", "kim: person", false}, /* based on all devices, not only on matches */
        {"(lee or dgx2) not free", "dgx1/1 dgx2/0", "lee: person, dgx2: node", false},
        {"free", "dgx1/2 mig1/0.1 mig1/0.2", "", false},
        {"fere", "", "fere: no person, node, model or program; did you mean 'free'?", true},
        {"qqqqqq", "", "qqqqqq: no person, node, model or program", true},
    };
    struct cluster *c = cluster_new();

    (void)unused;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct filter_err err = {0};
        AUTO_FILTER *f = NULL;
        AUTO_BUF b = BUF_INIT(65536);
        struct filter_kinds kinds = {0};
        char said[FILTER_SAID];
        print_message("'%s'\n", cases[i].text);
        assert_int_equal(filter_new(str_of(cases[i].text), NULL, &f, &err), 0);
        for (size_t k = 0; k < c->v.n; k++)
            filter_see(f, c->v.nodes[k], c->v.at_ms, &kinds);
        matches(&c->v, f, &b);
        assert_string_equal(b.p, cases[i].found);
        assert_int_equal(filter_describe(f, &kinds, said), cases[i].odd);
        assert_string_equal(said, cases[i].said);
    }
    cluster_free(c);
}

static void a_bare_word_is_a_mistake_in_what_is_written_down(void **unused)
{
    static const struct {
        const char *text, *message;
    } cases[] = {
        {"fere", "'fere' is not known: did you mean 'free'?"},
        {"dgx2", "'dgx2' is not known: expected a condition such as free, host:dgx2 or mem>40G"},
    };

    (void)unused;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct filter_err err = {0};
        struct filter *f = NULL;
        assert_int_equal(filter_new_exact(str_of(cases[i].text), NULL, &f, &err), -EINVAL);
        assert_string_equal(err.message, cases[i].message);
    }
}

static void repeat(struct buf *b, const char *s, size_t n)
{
    while (n--)
        buf_adds(b, s);
}

static void sizes_are_bounded(void **unused)
{
    static const struct {
        const char *part, *middle, *tail;
        size_t n;
        int want;
        const char *message;
    } cases[] = {
        {"(", "free", ")", FILTER_DEPTH, 0, ""},
        {"(", "free", ")", FILTER_DEPTH + 1, -EINVAL, "nest at most"},
        {"(", "", "", 1000, -EINVAL, "nest at most"},
        {"(free or busy and ", "kim", ")", FILTER_DEPTH, 0, ""}, /* the maximum stack depth */
        {"kim ", "", "", FILTER_WORDS, 0, ""},
        {"kim ", "", "", FILTER_WORDS + 1, -EINVAL, "at most 8 bare words: say what this one is, as in host:kim"},
        {"mine ", "kim", "", FILTER_TERMS - 5, 0, ""},
        {"mine ", "kim", "", FILTER_TERMS - 4, -EINVAL, "a bare word counts as 5"},
        {"not ", "free", "", 255, 0, ""},
        {"mine ", "free", "", FILTER_TERMS - 1, 0, ""},
        {"mine ", "free", "", FILTER_TERMS, -EINVAL, "at most 128 conditions"},
        {"free or ", "free", "", FILTER_TERMS - 1, 0, ""},
        {" ", "free", "", FILTER_MAX - 4, 0, ""},
        {" ", "free", "", FILTER_MAX - 3, -EINVAL, "at most 1024 bytes"},
        {"", "user:", "x", 128, 0, ""},
        {"", "user:", "x", 129, -EINVAL, "at most 128 bytes"},
    };
    struct cluster *c = cluster_new();

    (void)unused;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        AUTO_BUF b = BUF_INIT(65536);
        struct filter_err err = {0};
        AUTO_FILTER *f = NULL;
        repeat(&b, cases[i].part, cases[i].n);
        buf_adds(&b, cases[i].middle);
        repeat(&b, cases[i].tail, cases[i].n);
        print_message("'%.60s…'\n", b.p);
        assert_int_equal(filter_new(buf_str(&b), "kim", &f, &err), cases[i].want);
        if (cases[i].want < 0)
            assert_non_null(strstr(err.message, cases[i].message));
        else
            filter_match(f, &c->n[0], &c->n[0].devices[0], NOW);
    }
    cluster_free(c);
}

static void a_filter_tells_what_it_depends_on(void **unused)
{
    static const struct {
        const char *text, *me, *kept, *key;
        bool timed;
    } cases[] = {{" free ", "kim", "free", "free", false},
                 {"mine or free", "kim", "mine or free", "mine or free\x1fkim", false},
                 {"idle>2h", NULL, "idle>2h", "idle>2h", true},
                 {"free since<5m", NULL, "free since<5m", "free since<5m", true},
                 {"age<10s", NULL, "age<10s", "age<10s", true}};

    (void)unused;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct filter_err err = {0};
        AUTO_FILTER *f = NULL;
        assert_int_equal(filter_new(str_of(cases[i].text), cases[i].me, &f, &err), 0);
        assert_string_equal(filter_text(f), cases[i].kept);
        assert_string_equal(filter_key(f), cases[i].key);
        assert_int_equal(filter_is_timed(f), cases[i].timed);
    }
}

static void every_metric_can_be_asked_for(void **unused)
{
    static const char *const values[UNIT_COUNT] =
        {[UNIT_NONE] = "1",     [UNIT_RATIO] = "1%",   [UNIT_BYTES] = "1K",      [UNIT_BYTES_S] = "1K/s",
         [UNIT_CELSIUS] = "1",  [UNIT_WATTS] = "1W",   [UNIT_JOULES] = "1kJ",    [UNIT_HERTZ] = "1kHz",
         [UNIT_SECONDS] = "1h", [UNIT_MASK] = "power", [UNIT_FLOPS] = "1TFLOP/s"};
    struct node_now n = {.state = NODE_UP};
    struct device_now d = {.state = DEV_FREE};

    (void)unused;
    for (int m = 0; m < M_COUNT; m++) {
        bool mask = metrics[m].unit == UNIT_MASK;
        AUTO_BUF b = BUF_INIT(256);
        struct filter_err err = {0};
        AUTO_FILTER *f = NULL;
        buf_addf(&b, "%s%s%s", metrics[m].name, mask ? ":" : ">=", values[metrics[m].unit]);
        print_message("%s\n", b.p);
        assert_int_equal(filter_new(buf_str(&b), NULL, &f, &err), 0);
        struct sample *s = metrics[m].scope == SCOPE_NODE ? &n.now : &d.now;
        assert_false(filter_match(f, &n, &d, 0));
        sample_set(s, (enum metric)m, INT64_MAX);
        assert_true(filter_match(f, &n, &d, 0));
        sample_set(s, (enum metric)m, 0);
        assert_false(filter_match(f, &n, &d, 0));
        bits_clear(&s->have, (unsigned)m);
    }
}

static void the_manual_has_every_name(void **unused)
{
    AUTO_BUF text = {0};
    struct err err = {0};

    (void)unused;
    if (file_read("docs/filter.md", 1 << 20, &text, &err) < 0)
        fail_msg("%s", err.msg);
    for (size_t i = 0; filter_name(i); i++) {
        char quoted[64];
        snprintf(quoted, sizeof(quoted), "`%s", filter_name(i));
        if (str_find(buf_str(&text), quoted) < 0)
            fail_msg("docs/filter.md says nothing of '%s'", filter_name(i));
    }
}

static void persons_and_groups_are_those_of_the_processes(void **unused)
{
    static const struct identity kim = {"kim doe", {"vision\nNLP", "", "acme, inc"}}, nobody = {"", {"", "", ""}};
    static const struct want cases[] = {
        {"person:'kim doe'", "dgx1/0"},
        {"person:kim*", "dgx1/0"},
        {"person:kim", ""},
        {"person:lee", "dgx1/1"}, /* without a mapping: the login */
        {"person:ana", ""},       /* configured as ignored */
        {"user:ana", "dgx1/0"},
        {"team:vision", "dgx1/0"},
        {"team:nlp", "dgx1/0"},
        {"team:vis", ""},
        {"team:vi*", "dgx1/0"},
        {"team!=vision user:*", "dgx1/1"},
        {"not team:* user:*", "dgx1/1"},
        {"project:*", ""},
        {"company:'acme, inc'", "dgx1/0"},
        {"mine", "dgx1/1"},
    };
    struct cluster *c = cluster_new();
    (void)unused;
    struct device_now *d = &((struct node_now *)c->v.nodes[0])->devices[0];
    assert_string_equal(c->v.nodes[0]->name, "dgx1");
    for (size_t i = 0; i < d->n_procs; i++)
        d->procs[i].who = strcmp(d->procs[i].fact->user, "ana") == 0 ? &nobody : &kim;
    for (size_t i = 0; i < ARRAY_LEN(cases) + 1; i++) {
        bool me = i == ARRAY_LEN(cases); /* `mine` of a person with another login */
        struct filter_err err = {0};
        AUTO_FILTER *f = NULL;
        AUTO_BUF b = BUF_INIT(65536);
        print_message("'%s'\n", me ? "mine" : cases[i].text);
        assert_int_equal(filter_new(str_of(me ? "mine" : cases[i].text), me ? "Kim Doe" : "lee", &f, &err), 0);
        matches(&c->v, f, &b);
        assert_string_equal(b.p ? b.p : "", me ? "dgx1/0" : cases[i].found);
    }
    cluster_free(c);
}

static void advice_is_asked_by_the_names_of_rules(void **unused)
{
    static const struct {
        const char *filter;
        bool starved, none, silent, free, stale; /* whether it matches the GPU in this state */
    } cases[] = {
        {"advice:starved", true, false, false, false, false},
        {"advice:STARVED", true, false, false, false, false},
        {"advice=fp32", false, false, false, false, false},
        {"advice:s*", true, false, false, false, false},
        {"advice:*", true, false, false, false, false},
        {"advice:none", false, true, false, true, false},
        {"advice!=starved", false, true, false, true, false},
        {"not advice:*", false, true, false, true, false},
        {"advice!=none", true, false, false, false, false},
        {"advice:f* or advice:st*", true, false, false, false, false},
    };
    struct advice_now a = {.rule = ADVICE_starved};
    struct proc_fact fact = {.pid = 1, .user = "kim"};
    struct proc_now proc = {.fact = &fact};
    struct device_now v[5] = {0};
    struct node_now n = {.name = "dgx1", .devices = v, .n_devices = ARRAY_LEN(v)};
    (void)unused;
    for (size_t i = 0; i < ARRAY_LEN(v); i++) {
        v[i].state = i == 3 ? DEV_FREE : i == 4 ? DEV_STALE : DEV_BUSY;
        v[i].at_ms = 1794700800000;
        v[i].procs = &proc;
        v[i].n_procs = i != 3;
        if (i < 2)
            sample_set(&v[i].now, M_active, 5000);
    }
    v[0].advice = &a;
    v[0].n_advice = 1;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        const bool want[] = {cases[i].starved, cases[i].none, cases[i].silent, cases[i].free, cases[i].stale};
        struct filter_err err = {0};
        AUTO_FILTER *f = NULL;
        print_message("%s\n", cases[i].filter);
        assert_int_equal(filter_new(str_of(cases[i].filter), NULL, &f, &err), 0);
        for (size_t k = 0; k < ARRAY_LEN(v); k++)
            assert_int_equal(filter_match(f, &n, &v[k], v[k].at_ms), want[k]);
    }
}

TESTS(cmocka_unit_test(advice_is_asked_by_the_names_of_rules),
      cmocka_unit_test(a_bare_word_is_whatever_fits_and_it_is_said_which),
      cmocka_unit_test(a_bare_word_is_a_mistake_in_what_is_written_down),
      cmocka_unit_test(persons_and_groups_are_those_of_the_processes),
      cmocka_unit_test(every_condition_means_what_the_manual_says),
      cmocka_unit_test(conditions_join_as_people_write_them), cmocka_unit_test(what_is_not_known_never_matches),
      cmocka_unit_test(a_user_not_known_could_be_anybody),
      cmocka_unit_test(whoever_is_on_a_gpu_that_broke_is_still_told), cmocka_unit_test(a_process_is_asked_alone),
      cmocka_unit_test(errors_name_the_column_and_what_was_expected), cmocka_unit_test(sizes_are_bounded),
      cmocka_unit_test(a_filter_tells_what_it_depends_on), cmocka_unit_test(every_metric_can_be_asked_for),
      cmocka_unit_test(the_manual_has_every_name))
