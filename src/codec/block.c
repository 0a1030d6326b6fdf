/* block.c: writes blocks. See block.h; block_read.c reads them. */
#include "codec/block.h"

#include "base/mem.h"
#include "codec/chunk_coding.h"
#include "codec/ints.h"
#include "codec/pack.h"

#define BLOCK_BYTES_MAX (256u << 20)
#define SAMPLE_RUNS     16u
#define SAMPLE_RUN      64u
#define RUNS_ALWAYS     0.05 /* fraction of values that differ from the previous one: below this, runs are best */
#define RUNS_NEVER      0.6
#define CLOSE           1.02 /* a second guess at most this much larger is worth a try */
#define HABITS          4096u
#define HABIT_LASTS     32u /* blocks of a kind that reuse one coding before it is chosen again */

struct series {
    const uint64_t *v;
    size_t n;
    uint64_t least, least_step;
};

struct habit { /* how the last similar block was written */
    uint64_t like;
    unsigned coding, left;
    struct numbers_plan plan[2];
};

struct block_writer {
    struct numbers *numbers;
    struct habit *habits;
    struct series *s; /* series that are not constant */
    size_t n, cap_s;
    int64_t *row;           /* one value per series */
    size_t values, changes; /* of s: all, and those that differ from the previous one */
    uint64_t least, range;  /* of all; the maximum minus the minimum */
    struct divisor by;
    uint64_t *d, *e; /* transformed */
    size_t cap_d;
    struct buf trial;
    bool quick;
};

struct block_writer *block_writer_new(void)
{
    return NEW(struct block_writer, .numbers = numbers_new(), .habits = mem_zero(HABITS, sizeof(struct habit)),
               .trial = BUF_INIT(BLOCK_BYTES_MAX));
}

void block_writer_free(struct block_writer *w)
{
    if (!w)
        return;
    numbers_free(w->numbers);
    FREE_ALL(w->habits, w->s, w->row, w->d, w->e);
    buf_fini(&w->trial);
    free(w);
}

void block_quick(struct block_writer *w, bool on)
{
    w->quick = on;
}

/* ---- analysis ---- */

static inline uint64_t whole(uint64_t v, struct divisor by) /* v / by without remainder */
{
    return (v >> by.shift) * by.inverse;
}

/* Greatest common divisor of all values: util in 0.01 % has whole percent, memory has pages. */
static struct divisor common(const struct block_writer *w)
{
    struct divisor d = DIVISOR_OF_ZERO;

    for (size_t k = 0; k < w->n && d.by != 1; k++) {
        const struct series *s = &w->s[k];
        divisor_take(&d, s->least - w->least);
        for (size_t i = 0; i < s->n && d.by != 1; i++)
            divisor_take(&d, s->v[i] - s->least);
    }
    return d;
}

/* Separates constant series: their flags and values go to out, the others to w->s. */
static void take_series(struct block_writer *w, const uint64_t *const *of, const size_t *n, size_t n_series,
                        uint8_t *flags, size_t *ret_same)
{
    int64_t least_of_all = INT64_MAX, most_of_all = INT64_MIN;
    size_t same = 0;

    w->n = w->values = w->changes = 0;
    for (size_t k = 0; k < n_series; k++) {
        const uint64_t *v = of[k];
        int64_t least = (int64_t)v[0], most = least;
        size_t changes = 0;
        if (is_constant(v, n[k])) {
            flags[k / 8] |= (uint8_t)(1u << k % 8);
            w->row[same++] = least;
            continue;
        }
        for (size_t i = 1; i < n[k]; i++) {
            changes += v[i] != v[i - 1];
            least = MIN(least, (int64_t)v[i]);
            most = MAX(most, (int64_t)v[i]);
        }
        w->s[w->n++] = (struct series){.v = v, .n = n[k], .least = (uint64_t)least};
        w->values += n[k];
        w->changes += changes;
        least_of_all = MIN(least_of_all, least);
        most_of_all = MAX(most_of_all, most);
    }
    w->least = (uint64_t)least_of_all;
    w->range = (uint64_t)most_of_all - w->least;
    /* wrapped differences of differences have no common divisor */
    w->by = w->n && w->range < 1ull << 61 ? common(w) : divisor_of(1);
    *ret_same = same;
}

/* ---- transformations of v[from..to) of a series; return the number of values ---- */

