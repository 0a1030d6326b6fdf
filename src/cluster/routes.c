/* routes.c: the list of hubs on this store. */
#include <unistd.h>

#include "base/json.h"
#include "base/version.h"
#include "cluster/feature.h"
#include "cluster/member.h"
#include "hub/handlers.h"

static void put_hub(struct json *j, const struct hub_row *h, bool own)
{
    struct build b;

    json_obj(j, NULL);
    json_int(j, "id", h->id);
    json_cstr(j, "name", h->name);
    json_some(j, "url", h->url);
    if (build_parse(h->version, &b)) {
        json_cstr(j, "version", b.version);
        json_some(j, "commit", b.commit);
        if (b.format)
            json_int(j, "format", b.format);
    }
    json_int(j, "started", h->started_ms);
    json_bool(j, "leads", h->leads);
    json_bool(j, "own", own);
    json_end_obj(j);
}

/* A single hub is a list of one. */
static enum reply_mode get_hubs(struct api *a, UNUSED struct request *rq, struct reply *rp)
{
    struct member *m = cluster_member(a->hub);
    struct member_stat st = {.n = m ? 0 : 1};

    if (m) {
        member_stat(m, &st);
    } else {
        st.hubs[0] = (struct hub_row){.started_ms = a->hub->started_ms, .leads = true};
        gethostname(st.hubs[0].name, sizeof(st.hubs[0].name) - 1);
        mem_copy_str(st.hubs[0].version, sizeof(st.hubs[0].version), muster_hub_build);
    }
    rp->body = BUF_INIT(1u << 20);
    struct json j = json_on(&rp->body);
    json_arr(&j, NULL);
    for (size_t i = 0; i < st.n; i++)
        put_hub(&j, &st.hubs[i], !m || st.hubs[i].id == member_id(m));
    json_end_arr(&j);
    return REPLY_NOW;
}

/* clang-format off */
const struct route cluster_routes[] = {
    {GET, "/api/v1/hubs", ROLE_NONE, .summary = "The hubs that run on this store, with version, commit and format; `own` is the one that answers, `leads` the one that leads", .handle = get_hubs},
    {0},
};
/* clang-format on */
