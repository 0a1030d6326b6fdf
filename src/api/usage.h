/* usage.h: what the routes about usage ask of the hub. */
#ifndef API_USAGE_H
#define API_USAGE_H

#include "usage/tariff.h"

struct zone;

struct usage_now {
    int64_t counted_to_ms;
    size_t waiting;              /* hours that are to be counted */
    bool days;                   /* days of the zone are in the store */
    const struct zone *zone;     /* these three live as long as the hub, or until it is reloaded */
    const struct tariff *tariff; /* copied on the loop */
    const char *split;
};

#endif
