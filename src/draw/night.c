/* night.c: draws the night strip row by row. Bins of the same brightness are one path, so that a row is a few elements
 * of SVG. */
#include "draw/night.h"

#include <errno.h>
#include <math.h>

#include "base/buf.h"
#include "base/mem.h"
#include "draw/plot_draw.h"
#include "draw/scale.h"

#define WIDTH      1120.0
#define MARGIN     16.0
#define TITLE      15.0
#define TEXT       9.5
#define ROW        16.0 /* from row to row */
#define BAR        13.0
#define NAME_WIDE  170.0
#define MARK       64.0 /* its state now, and how busy it is */
#define AXIS       32.0
#define FOOT       34.0 /* kW and free */
#define HATCH      5.0
#define WORDS_WIDE 260.0 /* what still is so is said over what was, where there is no room */
#define LEVELS     10
#define CUT_LEAST  56.0 /* points that a name needs which is cut */

/* As the page's: what is busy, held, hung and free. */
struct night_inks {
    uint32_t text, dim, line, back, track, work, idle, wrong, free;
};
static const struct night_inks light = {INK_TEXT, INK_DIM,  INK_LINE, INK_BACK, 0xeff2f5,
                                        0x2f5fb3, 0x8a5c00, 0x8b1a89, 0x187a48};
static const struct night_inks dark = {0xe6edf3, 0x9198a1, 0x2f353d, 0x0d1117, 0x262c34,
                                       0x7aa7f0, 0xe3b341, 0xf2a6e8, 0x3fb97c};

struct sheet {
    const struct night *s;
    const struct night_inks *c;
    const struct zone *zone;
    size_t n; /* rows that are drawn */
    double left, right, top;
};

const char *night_legend(const struct night *s)
{
    static const char *const words[][2] = {
        {"the darker, the higher the utilisation", "the brighter, the higher the utilisation"},
        {"the darker, the more multiprocessors work; utilisation where that is not known",
         "the brighter, the more multiprocessors work; utilisation where that is not known"},
        {"the darker, the more multiprocessors work", "the brighter, the more multiprocessors work"},
    };
    bool util = false, work = false;

    for (size_t i = 0; i < s->n; i++)
        *(s->rows[i].by_util ? &util : &work) = true;
    return words[!work ? 0 : util ? 1 : 2][s->dark];
}

static double at_bin(const struct sheet *f, size_t i)
{
    return f->left + round((f->right - f->left) * (double)i / (double)MAX(f->s->bins, 1u));
}

static double at_time(const struct sheet *f, int64_t at_ms)
{
    double share = (double)(at_ms - f->s->from_ms) / (double)MAX(f->s->to_ms - f->s->from_ms, 1);

    return f->left + (f->right - f->left) * MAX(0, MIN(1, share));
}

static void put(struct pen *pen, double x, double y, struct str text, enum pen_anchor anchor, uint32_t rgb)
{
    pen_text(pen, x, y, text, TEXT, false, anchor, 0, (struct ink){rgb, 1});
}

/* Text on paper of its own, between x and right; false: there is no room for it. */
static bool put_plate(struct pen *pen, double x, double right, double y, const char *text, bool at_end, uint32_t rgb,
                      uint32_t back)
{
    char out[256];

    bool whole = font_width(str_of(text), TEXT, false) + 5 <= right - x;
    if (!whole && right - x < CUT_LEAST)
        return false;
    struct str s = font_fit(str_of(text), TEXT, false, right - x - 5, out, sizeof(out));
    double wide = font_width(s, TEXT, false) + 4;
    x = at_end ? right - wide - 1 : x;
    pen_rect(pen, x, y + 1, wide, BAR - 2, (struct ink){back, 1});
    put(pen, x + 2, y + BAR - 3.5, s, PEN_START, rgb);
    return true;
}

/* ---- a row ---- */

static int level_of(int8_t work)
{
    return (work * (LEVELS - 1) + 50) / 100; /* 0: known, and nothing done */
}

