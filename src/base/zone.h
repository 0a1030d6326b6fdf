/*
 * zone.h: local time of any zone of the system's zone database, on any thread. The C library knows one zone per process
 * (TZ); a hub needs several concurrently, so this reads the files under /usr/share/zoneinfo.
 *
 * Z1 A zone never changes once loaded and may be used by any thread.
 * Z2 Any input is safe: an invalid file is refused with a message in err.
 * Z3 Every time has one local time. Of a local time that comes twice the first is used; for one that never comes, the
 *    first time after the gap.
 */
#pragma once

#include "base/clock.h"
#include "base/err.h"
#include "base/str.h"

#define ZONE_NAME_MAX 64

struct zone;
/* "Europe/Berlin", "UTC", or a rule in the format of TZ ("CET-1CEST,M3.5.0,M10.5.0/3"); empty or NULL: the system's
 * (TZ, else /etc/localtime, else UTC). The caller owns *ret. Returns -EINVAL or -ENOENT with a message in err. */
int zone_load(const char *name, struct zone **ret, struct err *err);
struct zone *zone_utc(void);
void zone_free(struct zone *z);
const char *zone_name(const struct zone *z); /* "Europe/Berlin"; "local" where the system's has no name */
/* The content of a zone file; for tests and fuzzing. */
int zone_read(struct str bytes, const char *name, struct zone **ret, struct err *err);

/* Seconds to add to UTC at that time. ret_abbr (may be NULL): "CEST". */
int32_t zone_offset(const struct zone *z, int64_t at_ms, const char **ret_abbr);
void zone_civil(const struct zone *z, int64_t at_ms, struct civil *ret);
const char *zone_text(const struct zone *z, int64_t at_ms, char out[24]); /* "2026-11-15 14:00:05" */
#define ZONE_TO_MINUTE 16                                                 /* bytes of that without the seconds */
/* Years 1 to 9999; values beyond their range carry over (month 13, day 0, hour 24). */
int64_t zone_to_ms(const struct zone *z, const struct civil *c);

/* Dates: clock.h. */
int32_t zone_date(const struct zone *z, int64_t at_ms);
int64_t zone_date_ms(const struct zone *z, int32_t date); /* start of the day */
const char *date_text(int32_t date, char out[16]);        /* "2026-11-15" */
bool date_parse(struct str s, int32_t *ret);              /* the reverse of date_text; false if the calendar has no such
                                                           * date */
bool minute_parse(struct str s, int32_t *ret);            /* "8:05", "23:59": minutes of the day */

/* Parts of a calendar. week_start: 0 Monday to 6 Sunday. */
enum period { PERIOD_HOUR, PERIOD_DAY, PERIOD_WEEK, PERIOD_MONTH, PERIOD_YEAR, PERIOD_ALL, PERIODS };
extern const char *const week_days[8];              /* "monday", ..., NULL */
extern const char *const period_words[PERIODS + 1]; /* "hour", ..., "all", NULL */
/* The start of the period that contains at_ms, and the start of the next; for PERIOD_ALL at_ms and INT64_MAX. */
int64_t zone_period(const struct zone *z, enum period p, int week_start, int64_t at_ms, int64_t *ret_next);
/* "2026-11-15 14:00", "2026-11-15", "2026-W46" (weeks from Monday; else the first day's date), "2026-11", "2026". */
const char *zone_period_label(const struct zone *z, enum period p, int week_start, int64_t from_ms, char out[24]);
