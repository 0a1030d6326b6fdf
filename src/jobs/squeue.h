/*
 * squeue.h: which GPUs Slurm's running jobs have: the pure readers of what `squeue` and `scontrol -d -o show job`
 * print. Bounded: SLURM_JOBS jobs; text is cut or refused, never trusted.
 */
#pragma once

#include "base/err.h"
#include "base/mem.h"
#include "base/str.h"

#define SLURM_JOBS  100000
#define SLURM_PARTS 64 /* groups of nodes of one job, with different GPUs each */
/* For squeue's -o: number, user, nodes, gres, time used, start, account, partition, name (which may hold anything). */
#define SLURM_FORMAT "%A|%u|%N|%b|%M|%S|%a|%P|%j"

struct slurm_part {    /* of a job, on these nodes */
    const char *nodes; /* "dgx[1-2,5]" */
    uint64_t gpus[4];  /* bits: indices up to 255, as gres.conf counts */
};

struct slurm_job {
    int64_t id;
    int64_t used_ms;  /* since it started */
    int32_t per_node; /* GPUs it asked for on each node; 0: in another way than per node, or not said */
    const char *user, *nodes, *start, *account, *partition, *name;
    size_t n_parts;
    struct slurm_part *parts; /* none: scontrol was not asked, or knows no indices */
};

struct slurm_jobs {
    struct arena arena;
    size_t n, cap, skipped; /* skipped: lines that could not be read */
    struct slurm_job *v;    /* those with GPUs, by id */
};
#define AUTO_SLURM __attribute__((cleanup(slurm_jobs_fini))) struct slurm_jobs

/* Lines of `squeue -h -t R -o SLURM_FORMAT`. 0, or -EBADMSG: none of its lines can be read. */
int slurm_squeue(struct slurm_jobs *ret, struct str text, struct err *err);
/* Lines of `scontrol -d -o show job`: "... Nodes=dgx[1-2] CPU_IDs=0-7 Mem=0 GRES=gpu:h200:2(IDX:0-1) ...". */
void slurm_scontrol(struct slurm_jobs *jobs, struct str text);
void slurm_jobs_fini(struct slurm_jobs *j);

/* Whether "dgx[1-2,05-10],ws3" names this host; a host's domain does not count where the list has none. */
bool slurm_list_has(struct str list, const char *host);
