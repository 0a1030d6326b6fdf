/* conn_limit.h: limits the connections of each client (address_client), so that one cannot use all of them. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

struct conn_limit;
struct conn_limit *conn_limit_new(void);
void conn_limit_free(struct conn_limit *g);
bool conn_limit_enter(struct conn_limit *g, const char *address,
                      size_t max);                                /* one more; false when it has max already */
void conn_limit_leave(struct conn_limit *g, const char *address); /* one that entered */
size_t conn_limit_count(const struct conn_limit *g);              /* clients */
