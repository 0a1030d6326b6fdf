/* What a report looks like: headings, numbers, and names that mean no good. */
#include "report/write.h"

#include <string.h>

#include "base/mem.h"
#include "test.h"

static const struct company_step steps[] = {{20000, 1}};
static struct company companies[] = {
    {.name = "=cmd|' /C calc'!A0", .n_steps = 1, .steps = steps, .gpus_per_node = 8},
    {.name = "<img onerror=alert(1)>", .n_steps = 1, .steps = steps, .gpus_per_node = 8},
    {.name = "Robert'); DROP TABLE", .n_steps = 1, .steps = steps, .gpus_per_node = 8},
};
static const struct run_day runs[] = {
    {.day = 20000,
     .minutes = 90,
     .gpus = 8,
     .company = "Robert'); DROP TABLE",
     .project = "-1+1",
     .run_id = "r1",
     .have = RUN_UTIL | RUN_MEM,
     .util_avg = 12250000000,
     .util_max = 100 * PERCENT_ONE,
     .mem_avg = 5 * PERCENT_ONE,
     .mem_max = 6 * PERCENT_ONE},
    {.day = 20001, .minutes = 60, .gpus = 8, .company = "nobody's", .run_id = "r2"},
};

static char *look_at(enum report_period period, enum report_format format, enum headings headings, int width)
{
    struct zone *z = zone_utc();
    struct report_query ask = {.period = period, .from = 20000, .to = 20001, .week_start = 6};
    struct report_style look = {.format = format,
                                .headings = headings,
                                .zone = z,
                                .week_start = 6,
                                .now_ms = 1728200000000,
                                .term = {.width = width}};
    struct report r;
    struct reply rp = {0};
    struct err err = {0};
    assert_int_equal(report_make(&ask, companies, ARRAY_LEN(companies), runs, ARRAY_LEN(runs), &r, &err), 0);
    report_write(&rp, &(struct report_doc){.source = SOURCE_AGENTS, .r = &r}, &look);
    assert_int_equal(rp.status, 0);
    char *text = buf_take(&rp.body);
    reply_fini(&rp);
    report_fini(&r);
    zone_free(z);
    return text;
}

static void csv_has_the_original_headings_and_plain_numbers(void **unused)
{
    AUTO_FREE char *ja = look_at(REPORT_DAILY, REPORT_CSV, HEADINGS_JA, 0);
    AUTO_FREE char *en = look_at(REPORT_WEEKLY, REPORT_CSV, HEADINGS_EN, 0);
    AUTO_FREE char *month = look_at(REPORT_MONTHLY, REPORT_CSV, HEADINGS_JA, 0);
    AUTO_FREE char *all = look_at(REPORT_OVERALL, REPORT_CSV, HEADINGS_JA, 0);
    AUTO_FREE char *week = look_at(REPORT_WEEKLY, REPORT_CSV, HEADINGS_JA, 0);
    AUTO_FREE char *summary = look_at(REPORT_SUMMARY, REPORT_CSV, HEADINGS_JA, 0);
#define NUMBERS                                                                                                                                          \
    "合計GPU使用時間(h),GPU稼働率(%),平均GPUパフォーマンス率(%),最大GPUパフォーマンス率(%),平均GPUメモリ利用率(%)," \
    "最大GPUメモリ利用率(%),n_runs,assigned_gpu_node,assigned_gpu_hour,_total_gpu_hour,total_metrics_hour\r\n"
    (void)unused;
    assert_ptr_equal(strstr(ja, "企業名,日付," NUMBERS), ja);
    assert_ptr_equal(strstr(week, "企業名,週開始日," NUMBERS), week);
    assert_ptr_equal(strstr(month, "企業名,年月," NUMBERS), month);
    assert_ptr_equal(strstr(all, "企業名," NUMBERS), all);
    assert_ptr_equal(strstr(summary, "company_name,project,Total hours,Total runs,master_node_runs,overlap_runs,"
                                     "ignore_runs\r\n"),
                     summary);
    assert_ptr_equal(strstr(en, "Company,Week start,Total GPU hours (h),GPU utilization rate (%),"), en);
    assert_non_null(strstr(ja, "\r\n\"Robert'); DROP TABLE\",2024-10-04,12,6.3,12.3,100,5,6,1,1,192,12,1.5\r\n"));
    /* a cell that a spreadsheet would run is text */
    assert_non_null(strstr(ja, "\r\n'=cmd|' /C calc'!A0,2024-10-05,0,0,0,0,0,0,0,1,192,0,0\r\n"));
    assert_null(strstr(ja, "\n="));
    assert_non_null(strstr(summary, "\r\n\"Robert'); DROP TABLE\",'-1+1,12,1,0,0,0\r\n"));
    assert_non_null(strstr(summary, "\r\n<img onerror=alert(1)>,,0,0,0,0,0\r\n"));
}

