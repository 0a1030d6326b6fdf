/*
 * sink.h: collects the result of a history query: chunks and batches go in, in any order. The reader (past.c) does not
 * depend on the query; the sinks do not depend on the storage.
 */
#pragma once

#include <errno.h>

#include "codec/chunk.h"
#include "codec/table.h"
#include "model/metric.h"
#include "store/samples.h"

#define SINK_LEAVES (-EDOM) /* from a sink: it cannot compute the result this way, and wants no more data */

struct column_sums { /* the devices of a tier's column as one, see node_sums.h */
    size_t bytes;    /* size of this struct with v */
    bool even;       /* every device has every tick, with the same number of samples in it; otherwise v is missing */
    int64_t v[];     /* for each tick the sum of all devices, then for each tick the number of samples per device */
};

struct sink {
    /* return 0, or an error that ends the read: -errno, or the result of the caller's own function */
    int (*chunk)(struct sink *s, const struct chunk *c, int tier);
    int (*batch)(struct sink *s, const struct batch *b, const struct node_fact *f, int64_t shift_ms);
    void (*reset)(struct sink *s); /* discards everything: the read restarts */
    bool (*stop)(void *arg);
    void *stop_arg;
    int64_t from_ms, to_ms; /* [from, to): the query's span */
    bool once;              /* see top_fetch_history */
    uint32_t damaged;
    struct chunk_cells *cells;       /* scratch space, owned by the reader */
    struct history_session *session; /* or NULL */
    size_t guess;                    /* column used in the previous chunk: likely the same again */
    uint64_t devices_sum;            /* sink_devices_sum() of the current chunk; 0: unknown */
    /*
     * Loads a column's bytes if the chunk has only its head; NULL: the chunk has all bytes. Returns 1 if they are in
     * the encoding of chunk_plain(), 0, or -EBADMSG if damaged. May use cells.
     */
    int (*load)(void *arg, const struct chunk *c, size_t column, struct str *ret);
    void *load_arg;
    /* Get and cache the sums over a column's devices. sums returns NULL if none are cached. NULL: no cache. */
    const struct column_sums *(*sums)(void *arg, size_t column);
    void (*keep_sums)(void *arg, size_t column, struct column_sums *theirs);
};
/* names_sum() of a chunk's GPUs: its devices except the node itself, which is first. */
uint64_t sink_devices_sum(const struct chunk *c);
/*
 * Reads the requested part of a column into s->cells. Returns 0, 1 if it is damaged (and counted), or an error that
 * ends the read.
 */
int sink_read_column(struct sink *s, const struct chunk *c, size_t k, struct chunk_want *want);

/* ---- bins ---- */
struct bins_sink {
    struct sink s;
    const struct bins_query *ask;
    struct history h;
    unsigned fields;          /* as in ask, but never 0 */
    struct chunk_key *keys;   /* of the queried metrics */
    uint16_t only;            /* the single queried metric; 0: several, or a custom one */
    uint32_t *next;           /* for keys: index + 1 of the next key with the same number; 0: none */
    const struct column **of; /* the column of each device for the current metric of a batch */
    /* index of each device in the current chunk, -1 if missing; after those: in its current column */
    int *place;
    const uint16_t *devs;           /* the column devices (see chunk_part) that place describes; NULL: none yet */
    bool in_row;                    /* in the chunk the queried devices are contiguous and the only GPUs */
    bool just_these;                /* the column has exactly the queried devices */
    size_t first_place, last_place; /* the devices are within [first, last) */
    size_t begin;                   /* the first queried tick */
    struct cut *cuts;               /* ticks, from begin on */
    size_t n_cuts, cap_cuts;
    void *room; /* block that holds of, keys, next and place; NULL: few_room is large enough */
    size_t cap_room;
    struct cut few[64]; /* storage of cuts while it is large enough */
    uint64_t few_room[64];
    uint32_t first[M_COUNT + 1]; /* for keys: the first of each metric, then the first custom one; encoded as next */
};
void bins_init(struct bins_sink *b);
/* Starts the first or the next of several queries. The caller may take ownership of b->h. */
int bins_begin(struct bins_sink *b, const struct bins_query *ask, int tier, struct err *err);
void bins_apart(struct bins_sink *b); /* call before any data: keeps each device separate after all */
void bins_fini(struct bins_sink *b);
/* adds a bin from another source */
void bins_put(struct history *h, size_t series, size_t bin, const struct part_bin *p);

/* ---- points of one series ---- */
struct point {
    int64_t at, v;
};
struct points_sink {
    struct sink s;
    const char *device;
    struct chunk_key key;
    struct point *v;
    size_t n, cap;
};
void points_init(struct points_sink *p, const char *device, const char *metric, int64_t from_ms, int64_t to_ms);
int points_give(struct points_sink *p, int (*each)(void *arg, int64_t at_ms, int64_t v), void *arg); /* in time order */
void points_fini(struct points_sink *p);

/* ---- list of series ---- */
struct series_name {
    char *device, *metric;
};
struct series_sink {
    struct sink s;
    struct series_name *v;
    size_t n, cap, next; /* next: likely the next one found */
};
void series_init(struct series_sink *p, int64_t from_ms, int64_t to_ms);
int series_give(struct series_sink *p, int (*each)(void *arg, const char *device, const char *metric), void *arg);
void series_fini(struct series_sink *p);
