/* answer.h: the head of a reply as it goes over the line. Pure but for the date, which is made once a second. */
#ifndef HUB_ANSWER_H
#define HUB_ANSWER_H

#include "api/api.h"

struct answer_date {
    int64_t s; /* what text says */
    char text[40];
};

struct answer {
    int status;
    int64_t length; /* of the body; -1: not known, for a HEAD whose GET would be compressed first */
    bool gz, close, old;
};

void answer_head(struct buf *out, const struct reply *rp, const struct answer *a, struct answer_date *date);

#endif
