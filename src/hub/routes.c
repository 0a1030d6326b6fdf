/* routes.c: the route tables of all features, and the way from a request to its route. */
#include <pthread.h>

#include "base/order.h"
#include "http/address.h"
#include "http/origin.h"
#include "hub/feature.h"
#include "hub/handlers.h"

#define ROUTES_MAX 256

static const struct route *all[ROUTES_MAX + 1];
static size_t plain_len[ROUTES_MAX]; /* of each one's path, before what is in braces */

static void list_routes(void)
{
    size_t n = 0;

    for (const struct feature *const *f = features; *f; f++)
        for (const struct route *r = (*f)->routes; r && r->path && n < ROUTES_MAX; r++) {
            plain_len[n] = strcspn(r->path, "{");
            all[n++] = r;
        }
}

const struct route *const *routes_all(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;

    pthread_once(&once, list_routes);
    return all;
}

static bool path_matches(const char *pattern, struct str path, struct str *tail)
{
    size_t head = 0;
    while (head < path.len && pattern[head] == path.p[head] && pattern[head] != '{')
        head++;
    if (pattern[head] != '{') /* "/states" is as good as "/states/" */
        return head == path.len && (!pattern[head] || (head > 0 && strcmp(pattern + head, "/") == 0));
    const char *after = strchr(pattern + head, '}') + 1;
    struct str rest = str_n(path.p + head, path.len - head);
    if (*after && after[1]) { /* "/channels/{name}/test" */
        if (!str_ends(rest, after))
            return false;
        rest.len -= strlen(after);
    } else if (*after == '/' && rest.len && rest.p[rest.len - 1] == '/') {
        rest.len--; /* "/states/x" is as good as "/states/x/" */
    }
    if (rest.len == 0 || (after[-2] != '*' && memchr(rest.p, '/', rest.len)))
        return false;
    *tail = rest;
    return true;
}

/* The route, or NULL with *allowed the methods the path has (0: no such path). */
static const struct route *route_find(struct request *rq, int *allowed)
{
    const struct route *const *v = routes_all();

    *allowed = 0;
    for (size_t i = 0; v[i]; i++) {
        size_t same = MIN(plain_len[i], rq->path.len); /* so much must be; most end otherwise */
        if (same && v[i]->path[same - 1] != rq->path.p[same - 1])
            continue;
        if (!path_matches(v[i]->path, rq->path, &rq->tail))
            continue;
        if (v[i]->methods & rq->method)
            return v[i];
        *allowed |= v[i]->methods;
    }
    return NULL;
}

static void allow_header(int methods, char *out, size_t size)
{
    size_t n = (size_t)snprintf(out, size, "Allow: ");
    const char *sep = "";
    for (size_t i = 0; i < METHODS; i++)
        if (methods >> i & 1) {
            n += (size_t)snprintf(out + n, size - n, "%s%s", sep, method_words[i]);
            sep = ", ";
        }
}

/* An address gives no rights; it can only be the wrong one. */
static bool comes_from(const struct api *a, const struct request *rq)
{
    return !a->n_read_from || address_in(rq->peer, a->read_from, a->n_read_from);
}

/* What only members or admins read. */
static bool is_private_reading(const struct request *rq)
{
    return (rq->route->need == ROLE_MEMBER || rq->route->need == ROLE_ADMIN) &&
           ((rq->method & GET) || rq->route->reads) && !rq->who->can_read;
}

static bool reads(const struct api *a, const struct request *rq)
{
    bool known =
        a->read_open || rq->who->role == ROLE_READER || rq->who->role == ROLE_MEMBER || rq->who->role == ROLE_ADMIN;
    return rq->who->can_read || (known && comes_from(a, rq));
}

static bool may(const struct api *a, const struct request *rq)
{
    const struct route *r = rq->route;
    if (r->open || r->any)
        return true;
    if (is_private_reading(rq) && !comes_from(a, rq))
        return false;
    switch (r->need) {
    case ROLE_NONE:
        return reads(a, rq);
    case ROLE_AGENT:
        return rq->who->role == ROLE_AGENT || rq->who->role == ROLE_ENROLL || rq->who->role == ROLE_RELAY;
    case ROLE_RELAY:
        return rq->who->role == ROLE_RELAY;
    case ROLE_HUB:
        return rq->who->role == ROLE_HUB;
    case ROLE_MEMBER:
        return rq->who->role == ROLE_MEMBER || rq->who->role == ROLE_ADMIN ||
               (r->agents && rq->who->role == ROLE_AGENT);
    default:
        return rq->who->role == ROLE_ADMIN;
    }
}

