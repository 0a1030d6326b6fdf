/*
 * compact.h: the thread that turns sealed logs into chunks and tiers, merges small chunks into larger ones, and drops
 * what is too old. Only this thread writes to history.db.
 *
 * X1 Chunks of some nodes and the mark that they are there are one transaction; a log's file (its rows) goes only after
 * all of it is marked. So kill -9 at any point neither loses nor doubles. On PostgreSQL that transaction is its owner's
 * alone, and each hub does this with its own logs; only the one that leads merges and drops. X2 Memory: one node's
 * samples of one log at a time. X3 What fails (a full disk) is tried again; nothing waits for it.
 */
#pragma once

#include "store/writer.h"

struct compact;
/* A damaged history.db is set aside, and err->msg tells (0 is still returned). w outlives it. */
int compact_open(struct compact **ret, const struct store_conf *conf, struct writer *w, struct err *err);
void compact_close(struct compact *c);                  /* at the next joint: what is left waits for the next start */
int compact_settle(struct compact *c, struct err *err); /* wait until one whole round is done: 0 or how it failed */
