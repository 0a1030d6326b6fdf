/* view.h: a request's selection out of live state: nodes, and of these the devices that a filter matches. */
#pragma once

#include "base/mem.h"
#include "now/filter.h"
#include "now/live.h"

struct view_ask {
    const char *node; /* key or name; NULL: all */
    bool all;         /* retired ones too */
    bool sites;       /* those of hubs that are followed, too */
    bool demo, show_cmd;
    const char *reader;
};
/* Fill ret, which is not to be moved; borrowed from l until it changes. -ENOENT when the node asked for is not there.
 */
int view_of(struct live *l, const struct view_ask *ask, int64_t now_ms, struct view *ret);

/*
 * Leave in v the devices that match, and the nodes that have any (or have none and match themselves). A node that
 * matches whole is borrowed as before; of others a copy is made in a, with the matching devices only; all else in it is
 * borrowed still. v may be used as long as a, f and what v was made of are.
 */
void view_filter(struct view *v, const struct filter *f, struct arena *a);
/* The same for one node: n itself, a copy, or NULL. ret_which tells one choice of devices from another. */
const struct node_now *view_node(const struct filter *f, const struct node_now *n, int64_t now_ms, struct arena *a,
                                 uint64_t *ret_which);
