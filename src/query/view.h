/* view.h: a request's selection out of live state. The filter language will join here. */
#ifndef QUERY_VIEW_H
#define QUERY_VIEW_H

#include "live/live.h"

struct view_ask {
    const char *node; /* key or name; NULL: all */
    bool all;         /* retired ones too */
    bool demo, show_cmd;
    const char *reader;
};
/* Fill ret; borrowed from l until it changes. -ENOENT when the node asked for is not there. scratch holds the array
 * when it is a selection. */
int view_of(struct live *l, const struct view_ask *ask, int64_t now_ms, const struct node_now **scratch,
            struct view *ret);

#endif
