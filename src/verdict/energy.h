/*
 * energy.h: what one GPU used, from a counter that is read seldom and from mean power in between. Pure: spans of time
 * go in, in their order.
 */
#pragma once

struct energy {
    double joules; /* by the counter where it says, else by power */
    double since;  /* by power since the counter was last read: goes when it is read again and says */
    double last;   /* of the counter */
};
#define ENERGY_INIT ((struct energy){NAN, NAN, NAN}) /* NAN: not known */

/* A span of time: the counter in joules as it stands at its end, its mean power, each NAN where it is not known. A
 * counter that falls began anew and says nothing of the time since it was read before. */
void energy_add(struct energy *e, double counter, double watts, double seconds);
double energy_sum(const struct energy *e); /* NAN: not known */
