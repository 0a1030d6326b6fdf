/*
 * routes_sessions.c: the routes by which a browser logs in (with a token, or with a link that works once) and out
 * again, and by which login sessions are listed and ended.
 */
#include <errno.h>
#include <jansson.h>

#include "access/audit.h"
#include "access/links.h"
#include "access/sessions.h"
#include "base/json.h"
#include "hub/handlers.h"
#include "hub/hub.h"
#include "hub/record_fetch.h"

#define LINKS_UNREADABLE "links cannot be read just now; try again"

static void session_cookie(const struct request *rq, const char *value, int64_t age_s, struct reply *rp)
{
    bool tls = request_by_tls(rq);
    snprintf(rp->cookie, sizeof(rp->cookie), "%s=%s; Path=/; Max-Age=%lld; HttpOnly; SameSite=Strict%s",
             tls ? SESSION_COOKIE_TLS : SESSION_COOKIE, value, (long long)age_s, tls ? "; Secure" : "");
}

static struct str text_of(json_t *v)
{
    return str_n(json_string_value(v), json_string_length(v));
}

/* False: rp has why not, or *how is REPLY_LATER. */
static bool token_of_text(struct api *a, struct request *rq, struct str text, struct reply *rp, struct token *ret,
                          enum reply_mode *how)
{
    char id[20];
    uint8_t hash[32];
    if (!token_split(text, id, hash))
        return reply_refuse(rp, 400,
                            "this is not a valid token: a token starts with mst_, and all of it is needed; on the hub "
                            "`muster token new` creates one");
    struct token given = {0};
    mem_copy_str(given.id, sizeof(given.id), id);
    audit_by(rq, &given);
    rq->tls = request_by_tls(rq); /* a request that is kept has no headers */
    int r = tokens_find_for(a->hub, rq, id, ret);
    *how = reply_mode_of_fetch(r);
    if (r == -EINPROGRESS)
        return false;
    if (r < 0)
        reply_problem(rp, 503, TOKENS_UNREADABLE);
    else if (r == 0 || !token_match(ret, hash))
        reply_problem(rp, 401, "this token is not known here, or was revoked");
    else
        return true;
    return false;
}

static bool token_of_link(struct api *a, struct request *rq, struct str text, struct reply *rp, struct token *ret,
                          enum reply_mode *how)
{
    rq->tls = request_by_tls(rq);
    int r = link_take_for(a->hub, rq, text, ret);
    *how = reply_mode_of_fetch(r);
    if (r == 1 || r == -EINPROGRESS)
        return r == 1;
    return r < 0 ? reply_refuse(rp, 503, LINKS_UNREADABLE)
                 : reply_refuse(rp, 401,
                                "this link was used already or is older than ten minutes: `muster up` prints a new "
                                "one, or log in with a token");
}

static enum reply_mode log_in(struct api *a, struct request *rq, json_t *o, struct reply *rp)
{
    json_t *text = json_object_get(o, "token"), *once = json_object_get(o, "once");
    const struct access_settings *c = feature_settings(&a->hub->conf, &access_feature);
    char cookie[SECRET_MAX];
    struct token t;
    if (!json_is_string(text) == !json_is_string(once))
        return reply_problem(rp, 400, "send {\"token\": \"mst_xxxxxxxx_...\"}: a token made with `muster token new`");
    enum reply_mode how = REPLY_NOW;
    if (once ? !token_of_link(a, rq, text_of(once), rp, &t, &how) : !token_of_text(a, rq, text_of(text), rp, &t, &how))
        return how;
    audit_by(rq, &t);
    if (t.role != ROLE_MEMBER && t.role != ROLE_ADMIN && t.role != ROLE_READER)
        return reply_problem(rp, 403,
                             "a token of role '%s' is for machines: log in with one of role member, admin or reader",
                             role_words[t.role]);
    sessions_begin(a->hub->sessions, &t, rq->now_ms, rq->now_ms + c->session, cookie);
    session_cookie(rq, cookie, c->session / 1000, rp);
    struct json j = reply_object(rp, 1024);
    json_cstr(&j, "role", role_words[t.role]);
    json_cstr(&j, "person", t.person[0] ? t.person : NULL);
    json_end_obj(&j);
    return REPLY_NOW;
}

