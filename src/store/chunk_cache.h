/*
 * chunk_cache.h: a cache of the pieces of history.db that one reader used lately: heads of chunks, decoded, the bytes
 * of small columns, unpacked, and what the devices of those of tiers add up to. Bounded in bytes; when it is full any
 * of them goes. One thread at a time.
 *
 * What is kept is good for as long as no log's mark moves: merging changes which rows hold the samples, not the
 * samples. The caller empties it when a mark has moved.
 */
#pragma once

#include "codec/chunk.h"
#include "store/chunks.h"

struct column_sums;

struct chunk_cache_chunk {
    int64_t id, from_ms, to_ms, log;
    struct chunk c;       /* its head; of a raw one without ticks */
    uint64_t devices_sum; /* as sink_devices_sum makes it */
    bool summed;          /* as chunk_row.summed */
    bool bad;             /* which makes no sense */
    char *head;
    struct chunk_cache_column {
        size_t len;
        bool plain, tried; /* plain: as chunk_plain made them; tried: whether they can be */
        char p[];
    } * *columns;              /* bytes of those kept, NULL: not yet */
    struct column_sums **sums; /* what their devices add up to; likewise */
};

struct chunk_cache_group { /* the chunks of a node in a bucket of a tier */
    char node[NODE_KEY_MAX];
    int tier;
    int64_t bucket;
    size_t n, cap, bytes;
    struct chunk_cache_chunk *v;
    struct chunk_cache_group *chain; /* in its slot */
};

struct chunk_cache;
struct chunk_cache *chunk_cache_new(size_t max_bytes);
void chunk_cache_free(struct chunk_cache *s);
void chunk_cache_reset(struct chunk_cache *s);

/* From the cache or the database; good until the next call. 0 or -errno. */
int chunk_cache_get(struct chunk_cache *s, struct chunks *db, const char *node, int tier, int64_t bucket,
                    struct chunk_cache_group **ret);
/* A chunk's head with its ticks, for whoever reads it now: not to be ended, and good until the next call. */
struct chunk chunk_cache_head(struct chunk_cache *s, const struct chunk_cache_chunk *c);
/*
 * A column's bytes, good until the next call: 0: not checked; 1: as chunk_plain made them. -EBADMSG: they are not
 * there; -errno. room: any cells.
 */
int chunk_cache_column(struct chunk_cache *s, struct chunks *db, struct chunk_cache_group *g,
                       struct chunk_cache_chunk *c, size_t column, struct chunk_cells *room, struct str *ret);
/* Takes what a column's devices add up to. */
void chunk_cache_keep_sums(struct chunk_cache *s, struct chunk_cache_group *g, struct chunk_cache_chunk *c,
                           size_t column, struct column_sums *theirs);
