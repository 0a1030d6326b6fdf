/* feature.h: what the hub does for users of older systems by itself: the bookings in GPU Monitor's file (mirror.h). */
#ifndef COMPAT_FEATURE_H
#define COMPAT_FEATURE_H

#include "hub/feature.h"

extern const struct feature compat_feature;

#endif
