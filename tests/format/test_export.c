/* test_export.c: records become text and the same records again (E1, E2); what is wrong has a line and a column (E3).
 */
#include "test.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/buf.h"
#include "base/mem.h"
#include "base/rand.h"
#include "format/export.h"

static int64_t per_ten(void *arg, const char *node, const char *metric)
{
    (void)arg;
    (void)node;
    return strcmp(metric, "unheard") == 0 ? 0 : 10;
}

/* Written, read line by line, and written again: the same text. */
static void there_and_back(enum export_format format, const struct export_record *recs, size_t n, const char *contains)
{
    struct export_writer w = {.format = format, .at_ms = 1700000000000}, again = w;
    AUTO_BUF a = BUF_INIT(1 << 22);
    AUTO_BUF b = BUF_INIT(1 << 22);
    struct export_reader *r = export_reader_new(per_ten, NULL);
    size_t samples = 0;

    export_start(&w, &a);
    for (size_t i = 0; i < n; i++)
        export_put(&w, &a, &recs[i]);
    export_end(&w, &a);
    assert_int_equal(a.err, 0);
    if (contains && !strstr(a.p, contains))
        fail_msg("'%s' is not in:\n%s", contains, a.p);
    struct str rest = buf_str(&a), line;
    struct device_fact dev = {.index = 3};
    struct custom_fact custom = {0};
    export_start(&again, &b);
    while (str_line(&rest, &line)) {
        struct export_record rec;
        struct err err = {0};
        size_t column = 0;
        int code = export_line(r, line, &rec, &column, &err);
        if (code < 0)
            fail_msg("column %zu of '%.*s': %s", column, STR_ARG(line), err.msg);
        if (code == 0)
            continue;
        if (rec.kind == REC_METRIC)
            custom = *rec.custom;
        if (rec.kind == REC_SAMPLES) {
            samples += rec.n;
            rec.dev = &dev;
            rec.custom = &custom;
        }
        export_put(&again, &b, &rec);
    }
    export_end(&again, &b);
    assert_true(export_complete(r));
    if (a.len != b.len || memcmp(a.p, b.p, a.len) != 0)
        fail_msg("was:\n%s\nis:\n%s", a.p, b.p);
    for (size_t i = 0; i < n; i++)
        samples -= recs[i].kind == REC_SAMPLES ? recs[i].n : 0;
    assert_int_equal(samples, 0);
    export_reader_free(r);
}

static const char *const nasty[] = {"plain",     "=1+1",    "+1",         "-2",          "@x",
                                    "'=1",       "'",       "a\"b,c",     "back\\slash", "üñí \xf0\x9f\x90\xa2",
                                    "{\"a\":1}", "tab\tin", "semi;colon", "#",           "x y z"};

