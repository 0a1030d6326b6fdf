/* test_answers.c: answers that are kept: which go when, and what a batch that came late does to them. */
#include "test.h"

#include <event2/event.h>

#include "history/answers.h"
#include "temp_store.h"

struct fixture {
    char *dir;
    struct event_base *loop;
    struct store *s;
    struct answers *a;
    uint64_t number;
};

static void fixture_open(struct fixture *f, size_t max_bytes)
{
    *f = (struct fixture){.dir = dir_new_quick(), .loop = event_base_new(), .a = answers_new(max_bytes)};
    f->s = store_new_for_test(f->dir, f->loop);
}

static void fixture_close(struct fixture *f)
{
    answers_free(f->a);
    store_close(f->s);
    event_base_free(f->loop);
    dir_free(f->dir);
}

static void store_one(struct fixture *f, int64_t at_ms)
{
    struct store_batch b = {.node = "n", .run = 1, .number = ++f->number, .at_ms = at_ms, .bytes = STR("bytes")};

    store_append(f->s, &b, 1, NULL, NULL);
    assert_int_equal(store_flush(f->s, NULL), 0);
}

static void put(struct fixture *f, uint64_t key, int64_t to_ms, size_t bytes)
{
    struct buf body = BUF_INIT(1u << 24);

    buf_fill(&body, 'x', bytes);
    struct blob *b = blob_new(&body);
    answers_put(f->a, &(struct history_key){{key, 1}}, store_stamp(f->s), to_ms, b);
    blob_unref(b);
}

static bool has(struct fixture *f, uint64_t key)
{
    struct blob *b = answers_get(f->a, &(struct history_key){{key, 1}}, f->s);

    blob_unref(b);
    return b != NULL;
}

static void a_batch_drops_the_answers_of_its_time_and_after(void **unused)
{
    struct fixture f;

    (void)unused;
    fixture_open(&f, 1u << 20);
    store_one(&f, 500000); /* in all of them */
    for (uint64_t i = 1; i <= 5; i++)
        put(&f, i, (int64_t)i * 100000 + 1000000, 100);
    for (uint64_t i = 1; i <= 5; i++)
        assert_true(has(&f, i));
    assert_false(has(&f, 6));
    assert_int_equal(answers_given(f.a), 5);
    store_one(&f, 1500000);
    store_one(&f, 1200000); /* late */
    for (uint64_t i = 1; i <= 5; i++)
        assert_int_equal(has(&f, i), i <= 2);
    put(&f, 5, 1500000, 100);
    assert_true(has(&f, 5));
    store_take_over(f.s, "n", "m"); /* then everything is somebody else's */
    assert_int_equal(store_flush(f.s, NULL), 0);
    for (uint64_t i = 1; i <= 5; i++)
        assert_false(has(&f, i));
    fixture_close(&f);
}

static void memory_is_bounded_and_the_longest_unused_goes(void **unused)
{
    struct fixture f;

    (void)unused;
    fixture_open(&f, 100000);
    put(&f, 1, 1000, 60000); /* more than half of it: not kept */
    assert_false(has(&f, 1));
    for (uint64_t i = 2; i <= 5; i++)
        put(&f, i, 1000, 15000);
    assert_true(has(&f, 2));
    for (uint64_t i = 6; i <= 8; i++)
        put(&f, i, 1000, 15000);
    assert_true(has(&f, 2) && has(&f, 8));
    assert_false(has(&f, 3));
    for (uint64_t i = 10; i < 500; i++) /* many small ones */
        put(&f, i, 1000, 1);
    size_t kept = 0;
    for (uint64_t i = 1; i < 500; i++)
        kept += has(&f, i);
    assert_in_range(kept, 32, 64);
    assert_true(has(&f, 499));
    put(&f, 499, 1000, 20000); /* in its own place */
    assert_true(has(&f, 499));
    fixture_close(&f);
}

TESTS(cmocka_unit_test(a_batch_drops_the_answers_of_its_time_and_after),
      cmocka_unit_test(memory_is_bounded_and_the_longest_unused_goes))
