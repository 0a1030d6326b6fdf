/*
 * zone.c: zone files (RFC 8536) and the rule at their end, which applies to all times after the last change in the
 * table. The calendar is the proleptic Gregorian one.
 */
#include "base/zone.h"

#include <errno.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/file.h"
#include "base/mem.h"
#include "base/order.h"

#define FOLDER     "/usr/share/zoneinfo"
#define LOCALTIME  "/etc/localtime"
#define FILE_MAX   (256u << 10)
#define TIMES_MAX  4096
#define TYPES_MAX  256
#define OFFSET_MAX (26 * 3600) /* what RFC 8536 allows */
#define ABBR_MAX   8
#define FIRST_MS   (-62135596800000ll) /* year 1 */
#define LAST_MS    253402300799999ll   /* year 9999 */

struct kind { /* of local time: standard, summer */
    int32_t offset;
    char abbr[ABBR_MAX];
};

/* When a change comes: the week'th weekday of a month, or a day of the year; then seconds on the wall clock. */
struct change {
    enum { BY_WEEK, BY_DAY, BY_DAY_NO_LEAP } by;
    int month, week, day; /* BY_WEEK: day 0 is Sunday; else the day, from 0 (BY_DAY) or 1 */
    int32_t seconds;
};

struct rule {
    bool set, summer;
    struct kind std, dst;
    struct change to_dst, to_std;
};

struct zone {
    char name[ZONE_NAME_MAX];
    size_t n_times, n_kinds;
    int64_t *times; /* seconds; from times[i] on it is kinds[which[i]] */
    uint8_t *which;
    struct kind *kinds; /* kinds[0]: before the first */
    struct rule rule;   /* after the last */
};

/* ---- the calendar ---- */

const char *date_text(int32_t date, char out[16])
{
    struct civil c;

    date_civil(date, &c);
    snprintf(out, 16, "%04d-%02d-%02d", MAX(-999, MIN(c.year, 9999)), c.month, c.day);
    return out;
}

bool date_parse(struct str s, int32_t *ret)
{
    uint64_t year, month, day;

    if (s.len != 10 || s.p[4] != '-' || s.p[7] != '-' || !str_uint(str_n(s.p, 4), &year) ||
        !str_uint(str_n(s.p + 5, 2), &month) || !str_uint(str_n(s.p + 8, 2), &day) || !year)
        return false;
    return date_is((int64_t)year, (int64_t)month, (int64_t)day, ret);
}

bool minute_parse(struct str s, int32_t *ret)
{
    struct str hour;
    uint64_t h, m;

    s = str_trim(s);
    if (!str_cut(&s, ':', &hour) || hour.len > 2 || s.len != 2 || !str_uint(hour, &h) || !str_uint(s, &m) || h > 23 ||
        m > 59)
        return false;
    *ret = (int32_t)(h * 60 + m);
    return true;
}

/* ---- the rule: "CET-1CEST,M3.5.0,M10.5.0/3" ---- */

static bool rule_name(struct str *s, char out[ABBR_MAX])
{
    size_t n = 0;
    bool quoted = str_skip(s, "<");

    while (n < s->len && (quoted ? s->p[n] != '>' : (s->p[n] | 32) >= 'a' && (s->p[n] | 32) <= 'z')) {
        char c = s->p[n++];
        if (quoted && !((c | 32) >= 'a' && (c | 32) <= 'z') && !(c >= '0' && c <= '9') && c != '+' && c != '-')
            return false;
    }
    if (n < 3 || n >= ABBR_MAX || (quoted && n == s->len))
        return false;
    memcpy(out, s->p, n);
    out[n] = 0;
    *s = str_n(s->p + n + quoted, s->len - n - quoted);
    return true;
}

static bool rule_int(struct str *s, int lo, int hi, int *ret)
{
    size_t n = 0;
    uint64_t v;

    while (n < s->len && n < 4 && s->p[n] >= '0' && s->p[n] <= '9')
        n++;
    if (!n || !str_uint(str_n(s->p, n), &v) || v < (uint64_t)lo || v > (uint64_t)hi)
        return false;
    *ret = (int)v;
    *s = str_n(s->p + n, s->len - n);
    return true;
}

