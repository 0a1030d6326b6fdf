/* test_lib_tape.c: samples put on tape and read back, in memory and from disk (lib/tape.h, lib/keep.h K1 to K3). */
#include <errno.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include "base/mem.h"
#include "base/rand.h"
#include "lib/keep.h"
#include "test.h"

enum { DEVICES = 3, METRICS = 2, CELLS = DEVICES * METRICS };

/* The state of sample i, the same each time it is asked for. */
static void make_sample(struct tape_state *s, int64_t i)
{
    struct prng g = {(uint64_t)i * 2654435761u + 1};
    char text[300];

    s->at_us = i * 10000 + (int64_t)(prng_next(&g) % 100);
    for (size_t k = 0; k < CELLS; k++) {
        s->have[k] = prng_next(&g) % 8 != 0;
        s->v[k] = prng_next(&g) % 50 ? (int64_t)(prng_next(&g) % 1000) : (int64_t)prng_next(&g);
    }
    if (i % 10 == 0) {
        struct mark *m = tape_mark(s, "job");
        if (!m)
            m = tape_mark_add(s, STR("job"), MARK_LABEL);
        snprintf(text, sizeof(text), "job %lld", (long long)(i / 10));
        mark_set_text(&m->v[0], str_of(text));
    }
    if (i % 7 == 3) {
        struct mark *m = tape_mark(s, "each");
        if (!m)
            m = tape_mark_add(s, STR("each"), MARK_EACH);
        struct mark_value *v = &m->v[i % DEVICES];
        if (i % 2)
            mark_set_number(v, (double)i / 3);
        else if (i % 3)
            mark_set_text(v, STR("text"));
        else
            mark_set_none(v);
    }
}

static void assert_same(const struct tape_state *a, const struct tape_state *b)
{
    assert_int_equal(a->at_us, b->at_us);
    assert_memory_equal(a->have, b->have, CELLS);
    for (size_t k = 0; k < CELLS; k++)
        if (a->have[k])
            assert_int_equal(a->v[k], b->v[k]);
    assert_int_equal(a->n_marks, b->n_marks);
    for (size_t i = 0; i < a->n_marks; i++) {
        const struct mark *x = &a->marks[i], *y = &b->marks[i];
        assert_string_equal(x->name, y->name);
        assert_int_equal(x->kind, y->kind);
        for (size_t k = 0; k < x->n; k++) {
            assert_int_equal(x->v[k].what, y->v[k].what);
            if (x->v[k].what == MARK_NUMBER)
                assert_true(x->v[k].number == y->v[k].number);
            if (x->v[k].what == MARK_TEXT)
                assert_string_equal(x->v[k].text, y->v[k].text);
        }
    }
}

static void put(struct keep *k, struct tape_state *s, struct tape_state *last, int64_t i, struct err *err)
{
    make_sample(s, i);
    pthread_mutex_lock(&k->lock);
    bool full = keep_put(k, s, last);
    pthread_mutex_unlock(&k->lock);
    if (full)
        keep_flush(k, err);
}

struct walk {
    struct keep_copy copy;
    size_t at;
    int64_t next;
    struct tape_state now;
};

static void walk_init(struct walk *w, const struct keep *k, int64_t from)
{
    *w = (struct walk){.copy = {.first = -1, .clears = k->clears, .bytes = BUF_INIT(TAPE_BLOCK_MAX)}, .next = from};
    tape_state_init(&w->now, DEVICES, METRICS);
}

static void walk_fini(struct walk *w)
{
    tape_state_fini(&w->now);
    buf_fini(&w->copy.bytes);
}

/* As muster_cursor_next. */
static int walk_next(struct walk *w, struct keep *k)
{
    for (;;) {
        struct rd in = rd_of(buf_str(&w->copy.bytes).p + w->at, w->copy.bytes.len - w->at);
        int r = tape_next(&in, &w->now);
        w->at = w->copy.bytes.len - (size_t)(in.end - in.p);
        if (r) {
            w->next += r == 1;
            return r;
        }
        r = keep_fetch(k, w->next, &w->copy);
        if (r <= 0)
            return r;
        if (r == 1) {
            tape_state_reset(&w->now);
            w->at = 0;
            w->next = w->copy.first;
        }
    }
}

