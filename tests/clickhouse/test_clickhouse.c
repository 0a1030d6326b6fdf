/* test_clickhouse.c: what is said to ClickHouse and what is understood of it, without one. */
#include "test.h"

#include <errno.h>

#include "base/mem.h"
#include "clickhouse/clickhouse.h"
#include "clickhouse/link.h"
#include "clickhouse/rows.h"
#include "clickhouse/samples_query.h"

static void an_address_says_where_and_how(void **unused)
{
    static const struct {
        const char *url, *user, *database, *first, *last;
        bool secure, replicated;
        int64_t quorum;
    } cases[] = {
        {"clickhouse://h", "default", "default", "h:8123", "h:8123", false, false, 0},
        {"clickhouse://kim@h:9000/gpu", "kim", "gpu", "h:9000", "h:9000", false, false, 0},
        {"clickhouse://kim@a,b:1,[::1]:2/gpu?replicated", "kim", "gpu", "a:8123", "[::1]:2", false, true, 0},
        {"clickhouse://[::1]/x?secure=1&quorum=2", "default", "x", "[::1]:8443", "[::1]:8443", true, false, 2},
    };
    static const char *const bad[] = {"",
                                      "http://h",
                                      "clickhouse://",
                                      "clickhouse://kim:pw@h/gpu",
                                      "clickhouse://h:0",
                                      "clickhouse://h:99999",
                                      "clickhouse://::1:2",
                                      "clickhouse://h/a-b",
                                      "clickhouse://h/a'b",
                                      "clickhouse://h?other",
                                      "clickhouse://h?secure=perhaps",
                                      "clickhouse://a,b,c,d,e,f,g,h,i",
                                      "clickhouse://h?quorum=-1",
                                      "clickhouse://a b"};

    (void)unused;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct click_place p;
        print_message("'%s'\n", cases[i].url);
        assert_int_equal(click_place_read(str_of(cases[i].url), &p, NULL), 0);
        assert_string_equal(p.user, cases[i].user);
        assert_string_equal(p.database, cases[i].database);
        assert_string_equal(p.hosts[0], cases[i].first);
        assert_string_equal(p.hosts[p.n_hosts - 1], cases[i].last);
        assert_true(p.secure == cases[i].secure && p.replicated == cases[i].replicated && p.quorum == cases[i].quorum);
    }
    for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
        struct click_place p;
        struct err err = {0};
        print_message("'%s'\n", bad[i]);
        assert_int_equal(click_place_read(str_of(bad[i]), &p, &err), -EINVAL);
        assert_true(err.msg[0]);
        assert_null(strstr(err.msg, "pw")); /* a password is not repeated */
    }
}

static void an_address_without_tls_names_its_host(void **unused)
{
    static const struct {
        const char *url, *host; /* NULL: TLS, or this machine */
    } cases[] = {{"clickhouse://kim@db/gpu", "db"},
                 {"clickhouse://127.0.0.1,db:1,other", "db"},
                 {"clickhouse://[fd00::1]:2", "fd00::1"},
                 {"clickhouse://kim@db/gpu?secure", NULL},
                 {"clickhouse://localhost,[::1]:2,127.0.0.2", NULL}};

    (void)unused;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        char host[SECRET_HOST_MAX] = "";
        print_message("'%s'\n", cases[i].url);
        assert_int_equal(clickhouse_in_clear(cases[i].url, host), cases[i].host != NULL);
        assert_string_equal(host, cases[i].host ? cases[i].host : "");
    }
}

static void a_failure_is_its_first_sentence(void **unused)
{
    static const char *const cases[][2] =
        {{"Code: 60, e.displayText() = DB::Exception: Table a.b doesn't exist., e.what() = DB::Exception\n",
          "Table a.b doesn't exist"},
         {"Code: 62. DB::Exception: Syntax error: failed at position 1 (SYNTAX_ERROR) (version 23.8.1.1)\n",
          "Syntax error: failed at position 1 (SYNTAX_ERROR)"},
         {"\n\n<html>502 Bad Gateway</html>\nmore", "<html>502 Bad Gateway</html>"},
         {"", ""}};

    (void)unused;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        AUTO_BUF out = BUF_INIT(4096);
        click_failure(str_of(cases[i][0]), &out);
        assert_string_equal(out.p ? out.p : "", cases[i][1]);
    }
}

