/*
 * apart.h: GPUs of runs that fell behind the others of their run, by the rule of verdict/straggler.h. Checks every run
 * of three or more GPUs about once a minute, a part of the nodes each second; runs over several nodes together.
 */
#pragma once

#include "jobs/auto.h"
#include "now/live.h"

void stragglers_update(const struct auto_runs *a, struct live *l, int64_t now_ms);
