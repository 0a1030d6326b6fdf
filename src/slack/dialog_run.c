/*
 * dialog_run.c: makes the bot's requests of our own API in the asker's name. One that changes something goes the way of
 * every such request, and its answer comes when it is durable.
 */
#include "slack/dialog_run.h"

#include <jansson.h>

#include "base/clock.h"
#include "hub/handlers.h"
#include "now/live.h"
#include "slack/feature.h"

struct dialog_run {
    struct hub *h;
    struct dialog *say;
    dialog_done_fn *done;
    void *arg;
    struct asker who;
    char peer[64]; /* for the audit log */
};

static struct str no_header(UNUSED const struct request *rq, UNUSED const char *name)
{
    return str_n("", 0);
}

static void take(struct dialog_run *t, struct reply *rp)
{
    dialog_add_reply(t->say, rp->status, buf_str(rp->blob ? &rp->blob->plain : &rp->body));
}

static void go_on(struct dialog_run *t);

static void taken_late(void *arg, struct reply *rp)
{
    take(arg, rp);
    go_on(arg);
}

/* False: its answer comes late. */
static bool ask(struct dialog_run *t, const struct dialog_call *c)
{
    struct reply rp = {0};
    struct err err = {0};
    struct str target = str_of(c->target);
    AUTO_FREE char *scratch = mem_alloc(target.len + 1);
    struct request rq = {.method = (enum method)method_of(str_of(c->method)),
                         .body = c->body,
                         .header = no_header,
                         .take = taken_late,
                         .take_arg = t,
                         .now_ms = clock_wall_ms(),
                         .who = &t->who};
    enum reply_mode how = REPLY_NOW;

    mem_copy_str(rq.peer, sizeof(rq.peer), t->peer);
    if (request_target(&rq, target, scratch, &err) < 0)
        reply_problem(&rp, 400, "%s", err.msg);
    else if (api_admit_inside(&t->h->api, &rq, &rp))
        how = api_handle(&t->h->api, &rq, &rp);
    if (how == REPLY_NOW)
        take(t, &rp);
    reply_fini(&rp);
    return how == REPLY_NOW;
}

static void go_on(struct dialog_run *t)
{
    const struct dialog_call *c;

    while ((c = dialog_next_call(t->say)))
        if (!ask(t, c))
            return;
    t->done(t->arg, dialog_answer(t->say));
    dialog_free(t->say);
    free(t);
}

static bool knows_node(void *arg, struct str name)
{
    struct hub *h = arg;
    char text[NAME_MAX_LEN];

    if (name.len >= sizeof(text))
        return false;
    memcpy(text, name.p, name.len);
    text[name.len] = 0;
    return live_find(h->live, text) != NULL;
}

static struct dialog *begin(struct hub *h, const struct dialog_params *k, const struct request *own)
{
    const struct dialog_conf *conf = hub_slack_dialog_conf(h);
    AUTO_BUF url = BUF_INIT(65536);
    struct dialog_params ask = *k;

    if (conf->url && conf->url[0])
        buf_adds(&url, conf->url);
    else
        buf_addstr(&url, buf_str(&h->addresses));
    ask.person = own ? own->who->token.person : k->person;
    ask.own_rights = own != NULL;
    ask.now_ms = clock_wall_ms();
    ask.conf = conf;
    ask.zone = h->zone;
    ask.people = h->api.people;
    ask.name = h->api.name;
    ask.url = url.p;
    ask.is_node = knows_node;
    ask.arg = h;
    return dialog_new(&ask);
}

bool dialog_run(struct hub *h, const struct dialog_params *k, const struct request *own, dialog_done_fn *done,
                void *arg)
{
    struct dialog *s = begin(h, k, own);

    if (!s)
        return false;
    struct dialog_run *t = NEW(struct dialog_run, .h = h, .say = s, .done = done, .arg = arg);
    mem_copy_str(t->peer, sizeof(t->peer), own ? own->peer : "slack");
    if (own) {
        t->who = *own->who;
    } else if (k->person && k->person[0]) {
        t->who.role = t->who.token.role = ROLE_MEMBER;
        snprintf(t->who.token.id, sizeof(t->who.token.id), "slack");
        mem_copy_str(t->who.token.person, sizeof(t->who.token.person), k->person);
    } else {
        t->who.can_read = true; /* dialog_new let them pass: they may read */
    }
    go_on(t);
    return true;
}

bool dialog_would_answer(struct hub *h, const struct dialog_params *k)
{
    struct dialog *s = begin(h, k, NULL);

    dialog_free(s);
    return s != NULL;
}

/* ---- over HTTP ---- */

static void reply_answer(void *arg, const struct dialog_answer *a)
{
    struct reply rp = {.body = BUF_INIT(8u << 20)};

    snprintf(rp.cache, sizeof(rp.cache), "no-store");
    dialog_json(&rp.body, a);
    httpd_late_reply(arg, &rp);
}

enum reply_mode post_say(struct api *a, struct request *rq, struct reply *rp)
{
    json_auto_t *o = read_object(rq, rp);
    const char *text = json_string_value(json_object_get(o, "text"));
    bool talk = json_is_true(json_object_get(o, "talk"));

    if (!o)
        return REPLY_NOW;
    if (!text || !str_utf8_ok(str_of(text)))
        return reply_problem(rp, 400, "expected {\"text\": \"free 4\"}, without control characters");
    struct late *late = httpd_late(rq);
    struct dialog_params k = {.text = str_of(text), .way = talk ? DIALOG_TALK : DIALOG_TO_US};
    if (!dialog_run(a->hub, &k, rq, reply_answer, late))
        reply_answer(late, &(struct dialog_answer){.text = "", .blocks = ""});
    return REPLY_LATER;
}
