/* test_dataset.c: all_runs_data.csv in and out, how files merge, deleted runs, the blacklist (wandb_push/dataset.h). */
#include "test.h"

#include <errno.h>

#include "base/buf.h"
#include "store_dir.h"
#include "wandb_pull/blacklist.h"
#include "wandb_push/dataset.h"

#define HEAD16                                                                                                         \
    "date,company_name,project,run_id,tags,created_at,updated_at,state,duration_hour,gpu_count,"                       \
    "average_gpu_utilization,average_gpu_memory,max_gpu_utilization,max_gpu_memory,host_name,logged_at\n"
#define HEAD18                                                                                                         \
    "date,company_name,project,run_id,tags,created_at,updated_at,state,duration_hour,gpu_count,cpu_count,"             \
    "average_gpu_utilization,average_gpu_memory,max_gpu_utilization,max_gpu_memory,host_name,logged_at,run_exists\n"
#define HEAD_OLD                                                                                                       \
    "date,company_name,project,run_id,assigned_gpu_node,created_at,updated_at,state,duration_hour,gpu_count,"          \
    "average_gpu_utilization,average_gpu_memory,max_gpu_utilization,max_gpu_memory,logged_at,testmode\n"

static struct zone *tokyo(void)
{
    struct zone *z = NULL;

    assert_int_equal(zone_load("Asia/Tokyo", &z, NULL), 0);
    return z;
}

/* Rows as text of the widest set, and what was bad. */
struct ingest_request {
    struct buf rows, bad;
    const struct zone *zone;
};

static int take_row(void *arg, const struct dataset_row *row, struct err *err)
{
    struct ingest_request *t = arg;

    (void)err;
    dataset_row_text(&t->rows, DATASET_18, t->zone, &row->run, &row->day);
    return 0;
}

static void take_bad(void *arg, uint64_t line, const char *why)
{
    buf_addf(&((struct ingest_request *)arg)->bad, "%llu: %s\n", (unsigned long long)line, why);
}

/* In pieces of `step` bytes. */
static int read_in(struct ingest_request *t, const struct zone *z, struct str text, size_t step, struct err *err)
{
    const struct dataset_take take = {take_row, take_bad, t};
    struct dataset *d = dataset_new(z, &take);
    int r = 0;

    *t = (struct ingest_request){BUF_INIT(1 << 20), BUF_INIT(1 << 20), z};
    buf_adds(&t->rows, "");
    buf_adds(&t->bad, "");
    for (size_t i = 0; r == 0 && i < text.len; i += step)
        r = dataset_feed(d, str_n(text.p + i, MIN(step, text.len - i)), err);
    if (r == 0)
        r = dataset_end(d, err);
    dataset_free(d);
    return r;
}

static void taken_fini(struct ingest_request *t)
{
    buf_fini(&t->rows);
    buf_fini(&t->bad);
}

#define ROW16(date, hours, count, util, most, logged)                                                                  \
    date ",acme,p1,abcd1234,\"[\"\"a\"\", "                                                                            \
         "\"\"b\"\"]\",2024-11-01T22:00:00.000000,2024-11-02T01:30:00.000000,finished," hours "," count "," util       \
         ",," most ",,node1," logged "\n"
#define ROW18(date, hours, count, util, most, logged)                                                                  \
    date ",acme,p1,abcd1234,\"[\"\"a\"\", "                                                                            \
         "\"\"b\"\"]\",2024-11-01T22:00:00.000000,2024-11-02T01:30:00.000000,finished," hours "," count ",," util      \
         ",," most ",,node1," logged ",\n"
#define LOGGED "2024-11-03T00:15:01.123000"

