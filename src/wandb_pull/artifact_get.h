/*
 * artifact_get.h: the requests that fetch one file out of a version of an artifact, by the artifact's name. Pure, as
 * wandb_push/artifact.h is.
 */
#pragma once

#include "base/buf.h"
#include "wandb_pull/job.h"

struct artifact_get {
    /* set by the caller, borrowed */
    const char *entity, *project;
    const char *name; /* "all_runs_data:latest" */
    const char *file; /* "all_runs_data.csv" */
    size_t max;       /* bytes of it; 0: WANDB_ANSWER_MAX */

    /* results */
    int step;
    bool found;       /* false: there is no such version. The errand then ends without an error */
    bool empty;       /* the version lacks the file: no error, either */
    char *id, *url;   /* of the version; of the file */
    char *cursor;     /* of its list of files */
    struct buf bytes; /* the file */
    struct buf variables;
};

void artifact_get_init(struct artifact_get *g);
void artifact_get_fini(struct artifact_get *g);
#define AUTO_ARTIFACT_GET __attribute__((cleanup(artifact_get_fini))) struct artifact_get
struct wandb_job artifact_get_job(struct artifact_get *g);

extern const char artifact_files_query[]; /* ArtifactFileURLs: a page of names and addresses, by the version's id */
