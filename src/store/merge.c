/* merge.c: several chunks of one tier become one, a metric at a time, so that memory is that of one column. */
#include <errno.h>

#include "base/mem.h"
#include "store/table.h"

struct source {
    struct chunk c;
    uint32_t *row; /* of each tick, in what is made */
    uint16_t *dev; /* of each device */
    bool *done;    /* columns */
};

struct merge {
    int tier;
    unsigned lanes;
    struct source *v;
    size_t n;
    int64_t *ticks;
    size_t n_ticks, cap_ticks;
    struct str *devs;
    size_t n_devs, cap_devs;
    struct chunk_cells cells;
    uint32_t *damaged;
};

static void merge_fini(struct merge *m)
{
    for (size_t i = 0; i < m->n; i++) {
        chunk_fini(&m->v[i].c);
        free(m->v[i].row);
        free(m->v[i].dev);
        free(m->v[i].done);
    }
    free(m->v);
    free(m->ticks);
    free(m->devs);
    chunk_cells_fini(&m->cells);
}

struct mtick {
    int64_t at;
    uint32_t source, tick;
};

static int by_time(const void *a, const void *b)
{
    const struct mtick *x = a, *y = b;

    if (x->at != y->at)
        return x->at < y->at ? -1 : 1;
    return x->source != y->source ? (x->source < y->source ? -1 : 1) : x->tick < y->tick ? -1 : x->tick > y->tick;
}

/* Raw ticks are all kept, also those of one moment; bins that begin together become one. */
static int merge_ticks(struct merge *m)
{
    size_t n = 0, at = 0;

    for (size_t i = 0; i < m->n; i++)
        n += m->v[i].c.n_ticks;
    if (n == 0 || n > 4 * (size_t)CHUNK_TICKS_MAX)
        return -E2BIG;
    AUTO_FREE struct mtick *all = mem_alloc(n * sizeof(*all));
    for (size_t i = 0; i < m->n; i++) {
        m->v[i].row = mem_alloc(m->v[i].c.n_ticks * sizeof(uint32_t));
        for (size_t k = 0; k < m->v[i].c.n_ticks; k++)
            all[at++] = (struct mtick){m->v[i].c.ticks[k], (uint32_t)i, (uint32_t)k};
    }
    qsort(all, n, sizeof(*all), by_time);
    m->ticks = mem_alloc(n * sizeof(*m->ticks));
    for (size_t i = 0; i < n; i++) {
        if (m->tier == TIER_RAW || !i || all[i].at != all[i - 1].at)
            m->ticks[m->n_ticks++] = all[i].at;
        m->v[all[i].source].row[all[i].tick] = (uint32_t)m->n_ticks - 1;
    }
    return 0;
}

static void merge_devs(struct merge *m)
{
    for (size_t i = 0; i < m->n; i++) {
        struct source *s = &m->v[i];
        s->dev = mem_alloc(s->c.n_devices * sizeof(*s->dev));
        s->done = mem_zero(s->c.n_columns, sizeof(*s->done));
        for (size_t k = 0; k < s->c.n_devices; k++) {
            size_t at = 0;
            while (at < m->n_devs && !str_eq_str(m->devs[at], s->c.devices[k]))
                at++;
            if (at == m->n_devs) {
                VEC_ROOM(m->devs, m->n_devs, m->cap_devs);
                m->devs[m->n_devs++] = s->c.devices[k];
            }
            s->dev[k] = (uint16_t)at;
        }
    }
}

/* One cell of a source into what is made: v and have are those of a device. */
static void merge_cell(const struct merge *m, int64_t *v, uint64_t *have, size_t row, const int64_t *from, size_t tick)
{
    size_t stride = m->n_ticks, from_stride = m->cells.n_ticks;
    bool there = have[row / 64] >> row % 64 & 1;

    have[row / 64] |= 1ull << row % 64;
    if (m->tier == TIER_RAW) {
        v[row] = from[tick];
        return;
    }
    int64_t start = m->ticks[row], len = tier_bin_ms(m->tier);
    struct part_bin was = {0}, more;
    if (there)
        part_bin_get(&was, v + row, stride, start, len);
    part_bin_get(&more, from + tick, from_stride, start, len);
    part_bin_add(&was, &more);
    part_bin_put(&was, v + row, stride, start, len);
}

