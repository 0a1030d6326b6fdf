/*
 * match.h: finds the job that corresponds to a W&B run: on its host, at its time, and of its user if several fit. Pure.
 *
 * M1 The job covers at least half of the run's time.
 * M2 If jobs of several users fit, but none of the run's user, a job with the same start and end is chosen. If two or
 *    none have that, the match is ambiguous, and no job is chosen.
 * M3 The run replaces an unlabelled job that has ended, is on this node only and has little other time. Otherwise it
 *    becomes a part of the job.
 */
#pragma once

#include "model/job.h"

struct match_params {
    int64_t from_ms, until_ms, now_ms;
    const char *person;                                            /* of the run of W&B; NULL if unknown */
    const char *(*person_of)(void *arg, const struct job_fact *j); /* of a job */
    void *arg;
    int gpus; /* number reported by W&B; 0 if unknown. Among equal jobs the one with this number is chosen */
};

/* Returns one of these jobs of its node; NULL if none matches or the match is ambiguous. */
const struct job_fact *match_job(const struct match_params *ask, struct job_fact *const *jobs, size_t n);
/* parts: the job has parts on other nodes. */
bool match_replaces(const struct match_params *ask, const struct job_fact *j, bool parts);
