/* shown_text.h: the check of what people see: UTF-8 without control characters and marks that turn the direction of
 * letters. Lines may end, tabs may be there. */
#pragma once

#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/plain.h"
#include "base/str.h"

static inline void check_shown(const char *what, struct str text)
{
    struct str rest = text, line;

    while (str_line(&rest, &line))
        for (struct str s = line; s.len;) {
            uint32_t c = 0;
            size_t n = str_utf8(s, &c);
            if (n == 0 || (!plain_point(c) && c != '\t')) {
                fprintf(stderr, "%s lets U+%04X through: '%.*s'\n", what, (unsigned)c, STR_ARG(line));
                abort();
            }
            s = str_drop(s, n);
        }
}

static inline void check_each(const char *what, json_t *o)
{
    const char *key;
    json_t *one;
    size_t i;

    if (json_is_string(o))
        check_shown(what, str_n(json_string_value(o), json_string_length(o)));
    json_array_foreach (o, i, one)
        check_each(what, one);
    json_object_foreach (o, key, one)
        check_each(what, one);
}

/* The strings of JSON, as its reader shows them. */
static inline void check_strings(const char *what, struct str json)
{
    json_t *o = json_loadb(json.p, json.len, JSON_DECODE_ANY, NULL);

    check_each(what, o);
    json_decref(o);
}
