/* test_overlap.c: runs that meet on a host: the sweep against every pair looked at. */
#include "test.h"

#include <string.h>

#include "base/mem.h"
#include "base/rand.h"
#include "usage/overlap.h"

static void intervals_are_compared_with_all_that_are_not_over(void **unused)
{
    static const struct {
        const char *host;
        int64_t from, until;
        uint64_t devices;
        bool late;
        size_t group;
    } cases[] = {
        {"", 0, 100, 0, false, 0},    {"", 10, 20, 0, false, 0}, {"a", 0, 100, 0, false, 1},
        {"a", 10, 20, 0, true, 1},    {"a", 50, 60, 0, true, 1}, /* though the one just before was over */
        {"a", 100, 110, 0, false, 0},                            /* it begins when the first ends */
        {"b", 0, 50, 0, false, 0},    {"c", 5, 5, 0, false, 2},  {"c", 5, 9, 0, true, 2}, /* at once */
        {"d", 0, 10, 3, false, 3},    {"d", 1, 10, 4, false, 0}, {"d", 2, 10, 2, true, 3},
        {"e", 0, 10, 1, false, 4},    {"e", 0, 10, 2, false, 4}, {"e", 5, 6, 3, true, 4}, /* it meets both */
    };
    struct overlap_run v[ARRAY_LEN(cases)];

    (void)unused;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++)
        v[ARRAY_LEN(cases) - 1 - i] = (struct overlap_run){.host = cases[i].host,
                                                           .from_ms = cases[i].from,
                                                           .until_ms = cases[i].until,
                                                           .devices = cases[i].devices,
                                                           .of = i};
    assert_int_equal(overlap_find(v, ARRAY_LEN(v)), 4);
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        print_message("%s %lld\n", v[i].host, (long long)v[i].from_ms);
        assert_int_equal(v[i].of, i);
        assert_int_equal(v[i].late, cases[i].late);
        assert_int_equal(v[i].group, cases[i].group);
    }
    assert_int_equal(overlap_find(NULL, 0), 0);
}

static bool meet(const struct overlap_run *a, const struct overlap_run *b)
{
    uint64_t x = a->devices ? a->devices : UINT64_MAX, y = b->devices ? b->devices : UINT64_MAX;
    int64_t a_end = MAX(a->until_ms, a->from_ms + 1), b_end = MAX(b->until_ms, b->from_ms + 1);

    return a->host[0] && strcmp(a->host, b->host) == 0 && x & y && a->from_ms < b_end && b->from_ms < a_end;
}

static void a_sweep_finds_what_all_pairs_find(void **unused)
{
    static const char *const hosts[] = {"", "n1", "n2"};
    enum { N = 40 };

    (void)unused;
    for (uint64_t seed = 1; seed <= 400; seed++) {
        struct prng g = {seed};
        struct overlap_run v[N];
        size_t group[N];
        for (size_t i = 0; i < N; i++) {
            int64_t from = (int64_t)(prng_next(&g) % 200);
            v[i] = (struct overlap_run){.host = hosts[prng_next(&g) % 3],
                                        .from_ms = from,
                                        .until_ms = from + (int64_t)(prng_next(&g) % 12),
                                        .devices = prng_next(&g) % 4,
                                        .of = i};
        }
        overlap_find(v, N);
        for (size_t i = 0; i < N; i++)
            group[i] = i;
        for (size_t round = 0; round < N; round++)
            for (size_t i = 0; i < N; i++)
                for (size_t k = 0; k < N; k++)
                    if (meet(&v[i], &v[k]))
                        group[i] = group[k] = MIN(group[i], group[k]);
        for (size_t i = 0; i < N; i++) {
            bool late = false, any = false;
            for (size_t k = 0; k < N; k++) {
                late = late || (k < i && meet(&v[i], &v[k]));
                any = any || (k != i && meet(&v[i], &v[k]));
                if (v[i].group && v[k].group)
                    assert_int_equal(v[i].group == v[k].group, group[i] == group[k]);
            }
            assert_int_equal(v[i].late, late);
            assert_int_equal(v[i].group != 0, any);
        }
    }
}

TESTS(cmocka_unit_test(intervals_are_compared_with_all_that_are_not_over),
      cmocka_unit_test(a_sweep_finds_what_all_pairs_find))
