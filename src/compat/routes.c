/* routes.c: the routes that vesta's senders post to, with the answers they expect (all under 200). */
#include <errno.h>

#include "access/auth.h"
#include "base/json.h"
#include "compat/vesta.h"
#include "hub/feature.h"
#include "hub/handlers.h"

static enum reply_mode vesta_error(struct reply *rp, int code, const char *message)
{
    rp->outcome = code;
    rp->body = BUF_INIT(4096);
    json_print(&rp->body, "{'status':'ERROR','status_code':%lld,'message':%s}", (long long)code, message);
    return REPLY_NOW;
}

/* vesta's senders put the one shared token into the URL. */
static bool vesta_allowed(struct api *a, struct request *rq, struct reply *rp)
{
    struct str given = request_query(rq, "token");
    if (a->vesta_token && secret_equal(given, str_of(a->vesta_token)))
        return true;
    vesta_error(rp, 403,
                a->vesta_token ? "invalid token."
                               : "this hub takes no vesta senders: set vesta_token to the token they use.");
    return false;
}

static enum reply_mode get_register(struct api *a, struct request *rq, struct reply *rp)
{
    char id[40], name[NAME_MAX_LEN];
    struct err err = {0};
    int r = vesta_register(a->hub, rq, request_query(rq, "host_name"), id, name, &err);
    if (r < 0)
        return vesta_error(rp, r == -EINVAL ? 400 : 503, err.msg);
    rp->body = BUF_INIT(4096);
    json_print(&rp->body, "{'id':%s,'register_name':%s,'status':'OK','status_code':200}", id, name);
    return REPLY_NOW;
}

static enum reply_mode post_update(struct api *a, struct request *rq, struct reply *rp)
{
    struct err err = {0};
    int r = vesta_update(a->hub, rq, rq->tail, &err);
    if (r == -ENOENT)
        return vesta_error(rp, 404, "host not found.");
    if (r < 0)
        return vesta_error(rp, r == -EINVAL ? 400 : 503, err.msg);
    return REPLY_LATER;
}

static enum reply_mode post_notification(struct api *a, struct request *rq, struct reply *rp)
{
    struct err err = {0};
    int r = vesta_notify(a->hub, rq, &err);
    if (r < 0)
        return vesta_error(rp, r == -EINVAL || r == -ENOENT ? 400 : 500, err.msg);
    return REPLY_LATER;
}

/* clang-format off */
const struct route compat_routes[] = {
    {METHOD_POST, "/", ROLE_NONE, .any = true, .write = true, .max_body = MAX_BOOKING_BODY, .gate = form_allowed,
     .summary = "GPU Monitor: its reservation form (host, id, name, date, comment, save or reset), where bookings.auth is open", .handle = post_form},
    {METHOD_POST, "/index.php", ROLE_NONE, .any = true, .write = true, .max_body = MAX_BOOKING_BODY, .gate = form_allowed,
     .summary = "The same", .handle = post_form},
    {METHOD_GET, "/register/", ROLE_NONE, .open = true, .write = true, .no_audit = true, .summary = "vesta: a sender makes itself known",
     .params = "host_name: its name; token: the vesta token", .gate = vesta_allowed, .handle = get_register},
    {METHOD_POST, "/update/host/{id}", ROLE_NONE, .open = true, .write = true, .no_audit = true, .max_body = 512u << 10,
     .summary = "vesta: a sender's sample", .params = "token: the vesta token", .gate = vesta_allowed, .handle = post_update},
    {METHOD_POST, "/notification/send_notification/slack/", ROLE_NONE, .open = true, .write = true, .max_body = 32u << 10,
     .summary = "vesta: send a Slack message to a user: {\"text\", \"to\"}", .params = "token: the vesta token", .gate = vesta_allowed, .handle = post_notification},
    {0},
};
/* clang-format on */
