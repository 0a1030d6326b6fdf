/* The small rest of base: memory, arenas, errors, checksums, random numbers, log lines. */
#include "test.h"

#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/order.h"
#include "base/rand.h"

static void a_copy_is_cut_between_characters(void **unused)
{
    static const struct {
        const char *src;
        size_t size;
        bool whole;
        const char *want;
    } cases[] = {
        {"abc", 4, true, "abc"},
        {"abc", 3, false, "ab"},
        {"", 1, true, ""},
        {"abc", 1, false, ""},
        {"a\xc3\xa9", 3, false, "a"},
        {"a\xc3\xa9", 4, true, "a\xc3\xa9"},
        {"\xf0\x9f\x98\x80", 4, false, ""},
        {"ab\xf0\x9f\x98\x80", 6, false, "ab"},
        {"a\x80\x80\x80\x80\x80\x80", 6, false, "a\x80\x80\x80\x80"}, /* not UTF-8: cut where it must be */
    };

    (void)unused;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        char out[16] = "unset";
        print_message("%zu\n", i);
        assert_int_equal(mem_copy_str(out, cases[i].size, cases[i].src), cases[i].whole);
        assert_string_equal(out, cases[i].want);
    }
}

static void copies_are_copies(void **unused)
{
    AUTO_FREE char *a = mem_str("text"), *b = mem_strn("text", 2), *c = mem_fmt("%d-%s", 7, "x");

    (void)unused;
    assert_string_equal(a, "text");
    assert_string_equal(b, "te");
    assert_string_equal(c, "7-x");
    assert_null(mem_str(NULL));
    int *v = NULL;
    size_t n = 0, cap = 0;
    for (int i = 0; i < 100; i++) {
        VEC_ROOM(v, n, cap);
        v[n++] = i;
    }
    assert_int_equal(v[99], 99);
    free(v);
}

static void an_arena_is_zeroed_bounded_and_reused(void **unused)
{
    AUTO_ARENA a = {.max = 100000};

    (void)unused;
    for (int round = 0; round < 3; round++) {
        size_t got = 0;
        for (char *p; (p = arena_alloc(&a, 3, 333)); got++) {
            assert_int_equal((uintptr_t)p % 8, 0);
            for (size_t i = 0; i < 999; i++)
                assert_int_equal(p[i], 0);
            memset(p, 0x5a, 999);
        }
        assert_int_equal(got, 100); /* 1,000 bytes each */
        assert_int_equal(a.used, 100000);
        arena_reset(&a);
        assert_int_equal(a.used, 0);
    }
    assert_null(arena_alloc(&a, SIZE_MAX, 2));
    assert_null(arena_alloc(&a, SIZE_MAX / 2, 1));
    assert_string_equal(arena_strn(&a, "hello", 4), "hell");
    assert_non_null(arena_alloc(&a, 0, 8));
    arena_fini(NULL);
}

static void errors_carry_a_sentence(void **unused)
{
    struct err err = {0};
    char big[600];

    (void)unused;
    assert_int_equal(err_set(&err, -ENOENT, "cannot open '%s'", "x"), -ENOENT);
    assert_string_equal(err.msg, "cannot open 'x'");
    assert_int_equal(err_prefix(&err, -EINVAL, "file %d", 3), -ENOENT); /* the first cause stays */
    assert_string_equal(err.msg, "file 3: cannot open 'x'");
    assert_int_equal(err_set(&err, -EINVAL, "again: %s", err.msg), -EINVAL); /* its own text as an argument */
    assert_string_equal(err.msg, "again: file 3: cannot open 'x'");
    assert_int_equal(err_set(NULL, -EIO, "x"), -EIO);
    assert_int_equal(err_prefix(NULL, -EIO, "x"), -EIO);
    memset(big, 'x', sizeof(big));
    big[sizeof(big) - 1] = 0;
    err_set(&err, -EIO, "%s", big);
    assert_int_equal(strlen(err.msg), sizeof(err.msg) - 1);
    err_prefix(&err, -EIO, "%s", big);
    assert_int_equal(strlen(err.msg), sizeof(err.msg) - 1);
}

static void checksums_are_the_published_ones(void **unused)
{
    uint8_t zeros[32] = {0}, ones[32], up[32];
    uint8_t long_text[1000];

    (void)unused;
    memset(ones, 0xff, sizeof(ones));
    for (size_t i = 0; i < sizeof(up); i++)
        up[i] = (uint8_t)i;
    assert_int_equal(crc32c(0, "123456789", 9), 0xe3069283);
    assert_int_equal(crc32c(0, zeros, 32), 0x8a9136aa); /* RFC 3720, B.4 */
    assert_int_equal(crc32c(0, ones, 32), 0x62a8ab43);
    assert_int_equal(crc32c(0, up, 32), 0x46dd794e);
    assert_int_equal(crc32c(0, "", 0), 0);
    for (size_t i = 0; i < sizeof(long_text); i++)
        long_text[i] = (uint8_t)(i * 7);
    for (size_t cut = 0; cut < sizeof(long_text); cut += 13) /* in parts as at once, at any alignment */
        assert_int_equal(crc32c(crc32c(0, long_text, cut), long_text + cut, sizeof(long_text) - cut),
                         crc32c(0, long_text, sizeof(long_text)));
    assert_true(fnv64("", 0) == 0xcbf29ce484222325u);
    assert_true(fnv64("a", 1) == 0xaf63dc4c8601ec8cu);
    assert_true(fnv64("foobar", 6) == 0x85944171f73967e8u);
}

