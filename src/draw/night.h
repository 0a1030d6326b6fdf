/*
 * night.h: the night strip: a row per GPU, time across. Brightness is work, a name stands where the holder changes,
 * held without work is hatched, a booking is an outline, what is not known is blank paper. As PNG, JPEG, SVG or PDF;
 * pure, as plot.h is. The page draws the same out of the same stretches (web/history/strip.js).
 */
#pragma once

#include "draw/plot.h"

#define NIGHT_ROWS_MAX 400 /* of a picture: more are left out, and it says how many */
#define NIGHT_NONE     (-1)

/* Bins [from, to). */
struct night_stretch {
    uint32_t from, to;
    const char *who; /* "kim", "kim, lee"; "": nobody knows; NULL: where it is no question */
};

struct night_span { /* a booking (words: whose), or what was wrong (words: what) */
    int64_t from_ms, to_ms;
    const char *words;
    bool still; /* it is so at the end of what is shown */
};

struct night_row {
    const char *name;   /* "dgx1:0" */
    const char *now;    /* its state now: "● 99 %"; NULL: not shown */
    const int8_t *work; /* percent of each bin; NIGHT_NONE: not known */
    bool by_util;       /* work is utilisation: more is not known of it */
    size_t n_held, n_idle, n_booked, n_wrong;
    struct night_stretch *held, *idle;
    struct night_span *booked, *wrong;
};

struct night {
    const char *title;
    const struct zone *zone; /* NULL: UTC */
    int64_t from_ms, to_ms;
    size_t bins, n;
    const struct night_row *rows;
    const int64_t *power; /* watts of all in each bin, -1: not known; NULL: not drawn */
    const int32_t *free;  /* so many had nobody and no work; -1: not known */
    bool dark;            /* on a dark ground */
};

/* Which of the two brightness is, in words: "work: …", or of several kinds of rows both. */
const char *night_legend(const struct night *s);
/* As plot_draw. -ENOENT: there is no row, or cairo or a font is missing. */
int night_draw(const struct night *s, enum plot_format format, struct buf *ret, struct err *err);
