/* cmd_download.c: `muster wandb download`: the tables and the dataset that are at W&B as files. */
#include <errno.h>
#include <libgen.h>

#include "base/file.h"
#include "base/json.h"
#include "base/mem.h"
#include "cli/cli.h"
#include "cli/cmd.h"
#include "wandb_pull/artifact_get.h"
#include "wandb_pull/cmd_talk.h"
#include "wandb_pull/cmd_wandb.h"
#include "wandb_push/tagged.h"

#define FILE_BYTES_MAX (256u << 20)
#define FILE_MS        600000
#define PAGE           100

struct download_conf {
    struct talk_conf talk;
    char *output;
    bool quiet;
};

static const struct opt download_opts[] = {
    TALK_OPTS(download_conf, talk),
    OPT(download_conf, output, 'o', OPT_PATH, "wandb_artifacts", "DIR", "folder to write, created if needed"),
    OPT(download_conf, quiet, 'q', OPT_BOOL, NULL, NULL, "print no file names"),
    {0},
};
const struct opt_cmd wandb_download_help = {
    .name = "muster wandb download",
    .summary = "save the tables and the dataset of W&B as files",
    .args = "",
    .about =
        "Saves every artifact of each run tagged `latest` in the dashboard's project as DIR/RUN/ARTIFACT:VERSION/FILE, "
        "and the newest dataset as DIR/ARTIFACT:VERSION/FILE. Existing files are replaced.",
    .examples = "muster wandb download --config config.yaml\n"
                "muster wandb download -o tables -q",
    .opts = download_opts,
    .conf_size = sizeof(struct download_conf),
};

#define ARTIFACT "id versionIndex artifactSequence{name}"
static const char logged[] =
    "query RunOutputArtifacts($entity:String!,$project:String!,$run:String!,$cursor:String,$perPage:Int){"
    "project(name:$project,entityName:$entity){run(name:$run){outputArtifacts(after:$cursor,first:$perPage){"
    "edges{node{" ARTIFACT "}} pageInfo{endCursor hasNextPage}}}}}";
static const char named[] = "query ArtifactByName($entity:String!,$project:String!,$name:String!){"
                            "project(name:$project,entityName:$entity){artifact(name:$name){" ARTIFACT "}}}";

struct download {
    const struct download_conf *conf;
    struct talk *t;
    const char *dir; /* of the artifact that is fetched */
    size_t n;        /* files */
};

/* ---- lists ---- */

typedef int node_fn(struct download *d, const json_t *node, struct err *err);

/* Each node of a list, page by page. first: the variables, an object without its end. */
static int each_node(struct download *d, const char *op, const char *query, const char *first, const char *path,
                     node_fn *each, struct err *err)
{
    AUTO_FREE char *cursor = NULL;
    bool more = true;
    int r = 0;

    while (more && r == 0) {
        AUTO_BUF variables = BUF_INIT(65536);
        json_auto_t *data = NULL;
        buf_adds(&variables, first);
        json_print(&variables, ",'cursor':%s,'perPage':%lld}", cursor, (long long)PAGE);
        struct wandb_request q = {.op = op, .query = query, .variables = buf_str(&variables)};
        r = wandb_wait(d->t->w, &q, &data, NULL, err);
        const json_t *list = answer_at(data, path), *edges = json_object_get(list, "edges");
        if (r == 0 && !json_is_array(edges))
            r = err_set(err, -EBADMSG, "%s: W&B's answer has no list", op);
        for (size_t i = 0; i < json_array_size(edges) && r == 0; i++)
            r = each(d, json_object_get(json_array_get(edges, i), "node"), err);
        const char *next = answer_text(list, "pageInfo.endCursor");
        more = json_is_true(answer_at(list, "pageInfo.hasNextPage"));
        if (r == 0 && more && (!next || (cursor && strcmp(cursor, next) == 0)))
            r = err_set(err, -EBADMSG, "%s: W&B's list has no next page", op);
        free(cursor);
        cursor = mem_str(next);
    }
    return r;
}

/* ---- files ---- */

/* A name from outside stays below the folder it is put in. */
static bool name_ok(const char *name)
{
    struct str rest = str_of(name), part;

    if (!name || !name[0] || !str_utf8_ok(rest))
        return false;
    while (str_cut(&rest, '/', &part))
        if (!part.len || str_eq(part, ".") || str_eq(part, ".."))
            return false;
    return true;
}

