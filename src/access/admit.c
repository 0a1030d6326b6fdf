/*
 * admit.c: finds out who sent a request: from a token in a header, a cookie made from one, or a person named by a
 * trusted proxy.
 */
#include <errno.h>

#include "http/address.h"
#include "hub/handlers.h"

#include "access/sessions.h"
#include "base/json.h"
#include "hub/hub.h"

static bool unauthorised(struct reply *rp, const char *why)
{
    snprintf(rp->extra, sizeof(rp->extra), "WWW-Authenticate: Bearer realm=\"muster\", error=\"invalid_token\"");
    return reply_refuse(rp, 401, "%s", why);
}

/* token_split, but for the hash of a text that was the connection's last time, too. */
static bool split_again(struct request *rq, struct str text, struct token_memo *m)
{
    struct token_memo *last = rq->memo;
    if (last && text.len && str_eq(text, last->text)) {
        *m = *last;
        return true;
    }
    if (!token_split(text, m->id, m->hash) || text.len >= sizeof(m->text))
        return false;
    memcpy(m->text, text.p, text.len);
    m->text[text.len] = 0;
    if (last)
        *last = *m;
    return true;
}

static bool by_token(struct api *a, struct request *rq, struct str text, struct reply *rp)
{
    struct token_memo m;
    struct token t;
    if (!split_again(rq, text, &m))
        return unauthorised(rp, "that is not a token of muster: they look like mst_xxxxxxxx_...");
    bool found = tokens_find(a->hub->tokens, m.id, &t);
    int r = found ? 0 : tokens_admit_later(a->hub, rq, m.id);
    if (r < 0)
        return r == -EINPROGRESS ? false : reply_refuse(rp, 503, TOKENS_UNREADABLE);
    mem_copy_str(rq->who->token.id, sizeof(rq->who->token.id), m.id); /* also of one that is refused */
    if (found && t.expires_ms && rq->now_ms >= t.expires_ms)
        return unauthorised(rp, "this token has expired: ask for another; `muster token list` on the hub shows what it "
                                "was");
    if (!found || !token_match(&t, m.hash))
        return unauthorised(rp,
                            "this token is not known here, or was revoked: `muster token list` on the hub shows them");
    rq->who->token = t;
    rq->who->role = t.role;
    return true;
}

static void by_cookie(struct api *a, struct request *rq, struct str cookie)
{
    struct token t;
    if (!sessions_find(a->hub->sessions, cookie, rq->now_ms, &t))
        return; /* an old cookie is nobody's, not an error: the browser sends it until it logs in again */
    rq->who->token = t;
    rq->who->role = t.role;
    rq->who->by_cookie = true;
}

static void by_proxy(struct api *a, struct request *rq, struct str user)
{
    if (!name_ok(user, sizeof(rq->who->token.person) - 1))
        return;
    memcpy(rq->who->token.person, user.p, user.len);
    rq->who->role = rq->who->token.role = ROLE_MEMBER;
    for (size_t i = 0; i < a->n_admins; i++)
        if (str_eq(user, a->admins[i]))
            rq->who->role = rq->who->token.role = ROLE_ADMIN;
}

bool request_user_check(struct api *a, struct request *rq, struct reply *rp)
{
    rq->who->role = ROLE_NONE;
    rq->who->token = (struct token){0};
    struct str auth = rq->header(rq, "Authorization"), scheme = auth;
    if (auth.len) {
        if (!str_word(&auth, &scheme) || !str_eq_nocase(scheme, "Bearer"))
            return rq->route->open ? true : unauthorised(rp, "send the token as 'Authorization: Bearer TOKEN'");
        return rq->route->open ? true : by_token(a, rq, str_trim(auth), rp);
    }
    struct str cookie = cookie_session(rq->header(rq, "Cookie"), request_by_tls(rq));
    if (cookie.len)
        by_cookie(a, rq, cookie);
    if (rq->who->role == ROLE_NONE && a->proxy_header && address_in(rq->peer, a->proxies, a->n_proxies))
        by_proxy(a, rq, rq->header(rq, a->proxy_header));
    return true;
}

enum reply_mode get_whoami(struct api *a, struct request *rq, struct reply *rp)
{
    struct json j = reply_object(rp, 1024);
    json_cstr(&j, "role", role_words[rq->who->role]);
    json_some(&j, "person", rq->who->token.person);
    json_some(&j, "node", rq->who->token.node);
    json_cstr(&j, "read", a->read_open ? "open" : "token");
    json_int(&j, "at", rq->now_ms);
    json_end_obj(&j);
    return REPLY_NOW;
}
