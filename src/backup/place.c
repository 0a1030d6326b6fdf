/* place.c: the place of a store: creates its tables, checks its chunks, shows its users. */
#include <errno.h>

#include "backup/move.h"
#include "base/buf.h"
#include "base/mem.h"
#include "base/order.h"
#include "hub/decode.h"
#include "sql/lease.h"
#include "sql/pg.h"
#include "store/chunks.h"
#include "store/schema.h"
#include "wandb/store_sql.h"

static const struct db_kind *const kinds[] = {&records_kind, &chunks_kind, &lease_kind, &wandb_kind};
#define NEEDED 3 /* the first of these make a store; the first W&B pull creates the others */

/* ---- tables ---- */

static int get_version(const char *url, const struct db_kind *kind, int64_t *ret, struct err *err)
{
    struct db *db;
    int r = db_open(&db, url, kind, DB_READ, err);

    *ret = 0;
    if (r == -ENODATA) {
        if (err)
            *err = (struct err){0};
        return 0;
    }
    if (r < 0)
        return r;
    r = db->engine->get_version(db, kind, ret);
    db_close(db);
    return r;
}

int store_init(const char *url, struct err *err)
{
    bool made = false;
    int r = 0;

    for (size_t i = 0; i < ARRAY_LEN(kinds) && r == 0; i++) {
        struct db *db = NULL;
        int64_t before = 0, after = 0;
        r = get_version(url, kinds[i], &before, err);
        if (r == 0)
            r = db_open(&db, url, kinds[i], DB_WRITE, err);
        if (r == 0)
            r = db->engine->get_version(db, kinds[i], &after);
        made |= before != after;
        db_close(db);
    }
    return r < 0 ? r : made;
}

void store_print_tables(struct buf *out)
{
    buf_adds(out, "BEGIN;\nCREATE TABLE IF NOT EXISTS muster_version(magic BIGINT PRIMARY KEY, version BIGINT NOT "
                  "NULL);\n");
    for (size_t i = 0; i < ARRAY_LEN(kinds); i++)
        pg_print_tables(kinds[i], out);
    buf_adds(out, "COMMIT;\n");
}

/* ---- check ---- */

struct checking {
    const struct backup_watch *watch;
    struct store_sum *sum;
    void *dec;
    int64_t done, total;
};

static void note_progress(struct checking *c)
{
    c->done++;
    if (c->watch && c->watch->at)
        c->watch->at(c->watch->arg, c->done, MAX(c->total, c->done));
}

static int check_chunks(struct checking *c, struct db *db, struct err *err)
{
    struct db_stmt *st = db_prepare(db, "SELECT tier, bytes FROM chunk ORDER BY id");
    int r;

    db_int(db, "SELECT count(*) FROM chunk", &c->total);
    while ((r = db_next(st, err)) == 1) {
        struct str bytes = db_bytes(st, 1);
        c->sum->chunks++;
        c->sum->bytes += (int64_t)bytes.len;
        c->sum->damaged_chunks += !chunk_whole(bytes, (int)db_number(st, 0));
        note_progress(c);
    }
    db_finish(st);
    return r;
}

static int check_batches(struct checking *c, struct db *db, const char *sql, struct err *err)
{
    struct db_stmt *st = db_prepare(db, sql);
    struct batch b;
    int r;

    while ((r = db_next(st, err)) == 1) {
        c->sum->batches++;
        c->sum->damaged_batches += hub_decoder.batch(c->dec, db_bytes(st, 0), &b, NULL) < 0;
        note_progress(c);
    }
    db_finish(st);
    return r;
}

/* Checks log files that are not in chunks; one that disappears meanwhile was compacted. */
static int check_files(struct checking *c, const char *dir, struct err *err)
{
    AUTO_FREE int64_t *logs = NULL;
    size_t n = 0;
    int r = log_list(dir, &logs, &n, NULL, err);

    for (size_t i = 0; i < n && r == 0; i++) {
        AUTO_FREE char *path = log_path(dir, logs[i]);
        struct db *db = NULL;
        r = log_open_read(&db, path, false, err);
        if (r == 0)
            r = check_batches(c, db, "SELECT bytes FROM batch ORDER BY id", err);
        db_close(db);
        r = r == -ENOENT || r == -ENODATA ? 0 : r;
    }
    return r;
}

static int check_rows(struct checking *c, struct db *db, struct err *err)
{
    int r = check_batches(c, db,
                          "SELECT b.bytes FROM batch b JOIN logs ON n = b.log WHERE NOT EXISTS (SELECT 1 FROM mark m"
                          " WHERE m.log = b.log AND done <> 0)",
                          err);

    if (r == 0)
        r = db_int(db,
                   "SELECT count(*) FROM batch b WHERE NOT EXISTS (SELECT 1 FROM logs WHERE n = b.log AND compacted ="
                   " 0)",
                   &c->sum->astray);
    return r;
}

