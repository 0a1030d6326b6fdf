/* quotient.h: division of numbers that nearly always fit into a double. */
#pragma once

#include <stdint.h>

#define QUOTIENT_EXACT (1ll << 52)

/* v / by, towards zero; by above 0. Processors divide doubles several times as fast, and the same comes out of numbers
 * that a double has: a quotient that is not whole is further from the next whole number than it is rounded. */
static inline int64_t quotient(int64_t v, int64_t by)
{
    return v < QUOTIENT_EXACT && v > -QUOTIENT_EXACT && by < QUOTIENT_EXACT ? (int64_t)((double)v / (double)by)
                                                                            : v / by;
}
