/* Questions about the past: words, bins to numbers, groups; the store is a small fake. */
#include "test.h"

#include <errno.h>

#include "base/rand.h"
#include "format/render.h"
#include "history/gaps.h"
#include "history/history.h"
#include "view_fixture.h"

/* ---- a store whose values are known: v(t) of a device is a function of the minute ---- */

static struct {
    int asked;
    int64_t from_ms, to_ms, step_ms;
    int tier;
    int64_t empty_below_ms; /* steps finer than this find nothing */
    int64_t raw_from_ms;    /* single samples begin here */
    const char *late;       /* a metric that devices 0 lack */
    bool uneven;            /* devices 3 have one sample where others have two */
    bool together;          /* devices are given together where that is asked for */
    int given_together;
} fake;

/* The devices of an answer as one. */
static void put_together(struct history *h, size_t n_devices, size_t n_metrics)
{
    h->n_series = n_metrics;
    for (size_t i = 0; i < n_metrics * h->n; i++)
        for (size_t d = 1; d < n_devices; d++)
            h->v[i].sum += h->v[d * n_metrics * h->n + i].sum;
    h->together = true;
    fake.given_together++;
}

static int fake_history(struct store *s, const struct bins_query *ask, struct history *ret, struct err *err)
{
    (void)s, (void)err;
    struct history h = {.from_ms = ask->from_ms,
                        .step_ms = ask->step_ms,
                        .n_series = ask->n_devices * ask->n_metrics,
                        .n = (size_t)((ask->to_ms - ask->from_ms) / ask->step_ms),
                        .tier = ask->tier};
    fake.asked++;
    fake.from_ms = ask->from_ms;
    fake.to_ms = ask->to_ms;
    fake.step_ms = ask->step_ms;
    fake.tier = ask->tier;
    if (ask->from_ms % ask->step_ms || ask->to_ms % ask->step_ms)
        return -EDOM;
    if (ask->stop && ask->stop(ask->arg))
        return -ECANCELED;
    h.v = mem_zero(h.n_series * h.n, sizeof(*h.v));
    for (size_t d = 0; d < ask->n_devices; d++)
        for (size_t m = 0; m < ask->n_metrics; m++)
            for (size_t i = 0; i < h.n; i++) {
                int64_t k = (h.from_ms + (int64_t)i * h.step_ms) / h.step_ms % 10;
                const char *uuid = ask->devices[d];
                int64_t v = k * 100 + (uuid[0] ? uuid[strlen(uuid) - 1] - '0' : 7);
                bool gone = ask->tier == TIER_RAW && h.from_ms + (int64_t)i * h.step_ms < fake.raw_from_ms;
                bool late =
                    fake.late && uuid[0] && uuid[strlen(uuid) - 1] == '0' && strcmp(ask->metrics[m], fake.late) == 0;
                if (k == 3 || gone || late || ask->step_ms < fake.empty_below_ms || strcmp(ask->metrics[m], "fan") == 0)
                    continue; /* a gap */
                bool one = fake.uneven && uuid[strlen(uuid) - 1] == '3';
                h.v[(d * ask->n_metrics + m) * h.n + i] =
                    (struct bin){.count = one ? 1 : 2, .sum = 2 * v + 1, .min = v, .max = v + 1, .last = v + 1};
            }
    if (ask->together && fake.together)
        put_together(&h, ask->n_devices, ask->n_metrics);
    *ret = h;
    return 0;
}

static bool say_stop(void *arg)
{
    (void)arg;
    return true;
}

/* "device=a&metric=b" into words. */
static int words_of(const char *text, struct history_words *w, struct err *err)
{
    struct str rest = str_of(text), pair, name;
    int r = 0;

    *w = (struct history_words){0};
    while (r == 0 && str_cut(&rest, '&', &pair)) {
        str_cut(&pair, '=', &name);
        history_word(w, name, pair, &r, err);
    }
    return r;
}

static struct history_words words; /* large */

static int query_of(const char *text, const struct cluster *c, struct history_query **ret, struct err *err)
{
    int r = words_of(text, &words, err);

    return r < 0 ? r : history_query_new(&words, &c->v, NOW, NULL, NULL, ret, err);
}

struct answer_text {
    struct buf json, csv;
    struct series_frame f;
    int series;
    struct series_json writing;
};

static void on_start(void *arg, const struct series_frame *f)
{
    struct answer_text *a = arg;

    buf_reset(&a->json);
    buf_reset(&a->csv);
    a->f = *f;
    a->series = 0;
    a->writing.out = &a->json;
    render_series_json_start(&a->writing, f);
    render_series_csv_start(&a->csv, f);
}

