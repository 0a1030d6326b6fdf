/* clickhouse.h: ClickHouse as an archive of samples (store/archive.h). */
#pragma once

#include "base/err.h"
#include "base/secret.h"
#include "base/str.h"
#include "clickhouse/place.h"

struct archive;
struct buf;

struct click_conf {
    const char *url;           /* place.h */
    const char *password_file; /* NULL: no password */
    int64_t keep_ms;           /* days older than this are deleted there; 0: never */
};
/*
 * Sends no request: an unreachable server must not prevent a start. Returns -EINVAL, or the error of reading the file.
 */
int clickhouse_open(struct archive **ret, const struct click_conf *conf, struct err *err);
void clickhouse_close(struct archive *a);
int clickhouse_check(const struct click_conf *conf, struct err *err); /* checks the settings */
/* Whether this address leads to another machine without TLS. Its host goes to ret. */
bool clickhouse_in_clear(const char *url, char ret[SECRET_HOST_MAX]);

/* Status of a replica. */
struct click_host {
    char host[264], version[32];
    bool up;
    char why[256]; /* if not up */
    int64_t rows, bytes, parts;
    char first[16], last[16]; /* first and last day with samples */
    bool read_only;           /* these three of replicated tables */
    int64_t queue, delay_s;
};
/* For `muster store status`: returns the number of replicas, or -errno. Blocks. */
int clickhouse_status(const struct click_conf *conf, struct click_host ret[CLICK_HOSTS], struct err *err);

/* For `muster store init`. */
bool clickhouse_is_place(const char *url);
int clickhouse_init(const struct click_conf *conf, struct err *err); /* creates the tables, or adds missing parts */
/* the statements, and those that were not tried */
int clickhouse_print(const char *url, struct buf *out, struct err *err);
