/* straggler.c: how much each GPU of a run changed, and whether one changed as none of the others did. */
#include "verdict/straggler.h"

#include <math.h>
#include <stdlib.h>

#include "base/clock.h"
#include "base/mem.h"
#include "base/order.h"

#define LEAST_CHANGE 0.12 /* of a logarithm: an eighth less, or more */
#define TIMES_SPREAD 5    /* minimum multiple of the spread of the others, or of its own minutes */
#define WORKS_SM     0.05

static const struct {
    const char *name, *unit;
    double least, per; /* smaller values are not compared; stored units per displayed unit */
} values[SIBLING_VALUES] = {{"power", " W", 60, 1}, {"SM", " %", 0.02, 0.01}, {"NVLink", " GB/s", 1e7, 1e9}};

/* ---- one GPU ---- */

void sibling_minute(struct sibling *s, const double v[SIBLING_VALUES])
{
    if (!s->n_first && !(v[SIBLING_SM] >= WORKS_SM))
        return;
    for (int k = 0; k < SIBLING_VALUES && s->n_first < STRAGGLER_FIRST; k++) {
        double by = log(MAX(v[k], 1e-9)); /* unknown values stay NAN: such a first minute prevents a result */
        s->first[k] += (float)v[k];
        s->logs[k] += (float)by;
        s->squares[k] += (float)(by * by);
    }
    if (s->n_first < STRAGGLER_FIRST) {
        s->n_first++;
        return;
    }
    if (s->n_last == STRAGGLER_LAST)
        memmove(&s->last[0], &s->last[1], --s->n_last * sizeof(s->last[0]));
    for (int k = 0; k < SIBLING_VALUES; k++)
        s->last[s->n_last][k] = (float)v[k];
    s->n_last++;
}

void sibling_take_first(struct sibling *s, const struct sibling *first)
{
    if (first->n_first < s->n_first || !first->n_first)
        return;
    s->n_first = first->n_first;
    memcpy(s->first, first->first, sizeof(s->first));
    memcpy(s->logs, first->logs, sizeof(s->logs));
    memcpy(s->squares, first->squares, sizeof(s->squares));
}

static double linked(const struct sample *s)
{
    return sample_has(s, M_nvlink_rx) && sample_has(s, M_nvlink_tx)
               ? (double)s->v[M_nvlink_rx] + (double)s->v[M_nvlink_tx]
               : NAN;
}

void minute_add(struct minute_sum *m, const struct sample *r)
{
    const double v[SIBLING_VALUES] =
        {[SIBLING_POWER] = sample_has(r, M_power) ? (double)r->v[M_power] / (double)metrics[M_power].per : NAN,
         [SIBLING_SM] = sample_has(r, M_sm_active) ? (double)r->v[M_sm_active] / (double)metrics[M_sm_active].per : NAN,
         [SIBLING_LINK] = linked(r)};
    m->minute = (uint32_t)(r->at_ms / MINUTE_MS);
    for (int k = 0; k < SIBLING_VALUES; k++)
        if (!isnan(v[k])) {
            m->sum[k] += (float)v[k];
            m->of[k]++;
        }
}

bool minute_end(struct minute_sum *m, int64_t next, double ret[SIBLING_VALUES])
{
    if (!m->minute || m->minute >= next)
        return false;
    for (int k = 0; k < SIBLING_VALUES; k++)
        ret[k] = m->of[k] ? (double)m->sum[k] / m->of[k] : NAN;
    *m = (struct minute_sum){0};
    return true;
}

void sibling_gap(struct sibling *s)
{
    s->n_last = 0;
}

void sibling_add(struct sibling *s, const struct sample *r)
{
    double v[SIBLING_VALUES];
    int64_t was = s->sum.minute, minute = r->at_ms / MINUTE_MS;
    if (minute_end(&s->sum, minute, v)) {
        sibling_minute(s, v);
        if (minute > was + 1)
            sibling_gap(s); /* there is no data in between */
    }
    minute_add(&s->sum, r);
}

static double mean_first(const struct sibling *s, enum sibling_value what)
{
    return (double)s->first[what] / STRAGGLER_FIRST;
}

