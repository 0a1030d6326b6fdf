/*
 * mail.h: rows as an HTML page that survives mail: tables and inline styles, nothing to load, no scripts, no pictures
 * but those that travel with the mail (cid:NAME). Programs that read mail drop style sheets, SVG and data: pictures,
 * each another one of them; all show the background of a table's cell, so that is what bars are made of.
 */
#pragma once

#include "base/str.h"
#include "model/rows.h"

struct buf;

struct mail_table {
    const char *title; /* NULL: none */
    const struct rows *rows;
    size_t first, n; /* of its rows, these */
    size_t skip;     /* so many columns on the left are not shown: the title says them */
    size_t bar; /* this column's number as a bar behind it, too; n_cols: none. Of bar_full the bar is as long as can
                   be */
    int64_t bar_full;
    int bar_px; /* so long; 0: 90 */
    bool total; /* the last row is the sum of the others: it stands out, and has no bar */
};

struct mail {
    const char *title, *subtitle;
    struct str notes; /* a paragraph each line */
};
void mail_start(struct buf *out, const struct mail *m);
void mail_table(struct buf *out, const struct mail_table *t);
void mail_heading(struct buf *out, const char *text);
void mail_line(struct buf *out, struct str text);   /* a paragraph */
void mail_screen(struct buf *out, struct str text); /* lines whose letters stand below each other */
void mail_picture(struct buf *out, const char *src, const char *alt, int width);
void mail_end(struct buf *out, const struct mail *m);
