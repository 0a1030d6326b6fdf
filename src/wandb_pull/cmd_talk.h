/*
 * cmd_talk.h: shared by the verbs of `muster wandb` that connect to W&B: their options, the config, the key, a client
 * on its own event loop.
 */
#pragma once

#include <limits.h>

#include "base/buf.h"
#include "base/opt.h"
#include "wandb_pull/config.h"
#include "wandb_pull/web_api.h"

/* Where the runs are that were pulled. */
struct runs_conf {
    char *data, *store, *password_file;
    int64_t epoch; /* of the leading hub that started this; 0: a user started it */
};
#define RUNS_OPTS(strct, field)                                                                                        \
    OPTN(strct, "data", field.data, 'd', OPT_PATH, NULL, "DIR", "folder of wandb.db",                                  \
         .default_text = "the hub's data folder"),                                                                     \
        OPTN(strct, "store", field.store, 0, OPT_STR, NULL, "URL",                                                     \
             "PostgreSQL server of the hubs, as in their settings: postgres://USER@HOST/DATABASE", .url = true),       \
        OPTN(strct, "store_password_file", field.password_file, 0, OPT_PATH, NULL, "FILE",                             \
             "file with the password of the server", .default_text = "~/.pgpass"),                                     \
        OPTN(strct, "epoch", field.epoch, 0, OPT_INT, "0", "N", "write only while this hub leads", .max = INT64_MAX,   \
             .hidden = true)

struct talk_conf {
    char *config, *api, *key_file, *base_url, *ca_file;
    struct runs_conf runs;
    int64_t tries, retry_wait; /* of a request, and before the second; 0: as the vendor's client */
};
#define TALK_OPTS(strct, field)                                                                                        \
    OPTN(strct, "config", field.config, 'c', OPT_PATH, "config.yaml", "FILE",                                          \
         "config.yaml of the W&B dashboard: companies, teams, dashboard and dataset"),                                 \
        OPTN(strct, "api", field.api, 0, OPT_SECRET, NULL, "KEY",                                                      \
             "API key of W&B; other users can see it in ps: prefer WANDB_API_KEY, a file or ~/.netrc"),                \
        OPTN(strct, "key_file", field.key_file, 0, OPT_PATH, NULL, "FILE", "file that holds the key"),                 \
        OPTN(strct, "base_url", field.base_url, 0, OPT_STR, NULL, "URL", "W&B server",                                 \
             .default_text = "WANDB_BASE_URL, the config's, https://api.wandb.ai", .url = true),                       \
        OPTN(strct, "ca_file", field.ca_file, 0, OPT_PATH, NULL, "FILE", "certificates to trust",                      \
             .default_text = "the system's"),                                                                          \
        RUNS_OPTS(strct, field.runs),                                                                                  \
        OPTN(strct, "tries", field.tries, 0, OPT_INT, "0", "N", "number of times a request is sent",                   \
             .default_text = "20", .max = 1000, .hidden = true),                                                       \
        OPTN(strct, "retry_wait", field.retry_wait, 0, OPT_DURATION, "0", "TIME",                                      \
             "wait before a request is sent again, doubled each time", .default_text = "2s", .max = 60000,             \
             .hidden = true)

struct talk {
    struct wandb_config *config;
    struct buf key;
    struct event_base *base;
    struct wandb *w;
    const char *base_url; /* of the W&B server: from the flag, WANDB_BASE_URL or the config */
    char where[PATH_MAX]; /* place of the runs; with `make`, the folder exists */
    const char *shown;    /* the same without a password */
    int64_t epoch;
};

/*
 * Runs a verb whose struct of options starts with a talk_conf. Returns the result of run, or -EINVAL for mistakes in
 * flags or config. make: create DIR if it does not exist.
 */
struct cmd_call;
int talk_run(struct cmd_call *c, bool make, int (*run)(struct cmd_call *c, struct talk *t));
void talk_close(struct talk *t);
#define AUTO_TALK __attribute__((cleanup(talk_close))) struct talk

/* Which server: the flag's (NULL: not given), else WANDB_BASE_URL's, else the config's. */
const char *talk_base_url(const char *flag, const struct wandb_config *c);
/* Only the place, for verbs that only read the store. */
int talk_place(const struct runs_conf *conf, bool make, struct talk *ret, struct err *err);
struct wandb_store;
int talk_store(const struct talk *t, bool write, struct wandb_store **ret, struct err *err);

/* The days of --start-date and --end-date (NULL: not given) by the old tool's rule. 0 or -EINVAL. */
int talk_days(const struct talk *t, const char *start, const char *end, int32_t *ret_from, int32_t *ret_to,
              struct err *err);
