/* sink.c: collects bins, points and names out of chunks and batches. */
#include "store/sink.h"

#include "base/mem.h"
#include "base/order.h"
#include "base/quotient.h"
#include "base/rand.h"
#include "model/metric.h"
#include "store/node_sums.h"

#define BINS_MAX   (4u << 20)
#define RUNS_WORTH 4           /* samples in a bin: with fewer each of them is checked anyway */
#define POINTS_MAX (16u << 20) /* 256 MB */

static struct chunk_key metric_key(const char *name)
{
    int m = metric_by_name(str_of(name));

    if (m >= 0)
        return (struct chunk_key){.no = metrics[m].no};
    return (struct chunk_key){.name = str_of(name)};
}

static struct chunk_key column_key(const struct column *c, const struct node_fact *f, char room[24])
{
    if (c->metric < METRIC_CUSTOM)
        return (struct chunk_key){.no = c->metric};
    return (struct chunk_key){.name = custom_name(f, c->metric, room)};
}

static inline bool is_name(struct str s, const char *name)
{
    return strlen(name) == s.len && memcmp(name, s.p, s.len) == 0;
}

/* guess: its likely index. */
static int find_device(const struct chunk *c, const char *name, size_t guess)
{
    for (size_t i = 0; i < c->n_devices; i++) {
        size_t at = guess + i < c->n_devices ? guess + i : (guess + i) % c->n_devices;
        if (is_name(c->devices[at], name))
            return (int)at;
    }
    return -1;
}

static size_t first_gpu(const struct chunk *c)
{
    return c->n_devices > 0 && c->devices[0].len == 0;
}

uint64_t sink_devices_sum(const struct chunk *c)
{
    uint64_t sum = 0;

    for (size_t i = first_gpu(c); i < c->n_devices; i++)
        sum = names_sum(sum, c->devices[i]);
    return sum;
}

static int place_of(const struct chunk_part *p, int dev)
{
    size_t guess = p->n_devs && dev >= p->devs[0] ? (size_t)(dev - p->devs[0]) : p->n_devs;

    if (guess < p->n_devs && p->devs[guess] == dev) /* most columns have all GPUs, or the node itself */
        return (int)guess;
    size_t i = FIRST(p->n_devs, k, p->devs[k] == dev);
    return i < p->n_devs ? (int)i : -1;
}

/* A column's bytes, unless the chunk has them. */
static int load_column(struct sink *s, const struct chunk *c, size_t k, struct str *ret)
{
    if (c->columns[k].inside)
        *ret = str_n(c->bytes.p + c->columns[k].off, c->columns[k].len);
    return s->load && !ret->p ? s->load(s->load_arg, c, k, ret) : 0;
}

int sink_read_column(struct sink *s, const struct chunk *c, size_t k, struct chunk_want *want)
{
    struct str bytes = {0};
    int r = 0;

    if (c->columns[k].leans && !chunk_has_base(c, k, want, s->cells)) {
        r = load_column(s, c, c->columns[k].leans - 1, &bytes);
        if (r == 0)
            r = chunk_read_base(c, k, bytes, want, s->cells, NULL);
        bytes = (struct str){0};
    }
    if (r == 0)
        r = load_column(s, c, k, &bytes);
    want->plain = r == 1;
    if (r >= 0)
        r = chunk_read_part(c, k, bytes, want, s->cells, NULL);
    if (r != -EBADMSG)
        return r;
    s->damaged++;
    return 1;
}

/* ---- bins ---- */

static void bins_add(struct history *h, size_t at, const struct part_bin *p)
{
    struct bin *to = &h->v[at];

    if (to->count == 0) {
        *to = p->b;
        if (h->last_ms)
            h->last_ms[at] = p->last_ms;
        return;
    }
    struct part_bin was = {*to, h->last_ms ? h->last_ms[at] : 0};
    part_bin_add(&was, p);
    *to = was.b;
    if (h->last_ms)
        h->last_ms[at] = was.last_ms;
}

