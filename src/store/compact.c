/* compact.c: the compaction thread: rounds of compacting, merging and retention. */
#include "store/compact.h"

#include <errno.h>
#include <poll.h>

#include "base/lock.h"
#include "base/mem.h"
#include "base/order.h"
#include "base/thread.h"
#include "sql/pg.h"
#include "sql/sqlite.h"
#include "store/archive.h"
#include "store/compact_merge.h"
#include "store/log_rows.h"
#include "store/past.h"

#define TICK_MS      60000     /* maximum interval of rounds */
#define STEP_BYTES   (1 << 20) /* approximate size of the chunks of one transaction */
#define GRACE_MS     900000    /* a bucket is complete this long after its end: its last log is compacted by then */
#define DROP_STEP    64        /* chunks per transaction */
#define VACUUM_PAGES 256
#define LIMIT_MS     120000 /* time limit of one statement on a server */

struct pending { /* a chunk to be written */
    struct chunk_row row;
    char node[NODE_KEY_MAX];
    char *bytes;
};

struct compact {
    struct store_conf conf;
    char *dir;
    struct writer *w;
    pthread_t thread;
    bool running;
    int wake_fd;

    /* owned by the thread */
    struct chunks *db;
    struct records *rec;
    void *dec;
    struct facts_cache facts;
    struct table *table;
    struct chunk_writer *writer;
    struct pending *pending;
    size_t n_pending, cap_pending, pending_bytes;
    const char *owner; /* owner of the data in the table */
    int upto;          /* the last tier made from it */
    char owner_room[NODE_KEY_MAX];
    int64_t log, now_ms;                  /* now_ms: when the log's compaction started */
    struct batch_rows *rows, *chunk_rows; /* logs on PostgreSQL: over the connection of rec, of db; NULL: files */
    struct row_log row_log;               /* the current one */
    int64_t rehomed;                      /* number of takeovers applied to chunks */
    uint32_t damaged;
    bool look; /* check the indexes of chunks */

    /* under the lock */
    pthread_mutex_t lock;
    pthread_cond_t settled;
    bool stop;
    uint64_t asked, done;
    struct err last;
};

static int64_t now_of(struct compact *c)
{
    return c->conf.now_ms ? c->conf.now_ms() : chunks_newest_ms(c->db);
}

static bool bucket_over(int tier, int64_t bucket, int64_t now_ms)
{
    return bucket + tier_bucket_ms(tier) + GRACE_MS <= now_ms;
}

static bool stopping(struct compact *c)
{
    LOCKED(&c->lock);
    return c->stop;
}

/* ---- compacting a log ---- */

static int keep_chunk(void *arg, const struct table_chunk *t)
{
    struct compact *c = arg;

    VEC_ROOM(c->pending, c->n_pending, c->cap_pending);
    struct pending *p = &c->pending[c->n_pending++];
    *p = (struct pending){.row = {.tier = t->tier,
                                  .bucket = t->bucket,
                                  .from_ms = t->from_ms,
                                  .to_ms = t->to_ms,
                                  .log = c->log,
                                  .summed = t->tier != TIER_MINUTE || c->upto == TIER_HOUR},
                          .bytes = mem_strn(t->bytes.p, t->bytes.len)};
    p->row.bytes = str_n(p->bytes, t->bytes.len);
    mem_copy_str(p->node, sizeof(p->node), c->owner);
    c->pending_bytes += t->bytes.len;
    return 0;
}

static void drop_pending(struct compact *c)
{
    for (size_t i = 0; i < c->n_pending; i++)
        free(c->pending[i].bytes);
    c->n_pending = c->pending_bytes = 0;
}

/*
 * Hours of complete days are made immediately, others later from minutes. On a server the leader makes them later.
 */
static int last_tier(struct compact *c)
{
    int64_t day = floor_to(table_newest_ms(c->table), tier_bucket_ms(TIER_MINUTE));

    return !c->rows && bucket_over(TIER_MINUTE, day, c->now_ms) ? TIER_HOUR : TIER_MINUTE;
}

/* Moves the table's contents to the pending chunks. */
static int write_table(struct compact *c)
{
    int r = 0;

    if (table_rows(c->table)) {
        c->upto = last_tier(c);
        r = table_write(c->table, c->writer, c->upto, keep_chunk, c);
    }

    table_reset(c->table);
    return r;
}