static void json_has_keys_and_what_was_left_out(void **unused)
{
    AUTO_FREE char *text = look_at(REPORT_DAILY, REPORT_JSON, HEADINGS_JA, 0);
    (void)unused;
    assert_ptr_equal(strstr(text,
                            "{\"period\":\"daily\",\"from\":\"2024-10-04\",\"to\":\"2024-10-05\",\"zone\":\"UTC\","
                            "\"week_start\":\"sunday\",\"source\":\"agents\",\"rows\":[{\"company\":"),
                     text);
    assert_non_null(strstr(text, "{\"company\":\"Robert'); DROP TABLE\",\"date\":\"2024-10-04\",\"total_gpu_hour\":12,"
                                 "\"utilization_rate\":6.3,\"average_performance\":12.3,\"max_performance\":100,"
                                 "\"average_memory\":5,\"max_memory\":6,\"n_runs\":1,\"assigned_gpu_node\":1,"
                                 "\"assigned_gpu_hour\":192,\"_total_gpu_hour\":12,\"total_metrics_hour\":1.5}"));
    assert_non_null(strstr(text, "\"left_out\":{\"no_company\":8,\"unassigned\":0,\"not_counted\":0},\"notes\":[\"8.0 "
                                 "GPU-hours were of nobody who belongs to a company and are in no row.\"]}\n"));
}

static void a_table_drops_columns_where_it_is_narrow(void **unused)
{
    AUTO_FREE char *wide = look_at(REPORT_DAILY, REPORT_TABLE, HEADINGS_EN, 0);
    AUTO_FREE char *narrow = look_at(REPORT_DAILY, REPORT_TABLE, HEADINGS_EN, 60);
    AUTO_FREE char *ja = look_at(REPORT_DAILY, REPORT_TABLE, HEADINGS_JA, 80);
    (void)unused;
    assert_non_null(strstr(wide, "Robert'); DROP TABLE    2024-10-04   12.0    6.3   12.3  100.0   5.0"));
    assert_non_null(strstr(wide, "MEASURED"));
    assert_null(strstr(narrow, "MEASURED"));
    assert_non_null(strstr(narrow, "RATE%"));
    assert_non_null(
        strstr(narrow, "\ndaily, 2024-10-04 to 2024-10-05, UTC, from agents\n8.0 GPU-hours were of nobody"));
    for (struct str rest = str_of(narrow), line; str_line(&rest, &line) && line.len;)
        assert_true(str_width(line) <= 60);
    for (struct str rest = str_of(ja), line; str_line(&rest, &line) && line.len;)
        assert_true(str_width(line) <= 80);
}

static struct run_work seen_work[WORK_KINDS]; /* of what agents saw; 0: not measured */