static void records_come_back_in_every_format(void **unused)
{
    int64_t at[4] = {1700000000000, 1700000000001, 1700000010000, 1799999999999};
    int64_t v[4] = {0, -5, INT64_MAX, INT64_MIN + 1}, util[4] = {10000, 1, 0, 9876};

    (void)unused;
    for (size_t i = 0; i < ARRAY_LEN(nasty); i++)
        for (int format = 0; format < EXPORT_FORMATS; format++) {
            struct node_fact fact = {.cpus = 128, .tick_ms = 1000};
            struct device_fact dev = {.uuid = "GPU-one", .index = 3, .minor = -1, .mig = -1, .vendor = VENDOR_NVIDIA};
            struct custom_fact custom = {.per = 10, .kind = KIND_COUNTER, .unit = UNIT_WATTS};
            struct proc_span proc =
                {.fact = {.pid = 77, .ppid = 1, .start_ms = 1699999999999, .uid = -1, .slurm_job = 9},
                 .first_ms = 1700000000000,
                 .last_ms = 1700000000002,
                 .mem_max = 1ll << 40,
                 .ended = i % 2};
            struct node_event event = {.at_ms = 1700000000001, .kind = EVENT_XID, .slot = 1, .code = -79};
            struct job_fact job = {.id = INT64_MAX,
                                   .start_ms = 1,
                                   .name = nasty[i],
                                   .kind = "record",
                                   .person = nasty[i],
                                   .owner = "person:kim",
                                   .node = "aa",
                                   .devices = "GPU-one,GPU-two",
                                   .pids = "1,2",
                                   .attrs = "{\"note\":\"a \\\"b\\\"\"}"};
            /* OpenMetrics keeps what is in labels: no tab, and names of its own for nodes */
            if (format == EXPORT_OPENMETRICS && strchr(nasty[i], '\t'))
                continue;
            mem_copy_str(fact.name, sizeof(fact.name), nasty[i]);
            mem_copy_str(fact.os, sizeof(fact.os), nasty[i]);
            mem_copy_str(dev.name, sizeof(dev.name), nasty[i]);
            mem_copy_str(dev.note, sizeof(dev.note), format == EXPORT_OPENMETRICS ? "" : nasty[i]);
            mem_copy_str(custom.name, sizeof(custom.name), nasty[i]);
            mem_copy_str(proc.fact.cmd, sizeof(proc.fact.cmd), nasty[i]);
            mem_copy_str(event.text, sizeof(event.text), nasty[i]);
            struct export_record recs[] = {
                {.kind = REC_NODE, .node = "aa", .name = nasty[i], .fact = &fact},
                {.kind = REC_DEVICE, .node = "aa", .name = nasty[i], .device = "GPU-one", .dev = &dev},
                {.kind = REC_METRIC, .node = "aa", .name = nasty[i], .custom = &custom},
                {.kind = REC_SAMPLES,
                 .node = "aa",
                 .name = nasty[i],
                 .device = "GPU-one",
                 .dev = &dev,
                 .metric = "util",
                 .per = 10000,
                 .n = 4,
                 .at_ms = at,
                 .v = util},
                {.kind = REC_SAMPLES,
                 .node = "aa",
                 .name = nasty[i],
                 .device = "",
                 .metric = custom.name,
                 .custom = &custom,
                 .per = 10,
                 .n = 4,
                 .at_ms = at,
                 .v = v},
                {.kind = REC_PROCESS, .node = "aa", .device = "GPU-one", .proc = &proc},
                {.kind = REC_EVENT, .node = "aa", .device = "", .event = &event},
                {.kind = REC_JOB, .node = "aa", .job = &job},
            };
            print_message("%s as %s\n", nasty[i], export_words[format]);
            there_and_back((enum export_format)format, recs, ARRAY_LEN(recs),
                           format == EXPORT_OPENMETRICS ? "# EOF\n" : "0.9876");
        }
}

static void a_spreadsheet_finds_no_formula(void **unused)
{
    int64_t at = 1700000000000, v = 1;
    struct export_writer w = {.format = EXPORT_CSV};

    (void)unused;
    for (size_t i = 0; i < ARRAY_LEN(nasty); i++) {
        AUTO_BUF b = BUF_INIT(4096);
        struct export_record r = {.kind = REC_SAMPLES,
                                  .node = "aa",
                                  .device = "",
                                  .metric = nasty[i],
                                  .per = 1,
                                  .n = 1,
                                  .at_ms = &at,
                                  .v = &v};
        export_put(&w, &b, &r);
        struct str rest = buf_str(&b), cell = {0};
        for (int k = 0; k < 5; k++)
            str_cut(&rest, ',', &cell);
        if (cell.len && cell.p[0] == '"')
            cell = str_n(cell.p + 1, cell.len - 1);
        if (cell.len && strchr("=+-@\t", cell.p[0]))
            fail_msg("%s", b.p);
    }
}

