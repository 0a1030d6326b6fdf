/* baseline_stats.c: medians, limits around them, and texts about deviations. */
#include "alert/baseline_stats.h"

#include <inttypes.h>

#include "base/buf.h"
#include "base/mem.h"
#include "base/order.h"

#define GPU         1000
#define FAR         5   /* times the ordinary distance: a deviation starts */
#define NEAR        3   /* ... and continues */
#define LEAST_SCALE GPU /* so up to five GPUs more or fewer are never far */
#define LOW_PERCENT 10

/* Of a sorted list with something in it. */
static int64_t median(const int64_t *v, size_t n)
{
    return n % 2 ? v[n / 2] : v[n / 2 - 1] + (v[n / 2] - v[n / 2 - 1]) / 2;
}

bool baseline_stats_from(const int64_t *v, size_t n, struct baseline_stats *ret)
{
    int64_t known[USUAL_WEEKS], away[USUAL_WEEKS];
    size_t k = 0;

    for (size_t i = 0; i < n && k < USUAL_WEEKS; i++)
        if (v[i] >= 0)
            known[k++] = v[i];
    if (k < USUAL_LEAST)
        return false;
    qsort(known, k, sizeof(*known), order_numbers);
    int64_t usual = median(known, k);
    if (usual == 0)
        return false;
    for (size_t i = 0; i < k; i++)
        away[i] = known[i] > usual ? known[i] - usual : usual - known[i];
    qsort(away, k, sizeof(*away), order_numbers);
    /* 1.4826 times the median distance estimates the standard deviation */
    int64_t spread = median(away, k) * 14826 / 10000;
    if (spread * 10 > usual * 3)
        return false;                                          /* too irregular */
    int64_t scale = MAX(MAX(spread, usual / 10), LEAST_SCALE); /* few weeks may agree by chance: at least a tenth */
    *ret = (struct baseline_stats){.weeks = k, .usual = usual, .least = known[0], .most = known[k - 1], .scale = scale};
    return true;
}

int baseline_deviation(const struct baseline_stats *h, int64_t now, bool going_on)
{
    int64_t limit = (going_on ? NEAR : FAR) * h->scale;

    return now < h->usual - limit ? -1 : now > h->usual + limit ? 1 : 0;
}

int64_t baseline_week_start_ms(const struct zone *z, int64_t hour_ms, int weeks)
{
    struct civil c;

    zone_civil(z, hour_ms, &c);
    c.day -= 7 * weeks;
    return zone_to_ms(z, &c);
}

/* "3", "2.5": tenths below ten. */
static void add_gpus(struct buf *out, int64_t v)
{
    int64_t tenths = (v + GPU / 20) / (GPU / 10);

    if (tenths % 10 == 0 || tenths >= 100)
        buf_addf(out, "%" PRId64, (v + GPU / 2) / GPU);
    else
        buf_addf(out, "%" PRId64 ".%" PRId64, tenths / 10, tenths % 10);
}

void baseline_text(struct buf *out, const char *who, const struct baseline_stats *h, int64_t now, const struct zone *z,
                   int64_t hour_ms)
{
    static const char *const days[] = {"Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"};
    struct civil c;

    zone_civil(z, hour_ms, &c);
    buf_addf(out, "%s used ", who);
    add_gpus(out, now);
    buf_addf(out, " GPUs from %d:%02d on; on a %s at that hour it is usually ", c.hour, c.minute,
             days[date_weekday(zone_date(z, hour_ms))]);
    add_gpus(out, h->usual);
    buf_adds(out, " (");
    add_gpus(out, h->least);
    buf_adds(out, " to ");
    add_gpus(out, h->most);
    buf_addf(out, " in %zu weeks)", h->weeks);
}

bool low_is(int64_t used_ms, int64_t assigned_ms)
{
    return assigned_ms > 0 && (__int128)used_ms * 100 < (__int128)assigned_ms * LOW_PERCENT;
}

void low_text(struct buf *out, const char *who, int64_t used_ms, int64_t assigned_ms, int32_t day)
{
    char date[16];
    int64_t hours10 = (used_ms + 180000) / 360000, assigned = assigned_ms / 3600000;
    int64_t permille = assigned_ms > 0 ? (int64_t)((__int128)used_ms * 1000 / assigned_ms) : 0;

    buf_addf(out,
             "%s used %" PRId64 ".%" PRId64 " of %" PRId64 " GPU-hours on %s: %" PRId64 ".%" PRId64
             " %% of what was assigned",
             who, hours10 / 10, hours10 % 10, assigned, date_text(day, date), permille / 10, permille % 10);
}