static void a_line_becomes_a_row_or_says_why_not(void **unused)
{
    static const struct {
        const char *line, *want, *bad;
    } cases[] = {
        {ROW16("2024-11-02", "1.5166666666666666", "8", "53.2727272727", "100.0", LOGGED),
         ROW18("2024-11-02", "1.516666667", "8", "53.272727273", "100.0", LOGGED), ""},
        {ROW16("2024-11-02", "24", "8.0", "1e1", "10", "2024-11-03 00:15:01.123456"),
         ROW18("2024-11-02", "24.0", "8", "10.0", "10.0", LOGGED), ""},
        {ROW16("2024-11-02T00:00:00", "0.016666666666666666", "", "", "", "2024-11-02T15:15:01.123Z"),
         ROW18("2024-11-02", "0.016666667", "", "", "", LOGGED), ""},
        {ROW16("2024-11-02", "0.0", "", "NaN", "nan", ""), ROW18("2024-11-02", "0.0", "", "", "", ""), ""},
        {ROW16("2024-11-02", "1.0", "10000000", "1000000", "1000000", LOGGED), /* as much as a pull may give */
         ROW18("2024-11-02", "1.0", "10000000", "1000000.0", "1000000.0", LOGGED), ""},
        {ROW16("2024-11-31", "1.0", "8", "", "", LOGGED), "", "2: date is '2024-11-31'; expected a date\n"},
        {ROW16("2024-11-02", "25.1", "8", "", "", LOGGED), "",
         "2: duration_hour is '25.1'; expected the hours of a day\n"},
        {ROW16("2024-11-02", "", "8", "", "", LOGGED), "", "2: duration_hour is ''; expected the hours of a day\n"},
        {ROW16("2024-11-02", "-1", "8", "", "", LOGGED), "", "2: duration_hour is '-1'; expected the hours of a day\n"},
        {ROW16("2024-11-02", "1", "8.5", "", "", LOGGED), "", "2: gpu_count is '8.5'; expected a whole number\n"},
        {ROW16("2024-11-02", "1", "99999999999", "", "", LOGGED), "",
         "2: gpu_count is '99999999999'; expected a whole number\n"},
        {ROW16("2024-11-02", "1", "8", "5", "", LOGGED), "", "2: max_gpu_utilization is ''; expected a percentage\n"},
        {ROW16("2024-11-02", "1", "8", "-5", "7", LOGGED), "",
         "2: average_gpu_utilization is '-5'; expected a percentage\n"},
        {ROW16("2024-11-02", "1", "8", "", "", "yesterday"), "", "2: logged_at is 'yesterday'; expected a time\n"},
        {"2024-11-02,acme,p1\n", "", "2: it has 3 columns where the first line has 16\n"},
        {"2024-11-02,,p1,r,[],,,finished,1,8,,,,,n,\n", "", "2: company_name is ''; expected a name\n"},
        {"2024-11-02,a\xff,p1,r,[],,,finished,1,8,,,,,n,\n", "", "2: company_name is 'a\xff'; expected letters\n"},
        {"2024-11-02,a,p1,r,\"x\"y,,,finished,1,8,,,,,n,\n", "", "2: a comma is missing after a quote\n"},
        {"2024-11-02,a,p1,r,\"x,,,finished,1,8,,,,,n,\n", "", "2: a quote is never closed\n"},
        {"\r\n\n", "", ""},
    };
    struct zone *z = tokyo();

    (void)unused;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        AUTO_FREE char *text = mem_fmt("%s%s", HEAD16, cases[i].line);
        struct ingest_request t;
        print_message("%s", cases[i].line);
        assert_int_equal(read_in(&t, z, str_of(text), 1 << 20, NULL), 0);
        assert_string_equal(t.rows.p, cases[i].want);
        assert_string_equal(t.bad.p, cases[i].bad);
        taken_fini(&t);
    }
    zone_free(z);
}

static void columns_are_found_by_name_and_what_is_no_dataset_is_refused(void **unused)
{
    static const struct {
        const char *text;
        int want;
        const char *rows; /* or the error */
    } cases[] = {
        {"\xef\xbb\xbfrun_id,other,project,company_name,duration_hour,date\r\nr,1,p,t,1.0,2024-11-02\r\n", 0,
         "2024-11-02,t,p,r,,,,,1.0,,,,,,,,,\n"},
        {"run_id,project,company_name,duration_hour,date\nr,p,t,1.0,2024-11-02", 0,
         "2024-11-02,t,p,r,,,,,1.0,,,,,,,,,\n"},
        {HEAD18 "2024-11-02,t,p,r,[],,,running,1.0,8,64,,1.5,,2.5,n,,deleted\n", 0,
         "2024-11-02,t,p,r,[],,,running,1.0,8,64,,1.5,,2.5,n,,deleted\n"},
        {HEAD_OLD "2024-11-02,t,p,r,0,,,running,1.0,8,1.5,,2.5,,,False\n", 0,
         "2024-11-02,t,p,r,,,,running,1.0,8,,1.5,,2.5,,,,\n"},
        {"", -EINVAL, "it is empty: there is not even a line of columns' names"},
        {"a,b\n1,2\n", -EINVAL, "line 1, the columns' names, has no 'date': this is no dataset of runs"},
        {"date,date,company_name,project,run_id,duration_hour\n", -EINVAL, "line 1 names column 'date' twice"},
        {"\"date\n", -EINVAL, "line 1: a quote is never closed"},
    };
    struct zone *z = tokyo();

    (void)unused;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct ingest_request t;
        struct err err = {0};
        print_message("%s\n", cases[i].text);
        assert_int_equal(read_in(&t, z, str_of(cases[i].text), 1 << 20, &err), cases[i].want);
        assert_string_equal(cases[i].want ? err.msg : t.rows.p, cases[i].rows);
        assert_string_equal(t.bad.p, "");
        taken_fini(&t);
    }
    AUTO_BUF wide = BUF_INIT(4096);
    struct ingest_request t;
    buf_adds(&wide, "date");
    for (int i = 0; i < DATASET_COLUMNS_MAX; i++)
        buf_adds(&wide, ",x");
    buf_addc(&wide, '\n');
    assert_int_equal(read_in(&t, z, buf_str(&wide), 1 << 20, NULL), -EINVAL);
    taken_fini(&t);
    zone_free(z);
}

