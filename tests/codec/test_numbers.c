/* test_numbers: N1 of codec/numbers.h, read over and over in one room, as a reader of many columns does. */
#include "codec/numbers.h"

#include "base/mem.h"
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
        assert_true(numbers_get(&room, &r, got, N, 0, N));
        assert_int_equal(rd_left(&r), 0);
        assert_memory_equal(got, v + order[i] * N, N * sizeof(*got));
    }
    for (size_t k = 0; k < 3; k++)
        buf_fini(&written[k]);
    numbers_room_fini(&room);
    numbers_free(x);
    FREE_ALL(v, got);
}

TESTS(cmocka_unit_test(n1_what_was_unpacked_before_does_not_show))
