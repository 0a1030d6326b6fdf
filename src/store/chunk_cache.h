/*
 * chunk_cache.h: one reader's cache of recently used parts of history.db: decoded chunk heads, decompressed bytes of
 * small columns, and the per-node sums of tier columns. Bounded in bytes; a full cache evicts random entries. Not
 * thread-safe.
 *
 * Entries stay valid until the mark of a log changes: merging changes which rows hold the samples, not the samples. The
 * caller empties the cache when a mark has changed.
 */
#pragma once

#include "codec/chunk.h"
#include "store/chunks.h"

struct column_sums;

struct chunk_cache_chunk {
    int64_t id, from_ms, to_ms, log;
    struct chunk c;       /* the head; of a raw chunk without ticks */
    uint64_t devices_sum; /* result of sink_devices_sum() */
    bool summed;          /* see chunk_row.summed */
    bool bad;             /* the head is invalid */
    char *head;
    struct chunk_cache_column {
        size_t len;
        bool plain, tried; /* plain: in the encoding of chunk_plain(); tried: conversion was attempted */
        char p[];
    } * *columns;              /* cached bytes; NULL: not loaded */
    struct column_sums **sums; /* sums over the devices; NULL: not computed */
};

struct chunk_cache_group { /* the chunks of a node in one bucket of a tier */
    char node[NODE_KEY_MAX];
    int tier;
    int64_t bucket;
    size_t n, cap, bytes;
    struct chunk_cache_chunk *v;
    struct chunk_cache_group *chain; /* next in the hash slot */
};

struct chunk_cache;
struct chunk_cache *chunk_cache_new(size_t max_bytes);
void chunk_cache_free(struct chunk_cache *s);
void chunk_cache_reset(struct chunk_cache *s);

/* Reads from the cache or the database. *ret is valid until the next call. Returns 0 or -errno. */
int chunk_cache_get(struct chunk_cache *s, struct chunks *db, const char *node, int tier, int64_t bucket,
                    struct chunk_cache_group **ret);
/* A chunk's head with its ticks. Do not call chunk_fini() on it. Valid until the next call. */
struct chunk chunk_cache_head(struct chunk_cache *s, const struct chunk_cache_chunk *c);
/*
 * A column's bytes, valid until the next call. Returns 0 if they are unchecked, 1 if they are in the encoding of
 * chunk_plain(), -EBADMSG if they are missing, or -errno. room: scratch cells.
 */
int chunk_cache_column(struct chunk_cache *s, struct chunks *db, struct chunk_cache_group *g,
                       struct chunk_cache_chunk *c, size_t column, struct chunk_cells *room, struct str *ret);
/* Takes ownership of theirs, the sums over a column's devices. */
void chunk_cache_keep_sums(struct chunk_cache *s, struct chunk_cache_group *g, struct chunk_cache_chunk *c,
                           size_t column, struct column_sums *theirs);
