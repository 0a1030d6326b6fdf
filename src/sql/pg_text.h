/*
 * pg_text.h: statements as this folder writes them, in the words of PostgreSQL:
 *
 *     ?7, :name            $1, $2 ... in the order in which they come
 *     max(a, b), min(a, b) GREATEST, LEAST; of one value they stay
 *     INTEGER, BLOB, TEXT  BIGINT, BYTEA, TEXT COLLATE "C"; INTEGER PRIMARY KEY counts up by itself
 *     user                 "user", which is a function there
 *     INDEXED BY x, NOT INDEXED, CROSS, WITHOUT ROWID, the x of x''    nothing
 *
 * What stands in quotes stays as it is.
 */
#pragma once

#include "base/buf.h"

#define PG_PLACES 128

/* Where the values of a statement go. */
struct pg_places {
    int at[PG_PLACES]; /* [7]: N of the $N that ?7 became; 0: it is not in the statement */
    char name[16][16]; /* of :name, which has the number of its row and one */
    int n, n_names;
};

void pg_text(const char *sql, struct pg_places *places, struct buf *out);

bool pg_is_clean(struct str s);    /* the server takes it as text */
char *pg_clean_text(struct str s); /* with U+FFFD for each byte that it would refuse; for free() */
