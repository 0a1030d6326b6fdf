/*
 * chunk_cache.c: groups of chunks in a hash table. A full cache evicts random entries, not the least recently used:
 * queries about all nodes come in the same order each time, and with LRU would find none of theirs.
 */
#include "store/chunk_cache.h"

#include <errno.h>

#include "base/mem.h"
#include "base/rand.h"
#include "store/sink.h"

#define SLOTS      1024u
#define COLUMN_MAX 2048u /* larger columns are not cached: decoding them costs more than reading */
#define FIRST_READ 1024u /* most heads are smaller */
#define HEAD_MAX   (8u << 20)

struct chunk_cache {
    struct chunk_cache_group *slots[SLOTS];
    size_t bytes, max_bytes;
    uint32_t dice;
    struct buf room, plain; /* room: of uncached columns; plain: before caching */
    int64_t *ticks;         /* of the current raw chunk */
    size_t cap_ticks;
};

struct chunk_cache *chunk_cache_new(size_t max_bytes)
{
    return NEW(struct chunk_cache, .max_bytes = max_bytes, .room = BUF_INIT(CHUNK_BYTES_MAX),
               .plain = BUF_INIT(CHUNK_BYTES_MAX));
}

static void group_free(struct chunk_cache_group *g)
{
    for (size_t i = 0; i < g->n; i++) {
        struct chunk_cache_chunk *c = &g->v[i];
        for (size_t k = 0; c->columns && k < c->c.n_columns; k++)
            FREE_ALL(c->columns[k], c->sums[k]);
        FREE_ALL(c->columns, c->sums);
        chunk_fini(&c->c);
        free(c->head);
    }
    free(g->v);
    free(g);
}

void chunk_cache_reset(struct chunk_cache *s)
{
    for (size_t i = 0; i < SLOTS; i++)
        for (struct chunk_cache_group *g = s->slots[i], *next; g; g = next) {
            next = g->chain;
            group_free(g);
        }
    memset(s->slots, 0, sizeof(s->slots));
    s->bytes = 0;
}

void chunk_cache_free(struct chunk_cache *s)
{
    if (!s)
        return;
    chunk_cache_reset(s);
    buf_fini(&s->room);
    buf_fini(&s->plain);
    FREE_ALL(s->ticks, s);
}

static struct chunk_cache_group **slot_of(struct chunk_cache *s, const char *node, int tier, int64_t bucket)
{
    uint64_t h = crc32c((uint32_t)tier, node, strlen(node)) ^ (uint64_t)(bucket / 1000) * 0x9e3779b97f4a7c15u;

    return &s->slots[(h ^ h >> 32) % SLOTS];
}

/* Evicts any group except the one in use. */
static void evict(struct chunk_cache *s, const struct chunk_cache_group *used)
{
    size_t empty = 0;

    while (s->bytes > s->max_bytes && empty < SLOTS) {
        if (empty == 0)
            s->dice = s->dice * 1664525u + 1013904223u;
        struct chunk_cache_group **at = &s->slots[((s->dice >> 16) + empty) % SLOTS], *g = *at;
        if (g == used && g) {
            at = &g->chain;
            g = *at;
        }
        empty++;
        if (!g)
            continue;
        empty = 0;
        *at = g->chain;
        s->bytes -= g->bytes;
        group_free(g);
    }
}

struct loading {
    struct chunks *db;
    struct chunk_cache_group *g;
};

static int note_chunk(void *arg, const struct chunk_row *row)
{
    struct chunk_cache_group *g = ((struct loading *)arg)->g;

    VEC_ROOM(g->v, g->n, g->cap);
    g->v[g->n++] = (struct chunk_cache_chunk){.id = row->id,
                                              .from_ms = row->from_ms,
                                              .to_ms = row->to_ms,
                                              .log = row->log,
                                              .summed = row->summed,
                                              .c = {.bytes = {.len = row->bytes.len}}};
    return 0;
}

/* Reads a chunk's head. Returns 0, or -errno of the database. */
static int load_head(struct chunks *db, struct chunk_cache_chunk *c, size_t *ret_bytes)
{
    size_t size = c->c.bytes.len, first = MIN(size, FIRST_READ), len;

    c->c.bytes.len = 0;
    c->bad = true;
    if (size < CHUNK_LEAD)
        return 0;
    c->head = mem_alloc(first);
    int r = chunks_bytes(db, c->id, 0, first, c->head);
    if (r < 0)
        return r == -ENOENT ? 0 : r;
    len = chunk_head_len(c->head);
    if (len == 0 || len > size || len > HEAD_MAX)
        return 0;
    if (len > first) {
        c->head = mem_grow(c->head, len, 1);
        r = chunks_bytes(db, c->id, first, len - first, c->head + first);
        if (r < 0)
            return r;
    }
    c->bad = chunk_open(&c->c, str_n(c->head, len), NULL) < 0;
    if (!c->bad) {
        c->columns = mem_zero(MAX(c->c.n_columns, 1u), sizeof(*c->columns));
        c->sums = mem_zero(MAX(c->c.n_columns, 1u), sizeof(*c->sums));
        c->devices_sum = sink_devices_sum(&c->c);
    }
    if (c->c.lanes == 1) { /* they are large, and decoding them again is a small part of reading a chunk */
        free(c->c.ticks);
        c->c.ticks = NULL;
    }
    *ret_bytes += len + (c->c.ticks ? c->c.n_ticks * sizeof(*c->c.ticks) : 0) + c->c.n_devices * sizeof(*c->c.devices) +
                  c->c.n_columns * (sizeof(*c->c.columns) + sizeof(*c->columns) + sizeof(*c->sums)) +
                  c->c.n_devs * c->c.n_devices * sizeof(uint16_t);
    return 0;
}

