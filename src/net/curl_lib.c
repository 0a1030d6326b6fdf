/*
 * curl_lib.c: loads libcurl by the names distributions give it and looks up all the calls we make, or says what is
 * missing.
 */
#include "net/curl_lib.h"

#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <stddef.h>

#include "base/mem.h"

static const char *const names[] = {"libcurl.so.4", "libcurl-gnutls.so.4", "libcurl-nss.so.4"};
static const struct {
    const char *symbol;
    size_t offset;
} calls[] = {
#define X(field, symbol, type, args) {symbol, offsetof(struct curl_lib, field)},
    CURL_CALLS(X) CURL_LATER(X)
#undef X
};

int curl_lib_load(struct curl_lib *ret, struct err *err)
{
    struct curl_lib c = {0};

    char why[256] = "";
    for (size_t i = 0; i < ARRAY_LEN(names) && !c.lib; i++) {
        c.lib = dlopen(names[i], RTLD_NOW | RTLD_LOCAL);
        if (!c.lib && i == 0) /* why the usual one does not load; that the others are missing too says nothing */
            snprintf(why, sizeof(why), "%s", dlerror());
    }
    if (!c.lib)
        return err_set(err, -ENOENT, "cannot load libcurl: %s; install it (Debian and Ubuntu: libcurl4)", why);
    for (size_t i = 0; i < ARRAY_LEN(calls); i++) {
        void *at = dlsym(c.lib, calls[i].symbol);
        if (!at && calls[i].offset < offsetof(struct curl_lib, multi_perform))
            return err_set(err, -ENOSYS, "libcurl is too old: it has no %s", calls[i].symbol);
        memcpy((char *)&c + calls[i].offset, &at, sizeof(at));
    }
    *ret = c;
    return 0;
}

static struct {
    pthread_once_t once;
    struct curl_lib lib;
    struct err err;
} shared = {.once = PTHREAD_ONCE_INIT};

static void load_shared(void)
{
    if (curl_lib_load(&shared.lib, &shared.err) < 0)
        return;
    if (!shared.lib.multi_wakeup)
        err_set(&shared.err, -ENOSYS, "libcurl is too old: it has no curl_multi_wakeup");
    else if (shared.lib.global_init(CURL_GLOBAL_DEFAULT) != 0)
        err_set(&shared.err, -ENOMEM, "cannot start libcurl");
}

const struct curl_lib *curl_lib_shared(struct err *err)
{
    pthread_once(&shared.once, load_shared);
    if (!shared.err.code)
        return &shared.lib;
    err_set(err, shared.err.code, "%s", shared.err.msg);
    return NULL;
}

const char *curl_lib_reason(const struct curl_lib *lib, CURLcode code, const char *said)
{
    /* as OpenSSL and as GnuTLS have it */
    static const char *const plain[] = {"wrong version number", "packet length too long", "unexpected TLS packet"};
    for (size_t i = 0; code == CURLE_SSL_CONNECT_ERROR && i < ARRAY_LEN(plain); i++)
        if (strstr(said, plain[i]))
            return "this port speaks HTTP, not HTTPS: the address begins with http://";
    return said[0] ? said : lib->easy_strerror(code);
}