static uint64_t sum_of_names(const char *const *names, size_t n)
{
    uint64_t sum = 0;

    for (size_t i = 0; i < n; i++)
        sum = names_sum(sum, str_of(names[i]));
    return sum;
}

static void lists_of_names_have_sums_of_their_own(void **unused)
{
    static const char *const lists[][3] = {{"a", "b", "c"}, {"a", "c", "b"}, {"ab", "c"}, {"a", "bc"},
                                           {"a", "b"},      {"b", "a"},      {"a"},       {"", "a"},
                                           {"a", ""},       {"a", "a"},      {""},        {"", ""},
                                           {"", "", ""},    {NULL}};
    uint64_t sums[ARRAY_LEN(lists)];

    (void)unused;
    for (size_t i = 0; i < ARRAY_LEN(lists); i++) {
        sums[i] = sum_of_names(lists[i], COUNT_BEFORE(3, k, lists[i][k] != NULL));
        for (size_t k = 0; k < i; k++)
            assert_true(sums[i] != sums[k]);
    }
    assert_true(sums[ARRAY_LEN(lists) - 1] == 0); /* none */
}

static void random_numbers_differ_and_generated_ones_repeat(void **unused)
{
    struct prng a = {1234567}, b = {1234567};

    (void)unused;
    assert_true(rand_u64() != rand_u64());
    for (int i = 0; i < 100; i++) {
        double u = rand_unit(), v = prng_unit(&a);
        assert_true(u >= 0 && u < 1);
        assert_true(v >= 0 && v < 1);
        assert_true(v == prng_unit(&b));
    }
    struct prng known = {1234567}; /* SplitMix64's reference output */
    assert_true(prng_next(&known) == 6457827717110365317u);
    assert_true(prng_next(&known) == 3203168211198807973u);
}

/* What log_line writes, with standard error turned into a pipe meanwhile. */
static void logged(struct buf *out, enum log_level level, const char *text)
{
    int fd[2], kept = dup(STDERR_FILENO);

    assert_int_equal(pipe(fd), 0);
    dup2(fd[1], STDERR_FILENO);
    close(fd[1]);
    log_line(level, "hub", "%s", text);
    dup2(kept, STDERR_FILENO);
    close(kept);
    buf_reset(out);
    assert_int_equal(buf_read_fd(out, fd[0]), 0);
    close(fd[0]);
}

static void a_log_line_is_one_line(void **unused)
{
    AUTO_BUF out = BUF_INIT(100000), big = BUF_INIT(100000);
    json_error_t why;

    (void)unused;
    clock_set_for_test(1794739572345);
    log_set_level(LOG_INFO);
    logged(&out, LOG_INFO, "message");
    assert_string_equal(out.p, "2026-11-15T10:46:12.345Z info  hub   message\n");
    logged(&out, LOG_ERROR, "a\nb\x1b[31m\xff \xc3\xa9");
    assert_string_equal(out.p, "2026-11-15T10:46:12.345Z error hub   a\\x0ab\\x1b[31m\\xff \xc3\xa9\n");
    logged(&out, LOG_DEBUG, "not shown");
    assert_int_equal(out.len, 0);
    log_set_level(LOG_DEBUG);
    logged(&out, LOG_DEBUG, "shown");
    assert_true(str_ends(buf_str(&out), " debug hub   shown\n"));
    buf_fill(&big, '\n', 50000);
    logged(&out, LOG_WARN, big.p); /* cut, and still one line */
    assert_true(out.len < 20000 && str_ends(buf_str(&out), "...\n"));
    assert_ptr_equal(strchr(out.p, '\n'), out.p + out.len - 1);
    log_set_json(true);
    logged(&out, LOG_WARN, "say \"hi\"\n");
    json_t *line = json_loadb(out.p, out.len, 0, &why);
    assert_string_equal(json_string_value(json_object_get(line, "at")), "2026-11-15T10:46:12.345Z");
    assert_string_equal(json_string_value(json_object_get(line, "level")), "warn");
    assert_string_equal(json_string_value(json_object_get(line, "area")), "hub");
    assert_string_equal(json_string_value(json_object_get(line, "msg")), "say \"hi\"\n");
    json_decref(line);
    log_set_json(false);
    log_set_level(LOG_INFO);
    clock_set_for_test(-1);
}

TESTS(cmocka_unit_test(a_copy_is_cut_between_characters), cmocka_unit_test(copies_are_copies),
      cmocka_unit_test(an_arena_is_zeroed_bounded_and_reused), cmocka_unit_test(errors_carry_a_sentence),
      cmocka_unit_test(checksums_are_the_published_ones), cmocka_unit_test(lists_of_names_have_sums_of_their_own),
      cmocka_unit_test(random_numbers_differ_and_generated_ones_repeat), cmocka_unit_test(a_log_line_is_one_line))
