/*
 * httpd_late.c: requests without an immediate reply: late replies, and streams, whose bytes are sent as they are made.
 */
#include <assert.h>
#include <event2/buffer.h>

#include "base/mem.h"
#include "http/conn.h"

/* ---- late replies ---- */

void httpd_patient(struct request *rq)
{
    struct conn *c = rq->conn;
    if (!c) /* a request of the hub's own */
        return;
    c->patient = true;
    io_join(c->io, c->h->group);
}

struct late *httpd_late(struct request *rq)
{
    struct conn *c = rq->conn;
    struct late *l =
        NEW(struct late, .c = c, .take = rq->take, .take_arg = rq->take_arg, .trail = rq->kept ? NULL : rq->trail);
    if (c)
        c->late = l;
    return l;
}

void httpd_late_watch(struct late *l, void (*gone)(void *arg), void *arg)
{
    l->gone = gone;
    l->arg = arg;
}

void httpd_late_reply(struct late *l, struct reply *rp)
{
    struct conn *c = l->c;
    struct late was = *l;
    free(l);
    if (was.trail)
        was.trail->end(was.trail, rp);
    if (was.take)
        was.take(was.take_arg, rp);
    if (!c) {
        reply_fini(rp);
        return;
    }
    c->late = NULL;
    conn_reply(c, rp);
    conn_move(c, true); /* pipelined requests wait for their turn, or a busy client would keep the loop here */
}

void httpd_late_admit(struct late *l)
{
    struct conn *c = l->c;
    free(l);
    if (!c)
        return;
    c->late = NULL;
    c->stepping = true; /* what it comes to waits for conn_move, as in its first turn */
    conn_admit(c);
    c->stepping = false;
    conn_move(c, true);
}

/* ---- streams ---- */

struct stream_conn *httpd_stream(struct request *rq, const char *type, void (*closed)(void *arg), void *arg)
{
    struct conn *c = rq->conn;
    struct stream_conn *s = NEW(struct stream_conn, .c = c, .gz = c->gzip_ok, .closed = closed, .arg = arg);
    c->stream = s;
    conn_enter(c, CONN_STREAM, c->h->conf.write_ms);
    evbuffer_add_printf(io_out(c->io),
                        "HTTP/1.1 200 OK\r\nContent-Type: %s\r\nCache-Control: no-store\r\nX-Accel-Buffering: no\r\n"
                        "X-Content-Type-Options: nosniff\r\nVary: Accept-Encoding\r\n%sConnection: close\r\n\r\n",
                        type, s->gz ? "Content-Encoding: gzip\r\n" : "");
    if (s->gz)
        evbuffer_add(io_out(c->io), GZIP_HEAD, sizeof(GZIP_HEAD) - 1);
    io_send(c->io);
    return s;
}

size_t httpd_stream_queued(const struct stream_conn *s)
{
    return io_queued(s->c->io);
}

void httpd_stream_write(struct stream_conn *s, const void *p, size_t n)
{
    /* Within gzip: a block of deflate that is stored as it is. */
    const uint8_t block[] = {0, (uint8_t)n, (uint8_t)(n >> 8), (uint8_t)~n, (uint8_t)(~n >> 8)};
    assert(n <= UINT16_MAX);
    if (s->gz)
        evbuffer_add(io_out(s->c->io), block, sizeof(block));
    evbuffer_add(io_out(s->c->io), p, n);
}

void httpd_stream_blob(struct stream_conn *s, struct blob *b)
{
    struct str bytes = s->gz ? blob_piece(b) : buf_str(&b->plain);
    evbuffer_add_reference(io_out(s->c->io), bytes.p, bytes.len, conn_unref_blob, blob_ref(b));
}

void httpd_stream_flush(struct stream_conn *s)
{
    io_send(s->c->io);
}

void httpd_stream_end(struct stream_conn *s)
{
    struct conn *c = s->c;
    c->stream = NULL;
    free(s);
    conn_end(c);
}
