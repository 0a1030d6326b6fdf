/* What W&B says of runs against what agents saw. */
#include "report/compare.h"

#include <errno.h>

#include "base/opt.h"
#include "people/people_build.h"
#include "test.h"

#define MIN_MS 60000ll
#define DAY    20000

static int64_t at(int h, int m)
{
    return DAY * DAY_MS + h * HOUR_MS + m * MIN_MS;
}

/* ---- a programme: Acme and its people, three nodes ---- */

static struct people *programme(void)
{
    static struct opt_section people =
        {.text = "kim: {logins: [kim, kim-acme]}\nlee: {logins: [lee]}\nzoe: {logins: [zoe]}\n", .path = "t"};
    static struct opt_section companies = {.text = "- company: Acme\n"
                                                   "  teams: [acme, acme-research]\n"
                                                   "  ignore_project_pattern: 'scratch*'\n"
                                                   "  schedule: [{date: 2024-10-01, assigned_gpu_node: 3}]\n"
                                                   "- company: Brick\n"
                                                   "  teams: [brick]\n"
                                                   "  schedule: [{date: 2030-01-01, assigned_gpu_node: 1}]\n",
                                           .path = "t"};
    struct people_src src = {.people = &people, .companies = &companies};
    struct people *c = NULL;
    struct err err = {0};
    if (people_new(&src, &c, &err) < 0)
        print_message("%s\n", err.msg);
    assert_non_null(c);
    return c;
}

static const char *gpus8[] = {"g0", "g1", "g2", "g3", "g4", "g5", "g6", "g7"};
static struct runs_host hosts[] = {{"k1", "gpu01", 8, gpus8},
                                   {"k2", "gpu02.lab.example", 8, gpus8},
                                   {"k3", "gpu03", 8, gpus8}};

/* Devices [first, first + n) of a host are held by a login for some hours. */
struct seen_row {
    uint32_t host, first, n;
    const char *login;
    int64_t from_ms, until_ms;
};

struct alert_input {
    struct people *people;
    struct zone *zone;
    struct past_source past;
    struct runs_query ask;
    struct runs seen;
    struct comparison got;
    int64_t util, work, tensor; /* 0.01 %; -1: not measured; tensor: of every other GPU */
};

static int64_t value_of(const struct alert_input *s, const char *metric, size_t device)
{
    if (strcmp(metric, "work") == 0)
        return s->work;
    return strcmp(metric, "tensor_active") != 0 ? s->util : device % 2 ? -1 : s->tensor;
}

static int even_history(struct store *store, const struct bins_query *ask, struct history *ret, struct err *err)
{
    struct alert_input *s = (struct alert_input *)store;
    (void)err;
    *ret =
        (struct history){.from_ms = ask->from_ms, .step_ms = ask->step_ms, .n_series = ask->n_devices * ask->n_metrics};
    ret->n = (size_t)((ask->to_ms - ret->from_ms + ask->step_ms - 1) / ask->step_ms);
    ret->v = mem_zero(ret->n_series * ret->n, sizeof(*ret->v));
    for (size_t i = 0; i < ret->n_series * ret->n; i++) {
        size_t series = i / ret->n;
        int64_t v = value_of(s, ask->metrics[series % ask->n_metrics], series / ask->n_metrics);
        if (v >= 0)
            ret->v[i] = (struct bin){.count = 2, .sum = v * 2, .max = v};
    }
    return 0;
}

static bool always(void *arg)
{
    (void)arg;
    return true;
}

static void scene_open(struct alert_input *s, const struct seen_row *rows, size_t n)
{
    *s = (struct alert_input){.people = programme(), .zone = zone_utc(), .util = 5000, .work = -1, .tensor = -1};
    s->ask = (struct runs_query){.people = s->people,
                                 .zone = s->zone,
                                 .from = DAY,
                                 .to = DAY + 1,
                                 .past = &s->past,
                                 .util = true,
                                 .spans = true};
    s->past = (struct past_source){.store = (struct store *)s, .history = even_history};
    s->seen.n_hosts = ARRAY_LEN(hosts);
    s->seen.hosts = hosts;
    for (size_t i = 0; i < n; i++)
        for (uint32_t d = 0; d < rows[i].n; d++) {
            VEC_ROOM(s->seen.spans, s->seen.n_spans, s->seen.cap_spans);
            s->seen.spans[s->seen.n_spans++] = (struct run_span){.host = rows[i].host,
                                                                 .device = rows[i].first + d,
                                                                 .login = rows[i].login,
                                                                 .uid = -1,
                                                                 .from_ms = rows[i].from_ms,
                                                                 .until_ms = rows[i].until_ms - 1};
        }
}

