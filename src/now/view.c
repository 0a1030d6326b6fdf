/* view.c: selects the nodes a request sees, and their devices. */
#include "now/view.h"

#include <errno.h>

#include "base/mem.h"
#include "base/order.h"
#include "base/rand.h"

int view_of(struct live *l, const struct view_query *ask, int64_t now_ms, struct view *ret)
{
    const struct node_now *one = !ask->node ? NULL : ask->sites ? live_any(l, ask->node) : live_find(l, ask->node);

    if (ask->node && !one)
        return -ENOENT;
    *ret = (struct view){.at_ms = now_ms,
                         .demo = ask->demo,
                         .version = live_version(l),
                         .n = 1,
                         .nodes = &ret->one,
                         .one = one,
                         .show_cmd = ask->show_cmd,
                         .currency = live_currency(l),
                         .notice = live_notice(l)};
    mem_copy_str(ret->reader, sizeof(ret->reader), ask->reader ? ask->reader : "");
    if (!ask->node) /* a retired node is shown if requested by name */
        ret->nodes = (ask->sites ? live_shown : live_nodes)(l, ask->all, &ret->n);
    return 0;
}

const struct node_now *view_node(const struct filter *f, const struct node_now *n, int64_t now_ms, struct arena *a,
                                 uint64_t *ret_which)
{
    size_t count = 0, first = 0, last = 0, total = n->n_devices;

    *ret_which = 1;
    if (!total)
        return filter_match(f, n, NULL, now_ms) ? n : NULL;
    bool *match = arena_alloc(a, total, sizeof(*match));
    for (size_t i = 0; i < total; i++)
        if (filter_match(f, n, &n->devices[i], now_ms)) {
            match[i] = true;
            first = count++ ? first : i;
            last = i;
        }
    *ret_which = fnv64(match, total);
    if (count == total)
        return n;
    if (!count)
        return NULL;
    struct node_now *copy = arena_alloc(a, 1, sizeof(*copy));
    *copy = *n;
    copy->of = node_gpus(n);
    copy->named = 0; /* the number refers to other devices */
    bool parents = ANY(n->n_devices, i, n->devices[i].fact.parent[0]);
    if (!parents && last - first + 1 == count) { /* adjacent */
        copy->devices = n->devices + first;
        copy->n_devices = count;
        return copy;
    }
    copy->devices = arena_alloc(a, count, sizeof(*copy->devices));
    copy->n_devices = 0;
    for (size_t i = 0; i < total; i++)
        if (match[i]) {
            struct device_now *d = &copy->devices[copy->n_devices++];
            *d = n->devices[i];
            d->split = parents && device_is_parent(n, &n->devices[i]);
        }
    return copy;
}

void view_filter(struct view *v, const struct filter *f, struct arena *a)
{
    const struct node_now **list = arena_alloc(a, v->n + 1, sizeof(*list));
    size_t n = 0;
    uint64_t which;
    struct filter_kinds kinds = {0};
    char *words = arena_alloc(a, FILTER_SAID, 1);

    v->of = 0;
    for (size_t i = 0; i < v->n; i++) {
        v->of += node_counts(v->nodes[i]);
        filter_see(f, v->nodes[i], v->at_ms, &kinds);
        const struct node_now *kept = view_node(f, v->nodes[i], v->at_ms, a, &which);
        if (kept)
            list[n++] = kept;
    }
    v->nodes = list;
    v->n = n;
    v->filter = filter_text(f);
    v->odd_words = filter_describe(f, &kinds, words);
    v->words = words[0] ? words : NULL;
}
