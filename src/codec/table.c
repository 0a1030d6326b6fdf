/*
 * table.c: a table of samples: batches in, chunks out. Cells are dense: a rarely read series still has a place in every
 * row.
 */
#include "codec/table.h"

#include "base/mem.h"
#include "base/order.h"
#include "codec/ints.h"

struct tseries {
    uint32_t dev, metric; /* metric: the number, or CUSTOM_BASE + index in names */
    int64_t *v;
    uint64_t *have;
};
#define CUSTOM_BASE 0x10000u

struct batch_column { /* a column of a batch, and the destination of its values: likely the same for the next batch */
    uint16_t slot, metric;
    uint32_t series;
};

struct order {
    int64_t at;
    uint32_t row;
};

struct table {
    int64_t *at;
    size_t n_rows, cap_rows; /* cap: also of every series; a multiple of 64 */
    struct tseries *series;
    size_t n_series, cap_series;
    uint32_t *slots; /* series + 1, by hash of (dev, metric) */
    size_t n_slots;
    char **devs, **names;
    size_t n_devs, cap_devs, n_names, cap_names;
    /* slots and custom metrics resolved by the facts of the last batch */
    uint64_t facts;
    bool has_facts;
    uint32_t *dev_of, *name_of; /* index + 1 */
    size_t n_dev_of, n_name_of;
    struct batch_column *taken; /* columns of the last batch */
    size_t n_taken, cap_taken;
    /* for writing */
    struct order *order;
    size_t cap_order;
    bool in_order; /* rows arrived in time order */
    struct buf out;
};

struct table *table_new(void)
{
    return NEW(struct table, .out = BUF_INIT(CHUNK_BYTES_MAX));
}

static void forget_facts(struct table *t)
{
    free(t->dev_of);
    free(t->name_of);
    t->dev_of = t->name_of = NULL;
    t->n_dev_of = t->n_name_of = t->n_taken = 0;
    t->has_facts = false;
}

void table_reset(struct table *t)
{
    for (size_t i = 0; i < t->n_series; i++) {
        free(t->series[i].v);
        free(t->series[i].have);
    }
    for (size_t i = 0; i < t->n_devs; i++)
        free(t->devs[i]);
    for (size_t i = 0; i < t->n_names; i++)
        free(t->names[i]);
    t->n_series = t->n_devs = t->n_names = t->n_rows = 0;
    if (t->n_slots)
        memset(t->slots, 0, t->n_slots * sizeof(*t->slots));
    forget_facts(t);
}

void table_free(struct table *t)
{
    if (!t)
        return;
    table_reset(t);
    FREE_ALL(t->at, t->series, t->taken, t->slots, t->devs, t->names, t->order);
    buf_fini(&t->out);
    free(t);
}

size_t table_rows(const struct table *t)
{
    return t->n_rows;
}

bool table_full(const struct table *t)
{
    return t->n_rows * t->n_series >= TABLE_CELLS || t->n_rows > CHUNK_TICKS_MAX / 4 ||
           t->n_devs > CHUNK_DEVICES_MAX / 2 || t->n_names > CHUNK_COLUMNS_MAX / 2;
}

/* ---- adding ---- */

static uint32_t intern(char ***v, size_t *n, size_t *cap, struct str name)
{
    for (size_t i = 0; i < *n; i++)
        if (str_eq(name, (*v)[i]))
            return (uint32_t)i;
    VEC_ROOM(*v, *n, *cap);
    (*v)[*n] = mem_strn(name.p, name.len);
    return (uint32_t)(*n)++;
}

static uint32_t *place(uint32_t **v, size_t *n, size_t i)
{
    if (i >= *n) {
        size_t want = MAX(i + 1, *n * 2);
        *v = mem_grow(*v, want, sizeof(**v));
        memset(*v + *n, 0, (want - *n) * sizeof(**v));
        *n = want;
    }
    return &(*v)[i];
}

static uint32_t table_dev(struct table *t, const struct node_fact *f, unsigned slot)
{
    uint32_t *p = place(&t->dev_of, &t->n_dev_of, slot);
    char room[24];

    if (!*p)
        *p = 1 + intern(&t->devs, &t->n_devs, &t->cap_devs, slot_name(f, slot, room));
    return *p - 1;
}

