/* The growing buffer and the reading cursor. */
#include "test.h"

#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/base64.h"
#include "base/buf.h"
#include "base/mem.h"

static void adds_are_whole_or_not_at_all(void **unused)
{
    AUTO_BUF b = BUF_INIT(10);

    (void)unused;
    assert_string_equal(buf_str(&b).p, "");
    assert_int_equal(buf_adds(&b, "12345"), 0);
    assert_int_equal(buf_adds(&b, "67890"), 0); /* to the brim */
    assert_int_equal(buf_addc(&b, 'x'), -EMSGSIZE);
    assert_string_equal(b.p, "1234567890");
    assert_int_equal(b.err, -EMSGSIZE);
    buf_cut(&b, 3);
    assert_int_equal(buf_addc(&b, 'x'), -EMSGSIZE); /* the first failure sticks */
    assert_string_equal(b.p, "123");
    buf_reset(&b);
    assert_int_equal(buf_addf(&b, "%s-%d", "abc", 7), 0);
    assert_string_equal(b.p, "abc-7");
    assert_int_equal(buf_addf(&b, "%s", "too much for it"), -EMSGSIZE);
    assert_string_equal(b.p, "abc-7");
    assert_true(b.cap <= 11);
}

static void every_way_of_adding_respects_the_maximum(void **unused)
{
    (void)unused;
    for (size_t max = 0; max < 12; max++) {
        for (int way = 0; way < 9; way++) {
            AUTO_BUF b = BUF_INIT(max);
            int r = 0;
            switch (way) {
            case 0:
                r = buf_addi(&b, -12345678901);
                break;
            case 1:
                r = buf_addu(&b, 123456789012);
                break;
            case 2:
                r = buf_addx(&b, "123456", 6);
                break;
            case 3:
                r = buf_fill(&b, 'x', 12);
                break;
            case 4:
                r = buf_addf(&b, "%012d", 5);
                break;
            case 5:
                r = buf_text(&b, STR("12345678901"));
                break;
            case 6:
                r = buf_addstr(&b, STR("123456789012"));
                break;
            case 7:
                r = buf_room(&b, 12) ? 0 : b.err;
                break;
            default:
                buf_u32(&b, 1);
                r = buf_u64(&b, 1);
                break;
            }
            assert_int_equal(r, -EMSGSIZE);
            assert_int_equal(b.err, -EMSGSIZE);
            assert_true(b.len <= max && (way == 8 || b.len == 0));
        }
    }
}

static void numbers_are_written_as_printf_writes_them(void **unused)
{
    static const int64_t cases[] = {0, 1, 9, 10, 99, 100, 101, 12345, -1, -10, -99999, INT64_MAX, INT64_MIN};

    (void)unused;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        AUTO_BUF a = BUF_INIT(100), b = BUF_INIT(100);
        buf_addi(&a, cases[i]);
        buf_addf(&b, "%lld", (long long)cases[i]);
        buf_addu(&a, (uint64_t)cases[i]);
        buf_addf(&b, "%llu", (unsigned long long)cases[i]);
        assert_string_equal(a.p, b.p);
    }
    for (uint64_t ten = 1; ten <= 10000000000000000000u / 10; ten *= 10)
        for (int k = -1; k <= 1; k++) {
            AUTO_BUF a = BUF_INIT(100), b = BUF_INIT(100);
            buf_addu(&a, ten * 10 + (uint64_t)(int64_t)k);
            buf_addf(&b, "%llu", (unsigned long long)(ten * 10 + (uint64_t)(int64_t)k));
            assert_string_equal(a.p, b.p);
        }
    AUTO_BUF x = BUF_INIT(100);
    buf_addx(&x, "\x00\xff\x1a", 3);
    assert_string_equal(x.p, "00ff1a");
}

static void what_is_written_reads_back(void **unused)
{
    static const uint64_t cases[] = {0, 1, 127, 128, 16383, 16384, UINT32_MAX, UINT64_MAX / 2, UINT64_MAX};

    (void)unused;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        AUTO_BUF b = BUF_INIT(200);
        uint64_t v = cases[i];
        buf_u8(&b, (uint8_t)v);
        buf_u16(&b, (uint16_t)v);
        buf_u32(&b, (uint32_t)v);
        buf_u64(&b, v);
        buf_varint(&b, v);
        buf_zigzag(&b, (int64_t)v);
        buf_zigzag(&b, -(int64_t)(v / 2));
        buf_text(&b, STR("text"));
        assert_int_equal(b.err, 0);
        struct rd r = rd_of(b.p, b.len);
        assert_int_equal(rd_u8(&r), (uint8_t)v);
        assert_int_equal(rd_u16(&r), (uint16_t)v);
        assert_int_equal(rd_u32(&r), (uint32_t)v);
        assert_true(rd_u64(&r) == v);
        assert_true(rd_varint(&r) == v);
        assert_true(rd_zigzag(&r) == (int64_t)v);
        assert_true(rd_zigzag(&r) == -(int64_t)(v / 2));
        assert_true(str_eq(rd_text(&r, 4), "text"));
        assert_false(r.bad);
        assert_int_equal(rd_left(&r), 0);
        for (size_t cut = 0; cut < b.len; cut++) { /* every shorter input is bad in the end, never out of bounds */
            AUTO_FREE char *copy = mem_alloc(cut);
            memcpy(copy, b.p, cut);
            struct rd s = rd_of(copy, cut);
            rd_u8(&s);
            rd_u16(&s);
            rd_u32(&s);
            rd_u64(&s);
            rd_varint(&s);
            rd_zigzag(&s);
            rd_zigzag(&s);
            rd_text(&s, 4);
            assert_true(s.bad);
        }
    }
    AUTO_BUF le = BUF_INIT(10);
    buf_u32(&le, 0x01020304);
    assert_memory_equal(le.p, "\x04\x03\x02\x01", 4);
}

