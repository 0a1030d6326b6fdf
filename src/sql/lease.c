/*
 * lease.c: a lease is a row. Its epoch is part of a key, so acquiring it (which changes the key) waits for any
 * transaction that holds the row with FOR KEY SHARE. Renewing it (which does not) runs concurrently.
 */
#include "sql/lease.h"

#include <errno.h>

#include "base/clock.h"
#include "base/mem.h"
#include "base/rand.h"

#define MAGIC 0x6d736c73 /* "msls" */

const struct db_kind lease_kind = {
    .magic = MAGIC,
    .version = 2,
    .schema = "CREATE TABLE lease(name TEXT PRIMARY KEY, holder INTEGER NOT NULL, epoch INTEGER NOT NULL,"
              " until TIMESTAMPTZ NOT NULL, UNIQUE(name, epoch));"
              "CREATE TABLE hub(id INTEGER PRIMARY KEY, url TEXT NOT NULL, name TEXT NOT NULL, version TEXT NOT NULL,"
              " conf TEXT NOT NULL, started TIMESTAMPTZ NOT NULL, pin TEXT NOT NULL DEFAULT '');"
              "CREATE SEQUENCE booking_ids INCREMENT 16; CREATE SEQUENCE note_ids INCREMENT 64;",
    .upgrades = (const char *const[]){"ALTER TABLE hub ADD COLUMN pin TEXT NOT NULL DEFAULT ''"},
};

enum {
    TAKEN,
    SHORTEN,
    TAKE_OVER,
    TAKE_FIRST,
    KEEP,
    KEEP_PARTS,
    GIVE_UP,
    FENCE,
    FENCE_PARTS,
    STOP_PART,
    ADD_HUB,
    CHANGE_HUB,
    HUBS,
    DROP_HUBS,
    DROP_LEASES,
    COUNT
};

/*
 * clock_timestamp: a statement may have waited. A holder that hangs within its transaction must not keep others from
 * acquiring the lease forever.
 */
#define LATER        "clock_timestamp() + ?3 * interval '1 ms'"
#define MS_OF(time)  "(extract(epoch FROM " time ") * 1000)::bigint"
#define HUB_NAME     "'hub/' || h.id"
#define GONE_FOR(ms) "until < clock_timestamp() - " ms " * interval '1 ms'"
static const char *const texts[COUNT] = {
    [TAKEN] = "SELECT CASE WHEN until > " LATER " THEN 2 ELSE 1 END FROM lease WHERE name = ?1"
              " AND until >= clock_timestamp()",
    [SHORTEN] = "UPDATE lease SET until = " LATER " WHERE name = ?1 AND until > " LATER,
    [TAKE_OVER] = "UPDATE lease SET holder = ?2, epoch = epoch + 1, until = " LATER
                  " WHERE name = ?1 AND until < clock_timestamp() RETURNING epoch",
    /* Any conflict: with ON CONFLICT (name) a concurrent first insert would violate (name, epoch) instead, and fail. */
    [TAKE_FIRST] = "INSERT INTO lease(name, holder, epoch, until) VALUES(?1, ?2, 1, " LATER ")"
                   " ON CONFLICT DO NOTHING RETURNING epoch",
    [KEEP] = "UPDATE lease SET until = " LATER " WHERE name = ?1 AND holder = ?2 AND epoch = ?4"
             " AND until >= clock_timestamp()",
    [KEEP_PARTS] = "UPDATE lease SET until = " LATER " WHERE name LIKE 'part/%' AND holder = ?2"
                   " AND until >= clock_timestamp() RETURNING substr(name, 6)::bigint, epoch",
    [GIVE_UP] = "UPDATE lease SET until = '-infinity' WHERE name = ?1 AND holder = ?2 AND epoch = ?3",
    [FENCE] = "SELECT 1, set_config('idle_in_transaction_session_timeout', '10s', true) FROM lease"
              " WHERE name = ?1 AND epoch = ?2 FOR KEY SHARE",
    [FENCE_PARTS] =
        "SELECT substr(name, 6)::bigint, epoch, set_config('idle_in_transaction_session_timeout', '10s',"
        " true) FROM lease WHERE name LIKE 'part/%' AND ((?1::bigint >> substr(name, 6)::int) & 1) = 1 FOR KEY SHARE",
    [STOP_PART] = "SELECT 1, set_config('idle_in_transaction_session_timeout', '10s', true) FROM lease"
                  " WHERE name = ?1 FOR UPDATE",
    [ADD_HUB] = "INSERT INTO hub(url, name, version, conf, pin, started)"
                " VALUES(?1, ?2, ?3, ?4, ?5, clock_timestamp()) RETURNING id",
    [CHANGE_HUB] = "UPDATE hub SET url = ?2, conf = ?3, pin = ?4 WHERE id = ?1",
    /* clang-format off */
    /* to_jsonb: a reader (`muster store status`) may meet tables of version 1, which have no column pin. */
    [HUBS] = "SELECT h.id, h.url, h.name, h.version, h.conf, " MS_OF("h.started") ","
             " CASE WHEN isfinite(l.until) THEN " MS_OF("l.until") " ELSE 0 END,"
             " coalesce((l.until >= clock_timestamp())::int, 0),"
             " coalesce((a.holder = h.id AND a.until >= clock_timestamp())::int, 0), " MS_OF("clock_timestamp()") ","
             " coalesce(to_jsonb(h)->>'pin', '') FROM hub h LEFT JOIN lease l ON l.name = " HUB_NAME
             " LEFT JOIN lease a ON a.name = '" LEASE_LEADER "' ORDER BY h.id",
    /* clang-format on */
    [DROP_HUBS] = "DELETE FROM hub h WHERE started < clock_timestamp() - ?1 * interval '1 ms' AND NOT EXISTS"
                  " (SELECT 1 FROM lease WHERE name = " HUB_NAME " AND NOT " GONE_FOR("?1") ")",
    [DROP_LEASES] = "DELETE FROM lease l WHERE name LIKE 'hub/%' AND " GONE_FOR(
        "?1") " AND NOT EXISTS (SELECT 1 FROM hub h WHERE l.name = " HUB_NAME ")",
};

