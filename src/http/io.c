/* io.c: a socket on the loop. Plain reads and writes go straight to the kernel; TLS through OpenSSL on the same fd. */
#include "http/io.h"

#include <errno.h>
#include <event2/buffer.h>
#include <event2/event.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <sys/epoll.h>
#include <sys/socket.h>

#include "base/buf.h"
#include "base/mem.h"

#define READ_SIZE  (64u << 10)
#define READ_TURNS 4          /* then other connections have their turn */
#define SEND_TURN  (2u << 20) /* the same for a client that receives as fast as we send */
#define GROUP_STEP 128        /* ios of a group per event loop iteration: a millisecond or two */
#define GROUP_IDLE 4          /* empty polls in a row: then the first input wakes us */

struct io {
    int fd;
    SSL *ssl; /* NULL: plain */
    bool eof, failed, finished, sending;
    bool want_write; /* TLS cannot read before it has written */
    bool reading;    /* the event is armed */
    size_t max_in;
    struct buf in;
    size_t off; /* consumed part of in */
    struct evbuffer *out;
    struct event *rd, *wr;
    struct io_group *group; /* NULL: none, rd reports input */
    io_fn *fn;
    void *arg;
};

struct io_group {
    int epoll;
    struct event *any, *look; /* any: input after a rest; look: time to read it */
    struct timeval every;
    void (*looked)(void *arg);
    void *arg;
    int idle;
    bool came;                  /* input arrived since looked() was called */
    struct io *now[GROUP_STEP]; /* ios of the current callbacks, without those freed meanwhile */
    int n;
};

/* ---- the two transports: bytes, 0 at the end, -EAGAIN, or -EIO ---- */

/* Replies to a client that sends HTTP to a TLS port. Reads its input first: closing would discard the reply. */
static void refuse_plain(const struct io *io)
{
    static const char body[] = "{\"title\":\"Bad Request\",\"status\":400,\"detail\":\"this port speaks HTTPS: the "
                               "address begins with https://\"}\n";
    char head[512];
    char rest[READ_SIZE];
    int n = snprintf(head, sizeof(head),
                     "HTTP/1.1 400 Bad Request\r\nContent-Type: application/problem+json\r\nContent-Length: %zu\r\n"
                     "Connection: close\r\n\r\n%s",
                     sizeof(body) - 1, body);
    for (int turn = 0; turn < READ_TURNS; turn++) /* no more: a client that sends on must not hold the loop */
        if (recv(io->fd, rest, sizeof(rest), MSG_DONTWAIT) != (ssize_t)sizeof(rest))
            break;
    send(io->fd, head, (size_t)n, MSG_DONTWAIT | MSG_NOSIGNAL);
    shutdown(io->fd, SHUT_WR);
}

static ssize_t ssl_result(struct io *io, int r)
{
    int why = SSL_get_error(io->ssl, r);
    unsigned long reason = ERR_peek_error();
    ERR_clear_error();
    if (why == SSL_ERROR_SSL && ERR_GET_LIB(reason) == ERR_LIB_SSL && ERR_GET_REASON(reason) == SSL_R_HTTP_REQUEST)
        refuse_plain(io);
    switch (why) {
    case SSL_ERROR_WANT_READ:
        return -EAGAIN;
    case SSL_ERROR_WANT_WRITE:
        io->want_write = true;
        return -EAGAIN;
    case SSL_ERROR_ZERO_RETURN:
        return 0;
    default:
        return -EIO;
    }
}

static ssize_t raw_read(struct io *io, char *p, size_t n)
{
    if (io->ssl) {
        int r = SSL_read(io->ssl, p, (int)n);
        return r > 0 ? r : ssl_result(io, r);
    }
    ssize_t r = recv(io->fd, p, n, 0);
    return r >= 0 ? r : errno == EAGAIN || errno == EINTR ? -EAGAIN : -EIO;
}

static ssize_t raw_write(struct io *io)
{
    struct evbuffer_iovec v;
    if (!io->ssl) {
        int r = evbuffer_write_atmost(io->out, io->fd, SEND_TURN);
        return r > 0 ? r : errno == EAGAIN || errno == EINTR ? -EAGAIN : -EIO;
    }
    if (evbuffer_peek(io->out, -1, NULL, &v, 1) < 1)
        return 0;
    int r = SSL_write(io->ssl, v.iov_base, (int)MIN(v.iov_len, 64u << 10));
    if (r <= 0)
        return ssl_result(io, r) == -EAGAIN ? -EAGAIN : -EIO;
    evbuffer_drain(io->out, (size_t)r);
    return r;
}