/* W&B says 12 hours of the third company, agents saw 20 of them, half busy. */
static char *both_at(enum report_period period, bool by_run, enum report_format format, enum headings headings)
{
    struct run_day seen = runs[0];
    struct zone *z = zone_utc();
    struct report_query ask = {.period = period, .from = 20000, .to = 20001, .week_start = 6};
    struct report_style look = {.format = format, .headings = headings, .zone = z, .week_start = 6};
    struct claim claims[] = {{.company = &companies[0],
                              .team = "t",
                              .project = "p",
                              .id = "r1",
                              .host = "gpu01",
                              .user = "kim",
                              .person = "kim",
                              .gpus = 8,
                              .from_ms = 20000 * 86400000ll,
                              .until_ms = 20000 * 86400000ll + 3600000,
                              .claimed = 480,
                              .held_ms = 6 * 3600000,
                              .measured_ms = 6 * 3600000,
                              .busy_ms = 3 * 3600000,
                              .why = WHY_FEWER},
                             {.company = &companies[1], .id = "r2", .claimed = 60, .why = WHY_NO_HOST}};
    struct comparison c = {ARRAY_LEN(claims), claims};
    struct report said, other;
    struct reply rp = {0};
    struct err err = {0};
    seen.minutes = 150;
    seen.util_avg = 50 * PERCENT_ONE;
    for (size_t w = 0; w < WORK_KINDS; w++) {
        seen.work[w] = seen_work[w];
        claims[0].work[w] = (struct claim_work){seen_work[w].minutes * 15000, seen_work[w].minutes * 30000};
    }
    assert_int_equal(report_make(&ask, companies, ARRAY_LEN(companies), runs, ARRAY_LEN(runs), &said, &err), 0);
    assert_int_equal(report_make(&ask, companies, ARRAY_LEN(companies), &seen, 1, &other, &err), 0);
    struct report_doc d = {.source = SOURCE_BOTH, .r = &said, .pulled_ms = 20001 * 86400000ll};
    d.claims = by_run ? &c : NULL;
    d.seen = by_run ? NULL : &other;
    report_write(&rp, &d, &look);
    assert_int_equal(rp.status, 0);
    char *text = buf_take(&rp.body);
    reply_fini(&rp);
    report_fini(&said);
    report_fini(&other);
    zone_free(z);
    return text;
}

static void both_sources_stand_beside_each_other(void **unused)
{
    AUTO_FREE char *csv = both_at(REPORT_DAILY, false, REPORT_CSV, HEADINGS_EN);
    AUTO_FREE char *ja = both_at(REPORT_OVERALL, false, REPORT_CSV, HEADINGS_JA);
    AUTO_FREE char *json = both_at(REPORT_MONTHLY, false, REPORT_JSON, HEADINGS_EN);
    AUTO_FREE char *text = both_at(REPORT_DAILY, false, REPORT_TABLE, HEADINGS_EN);
    AUTO_FREE char *html = both_at(REPORT_WEEKLY, false, REPORT_HTML, HEADINGS_EN);
    (void)unused;
    assert_ptr_equal(strstr(csv,
                            "Company,Date,W&B GPU hours (h),Held GPU hours (h),Busy GPU hours (h),Difference (h),"),
                     csv);
    assert_non_null(strstr(csv, "\r\n\"Robert'); DROP TABLE\",2024-10-04,12,20,10,-8,6.3,10.4,12.3,50,1,1,192\r\n"));
    assert_ptr_equal(strstr(ja, "企業名,W&B GPU使用時間(h),実測GPU使用時間(h),実測GPU稼働時間(h),差(h),"), ja);
    assert_non_null(strstr(json, "\"source\":\"both\""));
    assert_non_null(strstr(json, "\"pulled\":1728086400"));
    assert_non_null(strstr(json, "\"seen_left_out\":{\"no_company\":0"));
    assert_non_null(strstr(text, "  -8.0  "));
    assert_non_null(strstr(text, "\ndaily, 2024-10-04 to 2024-10-05, UTC, Weights & Biases against agents (as of "
                                 "2024-10-05 00:00)\nW&B: 8.0 GPU-hours were of nobody"));
    assert_non_null(strstr(html, ">-8.0</td>"));
}

