/* json_at.h: texts of JSON put where there is room for them, for writers of many. Others have json.h. */
#pragma once

#include <endian.h>

#include "base/json.h"

/* Of eight bytes, those that may need an escape: below 0x20, '"', '\', or above 0x7e. The top bit of the first such
 * byte is set, and none before it; bits after it have no meaning. */
static inline uint64_t json_special(uint64_t w)
{
    const uint64_t ones = 0x0101010101010101u, high = 0x8080808080808080u;
    uint64_t quote = w ^ ones * '"', slash = w ^ ones * '\\';

    return (w | (w + ones) | (w - ones * 0x20) | (quote - ones) | (slash - ones)) & high; /* + ones: DEL */
}

static inline uint64_t json_word(const char *p)
{
    uint64_t w;

    memcpy(&w, p, 8);
    return le64toh(w);
}

/* Room for a text of at most n bytes as JSON, including bytes written past its end. */
#define TEXT_ROOM(n) (6 * (n) + 10)

char *json_escape_at(char *at, struct str v); /* any text, where there is TEXT_ROOM for it; its end */

/* Writes the text in an array of size bytes, up to its 0, in one pass: find, check and copy. at has TEXT_ROOM(size). */
static inline char *json_array_at(char *at, const char *array, size_t size)
{
    size_t i = 0;

    *at++ = '"';
    for (; i + 8 <= size; i += 8) {
        uint64_t w = json_word(array + i), special = json_special(w);
        memcpy(at + i, array + i, 8);
        if (!special)
            continue;
        i += (size_t)__builtin_ctzll(special) / 8;
        if (array[i])
            break;
        at[i] = '"';
        return at + i + 1;
    }
    return json_escape_at(at - 1, str_n(array, i + strnlen(array + i, size - i)));
}
