/* desk.h: writes jobs to the store. Both functions answer the request when the job is durable (REPLY_LATER). */
#ifndef JOBS_DESK_H
#define JOBS_DESK_H

#include "hub/api.h"
#include "model/job.h"

enum reply_how jobs_put(struct hub *h, struct request *rq, const struct job_fact *j);
enum reply_how jobs_change(struct hub *h, struct request *rq, const struct job_change *c);

#endif