static void what_was_put_comes_back_whatever_the_size_of_blocks(void **unused)
{
    static const struct {
        int64_t per_block;
        size_t block;
    } cases[] = {{0, TAPE_BLOCK_MAX}, {1, 8192}, {7, 8192}, {0, 1024}, {1000, 65536}};
    enum { N = 3000 };
    (void)unused;
    for (size_t c = 0; c < ARRAY_LEN(cases); c++) {
        struct keep k;
        struct tape_state s, last, want;
        struct walk w;
        struct err err = {0};
        print_message("%lld a block, %zu bytes\n", (long long)cases[c].per_block, cases[c].block);
        assert_int_equal(keep_init(&k, NULL, cases[c].per_block, cases[c].block), 0);
        tape_state_init(&s, DEVICES, METRICS);
        tape_state_init(&last, DEVICES, METRICS);
        tape_state_init(&want, DEVICES, METRICS);
        walk_init(&w, &k, 0);
        for (int64_t i = 0; i < N; i++) {
            put(&k, &s, &last, i, &err);
            if (i % 50 == 0) /* the reader follows closely for a while, then falls behind */
                for (int n = 0; n < 30 && walk_next(&w, &k) == 1; n++) {
                    make_sample(&want, w.next - 1);
                    assert_same(&w.now, &want);
                }
        }
        while (walk_next(&w, &k) == 1) {
            make_sample(&want, w.next - 1);
            assert_same(&w.now, &want);
        }
        assert_int_equal(w.next, N);
        assert_int_equal(keep_count(&k), N);
        assert_int_equal(k.grows.cap + k.full.cap, 2 * cases[c].block); /* K1 */
        assert_true(k.n_index <= KEEP_INDEX);
        assert_int_equal(k.spilled > 0, cases[c].block < TAPE_BLOCK_MAX);
        walk_fini(&w);
        tape_state_fini(&s);
        tape_state_fini(&last);
        tape_state_fini(&want);
        keep_fini(&k);
    }
}

/* The index is thinned out several times over: any place is still found. */
static void any_number_is_found(void **unused)
{
    enum { N = 5000 };
    struct keep k;
    struct tape_state s, last;
    struct err err = {0};
    (void)unused;
    assert_int_equal(keep_init(&k, NULL, 1, 8192), 0);
    tape_state_init(&s, DEVICES, METRICS);
    tape_state_init(&last, DEVICES, METRICS);
    for (int64_t i = 0; i < N; i++)
        put(&k, &s, &last, i, &err);
    for (int64_t from = 0; from < N; from += 37) {
        struct walk w;
        walk_init(&w, &k, from);
        assert_int_equal(walk_next(&w, &k), 1);
        assert_int_equal(w.next, from + 1);
        walk_fini(&w);
    }
    tape_state_fini(&s);
    tape_state_fini(&last);
    keep_fini(&k);
}

static void a_disk_that_is_full_drops_blocks_and_says_so(void **unused)
{
    struct keep k;
    struct tape_state s, last, want;
    struct walk w;
    struct rlimit was, small = {40000, 40000};
    struct err err = {0};
    int64_t before = 0, seen = 0, numbers = 0;
    (void)unused;
    assert_int_equal(keep_init(&k, NULL, 100, 65536), 0);
    tape_state_init(&s, DEVICES, METRICS);
    tape_state_init(&last, DEVICES, METRICS);
    tape_state_init(&want, DEVICES, METRICS);
    getrlimit(RLIMIT_FSIZE, &was);
    small.rlim_max = was.rlim_max;
    signal(SIGXFSZ, SIG_IGN);
    for (int64_t i = 0; i < 1000; i++)
        put(&k, &s, &last, i, &err);
    before = k.spilled;
    assert_true(before >= 800 && k.dropped == 0);
    setrlimit(RLIMIT_FSIZE, &small);
    for (int64_t i = 1000; i < 4000; i++)
        put(&k, &s, &last, i, &err);
    setrlimit(RLIMIT_FSIZE, &was);
    assert_int_equal(err.code, -EFBIG);
    assert_non_null(strstr(err.msg, "are lost"));
    assert_true(k.dropped > 0);
    int64_t lost = k.dropped;
    for (int64_t i = 4000; i < 4500; i++) /* room again: it goes on */
        put(&k, &s, &last, i, &err);
    assert_int_equal(k.dropped, lost);
    assert_int_equal(keep_count(&k), 4500 - lost);
    walk_init(&w, &k, 0);
    while (walk_next(&w, &k) == 1) { /* K2: each sample is whole and itself, some are missing */
        assert_true(w.next - 1 >= numbers);
        numbers = w.next;
        seen++;
        if (w.next <= 1000) {
            make_sample(&want, w.next - 1);
            assert_same(&w.now, &want);
        }
    }
    assert_int_equal(seen, 4500 - lost);
    assert_int_equal(numbers, 4500);
    walk_fini(&w);
    tape_state_fini(&s);
    tape_state_fini(&last);
    tape_state_fini(&want);
    keep_fini(&k);
}

