/* gaps.c: fills gaps of a fine series: with numbers of a coarser tier, or between samples that come slowly. What was
 * sampled stays as it is. */
#include "history/gaps.h"

#include "base/clock.h"
#include "base/mem.h"
#include "base/order.h"

#define BACK_MS    (2 * MINUTE_MS)  /* a rate needs the bin before */
#define SLOW_MS    (10 * MINUTE_MS) /* who samples more rarely is not drawn as a line */
#define NEIGHBOURS 2                /* distances before and after one that tell whether it is a usual one */

/* A sum or a number of samples is of its bin alone. */
static bool stays_in_its_bin(enum agg agg)
{
    return agg == AGG_SUM || agg == AGG_COUNT;
}

/* The bins of fine in a longer bin that starts at at_ms: [first, end). */
struct part {
    size_t first, end;
};

static struct part part_of(const struct history *fine, int64_t at_ms, int64_t step_ms)
{
    int64_t first = (at_ms - fine->from_ms) / fine->step_ms, n = (int64_t)fine->n;

    return (struct part){(size_t)MIN(MAX(first, 0), n), (size_t)MIN(MAX(first + step_ms / fine->step_ms, 0), n)};
}

static bool is_missing(const struct bin *b, struct part p)
{
    return p.first < p.end && !ANY(p.end - p.first, i, b[p.first + i].count > 0);
}

static bool is_whole(const struct history *fine, int64_t from_ms, int64_t step_ms)
{
    int64_t to_ms = fine->from_ms + (int64_t)fine->n * fine->step_ms;

    for (size_t s = 0; s < fine->n_series; s++)
        for (int64_t at_ms = from_ms; at_ms < to_ms; at_ms += step_ms)
            if (is_missing(fine->v + s * fine->n, part_of(fine, at_ms, step_ms)))
                return false;
    return true;
}

int coarser_read(struct coarser *c, const struct past_source *past, const struct bins_query *asked,
                 const struct history *fine, struct err *err)
{
    int64_t step_ms = asked->step_ms < MINUTE_MS ? MINUTE_MS : HOUR_MS;
    int64_t from_ms = asked->from_ms / step_ms * step_ms;

    *c = (struct coarser){.tier = -1};
    if (asked->step_ms >= HOUR_MS || step_ms % asked->step_ms || is_whole(fine, from_ms, step_ms))
        return 0;
    struct bins_query ask = *asked;
    ask.tier = step_ms == MINUTE_MS ? TIER_MINUTE : TIER_HOUR;
    ask.step_ms = step_ms;
    ask.from_ms = MAX(0, from_ms - MAX(step_ms, BACK_MS));
    ask.to_ms = (asked->to_ms + step_ms - 1) / step_ms * step_ms;
    int r = past_history(past, ask, &c->h, err);
    c->tier = r < 0 ? -1 : ask.tier;
    return r;
}

void coarser_fini(struct coarser *c)
{
    history_fini(&c->h);
}

bool coarser_fill(const struct coarser *c, const struct history *fine, size_t s, size_t before, enum agg agg,
                  int64_t now_ms, int64_t *v)
{
    const struct bin *b = c->h.v + s * c->h.n;
    bool any = false;

    for (size_t k = 0; c->tier >= 0 && k < c->h.n; k++) {
        int64_t at_ms = c->h.from_ms + (int64_t)k * c->h.step_ms, number;
        struct part p = part_of(fine, at_ms, c->h.step_ms);
        bool over = at_ms + c->h.step_ms <= now_ms; /* a rate is of a bin that is over */
        if (!b[k].count || !is_missing(fine->v + s * fine->n, p) || stays_in_its_bin(agg) || (agg == AGG_RATE && !over))
            continue;
        history_fold_bins(b, k, 1, agg, c->h.step_ms, &number);
        for (size_t i = MAX(p.first, before); i < p.end; i++, any = true)
            v[i - before] = number;
    }
    return any;
}

/* Whether the samples at[i] and at[i + 1] are about as far apart as those around them. */
static bool is_usual(const size_t *at, size_t n, size_t i)
{
    size_t apart = at[i + 1] - at[i], near = 0, usual = 0;

    for (size_t k = i < NEIGHBOURS ? 0 : i - NEIGHBOURS; k + 1 < n && k <= i + NEIGHBOURS; k++) {
        near += k != i;
        usual += k != i && 2 * apart <= 3 * (at[k + 1] - at[k]);
    }
    return usual && usual >= MIN(near, (size_t)NEIGHBOURS);
}

void gaps_bridge(const struct bin *b, size_t n, enum agg agg, int64_t step_ms, int64_t *v)
{
    AUTO_FREE size_t *at = mem_zero(n, sizeof(*at));
    size_t found = 0;

    for (size_t i = 0; i < n && !stays_in_its_bin(agg); i++)
        if (b[i].count)
            at[found++] = i;
    for (size_t i = 0; i + 1 < found; i++)
        if ((int64_t)(at[i + 1] - at[i]) * step_ms <= SLOW_MS && is_usual(at, found, i))
            for (size_t k = at[i] + 1; k < at[i + 1]; k++)
                v[k] = v[k] == SERIES_NONE ? v[at[i]] : v[k];
}
