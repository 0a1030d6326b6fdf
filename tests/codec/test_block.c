/* test_block: B1 of codec/block.h for series with something in common, and what that saves. */
#include "codec/block.h"

#include "base/mem.h"
#include "base/rand.h"
#include "codec/bin.h"
#include "codec/chunk_coding.h"
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

/* Series of one kind, so that each coding is taken for one of them. */
static uint64_t one_like(struct prng *g, unsigned kind, size_t k, uint64_t before, uint64_t *step)
{
    uint64_t r = prng_next(g);

    switch (kind) {
    case 0:
        return r % 40; /* noise within one range, or, in 1, within one for each series */
    case 1:
        return k * 1000003 + r % 40;
    case 2:
        return before + 5000 + r % 60; /* a counter */
    case 3:
        return before + r % 41 - 20; /* it walks about */
    case 4:
        return before + (*step += r % 5 - 2); /* its speed does */
    case 5:
        return r % 30 ? before : r % 7000; /* seldom another */
    case 6:
        return r % 50 ? r % 3 - 1 : r % 200000 - 100000; /* about 0, on both sides of it */
    case 7:
        return r % 100 ? r % 16 : r % 100000; /* some are far larger */
    default:
        return r;
    }
}

/* Any stretch of any of the series, each value and cut into pieces that are only added up. */
static void read_stretches(struct prng *g, const struct buf *out, const uint64_t *const *v, const size_t *n,
                           size_t n_series)
{
    struct block_reader reader = {0};
    uint64_t *got = mem_zero(n_series * N, sizeof(*got));
    struct cut cuts[N];

    for (int turn = 0; turn < 40; turn++) {
        size_t first = prng_next(g) % n_series, from = prng_next(g) % N, at = from, n_cuts = 0;
        struct block_part part = {.first = first,
                                  .last = first + 1 + prng_next(g) % (n_series - first),
                                  .from = from,
                                  .to = from + 1 + prng_next(g) % (N - from)};
        uint8_t shape[8] = {0};
        if (turn % 2) {
            for (size_t some; at < part.to; cuts[n_cuts++].end = (uint32_t)at) {
                some = 1 + prng_next(g) % 90;
                at = MIN(part.to, at + some);
            }
            part.shape = shape;
            part.cuts = cuts;
            part.n_cuts = n_cuts;
        }
        struct rd r = rd_of(out->p, out->len);
        assert_true(block_get_part(&reader, &r, got, n, n_series, &part));
        assert_int_equal(rd_left(&r), 0);
        for (size_t k = part.first; k < part.last; k++) {
            if (!part.cuts)
                assert_memory_equal(got + k * N + from, v[k] + from, (part.to - from) * sizeof(*got));
            assert_int_equal(shape[k], !part.cuts ? SHAPE_EACH : k == 2 ? SHAPE_ONE : SHAPE_SUMS);
            at = from;
            for (size_t c = 0; c < n_cuts && k != 2; c++) {
                uint64_t sum = 0;
                for (; at < cuts[c].end; at++)
                    sum += v[k][at];
                assert_true(got[k * N + c] == sum);
            }
        }
    }
    free(got);
    block_reader_fini(&reader);
}

static void b1_a_stretch_and_its_sums_are_those_of_the_whole(void **unused)
{
    enum { SERIES = 5, KINDS = 9 };
    static const size_t n[SERIES] = {N, N, N, N, N};
    struct prng g = {11};
    unsigned seen = 0;

    (void)unused;
    for (unsigned turn = 0; turn < 2 * KINDS; turn++) {
        struct block_writer *w = block_writer_new();
        AUTO_BUF out = BUF_INIT(1 << 20);
        uint64_t room[SERIES][N];
        const uint64_t *v[SERIES];
        for (size_t k = 0; k < SERIES; k++) {
            uint64_t step = 3;
            for (size_t i = 0; i < N; i++)
                room[k][i] = k == 2 ? 77 : one_like(&g, turn % KINDS, k, i ? room[k][i - 1] : k * 100000, &step);
            v[k] = room[k];
        }
        block_quick(w, turn >= KINDS);
        block_put(w, &out, v, n, SERIES, 0, true);
        seen |= 1u << ((uint8_t)out.p[0] & ~BLOCK_SOME_SAME);
        print_message("kind %u is coded %u\n", turn % KINDS, (uint8_t)out.p[0] & ~BLOCK_SOME_SAME);
        read_stretches(&g, &out, v, n, SERIES);
        block_writer_free(w);
    }
    assert_int_equal(seen, (1u << BLOCK_CODINGS) - 1 - (1u << BLOCK_SAME)); /* all of them were */
}

TESTS(cmocka_unit_test(b1_a_divisor_is_that_of_every_value), cmocka_unit_test(b1_one_value_that_differs_is_kept),
      cmocka_unit_test(b1_a_stretch_and_its_sums_are_those_of_the_whole))
