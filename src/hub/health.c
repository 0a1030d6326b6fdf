/* health.c: the routes that report whether the hub is alive and accepts batches, and those of the page. */
#include <stdlib.h>

#include "base/json.h"
#include "base/mem.h"
#include "hub/handlers.h"
#include "hub/self.h"

static enum reply_mode get_healthz(struct api *a, UNUSED struct request *rq, struct reply *rp)
{
    char why[NOTICE_MAX] = "";
    rp->type = "text/plain; charset=utf-8";
    rp->body = BUF_INIT(512);
    buf_adds(&rp->body, "ok\n"); /* alive, even if the disk fails: a restart does not help */
    hub_ready(a->hub, why);
    if (why[0])
        buf_addf(&rp->body, "%s\n", why);
    return REPLY_NOW;
}

static enum reply_mode get_readyz(struct api *a, struct request *rq, struct reply *rp)
{
    char why[NOTICE_MAX] = "";
    if (!hub_ready(a->hub, why))
        return reply_problem(rp, 503, "%s", why);
    return get_healthz(a, rq, rp);
}

/* Others need not know how this machine is laid out. A browser's headers come through a proxy that adds none. */
static bool is_here(UNUSED struct api *a, struct request *rq, struct reply *rp)
{
    bool browser = rq->header(rq, "Origin").len || rq->header(rq, "Sec-Fetch-Site").len;
    return (rq->loopback && !browser) ||
           reply_refuse(rp, 403, "the hub answers this only to commands on its own machine");
}

static enum reply_mode get_folder(struct api *a, UNUSED struct request *rq, struct reply *rp)
{
    AUTO_FREE char *dir = realpath(a->hub->data, NULL);
    struct json j = reply_object(rp, 65536);
    json_cstr(&j, "data", dir ? dir : a->hub->data);
    return reply_object_end(rp, &j);
}

static enum reply_mode get_favicon(UNUSED struct api *a, UNUSED struct request *rq, struct reply *rp)
{
    rp->status = 204;
    snprintf(rp->cache, sizeof(rp->cache), "public, max-age=86400");
    return REPLY_NOW;
}

/* clang-format off */
const struct route hub_routes[] = {
    {GET, "/node/{node*}", ROLE_NONE, .open = true, .sites = true, .summary = "The page: one node, by name or id", .handle = get_page},
    {GET, "/history", ROLE_NONE, .open = true, .summary = "The page: the night strip, states and users of every GPU", .handle = get_page},
    {GET, "/usage", ROLE_NONE, .open = true, .summary = "The page: who used how much", .handle = get_page},
    {GET, "/trends", ROLE_NONE, .open = true, .summary = "The page: use, power and what was free over weeks and months", .handle = get_page},
    {GET, "/reports", ROLE_NONE, .open = true, .summary = "The page: reports, to look at and to download", .handle = get_page},
    {GET, "/bookings", ROLE_NONE, .open = true, .summary = "The page: who has booked what", .handle = get_page},
    {GET, "/people", ROLE_NONE, .open = true, .summary = "The page: who holds what", .handle = get_page},
    {GET, "/run/{id}", ROLE_NONE, .open = true, .summary = "The page: what one run did", .handle = get_page},
    {GET, "/person/{person}", ROLE_NONE, .open = true, .summary = "The page: what one person holds, ran, used and booked", .handle = get_page},
    {GET, "/team/{team}", ROLE_NONE, .open = true, .summary = "The page: the same of a team", .handle = get_page},
    {GET, "/events", ROLE_NONE, .open = true, .summary = "The page: what happened", .handle = get_page},
    {GET, "/alerts", ROLE_NONE, .open = true, .summary = "The page: what is wrong", .handle = get_page},
    {GET, "/login", ROLE_NONE, .open = true, .summary = "The page: log in with a token", .handle = get_page},
    {GET, "/add", ROLE_NONE, .open = true, .summary = "The page: add a node", .handle = get_page},
    {GET, "/assets/{file*}", ROLE_NONE, .open = true, .summary = "Files of the page; their names change with their content", .handle = get_asset},
    {GET, "/api/v1/metrics", ROLE_NONE, .open = true, .summary = "What screens must know beforehand: metrics with unit, kind and words; states with their marks; kinds of events", .handle = get_facts},
    {GET, "/api/v1/openapi.json", ROLE_NONE, .open = true, .summary = "This table", .handle = get_openapi},
    {GET, "/healthz", ROLE_NONE, .open = true, .summary = "200 while the hub's loop turns", .handle = get_healthz},
    {GET, "/readyz", ROLE_NONE, .open = true, .summary = "200 while batches can be stored, else 503 and why", .handle = get_readyz},
    {GET, "/api/v1/folder", ROLE_NONE, .open = true, .gate = is_here, .summary = "Path of the data folder, for commands that use it; only on the hub's machine", .handle = get_folder},
    {GET, "/favicon.ico", ROLE_NONE, .open = true, .summary = "Nothing: the page names its own", .handle = get_favicon},
    {0},
};
/* clang-format on */

const struct feature hub_feature = {.name = "hub",
                                    .settings = hub_own_opts,
                                    .settings_size = offsetof(struct hub_conf, of_features),
                                    .routes = hub_routes,
                                    .prepare = hub_conf_check,
                                    .status = self_status};
