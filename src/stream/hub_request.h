/* hub_request.h: one HTTP request to a hub with libcurl, and the text of its errors. */
#pragma once

#include <jansson.h>

#include "base/err.h"
#include "base/str.h"
#include "net/curl_lib.h"

struct buf;

/* The server. shown: the address for messages, without secrets. */
struct hub_request_conf {
    const char *url, *shown;
    const char *token;         /* NULL or "": none */
    const char *ca_file, *pin; /* NULL or "": the system's trust store; with a pin, only the pin is verified */
};

/* A request's handle and the data it points to; free with hub_request_fini(). Zero-initialise. */
struct hub_request {
    const struct curl_lib *lib;
    CURL *c;
    struct curl_slist *headers;
    char why[CURL_ERROR_SIZE];
};

int hub_request_init(struct hub_request *q, const struct hub_request_conf *conf, const char *method, const char *path,
                     const char *type, struct str body, struct err *err);
void hub_request_fini(struct hub_request *q);
/* A small request of which only the status, 200, matters. Returns 0 or -errno. */
int hub_request_get(const struct hub_request_conf *conf, const char *path, int64_t limit_ms, struct err *err);
/* Sets err for a request without a response. Returns -EHOSTUNREACH. */
int hub_request_unreachable(const struct hub_request_conf *conf, const struct hub_request *q, CURLcode rc,
                            struct err *err);
/* Sets err for an error response: the message of the hub's problem document if any, else HTTP's. */
int hub_request_refused(const struct hub_request_conf *conf, long status, struct str body, struct err *err);
/*
 * Parses a hub's response as JSON; makes every text in it safe for a terminal (base/plain.h). Returns NULL if it is not
 * JSON.
 */
json_t *hub_request_json(struct str answer);
