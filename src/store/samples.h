/*
 * samples.h: the store's history: batches compacted into column chunks per node and span, and tiers of 1 minute and 1
 * hour.
 *
 * H1 A query sees every durable sample exactly once, whether it is in a log, in chunks, or in both for a short time.
 * H2 Late batches are stored at their own time, tiers included.
 * H3 A gap is a bin with count 0, never a zero.
 * H4 Integers are exact in raw. A tier keeps count, sum, min and max, and the newest value of counters, states and
 *    custom metrics; for others the mean of the newest bin replaces it.
 * H5 Damage costs one column of one chunk and is counted; the rest is read.
 * H6 A query does bounded work, runs on any thread, waits for no writer, and stops when the caller's stop() returns
 *    true.
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
    int64_t shift_ms; /* add to the times in bytes */
    struct str bytes; /* the frame as received */
};

/* Copies its arguments. A batch that is stored already counts as a repeat; done still gets 0. */
void store_append(struct store *s, const struct store_batch *b, size_t n, store_done_fn *done, void *arg);
/* Everything that arrived together is appended: commit now instead of after commit_ms. */
void store_nudge(struct store *s);
bool store_has(const struct store *s, const char *node, uint64_t run, uint64_t number); /* durable already */

void store_put_blob(struct store *s, const char *node, enum blob_kind kind, uint64_t id,
                    struct str bytes); /* durable with the next append; no effect if stored already */
/*
 * Returns 1, 0 or -errno. ret NULL: only checks whether the blob is stored or queued. On the loop thread (store_loaded)
 * it does not read the disk: it returns queued blobs, and knows whether a node's newest ones are stored.
 */
int store_get_blob(struct store *s, const char *node, uint64_t id, struct buf *ret, struct err *err);

/*
 * Call at start, before any append: passes the newest batches of every node that are still in logs, in order of arrival
 * per node. Skips batches older than back_ms before the node's newest. Passes about max batches in total, but at least
 * the newest of each node. Stops when each returns other than 0, and returns that. A damaged log does not affect the
 * others: they are read, then it returns -EUCLEAN and names the log in err.
 */
struct newest_query {
    int64_t back_ms;
    size_t max;
};
int store_each_batch(struct store *s, const struct newest_query *newest,
                     int (*each)(void *arg, const struct store_batch *b), void *arg, struct err *err);

/*
 * Decodes batches and facts blobs for the store. Implemented by wire/, passed in by the program that links the parts.
 * One instance per thread.
 */
struct store_decoder {
    void *(*make)(void);
    void (*end)(void *d);
    int (*batch)(void *d, struct str frame, struct batch *ret, struct err *err); /* borrowed until the next call on d */
    int (*facts)(void *d, struct str frame, struct node_fact *ret, struct err *err); /* free with node_fact_fini() */
};

/* The state of a node at a given time. */
struct node_at {
    char name[NAME_MAX_LEN];
    bool maintenance;
    int64_t hung_since_ms; /* its driver stopped responding; 0: it responded */
    bool has_fact;
    struct node_fact fact; /* current at that time; free with node_fact_fini() */
};

/* The facts that were current at a given time. */
struct facts_at {
    uint64_t id;
    int64_t from_ms; /* start of their validity */
    bool has_fact;
    struct node_fact fact; /* free with node_fact_fini() */
};

/* State shared by several queries of one thread, for the duration of a request. */
struct history_session;

enum bin_field { BIN_SUM = 1, BIN_MIN = 2, BIN_MAX = 4, BIN_LAST = 8, BIN_ALL = 15 }; /* count is always set */

