/* test_chunk.c: chunks come back to the bit (K1), damage costs one column (K3), and no bytes do harm (K2). */
#include "test.h"

#include <errno.h>
#include <stdlib.h>

#include "base/file.h"
#include "base/mem.h"
#include "base/rand.h"
#include "codec/bin.h"
#include "codec/chunk.h"
#include "model/metric.h"

#define T0 1700000000000ll

struct made {
    size_t n_ticks, n_devices, n_columns;
    unsigned lanes;
    int64_t *ticks;
    struct str *names;
    char (*name_text)[48];
    struct chunk_column *columns;
    char (*custom)[32];
};

static int64_t make_value(struct prng *g, unsigned kind, size_t i, int64_t before)
{
    switch (kind % 10) {
    case 0:
        return 42;
    case 1:
        return (int64_t)(prng_next(g) % 101) * 100;
    case 2:
        return before + 600000 + (int64_t)(prng_next(g) % 90000); /* energy */
    case 3:
        return prng_next(g) % 50 ? before : (int64_t)(prng_next(g) % 80) << 30;
    case 4:
        return (int64_t)prng_next(g);
    case 5:
        return prng_next(g) % 2 ? INT64_MIN : INT64_MAX;
    case 6:
        return (int64_t)i * 1000 - 5;
    case 7:
        return -(int64_t)(prng_next(g) % 3) * 7;
    case 8:
        return (int64_t)(i * i) * 3;
    default:
        return i % 2 ? INT64_MIN + (int64_t)(prng_next(g) % 4) * 12 : 12 * (int64_t)(prng_next(g) % 4);
    }
}

static uint64_t *make_have(struct prng *g, size_t n, unsigned kind)
{
    uint64_t *h = mem_zero(chunk_words(n), sizeof(*h));

    for (size_t i = 0; i < n; i++) {
        bool on = kind == 1 ? i % 10 == 3 : kind == 2 ? prng_next(g) % 2 : kind == 3 ? false : i >= n / 2;
        h[i / 64] |= (uint64_t)on << i % 64;
    }
    return h;
}

static struct chunk_column make_column(struct prng *g, const struct made *m, size_t no, char *name)
{
    size_t n = m->n_ticks;
    uint16_t *devs = mem_alloc(m->n_devices * sizeof(*devs));
    const uint64_t **have = mem_zero(m->n_devices, sizeof(*have));
    const int64_t **v = mem_alloc(m->n_devices * sizeof(*v));
    size_t k = 0;

    for (size_t d = 0; d < m->n_devices; d++) {
        if (k && prng_next(g) % 4 == 0)
            continue;
        unsigned kind = (unsigned)(prng_next(g) % 8);
        have[k] = kind && kind < 5 ? make_have(g, n, kind) : NULL;
        if (k && kind == 5 && have[k - 1]) {
            uint64_t *copy = mem_alloc(chunk_words(n) * sizeof(*copy));
            memcpy(copy, have[k - 1], chunk_words(n) * sizeof(*copy));
            have[k] = copy;
        }
        int64_t *cells = mem_alloc(m->lanes * n * sizeof(*cells));
        for (unsigned lane = 0; lane < m->lanes; lane++)
            for (size_t i = 0; i < n; i++) {
                int64_t *row = cells + lane * n;
                row[i] = make_value(g, (unsigned)no + (lane ? 3 : 0), i, i ? row[i - 1] : 1 << 20);
            }
        v[k] = cells;
        devs[k++] = (uint16_t)d;
    }
    struct chunk_key key = {.no = no % 5 == 4 ? 0 : (uint16_t)(no + 1)};
    snprintf(name, 32, "custom %zu", no);
    if (!key.no)
        key.name = str_of(name);
    return (struct chunk_column){.key = key, .n_devs = k, .devs = devs, .have = have, .v = v};
}

static struct made make_named(uint64_t seed, size_t n_ticks, unsigned lanes, bool plain)
{
    struct prng g = {seed};
    struct made m = {.n_ticks = n_ticks, .n_devices = 1 + prng_next(&g) % 9, .n_columns = 12, .lanes = lanes};