void bins_put(struct history *h, size_t series, size_t bin, const struct part_bin *p)
{
    if (series < h->n_series && bin < h->n)
        bins_add(h, series * h->n + bin, p);
}

/* n values, all present and in one bin. */
static void part_of_run(struct part_bin *ret, const int64_t *v, size_t n, int64_t last_ms, unsigned fields)
{
    uint64_t sum = 0;
    int64_t min = v[0], max = v[0];

    for (size_t i = 0; i < n && fields & BIN_SUM; i++)
        sum += (uint64_t)v[i];
    for (size_t i = 0; i < n && fields & (BIN_MIN | BIN_MAX); i++) {
        min = v[i] < min ? v[i] : min;
        max = v[i] > max ? v[i] : max;
    }
    *ret = (struct part_bin){{(uint32_t)n, (int64_t)sum, min, max, v[n - 1]}, last_ms};
}

/* As many bins as samples: the query of a chart of the last minutes. */
static void bins_singles(struct bins_sink *b, size_t row, const int64_t *v)
{
    const struct cut *cut = b->cuts, *end = cut + b->n_cuts;
    struct bin *bins = b->h.v + row;

    for (; cut < end; cut++, v++)
        if (bins[cut->bin].count == 0)
            bins[cut->bin] = (struct bin){1, *v, *v, *v, *v};
        else
            bins_add(&b->h, row + cut->bin, &(struct part_bin){.b = {1, *v, *v, *v, *v}});
}

/* Adds samples of one series to bins by the cuts. have NULL: all are present. constant: all of them are v[0]. */
static void bins_samples(struct bins_sink *b, size_t series, const int64_t *ticks, int64_t shift_ms, const int64_t *v,
                         const uint64_t *have, bool constant)
{
    size_t i = b->begin, row = series * b->h.n, last = b->cuts[b->n_cuts - 1].end;

    if (have && chunk_run(have, i, last, true) == last - i)
        have = NULL;
    if (!have && !constant && b->n_cuts == last - i && !b->h.last_ms) {
        bins_singles(b, row, v + i);
        return;
    }
    for (size_t k = 0; k < b->n_cuts; k++)
        for (size_t end = b->cuts[k].end; i < end;) {
            struct part_bin part;
            i += have ? chunk_run(have, i, end, false) : 0;
            size_t n = !have ? end - i : i < end ? chunk_run(have, i, end, true) : 0;
            if (n == 0)
                continue;
            int64_t last_ms = ticks[i + n - 1] + shift_ms;
            size_t at = row + b->cuts[k].bin;
            if (n == 1 || constant) {
                int64_t one = v[constant ? 0 : i];
                if (n == 1 && b->h.v[at].count == 0) { /* as many bins as samples */
                    b->h.v[at] = (struct bin){1, one, one, one, one};
                    if (b->h.last_ms)
                        b->h.last_ms[at] = last_ms;
                    i++;
                    continue;
                }
                part = (struct part_bin){{(uint32_t)n, (int64_t)((uint64_t)one * n), one, one, one}, last_ms};
            } else {
                part_of_run(&part, v + i, n, last_ms, b->fields);
            }
            bins_add(&b->h, at, &part);
            i += n;
        }
}

/* The same for runs, encoded as in SHAPE_RUNS. */
static void bins_runs(struct bins_sink *b, size_t series, const int64_t *ticks, const int64_t *run)
{
    size_t i = b->begin, row = series * b->h.n;

    while ((size_t)run[0] <= i)
        run += 2;
    for (size_t k = 0; k < b->n_cuts; k++) {
        size_t end = b->cuts[k].end;
        struct part_bin part = {{(uint32_t)(end - i), 0, run[1], run[1], run[1]}, ticks[end - 1]};
        uint64_t sum = 0;
        while (i < end) {
            size_t to = MIN((size_t)run[0], end);
            part.b.last = run[1];
            part.b.min = MIN(part.b.min, run[1]);
            part.b.max = MAX(part.b.max, run[1]);
            sum += (uint64_t)run[1] * (to - i);
            i = to;
            run += i == (size_t)run[0] ? 2 : 0;
        }
        part.b.sum = (int64_t)sum;
        bins_add(&b->h, row + b->cuts[k].bin, &part);
    }
}

