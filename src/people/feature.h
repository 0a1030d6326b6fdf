/* feature.h: people from the settings of a hub, for commands that work without a hub. */
#pragma once

#include "hub/conf.h"
#include "people/people.h"

/* Reads the files named by the settings. Teams from Unix groups have no members. The caller owns *ret (people_unref).
 */
int people_of_conf(const struct hub_conf *conf, struct people **ret, struct err *err);