    m.ticks = mem_alloc(n_ticks * sizeof(*m.ticks));
    for (size_t i = 0; i < n_ticks; i++)
        m.ticks[i] = i ? m.ticks[i - 1] + (seed % 3 ? 1000 : (int64_t)(prng_next(&g) % 3)) : T0;
    m.names = mem_zero(m.n_devices, sizeof(*m.names));
    m.name_text = mem_zero(m.n_devices, sizeof(*m.name_text));
    for (size_t i = 0; i < m.n_devices; i++) {
        if (plain)
            snprintf(m.name_text[i], 48, "GPU-%zu", i);
        else if (i % 4 == 3) /* as drivers name them */
            snprintf(m.name_text[i], 48, "GPU-%08x-0123-4567-89ab-cdef%08x", (unsigned)i * 7919, (unsigned)i);
        else
            snprintf(m.name_text[i], 48, i % 4 == 2 ? "GPU-%08X-0123-4567-89ab-cdef01234567" : "GPU-%u", (unsigned)i);
        m.names[i] = i ? str_of(m.name_text[i]) : STR("");
    }
    m.columns = mem_zero(m.n_columns, sizeof(*m.columns));
    m.custom = mem_zero(m.n_columns, sizeof(*m.custom));
    for (size_t i = 0; i < m.n_columns; i++)
        m.columns[i] = make_column(&g, &m, i, m.custom[i]);
    return m;
}

static struct made make(uint64_t seed, size_t n_ticks, unsigned lanes)
{
    return make_named(seed, n_ticks, lanes, false);
}

static void unmake(struct made *m)
{
    for (size_t i = 0; i < m->n_columns; i++) {
        struct chunk_column *c = &m->columns[i];
        for (size_t k = 0; k < c->n_devs; k++) {
            free((void *)c->have[k]);
            free((void *)c->v[k]);
        }
        free((void *)c->devs);
        free((void *)c->have);
        free((void *)c->v);
    }
    free(m->columns);
    free(m->custom);
    free(m->names);
    free(m->name_text);
    free(m->ticks);
}

/* What is told to be usual and how long the writer looks for the best coding must not show in what comes back. */
static void write_with(struct chunk_writer *w, const struct made *m, struct buf *out, bool usual, bool thorough)
{
    chunk_thorough(w, thorough);
    assert_int_equal(chunk_begin(w, m->lanes, m->ticks, m->n_ticks, m->names, m->n_devices), 0);
    for (unsigned lane = 0; lane < m->lanes && usual; lane += 2)
        assert_int_equal(chunk_set_defaults(w, lane, m->columns[0].v[0] + lane * m->n_ticks),
                         m->lanes > 1 ? 0 : -E2BIG);
    for (size_t i = 0; i < m->n_columns; i++)
        assert_int_equal(chunk_add(w, &m->columns[i]), 0);
    assert_int_equal(chunk_end(w, out), 0);
}

static void write_how(const struct made *m, struct buf *out, bool usual, bool thorough, bool quick)
{
    struct chunk_writer *w = chunk_writer_new();

    chunk_quick(w, quick);
    write_with(w, m, out, usual, thorough);
    chunk_writer_free(w);
}

static void write_chunk(const struct made *m, struct buf *out)
{
    write_how(m, out, false, false, false);
}

static bool same_cells(const struct made *m, const struct chunk_column *want, const struct chunk_cells *got)
{
    if (got->n_devs != want->n_devs || got->n_ticks != m->n_ticks || got->lanes != m->lanes)
        return false;
    for (size_t k = 0; k < want->n_devs; k++)
        for (size_t i = 0; i < m->n_ticks; i++) {
            bool has = !want->have[k] || (want->have[k][i / 64] >> (i % 64) & 1);
            if (chunk_has(got, k, i) != has)
                return false;
            for (unsigned lane = 0; lane < m->lanes; lane++)
                if (chunk_lane(got, k, lane)[i] != (has ? want->v[k][lane * m->n_ticks + i] : 0))
                    return false;
        }
    return true;
}

/* Of every column that can be read, any part: some devices, lanes, ticks; into cells that held something else before.
 */
static void check_parts(const struct chunk *c, size_t column, const struct chunk_cells *whole, struct chunk_cells *room)
{
    for (unsigned try = 0; try < 12; try++) {
        struct chunk_want want = {.first = try % whole->n_devs, .lanes = 1u << try % whole->lanes};
        want.last = want.first + 1 + try / 3 % (whole->n_devs - want.first);
        if (try % 2)
            want.lanes |= 0x13;
        if (try % 3)
            want.from = whole->n_ticks * try / 24, want.to = whole->n_ticks - whole->n_ticks * (try % 5) / 10;
        size_t from = want.to ? want.from : 0, end = want.to ? want.to : whole->n_ticks;
        assert_int_equal(chunk_read_part(c, column, (struct str){0}, &want, room, NULL), 0);
        assert_memory_equal(room->have, whole->have, whole->n_devs * chunk_words(whole->n_ticks) * sizeof(uint64_t));
        for (size_t k = want.first; k < want.last; k++)
            for (unsigned lane = 0; lane < whole->lanes; lane++)
                if (want.lanes >> lane & 1)
                    assert_memory_equal(chunk_lane(room, k, lane) + from, chunk_lane(whole, k, lane) + from,
                                        (end - from) * sizeof(int64_t));
        want.brief = true;
        want.runs = try % 4 != 1;
        assert_int_equal(chunk_read_part(c, column, (struct str){0}, &want, room, NULL), 0);
        for (size_t k = want.first; k < want.last && whole->lanes == 1; k++)
            for (size_t i = from; i < end; i++)
                if (chunk_has(whole, k, i))
                    assert_int_equal(chunk_value(room, k, i), chunk_lane(whole, k, 0)[i]);
    }
}

