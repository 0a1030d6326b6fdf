/* chunked_reply.c: sends a body in chunks as its pieces come, compressed by one deflate stream that a worker feeds. */
#include "http/chunked_reply.h"

#include <event2/buffer.h>
#include <zlib.h>

#include "base/mem.h"
#include "base/workers.h"
#include "http/cache.h"
#include "http/conn.h"

#define ROOM_PLAIN (1u << 20)   /* bytes that wait to be compressed */
#define ROOM_OUT   (1u << 20)   /* bytes that wait to be sent */
#define OWN_MAX    (512u << 20) /* of a body for the program itself */
#define RATE       64           /* bytes per ms a client must manage */
#define SLACK      (256u << 10) /* what deflate may still have of earlier pieces */

struct chunked_reply {
    struct work_job job; /* first */
    struct conn *c;      /* NULL: the client left, or it is an internal request */
    struct httpd *h;
    struct late *own; /* receiver of the reply of an internal request */
    struct reply rp;  /* that reply */
    chunked_reply_event_fn *on_event;
    void *arg;
    z_stream z;
    struct buf plain, packing, packed; /* packing and packed are the worker's while it runs */
    bool gz, chunked;
    bool running;        /* the job is on the worker */
    bool ended, closing; /* no more pieces come; the job makes the last bytes */
    bool failed;
};

/* ---- the connection ---- */

static void reply_free(struct chunked_reply *r)
{
    if (r->gz)
        deflateEnd(&r->z);
    buf_fini(&r->plain);
    buf_fini(&r->packing);
    buf_fini(&r->packed);
    reply_fini(&r->rp);
    free(r);
}

static void leave_conn(struct chunked_reply *r)
{
    if (r->c)
        r->c->chunked = NULL;
    r->c = NULL;
}

static void drop_conn(struct chunked_reply *r)
{
    struct conn *c = r->c;

    leave_conn(r);
    r->failed = true;
    if (c)
        conn_end(c);
}

static void send_bytes(struct chunked_reply *r, struct str s)
{
    struct evbuffer *out = io_out(r->c->io);

    if (!s.len)
        return;
    if (r->chunked)
        evbuffer_add_printf(out, "%zx\r\n", s.len);
    evbuffer_add(out, s.p, s.len);
    if (r->chunked)
        evbuffer_add(out, "\r\n", 2);
    conn_enter(r->c, CONN_LATE, r->c->h->conf.write_ms + (int64_t)(io_queued(r->c->io) / RATE));
    io_send(r->c->io);
}

/* The last chunk has its turn, and then the connection's next request. Frees r. */
static void finish(struct chunked_reply *r)
{
    struct conn *c = r->c;

    leave_conn(r);
    if (c) {
        if (r->chunked)
            evbuffer_add(io_out(c->io), "0\r\n\r\n", 5);
        conn_enter(c, CONN_REPLY, c->h->conf.write_ms + (int64_t)(io_queued(c->io) / RATE));
        io_send(c->io);
        conn_move(c, true);
    }
    reply_free(r);
}

/* ---- compression ---- */

static void run_on_worker(struct work_job *j)
{
    struct chunked_reply *r = (struct chunked_reply *)j;
    size_t most = deflateBound(&r->z, r->packing.len) + SLACK;

    buf_reset(&r->packed);
    r->packed.max = most + 1;
    char *p = buf_room(&r->packed, most);
    if (!p)
        return;
    r->z.next_in = (Bytef *)r->packing.p;
    r->z.avail_in = (uInt)r->packing.len;
    r->z.next_out = (Bytef *)p;
    r->z.avail_out = (uInt)most;
    int got = deflate(&r->z, r->closing ? Z_FINISH : Z_NO_FLUSH);
    if (got == (r->closing ? Z_STREAM_END : Z_OK))
        buf_appended(&r->packed, most - r->z.avail_out);
    else
        r->packed.err = -1;
}

static void start_job(struct chunked_reply *r);

static void done_on_loop(struct work_job *j)
{
    struct chunked_reply *r = (struct chunked_reply *)j;

    r->running = false;
    if (!j->ran || r->packed.err)
        drop_conn(r);
    if (r->c)
        send_bytes(r, buf_str(&r->packed));
    if (r->c && !r->closing)
        start_job(r);
    if (!r->ended)
        r->on_event(r->arg);
    else if (!r->running)
        finish(r);
}