static void bins_raw(struct bins_sink *b, size_t series, const struct chunk *c, size_t dev)
{
    const int64_t *v = chunk_lane(b->s.cells, dev, 0);
    uint8_t shape = b->s.cells->shape[dev];

    if (shape == SHAPE_RUNS)
        bins_runs(b, series, c->ticks, v);
    else
        bins_samples(b, series, c->ticks, 0, v, b->s.cells->have + dev * chunk_words(c->n_ticks), shape == SHAPE_ONE);
}

/* Adds a bin of a tier without its newest value and that value's time. */
static inline void bin_add_lanes(struct bin *to, const int64_t *lane, size_t stride, unsigned fields)
{
    uint64_t count = (uint64_t)lane[LANE_COUNT * stride];
    int64_t min = lane[LANE_MIN * stride];

    if (fields & BIN_SUM)
        to->sum = (int64_t)((uint64_t)to->sum + (uint64_t)min * count + (uint64_t)lane[LANE_SUM * stride]);
    if (fields & BIN_MAX) {
        int64_t max = (int64_t)((uint64_t)min + (uint64_t)lane[LANE_MAX * stride]);
        to->max = to->count ? MAX(to->max, max) : max;
    }
    if (fields & BIN_MIN)
        to->min = to->count ? MIN(to->min, min) : min;
    to->count += (uint32_t)count;
}

/* The most common query: sums, of bins without gaps. */
static void bins_tier_sums(const struct bins_sink *b, size_t series, const int64_t *lane, size_t stride)
{
    const int64_t *count = lane + LANE_COUNT * stride, *min = lane + LANE_MIN * stride, *sum = lane + LANE_SUM * stride;
    struct bin *row = b->h.v + series * b->h.n;
    size_t i = b->begin;

    for (size_t k = 0; k < b->n_cuts; k++) {
        struct bin *to = &row[b->cuts[k].bin];
        uint64_t n = 0, all = 0;
        for (size_t end = b->cuts[k].end; i < end; i++) {
            n += (uint64_t)count[i];
            all += (uint64_t)min[i] * (uint64_t)count[i] + (uint64_t)sum[i];
        }
        to->count += (uint32_t)n;
        to->sum = (int64_t)((uint64_t)to->sum + all);
    }
}

static void bins_tier(struct bins_sink *b, size_t series, const struct chunk *c, size_t dev, int tier)
{
    const int64_t *lanes = chunk_lane(b->s.cells, dev, 0);
    size_t i = b->begin, row = series * b->h.n, stride = chunk_lane_step(b->s.cells);
    bool full = b->s.cells->full;

    if (full && b->fields == BIN_SUM) {
        bins_tier_sums(b, series, lanes, stride);
        return;
    }
    for (size_t k = 0; k < b->n_cuts; k++)
        for (; i < b->cuts[k].end; i++) {
            struct part_bin part;
            if (!full && !chunk_has(b->s.cells, dev, i))
                continue;
            size_t at = row + b->cuts[k].bin;
            if (!(b->fields & BIN_LAST)) {
                bin_add_lanes(&b->h.v[at], lanes + i, stride, b->fields);
                continue;
            }
            part_bin_get(&part, lanes + i, stride, c->ticks[i], tier_bin_ms(tier));
            bins_add(&b->h, at, &part);
        }
}

/* Assigns ticks to bins, once for all series. */
static void bins_cut(struct bins_sink *b, const int64_t *ticks, size_t n, int64_t shift_ms)
{
    size_t end = ticks_before(ticks, n, b->s.to_ms - shift_ms);

    b->n_cuts = 0;
    b->begin = ticks_before(ticks, n, b->s.from_ms - shift_ms);
    if (b->begin >= end)
        return;
    if (end - b->begin > b->cap_cuts) {
        b->cap_cuts = MAX(end - b->begin, 2 * b->cap_cuts);
        b->cuts = mem_grow(b->cuts == b->few ? NULL : b->cuts, b->cap_cuts, sizeof(*b->cuts));
    }
    b->n_cuts = ticks_cut(ticks, b->begin, end, b->h.from_ms - shift_ms, b->h.step_ms, b->cuts);
}

