/* test_numbers: N1 of codec/numbers.h, read over and over in one room, as a reader of many columns does. */
#include "codec/numbers.h"

#include "base/mem.h"
#include "base/rand.h"
#include "test.h"

#define N 3000

static void put(struct numbers *x, struct buf *out, const uint64_t *v)
{
    struct numbers_plan plan = numbers_plan(x, v, N, true);
    numbers_put(x, out, v, N, &plan);
}

static void n1_what_was_unpacked_before_does_not_show(void **unused)
{
    struct buf written[3] = {BUF_INIT(1 << 20), BUF_INIT(1 << 20), BUF_INIT(1 << 20)};
    static const size_t order[] = {0, 0, 1, 0, 2, 0, 0, 1, 1, 2, 1};
    struct numbers_room room = {0};
    struct numbers *x = numbers_new();
    uint64_t *v = mem_zero(3 * N, sizeof(*v)), *got = mem_zero(N, sizeof(*got));

    (void)unused;
    for (size_t i = 0; i < N; i++) {
        v[i] = i / 300 + (i % 97 == 0);           /* few sizes: planes are worth packing */
        v[N + i] = (i + 1) / 300 + (i % 97 == 0); /* nearly the same */
        v[2 * N + i] = 7;
    }
    for (size_t k = 0; k < 3; k++)
        put(x, &written[k], v + k * N);
    for (size_t i = 0; i < ARRAY_LEN(order); i++) {
        struct rd r = rd_of(written[order[i]].p, written[order[i]].len);
        memset(got, 0xa5, N * sizeof(*got));
        assert_true(numbers_get(&room, &r, got, N));
        assert_int_equal(rd_left(&r), 0);
        assert_memory_equal(got, v + order[i] * N, N * sizeof(*got));
    }
    for (size_t k = 0; k < 3; k++)
        buf_fini(&written[k]);
    numbers_room_fini(&room);
    numbers_free(x);
    FREE_ALL(v, got);
}

/* In any order, as they are and added up. */
static void n2_any_stretch_is_taken_by_itself(void **unused)
{
    static const struct numbers_plan plans[] = {{.low = 0},
                                                {.low = 5},
                                                {.low = 13},
                                                {.low = 60},
                                                {.low = 64},
                                                {.low = 0, .sized = true},
                                                {.low = 6, .sized = true}};
    struct numbers *x = numbers_new();
    struct numbers_room room = {0};
    struct prng g = {3};
    uint64_t v[N], got[N];

    (void)unused;
    for (size_t p = 0; p < ARRAY_LEN(plans); p++)
        for (unsigned bits = 0; bits <= 64; bits += 3) {
            AUTO_BUF out = BUF_INIT(1 << 20);
            struct numbers_in in;
            for (size_t i = 0; i < N; i++) {
                v[i] = prng_next(&g) >> prng_next(&g) % 64;
                v[i] = bits ? v[i] >> (64 - MIN(bits, plans[p].sized ? 34 + plans[p].low : 64)) : 0;
                v[i] = i > N / 2 && i < N / 2 + 200 ? v[i] % 16 : v[i];
            }
            struct numbers_plan plan = numbers_plan_as(&plans[p], v, N);
            numbers_put(x, &out, v, N, &plan);
            struct rd r = rd_of(out.p, out.len);
            assert_true(numbers_open(&room, &r, N, &in));
            assert_int_equal(rd_left(&r), 0);
            for (int turn = 0; turn < 30; turn++) {
                size_t i = prng_next(&g) % N, end = i + prng_next(&g) % (N + 1 - i);
                uint64_t sum = 0;
                for (size_t k = i; k < end; k++)
                    sum += v[k];
                assert_true(numbers_sum(&in, i, end) == sum);
                numbers_take(&in, got, i, end);
                assert_memory_equal(got, v + i, (end - i) * sizeof(*v));
            }
            r = rd_of(out.p, out.len);
            assert_true(numbers_open(&room, &r, N, NULL));
            assert_int_equal(rd_left(&r), 0);
        }
    numbers_room_fini(&room);
    numbers_free(x);
}

/* No writer says that numbers by size have no bits, but they are read; what they add up to must be the same. */
static void n2_what_is_forged_adds_up_as_it_is_read(void **unused)
{
    static const uint8_t bytes[] = {0, 0x80, 0, 1, 2, 3};
    struct numbers_room room = {0};
    struct rd r = rd_of(bytes, sizeof(bytes));
    struct numbers_in in;
    uint64_t got[3];

    (void)unused;
    assert_true(numbers_open(&room, &r, 3, &in));
    numbers_take(&in, got, 0, 3);
    assert_int_equal(got[0] + got[1] + got[2], 6);
    assert_int_equal(numbers_sum(&in, 0, 3), 6);
    numbers_room_fini(&room);
}

TESTS(cmocka_unit_test(n1_what_was_unpacked_before_does_not_show), cmocka_unit_test(n2_any_stretch_is_taken_by_itself),
      cmocka_unit_test(n2_what_is_forged_adds_up_as_it_is_read))