static bool refuse(const struct api *a, const struct request *rq, struct reply *rp)
{
    static const char *const made_with[ROLE_COUNT] = {"member --person YOUR-LOGIN",
                                                      "agent",
                                                      "enroll",
                                                      "member --person YOUR-LOGIN",
                                                      "admin",
                                                      "relay",
                                                      "reader",
                                                      "hub"};
    const char *need = made_with[rq->route->need];
    if ((rq->route->need == ROLE_NONE || is_private_reading(rq)) && !comes_from(a, rq))
        return reply_refuse(rp, 403, "only addresses of read_from can read, and %s is not one of them", rq->peer);
    if (rq->who->role == ROLE_NONE)
        snprintf(rp->extra, sizeof(rp->extra), "WWW-Authenticate: Bearer realm=\"muster\"");
    if (rq->who->role == ROLE_NONE && rq->route->need == ROLE_NONE && rq->loopback) {
        reply_problem(rp, 401,
                      "this hub requires a token, also on its own machine: ask its administrator for one made "
                      "with `muster token new --role member --person YOUR-LOGIN`, and give it with --token-file, in "
                      "MUSTER_TOKEN, or as 'Authorization: Bearer TOKEN'; who runs it has one in admin.token in its "
                      "data folder");
    } else if (rq->who->role == ROLE_NONE) {
        reply_problem(rp, 401,
                      "this needs a token: make one on the hub with `muster token new --role %s`, and give it with "
                      "--token-file, in MUSTER_TOKEN, or as 'Authorization: Bearer TOKEN'",
                      need);
    } else {
        reply_problem(rp, 403,
                      "a token of role '%s' may not do this: it takes one made with `muster token new --role %s`",
                      role_words[rq->who->role], need);
    }
    return false;
}

bool can_read(const struct api *a, const struct request *rq, struct reply *rp)
{
    return reads(a, rq) || refuse(a, rq, rp);
}

/* Behind a proxy a request comes from the proxy's address. The real client is in a header, which any client can write.
 * It is trusted from configured proxies only; from others it can remove rights, never add them. */
static void settle_peer(const struct api *a, struct request *rq)
{
    static const char *const signs[] = {"X-Forwarded-For", "X-Forwarded-Host", "X-Forwarded-Proto",
                                        "X-Real-IP",       "Forwarded",        "Via"};
    bool ours = address_in(rq->peer, a->proxies, a->n_proxies);
    struct str forwarded = rq->header(rq, "X-Forwarded-For");
    if (ours || ANY(ARRAY_LEN(signs), i, rq->header(rq, signs[i]).len > 0))
        rq->loopback = false;
    if (forwarded.len && ours) {
        int comma = str_rfind(forwarded, ",");
        struct str last = str_trim(str_n(forwarded.p + comma + 1, forwarded.len - (size_t)(comma + 1)));
        snprintf(rq->peer, sizeof(rq->peer), "%.*s", (int)MIN(last.len, sizeof(rq->peer) - 1), last.p);
    }
}

/* The route of its path. False: rp has a 404 or a 405. */
static bool find_route(struct api *a, struct request *rq, struct reply *rp)
{
    int allowed;

    rq->route = route_find(rq, &allowed);
    if (rq->route)
        return true;
    if (!allowed && wants_page(rq)) {
        page_instead(a, rq, 404, rp);
    } else if (!allowed) {
        reply_problem(rp, 404, "there is nothing at '%.*s'; /api/v1/openapi.json lists what there is",
                      (int)MIN(rq->path.len, 200u), rq->path.p);
    } else {
        allow_header(allowed, rp->extra, sizeof(rp->extra));
        reply_problem(rp, 405, "this path allows %s", rp->extra + strlen("Allow: "));
    }
    return false;
}