/* ---- the queried metrics of a column: the first, and those after it ---- */

static void index_metrics(struct bins_sink *b)
{
    for (size_t m = b->ask->n_metrics; m-- > 0;) {
        int known = b->ask->known ? b->ask->known[m] : metric_by_name(str_of(b->ask->metrics[m]));
        uint32_t *first = &b->first[known >= 0 ? known : M_COUNT];
        b->keys[m] = known >= 0 ? (struct chunk_key){.no = metrics[known].no}
                                : (struct chunk_key){.name = str_of(b->ask->metrics[m])};
        b->next[m] = *first;
        *first = (uint32_t)m + 1;
    }
    b->only = b->ask->n_metrics == 1 ? b->keys[0].no : 0;
}

/*
 * The next match from `at`, an index + 1 as in first and next; 0 if none. Each metric number has its own list; all
 * custom metrics share one.
 */
static uint32_t metric_at(const struct bins_sink *b, struct chunk_key key, uint32_t at)
{
    while (at && !key.no && !chunk_key_eq(b->keys[at - 1], key))
        at = b->next[at - 1];
    return at;
}

static uint32_t metric_first(const struct bins_sink *b, struct chunk_key key)
{
    int known = key.no ? metric_by_no(key.no) : M_COUNT;

    return known < 0 ? 0 : metric_at(b, key, b->first[known]);
}

static uint32_t metric_next(const struct bins_sink *b, struct chunk_key key, uint32_t at)
{
    return metric_at(b, key, b->next[at - 1]);
}

/* The lanes of a tier that contain the fields. */
static unsigned lanes_for(unsigned fields)
{
    if (fields & BIN_LAST)
        return (1u << LANES) - 1;
    return 1u << LANE_COUNT | (fields & (BIN_SUM | BIN_MIN | BIN_MAX) ? 1u << LANE_MIN : 0) |
           (fields & BIN_MAX ? 1u << LANE_MAX : 0) | (fields & BIN_SUM ? 1u << LANE_SUM : 0);
}

/* Positions of the queried devices in a column: usually as in the previous one. */
static void find_places(struct bins_sink *b, const struct chunk_part *p)
{
    size_t n = b->ask->n_devices, found = 0;
    int *at = b->place + n;

    if (b->devs == p->devs)
        return;
    b->devs = p->devs;
    b->just_these = b->in_row && n == p->n_devs && p->devs[0] == b->place[0] && p->devs[n - 1] == b->place[n - 1];
    if (b->just_these) {
        b->first_place = 0;
        b->last_place = n;
        for (size_t d = 0; d < n; d++)
            at[d] = (int)d;
        return;
    }
    b->first_place = p->n_devs;
    b->last_place = 0;
    for (size_t d = 0; d < n; d++) {
        at[d] = b->place[d] < 0 ? -1 : place_of(p, b->place[d]);
        if (at[d] < 0)
            continue;
        b->first_place = MIN(b->first_place, (size_t)at[d]);
        b->last_place = MAX(b->last_place, (size_t)at[d] + 1);
        found++;
    }
    b->just_these = found == n && n == p->n_devs;
}