static void scene_close(struct alert_input *s)
{
    comparison_fini(&s->got);
    free(s->seen.spans);
    people_unref(s->people);
    zone_free(s->zone);
}

/* A run of W&B on DAY, of whole minutes. */
static struct run_day claim(const char *id, const char *host, const char *user, int32_t gpus, int64_t from_ms,
                            int64_t to_ms)
{
    return (struct run_day){.day = DAY,
                            .minutes = (int32_t)((to_ms - from_ms) / MIN_MS),
                            .gpus = gpus,
                            .team = "acme",
                            .project = "p",
                            .run_id = id,
                            .host = host,
                            .user = user,
                            .from_ms = from_ms,
                            .until_ms = to_ms - MIN_MS};
}

static void compare(struct alert_input *s, const struct run_day *said, size_t n)
{
    struct err err = {0};
    comparison_fini(&s->got);
    int r = compare_runs(&s->ask, &s->seen, said, n, &s->got, &err);
    if (r < 0)
        print_message("%s\n", err.msg);
    assert_int_equal(r, 0);
}

static const struct claim *found(const struct alert_input *s, const char *id)
{
    for (size_t i = 0; i < s->got.n; i++)
        if (strcmp(s->got.v[i].id, id) == 0)
            return &s->got.v[i];
    return NULL;
}

/* ---- one run ---- */

static void a_run_is_joined_by_host_person_and_time(void **unused)
{
    /* kim holds four GPUs of gpu01 and all of gpu02 from 8 to 18 */
    static const struct seen_row seen[] = {{0, 0, 4, "kim", 0, 0}, {1, 0, 8, "kim", 0, 0}, {2, 0, 2, "ubuntu", 0, 0}};
    static const struct {
        const char *host, *user;
        int32_t gpus;
        int from, to;
        enum claim_reason why;
        int64_t held; /* GPU-hours */
    } cases[] = {
        {"gpu01", "kim", 4, 9, 12, WHY_AGREES, 12},
        {"GPU01", "kim", 4, 9, 12, WHY_AGREES, 12},
        {"gpu01.lab.example", "kim", 4, 9, 12, WHY_AGREES, 12}, /* ours is short */
        {"gpu02", "kim", 8, 9, 12, WHY_AGREES, 24},             /* theirs is */
        {"gpu02.lab.example", "kim", 8, 9, 12, WHY_AGREES, 24},
        {"gpu02.other.example", "kim", 8, 9, 12, WHY_NO_HOST, 0},
        {"a1b2c3d4", "kim", 8, 9, 12, WHY_NO_HOST, 0},
        {"", "kim", 8, 9, 12, WHY_NO_HOST, 0},
        {NULL, "kim", 8, 9, 12, WHY_NO_HOST, 0},
        {"gpu01", "kim-acme", 4, 9, 12, WHY_AGREES, 12}, /* a login of hers */
        {"gpu01", "lee", 4, 9, 12, WHY_OTHERS, 0},       /* told of, and not there */
        {"gpu01", "stranger", 4, 9, 12, WHY_AGREES, 12}, /* nobody we know: whoever was there */
        {"gpu01", NULL, 4, 9, 12, WHY_AGREES, 12},
        {"gpu03", "stranger", 2, 9, 12, WHY_AGREES, 6},
        {"gpu01", "kim", 2, 9, 12, WHY_AGREES, 6}, /* no more than it claims */
        {"gpu01", "kim", 4, 19, 22, WHY_NO_PROCESS, 0},
        {"gpu01", "kim", 4, 14, 22, WHY_SHORTER, 16}, /* ended four hours before W&B says */
        {"gpu03", "stranger", 8, 9, 12, WHY_FEWER, 6},
        {"gpu03", "stranger", 0, 9, 12, WHY_AGREES, 0},
    };
    (void)unused;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct seen_row rows[ARRAY_LEN(seen)];
        struct alert_input s;
        for (size_t k = 0; k < ARRAY_LEN(seen); k++) {
            rows[k] = seen[k];
            rows[k].from_ms = at(8, 0);
            rows[k].until_ms = at(18, 0);
        }
        print_message("%zu: %s %s\n", i, cases[i].host ? cases[i].host : "-", cases[i].user ? cases[i].user : "-");
        scene_open(&s, rows, ARRAY_LEN(rows));
        struct run_day r =
            claim("x", cases[i].host, cases[i].user, cases[i].gpus, at(cases[i].from, 0), at(cases[i].to, 0));
        compare(&s, &r, 1);
        assert_int_equal(s.got.n, 1);
        assert_int_equal(s.got.v[0].claimed, (int64_t)cases[i].gpus * (cases[i].to - cases[i].from) * 60);
        assert_string_equal(claim_why_words[s.got.v[0].why], claim_why_words[cases[i].why]);
        assert_int_equal(s.got.v[0].held_ms, cases[i].held * HOUR_MS);
        assert_int_equal(s.got.v[0].busy_ms, cases[i].held * HOUR_MS / 2);
        scene_close(&s);
    }
}

