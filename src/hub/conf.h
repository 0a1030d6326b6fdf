/* conf.h: the settings of a hub: its own, and behind them those of its features, each from a table of its own. */
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

/* What the table of this feature was read into. */
const void *feature_settings(const struct hub_conf *conf, const struct feature *f);
/* The value of the setting of this name, for whoever may not know the feature it belongs to. */
const void *hub_conf_value(const struct hub_conf *conf, const char *name);

/* Whether the hub's own fit together; as a feature's prepare. */
int hub_conf_check(void *self, const struct hub_conf *conf, void **next, struct err *err);
/* The data folder to use: as told, or the usual one. 0 or -errno. */
int hub_conf_data(const struct hub_conf *conf, char *out, size_t size, struct err *err);