static void merge_source(struct merge *m, struct source *s, struct chunk_key key, const uint16_t *place, int64_t *v,
                         uint64_t *have)
{
    size_t words = chunk_words(m->n_ticks);

    for (size_t k = 0; k < s->c.n_columns; k++) {
        const struct chunk_part *p = &s->c.columns[k];
        if (s->done[k] || !chunk_key_eq(p->key, key))
            continue;
        s->done[k] = true;
        if (chunk_read(&s->c, k, &m->cells, NULL) < 0) {
            (*m->damaged)++;
            continue;
        }
        for (size_t d = 0; d < p->n_devs; d++) {
            size_t to = place[s->dev[p->devs[d]]];
            for (size_t i = 0; i < s->c.n_ticks; i++)
                if (chunk_has(&m->cells, d, i))
                    merge_cell(m, v + to * m->lanes * m->n_ticks, have + to * words, s->row[i],
                               chunk_lane(&m->cells, d, 0), i);
        }
    }
}

/* Every source's column of this key, as one. */
static int merge_column(struct merge *m, struct chunk_writer *w, struct chunk_key key)
{
    AUTO_FREE uint16_t *place = mem_zero(m->n_devs, sizeof(*place)); /* of a device in the column */
    AUTO_FREE uint16_t *devs = mem_alloc(m->n_devs * sizeof(*devs));
    size_t n = 0, words = chunk_words(m->n_ticks);

    for (size_t i = 0; i < m->n; i++)
        for (size_t k = 0; k < m->v[i].c.n_columns; k++) {
            const struct chunk_part *p = &m->v[i].c.columns[k];
            for (size_t d = 0; chunk_key_eq(p->key, key) && d < p->n_devs; d++)
                place[m->v[i].dev[p->devs[d]]] = 1;
        }
    for (size_t i = 0; i < m->n_devs; i++)
        if (place[i]) {
            place[i] = (uint16_t)n;
            devs[n++] = (uint16_t)i;
        }
    if (n * m->lanes > CHUNK_CELLS_MAX / m->n_ticks)
        return -E2BIG;
    AUTO_FREE int64_t *v = mem_zero(n * m->lanes * m->n_ticks, sizeof(*v));
    AUTO_FREE uint64_t *have = mem_zero(n * words, sizeof(*have));
    AUTO_FREE const uint64_t **have_of = mem_alloc(n * sizeof(*have_of));
    for (size_t i = 0; i < m->n; i++)
        merge_source(m, &m->v[i], key, place, v, have);
    for (size_t d = 0; d < n; d++) {
        size_t present = 0;
        for (size_t i = 0; i < words; i++)
            present += (size_t)__builtin_popcountll(have[d * words + i]);
        have_of[d] = present == m->n_ticks ? NULL : have + d * words;
    }
    return chunk_add(w, &(struct chunk_column){key, n, devs, have_of, v});
}

int chunks_merge(struct chunk_writer *w, int tier, const struct str *from, size_t n, struct buf *out,
                 struct table_chunk *ret, uint32_t *ret_damaged)
{
    struct merge m = {.tier = tier, .lanes = tier == TIER_RAW ? 1 : LANES, .damaged = ret_damaged};
    int r = 0;

    m.v = mem_zero(n, sizeof(*m.v));
    for (size_t i = 0; i < n; i++) {
        struct chunk *c = &m.v[m.n].c;
        if (chunk_open(c, from[i], NULL) == 0 && c->lanes == m.lanes) {
            m.n++;
        } else {
            chunk_fini(c);
            (*ret_damaged)++;
        }
    }
    r = merge_ticks(&m);
    if (r == 0) {
        merge_devs(&m);
        r = chunk_begin(w, m.lanes, m.ticks, m.n_ticks, m.devs, m.n_devs);
    }
    for (size_t i = 0; i < m.n && r == 0; i++)
        for (size_t k = 0; k < m.v[i].c.n_columns && r == 0; k++)
            if (!m.v[i].done[k])
                r = merge_column(&m, w, m.v[i].c.columns[k].key);
    if (r == 0)
        r = chunk_end(w, out);
    if (r == 0)
        *ret = (struct table_chunk){.tier = tier,
                                    .from_ms = m.ticks[0],
                                    .to_ms = m.ticks[m.n_ticks - 1],
                                    .bytes = buf_str(out)};
    merge_fini(&m);
    return r;
}
