/* pg_lib.c: loads libpq and resolves all functions we call; reports missing ones. */
#include "sql/pg_lib.h"

#include <dlfcn.h>
#include <errno.h>
#include <stddef.h>

#include "base/mem.h"

static const struct {
    const char *symbol;
    size_t offset;
} calls[] = {
#define X(field, symbol, type, args) {symbol, offsetof(struct pg_lib, field)},
    PG_CALLS(X)
#undef X
};

int pg_lib_load(struct pg_lib *ret, struct err *err)
{
    struct pg_lib pq = {.lib = dlopen("libpq.so.5", RTLD_NOW | RTLD_LOCAL)};

    if (!pq.lib)
        return err_set(err, -ENOENT,
                       "cannot load libpq, which a store on PostgreSQL needs: %s; install it (Debian and Ubuntu: "
                       "libpq5)",
                       dlerror());
    for (size_t i = 0; i < ARRAY_LEN(calls); i++) {
        void *at = dlsym(pq.lib, calls[i].symbol);
        if (!at)
            return err_set(err, -ENOSYS, "libpq is too old: it has no %s", calls[i].symbol);
        memcpy((char *)&pq + calls[i].offset, &at, sizeof(at));
    }
    *ret = pq;
    return 0;
}
