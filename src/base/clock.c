/*
 * clock.c: the clocks, the calendar, and time as people and protocols write it. UTC only: no zone files, no locale.
 * The calendar is the usual one counted from 1 March 0000, so that the leap day comes last in a year.
 */
#include "base/clock.h"

#include <errno.h>
#include <stdatomic.h>
#include <time.h>

#include "base/mem.h"
#include "base/str.h"

#define MIN_MS      (-62167219200000ll) /* 0000-01-01T00:00:00.000Z */
#define MAX_MS      253402300799999ll   /* 9999-12-31T23:59:59.999Z */
#define SECONDS_END 100000000000000ll   /* seconds, in ms: numbers from 10^11 on are milliseconds */

static _Atomic int64_t clock_test_ms = -1;

static int64_t clock_us(clockid_t id)
{
    struct timespec ts;

    clock_gettime(id, &ts);
    return (int64_t)ts.tv_sec * 1000000 + ts.tv_nsec / 1000;
}

int64_t clock_wall_ms(void)
{
    int64_t fixed = atomic_load_explicit(&clock_test_ms, memory_order_relaxed);

    return fixed >= 0 ? fixed : clock_us(CLOCK_REALTIME) / 1000;
}

int64_t clock_mono_ms(void)
{
    return clock_mono_us() / 1000;
}

int64_t clock_mono_rough_ms(void)
{
    int64_t fixed = atomic_load_explicit(&clock_test_ms, memory_order_relaxed);

    return fixed >= 0 ? fixed : clock_us(CLOCK_MONOTONIC_COARSE) / 1000;
}

int64_t clock_mono_us(void)
{
    int64_t fixed = atomic_load_explicit(&clock_test_ms, memory_order_relaxed);

    return fixed >= 0 ? fixed * 1000 : clock_us(CLOCK_MONOTONIC);
}

int64_t clock_boot_ms(void)
{
    int64_t fixed = atomic_load_explicit(&clock_test_ms, memory_order_relaxed);

    return fixed >= 0 ? fixed : clock_us(CLOCK_BOOTTIME) / 1000;
}

int64_t clock_thread_us(void)
{
    return clock_us(CLOCK_THREAD_CPUTIME_ID);
}

void clock_set_for_test(int64_t wall_ms)
{
    atomic_store(&clock_test_ms, wall_ms);
}

/* ---- the calendar ---- */

const char *const month_words[12] = {"Jan", "Feb", "Mar", "Apr", "May", "Jun",
                                     "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"};

/* Howard Hinnant's arithmetic, for any year an int has room for. */
int32_t date_of(int year, int month, int day)
{
    int64_t months = (int64_t)year * 12 + month - 1;
    int64_t y = floor_div(months, 12), m = months - y * 12 + 1;

    y -= m <= 2;
    int64_t era = floor_div(y, 400), yoe = y - era * 400, doy = (153 * (m + (m > 2 ? -3 : 9)) + 2) / 5 - 1 + day;
    return (int32_t)(era * 146097 + yoe * 365 + yoe / 4 - yoe / 100 + doy - 719468);
}

void date_civil(int32_t date, struct civil *ret)
{
    int64_t z = (int64_t)date + 719468, era = floor_div(z, 146097), doe = z - era * 146097;
    int64_t yoe = (doe - doe / 1460 + doe / 36524 - doe / 146096) / 365;
    int64_t doy = doe - (365 * yoe + yoe / 4 - yoe / 100), mp = (5 * doy + 2) / 153;

    *ret = (struct civil){.day = (int)(doy - (153 * mp + 2) / 5 + 1), .month = (int)(mp < 10 ? mp + 3 : mp - 9)};
    ret->year = (int)(yoe + era * 400 + (ret->month <= 2));
}

int date_weekday(int32_t date)
{
    int64_t d = (int64_t)date + 3; /* 1970-01-01 was a Thursday */

    return (int)(d - floor_div(d, 7) * 7);
}

bool date_is(int64_t year, int64_t month, int64_t day, int32_t *ret)
{
    struct civil c;

    if (year < 0 || year > 9999 || month < 1 || month > 12 || day < 1 || day > 31)
        return false;
    int32_t date = date_of((int)year, (int)month, (int)day);
    date_civil(date, &c);
    if (c.day != day)
        return false;
    *ret = date;
    return true;
}

/* ---- text ---- */

static char *clock_put(char *at, int v, int digits)
{
    for (int i = digits - 1; i >= 0; i--, v /= 10)
        at[i] = (char)('0' + v % 10);
    return at + digits;
}

const char *clock_iso(int64_t wall_ms, char out[32])
{
    struct civil c;

    wall_ms = MAX(MIN_MS, MIN(MAX_MS, wall_ms)); /* four digits of year are what RFC 3339 has */
    int64_t days = floor_div(wall_ms, DAY_MS);
    int ms = (int)(wall_ms - days * DAY_MS);
    date_civil((int32_t)days, &c);
    char *at = clock_put(out, c.year, 4);
    *at++ = '-';
    at = clock_put(at, c.month, 2);
    *at++ = '-';
    at = clock_put(at, c.day, 2);
    *at++ = 'T';
    at = clock_put(at, ms / 3600000, 2);
    *at++ = ':';
    at = clock_put(at, ms / 60000 % 60, 2);
    *at++ = ':';
    at = clock_put(at, ms / 1000 % 60, 2);
    *at++ = '.';
    at = clock_put(at, ms % 1000, 3);
    *at++ = 'Z';
    *at = 0;
    return out;
}

