/* artifact.c: the requests that make one version, as W&B's own client sends them. */
#include "wandb_push/artifact.h"

#include <errno.h>

#include "base/json.h"
#include "base/mem.h"

#define HEADERS_MAX   64
#define MANIFEST_NAME "wandb_manifest.json"
#define VARIABLES_MAX (1u << 20)
#define UPLOAD_MS     600000

static const char create[] = "mutation CreateArtifact($input:CreateArtifactInput!){createArtifact(input:$input){"
                             "artifact{id state artifactSequence{latestArtifact{id}}}}}";
static const char manifest[] =
    "mutation CreateArtifactManifest($artifactID:ID!,$baseArtifactID:ID,$name:String!,$digest:String!,"
    "$entityName:String!,$projectName:String!,$runName:String!,$manifestType:ArtifactManifestType!,"
    "$includeUpload:Boolean!){createArtifactManifest(input:{artifactID:$artifactID,baseArtifactID:$baseArtifactID,"
    "name:$name,digest:$digest,entityName:$entityName,projectName:$projectName,runName:$runName,type:$manifestType}){"
    "artifactManifest{id file{id uploadUrl @include(if:$includeUpload) uploadHeaders @include(if:$includeUpload)}}}}";
static const char files[] =
    "mutation CreateArtifactFiles($artifactFiles:[CreateArtifactFileSpecInput!]!,$storageLayout:ArtifactStorageLayout!)"
    "{createArtifactFiles(input:{artifactFiles:$artifactFiles,storageLayout:$storageLayout}){"
    "files{edges{node{storagePath uploadUrl uploadHeaders artifact{id}}}}}}";
static const char commit[] =
    "mutation CommitArtifact($artifactID:ID!){commitArtifact(input:{artifactID:$artifactID}){artifact{id digest}}}";

/* ---- values derived from the content ---- */

void artifact_init(struct artifact *a)
{
    AUTO_BUF text = BUF_INIT(VARIABLES_MAX);

    md5_base64(a->bytes, a->md5);
    buf_addf(&text, "wandb-artifact-manifest-v1\n%s:%s\n", a->file, a->md5);
    md5_hex(buf_str(&text), a->digest);
    buf_reset(&text);
    buf_addf(&text, "%s/%s/%s", a->entity, a->project, a->name);
    digest_name(buf_str(&text), ARTIFACT_CLIENT_ID, a->sequence);
    buf_addf(&text, "/%s", a->digest);
    digest_name(buf_str(&text), ARTIFACT_CLIENT_ID, a->client);
    a->variables = BUF_INIT(VARIABLES_MAX);
    a->json = BUF_INIT(VARIABLES_MAX);
}

static void forget_upload(struct artifact *a)
{
    free(a->url);
    free_headers(a->headers);
    a->url = NULL;
    a->headers = NULL;
}

void artifact_fini(struct artifact *a)
{
    if (!a)
        return;
    forget_upload(a);
    FREE_ALL(a->id, a->base, a->manifest, a->birth);
    buf_fini(&a->variables);
    buf_fini(&a->json);
}

static void write_manifest(struct artifact *a)
{
    buf_reset(&a->json);
    json_print(&a->json,
               "{'version':1,'storagePolicy':'wandb-storage-policy-v1','storagePolicyConfig':{'storageLayout':'V2'},"
               "'contents':{%s:{'digest':%s,'size':%lld,'birthArtifactID':%s,'skip_cache':false}}}",
               a->file, a->md5, (long long)a->bytes.len, a->birth);
}

/* ---- requests ---- */

static void create_variables(struct artifact *a)
{
    json_print(&a->variables,
               "{'input':{'entityName':%s,'projectName':%s,'runName':%s,'artifactTypeName':%s,"
               "'artifactCollectionName':%s,'digest':%s,'digestAlgorithm':'MANIFEST_MD5','aliases':["
               "{'artifactCollectionName':%s,'alias':'latest'}],'metadata':'{}','enableDigestDeduplication':true,"
               "'clientID':%s,'sequenceClientID':%s}}",
               a->entity, a->project, a->run, a->type, a->name, a->digest, a->name, a->client, a->sequence);
}

static void manifest_variables(struct artifact *a)
{
    bool upload = a->step == ARTIFACT_MANIFEST_FILE;
    char md5[MD5_BASE64_SIZE] = "";

    json_print(&a->variables,
               "{'artifactID':%s,'baseArtifactID':%s,'name':'" MANIFEST_NAME "','digest':%s,'entityName':%s,"
               "'projectName':%s,'runName':%s,'manifestType':'FULL','includeUpload':%.*s}",
               a->id, a->base, upload ? md5_base64(buf_str(&a->json), md5) : "", a->entity, a->project, a->run,
               STR_ARG(upload ? STR("true") : STR("false")));
}

static void file_variables(struct artifact *a)
{
    json_print(&a->variables,
               "{'artifactFiles':[{'artifactID':%s,'name':%s,'md5':%s,'artifactManifestID':%s,'uploadPartsInput':null}]"
               ","
               "'storageLayout':'V2'}",
               a->id, a->file, a->md5, a->manifest);
}

static void commit_variables(struct artifact *a)
{
    json_print(&a->variables, "{'artifactID':%s}", a->id);
}

/* ---- replies ---- */

