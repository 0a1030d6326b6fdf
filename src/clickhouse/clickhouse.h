/* clickhouse.h: ClickHouse as an archive of samples (store/archive.h). */
#pragma once

#include "base/err.h"
#include "base/str.h"

struct archive;

struct click_conf {
    const char *url;           /* place.h */
    const char *password_file; /* NULL: none is needed */
    int64_t keep_ms;           /* days older than this are dropped there; 0: none */
};
/* Asks nothing yet: a server that is away is no reason not to start. -EINVAL, or why the file cannot be read. */
int clickhouse_open(struct archive **ret, const struct click_conf *conf, struct err *err);
void clickhouse_close(struct archive *a);
int clickhouse_check(const struct click_conf *conf, struct err *err); /* would it be understood? */
