/* cairo_lib.c: loads cairo and fontconfig and looks up all the calls we make, or says what is missing. */
#include "draw/cairo_lib.h"

#include <dlfcn.h>
#include <errno.h>
#include <stddef.h>

#include "base/lock.h"
#include "base/mem.h"

struct call {
    const char *symbol;
    size_t offset;
};
#define X(field, symbol, type, args) {symbol, offsetof(struct cairo_lib, field)},
static const struct call cairo_calls[] = {CAIRO_CALLS(X)};
static const struct call fc_calls[] = {FC_CALLS(X)};
#undef X

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct cairo_lib loaded;
static bool is_loaded;

static int take(struct cairo_lib *c, void **lib, const char *name, const char *package, const struct call *calls,
                size_t n, struct err *err)
{
    *lib = dlopen(name, RTLD_NOW | RTLD_LOCAL);
    if (!*lib)
        return err_set(err, -ENOENT, "cannot draw: %s; install it (Debian and Ubuntu: %s)", dlerror(), package);
    for (size_t i = 0; i < n; i++) {
        void *at = dlsym(*lib, calls[i].symbol);
        if (!at)
            return err_set(err, -ENOSYS, "cannot draw: %s is too old: it has no %s", name, calls[i].symbol);
        memcpy((char *)c + calls[i].offset, &at, sizeof(at));
    }
    return 0;
}

int cairo_lib_load(const struct cairo_lib **ret, struct err *err)
{
    struct cairo_lib c = {0};

    LOCKED(&lock);
    if (!is_loaded) {
        int r = take(&c, &c.cairo, "libcairo.so.2", "libcairo2", cairo_calls, ARRAY_LEN(cairo_calls), err);
        if (r == 0)
            r = take(&c, &c.fontconfig, "libfontconfig.so.1", "libfontconfig1", fc_calls, ARRAY_LEN(fc_calls), err);
        if (r < 0)
            return r;
        loaded = c;
        is_loaded = true;
    }
    *ret = &loaded;
    return 0;
}
