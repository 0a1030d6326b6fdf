/* health.c: is the hub alive, and does it take batches? For whoever watches over it. */
#include "hub/handlers.h"
#include "hub/hub.h"

enum reply_how get_healthz(struct api *a, struct request *rq, struct reply *rp)
{
    char why[NOTICE_MAX] = "";
    (void)rq;
    rp->type = "text/plain; charset=utf-8";
    rp->body = BUF_INIT(512);
    buf_adds(&rp->body, "ok\n"); /* alive, whatever the disk says: nothing is gained by a restart */
    hub_ready(a->hub, why);
    if (why[0])
        buf_addf(&rp->body, "%s\n", why);
    return REPLY_NOW;
}

enum reply_how get_readyz(struct api *a, struct request *rq, struct reply *rp)
{
    char why[NOTICE_MAX] = "";
    if (!hub_ready(a->hub, why))
        return reply_problem(rp, 503, "%s", why);
    return get_healthz(a, rq, rp);
}

enum reply_how get_favicon(struct api *a, struct request *rq, struct reply *rp)
{
    (void)a, (void)rq;
    rp->status = 204;
    snprintf(rp->cache, sizeof(rp->cache), "public, max-age=86400");
    return REPLY_NOW;
}
