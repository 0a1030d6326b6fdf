/* feature.h: people as the settings of a hub have them, for commands that work without a hub. */
#pragma once

#include "hub/conf.h"
#include "people/people.h"

/* Reads the files that the settings name. Teams of Unix groups have no members. The caller owns *ret (people_unref). */
int people_of_conf(const struct hub_conf *conf, struct people **ret, struct err *err);
