/*
 * link.h: one connection to ClickHouse's HTTP interface, for one thread at a time. It blocks: never use it on a loop.
 * With several hosts, the last one that responded is tried first.
 */
#pragma once

#include "base/buf.h"
#include "base/err.h"
#include "clickhouse/place.h"

struct click_link;
/* Borrows both. stop: called about once a second during a wait; true ends it with -ECANCELED. */
int click_link_new(struct click_link **ret, const struct click_place *place, const char *password, struct err *err);
void click_link_free(struct click_link *l);
void click_link_pin(struct click_link *l, size_t host); /* use only this one from now on; n_hosts: any again */
size_t click_link_host(const struct click_link *l);     /* the one tried first */

struct click_query {
    const char *sql;
    struct str body;      /* the data of an INSERT; p NULL: none */
    const char *settings; /* of the server, "max_execution_time=5&…"; NULL: none */
    int64_t timeout_ms;
    bool (*stop)(void *arg); /* NULL: never */
    void *arg;
};
/*
 * Appends the response to ret, up to its limit. Returns 0; -ECANCELED; -E2BIG; -EIO with a message in err that names
 * the host.
 */
int click_query_run(struct click_link *l, const struct click_query *q, struct buf *ret, struct err *err);

/* The first sentence of an error response, without prefix and suffix. */
void click_failure(struct str answer, struct buf *out);