static uint32_t table_metric(struct table *t, const struct node_fact *f, unsigned metric)
{
    char room[24];

    if (metric < METRIC_CUSTOM)
        return metric;
    uint32_t *p = place(&t->name_of, &t->n_name_of, metric - METRIC_CUSTOM);
    if (!*p)
        *p = 1 + intern(&t->names, &t->n_names, &t->cap_names, custom_name(f, metric, room));
    return CUSTOM_BASE + *p - 1;
}

static size_t table_slot(const struct table *t, uint32_t dev, uint32_t metric)
{
    uint64_t h = ((uint64_t)dev << 32 | metric) * 0x9e3779b97f4a7c15u;
    size_t i = (h >> 32) & (t->n_slots - 1);

    for (; t->slots[i]; i = (i + 1) & (t->n_slots - 1)) {
        const struct tseries *s = &t->series[t->slots[i] - 1];
        if (s->dev == dev && s->metric == metric)
            break;
    }
    return i;
}

/* Index of the series. */
static uint32_t table_series(struct table *t, uint32_t dev, uint32_t metric)
{
    if (t->n_slots < 2 * (t->n_series + 1)) {
        t->n_slots = t->n_slots ? t->n_slots * 2 : 1024;
        free(t->slots);
        t->slots = mem_zero(t->n_slots, sizeof(*t->slots));
        for (size_t i = 0; i < t->n_series; i++)
            t->slots[table_slot(t, t->series[i].dev, t->series[i].metric)] = (uint32_t)i + 1;
    }
    size_t at = table_slot(t, dev, metric);
    if (!t->slots[at]) {
        VEC_ROOM(t->series, t->n_series, t->cap_series);
        t->series[t->n_series] = (struct tseries){.dev = dev,
                                                  .metric = metric,
                                                  .v = mem_alloc(t->cap_rows * sizeof(int64_t)),
                                                  .have = mem_zero(t->cap_rows / 64, sizeof(uint64_t))};
        t->slots[at] = (uint32_t)++t->n_series;
    }
    return t->slots[at] - 1;
}

static bool same_columns(const struct table *t, const struct batch *b)
{
    bool same = t->n_taken == b->n_columns;

    for (size_t k = 0; k < b->n_columns && same; k++)
        same = t->taken[k].slot == b->columns[k].slot && t->taken[k].metric == b->columns[k].metric;
    return same;
}

/* Finds the series of a batch's columns. */
static void take_columns(struct table *t, const struct batch *b, const struct node_fact *facts)
{
    t->n_taken = 0;
    for (size_t k = 0; k < b->n_columns; k++) {
        const struct column *c = &b->columns[k];
        uint32_t at = table_series(t, table_dev(t, facts, c->slot), table_metric(t, facts, c->metric));
        VEC_ADD(t->taken, t->n_taken, t->cap_taken, (struct batch_column){c->slot, c->metric, at});
    }
}

static void table_room(struct table *t, size_t rows)
{
    if (rows <= t->cap_rows)
        return;
    size_t cap = MAX(rows, t->cap_rows * 2);
    cap = (cap + 1023) / 1024 * 1024;
    t->at = mem_grow(t->at, cap, sizeof(*t->at));
    for (size_t i = 0; i < t->n_series; i++) {
        struct tseries *s = &t->series[i];
        s->v = mem_grow(s->v, cap, sizeof(*s->v));
        s->have = mem_grow(s->have, cap / 64, sizeof(*s->have));
        memset(s->have + t->cap_rows / 64, 0, (cap - t->cap_rows) / 64 * sizeof(*s->have));
    }
    t->cap_rows = cap;
}

static inline void set_rows(uint64_t *have, size_t from, size_t n)
{
    if (n < 64 - from % 64) { /* a batch has few */
        have[from / 64] |= ((1ull << n) - 1) << from % 64;
        return;
    }
    for (size_t at = from, end = from + n; at < end; at = (at / 64 + 1) * 64) {
        uint64_t upto = end - at / 64 * 64 < 64 ? (1ull << end % 64) - 1 : UINT64_MAX;
        have[at / 64] |= UINT64_MAX << at % 64 & upto;
    }
}

int64_t table_newest_ms(const struct table *t)
{
    int64_t newest = INT64_MIN;

    for (size_t i = 0; i < t->n_rows; i++)
        newest = MAX(newest, t->at[i]);
    return newest;
}

