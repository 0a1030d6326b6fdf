/*
 * relay_child.h: the relay that a hub starts for its `nodes`, `sources` and `files`: a process of its own, so that
 * nothing a machine says is parsed in the hub, with a token of its own in the hub's data folder.
 */
#ifndef CMD_RELAY_CHILD_H
#define CMD_RELAY_CHILD_H

#include "hub/feature.h"

extern const struct feature relay_feature;

#endif