/*
 * SQLite keeps so much of a row on a leaf of the tree that the overflow pages are full, and starts the next leaf if a
 * row does not fit. Put rows that fill leaves together consecutively: otherwise a third of the leaves stays empty.
 */
static void order_pending(struct compact *c)
{
    enum { LEAF = DB_PAGE - 8, LEAST = (DB_PAGE - 12) * 32 / 255 - 23, MOST = DB_PAGE - 35, BESIDE = 50 };
    size_t room = 0;

    for (size_t i = 0; i < c->n_pending; i++) {
        size_t best = SIZE_MAX, best_size = 0;
        for (int fresh = 0; fresh < 2 && best == SIZE_MAX; fresh++) {
            if (fresh)
                room = LEAF;
            for (size_t k = i; k < c->n_pending; k++) {
                size_t size = c->pending[k].row.bytes.len + BESIDE; /* other columns of the row */
                if (size > MOST) {
                    size = LEAST + (size - LEAST) % (DB_PAGE - 4);
                    size = (size > MOST ? (size_t)LEAST : size) + 12;
                }
                if (size <= room && size > best_size) {
                    best = k;
                    best_size = size;
                }
            }
        }
        room -= MIN(room, best_size);
        struct pending first = c->pending[best == SIZE_MAX ? i : best];
        c->pending[best == SIZE_MAX ? i : best] = c->pending[i];
        c->pending[i] = first;
        c->pending[i].row.bytes.p = c->pending[i].bytes;
    }
}

/* On a server numbers all chunks before the first put, so that the puts need no round trips in between. */
static int number_pending(struct compact *c)
{
    int r = 0;

    for (size_t i = 0; i < c->n_pending && r >= 0; i++)
        r = chunks_node(c->db, c->pending[i].node, true, &c->pending[i].row.node);
    return r;
}

/* A single chunk of a complete bucket is already what merging would produce. */
static int put_pending(struct compact *c, struct pending *p)
{
    struct chunk_row *row = &p->row;
    int r = 0;

    if (!c->rows && row->summed && bucket_over(row->tier, row->bucket, c->now_ms)) {
        r = chunks_any(c->db, row->node, row->tier, row->bucket);
        row->level = r == 0 ? CHUNK_FINAL : 0;
    }
    return r < 0 ? r : chunks_put(c->db, row);
}

/* X1 */
static int commit_pending(struct compact *c, const struct chunk_mark *m, struct err *err)
{
    int r = chunks_begin(c->db, true);

    if (r == 0 && c->chunk_rows) { /* R4 */
        r = rows_fence(c->chunk_rows, &c->row_log);
        r = r == 0 ? -ESTALE : r;
    }
    if (!c->rows)
        order_pending(c);
    if (r >= 0)
        r = number_pending(c);
    for (size_t i = 0; i < c->n_pending && r >= 0; i++)
        r = put_pending(c, &c->pending[i]);
    if (r >= 0)
        r = chunks_set_mark(c->db, m);
    r = chunks_end(c->db, r, err);
    drop_pending(c);
    chunks_tidy(c->db, false);
    return r;
}

struct work { /* the rows of a log, grouped by node */
    struct log_reader *l;
    struct log_key *keys;
    size_t n_keys;
    struct work_row {
        int64_t row, node;
    } * rows;
    size_t n_rows, cap_rows;
    struct alias *aliases;
    size_t n_aliases;
    bool bad;
};

static void note_row(void *arg, int64_t row, int64_t node, UNUSED int64_t at_ms)
{
    struct work *x = arg;

    VEC_ADD(x->rows, x->n_rows, x->cap_rows, (struct work_row){row, node});
}

COMPARE(by_node, struct work_row, ORDER(x->node, y->node) ?: ORDER(x->row, y->row))