/* A column without zstd says the same. */
static void check_plain(const struct chunk *c, size_t column, const struct chunk_cells *whole, struct chunk_cells *room)
{
    const struct chunk_part *p = &c->columns[column];
    struct chunk_want want = {.last = whole->n_devs, .lanes = ~0u, .plain = true};
    AUTO_BUF plain = BUF_INIT(CHUNK_BYTES_MAX);

    int r = chunk_plain(c, column, str_n(c->bytes.p + p->off, p->len), room, &plain);
    if (c->version == 1 || c->lanes == 1) {
        assert_int_equal(r, -ENOTSUP);
        return;
    }
    assert_int_equal(r, 0);
    assert_true(plain.len >= p->len);
    for (int again = 0; again < 2; again++) {
        assert_int_equal(chunk_read_part(c, column, buf_str(&plain), &want, room, NULL), 0);
        assert_memory_equal(room->v, whole->v, whole->n_devs * whole->lanes * whole->n_ticks * sizeof(*whole->v));
        assert_memory_equal(room->have, whole->have, whole->n_devs * chunk_words(whole->n_ticks) * sizeof(uint64_t));
    }
}

/* How many columns came back as they were; the others must say that they did not. -1: the head was refused. */
static int check_chunk(const struct made *m, struct str bytes)
{
    struct chunk c;
    struct chunk_cells cells = {0}, part = {0};
    int good = 0;

    if (chunk_open(&c, bytes, NULL) < 0) {
        chunk_fini(&c);
        return -1;
    }
    assert_int_equal(c.n_ticks, m->n_ticks);
    assert_int_equal(c.n_columns, m->n_columns);
    assert_memory_equal(c.ticks, m->ticks, m->n_ticks * sizeof(*m->ticks));
    for (size_t i = 0; i < m->n_devices; i++)
        assert_true(str_eq_str(c.devices[i], m->names[i]));
    for (size_t i = 0; i < c.n_columns; i++) {
        assert_true(chunk_key_eq(c.columns[i].key, m->columns[i].key));
        assert_memory_equal(c.columns[i].devs, m->columns[i].devs, m->columns[i].n_devs * sizeof(uint16_t));
        if (chunk_read(&c, i, &cells, NULL) < 0)
            continue;
        if (!same_cells(m, &m->columns[i], &cells))
            fail_msg("column %zu differs", i);
        for (size_t k = 0; k < cells.n_devs && cells.full; k++)
            assert_int_equal(chunk_run(cells.have + k * chunk_words(c.n_ticks), 0, c.n_ticks, true), c.n_ticks);
        check_parts(&c, i, &cells, &part);
        check_plain(&c, i, &cells, &part);
        good++;
    }
    chunk_cells_fini(&cells);
    chunk_cells_fini(&part);
    chunk_fini(&c);
    return good;
}

static void chunks_come_back_to_the_bit(void **unused)
{
    static const size_t ticks[] = {1, 2, 3, 63, 64, 65, 600, 1000};

    (void)unused;
    for (uint64_t seed = 1; seed <= 24; seed++) {
        struct made m = make(seed, ticks[seed % ARRAY_LEN(ticks)], seed % 4 == 0 ? 6 : 1);
        for (int how = 0; how < 8; how++) {
            AUTO_BUF out = BUF_INIT(CHUNK_BYTES_MAX);
            write_how(&m, &out, how & 1, how & 2, how & 4);
            assert_int_equal(check_chunk(&m, buf_str(&out)), (int)m.n_columns);
        }
        unmake(&m);
    }
}

/* A writer takes how it wrote a block for the next ones that look alike: they come back all the same. */
static void chunks_of_one_writer_come_back_to_the_bit(void **unused)
{
    struct chunk_writer *w = chunk_writer_new();

    (void)unused;
    for (uint64_t seed = 1; seed <= 120; seed++) {
        struct made m = make(seed, 100, seed % 4 == 0 ? 6 : 1);
        AUTO_BUF out = BUF_INIT(CHUNK_BYTES_MAX);
        write_with(w, &m, &out, seed & 4, seed & 2);
        assert_int_equal(check_chunk(&m, buf_str(&out)), (int)m.n_columns);
        unmake(&m);
    }
    chunk_writer_free(w);
}