void table_add(struct table *t, const struct batch *b, const struct node_fact *facts, int64_t shift_ms)
{
    if (!t->has_facts || t->facts != b->facts)
        forget_facts(t);
    t->facts = b->facts;
    t->has_facts = true;
    size_t row = t->n_rows, n = b->n_ticks;
    table_room(t, row + n);
    for (size_t i = 0; i < n; i++)
        t->at[row + i] = b->at_ms[i] + shift_ms;
    if (!same_columns(t, b))
        take_columns(t, b, facts);
    for (size_t k = 0; k < b->n_columns; k++) {
        const struct column *c = &b->columns[k];
        const struct tseries *s = &t->series[t->taken[k].series];
        if (!c->have && n == 1) { /* as agents send while a client is connected */
            s->v[row] = c->v[0];
            s->have[row / 64] |= 1ull << row % 64;
            continue;
        }
        if (!c->have) {
            memcpy(s->v + row, c->v, n * sizeof(*c->v));
            set_rows(s->have, row, n);
            continue;
        }
        for (size_t i = 0, at = row; i < n; i++, at++)
            if (column_has(c, i)) {
                s->v[at] = c->v[i];
                s->have[at / 64] |= 1ull << at % 64;
            }
    }
    t->n_rows += n;
}

/* ---- writing ---- */

COMPARE(by_time, struct order, ORDER(x->at, y->at) ?: ORDER(x->row, y->row))

COMPARE(by_metric, struct tseries, ORDER(x->metric, y->metric) ?: ORDER(x->dev, y->dev))

static void table_sort(struct table *t)
{
    bool sorted = true;

    VEC_LEAST(t->order, t->cap_order, t->n_rows);
    for (size_t i = 0; i < t->n_rows; i++) {
        t->order[i] = (struct order){t->at[i], (uint32_t)i};
        sorted &= !i || t->at[i] >= t->at[i - 1];
    }
    t->in_order = sorted;
    if (!sorted)
        qsort(t->order, t->n_rows, sizeof(*t->order), by_time);
    SORT(t->series, t->n_series, by_metric);
    if (t->n_slots) /* indices have changed: no lookup before the next reset */
        memset(t->slots, 0, t->n_slots * sizeof(*t->slots));
}

/* Working memory of one write: a column's cells, and the ticks of the chunk. */
struct cells {
    size_t n_ticks, n_rows;
    unsigned lanes;
    int64_t *v, *ticks, *usual;
    uint64_t *have;
    const uint64_t **have_of;
    const int64_t **v_of; /* per device: in v, or a row of the table */
    uint16_t *devs;
    struct part_bin *bins;
    uint32_t *bin_of, *bin_end; /* per row of the span; per bin, the end of its rows */
};

static void cells_fini(struct cells *c)
{
    FREE_ALL(c->v, c->ticks, c->usual, c->have, c->have_of, c->v_of, c->devs, c->bins, c->bin_of, c->bin_end);
}

/* Present bits of one device; NULL if every tick has it. Returns false if none has. */
static bool cells_have(struct cells *c, size_t dev, size_t present)
{
    c->have_of[dev] = present == c->n_ticks ? NULL : c->have + dev * chunk_words(c->n_ticks);
    return present > 0;
}

static bool raw_series(struct cells *c, size_t dev, const struct tseries *s, const struct order *o, bool plain)
{
    uint64_t *h = c->have + dev * chunk_words(c->n_ticks);
    int64_t *v = c->v + dev * c->n_ticks;
    size_t present = 0;

    if (plain) {
        c->v_of[dev] = s->v + o[0].row;
        return cells_have(c, dev, c->n_ticks);
    }
    memset(h, 0, chunk_words(c->n_ticks) * sizeof(*h));
    for (size_t i = 0; i < c->n_ticks; i++) {
        uint32_t row = o[i].row;
        bool on = s->have[row / 64] >> row % 64 & 1;
        v[i] = on ? s->v[row] : 0;
        h[i / 64] |= (uint64_t)on << i % 64;
        present += on;
    }
    return cells_have(c, dev, present);
}

/*
 * Bins of a series that has a value in every row, and whose rows are contiguous: nearly all series, half of them
 * constant.
 */
