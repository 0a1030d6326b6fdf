/* routes.c: routes for current and recent alerts, rules, rule tests and silences. */
#include <inttypes.h>
#include <jansson.h>

#include "alert/feature.h"
#include "alert/show.h"
#include "base/mem.h"
#include "base/order.h"
#include "base/plain.h"
#include "base/time_text.h"
#include "hub/handlers.h"
#include "people/people.h"

#define ALERTS_BYTES (16u << 20)

static void put_silences(struct json *j, const char *key, const struct alerts_now *now)
{
    json_arr(j, key);
    for (size_t i = 0; i < now->n_silences; i++)
        silence_json(j, now->silences[i]);
    json_end_arr(j);
}

static enum reply_mode get_alerts(struct api *a, struct request *rq, struct reply *rp)
{
    struct str rule = request_query(rq, "rule"), state = request_query(rq, "state");
    struct alerts_now now;

    hub_alerts_now(a->hub, &now);
    struct json j = reply_object(rp, ALERTS_BYTES);
    json_int(&j, "at", rq->now_ms);
    json_uint(&j, "firing", alerts_loud(&now, rq->now_ms));
    json_arr(&j, "rows");
    for (size_t i = 0; i < now.n + now.n_past; i++) {
        const struct alert *x = i < now.n ? now.v[i] : now.past[i - now.n];
        enum alert_state is = alert_state(x);
        bool wanted = state.len ? str_eq(state, alert_words[is]) || str_eq(state, "all")
                                : is == ALERT_FIRING || (is == ALERT_RESOLVED && request_flag(rq, "all"));
        if (wanted && (!rule.len || str_glob(rule, str_of(x->rule))))
            alert_json(&j, x, is == ALERT_RESOLVED ? NULL : silence_of(&now, x, rq->now_ms));
    }
    json_end_arr(&j);
    put_silences(&j, "silences", &now);
    json_arr(&j, "channels");
    for (size_t i = 0; i < now.n_channels; i++)
        channel_json(&j, &now.channels[i]);
    json_end_arr(&j);
    return reply_object_end(rp, &j);
}

static enum reply_mode get_alert_rules(struct api *a, UNUSED struct request *rq, struct reply *rp)
{
    size_t n;
    const struct alert_rule *v = alert_rules_all(hub_alerts_rules(a->hub), &n);

    struct json j = reply_object(rp, ALERTS_BYTES);
    json_arr(&j, "rows");
    for (size_t i = 0; i < n; i++) {
        json_obj(&j, NULL);
        json_cstr(&j, "rule", v[i].name);
        json_cstr(&j, "severity", severity_words[v[i].severity]);
        json_bool(&j, "on", !v[i].off);
        json_bool(&j, "own", v[i].own);
        json_int(&j, "for", v[i].for_ms);
        json_int(&j, "clear", v[i].clear_ms);
        json_int(&j, "remind", alert_rule_remind_ms(&v[i], v[i].severity));
        json_bool(&j, "person", v[i].person);
        json_cstr(&j, "when", v[i].when);
        json_cstr(&j, "until", v[i].until);
        json_bool(&j, "notice", v[i].notice);
        json_cstr(&j, "about", v[i].about);
        json_cstr(&j, "advice", v[i].advice);
        json_end_obj(&j);
    }
    json_end_arr(&j);
    return reply_object_end(rp, &j);
}

static enum reply_mode get_silences(struct api *a, struct request *rq, struct reply *rp)
{
    struct alerts_now now;

    hub_alerts_now(a->hub, &now);
    struct json j = reply_object(rp, ALERTS_BYTES);
    json_int(&j, "at", rq->now_ms);
    put_silences(&j, "rows", &now);
    return reply_object_end(rp, &j);
}

/* ---- silences: input ---- */

#define SILENCES_MAX 1000
#define LONGEST_MS   (366 * 86400000ll)
#define MEMBER_MS    86400000ll /* maximum silence by a member of alerts that are not their own */

/* The user of the request, as alerts name users: a token may belong to a login. */
static const char *person_of(const struct request *rq)
{
    const char *person =
        rq->who->token.person[0] ? people_person(rq->who->people, NULL, rq->who->token.person, -1) : "";

    return person && person[0] ? person : rq->who->token.person;
}

