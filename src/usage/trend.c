/* trend.c: sums by the hour in a ring, and means over the last hours of it. */
#include "usage/trend.h"

#include "base/clock.h"
#include "base/order.h"

const char *const trend_words[TRENDS] = {"2h", "24h", "1w"};
static const int64_t trend_ms[TRENDS] = {2 * HOUR_MS, 24 * HOUR_MS, 168 * HOUR_MS};

void trend_fini(struct trend *t)
{
    for (size_t i = 0; i < t->n; i++)
        free(t->v[i].sums);
    free(t->v);
    *t = (struct trend){0};
}

void trend_reset(struct trend *t)
{
    for (size_t i = 0; i < t->n; i++)
        t->v[i].used = 0;
}

static size_t place(const struct trend *t, const char *name)
{
    return COUNT_BEFORE(t->n, i, strcmp(t->v[i].name, name) < 0);
}

const struct trend_person *trend_find(const struct trend *t, const char *name)
{
    size_t i = place(t, name);

    return i < t->n && strcmp(t->v[i].name, name) == 0 ? &t->v[i] : NULL;
}

void trend_use(struct trend *t, const char *name, double gpus)
{
    char key[sizeof(t->v->name)];

    mem_copy_str(key, sizeof(key), name);
    size_t i = place(t, key);
    if (i == t->n || strcmp(t->v[i].name, key) != 0) {
        if (t->n >= TREND_PEOPLE)
            return;
        VEC_INSERT(t->v, t->n, t->cap, i, (struct trend_person){0});
        memcpy(t->v[i].name, key, sizeof(key));
    }
    t->v[i].used += gpus;
}

/* ---- the ring ---- */

static void open_hours(struct trend *t, int64_t hour)
{
    for (int64_t h = MAX(t->hour + 1, hour - TREND_HOURS + 1); h <= hour; h++) {
        t->known[h % TREND_HOURS] = 0;
        for (size_t i = 0; i < t->n; i++)
            if (t->v[i].sums)
                t->v[i].sums[h % TREND_HOURS] = 0;
    }
    t->hour = MAX(t->hour, hour);
}

static void add_hours(float *to, int64_t from_ms, int64_t to_ms, double gpus)
{
    for (int64_t at_ms = from_ms, next_ms; at_ms < to_ms; at_ms = next_ms) {
        next_ms = MIN((at_ms / HOUR_MS + 1) * HOUR_MS, to_ms);
        to[at_ms / HOUR_MS % TREND_HOURS] += (float)(gpus * (double)(next_ms - at_ms) / (double)HOUR_MS);
    }
}

static void forget(struct trend *t)
{
    size_t kept = 0;

    for (size_t i = 0; i < t->n; i++) {
        struct trend_person p = t->v[i];
        if (p.used > 0 || (p.sums && ANY((size_t)TREND_HOURS, h, p.sums[h] > 0)))
            t->v[kept++] = p;
        else
            free(p.sums);
    }
    t->n = kept;
}

void trend_step(struct trend *t, int64_t from_ms, int64_t to_ms)
{
    from_ms = MAX(from_ms, (MAX(t->hour, to_ms / HOUR_MS) - TREND_HOURS + 1) * HOUR_MS);
    t->at_ms = to_ms;
    if (from_ms >= to_ms)
        return; /* of before all of them: the clock was set back by a week */
    t->from_ms = t->from_ms ? MIN(t->from_ms, from_ms) : from_ms;
    open_hours(t, (to_ms - 1) / HOUR_MS);
    add_hours(t->known, from_ms, to_ms, 1);
    for (size_t i = 0; i < t->n; i++) {
        struct trend_person *p = &t->v[i];
        if (p->used <= 0)
            continue;
        p->sums = p->sums ? p->sums : mem_zero(TREND_HOURS, sizeof(*p->sums));
        add_hours(p->sums, from_ms, to_ms, p->used);
    }
    forget(t);
}

double trend_mean(const struct trend *t, const struct trend_person *p, size_t which)
{
    int64_t from_ms = t->at_ms - trend_ms[which];
    double used = 0, known = 0;

    for (int64_t h = from_ms / HOUR_MS; p->sums && h <= MIN(t->hour, t->at_ms / HOUR_MS); h++) {
        if (h <= t->hour - TREND_HOURS)
            continue; /* the clock was set back */
        double part = MIN((double)((h + 1) * HOUR_MS - from_ms) / (double)HOUR_MS, 1);
        used += part * (double)p->sums[h % TREND_HOURS];
        known += part * (double)t->known[h % TREND_HOURS];
    }
    return known > 0 ? used / known : 0;
}