static enum reply_mode post_login(struct api *a, struct request *rq, struct reply *rp)
{
    json_auto_t *o = read_object(rq, rp);
    return o ? log_in(a, rq, o, rp) : REPLY_NOW;
}

struct leaving {
    struct late *late;
    struct reply rp;
};

static void answer_logout(void *arg, int result)
{
    struct leaving *l = arg;
    if (result < 0)
        reply_problem(&l->rp, result == -ENOSPC ? 507 : 503,
                      "you are logged out, but the hub cannot store that: should it be started again before you log "
                      "out again, that session is back: %s",
                      store_error_text(result));
    httpd_late_reply(l->late, &l->rp);
    free(l);
}

/* Ends the sessions of the cookies, with all every session of the client; answers when that is durable. */
static enum reply_mode end_sessions(struct api *a, struct request *rq, struct reply *rp, bool all)
{
    struct leaving *l = NEW(struct leaving, .rp = *rp);
    if (sessions_end(a->hub->sessions, rq->header(rq, "Cookie"), &rq->who->token, all, answer_logout, l) == 0) {
        audit_none(rq);
        free(l);
        return REPLY_NOW;
    }
    l->late = httpd_late(rq); /* done is called from the loop, later */
    return REPLY_LATER;
}

static enum reply_mode post_logout(struct api *a, struct request *rq, struct reply *rp)
{
    json_auto_t *o = rq->body.len ? read_object(rq, rp) : json_object();
    json_t *all = json_object_get(o, "all");
    bool bad = json_object_size(o) != (all ? 1u : 0u) || (all && !json_is_boolean(all)), every = json_is_true(all);
    if (!o)
        return REPLY_NOW;
    if (bad)
        return reply_problem(rp, 400, "the body is empty, or {\"all\": true} to end every session of yours");
    if (every && rq->who->role == ROLE_NONE)
        return reply_problem(rp, 401, "not logged in: no sessions to end");
    session_cookie(rq, "", 0, rp);
    rp->status = 204;
    return end_sessions(a, rq, rp, every);
}

/* ---- which there are, and an end of one ---- */

#define SHOWN_MAX 1000

/* The one used last comes first. */
static int by_use(const void *x, const void *y)
{
    const struct session_view *a = x, *b = y;

    return a->used_ms != b->used_ms ? (a->used_ms < b->used_ms ? 1 : -1) : (a->id > b->id) - (a->id < b->id);
}

static bool may_see(const struct request *rq, const struct session_view *v)
{
    return rq->who->role == ROLE_ADMIN || session_is_of(v->person, v->token.id, &rq->who->token);
}

static void session_json(struct json *j, const struct session_view *v, int64_t own_id)
{
    char id[24];

    snprintf(id, sizeof(id), "%016llx", (unsigned long long)v->id);
    json_obj(j, NULL);
    json_cstr(j, "id", id);
    json_cstr(j, "person", v->person[0] ? v->person : NULL);
    json_cstr(j, "role", role_words[v->token.role]);
    json_cstr(j, "token", v->token.id);
    json_int(j, "created", v->created_ms);
    json_int(j, "used", v->used_ms);
    json_int(j, "until", v->until_ms);
    json_bool(j, "own", v->id == own_id);
    json_end_obj(j);
}

static enum reply_mode get_sessions(struct api *a, struct request *rq, struct reply *rp)
{
    const struct sessions *s = a->hub->sessions;
    struct str person = request_query(rq, "person");
    int64_t own_id = sessions_id(cookie_session(rq->header(rq, "Cookie"), request_by_tls(rq)));
    AUTO_FREE struct session_view *v = mem_alloc((sessions_count(s) + 1) * sizeof(*v));
    size_t n = 0;

    for (size_t i = 0; i < sessions_count(s); i++)
        n += sessions_view(s, i, rq->now_ms, &v[n]) && may_see(rq, &v[n]) &&
             (!person.len || str_eq(person, v[n].person));
    qsort(v, n, sizeof(*v), by_use);
    snprintf(rp->cache, sizeof(rp->cache), "no-store");
    struct json j = reply_object(rp, 1u << 20);
    json_arr(&j, "rows");
    for (size_t i = 0; i < MIN(n, SHOWN_MAX); i++)
        session_json(&j, &v[i], own_id);
    json_end_arr(&j);
    json_bool(&j, "more", n > SHOWN_MAX);
    return reply_object_end(rp, &j);
}