static void however_a_file_is_cut_into_pieces_the_rows_are_the_same(void **unused)
{
    struct str text = STR(HEAD16 "2024-11-02,t,\"p,\n\"\"q\"\"\",r,\"[\"\"a\"\"]\",,,x\"y,1.0,8,,,,,n,\r\n\n"
                                 "bad\n2024-11-03,t,p,r,,,,\"\",2.0,8,,,,,n,");
    struct zone *z = tokyo();
    struct ingest_request whole, t;

    (void)unused;
    assert_int_equal(read_in(&whole, z, text, 1 << 20, NULL), 0);
    assert_string_equal(whole.bad.p, "2: project is 'p,\n\"q\"'; expected letters\n5: it has 1 columns where the first "
                                     "line has 16\n");
    assert_string_equal(whole.rows.p, "2024-11-03,t,p,r,,,,,2.0,8,,,,,,n,,\n");
    for (size_t step = 1; step < text.len; step++) {
        assert_int_equal(read_in(&t, z, text, step, NULL), 0);
        assert_string_equal(t.rows.p, whole.rows.p);
        assert_string_equal(t.bad.p, whole.bad.p);
        taken_fini(&t);
    }
    taken_fini(&whole);
    zone_free(z);
}

static void a_record_that_never_ends_is_refused_and_not_gathered(void **unused)
{
    struct zone *z = tokyo();
    const struct dataset_take take = {take_row, NULL, NULL};
    struct dataset *d = dataset_new(z, &take);
    AUTO_BUF much = BUF_INIT(1 << 20);
    struct err err = {0};
    int r = 0, n = 0;

    (void)unused;
    buf_fill(&much, 'x', 65536);
    assert_int_equal(dataset_feed(d, STR(HEAD16 "2024-11-02,\""), NULL), 0);
    for (; r == 0 && n < 100; n++)
        r = dataset_feed(d, buf_str(&much), &err);
    assert_int_equal(r, -EINVAL);
    assert_true(n <= 16);
    assert_non_null(strstr(err.msg, "line 2"));
    assert_int_equal(dataset_feed(d, STR("\n"), NULL), -EINVAL);
    assert_int_equal(dataset_end(d, NULL), -EINVAL);
    dataset_free(d);
    dataset_free(NULL);
    zone_free(z);
}

/* ---- with a store ---- */

static int put_row(void *arg, const struct dataset_row *row, struct err *err)
{
    enum wandb_put put;

    return wandb_row_put(arg, &row->run, &row->day, &put, err);
}

static void no_bad(void *arg, uint64_t line, const char *why)
{
    (void)arg;
    fail_msg("line %llu: %s", (unsigned long long)line, why);
}

static void import(struct wandb_store *s, const struct zone *z, const char *text)
{
    const struct dataset_take take = {put_row, no_bad, s};
    struct dataset *d = dataset_new(z, &take);

    assert_int_equal(dataset_feed(d, str_of(text), NULL), 0);
    assert_int_equal(dataset_end(d, NULL), 0);
    dataset_free(d);
}

static int gather(void *arg, struct str piece)
{
    return buf_addstr(arg, piece);
}

static char *export(struct wandb_store *s, const struct zone *z, enum dataset_set set)
{
    struct dataset_params ask = {.set = set, .zone = z, .from = INT32_MIN, .to = INT32_MAX};
    struct buf b = BUF_INIT(1 << 20);

    assert_true(dataset_write(s, &ask, gather, &b, NULL) >= 0);
    return buf_take(&b);
}

#define R18(date, team, id, project, minutes, cpus, logged, exists)                                                    \
    date "," team "," project "," id ",[],2024-11-01T22:00:00.000000,2024-11-02T01:30:00.000000,finished," minutes     \
         ",8," cpus ",,,,,node1,2024-11-" logged "T00:15:01.123000," exists "\n"
