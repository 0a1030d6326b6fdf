/*
 * io.h: one connected socket that never blocks, plain or TLS: received bytes, bytes to send, and event callbacks.
 * Callbacks come from the loop only, never from within a call on the io, so the owner may free it at any other time.
 * Not a bufferevent: libevent 2.1's reads 4 KiB per iteration and sends one iteration late.
 */
#pragma once

#include "base/str.h"

struct event_base;
struct evbuffer;
struct ssl_ctx_st;

enum io_word {
    IO_READ = 1,  /* more bytes are in */
    IO_SENT = 2,  /* everything was sent */
    IO_EOF = 4,   /* the other side sends no more */
    IO_ERROR = 8, /* the connection failed */
};
/* One or more words together. The io may be freed inside. */
typedef void io_fn(void *arg, int words);

struct io;
/* Takes ownership of fd, which must not block. tls NULL: plain. */
struct io *io_new(struct event_base *loop, int fd, struct ssl_ctx_st *tls, io_fn *fn, void *arg);
void io_free(struct io *io);

struct str io_in(const struct io *io); /* received bytes; valid until the next word, io_drop or io_limit */
void io_drop(struct io *io, size_t n); /* drops the first n bytes of it */
/* Limits the input to max bytes (a little more may come); reading stops until some are dropped. */
void io_limit(struct io *io, size_t max);

struct evbuffer *io_out(struct io *io); /* add to it, then io_send */
void io_send(struct io *io);
void io_put(struct io *io, const void *p, size_t n); /* both, for a few bytes; mostly sent without a copy */
/*
 * A group: ios whose input is read together, every ms, while there is any. For senders without a waiting client: a
 * request that wakes an idle core costs three times as much as a request in a burst.
 */
struct io_group;
/* Calls looked(arg) when all pending input was read, in one or more event loop iterations. */
struct io_group *io_group_new(struct event_base *loop, int64_t ms, void (*looked)(void *arg), void *arg);
void io_group_every(struct io_group *g, int64_t ms); /* from the next poll on; g may be NULL */
void io_group_free(struct io_group *g);              /* after its ios */
void io_join(struct io *io, struct io_group *g);     /* from now on; NULL, or again: no effect */
size_t io_queued(const struct io *io);               /* bytes not sent yet */
void io_finish(struct io *io);                       /* ends our side of the connection; reading continues */