static int compact_row(struct compact *c, struct work *x, const struct log_key *key, int64_t row)
{
    const struct node_fact *f;
    struct store_batch sb;
    struct batch b;
    const char *node = alias_resolve(x->aliases, x->n_aliases, key->key, c->log, row);
    int r = log_reader_get(x->l, key->id, row, &sb, NULL);

    if (r == -EUCLEAN) {
        x->bad = true;
        return 0;
    }
    if (r <= 0)
        return r;
    if (c->conf.decoder->batch(c->dec, sb.bytes, &b, NULL) < 0) {
        c->damaged++;
        return 0;
    }
    if (strcmp(c->owner, node) != 0 || table_full(c->table)) {
        r = write_table(c);
        mem_copy_str(c->owner_room, sizeof(c->owner_room), node);
    }
    if (r >= 0) /* on a read error retry later: a chunk is final */
        r = facts_get(&c->facts, c->rec, c->conf.decoder, c->dec, key->key, sb.facts, &f);
    if (r >= 0)
        table_add(c->table, &b, f, sb.shift_ms);
    return MIN(r, 0);
}

static int compact_rows(struct compact *c, struct work *x, int64_t upto, struct err *err)
{
    int r = 0;

    for (size_t i = 0; i < x->n_keys && r == 0; i++) {
        const struct log_key *key = &x->keys[i];
        if (key->id <= upto)
            continue;
        if (stopping(c))
            return -ECANCELED;
        size_t at = COUNT_BEFORE(x->n_rows, k, x->rows[k].node < key->id);
        for (; at < x->n_rows && x->rows[at].node == key->id && r == 0; at++)
            r = compact_row(c, x, key, x->rows[at].row);
        if (r == 0)
            r = write_table(c);
        if (r == 0 && c->pending_bytes >= STEP_BYTES)
            r = commit_pending(c, &(struct chunk_mark){.log = c->log, .upto = key->id}, err);
    }
    return r;
}

static int open_log(struct compact *c, int64_t log, struct log_reader **ret, struct err *err)
{
    if (!c->rows)
        return log_reader_open(ret, c->dir, log, true, err);
    *ret = log_reader_of_rows(c->rows, log);
    return 0;
}

static int compact_log(struct compact *c, int64_t log, int64_t upto, struct err *err)
{
    struct work x = {0};
    int r = open_log(c, log, &x.l, err);

    if (r == -ENOENT)
        return 0; /* expired a short time ago */
    c->log = log;
    c->now_ms = now_of(c);
    c->owner = c->owner_room;
    c->owner_room[0] = 0;
    if (r == 0) {
        log_reader_whole(x.l);
        r = log_reader_nodes(x.l, &x.keys, &x.n_keys, err);
    }
    if (r == 0)
        r = log_reader_rows(x.l, INT64_MAX, note_row, &x, err);
    if (r == -EUCLEAN) { /* use the readable rows; keep the file for a manual recovery */
        x.bad = true;
        r = 0;
    }
    if (r == 0)
        r = records_aliases(c->rec, &x.aliases, &x.n_aliases, err);
    chunks_expect(c->db, (int64_t)x.n_aliases);
    SORT(x.rows, x.n_rows, by_node);
    if (r == 0)
        r = compact_rows(c, &x, upto, err);
    if (r == 0)
        r = commit_pending(c, &(struct chunk_mark){.log = log, .done = true}, err);
    table_reset(c->table);
    facts_fini(&c->facts);
    drop_pending(c);
    if (c->rows)
        rows_rest(c->rows);
    log_reader_close(x.l);
    if (r == 0 && x.bad) {
        c->damaged++;
        log_quarantine(c->dir, log, NULL);
    }
    if (r == 0 && !c->rows)
        writer_compacted(c->w, log);
    FREE_ALL(x.keys, x.rows, x.aliases);
    return r;
}

/* ---- merging ---- */

static int merge_tiers(struct compact *c, bool hours)
{
    AUTO_FREE struct chunk_group *v = NULL;
    size_t n = 0;
    int64_t now = now_of(c);
    int r = chunks_groups(c->db, &v, &n), hurt = 0;

    for (size_t i = 0; i < n && r == 0 && !stopping(c); i++) {
        bool over = bucket_over(v[i].tier, v[i].bucket, now);
        if ((v[i].tier == TIER_HOUR) == hours && (over || v[i].fresh >= MERGE_FRESH))
            r = merge_group(c->db, c->writer, &v[i], over, &c->damaged);
        if (r == -EUCLEAN) { /* these chunks stay unmerged; continue with the others */
            hurt = r;
            r = 0;
        }
        if (r == -ESTALE || r == -EBUSY) /* another hub was faster */
            r = 0;
    }
    return r == 0 ? hurt : r;
}

