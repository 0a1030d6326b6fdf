/* harm.h: damage to a file of a store, as fuzz targets make it: four bytes of input change one byte of it, or cut it
 * off there. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"

#define HARM_CUT   0xa5
#define HARM_BYTES 4
#define HARM_MOST  256 /* of the input */

/* A position in the input counts through all files, in their order. */
static inline void harm_files(const uint8_t *data, size_t size, struct buf *const *files, size_t n)
{
    size_t all = 0;

    for (size_t i = 0; i < n; i++)
        all += files[i]->len;
    for (size_t i = 0; i + HARM_BYTES <= size && i < HARM_MOST && all; i += HARM_BYTES) {
        size_t at = (data[i] | (size_t)data[i + 1] << 8 | (size_t)data[i + 2] << 16) % all, k = 0;
        for (; k + 1 < n && at >= files[k]->len; k++)
            at -= files[k]->len;
        if (at >= files[k]->len) /* cut off before */
            continue;
        if (data[i + 3] == HARM_CUT)
            buf_cut(files[k], at);
        else
            files[k]->p[at] = (char)((uint8_t)files[k]->p[at] ^ data[i + 3]);
    }
}
