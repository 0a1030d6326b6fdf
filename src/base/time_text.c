/*
 * time_text.c: parses a time or a duration word by word. GPU Monitor's form accepted everything that PHP's strtotime
 * accepts; this accepts what users really wrote there, and refuses the rest.
 */
#include "base/time_text.h"

#include <errno.h>

#include "base/clock.h"
#include "base/mem.h"
#include "base/zone.h"

#define WORD_MAX  12
#define MS_DIGITS 11 /* a number this long is milliseconds */

static void zone_end(struct zone **z)
{
    zone_free(*z);
}
#define AUTO_ZONE __attribute__((cleanup(zone_end)))

struct parsed_time {
    int64_t now_ms;
    const struct zone *zone;
    struct civil c; /* now, then the parsed text */
    int today;      /* of the week, 0 Sunday */
    bool has_day, has_time, has_zone, has_moment, has_span;
    int64_t zone_ms, add_ms, moment_ms;
    int months;
    int weekday; /* -1: none */
    int weeks;   /* next: 1, last: -1 */
};

static const char *const long_months[] = {"january", "february", "march",     "april",   "may",      "june",
                                          "july",    "august",   "september", "october", "november", "december"};
static const char *const long_days[] = {"sunday", "monday", "tuesday", "wednesday", "thursday", "friday", "saturday"};

static const struct {
    const char *word;
    int64_t ms;
    int months;
} units[] = {
    {"s", 1000, 0},           {"sec", 1000, 0},   {"secs", 1000, 0},   {"second", 1000, 0},  {"seconds", 1000, 0},
    {"m", 60000, 0},          {"min", 60000, 0},  {"mins", 60000, 0},  {"minute", 60000, 0}, {"minutes", 60000, 0},
    {"h", 3600000, 0},        {"hr", 3600000, 0}, {"hrs", 3600000, 0}, {"hour", 3600000, 0}, {"hours", 3600000, 0},
    {"d", DAY_MS, 0},         {"day", DAY_MS, 0}, {"days", DAY_MS, 0}, {"w", 7 * DAY_MS, 0}, {"week", 7 * DAY_MS, 0},
    {"weeks", 7 * DAY_MS, 0}, {"month", 0, 1},    {"months", 0, 1},    {"year", 0, 12},      {"years", 0, 12},
};

/* ---- pieces of text ---- */

static bool digit_at(struct str s, size_t i)
{
    return i < s.len && s.p[i] >= '0' && s.p[i] <= '9';
}

static void drop(struct str *s, size_t n)
{
    *s = str_n(s->p + n, s->len - n);
}

static void blanks(struct str *s)
{
    while (s->len && (s->p[0] == ' ' || s->p[0] == '\t' || s->p[0] == ','))
        drop(s, 1);
}

/* Up to max digits off the front; how many. */
static size_t number(struct str *s, size_t max, int64_t *ret)
{
    size_t n = 0;
    int64_t v = 0;

    while (n < max && digit_at(*s, n))
        v = v * 10 + (s->p[n++] - '0');
    drop(s, n);
    *ret = v;
    return n;
}

