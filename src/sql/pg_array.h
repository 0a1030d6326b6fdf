/*
 * pg_array.h: many values of one type as one value of a statement, in PostgreSQL's binary form: for `unnest`.
 */
#pragma once

#include "base/buf.h"

struct db_stmt;

enum pg_array_type { PG_INTS, PG_DATES, PG_BYTES, PG_TEXTS };

/* Zero-initialised it is empty; start with pg_array_reset(). */
struct pg_array {
    enum pg_array_type type;
    uint32_t n;
    struct buf b;
};

/* empties it but keeps its memory */
void pg_array_reset(struct pg_array *a, enum pg_array_type type, size_t max_bytes);
void pg_array_fini(struct pg_array *a);
void pg_array_add(struct pg_array *a, int64_t v);        /* of PG_INTS; of PG_DATES: days since 1970 */
void pg_array_add_str(struct pg_array *a, struct str v); /* of PG_BYTES and PG_TEXTS, which must be clean */
/* It must live until the step. Returns -EMSGSIZE if it grew beyond max_bytes. */
int pg_array_bind(struct pg_array *a, struct db_stmt *st, int place);
