/* node_order.h: nodes by name, as every list has them: 2 before 10. */
#pragma once

#include "model/now.h"

/* How far whoever goes over all nodes in several turns has got; zero: not begun. Meanwhile nodes come and go. */
struct node_place {
    char name[NAME_MAX_LEN], key[NODE_KEY_MAX];
};
void node_place_set(struct node_place *p, const struct node_now *n);                        /* behind this one */
size_t nodes_behind(const struct node_now *const *v, size_t n, const struct node_place *p); /* the first of them */
/* Sort n of them, of which the first ones, as many as `sorted`, are in order among themselves: a few that came are put
 * between these. */
void nodes_sort(const struct node_now **v, size_t sorted, size_t n);
