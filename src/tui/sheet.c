/* sheet.c: writes text, meters and plots to a screenful of characters. */
#include "tui/sheet.h"

#include <stdarg.h>

#include "base/buf.h"
#include "base/mem.h"
#include "base/plain.h"

void sheet_size(struct sheet *s, int w, int h)
{
    w = MAX(w, 1);
    h = MAX(h, 1);
    if (w != s->w || h != s->h || !s->v)
        s->v = mem_grow(s->v, (size_t)w * (size_t)h, sizeof(*s->v));
    s->w = w;
    s->h = h;
    for (int i = 0; i < w * h; i++)
        s->v[i] = (struct glyph){' ', STYLE_PLAIN};
}

void sheet_fini(struct sheet *s)
{
    free(s->v);
    *s = (struct sheet){0};
}

void sheet_glyph(struct sheet *s, int y, int x, uint32_t c, uint8_t style)
{
    if (y >= 0 && y < s->h && x >= 0 && x < s->w)
        s->v[y * s->w + x] = (struct glyph){c, style};
}

int sheet_put(struct sheet *s, int y, int x, int width, uint8_t style, const char *text)
{
    struct str rest = str_of(text);
    int end = MIN(x + width, s->w);
    AUTO_BUF clean = BUF_INIT(plain_room(rest));

    if (width <= 0 || x >= end)
        return x;
    if (!plain_is(rest)) {
        plain_line(&clean, rest);
        rest = buf_str(&clean);
    }
    bool cut = str_width(rest) > end - x;
    while (rest.len) {
        uint32_t c = '?';
        size_t n = str_utf8(rest, &c) ?: 1;
        int wide = str_width(str_n(rest.p, n));
        if (x + wide > end - cut)
            break;
        if (wide) /* a combining character: a cell holds one code point */
            sheet_glyph(s, y, x, c, style);
        if (wide == 2)
            sheet_glyph(s, y, x + 1, 0, style);
        x += wide;
        rest.p += n;
        rest.len -= n;
    }
    if (cut && x < end)
        sheet_glyph(s, y, x++, s->ascii ? '~' : 0x2026, style);
    return x;
}

int sheet_putf(struct sheet *s, int y, int x, int width, uint8_t style, const char *fmt, ...)
{
    AUTO_BUF b = BUF_INIT(4096);
    va_list ap;

    va_start(ap, fmt);
    buf_vaddf(&b, fmt, ap);
    va_end(ap);
    return b.len ? sheet_put(s, y, x, width, style, b.p) : x;
}

void sheet_right(struct sheet *s, int y, int x, int width, uint8_t style, const char *text)
{
    int blank = MAX(0, width - str_width(str_of(text)));

    sheet_put(s, y, x + blank, width - blank, style, text);
}

void sheet_rule(struct sheet *s, int y)
{
    for (int x = 0; x < s->w; x++)
        sheet_glyph(s, y, x, s->ascii ? '-' : 0x2500, STYLE_PLAIN | STYLE_DIM);
}

void sheet_part(struct sheet *s, int y, int x, int width, uint8_t add)
{
    for (int end = MIN(x + width, s->w); y >= 0 && y < s->h && x >= 0 && x < end; x++)
        s->v[y * s->w + x].style |= add;
}

void sheet_row(struct sheet *s, int y, uint8_t add)
{
    sheet_part(s, y, 0, s->w, add);
}

void sheet_meter(struct sheet *s, int y, int x, int width, int64_t share, uint8_t style)
{
    int64_t full = share < 0 ? 0 : (MIN(share, 10000) * width + 5000) / 10000;

    if (share > 0 && full == 0)
        full = 1; /* small values are still visible */
    for (int i = 0; i < width; i++)
        if (i < full)
            sheet_glyph(s, y, x + i, s->ascii ? '#' : 0x2588, style);
        else
            sheet_glyph(s, y, x + i, s->ascii ? '.' : 0x2591, STYLE_PLAIN | STYLE_DIM);
}

/* Number of dots of `rows` that a value fills; at least one if it is known. */
static int dots(uint8_t v, int rows)
{
    return v > 100 ? 0 : MAX(1, (v * rows + 50) / 100);
}

void sheet_plot(struct sheet *s, int y, int x, int width, int h, const uint8_t *v, size_t n, uint8_t style)
{
    /* bits of a braille cell from the bottom up, left and right */
    static const uint8_t bit[2][4] = {{0x40, 0x04, 0x02, 0x01}, {0x80, 0x20, 0x10, 0x08}};
    static const char step[] = "_.-=+*#@";
    int per = s->ascii ? 1 : 2;

    for (int col = 0; col < width; col++)
        for (int row = 0; row < h; row++) { /* from the bottom */
            unsigned cell = 0;
            int level = 0;
            for (int half = 0; half < per; half++) {
                long back = (long)(width - col) * per - half; /* 1: the newest */
                if (back > (long)n)
                    continue;
                int up = dots(v[n - (size_t)back], (s->ascii ? 8 : 4) * h);
                level = up - 8 * row;
                for (int k = 0; k < 4; k++)
                    if (up > 4 * row + k)
                        cell |= bit[half][k];
            }
            if (s->ascii ? level > 0 : cell)
                sheet_glyph(s, y + h - 1 - row, x + col, s->ascii ? (uint32_t)step[MIN(level, 8) - 1] : 0x2800 + cell,
                            style);
        }
}
