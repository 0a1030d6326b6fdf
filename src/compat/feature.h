/*
 * feature.h: what the hub does by itself for users of older systems: it keeps GPU Monitor's file in step with the
 * bookings (mirror.h).
 */
#ifndef COMPAT_FEATURE_H
#define COMPAT_FEATURE_H

#include "hub/feature.h"

extern const struct feature compat_feature;

#endif
