/* Lines of custom metrics: what comes out has a clean name and a scale. */
#include <stdlib.h>

#include "collect/exec.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static bool name_ok_here(const char *s)
{
    size_t n = strspn(s, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_:");

    return n && !s[n] && n < 64 && !(s[0] >= '0' && s[0] <= '9');
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct exec_types types = {0};
    struct exec_bad bad = {0};
    struct reading r = {0};

    exec_text(&types, str_n(data, size), &r, &bad);
    for (size_t i = 0; i < r.n_custom; i++)
        if (!name_ok_here(r.custom[i].name) || r.custom[i].per < 1 || !str_utf8_ok(str_of(r.custom[i].device)) ||
            r.custom[i].unit >= UNIT_COUNT)
            abort();
    if (!str_utf8_ok(str_of(bad.first)))
        abort();
    reading_fini(&r);
    return 0;
}
