/* show.c: alerts, silences and channels as the JSON of the API. */
#include "alert/show.h"

#include "base/order.h"

const struct silence *silence_of(const struct alerts_now *now, const struct alert *a, int64_t now_ms)
{
    const struct silence *const *s = FIND(now->silences, now->n_silences, e, silence_fits(*e, a, now_ms));

    return s ? *s : NULL;
}

void silence_json(struct json *j, const struct silence *s)
{
    json_obj(j, NULL);
    json_int(j, "id", s->id);
    json_cstr(j, "rule", s->rule);
    json_cstr(j, "node", s->node);
    json_cstr(j, "person", s->person);
    json_cstr(j, "by", s->by);
    json_cstr(j, "owner", s->owner && s->owner[0] ? s->owner : NULL);
    json_cstr(j, "reason", s->reason);
    json_int(j, "created", s->created_ms);
    json_int(j, "until", s->until_ms);
    json_end_obj(j);
}

void alert_json(struct json *j, const struct alert *a, const struct silence *s)
{
    json_obj(j, NULL);
    json_int(j, "id", a->id);
    json_cstr(j, "rule", a->rule);
    json_cstr(j, "severity", severity_words[a->severity]);
    json_cstr(j, "state", alert_words[alert_state(a)]);
    json_cstr(j, "subject", a->subject);
    json_cstr(j, "place", a->place);
    json_cstr(j, "node_id", a->node[0] ? a->node : NULL);
    json_cstr(j, "device", a->device[0] ? a->device : NULL);
    json_cstr(j, "person", a->person[0] ? a->person : NULL);
    json_cstr(j, "text", a->text);
    json_cstr(j, "advice", a->advice);
    json_int(j, "since", a->since_ms);
    if (a->fired_ms)
        json_int(j, "fired", a->fired_ms);
    if (a->resolved_ms)
        json_int(j, "resolved", a->resolved_ms);
    if (a->notice)
        json_bool(j, "notice", true);
    if (s) {
        json_obj(j, "silenced");
        json_int(j, "id", s->id);
        json_cstr(j, "by", s->by);
        json_int(j, "until", s->until_ms);
        json_cstr(j, "reason", s->reason);
        json_end_obj(j);
    }
    json_end_obj(j);
}

void channel_json(struct json *j, const struct channel_now *c)
{
    json_obj(j, NULL);
    json_cstr(j, "name", c->name);
    json_cstr(j, "type", c->type);
    json_bool(j, "ok", !c->error[0]);
    if (c->error[0]) {
        json_cstr(j, "error", c->error);
        json_int(j, "since", c->since_ms);
    }
    json_uint(j, "waiting", c->waiting);
    if (c->passed)
        json_uint(j, "no_address", c->passed);
    json_end_obj(j);
}

size_t alerts_loud(const struct alerts_now *now, int64_t now_ms)
{
    size_t n = 0;

    for (size_t i = 0; i < now->n; i++)
        n += now->v[i]->fired_ms && !silence_of(now, now->v[i], now_ms);
    return n;
}
