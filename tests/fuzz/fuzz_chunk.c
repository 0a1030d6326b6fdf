/*
 * A chunk: any bytes are read within bounds; what can be read is written and read back as the same. The checksums of
 * the head and the columns are put right first, or nothing would ever get past them.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/rand.h"
#include "codec/bin.h"
#include "codec/chunk.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void put_u32(char *p, uint32_t v)
{
    for (int i = 0; i < 4; i++)
        p[i] = (char)(v >> 8 * i);
}

static void write_column(struct chunk_writer *w, const struct chunk *c, const struct chunk_column *col,
                         const struct chunk_cells *cells)
{
    AUTO_BUF out = BUF_INIT(CHUNK_BYTES_MAX);
    struct chunk again;
    struct chunk_cells got = {0};
    size_t n = cells->n_devs * cells->lanes * cells->n_ticks, words = cells->n_devs * chunk_words(c->n_ticks);

    if (chunk_begin(w, c->lanes, c->ticks, c->n_ticks, c->devices, c->n_devices) < 0)
        abort();
    for (unsigned lane = 0; lane < c->lanes; lane++)
        if (c->usual[lane] && chunk_set_defaults(w, lane, c->usual[lane]) < 0)
            abort();
    if (chunk_add(w, col) < 0 || chunk_end(w, &out) < 0 || chunk_open(&again, buf_str(&out), NULL) < 0 ||
        chunk_read(&again, 0, &got, NULL) < 0)
        abort();
    if (memcmp(got.v, cells->v, n * sizeof(*got.v)) != 0 ||
        memcmp(got.have, cells->have, words * sizeof(*got.have)) != 0)
        abort();
    chunk_cells_fini(&got);
    chunk_fini(&again);
}

/* Twice: the second time the writer knows how it wrote the first. */
static void write_again(const struct chunk *c, size_t column, const struct chunk_cells *cells)
{
    struct chunk_writer *w = chunk_writer_new();
    AUTO_FREE const uint64_t **have = mem_alloc(cells->n_devs * sizeof(*have));
    AUTO_FREE const int64_t **v = mem_alloc(cells->n_devs * sizeof(*v));
    AUTO_FREE int64_t *rows = mem_alloc(cells->n_devs * cells->lanes * cells->n_ticks * sizeof(*rows));
    int64_t *to = rows;
    struct chunk_column col = {c->columns[column].key, cells->n_devs, c->columns[column].devs, have, v};

    for (size_t k = 0; k < cells->n_devs; k++) {
        have[k] = cells->have + k * chunk_words(c->n_ticks);
        v[k] = to;
        for (unsigned lane = 0; lane < cells->lanes; lane++, to += cells->n_ticks)
            memcpy(to, chunk_lane(cells, k, lane), cells->n_ticks * sizeof(*to));
    }
    chunk_thorough(w, column & 1);
    write_column(w, c, &col, cells);
    write_column(w, c, &col, cells);
    chunk_quick(w, true);
    write_column(w, c, &col, cells);
    chunk_writer_free(w);
}

/* What a part of a column says is what the whole says, where that can be read. */
static void read_part(const struct chunk *c, size_t column, const struct chunk_cells *whole, bool good)
{
    struct chunk_cells got = {0};
    size_t n_devs = c->columns[column].n_devs;
    size_t from = c->n_ticks / 3, to = c->n_ticks - c->n_ticks / 4;
    struct chunk_want want = {.first = column % n_devs,
                              .last = n_devs,
                              .lanes = 1u << column % c->lanes | 1,
                              .from = from,
                              .to = to};
    int r = chunk_read_part(c, column, (struct str){0}, &want, &got, NULL);

    if (good && r < 0)
        abort();
    for (size_t k = want.first; k < want.last && good; k++)
        for (unsigned lane = 0; lane < c->lanes; lane++)
            if (want.lanes >> lane & 1 && memcmp(chunk_lane(&got, k, lane) + from, chunk_lane(whole, k, lane) + from,
                                                 (to - from) * sizeof(int64_t)) != 0)
                abort();
    want.brief = true;
    for (int runs = 0; runs < 2; runs++) {
        want.runs = runs;
        r = chunk_read_part(c, column, (struct str){0}, &want, &got, NULL);
        if (good && r < 0)
            abort();
        for (size_t k = want.first; k < want.last && good && c->lanes == 1; k++)
            for (size_t i = from; i < to; i++)
                if (chunk_has(whole, k, i) && chunk_value(&got, k, i) != chunk_lane(whole, k, 0)[i])
                    abort();
    }
    chunk_cells_fini(&got);
}

