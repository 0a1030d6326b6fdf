/* features.c: the list of what the hub does, one feature a line. A feature may use those above it. */
#include "hub/feature.h"

const struct feature *const features[] = {
    &hub_feature,
    &cluster_feature,
    &access_feature,
    &people_feature,
    &now_feature,
    &nodes_feature,
    &notify_feature,
    &book_feature,
    &jobs_feature,
    &history_feature,
    &usage_feature,
    &alert_feature,
    &report_feature,
    &slack_feature,
    &wandb_feature,
    &compat_feature,
    &relay_feature,
    &follow_feature,
    NULL,
};
_Static_assert(sizeof(features) / sizeof(features[0]) <= FEATURES_MAX, "more room for features is needed in feature.h");
