/*
 * scale.c: chooses an axis' marks: round numbers are 1, 2 and 5 times a power of ten; round moments are those of a
 * clock and a calendar.
 */
#include "draw/scale.h"

#include <math.h>

#include "base/mem.h"

/* ---- numbers ---- */

/* What ticks count, for data as large as this. */
static void unit_of(struct scale *s, const char *unit, double most)
{
    static const char *const binary[] = {"B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
    static const struct {
        const char *unit;
        double from, per; /* of data as large as this, so many make one */
        const char *shown;
    } units[] = {{"ratio", 0, 0.01, "%"},       {"seconds", 7200, 3600, "h"},  {"seconds", 120, 60, "min"},
                 {"seconds", 0, 1, "s"},        {"watts", 10000, 1000, "kW"},  {"watts", 0, 1, "W"},
                 {"joules", 36e5, 36e5, "kWh"}, {"joules", 0, 3600, "Wh"},     {"celsius", 0, 1, "°C"},
                 {"hertz", 1e9, 1e9, "GHz"},    {"hertz", 1e6, 1e6, "MHz"},    {"hertz", 1e3, 1e3, "kHz"},
                 {"hertz", 0, 1, "Hz"},         {"teraflops", 0, 1, "TFLOP/s"}};
    size_t i = 0;

    unit = unit ? unit : "";
    s->per = 1;
    if (strncmp(unit, "bytes", 5) == 0) {
        for (; most / s->per >= 1024 && i + 1 < ARRAY_LEN(binary); i++)
            s->per *= 1024;
        snprintf(s->unit, sizeof(s->unit), "%s%s", binary[i], unit[5] ? "/s" : "");
        return;
    }
    while (i < ARRAY_LEN(units) && (strcmp(unit, units[i].unit) != 0 || most < units[i].from))
        i++;
    mem_copy_str(s->unit, sizeof(s->unit), i < ARRAY_LEN(units) ? units[i].shown : unit);
    s->per = i < ARRAY_LEN(units) ? units[i].per : 1;
}

/* The round step that is at least raw. */
static double round_step(double raw)
{
    double power = pow(10, floor(log10(raw))), times = raw / power;

    return power * (times <= 1.0000001 ? 1 : times <= 2.0000001 ? 2 : times <= 5.0000001 ? 5 : 10);
}

/* "12 500", "0.25"; thin blanks between thousands. */
static void number_text(char *out, size_t size, double v, int decimals)
{
    char plain[64];
    size_t at = 0;

    if (fabs(v) >= 1e15) {
        snprintf(out, size, "%.3g", v);
        return;
    }
    snprintf(plain, sizeof(plain), "%.*f", decimals, v);
    if (strcmp(plain, "-0") == 0)
        snprintf(plain, sizeof(plain), "0");
    size_t sign = plain[0] == '-', whole = strcspn(plain + sign, ".,");
    for (size_t i = 0; plain[i] && at + 8 < size; i++) {
        if (whole > 4 && i > sign && i < sign + whole && (whole - (i - sign)) % 3 == 0) {
            memcpy(out + at, "\xe2\x80\x89", 3);
            at += 3;
        }
        out[at++] = plain[i] == ',' ? '.' : plain[i];
    }
    out[at] = 0;
}

static int decimals_of(double step)
{
    int d = (int)ceil(-log10(step) - 1e-9);

    return d < 0 ? 0 : d > 9 ? 9 : d;
}

static double sane(double v)
{
    return isfinite(v) ? MAX(-1e30, MIN(1e30, v)) : 0;
}

void scale_linear(struct scale *ret, const char *unit, double lo, double hi, bool exact, int want)
{
    struct scale *s = ret;

    *s = (struct scale){0};
    lo = sane(lo), hi = sane(hi);
    if (hi < lo) {
        double t = lo;
        lo = hi, hi = t;
    }
    if (!exact && lo > 0 && lo < hi * 0.6)
        lo = 0;
    if (!exact && hi < 0 && hi > lo * 0.6)
        hi = 0;
    unit_of(s, unit, MAX(fabs(lo), fabs(hi)));
    lo /= s->per, hi /= s->per;
    double least = MAX(fabs(hi), fabs(lo)) * 1e-9; /* closer together than numbers of this size can tell */
    if (hi - lo <= MAX(least, 1e-12)) {
        double room = MAX(fabs(hi) * 0.1, hi == 0 && lo == 0 ? 1 : 1e-9);
        hi += room;
        lo = lo >= 0 && lo - room < 0 ? 0 : lo == 0 ? 0 : lo - room;
    }
    double step = round_step((hi - lo) / MAX(want, 1));
    if (!exact) {
        double low = floor(lo / step + 1e-9) * step, high = ceil(hi / step - 1e-9) * step, over = (hi - lo) * 0.04;
        /* To the next tick, unless that leaves much of the field empty. */
        lo = lo - low > step / 2 ? lo - over : low;
        hi = high - hi > step / 2 ? hi + over : high;
    }
    int decimals = decimals_of(step);
    for (double v = ceil(lo / step - 1e-9) * step; v <= hi + step * 1e-6 && s->n < TICKS_MAX; v += step) {
        struct tick *t = &s->v[s->n++];
        double shown = fabs(v) < step * 1e-6 ? 0 : v;
        t->at = shown * s->per;
        number_text(t->text, sizeof(t->text), shown, decimals);
    }
    s->lo = lo * s->per;
    s->hi = hi * s->per;
}

const char *scale_number(const struct scale *s, double v, char out[48])
{
    double step = s->n > 1 ? (s->v[1].at - s->v[0].at) / s->per : 1;

    number_text(out, 48, sane(v) / s->per, decimals_of(step / 10));
    return out;
}

/* ---- time ---- */

static const struct step {
    enum { SECOND, MINUTE, HOUR, DAY, MONTH, YEAR } unit;
    int n;
    int64_t about_ms;
} steps[] = {
    {SECOND, 1, 1000},
    {SECOND, 5, 5000},
    {SECOND, 15, 15000},
    {SECOND, 30, 30000},
    {MINUTE, 1, 60000},
    {MINUTE, 5, 300000},
    {MINUTE, 10, 600000},
    {MINUTE, 15, 900000},
    {MINUTE, 30, 1800000},
    {HOUR, 1, 3600000},
    {HOUR, 2, 7200000},
    {HOUR, 3, 10800000},
    {HOUR, 6, 21600000},
    {HOUR, 12, 43200000},
    {DAY, 1, DAY_MS},
    {DAY, 2, 2 * DAY_MS},
    {DAY, 7, 7 * DAY_MS},
    {DAY, 14, 14 * DAY_MS},
    {MONTH, 1, 30 * DAY_MS},
    {MONTH, 2, 61 * DAY_MS},
    {MONTH, 3, 91 * DAY_MS},
    {MONTH, 6, 182 * DAY_MS},
    {YEAR, 1, 365 * DAY_MS},
    {YEAR, 2, 730 * DAY_MS},
    {YEAR, 5, 1826 * DAY_MS},
    {YEAR, 10, 3652 * DAY_MS},
    {YEAR, 50, 18262 * DAY_MS},
    {YEAR, 100, 36524 * DAY_MS},
    {YEAR, 1000, 365242 * DAY_MS},
};

/* The round moment at or before c. */
static void round_down(struct civil *c, const struct step *s)
{
    c->second = s->unit == SECOND ? c->second / s->n * s->n : 0;
    if (s->unit >= MINUTE)
        c->minute = s->unit == MINUTE ? c->minute / s->n * s->n : 0;
    if (s->unit >= HOUR)
        c->hour = s->unit == HOUR ? c->hour / s->n * s->n : 0;
    if (s->unit == DAY && s->n > 1) {
        int32_t date = date_of(c->year, c->month, c->day);
        int weekday = date_weekday(date);
        int back = s->n == 2 ? date & 1 : s->n == 7 ? weekday : weekday + (((date - weekday) / 7) & 1) * 7;
        date_civil(date - back, c);
    }
    if (s->unit >= MONTH) {
        c->day = 1;
        c->month = s->unit == MONTH ? (c->month - 1) / s->n * s->n + 1 : 1;
    }
    if (s->unit == YEAR)
        c->year = MAX(1, c->year / s->n * s->n);
}

static void step_on(struct civil *c, const struct step *s)
{
    int *part[] = {&c->second, &c->minute, &c->hour, &c->day, &c->month, &c->year};

    *part[s->unit] += s->n;
}

static const char *month_word(const struct civil *c)
{
    return c->month >= 1 && c->month <= 12 ? month_words[c->month - 1] : "";
}

static void tick_text(struct tick *t, const struct civil *c, int unit, const struct civil *before)
{
    bool new_day = !before || c->day != before->day || c->month != before->month || c->year != before->year;

    if (unit <= HOUR) {
        snprintf(t->text, sizeof(t->text), unit == SECOND ? "%02d:%02d:%02d" : "%02d:%02d", c->hour % 24,
                 c->minute % 60, c->second % 60);
        if (new_day)
            snprintf(t->under, sizeof(t->under), "%d %s %d", c->day, month_word(c), c->year);
        return;
    }
    if (unit == YEAR)
        snprintf(t->text, sizeof(t->text), "%d", c->year);
    else if (unit == MONTH)
        snprintf(t->text, sizeof(t->text), "%s", month_word(c));
    else
        snprintf(t->text, sizeof(t->text), "%d %s", c->day, month_word(c));
    if (unit != YEAR && (!before || c->year != before->year))
        snprintf(t->under, sizeof(t->under), "%d", c->year);
}

void scale_time(struct scale *ret, const struct zone *z, int64_t from_ms, int64_t to_ms, int want)
{
    static const int64_t year_9000 = 221845392000000;
    const struct step *step = steps;
    struct civil c = {0}, before = {0};

    from_ms = MAX(0, MIN(from_ms, year_9000));
    to_ms = MAX(from_ms + 1000, MIN(to_ms, year_9000 + 1000));
    *ret = (struct scale){.lo = (double)from_ms, .hi = (double)to_ms, .per = 1};
    want = MAX(1, MIN(want, TICKS_MAX - 1));
    while (step + 1 < steps + ARRAY_LEN(steps) && (to_ms - from_ms) / step->about_ms > want)
        step++;
    zone_civil(z, from_ms, &c);
    round_down(&c, step);
    for (int tries = 0; tries < 4 * TICKS_MAX && ret->n < TICKS_MAX; tries++) {
        int64_t at = zone_to_ms(z, &c);
        if (at > to_ms)
            break;
        step_on(&c, step);
        if (at < from_ms || (ret->n && (double)at <= ret->v[ret->n - 1].at))
            continue; /* before the axis, or an hour that does not exist */
        struct tick *t = &ret->v[ret->n];
        struct civil real = {0};
        zone_civil(z, at, &real);
        *t = (struct tick){.at = (double)at};
        tick_text(t, &real, step->unit, ret->n ? &before : NULL);
        before = real;
        ret->n++;
    }
}

void scale_period(const struct zone *z, int64_t at_ms, int64_t step_ms, struct tick *ret)
{
    struct civil c = {0};

    *ret = (struct tick){.at = (double)at_ms};
    zone_civil(z, at_ms, &c);
    tick_text(ret, &c,
              step_ms >= 300 * DAY_MS     ? YEAR
              : step_ms >= 27 * DAY_MS    ? MONTH
              : step_ms >= 20 * 3600000ll ? DAY
                                          : MINUTE,
              NULL);
}
