/* test_log_chunks.c: the promises of log_chunks.h: the cache returns data unchanged, within its bounds. */
#include "test.h"

#include <dirent.h>

#include "base/buf.h"
#include "store/log_chunks.h"
#include "temp_store.h"

#define TICKS 50u

/* A piece of rows [first, first + 7] whose only column counts up from first. */
static struct fresh_piece *piece_of(int64_t first)
{
    struct chunk_writer *w = chunk_writer_new();
    int64_t ticks[TICKS], v[TICKS];
    const int64_t *one[] = {v};
    const uint64_t *have[] = {NULL};
    const uint16_t devs[] = {0};
    struct str device = STR("GPU-one");
    AUTO_BUF out = BUF_INIT(CHUNK_BYTES_MAX);
    struct fresh_piece *p = fresh_piece_new(first, first + 7);

    for (size_t i = 0; i < TICKS; i++) {
        ticks[i] = first * 1000 + (int64_t)i;
        v[i] = first * (int64_t)(i % 7) + (int64_t)i;
    }
    assert_int_equal(chunk_begin(w, 1, ticks, TICKS, &device, 1), 0);
    assert_int_equal(chunk_add(w, &(struct chunk_column){.key = {.no = 1},
                                                         .n_devs = 1,
                                                         .devs = devs,
                                                         .have = have,
                                                         .v = one}),
                     0);
    assert_int_equal(chunk_end(w, &out), 0);
    assert_int_equal(fresh_piece_add(p, ticks[0], ticks[TICKS - 1], buf_str(&out)), 0);
    chunk_writer_free(w);
    return p;
}

static void check_piece(const struct fresh_piece *p, int64_t first)
{
    struct chunk room = {0};
    struct chunk_cells cells = {0};
    AUTO_BUF head = BUF_INIT(CHUNK_BYTES_MAX);
    AUTO_BUF bytes = BUF_INIT(CHUNK_BYTES_MAX);
    struct str column = {0}, whole;
    struct chunk_want all = {.last = 1, .lanes = 1};

    assert_int_equal(p->first_row, first);
    const struct chunk *c = fresh_piece_head(p, 0, &room, &head);
    assert_non_null(c);
    assert_int_equal(c->n_ticks, TICKS);
    assert_int_equal(c->ticks[0], first * 1000);
    assert_true(str_eq(c->devices[0], "GPU-one"));
    if (p->file)
        assert_int_equal(fresh_piece_column(p, 0, &c->columns[0], &bytes, &column), 0);
    assert_int_equal(chunk_read_part(c, 0, column, &all, &cells, NULL), 0);
    for (size_t i = 0; i < TICKS; i++)
        assert_int_equal(cells.v[i], first * (int64_t)(i % 7) + (int64_t)i);
    chunk_cells_fini(&cells);
    assert_int_equal(fresh_piece_whole(p, 0, &bytes, &whole), 0);
    assert_int_equal(whole.len, p->v[0].len);
    chunk_fini(&room);
}

/* Puts one piece of each of n nodes into log 1: how many were kept. */
static size_t fill(struct fresh *f, size_t n, int64_t now_ms)
{
    size_t kept = 0;

    for (size_t i = 0; i < n; i++) {
        char node[16];
        struct fresh_piece *p = piece_of((int64_t)i + 1);
        snprintf(node, sizeof(node), "n%zu", i);
        if (fresh_put(f, node, 1, NULL, 0, p, now_ms))
            kept++;
        else
            fresh_piece_free(f, p);
    }
    return kept;
}

static size_t check_all(struct fresh *f, size_t n, int64_t now_ms)
{
    size_t found = 0;

    for (size_t i = 0; i < n; i++) {
        char node[16];
        struct fresh_piece *v[FRESH_PIECES];
        snprintf(node, sizeof(node), "n%zu", i);
        size_t got = fresh_get(f, node, 1, now_ms, v);
        for (size_t k = 0; k < got; k++)
            check_piece(v[k], (int64_t)i + 1);
        fresh_done(f, v, got);
        found += got;
    }
    return found;
}