static void runs_are_listed_with_what_was_claimed_and_held(void **unused)
{
    AUTO_FREE char *csv = both_at(REPORT_SUMMARY, true, REPORT_CSV, HEADINGS_EN);
    AUTO_FREE char *ja = both_at(REPORT_SUMMARY, true, REPORT_CSV, HEADINGS_JA);
    AUTO_FREE char *json = both_at(REPORT_SUMMARY, true, REPORT_JSON, HEADINGS_EN);
    AUTO_FREE char *text = both_at(REPORT_SUMMARY, true, REPORT_TABLE, HEADINGS_EN);
    (void)unused;
    assert_non_null(strstr(csv,
                           "\r\n'=cmd|' /C calc'!A0,t/p/r1,gpu01,kim,kim,2024-10-04 00:00,2024-10-04 01:00,8,8,6,3,"
                           "2,fewer GPUs,\r\n"));
    assert_non_null(strstr(csv, "\r\n<img onerror=alert(1)>,//r2,,,,1970-01-01 00:00,1970-01-01 00:00,0,1,0,,1,no such "
                                "host,\r\n"));
    assert_ptr_equal(strstr(ja, "企業名,Run,ホスト,"), ja);
    assert_non_null(strstr(json, "\"period\":\"runs\""));
    assert_non_null(strstr(json, "\"busy\":null"));
    assert_null(strstr(json, "left_out"));
    assert_non_null(strstr(text, "1 run (8.0 GPU-hours claimed) had fewer GPUs than they claim.\n"));
}

static void what_gpus_really_did_stands_beside_both_where_it_is_known(void **unused)
{
    (void)unused;
    for (int kinds = 0; kinds < 1 << WORK_KINDS; kinds++) {
        print_message("%d\n", kinds);
        bool effective = kinds & 1, tensor = kinds & 2;
        seen_work[WORK_EFFECTIVE] = effective ? (struct run_work){60 * PERCENT_ONE, 600} : (struct run_work){0};
        seen_work[WORK_TENSOR] = tensor ? (struct run_work){40 * PERCENT_ONE, 300} : (struct run_work){0};
        AUTO_FREE char *csv = both_at(REPORT_DAILY, false, REPORT_CSV, HEADINGS_EN);
        AUTO_FREE char *ja = both_at(REPORT_OVERALL, false, REPORT_CSV, HEADINGS_JA);
        AUTO_FREE char *json = both_at(REPORT_DAILY, false, REPORT_JSON, HEADINGS_EN);
        AUTO_FREE char *text = both_at(REPORT_DAILY, false, REPORT_TABLE, HEADINGS_EN);
        AUTO_FREE char *html = both_at(REPORT_DAILY, false, REPORT_HTML, HEADINGS_EN);
        AUTO_FREE char *runs_csv = both_at(REPORT_SUMMARY, true, REPORT_CSV, HEADINGS_EN);
        AUTO_FREE char *runs_json = both_at(REPORT_SUMMARY, true, REPORT_JSON, HEADINGS_EN);
        AUTO_FREE char *want =
            mem_fmt("\r\n\"Robert'); DROP TABLE\",2024-10-04,12,20,10,-8,6.3,10.4,12.3,50,1,1,192%s%s\r\n",
                    effective ? ",6,10" : "", tensor ? ",2,5" : "");
        AUTO_FREE char *run = mem_fmt(",fewer GPUs,%s%s\r\n", effective ? ",2.5,5" : "", tensor ? ",1.3,2.5" : "");
        AUTO_FREE char *none = mem_fmt(",no such host,%s%s\r\n", effective ? ",," : "", tensor ? ",," : "");
        assert_non_null(strstr(csv, want));
        assert_non_null(strstr(runs_csv, run));
        assert_non_null(strstr(runs_csv, none));
        assert_int_equal(strstr(ja, ",実効GPU時間(h),実働率の測定時間(h)") != NULL, effective);
        assert_int_equal(strstr(ja, ",テンソルGPU時間(h),テンソル稼働率の測定時間(h)") != NULL, tensor);
        assert_int_equal(strstr(json, "\"effective_gpu_hour\":6,\"effective_measured_hour\":10") != NULL, effective);
        assert_int_equal(strstr(json, "\"effective_gpu_hour\":null") != NULL, effective); /* of the others */
        assert_int_equal(strstr(json, "\"tensor_gpu_hour\":2,\"tensor_measured_hour\":5") != NULL, tensor);
        assert_int_equal(strstr(runs_json, "\"tensor\":null") != NULL, tensor);
        assert_null(strstr(json, "\"effective_gpu_hour\":0"));
        assert_int_equal(strstr(text, "EFFECTIVE") != NULL, effective);
        assert_int_equal(strstr(text, "TENSOR") != NULL, tensor);
        assert_int_equal(strstr(html, ">Effective GPU hours (h)<") != NULL, effective);
        assert_int_equal(strstr(html, ">Tensor GPU hours (h)<") != NULL, tensor);
    }
    seen_work[WORK_EFFECTIVE] = seen_work[WORK_TENSOR] = (struct run_work){0};
}