static bool plain_tier(struct cells *c, size_t dev, const struct tseries *s, const struct order *o, bool keep_last)
{
    int64_t *lane = c->v + dev * c->lanes * c->n_ticks;
    const int64_t *v = s->v + o[0].row;
    size_t n = c->n_ticks;
    bool constant = is_constant(v, c->bin_end[n - 1]);

    for (size_t i = 0, at = 0; i < n; i++) {
        size_t end = c->bin_end[i], count = end - at;
        int64_t min = v[at], max = min;
        uint64_t sum = constant ? (uint64_t)min * count : 0;
        for (at = constant ? end : at; at < end; at++) {
            sum += (uint64_t)v[at];
            min = MIN(min, v[at]);
            max = MAX(max, v[at]);
        }
        lane[LANE_COUNT * n + i] = (int64_t)count;
        lane[LANE_MIN * n + i] = min;
        lane[LANE_MAX * n + i] = (int64_t)((uint64_t)max - (uint64_t)min);
        lane[LANE_LAST * n + i] = keep_last ? lane_last(v[end - 1], min, max) : LAST_IS_MEAN;
        lane[LANE_SUM * n + i] = (int64_t)(sum - (uint64_t)min * count);
        lane[LANE_POS * n + i] = c->usual[LANE_POS * n + i];
    }
    return cells_have(c, dev, n);
}

static bool tier_series(struct cells *c, size_t dev, const struct tseries *s, const struct order *o, int64_t len,
                        bool keep_last)
{
    uint64_t *h = c->have + dev * chunk_words(c->n_ticks);
    int64_t *v = c->v + dev * c->lanes * c->n_ticks;
    size_t present = 0;

    memset(h, 0, chunk_words(c->n_ticks) * sizeof(*h));
    memset(c->bins, 0, c->n_ticks * sizeof(*c->bins));
    for (size_t i = 0; i < c->n_rows; i++) {
        uint32_t row = o[i].row;
        if (s->have[row / 64] >> row % 64 & 1)
            part_bin_point(&c->bins[c->bin_of[i]], o[i].at, s->v[row]);
    }
    for (size_t i = 0; i < c->n_ticks; i++) {
        if (!c->bins[i].b.count)
            continue;
        part_bin_put(&c->bins[i], keep_last, v + i, c->n_ticks, c->ticks[i], len);
        h[i / 64] |= 1ull << i % 64;
        present++;
    }
    return cells_have(c, dev, present);
}

/* The ticks of a chunk; in tiers also the ends of bins and their usual counts: a value from every row. */
static void span_ticks(struct cells *c, int tier, const struct order *o, size_t n)
{
    int64_t len = tier_bin_ms(tier);

    c->n_ticks = 0;
    c->n_rows = n;
    for (size_t i = 0; i < n; i++) {
        if (tier == TIER_RAW || !i || o[i].at >= c->ticks[c->n_ticks - 1] + len)
            c->ticks[c->n_ticks++] = floor_to(o[i].at, len);
        c->bin_of[i] = (uint32_t)c->n_ticks - 1;
        c->bin_end[c->n_ticks - 1] = (uint32_t)i + 1;
    }
    for (size_t i = 0; i < c->n_ticks && tier != TIER_RAW; i++) {
        uint32_t from = i ? c->bin_end[i - 1] : 0, end = c->bin_end[i];
        c->usual[LANE_COUNT * c->n_ticks + i] = end - from;
        c->usual[LANE_LAST * c->n_ticks + i] = LAST_IS_MEAN;
        c->usual[LANE_POS * c->n_ticks + i] = lane_pos(o[end - 1].at, c->ticks[i], len);
    }
}

static struct chunk_key key_of(const struct table *t, uint32_t metric)
{
    if (metric < CUSTOM_BASE)
        return (struct chunk_key){.no = (uint16_t)metric};
    return (struct chunk_key){.name = str_of(t->names[metric - CUSTOM_BASE])};
}

/* Writes all columns of one metric. */
static int write_column(const struct table *t, struct chunk_writer *w, int tier, const struct order *o, size_t n,
                        struct cells *c, size_t *series)
{
    uint32_t metric = t->series[*series].metric;
    struct chunk_column col = {.key = key_of(t, metric), .devs = c->devs, .have = c->have_of, .v = c->v_of};
    bool keep_last = tier_keeps_last(col.key);