/* What the values of cuts add up to. */
static void read_sums(const struct chunk *c, size_t column, const struct chunk_cells *whole, bool good)
{
    struct chunk_cells got = {0};
    size_t from = c->n_ticks / 3, to = c->n_ticks - c->n_ticks / 4, mid = from + (to - from) / 2;
    struct cut cuts[] = {{(uint32_t)(mid > from ? mid : to), 0}, {(uint32_t)to, 1}};
    struct chunk_want want = {.last = c->columns[column].n_devs,
                              .lanes = 1,
                              .from = from,
                              .to = to,
                              .brief = true,
                              .cuts = cuts,
                              .n_cuts = mid > from ? 2 : 1};
    int r = c->lanes == 1 ? chunk_read_part(c, column, (struct str){0}, &want, &got, NULL) : -EBADMSG;

    if (good && r < 0 && c->lanes == 1)
        abort();
    for (size_t k = 0; k < want.last && good && r == 0; k++) {
        size_t i = from;
        for (size_t n = 0; n < want.n_cuts && got.shape[k] == SHAPE_SUMS; n++) {
            uint64_t sum = 0;
            for (; i < cuts[n].end; i++)
                sum += (uint64_t)chunk_lane(whole, k, 0)[i];
            if (sum != (uint64_t)chunk_lane(&got, k, 0)[n])
                abort();
        }
        for (; i < to && got.shape[k] != SHAPE_SUMS; i++)
            if (chunk_has(whole, k, i) && chunk_value(&got, k, i) != chunk_lane(whole, k, 0)[i])
                abort();
    }
    chunk_cells_fini(&got);
}

/* What it leans on was read before it, for itself, and kept. */
static void read_kept(const struct chunk *c, size_t column, const struct chunk_cells *whole, bool good)
{
    const struct chunk_part *p = &c->columns[column];
    struct chunk_cells got = {0};
    struct chunk_want want = {.last = p->n_devs, .lanes = 1};

    if (good && p->leans) {
        if (chunk_read_part(c, p->leans - 1u, (struct str){0}, &want, &got, NULL) < 0)
            abort();
        chunk_keep(c, p->leans - 1u, &want, &got);
        if (!chunk_has_base(c, column, &want, &got) ||
            chunk_read_part(c, column, str_n(c->bytes.p + p->off, p->len), &want, &got, NULL) < 0)
            abort();
        for (size_t k = 0; k < p->n_devs; k++)
            for (size_t i = 0; i < c->n_ticks; i++)
                if (chunk_has(whole, k, i) && chunk_lane(&got, k, 0)[i] != chunk_lane(whole, k, 0)[i])
                    abort();
    }
    chunk_cells_fini(&got);
}

/* Without zstd it says the same; what cannot be read cannot be written so. */
static void read_plain(const struct chunk *c, size_t column, const struct chunk_cells *whole, bool good)
{
    const struct chunk_part *p = &c->columns[column];
    struct chunk_cells got = {0};
    struct chunk_want want = {.last = p->n_devs, .lanes = ~0u, .plain = true};
    AUTO_BUF plain = BUF_INIT(CHUNK_BYTES_MAX);
    size_t n = p->n_devs * c->lanes * c->n_ticks;

    if (p->off <= c->bytes.len && p->len <= c->bytes.len - p->off && c->version > 1 && c->lanes > 1) {
        bool made = chunk_plain(c, column, str_n(c->bytes.p + p->off, p->len), &got, &plain) == 0;
        if (made != good)
            abort();
        if (good && (chunk_read_part(c, column, buf_str(&plain), &want, &got, NULL) < 0 ||
                     memcmp(got.v, whole->v, n * sizeof(*got.v)) != 0))
            abort();
    }
    chunk_cells_fini(&got);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    AUTO_FREE char *bytes = mem_strn((const char *)data, size);
    struct chunk c;
    struct chunk_cells cells = {0};

    if (size > 10) {
        size_t len = data[2] | (size_t)data[3] << 8;
        bytes[4] = bytes[5] = 0;
        if (len <= size - 10)
            put_u32(bytes + 6, crc32c(crc32c(0, bytes, 6), bytes + 10, len));
    }
    if (chunk_open(&c, str_n(bytes, size), NULL) == 0)
        for (size_t i = 0; i < c.n_columns && c.n_ticks < 5000; i++) {
            struct chunk_part *p = &c.columns[i];
            if (p->off <= size && p->len <= size - p->off)
                p->crc = crc32c(0, bytes + p->off, p->len);
            if (p->n_devs * c.lanes * c.n_ticks >= 100000)
                continue;
            bool good = chunk_read(&c, i, &cells, NULL) == 0;
            if (i < 8) {
                read_part(&c, i, &cells, good);
                read_sums(&c, i, &cells, good);
                read_kept(&c, i, &cells, good);
                read_plain(&c, i, &cells, good);
            }
            if (good && i < 4)
                write_again(&c, i, &cells);
        }
    chunk_cells_fini(&cells);
    chunk_fini(&c);
    return 0;
}
