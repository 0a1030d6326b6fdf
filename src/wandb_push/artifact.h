/*
 * artifact.h: one file as a version of a W&B artifact: digests, manifest, and the sequence of its requests. Pure: it
 * builds requests and handles replies (wandb_pull/job.h sends them).
 *
 * A1 The version is not visible before the last request.
 * A2 Names that W&B lets the client choose are derived from the content, so a retry after a failure continues the
 *    version of the first try.
 * A3 Content that exists already is not sent again.
 */
#pragma once

#include "base/buf.h"
#include "wandb_pull/job.h"
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
    /* set by the caller, borrowed */
    const char *entity, *project, *run; /* run: the id of the run that logs it */
    const char *type, *name;            /* "dataset", "all_runs_data" */
    const char *file;                   /* "all_runs_data.csv" */
    struct str bytes;
    /*
     * The newest version when the caller read it ("": none). If it is another one now, nothing is written, and the
     * error is -ESTALE. NULL: any version.
     */
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
    struct buf variables, json;         /* of the query; of the manifest */
};

/* The caller sets the input members before; the others are results. */
void artifact_init(struct artifact *a);
void artifact_fini(struct artifact *a);
struct wandb_job artifact_job(struct artifact *a);

/* Headers of an upload as W&B lists them, "Name:value" each, NULL-terminated; release them with free_headers. */
char **upload_headers(const json_t *list);
void free_headers(char **v);
