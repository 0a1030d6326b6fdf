/* routes.c: the route /api/v1/wandb: what is pulled from W&B, when, and what failed. */
#include "hub/handlers.h"
#include "wandb/feature.h"

static enum reply_mode get_wandb(struct api *a, UNUSED struct request *rq, struct reply *rp)
{
    rp->body = BUF_INIT(64u << 10);
    hub_wandb_json(feature_self(&a->hub->features, &wandb_feature), &rp->body);
    return REPLY_NOW;
}

/* clang-format off */
const struct route wandb_routes[] = {
    {GET, "/api/v1/wandb", ROLE_NONE, .summary = "What is pulled from Weights & Biases: when next, when last, and what failed (docs/wandb.md)", .handle = get_wandb},
    {0},
};
/* clang-format on */