static int bins_column_of(struct bins_sink *b, const struct chunk *c, size_t column, size_t metric, int tier)
{
    size_t n = b->ask->n_devices, step = b->ask->n_metrics;
    const int *at = b->place + n;
    bool keep = c->columns[column].leant && step > 1; /* other columns are coded against it */

    find_places(b, &c->columns[column]);
    if (b->h.together && !b->just_these)
        return b->first_place < b->last_place ? SINK_LEAVES : 0;
    if (b->h.together && tier != TIER_RAW)
        return node_sums_tier(b, c, column, metric);
    struct chunk_want want = {.first = b->first_place,
                              .last = b->last_place,
                              .lanes = tier == TIER_RAW ? 1 : lanes_for(b->fields),
                              .from = b->begin,
                              .to = b->cuts[b->n_cuts - 1].end,
                              .brief = tier == TIER_RAW && !keep,
                              .runs = b->n_cuts <= (b->cuts[b->n_cuts - 1].end - b->begin) / RUNS_WORTH,
                              .cuts = b->h.together && tier == TIER_RAW && !keep ? b->cuts : NULL,
                              .n_cuts = b->n_cuts};
    if (want.first >= want.last)
        return 0;
    int r = sink_read_column(&b->s, c, column, &want);
    if (b->h.together && r == 0)
        r = node_sums_raw(b, c, metric);
    for (size_t d = 0; d < n && r == 0 && !b->h.together; d++) {
        if (at[d] >= 0 && tier == TIER_RAW)
            bins_raw(b, d * step + metric, c, (size_t)at[d]);
        else if (at[d] >= 0)
            bins_tier(b, d * step + metric, c, (size_t)at[d], tier);
    }
    if (keep && r == 0)
        chunk_keep(c, column, &want, b->s.cells);
    return MIN(r, 0);
}

/* Positions of the queried devices in a chunk: usually it has exactly these, perhaps after the node itself. */
static void find_devices(struct bins_sink *b, const struct chunk *c)
{
    const struct bins_query *ask = b->ask;
    size_t gpus = first_gpu(c), guess = 0;

    b->in_row = ask->devices_sum && ask->devices_sum == b->s.devices_sum && c->n_devices - gpus == ask->n_devices;
    if (b->in_row) {
        for (size_t d = 0; d < ask->n_devices; d++)
            b->place[d] = (int)(gpus + d);
        return;
    }
    for (size_t d = 0; d < ask->n_devices; d++) {
        b->place[d] = find_device(c, ask->devices[d], guess);
        if (b->place[d] >= 0)
            guess = (size_t)b->place[d] + 1;
    }
}

/* The columns to check: all, or for a single metric its only column. */
static void find_columns(struct bins_sink *b, const struct chunk *c, size_t *ret_first, size_t *ret_end)
{
    size_t k = b->s.guess;

    *ret_first = 0;
    *ret_end = c->n_columns;
    if (!b->only)
        return;
    if (k >= c->n_columns || c->columns[k].key.no != b->only)
        k = FIRST(c->n_columns, i, c->columns[i].key.no == b->only);
    *ret_first = k;
    *ret_end = MIN(k + 1, c->n_columns);
    b->s.guess = k;
}

static int bins_chunk(struct sink *s, const struct chunk *c, int tier)
{
    struct bins_sink *b = (struct bins_sink *)s;
    size_t k, end;
    int r = 0;

    chunk_forget(s->cells);
    bins_cut(b, c->ticks, c->n_ticks, 0);
    if (b->n_cuts == 0)
        return 0;
    find_devices(b, c);
    b->devs = NULL;
    for (find_columns(b, c, &k, &end); k < end && r == 0; k++) {
        struct chunk_key key = c->columns[k].key;
        for (uint32_t m = metric_first(b, key); m && r == 0; m = metric_next(b, key, m))
            r = bins_column_of(b, c, k, m - 1, tier);
    }
    return r;
}

/* The slots of the queried devices; -1 for devices the batch does not have. */
static void find_slots(struct bins_sink *b, const struct batch *from, const struct node_fact *f)
{
    size_t n = 0, guess = 1;
    char room[24];

    for (size_t k = 0; k < from->n_columns; k++)
        n = MAX(n, from->columns[k].slot + 1u);
    for (size_t d = 0; d < b->ask->n_devices; d++) {
        b->place[d] = -1;
        for (size_t i = 0; i < n && b->place[d] < 0; i++) {
            unsigned slot = (unsigned)((guess + i) % n);
            if (is_name(slot_name(f, slot, room), b->ask->devices[d]))
                b->place[d] = (int)slot;
        }
        guess = b->place[d] < 0 ? guess : (size_t)b->place[d] + 1;
    }
}

