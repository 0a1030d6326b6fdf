/* err.h: an error message that a user can act on. Library folders set it; only the top prints it. */
#pragma once

struct err {
    int code; /* negative errno, 0 = none */
    char msg[480];
};

/* Fill err (may be NULL) and return code, so that `return err_set(...)` reads well. */
int err_set(struct err *err, int code, const char *fmt, ...) __attribute__((format(printf, 3, 4)));

/* Prefixes the message with "fmt: ", to name the larger operation that failed. Returns err->code, or code if err is
 * NULL. */
int err_prefix(struct err *err, int code, const char *fmt, ...) __attribute__((format(printf, 3, 4)));
