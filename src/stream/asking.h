/* asking.h: one HTTP request to a hub with libcurl, and the text of its errors. */
#pragma once

#include <jansson.h>

#include "base/err.h"
#include "base/str.h"
#include "net/curl_lib.h"

struct buf;

/* The server. shown: the address for messages, without secrets. */
struct asking_conf {
    const char *url, *shown;
    const char *token;         /* NULL or "": none */
    const char *ca_file, *pin; /* NULL or "": the system's trust store; with a pin, only the pin is verified */
};

/* A request's handle and the data it points to; free with asking_fini(). Zero-initialise. */
struct asking {
    const struct curl_lib *lib;
    CURL *c;
    struct curl_slist *headers;
    char why[CURL_ERROR_SIZE];
};

int asking_init(struct asking *q, const struct asking_conf *conf, const char *method, const char *path,
                const char *type, struct str body, struct err *err);
void asking_fini(struct asking *q);
/* A small request of which only the status, 200, matters. Returns 0 or -errno. */
int asking_get(const struct asking_conf *conf, const char *path, int64_t limit_ms, struct err *err);
/* Sets err for a request without a response. Returns -EHOSTUNREACH. */
int asking_unreachable(const struct asking_conf *conf, const struct asking *q, CURLcode rc, struct err *err);
/* Sets err for an error response: the message of the hub's problem document if any, else HTTP's. */
int asking_refused(const struct asking_conf *conf, long status, struct str body, struct err *err);
/*
 * Parses a hub's response as JSON; makes every text in it safe for a terminal (base/plain.h). Returns NULL if it is not
 * JSON.
 */
json_t *asking_json(struct str answer);