/* The column of a slot, among n columns of one metric. */
static const struct column *column_of(const struct column *c, size_t n, int slot)
{
    size_t guess = slot < c->slot ? n : (size_t)(slot - c->slot);

    if (guess >= n || c[guess].slot != slot)
        guess = FIRST(n, k, c[k].slot == slot);
    return guess < n ? &c[guess] : NULL;
}

static int bins_batch(struct sink *s, const struct batch *from, const struct node_fact *f, int64_t shift_ms)
{
    struct bins_sink *b = (struct bins_sink *)s;
    const struct bins_query *ask = b->ask;
    const struct column **of = b->of;
    char room[24];
    int r = 0;

    bins_cut(b, from->at_ms, from->n_ticks, shift_ms);
    if (b->n_cuts == 0)
        return 0;
    find_slots(b, from, f);
    for (size_t k = 0, end; k < from->n_columns && r == 0; k = end) {
        const struct column *c = &from->columns[k];
        struct chunk_key key = column_key(c, f, room);
        for (end = k + 1; end < from->n_columns && from->columns[end].metric == c->metric;)
            end++;
        for (uint32_t m = metric_first(b, key); m && r == 0; m = metric_next(b, key, m)) {
            for (size_t d = 0; d < ask->n_devices; d++)
                of[d] = b->place[d] < 0 ? NULL : column_of(c, end - k, b->place[d]);
            if (b->h.together)
                r = node_sums_batch(b, m - 1);
            for (size_t d = 0; d < ask->n_devices && !b->h.together; d++)
                if (of[d])
                    bins_samples(b, d * ask->n_metrics + m - 1, from->at_ms, shift_ms, of[d]->v, of[d]->have, false);
        }
    }
    return r;
}

static void bins_reset(struct sink *s)
{
    struct bins_sink *b = (struct bins_sink *)s;

    memset(b->h.v, 0, b->h.n_series * b->h.n * sizeof(*b->h.v));
    s->damaged = 0;
}

/* One allocation for all arrays sized by the query, because this runs for every node. */
static void take_room(struct bins_sink *b, const struct bins_query *ask)
{
    size_t bytes = ask->n_devices * (sizeof(*b->of) + 2 * sizeof(*b->place)) +
                   ask->n_metrics * (sizeof(*b->keys) + sizeof(*b->next));

    if (bytes > b->cap_room) {
        free(b->room);
        b->room = mem_alloc(bytes);
        b->cap_room = bytes;
    }
    b->of = b->room ? b->room : (void *)b->few_room;
    b->keys = (struct chunk_key *)(b->of + ask->n_devices);
    b->next = (uint32_t *)(b->keys + ask->n_metrics);
    b->place = (int *)(b->next + ask->n_metrics);
}

void bins_init(struct bins_sink *b)
{
    memset(b, 0, offsetof(struct bins_sink, few));
    b->cuts = b->few;
    b->cap_cuts = ARRAY_LEN(b->few);
    b->cap_room = sizeof(b->few_room);
}

