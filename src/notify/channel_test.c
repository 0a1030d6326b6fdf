/*
 * channel_test.c: sends a test message through a channel for whoever asks over HTTP; the answer comes when it is known
 * how it went.
 */
#include "base/clock.h"
#include "base/json.h"
#include "notify/outbox.h"

struct trying {
    struct late *late;
    char name[CHANNEL_NAME_MAX + 1];
};

static void tried(void *arg, const struct carried *c)
{
    struct trying *t = arg;
    const char *error = c->error ? c->error : "";
    struct reply rp = {.body = BUF_INIT(4096)};

    if (c->how == CARRIED_SENT) {
        struct json j = json_on(&rp.body);
        json_obj(&j, NULL);
        json_cstr(&j, "channel", t->name);
        json_bool(&j, "sent", true);
        if (error[0])
            json_cstr(&j, "error", error);
        json_end_obj(&j);
        buf_addc(&rp.body, '\n');
    } else {
        reply_problem(&rp, 502, "%s fails: %s", t->name, error);
    }
    httpd_late_reply(t->late, &rp);
    free(t);
}

enum reply_how hub_channel_test(void *hub, struct request *rq, struct reply *rp, const char *name, const char *to)
{
    struct hub *h = hub;
    const struct channel *c = channels_find(outbox_channels(h->outbox), name);
    char title[120];

    if (!c)
        return reply_problem(rp, 404, "there is no channel '%.60s' under channels", name);
    if (c->to_person && !to[0])
        return reply_problem(rp, 400, "channel '%s' leads to persons: say to which address (`to`)", c->name);
    struct trying *t = mem_zero(1, sizeof(*t));
    t->late = httpd_late(rq);
    mem_copy_str(t->name, sizeof(t->name), c->name);
    snprintf(title, sizeof(title), "A test of the channel %s", c->name);
    struct message m = {.created_ms = clock_wall_ms(),
                        .kind = MESSAGE_NOTICE,
                        .severity = SEV_INFO,
                        .channel = c->name,
                        .to = to,
                        .title = title,
                        .text = "Nothing is wrong: somebody asked whether messages arrive here."};
    outbox_try(h->outbox, c, &m, tried, t);
    return REPLY_LATER;
}