/* K5: what versions 1 to 3 wrote, from the same seeds. */
static void chunks_of_older_versions_are_still_read(void **unused)
{
    (void)unused;
    for (uint64_t i = 0; i < 12; i++) {
        uint64_t seed = i % 4 + 1;
        int version = (int)(i / 4) + 1;
        struct made m = make_named(seed, 20, seed % 4 == 0 ? 6 : 1, version == 1);
        AUTO_BUF bytes = {0};
        char path[64];
        snprintf(path, sizeof(path), "tests/golden/chunk/v%d-%d", version, (int)seed);
        assert_int_equal(file_read(path, 1 << 20, &bytes, NULL), 0);
        assert_int_equal(bytes.p[0], version);
        assert_int_equal(check_chunk(&m, buf_str(&bytes)), (int)m.n_columns);
        unmake(&m);
    }
}

enum { LEAN_N = 300, LEAN_DEVS = 4, LEAN_COLUMNS = 5 };
static const uint16_t lean_numbers[LEAN_COLUMNS] = {1, 2, 8, 10, 31}; /* util, mem_util, power, energy, sm_active */

/*
 * GPUs whose other numbers follow util and power; gaps: mem_util and energy come every third tick only, of the third
 * GPU never. idle: they do nothing now and then, the last one always.
 */
static void make_lean(struct prng *g, int64_t (*v)[LEAN_DEVS][LEAN_N], bool idle)
{
    for (size_t d = 0; d < LEAN_DEVS; d++) {
        int64_t energy = (int64_t)(prng_next(g) >> 20);
        for (size_t i = 0; i < LEAN_N; i++) {
            bool rests = idle && (d == LEAN_DEVS - 1 || (i / 37 + d) % 3 == 0);
            int64_t util = rests ? 0 : (int64_t)(prng_next(g) % 101);
            int64_t mw = 70000 + util * 5000 + (int64_t)(prng_next(g) % 8000);
            energy += mw + (int64_t)(prng_next(g) % 900) - 450;
            v[0][d][i] = util * 100;
            v[1][d][i] = rests ? prng_next(g) % 30 == 0 : util / 2 * 100 + (int64_t)(prng_next(g) % 3) * 100;
            v[2][d][i] = mw;
            v[3][d][i] = energy;
            v[4][d][i] = rests ? 0 : util * 86 + (int64_t)(prng_next(g) % 9) * 10;
        }
    }
}

static void write_lean(int64_t (*v)[LEAN_DEVS][LEAN_N], const uint64_t *gaps, bool leaning, struct buf *out)
{
    static const uint16_t devs[LEAN_DEVS] = {0, 1, 2, 3};
    static const uint64_t none[(LEAN_N + 63) / 64];
    int64_t ticks[LEAN_N];
    struct str names[LEAN_DEVS];
    struct chunk_writer *w = chunk_writer_new();

    for (size_t i = 0; i < LEAN_N; i++)
        ticks[i] = T0 + (int64_t)i * 1000;
    for (size_t i = 0; i < LEAN_DEVS; i++)
        names[i] = STR("x");
    assert_int_equal(chunk_begin(w, 1, ticks, LEAN_N, names, LEAN_DEVS), 0);
    for (size_t k = 0; k < LEAN_COLUMNS; k++) {
        const int64_t *v_of[LEAN_DEVS];
        const uint64_t *have[LEAN_DEVS] = {0};
        for (size_t d = 0; d < LEAN_DEVS; d++) {
            v_of[d] = v[k][d];
            have[d] = k != 1 && k != 3 ? NULL : gaps && d == 2 ? none : gaps;
        }
        struct chunk_column c = {{.no = (uint16_t)(lean_numbers[k] + (leaning ? 0 : 1000))},
                                 LEAN_DEVS,
                                 devs,
                                 have,
                                 v_of};
        assert_int_equal(chunk_add(w, &c), 0);
    }
    assert_int_equal(chunk_end(w, out), 0);
    chunk_writer_free(w);
}

static void check_lean(int64_t (*v)[LEAN_DEVS][LEAN_N], const uint64_t *gaps, struct str bytes)
{
    struct chunk c;
    struct chunk_cells cells = {0}, part = {0};

    assert_int_equal(chunk_open(&c, bytes, NULL), 0);
    for (size_t k = 0; k < LEAN_COLUMNS; k++) {
        assert_int_equal(chunk_read(&c, k, &cells, NULL), 0);
        for (size_t d = 0; d < LEAN_DEVS; d++)
            for (size_t i = 0; i < LEAN_N; i++) {
                bool has = (k != 1 && k != 3) || !gaps || (d != 2 && gaps[i / 64] >> i % 64 & 1);
                assert_int_equal(chunk_has(&cells, d, i), has);
                assert_int_equal(chunk_lane(&cells, d, 0)[i], has ? v[k][d][i] : 0);
            }
        check_parts(&c, k, &cells, &part);
    }
    chunk_cells_fini(&cells);
    chunk_cells_fini(&part);
    chunk_fini(&c);
}

