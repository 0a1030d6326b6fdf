/* clock.h: the only place that reads a clock. Wall time is UTC milliseconds; durations come from the monotonic clock.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define MINUTE_MS 60000ll
#define HOUR_MS   3600000ll
#define DAY_MS    86400000ll

int64_t clock_wall_ms(void);
int64_t clock_mono_ms(void);
int64_t clock_mono_us(void);
int64_t clock_mono_rough_ms(void); /* as clock_mono_ms, up to 10 ms behind; reading it costs a tenth */
int64_t clock_boot_ms(void);   /* as clock_mono_ms, but counts while the machine sleeps: for times that other programs
                                * see */
int64_t clock_thread_us(void); /* CPU time of this thread; clock_set_for_test() has no effect */
void clock_set_for_test(
    int64_t wall_ms); /* stops these clocks at these times until the next call; -1 returns to the real ones */

/* "2026-11-15T10:46:12.345Z" into out[32]. */
const char *clock_iso(int64_t wall_ms, char out[32]);
/* "2 h 10 m", "45 s", "3 d 4 h" into out[24]: for people. */
const char *clock_span(int64_t ms, char out[24]);
/* A duration in hours, for sums of GPU time: "12.4 h"; below an hour "34 m". */
const char *clock_hours(int64_t ms, char out[24]);
/* RFC 3339 text, or seconds since the epoch with decimals, or milliseconds (a number of 10^11 and more). 0 or -EINVAL.
 */
int clock_parse(const char *s, size_t n, int64_t *ret);
/* "Sun, 15 Nov 2026 10:46:12 ", then the word for UTC: for HTTP and mail. Years up to 9999. */
const char *clock_mail(int64_t wall_ms, const char *utc, char out[40]);

/* ---- the calendar: dates are days since 1970-01-01 ---- */
struct civil {                                  /* a calendar date and a time of day */
    int year, month, day, hour, minute, second; /* month 1 to 12 */
};
extern const char *const month_words[12];                             /* "Jan", … */
int32_t date_of(int year, int month, int day);                        /* month and day may be beyond their range */
void date_civil(int32_t date, struct civil *ret);                     /* at midnight */
int date_weekday(int32_t date);                                       /* 0 Monday to 6 Sunday */
bool date_is(int64_t year, int64_t month, int64_t day, int32_t *ret); /* false: the calendar has no such day */
static inline int64_t floor_div(int64_t a, int64_t b)
{
    return a / b - (a % b < 0);
}