static void the_statements_are_those_that_18_16_takes(void **unused)
{
    struct click_place p;
    AUTO_BUF sql = BUF_INIT(64u << 10);

    (void)unused;
    assert_int_equal(click_place_read(STR("clickhouse://h/gpu"), &p, NULL), 0);
    assert_int_equal(click_create(&sql, &p, CLICK_SAMPLE), 0);
    assert_non_null(strstr(sql.p, "`util` Nullable(Int64)"));
    assert_non_null(
        strstr(sql.p, "ENGINE = ReplacingMergeTree PARTITION BY intDiv(ts, 86400000) ORDER BY (node, dev, ts"));
    assert_null(strstr(sql.p, "CODEC"));
    assert_null(strstr(sql.p, "TTL"));
    p.replicated = true;
    buf_reset(&sql);
    assert_int_equal(click_create(&sql, &p, CLICK_CUSTOM), 0);
    assert_non_null(
        strstr(sql.p, "ReplicatedReplacingMergeTree('/clickhouse/tables/{shard}/gpu/muster_custom', '{replica}')"));
    buf_reset(&sql);
    assert_int_equal(click_add_columns(&sql, &p, STR("node\nutil\n")), 0);
    assert_true(str_starts(buf_str(&sql), "ALTER TABLE gpu.muster_sample ADD COLUMN `mem_util` Nullable(Int64), ADD"));
    AUTO_BUF all = BUF_INIT(64u << 10);
    for (int m = 0; m < M_COUNT; m++)
        buf_addf(&all, "%s\n", metrics[m].name);
    buf_reset(&sql);
    assert_int_equal(click_add_columns(&sql, &p, buf_str(&all)), 0);
    assert_int_equal(sql.len, 0);
    buf_reset(&sql);
    assert_int_equal(click_print(&sql, &p), 0);
    assert_non_null(strstr(sql.p, "was not tried"));
}

/* Days far apart: an INSERT has no more than CLICK_DAYS of them, and all pieces together are all of it. */
static void rows_of_many_days_are_several_inserts(void **unused)
{
    int64_t at[100], v[100];
    struct column c = {.metric = 1, .slot = 1, .v = v};
    struct batch b = {.n_ticks = 100, .n_columns = 1, .at_ms = at, .columns = &c, .key = {.run = 1, .number = 2}};
    struct click_rows r = {0};
    struct str piece;
    size_t sum = 0, n = 0;

    (void)unused;
    for (int i = 0; i < 100; i++) {
        at[i] = 1 + i * 86400000ll;
        v[i] = i;
    }
    click_rows_add(&r, &(struct archive_batch){.node = "aa", .b = &b, .log = 3, .row = 4});
    assert_int_equal(click_rows_count(&r), 100);
    for (size_t k = 0; click_heap_piece(&r.heaps[CLICK_SAMPLE], &k, &piece); n++)
        sum += piece.len;
    assert_int_equal(n, 4);
    assert_int_equal(sum, r.heaps[CLICK_SAMPLE].bytes.len);
    size_t k = 0;
    assert_false(click_heap_piece(&r.heaps[CLICK_CUSTOM], &k, &piece));
    click_rows_reset(&r);
    click_rows_add(&r, &(struct archive_batch){.node = "aa", .b = &b, .shift_ms = -86400000 * 2ll});
    assert_int_equal(click_rows_count(&r), 98); /* nothing was before 1970 */
    click_rows_fini(&r);
}

static void a_row_is_as_rowbinary_has_it(void **unused)
{
    static const int64_t at[] = {1000, 2000}, util[] = {5, -1}, loss[] = {7, 8};
    static const uint64_t second = 2;
    static const char want[] =
        "\2aa\0\xd0\x07\0\0\0\0\0\0\1\0\0\0\0\0\0\0\2\0\0\0\0\0\0\0\3\0\0\0\0\0\0\0\4\0\0\0\0\0\0\0"
        "\0\xff\xff\xff\xff\xff\xff\xff\xff\1\1";
    struct column c[] = {{.metric = 1, .have = &second, .v = util}, {.metric = METRIC_CUSTOM, .v = loss}};
    struct batch b = {.n_ticks = 2, .n_columns = 2, .at_ms = at, .columns = c, .key = {.run = 1, .number = 2}};
    struct click_rows r = {0};

    (void)unused;
    click_rows_add(&r, &(struct archive_batch){.node = "aa", .b = &b, .log = 3, .row = 4});
    assert_int_equal(r.heaps[CLICK_SAMPLE].n_rows, 1); /* of a tick without a value there is none */
    assert_memory_equal(r.heaps[CLICK_SAMPLE].bytes.p, want, sizeof(want) - 1);
    assert_int_equal(r.heaps[CLICK_CUSTOM].n_rows, 2);
    assert_non_null(memmem(r.heaps[CLICK_CUSTOM].bytes.p, r.heaps[CLICK_CUSTOM].bytes.len, "\10custom:0\7", 10));
    click_rows_fini(&r);
}

