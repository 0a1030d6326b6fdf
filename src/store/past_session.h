/*
 * past_session.h: what a reading of history needs: connections from a pool, log files kept open, and one moment of
 * history.db with the list of logs that goes with it. Private to past.c.
 */
#pragma once

#include <pthread.h>

#include "store/chunk_cache.h"
#include "store/chunks.h"
#include "store/log_chunks.h"
#include "store/past.h"

#define PAST_LOGS_KEEP 4 /* log files a reader keeps open */

struct past_log {
    int64_t n; /* 0: none */
    struct log_reader *l;
    struct log_key *keys; /* when they were needed */
    size_t n_keys;
    struct log_row { /* whose each row is, by node and row, below rows_before: what was there when we started */
        uint32_t node, row;
    } * rows;
    size_t n_rows, cap_rows;
    int64_t rows_before;
};

struct past_bucket { /* an answer of chunks_next_bucket */
    int tier, found;
    bool open;
    int64_t from, bucket;
};

/* Connections, and what was learned over them. One thread's at a time. */
struct past_reader {
    struct chunks *chunks;
    struct batch_rows *rows; /* over the connection of chunks; NULL: logs are files */
    struct records *rec;
    void *dec;
    struct facts_cache facts;
    struct chunk_cache *shelf;
    int64_t version;   /* of history.db that the cache is good for */
    uint64_t versions; /* it had had by then, one more; 0: not known */
    struct chunk_cells cells;
    size_t guess;    /* as a sink has it */
    struct buf room; /* of a piece's column */
    struct alias *aliases;
    size_t n_aliases;
    uint64_t take_overs; /* of the writer, one more, when they were read; 0: they were not */
    struct chunk_mark *marks;
    size_t n_marks;
    bool marks_read;               /* at version, as these: */
    struct past_bucket buckets[4]; /* a span is looked at for one device after another */
    unsigned n_buckets;
    struct past_log logs[PAST_LOGS_KEEP];
    struct past_reader *next;
};

struct past {
    char *dir;
    bool shared; /* on PostgreSQL: logs are rows, of several hubs */
    const struct store_decoder *dec;
    struct writer *w; /* NULL: beside a running hub, or shared */
    pthread_mutex_t lock;
    struct past_reader *idle;
    int n_idle;
    struct fresh *fresh; /* NULL: beside a running hub */
};

struct history_session {
    struct past *p;
    struct past_reader *r, *was; /* was: of records of then, within a transaction; NULL: not asked yet */
    bool begun;
    bool anew; /* what a reader kept was of another moment: it begins at once */
    int64_t begun_ms;
    struct alias *aliases;
    size_t n_aliases;
    struct log_ref *logs;
    size_t n_logs;
    struct chunk_mark *marks;
    size_t n_marks;
};

int past_reader_get(struct past *p, struct past_reader **ret, struct err *err);
void past_reader_put(struct past *p, struct past_reader *r);

int past_session_begin(struct history_session *x, struct err *err);
void past_session_rest(struct history_session *x); /* let go of the moment, and of the reader */
bool past_session_stands(
    const struct history_session *x); /* every log of it still has its file and its rows in the index */
int64_t past_session_mark(const struct history_session *x, int64_t log); /* rows up to it are in chunks; -1: all */
/* The first bucket at or after `from`: nodes asked in a row ask the same. */
int past_session_bucket(struct history_session *x, int tier, bool open, int64_t from, int64_t *ret);

int past_log_open(struct history_session *x, const struct log_ref *log, struct past_log **ret, struct err *err);
/* Rows that came before we started are looked for in the file, once. */
int past_log_find_rows(struct past_log *l, int64_t before, struct err *err);
int past_log_find_key(struct past_log *l, const char *key, int64_t *ret, struct err *err); /* 1: there it is */
