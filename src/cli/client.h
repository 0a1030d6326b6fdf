/* client.h: asking a hub, for the command line: one request, one answer, an error in words. */
#pragma once

#include "stream/asking.h"

struct buf;

/* Options every command that talks to a hub has: put CLIENT_OPTS(struct, field) in its table. */
struct client_conf {
    char *hub, *token, *token_file, *ca_file, *pin;
    int64_t limit_ms; /* for a request; 0: 30 s. No option */
};
#define CLIENT_OPTS(strct, field)                                                                                      \
    OPTN(strct, "hub", field.hub, 0, OPT_STR, NULL, "URL", "URL of the hub, e.g. http://host:8765",                    \
         .default_text = "the hub on this machine", .url = true),                                                      \
        OPTN(strct, "token", field.token, 0, OPT_SECRET, NULL, "TOKEN",                                                \
             "token; other users can see it in ps: prefer --token-file"),                                              \
        OPTN(strct, "token_file", field.token_file, 0, OPT_PATH, NULL, "FILE", "file that holds the token"),           \
        OPTN(strct, "ca_file", field.ca_file, 0, OPT_PATH, NULL, "FILE", "certificates to trust",                      \
             .default_text = "the system's"),                                                                          \
        OPTN(strct, "pin", field.pin, 0, OPT_STR, NULL, "PIN",                                                         \
             "public key of the hub, the only one to trust (sha256//…)")

/*
 * Do one request: the hub's URL with path appended. A command that names no hub uses the local one: the hub that runs
 * in this user's data folder, at its address and with its pin; without one http://127.0.0.1:8765. Where no token is
 * given and the hub is our own one, the admin token its data folder holds is sent; one in a folder of another place is
 * found when it is needed. 0 with the body in ret; or -errno with a sentence. An HTTP error becomes one too: the
 * problem's detail.
 */
int client_ask(const struct client_conf *conf, const char *method, const char *path, struct str body, struct buf *ret,
               struct err *err);
/* A GET of a path that was put together; limit_ms as in conf. */
int client_get(const struct client_conf *conf, int64_t limit_ms, const struct buf *path, struct buf *ret,
               struct err *err);
/* The same of /api/v1/history, within 30 s. *ret_damaged: columns of stored history that the answer lacks. */
int client_get_history(const struct client_conf *conf, const struct buf *path, struct buf *ret, uint32_t *ret_damaged,
                       struct err *err);
#define CLIENT_DAMAGED "stored history is damaged, values may be missing (columns that cannot be read: %u)"
/* The same with a body that is not JSON and a token of its own (NULL: the configured one). *ret_status, also of a
 * failure: what HTTP said, 0 when there was no answer. */
int client_post(const struct client_conf *conf, const char *token, const char *path, const char *type, struct str body,
                struct buf *ret, int *ret_status, struct err *err);
bool client_named(const struct client_conf *conf); /* the command names a hub */
bool client_known(const struct client_conf *conf); /* it names one, or a hub runs in this user's data folder */
/* For commands that show this machine or a hub: it names one, or a hub runs in this user's data folder, and this
 * machine has no NVIDIA driver. */
bool client_shows_hub(const struct client_conf *conf);
/* It names one, or a local hub answers within a second. */
bool client_hub_there(const struct client_conf *conf);
/* What a hub said, read as JSON; every text in it is fit for a terminal (base/plain.h). NULL: it is none. */
static inline json_t *client_json(struct str answer)
{
    return asking_json(answer);
}
/* Asks, and what must be one object is it: *ret, the caller's. raw gets the bytes. 0 or -errno with a sentence. */
int client_ask_object(const struct client_conf *conf, const char *method, const char *path, struct str body,
                      json_t **ret, struct buf *raw, struct err *err);
/* "?name=value" or "&name=value" behind path, escaped; nothing where value is NULL or empty. */
void client_param(struct buf *path, const char *name, const char *value);
/* The same for options by their names, with blanks between: a text as it is, a choice by its word, a number, "true". */
struct opt;
void client_options(struct buf *path, const struct opt *opts, const void *conf, const char *names);
/* The data folder of that hub, as it says itself; false: it is none of this machine's, does not say, or names one that
 * is neither ours nor root's. ret untouched then. */
bool client_folder(const struct client_conf *conf, char ret[4096]);
const char *client_url(const struct client_conf *conf); /* the hub client_ask will use, as it may be shown */
/* "… answered something else than a hub would". -EREMOTEIO. */
int client_no_hub(const struct client_conf *conf, struct err *err);
/* Whom it will ask, for stream/: borrowed from conf, and shown of this thread. Without its token. */
struct asking_conf client_whom(const struct client_conf *conf);
/* The token to send: flag or environment, file, or what a local hub left for its own user. Empty when there is none. */
int client_token(const struct client_conf *conf, struct buf *ret, struct err *err);
