/*
 * archive.h: an external store that keeps every sample longer than the store does (clickhouse/). The archiver sends it
 * logs once they are compacted into chunks. Queries read from it what is older than the local data. The store uses only
 * the interface in this header.
 *
 * A1 The file of a log stays until the archive has all of it, or until it is older than the retention of raw samples.
 * A2 Rows sent again, after a crash or a lost response, are kept once. A row is identified by node, device, time, run
 *    and number.
 * A3 A batch is stored under the key of its sender. Takeovers of nodes are resolved on read.
 * A4 Only the archiver thread, and queries of data that only the archive has, wait for the archive.
 */
#pragma once

#include <pthread.h>

#include "store/samples.h"

struct archive_batch {
    const char *node; /* key of the sender */
    int64_t log, row; /* its log and row in the store */
    const struct batch *b;
    const struct node_fact *facts; /* or NULL */
    int64_t shift_ms;
};

/* The batches that this node sent, in rows after (after) up to and including (upto). Both are pairs of log and row. */
struct archive_name {
    const char *node;
    int64_t after[2], upto[2];
};

struct archive_query {
    const struct bins_query *ask; /* its devices, metrics, fields and step */
    int64_t from_ms, to_ms;       /* [from, to); from is the start of bin 0 */
    const struct archive_name *names;
    size_t n_names;
};

/* Receives one bin of a series of one query. Add it to the bin if that bin was passed before. */
struct archive_out {
    void (*each)(void *arg, size_t ask, size_t series, size_t bin, const struct part_bin *p);
    void *arg;
    bool (*stop)(void *stop_arg); /* NULL: never */
    void *stop_arg;
};

/* The creator of the archive closes it, after the store. */
struct archive {
    /* The thread that feeds it. */
    /* copies b; returns the number of rows waiting to be sent */
    size_t (*take)(struct archive *a, const struct archive_batch *b);
    /* sends the waiting rows; returns their number once they are durable, or -errno */
    int (*send)(struct archive *a, struct err *err);
    void (*drop)(struct archive *a); /* discards the waiting rows; the caller passes them again later */
    /* probes whether the archive responds, every few seconds */
    int (*look)(struct archive *a, int64_t now_ms, struct err *err);
    /* Any thread. */
    void (*stop)(struct archive *a); /* requests in flight end soon, and no new ones start */
    /*
     * Runs several queries; all have the same step and span. Returns -E2BIG, -ECANCELED, or -EIO with a message in err.
     */
    int (*bins)(struct archive *a, const struct archive_query *v, size_t n, const struct archive_out *out,
                struct err *err);
};

/* ---- private to the store ---- */
struct log_sum;
struct writer;

/*
 * Logs to archive: the writer lists them, the archiver sends them and reports them, then the writer deletes the files.
 * Thread-safe.
 */
struct due_logs {
    pthread_mutex_t lock;
    struct log_sum *v; /* logs that have a file, by number */
    size_t n;
    int64_t *sent; /* subset of v */
    size_t n_sent, cap_sent;
    struct due_rows { /* on PostgreSQL, where the compactor deletes the frames */
        int64_t log, since_ms;
        bool sent;
    } * rows;
    size_t n_rows, cap_rows;
    void (*wake)(void *arg); /* called when a log is due */
    void *wake_arg;
    uint64_t files_missed, rows_missed, taken;
    struct err last;
};
void due_init(struct due_logs *d);
void due_fini(struct due_logs *d);
void due_list(struct due_logs *d, struct log_sum *v, size_t n, uint64_t missed); /* takes ownership of v */
/*
 * Returns 1 if the archive has the frames of this log, which may then be deleted; 0 if not yet. Frames that waited
 * longer than keep_ms may be deleted, too.
 */
int due_rows(struct due_logs *d, int64_t log, int64_t keep_ms);
size_t due_next(struct due_logs *d, int64_t **ret); /* numbers of all logs to send, ascending; the caller frees *ret */
void due_sent(struct due_logs *d, int64_t log);
int64_t due_take_sent(struct due_logs *d); /* number of a log whose file may be deleted; 0 if none */
void due_stat(struct due_logs *d, struct store_stat *ret);

struct archiver;
int archiver_open(struct archiver **ret, const struct store_conf *conf, struct writer *w, struct err *err);
void archiver_close(struct archiver *x);
/* waits for one complete round; returns 0 or the error of that round */
int archiver_settle(struct archiver *x, struct err *err);

struct alias;
/* The keys under which the archive may hold data of this node; the caller frees *ret. */
size_t archive_names(const struct alias *v, size_t n, const char *node, struct archive_name **ret);
/* Data of this tier before the returned time is only in the archive; INT64_MIN if there is no such time. */
int64_t archive_until(const struct store_conf *conf, int tier);
