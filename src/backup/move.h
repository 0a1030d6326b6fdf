/*
 * move.h: moves a store from a folder to a PostgreSQL server, or back; checks one and shows its status.
 *
 * V1 Everything acknowledged is in the destination afterwards, once. Logs are compacted first, by the usual code, so
 *    only records, chunks and the numbers of accepted batches are moved.
 * V2 kill -9 at any point: the same call resumes, and until it is complete no hub opens the destination.
 * V3 Neither side is in use meanwhile. The source is unchanged.
 * V4 At the end both sides are counted, table by table.
 */
#pragma once

#include "backup/backup.h"

struct buf;

struct move_sum {
    int64_t records, chunks, bytes; /* bytes of chunks */
    bool resumed;                   /* resumed an interrupted move */
};
/* Either from or to is postgres://... Returns -EBUSY if a hub uses it; -ENOTEMPTY if the destination has other data. */
int store_move(const char *from, const char *to, const struct backup_watch *watch, struct move_sum *ret,
               struct err *err);

/* ---- check and status ---- */
struct store_sum {
    int64_t nodes, chunks, damaged_chunks, bytes;
    int64_t batches, damaged_batches; /* not in chunks yet */
    int64_t astray;                   /* rows of logs that no longer exist */
};
/* Reads every chunk and every batch; works while a hub is running. */
int store_check(const char *place, const struct backup_watch *watch, struct store_sum *ret, struct err *err);

struct status_hub {
    int64_t id, logs, batches; /* its logs to compact */
    char url[256], name[64], version[64];
    int64_t started_ms, until_ms, now_ms;
    bool here, leads, differs; /* differs: its settings differ from those of the leader */
};
struct status_sum {
    struct status_hub *hubs; /* the caller frees it */
    size_t n_hubs;
    int64_t logs, batches, behind_ms;                /* not in chunks; behind: age of the oldest sealed one */
    int64_t chunks, bytes, chunk_bytes, batch_bytes; /* bytes: of the whole database */
    int64_t versions[3];                             /* of the tables: records, history, leases; 0: missing */
    bool moving;                                     /* an unfinished move wrote to it */
};
int store_status(const char *url, struct status_sum *ret, struct err *err);

/* Creates or upgrades the tables. Returns 1 if it did; 0 if nothing was to be done. */
int store_init(const char *url, struct err *err);
void store_print_tables(struct buf *out); /* as SQL */