/* Finds a rule matched by this pattern, if all rules it matches are critical. */
static const char *only_critical(const struct alert_rules *rules, const char *pattern)
{
    size_t n;
    const struct alert_rule *v = alert_rules_all(rules, &n);
    const char *found = NULL;

    for (size_t i = 0; i < n; i++) {
        if (v[i].off || (pattern[0] && !str_glob(str_of(pattern), str_of(v[i].name))))
            continue;
        if (v[i].severity < SEV_CRITICAL)
            return NULL;
        found = v[i].name;
    }
    return found;
}

/* Whether a member may create this silence. A member's silence never matches critical alerts of others (owner). The
 * error explains why it would have no effect. */
static bool member_may(struct api *a, const struct request *rq, const struct silence *s, const struct alerts_now *now,
                       struct reply *rp)
{
    struct silence as_admin = *s;
    bool own = s->owner[0] && strcmp(s->person, s->owner) == 0, fits_own = false;

    if (own)
        return true;
    if (s->until_ms - rq->now_ms > MEMBER_MS) {
        reply_problem(rp, 403,
                      "for longer than a day a member silences what concerns their own GPUs and bookings: add "
                      "{\"person\": \"%s\"} (--person %s), make it a day, or ask an admin",
                      s->owner, s->owner);
        return false;
    }
    as_admin.owner = "";
    for (size_t i = 0; i < now->n; i++) {
        const struct alert *x = now->v[i];
        if (x->severity < SEV_CRITICAL || !silence_fits(&as_admin, x, rq->now_ms))
            continue;
        if (alert_concerns(x, s->owner)) {
            fits_own = true;
            continue;
        }
        reply_problem(rp, 403,
                      "%s%s%s is critical and does not concern your own GPUs or bookings: an admin silences it; leave "
                      "it "
                      "out by naming other rules",
                      x->rule, x->place[0] ? " of " : "", x->place);
        return false;
    }
    const char *rule = fits_own ? NULL : only_critical(hub_alerts_rules(a->hub), s->rule);
    if (!rule)
        return true;
    reply_problem(rp, 403,
                  "%s is critical: an admin silences it; of what concerns your own GPUs and bookings you may, with "
                  "{\"person\": \"%s\"} (--person %s)",
                  rule, s->owner, s->owner);
    return false;
}

static enum reply_mode make(struct api *a, struct request *rq, json_t *o, struct reply *rp)
{
    static const char *const known[] = {"rule", "node", "person", "reason", "for", "until"};
    const char *texts[ARRAY_LEN(known)];
    const char *key;
    json_t *v;
    struct alerts_now now;
    struct err err = {0};
    int64_t until_ms = 0;

    json_object_foreach (o, key, v) {
        if (!ANY(ARRAY_LEN(known), i, strcmp(key, known[i]) == 0))
            return reply_problem(rp, 400, "'%.40s' is not understood: rule, node, person, reason, for and until are",
                                 key);
        if (!json_is_string(v) || json_string_length(v) > 200 || !plain_typed(str_of(json_string_value(v))))
            return reply_problem(rp, 400, "%s must be text of at most 200 bytes without " CONTROLS, key);
    }
    for (size_t i = 0; i < ARRAY_LEN(known); i++) {
        texts[i] = json_string_value(json_object_get(o, known[i]));
        texts[i] = texts[i] ? texts[i] : "";
    }
    if (!texts[0][0] && !texts[1][0] && !texts[2][0])
        return reply_problem(rp, 400, "rule, node or person is missing: name what to silence; \"*\" is every rule");
    if (!names_are_local(a, str_of(texts[1]), rp))
        return REPLY_NOW;
    if (!texts[3][0])
        return reply_problem(rp, 400, "the reason is missing: {\"reason\": \"...\"}");
    if (!texts[4][0] == !texts[5][0])
        return reply_problem(rp, 400,
                             "say for how long in one way: {\"for\": \"2h\"} or {\"until\": \"friday 18:00\"}");
    int r = texts[4][0] ? duration_parse(str_of(texts[4]), "for", &until_ms, &err)
                        : time_parse(str_of(texts[5]), "until", rq->now_ms, a->zone, &until_ms, &err);
    if (r < 0)
        return reply_problem(rp, 400, "%s", err.msg);
    until_ms += texts[4][0] ? rq->now_ms : 0;
    if (until_ms <= rq->now_ms || until_ms - rq->now_ms > LONGEST_MS)
        return reply_problem(rp, 400, "a silence ends within a year, and not in the past");
    hub_alerts_now(a->hub, &now);
    if (now.n_silences >= SILENCES_MAX)
        return reply_problem(rp, 503, "there are %d silences already", SILENCES_MAX);
    char by[80];
    snprintf(by, sizeof(by), "%s%s", rq->who->token.person[0] ? "" : "token ",
             rq->who->token.person[0] ? rq->who->token.person : rq->who->token.id);
    struct silence s = {.created_ms = rq->now_ms,
                        .until_ms = until_ms,
                        .rule = texts[0],
                        .node = texts[1],
                        .person = texts[2],
                        .by = by,
                        .reason = texts[3],
                        .owner = rq->who->role == ROLE_ADMIN ? "" : person_of(rq)};
    if (rq->who->role != ROLE_ADMIN && !member_may(a, rq, &s, &now, rp))
        return REPLY_NOW;
    return hub_alerts_silence(a->hub, rq, rp, &s);
}