static int merge_all(struct compact *c)
{
    chunks_expect(c->db, c->rehomed); /* a chunk that moved to another node must not be merged with ones that did not */
    int r = merge_tiers(c, false), hours = r == 0 || r == -EUCLEAN ? merge_tiers(c, true) : 0; /* made from minutes */

    return hours < 0 && hours != -EUCLEAN ? hours : MIN(r, hours);
}

/* ---- retention ---- */

/* Deletes a few chunks of the oldest bucket of a tier. Returns their number or -errno. */
static int drop_some(struct compact *c, int tier, int64_t bucket)
{
    int r = chunks_begin(c->db, true), n = 0;

    if (r == 0)
        n = r = chunks_drop_bucket(c->db, tier, bucket, DROP_STEP);
    r = chunks_end(c->db, r, NULL);
    chunks_tidy(c->db, false);
    return r < 0 ? r : n;
}

static int retain_age(struct compact *c, int tier, int64_t keep_ms)
{
    int64_t bucket, now = c->conf.now_ms ? c->conf.now_ms() : 0;
    int r = 1;

    while (keep_ms && now && r > 0 && !stopping(c)) {
        r = chunks_next_bucket(c->db, false, tier, INT64_MIN, &bucket);
        if (r == 1)
            r = bucket + tier_bucket_ms(tier) <= now - keep_ms ? drop_some(c, tier, bucket) : 0;
    }
    return MIN(r, 0);
}

static int retain_bytes(struct compact *c)
{
    int64_t bucket;
    int r = 0;

    for (int tier = TIER_RAW; tier < TIER_COUNT && r >= 0 && c->conf.keep_bytes; tier++)
        do {
            int64_t used = chunks_used_bytes(c->db);
            r = used < 0 ? (int)used : used > c->conf.keep_bytes && !stopping(c);
            if (r == 1)
                r = chunks_next_bucket(c->db, false, tier, INT64_MIN, &bucket);
            if (r == 1)
                r = drop_some(c, tier, bucket);
        } while (r > 0);
    return MIN(r, 0);
}

static int retain(struct compact *c)
{
    chunks_expect(c->db, -1);
    int r = retain_age(c, TIER_RAW, c->conf.keep_raw_ms);

    if (r == 0)
        r = retain_age(c, TIER_MINUTE, c->conf.keep_minute_ms);
    if (r == 0)
        r = retain_age(c, TIER_HOUR, c->conf.keep_hour_ms);
    if (r == 0)
        r = retain_bytes(c);
    while (r == 0 && !stopping(c) && chunks_vacuum(c->db, VACUUM_PAGES) == 1)
        chunks_tidy(c->db, false);
    return r;
}

/* ---- rounds ---- */

/* Moves chunks of nodes that were taken over to their new owner. */
static int rehome(struct compact *c, const struct chunk_mark *marks, size_t n_marks, struct err *err)
{
    AUTO_FREE struct alias *v = NULL;
    const struct chunk_mark *m = FIND(marks, n_marks, x, x->log == 0);
    size_t n = 0, from = m ? (size_t)m->upto : 0;
    int r = records_aliases(c->rec, &v, &n, err);

    c->rehomed = (int64_t)n;
    if (r < 0 || n <= from)
        return r;
    chunks_expect(c->db, -1);
    r = chunks_begin(c->db, true);
    if (r >= 0)
        r = chunks_lock(c->db); /* puts of other hubs under the old key are visible by now, or will fail */
    for (size_t i = from; i < n && r >= 0; i++)
        r = chunks_rehome(c->db, v[i].from, v[i].to, v[i].log);
    if (r >= 0)
        r = chunks_set_mark(c->db, &(struct chunk_mark){.log = 0, .upto = (int64_t)n});
    return chunks_end(c->db, r, NULL);
}

/*
 * Handles the result of one log. Returns 0 for an error of this log only; the first such error is reported, the other
 * logs continue. An error that the next log would hit too (disk full, server unreachable) ends the round.
 */
static int pass_log(int r, const struct err *why, int *first, struct err *err)
{
    bool last = r == -ECANCELED || r == -ENOSPC || r == -ENOTCONN || r == -EROFS;

    if (r < 0 && (last || !*first))
        *err = *why;
    *first = *first ? *first : MIN(r, 0);
    return last ? r : 0;
}