    for (; *series < t->n_series && t->series[*series].metric == metric; ++*series) {
        const struct tseries *s = &t->series[*series];
        bool plain = t->in_order && chunk_run(s->have, o[0].row, o[0].row + n, true) == n;
        c->devs[col.n_devs] = (uint16_t)s->dev;
        c->v_of[col.n_devs] = c->v + col.n_devs * c->lanes * c->n_ticks;
        if (tier == TIER_RAW)
            col.n_devs += raw_series(c, col.n_devs, s, o, plain);
        else
            col.n_devs += plain ? plain_tier(c, col.n_devs, s, o, keep_last)
                                : tier_series(c, col.n_devs, s, o, tier_bin_ms(tier), keep_last);
    }
    return col.n_devs ? chunk_add(w, &col) : 0;
}

/* Rows o[0..n) are all in one bucket. */
static int write_span(struct table *t, struct chunk_writer *w, int tier, const struct order *o, size_t n,
                      struct cells *c)
{
    static const unsigned usual[] = {LANE_COUNT, LANE_LAST, LANE_POS};
    AUTO_FREE struct str *names = mem_alloc(t->n_devs * sizeof(*names));

    span_ticks(c, tier, o, n);
    for (size_t i = 0; i < t->n_devs; i++)
        names[i] = str_of(t->devs[i]);
    int r = chunk_begin(w, c->lanes, c->ticks, c->n_ticks, names, t->n_devs);
    for (size_t i = 0; i < ARRAY_LEN(usual) && r == 0 && tier != TIER_RAW; i++)
        r = chunk_set_defaults(w, usual[i], c->usual + usual[i] * c->n_ticks);
    for (size_t i = 0; i < t->n_series && r == 0;)
        r = write_column(t, w, tier, o, n, c, &i);
    if (r < 0)
        return r;
    buf_reset(&t->out);
    return chunk_end(w, &t->out);
}

/* Maximum number of bins of a chunk: far fewer than rows. */
static size_t most_bins(const struct table *t, int tier)
{
    int64_t len = tier_bin_ms(tier), end = INT64_MIN;
    size_t n = 0;

    for (size_t i = 0; i < t->n_rows; i++)
        if (t->order[i].at >= end) {
            end = floor_to(t->order[i].at, len) + len;
            n++;
        }
    return n;
}

static int write_tier(struct table *t, struct chunk_writer *w, int tier,
                      int (*each)(void *arg, const struct table_chunk *c), void *arg)
{
    int64_t bucket_ms = tier_bucket_ms(tier);
    size_t n = t->n_rows, n_devs = t->n_devs;
    struct cells c = {.lanes = tier == TIER_RAW ? 1 : LANES};
    int r = 0;

    size_t ticks = tier == TIER_RAW ? n : most_bins(t, tier);
    c.v = mem_zero(MAX(n_devs, 1) * c.lanes * ticks, sizeof(*c.v));
    c.ticks = mem_alloc(n * sizeof(*c.ticks));
    c.usual = mem_alloc(LANES * ticks * sizeof(*c.usual));
    c.have = mem_alloc(n_devs * chunk_words(n) * sizeof(*c.have));
    c.have_of = mem_zero(n_devs, sizeof(*c.have_of));
    c.v_of = mem_alloc(n_devs * sizeof(*c.v_of));
    c.devs = mem_alloc(n_devs * sizeof(*c.devs));
    c.bins = mem_alloc(n * sizeof(*c.bins));
    c.bin_of = mem_alloc(n * sizeof(*c.bin_of));
    c.bin_end = mem_alloc(n * sizeof(*c.bin_end));
    for (size_t i = 0, end; i < n && r == 0; i = end) {
        int64_t bucket = floor_to(t->order[i].at, bucket_ms);
        for (end = i + 1; end < n && t->order[end].at - bucket < bucket_ms; end++)
            ;
        r = write_span(t, w, tier, t->order + i, end - i, &c);
        struct table_chunk out = {tier, bucket, c.ticks[0], c.ticks[c.n_ticks - 1], buf_str(&t->out)};
        if (r == 0)
            r = each(arg, &out);
    }
    cells_fini(&c);
    return r;
}

int table_write(struct table *t, struct chunk_writer *w, int last, int (*each)(void *arg, const struct table_chunk *c),
                void *arg)
{
    int r = 0;

    if (t->n_rows == 0 || t->n_series == 0)
        return 0;
    table_sort(t);
    for (int tier = TIER_RAW; tier <= last && r == 0; tier++)
        r = write_tier(t, w, tier, each, arg);
    return r;
}
