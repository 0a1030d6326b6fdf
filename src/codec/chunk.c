/*
 * chunk.c: writing chunks. Each column is tried in several codings and the smallest is kept: numbers that hardly move
 * are runs, noisy ones are split into byte planes, each packed by itself, because the low bytes of a noisy number are
 * noise (zstd leaves them as they are) and its high bytes are not.
 */
#include "codec/chunk.h"

#include <errno.h>
#include <zstd.h>

#include "base/mem.h"
#include "base/rand.h"
#include "codec/chunk_coding.h"
#include "codec/ints.h"

#define ZSTD_LEVEL   3
#define SECTION_TINY 24 /* shorter ones are not worth a try */

struct part { /* as chunk_part, but its bytes are still apart */
    uint16_t no;
    size_t name_off, name_len, devs_off, n_devs, len;
    uint32_t crc;
};

struct series { /* one device and lane: where its values are in w->v */
    size_t at, n;
    uint64_t least, divisor; /* of CODING_PLANES and CODING_PACK */
    bool same;
};

struct chunk_writer {
    unsigned lanes;
    size_t n_ticks;
    struct buf head, names, body; /* body: all columns so far */
    struct part *parts;
    size_t n_parts, cap_parts;
    uint16_t *devs;
    size_t n_devs, cap_devs, n_devices;
    uint64_t *v, *d; /* the present values of a column, series after series; the same, transformed */
    size_t cap;
    struct series *series;
    size_t cap_series;
    uint8_t *plane;
    size_t cap_plane;
    struct buf best, trial, lead, squeezed;
    ZSTD_CCtx *zstd;
};

bool chunk_key_eq(struct chunk_key a, struct chunk_key b)
{
    return a.no == b.no && (a.no || str_eq_str(a.name, b.name));
}

struct chunk_writer *chunk_writer_new(void)
{
    struct chunk_writer *w = mem_zero(1, sizeof(*w));
    struct buf *all[] = {&w->head, &w->names, &w->body, &w->best, &w->trial, &w->lead, &w->squeezed};

    for (size_t i = 0; i < ARRAY_LEN(all); i++)
        *all[i] = BUF_INIT(CHUNK_BYTES_MAX);
    w->zstd = ZSTD_createCCtx();
    if (!w->zstd)
        abort();
    return w;
}

void chunk_writer_free(struct chunk_writer *w)
{
    if (!w)
        return;
    struct buf *all[] = {&w->head, &w->names, &w->body, &w->best, &w->trial, &w->lead, &w->squeezed};
    for (size_t i = 0; i < ARRAY_LEN(all); i++)
        buf_fini(all[i]);
    free(w->parts);
    free(w->devs);
    free(w->v);
    free(w->d);
    free(w->series);
    free(w->plane);
    ZSTD_freeCCtx(w->zstd);
    free(w);
}

int chunk_begin(struct chunk_writer *w, unsigned lanes, const int64_t *ticks, size_t n_ticks, const struct str *devices,
                size_t n_devices)
{
    if (lanes < 1 || lanes > CHUNK_LANES_MAX || n_ticks < 1 || n_ticks > CHUNK_TICKS_MAX ||
        n_devices > CHUNK_DEVICES_MAX)
        return -E2BIG;
    buf_reset(&w->head);
    buf_reset(&w->names);
    buf_reset(&w->body);
    w->n_parts = w->n_devs = 0;
    w->lanes = lanes;
    w->n_ticks = n_ticks;
    w->n_devices = n_devices;
    buf_varint(&w->head, n_ticks);
    ints_put(&w->head, ticks, n_ticks);
    buf_varint(&w->head, n_devices);
    for (size_t i = 0; i < n_devices; i++) {
        if (devices[i].len > CHUNK_NAME_MAX)
            return -E2BIG;
        buf_text(&w->head, devices[i]);
    }
    return w->head.err;
}

/* ---- sections ---- */

static void put_section(struct chunk_writer *w, struct buf *out, const void *p, size_t n)
{
    const uint8_t *bytes = p;
    size_t same = 0;

    while (same < n && bytes[same] == bytes[0])
        same++;
    if (n && same == n) {
        buf_varint(out, (uint64_t)n << 2 | SECTION_FILL);
        buf_u8(out, bytes[0]);
        return;
    }
    if (n > SECTION_TINY) {
        size_t bound = ZSTD_compressBound(n);
        buf_reset(&w->squeezed);
        char *to = buf_room(&w->squeezed, bound);
        size_t z = to ? ZSTD_compressCCtx(w->zstd, to, bound, p, n, ZSTD_LEVEL) : n;
        if (!ZSTD_isError(z) && z + 4 < n) {
            buf_varint(out, (uint64_t)z << 2 | SECTION_ZSTD);
            buf_varint(out, n);
            buf_add(out, to, z);
            return;
        }
    }
    buf_varint(out, (uint64_t)n << 2 | SECTION_PLAIN);
    buf_add(out, p, n);
}

