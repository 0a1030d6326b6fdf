/* clickhouse.h: ClickHouse as an archive of samples (store/archive.h). */
#pragma once

#include "base/err.h"
#include "base/str.h"

struct archive;
struct buf;

struct click_conf {
    const char *url;           /* place.h */
    const char *password_file; /* NULL: none is needed */
    int64_t keep_ms;           /* days older than this are dropped there; 0: none */
};
/* Asks nothing yet: a server that is away is no reason not to start. -EINVAL, or why the file cannot be read. */
int clickhouse_open(struct archive **ret, const struct click_conf *conf, struct err *err);
void clickhouse_close(struct archive *a);
int clickhouse_check(const struct click_conf *conf, struct err *err); /* would it be understood? */

/* For `muster store init`. */
bool clickhouse_is_place(const char *url);
int clickhouse_init(const struct click_conf *conf, struct err *err);     /* makes the tables, or adds what they lack */
int clickhouse_print(const char *url, struct buf *out, struct err *err); /* the statements, and what was not tried */
