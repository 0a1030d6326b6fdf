/*
 * cmd_picture.h: samples as lines or boxes, one chart per metric above each other: a PNG, SVG or PDF, or dots on a
 * terminal. The caller provides the samples.
 */
#pragma once

#include "draw/plot.h"

struct panel {
    const char *name, *unit; /* unit as in draw/plot.h */
    size_t n_series;
    double *const *v; /* each picture.n values; NAN: no value */
    const char *const *names;
};

struct picture {
    const char *title, *subtitle;
    bool boxes;
    size_t freq; /* samples of all series that make a box */
    size_t n;
    const int64_t *at_ms;
    const double *seconds;   /* since the start of the time axis; NULL: at_ms are timestamps */
    const struct zone *zone; /* of timestamps */
    size_t n_panels;
    struct panel panels[PLOT_STACK_MAX];
    double width, height; /* points; 0: default width, and high enough for all charts */
};

int picture_draw(const struct picture *p, enum plot_format format, struct buf *ret, struct err *err);
/* columns: width of the terminal; lines: height of each chart. */
void picture_term(const struct picture *p, int columns, int lines, struct buf *ret);