static bool may_then_gate(struct api *a, struct request *rq, struct reply *rp)
{
    bool passes = may(a, rq) ? !rq->route->gate || rq->route->gate(a, rq, rp) : refuse(a, rq, rp);

    if (!passes && rp->status == 401 && rq->route->need == ROLE_NONE && wants_page(rq))
        page_instead(a, rq, 401, rp); /* which shows the login form */
    return passes;
}

/* ---- the audit log ---- */

static void begin_trail(struct api *a, struct request *rq)
{
    if (a->audit && rq->route->write && !rq->route->no_audit && !rq->trail)
        rq->trail = a->audit(a, rq);
}

static void end_trail(struct request *rq, const struct reply *rp)
{
    struct trail *t = rq->trail;

    rq->trail = NULL;
    if (t)
        t->end(t, rp);
}

/* A write that was refused is an entry, too. */
static bool admitted(struct api *a, struct request *rq, struct reply *rp, bool ok)
{
    if (!ok && rq->route && (rp->status || rp->outcome)) { /* else it is admitted later */
        begin_trail(a, rq);
        end_trail(rq, rp);
    }
    return ok;
}

/* ---- requests ---- */

bool api_admit_inside(struct api *a, struct request *rq, struct reply *rp)
{
    rq->who->people = a->people;
    return admitted(a, rq, rp, find_route(a, rq, rp) && may_then_gate(a, rq, rp));
}

/* Several names: one of them is the client's own, as a proxy sends one. A comma is part of a name ("Lee, Kim"). */
static bool names_several(const struct api *a, const struct request *rq)
{
    return rq->header_count && rq->header_count(rq, a->proxy_header) > 1;
}

static bool admit_request(struct api *a, struct request *rq, struct reply *rp)
{
    struct str host = rq->header(rq, "Host");
    rq->who->people = a->people;
    if (host.len && !host_allowed(host, a->host_names, a->n_host_names)) {
        if (wants_page(rq))
            page_of_foreign_host(rp, host);
        else
            reply_problem(rp, 421, "this hub is not known as '%.*s'; if it should be, add that name to host_names",
                          (int)MIN(host.len, 200u), host.p);
        return false;
    }
    if (!find_route(a, rq, rp))
        return false;
    if (a->proxy_header && names_several(a, rq))
        return reply_refuse(rp, 400, "more than one %s", a->proxy_header);
    struct str origin = rq->header(rq, "Origin");
    bool browser = rq->header(rq, "Cookie").len > 0 || (a->proxy_header && rq->header(rq, a->proxy_header).len > 0);
    if (rq->route->write && !origin_allowed(origin, host, browser && rq->method != METHOD_GET))
        return reply_refuse(rp, 403, "a page of '%.*s' may not write here: the Origin of a write must be this hub",
                            (int)MIN(origin.len, 200u), origin.p);
    if (!a->request_user_check(a, rq, rp))
        return false;
    settle_peer(a, rq);
    return may_then_gate(a, rq, rp);
}

bool api_admit(struct api *a, struct request *rq, struct reply *rp)
{
    bool ok = admit_request(a, rq, rp);

    if (!ok && rq->route && rp->status)
        settle_peer(a, rq); /* it may have been refused before; the second time changes nothing */
    return admitted(a, rq, rp, ok);
}

static enum reply_mode handle_admitted(struct api *a, struct request *rq, struct reply *rp)
{
    if (rq->body.len > rq->route->max_body)
        return reply_problem(rp, 413, "the body has %zu bytes; this path accepts at most %zu", rq->body.len,
                             rq->route->max_body);
    if (!rq->route->sites &&
        (!names_are_local(a, request_query(rq, "node"), rp) || !names_are_local(a, request_query(rq, "device"), rp) ||
         (str_starts(rq->path, "/api/") && !names_are_local(a, rq->tail, rp))))
        return REPLY_NOW;
    return rq->route->handle(a, rq, rp);
}

enum reply_mode api_handle(struct api *a, struct request *rq, struct reply *rp)
{
    if (!rq->route && !api_admit(a, rq, rp))
        return REPLY_NOW;
    begin_trail(a, rq);
    enum reply_mode how = handle_admitted(a, rq, rp);
    if (how != REPLY_LATER && !rq->kept) /* else the late reply ends it */
        end_trail(rq, rp);
    return how;
}
