/* paper_page.h: the PDF page being written, for paper.c and paper_table.c. */
#pragma once

#include "draw/paper.h"
#include "draw/pen.h"

struct paper {
    struct pen pen;
    cairo_surface_t *surface;
    struct buf *out;
    char *title, *foot;
    double wide, high, left, right, top, bottom; /* top to bottom: what is written on */
    double y;                                    /* where the next thing begins */
    int page;                                    /* that are done */
    struct err err;                              /* the first failure */
};

/* Room for so much more on this page, or a new page. False once something failed. */
bool paper_need(struct paper *p, double points);
/* The next line of rest that fits. */
struct str paper_wrap(struct str *rest, double size, bool bold, double width);
