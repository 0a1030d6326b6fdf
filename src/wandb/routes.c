/* routes.c: what is pulled from W&B, and when. */
#include "hub/handlers.h"
#include "wandb/feature.h"

enum reply_how get_wandb(struct api *a, struct request *rq, struct reply *rp)
{
    (void)rq;
    rp->body = BUF_INIT(64u << 10);
    wandb_desk_json(a->hub->wandb, &rp->body);
    return REPLY_NOW;
}
