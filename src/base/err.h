/* err.h: what failed, in one sentence a person can act on. Library folders set it; only the top prints it. */
#pragma once

struct err {
    int code; /* negative errno, 0 = none */
    char msg[480];
};

/* Fill err (may be NULL) and return code, so that `return err_set(...)` reads well. */
int err_set(struct err *err, int code, const char *fmt, ...) __attribute__((format(printf, 3, 4)));

/* Put "fmt: " before what is there, to say in which larger thing it failed. Returns err->code, or code if err is NULL.
 */
int err_prefix(struct err *err, int code, const char *fmt, ...) __attribute__((format(printf, 3, 4)));