/* L1: what goes with another metric takes less, and comes back to the bit, with gaps or without. */
static void what_goes_with_another_metric_takes_less(void **unused)
{
    static int64_t v[LEAN_COLUMNS][LEAN_DEVS][LEAN_N];
    uint64_t gaps[(LEAN_N + 63) / 64] = {0};

    (void)unused;
    for (size_t i = 0; i < LEAN_N; i += 3)
        gaps[i / 64] |= 1ull << i % 64;
    for (uint64_t seed = 1; seed <= 20; seed++) {
        struct prng g = {seed};
        size_t size[2];
        make_lean(&g, v, seed > 10);
        for (int leaning = 0; leaning < 2; leaning++) {
            AUTO_BUF out = BUF_INIT(1 << 20);
            write_lean(v, seed % 2 ? NULL : gaps, leaning, &out);
            check_lean(v, seed % 2 ? NULL : gaps, buf_str(&out));
            size[leaning] = out.len;
        }
        assert_true(size[1] < size[0] * 9 / 10);
    }
}

/* L1: where a GPU does nothing there is next to nothing to keep of what goes with its utilisation. */
static void what_follows_an_idle_gpu_is_kept_apart(void **unused)
{
    static int64_t v[LEAN_COLUMNS][LEAN_DEVS][LEAN_N];
    struct chunk c;
    size_t size[2];

    (void)unused;
    for (int idle = 0; idle < 2; idle++) {
        struct prng g = {7};
        AUTO_BUF out = BUF_INIT(1 << 20);
        make_lean(&g, v, idle);
        write_lean(v, NULL, true, &out);
        assert_int_equal(chunk_open(&c, buf_str(&out), NULL), 0);
        assert_int_equal(c.columns[4].leans, 1);
        assert_int_equal(c.columns[4].sums, idle); /* it is in two parts */
        size[idle] = c.columns[4].len;
        chunk_fini(&c);
    }
    assert_true(size[1] < size[0] * 6 / 10); /* half of the time they do something */
}

/* L1: free memory is what is not used, and says nothing of its own. */
static void a_custom_metric_that_is_used_memory_takes_no_room(void **unused)
{
    enum { N = 200, DEVS = 3, COLUMNS = 4 };
    static int64_t v[COLUMNS][DEVS][N];
    static const char *const names[COLUMNS] = {"", "free", "used too", "not quite"};
    static const uint16_t devs[DEVS] = {0, 1, 2};
    const struct str devices[DEVS] = {STR("a"), STR("b"), STR("c")};
    int64_t ticks[N];
    struct prng g = {11};
    struct chunk_writer *w = chunk_writer_new();
    AUTO_BUF out = BUF_INIT(1 << 20);
    struct chunk c;
    struct chunk_cells cells = {0};

    (void)unused;
    for (size_t i = 0; i < N; i++) {
        ticks[i] = T0 + (int64_t)i * 1000;
        for (size_t d = 0; d < DEVS; d++) {
            int64_t used = d ? (int64_t)(prng_next(&g) % 80000) << 20 : INT64_MAX; /* the first one's is constant */
            v[0][d][i] = used;
            v[1][d][i] = (int64_t)(81559ull << 20) - used;
            v[2][d][i] = (int64_t)((uint64_t)used + d + 5);
            v[3][d][i] = v[1][d][i] + (d == 2 && i == N - 1);
        }
    }
    assert_int_equal(chunk_begin(w, 1, ticks, N, devices, DEVS), 0);
    for (size_t k = 0; k < COLUMNS; k++) {
        const int64_t *of[DEVS] = {v[k][0], v[k][1], v[k][2]};
        struct chunk_column col = {{k ? 0 : metrics[M_mem_used].no, str_of(names[k])}, DEVS, devs, NULL, of};
        assert_int_equal(chunk_add(w, &col), 0);
    }
    assert_int_equal(chunk_end(w, &out), 0);
    assert_int_equal(chunk_open(&c, buf_str(&out), NULL), 0);
    for (size_t k = 0; k < COLUMNS; k++) {
        assert_int_equal(c.columns[k].leans, k == 1 || k == 2);
        assert_int_equal(c.columns[k].len < 50, k == 1 || k == 2);
        assert_int_equal(chunk_read(&c, k, &cells, NULL), 0);
        for (size_t d = 0; d < DEVS; d++)
            assert_memory_equal(chunk_lane(&cells, d, 0), v[k][d], sizeof(v[k][d]));
    }
    chunk_cells_fini(&cells);
    chunk_fini(&c);
    chunk_writer_free(w);
}

