/* artifact.c: the requests that make one version, as W&B's own client sends them. */
#include "wandb_push/artifact.h"

#include <errno.h>
#include <stdlib.h>

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

/* ---- what follows from the content ---- */

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

/* ---- what is asked ---- */

static void create_variables(struct artifact *a)
{
    json_print(&a->variables,
               "{'input':{'entityName':%s,'projectName':%s,'runName':%s,'artifactTypeName':%s,"
               "'artifactCollectionName':%s,'digest':%s,'digestAlgorithm':'MANIFEST_MD5','aliases':["
               "{'artifactCollectionName':%s,'alias':'latest'}],'metadata':'{}','enableDigestDeduplication':true,"
               "'clientID':%s,'sequenceClientID':%s}}",
               a->entity, a->project, a->run, a->type, a->name, a->digest, a->name, a->client, a->sequence);
}

static void manifest_variables(struct artifact *a, bool upload)
{
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

static int next(void *self, struct wandb_request *ret, struct err *err)
{
    struct artifact *a = self;

    buf_reset(&a->variables);
    switch (a->step) {
    case ARTIFACT_CREATE:
        *ret = (struct wandb_request){.op = "CreateArtifact", .query = create};
        create_variables(a);
        break;
    case ARTIFACT_MANIFEST:
    case ARTIFACT_MANIFEST_FILE:
        *ret = (struct wandb_request){.op = "CreateArtifactManifest", .query = manifest};
        manifest_variables(a, a->step == ARTIFACT_MANIFEST_FILE);
        break;
    case ARTIFACT_FILE:
        *ret = (struct wandb_request){.op = "CreateArtifactFiles", .query = files};
        file_variables(a);
        break;
    case ARTIFACT_PUT_FILE:
    case ARTIFACT_PUT_MANIFEST:
        *ret = (struct wandb_request){.op = "upload",
                                      .method = "PUT",
                                      .url = a->url,
                                      .headers = (const char *const *)a->headers,
                                      .try_ms = UPLOAD_MS,
                                      .body = a->step == ARTIFACT_PUT_FILE ? a->bytes : buf_str(&a->json)};
        return 1;
    case ARTIFACT_COMMIT:
        *ret = (struct wandb_request){.op = "CommitArtifact", .query = commit};
        json_print(&a->variables, "{'artifactID':%s}", a->id);
        break;
    case ARTIFACT_DONE:
        return 0;
    }
    ret->variables = buf_str(&a->variables);
    return a->variables.err ? err_set(err, a->variables.err, "the names of artifact '%.60s' are too long", a->name) : 1;
}

/* ---- what is answered ---- */

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
    a->base = base ? mem_str(base) : NULL;
    a->step = a->there ? ARTIFACT_DONE : ARTIFACT_MANIFEST;
    return 0;
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
    a->step = url ? ARTIFACT_PUT_FILE : ARTIFACT_MANIFEST_FILE; /* no address: W&B has these bytes */
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
    a->step = ARTIFACT_PUT_MANIFEST;
    return 0;
}

static int take(void *self, const struct wandb_answer *answer, struct err *err)
{
    struct artifact *a = self;
    const json_t *data = answer->data;
    int r = 0;

    switch (a->step) {
    case ARTIFACT_CREATE:
        return created(a, data, err);
    case ARTIFACT_MANIFEST:
        r = keep(a, &a->manifest, answer_text(data, "createArtifactManifest.artifactManifest.id"), "id of a manifest",
                 err);
        a->step = ARTIFACT_FILE;
        return r;
    case ARTIFACT_FILE:
        return file_answered(a, data, err);
    case ARTIFACT_PUT_FILE:
        a->step = ARTIFACT_MANIFEST_FILE;
        return 0;
    case ARTIFACT_MANIFEST_FILE:
        return manifest_answered(a, data, err);
    case ARTIFACT_PUT_MANIFEST:
        a->step = ARTIFACT_COMMIT;
        return 0;
    case ARTIFACT_COMMIT:
        if (!answer_text(data, "commitArtifact.artifact.id"))
            return lacks(a, "artifact that was committed", err);
        a->step = ARTIFACT_DONE;
        return 0;
    case ARTIFACT_DONE:
        break;
    }
    return 0;
}

struct errand artifact_errand(struct artifact *a)
{
    return (struct errand){next, take, a};
}
