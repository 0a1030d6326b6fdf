/*
 * lws_lib.c: loads libwebsockets by the names its versions have and looks up all the calls we make, or says what is
 * missing.
 */
#include "slack/lws_lib.h"

#include <dlfcn.h>
#include <errno.h>
#include <stddef.h>

#include "base/mem.h"
#include "base/str.h"

/* Of one minor version the structs are the same. */
#define TEXT(x)    #x
#define TEXT_OF(x) TEXT(x)
#define VERSION    TEXT_OF(LWS_LIBRARY_VERSION_MAJOR) "." TEXT_OF(LWS_LIBRARY_VERSION_MINOR)

static const char *const names[] = {"libwebsockets.so.17", "libwebsockets.so.16", "libwebsockets.so.18",
                                    "libwebsockets.so.19", "libwebsockets.so.20"};
static const struct {
    const char *symbol;
    size_t offset;
} calls[] = {
#define X(field, symbol, type, args) {symbol, offsetof(struct lws_lib, field)},
    LWS_CALLS(X)
#undef X
};

/* -ENOENT: it is not there, or another version. */
static int take(const char *name, struct lws_lib *ret, struct err *err)
{
    struct lws_lib c = {.lib = dlopen(name, RTLD_NOW | RTLD_LOCAL)};

    if (!c.lib)
        return -ENOENT;
    for (size_t i = 0; i < ARRAY_LEN(calls); i++) {
        void *at = dlsym(c.lib, calls[i].symbol);
        if (!at) {
            dlclose(c.lib);
            return err_set(err, -ENOENT, "%s has no %s", name, calls[i].symbol);
        }
        memcpy((char *)&c + calls[i].offset, &at, sizeof(at));
    }
    if (!str_starts(str_of(c.version()), VERSION ".")) {
        err_set(err, -ENOENT, "%s is version %.40s", name, c.version());
        dlclose(c.lib);
        return -ENOENT;
    }
    *ret = c;
    return 0;
}

int lws_lib_load(struct lws_lib *ret, struct err *err)
{
    struct err why = {0};

    for (size_t i = 0; i < ARRAY_LEN(names); i++)
        if (take(names[i], ret, &why) == 0)
            return 0;
    return err_set(err, -ENOENT,
                   "Socket Mode needs libwebsockets " VERSION "%s%s; install it (Debian 12: "
                   "libwebsockets17)",
                   why.msg[0] ? ", and " : "", why.msg);
}
