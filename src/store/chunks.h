/*
 * chunks.h: one connection to history.db: chunks, and how far each log has got into them. It is a file of its own so
 * that compaction never holds up a commit, and damage never takes tokens or records along.
 *
 *   node(id, key)
 *   chunk(id, node, tier, bucket, level, from_ms, to_ms, log, bytes, summed)
 *                           level 0: fresh, 1: merged, 2: its bucket is over. summed 0: minutes that are not yet in
 * hours (level 0 or 1 only) mark(log, upto, done)   nodes up to number `upto` of this log are in chunks; done: all of
 * them. Log 0: `upto` takeovers have been applied to chunks
 *
 * Chunks and the mark that says so are one transaction (H1). Calls return 0 or -errno; chunks_end has the sentence.
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
struct db *chunks_db(struct chunks *c); /* for what goes into the same transaction */

int chunks_begin(struct chunks *c, bool write); /* a reader sees one moment until the end */
/* The same for reading, once something is read: a caller that has kept all it needs never begins. What it reads is of
 * this version, or -ESTALE: it is another by now. */
void chunks_begin_later(struct chunks *c, int64_t version);
/* Commits or, where something failed (r < 0) or fails now, rolls back: 0 or -errno. */
int chunks_end(struct chunks *c, int r, struct err *err);
int chunks_version(struct chunks *c, int64_t *ret); /* another after each change by others, for this connection */
void chunks_rollback(struct chunks *c);             /* also ends reading */
uint64_t chunks_commits(const struct chunks *c);    /* how often something was written over this connection */
/* For other threads: counted there is whatever makes another version of the file, whether it says the same or not. */
void chunks_tell(struct chunks *c, _Atomic uint64_t *changes);
void chunks_tidy(struct chunks *c, bool all); /* checkpoint */

struct chunk_row {
    int64_t id, node, bucket, from_ms, to_ms, log;
    int tier, level;
    bool summed;
    struct str bytes; /* borrowed until the next step */
};
int chunks_node(struct chunks *c, const char *key, bool make, int64_t *ret); /* 1, 0 (not there), -errno */
int chunks_put(struct chunks *c, const struct chunk_row *row);
int chunks_any(struct chunks *c, int64_t node, int tier, int64_t bucket); /* 1, 0 (there is none), -errno */
/* -ESTALE: it is not there any more, or in hours by now: another hub was faster. */
int chunks_drop(struct chunks *c, int64_t id, bool summed);
int chunks_set_summed(struct chunks *c, int64_t id);
/* Its chunks get level 2; if not all, only those that are in hours do. */
int chunks_final(struct chunks *c, int64_t node, int tier, int64_t bucket, bool all);

/* The same without their bytes, by the node's key. */
int chunks_list(struct chunks *c, const char *key, int tier, int64_t bucket,
                int (*each)(void *arg, const struct chunk_row *row), void *arg);
/* Those of a node in a bucket, oldest first; without their bytes row->bytes.len alone is set. each returns 0 to go on.
 * -EUCLEAN: some could not be read; each was called for the others. */
int chunks_each(struct chunks *c, bool bytes, int64_t node, int tier, int64_t bucket,
                int (*each)(void *arg, const struct chunk_row *row), void *arg);
/* len bytes of a chunk from off on: only the pages they are on are read. Within a transaction. 0, -ENOENT, -errno. */
int chunks_bytes(struct chunks *c, int64_t id, size_t off, size_t len, void *to);
/* The first bucket at or after `from` that has anything; open: of level 0 or 1. 1, 0, -errno. */
int chunks_next_bucket(struct chunks *c, bool open, int tier, int64_t from, int64_t *ret);
int64_t chunks_newest_ms(struct chunks *c); /* the latest time of any raw chunk; 0: none */

struct chunk_group {
    int64_t node, bucket;
    int tier;
    int64_t fresh, merged; /* chunks of level 0, 1 */
};
/* Groups that are not final: the caller frees *ret. */
int chunks_groups(struct chunks *c, struct chunk_group **ret, size_t *ret_n);

struct chunk_mark {
    int64_t log, upto;
    bool done;
};
int chunks_marks(struct chunks *c, struct chunk_mark **ret, size_t *ret_n); /* by log; the caller frees *ret */
int chunks_set_mark(struct chunks *c, const struct chunk_mark *m);
int chunks_drop_mark(struct chunks *c, int64_t log);

/*
 * Several hubs on a server: what is written from now on takes so many takeovers into account; chunks_end gives -ESTALE
 * where there are more by then. -1: it does not matter.
 */
void chunks_expect(struct chunks *c, int64_t takeovers);
int chunks_lock(struct chunks *c); /* within a transaction: no other hub's ends before this one's */
/* Chunks of logs before this one change hands. */
int chunks_rehome(struct chunks *c, const char *from, const char *to, int64_t before_log);

/* At most n chunks of a tier's bucket go, but no minutes that are not in hours. The number dropped, or -errno. */
int chunks_drop_bucket(struct chunks *c, int tier, int64_t bucket, int n);
/* Do the index and the rows speak of the same chunks? Makes the indexes anew when not. 1: they were; 0: all is well;
 * -EUCLEAN: rows cannot be read. */
int chunks_mend(struct chunks *c);
int64_t chunks_used_bytes(struct chunks *c); /* without free pages; or -errno */
/* Gives free pages back to the system when there are many, at most n of them. 1: there is more to do. */
int chunks_vacuum(struct chunks *c, int n);
