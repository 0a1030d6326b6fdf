/* html.c: escapes text for HTML, one way for every place it may stand in. */
#include "draw/html.h"

#include "base/buf.h"
#include "base/plain.h"

static const char *entity(uint32_t point)
{
    switch (point) {
    case '&':
        return "&amp;";
    case '<':
        return "&lt;";
    case '>':
        return "&gt;";
    case '"':
        return "&quot;";
    case '\'':
        return "&#39;";
    default:
        return plain_point(point) || point == '\t' || point == '\n' ? NULL : PLAIN_MARK;
    }
}

void html_text(struct buf *out, struct str s)
{
    while (s.len) {
        uint32_t point = 0;
        size_t n = str_utf8(s, &point);
        const char *other = n ? entity(point) : PLAIN_MARK;
        n = n ? n : 1;
        if (other)
            buf_adds(out, other);
        else
            buf_add(out, s.p, n);
        s = str_n(s.p + n, s.len - n);
    }
}

void html_cstr(struct buf *out, const char *s)
{
    html_text(out, str_of(s));
}

void html_between(struct buf *out, const char *before, const char *s, const char *behind)
{
    buf_adds(out, before);
    html_cstr(out, s);
    buf_adds(out, behind);
}