/* K3 */
static void damage_costs_a_column_and_those_that_lean_on_it(void **unused)
{
    static int64_t v[LEAN_COLUMNS][LEAN_DEVS][LEAN_N];
    struct prng g = {5};
    AUTO_BUF out = BUF_INIT(1 << 20);
    struct chunk c;
    struct chunk_cells cells = {0};

    (void)unused;
    make_lean(&g, v, false);
    write_lean(v, NULL, true, &out);
    assert_int_equal(chunk_open(&c, buf_str(&out), NULL), 0);
    assert_int_equal(c.columns[1].leans, 1);
    assert_int_equal(c.columns[3].leans, 3);
    assert_int_equal(c.columns[4].leans, 1);
    for (size_t k = 0; k < LEAN_COLUMNS; k++) {
        out.p[c.columns[k].off + 9] ^= 4;
        for (size_t i = 0; i < LEAN_COLUMNS; i++)
            assert_int_equal(chunk_read(&c, i, &cells, NULL), i == k || c.columns[i].leans == k + 1 ? -EBADMSG : 0);
        out.p[c.columns[k].off + 9] ^= 4;
    }
    chunk_cells_fini(&cells);
    chunk_fini(&c);
}

/* What the cells of most ticks have in common is written once. */
static void what_is_usual_costs_nothing(void **unused)
{
    enum { N = 60, DEVS = 8, TWO = 2 };
    static int64_t v[DEVS * TWO * N], ticks[N], usual[N];
    const int64_t *v_of[DEVS];
    static const uint16_t devs[DEVS] = {0, 1, 2, 3, 4, 5, 6, 7};
    struct str names[DEVS];
    size_t size[2];
    struct prng g = {3};

    (void)unused;
    for (size_t i = 0; i < DEVS; i++)
        names[i] = STR("");
    for (size_t i = 0; i < N; i++) {
        ticks[i] = T0 + (int64_t)i * 60000;
        usual[i] = (int64_t)(prng_next(&g) % 61);
    }
    for (size_t k = 0; k < (size_t)DEVS * TWO; k++)
        memcpy(v + k * N, usual, sizeof(usual));
    for (size_t k = 0; k < DEVS; k++)
        v_of[k] = v + k * TWO * N;
    for (int told = 0; told < 2; told++) {
        struct chunk_writer *w = chunk_writer_new();
        AUTO_BUF out = BUF_INIT(1 << 20);
        assert_int_equal(chunk_begin(w, TWO, ticks, N, names, DEVS), 0);
        for (unsigned lane = 0; lane < TWO && told; lane++)
            assert_int_equal(chunk_set_defaults(w, lane, usual), 0);
        for (uint16_t no = 1; no <= 20; no++)
            assert_int_equal(chunk_add(w, &(struct chunk_column){.key = {.no = no},
                                                                 .n_devs = DEVS,
                                                                 .devs = devs,
                                                                 .v = v_of}),
                             0);
        assert_int_equal(chunk_end(w, &out), 0);
        size[told] = out.len;
        chunk_writer_free(w);
    }
    assert_true(size[1] < 400 && size[0] > 10 * size[1]);
}

static void damage_costs_one_column(void **unused)
{
    struct made m = make(7, 400, 1);
    AUTO_BUF out = BUF_INIT(CHUNK_BYTES_MAX);
    int heads = 0, tried = 0;

    (void)unused;
    write_chunk(&m, &out);
    for (size_t i = 0; i < out.len; i += 1 + i / 200) {
        out.p[i] ^= (char)(1 << i % 8);
        tried++;
        int good = check_chunk(&m, buf_str(&out));
        heads += good < 0;
        if (good >= 0)
            assert_int_equal(good, (int)m.n_columns - 1);
        out.p[i] ^= (char)(1 << i % 8);
    }
    assert_true(heads > 10 && heads < tried / 2);
    unmake(&m);
}

static void a_chunk_that_was_cut_off_gives_what_is_there(void **unused)
{
    struct made m = make(9, 100, 1);
    AUTO_BUF out = BUF_INIT(CHUNK_BYTES_MAX);
    int before = -1;

    (void)unused;
    write_chunk(&m, &out);
    for (size_t len = 0; len <= out.len; len++) {
        AUTO_FREE char *copy = mem_strn(out.p, len); /* so that reading past the end is seen */
        int good = check_chunk(&m, str_n(copy, len));
        assert_true(good >= before);
        before = good;
    }
    assert_int_equal(before, (int)m.n_columns);
    unmake(&m);
}