int store_check(const char *place, const struct backup_watch *watch, struct store_sum *ret, struct err *err)
{
    struct checking c = {.watch = watch, .sum = ret};
    struct records *rec = NULL;
    struct chunks *chunks = NULL;
    int r = records_open(&rec, place, DB_READ, err);

    *ret = (struct store_sum){0};
    if (r < 0)
        return r;
    c.dec = hub_decoder.make();
    r = db_int(records_db(rec), "SELECT count(*) FROM nodes", &ret->nodes);
    if (r == 0)
        r = chunks_open(&chunks, place, DB_READ, err);
    bool none = r == -ENOENT || r == -ENODATA; /* no history yet */
    if (r == 0)
        r = check_chunks(&c, chunks_db(chunks), err);
    if (r == 0 || none)
        r = pg_is_place(place) && !none ? check_rows(&c, records_db(rec), err)
            : pg_is_place(place)        ? 0
                                        : check_files(&c, place, err);
    hub_decoder.end(c.dec);
    chunks_close(chunks);
    records_close(rec);
    return r;
}

/* ---- status ---- */

static void read_hubs(struct status_sum *s, const struct hub_row *v, size_t n)
{
    const struct hub_row *leader = FIND(v, n, x, x->leads);

    s->hubs = mem_zero(MAX(n, 1u), sizeof(*s->hubs));
    for (size_t i = 0; i < n; i++) {
        struct status_hub *h = &s->hubs[s->n_hubs++];
        *h = (struct status_hub){.id = v[i].id,
                                 .started_ms = v[i].started_ms,
                                 .until_ms = v[i].until_ms,
                                 .now_ms = v[i].now_ms,
                                 .here = v[i].here,
                                 .leads = v[i].leads,
                                 .differs = leader && v[i].here && strcmp(leader->conf, v[i].conf) != 0};
        mem_copy_str(h->url, sizeof(h->url), v[i].url);
        mem_copy_str(h->name, sizeof(h->name), v[i].name);
        mem_copy_str(h->version, sizeof(h->version), v[i].version);
    }
}

/* Logs that are not in chunks yet, by owner. */
static int read_logs(struct db *db, struct status_sum *s, struct err *err)
{
    struct db_stmt *st = db_prepare(db, "SELECT owner, count(*), coalesce(sum(batches), 0)::bigint,"
                                        " coalesce((extract(epoch FROM clock_timestamp() - min(sealed_at)) * "
                                        "1000)::bigint, 0) FROM logs WHERE compacted = 0 AND NOT EXISTS (SELECT 1 FROM "
                                        "mark WHERE log = n AND done <> 0) GROUP BY owner");
    int r;

    while ((r = db_next(st, err)) == 1) {
        struct status_hub *h = FIND(s->hubs, s->n_hubs, x, x->id == db_number(st, 0));
        s->logs += db_number(st, 1);
        s->batches += db_number(st, 2);
        s->behind_ms = MAX(s->behind_ms, db_number(st, 3));
        if (h) {
            h->logs = db_number(st, 1);
            h->batches = db_number(st, 2);
        }
    }
    db_finish(st);
    return r;
}

static int read_sizes(struct db *db, struct status_sum *s)
{
    int r = db_int(db, "SELECT pg_database_size(current_database())", &s->bytes);

    if (r == 0)
        r = db_int(db, "SELECT pg_total_relation_size('chunk')", &s->chunk_bytes);
    if (r == 0)
        r = db_int(db, "SELECT count(*) FROM chunk", &s->chunks);
    return r < 0 ? r
                 : db_int(db,
                          "SELECT coalesce(sum(pg_total_relation_size(inhrelid)), 0)::bigint FROM pg_inherits WHERE"
                          " inhparent = 'batch'::regclass",
                          &s->batch_bytes);
}

int store_status(const char *url, struct status_sum *ret, struct err *err)
{
    AUTO_FREE struct hub_row *hubs = NULL;
    struct leases leases;
    struct db *db = NULL;
    size_t n = 0;
    int r = 0;

    *ret = (struct status_sum){0};
    for (size_t i = 0; i < NEEDED && r == 0; i++)
        r = get_version(url, kinds[i], &ret->versions[i], err);
    if (r == 0 && ANY(NEEDED, i, ret->versions[i] == 0))
        r = err_set(err, -ENODATA, "there is no store, or not all of it: `muster store init` makes its tables");
    if (r == 0)
        r = db_open(&db, url, &lease_kind, DB_READ, err);
    if (r < 0)
        return r;
    leases_init(&leases, db);
    r = hub_rows(&leases, &hubs, &n, err);
    if (r == 0) {
        read_hubs(ret, hubs, n);
        ret->moving = db_has_table(db, STORE_MOVING);
        r = read_logs(db, ret, err);
    }
    if (r == 0 && (r = read_sizes(db, ret)) < 0)
        db_fail(db, r, "read", err);
    leases_fini(&leases);
    db_close(db);
    return r;
}
