/* json.c: the streaming writer. The buf remembers the first failure, so nothing here returns one. */
#include "base/json.h"

#include <assert.h>
#include <string.h>

#include "base/buf.h"
#include "base/digits.h"
#include "base/json_at.h"
#include "base/plain.h"

/* The comma that is due, and "key": if there is one; at has room for LEAD_ROOM more than the key. Behind them. */
#define LEAD_ROOM 4
static inline char *put_lead(struct json *j, char *at, struct str k)
{
    if (j->comma)
        *at++ = ',';
    if (k.p) {
        *at++ = '"';
        memcpy(at, k.p, k.len);
        at += k.len;
        *at++ = '"';
        *at++ = ':';
    }
    j->comma = true;
    return at;
}

static void json_lead(struct json *j, const char *key)
{
    struct str k = str_of(key);
    char *start = buf_room(j->out, k.len + LEAD_ROOM);

    if (start)
        buf_appended(j->out, (size_t)(put_lead(j, start, k) - start));
}

void json_obj(struct json *j, const char *key)
{
    json_lead(j, key);
    buf_addc(j->out, '{');
    j->comma = false;
}

void json_end_obj(struct json *j)
{
    buf_addc(j->out, '}');
    j->comma = true;
}

void json_arr(struct json *j, const char *key)
{
    json_lead(j, key);
    buf_addc(j->out, '[');
    j->comma = false;
}

void json_end_arr(struct json *j)
{
    buf_addc(j->out, ']');
    j->comma = true;
}

void json_cstr(struct json *j, const char *key, const char *v)
{
    if (v)
        json_str(j, key, str_of(v));
    else
        json_none(j, key);
}

void json_some(struct json *j, const char *key, const char *v)
{
    if (v && v[0])
        json_cstr(j, key, v);
}

void json_int(struct json *j, const char *key, int64_t v)
{
    json_lead(j, key);
    buf_addi(j->out, v);
}

void json_known(struct json *j, const char *key, bool known, int64_t v)
{
    if (known)
        json_int(j, key, v);
    else
        json_none(j, key);
}

void json_uint(struct json *j, const char *key, uint64_t v)
{
    json_lead(j, key);
    buf_addu(j->out, v);
}

void json_bool(struct json *j, const char *key, bool v)
{
    json_lead(j, key);
    buf_addstr(j->out, v ? STR("true") : STR("false"));
}

void json_none(struct json *j, const char *key)
{
    json_lead(j, key);
    buf_addstr(j->out, STR("null"));
}

void json_fixed(struct json *j, const char *key, int64_t v, int64_t per)
{
    json_lead(j, key);
    buf_fixed(j->out, v, per);
}

void json_raw(struct json *j, const char *key, struct str v)
{
    json_lead(j, key);
    buf_addstr(j->out, v);
}

static bool json_plain(unsigned char c)
{
    return c >= 0x20 && c < 0x7f && c != '"' && c != '\\';
}

/* How many bytes from the first on need no escape. */
static size_t plain_len(struct str v)
{
    size_t i = 0;

    while (i + 8 <= v.len && !json_special(json_word(v.p + i)))
        i += 8;
    while (i < v.len && json_plain((unsigned char)v.p[i]))
        i++;
    return i;
}

/* Writes one part that is not plain: an escape, a whole UTF-8 sequence, or U+FFFD for an invalid byte. Returns the
 * bytes used. */
static size_t json_escape_one(struct buf *out, struct str s)
{
    static const char shorts[] = "b\bf\fn\nr\rt\t\"\"\\\\", hex[] = "0123456789abcdef";
    unsigned char c = (unsigned char)s.p[0];
    uint32_t point;

    if (c >= 0x80) {
        size_t n = str_utf8(s, &point);
        if (n && !plain_point(point)) /* C1, what turns text round: all of them fit into four digits */
            buf_addf(out, "\\u%04x", (unsigned)point);
        else
            buf_addstr(out, n ? str_n(s.p, n) : STR(PLAIN_MARK));
        return n ? n : 1;
    }
    for (size_t i = 0; i + 1 < sizeof(shorts); i += 2)
        if ((unsigned char)shorts[i + 1] == c) {
            buf_add(out, (char[]){'\\', shorts[i]}, 2);
            return 1;
        }
    buf_add(out, (char[]){'\\', 'u', '0', '0', hex[c >> 4], hex[c & 15]}, 6);
    return 1;
}

bool json_is_plain(struct str v)
{
    size_t i = 0;

    for (; i + 8 <= v.len; i += 8)
        if (json_special(json_word(v.p + i)))
            return false;
    if (v.len >= 8)
        return i == v.len || !json_special(json_word(v.p + v.len - 8));
    while (i < v.len && json_plain((unsigned char)v.p[i]))
        i++;
    return i == v.len;
}

