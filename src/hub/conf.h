/* conf.h: the settings of a hub and of its features, each read from its own table. */
#pragma once

#include "base/opt_def.h"

struct feature;

enum hub_read { READ_OPEN, READ_TOKEN };

struct hub_conf {
#define SETTING OPT_MEMBER
#include "hub/settings.def"
#undef SETTING
    _Alignas(max_align_t) char of_features[2048]; /* see feature_settings */
};
extern const struct opt hub_own_opts[]; /* of settings.def */
extern struct opt hub_opts[]; /* the tables of all features as one, for flags, environment, muster.yaml and --help */

/* The struct that holds the settings of this feature. */
const void *feature_settings(const struct hub_conf *conf, const struct feature *f);
/* The value of the setting with this name, for callers that may not include its feature. */
const void *hub_conf_value(const struct hub_conf *conf, const char *name);

/* Checks the hub's own settings against each other; a feature's prepare does the same. */
int hub_conf_check(void *self, const struct hub_conf *conf, void **next, struct err *err);
/* The data folder to use: the setting, or the default. Returns 0 or -errno. */
int hub_conf_data(const struct hub_conf *conf, char *out, size_t size, struct err *err);
