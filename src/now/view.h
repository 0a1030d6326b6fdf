/* view.h: the part of the live state for a request: nodes, and their devices that match a filter. */
#pragma once

#include "base/mem.h"
#include "now/filter.h"
#include "now/live.h"

struct view_query {
    const char *node; /* key or name; NULL: all */
    bool all;         /* include retired nodes */
    bool sites;       /* include nodes of followed hubs */
    bool demo, show_cmd;
    const char *reader;
};
/* Fills ret, which must not be moved. Valid until l changes. Returns -ENOENT if the requested node does not exist. */
int view_of(struct live *l, const struct view_query *ask, int64_t now_ms, struct view *ret);

/*
 * Keeps in v the matching devices, and nodes that have any (or that have no devices and match themselves). A node that
 * matches completely is still borrowed. For others a copy in a has only the matching devices and borrows the rest. v
 * is valid as long as a, f and the sources of v are.
 */
void view_filter(struct view *v, const struct filter *f, struct arena *a);
/* The same for one node: returns n itself, a copy, or NULL. ret_which identifies the selection of devices. */
const struct node_now *view_node(const struct filter *f, const struct node_now *n, int64_t now_ms, struct arena *a,
                                 uint64_t *ret_which);
