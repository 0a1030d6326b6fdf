/* routes.h: functions about jobs, shared by the routes of jobs and of usage. */
#pragma once

#include "hub/handlers.h"
#include "model/job.h"

bool job_id_parse(struct str s, int64_t *ret);
/* The job of the path, to free(). Other than 1: rp has the response, or the job is being read: reply_mode_of_fetch
 * (hub/record_fetch.h). */
int job_of_path(struct api *a, struct request *rq, struct reply *rp, struct job_fact **ret);
/* A job as JSON; all: its command line too. */
struct json;
void job_json(struct json *j, const struct api *a, const struct job_fact *job, bool all);
bool job_shows_all(const struct api *a, const struct asker *who, const struct job_fact *j); /* to this client */
void reply_job(struct reply *rp, const struct api *a, const struct job_fact *j, bool all);
/* The current price of an hour of a GPU; 0: no price, or unknown GPU. */
double gpu_price(void *api, const char *uuid);
