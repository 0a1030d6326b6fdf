/* versions.c: compares the builds of active agents with the build of this hub. */
#include "base/clock.h"
#include "base/version.h"
#include "nodes/feature.h"
#include "now/live.h"

#define LOOK_MS 5000 /* of 10,000 nodes each time */

/* Not with sscanf for each node: most have the hub's own build. */
static bool is_other(const struct build *ours, const char *agent)
{
    struct build theirs;

    return strcmp(agent, muster_agent_build) != 0 && build_parse(agent, &theirs) && build_differs(ours, &theirs);
}

static void look(struct live *live, char out[NOTICE_MAX])
{
    struct build ours;
    size_t n, n_others = 0;
    const struct node_now *const *v = live_nodes(live, false, &n), *first = NULL;

    out[0] = 0;
    build_parse(muster_agent_build, &ours);
    for (size_t i = 0; i < n; i++)
        if (v[i]->state == NODE_UP && is_other(&ours, v[i]->fact.agent)) {
            n_others++;
            first = first ? first : v[i];
        }
    if (first)
        snprintf(out, NOTICE_MAX, "%zu of %zu nodes %s not the version of this hub, %s: %.64s has %s", n_others, n,
                 n_others == 1 ? "has" : "have", muster_agent_build, first->name, first->fact.agent);
}

void versions_notice(struct hub *h, char out[NOTICE_MAX])
{
    int64_t now_ms = clock_mono_ms();

    if (!h->versions_ms || now_ms - h->versions_ms >= LOOK_MS) {
        h->versions_ms = now_ms;
        look(h->live, h->versions);
    }
    mem_copy_str(out, NOTICE_MAX, h->versions);
}
