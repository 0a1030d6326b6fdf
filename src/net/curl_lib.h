/*
 * curl_lib.h: libcurl's entry points, loaded at run time by the process that speaks to hubs. Linked, its thirty
 * libraries would be mapped and relocated in the collector process, too, which never opens a connection: about 0.9 MB
 * of private memory on each node, and 2.5 MB resident in a hub that asks nobody anything. Loaded by name it also runs
 * where libcurl has no versioned symbols.
 */
#pragma once

#include <curl/curl.h>

#include "base/err.h"

#define CURL_CALLS(X)                                                                                                  \
    X(global_init, "curl_global_init", CURLcode, (long))                                                               \
    X(global_cleanup, "curl_global_cleanup", void, (void))                                                             \
    X(easy_init, "curl_easy_init", CURL *, (void))                                                                     \
    X(easy_cleanup, "curl_easy_cleanup", void, (CURL *))                                                               \
    X(easy_setopt, "curl_easy_setopt", CURLcode, (CURL *, CURLoption, ...))                                            \
    X(easy_getinfo, "curl_easy_getinfo", CURLcode, (CURL *, CURLINFO, ...))                                            \
    X(easy_pause, "curl_easy_pause", CURLcode, (CURL *, int))                                                          \
    X(easy_perform, "curl_easy_perform", CURLcode, (CURL *))                                                           \
    X(easy_strerror, "curl_easy_strerror", const char *, (CURLcode))                                                   \
    X(multi_init, "curl_multi_init", CURLM *, (void))                                                                  \
    X(multi_cleanup, "curl_multi_cleanup", CURLMcode, (CURLM *))                                                       \
    X(multi_setopt, "curl_multi_setopt", CURLMcode, (CURLM *, CURLMoption, ...))                                       \
    X(multi_assign, "curl_multi_assign", CURLMcode, (CURLM *, curl_socket_t, void *))                                  \
    X(multi_add_handle, "curl_multi_add_handle", CURLMcode, (CURLM *, CURL *))                                         \
    X(multi_remove_handle, "curl_multi_remove_handle", CURLMcode, (CURLM *, CURL *))                                   \
    X(multi_socket_action, "curl_multi_socket_action", CURLMcode, (CURLM *, curl_socket_t, int, int *))                \
    X(multi_info_read, "curl_multi_info_read", CURLMsg *, (CURLM *, int *))                                            \
    X(multi_strerror, "curl_multi_strerror", const char *, (CURLMcode))                                                \
    X(slist_append, "curl_slist_append", struct curl_slist *, (struct curl_slist *, const char *))                     \
    X(slist_free_all, "curl_slist_free_all", void, (struct curl_slist *))

/* NULL where libcurl is older than 7.68: agents do without. */
#define CURL_LATER(X)                                                                                                  \
    X(multi_perform, "curl_multi_perform", CURLMcode, (CURLM *, int *))                                                \
    X(multi_poll, "curl_multi_poll", CURLMcode, (CURLM *, struct curl_waitfd *, unsigned, int, int *))                 \
    X(multi_wakeup, "curl_multi_wakeup", CURLMcode, (CURLM *))

struct curl_lib {
    void *lib;
#define X(field, symbol, type, args) type(*field) args;
    CURL_CALLS(X)
    CURL_LATER(X)
#undef X
};

/* The system's libcurl, with either TLS library; it stays loaded for good. */
int curl_lib_load(struct curl_lib *ret, struct err *err);
/* The same, with all of CURL_LATER, once for the whole process, from any thread; NULL: err says why there is none. */
const struct curl_lib *curl_lib_shared(struct err *err);
/* What curl says of a transfer that failed, or the sentence for a server that answers https:// without TLS. */
const char *curl_lib_reason(const struct curl_lib *lib, CURLcode code, const char *said);