static void on_each(void *arg, const struct series *s)
{
    struct answer_text *a = arg;

    AUTO_BUF alone = BUF_INIT(1u << 20);
    struct series_json one = {.out = &alone};
    struct series plain = *s;
    size_t from = a->json.len;

    a->series++;
    render_series_json(&a->writing, s);
    plain.whose = (struct str){0}; /* what is taken over, or ready, is what it says by itself */
    render_series_json(&one, &plain);
    from += a->json.p[from] == ',';
    assert_string_equal(a->json.p + from, alone.p);
    render_series_csv(&a->csv, &a->f, s);
}

static void on_end(void *arg, const struct series_frame *f)
{
    struct answer_text *a = arg;

    render_series_json_end(&a->writing, f);
}

/* ---- who was on dgx1 ---- */

#define MINUTE 60000ll
static struct held {
    const char *user, *device;
    int64_t first_ms, last_ms;
    bool ended;
} held[1024];
static size_t n_held;

static int fake_procs(void *arg, const struct store_each *e, struct err *err)
{
    (void)arg, (void)err;
    for (size_t i = 0; strcmp(e->node, "key-dgx1") == 0 && i < n_held; i++) {
        struct proc_span p = {.node = e->node,
                              .device = held[i].device,
                              .first_ms = held[i].first_ms,
                              .last_ms = held[i].last_ms,
                              .ended = held[i].ended};
        mem_copy_str(p.fact.user, sizeof(p.fact.user), held[i].user);
        if (p.last_ms >= e->from_ms)
            e->give.proc(e->arg, &p);
    }
    return 0;
}

static int answer_of(const char *text, struct answer_text *a, struct err *err)
{
    struct cluster *c = cluster_new();
    struct history_query *q = NULL;
    struct past_source past = {.history = fake_history, .each = fake_procs};
    struct series_out sink = {a, on_start, on_each, on_end};

    a->json = a->csv = BUF_INIT(16u << 20);
    int r = query_of(text, c, &q, err);
    cluster_free(c); /* the query owns what it needs */
    if (r == 0)
        r = history_query_run(q, &past, &sink, err);
    history_query_free(q);
    return r;
}

static void answer_fini(struct answer_text *a)
{
    buf_fini(&a->json);
    buf_fini(&a->csv);
}

static void words_are_checked_one_by_one_Q1(void **unused)
{
    static const struct {
        const char *text;
        int want;
        const char *says;
    } cases[] = {
        {"device=dgx1:0&metric=util", 0, NULL},
        {"device=dgx1:0&metric=util&from=-24h&to=now&step=5m&agg=avg,max&group=&points=10", 0, NULL},
        {"metric=util", 0, NULL},
        {"device=dgx1:0", -EINVAL, "which metric"},
        {"device=dgx1:0&metric=utli", -ENOENT, "did you mean 'util'"},
        {"device=dgx1:99&metric=util", -ENOENT, "'dgx1:99'"},
        {"device=nobody&metric=util", -ENOENT, "'nobody'"},
        {"device=dgx1:0,nobody&metric=util", -ENOENT, "'nobody'"},
        {"metric=util&from=soon", -EINVAL, "from 'soon'"},
        {"metric=util&to=later", -EINVAL, "to 'later'"},
        {"metric=util&from=now&to=-1h", -EINVAL, "from must be before to"},
        {"metric=util&step=0", -EINVAL, "step '0'"},
        {"metric=util&step=99ms", -EINVAL, "step '99ms'"},
        {"metric=util&step=fast", -EINVAL, "step 'fast'"},
        {"metric=util&points=0", -EINVAL, "points '0'"},
        {"metric=util&points=11001", -EINVAL, "points '11001'"},
        {"metric=util&points=11000", 0, NULL},
        {"device=dgx1:0&metric=util&from=-3h&step=1s", 0, NULL}, /* 10,800 points */
        {"device=dgx1:0&metric=util&from=-4h&step=1s", -E2BIG, "14401 points"},
        {"metric=util&agg=median", -EINVAL, "avg, min, max, sum, last, count, rate"},
        {"metric=util&group=user", 0, NULL},
        {"metric=util&group=herd", -EINVAL, "there are node, model, user"},
        {"metric=cpu&group=user", -EINVAL, "'cpu' is a metric of nodes"},
        {"metric=util&fold=mode", -EINVAL, "mean, sum, min, max"},
        {"metric=cpu&group=model", -EINVAL, "'cpu' is a metric of nodes"},
        {"metric=cpu&group=all", -EINVAL, "'cpu' is a metric of nodes"},
        {"metric=tokens", 0, NULL}, /* declared at run time */
    };
    struct cluster *c = cluster_new();

    (void)unused;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct err err = {0};
        struct history_query *q = NULL;
        int r = query_of(cases[i].text, c, &q, &err);
        print_message("'%s': %s\n", cases[i].text, err.msg);
        assert_int_equal(r, cases[i].want);
        if (cases[i].says)
            assert_true(str_find(str_of(err.msg), cases[i].says) >= 0);
        history_query_free(q);
    }
    cluster_free(c);
}

