/*
 * cache.h: answers that several readers share: bytes with a count of holders, and a small bounded table of them. One of
 * the same version is used again within the same second; one that took long to make for longer, up to twenty times what
 * it cost (at most a second): so readers never take more than a twentieth of a core for it.
 */
#pragma once

#include "base/buf.h"

/* FAST: a tenth of WELL's time, a fifth more bytes. SERIES: for lines with random identifiers (uuids of GPUs in
 * /metrics), a fifth less than FAST in twice its time. */
enum gzip_way { GZIP_FAST, GZIP_WELL, GZIP_SERIES };

struct blob {
    unsigned refs;
    bool series;                 /* GZIP_SERIES */
    struct buf plain, gz, piece; /* gz and piece are made when first asked for */
    char etag[48];               /* of the answer it was made for: who gets it later gets that, too; empty: none */
};
struct blob *blob_new(struct buf *take); /* one reference; take is emptied */
struct blob *blob_ref(struct blob *b);
void blob_unref(struct blob *b);
struct str blob_gzip(struct blob *b); /* compressed, kept; empty when it could not be */
/* Compressed as a piece of a gzip stream: pieces lean on nothing before them, so that any of them in any order, behind
 * GZIP_HEAD, are what one reader unpacks, and made once for all readers. Kept; empty when it could not be. */
struct str blob_piece(struct blob *b);
#define GZIP_HEAD "\x1f\x8b\x08\0\0\0\0\0\0\x03" /* 10 bytes */

/* Bytes as such a piece, onto out. 0 or -errno. */
int gzip_piece(struct str in, struct buf *out);

/* A whole gzip member onto out. 0 or -errno. */
int gzip(struct str in, enum gzip_way way, struct buf *out);
enum gzip_way gzip_way_of(size_t n, bool series); /* for so many bytes */
struct z_stream_s;
int gzip_start(struct z_stream_s *z, enum gzip_way way, int bits); /* bits: as zlib has them. 0 or -ENOMEM */

struct cache;
struct cache *cache_new(size_t max_bytes);
void cache_sweep(struct cache *c, int64_t now_ms); /* now and then: what nobody asked for lately goes */
void cache_free(struct cache *c);
/* A new reference to what is kept under key and still good, or NULL. */
struct blob *cache_get(struct cache *c, struct str key, uint64_t version, int64_t now_ms);
/* An empty buffer for what will take the place of what is kept under key: in its memory, if nobody else holds that. A
 * fresh megabyte costs as much as half of what is written into it. */
struct buf cache_room(struct cache *c, struct str key, size_t max);
/* cost_us: what making it took. The cache takes a reference of its own. */
void cache_put(struct cache *c, struct str key, uint64_t version, int64_t now_ms, int64_t cost_us, struct blob *b);
/* The same for what does not change but with its version: good as long as that is the same, asked for or not. For the
 * few keys of ours, never one that a request could make up. */
void cache_keep(struct cache *c, struct str key, uint64_t version, int64_t now_ms, struct blob *b);
void cache_reset(struct cache *c);
