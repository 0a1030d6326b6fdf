/* node_order.h: nodes by name, as every list has them: 2 before 10. */
#pragma once

#include "model/now.h"

/* Before, at or behind another, by name, and of one name by key. */
int node_order(const struct node_now *n, const char *name, const char *key);
/* Sort n of them, of which the first ones, as many as `sorted`, are in order among themselves: a few that came are put
 * between these. */
void nodes_sort(const struct node_now **v, size_t sorted, size_t n);