static bool letter(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

/* The letters at the front in lower case; what is longer than any word of ours is none. */
static size_t word(struct str s, char out[WORD_MAX])
{
    size_t n = 0;

    for (; n < s.len && letter(s.p[n]); n++)
        if (n < WORD_MAX - 1)
            out[n] = (char)(s.p[n] | 32);
    out[n < WORD_MAX ? n : 0] = 0;
    return n;
}

/* Which of them, whole or its first three letters. */
static int among(const char *w, const char *const *longs, int n)
{
    for (int i = 0; i < n; i++)
        if (strcmp(w, longs[i]) == 0 || (strlen(w) == 3 && strncmp(w, longs[i], 3) == 0))
            return i;
    return strcmp(w, "sept") == 0 && n == 12 ? 8 : strcmp(w, "tues") == 0 && n == 7 ? 2 : -1;
}

/* ---- days and times ---- */

static bool set_day(struct parsed_time *d, int64_t year, int64_t month, int64_t day)
{
    int32_t date;

    if (d->has_day || year < 1970 || year > 2200 || !date_is(year, month, day, &date))
        return false;
    d->c.year = (int)year;
    d->c.month = (int)month;
    d->c.day = (int)day;
    d->has_day = true;
    return true;
}

static bool set_time(struct parsed_time *d, int64_t hour, int64_t minute, int64_t second)
{
    if (d->has_time || hour > 24 || minute > 59 || second > 60 || (hour == 24 && (minute || second)))
        return false;
    d->c.hour = (int)hour;
    d->c.minute = (int)minute;
    d->c.second = (int)second;
    d->has_time = true;
    return true;
}

/* "am" or "pm" after an hour, if present. */
static bool half_day(struct str *s, int64_t *hour, bool *ret_there)
{
    char w[WORD_MAX];
    struct str rest = *s;

    blanks(&rest);
    size_t n = word(rest, w);
    *ret_there = strcmp(w, "am") == 0 || strcmp(w, "pm") == 0;
    if (!*ret_there)
        return true;
    if (*hour < 1 || *hour > 12)
        return false;
    *hour = *hour % 12 + (w[0] == 'p' ? 12 : 0);
    drop(&rest, n);
    *s = rest;
    return true;
}

/* Behind "14": ":30", ":30:15.25". */
static bool clock_time(struct parsed_time *d, struct str *s, int64_t hour)
{
    int64_t minute, second = 0, ignored;
    bool there;

    drop(s, 1);
    if (number(s, 2, &minute) != 2)
        return false;
    if (s->len && s->p[0] == ':' && digit_at(*s, 1)) {
        drop(s, 1);
        if (number(s, 2, &second) != 2)
            return false;
        if (s->len && s->p[0] == '.' && digit_at(*s, 1)) {
            drop(s, 1);
            number(s, 9, &ignored);
        }
    }
    return half_day(s, &hour, &there) && set_time(d, hour, minute, second);
}

/* Behind a number: "-11-20", "/20/2026", ".11.2026", ".11.". */
static bool calendar_day(struct parsed_time *d, struct str *s, int64_t first, size_t digits)
{
    char sep = s->p[0];
    int64_t second, third = d->c.year;
    size_t third_digits = 0;

    drop(s, 1);
    size_t second_digits = number(s, 2, &second);
    if (!second_digits)
        return false;
    if (s->len && s->p[0] == sep && digit_at(*s, 1)) {
        drop(s, 1);
        third_digits = number(s, 4, &third);
    } else if (sep == '.' && s->len && s->p[0] == '.') {
        drop(s, 1);
    }
    if (s->len && (s->p[0] == 'T' || s->p[0] == 't') && digit_at(*s, 1))
        drop(s, 1);
    if (digits == 4)
        return third_digits > 0 && third_digits <= 2 && set_day(d, first, second, third);
    if (digits > 2 || (third_digits && third_digits != 4))
        return false;
    if (sep == '/')
        return set_day(d, third, first, second);
    return (sep == '.' || third_digits) && set_day(d, third, second, first);
}

/* ---- words ---- */

static bool relative(struct parsed_time *d, int64_t n, const char *w)
{
    for (size_t i = 0; i < ARRAY_LEN(units); i++)
        if (strcmp(w, units[i].word) == 0) {
            if (n > 1000000 || n < -1000000)
                return false;
            d->add_ms += n * units[i].ms;
            d->months += (int)(n * units[i].months);
            d->has_span = true;
            return d->months > -12000 && d->months < 12000 && d->add_ms > -MOMENT_END_MS && d->add_ms < MOMENT_END_MS;
        }
    return false;
}

static bool month_word(struct parsed_time *d, struct str *s, int month, int64_t day)
{
    int64_t year = d->c.year, told;
    struct str rest = *s;

    blanks(&rest);
    if (number(&rest, 4, &told) == 4 && !digit_at(rest, 0)) {
        year = told;
        *s = rest;
    }
    return set_day(d, year, month + 1, day);
}

static bool plain_word(struct parsed_time *d, const char *w, struct str *s)
{
    static const struct {
        const char *word;
        int days, hour;
    } known[] = {{"today", 0, -1}, {"midnight", 0, 0}, {"noon", 0, 12}, {"tomorrow", 1, -1}, {"yesterday", -1, -1}};
    int i;

    if (strcmp(w, "now") == 0 || strcmp(w, "at") == 0 || strcmp(w, "on") == 0 || strcmp(w, "and") == 0)
        return true;
    for (size_t k = 0; k < ARRAY_LEN(known); k++)
        if (strcmp(w, known[k].word) == 0) {
            if (known[k].hour >= 0)
                return set_time(d, known[k].hour, 0, 0);
            if (d->has_day)
                return false;
            d->has_day = true;
            d->c.day += known[k].days;
            return true;
        }
    if (strcmp(w, "next") == 0 || strcmp(w, "last") == 0) {
        char unit[WORD_MAX];
        blanks(s);
        size_t n = word(*s, unit);
        int sign = w[0] == 'n' ? 1 : -1;
        drop(s, n);
        if (relative(d, sign, unit))
            return true;
        d->weeks = sign;
        d->weekday = among(unit, long_days, 7);
        return d->weekday >= 0;
    }
    if (strcmp(w, "utc") == 0 || strcmp(w, "gmt") == 0 || strcmp(w, "z") == 0) {
        d->has_zone = true;
        return true;
    }
    if ((i = among(w, long_days, 7)) >= 0) {
        if (!d->has_day) /* "Tue 17 Nov": the date decides */
            d->weekday = i;
        return true;
    }
    if ((i = among(w, long_months, 12)) >= 0) {
        int64_t day;
        blanks(s);
        return number(s, 2, &day) > 0 && !digit_at(*s, 0) && month_word(d, s, i, day);
    }
    return false;
}

/* ---- a token at a time ---- */

static bool from_number(struct parsed_time *d, struct str *s, int sign)
{
    int64_t v;
    size_t digits = number(s, 15, &v);
    char w[WORD_MAX];
    bool there;
    int month;

    if (digit_at(*s, 0))
        return false;
    if (digits >= MS_DIGITS && sign > 0 && !d->has_moment) {
        d->moment_ms = v;
        d->has_moment = true;
        return true;
    }
    if (digits == 8 && sign > 0 && !letter(s->len ? s->p[0] : 0)) /* 20261120 */
        return set_day(d, v / 10000, v / 100 % 100, v % 100);
    if (digits > 9)
        return false;
    if (sign > 0 && s->len && (s->p[0] == '-' || s->p[0] == '/' || s->p[0] == '.') && digit_at(*s, 1))
        return calendar_day(d, s, v, digits);
    if (sign > 0 && digits <= 2 && s->len && s->p[0] == ':')
        return clock_time(d, s, v);
    if (sign > 0 && digits <= 2 && half_day(s, &v, &there) && there)
        return set_time(d, v, 0, 0);
    blanks(s);
    size_t n = word(*s, w);
    drop(s, n);
    if (sign > 0 && digits <= 2 && (month = among(w, long_months, 12)) >= 0)
        return month_word(d, s, month, v);
    return n && relative(d, sign * v, w);
}

/* "+01:00", "-0530" after a time. */
static bool from_zone(struct parsed_time *d, struct str *s, int sign)
{
    int64_t h, m = 0;

    if (number(s, 2, &h) != 2 || h > 14)
        return false;
    if (s->len && s->p[0] == ':')
        drop(s, 1);
    if (digit_at(*s, 0) && (number(s, 2, &m) != 2 || m > 59))
        return false;
    d->zone_ms = sign * (h * 3600000 + m * 60000);
    d->has_zone = true;
    return true;
}

static bool one_token(struct parsed_time *d, struct str *s)
{
    char w[WORD_MAX];

    if (digit_at(*s, 0))
        return from_number(d, s, 1);
    if (s->p[0] == '@' && digit_at(*s, 1) && !d->has_moment) {
        drop(s, 1);
        if (number(s, 10, &d->moment_ms) == 0 || digit_at(*s, 0))
            return false;
        d->moment_ms *= 1000;
        d->has_moment = true;
        return true;
    }
    if (s->p[0] == '+' || s->p[0] == '-') {
        int sign = s->p[0] == '+' ? 1 : -1;
        drop(s, 1);
        if (d->has_time && !d->has_zone && digit_at(*s, 1) && (s->len == 2 || digit_at(*s, 2) || s->p[2] == ':'))
            return from_zone(d, s, sign);
        blanks(s);
        return digit_at(*s, 0) && from_number(d, s, sign);
    }
    size_t n = word(*s, w);
    if (!n || !w[0])
        return false;
    drop(s, n);
    return plain_word(d, w, s);
}

static int64_t moment_of(const struct parsed_time *d)
{
    struct civil c = d->c;

    if (d->has_moment)
        return d->moment_ms + d->add_ms;
    bool said = d->has_day || d->has_time || d->weekday >= 0;
    if (!said && !d->months)
        return d->now_ms + d->add_ms;
    if (said && !d->has_time)
        c.hour = c.minute = c.second = 0;
    c.month += d->months;
    if (d->weekday >= 0 && !d->has_day) {
        int ahead = (d->weekday - d->today + 7) % 7;
        if (d->weeks > 0 && !ahead)
            ahead = 7;
        c.day += d->weeks < 0 ? (ahead ? ahead - 7 : -7) : ahead;
    }
    int month = c.month > 0 ? (c.month - 1) % 12 : 0, year = c.year + (c.month > 0 ? (c.month - 1) / 12 : -1000);
    if (year < 1970 || year > 2300)
        return -1;
    c.month = month + 1;
    c.year = year;
    AUTO_ZONE struct zone *utc = d->has_zone || !d->zone ? zone_utc() : NULL;
    return zone_to_ms(utc ? utc : d->zone, &c) - d->zone_ms + d->add_ms;
}

static bool parse(struct parsed_time *d, struct str s)
{
    AUTO_ZONE struct zone *utc = d->zone ? NULL : zone_utc();
    const struct zone *z = utc ? utc : d->zone;
    bool ok = true;

    zone_civil(z, d->now_ms, &d->c);
    d->today = (date_weekday(zone_date(z, d->now_ms)) + 1) % 7;
    d->weekday = -1;
    for (blanks(&s); ok && s.len; blanks(&s))
        ok = one_token(d, &s);
    return ok && !(d->has_moment && (d->has_day || d->has_time)) && !(d->weekday >= 0 && d->has_day && d->weeks);
}

int time_parse(struct str s, const char *what, int64_t now_ms, const struct zone *zone, int64_t *ret, struct err *err)
{
    struct parsed_time d = {.now_ms = now_ms, .zone = zone};
    int64_t v = 0;

    s = str_trim(s);
    if (s.len > 100 || !parse(&d, s) || (v = moment_of(&d)) < 0 || v > MOMENT_END_MS)
        return err_set(err, -EINVAL,
                       "%s '%.*s' is not a time: write 2d 4h, 2026-11-20 14:00, tomorrow 18:00, or "
                       "2026-11-20T14:00:00+01:00",
                       what, (int)MIN(s.len, 60u), s.p);
    *ret = v;
    return 0;
}

int duration_parse(struct str s, const char *what, int64_t *ret, struct err *err)
{
    struct parsed_time d = {0};

    s = str_trim(s);
    bool ok = s.len && s.len <= 100 && parse(&d, s) && d.has_span && !d.months && !d.has_day && !d.has_time &&
              !d.has_moment && !d.has_zone && d.weekday < 0 && d.add_ms > 0;
    if (!ok)
        return err_set(err, -EINVAL, "%s '%.*s' is not a length of time: write 2d 4h, 90m or 1w", what,
                       (int)MIN(s.len, 60u), s.p);
    *ret = d.add_ms;
    return 0;
}

/* ---- out ---- */

const char *time_text(int64_t ms, const struct zone *zone, char out[MOMENT_TEXT])
{
    AUTO_ZONE struct zone *utc = zone ? NULL : zone_utc();
    char text[24];

    snprintf(out, MOMENT_TEXT, "%.*s", ZONE_TO_MINUTE, zone_text(utc ? utc : zone, ms, text));
    return out;
}

const char *time_text_zoned(int64_t ms, const struct zone *zone, char out[MOMENT_TEXT])
{
    const char *abbr = "UTC";

    time_text(ms, zone, out);
    if (zone)
        zone_offset(zone, ms, &abbr);
    size_t n = strlen(out);
    snprintf(out + n, MOMENT_TEXT - n, " %s", abbr);
    return out;
}
