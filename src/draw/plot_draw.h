/* plot_draw.h: a chart onto a pen, in a frame: for plot.c's files and paper.c's pages. */
#pragma once

#include "draw/pen.h"
#include "draw/plot.h"

#define INK_TEXT 0x1f2328
#define INK_DIM  0x59636e
#define INK_LINE 0xd1d9e0
#define INK_BACK 0xffffff

/* width and height of the frame, whose top left is the pen's origin. p must have passed plot_check. */
void plot_onto(struct pen *pen, const struct plot *p, double width, double height);
int plot_check(const struct plot *p, struct err *err);
/* A picture as a file: onto draws it, in points. */
struct plot_picture {
    double width, height;
    const char *title;
    void (*onto)(struct pen *pen, const void *what);
    const void *what;
};
int plot_picture(const struct plot_picture *p, enum plot_format format, struct buf *ret, struct err *err);
/* A writer for cairo's streams: closure is a struct buf. */
cairo_status_t plot_write(void *closure, const unsigned char *data, unsigned length);
void plot_metadata(const struct cairo_lib *c, cairo_surface_t *s, const char *title, int64_t at_ms);
