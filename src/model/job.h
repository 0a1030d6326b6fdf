/*
 * job.h: a job is a labelled time range: a command of `muster record`, a Dask job, a W&B run, a Slurm job. Queries join
 * jobs with devices by node, device and time; samples do not refer to jobs. All text is borrowed, and never NULL in
 * results of the store.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "model/record.h"

#define JOB_NAME_MAX  200
#define JOB_KIND_MAX  32
#define JOB_DEVICES   256
#define JOB_PIDS      256
#define JOB_ATTRS_MAX 4096

struct job_fact {
#define FIELD(no, field, type, column, json, most) RECORD_##type field;
#define KEY                                        FIELD
#include "model/job.def"
};
extern const struct record_kind job_record;

#define JOB_NO_PARENT (-1) /* in a change: it is no longer a part of another job */
/* The fields to change; NULL, -1 for end, 0 for start and parent: unchanged. */
struct job_change {
    int64_t id, end_ms, start_ms, parent;
    const char *name, *person, *node, *devices, *pids, *attrs;
};

/* Selects jobs that overlap [from, to); "", NULL and 0: any. */
struct job_query {
    int64_t from_ms, to_ms; /* to 0: no end */
    int64_t parent;
    const char *node, *device, *person, *kind;
    size_t limit;
    bool (*stop)(void *arg); /* called periodically; NULL: never stops */
    void *stop_arg;
};

/* A copy in one piece, for free(). */
struct job_fact *job_copy(const struct job_fact *j);
/* Applies a change: text is borrowed from both. */
struct job_fact job_changed(const struct job_fact *j, const struct job_change *c);
/* The change from `was` to `is`, the same job: text borrowed from `is`. False: no change that a job_change can
 * express. */
bool job_difference(const struct job_fact *was, const struct job_fact *is, struct job_change *ret);
bool job_fits(const struct job_fact *j, const struct job_query *ask);
/* Newest first: by start, then by id. For qsort over pointers to them. */
int job_order(const void *a, const void *b);

/* Owner, and kind, of jobs that are runs of W&B. */
#define JOB_OWNER_WANDB "wandb"
int64_t job_wandb_id(const char *team, const char *project, const char *run);

#define JOB_ID_LEN 17 /* 16 hex digits and the end */
const char *job_id_text(int64_t id, char out[JOB_ID_LEN]);
