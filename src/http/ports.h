/* ports.h: the addresses a server listens on. */
#pragma once

#include <stdbool.h>

#include "base/err.h"

struct event_base;
struct ports;
/* A connection: the callee owns fd, which does not block; peer is its address as text. */
typedef void ports_fn(void *arg, int fd, const char *peer);

struct ports *ports_new(struct event_base *loop, ports_fn *fn, void *arg);
/* Called before accepting pauses because descriptors ran out: full(arg) may close some, and returns whether it did. */
void ports_on_full(struct ports *p, bool (*full)(void *arg));
void ports_free(struct ports *p);
/* "127.0.0.1:0", "[::]:8765", "*:80"; names are not resolved. *ret_port is the one in use; may be NULL. */
int ports_open(struct ports *p, const char *address, int *ret_port, struct err *err);
/* Whether a server could listen there now: 0, or the error of ports_open. */
int ports_try(const char *address, struct err *err);
bool ports_has(const struct ports *p, const char *address);
void ports_close(struct ports *p, const char *address); /* NULL: all */
void ports_resume(struct ports *p);                     /* once a second */