static void what_is_wrong_has_a_column(void **unused)
{
#define J "{\"muster_export\":1}"
#define C "kind,node,device,time,metric,value,detail"
#define O "# TYPE muster_node info\nmuster_node_info{node=\"n\",id=\"aa\"} 1 5"
    static const struct {
        const char *start, *line;
        size_t column;
        const char *said;
    } cases[] = {
        {"", "hello", 1, "not an export"},
        {"{\"muster_export\":2}", "", 0, "newer muster"},
        {J, "{\"kind\":\"samples\",\"node\":\"aa\",\"metric\":\"util\",\"t\":[5,x],\"v\":[1,2]}", 54, "milliseconds"},
        {J, "{\"kind\":\"samples\",\"node\":\"aa\",\"metric\":\"util\",\"t\":[5,6],\"v\":[1,q]}", 64, "a number"},
        {J, "{\"kind\":\"samples\",\"node\":\"aa\",\"metric\":\"util\",\"t\":[5,6],\"v\":[1]}", 61, "fewer values"},
        {J, "{\"kind\":\"samples\",\"node\":\"aa\",\"metric\":\"util\",\"t\":[5],\"v\":[1,2]}", 59, "more values"},
        {J, "{\"kind\":\"samples\",\"node\":\"aa\",\"metric\":\"unheard\",\"t\":[5],\"v\":[1]}", 1, "declares it"},
        {J, "{\"kind\":\"nothing\",\"node\":\"aa\"}", 9, "expected node, device"},
        {J, "{\"kind\":\"node\",\"node\":\"a/a\"}", 1, "a node's key"},
        {J, "{\"kind\":\"node\",\"node\":\"aa\",\"cpus\":\"x\"}", 35, "whole number"},
        {J, "{\"kind\":\"node\" \"node\":\"aa\"}", 16, "expected , or }"},
        {J, "{\"kind\":\"node\",\"node\":\"aa\"", 27, "expected , or }"},
        {J, "{\"kind\":\"node\",\"node\":\"aa\"} x", 29, "follows the object"},
        {J, "{\"kind\":\"node\",\"node\":\"a\\qa\"}", 26, "escape"},
        {J, "{\"kind\":\"event\",\"node\":\"aa\",\"event\":99}", 37, "from 1 to"},
        {C, "samples,aa,,2026-11-15T10:00:00Z,util", 38, "seven columns"},
        {C, "samples,aa,,2026-11-15T10:00:00Z,util,1,,", 41, "more than seven"},
        {C, "samples,aa,,yesterday,util,1,", 13, "time:"},
        {C, "samples,aa,,2026-11-15T10:00:00Z,unheard,1,", 34, "declares it"},
        {C, "samples,aa,,2026-11-15T10:00:00Z,util,one,", 39, "value:"},
        {C, "node,aa,,,,,\"{\"\"kind\"\"}\"", 20, "expected :"},
        {C, "node,\"aa\"x,,,,,", 10, "behind the quote"},
        {O, "muster_gpu_power_watts{node=\"m\"} 1 5", 1, "which one this is"},
        {O, "muster_gpu_colour{node=\"n\"} 1 5", 1, "not a metric"},
        {O, "muster_gpu_power_watts{node=\"n\"} one 5", 34, "a number"},
        {O, "muster_gpu_power_watts{node=\"n\"} 1", 35, "a moment"},
        {O, "muster_gpu_power_watts{node=\"n\" 1", 32, "expected , or }"},
        {O "\n# EOF", "muster_gpu_power_watts{node=\"n\"} 1 5", 1, "follows # EOF"},
    };

    (void)unused;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct export_reader *r = export_reader_new(per_ten, NULL);
        struct str rest = str_of(cases[i].start), line;
        struct export_record rec;
        struct err err = {0};
        size_t column = 0;
        int code = 0;
        print_message("%s\n", cases[i].line);
        while (code >= 0 && str_line(&rest, &line))
            code = export_line(r, line, &rec, &column, &err);
        if (cases[i].line[0]) {
            assert_true(code >= 0);
            code = export_line(r, str_of(cases[i].line), &rec, &column, &err);
        }
        assert_int_equal(code, -EINVAL);
        if (!strstr(err.msg, cases[i].said))
            fail_msg("said: %s", err.msg);
        if (cases[i].column)
            assert_int_equal(column, cases[i].column);
        export_reader_free(r);
    }
}

TESTS(cmocka_unit_test(records_come_back_in_every_format), cmocka_unit_test(a_spreadsheet_finds_no_formula),
      cmocka_unit_test(what_is_wrong_has_a_column))
