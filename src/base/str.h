/* str.h: views into text. Never writes, never allocates, never needs a terminator. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

struct str {
    const char *p;
    size_t len;
};

#define STR(lit)   ((struct str){(lit), sizeof(lit) - 1})
#define STR_ARG(s) (int)(s).len, (s).p /* for "%.*s" */

static inline struct str str_of(const char *s)
{
    return (struct str){s, s ? strlen(s) : 0};
}

static inline struct str str_n(const void *p, size_t n)
{
    return (struct str){(const char *)p, n};
}

static inline struct str str_drop(struct str s, size_t n) /* without its first n bytes */
{
    return (struct str){s.p + n, s.len - n};
}

static inline bool str_same(const char *a, const char *b) /* either may be NULL */
{
    return a && b ? strcmp(a, b) == 0 : a == b;
}

struct str str_trim(struct str s); /* spaces, tabs, CR, LF off both ends */
bool str_eq(struct str a, const char *b);
bool str_eq_str(struct str a, struct str b);
bool str_eq_nocase(struct str a, const char *b);
bool str_starts(struct str s, const char *prefix);
bool str_ends(struct str s, const char *suffix);
bool str_skip(struct str *s, const char *prefix); /* drop prefix if there */
bool str_cut(struct str *rest, char sep,
             struct str *ret);                     /* next field up to sep or the end; false when rest is used up */
bool str_line(struct str *rest, struct str *ret);  /* next line without \n or \r\n; false at the end */
bool str_word(struct str *rest, struct str *ret);  /* next run of characters that are not white space */
bool str_listed(const char *list, struct str one); /* in a comma-separated list; an empty list has no items */
int str_find(struct str s, const char *what);      /* offset, or -1 */
int str_rfind(struct str s, const char *what);
int str_cmp(struct str a, struct str b);
/* As people count, dgx2 before dgx10: runs of digits are numbers; leading zeros only break ties. */
int str_natural(const char *a, const char *b);

/* Whole-string numbers: false for empty, junk, or out of range; *ret untouched then. */
bool str_int(struct str s, int64_t *ret);
bool str_uint(struct str s, uint64_t *ret);
bool str_hex(struct str s, uint64_t *ret); /* with or without 0x */
bool str_fixed(struct str s, int64_t scale,
               int64_t *ret); /* decimal text ("-1.25", "1e3") times scale, rounded half away from zero */
bool str_duration_ms(struct str s, int64_t *ret); /* "500ms" "10" (s) "10s" "5m" "2h" "3d" "1w", also "1h30m" */
bool str_bytes(struct str s, int64_t *ret);       /* "512", "40K", "40G", "1.5GiB", "2TB": powers of 1024 */
bool str_bool(struct str s, bool *ret);           /* true/false yes/no on/off 1/0 */

/* Shell-style match: * ? [a-z] [!x], no escapes beyond backslash. Never recurses; worst case: product of the
 * lengths. */
bool str_glob(struct str pattern, struct str s);

/* For "did you mean": how many slips lie between what was typed and what may have been meant; -1 when they are not
 * alike. */
int str_near(struct str typed, struct str meant);

size_t str_utf8(struct str s, uint32_t *ret); /* the first code point: its bytes, or 0 if it is not UTF-8 */
bool str_utf8_ok(struct str s);               /* valid UTF-8 without NUL or other control characters (tab excepted) */
bool str_visible(struct str s, const char *but);  /* ASCII only, without spaces and without the letters of but */
bool str_letters(struct str s, const char *also); /* only ASCII letters, digits and the letters of also */
int str_width(struct str s);                      /* columns on a terminal */
