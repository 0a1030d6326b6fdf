/*
 * buf.h: a growing byte buffer that states its maximum and is always terminated.
 * The first failure sticks in b->err, so a writer may check once, at the end; every call also returns it.
 */
#pragma once

#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include "base/str.h"

struct buf {
    char *p; /* p[len] is 0 once anything was added */
    size_t len, cap, max;
    int err; /* 0, or -EMSGSIZE once max was passed */
};

#define BUF_INIT(maximum) ((struct buf){.max = (maximum)})
#define AUTO_BUF          __attribute__((cleanup(buf_fini))) struct buf

int buf_add(struct buf *b, const void *p, size_t n);
int buf_adds(struct buf *b, const char *s);
int buf_addstr(struct buf *b, struct str s);
int buf_fill(struct buf *b, char c, size_t n);
int buf_addf(struct buf *b, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
int buf_vaddf(struct buf *b, const char *fmt, va_list ap) __attribute__((format(printf, 2, 0)));
int buf_addi(struct buf *b, int64_t v); /* decimal, without printf's cost */
int buf_addu(struct buf *b, uint64_t v);
int buf_addutf8(struct buf *b, uint32_t c);           /* a code point */
int buf_addx(struct buf *b, const void *p, size_t n); /* lower-case hex of n bytes */
int buf_addurl(struct buf *b,
               struct str s); /* for an address, a part of its path or a value: %XX except for letters and the like */

/* Little-endian binary and LEB128 varints, for wire, spool and store. */
int buf_u8(struct buf *b, uint8_t v);
int buf_u16(struct buf *b, uint16_t v);
int buf_u32(struct buf *b, uint32_t v);
int buf_u64(struct buf *b, uint64_t v);
int buf_varint(struct buf *b, uint64_t v);
int buf_zigzag(struct buf *b, int64_t v);
int buf_text(struct buf *b, struct str s); /* varint length, then the bytes */

int buf_read_fd(struct buf *b, int fd);  /* until end of file; -EMSGSIZE past max, or -errno */
void buf_cut(struct buf *b, size_t len); /* shorten to len */
void buf_reset(struct buf *b);           /* empty, keep the memory, clear err */
void buf_fini(struct buf *b);
char *buf_take(struct buf *b); /* the text, which the caller must free(); b is empty again */

char *buf_make_room(struct buf *b, size_t n); /* buf_room's other half */
/* Room for n more bytes, or NULL (err set); then buf_appended. */
static inline char *buf_room(struct buf *b, size_t n)
{
    return b->err == 0 && n < b->cap - b->len ? b->p + b->len : buf_make_room(b, n);
}
static inline void buf_appended(struct buf *b, size_t n)
{
    if (!b->p)
        return;
    b->len += n;
    b->p[b->len] = 0;
}
static inline int buf_addc(struct buf *b, char c)
{
    char *at = buf_room(b, 1);

    if (!at)
        return b->err;
    *at = c;
    buf_appended(b, 1);
    return 0;
}

static inline struct str buf_str(const struct buf *b)
{
    return (struct str){b->p ? b->p : "", b->len};
}

/* The reading side: a cursor that fails once and stays failed, so a parser checks at its joints, not at each byte. */
struct rd {
    const uint8_t *p, *end;
    bool bad;
};
static inline struct rd rd_of(const void *p, size_t n)
{
    const uint8_t *at = p ? p : (const uint8_t *)""; /* nothing at all: NULL has no end, not even 0 bytes on */
    return (struct rd){at, at + n, false};
}
static inline size_t rd_left(const struct rd *r)
{
    return r->bad ? 0 : (size_t)(r->end - r->p);
}
uint8_t rd_u8(struct rd *r); /* all give 0 once bad */
uint16_t rd_u16(struct rd *r);
uint32_t rd_u32(struct rd *r);
uint64_t rd_u64(struct rd *r);
uint64_t rd_varint(struct rd *r);
int64_t rd_zigzag(struct rd *r);
const uint8_t *rd_bytes(struct rd *r, size_t n); /* NULL when short */
struct str rd_text(struct rd *r, size_t max);    /* bad when longer than max; empty then */