#define R16(date, team, id, project, minutes, logged)                                                                  \
    date "," team "," project "," id ",[],2024-11-01T22:00:00.000000,2024-11-02T01:30:00.000000,finished," minutes     \
         ",8,,,,,node1,2024-11-" logged "T00:15:01.123000\n"
#define ROLD(date, team, id, project, minutes, logged)                                                                 \
    date "," team "," project "," id ",0,2024-11-01T22:00:00.000000,2024-11-02T01:30:00.000000,finished," minutes      \
         ",8,,,,,2024-11-" logged "T00:15:01.123000,false\n"

static const char file_new[] = HEAD18 R18("2024-11-02", "b", "r2", "p", "2.0", "64", "05", "exists")
    R18("2024-11-01", "b", "r2", "p", "1.0", "64", "05", "exists")
        R18("2024-11-02", "a", "r1", "q", "3.0", "64", "03", "deleted");
static const char file_old[] =
    HEAD16 R16("2024-11-02", "b", "r2", "p", "9.0", "04") R16("2024-11-03", "b", "r2", "p", "4.0", "04")
        R16("2024-11-02", "a", "r1", "q", "5.0", "04") R16("2024-11-02", "b", "r1", "p", "6.0", "04");
/* Concatenated, newest logged_at of each key, company ascending, date descending, run, project; nulls where a file had
 * no such column. */
static const char merged[] = HEAD18 R18("2024-11-02", "a", "r1", "q", "5.0", "", "04", "deleted")
    R18("2024-11-03", "b", "r2", "p", "4.0", "", "04", "exists") R18("2024-11-02", "b", "r1", "p", "6.0", "", "04", "")
        R18("2024-11-02", "b", "r2", "p", "2.0", "64", "05", "exists")
            R18("2024-11-01", "b", "r2", "p", "1.0", "64", "05", "exists");

static void files_merge_by_the_newest_row_in_any_order(void **unused)
{
    struct zone *z = tokyo();

    (void)unused;
    for (int order = 0; order < 4; order++) {
        char *dir = dir_new_quick();
        struct wandb_store *s = NULL;
        assert_int_equal(wandb_store_open(&s, dir, true, NULL), 0);
        import(s, z, order & 1 ? file_new : file_old);
        import(s, z, order & 1 ? file_old : file_new);
        if (order & 2)
            import(s, z, file_old);
        AUTO_FREE char *got = export(s, z, DATASET_18);
        assert_string_equal(got, merged);
        wandb_store_close(s);
        dir_free(dir);
    }
    zone_free(z);
}

static void what_is_exported_is_read_back_the_same_in_every_set(void **unused)
{
    static const char *const want[DATASET_SETS] = {
        [DATASET_18] = merged,
        [DATASET_16] = HEAD16 R16("2024-11-02", "a", "r1", "q", "5.0", "04")
            R16("2024-11-03", "b", "r2", "p", "4.0", "04") R16("2024-11-02", "b", "r1", "p", "6.0", "04")
                R16("2024-11-02", "b", "r2", "p", "2.0", "05") R16("2024-11-01", "b", "r2", "p", "1.0", "05"),
        [DATASET_OLD] = HEAD_OLD ROLD("2024-11-02", "a", "r1", "q", "5.0", "04")
            ROLD("2024-11-03", "b", "r2", "p", "4.0", "04") ROLD("2024-11-02", "b", "r1", "p", "6.0", "04")
                ROLD("2024-11-02", "b", "r2", "p", "2.0", "05") ROLD("2024-11-01", "b", "r2", "p", "1.0", "05"),
    };
    struct zone *z = tokyo();

    (void)unused;
    for (int set = 0; set < DATASET_SETS; set++) {
        char *dir = dir_new_quick(), *other = dir_new_quick();
        struct wandb_store *s = NULL, *t = NULL;
        assert_int_equal(wandb_store_open(&s, dir, true, NULL), 0);
        assert_int_equal(wandb_store_open(&t, other, true, NULL), 0);
        import(s, z, merged);
        AUTO_FREE char *once = export(s, z, (enum dataset_set)set);
        assert_string_equal(once, want[set]);
        import(t, z, once);
        AUTO_FREE char *twice = export(t, z, (enum dataset_set)set);
        assert_string_equal(twice, once);
        /* what has fewer columns takes nothing away */
        import(s, z, once);
        AUTO_FREE char *still = export(s, z, DATASET_18);
        assert_string_equal(still, merged);
        wandb_store_close(s);
        wandb_store_close(t);
        dir_free(dir);
        dir_free(other);
    }
    zone_free(z);
}

