/*
 * samples.h: the past, as the store keeps it: batches compacted into column chunks per node and span, and tiers of 1
 * minute and 1 hour.
 *
 * H1 A query sees every durable sample exactly once, whether it is still in a log, compacted, or both for a moment. H2
 * Late batches land where they belong, tiers included. H3 A gap is a bin with count 0, never a zero. H4 Integers are
 * exact in raw; a tier keeps count, sum, min and max, and the newest value of counters, states and custom metrics; of
 * others the mean of the newest bin stands for it. H5 Damage costs one column of one chunk, is
 * counted, and the rest is read. H6 A query does bounded work, runs on any thread, waits for nobody who writes, and
 * stops when told to.
 */
#pragma once

#include "codec/bin.h"
#include "model/batch.h"
#include "store/records.h"

enum blob_kind { BLOB_FACTS = 1, BLOB_PROCS = 2 };

struct store_batch {
    const char *node; /* key text */
    uint64_t run, number, facts, procs;
    int64_t at_ms;    /* first tick, hub's clock */
    int64_t shift_ms; /* to be added to the times inside */
    struct str bytes; /* the frame, kept as it came */
};

/* Copies what it needs. Already kept: counted as a repeat, done still gets 0. */
void store_append(struct store *s, const struct store_batch *b, size_t n, store_done_fn *done, void *arg);
/* What came together is appended: it is written now, not when commit_ms are over. */
void store_nudge(struct store *s);
bool store_has(const struct store *s, const char *node, uint64_t run, uint64_t number); /* durable already */

void store_put_blob(struct store *s, const char *node, enum blob_kind kind, uint64_t id,
                    struct str bytes); /* durable with the next append; kept already: nothing happens */
/* 1, 0 or -errno. ret NULL: only whether it is kept or queued. The loop (store_loaded) is told what is known without
 * the disk: what is queued, and of the newest of a node that they are kept. */
int store_get_blob(struct store *s, const char *node, uint64_t id, struct buf *ret, struct err *err);

/*
 * For the start, before anything is appended: the newest batches of every node that are still in logs, each node's in
 * the order they came, with nothing older than back_ms before its newest, and about max of them in all but at least the
 * newest of each. Stops when each returns other than 0, and returns that. A damaged log costs only itself: the others
 * are read, then -EUCLEAN is returned with a sentence naming it.
 */
struct newest_ask {
    int64_t back_ms;
    size_t max;
};
int store_each_batch(struct store *s, const struct newest_ask *newest,
                     int (*each)(void *arg, const struct store_batch *b), void *arg, struct err *err);

/* How the store reads what is in a batch or a facts blob: wire's business, passed in by whoever plugs the parts
 * together. One per thread. */
struct store_decoder {
    void *(*make)(void);
    void (*end)(void *d);
    int (*batch)(void *d, struct str frame, struct batch *ret, struct err *err); /* borrowed until the next call on d */
    int (*facts)(void *d, struct str frame, struct node_fact *ret, struct err *err); /* ended with node_fact_fini */
};

/* A node as it was at a moment. */
struct node_was {
    char name[NAME_MAX_LEN];
    bool maintenance;
    int64_t hung_since_ms; /* its driver did not answer; 0: it did */
    bool has_fact;
    struct node_fact fact; /* in force then; ended with node_fact_fini */
};

/* What was in force at a moment. */
struct facts_was {
    uint64_t id;
    int64_t from_ms; /* since when */
    bool has_fact;
    struct node_fact fact; /* ended with node_fact_fini */
};

/* What several questions in a row share: one thread's, for as long as a request takes. */
struct history_session;

enum bin_field { BIN_SUM = 1, BIN_MIN = 2, BIN_MAX = 4, BIN_LAST = 8, BIN_ALL = 15 }; /* count is always there */

