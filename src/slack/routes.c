/* routes.c: the routes that Slack posts to: each request is checked to be Slack's before anything of it is read. */
#include "base/mem.h"
#include "base/order.h"
#include "hub/handlers.h"
#include "slack/feature.h"
#include "slack/sign.h"
#include "slack/slack_event.h"

/* Before a body is read: is there a secret to check it with, and anything to check? */
static bool slack_allowed(struct api *a, struct request *rq, struct reply *rp)
{
    AUTO_BUF secret = {0};
    struct err err = {0};
    int r = hub_slack_secret(a->hub, &secret, &err);

    if (r == 0)
        reply_problem(rp, 404, "Slack over HTTP is off here: set slack.signing_file to the app's signing secret");
    else if (r < 0)
        reply_problem(rp, 503, "the signing secret cannot be read: %s", err.msg);
    else if (!rq->header(rq, "X-Slack-Signature").len || !rq->header(rq, "X-Slack-Request-Timestamp").len)
        reply_problem(rp, 401, "this is for Slack, which signs what it sends: there is no signature");
    else
        return true;
    return false;
}

static bool is_slack(struct api *a, struct request *rq, struct reply *rp)
{
    AUTO_BUF secret = {0};
    struct err err = {0};

    if (hub_slack_secret(a->hub, &secret, &err) < 1) {
        reply_problem(rp, 503, "the signing secret cannot be read");
        return false;
    }
    if (slack_sign_check(buf_str(&secret), rq->header(rq, "X-Slack-Request-Timestamp"),
                         rq->header(rq, "X-Slack-Signature"), rq->body, rq->now_ms, &err) == 0)
        return true;
    reply_problem(rp, 401, "%s", err.msg);
    return false;
}

/* h NULL: err says why. */
static enum reply_mode hear(struct api *a, struct request *rq, struct reply *rp, struct slack_event *h,
                            const struct err *err)
{
    if (!h)
        return reply_problem(rp, 400, "%s", err->msg);
    if (h->kind == HEARD_CHALLENGE) {
        rp->type = "text/plain; charset=utf-8";
        rp->body = BUF_INIT(SLACK_BODY_MAX);
        buf_adds(&rp->body, h->text);
        free(h);
        return REPLY_NOW;
    }
    return hub_slack_on_event(a->hub, rq, rp, h);
}

static enum reply_mode post_slack_events(struct api *a, struct request *rq, struct reply *rp)
{
    struct err err = {0};

    if (!is_slack(a, rq, rp))
        return REPLY_NOW;
    return hear(a, rq, rp, slack_event_parse(rq->body, &err), &err);
}

struct fields {
    struct param v[QUERY_MAX];
    size_t n;
};

static struct str field(void *arg, const char *name)
{
    const struct fields *f = arg;
    const struct param *p = FIND(f->v, f->n, e, str_eq(e->name, name));

    return p ? p->value : STR("");
}

/* A command or a button, which are forms. */
static enum reply_mode hear_form(struct api *a, struct request *rq, struct reply *rp, bool command)
{
    struct fields f = {.n = 0};
    struct err err = {0};
    AUTO_FREE char *scratch = mem_alloc(rq->body.len + 1);

    if (!is_slack(a, rq, rp))
        return REPLY_NOW;
    if (request_form(rq->body, scratch, f.v, &f.n, &err) < 0)
        return reply_problem(rp, 400, "%s", err.msg);
    if (command && field(&f, "ssl_check").len) /* Slack looks whether the address is there */
        return REPLY_NOW;
    return hear(a, rq, rp,
                command ? slack_command_parse(field, &f, &err) : slack_action_parse(field(&f, "payload"), &err), &err);
}

static enum reply_mode post_slack_command(struct api *a, struct request *rq, struct reply *rp)
{
    return hear_form(a, rq, rp, true);
}

static enum reply_mode post_slack_action(struct api *a, struct request *rq, struct reply *rp)
{
    return hear_form(a, rq, rp, false);
}

/* clang-format off */
const struct route slack_routes[] = {
    {METHOD_POST, "/api/v1/say", ROLE_NONE, .write = true, .no_audit = true, .max_body = MAX_SMALL_BODY,
     .summary = "What the Slack bot says to {\"text\"}, in the asker's name (docs/slack.md); \"talk\": true for talk that is not addressed to it", .handle = post_say},
    {METHOD_POST, "/slack/events", ROLE_NONE, .open = true, .max_body = MAX_SLACK_BODY, .gate = slack_allowed,
     .summary = "Slack: events of the bot, signed (docs/slack.md)", .handle = post_slack_events},
    {METHOD_POST, "/slack/command", ROLE_NONE, .open = true, .max_body = MAX_SLACK_BODY, .gate = slack_allowed,
     .summary = "Slack: a slash command, signed; the answer comes later", .handle = post_slack_command},
    {METHOD_POST, "/slack/action", ROLE_NONE, .open = true, .max_body = MAX_SLACK_BODY, .gate = slack_allowed,
     .summary = "Slack: a button, signed", .handle = post_slack_action},
    {0},
};
/* clang-format on */
