/*
 * sink.h: collects the answer to a question about history: chunks and batches go in, in any order. Whoever reads them
 * (past.c) knows nothing of what is asked; the sinks know nothing of where things are kept.
 */
#pragma once

#include <errno.h>

#include "codec/chunk.h"
#include "codec/table.h"
#include "model/metric.h"
#include "store/samples.h"

#define SINK_LEAVES (-EDOM) /* from a sink: it cannot tell in this way what is asked, and wants no more */

struct column_sums { /* of a column of a tier: its devices as one, as together.h says */
    size_t bytes;    /* this takes */
    bool even;       /* every device has every tick, and as many samples in it as the others; else v is not there */
    int64_t v[];     /* of each tick the sum of all, then of each how many samples every device has */
};

struct sink {
    /* 0, or what ends the reading: -errno, or what the caller's own function returned */
    int (*chunk)(struct sink *s, const struct chunk *c, int tier);
    int (*batch)(struct sink *s, const struct batch *b, const struct node_fact *f, int64_t shift_ms);
    void (*reset)(struct sink *s); /* forget everything: it begins again */
    bool (*stop)(void *arg);
    void *stop_arg;
    int64_t from_ms, to_ms; /* [from, to): what is wanted */
    bool once;              /* as history_ask says */
    uint32_t damaged;
    struct chunk_cells *cells;       /* room, of whoever reads */
    struct history_session *session; /* or NULL */
    size_t guess;         /* the column that was asked for in the chunk before: likely it is the same again */
    uint64_t devices_sum; /* sink_devices_sum of the chunk that is given; 0: not known */
    /* a column's bytes where the chunk has only its head; NULL: the chunk has them all. 1: they are those of
     * chunk_plain; 0; -EBADMSG: damaged. May use cells */
    int (*load)(void *arg, const struct chunk *c, size_t column, struct str *ret);
    void *load_arg;
    /* what a column's devices add up to, as it was kept, or NULL; and a place for it. NULL: nothing is kept */
    const struct column_sums *(*sums)(void *arg, size_t column);
    void (*keep_sums)(void *arg, size_t column, struct column_sums *theirs);
};
/* What names_sum makes of a chunk's GPUs: its devices but the node itself, which comes first. */
uint64_t sink_devices_sum(const struct chunk *c);
/* What is wanted of a column into s->cells: 0, 1 when it is damaged (and counted), or what ends the reading. */
int sink_read_column(struct sink *s, const struct chunk *c, size_t k, struct chunk_want *want);

/* ---- bins ---- */
struct bins_sink {
    struct sink s;
    const struct history_ask *ask;
    struct history h;
    unsigned fields;          /* as ask says, never 0 */
    struct chunk_key *keys;   /* of the metrics */
    uint16_t only;            /* the one metric that is asked for; 0: there are more, or it is custom */
    uint32_t *next;           /* of keys: the next of those with the same number; one behind, 0: none */
    const struct column **of; /* of each device in the metric of a batch at hand */
    int *place;           /* of each device in the chunk at hand, -1: not there; behind them: in its column at hand */
    const uint16_t *devs; /* of which column these are, as chunk_part says; NULL: of none yet */
    bool in_row;          /* those in the chunk lie one behind another, and are all that are asked for */
    bool just_these;      /* that column has all devices that are asked for, and none besides */
    size_t first_place, last_place; /* they are within [first, last) */
    size_t begin;                   /* its first tick that is asked for */
    struct cut *cuts;               /* ticks, from begin on */
    size_t n_cuts, cap_cuts;
    void *room; /* the block that of, keys, next and place are in; NULL: they fit into few_room */
    size_t cap_room;
    struct cut few[64]; /* what cuts is as long as that is enough */
    uint64_t few_room[64];
    uint32_t first[M_COUNT + 1]; /* of keys: the first of each metric, behind them the first that is custom; as next */
};
void bins_init(struct bins_sink *b);
/* The first of several asks, or the next. h is the caller's to take. */
int bins_begin(struct bins_sink *b, const struct history_ask *ask, int tier, struct err *err);
void bins_apart(struct bins_sink *b); /* before anything came: each device by itself after all */
void bins_fini(struct bins_sink *b);
void bins_put(struct history *h, size_t series, size_t bin, const struct part_bin *p); /* from elsewhere */

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

/* ---- which series there are ---- */
struct series_name {
    char *device, *metric;
};
struct series_sink {
    struct sink s;
    struct series_name *v;
    size_t n, cap, next; /* next: likely to be asked for */
};
void series_init(struct series_sink *p, int64_t from_ms, int64_t to_ms);
int series_give(struct series_sink *p, int (*each)(void *arg, const char *device, const char *metric), void *arg);
void series_fini(struct series_sink *p);