static enum reply_mode post_silence(struct api *a, struct request *rq, struct reply *rp)
{
    json_auto_t *o = read_object(rq, rp);
    return o ? make(a, rq, o, rp) : REPLY_NOW;
}

static enum reply_mode delete_silence(struct api *a, struct request *rq, struct reply *rp)
{
    int64_t id;
    struct alerts_now now;

    if (!str_int(rq->tail, &id) || id < 1)
        return reply_problem(rp, 404, "there is no silence '%.*s'; /api/v1/silences lists them",
                             (int)MIN(rq->tail.len, 40u), rq->tail.p);
    hub_alerts_now(a->hub, &now);
    for (size_t i = 0; i < now.n_silences; i++) {
        const struct silence *s = now.silences[i];
        bool own = rq->who->token.person[0] &&
                   (strcmp(s->by, rq->who->token.person) == 0 || (s->owner[0] && strcmp(s->owner, person_of(rq)) == 0));
        if (s->id == id && rq->who->role != ROLE_ADMIN && !own)
            return reply_problem(rp, 403, "silence %" PRId64 " is by %s: they or an admin end it", id, s->by);
    }
    return hub_alerts_unsilence(a->hub, rq, rp, id);
}

/* clang-format off */
const struct route alert_routes[] = {
    {GET, "/api/v1/alerts", ROLE_NONE, .summary = "What is wrong now, the worst first, and who silenced what (docs/alerts.md)",
     .params = "all: what was resolved within a week, too; state: pending, firing, resolved or all; rule: pattern", .handle = get_alerts},
    {GET, "/api/v1/alerts/rules", ROLE_NONE, .summary = "The rules: when each fires, and what to do then", .handle = get_alert_rules},
    {GET, "/api/v1/alerts/test", ROLE_NONE, .summary = "What every enabled rule finds now, without its delay; or the alerts that a period of history would have fired",
     .params = "last: evaluate this period of history, e.g. 7d; until: end of the period (default: now); rule: pattern", .handle = get_alerts_test},
    {METHOD_POST, "/api/v1/alerts/test", ROLE_MEMBER, .write = true, .reads = true, .no_audit = true, .max_body = MAX_RULES_BODY,
     .summary = "The same over history with other rules: the body is the section alerts of a muster.yaml; nothing is changed",
     .params = "last: period of history (default: 7d); until: end of the period (default: now); rule: pattern", .handle = post_alerts_test},
    {GET, "/api/v1/silences", ROLE_NONE, .summary = "Silences: what is muted, until when, by whom and why", .handle = get_silences},
    {METHOD_POST, "/api/v1/silences", ROLE_MEMBER, .write = true, .max_body = MAX_SMALL_BODY,
     .summary = "Be silent about alerts: {\"rule\", \"node\", \"person\": patterns, \"for\": \"2h\" or \"until\", \"reason\"}", .handle = post_silence},
    {METHOD_DELETE, "/api/v1/silences/{id}", ROLE_MEMBER, .write = true, .max_body = MAX_SMALL_BODY, .summary = "End a silence", .handle = delete_silence},
    {0},
};
/* clang-format on */