/* Known bins whose level is the one, in one stroke as high as the bar. */
static void put_level(struct pen *pen, const struct sheet *f, const struct night_row *r, double y, int level)
{
    size_t bins = f->s->bins;
    bool any = false;

    for (size_t i = 0, to; i < bins; i = to) {
        to = i + 1;
        if (r->work[i] == NIGHT_NONE || (level && level_of(r->work[i]) != level))
            continue;
        while (to < bins && r->work[to] != NIGHT_NONE && (!level || level_of(r->work[to]) == level))
            to++;
        if (!any)
            pen_begin(pen);
        any = true;
        pen_to(pen, at_bin(f, i), y + BAR / 2, true);
        pen_to(pen, at_bin(f, to), y + BAR / 2, false);
    }
    if (any)
        pen_stroke(pen, BAR, false,
                   level ? (struct ink){f->c->work, 0.1 + 0.9 * level / (LEVELS - 1)} : (struct ink){f->c->track, 1});
}

/* Slanted lines from bin to bin. */
static void put_hatch(struct pen *pen, const struct sheet *f, double left, double right, double y)
{
    pen_begin(pen);
    for (int i = 1; left - BAR + i * HATCH < right; i++) {
        double x = left - BAR + i * HATCH;
        double from = MAX(x, left), to = MIN(x + BAR, right);
        pen_to(pen, from, y + BAR - (from - x), true);
        pen_to(pen, to, y + BAR - (to - x), false);
    }
    pen_stroke(pen, 1, false, (struct ink){f->c->idle, 0.8});
}

static void put_outline(struct pen *pen, const struct sheet *f, double left, double right, double y)
{
    pen_begin(pen);
    pen_to(pen, left, y - 0.5, true);
    pen_to(pen, right, y - 0.5, false);
    pen_to(pen, right, y + BAR + 0.5, false);
    pen_to(pen, left, y + BAR + 0.5, false);
    pen_to(pen, left, y - 0.5, false);
    pen_stroke(pen, 1.2, false, (struct ink){f->c->text, 1});
}

static void put_wrong(struct pen *pen, const struct sheet *f, const struct night_span *w, double y, bool said)
{
    double left = at_time(f, w->from_ms), right = at_time(f, w->to_ms);
    char text[160], since[24] = "";

    pen_begin(pen);
    pen_to(pen, left, y + BAR / 2, true);
    pen_to(pen, MAX(right, left + 1), y + BAR / 2, false);
    pen_stroke(pen, 1, true, (struct ink){f->c->wrong, 1});
    zone_text(f->zone, w->from_ms, since);
    snprintf(text, sizeof(text), w->still && w->from_ms > f->s->from_ms ? "\u2715 %s since %.5s" : "\u2715 %s",
             w->words, since + 11);
    if (!said && !put_plate(pen, left, right, y, text, false, f->c->wrong, f->c->back) && w->still)
        put_plate(pen, MAX(f->left, right - WORDS_WIDE), right, y, text, true, f->c->wrong, f->c->back);
}

/* The row above has said it: all GPUs of a node are away at once. */
static bool was_said(const struct night_row *above, const struct night_span *w)
{
    for (size_t i = 0; above && i < above->n_wrong; i++)
        if (above->wrong[i].from_ms == w->from_ms && above->wrong[i].words == w->words)
            return true;
    return false;
}