static size_t as_values(const struct block_writer *w, const struct series *s, size_t from, size_t to, uint64_t *ret)
{
    const uint64_t *v = s->v;
    uint64_t least = s->least;
    struct divisor by = w->by;

    if (by.by == 1)
        for (size_t i = from; i < to; i++)
            *ret++ = v[i] - least;
    else
        for (size_t i = from; i < to; i++)
            *ret++ = whole(v[i] - least, by);
    return to - from;
}

static size_t as_common(const struct block_writer *w, const struct series *s, size_t from, size_t to, uint64_t *ret)
{
    struct series all = {.v = s->v, .least = w->least};

    return as_values(w, &all, from, to, ret);
}

static size_t as_delta(const struct block_writer *w, const struct series *s, size_t from, size_t to, uint64_t *ret)
{
    const uint64_t *v = s->v;
    uint64_t least = s->least_step;
    struct divisor by = w->by;

    for (size_t i = from + 1; i < to; i++)
        *ret++ = whole(v[i] - v[i - 1] - least, by);
    return to - from - 1;
}

static size_t as_zigzag(const struct block_writer *w, const struct series *s, size_t from, size_t to, uint64_t *ret)
{
    const uint64_t *v = s->v;
    struct divisor by = w->by;

    for (size_t i = from + 1; i < to; i++)
        *ret++ = zigzag(divided((int64_t)(v[i] - v[i - 1]), by));
    return to - from - 1;
}

static size_t as_dod(const struct block_writer *w, const struct series *s, size_t from, size_t to, uint64_t *ret)
{
    const uint64_t *v = s->v;
    struct divisor by = w->by;

    if (to - from < 2)
        return 0;
    for (size_t i = from + 2; i < to; i++)
        *ret++ = zigzag(divided((int64_t)(v[i] - 2 * v[i - 1] + v[i - 2]), by));
    return to - from - 2;
}

static size_t as_signed(UNUSED const struct block_writer *w, const struct series *s, size_t from, size_t to,
                        uint64_t *ret)
{
    for (size_t i = from; i < to; i++)
        *ret++ = zigzag(s->v[i]);
    return to - from;
}

typedef size_t as_fn(const struct block_writer *w, const struct series *s, size_t from, size_t to, uint64_t *ret);
static as_fn *const ways[BLOCK_CODINGS] = {
    [BLOCK_VALUES] = as_values, [BLOCK_DELTA] = as_delta,   [BLOCK_ZIGZAG] = as_zigzag,
    [BLOCK_DOD] = as_dod,       [BLOCK_COMMON] = as_common, [BLOCK_SIGNED] = as_signed,
};

static uint64_t least_step(const struct series *s, size_t from, size_t to)
{
    int64_t least = INT64_MAX;

    for (size_t i = from + 1; i < to; i++)
        least = MIN(least, (int64_t)(s->v[i] - s->v[i - 1]));
    return (uint64_t)least;
}

/* Writes lengths - 1 to w->d, differences to w->e. Returns the numbers of both. */
static size_t make_runs(struct block_writer *w, size_t *ret_diffs)
{
    size_t n = 0, diffs = 0;

    for (size_t k = 0; k < w->n; k++) {
        const struct series *s = &w->s[k];
        for (size_t i = 0, end; i < s->n; i = end) {
            for (end = i + 1; end < s->n && s->v[end] == s->v[i]; end++)
                ;
            if (i)
                w->e[diffs++] = zigzag(divided((int64_t)(s->v[i] - s->v[i - 1]), w->by));
            w->d[n++] = end - i - 1;
        }
    }
    *ret_diffs = diffs;
    return n;
}

/* ---- choice of the coding ---- */

static size_t guess_runs(struct block_writer *w)
{
    size_t diffs, n = make_runs(w, &diffs);

    return numbers_plan(w->numbers, w->d, n, false).bytes + numbers_plan(w->numbers, w->e, diffs, false).bytes +
           2 * w->n;
}

