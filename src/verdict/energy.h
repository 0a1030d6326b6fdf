/*
 * energy.h: the energy of one GPU, from a counter that is read rarely and from mean power in between. Pure: the input
 * is time ranges, in order.
 */
#pragma once

struct energy {
    double joules; /* from the counter if known, else from power */
    double since;  /* from power since the last value of the counter; cleared at its next value */
    double last;   /* last value of the counter */
};
#define ENERGY_INIT ((struct energy){NAN, NAN, NAN}) /* NAN: unknown */

/* Adds a time range: the counter in joules at its end and its mean power, NAN if unknown. A counter that falls has
 * restarted, and counts nothing since its last value. */
void energy_add(struct energy *e, double counter, double watts, double seconds);
double energy_sum(const struct energy *e); /* NAN: unknown */
