/*
 * lines.h: a hub's answer about history (/api/v1/history as JSON), as series of numbers, for pictures and tables.
 */
#pragma once

#include "format/render.h"

struct buf;

struct line {
    char *title;  /* "dgx1:0 util" */
    char *metric; /* "util" */
    double *v;
    struct chart chart; /* of v */
};

struct lines {
    size_t n;
    struct line *v; /* all of the same length */
    int64_t from_ms, step_ms;
};

/* one_agg: titles need not say which. False: it is not what a hub would say. */
bool lines_parse(const struct buf *text, bool one_agg, struct lines *ret);
void lines_fini(struct lines *l);
/* On a terminal so many columns wide: a chart each, of so many rows; of more than four a row each. */
void lines_draw(const struct lines *l, int width, int height, struct buf *out);
