/*
 * merge.c: merges several chunks of one tier into one, of the same tier or a coarser one. Works metric by metric, so
 * that memory is limited to one column.
 */
#include <errno.h>

#include "base/mem.h"
#include "base/order.h"
#include "base/rand.h"
#include "codec/table.h"

struct source {
    struct chunk c;
    uint32_t *row; /* per tick, its row in the result */
    uint16_t *dev; /* per device */
    bool *done;    /* per column */
    bool alone;    /* no tick shares a row with another, and rows are consecutive */
};

struct merge {
    int from_tier, tier;
    unsigned lanes;
    struct source *v;
    size_t n;
    int64_t *ticks, *usual;
    size_t n_ticks;
    struct str *devs;
    size_t n_devs, cap_devs;
    struct chunk_cells cells;
    uint32_t *damaged;
};

static void merge_fini(struct merge *m)
{
    for (size_t i = 0; i < m->n; i++) {
        chunk_fini(&m->v[i].c);
        FREE_ALL(m->v[i].row, m->v[i].dev, m->v[i].done);
    }
    FREE_ALL(m->v, m->ticks, m->usual, m->devs);
    chunk_cells_fini(&m->cells);
}

struct mtick {
    int64_t at;
    uint32_t source, tick;
};

COMPARE(by_time, struct mtick, ORDER(x->at, y->at) ?: ORDER(x->source, y->source) ?: ORDER(x->tick, y->tick))

static void find_alone(struct merge *m)
{
    AUTO_FREE uint8_t *uses = mem_zero(m->n_ticks, 1);

    for (size_t i = 0; i < m->n; i++)
        for (size_t k = 0; k < m->v[i].c.n_ticks; k++) {
            uint8_t *u = &uses[m->v[i].row[k]];
            *u = (uint8_t)MIN(*u + 1, 2);
        }
    for (size_t i = 0; i < m->n; i++) {
        struct source *s = &m->v[i];
        s->alone = m->from_tier == m->tier;
        for (size_t k = 0; k < s->c.n_ticks && s->alone; k++)
            s->alone = uses[s->row[k]] == 1 && s->row[k] == s->row[0] + k;
    }
}

/* Keeps all raw ticks, also several of one time; merges bins of the same time. */
static int merge_ticks(struct merge *m)
{
    size_t n = 0, at = 0;
    int64_t len = tier_bin_ms(m->tier);
    bool sorted = true;

    for (size_t i = 0; i < m->n; i++)
        n += m->v[i].c.n_ticks;
    if (n == 0 || n > 4 * (size_t)CHUNK_TICKS_MAX)
        return -E2BIG;
    AUTO_FREE struct mtick *all = mem_alloc(n * sizeof(*all));
    for (size_t i = 0; i < m->n; i++) {
        m->v[i].row = mem_alloc(m->v[i].c.n_ticks * sizeof(uint32_t));
        for (size_t k = 0; k < m->v[i].c.n_ticks; k++, at++) {
            all[at] = (struct mtick){floor_to(m->v[i].c.ticks[k], len), (uint32_t)i, (uint32_t)k};
            sorted &= !at || all[at].at >= all[at - 1].at;
        }
    }
    if (!sorted)
        qsort(all, n, sizeof(*all), by_time);
    m->ticks = mem_alloc(n * sizeof(*m->ticks));
    for (size_t i = 0; i < n; i++) {
        if (m->tier == TIER_RAW || !i || all[i].at != all[i - 1].at)
            m->ticks[m->n_ticks++] = all[i].at;
        m->v[all[i].source].row[all[i].tick] = (uint32_t)m->n_ticks - 1;
    }
    find_alone(m);
    return 0;
}

