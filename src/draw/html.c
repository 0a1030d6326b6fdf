/* html.c: escapes text for HTML, one way for every place it may stand in. */
#include "draw/html.h"

#include "base/buf.h"
#include "base/mem.h"
#include "base/plain.h"

static const char *entity(uint32_t point)
{
    static const char *const words[] =
        {['&'] = "&amp;", ['<'] = "&lt;", ['>'] = "&gt;", ['"'] = "&quot;", ['\''] = "&#39;"};

    if (point < ARRAY_LEN(words) && words[point])
        return words[point];
    return plain_point(point) || point == '\t' || point == '\n' ? NULL : PLAIN_MARK;
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
        s = str_drop(s, n);
    }
}

void html_cstr(struct buf *out, const char *s)
{
    html_text(out, str_of(s));
}

void html_text_between(struct buf *out, const char *before, struct str s, const char *behind)
{
    buf_adds(out, before);
    html_text(out, s);
    buf_adds(out, behind);
}

void html_between(struct buf *out, const char *before, const char *s, const char *behind)
{
    html_text_between(out, before, str_of(s), behind);
}
