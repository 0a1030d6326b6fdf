/*
 * past_session.h: the resources of a history read: pooled connections, open log files, and one snapshot of history.db
 * with its list of logs. Private to past.c.
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
    struct log_key *keys; /* loaded on demand */
    size_t n_keys;
    /* the node of each row, by node and row, below rows_before: rows from before this process started */
    struct log_row {
        uint32_t node, row;
    } * rows;
    size_t n_rows, cap_rows;
    int64_t rows_before;
};

struct past_bucket { /* a result of chunks_next_bucket() */
    int tier, found;
    bool open;
    int64_t from, bucket;
};

/* Connections and cached data read over them. Used by one thread at a time. */
struct past_reader {
    struct chunks *chunks;
    struct batch_rows *rows; /* over the connection of chunks; NULL: logs are files */
    struct records *rec;
    void *dec;
    struct facts_cache facts;
    struct chunk_cache *shelf;
    int64_t version;   /* of history.db; the cache is valid for it */
    uint64_t versions; /* the writer's history version + 1 at that time; 0: unknown */
    struct chunk_cells cells;
    size_t guess;    /* see struct sink */
    struct buf room; /* of a piece's column */
    struct alias *aliases;
    size_t n_aliases;
    uint64_t take_overs; /* the writer's takeover count + 1 when aliases were read; 0: not read */
    struct chunk_mark *marks;
    size_t n_marks;
    bool marks_read;               /* valid at version, as are these: */
    struct past_bucket buckets[4]; /* a span is queried for one device after another */
    unsigned n_buckets;
    struct past_log logs[PAST_LOGS_KEEP];
    struct past_reader *next;
};

struct past {
    char *dir;
    bool shared; /* on PostgreSQL: logs are rows, of several hubs */
    const struct store_decoder *dec;
    struct writer *w; /* NULL: another process runs the hub, or shared */
    pthread_mutex_t lock;
    _Atomic uint64_t damaged; /* columns that readers could not read */
    struct past_reader *idle;
    int n_idle;
    struct fresh *fresh; /* NULL: another process runs the hub */
};

struct history_session {
    struct past *p;
    struct past_reader *r, *was; /* was: snapshot of the records, in a transaction; NULL: not opened yet */
    bool begun;
    bool anew; /* the reader's cache was of another snapshot: start a transaction immediately */
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
void past_session_rest(struct history_session *x); /* releases the snapshot and the reader */
bool past_session_is_valid(
    const struct history_session *x); /* every log of it still has its file and its rows in the index */
int64_t past_session_mark(const struct history_session *x, int64_t log); /* rows up to it are in chunks; -1: all */
/* The first bucket at or after `from`. Cached, because consecutive nodes query the same. */
int past_session_bucket(struct history_session *x, int tier, bool open, int64_t from, int64_t *ret);

int past_log_open(struct history_session *x, const struct log_ref *log, struct past_log **ret, struct err *err);
/* Finds rows from before this process started, by reading the file once. */
int past_log_find_rows(struct past_log *l, int64_t before, struct err *err);
int past_log_find_key(struct past_log *l, const char *key, int64_t *ret, struct err *err); /* 1 if found */
