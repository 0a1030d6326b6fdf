/*
 * squeue.h: the GPUs of Slurm's running jobs: pure readers of the output of `squeue` and `scontrol -d -o show job`.
 * Bounded: at most SLURM_JOBS jobs.
 *
 * A job's name, comment and paths are free text of its user and may hold line breaks and anything that looks like a
 * record. So:
 * 1. squeue prints a mark after each job number. The caller makes it at random for each call; a line without it is part
 *    of the name before.
 * 2. Of scontrol's records only those count whose name is the one that squeue printed, and of these only the text
 *    between the name and MinCPUsNode=. A job with two such records has no known GPU indices.
 */
#pragma once

#include "base/buf.h"
#include "base/err.h"
#include "base/mem.h"
#include "base/str.h"

#define SLURM_JOBS     100000
#define SLURM_PARTS    64 /* groups of nodes of one job, with different GPUs each */
#define SLURM_MARK_MAX 32

struct slurm_part {    /* of a job, on these nodes */
    const char *nodes; /* "dgx[1-2,5]" */
    uint64_t gpus[4];  /* bits: indices up to 255, as gres.conf counts */
};

struct slurm_job {
    int64_t id;
    int64_t used_ms;  /* since it started */
    int32_t per_node; /* GPUs on each node; 0: unknown, or not the same on every node */
    const char *user, *nodes, *start, *account, *partition, *name;
    struct str full_name; /* byte for byte as squeue prints it */
    int records;          /* of scontrol's output */
    size_t n_parts;
    struct slurm_part *parts; /* none: no scontrol output yet, or it has no indices */
};

struct slurm_jobs {
    struct arena arena;
    size_t n, cap, skipped; /* skipped: unreadable records */
    struct slurm_job *v;    /* the jobs with GPUs, by id */
};
#define AUTO_SLURM __attribute__((cleanup(slurm_jobs_fini))) struct slurm_jobs

/* The value of squeue's -O: the fields that slurm_squeue reads, with the mark after the first. Needs Slurm 20.11. */
void slurm_format(struct buf *out, const char *mark);
/* Reads the output of `squeue -h -t R -O FORMAT`. Returns 0, or -EBADMSG and sets err if it has no readable record. */
int slurm_squeue(struct slurm_jobs *ret, struct str text, const char *mark, struct err *err);
/* Adds the GPU indices of `scontrol -d -o show job`: "... Nodes=dgx[1-2] CPU_IDs=0-7 Mem=0 GRES=gpu:h200:2(IDX:0-1)
 * ...". */
void slurm_scontrol(struct slurm_jobs *jobs, struct str text);
void slurm_jobs_fini(struct slurm_jobs *j);

/* Whether "dgx[1-2,05-10],ws3" names this host; a host's domain does not count where the list has none. */
bool slurm_list_has(struct str list, const char *host);
