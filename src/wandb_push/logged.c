/* logged.c: the requests that make a run, fill it, end it and tag it. */
#include "wandb_push/logged.h"

#include <errno.h>

#include "base/json.h"
#include "base/mem.h"
#include "wandb_pull/graphql.h"
#include "wandb_push/upsert.h"

#define TEXT_MAX (16u << 20)

static const char create_files[] =
    "mutation CreateRunFiles($entity:String!,$project:String!,$run:String!,$files:[String!]!){createRunFiles(input:{"
    "entityName:$entity,projectName:$project,runName:$run,files:$files}){runID uploadHeaders files{name uploadUrl}}}";

/* ---- names ---- */

static void name_run(struct logged *l)
{
    char sum[SHA256_HEX_SIZE];

    buf_reset(&l->text);
    buf_addf(&l->text, "%s\n%s\n%s\n%s\n%s\n", l->entity, l->project, l->name, l->tag ? l->tag : "",
             l->salt ? l->salt : "");
    for (size_t i = 0; l->set && i < l->set->n; i++)
        buf_addf(&l->text, "%s %s\n", l->set->v[i].key, sha256_hex(buf_str(&l->set->v[i].file), sum));
    digest_name(buf_str(&l->text), LOGGED_ID, l->id);
}

void logged_init(struct logged *l)
{
    char sum[SHA256_HEX_SIZE];

    l->text = BUF_INIT(TEXT_MAX);
    l->path = BUF_INIT(4096);
    name_run(l);
    for (size_t i = 0; l->set && i < l->set->n; i++) {
        const struct table *t = &l->set->v[i];
        sha256_hex(buf_str(&t->media), sum);
        l->sums[i] = mem_str(sum);
        l->paths[i] = mem_fmt("media/table/%s_0_%.20s.table.json", t->key, sum);
        l->names[i] = mem_fmt("run-%s-%s", l->id, t->key);
        l->files[i] = mem_fmt("%s.table.json", t->key);
        l->artifacts[i] = (struct artifact){.entity = l->entity,
                                            .project = l->project,
                                            .run = l->id,
                                            .type = "run_table",
                                            .name = l->names[i],
                                            .file = l->files[i],
                                            .bytes = buf_str(&t->file)};
        artifact_init(&l->artifacts[i]);
    }
}

void logged_fini(struct logged *l)
{
    if (!l)
        return;
    for (size_t i = 0; i < TABLES_MAX; i++) {
        artifact_fini(&l->artifacts[i]);
        FREE_ALL(l->names[i], l->files[i], l->paths[i], l->sums[i], l->urls[i]);
    }
    free_headers(l->headers);
    free(l->storage_id);
    buf_fini(&l->text);
    buf_fini(&l->path);
}

/* ---- start, tag ---- */

static int upsert_next(void *self, struct wandb_request *ret, struct err *err)
{
    struct logged *l = self;

    if (l->at)
        return 0;
    buf_reset(&l->text);
    if (l->tagging)
        json_print(&l->text, "{'id':%s", l->storage_id);
    else
        json_print(&l->text, "{'name':%s,'project':%s,'entity':%s,'jobType':%s", l->id, l->project, l->entity,
                   l->job_type);
    json_print(&l->text, ",'displayName':%s,'config':%s,'tags':", l->name, l->config);
    struct json j = json_on(&l->text);
    json_arr(&j, NULL);
    if (l->tag)
        json_cstr(&j, NULL, l->tag);
    if (l->tagging)
        json_cstr(&j, NULL, l->latest);
    json_end_arr(&j);
    buf_addc(&l->text, '}');
    return upsert_request(&l->text, ret, err);
}

static int upsert_take(void *self, const struct wandb_answer *a, struct err *err)
{
    struct logged *l = self;
    const char *id = answer_text(a->data, "upsertBucket.bucket.id");

    if (!id)
        return err_set(err, -EBADMSG, "W&B's answer has no run, so '%.60s' cannot be logged", l->name);
    free(l->storage_id);
    l->storage_id = mem_str(id);
    l->at = 1;
    return 0;
}

static struct wandb_job upsert_errand(struct logged *l, bool tagging)
{
    l->at = 0;
    l->tagging = tagging;
    return (struct wandb_job){upsert_next, upsert_take, l};
}

struct wandb_job logged_begin(struct logged *l)
{
    return upsert_errand(l, false);
}

struct wandb_job logged_tag(struct logged *l)
{
    return upsert_errand(l, true);
}

/* ---- files: first their addresses, then the uploads in sequence ---- */

static void add_paths(struct logged *l)
{
    struct json j = json_on(&l->text);

    json_arr(&j, NULL);
    for (size_t i = 0; l->set && i < l->set->n; i++)
        json_cstr(&j, NULL, l->paths[i]);
    json_end_arr(&j);
}

