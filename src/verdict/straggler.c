/* straggler.c: how much each GPU of a run changed, and whether one changed as none of the others did. */
#include "verdict/straggler.h"

#include <math.h>

#include "base/buf.h"
#include "base/mem.h"
#include "base/order.h"

#define LEAST_CHANGE 0.12 /* of a logarithm: an eighth less, or more */
#define TIMES_SPREAD 5    /* and so many times what the others, or its own minutes, scatter */
#define WORKS_SM     0.05

static const struct {
    const char *name, *unit;
    double least, per; /* less than that says nothing; so many make one of what is shown */
} values[SIBLING_VALUES] = {{"power", " W", 60, 1}, {"SM", " %", 0.02, 0.01}, {"NVLink", " GB/s", 1e7, 1e9}};

static double mean_of(const double *v, size_t from, size_t to)
{
    double sum = 0;
    for (size_t i = from; i < to; i++)
        sum += v[i]; /* NAN stays NAN: a minute that is not known makes no verdict */
    return sum / (double)(to - from);
}

/* The first minute in which at least half of them work: what comes before is loading. */
static size_t first_minute(const struct sibling *g, size_t n, size_t minutes)
{
    for (size_t t = 0; t < minutes; t++) {
        size_t working = 0;
        for (size_t i = 0; i < n; i++)
            working += g[i].v[SIBLING_SM][t] >= WORKS_SM;
        if (2 * working >= n)
            return t;
    }
    return minutes;
}

static double spread_of(const double *v, size_t n, size_t but, double *ret_mean)
{
    double sum = 0, squares = 0, count = (double)n - (but < n);
    for (size_t i = 0; i < n; i++)
        if (i != but) {
            sum += v[i];
            squares += v[i] * v[i];
        }
    *ret_mean = sum / count;
    return sqrt(MAX(squares / count - *ret_mean * *ret_mean, 0));
}

/* How much a GPU's own minutes scatter while it is as it should be. */
static double scatter(const double *v, size_t from)
{
    double logs[STRAGGLER_FIRST], mean;
    for (size_t t = 0; t < STRAGGLER_FIRST; t++)
        logs[t] = log(MAX(v[from + t], 1e-9));
    return spread_of(logs, STRAGGLER_FIRST, SIZE_MAX, &mean);
}

/* By one value: how far GPU i is from the others, as a logarithm; 0: it is not. */
static double apart_by(const struct sibling *g, size_t n, size_t i, enum sibling_value what, const double *change,
                       size_t from)
{
    double mean, spread = spread_of(change, n, i, &mean), by = change[i] - mean;
    double own = scatter(g[i].v[what], from) / sqrt(STRAGGLER_LAST);
    return fabs(by) > LEAST_CHANGE && fabs(by) > TIMES_SPREAD * spread && fabs(by) > TIMES_SPREAD * own ? by : 0;
}

static void tell_apart(const struct sibling *g, size_t n, size_t i, enum sibling_value what, size_t from,
                       size_t minutes, struct advice *ret)
{
    double others = 0, per = values[what].per;
    for (size_t k = 0; k < n; k++)
        others += k == i ? 0 : mean_of(g[k].v[what], minutes - STRAGGLER_LAST, minutes) / (double)(n - 1);
    *ret = (struct advice){.rule = ADVICE_straggler, .now = true};
    snprintf(ret->evidence, sizeof(ret->evidence),
             "%s %.0f%s, the others %.0f%s on average; in its first ten minutes %.0f%s", values[what].name,
             mean_of(g[i].v[what], minutes - STRAGGLER_LAST, minutes) / per, values[what].unit, others / per,
             values[what].unit, mean_of(g[i].v[what], from, from + STRAGGLER_FIRST) / per, values[what].unit);
}

int straggler_find(const struct sibling *g, size_t n, size_t minutes, struct advice *ret)
{
    size_t from = n >= STRAGGLER_LEAST ? first_minute(g, n, minutes) : minutes;
    double most = 0;
    int found = -1;
    if (from + STRAGGLER_FIRST + STRAGGLER_LAST > minutes)
        return -1;
    double *change = mem_zero(n, sizeof(*change));
    for (enum sibling_value what = 0; what < SIBLING_VALUES; what++) {
        bool known = true;
        for (size_t i = 0; i < n && known; i++) {
            double then = mean_of(g[i].v[what], from, from + STRAGGLER_FIRST);
            double now = mean_of(g[i].v[what], minutes - STRAGGLER_LAST, minutes);
            known = then >= values[what].least && now >= 0;
            change[i] = log(MAX(now, values[what].least) / then);
        }
        for (size_t i = 0; i < n && known; i++) {
            double by = apart_by(g, n, i, what, change, from);
            if (fabs(by) > fabs(most)) {
                most = by;
                found = (int)i;
                tell_apart(g, n, i, what, from, minutes, ret);
            }
        }
    }
    free(change);
    return found;
}
