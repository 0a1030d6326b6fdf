/*
 * archive.h: a place beside the store that keeps every sample for longer than the store does (clickhouse/). It is given
 * logs once they are in chunks, and is asked about what lies before what is kept here. The store knows only what
 * stands here.
 *
 * A1 The file of a log stays until the archive has all of it, or until raw samples of its age are not kept any more.
 * A2 What it is given again, after a crash or a lost answer, it keeps once: a row is known by node, device, time, run
 * and number. A3 A batch bears the key of whoever sent it: who took that node over is found out when it is read.
 * A4 Nothing waits for it but the thread that feeds it, and whoever asks about what only it has.
 */
#pragma once

#include <pthread.h>

#include "store/samples.h"

struct archive_batch {
    const char *node; /* who sent it */
    int64_t log, row; /* where it was here */
    const struct batch *b;
    const struct node_fact *facts; /* or NULL */
    int64_t shift_ms;
};

/* What this node sent, of rows behind (after) up to and with (upto): pairs of log and row. */
struct archive_name {
    const char *node;
    int64_t after[2], upto[2];
};

struct archive_ask {
    const struct history_ask *ask; /* its devices, metrics, fields and step */
    int64_t from_ms, to_ms;        /* [from, to); from is the beginning of bin 0 */
    const struct archive_name *names;
    size_t n_names;
};

/* A bin of a series of one of the asks; one that was given already is to be added to. */
struct archive_out {
    void (*each)(void *arg, size_t ask, size_t series, size_t bin, const struct part_bin *p);
    void *arg;
    bool (*stop)(void *stop_arg); /* NULL: never */
    void *stop_arg;
};

/* Whoever opened it closes it, after the store. */
struct archive {
    /* The thread that feeds it. */
    size_t (*take)(struct archive *a, const struct archive_batch *b); /* copies; how many rows wait to be sent */
    int (*send)(struct archive *a, struct err *err); /* what waits is there for good: the number of rows; or -errno */
    void (*drop)(struct archive *a);                 /* what waits: it is given again */
    int (*look)(struct archive *a, int64_t now_ms, struct err *err); /* every few seconds: does it answer? */
    /* Any thread. */
    void (*stop)(struct archive *a); /* what is under way ends soon, and nothing more is begun */
    /* Several at once; all asks have one step and one span. -E2BIG, -ECANCELED, or -EIO with a sentence. */
    int (*bins)(struct archive *a, const struct archive_ask *v, size_t n, const struct archive_out *out,
                struct err *err);
};

/* ---- the store's own ---- */
struct log_sum;
struct writer;

/* Logs that are due: the writer lists them, the archiver sends them and says so, and then their files go. Any thread.
 */
struct due_logs {
    pthread_mutex_t lock;
    struct log_sum *v; /* those that have a file, by number */
    size_t n;
    int64_t *sent; /* of these */
    size_t n_sent, cap_sent;
    struct due_rows { /* on PostgreSQL, where the compactor drops frames */
        int64_t log, since_ms;
        bool sent;
    } * rows;
    size_t n_rows, cap_rows;
    void (*wake)(void *arg); /* something is due */
    void *wake_arg;
    uint64_t files_missed, rows_missed, taken;
    struct err last;
};
void due_init(struct due_logs *d);
void due_fini(struct due_logs *d);
void due_list(struct due_logs *d, struct log_sum *v, size_t n, uint64_t missed); /* takes v */
/* These frames may go once the archive has them: 1: it has; 0: not yet. Those that wait longer than keep_ms may go. */
int due_rows(struct due_logs *d, int64_t log, int64_t keep_ms);
size_t due_next(struct due_logs *d, int64_t **ret); /* all that are to be sent, by number; the caller frees */
void due_sent(struct due_logs *d, int64_t log);
int64_t due_take_sent(struct due_logs *d); /* one whose file may go; 0: none */
void due_stat(struct due_logs *d, struct store_stat *ret);

struct archiver;
int archiver_open(struct archiver **ret, const struct store_conf *conf, struct writer *w, struct err *err);
void archiver_close(struct archiver *x);
int archiver_settle(struct archiver *x, struct err *err); /* wait until one whole round is done: 0 or how it failed */

struct alias;
/* Under which names something of this node may be; the caller frees it. */
size_t archive_names(const struct alias *v, size_t n, const char *node, struct archive_name **ret);
/* Before this it is the archive that knows a tier; INT64_MIN: there is no such time. */
int64_t archive_until(const struct store_conf *conf, int tier);
