/* request_filter.c: reads the filter of a request, and answers when it cannot be read. The language is filter.h's. */
#include "now/filter.h"

#include "hub/api.h"
#include "people/people.h"

bool request_filter(const struct request *rq, struct reply *rp, struct filter **ret)
{
    struct str text = str_trim(request_query(rq, "filter")), me = request_query(rq, "me");
    struct filter_err err = {0};
    char who[128];

    *ret = NULL;
    if (!text.len)
        return true;
    snprintf(who, sizeof(who), "%.*s", (int)MIN(me.len, sizeof(who) - 1), me.p);
    if (rq->who->token.person[0])
        mem_copy_str(who, sizeof(who), rq->who->token.person);
    const char *person = who[0] ? people_person(rq->who->people, NULL, who, -1) : ""; /* a token may be a login's */
    if (person[0] && person != who)
        mem_copy_str(who, sizeof(who), person);
    /* As it was sent, not trimmed: columns are counted from where the reader began. */
    if (filter_new(request_query(rq, "filter"), who, ret, &err) == 0)
        return true;
    reply_problem(rp, 400, "filter, column %u: %s", err.column, err.message);
    buf_cut(&rp->body, rp->body.len - 2); /* the end of the object and its line */
    buf_addf(&rp->body, ",\"column\":%u}\n", err.column);
    return false;
}