static void put_planes(struct chunk_writer *w, struct buf *out, const uint64_t *v, size_t n)
{
    uint64_t all = 0;
    unsigned planes = 0;

    for (size_t i = 0; i < n; i++)
        all |= v[i];
    while (planes < PLANES_MAX && all >> 8 * planes)
        planes++;
    buf_u8(out, (uint8_t)planes);
    for (unsigned b = 0; b < planes; b++) {
        for (size_t i = 0; i < n; i++)
            w->plane[i] = (uint8_t)(v[i] >> 8 * b);
        put_section(w, out, w->plane, n);
    }
}

/* ---- codings: lead gets what each series needs to be undone, out the values ---- */

static uint64_t gcd(uint64_t a, uint64_t b)
{
    while (b) {
        uint64_t rest = a % b;
        a = b;
        b = rest;
    }
    return a;
}

static void code_planes(struct chunk_writer *w, const struct series *s, size_t n, struct buf *lead, struct buf *out)
{
    size_t at = 0;

    for (size_t k = 0; k < n; k++) {
        if (s[k].same)
            continue;
        buf_zigzag(lead, (int64_t)s[k].least);
        buf_varint(lead, s[k].divisor);
        const uint64_t *v = w->v + s[k].at;
        uint64_t least = s[k].least, by = s[k].divisor;
        if (by == 1)
            for (size_t i = 0; i < s[k].n; i++)
                w->d[at++] = v[i] - least;
        else
            for (size_t i = 0; i < s[k].n; i++)
                w->d[at++] = (v[i] - least) / by;
    }
    put_planes(w, out, w->d, at);
}

static void code_delta(struct chunk_writer *w, const struct series *s, size_t n, struct buf *lead, struct buf *out)
{
    size_t at = 0;

    for (size_t k = 0; k < n; k++) {
        if (s[k].same)
            continue;
        const uint64_t *v = w->v + s[k].at;
        uint64_t by = s[k].divisor; /* divides every difference as well */
        int64_t least = INT64_MAX;
        for (size_t i = 1; i < s[k].n; i++)
            least = MIN(least, (int64_t)(v[i] - v[i - 1]));
        buf_zigzag(lead, (int64_t)v[0]);
        buf_zigzag(lead, least);
        buf_varint(lead, by);
        for (size_t i = 1; i < s[k].n; i++)
            w->d[at++] = (v[i] - v[i - 1] - (uint64_t)least) / by;
    }
    put_planes(w, out, w->d, at);
}

static void code_dod(struct chunk_writer *w, const struct series *s, size_t n, struct buf *lead, struct buf *out)
{
    size_t at = 0;

    for (size_t k = 0; k < n; k++) {
        if (s[k].same)
            continue;
        const uint64_t *v = w->v + s[k].at;
        uint64_t step = 0;
        buf_zigzag(lead, (int64_t)v[0]);
        for (size_t i = 1; i < s[k].n; i++) {
            uint64_t d = v[i] - v[i - 1];
            w->d[at++] = chunk_zigzag(d - step);
            step = d;
        }
    }
    put_planes(w, out, w->d, at);
}

static void code_runs(struct chunk_writer *w, const struct series *s, size_t n, struct buf *lead, struct buf *out)
{
    AUTO_BUF runs = BUF_INIT(CHUNK_BYTES_MAX);

    (void)lead;
    for (size_t k = 0; k < n; k++) {
        const uint64_t *v = w->v + s[k].at;
        uint64_t before = 0;
        for (size_t i = 0, end; !s[k].same && i < s[k].n; i = end) {
            for (end = i + 1; end < s[k].n && v[end] == v[i]; end++)
                ;
            buf_varint(&runs, end - i);
            buf_zigzag(&runs, (int64_t)(v[i] - before));
            before = v[i];
        }
    }
    put_section(w, out, buf_str(&runs).p, runs.len);
}