static void answer_end(void *arg, int result)
{
    struct reply rp = {.status = 204};

    if (result < 0)
        reply_problem(&rp, result == -ENOSPC ? 507 : 503,
                      "the session is ended, but the hub cannot store that: after a restart of the hub it exists "
                      "again: "
                      "%s",
                      store_error_text(result));
    httpd_late_reply(arg, &rp);
}

static enum reply_mode delete_session(struct api *a, struct request *rq, struct reply *rp)
{
    struct sessions *s = a->hub->sessions;
    struct session_view v;
    uint64_t id = 0;
    bool good = rq->tail.len == 16 && str_hex(rq->tail, &id);

    for (size_t i = 0; good && i < sessions_count(s); i++)
        if (sessions_view(s, i, rq->now_ms, &v) && v.id == (int64_t)id && may_see(rq, &v)) {
            sessions_end_one(s, v.id, answer_end, httpd_late(rq));
            return REPLY_LATER;
        }
    return reply_problem(rp, 404, "there is no session '%.*s'; /api/v1/sessions lists %s", (int)MIN(rq->tail.len, 40u),
                         rq->tail.p, rq->who->role == ROLE_ADMIN ? "them" : "yours");
}

/* Not with a cookie: who has one for a while must not make it last. */
static enum reply_mode post_once(struct api *a, struct request *rq, struct reply *rp)
{
    char text[SECRET_MAX];
    if (rq->who->by_cookie || !rq->who->token.id[0])
        return reply_problem(rp, 403, "a link is made with a token itself: send it as 'Authorization: Bearer TOKEN'");
    int r = link_put_for(a->hub, rq, text);
    if (r == -EINPROGRESS)
        return REPLY_LATER;
    if (r < 0)
        return reply_problem(rp, r == -ENOSPC ? 507 : 503, LINKS_UNREADABLE);
    rp->status = 201;
    struct json j = reply_object(rp, 1024);
    json_cstr(&j, "once", text);
    json_end_obj(&j);
    return REPLY_NOW;
}

/* clang-format off */
const struct route access_routes[] = {
    {METHOD_POST, "/api/v1/login", ROLE_NONE, .open = true, .write = true, .max_body = MAX_SMALL_BODY,
     .summary = "Swap a token, or what a link has, for a cookie: {\"token\"} or {\"once\"}", .handle = post_login},
    {METHOD_POST, "/api/v1/logout", ROLE_NONE, .any = true, .write = true, .max_body = MAX_SMALL_BODY,
     .summary = "End this session, or with {\"all\": true} every one of yours", .handle = post_logout},
    {METHOD_POST, "/api/v1/once", ROLE_MEMBER, .write = true, .max_body = MAX_SMALL_BODY,
     .summary = "What logs a browser in with this token, once and within ten minutes: {\"once\"}, for /login#once=", .handle = post_once},
    {GET, "/api/v1/sessions", ROLE_MEMBER, .summary = "Login sessions of browsers, the last used first: an admin's all, a member's own ones",
     .params = "person: only this login's", .handle = get_sessions},
    {METHOD_DELETE, "/api/v1/sessions/{id}", ROLE_MEMBER, .write = true, .max_body = MAX_SMALL_BODY,
     .summary = "End a login session: one's own, or as an admin any", .handle = delete_session},
    {GET, "/api/v1/whoami", ROLE_NONE, .any = true, .summary = "Your identity for the hub, and its time", .handle = get_whoami},
    {METHOD_POST, "/api/v1/tokens", ROLE_ADMIN, .write = true, .max_body = MAX_SMALL_BODY,
     .summary = "Make a token, shown once: {\"role\": enroll, agent, member or reader, \"person\", \"note\", \"expires\": 1d, \"uses\": nodes it may add}; with the command that adds a node", .handle = post_tokens},
    {GET, "/api/v1/audit", ROLE_ADMIN, .summary = "The audit log: every write, login and logout with who, from where and its status, newest first (docs/security.md)",
     .params = "from, to: times, also as -7d; person: only this login's; limit: number of entries (default: 1000, at most 100000); format: json or jsonl (default: json)", .handle = get_audit},
    {0},
};
/* clang-format on */