static int compact_logs(struct compact *c, struct err *err)
{
    AUTO_FREE struct log_ref *logs = NULL;
    AUTO_FREE struct chunk_mark *marks = NULL;
    size_t n_marks = 0, n_logs = writer_logs(c->w, &logs);
    int r = chunks_marks(c->db, &marks, &n_marks);

    if (r == 0)
        r = rehome(c, marks, n_marks, err);
    for (size_t i = 0; i < n_marks && r == 0; i++) {
        const struct log_ref *l = FIND(logs, n_logs, x, x->n == marks[i].log);
        if (l && marks[i].done)
            writer_compacted(c->w, l->n); /* the process was killed before the file was deleted */
        else if (!l && marks[i].log > 0)
            r = chunks_drop_mark(c->db, marks[i].log); /* its file is gone */
    }
    int first = 0; /* first error */
    for (size_t i = 0; i < n_logs && r == 0; i++) {
        const struct chunk_mark *m = FIND(marks, n_marks, x, x->log == logs[i].n);
        struct err why = {0};
        if (logs[i].sealed && !(m && m->done))
            r = stopping(c) ? -ECANCELED : compact_log(c, logs[i].n, m ? m->upto : 0, &why);
        r = pass_log(r, &why, &first, err);
    }
    return r < 0 ? r : first;
}

/* ---- the same for logs as rows ---- */

static bool leads(const struct compact *c)
{
    return !c->conf.leads || c->conf.leads(c->conf.cluster);
}

/* Adopts the logs of dead hubs. */
static int adopt_logs(struct compact *c, struct row_log *v, size_t n, struct err *err)
{
    int r = 0;

    for (size_t i = 0; i < n && r >= 0 && c->conf.gone; i++) {
        if (v[i].owner == c->conf.hub || !c->conf.gone(c->conf.cluster, v[i].owner))
            continue;
        r = rows_adopt(c->rows, &v[i], c->conf.hub, err);
        if (r == 1) {
            v[i].owner = c->conf.hub;
            v[i].epoch++;
        }
    }
    return MIN(r, 0);
}

/* Finishes a log of ours without a writer: seals, compacts and finally deletes it. */
static int finish_rows(struct compact *c, struct row_log *l, const struct chunk_mark *m, struct err *err)
{
    int r = 1;

    if (!l->sealed)
        r = rows_seal(c->rows, l, c->conf.now_ms ? c->conf.now_ms() : 0, err);
    if (r != 1)
        return r;
    c->row_log = *l;
    if (!(m && m->done))
        r = compact_log(c, l->n, m ? m->upto : 0, err);
    else if (l->ripe && (!c->conf.archive || due_rows(writer_due(c->w), l->n, c->conf.keep_raw_ms)))
        r = rows_drop(c->chunk_rows, l, err);
    return r == -ESTALE ? 0 : MIN(r, 0); /* another hub adopted it */
}

/* Deletes expired rows of compacted logs with their runs and blobs, and expired partitions. */
static int forget_rows(struct compact *c, struct err *err)
{
    int64_t now = c->conf.now_ms ? c->conf.now_ms() : 0, oldest = 0;
    int r = records_begin(c->rec, err);

    if (r < 0)
        return r;
    if (now && c->conf.keep_raw_ms)
        r = records_drop_old_logs(c->rec, now - c->conf.keep_raw_ms);
    if (r == 0)
        r = records_oldest_log(c->rec, &oldest);
    if (r == 0)
        r = records_drop_before(c->rec, oldest);
    r = records_end(c->rec, r, err);
    if (r == 0 && now)
        rows_tidy_days(c->rows, now); /* errors: retried in the next round */
    return r;
}

