/* test_csv.c: records of comma-separated text. */
#include <errno.h>

#include "base/csv.h"
#include "base/mem.h"

#include "test.h"

static void text_becomes_records(void **unused)
{
    static const struct {
        const char *text;
        const char *want; /* cells in brackets, a line per record; then the error's sentence */
    } cases[] = {
        {"", ""},
        {"\n\r\n\n", ""},
        {"a,b\n1,2", "1[a][b]\n2[1][2]\n"},
        {"\xef\xbb\xbf"
         "a,\r\n\r\n,b\r\n",
         "1[a][]\n3[][b]\n"},
        {"\"a,b\",\"c\"\"d\",\"\"\n", "1[a,b][c\"d][]\n"},
        {"\"x\ny\"\nz\n", "1[x\ny]\n3[z]\n"},
        {"\"x\r\ny\"\r\nz\r\n", "1[x\r\ny]\n3[z]\n"},
        {"\"\"\"\"\n", "1[\"]\n"},
        {"a\rb,c\r", "1[a\rb][c]\n"},
        {"a\"b,c\n", "1[a\"b][c]\n"},
        {"x\n\"never", "1[x]\nline 2: a quote is never closed"},
        {"\"", "line 1: a quote is never closed"},
        {"\"a\"b\n", "line 1: a comma is missing after a quote"},
        {"1,2,3,4,5,6\n", "1[1][2][3][4]+2\n"},
    };
    (void)unused;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        AUTO_BUF got = BUF_INIT(4096);
        struct str cells[4];
        struct err err = {0};
        AUTO_CSV c;
        int n;
        print_message("'%s'\n", cases[i].text);
        csv_init(&c, str_of(cases[i].text));
        while ((n = csv_next(&c, cells, ARRAY_LEN(cells), &err)) > 0) {
            buf_addf(&got, "%zu", c.line);
            for (int k = 0; k < MIN(n, 4); k++)
                buf_addf(&got, "[%.*s]", STR_ARG(cells[k]));
            buf_addf(&got, n > 4 ? "+%d\n" : "\n", n - 4);
        }
        buf_adds(&got, n < 0 ? err.msg : "");
        assert_string_equal(buf_str(&got).p, cases[i].want);
    }
}

static void a_record_has_a_greatest_length(void **unused)
{
    AUTO_BUF text = BUF_INIT(CSV_RECORD_MAX * 2);
    struct str cells[2];
    struct err err = {0};
    (void)unused;
    for (int quoted = 0; quoted < 2; quoted++) {
        AUTO_CSV c;
        buf_reset(&text);
        buf_adds(&text, quoted ? "\"" : "");
        buf_fill(&text, 'x', CSV_RECORD_MAX + 10);
        buf_adds(&text, quoted ? "\"\n" : "\n");
        csv_init(&c, buf_str(&text));
        assert_int_equal(csv_next(&c, cells, 2, &err), -EINVAL);
        assert_string_equal(err.msg, "line 1: a record is longer than 1048576 bytes");
    }
}

static void a_cell_that_was_written_is_read_back(void **unused)
{
    static const char *const cells[] = {"", "plain", "a, b", "say \"x\"", "two\r\nlines", "\"", "=1+1"};
    AUTO_BUF text = BUF_INIT(1024);
    struct str got[ARRAY_LEN(cells)];
    struct err err = {0};
    AUTO_CSV c;

    (void)unused;
    for (size_t i = 0; i < ARRAY_LEN(cells); i++) {
        buf_adds(&text, i ? "," : "");
        csv_add(&text, cells[i]);
    }
    csv_init(&c, buf_str(&text));
    assert_int_equal(csv_next(&c, got, ARRAY_LEN(got), &err), ARRAY_LEN(cells));
    for (size_t i = 0; i < ARRAY_LEN(cells); i++)
        assert_true(str_eq(got[i], cells[i]));
}

TESTS(cmocka_unit_test(text_becomes_records), cmocka_unit_test(a_record_has_a_greatest_length),
      cmocka_unit_test(a_cell_that_was_written_is_read_back))
