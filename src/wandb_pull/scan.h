/*
 * scan.h: reads JSON text without building a tree: W&B sends megabytes of samples, and muster keeps two of a hundred
 * values. Each function consumes one token from the front; false: not there, or incomplete.
 */
#pragma once

#include <stdbool.h>

#include "base/str.h"

#define SCAN_DEPTH 16 /* of skipped values */

struct scan {
    const char *p, *end;
};

static inline void scan_blanks(struct scan *s)
{
    while (s->p < s->end && (*s->p == ' ' || *s->p == '\t' || *s->p == '\n' || *s->p == '\r'))
        s->p++;
}

static inline bool scan_accept(struct scan *s, char c)
{
    scan_blanks(s);
    if (s->p == s->end || *s->p != c)
        return false;
    s->p++;
    return true;
}

/* A string: the text between its quotes, with escapes. */
static inline bool scan_string(struct scan *s, struct str *ret, bool *ret_escaped)
{
    if (!scan_accept(s, '"'))
        return false;
    const char *from = s->p;
    *ret_escaped = false;
    for (; s->p < s->end && *s->p != '"'; s->p++) {
        if ((unsigned char)*s->p < ' ')
            return false;
        if (*s->p == '\\') {
            *ret_escaped = true;
            if (++s->p == s->end)
                return false;
        }
    }
    if (s->p == s->end)
        return false;
    *ret = str_n(from, (size_t)(s->p - from));
    s->p++;
    return true;
}

/* A number or a word: true, null, NaN (Python writes it). */
static inline bool scan_plain(struct scan *s, struct str *ret)
{
    const char *from = s->p;
    while (s->p < s->end && ((*s->p >= '0' && *s->p <= '9') || (*s->p >= 'a' && *s->p <= 'z') ||
                             (*s->p >= 'A' && *s->p <= 'Z') || *s->p == '+' || *s->p == '-' || *s->p == '.'))
        s->p++;
    *ret = str_n(from, (size_t)(s->p - from));
    return ret->len > 0;
}

/* Any value; ret: its text where it is a number or a word, else empty. */
static inline bool scan_value(struct scan *s, struct str *ret)
{
    char open[SCAN_DEPTH] = "";
    size_t depth = 0;
    struct str text;
    bool escaped;

    *ret = (struct str){"", 0};
    do {
        scan_blanks(s);
        if (s->p == s->end)
            return false;
        if (*s->p == '{' || *s->p == '[') {
            if (depth == SCAN_DEPTH)
                return false;
            open[depth++] = *s->p++;
            if (scan_accept(s, open[depth - 1] == '{' ? '}' : ']')) {
                depth--;
            } else {
                if (open[depth - 1] == '{' && !(scan_string(s, &text, &escaped) && scan_accept(s, ':')))
                    return false;
                continue;
            }
        } else if (*s->p == '"' ? !scan_string(s, &text, &escaped) : !scan_plain(s, depth ? &text : ret)) {
            return false;
        }
        /* a value ends here: so do the lists and objects it is the last of */
        while (depth && !scan_accept(s, ',')) {
            if (!scan_accept(s, open[depth - 1] == '{' ? '}' : ']'))
                return false;
            depth--;
        }
        if (depth && open[depth - 1] == '{' && !(scan_string(s, &text, &escaped) && scan_accept(s, ':')))
            return false;
    } while (depth);
    return true;
}
