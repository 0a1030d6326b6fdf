/* routes_say.c: the route that asks the bot without Slack: for `muster say`, and for tests. */
#include <jansson.h>

#include "hub/handlers.h"
#include "slack/saying.h"

enum reply_how post_say(struct api *a, struct request *rq, struct reply *rp)
{
    json_auto_t *o = read_object(rq, rp);
    const char *text = json_string_value(json_object_get(o, "text"));
    enum reply_how how = REPLY_NOW;

    if (o && (!text || !str_utf8_ok(str_of(text))))
        reply_problem(rp, 400, "say what: {\"text\": \"free 4\"}, without control characters");
    else if (o)
        how = saying_post(a->hub, rq, str_of(text), json_is_true(json_object_get(o, "talk")));
    return how;
}
