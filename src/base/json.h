/* json.h: a streaming JSON writer onto a buf. Commas and escapes are its business; nesting is the caller's. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/str.h"

struct buf;

struct json {
    struct buf *out;
    bool comma; /* a comma is due before the next member */
};

static inline struct json json_on(struct buf *out)
{
    return (struct json){.out = out};
}
/* key NULL: an array element or the top value. Keys are constants and are not escaped. */
void json_obj(struct json *j, const char *key);
void json_end_obj(struct json *j);
void json_arr(struct json *j, const char *key);
void json_end_arr(struct json *j);
void json_str(struct json *j, const char *key, struct str v);   /* bytes that are not UTF-8 become U+FFFD */
void json_cstr(struct json *j, const char *key, const char *v); /* NULL writes null */
void json_some(struct json *j, const char *key, const char *v); /* NULL or empty writes nothing */
void json_int(struct json *j, const char *key, int64_t v);
void json_known(struct json *j, const char *key, bool known, int64_t v); /* null where it is not */
void json_uint(struct json *j, const char *key, uint64_t v);
void json_bool(struct json *j, const char *key, bool v);
void json_none(struct json *j, const char *key); /* null; not named so, since jansson has that name */
/* v / per as an exact decimal: 9876, 10000 -> 0.9876; trailing zeros dropped. */
void json_fixed(struct json *j, const char *key, int64_t v, int64_t per);
void json_raw(struct json *j, const char *key, struct str v); /* already JSON */
void json_escape(struct buf *out, struct str v);              /* with quotes; for other writers */
bool json_is_plain(struct str v);                             /* nothing of it needs an escape */
/* A piece of JSON that is mostly constant: ' stands for ". %s is text, quoted and escaped (NULL: null), %.*s JSON as it
 * is, %lld a number. */
void json_print(struct buf *out, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* The same exact decimal for other formats (CSV, Prometheus). */
int buf_fixed(struct buf *b, int64_t v, int64_t per);
/* At at, where there is room for FIXED_MAX; its end. Not terminated. */
#define FIXED_MAX 48
char *fixed_put(char *at, int64_t v, int64_t per);
int fixed_places(int64_t per); /* per is 10 to this power, of at most 8 (decimal_put of digits.h); -1: to none */
int buf_float(struct buf *b, int64_t v, int64_t per); /* with a decimal at least, as Python writes a float: 24.0 */