struct seen_bin {
    size_t n, ask, series, bin;
    struct part_bin p;
};

static void see_bin(void *arg, size_t ask, size_t series, size_t bin, const struct part_bin *p)
{
    struct seen_bin *s = arg;

    *s = (struct seen_bin){s->n + 1, ask, series, bin, *p};
}

static void a_question_is_one_select_and_its_answer_bins(void **unused)
{
    static const char *const devices[] = {"", "GPU-'1"}, *const names[] = {"util", "power"};
    struct bins_query a = {.node = "bb",
                           .devices = devices,
                           .metrics = names,
                           .n_devices = 2,
                           .n_metrics = 2,
                           .step_ms = 1000,
                           .fields = BIN_SUM | BIN_LAST};
    struct archive_name name[] = {{.node = "bb", .upto = {INT64_MAX, INT64_MAX}}, {.node = "aa", .upto = {5, 6}}};
    struct archive_query v = {&a, 3000, 9000, name, 2};
    struct click_place p;
    struct click_shape shape;
    struct seen_bin seen = {0};
    AUTO_BUF sql = BUF_INIT(4096);
    AUTO_BUF answer = BUF_INIT(4096);

    (void)unused;
    assert_int_equal(click_place_read(STR("clickhouse://h/gpu"), &p, NULL), 0);
    assert_false(click_shape_of(&shape, CLICK_CUSTOM, &v, 1));
    assert_true(click_shape_of(&shape, CLICK_SAMPLE, &v, 1));
    assert_false(click_plain(&v));
    assert_int_equal(click_select(&sql, &p, &shape, &v, 1), 0);
    assert_string_equal(
        sql.p, "SELECT node, dev, intDiv(ts, 1000) AS bin, count(util), sum(util), argMax(util, ts), maxIf(ts, "
               "isNotNull(util)), count(power), sum(power), argMax(power, ts), maxIf(ts, isNotNull(power)) FROM "
               "gpu.muster_sample FINAL WHERE ts >= 3000 AND ts < 9000 AND ((node = 'bb') OR (node = 'aa' AND "
               "(log < 5 OR (log = 5 AND row <= 6)))) AND dev IN ('', 'GPU-\\'1') GROUP BY node, dev, bin FORMAT "
               "RowBinary");
    buf_text(&answer, STR("aa"));
    buf_text(&answer, STR("GPU-'1"));
    buf_u64(&answer, 8);
    buf_u64(&answer, 0); /* util: nothing */
    buf_u8(&answer, 1);
    buf_u8(&answer, 1);
    buf_u64(&answer, 0);
    buf_u64(&answer, 2); /* power */
    buf_u8(&answer, 0);
    buf_u64(&answer, (uint64_t)-9);
    buf_u8(&answer, 0);
    buf_u64(&answer, 4);
    buf_u64(&answer, 8100);
    struct archive_out out = {.each = see_bin, .arg = &seen};
    assert_int_equal(click_answer(buf_str(&answer), &shape, &v, 1, &out), 0);
    assert_int_equal(seen.n, 1);
    assert_true(seen.ask == 0 && seen.series == 3 && seen.bin == 5);
    assert_true(seen.p.b.count == 2 && seen.p.b.sum == -9 && seen.p.b.last == 4 && seen.p.last_ms == 8100);
    for (size_t cut = 1; cut < answer.len; cut++) /* cut off anywhere it is none */
        assert_int_equal(click_answer(str_n(answer.p, cut), &shape, &v, 1, &out), -EBADMSG);
}

TESTS(cmocka_unit_test(an_address_says_where_and_how), cmocka_unit_test(an_address_without_tls_names_its_host),
      cmocka_unit_test(a_failure_is_its_first_sentence), cmocka_unit_test(the_statements_are_those_that_18_16_takes),
      cmocka_unit_test(rows_of_many_days_are_several_inserts), cmocka_unit_test(a_row_is_as_rowbinary_has_it),
      cmocka_unit_test(a_question_is_one_select_and_its_answer_bins))