static void code_pack(struct chunk_writer *w, const struct series *s, size_t n, struct buf *lead, struct buf *out)
{
    AUTO_BUF bits = BUF_INIT(CHUNK_BYTES_MAX);

    for (size_t k = 0; k < n; k++) {
        if (s[k].same)
            continue;
        const uint64_t *v = w->v + s[k].at;
        uint64_t all = 0;
        unsigned fill = 0, width = 0;
        unsigned __int128 acc = 0;
        for (size_t i = 0; i < s[k].n; i++)
            all |= (v[i] - s[k].least) / s[k].divisor;
        width = all ? 64u - (unsigned)__builtin_clzll(all) : 0;
        buf_zigzag(lead, (int64_t)s[k].least);
        buf_varint(lead, s[k].divisor);
        buf_u8(lead, (uint8_t)width);
        for (size_t i = 0; i < s[k].n; i++) {
            acc |= (unsigned __int128)((v[i] - s[k].least) / s[k].divisor) << fill;
            for (fill += width; fill >= 8; fill -= 8, acc >>= 8)
                buf_u8(&bits, (uint8_t)acc);
        }
        if (fill)
            buf_u8(&bits, (uint8_t)acc);
    }
    put_section(w, out, buf_str(&bits).p, bits.len);
}

typedef void code_fn(struct chunk_writer *w, const struct series *s, size_t n, struct buf *lead, struct buf *out);
static code_fn *const codings[CODING_COUNT] = {
    [CODING_PLANES] = code_planes, [CODING_DELTA] = code_delta, [CODING_DOD] = code_dod,
    [CODING_RUNS] = code_runs,     [CODING_PACK] = code_pack,
};

/* ---- a column ---- */

static void put_presence(struct chunk_writer *w, const struct chunk_column *c, struct buf *out)
{
    size_t n = w->n_ticks, bytes = chunk_words(n) * sizeof(uint64_t);

    for (size_t k = 0; k < c->n_devs; k++) {
        const uint64_t *h = c->have ? c->have[k] : NULL, *before = k && c->have ? c->have[k - 1] : NULL;
        if (!h) {
            buf_varint(out, PRESENT_ALL);
            continue;
        }
        if (before && memcmp(h, before, bytes) == 0) {
            buf_varint(out, PRESENT_AS_BEFORE);
            continue;
        }
        buf_varint(out, PRESENT_RUNS); /* lengths in turn: absent, present, absent, ... */
        bool bit = false;
        for (size_t i = 0, run = 0; i <= n; i++, run++) {
            bool now = i < n && (h[i / 64] >> (i % 64) & 1);
            if (i == n || now != bit) {
                buf_varint(out, run);
                bit = now;
                run = 0;
            }
        }
    }
}

/* The present values of every series, one after another. */
static size_t take_values(struct chunk_writer *w, const struct chunk_column *c)
{
    size_t n = w->n_ticks, at = 0;

    for (size_t k = 0; k < c->n_devs * w->lanes; k++) {
        const uint64_t *h = c->have ? c->have[k / w->lanes] : NULL;
        const int64_t *v = c->v + k * n;
        struct series *s = &w->series[k];
        *s = (struct series){.at = at, .same = true};
        if (h) {
            for (size_t i = 0; i < n; i++)
                if (h[i / 64] >> (i % 64) & 1)
                    w->v[at++] = (uint64_t)v[i];
        } else {
            memcpy(w->v + at, v, n * sizeof(*v));
            at += n;
        }
        s->n = at - s->at;
    }
    return at;
}

static void measure(struct chunk_writer *w, struct series *s)
{
    const uint64_t *v = w->v + s->at;
    int64_t least = s->n ? (int64_t)v[0] : 0, most = least;

    for (size_t i = 1; i < s->n; i++) {
        s->same &= v[i] == v[0];
        least = MIN(least, (int64_t)v[i]);
        most = MAX(most, (int64_t)v[i]);
    }
    s->least = (uint64_t)least;
    /* differences that wrap around are not multiples of anything */
    s->divisor = (uint64_t)most - s->least > INT64_MAX;
    for (size_t i = 0; i < s->n && s->divisor != 1 && !s->same; i++) {
        uint64_t d = v[i] - s->least;
        s->divisor = s->divisor == 0 ? d : d % s->divisor ? gcd(s->divisor, d % s->divisor) : s->divisor;
    }
    if (s->divisor == 0)
        s->divisor = 1;
}

/* Bit 0: constant, then its value follows. */
static bool put_same(const struct chunk_writer *w, size_t n, struct buf *out)
{
    bool all = true;

    for (size_t k = 0; k < n; k++) {
        const struct series *s = &w->series[k];
        if (s->n == 0)
            continue; /* the reader knows */
        buf_u8(out, s->same);
        if (s->same)
            buf_zigzag(out, (int64_t)s->least);
        all &= s->same;
    }
    return all;
}