static int files_next(void *self, struct wandb_request *ret, struct err *err)
{
    struct logged *l = self;

    if (!l->set || l->at > l->set->n)
        return 0;
    if (l->at) {
        *ret = (struct wandb_request){.op = "upload",
                                      .method = "PUT",
                                      .url = l->urls[l->at - 1],
                                      .headers = (const char *const *)l->headers,
                                      .body = buf_str(&l->set->v[l->at - 1].media)};
        return 1;
    }
    buf_reset(&l->text);
    json_print(&l->text, "{'entity':%s,'project':%s,'run':%s,'files':", l->entity, l->project, l->id);
    add_paths(l);
    buf_addc(&l->text, '}');
    *ret = (struct wandb_request){.op = "CreateRunFiles", .query = create_files, .variables = buf_str(&l->text)};
    return l->text.err ? err_set(err, l->text.err, "the names of the files of a run are too long") : 1;
}

static int files_take(void *self, const struct wandb_answer *a, struct err *err)
{
    struct logged *l = self;
    const json_t *made = answer_at(a->data, "createRunFiles"), *files = json_object_get(made, "files");

    if (l->at++)
        return 0;
    free_headers(l->headers);
    l->headers = upload_headers(json_object_get(made, "uploadHeaders"));
    for (size_t i = 0; i < l->set->n; i++) {
        free(l->urls[i]);
        l->urls[i] = NULL;
        for (size_t k = 0; k < json_array_size(files) && !l->urls[i]; k++) {
            const json_t *file = json_array_get(files, k);
            const char *name = answer_text(file, "name"), *url = answer_text(file, "uploadUrl");
            if (name && url && strcmp(name, l->paths[i]) == 0)
                l->urls[i] = mem_str(url);
        }
        if (!l->urls[i])
            return err_set(err, -EBADMSG, "W&B's answer has no place for '%.100s'", l->paths[i]);
    }
    return 0;
}

struct wandb_job logged_files(struct logged *l)
{
    l->at = 0;
    return (struct wandb_job){files_next, files_take, l};
}

/* ---- finish ---- */

/* The line of history, and the summary: the values that the run shows. */
static void write_history(const struct logged *l, struct buf *ret)
{
    buf_adds(ret, "{\"_step\":0,\"_timestamp\":");
    buf_fixed(ret, l->at_ms, 1000);
    buf_adds(ret, ",\"_runtime\":0");
    for (size_t i = 0; l->set && i < l->set->n; i++) {
        const struct table *t = &l->set->v[i];
        AUTO_FREE char *path = mem_fmt("wandb-client-artifact://%s/%s", l->artifacts[i].client, l->files[i]);
        json_print(ret,
                   ",%s:{'_type':'table-file','path':%s,'sha256':%s,'size':%lld,'ncols':%lld,'nrows':%lld,"
                   "'log_mode':'IMMUTABLE','artifact_path':%s}",
                   t->key, l->paths[i], l->sums[i], (long long)t->media.len, (long long)t->n_cols, (long long)t->n_rows,
                   path);
    }
    buf_adds(ret, l->set && l->set->warning ? ",\"warning\":\"No data\"}" : "}");
}

static int finish_next(void *self, struct wandb_request *ret, struct err *err)
{
    struct logged *l = self;
    AUTO_BUF line = BUF_INIT(TEXT_MAX);

    if (l->at)
        return 0;
    buf_reset(&l->path);
    url_run_file(&l->path, l->entity, l->project, l->id, "file_stream");
    write_history(l, &line);
    buf_reset(&l->text);
    buf_adds(&l->text, "{\"files\":{");
    if (l->set)
        json_print(&l->text,
                   "'wandb-history.jsonl':{'offset':0,'content':[%s]},'wandb-summary.json':{'offset':0,'content':[%s]}",
                   line.p, line.p);
    buf_adds(&l->text, "},\"uploaded\":");
    add_paths(l);
    buf_adds(&l->text, ",\"complete\":true,\"exitcode\":0}");
    *ret = (struct wandb_request){.op = "file_stream",
                                  .method = "POST",
                                  .url = l->path.p,
                                  .body = buf_str(&l->text),
                                  .try_ms = 180000};
    return l->text.err || l->path.err || line.err ? err_set(err, -EMSGSIZE, "a name is too long for W&B") : 1;
}

static int finish_take(void *self, UNUSED const struct wandb_answer *a, UNUSED struct err *err)
{
    ((struct logged *)self)->at = 1;
    return 0;
}

struct wandb_job logged_finish(struct logged *l)
{
    l->at = 0;
    return (struct wandb_job){finish_next, finish_take, l};
}
