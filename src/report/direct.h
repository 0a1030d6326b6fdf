/* direct.h: a report without a running hub: the same answer, from what the caller read. Any thread. */
#pragma once

#include "http/reply.h"
#include "http/request.h"
#include "report/source.h"

struct past_source;

/* A hub's settings and nodes, for a report. Borrowed. */
struct report_direct {
    struct people *people;
    const char *zone; /* of the hub: usage.zone; NULL: this machine's */
    int64_t graphics_mem;
    size_t n_nodes;
    const struct runs_node *nodes;
    const struct runs_source *wandb;
};
/* rq: the parameters of GET /api/v1/report. */
void report_answer(const struct request *rq, const struct report_direct *of, const struct past_source *past,
                   struct reply *rp);