static void deleted_runs_have_a_file_with_a_head_even_when_there_are_none(void **unused)
{
    struct zone *z = tokyo();
    char *dir = dir_new_quick();
    struct wandb_store *s = NULL;
    AUTO_BUF b = BUF_INIT(4096);

    (void)unused;
    assert_int_equal(wandb_store_open(&s, dir, true, NULL), 0);
    assert_int_equal(dataset_write_deleted(s, z, 0, gather, &b, NULL), 0);
    assert_string_equal(b.p, "run_id,company_name,project,created_at\n");
    import(s, z, file_new);
    buf_reset(&b);
    assert_int_equal(dataset_write_deleted(s, z, 0, gather, &b, NULL), 1);
    assert_string_equal(b.p, "run_id,company_name,project,created_at\nr1,a,q,2024-11-01T22:00:00.000000\n");
    wandb_store_close(s);
    dir_free(dir);
    zone_free(z);
}

static void runs_of_the_blacklist_are_in_no_dataset_and_come_back_when_it_ends(void **unused)
{
    struct zone *z = tokyo();
    char *dir = dir_new_quick();
    struct wandb_store *s = NULL;
    struct blacklist b;

    (void)unused;
    assert_int_equal(wandb_store_open(&s, dir, true, NULL), 0);
    import(s, z, merged);
    assert_int_equal(blacklist_read(STR("[{\"run_path\":\"b/p/r2\",\"tags\":[\"x\"]},{\"run_path\":\"/a/q/"
                                        "r1\"},{\"run_path\":\"a/q/r1\"}]"),
                                    &b, NULL),
                     0);
    assert_int_equal(b.n, 3);
    assert_int_equal(wandb_barred_set(s, b.v, b.n, NULL), 0);
    blacklist_fini(&b);
    AUTO_FREE char *got = export(s, z, DATASET_16);
    assert_string_equal(got, HEAD16 R16("2024-11-02", "b", "r1", "p", "6.0", "04"));
    assert_int_equal(blacklist_read(STR("[]"), &b, NULL), 0);
    assert_int_equal(wandb_barred_set(s, b.v, b.n, NULL), 0);
    blacklist_fini(&b);
    AUTO_FREE char *all = export(s, z, DATASET_18);
    assert_string_equal(all, merged);
    wandb_store_close(s);
    dir_free(dir);
    zone_free(z);
}

static void a_blacklist_that_is_wrong_is_refused_as_a_whole(void **unused)
{
    static const struct {
        const char *text, *why;
    } cases[] = {
        {"", "line 1: "},
        {"{}", "a blacklist is a JSON list"},
        {"[1]", "entry 1 of the blacklist: run_path is missing"},
        {"[{\"run_path\":\"a/b/c\"},{\"run_path\":\"a/b\"}]", "entry 2 of the blacklist: run_path is 'a/b'"},
        {"[{\"run_path\":\"a//c\"}]", "entry 1"},
        {"[{\"run_path\":\"a/b/c/d\"}]", "entry 1"},
        {"[{\"run_path\":\"a/b/c\\u0007\"}]", "entry 1"},
        {"[{\"run_path\":5}]", "entry 1"},
    };

    (void)unused;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct blacklist b;
        struct err err = {0};
        print_message("%s\n", cases[i].text);
        assert_int_equal(blacklist_read(str_of(cases[i].text), &b, &err), -EINVAL);
        assert_true(str_starts(str_of(err.msg), cases[i].why));
    }
    blacklist_fini(NULL);
}

TESTS(cmocka_unit_test(a_line_becomes_a_row_or_says_why_not),
      cmocka_unit_test(columns_are_found_by_name_and_what_is_no_dataset_is_refused),
      cmocka_unit_test(however_a_file_is_cut_into_pieces_the_rows_are_the_same),
      cmocka_unit_test(a_record_that_never_ends_is_refused_and_not_gathered),
      cmocka_unit_test(files_merge_by_the_newest_row_in_any_order),
      cmocka_unit_test(what_is_exported_is_read_back_the_same_in_every_set),
      cmocka_unit_test(deleted_runs_have_a_file_with_a_head_even_when_there_are_none),
      cmocka_unit_test(runs_of_the_blacklist_are_in_no_dataset_and_come_back_when_it_ends),
      cmocka_unit_test(a_blacklist_that_is_wrong_is_refused_as_a_whole))