static int load_group(struct chunks *db, struct chunk_cache_group *g)
{
    struct loading x = {db, g};
    int r = chunks_list(db, g->node, g->tier, g->bucket, note_chunk, &x);

    g->bytes = sizeof(*g) + g->cap * sizeof(*g->v);
    for (size_t i = 0; i < g->n && r == 0; i++) {
        r = load_head(db, &g->v[i], &g->bytes);
        if (r == -EUCLEAN) /* a damaged page: the rest is still readable */
            r = 0;
    }
    return r;
}

int chunk_cache_get(struct chunk_cache *s, struct chunks *db, const char *node, int tier, int64_t bucket,
                    struct chunk_cache_group **ret)
{
    struct chunk_cache_group **slot = slot_of(s, node, tier, bucket), *g = *slot;

    while (g && (g->tier != tier || g->bucket != bucket || strcmp(g->node, node) != 0))
        g = g->chain;
    if (g) {
        *ret = g;
        return 0;
    }
    g = mem_zero(1, sizeof(*g));
    mem_copy_str(g->node, sizeof(g->node), node);
    g->tier = tier;
    g->bucket = bucket;
    int r = load_group(db, g);
    if (r < 0) {
        group_free(g);
        return r;
    }
    g->chain = *slot;
    *slot = g;
    s->bytes += g->bytes;
    evict(s, g);
    *ret = g;
    return 0;
}

struct chunk chunk_cache_head(struct chunk_cache *s, const struct chunk_cache_chunk *c)
{
    struct chunk ret = c->c;

    if (!ret.ticks) {
        VEC_LEAST(s->ticks, s->cap_ticks, ret.n_ticks);
        chunk_ticks(&ret, s->ticks);
        ret.ticks = s->ticks;
    }
    return ret;
}

static void keep_column(struct chunk_cache *s, struct chunk_cache_group *g, struct chunk_cache_column **at,
                        struct str bytes, bool plain)
{
    size_t had = *at ? sizeof(**at) + (*at)->len : 0;
    struct chunk_cache_column *k = *at = mem_grow(*at, sizeof(*k) + bytes.len, 1);

    *k = (struct chunk_cache_column){.len = bytes.len, .plain = plain, .tried = plain};
    if (bytes.len)
        memcpy(k->p, bytes.p, bytes.len);
    g->bytes += sizeof(*k) + bytes.len - had;
    s->bytes += sizeof(*k) + bytes.len - had;
    evict(s, g);
}

void chunk_cache_keep_sums(struct chunk_cache *s, struct chunk_cache_group *g, struct chunk_cache_chunk *c,
                           size_t column, struct column_sums *theirs)
{
    const struct chunk_cache_column *was = c->columns[column];
    size_t had = (c->sums[column] ? c->sums[column]->bytes : 0) + (was ? sizeof(*was) + was->len : 0);

    FREE_ALL(c->sums[column], c->columns[column]);
    c->columns[column] = NULL; /* the sums replace the column */
    c->sums[column] = theirs;
    g->bytes += theirs->bytes - had;
    s->bytes += theirs->bytes - had;
    evict(s, g);
}

/* Caches a tier's column that is used again without zstd, if that is not much larger. */
static void unpack_column(struct chunk_cache *s, struct chunk_cache_group *g, struct chunk_cache_chunk *c,
                          size_t column, struct chunk_cells *room)
{
    struct chunk_cache_column *k = c->columns[column];

    k->tried = true;
    buf_reset(&s->plain);
    if (chunk_plain(&c->c, column, str_n(k->p, k->len), room, &s->plain) == 0 && s->plain.len <= COLUMN_MAX)
        keep_column(s, g, &c->columns[column], buf_str(&s->plain), true);
}

int chunk_cache_column(struct chunk_cache *s, struct chunks *db, struct chunk_cache_group *g,
                       struct chunk_cache_chunk *c, size_t column, struct chunk_cells *room, struct str *ret)
{
    const struct chunk_part *p = &c->c.columns[column];

    if (c->columns[column]) {
        if (!c->columns[column]->tried && c->c.lanes > 1)
            unpack_column(s, g, c, column, room);
    } else {
        buf_reset(&s->room);
        char *to = buf_room(&s->room, p->len + 1);
        if (!to)
            return -EBADMSG;
        int r = chunks_bytes(db, c->id, p->off, p->len, to);
        if (r < 0)
            return r == -ENOENT ? -EBADMSG : r;
        if (p->len > COLUMN_MAX) {
            *ret = str_n(to, p->len);
            return 0;
        }
        keep_column(s, g, &c->columns[column], str_n(to, p->len), false);
    }
    *ret = str_n(c->columns[column]->p, c->columns[column]->len);
    return c->columns[column]->plain;
}
