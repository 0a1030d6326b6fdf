/*
 * compact.h: the thread that compacts sealed logs into chunks and tiers, merges small chunks into larger ones, and
 * applies retention. Only this thread writes to history.db.
 *
 * X1 The chunks of some nodes and their mark are one transaction. The file (or rows) of a log is deleted only after all
 *    of it is marked. So kill -9 at any point neither loses nor duplicates samples. On PostgreSQL only the owner of a
 *    log runs that transaction, and each hub compacts its own logs; only the leader merges and deletes.
 * X2 Memory: one node's samples of one log at a time.
 * X3 A failed step (a full disk) is retried; no other thread waits for it.
 */
#pragma once

#include "store/writer.h"

struct compact;
/* Quarantines a damaged history.db, sets err->msg and returns 0. w must outlive the result. */
int compact_open(struct compact **ret, const struct store_conf *conf, struct writer *w, struct err *err);
/* stops at the next safe point; the rest waits for the next start */
void compact_close(struct compact *c);
/* waits for one complete round; returns 0 or the error of that round */
int compact_settle(struct compact *c, struct err *err);
