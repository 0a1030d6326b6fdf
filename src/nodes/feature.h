/* feature.h: nodes in the hub: what the files of this folder share, and what others ask of them. */
#ifndef NODES_FEATURE_H
#define NODES_FEATURE_H

#include "hub/feature.h"

extern const struct feature nodes_feature;
#define SETTINGS nodes
#include "base/opt_def.h"

#endif