static void put_row(struct pen *pen, const struct sheet *f, size_t no, double y)
{
    const struct night_row *r = &f->s->rows[no];
    char out[256];

    put(pen, f->left - 6, y + BAR - 3, font_fit(str_of(r->name), TEXT, false, f->left - MARGIN - 6, out, sizeof(out)),
        PEN_END, f->c->text);
    for (int level = 0; level < LEVELS; level++)
        put_level(pen, f, r, y, level);
    for (size_t i = 0; i < r->n_idle; i++)
        put_hatch(pen, f, at_bin(f, r->idle[i].from), at_bin(f, r->idle[i].to), y);
    for (size_t i = 0; i < r->n_booked; i++)
        put_outline(pen, f, at_time(f, r->booked[i].from_ms), at_time(f, r->booked[i].to_ms), y);
    for (size_t i = 0; i < r->n_held; i++)
        put_plate(pen, at_bin(f, r->held[i].from), at_bin(f, r->held[i].to), y,
                  r->held[i].who[0] ? r->held[i].who : "unknown", false, f->c->text, f->c->track);
    for (size_t i = 0; i < r->n_booked; i++) {
        snprintf(out, sizeof(out), "booked: %s", r->booked[i].words);
        put_plate(pen, at_time(f, r->booked[i].from_ms) + 1, at_time(f, r->booked[i].to_ms) - 1, y, out, true,
                  f->c->dim, f->c->track);
    }
    for (size_t i = 0; i < r->n_wrong; i++)
        put_wrong(pen, f, &r->wrong[i], y, was_said(no ? r - 1 : NULL, &r->wrong[i]));
    put(pen, f->right + 6, y + BAR - 3, str_of(r->now ? r->now : ""), PEN_START, f->c->text);
}

/* ---- around the rows ---- */

static void put_axis(struct pen *pen, const struct sheet *f, double bottom)
{
    struct scale x;
    double before = -1e9;

    scale_time(&x, f->zone, f->s->from_ms, f->s->to_ms, 13);
    for (size_t i = 0; i < x.n; i++) {
        double at = at_time(f, (int64_t)x.v[i].at);
        pen_line(pen, at, f->top - 4, at, bottom, 0.5, (struct ink){f->c->line, 1});
        put(pen, at, f->top - 7, str_of(x.v[i].text), PEN_MIDDLE, f->c->dim);
        double half = font_width(str_of(x.v[i].under), TEXT, false) / 2;
        if (x.v[i].under[0] && at - half > before && at + half < WIDTH - MARGIN) {
            put(pen, at, f->top - 19, str_of(x.v[i].under), PEN_MIDDLE, f->c->dim);
            before = at + half + 6;
        }
    }
}

static double value_of(const struct night *s, bool power, size_t i)
{
    double v = power ? (double)s->power[i] : s->free[i];

    return v < 0 ? NAN : v;
}

/* One curve over the whole width, filled, with its highest value beside it. */
static void put_curve(struct pen *pen, const struct sheet *f, double y, bool power)
{
    const struct night *s = f->s;
    double most = 0, high = FOOT - 8;
    char text[48];

    for (size_t i = 0; i < s->bins; i++)
        most = fmax(most, value_of(s, power, i)); /* fmax passes NAN over */
    for (size_t i = 0, to; i < s->bins; i = to) {
        for (to = i; to < s->bins && !isnan(value_of(s, power, to));)
            to++;
        if (to == i && to++ < s->bins)
            continue;
        pen_begin(pen);
        pen_to(pen, at_bin(f, i), y + high, true);
        for (size_t k = i; k < to; k++) {
            double up = y + high - (most > 0 ? high * value_of(s, power, k) / most : 0);
            pen_to(pen, at_bin(f, k), up, false);
            pen_to(pen, at_bin(f, k + 1), up, false);
        }
        pen_to(pen, at_bin(f, to), y + high, false);
        pen_fill(pen, power ? (struct ink){f->c->dim, 0.35} : (struct ink){f->c->free, 0.35});
    }
    put(pen, f->left - 6, y + high / 2 + 3, power ? STR("power") : STR("free"), PEN_END, f->c->text);
    if (power)
        snprintf(text, sizeof(text), "to %.1f kW", most / 1000);
    else
        snprintf(text, sizeof(text), "to %.0f", most);
    put(pen, f->right + 6, y + high / 2 + 3, str_of(text), PEN_START, f->c->dim);
}

