/*
 * csv.h: records of comma-separated text (RFC 4180): quotes doubled inside quotes, commas and line ends inside quotes
 * belong to the cell, lines end with \n or \r\n. Bounded by what it was given; never writes into it.
 */
#pragma once

#include "base/buf.h"
#include "base/err.h"

#define CSV_RECORD_MAX (1u << 20) /* bytes */

struct csv {
    struct str rest;
    size_t line;        /* line where the newest record starts, from 1: for error messages */
    size_t lines;       /* ended so far */
    struct buf scratch; /* cells with quotes in them */
};

void csv_init(struct csv *c, struct str text); /* borrows text; skips a byte order mark */
void csv_fini(struct csv *c);
#define AUTO_CSV __attribute__((cleanup(csv_fini))) struct csv

/*
 * Reads the next record. Returns its number of cells, or 0 at the end. At most max of them are in cells, valid until
 * the next call. Skips empty lines. Returns -EINVAL with the line in err for a quote that is not closed or not followed
 * by a comma, and for a record past CSV_RECORD_MAX.
 */
int csv_next(struct csv *c, struct str *cells, size_t max, struct err *err);

/* A cell as csv_next reads it back: in quotes where needed. For programs: csv_text of format/words.h marks cells that a
 * spreadsheet might run. */
void csv_add(struct buf *out, const char *s);
