/* slurm.h: records the jobs that Slurm runs, as its own commands report them. */
#pragma once

#include <stdint.h>

#include "base/err.h"

struct hub;
struct hub_slurm;

enum slurm_use { SLURM_AUTO, SLURM_ON, SLURM_OFF };

struct hub_slurm *slurm_open(struct hub *h);
/* Polls now, if enabled, and then every every_ms. */
void slurm_set(struct hub_slurm *d, enum slurm_use use, int64_t every_ms);
void slurm_close(struct hub_slurm *d);