static void put_legend(struct pen *pen, const struct sheet *f, double y)
{
    const struct {
        const char *words;
        int what;
    } parts[] = {{night_legend(f->s), 0}, {"idle", 1}, {"booked", 2}, {"no data: blank", 3}};
    double x = f->left;

    for (size_t i = 0; i < ARRAY_LEN(parts); i++) {
        if (parts[i].what == 0)
            for (int k = 0; k < 5; k++)
                pen_rect(pen, x + 8 * k, y, 8, BAR,
                         (struct ink){k ? f->c->work : f->c->track, k ? 0.1 + 0.9 * k / 4 : 1});
        else if (parts[i].what == 1)
            put_hatch(pen, f, x, x + 26, y);
        else if (parts[i].what == 2)
            put_outline(pen, f, x, x + 26, y);
        double wide = parts[i].what == 0 ? 46 : parts[i].what == 3 ? 0 : 32;
        put(pen, x + wide, y + BAR - 3, str_of(parts[i].words), PEN_START, f->c->dim);
        x += wide + font_width(str_of(parts[i].words), TEXT, false) + 18;
    }
}

static double foot_of(const struct night *s)
{
    return (s->power ? FOOT : 0) + (s->free ? FOOT : 0);
}

static void night_onto(struct pen *pen, const void *what)
{
    const struct sheet *f = what;
    const struct night *s = f->s;
    double y = f->top, foot = f->top + ROW * (double)f->n + 10;
    char out[300], when[24], until[24];

    pen_rect(pen, 0, 0, WIDTH, foot + foot_of(s) + 60, (struct ink){f->c->back, 1});
    zone_text(f->zone, s->from_ms, when);
    zone_text(f->zone, s->to_ms, until);
    snprintf(out, sizeof(out), "%.120s%s%.*s to %.*s", s->title ? s->title : "", s->title && s->title[0] ? ", " : "",
             ZONE_TO_MINUTE, when, ZONE_TO_MINUTE, until);
    pen_text(pen, MARGIN, MARGIN + 11, str_of(out), TITLE, true, PEN_START, 0, (struct ink){f->c->text, 1});
    put(pen, WIDTH - MARGIN, MARGIN + 11, str_of(zone_name(f->zone)), PEN_END, f->c->dim);
    put_axis(pen, f, foot + foot_of(s) - 6);
    for (size_t i = 0; i < f->n; i++, y += ROW)
        put_row(pen, f, i, y);
    for (int power = 1; power >= 0; power--)
        if (power ? s->power != NULL : s->free != NULL) {
            put_curve(pen, f, foot, power);
            foot += FOOT;
        }
    put_legend(pen, f, foot + 6);
    if (s->n > f->n) {
        snprintf(out, sizeof(out), "and %zu more GPUs: a filter chooses which are drawn", s->n - f->n);
        put(pen, f->left, foot + 36, str_of(out), PEN_START, f->c->dim);
    }
}

int night_draw(const struct night *s, enum plot_format format, struct buf *ret, struct err *err)
{
    struct sheet f = {.s = s,
                      .c = s->dark ? &dark : &light,
                      .n = MIN(s->n, NIGHT_ROWS_MAX),
                      .right = WIDTH - MARGIN - MARK};
    int r = plot_check(&(struct plot){0}, err);
    double widest = 40;

    if (r < 0)
        return r;
    if (!s->n || !s->bins)
        return err_set(err, -ENOENT, "there is nothing to draw");
    struct zone *utc = s->zone ? NULL : zone_utc();
    f.zone = s->zone ? s->zone : utc;
    for (size_t i = 0; i < f.n; i++)
        widest = fmax(widest, font_width(str_of(s->rows[i].name), TEXT, false));
    f.left = MARGIN + ceil(MIN(widest, NAME_WIDE)) + 6;
    f.top = MARGIN + TITLE + AXIS;
    double height = f.top + ROW * (double)f.n + 10 + foot_of(s) + (s->n > f.n ? 52 : 36);
    r = plot_picture(&(struct plot_picture){WIDTH, ceil(height), s->title, night_onto, &f}, format, ret, err);
    zone_free(utc);
    return r;
}
