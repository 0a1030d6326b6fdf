/* carrier.c: sends a message as the bot: to a channel, to a person, or where somebody asked from. */
#include <errno.h>

#include "notify/carrier.h"
#include "slack/dialog.h"
#include "slack/feature.h"
#include "slack/web_api.h"

struct load {
    struct slack_request *ask;
    carried_fn *done;
    void *arg;
    struct message m; /* with these: */
    struct buf blocks;
};

static void load_stop(struct load *l)
{
    if (!l)
        return;
    slack_request_free(l->ask);
    buf_fini(&l->blocks);
    free(l);
}

static void on_posted(void *arg, const struct slack_result *r)
{
    static const enum delivery_result how[] =
        {[SLACK_DONE] = CARRIED_SENT, [SLACK_AGAIN] = CARRIED_AGAIN, [SLACK_REFUSED] = CARRIED_REFUSED};
    struct load *l = arg, was = *l;

    l->ask = NULL; /* gone already */
    load_stop(l);
    was.done(was.arg, &(struct delivery_state){.how = how[r->how], .error = r->error, .wait_ms = r->wait_ms});
}

static int load_send(struct load **ret, struct carriers *s, const struct channel *c, const struct message *m,
                     carried_fn *done, void *arg, struct err *err)
{
    struct slack *link = NULL;
    const char *usual = "";
    AUTO_BUF token = {0};
    int r = hub_slack_link(feature_self(&s->h->features, &slack_feature), &link, &token, &usual, err);

    if (r < 0)
        return r;
    struct load *l = NEW(struct load, .done = done, .arg = arg, .m = *m, .blocks = BUF_INIT(1u << 20));
    const char *to = m->to[0] ? m->to : c->to[0] ? c->to[0] : c->to_person ? "" : usual;
    if (!m->blocks[0] && !m->n_files) {
        dialog_message_json(&l->blocks, m);
        l->m.blocks = buf_str(&l->blocks).p;
    }
    r = slack_post(&l->ask, link, buf_str(&token), to, &l->m, on_posted, l, err);
    if (r < 0)
        load_stop(l);
    else
        *ret = l;
    return r == -EACCES || r == -EINVAL || r == -EMSGSIZE ? -EBADMSG : r; /* these never will */
}

static const char *dialog_error(const struct carriers *s, int64_t *ret_since_ms)
{
    return hub_slack_error(feature_self(&s->h->features, &slack_feature), ret_since_ms);
}

const struct carrier carrier_slack = {.send = load_send, .stop = load_stop, .error = dialog_error};