static void too_many_words_are_refused_Q1(void **unused)
{
    AUTO_BUF text = BUF_INIT(65536);
    struct err err = {0};

    (void)unused;
    buf_adds(&text, "metric=util&device=");
    for (int i = 0; i <= HISTORY_WORDS; i++)
        buf_addf(&text, "d%d,", i);
    assert_int_equal(words_of(text.p, &words, &err), -EINVAL);
    assert_true(str_find(str_of(err.msg), "more than 64 devices") >= 0);
}

static void of_a_node_that_is_known_nothing_else_is_looked_at(void **unused)
{
    struct cluster *c = cluster_new();
    const struct node_now *dgx1 = NULL, *other = NULL;
    struct history_key all, one;
    int64_t to_ms;

    (void)unused;
    for (size_t i = 0; i < c->v.n; i++)
        *(strcmp(c->v.nodes[i]->name, "dgx1") == 0 ? &dgx1 : &other) = c->v.nodes[i];
    for (int only = 0; only < 3; only++) {
        struct err err = {0};
        struct history_query *q = NULL;
        assert_int_equal(words_of("device=dgx1:0&metric=util,tokens&from=-3h&to=-2h&step=1m", &words, &err), 0);
        words.only = only == 0 ? NULL : only == 1 ? dgx1 : other;
        assert_int_equal(history_query_new(&words, &c->v, NOW, NULL, NULL, &q, &err), only < 2 ? 0 : -ENOENT);
        if (only < 2)
            assert_true(history_query_key(q, 1, only ? &one : &all, &to_ms));
        history_query_free(q);
    }
    assert_memory_equal(&one, &all, sizeof(one));
    cluster_free(c);
}

static void devices_are_found_by_uuid_index_node_and_pattern(void **unused)
{
    static const struct {
        const char *text;
        int series;
    } cases[] = {
        {"device=GPU-dgx1-2&metric=util", 1},
        {"device=GPU-dgx1-*&metric=util", 4},
        {"device=dgx1&metric=util", 4},
        {"device=key-dgx1&metric=util", 4},
        {"device=dgx1:*&metric=util", 4},
        {"device=dgx1:[01]&metric=util", 2},
        {"device=dgx*:0&metric=util", 2},
        {"device=dgx1:0,dgx1:0,GPU-dgx1-0&metric=util", 1}, /* once */
        {"device=dgx1:0&device=dgx1:1&metric=util&metric=temp", 4},
        {"device=dgx1&metric=cpu", 1}, /* of the node */
        {"device=dgx1:0&metric=cpu,util", 2},
        {"device=dgx1:0&metric=util&agg=min,max,last", 3},
        {"device=dgx1:0&metric=mem_u*", 2},     /* mem_util, mem_used */
        {"device=dgx1:0&metric=fa[n],util", 1}, /* by a pattern: left out where there is nothing */
        {"device=dgx1:0&metric=fan,util", 2},   /* by name: all gaps */
        {"device=dgx1&metric=util&group=node", 1},
        {"device=dgx*&metric=util&group=node", 2},
        {"device=dgx*&metric=util&group=model", 1},
        {"device=dgx1&metric=tokens", 5}, /* of devices and of the node: only the node knows */
    };

    (void)unused;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct err err = {0};
        struct answer_text a = {0};
        print_message("'%s'\n", cases[i].text);
        assert_int_equal(answer_of(cases[i].text, &a, &err), 0);
        assert_int_equal(a.series, cases[i].series);
        answer_fini(&a);
    }
}

static void a_step_is_round_and_gives_no_more_points_than_asked_for_Q2(void **unused)
{
    static const struct {
        int64_t span_s, points, want_s;
    } cases[] = {{60, 500, 1},
                 {499, 500, 1},
                 {500, 500, 2},
                 {3600, 500, 10},
                 {86400, 500, 300},
                 {7 * 86400, 500, 1800},
                 {30 * 86400, 500, 7200},
                 {365 * 86400, 500, 86400},
                 {86400, 11000, 10},
                 {86400, 1, 172800},
                 {400ll * 365 * 86400, 2, 73000ll * 86400 + 86400}};

    (void)unused;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        int64_t step = history_step(cases[i].span_s * 1000, cases[i].points);
        print_message("%lld s in %lld\n", (long long)cases[i].span_s, (long long)cases[i].points);
        assert_int_equal(step, cases[i].want_s * 1000);
        assert_true(cases[i].span_s * 1000 / step < cases[i].points);
    }
}

