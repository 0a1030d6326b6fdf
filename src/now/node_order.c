/* node_order.c: sorts lists of nodes; a list that only grew is merged, not sorted again. */
#include "now/node_order.h"

#include "base/mem.h"
#include "base/order.h"
#include "base/str.h"

/* Compares by name, then by key. */
static int node_order(const struct node_now *n, const char *name, const char *key)
{
    return str_natural(n->name, name) ?: strcmp(n->key, key);
}

COMPARE(by_name, struct node_now *const, node_order(*x, (*y)->name, (*y)->key))

void nodes_sort(const struct node_now **v, size_t sorted, size_t n)
{
    SORT(v + sorted, n - sorted, by_name);
    if (sorted == 0 || sorted == n)
        return;
    AUTO_FREE const struct node_now **more = mem_dup(v + sorted, n - sorted, sizeof(*v));
    for (size_t left = n - sorted, end = sorted; left > 0; left--) { /* the last one is placed first */
        const struct node_now *one = more[left - 1];
        size_t at = COUNT_BEFORE(end, i, node_order(v[i], one->name, one->key) < 0);
        memmove(v + at + left, v + at, (end - at) * sizeof(*v));
        v[at + left - 1] = one;
        end = at;
    }
}

void node_place_set(struct node_place *p, const struct node_now *n)
{
    mem_copy_str(p->name, sizeof(p->name), n->name);
    mem_copy_str(p->key, sizeof(p->key), n->key);
}

size_t nodes_after(const struct node_now *const *v, size_t n, const struct node_place *p)
{
    return COUNT_BEFORE(n, i, node_order(v[i], p->name, p->key) <= 0);
}