/* [+-]hh[:mm[:ss]] */
static bool rule_time(struct str *s, int hours_max, int32_t *ret)
{
    int h, m = 0, sec = 0, sign = str_skip(s, "-") ? -1 : 1;

    if (sign > 0)
        str_skip(s, "+");
    if (!rule_int(s, 0, hours_max, &h) ||
        (str_skip(s, ":") && (!rule_int(s, 0, 59, &m) || (str_skip(s, ":") && !rule_int(s, 0, 59, &sec)))))
        return false;
    *ret = sign * (h * 3600 + m * 60 + sec);
    return true;
}

static bool rule_change(struct str *s, struct change *c)
{
    *c = (struct change){.seconds = 7200};
    if (!str_skip(s, ","))
        return false;
    if (str_skip(s, "M")) {
        c->by = BY_WEEK;
        if (!rule_int(s, 1, 12, &c->month) || !str_skip(s, ".") || !rule_int(s, 1, 5, &c->week) || !str_skip(s, ".") ||
            !rule_int(s, 0, 6, &c->day))
            return false;
    } else {
        c->by = str_skip(s, "J") ? BY_DAY_NO_LEAP : BY_DAY;
        if (!rule_int(s, c->by == BY_DAY ? 0 : 1, 365, &c->day))
            return false;
    }
    return !str_skip(s, "/") || rule_time(s, 167, &c->seconds);
}

static bool rule_parse(struct str s, struct rule *ret)
{
    struct rule r = {.set = true};

    if (!rule_name(&s, r.std.abbr) || !rule_time(&s, 24, &r.std.offset))
        return false;
    r.std.offset = -r.std.offset; /* west is positive there */
    if (s.len) {
        r.summer = true;
        r.dst.offset = -r.std.offset - 3600;
        if (!rule_name(&s, r.dst.abbr) || (s.len && s.p[0] != ',' && !rule_time(&s, 24, &r.dst.offset)))
            return false;
        r.dst.offset = -r.dst.offset;
        if (!s.len)
            s = STR(",M3.2.0,M11.1.0"); /* the default of C libraries */
        if (!rule_change(&s, &r.to_dst) || !rule_change(&s, &r.to_std) || s.len)
            return false;
    }
    *ret = r;
    return true;
}

/* Seconds on the wall, as if that were UTC. */
static int64_t change_at(const struct change *c, int year)
{
    int32_t first = date_of(year, 1, 1), date;
    bool leap = date_of(year + 1, 1, 1) - first == 366;

    if (c->by == BY_DAY) {
        date = first + c->day;
    } else if (c->by == BY_DAY_NO_LEAP) {
        date = first + c->day - 1 + (leap && c->day >= 60);
    } else {
        int32_t from = date_of(year, c->month, 1), next = date_of(year, c->month + 1, 1);
        date = from + (c->day + 13 - date_weekday(from)) % 7 + (c->week - 1) * 7; /* c->day + 6: as Monday counts */
        while (date >= next)
            date -= 7;
    }
    return (int64_t)date * 86400 + c->seconds;
}

static const struct kind *rule_at(const struct rule *r, int64_t at)
{
    struct civil c;

    if (!r->summer)
        return &r->std;
    date_civil((int32_t)floor_div(at + r->std.offset, 86400), &c);
    int64_t on = change_at(&r->to_dst, c.year) - r->std.offset, off = change_at(&r->to_std, c.year) - r->dst.offset;
    bool summer = on < off ? at >= on && at < off : at >= on || at < off;
    return summer ? &r->dst : &r->std;
}

/* ---- the file ---- */

struct head {
    uint32_t version, n_utc, n_wall, n_leap, n_times, n_kinds, n_chars;
};

