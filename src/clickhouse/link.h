/*
 * link.h: one connection to ClickHouse's HTTP interface, for one thread at a time. It waits: never on a loop.
 * A place with several hosts: whichever answered last is asked first.
 */
#pragma once

#include "base/buf.h"
#include "base/err.h"
#include "clickhouse/place.h"

struct click_link;
/* Both are borrowed. stop: asked about once a second while it waits; true ends it with -ECANCELED. */
int click_link_new(struct click_link **ret, const struct click_place *place, const char *password, struct err *err);
void click_link_free(struct click_link *l);
void click_link_pin(struct click_link *l, size_t host); /* this one alone from now on; n_hosts: any again */
size_t click_link_host(const struct click_link *l);     /* the one that is asked first */

struct click_query {
    const char *sql;
    struct str body;      /* what an INSERT inserts; p NULL: none */
    const char *settings; /* of the server, "max_execution_time=5&…"; NULL: none */
    int64_t timeout_ms;
    bool (*stop)(void *arg); /* NULL: never */
    void *arg;
};
/* The answer is appended to ret, at most what ret allows. 0; -ECANCELED; -E2BIG; -EIO with a sentence that names the
 * host. */
int click_ask(struct click_link *l, const struct click_query *q, struct buf *ret, struct err *err);

/* What an answer that tells of a failure says: its first sentence, without what surrounds it. */
void click_failure(struct str answer, struct buf *out);
