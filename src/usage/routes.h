/* routes.h: what the routes about usage ask of the hub, and a question about usage for others who have one. */
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
    struct ledger_stat stat;     /* its zones, tariff and split live as long as the hub, or until it is reloaded */
    const struct tariff *tariff; /* copied on the loop */
    const char *split;
    int64_t spell_ms; /* from when on a time without work is a long one */
};
void usage_now_of(struct hub *h, struct usage_now *ret);
struct advise_made;
const struct advise_made *usage_advise(struct hub *h); /* NULL: not ready yet */

/* What can be asked, each a text as the route takes it. */
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

/* A question: made on the loop with copies of all it needs (text NULL: not given; filter may be NULL), summed beside
 * it, as often as one likes; set changes it, and borrows text. The rows are the question's until it is freed. */
struct usage_job;
struct usage_job *usage_job_new(struct api *a, const char *const text[USAGE_PARAMS], const struct filter *filter,
                                int64_t now_ms);
void usage_job_set(struct usage_job *k, enum usage_param p, const char *text);
int usage_job_sum(struct usage_job *k, const struct past_source *past, struct usage_table *ret, struct err *err);
void usage_job_free(struct usage_job *k);

/* GPUs that somebody holds without work for longer_ms and longer, the longest first; on the loop. Ended with rows_fini.
 */
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