char **upload_headers(const json_t *list)
{
    size_t n = MIN(json_array_size(list), (size_t)HEADERS_MAX), k = 0;
    char **v = mem_zero(n + 1, sizeof(*v));

    for (size_t i = 0; i < n; i++) {
        const char *s = json_string_value(json_array_get(list, i));
        if (s && s[0] && !strpbrk(s, "\r\n"))
            v[k++] = mem_str(s);
    }
    return v;
}

void free_headers(char **v)
{
    for (size_t i = 0; v && v[i]; i++)
        free(v[i]);
    free(v);
}

static int lacks(const struct artifact *a, const char *what, struct err *err)
{
    return err_set(err, -EBADMSG, "W&B's answer has no %s, so artifact '%.100s' cannot be written", what, a->name);
}

static int keep(const struct artifact *a, char **to, const char *s, const char *what, struct err *err)
{
    if (!s)
        return lacks(a, what, err);
    free(*to);
    *to = mem_str(s);
    return 0;
}

static int created(struct artifact *a, const json_t *data, struct err *err)
{
    const char *state = answer_text(data, "createArtifact.artifact.state");
    const char *base = answer_text(data, "createArtifact.artifact.artifactSequence.latestArtifact.id");
    int r = keep(a, &a->id, answer_text(data, "createArtifact.artifact.id"), "id of an artifact", err);

    if (r < 0)
        return r;
    a->there = state && strcmp(state, "COMMITTED") == 0;
    if (!a->there && a->newest && strcmp(a->newest, base && strcmp(base, a->id) != 0 ? base : "") != 0)
        return err_set(err, -ESTALE,
                       "artifact '%.100s' has a version that was not read: it is not overwritten; try again", a->name);
    a->base = mem_str(base);
    if (a->there)
        a->step = ARTIFACT_DONE;
    return 0;
}

static int manifest_made(struct artifact *a, const json_t *data, struct err *err)
{
    return keep(a, &a->manifest, answer_text(data, "createArtifactManifest.artifactManifest.id"), "id of a manifest",
                err);
}

static int file_answered(struct artifact *a, const json_t *data, struct err *err)
{
    const json_t *edges = answer_at(data, "createArtifactFiles.files.edges");
    const json_t *node = json_object_get(json_array_get(edges, 0), "node");
    const char *url = answer_text(node, "uploadUrl"), *birth = answer_text(node, "artifact.id");

    if (!node)
        return lacks(a, "place for a file", err);
    free(a->birth);
    a->birth = mem_str(birth ? birth : a->id);
    forget_upload(a);
    if (url) {
        a->url = mem_str(url);
        a->headers = upload_headers(json_object_get(node, "uploadHeaders"));
    }
    write_manifest(a);
    if (!url) /* W&B has these bytes */
        a->step = ARTIFACT_MANIFEST_FILE;
    return 0;
}

static int manifest_answered(struct artifact *a, const json_t *data, struct err *err)
{
    const json_t *file = answer_at(data, "createArtifactManifest.artifactManifest.file");
    int r = keep(a, &a->url, answer_text(file, "uploadUrl"), "place for a manifest", err);

    if (r < 0)
        return r;
    free_headers(a->headers);
    a->headers = upload_headers(json_object_get(file, "uploadHeaders"));
    return 0;
}

static int committed(struct artifact *a, const json_t *data, struct err *err)
{
    return answer_text(data, "commitArtifact.artifact.id") ? 0 : lacks(a, "artifact that was committed", err);
}

/* ---- step by step ---- */

static const struct step {
    const char *op, *query; /* NULL: an upload */
    void (*ask)(struct artifact *a);
    int (*take)(struct artifact *a, const json_t *data, struct err *err); /* sets the step if it is not the next one */
} steps[ARTIFACT_DONE] = {
    [ARTIFACT_CREATE] = {"CreateArtifact", create, create_variables, created},
    [ARTIFACT_MANIFEST] = {"CreateArtifactManifest", manifest, manifest_variables, manifest_made},
    [ARTIFACT_FILE] = {"CreateArtifactFiles", files, file_variables, file_answered},
    [ARTIFACT_MANIFEST_FILE] = {"CreateArtifactManifest", manifest, manifest_variables, manifest_answered},
    [ARTIFACT_COMMIT] = {"CommitArtifact", commit, commit_variables, committed},
};

static int next(void *self, struct wandb_request *ret, struct err *err)
{
    struct artifact *a = self;

    if (a->step == ARTIFACT_DONE)
        return 0;
    const struct step *s = &steps[a->step];
    if (!s->op) {
        *ret = (struct wandb_request){.op = "upload",
                                      .method = "PUT",
                                      .url = a->url,
                                      .headers = (const char *const *)a->headers,
                                      .try_ms = UPLOAD_MS,
                                      .body = a->step == ARTIFACT_PUT_FILE ? a->bytes : buf_str(&a->json)};
        return 1;
    }
    buf_reset(&a->variables);
    s->ask(a);
    *ret = (struct wandb_request){.op = s->op, .query = s->query, .variables = buf_str(&a->variables)};
    return a->variables.err ? err_set(err, a->variables.err, "the names of artifact '%.60s' are too long", a->name) : 1;
}

static int take(void *self, const struct wandb_answer *answer, struct err *err)
{
    struct artifact *a = self;
    enum artifact_step at = a->step;
    int r = steps[at].take ? steps[at].take(a, answer->data, err) : 0;

    if (r == 0 && a->step == at)
        a->step++;
    return r;
}

struct wandb_job artifact_job(struct artifact *a)
{
    return (struct wandb_job){next, take, a};
}
