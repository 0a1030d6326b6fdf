/* test_block: B1 of codec/block.h for series with something in common, and what that saves. */
#include "codec/block.h"

#include "base/mem.h"
#include "base/rand.h"
#include "test.h"

#define N 640

/* One series, written and read again: how many bytes it takes. */
static size_t bytes_of(const uint64_t *v)
{
    struct block_writer *w = block_writer_new();
    struct block_reader reader = {0};
    AUTO_BUF out = BUF_INIT(1 << 20);
    const size_t n[] = {N};
    uint64_t got[N] = {0};

    block_put(w, &out, &v, n, 1, 0, true);
    struct rd r = rd_of(out.p, out.len);
    assert_true(block_get_part(&reader, &r, got, n, 1, &(struct block_part){.last = 1, .to = N}));
    assert_int_equal(rd_left(&r), 0);
    assert_memory_equal(got, v, sizeof(got));
    block_reader_fini(&reader);
    block_writer_free(w);
    return out.len;
}

static void b1_a_divisor_is_that_of_every_value(void **unused)
{
    struct prng g = {7};
    uint64_t plain[N], scaled[N], mixed[N];

    (void)unused;
    for (size_t i = 0; i < N; i++) {
        plain[i] = prng_next(&g) % 16;
        scaled[i] = plain[i] * 4096 * 15;
        mixed[i] = (i % 10 ? plain[i] : plain[i] / 3 * 3) * 4; /* of 12 here and there, of 4 everywhere */
    }
    size_t least = bytes_of(plain);
    assert_true(least < N * 5 / 8);
    assert_true(bytes_of(scaled) <= least + 8);
    assert_true(bytes_of(mixed) <= least + 8);
}

static void b1_one_value_that_differs_is_kept(void **unused)
{
    uint64_t v[N];

    (void)unused;
    for (size_t i = 0; i < N; i++)
        v[i] = 5;
    size_t same = bytes_of(v);
    for (size_t i = 0; i < N; i += 71) {
        v[i] = i % 2 ? 6 : UINT64_MAX;
        assert_true(bytes_of(v) > same);
        v[i] = 5;
    }
    v[N - 1] = 4;
    assert_true(bytes_of(v) > same);
}

TESTS(cmocka_unit_test(b1_a_divisor_is_that_of_every_value), cmocka_unit_test(b1_one_value_that_differs_is_kept))
