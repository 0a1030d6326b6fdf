/*
 * str.c: views into text: cutting, comparing, numbers, patterns, UTF-8.
 * Nothing here writes to the text, allocates, or uses the locale.
 */
#include "base/str.h"

#include <assert.h>

#include "base/mem.h"
#include "base/order.h"

static bool str_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\r' || c == '\n';
}

static bool str_digit(char c)
{
    return c >= '0' && c <= '9';
}

static char str_lower(char c)
{
    return c >= 'A' && c <= 'Z' ? (char)(c + 32) : c;
}

struct str str_trim(struct str s)
{
    while (s.len && str_blank(s.p[0]))
        s = str_drop(s, 1);
    while (s.len && str_blank(s.p[s.len - 1]))
        s.len--;
    return s;
}

bool str_eq(struct str a, const char *b)
{
    if (a.len && b && a.p[0] != b[0]) /* the usual case when one word is compared with many */
        return false;
    return str_eq_str(a, str_of(b));
}

bool str_eq_str(struct str a, struct str b)
{
    return a.len == b.len && (a.len == 0 || memcmp(a.p, b.p, a.len) == 0);
}

bool str_eq_nocase(struct str a, const char *b)
{
    size_t i;

    for (i = 0; i < a.len && b[i]; i++)
        if (str_lower(a.p[i]) != str_lower(b[i]))
            return false;
    return i == a.len && b[i] == 0;
}

bool str_starts(struct str s, const char *prefix)
{
    size_t n = strlen(prefix);

    return n <= s.len && (n == 0 || memcmp(s.p, prefix, n) == 0);
}

bool str_ends(struct str s, const char *suffix)
{
    size_t n = strlen(suffix);

    return n <= s.len && (n == 0 || memcmp(s.p + s.len - n, suffix, n) == 0);
}

bool str_skip(struct str *s, const char *prefix)
{
    if (!str_starts(*s, prefix))
        return false;
    size_t n = strlen(prefix);
    if (n)
        *s = str_drop(*s, n);
    return true;
}

/* "a,b," has three fields, the last one empty; "" has one. A rest that is used up has no text left to point at. */
bool str_cut(struct str *rest, char sep, struct str *ret)
{
    if (!rest->p)
        return false;
    const char *at = rest->len ? memchr(rest->p, sep, rest->len) : NULL;
    if (at) {
        *ret = (struct str){rest->p, (size_t)(at - rest->p)};
        *rest = str_drop(*rest, ret->len + 1);
    } else {
        *ret = *rest;
        *rest = (struct str){NULL, 0};
    }
    return true;
}

bool str_line(struct str *rest, struct str *ret)
{
    if (rest->len == 0)
        return false;
    const char *at = memchr(rest->p, '\n', rest->len);
    struct str line = {rest->p, at ? (size_t)(at - rest->p) : rest->len};
    *rest = str_drop(*rest, line.len + (at ? 1 : 0));
    if (at && line.len && line.p[line.len - 1] == '\r')
        line.len--;
    *ret = line;
    return true;
}

bool str_word(struct str *rest, struct str *ret)
{
    struct str s = *rest;
    size_t n = 0;

    while (s.len && str_blank(s.p[0]))
        s = str_drop(s, 1);
    while (n < s.len && !str_blank(s.p[n]))
        n++;
    if (n == 0)
        return false;
    *ret = (struct str){s.p, n};
    *rest = str_drop(s, n);
    return true;
}

bool str_listed(const char *list, struct str one)
{
    struct str rest = str_of(list), next;

    while (one.len && str_cut(&rest, ',', &next))
        if (str_eq_str(str_trim(next), one))
            return true;
    return false;
}

int str_find(struct str s, const char *what)
{
    size_t n = strlen(what);

    if (n == 0)
        return 0;
    const char *at = s.len ? memmem(s.p, s.len, what, n) : NULL;
    return at ? (int)(at - s.p) : -1;
}

int str_rfind(struct str s, const char *what)
{
    size_t n = strlen(what);

    if (n > s.len)
        return -1;
    for (size_t i = s.len - n + 1; i-- > 0;)
        if (n == 0 || memcmp(s.p + i, what, n) == 0)
            return (int)i;
    return -1;
}

