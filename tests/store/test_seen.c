/* test_seen.c: ranges of batch numbers against a plain table of them, and the two node tables around them. */
#include "test.h"

#include <errno.h>

#include "base/buf.h"
#include "base/mem.h"
#include "base/rand.h"
#include "store/index.h"

static void numbers_are_a_set(void **unused)
{
    struct prng g = {1};
    struct seen s = {0};
    bool have[3][200] = {{false}};

    (void)unused;
    for (int i = 0; i < 3000; i++) {
        uint64_t run = prng_next(&g) % 3, number = prng_next(&g) % 200;
        seen_add(&s, run, number, i);
        have[run][number] = true;
        if (i % 10 && i > 300)
            continue;
        for (uint64_t r = 0; r < 3; r++)
            for (uint64_t n = 0; n < 200; n++)
                assert_int_equal(seen_has(&s, r, n), have[r][n]);
    }
    for (uint64_t i = 0; i < 600; i++)
        seen_add(&s, i % 3, i / 3, 1);
    for (size_t i = 0; i < s.n; i++)
        assert_int_equal(s.v[i].n, 1); /* all of them: one range each */
    assert_int_equal(s.ranges, 3);
    seen_fini(&s);
}

static void the_ends_of_the_numbers_join_like_others(void **unused)
{
    struct seen s = {0};
    const uint64_t order[] = {UINT64_MAX, 0, UINT64_MAX - 2, 1, UINT64_MAX - 1};

    (void)unused;
    for (size_t i = 0; i < ARRAY_LEN(order); i++)
        seen_add(&s, 7, order[i], 1);
    assert_int_equal(s.ranges, 2);
    assert_true(seen_has(&s, 7, UINT64_MAX) && seen_has(&s, 7, 0));
    assert_false(seen_has(&s, 7, 2) || seen_has(&s, 7, UINT64_MAX - 3) || seen_has(&s, 8, 0));
    seen_fini(&s);
}

static void ranges_survive_being_bytes(void **unused)
{
    static const struct {
        const char *say;
        uint64_t numbers[6];
        size_t n;
    } cases[] = {{"one", {5}, 1},
                 {"nought", {0}, 1},
                 {"a run of them", {1, 2, 3}, 3},
                 {"gaps", {1, 3, 9, 10}, 4},
                 {"far apart", {0, UINT64_MAX}, 2},
                 {"the top", {UINT64_MAX - 1, UINT64_MAX, 4}, 3}};

    (void)unused;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct seen s = {0}, back = {0};
        AUTO_BUF b = BUF_INIT(1000);
        print_message("%s\n", cases[i].say);
        for (size_t k = 0; k < cases[i].n; k++)
            seen_add(&s, 1, cases[i].numbers[k], 3);
        assert_int_equal(seen_write(&s.v[0], &b), 0);
        assert_int_equal(seen_read(&back, 1, 3, buf_str(&b)), 0);
        assert_int_equal(back.v[0].n, s.v[0].n);
        assert_memory_equal(back.v[0].v, s.v[0].v, s.v[0].n * sizeof(s.v[0].v[0]));
        assert_int_equal(seen_read(&back, 1, 3, buf_str(&b)), -EBADMSG); /* that run is there already */
        seen_fini(&s);
        seen_fini(&back);
    }
}

static void bad_bytes_are_refused(void **unused)
{
    static const struct {
        const char *say, *bytes;
        size_t len;
    } cases[] = {{"nothing", "", 0},
                 {"half a range", "\1", 1},
                 {"a torn number", "\1\x80", 2},
                 {"beyond 64 bits", "\1\xff\xff\xff\xff\xff\xff\xff\xff\xff\1", 11},
                 {"one range twice", "\1\0\0\0", 4}};

    (void)unused;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct seen s = {0};
        print_message("%s\n", cases[i].say);
        assert_int_equal(seen_read(&s, 1, 1, str_n(cases[i].bytes, cases[i].len)), -EBADMSG);
        assert_int_equal(s.n, 0);
        seen_fini(&s);
    }
}

