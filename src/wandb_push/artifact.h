/*
 * artifact.h: one file as a version of a W&B artifact: digests, manifest, and the requests it takes, in their order.
 * Pure: what is to be sent comes out, what was answered goes in (wandb_pull/errand.h sends).
 *
 * A1 The version is seen by nobody before the last request. A2 Names that W&B lets the client choose follow from the
 * content, so a second try after a failure goes on with the version of the first. A3 Content that is there already is
 * not sent again.
 */
#pragma once

#include "base/buf.h"
#include "wandb_pull/errand.h"
#include "wandb_push/digest.h"

#define ARTIFACT_CLIENT_ID 128

enum artifact_step {
    ARTIFACT_CREATE,   /* createArtifact: a draft, or: the same is there */
    ARTIFACT_MANIFEST, /* createArtifactManifest: an empty one, for its id */
    ARTIFACT_FILE,     /* createArtifactFiles: where the file goes */
    ARTIFACT_PUT_FILE,
    ARTIFACT_MANIFEST_FILE, /* createArtifactManifest: where the real one goes */
    ARTIFACT_PUT_MANIFEST,
    ARTIFACT_COMMIT,
    ARTIFACT_DONE,
};

struct artifact {
    /* told, and borrowed */
    const char *entity, *project, *run; /* run: the id of the one that logs it */
    const char *type, *name;            /* "dataset", "all_runs_data" */
    const char *file;                   /* "all_runs_data.csv" */
    struct str bytes;
    /* The version that was the newest when it was read ("": there was none): when it is another one by now, nothing is
     * written, and the error is -ESTALE. NULL: whatever is there. */
    const char *newest;

    /* found out */
    enum artifact_step step;
    bool there;                          /* this content was there already */
    char md5[MD5_BASE64_SIZE];           /* of the file */
    char digest[MD5_HEX_SIZE];           /* of the version */
    char client[ARTIFACT_CLIENT_ID + 1]; /* its name before W&B has given it one */
    char sequence[ARTIFACT_CLIENT_ID + 1];
    char *id, *base, *manifest, *birth; /* ids of W&B's */
    char *url, **headers;               /* of an upload */
    struct buf variables, json;         /* of the question; of the manifest */
};

/* The members that are told, filled in before; the others are found out here. */
void artifact_init(struct artifact *a);
void artifact_fini(struct artifact *a);
struct errand artifact_errand(struct artifact *a);

/* Headers of an upload as W&B lists them, "Name:value" each, NULL-ended; free_headers takes them back. */
char **upload_headers(const json_t *list);
void free_headers(char **v);