struct history_ask {
    const char *node;           /* key */
    const char *const *devices; /* uuids; "" is the node itself */
    const char *const *metrics; /* names of metrics.def, or of custom metrics */
    uint64_t devices_sum;       /* names_sum of these in their order; 0: not known */
    const int *known;           /* enum metric of each, -1: a custom one; NULL: they are found by name */
    size_t n_devices, n_metrics;
    int64_t from_ms, to_ms;  /* [from, to), made larger to whole bins */
    int64_t step_ms;         /* bins at multiples of it since 1970; at least 100 */
    unsigned fields;         /* of enum bin_field, those needed; 0: all. The others of a bin may be anything */
    int tier;                /* enum tier, or -1: the coarsest whose bins fit into step, and that from_ms is kept in */
    bool (*stop)(void *arg); /* asked now and then; NULL: never */
    void *arg;
    bool exact;                      /* nothing outside [from, to): its first and last bin may be shorter */
    bool once;                       /* nobody asks for this again soon: nothing is made ready for the next time */
    bool together;                   /* of the devices only what they add up to is needed; for BIN_SUM alone */
    struct history_session *session; /* NULL: one of its own */
};

/*
 * Series d * n_metrics + m has n bins; bin i begins at from_ms + i * step_ms. together: it was asked for, and in every
 * bin that is no gap all devices have as many samples as each other; then series m is of all of them, count is how many
 * each has, and sum is what all add up to.
 */
struct history {
    int64_t from_ms, step_ms;
    bool together;
    size_t n_series, n;
    struct bin *v;     /* n_series * n */
    int64_t *last_ms;  /* so many: when each bin's newest value was; NULL: BIN_LAST is not asked for */
    int tier;          /* which was read */
    uint32_t damaged;  /* columns that could not be read */
    char missing[160]; /* the archive, which alone has some of it, did not answer: why; "": nothing is missing */
};

/*
 * These may be called from any thread, several at once; store_close only when none is under way. 0; -ECANCELED
 * when stopped; -E2BIG above 4 million bins (or 16 million points); -ENOTSUP in a store without a decoder. ret is ended
 * with history_fini.
 */
/*
 * For whoever keeps answers: a stamp, taken before something is read, and whether nothing was stored since that begins
 * before to_ms, nor was anything there compacted or dropped. Any thread. 0: not known here, and nothing is the same.
 */
uint64_t store_stamp(struct store *s);
bool store_same(struct store *s, uint64_t stamp, int64_t to_ms);
struct history_session *store_session(struct store *s);
void store_session_end(struct history_session *x);
int store_history(struct store *s, const struct history_ask *ask, struct history *ret, struct err *err);
/* Of several nodes at once, over one span, with one step and tier: what is in an archive is one question to it, and
 * processors that have nothing to do help. ret: one for each, all of them or none. stop is asked by several threads. */
int store_histories(struct store *s, const struct history_ask *asks, size_t n, struct history *ret, struct err *err);
void history_fini(struct history *h);

/* Exact raw points of one series in time order, for export and for the state at a moment. Stops when each returns other
 * than 0. */
int store_points(struct store *s, const char *node, const char *device, const char *metric, int64_t from_ms,
                 int64_t to_ms, int (*each)(void *arg, int64_t at_ms, int64_t v), void *arg, struct err *err);
/* Which metrics of which devices have anything stored for this node in [from, to): each(device uuid, metric name). */
int store_series(struct store *s, const char *node, int64_t from_ms, int64_t to_ms,
                 int (*each)(void *arg, const char *device, const char *metric), void *arg, struct err *err);

/* Any thread. ret: 1; 0: nothing is known of then, and ret is all zero but for hung_since_ms; -errno. */
int store_node_at(struct store *s, struct history_session *x, const char *node, int64_t at_ms, struct node_was *ret,
                  struct err *err);
/* The facts alone: 1, 0, -errno. Those whose number is `known` are not read, and has_fact is false. */
int store_facts_at(struct store *s, struct history_session *x, const char *node, int64_t at_ms, uint64_t known,
                   struct facts_was *ret, struct err *err);

/*
 * Seal the log, compact, merge and drop what is due, and wait for it: for tests, benchmarks and a small backup. 0, or
 * how it failed.
 */
int store_settle(struct store *s, struct err *err);
