/*
 * move.h: a store from a folder to a PostgreSQL server, or back; and what is said of one.
 *
 * V1 All that was acknowledged is there afterwards, once: what is still in logs becomes chunks first, by the same code
 * as always, so that only records, chunks and the numbers of batches that were taken have to be moved. V2 kill -9 at
 * any point: the same call goes on, and until it has come to its end no hub opens what is half moved. V3 Neither side
 * is in use meanwhile. What is moved from is left as it is. V4 At the end both sides are counted, table by table.
 */
#pragma once

#include "backup/backup.h"

struct buf;

struct move_sum {
    int64_t records, chunks, bytes; /* bytes of chunks */
    bool resumed;                   /* a move that had been broken off went on */
};
/* One of the two is postgres://... -EBUSY: a hub has it; -ENOTEMPTY: there is something else already. */
int store_move(const char *from, const char *to, const struct backup_watch *watch, struct move_sum *ret,
               struct err *err);

/* ---- looking at one ---- */
struct store_sum {
    int64_t nodes, chunks, damaged_chunks, bytes;
    int64_t batches, damaged_batches; /* that are not in chunks yet */
    int64_t astray;                   /* rows of logs that are not there any more */
};
/* Reads every chunk and every batch, beside a running hub or not. */
int store_check(const char *place, const struct backup_watch *watch, struct store_sum *ret, struct err *err);

struct status_hub {
    int64_t id, logs, batches; /* what it has still to make into chunks */
    char url[256], name[64], version[64];
    int64_t started_ms, until_ms, now_ms;
    bool here, leads, differs; /* differs: its settings are not those of the one that leads */
};
struct status_sum {
    struct status_hub *hubs; /* for free() */
    size_t n_hubs;
    int64_t logs, batches, behind_ms; /* not in chunks; behind: for how long the oldest of them has been sealed */
    int64_t chunks, bytes, chunk_bytes, batch_bytes; /* bytes: of the whole database */
    int64_t versions[3];                             /* of the tables: records, history, leases; 0: not there */
    bool moving;                                     /* a move into it is not finished */
};
int store_status(const char *url, struct status_sum *ret, struct err *err);

/* The tables are made, or brought up to date. 1: they were; 0: nothing was to be done. */
int store_init(const char *url, struct err *err);
void store_print_tables(struct buf *out); /* as SQL */
