/*
 * slurm.h: the GPUs that Slurm gave to somebody, as jobs of kind slurm in the store: one for each job and node, begun
 * when it is first seen and ended when squeue no longer lists it. So an allocation without a process counts as held.
 *
 * One squeue per poll for the whole cluster, and one scontrol when there is a job whose GPUs are not known yet; never
 * more often than every 30 s. While squeue fails nothing changes.
 */
#ifndef JOBS_SLURM_H
#define JOBS_SLURM_H

#include "hub/feature.h"
#include "hub/hub.h"

struct slurm_desk;
extern const struct feature jobs_feature;

#endif