static uint32_t be32(const uint8_t *p)
{
    return (uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 | (uint32_t)p[2] << 8 | p[3];
}

static bool head_read(struct rd *r, struct head *h)
{
    const uint8_t *p = rd_bytes(r, 44);

    if (!p || memcmp(p, "TZif", 4) != 0)
        return false;
    *h = (struct head){p[4], be32(p + 20), be32(p + 24), be32(p + 28), be32(p + 32), be32(p + 36), be32(p + 40)};
    return h->n_times <= TIMES_MAX && h->n_kinds >= 1 && h->n_kinds <= TYPES_MAX && h->n_chars <= 1024 &&
           h->n_leap <= 1024 && h->n_utc <= TYPES_MAX && h->n_wall <= TYPES_MAX;
}

static size_t head_skip(const struct head *h, size_t wide)
{
    return h->n_times * (wide + 1) + h->n_kinds * (size_t)6 + h->n_chars + h->n_leap * (wide + 4) + h->n_wall +
           h->n_utc;
}

static bool body_read(struct rd *r, const struct head *h, size_t wide, struct zone *z)
{
    const uint8_t *times = rd_bytes(r, h->n_times * wide), *which = rd_bytes(r, h->n_times);
    const uint8_t *kinds = rd_bytes(r, (size_t)h->n_kinds * 6), *chars = rd_bytes(r, h->n_chars);

    rd_bytes(r, h->n_leap * (wide + 4) + h->n_wall + h->n_utc);
    if (r->bad || !times || !which || !kinds || !chars)
        return false;
    z->n_times = h->n_times;
    z->n_kinds = h->n_kinds;
    z->times = mem_zero(MAX(h->n_times, 1u), sizeof(*z->times));
    z->which = mem_zero(MAX(h->n_times, 1u), 1);
    z->kinds = mem_zero(h->n_kinds, sizeof(*z->kinds));
    for (size_t i = 0; i < h->n_times; i++) {
        const uint8_t *p = times + i * wide;
        int64_t at = wide == 8 ? (int64_t)((uint64_t)be32(p) << 32 | be32(p + 4)) : (int32_t)be32(p);
        if (which[i] >= h->n_kinds || (i && at <= z->times[i - 1]))
            return false;
        z->times[i] = at;
        z->which[i] = which[i];
    }
    for (size_t i = 0; i < h->n_kinds; i++) {
        const uint8_t *p = kinds + i * 6;
        struct kind *k = &z->kinds[i];
        k->offset = (int32_t)be32(p);
        if (k->offset < -OFFSET_MAX || k->offset > OFFSET_MAX || p[5] >= h->n_chars)
            return false;
        for (size_t c = 0; c < ABBR_MAX - 1 && p[5] + c < h->n_chars && chars[p[5] + c]; c++) {
            unsigned char one = chars[p[5] + c];
            if (one <= ' ' || one > '~')
                return false;
            k->abbr[c] = (char)one;
        }
    }
    return true;
}

static bool zone_bytes(struct str bytes, struct zone *z)
{
    struct rd r = rd_of(bytes.p, bytes.len);
    struct head h;

    if (!head_read(&r, &h))
        return false;
    if (h.version < '2') /* times of 32 bits are all there is */
        return body_read(&r, &h, 4, z);
    rd_bytes(&r, head_skip(&h, 4));
    if (r.bad || !head_read(&r, &h) || !body_read(&r, &h, 8, z))
        return false;
    struct str foot = str_n(r.p, rd_left(&r)), rule;
    if (!str_skip(&foot, "\n") || !str_line(&foot, &rule))
        return false;
    return rule.len == 0 || rule_parse(rule, &z->rule);
}

int zone_read(struct str bytes, const char *name, struct zone **ret, struct err *err)
{
    struct zone *z = mem_zero(1, sizeof(*z));

    mem_copy_str(z->name, sizeof(z->name), name);
    if (!zone_bytes(bytes, z)) {
        zone_free(z);
        return err_set(err, -EINVAL, "'%s' is not a time zone: its file cannot be read", name);
    }
    *ret = z;
    return 0;
}

/* ---- by name ---- */

static struct zone *zone_of_rule(const char *name, const struct rule *rule)
{
    struct zone *z = mem_zero(1, sizeof(*z));

    mem_copy_str(z->name, sizeof(z->name), name);
    z->rule = *rule;
    z->kinds = mem_zero(1, sizeof(*z->kinds));
    z->n_kinds = 1;
    z->kinds[0] = rule->std;
    return z;
}

struct zone *zone_utc(void)
{
    struct rule utc = {.set = true, .std = {0, "UTC"}};

    return zone_of_rule("UTC", &utc);
}

/* What may be a path below the folder, and nothing else. */
static bool zone_name_ok(struct str s)
{
    if (!s.len || s.len >= ZONE_NAME_MAX || s.p[0] == '/' || s.p[0] == '.' || str_find(s, "..") >= 0)
        return false;
    for (size_t i = 0; i < s.len; i++) {
        char c = s.p[i];
        if (!((c | 32) >= 'a' && (c | 32) <= 'z') && !(c >= '0' && c <= '9') && !strchr("_+-/.", c))
            return false;
    }
    return true;
}

static int zone_file(const char *path, const char *name, struct zone **ret, struct err *err)
{
    AUTO_BUF b = {0};
    int r = file_read(path, FILE_MAX, &b, err);

    return r < 0 ? r : zone_read(buf_str(&b), name, ret, err);
}

static int zone_named(struct str name, struct zone **ret, struct err *err)
{
    struct rule rule;

    if (str_eq(name, "UTC") || str_eq(name, "Etc/UTC") || str_eq(name, "Z")) {
        *ret = zone_utc();
        return 0;
    }
    if (zone_name_ok(name)) {
        AUTO_FREE char *text = mem_strn(name.p, name.len), *path = mem_fmt(FOLDER "/%s", text);
        if (access(path, R_OK) == 0 && zone_file(path, text, ret, err) == 0)
            return 0;
    }
    if (name.len < ZONE_NAME_MAX && rule_parse(name, &rule)) {
        AUTO_FREE char *text = mem_strn(name.p, name.len);
        *ret = zone_of_rule(text, &rule);
        return 0;
    }
    return err_set(err, -ENOENT,
                   "time zone '%.*s' is not known: write one as Europe/Berlin or UTC (the list is in " FOLDER ")",
                   (int)MIN(name.len, 60u), name.p);
}

static int zone_system(struct zone **ret, struct err *err)
{
    const char *tz = getenv("TZ");
    char to[512];

    if (tz && tz[0] == ':')
        tz++;
    if (tz && tz[0])
        return zone_named(str_of(tz), ret, err);
    ssize_t n = tz ? -1 : readlink(LOCALTIME, to, sizeof(to));
    int at = n > 0 ? str_find(str_n(to, (size_t)n), "zoneinfo/") : -1;
    if (at >= 0 && zone_named(str_n(to + at + 9, (size_t)n - (size_t)at - 9), ret, err) == 0)
        return 0;
    if (!tz && access(LOCALTIME, R_OK) == 0)
        return zone_file(LOCALTIME, "local", ret, err);
    *ret = zone_utc();
    return 0;
}

int zone_load(const char *name, struct zone **ret, struct err *err)
{
    return name && name[0] ? zone_named(str_of(name), ret, err) : zone_system(ret, err);
}

void zone_free(struct zone *z)
{
    if (!z)
        return;
    FREE_ALL(z->times, z->which, z->kinds);
    free(z);
}

const char *zone_name(const struct zone *z)
{
    return z->name;
}

/* ---- times ---- */

static int64_t clip_ms(int64_t at_ms)
{
    return MAX(FIRST_MS, MIN(at_ms, LAST_MS));
}

static const struct kind *zone_kind(const struct zone *z, int64_t at)
{
    size_t lo = COUNT_BEFORE(z->n_times, i, z->times[i] <= at); /* the first change after at */

    if (lo == z->n_times && z->rule.set)
        return rule_at(&z->rule, at);
    return lo ? &z->kinds[z->which[lo - 1]] : &z->kinds[0];
}

int32_t zone_offset(const struct zone *z, int64_t at_ms, const char **ret_abbr)
{
    const struct kind *k = zone_kind(z, floor_div(clip_ms(at_ms), 1000));

    if (ret_abbr)
        *ret_abbr = k->abbr;
    return k->offset;
}

void zone_civil(const struct zone *z, int64_t at_ms, struct civil *ret)
{
    at_ms = clip_ms(at_ms);
    int64_t wall = floor_div(at_ms, 1000) + zone_offset(z, at_ms, NULL), date = floor_div(wall, 86400);
    int second = (int)(wall - date * 86400);

    date_civil((int32_t)date, ret);
    ret->hour = second / 3600;
    ret->minute = second / 60 % 60;
    ret->second = second % 60;
}

const char *zone_text(const struct zone *z, int64_t at_ms, char out[24])
{
    struct civil c;
    char day[16];

    zone_civil(z, at_ms, &c);
    snprintf(out, 24, "%.10s %02u:%02u:%02u", date_text(zone_date(z, at_ms), day), (unsigned)c.hour % 24u,
             (unsigned)c.minute % 60u, (unsigned)c.second % 60u);
    return out;
}

/*
 * Converts wall seconds to UTC. Only the offsets valid a day before and after can matter. Of the times they give, the
 * first that really shows this wall time is used; if none does, it is in a gap.
 */
static int64_t zone_wall_ms(const struct zone *z, int64_t wall)
{
    int64_t guess_ms = clip_ms(wall * 1000);
    int32_t before = zone_offset(z, guess_ms - DAY_MS, NULL), after = zone_offset(z, guess_ms + DAY_MS, NULL);
    int64_t first_ms = (wall - MAX(before, after)) * 1000, second_ms = (wall - MIN(before, after)) * 1000;

    if (zone_offset(z, first_ms, NULL) == MAX(before, after))
        return first_ms;
    if (zone_offset(z, second_ms, NULL) == MIN(before, after))
        return second_ms;
    /* in a gap: find the first time after the change */
    int64_t lo = first_ms, hi = second_ms;
    int32_t old = zone_offset(z, lo, NULL);
    while (lo + 1 < hi) {
        int64_t mid = lo + (hi - lo) / 2;
        if (zone_offset(z, mid, NULL) == old)
            lo = mid;
        else
            hi = mid;
    }
    return hi;
}

int64_t zone_to_ms(const struct zone *z, const struct civil *c)
{
    int64_t date = date_of(MAX(1, MIN(c->year, 9999)), c->month, c->day);

    return zone_wall_ms(z, date * 86400 + c->hour * 3600ll + c->minute * 60ll + c->second);
}

int32_t zone_date(const struct zone *z, int64_t at_ms)
{
    at_ms = clip_ms(at_ms);
    return (int32_t)floor_div(floor_div(at_ms, 1000) + zone_offset(z, at_ms, NULL), 86400);
}

int64_t zone_date_ms(const struct zone *z, int32_t date)
{
    return zone_wall_ms(z, (int64_t)date * 86400);
}

/* ---- periods ---- */

const char *const week_days[8] = {"monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday", NULL};
const char *const period_words[PERIODS + 1] = {"hour", "day", "week", "month", "year", "all", NULL};

int64_t zone_period(const struct zone *z, enum period p, int week_start, int64_t at_ms, int64_t *ret_next)
{
    struct civil c;

    at_ms = clip_ms(at_ms);
    int32_t date = zone_date(z, at_ms), next = date + 1;
    if (p == PERIOD_ALL) {
        *ret_next = INT64_MAX;
        return at_ms;
    }
    if (p == PERIOD_HOUR) { /* hours of the wall clock: they start where its minutes are 0, and continue through a
                             * change */
        int64_t off_ms = zone_offset(z, at_ms, NULL) * 1000ll;
        int64_t from_ms = floor_div(at_ms + off_ms, 3600000) * 3600000 - off_ms;
        *ret_next = from_ms + 3600000;
        return from_ms;
    }
    date_civil(date, &c);
    if (p == PERIOD_WEEK) {
        date -= (date_weekday(date) - week_start + 7) % 7;
        next = date + 7;
    } else if (p == PERIOD_MONTH) {
        date = date_of(c.year, c.month, 1);
        next = date_of(c.year, c.month + 1, 1);
    } else if (p == PERIOD_YEAR) {
        date = date_of(c.year, 1, 1);
        next = date_of(c.year + 1, 1, 1);
    }
    *ret_next = zone_date_ms(z, next);
    return zone_date_ms(z, date);
}

/* ISO 8601: the week of the year that its Thursday is in. */
static void week_label(int32_t monday, char out[24])
{
    struct civil c;

    date_civil(monday + 3, &c);
    int week = (monday + 3 - date_of(c.year, 1, 1)) / 7 + 1;
    snprintf(out, 24, "%04d-W%02d", c.year, week);
}

const char *zone_period_label(const struct zone *z, enum period p, int week_start, int64_t from_ms, char out[24])
{
    struct civil c;
    char date[16];

    zone_civil(z, from_ms, &c);
    date_text(date_of(c.year, c.month, c.day), date);
    if (p == PERIOD_HOUR)
        snprintf(out, 24, "%s %02d:%02d", date, c.hour, c.minute);
    else if (p == PERIOD_WEEK && week_start == 0)
        week_label(zone_date(z, from_ms), out);
    else if (p == PERIOD_MONTH)
        snprintf(out, 24, "%.7s", date);
    else if (p == PERIOD_YEAR)
        snprintf(out, 24, "%.4s", date);
    else
        snprintf(out, 24, "%s", date);
    return out;
}
