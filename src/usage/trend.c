/* trend.c: sums of GPU-hours over the last hours, and their means. */
#include "usage/trend.h"

#include "base/clock.h"
#include "base/order.h"

const char *const trend_words[TRENDS] = {"2h", "24h", "1w"};
static const int64_t trend_hours[TRENDS] = {2, 24, TREND_HOURS};

void trend_fini(struct trend *t)
{
    free(t->v);
    *t = (struct trend){0};
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

static bool covers(const struct trend *t, size_t which, int64_t at_ms)
{
    return at_ms >= t->to_ms - trend_hours[which] * HOUR_MS && at_ms < t->to_ms;
}

void trend_hour(struct trend *t, int64_t at_ms)
{
    if (at_ms == t->newest_ms)
        return;
    t->newest_ms = at_ms;
    t->from_ms = t->from_ms ? t->from_ms : at_ms;
    for (size_t k = 0; k < TRENDS; k++)
        t->hours[k] += covers(t, k, at_ms);
}

void trend_use(struct trend *t, const char *name, double gpu_hours)
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
    for (size_t k = 0; k < TRENDS; k++)
        if (covers(t, k, t->newest_ms))
            t->v[i].gpu_hours[k] += gpu_hours;
}

double trend_mean(const struct trend *t, const struct trend_person *p, size_t which)
{
    return t->hours[which] ? p->gpu_hours[which] / (double)t->hours[which] : 0;
}
