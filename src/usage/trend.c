/* trend.c: moving averages: ema += (1 - exp(-dt / T)) * (used - ema), for each T. */
#include "usage/trend.h"

#include <math.h>

#include "base/order.h"

#define STEP_MS   30000
#define FORGOTTEN 0.005

const char *const trend_words[TRENDS] = {"2h", "24h", "1w"};
static const double trend_ms[TRENDS] = {7200e3, 86400e3, 604800e3};

void trend_fini(struct trend *t)
{
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

bool trend_step(struct trend *t, int64_t now_ms, int64_t ever_ms)
{
    int64_t dt_ms = t->at_ms ? now_ms - t->at_ms : ever_ms;
    size_t kept = 0;

    if (t->at_ms && dt_ms < STEP_MS && dt_ms >= 0)
        return false;
    dt_ms = MAX(dt_ms, 0); /* a clock that was set back */
    for (size_t i = 0; i < t->n; i++) {
        struct trend_person p = t->v[i];
        bool any = p.used > 0;
        for (size_t k = 0; k < TRENDS; k++) {
            p.ema[k] += (1 - exp(-(double)dt_ms / trend_ms[k])) * (p.used - p.ema[k]);
            any |= p.ema[k] >= FORGOTTEN;
        }
        if (any)
            t->v[kept++] = p;
    }
    t->n = kept;
    t->at_ms = now_ms;
    return true;
}
