/*
 * plot.h: charts for paper, mail and files: lines over time, stacked bars, quartile boxes, as PNG, JPEG, SVG or PDF.
 * One description, one call; everything in it is borrowed for the call. paper.h puts them on pages, with tables.
 *
 * L1 Pure: the same description gives the same bytes; no clock is read, nothing is written but ret. L2 Anything may be
 * in it: NAN and infinities are gaps, names may hold markup or a novel, sizes are cut to sane ones. L3 What is not
 * known (NAN) is not drawn as zero: a line has a gap there. L4 Any thread may draw; it takes milliseconds, so a hub
 * does it on a worker.
 */
#pragma once

#include "base/err.h"
#include "base/zone.h"

struct buf;

#define PLOT_SERIES_MAX 64          /* more are left out, and the legend says how many */
#define PLOT_POINTS_MAX (16u << 20) /* n times n_series */
#define PLOT_BYTES_MAX  (64u << 20) /* of a drawing */
#define PLOT_STACK_MAX  32          /* charts above each other */
#define PLOT_COLOURS    8           /* then lighter ones of the same; the page's lines, web/style.css */

enum plot_format { PLOT_PNG, PLOT_SVG, PLOT_PDF, PLOT_JPG, PLOT_FORMATS };
extern const char *const plot_words[PLOT_FORMATS + 1]; /* "png", "svg", "pdf", "jpg"; ends with NULL */
extern const char *const plot_types[PLOT_FORMATS];     /* "image/png", … */

enum plot_kind {
    PLOT_LINES, /* y over at_ms; without at_ms over labels */
    PLOT_BARS,  /* one stack per label (or per at_ms: the beginning of a period), in the order of series from below */
    PLOT_BOXES, /* one box per label; no series */
};

struct plot_series {
    const char *name; /* in the legend; NULL: not there */
    const double *y;  /* plot.n of them; NAN: not known */
    int colour;       /* 0: by its place; 1…PLOT_COLOURS: that one of the page's; -1: grey (for "others", "free") */
    bool line;        /* bars: not in the stacks but dashed steps across them (what was assigned) */
    double alpha;     /* lines: so much of its colour, where many lie above each other; 0: all */
};

struct plot_box {
    double min, q1, median, q3, max; /* min and max: where whiskers end; one NAN: no box */
    size_t n_outliers;               /* values beyond them, a diamond each */
    const double *outliers;
};

struct plot_axis {
    const char *label;
    const char *unit; /* as in JSON: "ratio" (shown in %), "bytes", "seconds" (in s, min or h), "watts", "joules",
                         "celsius", "hertz"; any other word is shown as it is ("GPU-hours", "EUR"); NULL: none */
    double min, max;  /* both 0: from the data, with 0 in it where that is near */
    bool zero;        /* 0 is in it however far that is */
};

struct plot {
    enum plot_kind kind;
    const char *title, *subtitle; /* NULL: none. A subtitle may have several lines; long ones are broken */
    const char *note;             /* small print below; NULL: none */
    size_t n;
    const int64_t *at_ms;      /* n, rising; NULL: labels */
    const char *const *labels; /* n; used where at_ms is NULL, or instead of dates under bars */
    int64_t from_ms, to_ms;    /* lines: the time axis; both 0: from the data */
    const struct zone *zone;   /* of the time axis; NULL: UTC */
    bool elapsed;              /* lines: at_ms are no moments, but count from a beginning */
    const char *x_label;       /* NULL: none; a time axis names its zone by itself */
    struct plot_axis y;
    size_t n_series;
    const struct plot_series *series;
    const struct plot_box *boxes; /* n */
    double width, height;         /* points (1/72 inch, a CSS pixel in SVG); 0: 720 by 360 */
    double left;                  /* points beside the field, at least: so that charts above each other stand flush */
};

/* Onto the end of ret, whose max must leave room (PLOT_BYTES_MAX). -ENOENT: cairo or a font is missing; -EMSGSIZE;
 * -EINVAL: more than PLOT_POINTS_MAX. */
int plot_draw(const struct plot *p, enum plot_format format, struct buf *ret, struct err *err);

/*
 * Several above each other, in one drawing of the first one's width and height (of all). Their fields stand
 * flush; of title, subtitle and legend those of the first have room made for them.
 */
int plot_draw_stack(const struct plot *v, size_t n, enum plot_format format, struct buf *ret, struct err *err);

/* Whether fonts here have every letter of text; -ENOENT with the letter and what to install (for Japanese:
 * fonts-ipafont-gothic or fonts-noto-cjk). What no font has is drawn as an empty box, so ask where it matters. */
int plot_can_write(const char *text, struct err *err);

/* The page's colours as 0xrrggbb, for tables and HTML that go with a chart; place as in plot_series.colour, from 1. */
uint32_t plot_colour(int place);