void leases_init(struct leases *s, struct db *db)
{
    db_stmts_init(&s->st, db, texts, COUNT);
}

void leases_fini(struct leases *s)
{
    db_stmts_fini(&s->st);
}

void lease_init(struct lease *l, const char *name, int64_t holder, int64_t ms)
{
    *l = (struct lease){.holder = holder, .ms = ms};
    mem_copy_str(l->name, sizeof(l->name), name);
}

/* Counted from before the request to the server. */
static void set_held(struct lease *l, int64_t asked_ms)
{
    atomic_store(&l->stop_ms, asked_ms + l->ms * 2 / 3);
}

static void set_lost(struct lease *l)
{
    atomic_store(&l->stop_ms, 0);
}

/* In a transaction, whose commit shows whether a standby has it, too. */
static int take_row(struct leases *s, const struct lease *l, int64_t *ret_epoch, struct err *err)
{
    static const size_t ways[] = {TAKE_OVER, TAKE_FIRST};
    struct db *db = s->st.db;
    int r = db_begin(db, true), got = 0;

    if (r == 0)
        r = db_exec(db, "SET LOCAL lock_timeout = '2s'; SET LOCAL idle_in_transaction_session_timeout = '10s'");
    for (size_t i = 0; i < ARRAY_LEN(ways) && r == 0; i++)
        r = got = db_one(DB_STMT(&s->st, ways[i], DB_TEXT(l->name), DB_INT(l->holder), DB_INT(l->ms)), ret_epoch, NULL);
    r = db_end(db, r);
    if (r < 0)
        db_fail(db, r, "take a lease in", err);
    return r == -EBUSY ? 0 : r < 0 ? r : got; /* busy: the previous holder is still finishing */
}

int lease_take(struct leases *s, struct lease *l, struct err *err)
{
    int64_t asked_ms = clock_boot_ms(), taken = 0, epoch = 0;
    int r = db_one(DB_STMT(&s->st, TAKEN, DB_TEXT(l->name), DB_INT(0), DB_INT(l->ms)), &taken, err);

    if (r == 0) {
        r = take_row(s, l, &epoch, err);
    } else if (r == 1) { /* 2: the server's clock was set back, and the holder may be gone */
        r = taken == 2 ? DB_RUN(&s->st, SHORTEN, DB_TEXT(l->name), DB_INT(0), DB_INT(l->ms)) : 0;
        if (r < 0)
            db_fail(s->st.db, r, "shorten a lease in", err);
    }
    if (r != 1)
        return r;
    set_lost(l);
    atomic_store(&l->epoch, epoch);
    set_held(l, asked_ms);
    return 1;
}

int lease_keep(struct leases *s, struct lease *l, struct err *err)
{
    int64_t asked_ms = clock_boot_ms();
    int r = DB_RUN(&s->st, KEEP, DB_TEXT(l->name), DB_INT(l->holder), DB_INT(l->ms), DB_INT(atomic_load(&l->epoch)));

    if (r < 0)
        return db_fail(s->st.db, r, "keep a lease in", err);
    if (db_changes(s->st.db) == 0) {
        set_lost(l);
        return 0;
    }
    set_held(l, asked_ms);
    return 1;
}

int lease_give_up(struct leases *s, struct lease *l, struct err *err)
{
    set_lost(l); /* first: from now on no work is done under it */
    int r = DB_RUN(&s->st, GIVE_UP, DB_TEXT(l->name), DB_INT(l->holder), DB_INT(atomic_load(&l->epoch)));
    return r < 0 ? db_fail(s->st.db, r, "give up a lease in", err) : 0;
}

bool lease_holds(const struct lease *l)
{
    return clock_boot_ms() < atomic_load(&l->stop_ms);
}