/* Read in short, the only column of a chunk has this shape, and the values that were written: v, n of each device. */
static void check_shape(struct str bytes, const int64_t *v, size_t n, enum block_shape shape)
{
    struct chunk c;
    struct chunk_cells cells = {0};

    assert_int_equal(chunk_open(&c, bytes, NULL), 0);
    struct chunk_want want = {.last = c.n_devices, .lanes = 1, .brief = true, .runs = true};
    assert_int_equal(chunk_read_part(&c, 0, (struct str){0}, &want, &cells, NULL), 0);
    for (size_t k = 0; k < c.n_devices; k++) {
        assert_int_equal(cells.shape[k], shape);
        for (size_t i = 0; i < n; i++)
            assert_int_equal(chunk_value(&cells, k, i), v[k * n + i]);
    }
    want.brief = false; /* read whole into the same cells, as what others lean on is: nothing of before is left */
    assert_int_equal(chunk_read_part(&c, 0, (struct str){0}, &want, &cells, NULL), 0);
    for (size_t k = 0; k < c.n_devices; k++)
        assert_int_equal(cells.shape[k], SHAPE_EACH);
    chunk_cells_fini(&cells);
    chunk_fini(&c);
}

static void what_hardly_moves_takes_hardly_any_room(void **unused)
{
    enum { N = 600, DEVS = 8 };
    static int64_t v[DEVS * N], ticks[N];
    const int64_t *v_of[DEVS];
    static const uint16_t devs[DEVS] = {0, 1, 2, 3, 4, 5, 6, 7};
    struct str names[DEVS];
    static const struct {
        const char *what;
        unsigned kind;
        size_t most;
        enum block_shape shape;
    } cases[] = {{"constant", 0, 60, SHAPE_ONE}, {"a slope", 6, 80, SHAPE_EACH}, {"now and then", 3, 500, SHAPE_RUNS}};

    (void)unused;
    for (size_t i = 0; i < DEVS; i++) {
        names[i] = STR("");
        v_of[i] = v + i * N;
    }
    for (size_t i = 0; i < N; i++)
        ticks[i] = T0 + (int64_t)i * 1000;
    for (size_t k = 0; k < ARRAY_LEN(cases); k++) {
        struct prng g = {k};
        struct chunk_writer *w = chunk_writer_new();
        AUTO_BUF out = BUF_INIT(1 << 20);
        for (size_t i = 0; i < DEVS * N; i++)
            v[i] = make_value(&g, cases[k].kind, i % N, i ? v[i - 1] : 0);
        print_message("%s\n", cases[k].what);
        assert_int_equal(chunk_begin(w, 1, ticks, N, names, DEVS), 0);
        struct chunk_column c = {.key = {.no = 1}, .n_devs = DEVS, .devs = devs, .v = v_of};
        assert_int_equal(chunk_add(w, &c), 0);
        assert_int_equal(chunk_end(w, &out), 0);
        assert_in_range(out.len, 1, cases[k].most);
        chunk_writer_free(w);
        check_shape(buf_str(&out), v, N, cases[k].shape);
    }
}

enum { TIER_N = 60, TIER_DEVS = 8 };

/* A column of minutes, of 60 values each: bytes of the chunk, which comes back to the bit. */
static size_t tier_size(const struct part_bin *bins, size_t n, const uint64_t *have)
{
    static const uint16_t devs[TIER_DEVS] = {0, 1, 2, 3, 4, 5, 6, 7};
    static int64_t v[TIER_DEVS][LANES * TIER_N];
    int64_t ticks[TIER_N], usual[LANES][TIER_N];
    const int64_t *v_of[TIER_DEVS];
    const uint64_t *have_of[TIER_DEVS];
    struct chunk_writer *w = chunk_writer_new();
    AUTO_BUF out = BUF_INIT(1 << 20);
    struct made m = {.n_ticks = n, .n_devices = TIER_DEVS, .n_columns = 1, .lanes = LANES, .ticks = ticks};

    for (size_t i = 0; i < n; i++) {
        ticks[i] = T0 + (int64_t)i * 60000;
        for (size_t k = 0; k < TIER_DEVS; k++)
            part_bin_put(&bins[k * TIER_N + i], true, &v[k][i], n, 0, 60000);
        for (unsigned lane = 0; lane < LANES; lane++)
            usual[lane][i] = lane == LANE_LAST ? LAST_IS_MEAN : v[0][lane * n + i];
    }
    m.names = mem_zero(TIER_DEVS, sizeof(*m.names));
    assert_int_equal(chunk_begin(w, LANES, ticks, n, m.names, TIER_DEVS), 0);
    for (unsigned lane = 0; lane < LANES; lane++)
        if (lane == LANE_COUNT || lane == LANE_LAST || lane == LANE_POS)
            assert_int_equal(chunk_set_defaults(w, lane, usual[lane]), 0);
    for (size_t k = 0; k < TIER_DEVS; k++) {
        v_of[k] = v[k];
        have_of[k] = k % 2 ? have : NULL;
    }
    m.columns = &(struct chunk_column){{.no = 1}, TIER_DEVS, devs, have_of, v_of};
    assert_int_equal(chunk_add(w, m.columns), 0);
    assert_int_equal(chunk_end(w, &out), 0);
    assert_int_equal(check_chunk(&m, buf_str(&out)), 1);
    chunk_writer_free(w);
    free(m.names);
    return out.len;
}