static int compact_rows_logs(struct compact *c, struct err *err)
{
    AUTO_FREE struct log_ref *own = NULL;
    AUTO_FREE struct row_log *logs = NULL;
    AUTO_FREE struct chunk_mark *marks = NULL;
    size_t n_marks = 0, n_logs = 0, n_own = writer_logs(c->w, &own);
    int64_t current = n_own ? own[n_own - 1].n : 0; /* older logs have no writer any longer */
    int r = chunks_marks(c->db, &marks, &n_marks);

    if (r == 0 && leads(c))
        r = rehome(c, marks, n_marks, err);
    if (r == 0)
        r = rows_list(c->rows, &logs, &n_logs, err);
    if (r == 0 && leads(c))
        r = adopt_logs(c, logs, n_logs, err);
    int first = 0; /* first error */
    for (size_t i = 0; i < n_logs && r == 0; i++) {
        struct row_log *l = &logs[i];
        struct err why = {0};
        if (l->owner == c->conf.hub && (l->n < current || l->epoch > 0))
            r = stopping(c) ? -ECANCELED : finish_rows(c, l, FIND(marks, n_marks, x, x->log == l->n), &why);
        r = pass_log(r, &why, &first, err);
    }
    struct err why = {0};
    if (r == 0 && leads(c))
        r = pass_log(forget_rows(c, &why), &why, &first, err);
    return r < 0 ? r : first;
}

/* False if the server cancelled the statement: that is reported like any other failure. */
static bool was_stopped(struct compact *c, int r)
{
    return r == -ECANCELED && stopping(c);
}

static int compact_round(struct compact *c, struct err *err)
{
    int r = 0, merged = 0, more = 0;
    uint64_t before = chunks_commits(c->db);
    uint32_t damaged = c->damaged;

    if (c->look) { /* after a start, and after damage: an index can be rebuilt */
        r = chunks_mend(c->db);
        c->damaged += r == 1;
        c->look = r == -ENOSPC;
    }
    r = c->rows ? compact_rows_logs(c, err) : compact_logs(c, err);
    if (!was_stopped(c, r) && r != -ENOSPC && leads(c))
        merged = merge_all(c);
    r = r == 0 ? merged : r;
    if (!was_stopped(c, r) && leads(c)) /* even after a failure: old data must not stay forever, nor the disk full */
        more = retain(c);
    r = r == 0 ? more : r;
    c->look |= r == -EUCLEAN;
    if (r < 0 && !was_stopped(c, r) && !*err->msg)
        err_set(err, r, "cannot compact %s%s%s: %s", c->rows ? "the store's batches" : "'", c->rows ? "" : c->dir,
                c->rows ? "" : "/history.db'", strerror(-r));
    chunks_tidy(c->db, true);
    if (chunks_commits(c->db) != before || c->damaged != damaged)
        writer_changed(c->w);
    err->code = was_stopped(c, r) ? 0 : r;
    writer_set_history(c->w, chunks_file_bytes(c->dir), c->damaged, err);
    return r;
}

static void *compact_main(void *arg)
{
    struct compact *c = arg;
    struct pollfd p = {.fd = c->wake_fd, .events = POLLIN};

    thread_give_way();
    while (!stopping(c)) {
        struct err err = {0};
        pthread_mutex_lock(&c->lock);
        uint64_t asked = c->asked;
        pthread_mutex_unlock(&c->lock);
        int r = compact_round(c, &err);
        pthread_mutex_lock(&c->lock);
        c->done = asked;
        c->last = err;
        c->last.code = r;
        pthread_cond_broadcast(&c->settled);
        bool more = c->asked != asked;
        pthread_mutex_unlock(&c->lock);
        if (!more && poll(&p, 1, TICK_MS) > 0)
            wake_clear(c->wake_fd);
    }
    return NULL;
}

/* Called when a log was sealed; thread-safe. */
static void compact_wake(void *arg)
{
    wake_ring(((struct compact *)arg)->wake_fd);
}

int compact_settle(struct compact *c, struct err *err)
{
    LOCKED(&c->lock);
    uint64_t mine = ++c->asked;
    compact_wake(c);
    while (c->done < mine)
        pthread_cond_wait(&c->settled, &c->lock);
    struct err last = c->last;
    return last.code ? err_set(err, last.code, "%s", last.msg) : 0;
}

/* ---- open and close ---- */

/* Whether muster.db has compacted logs: history.db existed and was not empty. */
static int was_used(struct compact *c, bool *ret, struct err *err)
{
    AUTO_FREE struct log_sum *v = NULL;
    size_t n = 0;
    int r = records_load_logs(c->rec, &v, &n, err);

    *ret = ANY(n, i, v[i].compacted);
    return r;
}