static void the_tier_follows_the_step(void **unused)
{
    static const struct {
        const char *text;
        int tier;
        int64_t step_ms;
    } cases[] = {{"device=dgx1:0&metric=util&from=-10m&step=10s", TIER_RAW, 10000},
                 {"device=dgx1:0&metric=util&from=-10m&step=1m", TIER_MINUTE, 60000},
                 {"device=dgx1:0&metric=util&from=-10m&step=90s", TIER_RAW, 90000},
                 {"device=dgx1:0&metric=util&from=-5h&step=15m", TIER_MINUTE, 900000},
                 {"device=dgx1:0&metric=util&from=-30d&step=2h", TIER_HOUR, 7200000},
                 {"device=dgx1:0&metric=util&from=-30d", TIER_HOUR, 7200000}};

    (void)unused;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct err err = {0};
        struct answer_text a = {0};
        print_message("'%s'\n", cases[i].text);
        assert_int_equal(answer_of(cases[i].text, &a, &err), 0);
        assert_int_equal(fake.tier, cases[i].tier);
        assert_int_equal(fake.step_ms, cases[i].step_ms);
        assert_true(a.f.from_ms % a.f.step_ms == 0 && a.f.to_ms >= NOW);
        answer_fini(&a);
    }
}

static void where_the_raw_tier_has_nothing_left_a_coarser_one_answers(void **unused)
{
    struct err err = {0};
    struct answer_text a = {0};

    (void)unused;
    fake.empty_below_ms = 60000;
    assert_int_equal(answer_of("device=dgx1:0&metric=util&from=-30d&to=-719h", &a, &err), 0);
    assert_int_equal(a.f.step_ms, 60000);
    assert_string_equal(a.f.tier, "minute");
    answer_fini(&a);
    /* a step that was asked for is kept, and so is one where there is nothing anywhere */
    assert_int_equal(answer_of("device=dgx1:0&metric=util&from=-30d&to=-719h&step=10s", &a, &err), 0);
    assert_int_equal(a.f.step_ms, 10000);
    answer_fini(&a);
    fake.empty_below_ms = INT64_MAX;
    assert_int_equal(answer_of("device=dgx1:0&metric=util&from=-30d&to=-719h", &a, &err), 0);
    assert_int_equal(a.f.step_ms, 10000);
    assert_int_equal(a.series, 1);
    answer_fini(&a);
    fake.empty_below_ms = 0;
}

static void minutes_stand_where_there_are_no_samples(void **unused)
{
    static const struct {
        const char *text, *has;
        bool filled;
    } cases[] = {
        {"metric=power&agg=max&points=12", "\"v\":[0.001,0.001,0.101,0.101,0.201,0.201,0.601,0.701,0.801,0.901]", true},
        {"metric=power&agg=max&points=12&device=dgx1:1&group=all",
         "\"v\":[0.0015,0.0015,0.1015,0.1015,0.2015,0.2015,0.6015,0.7015,0.8015,0.9015]", true},
        {"metric=energy&points=12", "\"v\":[0.00002,0.00002,0.00167,0.00167,0.00167,0.00167,", true},
        {"metric=power&agg=count&points=12", "\"v\":[null,null,null,null,null,null,2,2,2,2]", false},
        {"metric=power&agg=max&step=30s", "\"v\":[null,null,null,null,null,null,0.601,", false}, /* as it was told */
        {"metric=power&agg=max&points=12&tier=raw", "\"v\":[null,null,null,null,null,null,0.601,", false},
        {"metric=fan&points=12", "\"v\":[null,null,null,null,null,null,null,null,null,null]", false},
    };

    (void)unused;
    fake.raw_from_ms = 1794736980000; /* 10:03 */
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct err err = {0};
        struct answer_text a = {0};
        AUTO_FREE char *text =
            mem_fmt("device=dgx1:0&from=2026-11-15T10:00:00Z&to=2026-11-15T10:05:00Z&%s", cases[i].text);
        assert_int_equal(answer_of(text, &a, &err), 0);
        print_message("%s\n%s\n", text, a.json.p);
        assert_true(str_find(buf_str(&a.json), cases[i].has) > 0);
        assert_int_equal(str_find(buf_str(&a.json), ",\"filled\":\"minute\"") > 0, cases[i].filled);
        assert_string_equal(a.f.tier, "raw");
        answer_fini(&a);
    }
    fake.raw_from_ms = 0;
}

