/* lines.h: parses a hub's history (/api/v1/history as JSON) to series of numbers, for charts and tables. */
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

/* one_agg: titles omit the aggregate. Returns false if the text is invalid. */
bool lines_parse(const struct buf *text, bool one_agg, struct lines *ret);
void lines_fini(struct lines *l);
/* Draws to a terminal of this width: a chart per series with this height; with more than four series one row each. */
void lines_draw(const struct lines *l, int width, int height, struct buf *out);
