/*
 * launch.h: what a launcher shows of a run over several nodes: the address at which its processes meet, the pod's
 * owner. Processes with the same words belong together. Pure; what it reads is anybody's text.
 */
#pragma once

#include <stdbool.h>

#include "base/str.h"
#include "model/fact.h"

/* "10.0.0.1:29500" of a command line, words with blanks between: torchrun, deepspeed, accelerate, JAX, init methods.
 * False: it says none, or only this machine's own address. */
bool launch_of_command(struct str cmd, char ret[LAUNCH_MAX]);
/*
 * The same of an environment, NULs between: SLURM_JOB_ID ("slurm:77"), MASTER_ADDR and MASTER_PORT, PMIX_NAMESPACE and
 * OMPI_MCA_ess_base_jobid ("mpi:…"), TORCHELASTIC_RUN_ID ("run:…"), in this order. No other variable is looked at.
 */
#define LAUNCH_SLURM "slurm:"
bool launch_of_environ(struct str env, char ret[LAUNCH_MAX]);
/* "lab/llm" of the pods lab/llm-worker-0, lab/llm-master-0 and lab/llm-3. False: the name does not count pods. */
bool launch_of_pod(struct str pod, char ret[LAUNCH_MAX]);
