/* feature.h: the state rule from the settings of a hub, for commands that work without a hub. */
#pragma once

#include "hub/conf.h"
#include "now/live.h"

int state_rule_of_conf(const struct hub_conf *conf, struct state_rule *ret, struct err *err);
