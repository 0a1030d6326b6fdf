/*
 * artifact_get.h: the requests that fetch one file out of a version of an artifact, by the artifact's name. Pure, as
 * wandb_push/artifact.h is.
 */
#pragma once

#include "base/buf.h"
#include "wandb_pull/errand.h"

struct artifact_get {
    /* told, and borrowed */
    const char *entity, *project;
    const char *name; /* "all_runs_data:latest" */
    const char *file; /* "all_runs_data.csv" */
    size_t max;       /* bytes of it; 0: WANDB_ANSWER_MAX */

    /* found out */
    int step;
    bool found;       /* there is such a version; else nothing more is asked, and that is no error */
    bool empty;       /* but it does not have the file: no error, either */
    char *id, *url;   /* of the version; of the file */
    char *cursor;     /* of its list of files */
    struct buf bytes; /* the file */
    struct buf variables;
};

void artifact_get_init(struct artifact_get *g);
void artifact_get_fini(struct artifact_get *g);
#define AUTO_ARTIFACT_GET __attribute__((cleanup(artifact_get_fini))) struct artifact_get
struct errand artifact_get_errand(struct artifact_get *g);

extern const char artifact_files_query[]; /* ArtifactFileURLs: a page of names and addresses, by the version's id */
