/* listing.c: finds the links in a page of HTML. */
#include "compat/listing.h"

#include <stdio.h>
#include <string.h>

#include "base/clock.h"

/* One character of a link: as it is, %41, or &amp; (all that servers write in a link). */
static char next_char(struct str *s)
{
    char c = s->p[0];
    uint64_t code;
    if (c == '%' && s->len >= 3 && str_hex(str_n(s->p + 1, 2), &code)) {
        c = (char)code;
        *s = str_drop(*s, 3);
    } else if (str_skip(s, "&amp;")) {
        c = '&';
    } else {
        *s = str_drop(*s, 1);
    }
    return c;
}

static bool take_name(struct str link, char ret[LISTING_NAME_MAX + 1])
{
    size_t n = 0;
    str_skip(&link, "./");
    while (link.len) {
        char c = next_char(&link);
        if (n == LISTING_NAME_MAX || c == '/' || c == '?' || c == '#' || (unsigned char)c < 32)
            return false;
        ret[n++] = c;
    }
    ret[n] = 0;
    return n > 0;
}

bool listing_next(struct str *rest, char ret[LISTING_NAME_MAX + 1])
{
    static const char *const marks[] = {"href=\"", "HREF=\"", "href='"};
    for (;;) {
        int at = -1;
        char quote = '"';
        for (size_t i = 0; i < sizeof(marks) / sizeof(marks[0]); i++) {
            int found = str_find(*rest, marks[i]);
            if (found >= 0 && (at < 0 || found < at)) {
                at = found;
                quote = marks[i][5];
            }
        }
        if (at < 0)
            return false;
        *rest = str_drop(*rest, (size_t)at + 6);
        const char *end = memchr(rest->p, quote, rest->len);
        if (!end)
            return false;
        struct str link = str_n(rest->p, (size_t)(end - rest->p));
        *rest = str_n(end + 1, rest->len - link.len - 1);
        if (take_name(link, ret))
            return true;
    }
}

int64_t listing_date_ms(struct str date)
{
    static const char months[] = "JanFebMarAprMayJunJulAugSepOctNovDec";
    char text[32], month[4] = "";
    int64_t at = 0;
    if (date.len != 29 || !str_ends(date, " GMT"))
        return 0;
    memcpy(month, date.p + 8, 3);
    const char *found = strstr(months, month);
    if (!found || (found - months) % 3)
        return 0;
    snprintf(text, sizeof(text), "%.4s-%02d-%.2sT%.8sZ", date.p + 12, (int)(found - months) / 3 + 1, date.p + 5,
             date.p + 17);
    return clock_parse(text, strlen(text), &at) == 0 && at > 0 ? at : 0;
}
