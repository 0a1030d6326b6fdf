/* test_ints: C1 to C3 of codec/ints.h. */
#include "codec/ints.h"

#include <errno.h>
#include <string.h>

#include "base/buf.h"
#include "base/mem.h"
#include "base/rand.h"
#include "test.h"

#define N_MAX 700

static size_t round_trip(const int64_t *v, size_t n)
{
    AUTO_BUF b = BUF_INIT(1 << 20);
    int64_t got[N_MAX + 1];

    assert_int_equal(ints_put(&b, v, n), 0);
    memset(got, 0x5a, sizeof(got));
    int64_t guard = got[n];
    struct rd r = rd_of(b.p, b.len);
    assert_int_equal(ints_get(&r, got, n), 0);
    assert_int_equal(rd_left(&r), 0);
    if (n)
        assert_memory_equal(got, v, n * sizeof(*v));
    assert_true(got[n] == guard); /* C2 */
    return b.len;
}

static void c1_known_rows_come_back_in_the_coding_that_suits_them(void **unused)
{
    static const struct {
        const char *what;
        size_t n;
        int64_t v[12];
        int coding;
        size_t len;
    } cases[] = {
        {"constant", 6, {5, 5, 5, 5, 5, 5}, INTS_CONST, 2},
        {"one value", 1, {-1}, INTS_CONST, 2},
        {"smallest alone", 1, {INT64_MIN}, INTS_CONST, 11},
        {"runs", 12, {1000000, 1000000, 1000000, 1000000, 1000000, 1000000, 7, 7, 7, 7, 7, 7}, INTS_RUNS, 9},
        {"small noise", 12, {1, 0, 1, 1, 0, 1, 0, 0, 1, 0, 1, 1}, INTS_PACK, 5},
        {"a steady counter",
         12,
         {1000000, 1000100, 1000200, 1000300, 1000400, 1000500, 1000600, 1000700, 1000800, 1000900, 1001000, 1001100},
         INTS_PACK_DELTA,
         7},
        {"a jump among steps",
         9,
         {1, 2, 3, 4, 90000000000, 90000000001, 90000000002, 90000000003, 90000000004},
         INTS_DELTA,
         15},
        {"whole percents in 0.01 %", 6, {9700, 9800, 9600, 9800, 9900, 9700}, INTS_PACK | INTS_SCALED, 7},
        {"pages, some below zero", 5, {-40960, 8192, 81920, -4096, 0}, INTS_DELTA | INTS_SCALED, 8},
        {"both ends", 4, {INT64_MIN, INT64_MAX, INT64_MIN, INT64_MAX}, INTS_DELTA, 14},
    };
    (void)unused;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        AUTO_BUF b = BUF_INIT(1024);
        print_message("%s\n", cases[i].what);
        assert_int_equal(ints_put(&b, cases[i].v, cases[i].n), 0);
        assert_int_equal(b.p[0], cases[i].coding); /* C3 */
        assert_int_equal(b.len, cases[i].len);
        round_trip(cases[i].v, cases[i].n);
    }
}

static void no_values_take_no_bytes(void **unused)
{
    (void)unused;
    assert_int_equal(round_trip(NULL, 0), 0);
}

/* Rows of every temper: widths from 0 to 64 bits, runs, steps, noise, jumps. */
static void fill(struct prng *g, int64_t *v, size_t n)
{
    unsigned temper = (unsigned)(prng_next(g) % 6), width = (unsigned)(prng_next(g) % 65);
    uint64_t mask = width == 64 ? UINT64_MAX : (1ull << width) - 1, at = prng_next(g) & mask,
             step = prng_next(g) & mask;

    uint64_t factor = prng_next(g) % 3 ? 1 : prng_next(g) >> prng_next(g) % 64;

    if (prng_next(g) % 4 == 0)
        at = prng_next(g);
    for (size_t i = 0; i < n; i++) {
        if (temper == 0)
            at = prng_next(g) & mask;
        else if (temper == 1)
            at += prng_next(g) & mask;
        else if (temper == 2 && prng_next(g) % 20 == 0)
            at -= prng_next(g) & mask;
        else if (temper == 3)
            at += step + (prng_next(g) & 7);
        else if (temper == 4)
            at = prng_next(g) % 3 ? at : 0 - at;
        v[i] = (int64_t)(at * factor); /* temper 5: all the same */
    }
}

static void c1_any_row_comes_back(void **unused)
{
    struct prng g = {1};
    int64_t v[N_MAX];
    bool seen[INTS_SCALED + 5] = {false};
    (void)unused;

    for (int round = 0; round < 20000; round++) {
        size_t n = prng_next(&g) % (round % 100 == 0 ? N_MAX : 60) + 1;
        AUTO_BUF b = BUF_INIT(1 << 20);
        fill(&g, v, n);
        size_t len = round_trip(v, n);
        assert_true(len <= 2 + 10 + 8 * n); /* never much worse than the plain numbers */
        ints_put(&b, v, n);
        seen[(unsigned)b.p[0]] = true;
    }
    for (size_t i = 0; i < 5; i++)
        assert_true(seen[i] && (i == INTS_CONST || seen[INTS_SCALED + i]));
}