static int begin_anew(struct compact *c, const char *why, const char *to, struct err *err)
{
    struct err more = {0};
    int r = chunks_open(&c->db, c->dir, DB_WRITE, &more);

    if (r < 0)
        return err_set(err, r, "%s", more.msg);
    return err_set(err, 0, "%s; %s%s, and history starts from scratch", why,
                   to[0] ? "it was renamed to " : "it is missing", to);
}

static int open_db(struct compact *c, struct err *err)
{
    AUTO_FREE char *path = mem_fmt("%s/history.db", c->dir);
    char to[ASIDE_NAME] = "";
    struct err why = {0};
    bool used = false;

    if (c->conf.url)
        return chunks_open(&c->db, c->dir, DB_WRITE, err);
    int r = was_used(c, &used, err);
    if (r < 0)
        return r;
    if (used) { /* otherwise it may be a new one */
        r = chunks_open(&c->db, c->dir, DB_READ, &why);
        chunks_close(c->db);
        c->db = NULL;
    }
    if (r == -ENOENT) {
        r = quarantine_note_missing(c->dir, "history.db");
        return r < 0 ? err_set(err, r, "cannot note that '%s' is missing: %s", path, strerror(-r))
                     : begin_anew(c, why.msg, "", err);
    }
    if (r != -ENODATA)
        r = chunks_open(&c->db, c->dir, DB_WRITE, &why);
    if (r == -EUCLEAN || r == -EINVAL || r == -ENODATA) {
        r = quarantine_file(c->dir, "history.db", to);
        return r < 0 ? err_set(err, r, "cannot set the damaged '%s' aside: %s", path, strerror(-r))
                     : begin_anew(c, why.msg, to, err);
    }
    return r < 0 ? err_set(err, r, "%s", why.msg) : 0;
}

int compact_open(struct compact **ret, const struct store_conf *conf, struct writer *w, struct err *err)
{
    struct compact *c =
        NEW(struct compact, .conf = *conf, .look = true, .dir = mem_str(conf->dir), .w = w, .wake_fd = wake_new());

    pthread_mutex_init(&c->lock, NULL);
    pthread_cond_init(&c->settled, NULL);
    int r = c->wake_fd < 0 ? err_set(err, -errno, "cannot make an eventfd: %s", strerror(errno))
                           : records_open(&c->rec, conf->dir, conf->url ? DB_BESIDE : DB_READ, err);
    if (r == 0)
        r = open_db(c, err);
    if (r == 0 && conf->url) {
        pg_set_limit(records_db(c->rec), LIMIT_MS);
        pg_set_limit(chunks_db(c->db), LIMIT_MS);
        c->rows = rows_new(records_db(c->rec));
        c->chunk_rows = rows_new(chunks_db(c->db));
    }
    if (r == 0) {
        c->dec = conf->decoder->make();
        c->table = table_new();
        c->writer = chunk_writer_new();
        writer_set_history(w, chunks_file_bytes(c->dir), 0, &(struct err){0});
        chunks_set_counter(c->db, writer_history_versions(w));
        r = thread_start(&c->thread, NULL, compact_main, c);
        c->running = r == 0;
        if (r < 0)
            err_set(err, r, "cannot start the store's second thread: %s", strerror(-r));
    }
    if (r < 0) {
        compact_close(c);
        return r;
    }
    writer_on_seal(w, compact_wake, c);
    *ret = c;
    return 0;
}

void compact_close(struct compact *c)
{
    if (!c)
        return;
    writer_on_seal(c->w, NULL, NULL);
    if (c->running) {
        pthread_mutex_lock(&c->lock);
        c->stop = true;
        pthread_mutex_unlock(&c->lock);
        compact_wake(c);
        pthread_join(c->thread, NULL);
    }
    drop_pending(c);
    free(c->pending);
    table_free(c->table);
    chunk_writer_free(c->writer);
    facts_fini(&c->facts);
    if (c->dec)
        c->conf.decoder->end(c->dec);
    rows_free(c->rows);
    rows_free(c->chunk_rows);
    records_close(c->rec);
    chunks_close(c->db);
    if (c->wake_fd >= 0)
        close(c->wake_fd);
    pthread_cond_destroy(&c->settled);
    pthread_mutex_destroy(&c->lock);
    free(c->dir);
    free(c);
}
