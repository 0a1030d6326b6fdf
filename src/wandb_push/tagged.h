/* tagged.h: runs of a project that have a tag, and how it is taken from one of them. Pure, as artifact.h is. */
#pragma once

#include "base/buf.h"
#include "wandb_pull/job.h"

struct tagged_run {
    char *storage_id, *id;
    char *display, *notes, *group, *config; /* as they are written back; NULL: null */
    size_t n_tags;
    char **tags;
};

struct tagged {
    /* set by the caller, borrowed */
    const char *entity, *project, *tag;
    /* found out */
    size_t n, cap;
    struct tagged_run *v; /* in W&B's order */
    bool done;
    char *cursor;
    struct buf text;
};
#define TAGGED_MAX 100000
void tagged_init(struct tagged *t);
void tagged_fini(struct tagged *t);
#define AUTO_TAGGED __attribute__((cleanup(tagged_fini))) struct tagged
struct wandb_job tagged_job(struct tagged *t); /* a project that is not there has none */
bool tagged_has(const struct tagged_run *r, const char *tag);

/* Removes the tag from one of them; all other tags are written back unchanged. */
struct untag {
    const struct tagged_run *run;
    const char *tag;
    bool done;
    struct buf text;
};
struct wandb_job untag_job(struct untag *u);
void untag_fini(struct untag *u);
