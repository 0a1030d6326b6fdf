/*
 * cmd_picture.h: samples as lines or boxes, one chart per metric above each other: a PNG, SVG or PDF, or dots on a
 * terminal. Where the samples are from is the caller's business.
 */
#pragma once

#include "draw/plot.h"

struct panel {
    const char *name, *unit; /* unit as draw/plot.h has it */
    size_t n_series;
    double *const *v; /* each picture.n values; NAN: not there */
    const char *const *names;
};

struct picture {
    const char *title, *subtitle;
    bool boxes;
    size_t freq; /* samples of all series that make a box */
    size_t n;
    const int64_t *at_ms;
    const double *seconds;   /* since a beginning; NULL: at_ms are moments */
    const struct zone *zone; /* of moments */
    size_t n_panels;
    struct panel panels[PLOT_STACK_MAX];
    double width, height; /* points; 0: as wide as usual, and so high that all fit */
};

int picture_draw(const struct picture *p, enum plot_format format, struct buf *ret, struct err *err);
/* columns, and lines of each chart. */
void picture_term(const struct picture *p, int columns, int lines, struct buf *ret);
