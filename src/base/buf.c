/*
 * buf.c: the growing buffer and its reading counterpart.
 * Every add is whole or not at all: past max it adds nothing and err stays set until buf_reset.
 */
#include "base/buf.h"

#include <errno.h>
#include <unistd.h>

#include "base/digits.h"
#include "base/mem.h"
#include "base/rand.h"

#define BUF_FIRST  64
#define VARINT_MAX 10 /* bytes */

static int buf_grow(struct buf *b, size_t n)
{
    if (b->err)
        return b->err;
    if (n > b->max - b->len || n > SIZE_MAX / 4 || b->len > SIZE_MAX / 4)
        return b->err = -EMSGSIZE;
    size_t need = b->len + n, cap = b->cap ? b->cap : BUF_FIRST;
    while (cap <= need)
        cap *= 2;
    if (b->max < cap) /* never more than max and the terminator */
        cap = b->max + 1;
    b->p = mem_grow(b->p, cap, 1);
    b->cap = cap;
    return 0;
}

/* Where n more bytes and a terminator go, or NULL. */
static inline char *buf_at(struct buf *b, size_t n)
{
    if (__builtin_expect((b->err != 0) | (n >= b->cap - b->len), 0) && (b->err || buf_grow(b, n) < 0))
        return NULL;
    return b->p + b->len;
}

static inline int buf_done(struct buf *b, size_t n)
{
    b->len += n;
    b->p[b->len] = 0;
    return 0;
}

int buf_add(struct buf *b, const void *p, size_t n)
{
    char *at = buf_at(b, n);

    if (!at)
        return b->err;
    if (n)
        memcpy(at, p, n);
    return buf_done(b, n);
}

int buf_adds(struct buf *b, const char *s)
{
    return buf_add(b, s, strlen(s));
}

int buf_addstr(struct buf *b, struct str s)
{
    return buf_add(b, s.p, s.len);
}

int buf_fill(struct buf *b, char c, size_t n)
{
    char *at = buf_at(b, n);

    if (!at)
        return b->err;
    memset(at, c, n);
    return buf_done(b, n);
}

int buf_addf(struct buf *b, const char *fmt, ...)
{
    va_list ap;

    va_start(ap, fmt);
    int r = buf_vaddf(b, fmt, ap);
    va_end(ap);
    return r;
}

int buf_vaddf(struct buf *b, const char *fmt, va_list ap)
{
    va_list again;

    if (b->err)
        return b->err;
    va_copy(again, ap);
    size_t room = b->cap - b->len;
    int n = vsnprintf(room ? b->p + b->len : NULL, room, fmt, ap);
    if (n < 0) {
        b->err = -EINVAL;
    } else if ((size_t)n < room) {
        b->len += (size_t)n;
    } else {
        char *at = buf_at(b, (size_t)n);
        if (at) {
            vsnprintf(at, (size_t)n + 1, fmt, again);
            b->len += (size_t)n;
        } else if (b->p) {
            b->p[b->len] = 0; /* drop the truncated output */
        }
    }
    va_end(again);
    return b->err;
}

/* clang-format off */
const uint64_t digit_tens[] = {
    1, 10, 100, 1000, 10000, 100000, 1000000, 10000000, 100000000, 1000000000, 10000000000, 100000000000,
    1000000000000, 10000000000000, 100000000000000, 1000000000000000, 10000000000000000, 100000000000000000,
    1000000000000000000, 10000000000000000000u};
#define SHARE(per) (UINT64_MAX / (per) + 1)
const uint64_t digit_shares[] = {
    0, SHARE(10), SHARE(100), SHARE(1000), SHARE(10000), SHARE(100000), SHARE(1000000), SHARE(10000000), SHARE(100000000)};
/* clang-format on */

int buf_addu(struct buf *b, uint64_t v)
{
    char text[DIGITS_MAX];

    return buf_add(b, text, (size_t)(digits_put(text, v) - text));
}

int buf_addi(struct buf *b, int64_t v)
{
    char text[1 + DIGITS_MAX] = "-";

    if (v < 0)
        return buf_add(b, text, (size_t)(digits_put(text + 1, 0 - (uint64_t)v) - text));
    return buf_addu(b, (uint64_t)v);
}

