/* channel_test.c: sends a test message through a channel on an HTTP request; responds when the result is known. */
#include <jansson.h>

#include "base/clock.h"
#include "base/json.h"
#include "hub/handlers.h"
#include "notify/outbox.h"

static void tried(void *arg, const char *channel, const struct delivery_state *c)
{
    const char *error = c->error ? c->error : "";
    struct reply rp = {0};

    if (c->how == CARRIED_SENT) {
        struct json j = reply_object(&rp, 4096);
        json_cstr(&j, "channel", channel);
        json_bool(&j, "sent", true);
        json_some(&j, "error", error);
        reply_object_end(&rp, &j);
    } else {
        reply_problem(&rp, 502, "%s fails: %s", channel, error);
    }
    httpd_late_reply(arg, &rp);
}

/* to: recipient; "": the channel's default. */
static enum reply_mode test_channel(struct hub *h, struct request *rq, struct reply *rp, const char *name,
                                    const char *to)
{
    const struct channel *c = channels_find(outbox_channels(h->outbox), name);
    char title[120];

    if (!c)
        return reply_problem(rp, 404, "there is no channel '%.60s' under channels", name);
    if (c->to_person && !to[0])
        return reply_problem(rp, 400, "channel '%s' sends to single users: name the address (`to`)", c->name);
    snprintf(title, sizeof(title), "A test of the channel %s", c->name);
    struct message m = {.created_ms = clock_wall_ms(),
                        .kind = MESSAGE_NOTICE,
                        .severity = SEV_INFO,
                        .channel = c->name,
                        .to = to,
                        .title = title,
                        .text = "Nothing is wrong: this is a test message."};
    outbox_try(h->outbox, c, &m, tried, httpd_late(rq));
    return REPLY_LATER;
}

static enum reply_mode post_channel_test(struct api *a, struct request *rq, struct reply *rp)
{
    AUTO_FREE char *name = mem_strn(rq->tail.p, rq->tail.len);
    json_auto_t *o = rq->body.len ? json_loadb(rq->body.p, rq->body.len, 0, NULL) : json_object();
    json_t *to = json_object_get(o, "to");

    if (!json_is_object(o) || json_object_size(o) != (to ? 1u : 0u) || (to && !json_is_string(to)) ||
        json_string_length(to) > 200 || !str_utf8_ok(str_n(json_string_value(to), json_string_length(to))))
        return reply_problem(rp, 400, "the body is empty, or {\"to\": \"whom\"}");
    return test_channel(a->hub, rq, rp, name, to ? json_string_value(to) : "");
}

/* clang-format off */
const struct route notify_routes[] = {
    {METHOD_POST, "/api/v1/channels/{name}/test", ROLE_ADMIN, .write = true, .max_body = MAX_SMALL_BODY,
     .summary = "Send a test message through a channel, with {\"to\"} if it sends to single users; responds when it is delivered, or with the error", .handle = post_channel_test},
    {0},
};
/* clang-format on */