static void held_gpus_that_do_nothing_are_idle_and_unmeasured_ones_are_not(void **unused)
{
    static const struct {
        int64_t util;
        enum claim_reason why;
        int64_t busy_ms, measured_ms;
    } cases[] = {{0, WHY_IDLE, 0, 4 * HOUR_MS},
                 {400, WHY_IDLE, 4 * HOUR_MS / 25, 4 * HOUR_MS},
                 {600, WHY_AGREES, 4 * HOUR_MS * 6 / 100, 4 * HOUR_MS},
                 {-1, WHY_AGREES, 0, 0}};
    struct seen_row row = {0, 0, 4, "kim", at(9, 0), at(10, 0)};
    struct run_day r = claim("x", "gpu01", "kim", 4, at(9, 0), at(10, 0));
    (void)unused;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct alert_input s;
        scene_open(&s, &row, 1);
        s.util = cases[i].util;
        compare(&s, &r, 1);
        assert_int_equal(s.got.v[0].why, cases[i].why);
        assert_int_equal(s.got.v[0].busy_ms, cases[i].busy_ms);
        assert_int_equal(s.got.v[0].measured_ms, cases[i].measured_ms);
        scene_close(&s);
    }
}

static void what_the_gpus_of_a_run_really_did_is_told_where_it_is_known(void **unused)
{
    struct seen_row row = {0, 0, 4, "kim", at(9, 0), at(10, 0)};
    struct run_day r = claim("x", "gpu01", "kim", 4, at(9, 0), at(10, 0));
    (void)unused;
    for (int known = 0; known < 2; known++) {
        struct alert_input s;
        scene_open(&s, &row, 1);
        s.work = known ? 2500 : -1;
        s.tensor = known ? 5000 : -1; /* of two of the four */
        compare(&s, &r, 1);
        const struct claim_work *w = s.got.v[0].work;
        assert_int_equal(w[WORK_EFFECTIVE].of_ms, known * 4 * HOUR_MS);
        assert_int_equal(w[WORK_EFFECTIVE].ms, known * HOUR_MS);
        assert_int_equal(w[WORK_TENSOR].of_ms, known * 2 * HOUR_MS);
        assert_int_equal(w[WORK_TENSOR].ms, known * HOUR_MS);
        scene_close(&s);
    }
}

/* ---- several ---- */

static void runs_of_one_person_share_what_is_there(void **unused)
{
    struct seen_row row = {0, 0, 8, "kim", at(8, 0), at(18, 0)};
    struct run_day said[] = {claim("a", "gpu01", "kim", 8, at(9, 0), at(12, 0)),
                             claim("b", "gpu01", "kim", 8, at(10, 0), at(12, 0)),
                             claim("c", "gpu01", "kim", 4, at(13, 0), at(14, 0)),
                             claim("d", "gpu01", "kim", 4, at(13, 0), at(14, 0))};
    struct alert_input s;
    (void)unused;
    scene_open(&s, &row, 1);
    compare(&s, said, ARRAY_LEN(said));
    assert_int_equal(found(&s, "a")->held_ms, (8 + 8) * HOUR_MS); /* alone for an hour, half of it for two */
    assert_int_equal(found(&s, "b")->held_ms, 8 * HOUR_MS);
    assert_int_equal(found(&s, "a")->why, WHY_SHARED);
    assert_int_equal(found(&s, "b")->why, WHY_SHARED);
    assert_int_equal(found(&s, "c")->held_ms, 4 * HOUR_MS); /* two that fit beside each other */
    assert_int_equal(found(&s, "d")->held_ms, 4 * HOUR_MS);
    assert_int_equal(found(&s, "c")->why, WHY_AGREES);
    scene_close(&s);
}

