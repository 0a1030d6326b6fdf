/*
 * desk.h: people in the hub: files are read, Unix groups asked for, and a new struct people is made when any of it
 * changes. The groups come from `getent` in a child process, since a name service may take its time; the loop never
 * waits for it.
 */
#ifndef PEOPLE_DESK_H
#define PEOPLE_DESK_H

#include "hub/feature.h"

extern const struct feature people_feature;

#endif