static void a_cursor_fails_once_and_stays_failed(void **unused)
{
    struct rd r = rd_of("\x05"
                        "abc",
                        4);

    (void)unused;
    assert_int_equal(rd_text(&r, 100).len, 0);
    assert_true(r.bad);
    assert_int_equal(rd_left(&r), 0);
    assert_int_equal(rd_u8(&r), 0);
    assert_null(rd_bytes(&r, 0));
    r = rd_of("\x03"
              "abc",
              4);
    assert_int_equal(rd_text(&r, 2).len, 0); /* longer than allowed */
    assert_true(r.bad);
    r = rd_of("\xff\xff\xff\xff\xff\xff\xff\xff\xff\x02", 10); /* 65 bits */
    assert_int_equal(rd_varint(&r), 0);
    assert_true(r.bad);
    r = rd_of("\x80\x80\x80\x80\x80\x80\x80\x80\x80\x80\x00", 11); /* too long */
    assert_int_equal(rd_varint(&r), 0);
    assert_true(r.bad);
    r = rd_of("", 0);
    assert_non_null(rd_bytes(&r, 0));
    assert_false(r.bad);
}

static void a_descriptor_is_read_to_its_end(void **unused)
{
    static const struct {
        size_t size, max;
        int want;
    } cases[] = {{0, 10, 0}, {0, 0, 0}, {10, 10, 0}, {11, 10, -EMSGSIZE}, {1, 0, -EMSGSIZE}, {60000, 100000, 0}};

    (void)unused;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        int fd[2];
        AUTO_BUF in = BUF_INIT(100000), out = BUF_INIT(cases[i].max);
        buf_fill(&in, 'x', cases[i].size);
        assert_int_equal(pipe(fd), 0);
        if (in.len)
            assert_int_equal(write(fd[1], in.p, in.len), (ssize_t)in.len); /* a pipe holds 64 KiB */
        close(fd[1]);
        assert_int_equal(buf_read_fd(&out, fd[0]), cases[i].want);
        if (cases[i].want == 0)
            assert_true(str_eq_str(buf_str(&in), buf_str(&out)));
        else
            assert_true(out.len <= cases[i].max);
        close(fd[0]);
    }
    AUTO_BUF b = BUF_INIT(10);
    assert_int_equal(buf_read_fd(&b, -1), -EBADF);
}

static void text_can_be_taken_away(void **unused)
{
    AUTO_BUF b = BUF_INIT(100);

    (void)unused;
    AUTO_FREE char *none = buf_take(&b);
    assert_string_equal(none, "");
    buf_adds(&b, "mine");
    AUTO_FREE char *text = buf_take(&b);
    assert_string_equal(text, "mine");
    assert_int_equal(b.len, 0);
    assert_int_equal(buf_adds(&b, "again"), 0);
    char *at = buf_room(&b, 3);
    assert_non_null(at);
    memcpy(at, "xyz", 3);
    buf_appended(&b, 2);
    assert_string_equal(b.p, "againxy");
    buf_fini(&b);
    buf_fini(&b);
    buf_fini(NULL);
}

static void a_part_of_an_address_is_escaped(void **unused)
{
    AUTO_BUF b = BUF_INIT(256);

    (void)unused;
    buf_addurl(&b, STR("a b/\xc3\xbc?&=%+#.csv-_~"));
    assert_string_equal(b.p, "a%20b%2F%C3%BC%3F%26%3D%25%2B%23.csv-_~");
}

static void base64_is_as_rfc_4648_has_it(void **unused)
{
    static const char *const cases[][2] = {{"", ""},
                                           {"f", "Zg=="},
                                           {"fo", "Zm8="},
                                           {"foo", "Zm9v"},
                                           {"foob", "Zm9vYg=="},
                                           {"foobar", "Zm9vYmFy"},
                                           {"\xff\xfe", "//4="},
                                           {"\xfb\xf0", "+/A="}};
    static const char *const bad[] = {"Z",    "Zg=",  "Zg",   "Zg==Zg==", "Z===", "====",
                                      "Zh==", "Zm9=", "Zm 9", "Zm9v\n",   "Zm9-"};

    (void)unused;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        AUTO_BUF text = BUF_INIT(100), bytes = BUF_INIT(100);
        base64_add(&text, str_of(cases[i][0]));
        assert_true(str_eq(buf_str(&text), cases[i][1]));
        assert_int_equal(base64_read(buf_str(&text), &bytes), 0);
        assert_true(str_eq(buf_str(&bytes), cases[i][0]));
    }
    for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
        AUTO_BUF bytes = BUF_INIT(100);
        buf_adds(&bytes, "before");
        assert_int_equal(base64_read(str_of(bad[i]), &bytes), -EBADMSG);
        assert_string_equal(bytes.p, "before");
    }
    AUTO_BUF small = BUF_INIT(2);
    assert_int_equal(base64_read(STR("Zm9v"), &small), -EBADMSG);
}

TESTS(cmocka_unit_test(adds_are_whole_or_not_at_all), cmocka_unit_test(every_way_of_adding_respects_the_maximum),
      cmocka_unit_test(numbers_are_written_as_printf_writes_them), cmocka_unit_test(what_is_written_reads_back),
      cmocka_unit_test(a_cursor_fails_once_and_stays_failed), cmocka_unit_test(a_descriptor_is_read_to_its_end),
      cmocka_unit_test(text_can_be_taken_away), cmocka_unit_test(a_part_of_an_address_is_escaped),
      cmocka_unit_test(base64_is_as_rfc_4648_has_it))