/* ---- events ---- */

static size_t held(const struct io *io)
{
    return io->in.len - io->off;
}

static void listen_for(struct io *io, bool input)
{
    struct epoll_event e = {.events = EPOLLIN, .data.ptr = io};
    if (io->group)
        epoll_ctl(io->group->epoll, input ? EPOLL_CTL_ADD : EPOLL_CTL_DEL, io->fd, &e);
    else if (input)
        event_add(io->rd, NULL);
    else
        event_del(io->rd);
}

static void arm(struct io *io)
{
    bool read = !io->eof && !io->failed && held(io) < io->max_in;
    if (read && !io->reading) {
        listen_for(io, true);
        if (io->ssl && SSL_pending(io->ssl) > 0)
            event_active(io->rd, EV_READ, 0); /* OpenSSL has the bytes already; no socket event will come */
    } else if (!read && io->reading) {
        listen_for(io, false);
    }
    io->reading = read;
    if (!io->failed && (evbuffer_get_length(io->out) > 0 || io->want_write))
        event_add(io->wr, NULL);
}

static void fail(struct io *io)
{
    if (io->failed)
        return;
    io->failed = true;
    event_active(io->wr, EV_WRITE, 0);
}

static int take_in(struct io *io)
{
    char scratch[READ_SIZE];
    int words = 0;
    for (int turn = 0; turn < READ_TURNS && held(io) < io->max_in; turn++) {
        ssize_t r = raw_read(io, scratch, sizeof(scratch));
        if (r == -EAGAIN)
            break;
        if (r <= 0) {
            io->eof = true;
            return words | (r == 0 ? IO_EOF : IO_ERROR);
        }
        buf_add(&io->in, scratch, (size_t)r);
        words |= IO_READ;
        if ((size_t)r < sizeof(scratch) && !io->ssl)
            break;
    }
    return words;
}

static int push_out(struct io *io)
{
    size_t sent = 0;
    io->want_write = false;
    while (evbuffer_get_length(io->out) > 0) {
        ssize_t r = sent < SEND_TURN ? raw_write(io) : -EAGAIN;
        if (r == -EAGAIN)
            return 0;
        if (r < 0)
            return IO_ERROR;
        sent += (size_t)r;
    }
    return IO_SENT;
}

static void on_event(UNUSED evutil_socket_t fd, short what, void *arg)
{
    struct io *io = arg;
    int words = io->failed ? IO_ERROR : 0;
    if (!words && (what & EV_WRITE)) {
        bool had = evbuffer_get_length(io->out) > 0 || io->sending;
        words = push_out(io);
        if (words == IO_SENT && !had)
            words = 0;
        if (words == IO_SENT)
            io->sending = false;
    }
    if (!(words & IO_ERROR) && !io->eof && held(io) < io->max_in && ((what & EV_READ) || io->ssl))
        words |= take_in(io);
    if (words & IO_ERROR)
        io->failed = true;
    arm(io);
    if (words)
        io->fn(io->arg, words);
}

/* ---- groups ---- */

/* Reads a part of the ios with input. The others wait for the next event loop iterations, and ios outside the group are
 * served in between. */
static void group_look(UNUSED evutil_socket_t fd, UNUSED short what, void *arg)
{
    struct io_group *g = arg;
    struct epoll_event e[GROUP_STEP];
    int n = epoll_wait(g->epoll, e, GROUP_STEP, 0);
    g->n = MAX(n, 0);
    for (int i = 0; i < g->n; i++)
        g->now[i] = e[i].data.ptr;
    for (int i = 0; i < g->n; i++)
        if (g->now[i])
            on_event(-1, EV_READ, g->now[i]);
    g->n = 0;
    g->came |= n > 0;
    if (n == GROUP_STEP) {
        event_add(g->look, &(struct timeval){0});
        return;
    }
    g->idle = g->came ? 0 : g->idle + 1;
    if (g->idle < GROUP_IDLE)
        event_add(g->look, &g->every);
    else
        event_add(g->any, NULL);
    if (g->came)
        g->looked(g->arg);
    g->came = false;
}

static void group_any(UNUSED evutil_socket_t fd, UNUSED short what, void *arg)
{
    struct io_group *g = arg;
    event_add(g->look, &g->every);
}

void io_group_every(struct io_group *g, int64_t ms)
{
    if (g)
        g->every = (struct timeval){.tv_sec = ms / 1000, .tv_usec = ms % 1000 * 1000};
}