int bins_begin(struct bins_sink *b, const struct bins_query *ask, int tier, struct err *err)
{
    b->s = (struct sink){.chunk = bins_chunk,
                         .batch = bins_batch,
                         .reset = bins_reset,
                         .stop = ask->stop,
                         .stop_arg = ask->arg,
                         .once = ask->once};
    b->fields = ask->fields ? ask->fields : BIN_ALL;
    if (ask->step_ms < 100 || ask->to_ms <= ask->from_ms || ask->from_ms < -(1ll << 52) || ask->to_ms > 1ll << 52 ||
        ask->step_ms > 1ll << 52)
        return err_set(err, -EINVAL, "a period needs an end after its start, and a step of at least 100 ms");
    int64_t from_ms = floor_to(ask->from_ms, ask->step_ms);
    uint64_t n = (uint64_t)quotient(ask->to_ms - from_ms + ask->step_ms - 1, ask->step_ms);
    if (ask->n_devices > BINS_MAX || ask->n_metrics > BINS_MAX ||
        (unsigned __int128)n * ask->n_devices * ask->n_metrics > BINS_MAX)
        return err_set(err, -E2BIG, "that is more than %u numbers: take a longer step, a shorter span or fewer series",
                       BINS_MAX);
    bool together = ask->together && b->fields == BIN_SUM && ask->n_devices > 0;
    history_fini(&b->h);
    b->h = (struct history){.from_ms = from_ms,
                            .step_ms = ask->step_ms,
                            .together = together,
                            .n_series = (together ? 1 : ask->n_devices) * ask->n_metrics,
                            .tier = tier};
    b->h.n = b->h.n_series ? (size_t)n : 0;
    b->s.from_ms = ask->exact ? ask->from_ms : from_ms;
    b->s.to_ms = ask->exact ? ask->to_ms : from_ms + (int64_t)n * ask->step_ms;
    b->h.v = mem_zero(b->h.n_series * b->h.n, sizeof(*b->h.v));
    if (b->fields & BIN_LAST)
        b->h.last_ms = mem_zero(b->h.n_series * b->h.n, sizeof(*b->h.last_ms));
    take_room(b, ask);
    b->ask = ask;
    memset(b->first, 0, sizeof(b->first));
    index_metrics(b);
    return 0;
}

void bins_apart(struct bins_sink *b)
{
    if (!b->h.together)
        return;
    free(b->h.v);
    b->h.together = false;
    b->h.n_series = b->ask->n_devices * b->ask->n_metrics;
    b->h.v = mem_zero(b->h.n_series * b->h.n, sizeof(*b->h.v));
    b->s.damaged = 0;
}

void bins_fini(struct bins_sink *b)
{
    history_fini(&b->h);
    free(b->room);
    if (b->cuts != b->few)
        free(b->cuts);
}

/* ---- points ---- */

static int points_add(struct points_sink *p, int64_t at, int64_t v)
{
    if (p->n >= POINTS_MAX)
        return -E2BIG;
    VEC_ADD(p->v, p->n, p->cap, (struct point){at, v});
    return 0;
}

static int points_chunk(struct sink *s, const struct chunk *c, int tier)
{
    struct points_sink *p = (struct points_sink *)s;
    int dev = find_device(c, p->device, 0), r = 0;

    chunk_forget(s->cells);
    for (size_t k = 0; tier == TIER_RAW && dev >= 0 && k < c->n_columns && r == 0; k++) {
        int at = chunk_key_eq(c->columns[k].key, p->key) ? place_of(&c->columns[k], dev) : -1;
        if (at < 0)
            continue;
        struct chunk_want want = {.first = (size_t)at, .last = (size_t)at + 1, .lanes = 1};
        r = sink_read_column(s, c, k, &want);
        if (r) {
            r = MIN(r, 0);
            continue;
        }
        size_t end = ticks_before(c->ticks, c->n_ticks, s->to_ms);
        for (size_t i = ticks_before(c->ticks, c->n_ticks, s->from_ms); i < end && r == 0; i++)
            if (chunk_has(s->cells, (size_t)at, i))
                r = points_add(p, c->ticks[i], chunk_lane(s->cells, (size_t)at, 0)[i]);
    }
    return r;
}

static int points_batch(struct sink *s, const struct batch *b, const struct node_fact *f, int64_t shift_ms)
{
    struct points_sink *p = (struct points_sink *)s;
    char room[24], room2[24];
    int r = 0;

    for (size_t k = 0; k < b->n_columns; k++) {
        const struct column *c = &b->columns[k];
        if (!chunk_key_eq(column_key(c, f, room), p->key) || !str_eq(slot_name(f, c->slot, room2), p->device))
            continue;
        for (size_t i = 0; i < b->n_ticks && r == 0; i++) {
            int64_t at = b->at_ms[i] + shift_ms;
            if (at >= s->from_ms && at < s->to_ms && column_has(c, i))
                r = points_add(p, at, c->v[i]);
        }
    }
    return r;
}