static void memory_is_bounded(void **unused)
{
    struct seen s = {0};

    (void)unused;
    for (uint64_t run = 1; run <= SEEN_RUNS + 10; run++) /* an agent that restarts in a loop */
        seen_add(&s, run, 1, (int64_t)run);
    assert_int_equal(s.n, SEEN_RUNS);
    assert_false(seen_has(&s, 10, 1)); /* the oldest are forgotten */
    assert_true(seen_has(&s, 11, 1) && seen_has(&s, SEEN_RUNS + 10, 1));
    for (uint64_t i = 1; i <= SEEN_RANGES + 10; i++) /* a run that skips every second number */
        seen_add(&s, 1u << 20, 2 * i, 1u << 20);
    assert_true(s.ranges <= SEEN_RANGES);
    assert_true(seen_has(&s, 1u << 20, 2 * (SEEN_RANGES + 10)));
    seen_prune(&s, (1 << 20) + 1);
    assert_int_equal(s.n, 0);
    assert_int_equal(s.ranges, 0);
    seen_fini(&s);
}

static void nodes_are_interned(void **unused)
{
    struct index x = {0};
    char key[NODE_KEY_MAX + 1];
    struct index_node *first = index_get(&x, "n0");

    (void)unused;
    for (int i = 0; i < 1000; i++) {
        snprintf(key, sizeof(key), "n%d", i);
        assert_null(i ? index_find(&x, key) : NULL);
        assert_string_equal(index_get(&x, key)->key, key);
    }
    assert_ptr_equal(index_find(&x, "n0"), first);
    assert_int_equal(x.n, 1000);
    assert_null(index_get(&x, ""));
    memset(key, 'k', NODE_KEY_MAX);
    key[NODE_KEY_MAX] = 0;
    assert_null(index_get(&x, key));
    for (uint64_t id = 1; id <= NODE_BLOBS + 1; id++)
        index_put_blob(first, id)->log = (int64_t)id;
    assert_null(index_blob(first, 1)); /* the oldest made room */
    assert_int_equal(index_blob(first, 2)->log, 2);
    assert_null(index_blob(first, 0));
    index_fini(&x);
}

/* Compares with a list of all changes. The result may cover more than requested, never less. */
static void changes_are_never_overlooked(void **unused)
{
    struct prng g = {3};
    struct changes *c = mem_zero(1, sizeof(*c));
    int64_t at[4000];

    (void)unused;
    assert_int_equal(changes_before(c, INT64_MAX), 0);
    for (size_t i = 0; i < ARRAY_LEN(at); i++) {
        int64_t late = prng_next(&g) % 50 ? 0 : (int64_t)(prng_next(&g) % 2000000);
        at[i] = 1000000000ll + (int64_t)i * 700 - late - (int64_t)(prng_next(&g) % 5000);
        changes_add(c, at[i]);
        assert_int_equal(changes_before(c, INT64_MAX), i + 1);
        assert_true(c->n <= ARRAY_LEN(c->v));
        for (int64_t to = 990000000ll; i % 97 == 0 && to < 1004000000ll; to += 61234) {
            uint64_t newest = 0;
            for (size_t k = 0; k <= i; k++)
                newest = at[k] < to ? k + 1 : newest;
            assert_true(changes_before(c, to) >= newest);
        }
    }
    free(c);
}

static void what_came_later_leaves_the_past_as_it_was(void **unused)
{
    struct changes *c = mem_zero(1, sizeof(*c));

    (void)unused;
    for (int64_t i = 0; i < 100; i++)
        changes_add(c, 5000000 + i * 1000 + i % 7);
    assert_int_equal(changes_before(c, 5000000), 0);
    assert_int_equal(changes_before(c, 5001000), 1);
    assert_int_equal(changes_before(c, 5050000), 50);
    uint64_t before = changes_before(c, 5050000);
    changes_add(c, 5200000);
    assert_int_equal(changes_before(c, 5050000), before);
    for (int64_t i = 0; i < 100000; i++) /* a day of seconds: coarser, but unchanged for this time */
        changes_add(c, 5300000 + i * 1000);
    assert_int_equal(changes_before(c, 5000000), 0);
    assert_true(changes_before(c, 5300000 + 99000000) < c->stamp - 500);
    changes_add(c, 5049999);
    assert_int_equal(changes_before(c, 5050000), c->stamp);
    assert_true(changes_before(c, 5049000) < c->stamp);
    changes_add(c, INT64_MIN);
    assert_int_equal(changes_before(c, 0), c->stamp);
    free(c);
}

TESTS(cmocka_unit_test(changes_are_never_overlooked), cmocka_unit_test(what_came_later_leaves_the_past_as_it_was),
      cmocka_unit_test(numbers_are_a_set), cmocka_unit_test(the_ends_of_the_numbers_join_like_others),
      cmocka_unit_test(ranges_survive_being_bytes), cmocka_unit_test(bad_bytes_are_refused),
      cmocka_unit_test(memory_is_bounded), cmocka_unit_test(nodes_are_interned))