static size_t names_in(const char *dir)
{
    DIR *d = opendir(dir);
    size_t n = 0;

    assert_non_null(d);
    while (readdir(d))
        n++;
    closedir(d);
    return n - 2;
}

static void more_than_memory_holds_comes_back_from_the_file(void **unused)
{
    char *dir = dir_new_quick();
    struct fresh *f = fresh_new(dir, 64 << 10, 4 << 20);

    (void)unused;
    assert_int_equal(fill(f, 150, 1000), 150); /* heads of some sixty fit */
    assert_int_equal(check_all(f, 150, 2000), 150);
    assert_int_equal(names_in(dir), 0); /* it has no name */
    assert_int_equal(check_all(f, 150, 500000), 150);
    fresh_drop_before(f, 2);
    assert_int_equal(check_all(f, 150, 500000), 0);
    fresh_free(f);
    dir_free(dir);
}

static void without_a_file_memory_is_the_bound(void **unused)
{
    struct fresh *f = fresh_new(NULL, 64 << 10, 4 << 20);

    (void)unused;
    size_t kept = fill(f, 150, 1000);
    assert_in_range(kept, 10, 149);
    assert_int_equal(check_all(f, 150, 2000), kept); /* F2 */
    fresh_free(f);
}

static void a_file_has_its_bound_too(void **unused)
{
    char *dir = dir_new_quick();
    struct fresh *f = fresh_new(dir, 1 << 10, 8 << 10);

    (void)unused;
    size_t kept = fill(f, 150, 1000);
    assert_in_range(kept, 1, 149);
    assert_int_equal(check_all(f, 150, 2000), kept);
    fresh_free(f);
    dir_free(dir);
}

static void a_piece_that_somebody_has_outlives_its_log(void **unused)
{
    char *dir = dir_new_quick();
    struct fresh *f = fresh_new(dir, 64 << 10, 4 << 20);
    struct fresh_piece *v[FRESH_PIECES], *late = piece_of(9);

    (void)unused;
    assert_int_equal(fill(f, 2, 1000), 2);
    assert_int_equal(fresh_get(f, "n1", 1, 1000, v), 1);
    fresh_drop_before(f, 2);
    check_piece(v[0], 2); /* F1 */
    fresh_done(f, v, 1);
    assert_false(fresh_put(f, "n0", 1, NULL, 0, late, 1000)); /* of a log that is in chunks */
    fresh_piece_free(f, late);
    fresh_free(f);
    dir_free(dir);
}

static void pieces_are_replaced_only_by_whoever_saw_them(void **unused)
{
    char *dir = dir_new_quick();
    struct fresh *f = fresh_new(dir, 64 << 10, 4 << 20);
    struct fresh_piece *v[FRESH_PIECES], *joined = piece_of(1), *again = piece_of(1);

    (void)unused;
    assert_int_equal(fill(f, 1, 1000), 1);
    assert_int_equal(fresh_get(f, "n0", 1, 1000, v), 1);
    assert_true(fresh_put(f, "n0", 1, v, 1, joined, 1000));
    assert_false(fresh_put(f, "n0", 1, v, 1, again, 1000)); /* another was faster */
    check_piece(v[0], 1);
    fresh_done(f, v, 1);
    fresh_piece_free(f, again);
    assert_int_equal(check_all(f, 1, 2000), 1);
    fresh_free(f);
    dir_free(dir);
}

TESTS(cmocka_unit_test(more_than_memory_holds_comes_back_from_the_file),
      cmocka_unit_test(without_a_file_memory_is_the_bound), cmocka_unit_test(a_file_has_its_bound_too),
      cmocka_unit_test(a_piece_that_somebody_has_outlives_its_log),
      cmocka_unit_test(pieces_are_replaced_only_by_whoever_saw_them))
