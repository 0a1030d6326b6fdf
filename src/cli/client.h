/* client.h: hub client for the command line: one request, one response, errors as text. */
#pragma once

#include "stream/hub_request.h"

struct buf;

/* Options of every command that connects to a hub: put CLIENT_OPTS(struct, field) in its table. */
struct client_conf {
    char *hub, *token, *token_file, *ca_file, *pin;
    int64_t limit_ms; /* per request; 0: 30 s. Not an option */
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
 * Sends one request to the hub's URL with path appended. Without a hub option it uses the local hub: the one that runs
 * in this user's data folder, with its address and pin; else http://127.0.0.1:8765. Without a token, and if the hub
 * belongs to this user, it sends the admin token of the data folder; one in another folder is searched when needed.
 * Returns 0 with the body in ret, or -errno with a message in err. An HTTP error returns the problem's detail.
 */
int client_request(const struct client_conf *conf, const char *method, const char *path, struct str body,
                   struct buf *ret, struct err *err);
/* GET with a composed path; limit_ms as in conf. */
int client_get(const struct client_conf *conf, int64_t limit_ms, const struct buf *path, struct buf *ret,
               struct err *err);
/* The same for /api/v1/history, within 30 s. *ret_damaged: number of unreadable columns missing in the response. */
int client_get_history(const struct client_conf *conf, const struct buf *path, struct buf *ret, uint32_t *ret_damaged,
                       struct err *err);
#define CLIENT_DAMAGED "stored history is damaged, values may be missing (columns that cannot be read: %u)"
/* The same with a body that is not JSON and a separate token (NULL: the configured one). *ret_status, also on failure:
 * the HTTP status, 0 without a response. */
int client_post(const struct client_conf *conf, const char *token, const char *path, const char *type, struct str body,
                struct buf *ret, int *ret_status, struct err *err);
bool client_named(const struct client_conf *conf); /* the command names a hub */
bool client_known(const struct client_conf *conf); /* it names one, or a hub runs in this user's data folder */
/* For commands that show this machine or a hub: it names a hub, or one runs in this user's data folder and this
 * machine has no NVIDIA driver. */
bool client_shows_hub(const struct client_conf *conf);
/* It names one, or a local hub responds within a second. */
bool client_hub_responds(const struct client_conf *conf);
/* Parses a hub's response as JSON; its texts are safe for a terminal (base/plain.h). Returns NULL if invalid. */
static inline json_t *client_json(struct str answer)
{
    return hub_request_json(answer);
}
/* Sends a request and expects one object: sets *ret, owned by the caller. raw gets the bytes. Returns 0, or -errno
 * with a message in err. */
int client_request_object(const struct client_conf *conf, const char *method, const char *path, struct str body,
                          json_t **ret, struct buf *raw, struct err *err);
/* Appends "?name=value" or "&name=value", escaped; nothing if value is NULL or empty. */
void client_param(struct buf *path, const char *name, const char *value);
/* The same for options by their space-separated names: a text as is, a choice by its word, a number, "true". */
struct opt;
void client_options(struct buf *path, const struct opt *opts, const void *conf, const char *names);
/* The data folder of that hub, as reported by it. Returns false, with ret unchanged, if the hub is on another machine,
 * does not report it, or reports a folder that belongs to neither this user nor root. */
bool client_folder(const struct client_conf *conf, char ret[4096]);
const char *client_url(const struct client_conf *conf); /* the hub used by client_request, without secrets */
/* "… answered something else than a hub would". Returns -EREMOTEIO. */
int client_no_hub(const struct client_conf *conf, struct err *err);
/* The target for stream/: borrowed from conf and thread-local. Without its token. */
struct hub_request_conf client_hub_conf(const struct client_conf *conf);
/* The token to send: flag or environment, file, or the local hub's token for its own user. Empty if none. */
int client_token(const struct client_conf *conf, struct buf *ret, struct err *err);
