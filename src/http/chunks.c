/* chunks.c: reads a chunked request body. Pure: bytes in, bytes out. */
#include "http/chunks.h"

#include "base/mem.h"
#include "base/order.h"
#include "http/head.h"

#define LINE_MAX_LEN 1024u /* a size with its extensions, or a trailer */
#define SIZE_DIGITS  8u

void chunks_init(struct chunks *c, size_t max)
{
    *c = (struct chunks){.max = max, .body = BUF_INIT(max + 1)};
}

void chunks_fini(struct chunks *c)
{
    buf_fini(&c->body);
}

/* Reads the first line of in. 1: *ret has it, without its end; 0: its end is missing yet; -400: invalid. */
static int take_line(struct str in, struct str *ret)
{
    size_t n = MIN(in.len, LINE_MAX_LEN);
    const char *end = memchr(in.p, '\r', n);
    if (!header_text_ok(str_n(in.p, end ? (size_t)(end - in.p) : n)))
        return -400;
    if (!end)
        return in.len >= LINE_MAX_LEN ? -400 : 0;
    *ret = str_n(in.p, (size_t)(end - in.p));
    if (ret->len + 1 == in.len)
        return 0;
    return end[1] == '\n' ? 1 : -400;
}

/* "1f", "1f;name=value": extensions mean nothing to us. */
static int take_size(struct chunks *c, struct str line)
{
    uint64_t size = 0;
    size_t i = 0;
    for (; i < line.len && line.p[i] != ';'; i++) {
        char d = line.p[i], low = (char)(d | 32);
        bool letter = low >= 'a' && low <= 'f';
        if (i >= SIZE_DIGITS || (!letter && (d < '0' || d > '9')))
            return -400;
        size = size << 4 | (uint64_t)(letter ? low - 'a' + 10 : d - '0');
    }
    if (i == 0)
        return -400;
    if (c->body.len + size > c->max)
        return -413;
    c->left = (size_t)size;
    c->part = size ? CHUNK_DATA : CHUNK_TRAILER;
    return 0;
}

static int take_trailer(struct chunks *c, struct str line)
{
    static const char *const never[] = {"Content-Length", "Transfer-Encoding", "Host", "Authorization"};
    struct str name, value;
    if (++c->trailers > HEADERS_MAX)
        return -431;
    if (!header_parse(line, &name, &value))
        return -400;
    return ANY(ARRAY_LEN(never), i, str_eq_nocase(name, never[i])) ? -400 : 0;
}

int chunks_take(struct chunks *c, struct str in, size_t *used)
{
    struct str line;
    *used = 0;
    for (;;) {
        struct str rest = str_n(in.p + *used, in.len - *used);
        if (rest.len == 0)
            return 0;
        if (c->part == CHUNK_DATA) {
            size_t n = MIN(rest.len, c->left);
            buf_add(&c->body, rest.p, n);
            *used += n;
            if ((c->left -= n) == 0)
                c->part = CHUNK_END;
            continue;
        }
        if (c->part == CHUNK_END && rest.p[0] != '\r')
            return -400;
        int r = take_line(rest, &line);
        if (r <= 0)
            return r;
        bool last = c->part == CHUNK_TRAILER && line.len == 0;
        if (c->part == CHUNK_SIZE)
            r = take_size(c, line);
        else if (c->part == CHUNK_TRAILER)
            r = last ? 1 : take_trailer(c, line);
        else if ((r = line.len ? -400 : 0) == 0)
            c->part = CHUNK_SIZE;
        if (r < 0)
            return r;
        *used += line.len + 2;
        if (last)
            return 1;
    }
}
