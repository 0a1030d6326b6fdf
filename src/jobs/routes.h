/* routes.h: what routes.c and routes_put.c share, and desk.c answers with. */
#pragma once

#include "hub/handlers.h"
#include "model/job.h"

bool job_id_parse(struct str s, int64_t *ret);
/* The job of the path, for free(). Other than 1: rp has the answer, or it is being looked up: look_how (hub/look.h). */
int job_of_path(struct api *a, struct request *rq, struct reply *rp, struct job_fact **ret);
/* A job as JSON; all: its command line too. */
struct json;
void job_json(struct json *j, const struct api *a, const struct job_fact *job, bool all);
bool job_shows_all(const struct api *a, const struct asker *who, const struct job_fact *j); /* to who asks */
void reply_job(struct reply *rp, const struct api *a, const struct job_fact *j, bool all);
/* What an hour of a GPU costs now; 0: it has no price, or is not known. */
double gpu_price(void *api, const char *uuid);