static void a_run_over_several_nodes_has_its_persons_gpus_on_the_others(void **unused)
{
    struct seen_row rows[] = {{0, 0, 8, "kim", at(8, 0), at(18, 0)},
                              {1, 0, 8, "kim", at(8, 0), at(18, 0)},
                              {2, 0, 8, "lee", at(8, 0), at(18, 0)}};
    struct run_day said[] = {claim("big", "gpu01", "kim", 16, at(9, 0), at(12, 0)),
                             claim("huge", "gpu01", "kim", 24, at(13, 0), at(14, 0)),
                             claim("main", "gpu01", "kim", 16, at(15, 0), at(16, 0)),
                             claim("there", "gpu02", "kim", 6, at(15, 0), at(16, 0))};
    struct alert_input s;
    (void)unused;
    scene_open(&s, rows, ARRAY_LEN(rows));
    compare(&s, said, ARRAY_LEN(said));
    assert_int_equal(found(&s, "big")->held_ms, 48 * HOUR_MS);
    assert_int_equal(found(&s, "big")->why, WHY_AGREES);
    assert_int_equal(found(&s, "big")->busy_ms, 24 * HOUR_MS);
    assert_int_equal(found(&s, "huge")->held_ms, 16 * HOUR_MS); /* lee's are not hers */
    assert_int_equal(found(&s, "huge")->why, WHY_FEWER);
    assert_int_equal(found(&s, "there")->held_ms, 6 * HOUR_MS); /* what is claimed there comes first */
    assert_int_equal(found(&s, "main")->held_ms, 10 * HOUR_MS);
    scene_close(&s);
}

static void gpus_that_two_processes_are_on_count_once(void **unused)
{
    struct seen_row rows[] = {{0, 0, 4, "kim", at(8, 0), at(18, 0)}, {0, 0, 4, "kim-acme", at(9, 30), at(18, 0)}};
    struct run_day r = claim("x", "gpu01", "kim", 8, at(9, 0), at(12, 0));
    struct alert_input s;
    (void)unused;
    scene_open(&s, rows, ARRAY_LEN(rows));
    compare(&s, &r, 1);
    assert_int_equal(s.got.v[0].held_ms, 12 * HOUR_MS);
    assert_string_equal(s.got.v[0].person, "kim");
    scene_close(&s);
}

static void only_what_is_in_the_tables_is_compared(void **unused)
{
    struct seen_row row = {0, 0, 8, "kim", at(0, 0), at(40, 0)};
    struct run_day said[7];
    struct alert_input s;
    (void)unused;
    for (size_t i = 0; i < ARRAY_LEN(said); i++)
        said[i] = claim("x", "gpu01", "kim", 1, at(9, 0), at(10, 0));
    said[0].run_id = "two-days"; /* 22:00 to 02:00 */
    said[0].from_ms = at(22, 0);
    said[0].until_ms = at(25, 59);
    said[0].minutes = 120;
    said[1] = said[0];
    said[1].day = DAY + 1;
    said[2].ignored = true;
    said[3].project = "scratch-1";
    said[4].team = "nobodys";
    said[5].team = "brick"; /* without nodes yet */
    said[6].day = DAY + 2;
    scene_open(&s, &row, 1);
    compare(&s, said, ARRAY_LEN(said));
    assert_int_equal(s.got.n, 1);
    assert_int_equal(s.got.v[0].claimed, 240);
    assert_int_equal(s.got.v[0].held_ms, 4 * HOUR_MS);
    assert_int_equal(s.got.v[0].from_ms, at(22, 0));
    s.ask.company = "Brick";
    compare(&s, said, ARRAY_LEN(said));
    assert_int_equal(s.got.n, 0);
    scene_close(&s);
}

static uint32_t some(uint32_t *x, uint32_t n)
{
    *x = *x * 1103515245 + 12345;
    return (*x >> 16 & 0x7fff) % n;
}

static int64_t some_minute(uint32_t *x, uint32_t hours)
{
    int hour = (int)some(x, hours), minute = (int)some(x, 60);
    return at(hour, minute);
}

