/* routes.h: what the routes about usage need from the hub, and a query of usage for other features. */
#pragma once

#include "base/err.h"
#include "model/rows.h"
#include "usage/ledger.h"
#include "usage/tariff.h"

struct api;
struct filter;
struct hub;
struct past_source;

struct usage_now {
    struct ledger_stat stat;     /* its zones, tariff and split are valid until the hub ends or reloads */
    const struct tariff *tariff; /* copied on the loop */
    const char *split;
    int64_t spell_ms; /* idle time from which a spell is long */
};
void usage_now_of(struct hub *h, struct usage_now *ret);
struct advise_made;
const struct advise_made *usage_advise(struct hub *h); /* NULL: not ready yet */

/* Parameters of a query, each a text in the format of the route. */
enum usage_param {
    USAGE_BY,
    USAGE_FROM,
    USAGE_TO,
    USAGE_LAST,
    USAGE_PERIOD,
    USAGE_ZONE,
    USAGE_WEEK,
    USAGE_FORMAT,
    USAGE_PERSON,
    USAGE_TEAM,
    USAGE_PROJECT,
    USAGE_COMPANY,
    USAGE_NODE,
    USAGE_MODEL,
    USAGE_DEVICE,
    USAGE_PARAMS
};

/* A query: made on the loop with copies of all it needs (text NULL: not set; filter may be NULL), summed on a worker
 * thread, any number of times. usage_job_set changes it, and borrows text. The query owns its rows until it is
 * freed. */
struct usage_job;
struct usage_job *usage_job_new(struct api *a, const char *const text[USAGE_PARAMS], const struct filter *filter,
                                int64_t now_ms);
void usage_job_set(struct usage_job *k, enum usage_param p, const char *text);
int usage_job_sum(struct usage_job *k, const struct past_source *past, struct usage_table *ret, struct err *err);
void usage_job_free(struct usage_job *k);

/* GPUs held idle for longer_ms or longer, the longest first. Loop thread only. Free with rows_fini(). */
enum idle_column {
    IDLE_PERSON,
    IDLE_LOGIN,
    IDLE_NODE,
    IDLE_NODE_ID,
    IDLE_DEVICE,
    IDLE_INDEX,
    IDLE_MODEL,
    IDLE_SINCE,
    IDLE_IDLE,
    IDLE_MEMORY,
    IDLE_PROGRAM,
    IDLE_COST,
    IDLE_COLUMNS
};
void idle_rows(struct api *a, const struct filter *filter, int64_t longer_ms, int64_t now_ms, struct rows *ret);