static void a_mail_is_whole_by_itself_and_runs_nothing(void **unused)
{
    AUTO_FREE char *text = look_at(REPORT_DAILY, REPORT_HTML, HEADINGS_EN, 0);
    AUTO_FREE char *summary = look_at(REPORT_SUMMARY, REPORT_HTML, HEADINGS_EN, 0);
    static const char *const never[] = {"<img", "<script", "<link", "<style", "src=", "href=", "url(", "class="};
    (void)unused;
    for (size_t i = 0; i < ARRAY_LEN(never); i++) {
        print_message("%s\n", never[i]);
        assert_null(strstr(text, never[i]));
        assert_null(strstr(summary, never[i]));
    }
    assert_non_null(strstr(text, "&lt;img onerror=alert(1)&gt;</h2>"));
    assert_non_null(strstr(text, ">12.0</td>"));
    /* 6.3 % of 90 pixels */
    assert_non_null(strstr(text, "<td width=\"6\" height=\"10\" bgcolor=\"#2f6fde\"></td><td width=\"84\""));
    assert_non_null(strstr(summary, ">&ndash;</td>"));
}

static void what_people_read_has_words_and_files_keep_their_names(void **unused)
{
    AUTO_FREE char *html = look_at(REPORT_DAILY, REPORT_HTML, HEADINGS_EN, 0);
    AUTO_FREE char *summary = look_at(REPORT_SUMMARY, REPORT_HTML, HEADINGS_EN, 0);
    AUTO_FREE char *csv = look_at(REPORT_DAILY, REPORT_CSV, HEADINGS_EN, 0);
    AUTO_FREE char *json = look_at(REPORT_DAILY, REPORT_JSON, HEADINGS_EN, 0);
    (void)unused;
    assert_non_null(strstr(html, ">Runs<"));
    assert_non_null(strstr(html, ">GPU hours, uncapped (h)<"));
    assert_non_null(strstr(summary, ">Overlapping runs<"));
    assert_null(strstr(html, "_gpu_"));
    assert_null(strstr(summary, "_runs"));
    assert_non_null(strstr(csv, ",n_runs,assigned_gpu_node,assigned_gpu_hour,_total_gpu_hour,total_metrics_hour\r\n"));
    assert_non_null(strstr(json, "\"headings\":{\"company\":\"Company\",\"date\":\"Date\","));
    assert_non_null(strstr(json, "\"n_runs\":\"Runs\""));
}

TESTS(cmocka_unit_test(csv_has_the_original_headings_and_plain_numbers),
      cmocka_unit_test(both_sources_stand_beside_each_other),
      cmocka_unit_test(runs_are_listed_with_what_was_claimed_and_held),
      cmocka_unit_test(what_gpus_really_did_stands_beside_both_where_it_is_known),
      cmocka_unit_test(json_has_keys_and_what_was_left_out), cmocka_unit_test(a_table_drops_columns_where_it_is_narrow),
      cmocka_unit_test(a_mail_is_whole_by_itself_and_runs_nothing),
      cmocka_unit_test(what_people_read_has_words_and_files_keep_their_names))