static void c2_cut_anywhere_it_is_refused(void **unused)
{
    struct prng g = {2};
    int64_t v[40], got[40];
    (void)unused;

    for (int round = 0; round < 400; round++) {
        size_t n = prng_next(&g) % 40 + 1;
        AUTO_BUF b = BUF_INIT(1 << 20);
        fill(&g, v, n);
        ints_put(&b, v, n);
        for (size_t cut = 0; cut < b.len; cut++) {
            AUTO_FREE uint8_t *copy = mem_alloc(cut); /* so that the sanitizer sees a read past it */
            memcpy(copy, b.p, cut);
            struct rd r = rd_of(copy, cut);
            assert_int_equal(ints_get(&r, got, n), -EBADMSG);
        }
    }
}

static void c2_any_bytes_are_read_within_bounds(void **unused)
{
    struct prng g = {3};
    (void)unused;

    for (int round = 0; round < 20000; round++) {
        size_t len = prng_next(&g) % 40, n = prng_next(&g) % 50;
        AUTO_FREE uint8_t *bytes = mem_alloc(len);
        AUTO_FREE int64_t *got = mem_alloc(n * sizeof(*got));
        for (size_t i = 0; i < len; i++)
            bytes[i] = (uint8_t)prng_next(&g);
        if (len)
            bytes[0] %= 0x18;
        struct rd r = rd_of(bytes, len);
        int rc = ints_get(&r, got, n);
        assert_true(rc == 0 || rc == -EBADMSG);
        assert_true(r.p >= bytes && r.p <= bytes + len);
    }
}

static void bad_bytes_are_refused(void **unused)
{
    static const struct {
        const char *what;
        size_t len, n;
        uint8_t bytes[16];
    } cases[] = {
        {"a coding from the future", 2, 1, {5, 0}},
        {"a coding from the future, scaled", 3, 1, {INTS_SCALED | 5, 2, 0}},
        {"scaled twice over", 4, 1, {0x20 | INTS_CONST, 2, 2, 0}},
        {"a run of none", 3, 2, {INTS_RUNS, 0, 2}},
        {"a run too long", 3, 2, {INTS_RUNS, 3, 2}},
        {"runs too short", 3, 2, {INTS_RUNS, 1, 2}},
        {"65 bits wide", 14, 1, {INTS_PACK, 0, 65}},
        {"a varint of eleven bytes",
         12,
         1,
         {INTS_DELTA, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0}},
    };
    int64_t got[4];
    (void)unused;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct rd r = rd_of(cases[i].bytes, cases[i].len);
        print_message("%s\n", cases[i].what);
        assert_int_equal(ints_get(&r, got, cases[i].n), -EBADMSG);
    }
}

static void a_full_buffer_is_an_error_and_stays_whole(void **unused)
{
    static const int64_t v[4] = {1, 200000, 3, 4000000};
    AUTO_BUF b = BUF_INIT(3);
    (void)unused;

    assert_int_equal(ints_put(&b, v, 4), -EMSGSIZE);
    assert_int_equal(b.len, 0);
}

static void a_common_divisor_divides_all_and_is_the_largest(void **unused)
{
    static const uint64_t factors[] = {1, 2, 3, 7, 100, 4096, 1000000007, 3ull << 40, 1ull << 62};
    struct prng g = {11};

    (void)unused;
    for (int round = 0; round < 5000; round++) {
        uint64_t by = factors[prng_next(&g) % ARRAY_LEN(factors)], fits = INT64_MAX / by, plain = 0;
        int64_t v[8];
        for (size_t i = 0; i < ARRAY_LEN(v); i++) {
            uint64_t times = (prng_next(&g) >> prng_next(&g) % 64) % (fits + 1);
            v[i] = (int64_t)(times * by);
            for (uint64_t a = (uint64_t)v[i]; a;) { /* Euclid */
                uint64_t rest = plain % a;
                plain = a;
                a = rest;
            }
            v[i] = prng_next(&g) % 2 ? -v[i] : v[i];
        }
        assert_true(ints_divisor(v, ARRAY_LEN(v)) == plain);
    }
    assert_true(ints_divisor((const int64_t[]){INT64_MIN, INT64_MIN}, 2) == 1ull << 63);
    assert_true(ints_divisor((const int64_t[]){0, 0}, 2) == 0);
}

static void constant_is_what_never_changes(void **unused)
{
    int64_t v[40] = {0};

    (void)unused;
    for (size_t n = 1; n <= ARRAY_LEN(v); n++)
        for (size_t i = 0; i < ARRAY_LEN(v); i++) {
            v[i] = 1;
            assert_int_equal(is_constant(v, n), i >= n || n == 1);
            v[i] = 0;
        }
}

TESTS(cmocka_unit_test(c1_known_rows_come_back_in_the_coding_that_suits_them),
      cmocka_unit_test(no_values_take_no_bytes), cmocka_unit_test(c1_any_row_comes_back),
      cmocka_unit_test(c2_cut_anywhere_it_is_refused), cmocka_unit_test(c2_any_bytes_are_read_within_bounds),
      cmocka_unit_test(bad_bytes_are_refused), cmocka_unit_test(a_full_buffer_is_an_error_and_stays_whole),
      cmocka_unit_test(a_common_divisor_divides_all_and_is_the_largest),
      cmocka_unit_test(constant_is_what_never_changes))
