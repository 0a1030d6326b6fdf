/*
 * launch.h: identifies a run over several nodes by data of its launcher: the address at which its processes meet, or
 * the pod's owner. Processes with the same text belong together. Pure; its input is untrusted.
 */
#pragma once

#include <stdbool.h>

#include "base/str.h"
#include "model/fact.h"

/* "10.0.0.1:29500" of a command line, space-separated: torchrun, deepspeed, accelerate, JAX, init methods. False: it
 * has no address, or only this machine's own. */
bool launch_of_command(struct str cmd, char ret[LAUNCH_MAX]);
/*
 * The same of an environment, NUL-separated: SLURM_JOB_ID ("slurm:77"), MASTER_ADDR and MASTER_PORT, PMIX_NAMESPACE and
 * OMPI_MCA_ess_base_jobid ("mpi:…"), TORCHELASTIC_RUN_ID ("run:…"), in this order. Ignores all other variables.
 */
#define LAUNCH_SLURM "slurm:"
bool launch_of_environ(struct str env, char ret[LAUNCH_MAX]);
/* "lab/llm" for the pods lab/llm-worker-0, lab/llm-master-0 and lab/llm-3. False: the name has no pod number. */
bool launch_of_pod(struct str pod, char ret[LAUNCH_MAX]);