static double mean_last(const struct sibling *s, enum sibling_value what)
{
    double sum = 0;
    for (int t = 0; t < STRAGGLER_LAST; t++)
        sum += (double)s->last[t][what];
    return sum / STRAGGLER_LAST;
}

/* How much a GPU's own minutes scatter while it is as it should be. */
static double scatter(const struct sibling *s, enum sibling_value what)
{
    double mean = (double)s->logs[what] / STRAGGLER_FIRST;
    return sqrt(MAX((double)s->squares[what] / STRAGGLER_FIRST - mean * mean, 0));
}

static bool is_asked(const struct sibling *s)
{
    return s->n_first == STRAGGLER_FIRST && s->n_last == STRAGGLER_LAST && !(mean_last(s, SIBLING_SM) < WORKS_SM);
}

/* ---- all GPUs of a run ---- */

struct change { /* in one value, of the GPUs that are compared */
    const struct sibling *const *g;
    double *v; /* as a logarithm; NAN: not compared */
    size_t n, asked;
    double sum, squares; /* of all v */
    enum sibling_value what;
};

/* For all other GPUs: mean and spread of their change. */
static double spread_but(const struct change *c, size_t but, double *ret_mean)
{
    double count = (double)c->asked - 1, squares = c->squares - c->v[but] * c->v[but];
    *ret_mean = (c->sum - c->v[but]) / count;
    return sqrt(MAX(squares / count - *ret_mean * *ret_mean, 0));
}

/* How far GPU i differs from the others, as a logarithm; 0: it does not. */
static double apart_by(const struct change *c, size_t i)
{
    double mean, spread = spread_but(c, i, &mean), by = c->v[i] - mean;
    double own = scatter(c->g[i], c->what) / sqrt(STRAGGLER_LAST);
    return fabs(by) > LEAST_CHANGE && fabs(by) > TIMES_SPREAD * spread && fabs(by) > TIMES_SPREAD * own ? by : 0;
}

static void tell_apart(const struct change *c, size_t i, double by, struct advice *ret)
{
    double others = 0, per = values[c->what].per;
    const char *unit = values[c->what].unit;
    for (size_t k = 0; k < c->n; k++)
        others += k == i || isnan(c->v[k]) ? 0 : mean_last(c->g[k], c->what) / (double)(c->asked - 1);
    *ret = (struct advice){.rule = ADVICE_straggler, .now = true, .lost = 1 - exp(-fabs(by))};
    snprintf(ret->evidence, sizeof(ret->evidence),
             "%s %.0f%s, the others %.0f%s on average; in its first ten minutes %.0f%s", values[c->what].name,
             mean_last(c->g[i], c->what) / per, unit, others / per, unit, mean_first(c->g[i], c->what) / per, unit);
}

/* False: the value of a compared GPU is unknown. */
static bool measure(struct change *c)
{
    double least = values[c->what].least;
    c->asked = 0;
    c->sum = c->squares = 0;
    for (size_t i = 0; i < c->n; i++) {
        c->v[i] = NAN;
        if (!is_asked(c->g[i]))
            continue;
        double then = mean_first(c->g[i], c->what), now = mean_last(c->g[i], c->what);
        if (!(then >= least) || !(now >= 0))
            return false;
        c->v[i] = log(MAX(now, least) / then);
        c->sum += c->v[i];
        c->squares += c->v[i] * c->v[i];
        c->asked++;
    }
    return c->asked >= STRAGGLER_LEAST;
}

int straggler_find(const struct sibling *const *g, size_t n, struct advice *ret)
{
    double most = 0;
    int found = -1;
    if (n < STRAGGLER_LEAST)
        return -1;
    struct change c = {.g = g, .n = n, .v = mem_zero(n, sizeof(double))};
    for (c.what = 0; c.what < SIBLING_VALUES; c.what++)
        for (size_t i = measure(&c) ? 0 : n; i < n; i++) {
            double by = isnan(c.v[i]) ? 0 : apart_by(&c, i);
            if (fabs(by) > fabs(most)) {
                most = by;
                found = (int)i;
                tell_apart(&c, i, by, ret);
            }
        }
    free(c.v);
    return found;
}
