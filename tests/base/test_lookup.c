/* test_lookup.c: things are found by name, also after others came and went. */
#include "base/lookup.h"
#include "base/mem.h"

#include "test.h"

#define N 3000

struct thing {
    int number;
    char name[16];
};

static struct thing things[N];

static struct thing *thing_of(struct lookup *l, int number)
{
    struct thing *t = &things[number];

    t->number = number;
    snprintf(t->name, sizeof(t->name), "t%d", number);
    lookup_add(l, lookup_hash(t->name), t);
    return t;
}

static struct thing *find(const struct lookup *l, const char *name)
{
    return lookup_named(l, name, offsetof(struct thing, name));
}

static void what_was_added_is_found_until_it_is_dropped(void **unused)
{
    struct lookup l = {0};
    size_t at = 0, n = 0;

    (void)unused;
    assert_null(find(&l, "t1"));
    lookup_drop(&l, lookup_hash("t1"), &things[1]); /* nothing is there to drop */
    for (int i = 0; i < N; i++)
        thing_of(&l, i);
    assert_int_equal(l.n, N);
    for (int i = 0; i < N; i += 3)
        lookup_drop(&l, lookup_hash(things[i].name), &things[i]);
    for (int i = 0; i < N; i++)
        assert_ptr_equal(find(&l, things[i].name), i % 3 ? &things[i] : NULL);
    for (struct thing *t; (t = lookup_each(&l, &at)); n++)
        assert_int_not_equal(t->number % 3, 0);
    assert_int_equal(n, l.n);
    for (int i = 0; i < N; i += 3)
        thing_of(&l, i);
    for (int i = 0; i < N; i++)
        assert_ptr_equal(find(&l, things[i].name), &things[i]);
    lookup_fini(&l);
    assert_null(find(&l, "t1"));
}

static void those_of_one_hash_are_all_there(void **unused)
{
    struct lookup l = {0};
    uint64_t last = UINT64_MAX; /* the table's last place: what follows is at its beginning */
    bool seen[40] = {0};
    size_t at = 0, place;

    (void)unused;
    for (size_t i = 0; i < ARRAY_LEN(seen); i++)
        lookup_add_place(&l, last - (i % 2), i);
    while ((place = lookup_next_place(&l, last, &at)) != SIZE_MAX) {
        assert_false(seen[place]);
        seen[place] = true;
    }
    for (size_t i = 0; i < ARRAY_LEN(seen); i++)
        assert_int_equal(seen[i], i % 2 == 0);
    lookup_drop(&l, last, (void *)(uintptr_t)1); /* place 0 */
    at = 0;
    for (size_t i = 1; i < ARRAY_LEN(seen) / 2; i++)
        assert_int_not_equal(lookup_next_place(&l, last, &at), 0);
    assert_int_equal(lookup_next_place(&l, last, &at), SIZE_MAX);
    lookup_fini(&l);
}

TESTS(cmocka_unit_test(what_was_added_is_found_until_it_is_dropped), cmocka_unit_test(those_of_one_hash_are_all_there))
