/*
 * chunks.h: one connection to history.db: the chunks, and how far each log has been compacted into them. It is a
 * separate file so that compaction never delays a commit and damage never affects tokens or records.
 *
 *   node(id, key)
 *   chunk(id, node, tier, bucket, level, from_ms, to_ms, log, bytes, summed)
 *     level 0: fresh, 1: merged, 2: its bucket is complete. summed 0: minutes that are not in hours yet (level 0 or 1
 *     only)
 *   mark(log, upto, done)
 *     nodes up to number `upto` of this log are in chunks; done: all of them. Log 0: `upto` takeovers are applied to
 *     chunks
 *
 * Chunks and their mark are written in one transaction (H1). Calls return 0 or -errno; chunks_end sets err.
 */
#pragma once

#include "codec/table.h"
#include "sql/db.h"

#define CHUNK_FINAL 2

extern const struct db_kind chunks_kind;
struct chunks;
int chunks_open(struct chunks **ret, const char *dir, enum db_mode mode, struct err *err);
void chunks_close(struct chunks *c);
int64_t chunks_file_bytes(const char *dir);
struct db *chunks_db(struct chunks *c); /* for other writes in the same transaction */

int chunks_begin(struct chunks *c, bool write); /* a reader sees one snapshot until the end */
/*
 * Read-only. Starts the transaction on the first read; a caller with everything in its cache never starts one. If the
 * database no longer has this version, the read returns -ESTALE.
 */
void chunks_begin_later(struct chunks *c, int64_t version);
/* Commits. Rolls back if r < 0 or the commit fails. Returns 0 or -errno. */
int chunks_end(struct chunks *c, int r, struct err *err);
int chunks_version(struct chunks *c, int64_t *ret); /* changes when another connection writes */
void chunks_rollback(struct chunks *c);             /* also ends a read transaction */
uint64_t chunks_commits(const struct chunks *c);    /* number of write transactions of this connection */
/* Increments *changes for other threads on every new version of the file, even if its content is the same. */
void chunks_set_counter(struct chunks *c, _Atomic uint64_t *changes);
void chunks_tidy(struct chunks *c, bool all); /* checkpoint */

struct chunk_row {
    int64_t id, node, bucket, from_ms, to_ms, log;
    int tier, level;
    bool summed;
    struct str bytes; /* valid until the next step */
};
int chunks_node(struct chunks *c, const char *key, bool make, int64_t *ret); /* 1, 0 (not found), -errno */
int chunks_put(struct chunks *c, const struct chunk_row *row);
int chunks_any(struct chunks *c, int64_t node, int tier, int64_t bucket); /* 1, 0 (none found), -errno */
/* Return -ESTALE if the chunk no longer exists or is in hours now: another hub was faster. */
int chunks_drop(struct chunks *c, int64_t id, bool summed);
int chunks_set_summed(struct chunks *c, int64_t id);
/* Sets level 2 on the bucket's chunks; without all, only on those that are in hours. */
int chunks_final(struct chunks *c, int64_t node, int tier, int64_t bucket, bool all);

/* Lists chunks without their bytes, by the node's key. */
int chunks_list(struct chunks *c, const char *key, int tier, int64_t bucket,
                int (*each)(void *arg, const struct chunk_row *row), void *arg);
/*
 * Lists the chunks of a node in a bucket, oldest first; without bytes only row->bytes.len is set. each returns 0 to
 * continue. Returns -EUCLEAN if some could not be read; each was called for the others.
 */
int chunks_each(struct chunks *c, bool bytes, int64_t node, int tier, int64_t bucket,
                int (*each)(void *arg, const struct chunk_row *row), void *arg);
/*
 * Reads len bytes of a chunk from offset off, and only the pages that hold them. Within a transaction. Returns 0,
 * -ENOENT or -errno.
 */
int chunks_bytes(struct chunks *c, int64_t id, size_t off, size_t len, void *to);
/* The first non-empty bucket at or after `from`; open: with chunks of level 0 or 1. Returns 1, 0 or -errno. */
int chunks_next_bucket(struct chunks *c, bool open, int tier, int64_t from, int64_t *ret);
int64_t chunks_newest_ms(struct chunks *c); /* the latest time of any raw chunk; 0 if none */

struct chunk_group {
    int64_t node, bucket;
    int tier;
    int64_t fresh, merged; /* chunks of level 0, 1 */
};
/* Groups that are not final; the caller frees *ret. */
int chunks_groups(struct chunks *c, struct chunk_group **ret, size_t *ret_n);

struct chunk_mark {
    int64_t log, upto;
    bool done;
};
int chunks_marks(struct chunks *c, struct chunk_mark **ret, size_t *ret_n); /* by log; the caller frees *ret */
int chunks_set_mark(struct chunks *c, const struct chunk_mark *m);
int chunks_drop_mark(struct chunks *c, int64_t log);

/*
 * Several hubs on a server: the writes from now on are based on this number of takeovers. chunks_end returns -ESTALE if
 * there are more by then. -1: no check.
 */
void chunks_expect(struct chunks *c, int64_t takeovers);
int chunks_lock(struct chunks *c); /* within a transaction: serialises the commits of all hubs */
/* Moves the chunks of logs before this one to another node. */
int chunks_rehome(struct chunks *c, const char *from, const char *to, int64_t before_log);

/*
 * Deletes at most n chunks of a tier's bucket, except minutes that are not in hours. Returns the number deleted or
 * -errno.
 */
int chunks_drop_bucket(struct chunks *c, int tier, int64_t bucket, int n);
/*
 * Checks that the indexes match the rows, and rebuilds them if not. Returns 0 if they match, 1 if they were rebuilt,
 * -EUCLEAN if rows cannot be read.
 */
int chunks_mend(struct chunks *c);
int64_t chunks_used_bytes(struct chunks *c); /* without free pages; or -errno */
/* Returns at most n free pages to the system if there are many. Returns 1 if there is more to do. */
int chunks_vacuum(struct chunks *c, int n);