static void a_folder_that_is_not_there_is_one_error(void **unused)
{
    struct keep k;
    struct tape_state s, last;
    struct err err = {0};
    (void)unused;
    assert_int_equal(keep_init(&k, "/nonexistent/folder", 10, 8192), 0);
    tape_state_init(&s, DEVICES, METRICS);
    tape_state_init(&last, DEVICES, METRICS);
    for (int64_t i = 0; i < 100; i++)
        put(&k, &s, &last, i, &err);
    assert_int_equal(err.code, -ENOENT);
    assert_non_null(strstr(err.msg, "/nonexistent/folder"));
    assert_int_equal(keep_count(&k), 10);
    tape_state_fini(&s);
    tape_state_fini(&last);
    keep_fini(&k);
}

static void clearing_forgets_and_tells_readers(void **unused)
{
    struct keep k;
    struct tape_state s, last, want;
    struct walk w;
    struct err err = {0};
    (void)unused;
    assert_int_equal(keep_init(&k, NULL, 5, 8192), 0);
    tape_state_init(&s, DEVICES, METRICS);
    tape_state_init(&last, DEVICES, METRICS);
    tape_state_init(&want, DEVICES, METRICS);
    for (int64_t i = 0; i < 100; i++)
        put(&k, &s, &last, i, &err);
    walk_init(&w, &k, 0);
    assert_int_equal(walk_next(&w, &k), 1);
    keep_clear(&k);
    assert_int_equal(keep_count(&k), 0);
    int r;
    while ((r = walk_next(&w, &k)) == 1)
        ;
    assert_int_equal(r, -ESTALE);
    walk_fini(&w);
    for (int64_t i = 0; i < 20; i++)
        put(&k, &s, &last, i, &err);
    walk_init(&w, &k, 0);
    for (int64_t i = 0; i < 20; i++) {
        assert_int_equal(walk_next(&w, &k), 1);
        assert_int_equal(w.next, i + 1);
        assert_non_null(tape_mark(&w.now, "job")); /* what was in force stays in force */
    }
    walk_fini(&w);
    tape_state_fini(&s);
    tape_state_fini(&last);
    tape_state_fini(&want);
    keep_fini(&k);
}

static void a_head_is_itself_or_refused(void **unused)
{
    struct tape_head h = {.len = 1000, .first = 5, .n = 7, .crc = 0x12345678}, got;
    AUTO_BUF out = BUF_INIT(TAPE_HEAD_BYTES);
    (void)unused;
    tape_head_put(&h, &out);
    assert_int_equal(out.len, TAPE_HEAD_BYTES);
    uint8_t *bytes = (uint8_t *)out.p;
    assert_int_equal(tape_head_get(bytes, &got), 0);
    assert_true(got.len == h.len && got.first == h.first && got.n == h.n && got.crc == h.crc);
    for (size_t i = 0; i < TAPE_HEAD_BYTES; i++) {
        bytes[i] ^= 0x40;
        assert_int_equal(tape_head_get(bytes, &got), -EBADMSG);
        bytes[i] ^= 0x40;
    }
    h.len = TAPE_BLOCK_MAX + 1;
    buf_reset(&out);
    tape_head_put(&h, &out);
    assert_int_equal(tape_head_get(bytes, &got), -EBADMSG);
}

static void a_block_damaged_on_disk_is_told(void **unused)
{
    struct keep k;
    struct tape_state s, last;
    struct walk w;
    struct err err = {0};
    char junk[16] = "junk";
    (void)unused;
    assert_int_equal(keep_init(&k, NULL, 10, 8192), 0);
    tape_state_init(&s, DEVICES, METRICS);
    tape_state_init(&last, DEVICES, METRICS);
    for (int64_t i = 0; i < 100; i++)
        put(&k, &s, &last, i, &err);
    assert_int_equal(pwrite(k.fd, junk, sizeof(junk), 80), (ssize_t)sizeof(junk));
    walk_init(&w, &k, 0);
    assert_int_equal(walk_next(&w, &k), -EBADMSG);
    walk_fini(&w);
    walk_init(&w, &k, 95);
    assert_int_equal(walk_next(&w, &k), 1);
    walk_fini(&w);
    tape_state_fini(&s);
    tape_state_fini(&last);
    keep_fini(&k);
}

TESTS(cmocka_unit_test(what_was_put_comes_back_whatever_the_size_of_blocks), cmocka_unit_test(any_number_is_found),
      cmocka_unit_test(a_disk_that_is_full_drops_blocks_and_says_so),
      cmocka_unit_test(a_folder_that_is_not_there_is_one_error), cmocka_unit_test(clearing_forgets_and_tells_readers),
      cmocka_unit_test(a_head_is_itself_or_refused), cmocka_unit_test(a_block_damaged_on_disk_is_told))