int str_cmp(struct str a, struct str b)
{
    size_t n = MIN(a.len, b.len);
    int c = n ? memcmp(a.p, b.p, n) : 0;

    return c ? c : (a.len > b.len) - (a.len < b.len);
}

/* ---- numbers ---- */

bool str_uint(struct str s, uint64_t *ret)
{
    uint64_t v = 0;

    if (s.len == 0)
        return false;
    for (size_t i = 0; i < s.len; i++) {
        if (!str_digit(s.p[i]))
            return false;
        if (__builtin_mul_overflow(v, 10u, &v) || __builtin_add_overflow(v, (unsigned)(s.p[i] - '0'), &v))
            return false;
    }
    *ret = v;
    return true;
}

/* The sign off the front; true when negative. */
static bool str_sign(struct str *s)
{
    bool neg = s->len && s->p[0] == '-';

    if (s->len && (neg || s->p[0] == '+'))
        *s = str_drop(*s, 1);
    return neg;
}

static bool str_signed(uint64_t v, bool neg, int64_t *ret)
{
    if (v > (uint64_t)INT64_MAX + (neg ? 1 : 0))
        return false;
    *ret = neg ? (int64_t)(0 - v) : (int64_t)v;
    return true;
}

bool str_int(struct str s, int64_t *ret)
{
    uint64_t v;
    bool neg = str_sign(&s);

    return str_uint(s, &v) && str_signed(v, neg, ret);
}

bool str_hex(struct str s, uint64_t *ret)
{
    uint64_t v = 0;

    if (!str_skip(&s, "0x"))
        str_skip(&s, "0X");
    if (s.len == 0)
        return false;
    for (size_t i = 0; i < s.len; i++) {
        char c = str_lower(s.p[i]);
        unsigned digit = str_digit(c) ? (unsigned)(c - '0') : (unsigned)(c - 'a') + 10;
        if (!str_digit(c) && (c < 'a' || c > 'f'))
            return false;
        if (v >> 60)
            return false;
        v = v << 4 | digit;
    }
    *ret = v;
    return true;
}

#define STR_FIXED_ONE 10000000000000000000ull /* 10^19: that many places of a fraction count */

/* "12.5e3", sign removed: the number of characters of digits and point, and the number of digits before the point
 * including the exponent. */
static bool str_decimal(struct str s, size_t *ret_len, int *ret_before)
{
    size_t i, digits = 0, point = SIZE_MAX;
    int64_t e = 0;

    for (i = 0; i < s.len && (str_digit(s.p[i]) || (s.p[i] == '.' && point == SIZE_MAX)); i++) {
        if (s.p[i] == '.')
            point = digits;
        else
            digits++;
    }
    if (digits == 0 || s.len > 4096) /* so that an int counts them */
        return false;
    if (i < s.len && (str_lower(s.p[i]) != 'e' || !str_int(str_drop(s, i + 1), &e) || e < -9999 || e > 9999))
        return false;
    *ret_len = i;
    *ret_before = (int)(point == SIZE_MAX ? digits : point) + (int)e;
    return true;
}

bool str_fixed(struct str s, int64_t scale, int64_t *ret)
{
    bool neg = str_sign(&s);
    uint64_t whole = 0, part = 0, place = STR_FIXED_ONE / 10; /* part / 10^19 */
    size_t len;
    int before;

    assert(scale > 0);
    if (!str_decimal(s, &len, &before))
        return false;
    for (int zeros = before; zeros < 0; zeros++)
        place /= 10;
    for (size_t i = 0; i < len; i++) {
        unsigned digit = (unsigned)(s.p[i] - '0');
        if (s.p[i] == '.')
            continue;
        if (before > 0) {
            if (__builtin_mul_overflow(whole, 10u, &whole) || __builtin_add_overflow(whole, digit, &whole))
                return false;
            before--;
        } else {
            part += digit * place;
            place /= 10; /* 0 in the end */
        }
    }
    for (; before > 0 && whole; before--)
        if (__builtin_mul_overflow(whole, 10u, &whole))
            return false;
    unsigned __int128 fine = (unsigned __int128)part * (uint64_t)scale;
    unsigned __int128 v = (unsigned __int128)whole * (uint64_t)scale + fine / STR_FIXED_ONE;
    if (fine % STR_FIXED_ONE >= STR_FIXED_ONE / 2)
        v++;
    return v <= UINT64_MAX && str_signed((uint64_t)v, neg, ret);
}