/* Estimates the size of each coding from parts of some series. */
static void guess(struct block_writer *w, size_t ret[BLOCK_CODINGS])
{
    size_t picks = MIN(w->n, SAMPLE_RUNS), per = MAX(SAMPLE_RUNS / w->n, 1), runs = 0;
    struct {
        struct series s;
        size_t from, to;
    } run[SAMPLE_RUNS];

    if (w->values <= (size_t)SAMPLE_RUNS * SAMPLE_RUN)
        per = 1;
    for (size_t k = 0; k < picks; k++) {
        const struct series *s = &w->s[k * w->n / picks];
        size_t len = w->values <= (size_t)SAMPLE_RUNS * SAMPLE_RUN ? s->n : MIN(s->n, SAMPLE_RUN + 1);
        for (size_t i = 0; i < per; i++) {
            size_t from = per > 1 ? (s->n - len) * i / (per - 1) : (s->n - len) / 2;
            run[runs].s = *s;
            run[runs].s.least_step = least_step(s, from, from + len);
            run[runs].from = from;
            run[runs++].to = from + len;
        }
    }
    for (unsigned c = BLOCK_VALUES; c < BLOCK_CODINGS; c++) {
        size_t n = 0;
        if (!ways[c] || (c == BLOCK_SIGNED && (w->by.by > 1 || (int64_t)w->least >= 0)))
            continue;
        for (size_t i = 0; i < runs; i++)
            n += ways[c](w, &run[i].s, run[i].from, run[i].to, w->d + n);
        struct numbers_plan p = numbers_plan(w->numbers, w->d, n, false);
        ret[c] = (n ? (size_t)((double)p.bytes * (double)w->values / (double)n) : 2) +
                 (c == BLOCK_COMMON || c == BLOCK_SIGNED ? 3 : w->n * (c == BLOCK_DELTA || c == BLOCK_DOD ? 6 : 3));
    }
}

/* ---- writing ---- */

/* Uses *plan if known; sets it to the plan used. */
static void put_numbers(struct block_writer *w, struct buf *out, const uint64_t *v, size_t n, struct numbers_plan *plan,
                        bool known)
{
    *plan = known ? numbers_plan_as(plan, v, n) : numbers_plan(w->numbers, v, n, true);
    numbers_put(w->numbers, out, v, n, plan);
}

static void put_runs(struct block_writer *w, struct buf *out, struct numbers_plan plan[2], bool known)
{
    size_t diffs, n = make_runs(w, &diffs);

    for (size_t k = 0; k < w->n; k++)
        w->row[k] = (int64_t)w->s[k].v[0];
    ints_put(out, w->row, w->n);
    for (size_t k = 0; k < w->n; k++) {
        w->row[k] = 1;
        for (size_t i = 1; i < w->s[k].n; i++)
            w->row[k] += w->s[k].v[i] != w->s[k].v[i - 1];
    }
    ints_put(out, w->row, w->n);
    put_numbers(w, out, w->d, n, &plan[0], known);
    put_numbers(w, out, w->e, diffs, &plan[1], known);
}

/* Writes the per-series values that decoding needs. */
static void put_rows(struct block_writer *w, struct buf *out, unsigned coding)
{
    if (coding == BLOCK_SIGNED)
        return;
    if (coding == BLOCK_COMMON) {
        buf_zigzag(out, (int64_t)w->least);
        return;
    }
    for (size_t k = 0; k < w->n; k++)
        w->row[k] = (int64_t)(coding == BLOCK_VALUES ? w->s[k].least : w->s[k].v[0]);
    ints_put(out, w->row, w->n);
    if (coding == BLOCK_DELTA)
        for (size_t k = 0; k < w->n; k++)
            w->row[k] = (int64_t)(w->s[k].least_step = least_step(&w->s[k], 0, w->s[k].n));
    else if (coding == BLOCK_DOD)
        for (size_t k = 0; k < w->n; k++)
            w->row[k] = (int64_t)(w->s[k].v[1] - w->s[k].v[0]); /* not constant, so there are at least two */
    else
        return;
    ints_put(out, w->row, w->n);
}

static void put_coded(struct block_writer *w, struct buf *out, unsigned coding, struct numbers_plan plan[2], bool known)
{
    size_t n = 0;

    if (coding == BLOCK_RUNS) {
        put_runs(w, out, plan, known);
        return;
    }
    put_rows(w, out, coding);
    for (size_t k = 0; k < w->n; k++)
        n += ways[coding](w, &w->s[k], 0, w->s[k].n, w->d + n);
    put_numbers(w, out, w->d, n, &plan[0], known);
}

static void room_for(struct block_writer *w, size_t values, size_t n_series)
{
    if (n_series > w->cap_s) {
        w->cap_s = n_series;
        w->s = mem_grow(w->s, n_series, sizeof(*w->s));
        w->row = mem_grow(w->row, n_series, sizeof(*w->row));
    }
    values = MAX(values, 2 * (size_t)SAMPLE_RUNS * SAMPLE_RUN);
    if (values > w->cap_d) {
        w->cap_d = values;
        w->d = mem_grow(w->d, values, sizeof(*w->d));
        w->e = mem_grow(w->e, values, sizeof(*w->e));
    }
}