/* All pieces so far, if the worker is free for them. */
static void start_job(struct chunked_reply *r)
{
    if (r->running || (!r->plain.len && !r->ended))
        return;
    struct buf last = r->packing;
    r->packing = r->plain;
    r->plain = last;
    buf_reset(&r->plain);
    r->closing = r->ended;
    r->job = (struct work_job){.run = run_on_worker, .done = done_on_loop};
    r->running = r->h->ops.run(r->h->ops.arg, &r->job);
    if (!r->running)
        drop_conn(r);
}

/* ---- the maker's side ---- */

static void send_head(struct conn *c, const struct reply *rp, bool gz, bool chunked)
{
    struct httpd *h = c->h;
    struct reply_head a = {.status = rp->status ? rp->status : 200, .length = -1, .gz = gz, .chunked = chunked};

    a.close = c->close_after |= rp->close || c->old; /* the end of the body closes the connection */
    buf_reset(&h->head);
    reply_head_put(&h->head, rp, &a, &h->date);
    evbuffer_add(io_out(c->io), h->head.p, h->head.len);
    io_send(c->io);
}

struct chunked_reply *chunked_reply_new(struct request *rq, struct reply *rp, chunked_reply_event_fn *on_event,
                                        void *arg)
{
    struct conn *c = rq->conn;
    struct chunked_reply *r = NEW(struct chunked_reply, .c = c, .on_event = on_event, .arg = arg, .rp = *rp);

    *rp = (struct reply){0};
    r->plain = r->packing = BUF_INIT(4 * ROOM_PLAIN);
    if (!c) {
        r->own = httpd_late(rq);
        r->rp.body = BUF_INIT(OWN_MAX);
        return r;
    }
    r->h = c->h;
    r->chunked = !c->old;
    r->gz = c->gzip_ok && c->h->ops.run && gzip_start(&r->z, r->rp.series ? GZIP_SERIES : GZIP_FAST, 15 + 16) == 0;
    send_head(c, &r->rp, r->gz, r->chunked);
    if (c->head_only) {
        conn_enter(c, CONN_REPLY, c->h->conf.write_ms);
        reply_free(r);
        return NULL;
    }
    c->chunked = r;
    return r;
}

bool chunked_reply_has_room(const struct chunked_reply *r)
{
    return r->own || (r->c && r->plain.len < ROOM_PLAIN && io_queued(r->c->io) < ROOM_OUT);
}

bool chunked_reply_is_closed(const struct chunked_reply *r)
{
    return r->failed || (!r->c && !r->own);
}

void chunked_reply_add(struct chunked_reply *r, struct buf *piece)
{
    if (r->own)
        buf_addstr(&r->rp.body, buf_str(piece));
    else if (r->c && r->gz)
        buf_addstr(&r->plain, buf_str(piece));
    else if (r->c)
        send_bytes(r, buf_str(piece));
    buf_reset(piece);
    if (r->plain.err)
        drop_conn(r);
    else if (r->c && r->gz)
        start_job(r);
}

static void deliver_own(struct chunked_reply *r, bool whole)
{
    if (!whole || r->rp.body.err)
        reply_problem(&r->rp, 503, "the hub cannot make this answer now; retry in a few seconds");
    httpd_late_reply(r->own, &r->rp);
    reply_free(r);
}

void chunked_reply_end(struct chunked_reply *r, bool whole)
{
    if (r->own) {
        deliver_own(r, whole);
        return;
    }
    r->ended = true;
    if (!whole)
        drop_conn(r);
    if (r->c && r->gz)
        start_job(r);
    if (!r->running)
        finish(r);
}

/* ---- httpd's side ---- */

void chunked_reply_sent(struct chunked_reply *r)
{
    conn_enter(r->c, CONN_LATE, r->c->h->conf.late_ms);
    if (!r->ended)
        r->on_event(r->arg);
}

void chunked_reply_leave(struct chunked_reply *r)
{
    leave_conn(r);
    r->failed = true;
    if (!r->ended)
        r->on_event(r->arg);
}
