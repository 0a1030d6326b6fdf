/* conn_limit.h: how many connections each address has, so that one of them cannot take all there are. */
#ifndef HTTP_CONN_LIMIT_H
#define HTTP_CONN_LIMIT_H

#include <stdbool.h>
#include <stddef.h>

struct guests;
struct guests *guests_new(void);
void guests_free(struct guests *g);
bool guests_enter(struct guests *g, const char *address, size_t max); /* one more; false when it has max already */
void guests_leave(struct guests *g, const char *address);             /* one that entered */
size_t guests_count(const struct guests *g);                          /* addresses */

#endif