static void a_sample_that_comes_slowly_stands_until_the_next(void **unused)
{
    static const struct {
        const char *bins, *want; /* a digit: one sample, of that value */
        int64_t step_ms;
        enum agg agg;
    } cases[] = {
        {"1.....2.....3.....4..", "1111112222223333334..", 10000, AGG_AVG}, /* each minute; nothing is known of now */
        {"1.....2....3......4", "1111112222233333334", 10000, AGG_AVG},     /* more or less */
        {"1.....2.....3.....456789", "111111222222333333456789", 10000, AGG_LAST}, /* then each ten seconds */
        {"123456......789", "123456......789", 10000, AGG_AVG},                    /* it was away */
        {"12345......6......78", "12345......6......78", 10000, AGG_AVG},          /* twice */
        {"1..2....................3..4", "1112....................3334", 60000,
         AGG_AVG},                                                              /* away for longer than usual */
        {"1..........2..........3", "1..........2..........3", 60000, AGG_AVG}, /* every eleven minutes: dots */
        {"1.....2.....3", "1.....2.....3", 10000, AGG_SUM},
        {"1....", "1....", 10000, AGG_AVG},
        {"1....2", "1....2", 10000, AGG_AVG}, /* how often it comes is not known */
        {".....", ".....", 10000, AGG_AVG},
    };

    (void)unused;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        size_t n = strlen(cases[i].bins);
        struct bin b[64] = {0};
        int64_t v[64];
        char got[65] = "";
        for (size_t k = 0; k < n; k++) {
            b[k].count = cases[i].bins[k] != '.';
            v[k] = b[k].count ? cases[i].bins[k] - '0' : SERIES_NONE;
        }
        gaps_bridge(b, n, cases[i].agg, cases[i].step_ms, v);
        for (size_t k = 0; k < n; k++)
            got[k] = v[k] == SERIES_NONE ? '.' : (char)('0' + v[k]);
        assert_string_equal(got, cases[i].want);
    }
}

static void bins_become_numbers_Q3_Q4(void **unused)
{
    static const struct bin b[] = {
        {.count = 2, .sum = 30, .min = 10, .max = 20, .last = 20},
        {.count = 3, .sum = 100, .min = 30, .max = 40, .last = 40},
        {0},
        {.count = 1, .sum = 70, .min = 70, .max = 70, .last = 70},
        {.count = 2, .sum = 12, .min = 4, .max = 8, .last = 8}, /* a counter that began again */
    };
    static const struct {
        enum agg agg;
        int64_t want[4];
    } cases[] = {
        {AGG_AVG, {3333, SERIES_NONE, 7000, 600}}, {AGG_MIN, {30, SERIES_NONE, 70, 4}},
        {AGG_MAX, {40, SERIES_NONE, 70, 8}},       {AGG_SUM, {100, SERIES_NONE, 70, 12}},
        {AGG_LAST, {40, SERIES_NONE, 70, 8}},      {AGG_COUNT, {3, SERIES_NONE, 1, 2}},
        {AGG_RATE, {200, SERIES_NONE, 150, 80}}, /* hundredths, over 10 s, 20 s, 10 s */
    };

    (void)unused;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        int64_t v[4];
        history_fold_bins(b, 1, 4, cases[i].agg, 10000, v);
        print_message("%s\n", agg_words[cases[i].agg]);
        assert_memory_equal(v, cases[i].want, sizeof(v));
    }
    int64_t v[1]; /* nothing before it: by itself, or not at all */
    history_fold_bins(b, 0, 1, AGG_RATE, 10000, v);
    assert_int_equal(v[0], 200); /* 10 more in half of 10 s */
    history_fold_bins(b + 3, 0, 1, AGG_RATE, 10000, v);
    assert_int_equal(v[0], SERIES_NONE);
}

static void numbers_at_the_ends_of_their_range_do_not_wrap(void **unused)
{
    static const struct bin b[] = {{.count = 1, .sum = INT64_MAX, .min = 0, .max = INT64_MAX, .last = INT64_MAX},
                                   {.count = 1, .sum = INT64_MIN, .min = INT64_MIN, .max = 0, .last = INT64_MIN}};
    int64_t v[2];

    (void)unused;
    history_fold_bins(b, 0, 2, AGG_AVG, 1000, v);
    assert_int_equal(v[0], INT64_MAX);
    assert_int_equal(v[1], INT64_MIN + 1); /* not the mark of a gap */
}

