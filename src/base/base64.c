/* base64.c: encodes bytes as base64, three bytes as four letters, and back. */
#include "base/base64.h"

#include <errno.h>

#include "base/buf.h"

static const char letters[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

void base64_add(struct buf *out, struct str bytes)
{
    for (size_t i = 0; i < bytes.len; i += 3) {
        size_t left = bytes.len - i;
        uint32_t v = (uint32_t)(unsigned char)bytes.p[i] << 16;
        v |= left > 1 ? (uint32_t)(unsigned char)bytes.p[i + 1] << 8 : 0;
        v |= left > 2 ? (unsigned char)bytes.p[i + 2] : 0;
        char four[4] = {letters[v >> 18], letters[v >> 12 & 63], left > 1 ? letters[v >> 6 & 63] : '=',
                        left > 2 ? letters[v & 63] : '='};
        buf_add(out, four, sizeof(four));
    }
}

static int value_of(char c)
{
    const char *at = c ? strchr(letters, c) : NULL;

    return at ? (int)(at - letters) : -1;
}

int base64_read(struct str text, struct buf *out)
{
    size_t before = out->len, pad = 0;

    if (text.len % 4)
        return -EBADMSG;
    while (pad < 2 && pad < text.len && text.p[text.len - 1 - pad] == '=')
        pad++;
    for (size_t i = 0; i < text.len; i += 4) {
        size_t n = i + 4 == text.len ? 4 - pad : 4; /* letters with data */
        uint32_t v = 0;
        int bad = 0;
        for (size_t k = 0; k < 4; k++) {
            int one = k < n ? value_of(text.p[i + k]) : 0;
            bad |= one < 0;
            v = v << 6 | (uint32_t)(one & 63);
        }
        char three[3] = {(char)(v >> 16), (char)(v >> 8), (char)v};
        bad |= n < 4 && three[n - 1] != 0; /* unused bits must be 0 */
        if (bad || buf_add(out, three, n - 1) < 0) {
            buf_cut(out, before);
            return -EBADMSG;
        }
    }
    return 0;
}