static void points_reset(struct sink *s)
{
    ((struct points_sink *)s)->n = 0;
    s->damaged = 0;
}

void points_init(struct points_sink *p, const char *device, const char *metric, int64_t from_ms, int64_t to_ms)
{
    *p = (struct points_sink){.s = {.chunk = points_chunk,
                                    .batch = points_batch,
                                    .reset = points_reset,
                                    .from_ms = from_ms,
                                    .to_ms = to_ms},
                              .device = device,
                              .key = metric_key(metric)};
}

COMPARE(by_time, struct point, ORDER(x->at, y->at) ?: ORDER(x->v, y->v))

int points_give(struct points_sink *p, int (*each)(void *arg, int64_t at_ms, int64_t v), void *arg)
{
    int r = 0;

    SORT(p->v, p->n, by_time);
    for (size_t i = 0; i < p->n && r == 0; i++)
        r = each(arg, p->v[i].at, p->v[i].v);
    return r;
}

void points_fini(struct points_sink *p)
{
    free(p->v);
}

/* ---- list of series ---- */

static void series_add(struct series_sink *p, struct str device, struct chunk_key key)
{
    int m = key.no ? metric_by_no(key.no) : -1;
    struct str metric = m >= 0 ? str_of(metrics[m].name) : key.name;
    char room[24];

    if (key.no && m < 0) { /* from a newer version */
        snprintf(room, sizeof(room), "metric:%u", key.no);
        metric = str_of(room);
    }
    for (size_t i = 0; i < p->n; i++) {
        const struct series_name *s = &p->v[(p->next + i) % p->n];
        if (str_eq(metric, s->metric) && str_eq(device, s->device)) {
            p->next = (p->next + i + 1) % p->n;
            return;
        }
    }
    VEC_ROOM(p->v, p->n, p->cap);
    p->v[p->n++] = (struct series_name){mem_strn(device.p, device.len), mem_strn(metric.p, metric.len)};
}

static int series_chunk(struct sink *s, const struct chunk *c, UNUSED int tier)
{
    for (size_t k = 0; k < c->n_columns; k++)
        for (size_t d = 0; d < c->columns[k].n_devs; d++)
            series_add((struct series_sink *)s, c->devices[c->columns[k].devs[d]], c->columns[k].key);
    return 0;
}

static int series_batch(struct sink *s, const struct batch *b, const struct node_fact *f, int64_t shift_ms)
{
    char room[24], room2[24];

    if (b->n_ticks == 0 || b->at_ms[0] + shift_ms >= s->to_ms || b->at_ms[b->n_ticks - 1] + shift_ms < s->from_ms)
        return 0;
    for (size_t k = 0; k < b->n_columns; k++)
        series_add((struct series_sink *)s, slot_name(f, b->columns[k].slot, room),
                   column_key(&b->columns[k], f, room2));
    return 0;
}

static void series_reset(struct sink *s)
{
    struct series_sink *p = (struct series_sink *)s;

    for (size_t i = 0; i < p->n; i++) {
        free(p->v[i].device);
        free(p->v[i].metric);
    }
    p->n = p->next = 0;
}

void series_init(struct series_sink *p, int64_t from_ms, int64_t to_ms)
{
    *p = (struct series_sink){
        .s = {.chunk = series_chunk, .batch = series_batch, .reset = series_reset, .from_ms = from_ms, .to_ms = to_ms}};
}

COMPARE(by_name, struct series_name, strcmp(x->device, y->device) ?: strcmp(x->metric, y->metric))

int series_give(struct series_sink *p, int (*each)(void *arg, const char *device, const char *metric), void *arg)
{
    int r = 0;

    SORT(p->v, p->n, by_name);
    for (size_t i = 0; i < p->n && r == 0; i++)
        r = each(arg, p->v[i].device, p->v[i].metric);
    return r;
}

void series_fini(struct series_sink *p)
{
    series_reset(&p->s);
    free(p->v);
}

void history_fini(struct history *h)
{
    if (!h)
        return;
    free(h->v);
    free(h->last_ms);
    *h = (struct history){0};
}