/* Exact, however large: rounded half away from zero, as whole numbers divide. */
static void means_are_what_whole_numbers_divide_to(void **unused)
{
    struct prng g = {7};

    (void)unused;
    for (int i = 0; i < 200000; i++) {
        uint32_t count = (uint32_t)(1 + prng_next(&g) % (i % 2 ? 100 : 4000000000u));
        int64_t sum = (int64_t)(prng_next(&g) >> (2 + prng_next(&g) % 60)), got;
        if (i % 3 == 0) /* half of it and its neighbours */
            sum = (int64_t)((uint64_t)(sum >> 20) * count + count / 2) - 1 + i % 9 / 3;
        sum = i % 5 ? sum : -sum;
        __int128 whole = (__int128)sum * 100, half = count / 2, want = (whole + (whole < 0 ? -half : half)) / count;
        if (want > INT64_MAX || want < -INT64_MAX)
            continue;
        history_fold_bins(&(struct bin){.count = count, .sum = sum}, 0, 1, AGG_AVG, 1000, &got);
        assert_int_equal(got, (int64_t)want);
    }
}

static void an_answer_is_json_and_csv(void **unused)
{
    struct err err = {0};
    struct answer_text a = {0};

    (void)unused;
    assert_int_equal(answer_of("device=dgx1:1&metric=power&from=2026-11-15T10:00:00Z&to=2026-11-15T10:05:00Z&step=1m",
                               &a, &err),
                     0);
    /* minutes 29912280 + 0..4: k = 0, 1, 2, gap, 4; two samples, v and v + 1 */
    assert_string_equal(a.json.p, "{\"from\":1794736800000,\"to\":1794737100000,\"step\":60000,\"tier\":\"minute\","
                                  "\"series\":[{\"device\":\"GPU-dgx1-1\",\"node\":\"dgx1\",\"node_id\":\"key-dgx1\","
                                  "\"index\":1,\"model\":\"NVIDIA H200\",\"metric\":\"power\",\"unit\":\"watts\","
                                  "\"agg\":\"avg\",\"v\":[0.0015,0.1015,0.2015,null,0.4015]}]}\n");
    assert_true(str_starts(buf_str(&a.csv),
                           "time,node,gpu,device,model,metric,agg,unit,value\r\n"
                           "2026-11-15T10:00:00.000Z,dgx1,1,GPU-dgx1-1,NVIDIA H200,power,avg,watts,0.0015\r\n"));
    assert_true(str_find(buf_str(&a.csv), "10:03:00.000Z,dgx1,1,GPU-dgx1-1,NVIDIA H200,power,avg,watts,\r\n") > 0);
    answer_fini(&a);
}

static void groups_fold_their_devices(void **unused)
{
    static const struct {
        const char *fold, *v;
    } cases[] = {{"mean", "[0.0025,"}, {"sum", "[0.01,"}, {"min", "[0.001,"}, {"max", "[0.004,"}};

    (void)unused;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct err err = {0};
        struct answer_text a = {0};
        AUTO_FREE char *text = mem_fmt("device=dgx1&metric=power&from=2026-11-15T10:00:00Z&to=2026-11-15T10:05:00Z"
                                       "&step=1m&agg=last&group=node&fold=%s",
                                       cases[i].fold);
        print_message("%s\n", cases[i].fold);
        assert_int_equal(answer_of(text, &a, &err), 0);
        assert_int_equal(a.series, 1);
        assert_true(str_find(buf_str(&a.json), "\"devices\":4") > 0);
        assert_true(str_find(buf_str(&a.json), cases[i].v) > 0); /* 1, 2, 3 and 4 mW */
        answer_fini(&a);
    }
}

/* What a node's GPUs add up to is the same whether the store adds or the question does. */
static void a_nodes_mean_is_of_all_its_samples(void **unused)
{
    static const struct {
        const char *ask, *v;
        bool uneven;
        int together; /* so often the store may add */
    } cases[] = {
        {"agg=avg&fold=mean", "[0.002,0.102,0.202,null,0.402]", false, 1}, /* 1, 3, 5 and 7 mW of two samples each */
        {"fold=mean", "[0.002,0.102,0.202,null,0.402]", false, 1},
        {"agg=avg&fold=sum", "[0.008,0.408,0.808,null,1.608]", false, 1},
        {"agg=sum&fold=sum", "[0.016,0.816,1.616,null,3.216]", false, 1},
        {"agg=sum&fold=mean", "[0.004,0.204,0.404,null,0.804]", false, 1},
        {"agg=avg&fold=max", "[0.0035,0.1035,0.2035,null,0.4035]", false, 0},
        {"agg=max&fold=mean", "[0.0025,0.1025,0.2025,null,0.4025]", false, 0},
        {"agg=avg&fold=mean", "[0.00288,0.12788,0.25288,null,0.50288]", true, 0}, /* 0.5, 1.5, 2.5 and 7 mW */
        {"agg=avg&fold=sum", "[0.0115,0.5115,1.0115,null,2.0115]", true, 0},
        {"agg=sum&fold=sum", "[0.016,0.816,1.616,null,3.216]", true, 0},
    };

    (void)unused;
    for (size_t i = 0; i < 2 * ARRAY_LEN(cases); i++) {
        struct err err = {0};
        struct answer_text a = {0};
        size_t k = i / 2;
        AUTO_FREE char *text = mem_fmt("device=dgx1&metric=power&from=2026-11-15T10:00:00Z&to=2026-11-15T10:05:00Z"
                                       "&step=1m&group=node&%s",
                                       cases[k].ask);
        fake.uneven = cases[k].uneven;
        fake.together = i % 2 && !fake.uneven;
        fake.given_together = 0;
        assert_int_equal(answer_of(text, &a, &err), 0);
        print_message("%s\n%s\n", cases[k].ask, a.json.p);
        assert_int_equal(a.series, 1);
        assert_true(str_find(buf_str(&a.json), "\"devices\":4,\"model\":\"NVIDIA H200\"") > 0);
        assert_true(str_find(buf_str(&a.json), cases[k].v) > 0);
        assert_int_equal(fake.given_together, i % 2 ? cases[k].together : 0);
        answer_fini(&a);
    }
    fake.uneven = fake.together = false;
}

