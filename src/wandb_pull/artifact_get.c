/* artifact_get.c: the requests for an artifact's id, its list of files, and the file, in this order. */
#include "wandb_pull/artifact_get.h"

#include <errno.h>

#include "base/json.h"
#include "base/mem.h"

#define DOWNLOAD_MS 600000

enum { GET_ID, GET_LIST, GET_FILE, GET_DONE };

static const char by_name[] = "query ArtifactByName($entity:String!,$project:String!,$name:String!){"
                              "project(name:$project,entityName:$entity){artifact(name:$name){id state}}}";
const char artifact_files_query[] = "query ArtifactFileURLs($id:ID!,$cursor:String,$perPage:Int){artifact(id:$id){"
                                    "files(after:$cursor,first:$perPage){pageInfo{hasNextPage endCursor}"
                                    "edges{node{name directUrl}}}}}";

void artifact_get_init(struct artifact_get *g)
{
    g->variables = BUF_INIT(65536);
    g->bytes = BUF_INIT(g->max ? g->max : WANDB_ANSWER_MAX);
}

void artifact_get_fini(struct artifact_get *g)
{
    if (!g)
        return;
    FREE_ALL(g->id, g->url, g->cursor);
    buf_fini(&g->bytes);
    buf_fini(&g->variables);
}

static int next(void *self, struct wandb_request *ret, struct err *err)
{
    struct artifact_get *g = self;

    buf_reset(&g->variables);
    switch (g->step) {
    case GET_ID:
        *ret = (struct wandb_request){.op = "ArtifactByName", .query = by_name};
        json_print(&g->variables, "{'entity':%s,'project':%s,'name':%s}", g->entity, g->project, g->name);
        break;
    case GET_LIST:
        *ret = (struct wandb_request){.op = "ArtifactFileURLs", .query = artifact_files_query};
        json_print(&g->variables, "{'id':%s,'cursor':%s,'perPage':100}", g->id, g->cursor);
        break;
    case GET_FILE:
        *ret = (struct wandb_request){.op = "download",
                                      .method = "GET",
                                      .url = g->url,
                                      .max = g->max,
                                      .try_ms = DOWNLOAD_MS};
        return 1;
    default:
        return 0;
    }
    ret->variables = buf_str(&g->variables);
    return g->variables.err ? err_set(err, g->variables.err, "the name of an artifact is too long") : 1;
}

static int listed(struct artifact_get *g, const json_t *data, struct err *err)
{
    const json_t *files = answer_at(data, "artifact.files"), *edges = json_object_get(files, "edges");
    const char *cursor = answer_text(files, "pageInfo.endCursor");

    if (!json_is_array(edges))
        return err_set(err, -EBADMSG, "W&B's answer has no list of the files of artifact '%.100s'", g->name);
    for (size_t i = 0; i < json_array_size(edges); i++) {
        const json_t *node = json_object_get(json_array_get(edges, i), "node");
        const char *name = answer_text(node, "name"), *url = answer_text(node, "directUrl");
        if (name && url && strcmp(name, g->file) == 0) {
            g->url = mem_str(url);
            g->step = GET_FILE;
            return 0;
        }
    }
    bool more = json_is_true(answer_at(files, "pageInfo.hasNextPage"));
    if (more && (!cursor || (g->cursor && strcmp(g->cursor, cursor) == 0)))
        return err_set(err, -EBADMSG, "W&B's list of the files of artifact '%.100s' has no next page", g->name);
    g->empty = !more;
    g->step = more ? GET_LIST : GET_DONE;
    free(g->cursor);
    g->cursor = mem_str(cursor);
    return 0;
}

static int take(void *self, const struct wandb_answer *a, struct err *err)
{
    struct artifact_get *g = self;

    switch (g->step) {
    case GET_ID:
        g->id = mem_str(answer_text(a->data, "project.artifact.id"));
        g->found = g->id != NULL;
        g->step = g->found ? GET_LIST : GET_DONE;
        return 0;
    case GET_LIST:
        return listed(g, a->data, err);
    case GET_FILE:
        if (buf_addstr(&g->bytes, a->body) < 0)
            return err_set(err, -EMSGSIZE, "'%.100s' of artifact '%.100s' is too long", g->file, g->name);
        g->step = GET_DONE;
        return 0;
    }
    return 0;
}

struct wandb_job artifact_get_job(struct artifact_get *g)
{
    return (struct wandb_job){next, take, g};
}
