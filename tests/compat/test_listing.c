/* Links in a folder's page. */
#include "test.h"

#include "base/buf.h"
#include "base/mem.h"
#include "compat/listing.h"

static void links_to_files_are_found(void **unused)
{
    static const struct {
        const char *html, *names; /* with blanks between */
    } cases[] = {
        {"<ul>\n<li><a href=\"gpu01_gpus.csv\">gpu01_gpus.csv</a></li>\n<li><a href=\"sub/\">sub/</a></li>\n</ul>",
         "gpu01_gpus.csv "},
        {"<a href=\"../\">../</a> <a href=\"a%5fb%26c.csv\">x</a><A HREF=\"d.csv\">", "a_b&c.csv d.csv "},
        {"<a href=\"?C=N;O=D\">Name</a><a href='./e&amp;f.csv'>", "e&f.csv "},
        {"<a href=\"http://other/x\"><a href=\"/abs\"><a href=\"%2e%2e%2fetc\"><a href=\"a%00b\">", ""},
        {"<a href=\"\"><a href=\"open", ""},
        {"<a href=\"50%\">", "50% "},
        {"", ""},
    };
    (void)unused;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        char name[LISTING_NAME_MAX + 1];
        struct str rest = str_of(cases[i].html);
        AUTO_BUF got = BUF_INIT(1024);
        print_message("%s\n", cases[i].html);
        buf_adds(&got, "");
        while (listing_next(&rest, name))
            buf_addf(&got, "%s ", name);
        assert_string_equal(got.p, cases[i].names);
    }
}

static void dates_of_headers_are_read(void **unused)
{
    static const struct {
        const char *text;
        int64_t want;
    } cases[] = {{"Sun, 15 Nov 2026 08:41:39 GMT", 1794732099000ll},
                 {"Sun, 15 Nov 2026 08:41:39 EST", 0},
                 {"Sun, 15 Xov 2026 08:41:39 GMT", 0},
                 {"Sun, 35 Nov 2026 08:41:39 GMT", 0},
                 {"", 0},
                 {"Sunday, 15-Nov-26 08:41:39 GMT", 0}};
    (void)unused;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        print_message("%s\n", cases[i].text);
        assert_int_equal(listing_date_ms(str_of(cases[i].text)), cases[i].want);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(links_to_files_are_found),
        cmocka_unit_test(dates_of_headers_are_read),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
