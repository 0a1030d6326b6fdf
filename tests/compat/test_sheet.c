/* test_sheet.c: Web-GPU-Monitor's rows, to the byte. */
#include "base/buf.h"
#include "base/mem.h"
#include "compat/sheet.h"

#include "test.h"

static void lines_become_the_old_rows(void **unused)
{
    static const struct {
        const char *said, *want; /* NULL: no rows, for the reason in why */
        const char *why;
    } cases[] = {
        {"G utilization.gpu [%], utilization.memory [%], index, name, uuid\n"
         "G 91 %, 38 %, 0, GeForce GTX 1080 Ti, GPU-fa\n"
         "G 0 %, 0 %, 1, GeForce GTX 1080 Ti, GPU-fb\n"
         "A user5, GPU-fa\nA user5, GPU-fa\nZ\n",
         "0,91,38,0, GeForce GTX 1080 Ti, GPU-fa,host6.domain.tld,\"user5, user5\"\n"
         "1,0,0,1, GeForce GTX 1080 Ti, GPU-fb,host6.domain.tld,\n",
         ""},
        {"Welcome!\nG utilization.gpu [%], utilization.memory [%], index, name, uuid\r\n"
         "G [N/A], 3 %, 0, NVIDIA H200, GPU-1\r\nA Zombie, GPU-1\nA raj, GPU-2\nZ\n",
         "0,,3,0, NVIDIA H200, GPU-1,host6.domain.tld,Zombie\n", ""},
        {"G utilization.gpu [%], utilization.memory [%], index, name, uuid\nZ\n", "", ""},
        {"X there is no nvidia-smi\n", NULL, "there is no nvidia-smi"},
        {"G NVIDIA-SMI has failed because\nZ\n", NULL, "NVIDIA-SMI has failed because"},
        {"G utilization.gpu [%], utilization.memory [%], index, name, uuid\nG 91 %, 38\n", NULL, "91 %, 38"},
        {"G utilization.gpu [%], utilization.memory [%], index, name, uuid\nG 91 %, 38 %, 0, X, GPU-fa\n", NULL, ""},
        {"G it says \xff and \x1b[31m\nZ\n", NULL, "it says ? and  [31m"},
        {"", NULL, ""},
    };
    (void)unused;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct sheet *s = sheet_new();
        struct str text = str_of(cases[i].said), line;
        AUTO_BUF got = BUF_INIT(1u << 20);
        print_message("'%s'\n", cases[i].said);
        while (str_line(&text, &line))
            sheet_line(s, line);
        assert_int_equal(sheet_whole(s), cases[i].want != NULL);
        assert_string_equal(sheet_reason(s), cases[i].why);
        sheet_rows(s, "host6.domain.tld", &got);
        if (cases[i].want)
            assert_string_equal(buf_str(&got).p, cases[i].want);
        sheet_free(s);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(lines_become_the_old_rows)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
