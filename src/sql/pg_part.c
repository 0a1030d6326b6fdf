/* pg_part.c: rows that are read in parts: reads ahead and caches until the transaction ends. */
#include <errno.h>

#include "base/mem.h"
#include "base/order.h"
#include "sql/pg_conn.h"

#define PART_AHEAD 16384        /* bytes at a time */
#define AHEAD_KEEP (256u << 10) /* larger buffers are freed after use */

void pg_forget_parts(struct pg_db *d)
{
    for (size_t i = 0; i < PG_AHEADS; i++)
        d->ahead[i].id = 0;
}

/* Reads at least len bytes of that row from off, if it has as many. */
static int read_ahead(struct db *db, const char *table, int64_t id, size_t off, size_t len)
{
    struct pg_db *d = (struct pg_db *)db;
    struct pg_ahead *a = &d->ahead[d->next_ahead++ % PG_AHEADS];

    if (!d->part) { /* only one table is read in parts */
        AUTO_FREE char *sql = mem_fmt("SELECT substr(bytes, ?2::int, ?3::int) FROM %s WHERE id = ?1", table);
        d->part = db->engine->prepare(db, sql, true);
    }
    a->id = 0;
    if (a->bytes.cap > AHEAD_KEEP)
        buf_fini(&a->bytes);
    a->bytes.max = INT32_MAX;
    buf_reset(&a->bytes);
    db_bind_int(d->part, 1, id);
    db_bind_int(d->part, 2, (int64_t)off + 1);
    db_bind_int(d->part, 3, (int64_t)MAX(len, (size_t)PART_AHEAD));
    int r = db_step(d->part);
    if (r == 1 && (r = buf_addstr(&a->bytes, db_bytes(d->part, 0))) == 0) {
        a->id = id;
        a->off = off;
    }
    db_reset(d->part);
    return MIN(r, 0);
}

static const struct pg_ahead *find_ahead(const struct pg_db *d, int64_t id, size_t off, size_t len)
{
    for (size_t i = 0; i < PG_AHEADS; i++) {
        const struct pg_ahead *a = &d->ahead[i];
        if (a->id == id && off >= a->off && off + len <= a->off + a->bytes.len)
            return a;
    }
    return NULL;
}

int pg_read_part(struct db *db, const char *table, int64_t id, size_t off, size_t len, void *to)
{
    int r = 0;

    if (off >= INT32_MAX || len >= INT32_MAX - PART_AHEAD)
        return -ENOENT;
    const struct pg_ahead *a = find_ahead((const struct pg_db *)db, id, off, len);
    if (!a && (r = read_ahead(db, table, id, off, len)) == 0)
        a = find_ahead((const struct pg_db *)db, id, off, len);
    if (!a)
        return r < 0 ? r : -ENOENT;
    if (len)
        memcpy(to, a->bytes.p + (off - a->off), len);
    return 0;
}
