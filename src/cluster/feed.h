/*
 * feed.h: reads the changes of other hubs from the tables. Each row has the transaction that last changed it
 * (`changed`) and its hub; deleted rows are listed in `gone`.
 *
 * A transaction that started early may commit late, so each read starts at the oldest transaction that was still in
 * progress at the previous read: nothing is skipped, and some changes are returned twice.
 */
#pragma once

#include "cluster/member.h"

struct feed_item {
    struct feed_item *next;
    enum store_kind kind;
    bool gone;
    char bytes[]; /* in the format of record_pack() */
};

struct change_feed {
    struct db_stmts st;
    int64_t hub;         /* its own changes are skipped */
    int64_t from;        /* the first transaction to read; 0: none yet */
    uint64_t connection; /* in which from was read */
};
void feed_init(struct change_feed *f, struct db *db, int64_t hub);
void feed_fini(struct change_feed *f);
/* Changes since the last call, appended to *tail; the caller frees them. After the first call nothing is missed. */
int feed_read(struct change_feed *f, struct feed_item ***tail, struct err *err);
int64_t feed_tidy(struct change_feed *f, int64_t older_ms); /* deletes entries of `gone` that are older */