/* Metrics stand as the devices come, those of the first before those that only others have. */
static void a_group_of_unlike_devices_has_the_metrics_of_all(void **unused)
{
    static const struct {
        const char *text, *first, *then;
    } cases[] = {
        {"device=dgx1&metric=tem*,uti*&group=node&step=10m&agg=max",
         "\"devices\":4,\"model\":\"NVIDIA H200\",\"metric\":\"util\"",
         "\"devices\":3,\"model\":\"NVIDIA H200\",\"metric\":\"temp\""},
        {"device=dgx1&metric=tem*,uti*&group=node&step=10m&agg=min,max",
         "\"metric\":\"util\",\"unit\":\"ratio\",\"agg\":\"max\"",
         "\"metric\":\"temp\",\"unit\":\"celsius\",\"agg\":\"min\""},
        {"device=dgx1&metric=uti*,tem*&group=node&step=10m&agg=avg", "\"metric\":\"util\"", "\"metric\":\"temp\""},
    };

    (void)unused;
    fake.late = "temp";
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct answer_text a = {0};
        struct err err = {0};
        assert_int_equal(answer_of(cases[i].text, &a, &err), 0);
        print_message("%s\n%s\n", cases[i].text, a.json.p);
        int first = str_find(buf_str(&a.json), cases[i].first), then = str_find(buf_str(&a.json), cases[i].then);
        assert_true(first > 0 && then > first);
        answer_fini(&a);
    }
    fake.late = NULL;
}

static void a_users_series_is_of_the_devices_while_he_held_them(void **unused)
{
    const int64_t ten = 1794736800000; /* 2026-11-15T10:00:00Z */
    const struct held some[] = {{"kim", "GPU-dgx1-0", ten + MINUTE / 2, ten + MINUTE + 10, true},
                                {"kim", "GPU-dgx1-0", ten - 9 * MINUTE, ten - 8 * MINUTE, true}, /* too early */
                                {"kim", "GPU-dgx1-1", ten + MINUTE, ten + 5 * MINUTE - 1, true},
                                {"lee", "GPU-dgx1-1", ten + 2 * MINUTE, NOW - 1000, false}, /* still there: shared */
                                {"", "GPU-dgx1-2", ten, ten, true},
                                {"lee", "GPU-elsewhere", ten, NOW, true}};
    static const char *const want[] = {"{\"user\":null,\"devices\":1,",    "\"v\":[0.003,null,null,null,null]}",
                                       "{\"user\":\"kim\",\"devices\":2,", "\"v\":[0.001,0.203,0.202,null,0.402]}",
                                       "{\"user\":\"lee\",\"devices\":1,", "\"v\":[null,null,0.202,null,0.402]}"};
    struct err err = {0};
    struct answer_text a = {0};
    int at = 0;

    (void)unused;
    memcpy(held, some, sizeof(some));
    n_held = ARRAY_LEN(some);
    assert_int_equal(answer_of("device=dgx*&metric=power&from=2026-11-15T10:00:00Z&to=2026-11-15T10:05:00Z&step=1m"
                               "&agg=last&group=user&fold=sum",
                               &a, &err),
                     0);
    print_message("%s\n", a.json.p);
    assert_int_equal(a.series, 3);
    for (size_t i = 0; i < ARRAY_LEN(want); i++) { /* by name, and in this order */
        int found = str_find(str_n(a.json.p + at, a.json.len - (size_t)at), want[i]);
        print_message("%s\n", want[i]);
        assert_true(found >= 0);
        at += found;
    }
    assert_true(str_starts(buf_str(&a.csv), "time,node,gpu,device,model,user,metric,agg,unit,value\r\n"));
    assert_true(str_find(buf_str(&a.csv), "2026-11-15T10:01:00.000Z,,,,NVIDIA H200,kim,power,last,watts,0.203\r\n") >
                0);
    answer_fini(&a);
    n_held = 0;
    assert_int_equal(answer_of("device=dgx*&metric=power&group=user", &a, &err), 0);
    assert_int_equal(a.series, 0); /* nobody held any */
    answer_fini(&a);
}

