/* graphql.c: writes GraphQL queries and their variables, and reads pages of replies strictly. */
#include "wandb_pull/graphql.h"

#include <errno.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/json.h"
#include "base/mem.h"
#include "wandb_pull/run.h"

const char ask_projects[] = "query " ASK_PROJECTS_OP "($entity: String, $cursor: String, $perPage: Int = 50) {"
                            " models(entityName: $entity, after: $cursor, first: $perPage) {"
                            " edges { node { id name entityName createdAt isBenchmark } cursor }"
                            " pageInfo { endCursor hasNextPage } } }";

const char ask_events[] =
    "query " ASK_EVENTS_OP "($project: String!, $entity: String!, $name: String!, $samples: Int) {"
    " project(name: $project, entityName: $entity) {"
    " run(name: $name) { events(samples: $samples) } } }";

void graphql_runs_query(struct buf *ret, unsigned fields)
{
    buf_adds(ret, "query " ASK_RUNS_OP "($project: String!, $entity: String!, $cursor: String, $perPage: Int = 50,"
                  " $order: String, $filters: JSONString) {"
                  " project(name: $project, entityName: $entity) { runCount(filters: $filters)"
                  " runs(filters: $filters, after: $cursor, first: $perPage, order: $order) {"
                  " edges { node { id name displayName state tags host createdAt heartbeatAt user { name username }"
                  " runInfo { gpu gpuCount");
    buf_adds(ret, fields & RUN_CPUS ? " cpuCount }" : " }");
    buf_adds(ret, fields & RUN_CONFIG ? " config" : "");
    buf_adds(ret, fields & RUN_SUMMARY ? " summaryMetrics" : "");
    buf_adds(ret, fields & RUN_DESCRIPTION ? " description" : "");
    buf_adds(ret, " } cursor } pageInfo { endCursor hasNextPage } } } }");
}

void graphql_projects_variables(struct buf *ret, const char *team, const char *cursor)
{
    json_print(ret, "{'entity':%s,'cursor':%s,'perPage':%lld}", team, cursor, (long long)ASK_PROJECTS);
}

void graphql_runs_variables(struct buf *ret, const char *team, const char *project, const char *cursor, int n,
                            int64_t before_ms)
{
    char iso[32], filter[96];

    snprintf(filter, sizeof(filter), "{\"createdAt\":{\"$lt\":\"%s\"}}", clock_iso(before_ms, iso));
    json_print(ret, "{'entity':%s,'project':%s,'cursor':%s,'perPage':%lld,'order':'+created_at','filters':%s}", team,
               project, cursor, (long long)n, filter);
}

void graphql_events_variables(struct buf *ret, const char *team, const char *project, const char *run, int32_t samples)
{
    json_print(ret, "{'entity':%s,'project':%s,'name':%s,'samples':%lld}", team, project, run, (long long)samples);
}

void url_add_part(struct buf *b, const char *s)
{
    buf_addc(b, '/');
    buf_addurl(b, str_of(s));
}

void url_run_file(struct buf *ret, const char *team, const char *project, const char *run, const char *file)
{
    const char *const parts[] = {"files", team, project, run, file};

    for (size_t i = 0; i < ARRAY_LEN(parts); i++)
        url_add_part(ret, parts[i]);
}

/* ---- replies ---- */

static int page_read(const json_t *list, const char *before, struct graphql_page *ret, struct err *err)
{
    const json_t *edges = json_object_get(list, "edges"), *info = json_object_get(list, "pageInfo"), *edge;
    const json_t *more = json_object_get(info, "hasNextPage"), *cursor = json_object_get(info, "endCursor");
    size_t i;

    if (!json_is_array(edges))
        return err_set(err, -EBADMSG, "the answer has no list");
    json_array_foreach (edges, i, edge)
        if (!json_is_object(json_object_get(edge, "node")))
            return err_set(err, -EBADMSG, "entry %zu of the list is missing", i + 1);
    if (!json_is_boolean(more))
        return err_set(err, -EBADMSG, "the response does not contain pageInfo.hasNextPage");
    const char *next = json_is_true(more) ? json_string_value(cursor) : NULL;
    if (json_is_true(more) && (!next || !next[0] || strlen(next) > ASK_CURSOR))
        return err_set(err, -EBADMSG, "the response announces another page without a cursor");
    if (next && ((before && strcmp(before, next) == 0) || json_array_size(edges) == 0))
        return err_set(err, -EBADMSG, "the next page would be the same again");
    *ret = (struct graphql_page){.edges = edges, .cursor = next, .count = -1};
    return 0;
}

int graphql_projects_parse(const json_t *data, const char *before, struct graphql_page *ret, struct err *err)
{
    const json_t *models = json_object_get(data, "models");

    if (!json_is_object(models))
        return err_set(err, -EBADMSG, "there is no such team, or the key may not see it");
    return page_read(models, before, ret, err);
}

int graphql_runs_parse(const json_t *data, const char *before, struct graphql_page *ret, struct err *err)
{
    const json_t *project = json_object_get(data, "project"), *count = json_object_get(project, "runCount");

    if (!json_is_object(project))
        return err_set(err, -EBADMSG, "the project no longer exists, or the key cannot read it");
    int r = page_read(json_object_get(project, "runs"), before, ret, err);
    if (r == 0 && json_is_integer(count) && json_integer_value(count) >= 0)
        ret->count = json_integer_value(count);
    return r;
}

int graphql_events_parse(const json_t *data, const json_t **ret, struct err *err)
{
    const json_t *project = json_object_get(data, "project"), *run = json_object_get(project, "run");
    const json_t *events = json_object_get(run, "events");

    if (json_is_null(run) || json_is_null(project))
        return err_set(err, -ENOENT, "there is no such run any more");
    if (!json_is_object(run) || (events && !json_is_array(events) && !json_is_null(events)))
        return err_set(err, -EBADMSG, "the answer has no list of samples");
    *ret = json_is_array(events) ? events : NULL;
    return 0;
}
