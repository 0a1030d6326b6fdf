/*
 * no_data.h: what the hub knows now about a job that has not ended: its state, its newest data, and of which GPUs there
 * is no data now and why. Its time without data is unknown: neither active nor idle nor billed.
 */
#pragma once

#include "jobs/verdict.h"

struct api;
struct buf;
struct zone;

/* When it ended; 0: it has not, though an end that is still to come may be planned. */
int64_t job_ended_ms(const struct job_fact *j, int64_t now_ms);
/* "ended"; "unfinished": no end was reported, and its node was removed, is down, or its driver hangs; else
 * "running". */
const char *job_state(const struct api *a, const struct job_fact *j, int64_t now_ms);
/* The newest data of the GPUs of an unfinished job; 0: unknown. */
int64_t job_data_to_ms(const struct api *a, const struct job_fact *j);

struct no_data {
    size_t n;          /* GPUs without data now */
    bool all;          /* all of its GPUs */
    int64_t since_ms;  /* the newest data of them */
    const char *node;  /* of the first of them */
    const char *state; /* of that node: "hung", "down", "retired", "gone", "up" */
};
/* False: there is data of all its GPUs, or the job has ended. */
bool no_data_of(const struct api *a, const struct job_fact *j, const struct run_verdict *v, struct no_data *ret);
/* "no data since 2026-11-19 09:02 CET: the driver of dgx5 hangs" */
void no_data_text(const struct no_data *s, size_t of, const struct zone *zone, struct buf *out);