/* Split "1.5GiB" into "1.5" and "GiB" (spaces between them allowed); false without a digit in front. */
static bool str_quantity(struct str *rest, struct str *ret_number, struct str *ret_unit)
{
    struct str s = str_trim(*rest);
    size_t n = 0, u;

    while (n < s.len && (str_digit(s.p[n]) || s.p[n] == '.'))
        n++;
    if (n == 0)
        return false;
    *ret_number = (struct str){s.p, n};
    s = str_trim(str_drop(s, n));
    for (u = 0; u < s.len && ((str_lower(s.p[u]) >= 'a' && str_lower(s.p[u]) <= 'z') || s.p[u] == '%'); u++)
        ;
    *ret_unit = (struct str){s.p, u};
    *rest = str_drop(s, u);
    return true;
}

bool str_duration_ms(struct str s, int64_t *ret)
{
    static const struct {
        const char *name;
        int64_t ms;
    } units[] = {{"ms", 1}, {"s", 1000}, {"m", 60000}, {"h", 3600000}, {"d", 86400000}, {"w", 604800000}};
    struct str number, unit;
    int64_t sum = 0;
    size_t parts = 0;

    do {
        int64_t ms = 0, v;
        if (!str_quantity(&s, &number, &unit))
            return false;
        for (size_t i = 0; i < ARRAY_LEN(units); i++)
            if (str_eq(unit, units[i].name))
                ms = units[i].ms;
        if (unit.len == 0 && parts == 0 && s.len == 0)
            ms = 1000; /* a number alone is seconds */
        if (ms == 0 || !str_fixed(number, ms, &v) || __builtin_add_overflow(sum, v, &sum))
            return false;
        parts++;
    } while (s.len);
    *ret = sum;
    return true;
}

bool str_bytes(struct str s, int64_t *ret)
{
    static const char letters[] = "kmgtpe";
    struct str number, unit;
    int64_t scale = 1;

    if (!str_quantity(&s, &number, &unit) || s.len)
        return false;
    const char *at = unit.len ? strchr(letters, str_lower(unit.p[0])) : NULL;
    if (at) {
        scale = (int64_t)1 << 10 * (at - letters + 1);
        unit = str_drop(unit, 1);
        if (unit.len == 2 && str_lower(unit.p[0]) == 'i')
            unit = str_drop(unit, 1);
    }
    if (unit.len > 1 || (unit.len == 1 && str_lower(unit.p[0]) != 'b'))
        return false;
    return str_fixed(number, scale, ret);
}

bool str_bool(struct str s, bool *ret)
{
    static const char *const words[][2] = {{"false", "true"}, {"no", "yes"}, {"off", "on"}, {"0", "1"}};

    for (size_t i = 0; i < ARRAY_LEN(words); i++)
        for (int v = 0; v < 2; v++)
            if (str_eq_nocase(s, words[i][v])) {
                *ret = v;
                return true;
            }
    return false;
}

/* ---- patterns ---- */

/* Matches one pattern item at pat[*at] against c; *at moves past the item. A '[' without its ']' is itself. */
static bool glob_item(struct str pat, size_t *at, unsigned char c)
{
    size_t i = *at;
    unsigned char p = (unsigned char)pat.p[i++];

    if (p == '\\' && i < pat.len)
        p = (unsigned char)pat.p[i++];
    else if (p == '?') {
        *at = i;
        return true;
    } else if (p == '[') {
        size_t k = i;
        bool negated = k < pat.len && (pat.p[k] == '!' || pat.p[k] == '^'), hit = false;
        k += negated;
        for (size_t first = k; k < pat.len && (pat.p[k] != ']' || k == first); k++) {
            unsigned char lo = (unsigned char)pat.p[k], hi = lo;
            if (k + 2 < pat.len && pat.p[k + 1] == '-' && pat.p[k + 2] != ']') {
                hi = (unsigned char)pat.p[k + 2];
                k += 2;
            }
            hit |= lo <= c && c <= hi;
        }
        if (k < pat.len) {
            *at = k + 1;
            return hit != negated;
        }
    }
    *at = i;
    return p == c;
}