/* However runs and processes lie: nobody gets more than is claimed, and all together no more than was held. */
static void nothing_is_dealt_out_twice(void **unused)
{
    static const char *const logins[] = {"kim", "lee", "zoe", "ubuntu"};
    static const char *const users[] = {"kim", "lee", "zoe", "who", NULL};
    static const char *const ids[] = {"r0", "r1", "r2", "r3", "r4", "r5", "r6", "r7", "r8", "r9"};
    uint32_t x = 12345;
    (void)unused;
    for (int round = 0; round < (getenv("MUSTER_SAN") ? 60 : 200); round++) {
        struct seen_row rows[12];
        struct run_day said[ARRAY_LEN(ids)];
        struct alert_input s;
        int64_t held = 0, dealt = 0;
        for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
            uint32_t first = some(&x, 8), n = 1 + some(&x, 8 - first), host = some(&x, 3);
            const char *login = logins[some(&x, 4)];
            int64_t from = some_minute(&x, 20), to = from + (1 + some(&x, 300)) * MIN_MS;
            rows[i] = (struct seen_row){host, first, n, login, from, to};
        }
        for (size_t i = 0; i < ARRAY_LEN(said); i++) {
            const char *host = hosts[some(&x, 3)].name, *user = users[some(&x, 5)];
            int32_t gpus = (int32_t)some(&x, 20);
            int64_t from = some_minute(&x, 18), to = from + (1 + some(&x, 300)) * MIN_MS;
            said[i] = claim(ids[i], host, user, gpus, from, to);
        }
        scene_open(&s, rows, ARRAY_LEN(rows));
        compare(&s, said, ARRAY_LEN(said));
        /* per person and device, by the minute */
        for (int m = 0; m < 48 * 60; m++)
            for (uint32_t h = 0; h < 3; h++)
                for (uint32_t d = 0; d < 8; d++)
                    for (size_t l = 0; l < ARRAY_LEN(logins); l++) {
                        bool on = false;
                        for (size_t i = 0; i < ARRAY_LEN(rows); i++)
                            on |= rows[i].host == h && rows[i].login == logins[l] && d >= rows[i].first &&
                                  d < rows[i].first + rows[i].n && rows[i].from_ms <= at(0, m) &&
                                  rows[i].until_ms > at(0, m);
                        held += on ? MIN_MS : 0;
                    }
        for (size_t i = 0; i < s.got.n; i++) {
            const struct claim *c = &s.got.v[i];
            assert_true(c->held_ms >= 0 && c->held_ms <= c->claimed * MIN_MS);
            assert_true(c->busy_ms <= c->held_ms);
            assert_true((c->held_ms > 0) == (c->person != NULL));
            dealt += c->held_ms;
        }
        assert_true(dealt <= held);
        scene_close(&s);
    }
}

static void it_stops_when_told_to(void **unused)
{
    struct seen_row row = {0, 0, 8, "kim", at(8, 0), at(18, 0)};
    static struct run_day said[3000];
    struct comparison none = {0};
    struct err err = {0};
    struct alert_input s;
    (void)unused;
    for (size_t i = 0; i < ARRAY_LEN(said); i++)
        said[i] = claim("x", "gpu01", "kim", 1, at(9, 0), at(10, 0));
    scene_open(&s, &row, 1);
    s.past.stop = always;
    assert_int_equal(compare_runs(&s.ask, &s.seen, said, ARRAY_LEN(said), &none, &err), -ECANCELED);
    s.past.stop = NULL;
    compare(&s, NULL, 0);
    assert_int_equal(s.got.n, 0);
    scene_close(&s);
}

static void claims_without_measure_share_what_is_there(void **unused)
{
    struct seen_row row = {0, 0, 8, "kim", at(0, 0), at(23, 0)};
    struct run_day said[300];
    char ids[ARRAY_LEN(said)][8];
    struct alert_input s;
    int64_t held = 0;
    (void)unused;
    for (size_t i = 0; i < ARRAY_LEN(said); i++) {
        snprintf(ids[i], sizeof(ids[i]), "x%03zu", i);
        said[i] = claim(ids[i], "gpu01", "kim", 10000000, at(0, 0), at(23, 0));
    }
    scene_open(&s, &row, 1);
    compare(&s, said, ARRAY_LEN(said)); /* three thousand million GPUs */
    for (size_t i = 0; i < s.got.n; i++) {
        assert_true(s.got.v[i].held_ms > 0 && s.got.v[i].why == WHY_FEWER);
        held += s.got.v[i].held_ms;
    }
    assert_in_range(held, 8 * 23 * HOUR_MS - (int64_t)ARRAY_LEN(said), 8 * 23 * HOUR_MS);
    scene_close(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_run_is_joined_by_host_person_and_time),
        cmocka_unit_test(held_gpus_that_do_nothing_are_idle_and_unmeasured_ones_are_not),
        cmocka_unit_test(what_the_gpus_of_a_run_really_did_is_told_where_it_is_known),
        cmocka_unit_test(runs_of_one_person_share_what_is_there),
        cmocka_unit_test(a_run_over_several_nodes_has_its_persons_gpus_on_the_others),
        cmocka_unit_test(gpus_that_two_processes_are_on_count_once),
        cmocka_unit_test(only_what_is_in_the_tables_is_compared),
        cmocka_unit_test(nothing_is_dealt_out_twice),
        cmocka_unit_test(it_stops_when_told_to),
        cmocka_unit_test(claims_without_measure_share_what_is_there),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
