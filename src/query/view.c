/* view.c: which nodes a request sees, and what of them. */
#include "query/view.h"

#include <errno.h>

#include "base/mem.h"

int view_of(struct live *l, const struct view_ask *ask, int64_t now_ms, const struct node_now **scratch,
            struct view *ret)
{
    struct view v = {.at_ms = now_ms, .demo = ask->demo, .version = live_version(l), .show_cmd = ask->show_cmd};

    mem_copy_str(v.reader, sizeof(v.reader), ask->reader ? ask->reader : "");
    if (ask->node) { /* asked for by name, a retired one is shown too */
        const struct node_now *n = live_find(l, ask->node);
        if (!n)
            return -ENOENT;
        *scratch = n;
        v.n = 1;
        v.nodes = scratch;
    } else {
        v.nodes = live_nodes(l, ask->all, &v.n);
    }
    *ret = v;
    return 0;
}
