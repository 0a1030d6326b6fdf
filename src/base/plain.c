/* plain.c: one table of what may not be shown, and one walk for all the ways to replace it. */
#include "base/plain.h"

#include "base/buf.h"
#include "base/mem.h"
#include "base/order.h"

bool plain_point(uint32_t c)
{
    static const struct {
        uint32_t from, to;
    } never[] = {
        {0x0000, 0x001f},                   /* C0: bell, backspace, CR, ESC … */
        {0x007f, 0x009f},                   /* DEL, and C1: CSI in one character */
        {0x061c, 0x061c},                   /* marks of direction … */
        {0x200e, 0x200f}, {0x2028, 0x202e}, /* … ends of lines, embeddings, overrides … */
        {0x2066, 0x206f},                   /* … and isolates */
        {0xfff9, 0xfffb},
    };

    if (c >= 0x20 && c < 0x7f)
        return true;
    return !ANY(ARRAY_LEN(never), i, c >= never[i].from && c <= never[i].to);
}

/* The first code point; 0 bytes only at the end. *ret_bad: it may not be shown as it is. */
static size_t next_point(struct str s, uint32_t *ret, bool *ret_bad)
{
    size_t n = str_utf8(s, ret);

    *ret_bad = n == 0 || !plain_point(*ret);
    if (n == 0)
        *ret = 0xfffd;
    return s.len ? MAX(n, 1u) : 0;
}

/* How long the head is that may be shown as it is; without a backslash or an ESC. */
static size_t plain_head(struct str s)
{
    size_t at = 0;

    while (at < s.len) {
        uint32_t c;
        bool bad;
        unsigned char b = (unsigned char)s.p[at];
        if (b >= 0x20 && b < 0x7f && b != '\\') {
            at++;
            continue;
        }
        size_t n = next_point(str_n(s.p + at, s.len - at), &c, &bad);
        if (bad || c == '\\')
            break;
        at += n;
    }
    return at;
}

bool plain_is(struct str s)
{
    while (s.len) {
        size_t n = plain_head(s);
        if (n < s.len && s.p[n] != '\\')
            return false;
        n = MIN(n + 1, s.len);
        s = str_n(s.p + n, s.len - n);
    }
    return true;
}

bool plain_typed(struct str s)
{
    for (struct str part; str_cut(&s, '\t', &part);)
        if (!plain_is(part))
            return false;
    return true;
}

size_t plain_room(struct str s)
{
    return 6 * s.len + 16; /* a byte as \u00XX */
}

enum way { ONE_LINE, LINES, PRINTED, TINTED, AS_JSON, AS_ANSWER };

/* "\033[31m" and the like, of what format/ writes: one number for a colour, bold, faint or an end. Bytes, or 0. */
static size_t colour_of(struct str s)
{
    size_t at = 2;
    unsigned v = 0;

    if (!str_starts(s, "\033["))
        return 0;
    for (; at < s.len && at < 5 && s.p[at] >= '0' && s.p[at] <= '9'; at++)
        v = v * 10 + (unsigned)(s.p[at] - '0');
    if (at == s.len || s.p[at] != 'm')
        return 0;
    return v <= 2 || (v >= 30 && v <= 37) || v == 39 || (v >= 90 && v <= 97) ? at + 1 : 0;
}

/* A JSON escape at the front of s. Returns its length in bytes; *ret is its replacement on screens. */
static size_t escape_of(struct str s, struct str *ret)
{
    uint64_t c = 0;

    if (s.len < 2 || s.p[1] < 0x20 || s.p[1] > 0x7e) { /* no escape: the next byte is checked on its own */
        *ret = STR("\\");
        return 1;
    }
    size_t n = s.p[1] == 'u' && s.len >= 6 && str_hex(str_n(s.p + 2, 4), &c) ? 6 : 2;
    *ret = str_n(s.p, n);
    if (n == 2 && s.p[1] == 'r')
        *ret = STR(" ");
    else if (n == 2 && (s.p[1] == 'b' || s.p[1] == 'f'))
        *ret = STR(PLAIN_MARK);
    else if (n == 6 && c != '\n' && c != '\t' && !plain_point((uint32_t)c))
        *ret = c == '\r' ? STR(" ") : STR(PLAIN_MARK);
    return n;
}

/* Replaces the character that is not plain at the front of s. Returns its length in bytes. */
static size_t replace_one(struct buf *out, struct str s, enum way way)
{
    uint32_t c;
    bool bad;
    size_t n = next_point(s, &c, &bad);
    struct str as = STR(PLAIN_MARK);

    if (c == '\\') {
        n = way == AS_ANSWER ? escape_of(s, &as) : 1;
        buf_addstr(out, way == AS_ANSWER ? as : STR("\\"));
    } else if (c == '\n' || c == '\t') {
        buf_addc(out, way == ONE_LINE ? ' ' : (char)c);
    } else if (c == '\r' && way != ONE_LINE && s.len > 1 && s.p[1] == '\n') {
        if (way == PRINTED) /* the line ends after it */
            buf_addc(out, '\r');
    } else if (c == '\r' && way >= AS_JSON) {
        buf_addc(out, ' ');
    } else if (c == 033 && way == TINTED && colour_of(s)) {
        n = colour_of(s);
        buf_add(out, s.p, n);
    } else if (way == AS_JSON) {
        buf_addf(out, "\\u%04x", (unsigned)c);
    } else {
        buf_addstr(out, as);
    }
    return n;
}

static int add(struct buf *out, struct str s, enum way way)
{
    while (s.len && out->err == 0) {
        size_t n = plain_head(s);
        buf_add(out, s.p, n);
        s = str_n(s.p + n, s.len - n);
        if (s.len) {
            n = replace_one(out, s, way);
            s = str_n(s.p + n, s.len - n);
        }
    }
    return out->err;
}

#define PLAIN(name, way)                                                                                               \
    int plain_##name(struct buf *out, struct str s)                                                                    \
    {                                                                                                                  \
        return add(out, s, way);                                                                                       \
    }
PLAIN(line, ONE_LINE)
PLAIN(text, LINES)
PLAIN(print, PRINTED)
PLAIN(tinted, TINTED)
PLAIN(json, AS_JSON)
PLAIN(answer, AS_ANSWER)