/* The usual value of a bin, from those of its parts. */
static int merge_usual(struct merge *m, struct chunk_writer *w)
{
    int64_t *count, *last, *pos, len = tier_bin_ms(m->from_tier);
    int r;

    if (m->tier == TIER_RAW)
        return 0;
    m->usual = mem_zero(3 * m->n_ticks, sizeof(*m->usual));
    count = m->usual;
    last = count + m->n_ticks;
    pos = last + m->n_ticks;
    for (size_t i = 0; i < m->n_ticks; i++)
        last[i] = LAST_IS_MEAN;
    for (size_t i = 0; i < m->n; i++) {
        const struct chunk *c = &m->v[i].c;
        for (size_t k = 0; k < c->n_ticks && c->usual[LANE_COUNT] && c->usual[LANE_POS]; k++) {
            const int64_t lane[LANES] = {[LANE_COUNT] = c->usual[LANE_COUNT][k], [LANE_POS] = c->usual[LANE_POS][k]};
            size_t row = m->v[i].row[k];
            struct part_bin b;
            part_bin_get(&b, lane, 1, c->ticks[k], len);
            count[row] += (int64_t)b.b.count;
            pos[row] = MAX(pos[row], lane_pos(b.last_ms, m->ticks[row], tier_bin_ms(m->tier)));
        }
    }
    r = chunk_set_defaults(w, LANE_COUNT, count);
    if (r == 0)
        r = chunk_set_defaults(w, LANE_LAST, last);
    return r < 0 ? r : chunk_set_defaults(w, LANE_POS, pos);
}

static void merge_devs(struct merge *m)
{
    for (size_t i = 0; i < m->n; i++) {
        struct source *s = &m->v[i];
        s->dev = mem_alloc(s->c.n_devices * sizeof(*s->dev));
        s->done = mem_zero(s->c.n_columns, sizeof(*s->done));
        for (size_t k = 0; k < s->c.n_devices; k++) {
            size_t at = FIRST(m->n_devs, d, str_eq_str(m->devs[d], s->c.devices[k]));
            if (at == m->n_devs)
                VEC_ADD(m->devs, m->n_devs, m->cap_devs, s->c.devices[k]);
            s->dev[k] = (uint16_t)at;
        }
    }
}

/* A column of the result: a metric over some devices. */
struct made {
    uint16_t *place, *devs; /* index of a device in the column; its devices */
    size_t n;
    bool keep_last;
    int64_t *v;
    uint64_t *have;
};

static void copy_cell(const struct merge *m, int64_t *v, size_t row, const int64_t *from, size_t tick)
{
    for (unsigned lane = 0; lane < m->lanes; lane++)
        v[lane * m->n_ticks + row] = from[lane * chunk_lane_step(&m->cells) + tick];
}

static void add_cell(const struct merge *m, const struct made *to, int64_t *v, bool there, size_t row,
                     const int64_t *from, const struct source *s, size_t tick)
{
    int64_t start = m->ticks[row], len = tier_bin_ms(m->tier);
    struct part_bin was = {0}, more;

    if (there)
        part_bin_get(&was, v + row, m->n_ticks, start, len);
    part_bin_get(&more, from + tick, chunk_lane_step(&m->cells), s->c.ticks[tick], tier_bin_ms(m->from_tier));
    part_bin_add(&was, &more);
    part_bin_put(&was, to->keep_last, v + row, m->n_ticks, start, len);
}

/* Copies ticks that no other source has and that are contiguous: also absent cells, which have marks. */
static void copy_device(const struct merge *m, const struct source *s, size_t d, int64_t *v, uint64_t *have)
{
    const int64_t *from = chunk_lane(&m->cells, d, 0);
    const uint64_t *bits = m->cells.have + d * chunk_words(s->c.n_ticks);
    size_t row = s->row[0];

    for (unsigned lane = 0; lane < m->lanes; lane++)
        memcpy(v + lane * m->n_ticks + row, from + lane * chunk_lane_step(&m->cells), s->c.n_ticks * sizeof(*v));
    have += row / 64;
    for (size_t i = 0; i < chunk_words(s->c.n_ticks); i++) {
        uint64_t over = row % 64 ? bits[i] >> (64 - row % 64) : 0;
        have[i] |= bits[i] << row % 64;
        if (over)
            have[i + 1] |= over;
    }
}

