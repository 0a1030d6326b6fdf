/* node_order.h: nodes sorted by name in natural order, 2 before 10. */
#pragma once

#include "model/now.h"

/* Position of a walk over all nodes in several steps; zero: start. Nodes may come and go in between. */
struct node_place {
    char name[NAME_MAX_LEN], key[NODE_KEY_MAX];
};
void node_place_set(struct node_place *p, const struct node_now *n);                       /* after this node */
size_t nodes_after(const struct node_now *const *v, size_t n, const struct node_place *p); /* first index after p */
/* Sorts n nodes, of which the first `sorted` are already in order: inserts the few new ones. */
void nodes_sort(const struct node_now **v, size_t sorted, size_t n);
