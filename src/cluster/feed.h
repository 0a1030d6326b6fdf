/*
 * feed.h: what other hubs changed, read from the tables. Each row there says by which transaction it was changed last
 * (`changed`) and by which hub; what was dropped is in `gone`.
 *
 * A transaction that began early may commit late, so rows are read again from the oldest one that was still under way
 * at the last time: nothing is skipped, and some are given twice.
 */
#pragma once

#include "cluster/member.h"

struct feed_item {
    struct feed_item *next;
    enum store_kind kind;
    bool gone;
    char bytes[]; /* as record_pack writes it */
};

struct change_feed {
    struct db_stmts st;
    int64_t hub;         /* whose own changes are left out */
    int64_t from;        /* the first transaction to be looked at; 0: none yet */
    uint64_t connection; /* in which that was so */
};
void feed_init(struct change_feed *f, struct db *db, int64_t hub);
void feed_fini(struct change_feed *f);
/* What changed since the last time, for free(), onto *tail. From the first time on nothing is missed. */
int feed_read(struct change_feed *f, struct feed_item ***tail, struct err *err);
int64_t feed_tidy(struct change_feed *f, int64_t older_ms); /* forgets what was dropped so long ago */