static void more_users_than_can_be_given_are_refused_Q2(void **unused)
{
    static char names[ARRAY_LEN(held)][16];
    struct err err = {0};
    struct answer_text a = {0};

    (void)unused;
    for (n_held = 0; n_held < ARRAY_LEN(held); n_held++) {
        snprintf(names[n_held], sizeof(names[0]), "u%zu", n_held);
        held[n_held] = (struct held){names[n_held], "GPU-dgx1-0", NOW - 600000, NOW, true};
    }
    assert_int_equal(answer_of("device=dgx1:0&metric=power&group=user&from=-1h&step=1m", &a, &err), 0);
    assert_int_equal(a.series, ARRAY_LEN(held));
    answer_fini(&a);
    assert_int_equal(answer_of("device=dgx1:0&metric=power&group=user&from=-3h&step=1s", &a, &err), -E2BIG);
    answer_fini(&a);
    n_held = 0;
}

static void a_counter_is_a_rate_unless_told(void **unused)
{
    struct err err = {0};
    struct answer_text a = {0};

    (void)unused;
    assert_int_equal(answer_of("device=dgx1:1&metric=energy&from=2026-11-15T10:00:00Z&to=2026-11-15T10:02:00Z&step=1m",
                               &a, &err),
                     0);
    assert_true(str_find(buf_str(&a.json), "\"unit\":\"watts\",\"agg\":\"rate\"") > 0);
    /* 100 mJ more in a minute; the bin before the first was asked for too, and is larger: it began again */
    assert_true(str_find(buf_str(&a.json), ",0.00167]") > 0);
    assert_int_equal(fake.from_ms, 1794736800000 - 120000);
    answer_fini(&a);
    assert_int_equal(answer_of("device=dgx1:1&metric=energy&agg=last&from=-1h", &a, &err), 0);
    assert_true(str_find(buf_str(&a.json), "\"unit\":\"joules\",\"agg\":\"last\"") > 0);
    answer_fini(&a);
}

static void a_query_stops_when_told_to(void **unused)
{
    struct cluster *c = cluster_new();
    struct history_query *q = NULL;
    struct err err = {0};
    struct answer_text a = {.json = BUF_INIT(1u << 20), .csv = BUF_INIT(1u << 20)};
    struct past_source past = {.history = fake_history, .stop = say_stop};
    struct series_out sink = {&a, on_start, on_each, on_end};

    (void)unused;
    assert_int_equal(query_of("metric=util", c, &q, &err), 0);
    assert_int_equal(history_query_run(q, &past, &sink, &err), -ECANCELED);
    history_query_free(q);
    cluster_free(c);
    answer_fini(&a);
}

TESTS(cmocka_unit_test(words_are_checked_one_by_one_Q1), cmocka_unit_test(too_many_words_are_refused_Q1),
      cmocka_unit_test(devices_are_found_by_uuid_index_node_and_pattern),
      cmocka_unit_test(of_a_node_that_is_known_nothing_else_is_looked_at),
      cmocka_unit_test(a_step_is_round_and_gives_no_more_points_than_asked_for_Q2),
      cmocka_unit_test(the_tier_follows_the_step),
      cmocka_unit_test(where_the_raw_tier_has_nothing_left_a_coarser_one_answers),
      cmocka_unit_test(minutes_stand_where_there_are_no_samples),
      cmocka_unit_test(a_sample_that_comes_slowly_stands_until_the_next), cmocka_unit_test(bins_become_numbers_Q3_Q4),
      cmocka_unit_test(numbers_at_the_ends_of_their_range_do_not_wrap),
      cmocka_unit_test(means_are_what_whole_numbers_divide_to), cmocka_unit_test(an_answer_is_json_and_csv),
      cmocka_unit_test(a_group_of_unlike_devices_has_the_metrics_of_all), cmocka_unit_test(groups_fold_their_devices),
      cmocka_unit_test(a_nodes_mean_is_of_all_its_samples),
      cmocka_unit_test(a_users_series_is_of_the_devices_while_he_held_them),
      cmocka_unit_test(more_users_than_can_be_given_are_refused_Q2), cmocka_unit_test(a_counter_is_a_rate_unless_told),
      cmocka_unit_test(a_query_stops_when_told_to))