const char *clock_mail(int64_t wall_ms, const char *utc, char out[40])
{
    static const char days[] = "MonTueWedThuFriSatSun";
    int64_t s = MAX(0, MIN(wall_ms, MAX_MS)) / 1000;
    int32_t date = (int32_t)(s / 86400);
    struct civil c;

    date_civil(date, &c);
    snprintf(out, 40, "%.3s, %02d %s %04d %02d:%02d:%02d %s", days + (size_t)date_weekday(date) * 3, c.day,
             month_words[c.month - 1], c.year, (int)(s % 86400 / 3600), (int)(s % 3600 / 60), (int)(s % 60), utc);
    return out;
}

/* The two largest units, the second only when it is not zero. */
const char *clock_hours(int64_t ms, char out[24])
{
    if (ms >= HOUR_MS || ms <= 0)
        snprintf(out, 24, ms > 0 ? "%.1f h" : "0 h", (double)ms / (double)HOUR_MS);
    else
        snprintf(out, 24, ms >= MINUTE_MS ? "%d m" : "< 1 m", (int)(ms / MINUTE_MS));
    return out;
}

const char *clock_span(int64_t ms, char out[24])
{
    static const struct {
        const char *name;
        int64_t ms;
    } units[] = {{"d", DAY_MS}, {"h", 3600000}, {"m", 60000}, {"s", 1000}, {"ms", 1}};
    uint64_t u = ms < 0 ? 0 - (uint64_t)ms : (uint64_t)ms;
    char text[64];
    size_t i = 0;

    while (i < ARRAY_LEN(units) - 1 && u < (uint64_t)units[i].ms)
        i++;
    if (u == 0)
        i = 3; /* "0 s" */
    int n = snprintf(text, sizeof(text), "%s%llu %s", ms < 0 ? "-" : "",
                     (unsigned long long)(u / (uint64_t)units[i].ms), units[i].name);
    if (i < 3) {
        unsigned next = (unsigned)(u % (uint64_t)units[i].ms / (uint64_t)units[i + 1].ms);
        if (next)
            snprintf(text + n, sizeof(text) - (size_t)n, " %u %s", next, units[i + 1].name);
    }
    mem_copy_str(out, 24, text);
    return out;
}

/* Exactly `digits` digits off the front, between lo and hi. */
static bool clock_get(struct str *s, size_t digits, int lo, int hi, int *ret)
{
    uint64_t v;

    if (s->len < digits || !str_uint(str_n(s->p, digits), &v) || v < (uint64_t)lo || v > (uint64_t)hi)
        return false;
    *ret = (int)v;
    *s = str_n(s->p + digits, s->len - digits);
    return true;
}

static bool clock_zone(struct str *s, int64_t *ret_ms)
{
    int h, m, sign = str_starts(*s, "-") ? -1 : 1;

    if (str_skip(s, "Z") || str_skip(s, "z")) {
        *ret_ms = 0;
        return true;
    }
    if (!str_skip(s, "+") && !str_skip(s, "-"))
        return false;
    if (!clock_get(s, 2, 0, 23, &h) || !str_skip(s, ":") || !clock_get(s, 2, 0, 59, &m))
        return false;
    *ret_ms = sign * (h * 3600000ll + m * 60000ll);
    return true;
}

int clock_parse(const char *text, size_t n, int64_t *ret)
{
    struct str s = str_n(text, n);
    int year, month, day, h, m, sec, ms = 0;
    int64_t zone, v;
    int32_t date;

    if (n < 5 || text[4] != '-') {
        if (!str_fixed(s, 1000, &v))
            return -EINVAL;
        if (v >= SECONDS_END || v <= -SECONDS_END)
            v /= 1000; /* milliseconds, as the API itself gives them */
        if (v < MIN_MS || v > MAX_MS)
            return -EINVAL;
        *ret = v;
        return 0;
    }
    if (!clock_get(&s, 4, 0, 9999, &year) || !str_skip(&s, "-") || !clock_get(&s, 2, 1, 12, &month) ||
        !str_skip(&s, "-") || !clock_get(&s, 2, 1, 31, &day) || !date_is(year, month, day, &date))
        return -EINVAL;
    if (!str_skip(&s, "T") && !str_skip(&s, "t") && !str_skip(&s, " "))
        return -EINVAL;
    if (!clock_get(&s, 2, 0, 23, &h) || !str_skip(&s, ":") || !clock_get(&s, 2, 0, 59, &m) || !str_skip(&s, ":") ||
        !clock_get(&s, 2, 0, 60, &sec)) /* 60: a leap second, counted as the first of the next minute */
        return -EINVAL;
    if (str_skip(&s, ".")) {
        int digit, place = 100, digits = 0;
        for (; clock_get(&s, 1, 0, 9, &digit); digits++, place /= 10)
            ms += digit * place; /* past milliseconds place is 0 */
        if (digits == 0)
            return -EINVAL;
    }
    if (!clock_zone(&s, &zone) || s.len)
        return -EINVAL;
    *ret = date * DAY_MS + h * 3600000ll + m * 60000ll + sec * 1000ll + ms - zone;
    return 0;
}
