/*
 * sheet.h: a screenful of styled characters, without a terminal: views draw to it, screen.c shows it, tests read it.
 * All output is clipped to the sheet.
 */
#pragma once

#include "model/state.h"

/* The meaning of a glyph; screen.c maps it to colours. The first styles are device states. */
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
#define STYLE_PICK 0x20 /* the selected row, and bars */
#define STYLE_BOLD 0x40
#define STYLE_DIM  0x80

struct glyph {
    uint32_t c; /* 0: the right half of a wide character */
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

/* Writes text at (y, x) in at most width columns; longer text ends in "…". Returns the next column. */
int sheet_put(struct sheet *s, int y, int x, int width, uint8_t style, const char *text);
int sheet_putf(struct sheet *s, int y, int x, int width, uint8_t style, const char *fmt, ...)
    __attribute__((format(printf, 6, 7)));
/* Right-aligned: ends at column x + width. */
void sheet_right(struct sheet *s, int y, int x, int width, uint8_t style, const char *text);
void sheet_rule(struct sheet *s, int y);
void sheet_row(struct sheet *s, int y, uint8_t add); /* adds a style bit to the whole line */
void sheet_part(struct sheet *s, int y, int x, int width, uint8_t add);
void sheet_glyph(struct sheet *s, int y, int x, uint32_t c, uint8_t style);
/* share in 0.01 %; -1: unknown, draws only the background. */
void sheet_meter(struct sheet *s, int y, int x, int width, int64_t share, uint8_t style);
/* Draws the newest of n values in percent (above 100: unknown), two per column, over h lines; ASCII: one per column. */
void sheet_plot(struct sheet *s, int y, int x, int width, int h, const uint8_t *v, size_t n, uint8_t style);