/* The least of a minute is mostly an outlier of a GPU that works: then its most and its sum are kept as they are. */
static void tiers_keep_what_moves_least(void **unused)
{
    static struct part_bin bins[TIER_DEVS * TIER_N];
    const uint64_t have = 0x0123456789abcdef;
    struct prng g = {3};
    size_t steady;

    (void)unused;
    for (size_t i = 0; i < ARRAY_LEN(bins); i++)
        bins[i] = (struct part_bin){{60, 60 * 9800, 9800, 10000, 10000}, 59000};
    steady = tier_size(bins, TIER_N, NULL);
    for (size_t i = 0; i < ARRAY_LEN(bins); i++)
        bins[i].b.min = (int64_t)(prng_next(&g) % 8192); /* 13 bits of noise: nothing else changes */
    assert_in_range(tier_size(bins, TIER_N, NULL), steady, steady + TIER_DEVS * TIER_N * 13 / 8 + 24);
    assert_true(tier_size(bins, TIER_N, &have) < tier_size(bins, TIER_N, NULL));
    assert_in_range(tier_size(bins, 1, NULL), 1, 90); /* an hour: 8 leasts of 13 bits, and a head */
    assert_in_range(tier_size(bins, 1, &(uint64_t){0}), 1, 90);
    for (size_t i = 0; i < ARRAY_LEN(bins); i++) {
        uint64_t any[6];
        for (size_t k = 0; k < ARRAY_LEN(any); k++)
            any[k] = prng_next(&g);
        bins[i] = (struct part_bin){{(uint32_t)(any[0] % 61), (int64_t)any[1], (int64_t)any[2], (int64_t)any[3],
                                     (int64_t)any[4]},
                                    (int64_t)(any[5] % 60000)};
    }
    for (size_t n = 1; n <= TIER_N; n++)
        tier_size(bins, n, n % 2 ? &have : NULL);
}

static void what_is_past_a_cap_is_refused(void **unused)
{
    struct chunk_writer *w = chunk_writer_new();
    int64_t tick = T0;
    struct str name = STR("x");

    (void)unused;
    assert_int_equal(chunk_begin(w, 9, &tick, 1, &name, 1), -E2BIG);
    assert_int_equal(chunk_begin(w, 1, &tick, 0, &name, 1), -E2BIG);
    assert_int_equal(chunk_begin(w, 1, &tick, CHUNK_TICKS_MAX + 1, &name, 1), -E2BIG);
    assert_int_equal(chunk_begin(w, 1, &tick, 1, &name, CHUNK_DEVICES_MAX + 1), -E2BIG);
    assert_int_equal(chunk_begin(w, 1, &tick, 1, &name, 1), 0);
    struct chunk_column c = {.key = {.no = 1}};
    assert_int_equal(chunk_add(w, &c), -E2BIG);
    chunk_writer_free(w);
    chunk_writer_free(NULL);
}

TESTS(cmocka_unit_test(chunks_come_back_to_the_bit), cmocka_unit_test(chunks_of_one_writer_come_back_to_the_bit),
      cmocka_unit_test(chunks_of_older_versions_are_still_read),
      cmocka_unit_test(what_goes_with_another_metric_takes_less),
      cmocka_unit_test(what_follows_an_idle_gpu_is_kept_apart),
      cmocka_unit_test(a_custom_metric_that_is_used_memory_takes_no_room),
      cmocka_unit_test(damage_costs_a_column_and_those_that_lean_on_it), cmocka_unit_test(what_is_usual_costs_nothing),
      cmocka_unit_test(damage_costs_one_column), cmocka_unit_test(a_chunk_that_was_cut_off_gives_what_is_there),
      cmocka_unit_test(what_hardly_moves_takes_hardly_any_room), cmocka_unit_test(tiers_keep_what_moves_least),
      cmocka_unit_test(what_is_past_a_cap_is_refused))
