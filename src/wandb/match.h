/*
 * match.h: which run of ours a run of W&B was: on its host, at its time, of its person where several fit. Pure.
 *
 * M1 At least half of its time is also that of ours. M2 Where several people's fit, and none is its user, one that lies
 * at the same time from begin to end is taken; two such, or none, are not told apart, and nothing is taken. M3 It takes
 * the place of a run that nobody labelled, if that has ended, is on this node alone and has little other time; else it
 * is a part.
 */
#pragma once

#include "model/job.h"

struct match_ask {
    int64_t from_ms, until_ms, now_ms;
    const char *person;                                            /* of the run of W&B; NULL: not known */
    const char *(*person_of)(void *arg, const struct job_fact *j); /* of one of ours */
    void *arg;
    int gpus; /* what W&B says; 0: nothing. Among equals the one with as many is taken */
};

/* One of these jobs of its node; NULL: none, or it is not clear which. */
const struct job_fact *match_job(const struct match_ask *ask, struct job_fact *const *jobs, size_t n);
/* parts: it has such on other nodes. */
bool match_replaces(const struct match_ask *ask, const struct job_fact *j, bool parts);
