/*
 * pg_text.h: translates statements of this folder to PostgreSQL:
 *
 *   ?7, :name            $1, $2 ... in order of appearance
 *   max(a, b), min(a, b) GREATEST, LEAST; unchanged with one value
 *   INTEGER, BLOB, TEXT  BIGINT, BYTEA, TEXT COLLATE "C"; INTEGER PRIMARY KEY is generated
 *   user                 "user", which is a function there
 *   INDEXED BY x, NOT INDEXED, CROSS, WITHOUT ROWID, the x of x''    nothing
 *
 * Quoted text stays unchanged.
 */
#pragma once

#include "base/buf.h"

#define PG_PLACES 128

/* Positions of a statement's values. */
struct pg_places {
    int at[PG_PLACES]; /* [7]: N of the $N that ?7 became; 0: not in the statement */
    char name[16][16]; /* of :name, which has the number of its row + 1 */
    int n, n_names;
};

void pg_text(const char *sql, struct pg_places *places, struct buf *out);

bool pg_is_clean(struct str s);    /* the server accepts it as text */
char *pg_clean_text(struct str s); /* with U+FFFD for each byte that the server would reject; the caller frees it */