void json_escape(struct buf *out, struct str v)
{
    size_t i = 0;
    char *at = json_is_plain(v) ? buf_room(out, v.len + 2) : NULL;

    if (at) {
        *at = '"';
        memcpy(at + 1, v.p, v.len);
        at[1 + v.len] = '"';
        buf_appended(out, v.len + 2);
        return;
    }
    buf_addc(out, '"');
    while (i < v.len && out->err == 0) {
        size_t n = plain_len(str_n(v.p + i, v.len - i));
        if (n)
            buf_add(out, v.p + i, n);
        i += n;
        while (i < v.len && !json_plain((unsigned char)v.p[i]))
            i += json_escape_one(out, str_n(v.p + i, v.len - i));
    }
    buf_addc(out, '"');
}

char *json_escape_at(char *at, struct str v)
{
    struct buf there = {.p = at, .cap = TEXT_ROOM(v.len), .max = TEXT_ROOM(v.len)};

    json_escape(&there, v);
    return at + there.len;
}

/* Nearly all texts are plain, and most output is text: adds key and text in one step. */
void json_str(struct json *j, const char *key, struct str v)
{
    struct str k = str_of(key);
    char *start = json_is_plain(v) ? buf_room(j->out, k.len + LEAD_ROOM + v.len + 2) : NULL, *at = start;

    if (!start) {
        json_lead(j, key);
        json_escape(j->out, v);
        return;
    }
    at = put_lead(j, at, k);
    *at++ = '"';
    if (v.len)
        memcpy(at, v.p, v.len);
    at += v.len;
    *at++ = '"';
    buf_appended(j->out, (size_t)(at - start));
}

void json_print(struct buf *out, const char *fmt, ...)
{
    struct str rest = str_of(fmt);
    va_list ap;

    va_start(ap, fmt);
    while (rest.len && out->err == 0) {
        if (str_skip(&rest, "%s")) {
            const char *s = va_arg(ap, const char *);
            if (s)
                json_escape(out, str_of(s));
            else
                buf_adds(out, "null");
        } else if (str_skip(&rest, "%.*s")) {
            size_t n = (size_t)va_arg(ap, int);
            buf_add(out, va_arg(ap, const char *), n);
        } else if (str_skip(&rest, "%lld")) {
            buf_addi(out, va_arg(ap, long long));
        } else {
            buf_addc(out, rest.p[0] == '\'' ? '"' : rest.p[0]);
            rest = str_n(rest.p + 1, rest.len - 1);
        }
    }
    va_end(ap);
}

#define FIXED_PLACES 18 /* for a per that no power of ten is a multiple of */

int fixed_places(int64_t per)
{
    switch (per) {
    case 1:
        return 0;
    case 10:
        return 1;
    case 100:
        return 2;
    case 1000:
        return 3;
    case 10000:
        return 4;
    case 100000:
        return 5;
    case 1000000:
        return 6;
    case 10000000:
        return 7;
    case 100000000:
        return 8;
    default:
        return -1;
    }
}

/* Writes left / per behind the point, where per is no power of ten or a large one. */
static char *put_fraction(char *at, uint64_t left, int64_t per)
{
    size_t n = 0;

    *at++ = '.';
    if (per < (int64_t)1 << 28) {
        uint32_t l = (uint32_t)left, p = (uint32_t)per;
        do {
            l *= 10;
            *at++ = (char)('0' + l / p);
            l %= p;
        } while (l && ++n < FIXED_PLACES);
    } else {
        unsigned __int128 l = left;
        do {
            l *= 10;
            *at++ = (char)('0' + (int)(l / (uint64_t)per));
            l %= (uint64_t)per;
        } while (l && ++n < FIXED_PLACES);
    }
    return at;
}

char *fixed_put(char *at, int64_t v, int64_t per)
{
    int places = fixed_places(per);

    assert(per > 0);
    if (places >= 0)
        return decimal_put(at, v, (unsigned)places);
    uint64_t u = v < 0 ? 0 - (uint64_t)v : (uint64_t)v, left = u % (uint64_t)per;
    if (v < 0)
        *at++ = '-';
    at = digits_put(at, u / (uint64_t)per);
    return left ? put_fraction(at, left, per) : at;
}

int buf_fixed(struct buf *b, int64_t v, int64_t per)
{
    char text[FIXED_MAX];

    if (!b->p || b->err || b->cap - b->len <= FIXED_MAX) /* there may be room for the number, though not for any */
        return buf_add(b, text, (size_t)(fixed_put(text, v, per) - text));
    buf_appended(b, (size_t)(fixed_put(b->p + b->len, v, per) - (b->p + b->len)));
    return 0;
}

int buf_float(struct buf *b, int64_t v, int64_t per)
{
    buf_fixed(b, v, per);
    return v % per ? b->err : buf_adds(b, ".0");
}