/* On a mismatch only the last star is tried again, one byte further: earlier ones cannot help. */
bool str_glob(struct str pattern, struct str s)
{
    size_t p = 0, i = 0, star = SIZE_MAX, star_i = 0;

    while (i < s.len) {
        if (p < pattern.len && pattern.p[p] == '*') {
            star = ++p;
            star_i = i;
            continue;
        }
        if (p < pattern.len && glob_item(pattern, &p, (unsigned char)s.p[i])) {
            i++;
            continue;
        }
        if (star == SIZE_MAX)
            return false;
        p = star;
        i = ++star_i;
    }
    while (p < pattern.len && pattern.p[p] == '*')
        p++;
    return p == pattern.len;
}

/* Edits between a and b; two neighbours swapped count as one. Both are at most 64 bytes. */
static int near_edits(struct str a, struct str b)
{
    int row[3][65];

    for (size_t j = 0; j <= b.len; j++)
        row[0][j] = (int)j;
    for (size_t i = 1; i <= a.len; i++) {
        int *now = row[i % 3], *last = row[(i + 2) % 3], *before = row[(i + 1) % 3];
        now[0] = (int)i;
        for (size_t j = 1; j <= b.len; j++) {
            int swap = last[j - 1] + (a.p[i - 1] != b.p[j - 1]);
            now[j] = MIN(swap, MIN(last[j], now[j - 1]) + 1);
            if (i > 1 && j > 1 && a.p[i - 1] == b.p[j - 2] && a.p[i - 2] == b.p[j - 1])
                now[j] = MIN(now[j], before[j - 2] + 1);
        }
    }
    return row[a.len % 3][b.len];
}

int str_near(struct str typed, struct str meant)
{
    size_t limit = MAX((size_t)1, MIN((size_t)3, typed.len / 3));

    if (typed.len == 0 || typed.len > 64 || meant.len > 64)
        return -1;
    int edits = near_edits(typed, meant);
    if ((size_t)edits <= limit && (size_t)edits < MIN(typed.len, meant.len))
        return edits;
    if (typed.len >= 3 && meant.len > typed.len && memcmp(typed.p, meant.p, typed.len) == 0)
        return 4; /* a prefix: weaker than a typing error */
    return -1;
}

/* ---- UTF-8 ---- */

size_t str_utf8(struct str s, uint32_t *ret)
{
    static const uint32_t least[] = {0, 0, 0x80, 0x800, 0x10000};
    const unsigned char *p = (const unsigned char *)s.p;

    if (s.len == 0)
        return 0;
    if (p[0] < 0x80) {
        *ret = p[0];
        return 1;
    }
    size_t n = p[0] >= 0xf0 ? 4 : p[0] >= 0xe0 ? 3 : 2;
    if (p[0] < 0xc2 || p[0] > 0xf4 || n > s.len)
        return 0;
    uint32_t c = p[0] & (0x7fu >> n);
    for (size_t i = 1; i < n; i++) {
        if ((p[i] & 0xc0) != 0x80)
            return 0;
        c = c << 6 | (p[i] & 0x3f);
    }
    if (c < least[n] || c > 0x10ffff || (c >= 0xd800 && c <= 0xdfff))
        return 0;
    *ret = c;
    return n;
}

bool str_utf8_ok(struct str s)
{
    while (s.len) {
        uint32_t c;
        size_t n = str_utf8(s, &c);
        if (n == 0 || (c < 0x20 && c != '\t') || (c >= 0x7f && c < 0xa0))
            return false;
        s = str_drop(s, n);
    }
    return true;
}

bool str_visible(struct str s, const char *but)
{
    return !ANY(s.len, i, s.p[i] <= ' ' || s.p[i] > '~' || strchr(but, s.p[i]));
}