struct bins_query {
    const char *node;           /* key */
    const char *const *devices; /* uuids; "" is the node itself */
    const char *const *metrics; /* names of metrics.def, or of custom metrics */
    uint64_t devices_sum;       /* names_sum of these in their order; 0: unknown */
    const int *known;           /* enum metric of each, -1 for a custom one; NULL: looked up by name */
    size_t n_devices, n_metrics;
    int64_t from_ms, to_ms;  /* [from, to), extended to whole bins */
    int64_t step_ms;         /* bins start at multiples of it since 1970; at least 100 */
    unsigned fields;         /* enum bin_field bits that are needed; 0: all. Other fields of a bin are undefined */
    int tier;                /* enum tier, or -1: the coarsest whose bins fit into step, and that still has from_ms */
    bool (*stop)(void *arg); /* called periodically; NULL: never */
    void *arg;
    bool exact;                      /* no data outside [from, to): the first and last bin may be shorter */
    bool once;                       /* a one-off query: do not fill caches */
    bool together;                   /* only the sum over the devices is needed; BIN_SUM only */
    struct history_session *session; /* NULL: uses its own */
};

/*
 * Series d * n_metrics + m has n bins; bin i starts at from_ms + i * step_ms. together: the query requested it, and in
 * every non-empty bin all devices have the same number of samples. Then series m covers all devices: count is the
 * number of samples of each device, sum the total.
 */
struct history {
    int64_t from_ms, step_ms;
    bool together;
    size_t n_series, n;
    struct bin *v;    /* n_series * n */
    int64_t *last_ms; /* n_series * n: time of each bin's newest value; NULL without BIN_LAST */
    int tier;         /* the tier that was read */
    uint32_t damaged; /* columns that could not be read */
    /* why the archive, which alone has some of the data, did not respond; "" if nothing is missing */
    char missing[160];
};

/*
 * Thread-safe, also concurrently; store_close only when no call is in progress. Return 0; -ECANCELED when stopped;
 * -E2BIG above 4 million bins (or 16 million points); -ENOTSUP in a store without a decoder. Free ret with
 * history_fini().
 */
/*
 * For response caches: take a stamp before reading. store_same() returns true if since then no data that starts before
 * to_ms was stored, compacted or deleted. Thread-safe. Stamp 0: unknown, never the same.
 */
uint64_t store_stamp(struct store *s);
bool store_same(struct store *s, uint64_t stamp, int64_t to_ms);
struct history_session *store_session(struct store *s);
void store_session_end(struct history_session *x);
int store_history(struct store *s, const struct bins_query *ask, struct history *ret, struct err *err);
/*
 * Queries several nodes over one span, with one step and tier. Sends one query to the archive, and reads on idle
 * processors in parallel. ret: one result for each query, all or none. Several threads call stop.
 */
int store_histories(struct store *s, const struct bins_query *asks, size_t n, struct history *ret, struct err *err);
void history_fini(struct history *h);

/*
 * Exact raw points of one series in time order, for export and for the state at a given time. Stops when each returns
 * other than 0.
 */
int store_points(struct store *s, const char *node, const char *device, const char *metric, int64_t from_ms,
                 int64_t to_ms, int (*each)(void *arg, int64_t at_ms, int64_t v), void *arg, struct err *err);
/* Lists the metrics with stored data per device of this node in [from, to): each(device uuid, metric name). */
int store_series(struct store *s, const char *node, int64_t from_ms, int64_t to_ms,
                 int (*each)(void *arg, const char *device, const char *metric), void *arg, struct err *err);

/* Thread-safe. Returns 1; 0 if nothing is known for that time, with ret all zero except hung_since_ms; or -errno. */
int store_node_at(struct store *s, struct history_session *x, const char *node, int64_t at_ms, struct node_at *ret,
                  struct err *err);
/* Only the facts: returns 1, 0 or -errno. Facts with the id `known` are not read; has_fact is false then. */
int store_facts_at(struct store *s, struct history_session *x, const char *node, int64_t at_ms, uint64_t known,
                   struct facts_at *ret, struct err *err);

/*
 * Seals the log, compacts, merges, applies retention, and waits for it: for tests, benchmarks and a small backup.
 * Returns 0 or the error.
 */
int store_settle(struct store *s, struct err *err);