static int get_file(struct download *d, const json_t *node, struct err *err)
{
    const char *name = answer_text(node, "name"), *url = answer_text(node, "directUrl");
    AUTO_BUF bytes = BUF_INIT(FILE_BYTES_MAX);

    if (!name_ok(name) || !url)
        return err_set(err, -EBADMSG, "a file below '%.200s' has no name or no address that can be one", d->dir);
    AUTO_FREE char *path = mem_fmt("%s/%s", d->dir, name), *folder = mem_str(path);
    struct wandb_request q = {.op = "download", .method = "GET", .url = url, .max = FILE_BYTES_MAX, .try_ms = FILE_MS};
    int r = wandb_wait(d->t->w, &q, NULL, &bytes, err) ?: file_mkdirs(dirname(folder), 0777, err);
    r = r ?: file_write(path, 0644, bytes.p, bytes.len, err);
    if (r == 0 && !d->conf->quiet)
        printf("%s\n", path);
    d->n += r == 0;
    return r;
}

/* All files of an artifact, below the folder d->dir. */
static int get_artifact(struct download *d, const json_t *node, struct err *err)
{
    const char *id = answer_text(node, "id"), *name = answer_text(node, "artifactSequence.name"), *above = d->dir;
    const json_t *version = answer_at(node, "versionIndex");
    AUTO_BUF variables = BUF_INIT(4096);

    if (!id || !name_ok(name) || strchr(name, '/'))
        return err_set(err, -EBADMSG, "W&B lists an artifact without a name");
    AUTO_FREE char *dir = mem_fmt("%s/%s:v%lld", above, name, (long long)json_integer_value(version));
    json_print(&variables, "{'id':%s", id);
    d->dir = dir;
    int r = each_node(d, "ArtifactFileURLs", artifact_files_query, variables.p, "artifact.files", get_file, err);
    d->dir = above;
    return r;
}

/* ---- the whole ---- */

static int get_run(struct download *d, const struct wandb_place *at, const struct tagged_run *run, struct err *err)
{
    AUTO_BUF variables = BUF_INIT(65536);
    AUTO_FREE char *name = mem_str(name_ok(run->display) ? run->display : run->id);

    for (char *c = name; *c; c++)
        *c = *c == '/' ? '_' : *c;
    AUTO_FREE char *dir = mem_fmt("%s/%s", d->conf->output, name);
    json_print(&variables, "{'entity':%s,'project':%s,'run':%s", at->entity, at->project, run->id);
    d->dir = dir;
    return each_node(d, "RunOutputArtifacts", logged, variables.p, "project.run.outputArtifacts", get_artifact, err);
}

/* Downloads the newest version, if any. */
static int get_newest(struct download *d, const struct wandb_place *at, const char *name, struct err *err)
{
    AUTO_BUF variables = BUF_INIT(65536);
    AUTO_FREE char *newest = mem_fmt("%s:latest", name);
    json_auto_t *data = NULL;

    json_print(&variables, "{'entity':%s,'project':%s,'name':%s}", at->entity, at->project, newest);
    struct wandb_request q = {.op = "ArtifactByName", .query = named, .variables = buf_str(&variables)};
    int r = wandb_wait(d->t->w, &q, &data, NULL, err);
    const json_t *node = answer_at(data, "project.artifact");
    d->dir = d->conf->output;
    return r ?: json_is_object(node) ? get_artifact(d, node, err) : 0;
}

static int download(struct cmd_call *call, struct talk *t)
{
    struct download d = {.conf = call->conf, .t = t};
    struct err *err = &call->err;
    const struct wandb_config *c = t->config;
    const struct wandb_place *at = &c->dashboard;
    AUTO_TAGGED tagged = {.entity = at->entity, .project = at->project, .tag = at->name};

    if (!at->entity || !at->project || !at->name)
        return err_set(err, -EINVAL,
                       "'%.200s' does not name the source of tables: it needs dashboard: {entity, project}", c->path);
    tagged_init(&tagged);
    int r = wandb_job_run(t->w, tagged_job(&tagged), err);
    for (size_t i = 0; i < tagged.n && r == 0; i++)
        r = get_run(&d, at, &tagged.v[i], err);
    if (r == 0 && c->dataset.entity && c->dataset.project && c->dataset.name)
        r = get_newest(&d, &c->dataset, c->dataset.name, err);
    if (r == 0 && c->dataset.entity && c->dataset.project && c->deleted_name)
        r = get_newest(&d, &c->dataset, c->deleted_name, err);
    if (r == 0)
        fprintf(stderr, "%s: %zu %s in '%s'\n", wandb_download_help.name, d.n, d.n == 1 ? "file" : "files",
                d.conf->output);
    return r == -EINVAL ? -EPROTO : r; /* W&B's no is not the user's mistake */
}

int cmd_wandb_download(struct cmd_call *c)
{
    return talk_run(c, false, download);
}
