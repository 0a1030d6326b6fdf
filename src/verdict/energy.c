/* energy.c: sums the energy of mean power until the counter has a value. */
#include "verdict/energy.h"

#include <math.h>

static double plus(double a, double b) /* ignores an unknown value */
{
    return isnan(a) ? b : isnan(b) ? a : a + b;
}

void energy_add(struct energy *e, double counter, double watts, double seconds)
{
    e->since = plus(e->since, watts * seconds);
    if (isnan(counter))
        return;
    e->joules = plus(e->joules, counter >= e->last ? counter - e->last : e->since);
    e->since = NAN;
    e->last = counter;
}

double energy_sum(const struct energy *e)
{
    return plus(e->joules, e->since);
}
