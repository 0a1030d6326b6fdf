/*
 * io.h: one connected socket that never blocks, plain or TLS: bytes that came, bytes to be sent, and calls that say
 * what happened. These are made from the loop only, never from within a call on the io, so that its owner may end it at
 * any time but then. Not a bufferevent: libevent 2.1's reads 4 KiB a turn and sends one turn late.
 */
#pragma once

#include "base/str.h"

struct event_base;
struct evbuffer;
struct ssl_ctx_st;

enum io_word {
    IO_READ = 1,  /* more bytes are in */
    IO_SENT = 2,  /* everything has left */
    IO_EOF = 4,   /* the other side sends no more */
    IO_ERROR = 8, /* it is over */
};
/* One or more words at once. The io may be freed inside. */
typedef void io_fn(void *arg, int words);

struct io;
/* Takes fd, which must not block. tls NULL: plain. */
struct io *io_new(struct event_base *loop, int fd, struct ssl_ctx_st *tls, io_fn *fn, void *arg);
void io_free(struct io *io);

struct str io_in(const struct io *io); /* what came; good until the next word, io_drop or io_limit */
void io_drop(struct io *io, size_t n); /* the first n bytes of it are done with */
/* Hold at most so many bytes of input (a little more may come); reading rests until some are dropped. */
void io_limit(struct io *io, size_t max);

struct evbuffer *io_out(struct io *io); /* add to it, then io_send */
void io_send(struct io *io);
void io_put(struct io *io, const void *p, size_t n); /* both, of a few bytes; mostly they leave without a copy */
/*
 * A group: ios whose input is looked at together, every ms, while there is any. For senders that nobody waits for: a
 * request that wakes an idle core costs three times one of a burst.
 */
struct io_group;
/* looked(arg) is called when all that had come was looked at, some of it in each turn of the loop. */
struct io_group *io_group_new(struct event_base *loop, int64_t ms, void (*looked)(void *arg), void *arg);
void io_group_every(struct io_group *g, int64_t ms); /* from the next look on; g may be NULL */
void io_group_free(struct io_group *g);              /* after its ios */
void io_join(struct io *io, struct io_group *g);     /* from now on; NULL, or again: nothing */
size_t io_queued(const struct io *io);               /* bytes not sent yet */
void io_finish(struct io *io); /* nothing more will be sent: say so to the other side, go on reading */
