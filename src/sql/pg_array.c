/* pg_array.c: one-dimensional arrays, in the format of PostgreSQL's array_recv. */
#include "sql/pg_array.h"

#include <endian.h>
#include <string.h>

#include "base/mem.h"
#include "sql/pg.h"

/* number of dimensions, whether there are NULLs, type; then length and lower bound of the dimension */
#define HEADER     20
#define EPOCH_DAYS 10957 /* PostgreSQL counts days from 2000 */

static const struct {
    uint32_t element, array;
} oids[] = {[PG_INTS] = {20, 1016}, [PG_DATES] = {1082, 1182}, [PG_BYTES] = {17, 1001}, [PG_TEXTS] = {25, 1009}};

static void add_u32(struct buf *b, uint32_t v)
{
    uint32_t be = htobe32(v);

    buf_add(b, &be, sizeof(be));
}

void pg_array_reset(struct pg_array *a, enum pg_array_type type, size_t max_bytes)
{
    if (a->b.max)
        buf_reset(&a->b);
    else
        a->b = BUF_INIT(max_bytes);
    a->type = type;
    a->n = 0;
    add_u32(&a->b, 1);
    add_u32(&a->b, 0);
    add_u32(&a->b, oids[type].element);
    add_u32(&a->b, 0); /* its length: set when it is bound */
    add_u32(&a->b, 1);
}

void pg_array_fini(struct pg_array *a)
{
    buf_fini(&a->b);
    *a = (struct pg_array){0};
}

void pg_array_add(struct pg_array *a, int64_t v)
{
    uint64_t be = htobe64((uint64_t)v);

    a->n++;
    if (a->type == PG_DATES) {
        add_u32(&a->b, sizeof(uint32_t));
        add_u32(&a->b, (uint32_t)(v - EPOCH_DAYS));
        return;
    }
    add_u32(&a->b, sizeof(be));
    buf_add(&a->b, &be, sizeof(be));
}

void pg_array_add_str(struct pg_array *a, struct str v)
{
    a->n++;
    add_u32(&a->b, (uint32_t)v.len);
    if (v.len)
        buf_add(&a->b, v.p, v.len);
}

int pg_array_bind(struct pg_array *a, struct db_stmt *st, int place)
{
    uint32_t n = htobe32(a->n);

    if (a->b.err)
        return a->b.err;
    memcpy(a->b.p + HEADER - 8, &n, sizeof(n));
    pg_bind_as(st, place, oids[a->type].array, buf_str(&a->b));
    return 0;
}