int lease_fence(struct leases *s, const char *name, int64_t epoch, struct err *err)
{
    int64_t one;

    return db_one(DB_STMT(&s->st, FENCE, DB_TEXT(name), DB_INT(epoch)), &one, err);
}

/* ---- parts ---- */

unsigned lease_part_of(const char *node)
{
    return (unsigned)(fnv64(node, strlen(node)) % LEASE_PARTS);
}

const char *lease_of_part(unsigned part, char out[LEASE_NAME_MAX])
{
    snprintf(out, LEASE_NAME_MAX, "part/%u", part);
    return out;
}

/* Their numbers and epochs; 0: not in the result. */
static int read_parts(struct db_stmt *st, int64_t ret[LEASE_PARTS], struct err *err)
{
    int r;

    memset(ret, 0, LEASE_PARTS * sizeof(*ret));
    while ((r = db_next(st, err)) == 1)
        if (db_number(st, 0) >= 0 && db_number(st, 0) < LEASE_PARTS)
            ret[db_number(st, 0)] = db_number(st, 1);
    return r;
}

int lease_keep_parts(struct leases *s, struct lease *v, size_t n, struct err *err)
{
    int64_t asked_ms = clock_boot_ms(), epochs[LEASE_PARTS];
    int r = read_parts(DB_STMT(&s->st, KEEP_PARTS, DB_INT(0), DB_INT(v[0].holder), DB_INT(v[0].ms)), epochs, err);

    for (size_t i = 0; r == 0 && i < n && i < LEASE_PARTS; i++)
        if (epochs[i] && epochs[i] == atomic_load(&v[i].epoch) && atomic_load(&v[i].stop_ms))
            set_held(&v[i], asked_ms);
        else
            set_lost(&v[i]);
    return r;
}

int lease_fence_parts(struct leases *s, uint32_t parts, int64_t ret[LEASE_PARTS], struct err *err)
{
    return read_parts(DB_STMT(&s->st, FENCE_PARTS, DB_INT(parts)), ret, err);
}

int lease_stop_part(struct leases *s, unsigned part, struct err *err)
{
    char name[LEASE_NAME_MAX];
    int64_t one;
    int r = db_one(DB_STMT(&s->st, STOP_PART, DB_TEXT(lease_of_part(part, name))), &one, err);

    return MIN(r, 0);
}

/* ---- hubs ---- */

const char *lease_of_hub(int64_t id, char out[LEASE_NAME_MAX])
{
    snprintf(out, LEASE_NAME_MAX, "hub/%lld", (long long)id);
    return out;
}

int hub_row_add(struct leases *s, const struct hub_row *row, int64_t *ret_id, struct err *err)
{
    int r = db_one(DB_STMT(&s->st, ADD_HUB, DB_TEXT(row->url), DB_TEXT(row->name), DB_TEXT(row->version),
                           DB_TEXT(row->conf), DB_TEXT(row->pin)),
                   ret_id, err);

    return r == 1 ? 0 : r < 0 ? r : err_set(err, -EIO, "the server gave this hub no number");
}

int hub_row_change(struct leases *s, const struct hub_row *row, struct err *err)
{
    int r = DB_RUN(&s->st, CHANGE_HUB, DB_INT(row->id), DB_TEXT(row->url), DB_TEXT(row->conf), DB_TEXT(row->pin));

    return r < 0 ? db_fail(s->st.db, r, "write", err) : 0;
}

static void read_hub(struct db_stmt *st, void *to)
{
    struct hub_row *h = to;

    *h = (struct hub_row){.id = db_number(st, 0),
                          .started_ms = db_number(st, 5),
                          .until_ms = db_number(st, 6),
                          .here = db_number(st, 7) != 0,
                          .leads = db_number(st, 8) != 0,
                          .now_ms = db_number(st, 9)};
    mem_copy_str(h->url, sizeof(h->url), db_text(st, 1));
    mem_copy_str(h->name, sizeof(h->name), db_text(st, 2));
    mem_copy_str(h->version, sizeof(h->version), db_text(st, 3));
    mem_copy_str(h->conf, sizeof(h->conf), db_text(st, 4));
    mem_copy_str(h->pin, sizeof(h->pin), db_text(st, 10));
}

int hub_rows(struct leases *s, struct hub_row **ret, size_t *ret_n, struct err *err)
{
    return db_list(db_stmt(&s->st, HUBS), sizeof(**ret), read_hub, ret, ret_n, err);
}

int64_t hub_rows_drop(struct leases *s, int64_t gone_ms, struct err *err)
{
    int r = DB_RUN(&s->st, DROP_HUBS, DB_INT(gone_ms));
    int64_t n = db_changes(s->st.db);

    if (r == 0)
        r = DB_RUN(&s->st, DROP_LEASES, DB_INT(gone_ms));
    return r < 0 ? db_fail(s->st.db, r, "write", err) : n;
}
