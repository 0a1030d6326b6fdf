/* usage.h: what the routes about usage ask of the hub. */
#ifndef API_USAGE_H
#define API_USAGE_H

#include "model/usage.h"
#include "usage/tariff.h"

struct zone;

struct usage_now {
    int64_t counted_to_ms;
    size_t waiting;          /* hours that are to be counted */
    const struct zone *zone; /* zones, tariff and split live as long as the hub, or until it is reloaded */
    size_t n_days;
    const struct zone *days[USAGE_ZONES]; /* days of these are in the store */
    const struct tariff *tariff;          /* copied on the loop */
    const char *split;
};

#endif
