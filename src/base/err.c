/* err.c: formats an error's message. It is formatted in a separate buffer first, since an argument may be the old
 * message. */
#include "base/err.h"

#include <stdarg.h>

#include "base/mem.h"

int err_set(struct err *err, int code, const char *fmt, ...)
{
    char msg[sizeof(((struct err *)0)->msg) + 4];
    va_list ap;

    if (!err)
        return code;
    va_start(ap, fmt);
    vsnprintf(msg, sizeof(msg), fmt, ap);
    va_end(ap);
    err->code = code;
    mem_copy_str(err->msg, sizeof(err->msg), msg);
    return code;
}

int err_prefix(struct err *err, int code, const char *fmt, ...)
{
    char msg[2 * sizeof(err->msg)];
    va_list ap;

    if (!err)
        return code;
    va_start(ap, fmt);
    int n = vsnprintf(msg, sizeof(err->msg), fmt, ap);
    va_end(ap);
    n = n < 0 ? 0 : MIN(n, (int)sizeof(err->msg) - 1);
    snprintf(msg + n, sizeof(msg) - (size_t)n, ": %s", err->msg);
    mem_copy_str(err->msg, sizeof(err->msg), msg);
    if (err->code == 0)
        err->code = code;
    return err->code;
}