static void merge_device(const struct merge *m, const struct source *s, size_t d, struct made *to, size_t place)
{
    int64_t *v = to->v + place * m->lanes * m->n_ticks;
    uint64_t *have = to->have + place * chunk_words(m->n_ticks);
    const int64_t *from = chunk_lane(&m->cells, d, 0);

    if (s->alone) {
        copy_device(m, s, d, v, have);
        return;
    }
    for (size_t i = 0; i < s->c.n_ticks; i++) {
        size_t row = s->row[i];
        if (!chunk_has(&m->cells, d, i))
            continue;
        if (m->tier == TIER_RAW)
            copy_cell(m, v, row, from, i);
        else
            add_cell(m, to, v, have[row / 64] >> row % 64 & 1, row, from, s, i);
        have[row / 64] |= 1ull << row % 64;
    }
}

static void merge_source(struct merge *m, struct source *s, struct chunk_key key, struct made *to)
{
    for (size_t k = 0; k < s->c.n_columns; k++) {
        const struct chunk_part *p = &s->c.columns[k];
        if (s->done[k] || !chunk_key_eq(p->key, key))
            continue;
        s->done[k] = true;
        if (chunk_read(&s->c, k, &m->cells, NULL) < 0) {
            (*m->damaged)++;
            continue;
        }
        for (size_t d = 0; d < p->n_devs; d++)
            merge_device(m, s, d, to, to->place[s->dev[p->devs[d]]]);
    }
}

/* Merges every source's column of this key. */
static int merge_column(struct merge *m, struct chunk_writer *w, struct chunk_key key)
{
    AUTO_FREE uint16_t *place = mem_zero(m->n_devs, sizeof(*place)), *devs = mem_alloc(m->n_devs * sizeof(*devs));
    struct made to = {.place = place, .devs = devs, .keep_last = tier_keeps_last(key)};
    size_t words = chunk_words(m->n_ticks);

    for (size_t i = 0; i < m->n; i++)
        for (size_t k = 0; k < m->v[i].c.n_columns; k++) {
            const struct chunk_part *p = &m->v[i].c.columns[k];
            for (size_t d = 0; chunk_key_eq(p->key, key) && d < p->n_devs; d++)
                place[m->v[i].dev[p->devs[d]]] = 1;
        }
    for (size_t i = 0; i < m->n_devs; i++)
        if (place[i]) {
            place[i] = (uint16_t)to.n;
            devs[to.n++] = (uint16_t)i;
        }
    if (to.n * m->lanes > CHUNK_CELLS_MAX / m->n_ticks)
        return -E2BIG;
    AUTO_FREE int64_t *v = to.v = mem_alloc(to.n * m->lanes * m->n_ticks * sizeof(*v));
    AUTO_FREE uint64_t *have = to.have = mem_zero(to.n * words, sizeof(*have));
    AUTO_FREE const uint64_t **have_of = mem_alloc(to.n * sizeof(*have_of));
    AUTO_FREE const int64_t **v_of = mem_alloc(to.n * sizeof(*v_of));
    for (size_t i = 0; i < m->n; i++)
        merge_source(m, &m->v[i], key, &to);
    for (size_t d = 0; d < to.n; d++) {
        have_of[d] = chunk_count(have + d * words, m->n_ticks) == m->n_ticks ? NULL : have + d * words;
        v_of[d] = v + d * m->lanes * m->n_ticks;
    }
    return chunk_add(w, &(struct chunk_column){key, to.n, devs, have_of, v_of});
}

int chunks_merge(struct chunk_writer *w, int from_tier, int tier, const struct str *from, size_t n, struct buf *out,
                 struct table_chunk *ret, uint32_t *ret_damaged)
{
    struct merge m = {.from_tier = from_tier,
                      .tier = tier,
                      .lanes = tier == TIER_RAW ? 1 : LANES,
                      .damaged = ret_damaged};
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
    if (r == 0)
        r = merge_usual(&m, w);
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

bool chunk_whole(struct str bytes, int tier)
{
    struct chunk c;
    bool whole = chunk_open(&c, bytes, NULL) == 0 && c.lanes == (tier == TIER_RAW ? 1 : LANES);

    for (size_t i = 0; i < c.n_columns && whole; i++) {
        const struct chunk_part *p = &c.columns[i];
        whole = p->off <= bytes.len && p->len <= bytes.len - p->off &&
                (p->inside || crc32c(0, bytes.p + p->off, p->len) == p->crc);
    }
    chunk_fini(&c);
    return whole;
}
