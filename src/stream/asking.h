/* asking.h: one HTTP request to a hub as libcurl has it, and what its failure is in words. */
#pragma once

#include <jansson.h>

#include "base/err.h"
#include "base/str.h"
#include "net/curl_lib.h"

struct buf;

/* Whom to ask. shown: the address as sentences have it, without secrets. */
struct asking_conf {
    const char *url, *shown;
    const char *token;         /* NULL or "": none */
    const char *ca_file, *pin; /* NULL or "": the system's trust; a pin alone is the trust where there is one */
};

/* A request's handle and what it points to, ended with asking_fini. Zero-initialise. */
struct asking {
    const struct curl_lib *lib;
    CURL *c;
    struct curl_slist *headers;
    char why[CURL_ERROR_SIZE];
};

int asking_init(struct asking *q, const struct asking_conf *conf, const char *method, const char *path,
                const char *type, struct str body, struct err *err);
void asking_fini(struct asking *q);
/* A small question whose answer does not matter but for its status, 200: 0 or -errno. */
int asking_get(const struct asking_conf *conf, const char *path, int64_t limit_ms, struct err *err);
/* There was no answer. -EHOSTUNREACH. */
int asking_unreachable(const struct asking_conf *conf, const struct asking *q, CURLcode rc, struct err *err);
/* The answer says no: in the hub's words when it sent a problem, in HTTP's when not. */
int asking_refused(const struct asking_conf *conf, long status, struct str body, struct err *err);
/* What a hub said, read as JSON; every text in it is fit for a terminal (base/plain.h). NULL: it is none. */
json_t *asking_json(struct str answer);
