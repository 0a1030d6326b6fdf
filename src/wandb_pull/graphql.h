/*
 * graphql.h: the GraphQL queries of a pull, worded as the vendor's client does, and the readers of their replies. Pure:
 * text in, text out. A reply without the fields that tell whether it is complete is an error, never a short list.
 */
#pragma once

#include <jansson.h>
#include <stdint.h>

#include "base/err.h"

struct buf;

#define ASK_PAGE     1000 /* runs of a page, if the server accepts it */
#define ASK_PAGE_MIN 10
#define ASK_PROJECTS 200 /* projects of a page */
#define ASK_CURSOR   4096
#define ASK_METADATA "wandb-metadata.json"

/* Operations, as wandb_pull/web_api.h wants them, and their variables. */
extern const char ask_projects[], ask_events[];
#define ASK_PROJECTS_OP "Projects"
#define ASK_RUNS_OP     "Runs"
#define ASK_EVENTS_OP   "RunFullHistory"
void graphql_projects_variables(struct buf *ret, const char *team, const char *cursor);
/* fields: enum run_field of wandb_pull/run.h, from rules_fields() plus RUN_CPUS if CPUs are wanted. */
void graphql_runs_query(struct buf *ret, unsigned fields);
/* Runs that were created before before_ms, the oldest first. */
void graphql_runs_variables(struct buf *ret, const char *team, const char *project, const char *cursor, int n,
                            int64_t before_ms);
void graphql_events_variables(struct buf *ret, const char *team, const char *project, const char *run, int32_t samples);
void url_add_part(struct buf *ret, const char *part); /* "/part", escaped as addresses need it */
/* "/files/team/project/run/file", each part escaped. */
void url_run_file(struct buf *ret, const char *team, const char *project, const char *run, const char *file);

/* A page: the list of its edges, borrowed from data, and the cursor of the next one. */
struct graphql_page {
    const json_t *edges;
    const char *cursor; /* NULL: this was the last */
    int64_t count;      /* total number of runs; -1: unknown */
};
/* -EBADMSG with a message in err if it is not a whole page. before: the cursor of the query. */
int graphql_projects_parse(const json_t *data, const char *before, struct graphql_page *ret, struct err *err);
int graphql_runs_parse(const json_t *data, const char *before, struct graphql_page *ret, struct err *err);
/* The list of samples; NULL if the run has none. Returns -ENOENT if the run does not exist (any longer). */
int graphql_events_parse(const json_t *data, const json_t **ret, struct err *err);
