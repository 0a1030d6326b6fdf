/* state.h: fetches a hub's current state, for commands that show it. */
#pragma once

#include "cli/client.h"
#include "format/render.h"

struct hub_state {
    struct view view; /* of the fetched state */
    struct read_state read;
    const struct node_now **list;
};

/* filter, me: parameters of /api/v1/state; NULL or "": all. ret must be zeroed; free it with hub_state_fini(). */
int hub_state_fetch(const struct client_conf *conf, const char *filter, const char *me, struct hub_state *ret,
                    struct err *err);
void hub_state_fini(struct hub_state *s);
