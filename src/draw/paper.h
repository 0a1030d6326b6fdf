/*
 * paper.h: a PDF of pages with headings, paragraphs, charts and tables, from top to bottom, broken over pages where
 * they end; a table's header is repeated on each. Pure, as plot.h: the date in it is the caller's.
 *
 * Functions after paper_open cannot fail by themselves: the first failure sticks and paper_close tells it.
 */
#pragma once

#include "draw/plot.h"
#include "model/rows.h"

#define PAPER_PAGES_MAX 2000
#define PAPER_COLS_MAX  64

struct paper_conf {
    const char *title; /* of the document, and at the foot of each page */
    const char *foot;  /* at the foot, beside the title: "made 2026-11-15 10:46 UTC"; NULL: none */
    int64_t at_ms;     /* the document's date */
    bool landscape;    /* A4 */
};

struct paper;
/* out is borrowed until paper_close; its max must leave room (PLOT_BYTES_MAX). -ENOENT: cairo or a font is missing. */
int paper_open(const struct paper_conf *conf, struct buf *out, struct paper **ret, struct err *err);
/* Ends the document and frees p; accepts NULL. -EMSGSIZE, or -ENOMEM and the like of cairo. */
int paper_close(struct paper *p, struct err *err);

void paper_heading(struct paper *p, const char *text, int level); /* 1 to 3; never alone at the foot of a page */
void paper_text(struct paper *p, const char *text);               /* a paragraph, wrapped; \n begins a new line */
void paper_break(struct paper *p);                                /* the next thing begins a page */
void paper_plot(struct paper *p, const struct plot *plot);        /* as wide as the page; plot->height, or 240 points */

struct paper_col {
    const char *title; /* wrapped where it is wider than what stands below it */
    bool right;        /* numbers */
};
struct paper_table {
    size_t n_cols, n;
    const struct paper_col *cols;
    const char *const *cells; /* n * n_cols; NULL: empty */
    size_t n_bold;            /* the last so many rows are sums, in bold, below a line */
};
/* Columns as wide as what is in them; where they do not fit the page, smaller letters, then the widest are cut ("…").
 */
void paper_table(struct paper *p, const struct paper_table *t);
/* The same of rows as `muster ls` and CSV have them: titles, alignment, and what a screen would show. n_bold as above.
 */
void paper_rows(struct paper *p, const struct rows *r, size_t n_bold);
