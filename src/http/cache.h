/*
 * cache.h: response cache: reference-counted bytes, and a small bounded table of them. A response of the same version
 * is reused within the same second. An expensive one is reused for longer, up to twenty times its cost (at most a
 * second): so rendering uses at most 5 % of a core.
 */
#pragma once

#include "base/buf.h"

/* FAST: a tenth of WELL's time, 20 % more bytes. SERIES: for lines with random identifiers (uuids of GPUs in /metrics),
 * 20 % fewer bytes than FAST in twice its time. */
enum gzip_way { GZIP_FAST, GZIP_WELL, GZIP_SERIES };

struct blob {
    unsigned refs;
    bool series;                 /* GZIP_SERIES */
    struct buf plain, gz, piece; /* gz and piece are made at the first request */
    char etag[48];               /* of the response it was made for; later clients get the same; "": none */
};
struct blob *blob_new(struct buf *take); /* one reference; take is emptied */
struct blob *blob_ref(struct blob *b);
void blob_unref(struct blob *b);
struct str blob_gzip(struct blob *b); /* compressed, cached; empty on failure */
/* Compressed as a piece of a gzip stream: pieces do not refer to earlier ones. Any pieces in any order, behind
 * GZIP_HEAD, are a valid stream, so each is made once for all clients. Cached; empty on failure. */
struct str blob_piece(struct blob *b);
#define GZIP_HEAD "\x1f\x8b\x08\0\0\0\0\0\0\x03" /* 10 bytes */

/* Appends bytes as such a piece. Returns 0 or -errno. */
int gzip_piece(struct str in, struct buf *out);

/* Appends a whole gzip member. Returns 0 or -errno. */
int gzip(struct str in, enum gzip_way way, struct buf *out);
enum gzip_way gzip_way_of(size_t n, bool series); /* for n bytes */
struct z_stream_s;
int gzip_start(struct z_stream_s *z, enum gzip_way way, int bits); /* bits: see zlib. Returns 0 or -ENOMEM */

struct cache;
struct cache *cache_new(size_t max_bytes);
void cache_sweep(struct cache *c, int64_t now_ms); /* to call periodically: drops responses that were not requested
                                                    * recently */
void cache_free(struct cache *c);
/* A new reference to the response under key if it is still valid, or NULL. */
struct blob *cache_get(struct cache *c, struct str key, uint64_t version, int64_t now_ms);
/* An empty buffer for the next response under key, in the memory of the old one if no other reference exists. A fresh
 * megabyte costs half as much as writing it. */
struct buf cache_room(struct cache *c, struct str key, size_t max);
/* cost_us: time to make it. The cache takes its own reference. */
void cache_put(struct cache *c, struct str key, uint64_t version, int64_t now_ms, int64_t cost_us, struct blob *b);
/* The same for a response that only changes with its version: valid as long as the version is the same, even if unused.
 * Only for the few fixed keys, never for a key from a request. */
void cache_keep(struct cache *c, struct str key, uint64_t version, int64_t now_ms, struct blob *b);
void cache_reset(struct cache *c);
