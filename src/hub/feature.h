/*
 * feature.h: one feature of the hub, as a table of callbacks. src/features.c has the list; the hub and `config check`
 * walk it.
 *
 * Start: join, open, prepare, take, load; each for all features, in the order of the list. Reload: prepare all, then
 * take all, or drop the prepared ones. End: stop the workers, stop in reverse, close the store, close in reverse.
 *
 * A feature includes and calls only features before it in the list. Features after it receive its events (hub_event.h),
 * or register a callback with it in open.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

struct hub;
struct hub_conf;
struct hub_event;
struct opt;
struct route;
struct status;
struct store_conf;

/* Callbacks that a feature does not need are NULL. */
struct feature {
    const char *name;
    const struct opt *settings; /* its settings: flags, environment, muster.yaml, --help and `config show` */
    size_t settings_size;       /* size of the struct they are read into, which feature_settings() returns (conf.h) */
    const struct route *routes; /* its HTTP routes; path NULL at the end */
    /* Before the store is opened: the location of the store, and the hubs that share it. Fills in h->others. */
    int (*join)(struct hub *h, const struct hub_conf *conf, struct store_conf *store, struct err *err);
    void *(*open)(struct hub *h); /* returns self of the other calls; if open is NULL they get h. Reads neither settings
                                   * nor records */
    /* Prepares these settings without applying them: *next. self NULL: only checks them (`config check`). */
    int (*prepare)(void *self, const struct hub_conf *conf, void **next, struct err *err);
    void (*drop)(void *next);                 /* frees prepared settings; accepts NULL */
    void (*take)(void *self, void *next);     /* applies prepared settings; h->conf is already set. Cannot fail, owns
                                               * next */
    int (*load)(void *self, struct err *err); /* reads the records stored before this start */
    void (*hear)(void *self, const struct hub_event *n); /* events of features that must not call it: hub_event.h */
    void (*tick)(void *self, int64_t now_ms);            /* once a second */
    void (*status)(void *self, struct status *s);        /* adds its notices and numbers: self.h */
    void (*stop)(void *self);  /* stores the last records and starts no new work; pending results are still delivered */
    void (*close)(void *self); /* the store is closed already */
};
extern const struct feature *const features[]; /* src/features.c; NULL at the end */
extern const struct feature access_feature, alert_feature, book_feature, cluster_feature, compat_feature,
    follow_feature, history_feature, hub_feature, jobs_feature, nodes_feature, notify_feature, now_feature,
    people_feature, relay_feature, report_feature, slack_feature, usage_feature, wandb_feature;
#define FEATURES_MAX 32
/* For a feature whose settings are in its settings.def (base/opt_def.h). */
#define FEATURE_SETTINGS(name) .settings = name##_opts, .settings_size = sizeof(struct name##_settings)

/* Checks the settings of all features. */
int features_check(const struct hub_conf *conf, struct err *err);

/* Prepared settings, one entry per feature; zero-initialise. */
struct features_next {
    const struct feature *const *list;
    void *v[FEATURES_MAX];
};

/* The features of one hub; zero-initialise. */
struct features {
    const struct feature *const *list;
    void *self[FEATURES_MAX];
    size_t n_open;
};
int features_join(const struct feature *const *list, struct hub *h, const struct hub_conf *conf,
                  struct store_conf *store, struct err *err);
/* list: `features`; a test has its own. */
void features_open(struct features *f, const struct feature *const *list, struct hub *h);
void *feature_self(const struct features *f, const struct feature *of); /* NULL: not open */
int features_prepare(struct features *f, const struct hub_conf *conf, struct features_next *ret, struct err *err);
void features_drop(struct features_next *n); /* frees settings that were not applied */
void features_take(struct features *f, struct features_next *n);
int features_load(struct features *f, struct err *err);
void features_dispatch(const struct features *f, const struct hub_event *n);
void features_tick(struct features *f, int64_t now_ms);
void features_status(const struct features *f, struct status *s);
void features_stop(struct features *f);
void features_close(struct features *f);