static bool is_letter(char c, const char *also)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || (c && strchr(also, c));
}

bool str_letters(struct str s, const char *also)
{
    return !ANY(s.len, i, !is_letter(s.p[i], also));
}

/* Columns of a code point, as terminals of today draw it. East Asian wide and emoji: 2; combining: 0. */
static int str_columns(uint32_t c)
{
    static const struct {
        uint32_t from, to;
        int columns;
    } ranges[] = {
        {0x0300, 0x036f, 0},   {0x0483, 0x0489, 0},   {0x0591, 0x05bd, 0},   {0x0610, 0x061a, 0},
        {0x064b, 0x065f, 0},   {0x0900, 0x0902, 0},   {0x093c, 0x093c, 0},   {0x0e31, 0x0e31, 0},
        {0x0e34, 0x0e3a, 0},   {0x0e47, 0x0e4e, 0},   {0x1100, 0x115f, 2},   {0x1ab0, 0x1aff, 0},
        {0x1dc0, 0x1dff, 0},   {0x200b, 0x200f, 0},   {0x202a, 0x202e, 0},   {0x2060, 0x2064, 0},
        {0x20d0, 0x20ff, 0},   {0x231a, 0x231b, 2},   {0x23e9, 0x23ec, 2},   {0x25fd, 0x25fe, 2},
        {0x2614, 0x2615, 2},   {0x2648, 0x2653, 2},   {0x267f, 0x267f, 2},   {0x26a1, 0x26a1, 2},
        {0x2705, 0x2705, 2},   {0x274c, 0x274c, 2},   {0x2753, 0x2755, 2},   {0x2795, 0x2797, 2},
        {0x2e80, 0x303e, 2},   {0x3041, 0x33ff, 2},   {0x3400, 0x4dbf, 2},   {0x4e00, 0x9fff, 2},
        {0xa000, 0xa4cf, 2},   {0xa960, 0xa97f, 2},   {0xac00, 0xd7a3, 2},   {0xf900, 0xfaff, 2},
        {0xfe00, 0xfe0f, 0},   {0xfe10, 0xfe19, 2},   {0xfe20, 0xfe2f, 0},   {0xfe30, 0xfe6f, 2},
        {0xfeff, 0xfeff, 0},   {0xff00, 0xff60, 2},   {0xffe0, 0xffe6, 2},   {0x1f300, 0x1f64f, 2},
        {0x1f680, 0x1f6ff, 2}, {0x1f900, 0x1f9ff, 2}, {0x1fa70, 0x1faff, 2}, {0x20000, 0x3fffd, 2},
        {0xe0100, 0xe01ef, 0},
    };

    if (c < 0x300)
        return c < 0x20 || (c >= 0x7f && c < 0xa0) ? 0 : 1;
    size_t at = COUNT_BEFORE(ARRAY_LEN(ranges), i, ranges[i].to < c);
    return at < ARRAY_LEN(ranges) && ranges[at].from <= c ? ranges[at].columns : 1;
}

int str_width(struct str s)
{
    int columns = 0;

    while (s.len) {
        uint32_t c;
        size_t n = str_utf8(s, &c);
        columns += n ? str_columns(c) : 1; /* a stray byte is drawn as one replacement character */
        s = str_drop(s, n ? n : 1);
    }
    return columns;
}

int str_natural(const char *a, const char *b)
{
    const char *a0 = a, *b0 = b;

    while (*a && *b) {
        if (*a >= '0' && *a <= '9' && *b >= '0' && *b <= '9') {
            a += strspn(a, "0");
            b += strspn(b, "0");
            size_t na = strspn(a, "0123456789"), nb = strspn(b, "0123456789");
            int r = na != nb ? (na < nb ? -1 : 1) : memcmp(a, b, na);
            if (r)
                return r;
            a += na;
            b += nb;
        } else if (*a != *b) {
            break;
        } else {
            a++;
            b++;
        }
    }
    int r = (unsigned char)*a - (unsigned char)*b;
    return r ? r : strcmp(a0, b0);
}
