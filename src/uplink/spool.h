/*
 * spool.h: batches on the agent's disk until the hub has acknowledged them. It handles keys and bytes, not their
 * content.
 *
 * S1 Once spool_put returned 0 the record survives kill -9 immediately, and power loss after spool_sync (called at most
 *    a second later).
 * S2 Records come back oldest first.
 * S3 Bounded by bytes and by age; the oldest are dropped first, and counted.
 * S4 A torn or damaged file costs only the damaged records: the rest is read, the damage is counted.
 * S5 spool_done removes exactly that record, across restarts (a record may come back after a crash, never vanish).
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/str.h"

struct buf;

struct spool_conf {
    const char *dir; /* made if missing, mode 0700 */
    int64_t max_bytes, max_age_ms;
};

enum spool_kind { RECORD_BATCH = 1, RECORD_BLOB = 2 };
struct spool_rec {
    enum spool_kind kind; /* set by the spool, like done */
    bool done;
    uint64_t run, number; /* the batch's key; a blob's name and 0 */
    int64_t at_ms;
    uint64_t blobs[2]; /* ids of the blobs it needs, 0 if none */
    struct str bytes;  /* valid until the next call on the spool */
};

struct spool_stat {
    size_t records;
    int64_t bytes, oldest_ms;
    uint64_t dropped, damaged; /* since open */
};

struct spool;
int spool_open(struct spool **ret, const struct spool_conf *conf, int64_t now_ms, struct err *err);
void spool_close(struct spool *s);
int spool_put(struct spool *s, const struct spool_rec *rec, int64_t now_ms, struct err *err);
/* A blob that records name; kept once per file, as long as a record there needs it. */
int spool_put_blob(struct spool *s, uint64_t id, struct str bytes, struct err *err);
/* The i-th oldest record not done (0 = oldest). Returns 1, 0 if not found, or -errno. Skips damaged records. */
int spool_peek(struct spool *s, size_t i, struct spool_rec *ret, struct err *err);
int spool_blob(struct spool *s, uint64_t id, struct buf *ret, struct err *err); /* 1 found, 0 not */
int spool_done(struct spool *s, uint64_t run, uint64_t number, struct err *err);
int spool_sync(struct spool *s, struct err *err);
void spool_stat(const struct spool *s, struct spool_stat *ret);
