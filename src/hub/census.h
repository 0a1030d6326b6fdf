/*
 * census.h: the hub's census: files read, Unix groups asked for, a new one made when any of it changes. The groups come
 * from `getent` in a child process, since a name service may take its time; the loop never waits for it.
 */
#ifndef HUB_CENSUS_H
#define HUB_CENSUS_H

#include "hub/feature.h"

extern const struct feature people_feature;

#endif
