/* What of /proc/self/smaps may be given back, and that a program goes on without it. */
#include "base/pages.h"

#include "base/buf.h"
#include "base/file.h"
#include "base/mem.h"
#include "test.h"

/* As the kernel writes it, less the lines that are not looked at. */
static const char smaps[] =
    "55d0c0a00000-55d0c0a05000 r--p 00000000 fe:01 1234                       /usr/bin/muster-agent\n"
    "Size:                 20 kB\n"
    "Rss:                  20 kB\n"
    "Anonymous:             0 kB\n"
    "VmFlags: rd mr mw me sd\n"
    "55d0c0a05000-55d0c0a09000 r-xp 00005000 fe:01 1234                       /usr/bin/a b-c d\n"
    "Anonymous:             0 kB\n"
    "55d0c0a09000-55d0c0a0b000 r--p 00009000 fe:01 1234                       /usr/bin/relocated\n"
    "Anonymous:             8 kB\n"
    "55d0c0a0b000-55d0c0a0c000 rw-p 0000a000 fe:01 1234                       /usr/bin/its-data\n"
    "Anonymous:             0 kB\n"
    "55d0c1b00000-55d0c1b21000 r--p 00000000 00:00 0                          [heap]\n"
    "Anonymous:             0 kB\n"
    "7f0000000000-7f0000001000 r--s 00000000 fe:01 99                         /var/cache/shared\n"
    "Anonymous:             0 kB\n"
    "7f0000002000-7f0000003000 r-xp 00000000 fe:01 77                         /lib/last\n"
    "Anonymous:             0 kB";

static void only_what_is_in_files_and_unwritten(void **unused)
{
    struct str rest = STR(smaps);
    struct pages p;
    (void)unused;

    assert_true(pages_next(&rest, &p));
    assert_int_equal(p.begin, 0x55d0c0a00000);
    assert_int_equal(p.end, 0x55d0c0a05000);
    assert_true(pages_next(&rest, &p));
    assert_int_equal(p.begin, 0x55d0c0a05000);
    assert_true(pages_next(&rest, &p));
    assert_int_equal(p.begin, 0x7f0000002000);
    assert_int_equal(p.end, 0x7f0000003000);
    assert_false(pages_next(&rest, &p));
}

static void what_cannot_be_read_is_left_alone(void **unused)
{
    static const char *const texts[] = {
        "",
        "\n\n",
        "Anonymous: 0 kB\n",
        "- r--p 0 0 1 x\nAnonymous: 0 kB\n",
        "1000-zz r--p 0 0 1 x\nAnonymous: 0 kB\n",
        "2000-1000 r--p 0 0 1 x\nAnonymous: 0 kB\n",
        "1000-2000 r--p 0 0\nAnonymous: 0 kB\n",
        "1000-2000 r- 0 0 1 x\nAnonymous: 0 kB\n",
        "1000-2000 r--p 0 0 1 x\nAnonymous:\n",
        "1000-2000 r--p 0 0 1 x\nRss: 4 kB\n",
        "1000-2000 r--p 0 0 1 x\n3000-4000 rw-p 0 0 1 x\nAnonymous: 0 kB\n",
    };
    (void)unused;

    for (size_t i = 0; i < ARRAY_LEN(texts); i++) {
        struct str rest = str_of(texts[i]);
        struct pages p;
        assert_false(pages_next(&rest, &p));
    }
}

static uint64_t of_files(void)
{
    AUTO_BUF text = {0};
    uint64_t all = 0;
    struct pages p;

    assert_int_equal(file_read("/proc/self/smaps", 64u << 20, &text, NULL), 0);
    for (struct str rest = buf_str(&text); pages_next(&rest, &p);)
        all += p.end - p.begin;
    return all;
}

static void a_program_goes_on_without_them(void **unused)
{
    (void)unused;

    uint64_t before = of_files();
    assert_true(before > 0);
    pages_give_back();
    assert_int_equal(of_files(), before);
}

TESTS(cmocka_unit_test(only_what_is_in_files_and_unwritten), cmocka_unit_test(what_cannot_be_read_is_left_alone),
      cmocka_unit_test(a_program_goes_on_without_them))
