/* json_body.c: a request's body that is one JSON object, read strictly. */
#include <jansson.h>

#include "http/reply.h"
#include "http/request.h"

json_t *read_object(const struct request *rq, struct reply *rp)
{
    json_error_t e;
    json_t *o = json_loadb(rq->body.p ? rq->body.p : "", rq->body.len, JSON_REJECT_DUPLICATES, &e);
    if (json_is_object(o))
        return o;
    if (o)
        reply_problem(rp, 400, "the body must be a JSON object");
    else
        reply_problem(rp, 400, "the body is not JSON: line %d, column %d: %s", e.line, e.column, e.text);
    json_decref(o);
    return NULL;
}
