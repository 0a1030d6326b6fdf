/* test_bin: ticks are cut into bins as a plain walk over them would do it, whatever lies between them. */
#include "codec/bin.h"

#include "base/mem.h"
#include "base/quotient.h"
#include "base/rand.h"
#include "test.h"

#define N 700

static void ticks_are_cut_where_their_bins_end(void **unused)
{
    static const int64_t steps[] = {100, 1000, 60000, 3600000};
    struct prng g = {5};
    int64_t ticks[N];
    struct cut cuts[N];

    (void)unused;
    for (int turn = 0; turn < 400; turn++) {
        int64_t step = steps[turn % 4], from = -7 * step, at = from + (int64_t)(prng_next(&g) % 5000);
        size_t i = prng_next(&g) % N, end = i + prng_next(&g) % (N + 1 - i), n, found = i;
        for (size_t k = 0; k < N; k++) {
            ticks[k] = at;
            if (turn % 5 == 1) { /* a tick in each bin, mostly */
                at += step * (k % 100 == 71 ? 0 : k % 100 == 72 ? 2 : 1);
                continue;
            }
            at += (int64_t)(turn % 3 == 0 ? 1000 : prng_next(&g) % 50 ? prng_next(&g) % 1500 : prng_next(&g) % 900000);
        }
        n = ticks_cut(ticks, i, end, from, step, cuts);
        for (size_t k = 0; k < n; k++) {
            assert_true(cuts[k].end > found && cuts[k].end <= end);
            assert_true(k == 0 || cuts[k].bin > cuts[k - 1].bin);
            for (; found < cuts[k].end; found++)
                assert_int_equal((ticks[found] - from) / step, cuts[k].bin);
        }
        assert_int_equal(found, end);
        size_t before = 0;
        while (before < N && ticks[before] < ticks[i])
            before++;
        assert_int_equal(ticks_before(ticks, N, ticks[i]), before);
        assert_int_equal(ticks_before(ticks, N, at + 1), N);
    }
    assert_int_equal(ticks_cut(ticks, 0, N, ticks[0], 1ll << 60, cuts), 1); /* 699 such steps do not fit */
    assert_int_equal(cuts[0].end, N);
}

static void check_division(int64_t v, int64_t step)
{
    int64_t rest = v % step;

    assert_int_equal(quotient(v, step), v / step);
    assert_int_equal(floor_to(v, step), rest < 0 ? v - rest - step : v - rest);
}

/* Dividing as doubles gives what dividing whole numbers gives, at the edges, too. */
static void a_bin_begins_at_or_before_its_ticks(void **unused)
{
    static const int64_t edges[] = {
        0, 1, 2, 99, 100, 101, QUOTIENT_EXACT - 1, QUOTIENT_EXACT, QUOTIENT_EXACT + 1, 1ll << 60,
    };
    struct prng g = {7};

    (void)unused;
    for (size_t i = 0; i < ARRAY_LEN(edges); i++)
        for (size_t k = 1; k < ARRAY_LEN(edges); k++) {
            check_division(edges[i], edges[k]);
            check_division(-edges[i], edges[k]);
        }
    for (size_t i = 0; i < 200000; i++) {
        int64_t step = (int64_t)(prng_next(&g) >> (prng_next(&g) % 62 + 1)) + 1;
        int64_t v = (int64_t)(prng_next(&g) >> (prng_next(&g) % 60 + 3));
        if (i % 3 == 0 && v > step)
            v = v / step * step - (int64_t)(prng_next(&g) % 2); /* just there, and just before */
        check_division(i % 2 ? v : -v, step);
    }
    floor_to(INT64_MIN, 60000); /* of a forged chunk: any number, but no fault */
}

TESTS(cmocka_unit_test(ticks_are_cut_where_their_bins_end), cmocka_unit_test(a_bin_begins_at_or_before_its_ticks))