/* The best coding by estimated size; *size of all that were estimated. */
static unsigned choose(struct block_writer *w, size_t size[BLOCK_CODINGS])
{
    double moving = (double)w->changes / (double)w->values;
    unsigned best = BLOCK_VALUES;

    for (unsigned c = 0; c < BLOCK_CODINGS; c++)
        size[c] = SIZE_MAX;
    if (moving <= RUNS_ALWAYS)
        return BLOCK_RUNS;
    guess(w, size);
    if (moving < RUNS_NEVER)
        size[BLOCK_RUNS] = guess_runs(w);
    for (unsigned c = BLOCK_VALUES; c < BLOCK_CODINGS; c++)
        if (size[c] < size[best])
            best = c;
    return best;
}

/* Blocks are alike if kind, width, approximate number of values and rate of changes are the same. */
static struct habit *find_habit(struct block_writer *w, uint32_t kind, bool thorough, bool *ret_known)
{
    uint64_t like = (uint64_t)kind << 25 | (uint64_t)thorough << 24 | (uint64_t)bits_of(whole(w->range, w->by)) << 16 |
                    bits_of(w->values) << 8 | (w->changes * 16 / w->values + 1);
    struct habit *h = &w->habits[(like * 0x9e3779b97f4a7c15u >> 32) % HABITS];

    *ret_known = kind && h->like == like && h->left > 0;
    if (*ret_known)
        h->left--;
    else
        *h = (struct habit){.like = like, .left = HABIT_LASTS};
    return h;
}

/* Also tries codings of about the same estimated size; keeps the smallest result. */
static void try_others(struct block_writer *w, struct buf *out, size_t from, const size_t size[BLOCK_CODINGS],
                       struct habit *h)
{
    size_t least = size[h->coding];

    for (unsigned c = BLOCK_VALUES; c < BLOCK_CODINGS; c++) {
        struct numbers_plan plan[2];
        if (c == h->coding || (double)size[c] > CLOSE * (double)least)
            continue;
        buf_reset(&w->trial);
        put_coded(w, &w->trial, c, plan, false);
        if (w->trial.err == 0 && w->trial.len < out->len - from) {
            buf_cut(out, from);
            buf_addstr(out, buf_str(&w->trial));
            h->coding = c;
            memcpy(h->plan, plan, sizeof(plan));
        }
    }
}

/* Packs all bits of the plain values: each is readable without the others. */
static void put_quick(struct block_writer *w, struct buf *out, uint8_t flags, size_t head)
{
    struct numbers_plan plan[2] = {{.low = 64}, {.low = 64}};
    unsigned coding = (double)w->changes <= RUNS_ALWAYS * (double)w->values ? BLOCK_RUNS : BLOCK_VALUES;

    put_coded(w, out, coding, plan, true);
    out->p[head] = (char)(coding | flags);
}

static void choose_and_put(struct block_writer *w, struct buf *out, uint8_t flags, size_t head, uint32_t kind,
                           bool thorough)
{
    size_t size[BLOCK_CODINGS], from = out->len;
    bool known;
    struct habit *h = find_habit(w, kind, thorough, &known);

    if (!known)
        h->coding = choose(w, size);
    put_coded(w, out, h->coding, h->plan, known && !thorough); /* thorough: determine the split again */
    if (thorough && !known)
        try_others(w, out, from, size, h);
    out->p[head] = (char)(h->coding | flags);
}

void block_put(struct block_writer *w, struct buf *out, const uint64_t *const *v, const size_t *n, size_t n_series,
               uint32_t kind, bool thorough)
{
    AUTO_FREE uint8_t *flags = mem_zero((n_series + 7) / 8 + 1, 1);
    size_t values = 0, same, head = out->len;

    for (size_t k = 0; k < n_series; k++)
        values += n[k];
    room_for(w, values, n_series);
    take_series(w, v, n, n_series, flags, &same);
    uint8_t some = same && w->n ? BLOCK_SOME_SAME : 0;
    if (buf_u8(out, BLOCK_SAME) < 0)
        return;
    if (some)
        buf_add(out, flags, (n_series + 7) / 8);
    ints_put(out, w->row, same);
    if (w->n) {
        buf_varint(out, w->by.by);
        if (out->err == 0 && w->quick)
            put_quick(w, out, some, head);
        else if (out->err == 0)
            choose_and_put(w, out, some, head, kind, thorough);
    }
}
