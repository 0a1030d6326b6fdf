/*
 * cache.c: caches responses that several clients share. It is not a store: everything here can be made again from live
 * state.
 */
#include "http/cache.h"

#include <errno.h>
#include <zlib.h>

#include "base/mem.h"
#include "base/order.h"
#include "base/rand.h"

#define ENTRIES   64
#define UNUSED_MS 5000 /* a response is valid for a second; for ten thousand nodes it has 100 MB */
#define GZIP_BIG  (256u << 10)

struct blob *blob_new(struct buf *take)
{
    struct blob *b = NEW(struct blob, .refs = 1, .plain = *take);
    *take = (struct buf){0};
    return b;
}

struct blob *blob_ref(struct blob *b)
{
    b->refs++;
    return b;
}

void blob_unref(struct blob *b)
{
    if (!b || --b->refs > 0)
        return;
    buf_fini(&b->plain);
    buf_fini(&b->gz);
    buf_fini(&b->piece);
    free(b);
}

/* Z_FILTERED leaves matches of three to five bytes alone: in random digits they cost more than the digits. */
int gzip_start(z_stream *z, enum gzip_way way, int bits)
{
    static const struct {
        int level, strategy;
    } ways[] =
        {[GZIP_FAST] = {1, Z_DEFAULT_STRATEGY}, [GZIP_WELL] = {6, Z_DEFAULT_STRATEGY}, [GZIP_SERIES] = {5, Z_FILTERED}};

    if (deflateInit2(z, ways[way].level, Z_DEFLATED, bits, 8, ways[way].strategy) != Z_OK)
        return -ENOMEM;
    if (way == GZIP_SERIES)
        deflateTune(z, 32, 32, 258, 24);
    return 0;
}

/* Compresses all of in and appends it to out; bits and flush: see zlib. */
static int pack(struct str in, enum gzip_way way, int bits, int flush, struct buf *out)
{
    z_stream z = {0};
    if (gzip_start(&z, way, bits) < 0)
        return -ENOMEM;
    size_t most = deflateBound(&z, in.len) + 16; /* a flush ends in an empty block */
    char *p = buf_room(out, most);
    int r = -EMSGSIZE;
    if (p) {
        z.next_in = (Bytef *)(uintptr_t)in.p;
        z.avail_in = (uInt)in.len;
        z.next_out = (Bytef *)p;
        z.avail_out = (uInt)most;
        int got = deflate(&z, flush);
        r = got == (flush == Z_FINISH ? Z_STREAM_END : Z_OK) && z.avail_in == 0 && z.avail_out > 0 ? 0 : -EIO;
        if (r == 0)
            buf_appended(out, z.total_out);
    }
    deflateEnd(&z);
    return r;
}

int gzip(struct str in, enum gzip_way way, struct buf *out)
{
    return pack(in, way, 15 + 16, Z_FINISH, out);
}

int gzip_piece(struct str in, struct buf *out)
{
    return pack(in, GZIP_FAST, -15, Z_FULL_FLUSH, out);
}

enum gzip_way gzip_way_of(size_t n, bool series)
{
    return series ? GZIP_SERIES : n > GZIP_BIG ? GZIP_FAST : GZIP_WELL;
}

struct str blob_gzip(struct blob *b)
{
    if (b->gz.len == 0) {
        b->gz = BUF_INIT(b->plain.len + (64u << 10));
        gzip(buf_str(&b->plain), gzip_way_of(b->plain.len, b->series), &b->gz);
    }
    return buf_str(&b->gz);
}

struct str blob_piece(struct blob *b)
{
    if (b->piece.len == 0) {
        b->piece = BUF_INIT(b->plain.len + (64u << 10));
        gzip_piece(buf_str(&b->plain), &b->piece);
    }
    return buf_str(&b->piece);
}

struct entry {
    uint64_t hash, version;
    int64_t made_ms, good_ms, used_ms;
    bool kept; /* until it is replaced */
    struct buf key;
    struct blob *blob;
};

