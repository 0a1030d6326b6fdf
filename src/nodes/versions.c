/* versions.c: compares the builds of the agents that send now with the build of this hub. */
#include "base/version.h"
#include "nodes/feature.h"
#include "now/live.h"

void versions_notice(struct live *live, char out[NOTICE_MAX])
{
    struct build ours, theirs;
    size_t n, n_sending = 0, n_others = 0;
    const struct node_now *const *v = live_nodes(live, false, &n), *first = NULL;

    build_parse(muster_agent_build, &ours);
    for (size_t i = 0; i < n; i++) {
        if (v[i]->state != NODE_UP || !build_parse(v[i]->fact.agent, &theirs))
            continue;
        n_sending++;
        if (!build_differs(&ours, &theirs))
            continue;
        n_others++;
        first = first ? first : v[i];
    }
    if (first)
        snprintf(out, NOTICE_MAX, "%zu of %zu agents %s not the version of this hub, %s: node %.64s has %s", n_others,
                 n_sending, n_others == 1 ? "has" : "have", muster_agent_build, first->name, first->fact.agent);
}