int buf_addurl(struct buf *b, struct str s)
{
    static const char plain[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_.~:*,";

    for (size_t i = 0; i < s.len; i++) {
        if (memchr(plain, s.p[i], sizeof(plain) - 1))
            buf_addc(b, s.p[i]);
        else
            buf_addf(b, "%%%02X", (unsigned)(unsigned char)s.p[i]);
    }
    return b->err;
}

int buf_addutf8(struct buf *b, uint32_t c)
{
    if (c < 0x80)
        return buf_addc(b, (char)c);
    int more = c < 0x800 ? 1 : c < 0x10000 ? 2 : 3; /* bytes of six bits each */
    buf_addc(b, (char)(0xff00u >> (more + 1) | c >> 6 * more));
    while (more-- > 0)
        buf_addc(b, (char)(0x80 | (c >> 6 * more & 0x3f)));
    return b->err;
}

int buf_addx(struct buf *b, const void *p, size_t n)
{
    char *at = n > SIZE_MAX / 4 ? NULL : buf_at(b, 2 * n);

    if (!at)
        return b->err ? b->err : (b->err = -EMSGSIZE);
    hex_text(p, n, at);
    return buf_done(b, 2 * n);
}

/* ---- binary ---- */

static inline int buf_le(struct buf *b, uint64_t v, size_t n)
{
    char *at = buf_at(b, n);

    if (!at)
        return b->err;
    for (size_t i = 0; i < n; i++)
        at[i] = (char)(v >> 8 * i);
    return buf_done(b, n);
}

int buf_varint(struct buf *b, uint64_t v)
{
    char bytes[10];
    size_t n = 0;

    while (v >= 0x80) {
        bytes[n++] = (char)(v | 0x80);
        v >>= 7;
    }
    bytes[n++] = (char)v;
    return buf_add(b, bytes, n);
}

int buf_zigzag(struct buf *b, int64_t v)
{
    return buf_varint(b, (uint64_t)v << 1 ^ (v < 0 ? UINT64_MAX : 0));
}

int buf_text(struct buf *b, struct str s)
{
    size_t before = b->len;

    if (buf_varint(b, s.len) == 0 && buf_addstr(b, s) < 0)
        buf_cut(b, before); /* not half of it */
    return b->err;
}

/* ---- the rest ---- */

char *buf_make_room(struct buf *b, size_t n)
{
    return buf_at(b, n);
}

int buf_read_fd(struct buf *b, int fd)
{
    char more = 0;

    if (b->err)
        return b->err;
    for (;;) {
        size_t want = MIN(b->max - b->len, MAX((size_t)4096, b->len));
        char *at = want ? buf_at(b, want) : &more;
        ssize_t n;
        do
            n = read(fd, at, want ? want : 1);
        while (n < 0 && errno == EINTR);
        if (n < 0) {
            if (b->p)
                b->p[b->len] = 0;
            return -errno;
        }
        if (n == 0)
            return want ? buf_done(b, 0) : 0;
        if (want == 0)
            return b->err = -EMSGSIZE;
        buf_done(b, (size_t)n);
    }
}

void buf_cut(struct buf *b, size_t len)
{
    if (len >= b->len)
        return;
    b->len = len;
    b->p[len] = 0;
}

void buf_reset(struct buf *b)
{
    buf_cut(b, 0);
    b->err = 0;
}

void buf_fini(struct buf *b)
{
    if (!b)
        return;
    free(b->p);
    *b = BUF_INIT(b->max);
}

char *buf_take(struct buf *b)
{
    char *p = b->p ? b->p : mem_str("");

    *b = BUF_INIT(b->max);
    return p;
}

/* ---- reading ---- */

const uint8_t *rd_bytes(struct rd *r, size_t n)
{
    const uint8_t *p = r->p;

    if (r->bad || (size_t)(r->end - p) < n) {
        r->bad = true;
        return NULL;
    }
    r->p += n;
    return p;
}

static inline uint64_t rd_le(struct rd *r, size_t n)
{
    const uint8_t *p = rd_bytes(r, n);
    uint64_t v = 0;

    if (p)
        for (size_t i = 0; i < n; i++)
            v |= (uint64_t)p[i] << 8 * i;
    return v;
}

/* buf_u8, rd_u8, …: both ways, for each size. */
#define SIZED(bits)                                                                                                    \
    int buf_u##bits(struct buf *b, uint##bits##_t v)                                                                   \
    {                                                                                                                  \
        return buf_le(b, v, (bits) / 8);                                                                               \
    }                                                                                                                  \
    uint##bits##_t rd_u##bits(struct rd *r)                                                                            \
    {                                                                                                                  \
        return (uint##bits##_t)rd_le(r, (bits) / 8);                                                                   \
    }
SIZED(8)
SIZED(16)
SIZED(32)
SIZED(64)

uint64_t rd_varint(struct rd *r)
{
    const uint8_t *p = r->p, *end = r->end;
    uint64_t v = 0;

    if (r->bad)
        return 0;
    if (end - p > VARINT_MAX)
        end = p + VARINT_MAX;
    for (unsigned shift = 0; p < end; shift += 7) {
        uint64_t c = *p++;
        v |= (c & 0x7f) << shift;
        if (c < 0x80) {
            if (shift == 63 && c > 1)
                break; /* more than 64 bits */
            r->p = p;
            return v;
        }
    }
    r->bad = true;
    return 0;
}

int64_t rd_zigzag(struct rd *r)
{
    uint64_t v = rd_varint(r);

    return (int64_t)(v >> 1 ^ (0 - (v & 1)));
}

struct str rd_text(struct rd *r, size_t max)
{
    uint64_t n = rd_varint(r);

    if (n > max)
        r->bad = true;
    const uint8_t *p = r->bad ? NULL : rd_bytes(r, (size_t)n);
    return p ? str_n(p, (size_t)n) : STR("");
}
