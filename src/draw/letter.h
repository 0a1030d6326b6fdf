/*
 * letter.h: a title, tables and a picture as plain text and as HTML for mail: what a report that goes out by itself is
 * made of. Everything in it is borrowed for the call.
 */
#pragma once

#include "base/str.h"
#include "model/rows.h"

struct buf;

#define LETTER_PARTS 6

struct letter_part {
    const char *title;
    const char *none;        /* said where there is no row; NULL: the part is left out then */
    const struct rows *rows; /* for text */
    const struct rows *slim; /* for HTML, which phones show too; NULL: rows */
    const char *bar;         /* HTML: the name of a column that gets bars; NULL: none */
    bool total;              /* the last row is the sum of the others */
    bool lines;              /* text: a line for each row, folded where it is too long, instead of a table */
    char more[80];           /* below it: "and 12 others"; empty: nothing */
};

struct letter {
    const char *title, *subtitle;
    const char *picture, *alt; /* what <img> is to load; NULL: none */
    struct str screen;         /* lines as a terminal shows them; empty: none */
    size_t n;
    struct letter_part v[LETTER_PARTS];
    struct str notes; /* a sentence each line */
};
/* Without the title: whoever sends it says that apart. */
void letter_text(struct buf *out, const struct letter *l, int width);
void letter_mail(struct buf *out, const struct letter *l);
