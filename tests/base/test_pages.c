/* Programs and libraries are read again from their files, and only what is needed of them. */
#include "base/pages.h"

#include "base/file.h"
#include "base/mem.h"
#include "test.h"

/* Pages of files that are in memory for us. */
static uint64_t pages_of_files(void)
{
    char text[256];
    struct str rest = file_small("/proc/self/statm", text, sizeof(text)), word;
    uint64_t n = 0;

    for (int i = 0; i < 3; i++)
        assert_true(str_word(&rest, &word));
    assert_true(str_uint(word, &n));
    return n;
}

static const char known[] = "what is in a file stays";
static char written[] = "before";

static void a_program_goes_on_with_less(void **unused)
{
    (void)unused;
    snprintf(written, sizeof(written), "after");
    uint64_t before = pages_of_files();
    pages_give_back();
    assert_in_range(pages_of_files(), 1, before - 1);
    assert_string_equal(known, "what is in a file stays");
    assert_string_equal(written, "after");
    AUTO_FREE char *text = mem_fmt("%d %s", 7, "formats"); /* libc, too */
    assert_string_equal(text, "7 formats");
}

TESTS(cmocka_unit_test(a_program_goes_on_with_less))
