/* font.c: a list of fonts in the order fontconfig prefers them, and for each letter the first that has it. */
#include "draw/font.h"

#include <errno.h>

#include "base/lock.h"
#include "base/mem.h"
#include "base/order.h"

#define FONTS_MAX 64   /* per weight: those after the first cover what it lacks */
#define RUN_MAX   1024 /* bytes handed to cairo at once */

struct face {
    cairo_font_face_t *face; /* made when it is first needed */
    FcPattern *pattern;
    FcCharSet *letters;
};

struct weight {
    FcFontSet *set; /* what letters point into */
    size_t n;
    struct face v[FONTS_MAX];
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* faces, and the surface that measures */
static struct weight weights[2];                         /* book, bold */
static const struct cairo_lib *c;
static FcConfig *config;
static cairo_t *ruler;

static void find(struct weight *w, const char *name)
{
    FcPattern *want = c->fc_parse((const FcChar8 *)name);
    FcResult result;

    c->fc_substitute(config, want, FcMatchPattern);
    c->fc_default(want);
    FcFontSet *set = w->set = c->fc_sort(config, want, FcTrue, NULL, &result); /* kept for good */
    for (int i = 0; set && i < set->nfont && w->n < FONTS_MAX; i++) {
        struct face f = {0};
        FcChar8 *format = NULL;
        if (c->fc_charset(set->fonts[i], FC_CHARSET, 0, &f.letters) != FcResultMatch)
            continue;
        if (c->fc_string(set->fonts[i], FC_FONTFORMAT, 0, &format) == FcResultMatch &&
            strcmp((const char *)format, "TrueType") != 0 && strcmp((const char *)format, "CFF") != 0)
            continue; /* bitmaps and old Type 1 */
        if ((f.pattern = c->fc_prepare(config, want, set->fonts[i])))
            w->v[w->n++] = f;
    }
    c->fc_pattern_free(want);
}

void font_plain(cairo_t *cr)
{
    cairo_font_options_t *o = c->font_options();

    c->hint_style(o, CAIRO_HINT_STYLE_NONE);
    c->hint_metrics(o, CAIRO_HINT_METRICS_OFF); /* widths grow with the size, whatever it is drawn on */
    c->set_font_options(cr, o);
    c->font_options_destroy(o);
}

static cairo_t *new_ruler(void)
{
    cairo_surface_t *one = c->image(CAIRO_FORMAT_A8, 1, 1);
    cairo_t *cr = c->create(one);

    c->surface_destroy(one);
    font_plain(cr);
    return cr;
}

int font_load(struct err *err)
{
    const struct cairo_lib *lib;
    int r = cairo_lib_load(&lib, err);

    if (r < 0)
        return r;
    LOCKED(&lock);
    if (!c) /* once: who has come through here may read it without the lock */
        c = lib;
    if (!weights[0].n) {
        config = config ? config : c->fc_load();
        if (config)
            find(&weights[0], "sans-serif:lang=en");
        if (config && weights[0].n)
            find(&weights[1], "sans-serif:bold:lang=en");
        if (weights[0].n && !ruler)
            ruler = new_ruler();
    }
    if (!weights[0].n)
        return err_set(err, -ENOENT, "cannot draw: there is no font here; install one (Debian: fonts-dejavu-core)");
    return 0;
}

/* Which font has the letter; the first one where none has. */
static size_t font_of(const struct weight *w, uint32_t point, bool *ret_has)
{
    size_t at = FIRST(w->n, i, c->fc_has(w->v[i].letters, point));

    *ret_has = at < w->n;
    return *ret_has ? at : 0;
}

/* The next run of letters of one font, as clean text into out; how many bytes of s it took. */
static size_t run_of(const struct weight *w, struct str s, char out[RUN_MAX], size_t *ret_font)
{
    size_t at = 0, len = 0;
    bool first = true, has;

    while (at < s.len && len + 8 < RUN_MAX) {
        uint32_t point = 0;
        size_t n = str_utf8(str_n(s.p + at, s.len - at), &point), wrote = n;
        const char *from = s.p + at;
        if (!n) {
            n = 1, wrote = 3, from = "\xef\xbf\xbd";
            point = 0xfffd;
        } else if (point < 32 || (point >= 127 && point < 160)) {
            wrote = 1, from = " ";
            point = ' ';
        }
        size_t font = font_of(w, point, &has);
        if (first)
            *ret_font = font;
        else if (font != *ret_font)
            break;
        first = false;
        memcpy(out + len, from, wrote);
        len += wrote;
        at += n;
    }
    out[len] = 0;
    return at;
}

static void use(cairo_t *cr, const struct weight *w, size_t font, double size)
{
    struct face *f = (struct face *)&w->v[font];

    if (!f->face)
        f->face = c->face_of_pattern(f->pattern);
    c->set_font_face(cr, f->face);
    c->set_font_size(cr, size);
}

/* Measure s and, where cr is not NULL, draw it. */
static double walk(cairo_t *cr, struct str s, double size, bool bold)
{
    const struct weight *w = &weights[bold && weights[1].n];
    char run[RUN_MAX];
    double x = 0;

    LOCKED(&lock);
    while (s.len) {
        cairo_text_extents_t e = {0};
        size_t font = 0, n = run_of(w, s, run, &font);
        use(ruler, w, font, size);
        c->text_extents(ruler, run, &e);
        if (cr) {
            use(cr, w, font, size);
            c->move_to(cr, x, 0);
            c->show_text(cr, run);
        }
        x += e.x_advance;
        s = str_drop(s, n);
    }
    return x;
}

double font_width(struct str s, double size, bool bold)
{
    return walk(NULL, s, size, bold);
}

void font_show(cairo_t *cr, struct str s, double size, bool bold)
{
    walk(cr, s, size, bold);
}

bool font_has(struct str s, uint32_t *ret_missing)
{
    while (s.len) {
        uint32_t point = 0;
        bool has;
        size_t n = str_utf8(s, &point);
        font_of(&weights[0], n ? point : 0xfffd, &has);
        if (!has) {
            *ret_missing = n ? point : 0xfffd;
            return false;
        }
        s = str_n(s.p + MAX(n, (size_t)1), s.len - MAX(n, (size_t)1));
    }
    return true;
}

/* A boundary between letters at or before n. */
static size_t letter_end(struct str s, size_t n)
{
    while (n && n < s.len && ((unsigned char)s.p[n] & 0xc0) == 0x80)
        n--;
    return n;
}

struct str font_fit(struct str s, double size, bool bold, double width, char *out, size_t out_size)
{
    size_t max = MIN(s.len, out_size - 4), low = 0, high;

    s.len = letter_end(s, max) < s.len ? letter_end(s, max) : s.len;
    if (font_width(s, size, bold) <= width) {
        memcpy(out, s.p, s.len);
        out[s.len] = 0;
        return str_n(out, s.len);
    }
    double dots = font_width(STR("…"), size, bold);
    for (high = s.len; low < high;) { /* the most bytes that leave room for the dots */
        size_t middle = (low + high + 1) / 2, end = letter_end(s, middle);
        if (font_width(str_n(s.p, end), size, bold) + dots <= width)
            low = middle;
        else
            high = middle - 1;
    }
    low = letter_end(s, low);
    while (low && s.p[low - 1] == ' ')
        low--;
    memcpy(out, s.p, low);
    memcpy(out + low, "…", 4);
    return str_n(out, low + 3);
}
