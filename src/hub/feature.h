/*
 * feature.h: one thing the hub does, as a table. src/features.c has the list; the hub and `config check` walk it.
 *
 * Start: join, open, prepare, take, load; each of all features, in the order of the list. A reload: prepare all, then
 * take all, or drop what was prepared. End: end the workers, stop in reverse, close the store, close in reverse.
 *
 * A feature includes and calls those before it in the list. Those behind it hear its news (news.h), or registered a
 * function with it when they opened.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

struct hub;
struct hub_conf;
struct news;
struct opt;
struct route;
struct status;
struct store_conf;

/* Whatever a feature does not need is NULL. */
struct feature {
    const char *name;
    const struct opt *settings; /* its part of flags, environment, muster.yaml, --help and `config show` */
    size_t settings_size;       /* of what they are read into, which feature_settings() gives (conf.h) */
    const struct route *routes; /* what it answers over HTTP; path NULL at the end */
    /* Before the store is opened: where it is, and with whom it is shared. h->others is filled in here. */
    int (*join)(struct hub *h, const struct hub_conf *conf, struct store_conf *store, struct err *err);
    void *(*open)(struct hub *h); /* what other calls get as self, else the hub; reads neither settings nor records */
    /* What these settings need, made and not in force yet: *next. self NULL: are they understood (`config check`)? */
    int (*prepare)(void *self, const struct hub_conf *conf, void **next, struct err *err);
    void (*drop)(void *next);             /* it is not wanted after all; accepts NULL */
    void (*take)(void *self, void *next); /* into force; the hub has the settings already. Cannot fail, keeps next */
    int (*load)(void *self, struct err *err);       /* what was stored before this start */
    void (*hear)(void *self, const struct news *n); /* what a feature tells that may not call it: news.h */
    void (*tick)(void *self, int64_t now_ms);       /* once a second */
    void (*status)(void *self, struct status *s);   /* what is wrong with it, and its numbers: self.h */
    void (*stop)(void *self);  /* the last things are put, no new work is begun; what is stored already is told still */
    void (*close)(void *self); /* there is no store any more */
};
extern const struct feature *const features[]; /* src/features.c; NULL at the end */
extern const struct feature access_feature, alert_feature, book_feature, cluster_feature, compat_feature,
    follow_feature, history_feature, hub_feature, jobs_feature, nodes_feature, notify_feature, now_feature,
    people_feature, relay_feature, report_feature, slack_feature, usage_feature, wandb_feature;
#define FEATURES_MAX 32
/* Of a feature whose settings are in its settings.def (base/opt_def.h). */
#define FEATURE_SETTINGS(name) .settings = name##_opts, .settings_size = sizeof(struct name##_settings)

/* Would these settings be understood? */
int features_check(const struct hub_conf *conf, struct err *err);

/* What was made of settings, a feature each; zero-initialise. */
struct features_next {
    const struct feature *const *list;
    void *v[FEATURES_MAX];
};

/* Those of one hub; zero-initialise. */
struct features {
    const struct feature *const *list;
    void *self[FEATURES_MAX];
    size_t n_open;
};
int features_join(const struct feature *const *list, struct hub *h, const struct hub_conf *conf,
                  struct store_conf *store, struct err *err);
/* list: the one above; a test has its own. */
void features_open(struct features *f, const struct feature *const *list, struct hub *h);
void *feature_self(const struct features *f, const struct feature *of); /* NULL: it is not open */
int features_prepare(struct features *f, const struct hub_conf *conf, struct features_next *ret, struct err *err);
void features_drop(struct features_next *n); /* what was not taken */
void features_take(struct features *f, struct features_next *n);
int features_load(struct features *f, struct err *err);
void features_hear(const struct features *f, const struct news *n);
void features_tick(struct features *f, int64_t now_ms);
void features_status(const struct features *f, struct status *s);
void features_stop(struct features *f);
void features_close(struct features *f);