static void room_for(struct chunk_writer *w, size_t cells, size_t series)
{
    if (cells > w->cap) {
        w->cap = cells;
        w->v = mem_grow(w->v, cells, sizeof(*w->v));
        w->d = mem_grow(w->d, cells, sizeof(*w->d));
    }
    if (cells > w->cap_plane) {
        w->cap_plane = cells;
        w->plane = mem_grow(w->plane, cells, 1);
    }
    if (series > w->cap_series) {
        w->cap_series = series;
        w->series = mem_grow(w->series, series, sizeof(*w->series));
    }
}

static void note_part(struct chunk_writer *w, const struct chunk_column *c, struct str bytes)
{
    VEC_ROOM(w->parts, w->n_parts, w->cap_parts);
    w->parts[w->n_parts++] = (struct part){.no = c->key.no,
                                           .name_off = w->names.len,
                                           .name_len = c->key.no ? 0 : c->key.name.len,
                                           .devs_off = w->n_devs,
                                           .n_devs = c->n_devs,
                                           .len = bytes.len,
                                           .crc = crc32c(0, bytes.p, bytes.len)};
    if (!c->key.no)
        buf_addstr(&w->names, c->key.name);
    for (size_t i = 0; i < c->n_devs; i++) {
        VEC_ROOM(w->devs, w->n_devs, w->cap_devs);
        w->devs[w->n_devs++] = c->devs[i];
    }
    buf_addstr(&w->body, bytes);
}

int chunk_add(struct chunk_writer *w, const struct chunk_column *c)
{
    size_t n = c->n_devs * w->lanes;

    if (c->n_devs == 0 || c->n_devs > w->n_devices || w->n_parts >= CHUNK_COLUMNS_MAX ||
        (!c->key.no && c->key.name.len > CHUNK_NAME_MAX) || n > CHUNK_CELLS_MAX / w->n_ticks)
        return -E2BIG;
    room_for(w, n * w->n_ticks, n);
    take_values(w, c);
    for (size_t k = 0; k < n; k++)
        measure(w, &w->series[k]);
    buf_reset(&w->best);
    size_t best = SIZE_MAX;
    AUTO_BUF lead = BUF_INIT(CHUNK_BYTES_MAX);
    put_presence(w, c, &lead);
    size_t lead_len = 0;
    bool same = put_same(w, n, &lead);
    lead_len = lead.len;
    for (unsigned k = CODING_NONE; k < CODING_COUNT; k++) {
        if (same != (k == CODING_NONE))
            continue;
        buf_cut(&lead, lead_len);
        buf_reset(&w->lead);
        buf_reset(&w->trial);
        if (codings[k])
            codings[k](w, w->series, n, &lead, &w->lead);
        buf_u8(&w->trial, (uint8_t)k);
        put_section(w, &w->trial, lead.p, lead.len);
        buf_addstr(&w->trial, buf_str(&w->lead));
        if (w->trial.err || lead.err || w->lead.err)
            return -E2BIG;
        if (w->trial.len < best) {
            struct buf swap = w->best;
            w->best = w->trial;
            w->trial = swap;
            best = w->best.len;
        }
    }
    note_part(w, c, buf_str(&w->best));
    return w->body.err ? -E2BIG : 0;
}

/* version, lanes, u32 length of the head, u32 its checksum, head, columns */
int chunk_end(struct chunk_writer *w, struct buf *out)
{
    buf_varint(&w->head, w->n_parts);
    for (size_t i = 0; i < w->n_parts; i++) {
        const struct part *p = &w->parts[i];
        buf_varint(&w->head, p->no);
        if (!p->no)
            buf_text(&w->head, str_n(w->names.p + p->name_off, p->name_len));
        buf_varint(&w->head, p->n_devs);
        for (size_t k = 0; k < p->n_devs; k++)
            buf_varint(&w->head,
                       k ? (uint64_t)(w->devs[p->devs_off + k] - w->devs[p->devs_off + k - 1]) : w->devs[p->devs_off]);
        buf_varint(&w->head, p->len);
        buf_u32(&w->head, p->crc);
    }
    if (w->head.err || w->body.err)
        return -E2BIG;
    buf_u8(out, CHUNK_VERSION);
    buf_u8(out, (uint8_t)w->lanes);
    buf_u32(out, (uint32_t)w->head.len);
    buf_u32(out, crc32c(crc32c(0, out->p + out->len - 6, 6), w->head.p, w->head.len));
    buf_addstr(out, buf_str(&w->head));
    return buf_addstr(out, buf_str(&w->body));
}
