/*
 * backlog.h: one hub's batches on disk: a spool (uplink/spool.h) that is synced within a second. Reports dropped
 * batches, and logs a failure once.
 */
#pragma once

#include "uplink/spool.h"
#include "wire/packet.h"

struct event_base;
typedef void backlog_dropped_fn(void *arg, uint64_t n, const char *why); /* batches given up */

struct backlog;
/* hub is for messages; it must stay until backlog_name gives another. */
int backlog_open(struct backlog **ret, struct event_base *loop, const struct spool_conf *conf, const char *hub,
                 backlog_dropped_fn *dropped, void *arg, struct err *err);
void backlog_close(struct backlog *b); /* synced first */
void backlog_name(struct backlog *b, const char *hub);

bool backlog_put(struct backlog *b, const struct packet *p); /* false: the disk failed; already logged */
void backlog_done(struct backlog *b, uint64_t run, uint64_t number);
/* As spool_peek, but errors are logged here and returned as false. */
bool backlog_peek(struct backlog *b, size_t i, struct spool_rec *ret);
bool backlog_blob(struct backlog *b, uint64_t id, struct buf *ret);
void backlog_stat(const struct backlog *b, struct spool_stat *ret);