struct io_group *io_group_new(struct event_base *loop, int64_t ms, void (*looked)(void *arg), void *arg)
{
    struct io_group *g = NEW(struct io_group, .epoll = epoll_create1(EPOLL_CLOEXEC), .looked = looked, .arg = arg);
    if (g->epoll < 0) {
        free(g);
        return NULL; /* ios join no group, and are read one by one */
    }
    io_group_every(g, ms);
    g->look = event_new(loop, -1, 0, group_look, g);
    g->any = event_new(loop, g->epoll, EV_READ, group_any, g);
    event_add(g->any, NULL);
    return g;
}

void io_group_free(struct io_group *g)
{
    if (!g)
        return;
    event_free(g->look);
    event_free(g->any);
    close(g->epoll);
    free(g);
}

void io_join(struct io *io, struct io_group *g)
{
    if (!g || io->group)
        return;
    if (io->reading)
        listen_for(io, false);
    io->group = g;
    if (io->reading)
        listen_for(io, true);
}

/* ---- the owner's side ---- */

struct io *io_new(struct event_base *loop, int fd, struct ssl_ctx_st *tls, io_fn *fn, void *arg)
{
    struct io *io = NEW(struct io, .fd = fd, .fn = fn, .arg = arg, .max_in = READ_SIZE);
    io->in = BUF_INIT(SIZE_MAX / 2); /* bounded by max_in plus one round of reading */
    io->out = evbuffer_new();
    io->rd = event_new(loop, fd, EV_READ | EV_PERSIST, on_event, io);
    io->wr = event_new(loop, fd, EV_WRITE, on_event, io);
    if (tls) {
        io->ssl = SSL_new(tls);
        SSL_set_fd(io->ssl, fd);
        SSL_set_accept_state(io->ssl);
        SSL_set_mode(io->ssl,
                     SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER | SSL_MODE_RELEASE_BUFFERS);
    }
    arm(io);
    return io;
}

void io_free(struct io *io)
{
    if (!io)
        return;
    for (int i = 0; io->group && i < io->group->n; i++)
        if (io->group->now[i] == io)
            io->group->now[i] = NULL;
    event_free(io->rd);
    event_free(io->wr);
    if (io->ssl) {
        if (!io->failed && !io->finished)
            SSL_shutdown(io->ssl);
        ERR_clear_error();
        SSL_free(io->ssl);
    }
    close(io->fd);
    evbuffer_free(io->out);
    buf_fini(&io->in);
    free(io);
}

struct str io_in(const struct io *io)
{
    return io->in.p ? str_n(io->in.p + io->off, held(io)) : str_n("", 0);
}

void io_drop(struct io *io, size_t n)
{
    io->off += n;
    if (held(io) == 0) {
        buf_fini(&io->in); /* most connections are idle most of the time: they hold nothing */
        io->in = BUF_INIT(SIZE_MAX / 2);
        io->off = 0;
    } else if (io->in.cap > (size_t)4 * READ_SIZE &&
               held(io) < io->in.cap / 4) { /* nor the room that a large body took */
        struct buf rest = BUF_INIT(SIZE_MAX / 2);
        buf_addstr(&rest, io_in(io));
        buf_fini(&io->in);
        io->in = rest;
        io->off = 0;
    } else if (io->off > io->in.len / 2) { /* each byte is moved once or twice, however small the pieces are */
        memmove(io->in.p, io->in.p + io->off, held(io));
        buf_cut(&io->in, held(io));
        io->off = 0;
    }
    arm(io);
}

void io_limit(struct io *io, size_t max)
{
    io->max_in = max;
    arm(io);
}

struct evbuffer *io_out(struct io *io)
{
    return io->out;
}

void io_send(struct io *io)
{
    if (io->failed)
        return;
    int words = push_out(io);
    if (words & IO_ERROR) {
        fail(io);
        return;
    }
    io->sending = evbuffer_get_length(io->out) > 0;
    arm(io);
}

void io_put(struct io *io, const void *p, size_t n)
{
    bool first = !io->ssl && !io->failed && evbuffer_get_length(io->out) == 0;
    ssize_t r = first ? send(io->fd, p, n, MSG_NOSIGNAL) : 0;
    size_t sent = r > 0 ? (size_t)r : 0; /* the next try reports the error */
    if (sent == n)
        return;
    evbuffer_add(io->out, (const char *)p + sent, n - sent);
    io_send(io);
}

size_t io_queued(const struct io *io)
{
    return evbuffer_get_length(io->out);
}

void io_finish(struct io *io)
{
    if (io->finished || io->failed)
        return;
    io->finished = true;
    if (io->ssl)
        SSL_shutdown(io->ssl);
    else
        shutdown(io->fd, SHUT_WR);
    ERR_clear_error();
}
