/*
 * sheet.h: a screenful of characters with styles, made without a terminal: views draw here, screen.c shows it, tests
 * read it. Everything is clipped to the sheet.
 */
#pragma once

#include "model/state.h"

/* What a glyph means, not how it looks: screen.c knows the colours. The first are those of device states. */
enum style {
    STYLE_STATE = 0,
    STYLE_PLAIN = DEV_STATES,
    STYLE_METER,
    STYLE_LOW,
    STYLE_HIGH,
    STYLE_WARN,
    STYLE_HOT,
    STYLE_TITLE,
    STYLES
};
#define STYLE_PICK 0x20 /* the chosen row, and bars */
#define STYLE_BOLD 0x40
#define STYLE_DIM  0x80

struct glyph {
    uint32_t c; /* 0: the right half of a wide one */
    uint8_t style;
};

struct sheet {
    int w, h;
    bool ascii;
    struct glyph *v; /* w * h */
};

static inline const char *sheet_mark(const struct sheet *s, enum dev_state state)
{
    return s->ascii ? dev_states[state].ascii : dev_states[state].mark;
}
void sheet_size(struct sheet *s, int w, int h); /* blank afterwards */
void sheet_fini(struct sheet *s);

/* Text at (y, x) in at most width columns; too long ends in "…". Returns the column behind it. */
int sheet_put(struct sheet *s, int y, int x, int width, uint8_t style, const char *text);
int sheet_putf(struct sheet *s, int y, int x, int width, uint8_t style, const char *fmt, ...)
    __attribute__((format(printf, 6, 7)));
/* Its end at column x + width. */
void sheet_right(struct sheet *s, int y, int x, int width, uint8_t style, const char *text);
void sheet_rule(struct sheet *s, int y);
void sheet_row(struct sheet *s, int y, uint8_t add); /* a style bit for the whole line */
void sheet_part(struct sheet *s, int y, int x, int width, uint8_t add);
void sheet_glyph(struct sheet *s, int y, int x, uint32_t c, uint8_t style);
/* share in 0.01 %; -1: not known, and nothing is drawn but its ground. */
void sheet_meter(struct sheet *s, int y, int x, int width, int64_t share, uint8_t style);
/* The newest of n values in percent (above 100: not known), two to a column, over h lines; ASCII: one to a column. */
void sheet_plot(struct sheet *s, int y, int x, int width, int h, const uint8_t *v, size_t n, uint8_t style);