struct cache {
    size_t n, max_bytes;
    struct entry v[ENTRIES];
};

struct cache *cache_new(size_t max_bytes)
{
    return NEW(struct cache, .max_bytes = max_bytes);
}

static void entry_fini(struct entry *e)
{
    buf_fini(&e->key);
    blob_unref(e->blob);
}

void cache_reset(struct cache *c)
{
    for (size_t i = 0; i < c->n; i++)
        entry_fini(&c->v[i]);
    c->n = 0;
}

void cache_sweep(struct cache *c, int64_t now_ms)
{
    for (size_t i = c->n; i-- > 0;)
        if (!c->v[i].kept && (now_ms - c->v[i].used_ms > UNUSED_MS || now_ms < c->v[i].used_ms)) {
            entry_fini(&c->v[i]);
            c->v[i] = c->v[--c->n];
        }
}

void cache_free(struct cache *c)
{
    if (!c)
        return;
    cache_reset(c);
    free(c);
}

static struct entry *entry_find(struct cache *c, struct str key, uint64_t hash)
{
    return FIND(c->v, c->n, e, e->hash == hash && str_eq_str(buf_str(&e->key), key));
}

struct blob *cache_get(struct cache *c, struct str key, uint64_t version, int64_t now_ms)
{
    struct entry *e = entry_find(c, key, fnv64(key.p, key.len));
    if (e && e->kept && e->version == version)
        return blob_ref(e->blob);
    if (!e || e->kept || now_ms < e->made_ms)
        return NULL;
    bool same = e->version == version && now_ms / 1000 == e->made_ms / 1000;
    if (!same && now_ms >= e->made_ms + e->good_ms)
        return NULL;
    e->used_ms = now_ms;
    return blob_ref(e->blob);
}

struct buf cache_room(struct cache *c, struct str key, size_t max)
{
    struct entry *e = entry_find(c, key, fnv64(key.p, key.len));
    struct buf room = {0};
    if (e && !e->kept && e->blob->refs == 1 && e->blob->plain.cap <= max) {
        room = e->blob->plain;
        e->blob->plain = (struct buf){0};
        entry_fini(e);
        *e = c->v[--c->n];
        buf_reset(&room);
    }
    room.max = max;
    return room;
}

/* Makes room for one more: drops the least recently used response until count and bytes fit. */
static void cache_evict(struct cache *c, size_t bytes)
{
    for (;;) {
        size_t total = bytes, oldest = c->n;
        for (size_t i = 0; i < c->n; i++) {
            total += c->v[i].blob->plain.len + c->v[i].blob->gz.len;
            if (!c->v[i].kept && (oldest == c->n || c->v[i].used_ms < c->v[oldest].used_ms))
                oldest = i;
        }
        if (oldest == c->n || (total <= c->max_bytes && c->n < ENTRIES))
            return;
        entry_fini(&c->v[oldest]);
        c->v[oldest] = c->v[--c->n];
    }
}

static struct entry *entry_put(struct cache *c, struct str key, uint64_t version, int64_t now_ms, struct blob *b)
{
    uint64_t hash = fnv64(key.p, key.len);
    struct entry *e = entry_find(c, key, hash);
    if (e) {
        blob_unref(e->blob);
    } else {
        cache_evict(c, b->plain.len);
        e = &c->v[c->n++];
        *e = (struct entry){.hash = hash, .key = BUF_INIT(4096)};
        buf_addstr(&e->key, key);
    }
    e->version = version;
    e->made_ms = e->used_ms = now_ms;
    e->blob = blob_ref(b);
    return e;
}

void cache_put(struct cache *c, struct str key, uint64_t version, int64_t now_ms, int64_t cost_us, struct blob *b)
{
    struct entry *e = entry_put(c, key, version, now_ms, b);
    e->good_ms = MIN(cost_us * 20 / 1000, 1000);
}

void cache_keep(struct cache *c, struct str key, uint64_t version, int64_t now_ms, struct blob *b)
{
    entry_put(c, key, version, now_ms, b)->kept = true;
}
