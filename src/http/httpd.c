/*
 * httpd.c: connections and their requests. A connection is always in one state. conn_step advances it as far as the
 * received bytes allow, by one request at most, and is the only function that ends it. Connections with more input wait
 * in a queue for a later event loop iteration. Timers: one deadline per connection, checked once a second.
 */
#include "http/conn.h"

#include <event2/buffer.h>
#include <event2/event.h>
#include <openssl/ssl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/mem.h"
#include "http/address.h"
#include "http/conn_limit.h"
#include "http/ports.h"

#define LINGER_MS    2000 /* after an early error: read and discard further input, or the error never arrives */
#define READ_AHEAD   (64u << 10)
#define COPY_MAX     (4u << 10) /* smaller bodies are copied behind the head */
#define GZIP_LEAST   1024
#define PACK_LEAST   (32u << 10) /* larger ones are compressed on a worker thread */
#define RATE         64          /* bytes per ms a client must manage, both ways */
#define BODY_SMALL   (64u << 10) /* smaller ones do not count as one address's */
#define SLOW_HEAD_MS 1000        /* a connection that sends a head for this long is closed when room is needed */
#define SLOW_MS      5000        /* the same for a body and a reply */
#define FULL_GO      4u          /* connections to close when descriptors run out */
#define TURN_US      4000        /* for requests per event loop iteration, plus the rest of the last one */

/* ---- connections ---- */

/* A stream is checked in each tick. */
static void keep_soonest(struct conn *c)
{
    c->h->soonest_ms = c->state == CONN_STREAM ? 0 : MIN(c->h->soonest_ms, c->deadline_ms);
}

void conn_enter(struct conn *c, enum conn_state state, int64_t for_ms)
{
    struct conn *ring = &c->h->ring;
    c->state = state;
    c->since_ms = clock_mono_ms();
    c->deadline_ms = c->since_ms + for_ms;
    keep_soonest(c);
    c->prev->next = c->next;
    c->next->prev = c->prev;
    c->prev = ring;
    c->next = ring->next;
    ring->next->prev = c;
    ring->next = c;
}

static void queue_leave(struct conn *c)
{
    if (!c->before)
        return;
    c->before->behind = c->behind;
    c->behind->before = c->before;
    c->before = c->behind = NULL;
    c->h->n_queued--;
}

/* Queues the connection behind its queue: its input was received already, so no socket event will come. */
static void queue_join(struct conn *c)
{
    struct conn *queue = &c->h->queue[c->patient];
    if (c->before)
        return;
    c->before = queue->before;
    c->behind = queue;
    c->before->behind = queue->before = c;
    c->h->n_queued++;
    if (!event_pending(c->h->again, EV_TIMEOUT, NULL))
        event_add(c->h->again, &(struct timeval){0}); /* not event_active: that would be the same turn */
}

static struct exchange *exchange_new(struct httpd *h)
{
    struct exchange *x = h->spare ? h->spare : mem_alloc(sizeof(*x) + h->ops.who_size);
    h->spare = NULL;
    memset(x, 0, offsetof(struct exchange, head));
    x->head.n = 0;
    memset(&x->counted, 0, sizeof(*x) + h->ops.who_size - offsetof(struct exchange, counted));
    return x;
}

static void exchange_end(struct conn *c)
{
    struct exchange *x = c->x;
    if (!x)
        return;
    c->x = NULL;
    c->h->bodies -= x->counted;
    chunks_fini(&x->chunks);
    free(x->text);
    if (c->h->spare)
        free(x);
    else
        c->h->spare = x;
}

/* Work for this client can stop. */
static void late_gone(struct conn *c)
{
    if (c->late && c->late->gone) {
        c->late->gone(c->late->arg);
        c->late->gone = NULL;
    }
}

static void conn_free(struct conn *c)
{
    struct stream_conn *s = c->stream;
    late_gone(c);
    if (c->late)
        c->late->c = NULL;
    if (c->chunked)
        chunked_reply_leave(c->chunked);
    exchange_end(c);
    queue_leave(c);
    c->h->replies -= c->sending;
    c->prev->next = c->next;
    c->next->prev = c->prev;
    c->h->stat.connections--;
    conn_limit_leave(c->h->per_address, c->peer);
    io_free(c->io);
    free(c);
    if (s) {
        s->closed(s->arg);
        free(s);
    }
}

static struct str exchange_header(const struct request *rq, const char *name)
{
    const struct conn *c = rq->conn;
    if (strcmp(name, "X-Forwarded-For") == 0) /* a proxy may add its own line: earlier ones are untrusted */
        return head_last(&c->x->head, name);
    return head_get(&c->x->head, name);
}

static size_t exchange_header_count(const struct request *rq, const char *name)
{
    const struct conn *c = rq->conn;
    return head_count(&c->x->head, name);
}

/* ---- replies ---- */

void conn_unref_blob(UNUSED const void *p, UNUSED size_t n, void *blob)
{
    blob_unref(blob);
}

static void free_bytes(UNUSED const void *p, UNUSED size_t n, void *own)
{
    free(own);
}

/* The bytes to send: the plain ones, or their gzip (made's, or cached in the blob). A HEAD makes none: it announces
 * gzip, and its length if known. */
static struct str reply_bytes(struct conn *c, struct reply *rp, struct buf *made, struct reply_head *a)
{
    struct str plain = rp->blob ? buf_str(&rp->blob->plain) : buf_str(&rp->body), gz = {0};
    a->length = (int64_t)plain.len;
    if (!c->gzip_ok || rp->no_gzip || plain.len < GZIP_LEAST)
        return plain;
    if (rp->blob && (rp->blob->gz.len || (!c->head_only && plain.len < PACK_LEAST))) {
        gz = blob_gzip(rp->blob);
    } else if (c->head_only) {
        a->gz = true;
        a->length = -1;
    } else if (plain.len < PACK_LEAST) {
        *made = BUF_INIT(plain.len + (64u << 10));
        gzip(plain, gzip_way_of(plain.len, false), made);
        gz = buf_str(made);
    } /* else: the compressing worker had no room for it */
    if (gz.len == 0)
        return plain;
    a->gz = true;
    a->length = (int64_t)gz.len;
    return gz;
}

/* Memory in use until these bytes were sent. */
static size_t reply_holds(const struct reply *rp, struct str bytes)
{
    return bytes.len <= COPY_MAX ? 0 : rp->blob ? rp->blob->plain.len + rp->blob->gz.len : bytes.len;
}

/* Is there room for more bytes until they were sent? */
static bool replies_fit(const struct httpd *h, size_t holds)
{
    return h->replies == 0 || h->replies + holds <= h->conf.max_replies;
}

/* A reply that waits for its compressed form. Its bytes are counted until then, whether or not the client stays. */
struct packed {
    struct httpd *h;
    size_t holds; /* of httpd.replies */
    struct late *late;
    struct reply rp;
};

static void on_packed(void *arg)
{
    struct packed *k = arg;
    k->h->replies -= k->holds;                /* conn_reply counts it again, with the compressed form */
    k->rp.no_gzip |= k->rp.blob->gz.len == 0; /* compression failed: send it as it is */
    httpd_late_reply(k->late, &k->rp);
    free(k);
}

/* True: it is being compressed and will be a late reply. Then takes ownership of rp. */
static bool conn_pack(struct conn *c, struct reply *rp)
{
    struct httpd *h = c->h;
    size_t len = rp->blob ? rp->blob->plain.len : rp->body.len;
    if (!c->gzip_ok || c->head_only || rp->no_gzip || len < PACK_LEAST || !h->ops.pack ||
        (rp->blob && rp->blob->gz.len) || !replies_fit(h, len))
        return false;
    if (!rp->blob)
        rp->blob = blob_new(&rp->body);
    struct late *late = NEW(struct late, .c = c);
    struct packed *k = NEW(struct packed, .h = h, .holds = len, .late = late, .rp = *rp);
    if (!h->ops.pack(h->ops.arg, rp->blob, on_packed, k)) {
        free(k->late);
        free(k);
        return false;
    }
    c->late = k->late;
    h->replies += len;
    *rp = (struct reply){0};
    return true;
}

void conn_reply(struct conn *c, struct reply *rp)
{
    if (conn_pack(c, rp))
        return;
    AUTO_BUF made = {0};
    struct httpd *h = c->h;
    struct evbuffer *out = io_out(c->io);
    struct reply_head a = {.status = rp->status ? rp->status : 200};
    struct str bytes = {0};
    if (a.status != 204 && a.status != 304)
        bytes = reply_bytes(c, rp, &made, &a);
    if (c->head_only)
        bytes = str_n("", 0);
    size_t holds = reply_holds(rp, bytes);
    if (holds && !replies_fit(h, holds)) {
        h->stat.refused++;
        h->ops.problem(rp, 503, "too many large answers are on their way; try again in a moment");
        bytes = buf_str(&rp->body);
        a = (struct reply_head){.status = 503, .length = (int64_t)bytes.len};
        holds = 0;
    }
    a.close = c->close_after |= rp->close;
    a.old = c->old;
    buf_reset(&h->head);
    reply_head_put(&h->head, rp, &a, &h->date);
    c->served = true;
    h->replies += c->sending = holds;
    conn_enter(c, CONN_REPLY, h->conf.write_ms + (int64_t)(bytes.len / RATE));
    if (!holds) {
        buf_addstr(&h->head, bytes);
        io_put(c->io, h->head.p, h->head.len);
        reply_fini(rp);
        return;
    }
    evbuffer_add(out, h->head.p, h->head.len);
    if (rp->blob) {
        evbuffer_add_reference(out, bytes.p, bytes.len, conn_unref_blob, blob_ref(rp->blob));
    } else {
        char *own = buf_take(a.gz ? &made : &rp->body);
        evbuffer_add_reference(out, own, bytes.len, free_bytes, own);
    }
    io_send(c->io);
    reply_fini(rp);
}

static void conn_problem(struct conn *c, int status, const char *why)
{
    struct reply rp = {.close = true};
    c->h->ops.problem(&rp, status, why);
    conn_reply(c, &rp);
}

/* ---- one request: each step returns whether there may be more to do immediately ---- */

static void conn_handle(struct conn *c, struct str body)
{
    struct reply rp = {0};
    c->x->rq.body = body;
    c->served = true;
    c->h->stat.requests++;
    conn_enter(c, CONN_LATE, c->h->conf.late_ms);
    if (c->h->ops.handle(c->h->ops.arg, &c->x->rq, &rp) == REPLY_NOW)
        conn_reply(c, &rp);
    else
        reply_fini(&rp);
    exchange_end(c);
}

/* The head's n bytes are in x->text. Returns 0, or an error after an error reply. */
static int conn_read_head(struct conn *c, struct exchange *x, size_t n)
{
    struct err err = {0};
    int r = head_parse(str_n(x->text, n), &x->head, &err);
    if (r < 0) {
        conn_problem(c, -r, err.msg);
        return -1;
    }
    int method = method_of(x->head.method);
    if (method < 0) {
        conn_problem(c, 501, "this method is not known here");
        return -1;
    }
    c->gzip_ok = x->head.gzip_ok;
    c->head_only = method == METHOD_HEAD;
    c->old = x->head.minor == 0;
    c->close_after = !x->head.keep_alive;
    x->rq.method = (enum method)method;
    x->rq.conn = c;
    x->rq.who = (struct asker *)(x + 1);
    x->rq.memo = c + 1;
    x->rq.header = exchange_header;
    x->rq.header_count = exchange_header_count;
    x->rq.tls = c->tls;
    x->rq.now_ms = clock_wall_ms();
    memcpy(x->rq.peer, c->peer, sizeof(x->rq.peer));
    x->rq.loopback = c->loopback;
    if (request_target(&x->rq, x->head.target, x->text + n, &err) < 0) {
        conn_problem(c, 400, err.msg);
        return -1;
    }
    return 0;
}

/* Room for a body: in total, and for this address, or one bad sender could block all others. */
static bool body_fits(const struct conn *c, size_t room)
{
    const struct httpd *h = c->h;
    size_t mine = room, share = h->conf.max_bodies / 4;
    if (h->bodies > 0 && h->bodies + room > h->conf.max_bodies)
        return false;
    if (room <= BODY_SMALL || h->bodies + room <= share)
        return true;
    for (const struct conn *o = h->ring.next; o != &h->ring; o = o->next)
        if (o->x && address_same_client(o->peer, c->peer))
            mine += o->x->counted;
    return mine == room || mine <= share;
}

static void conn_expect_body(struct conn *c, struct exchange *x)
{
    size_t room = x->head.length > 0 ? (size_t)x->head.length : x->max_body;
    if (!body_fits(c, room)) {
        c->h->stat.refused++;
        conn_problem(c, 503, "too much is being sent at once; try again in a moment");
        return;
    }
    c->h->bodies += x->counted = room;
    if (x->head.expect_continue && io_in(c->io).len == 0) {
        evbuffer_add(io_out(c->io), "HTTP/1.1 100 Continue\r\n\r\n", 25);
        io_send(c->io);
    }
    conn_enter(c, x->head.length < 0 ? CONN_CHUNKS : CONN_BODY, c->h->conf.body_ms + (int64_t)(room / RATE));
    if (x->head.length < 0)
        chunks_init(&x->chunks, x->max_body);
    else
        io_limit(c->io, (size_t)x->head.length + READ_AHEAD);
}

void conn_admit(struct conn *c)
{
    struct exchange *x = c->x;
    struct reply rp = {0};
    if (!c->h->ops.admit(c->h->ops.arg, &x->rq, &rp)) {
        conn_enter(c, CONN_LATE, c->h->conf.late_ms); /* a long response is compressed first: nothing is read till
                                                       * then */
        if (c->late)
            return;
        rp.close = x->head.length != 0; /* whatever body comes is not ours to read */
        conn_reply(c, &rp);
        return;
    }
    x->max_body = c->h->ops.max_body(c->h->ops.arg, &x->rq);
    if (x->head.length > (int64_t)x->max_body) {
        char why[120];
        snprintf(why, sizeof(why), "the body is %lld bytes; this path takes at most %zu", (long long)x->head.length,
                 x->max_body);
        conn_problem(c, 413, why);
    } else if (x->head.length == 0) {
        conn_handle(c, str_n("", 0));
    } else {
        conn_expect_body(c, x);
    }
}

#define TLS_HANDSHAKE 0x16 /* the first byte of a TLS connection */

static bool step_head(struct conn *c)
{
    struct str in = io_in(c->io);
    if (c->scanned == 0) {
        size_t blank = 0; /* a stray line end between requests does no harm */
        while (in.len - blank >= 2 && memcmp(in.p + blank, "\r\n", 2) == 0)
            blank += 2;
        if (blank)
            io_drop(c->io, blank);
        in = io_in(c->io);
        if (in.len == 0 || (in.len == 1 && in.p[0] == '\r'))
            return false;
        if (in.p[0] == TLS_HANDSHAKE) { /* it would wait for us, and we for the end of a line */
            conn_problem(c, 400, "this port speaks HTTP, not HTTPS: the address begins with http://");
            return true;
        }
        conn_enter(c, CONN_HEAD, c->h->conf.head_ms);
    }
    size_t from = c->scanned > 3 ? c->scanned - 3 : 0;
    const char *end = memmem(in.p + from, in.len - from, "\r\n\r\n", 4);
    size_t n = end ? (size_t)(end - in.p) + 4 : in.len;
    c->scanned = in.len;
    if (!end && n < HEAD_MAX)
        return false;
    if (n > HEAD_MAX || !end) {
        conn_problem(c, 431, "the request's head is larger than 16 KiB");
        return true;
    }
    struct exchange *x = c->x = exchange_new(c->h);
    x->text = mem_alloc(2 * n);
    memcpy(x->text, in.p, n);
    io_drop(c->io, n);
    c->scanned = 0;
    if (conn_read_head(c, x, n) == 0)
        conn_admit(c);
    return true;
}

static bool step_body(struct conn *c)
{
    size_t n = (size_t)c->x->head.length;
    if (io_in(c->io).len < n)
        return false;
    conn_handle(c, str_n(io_in(c->io).p, n));
    io_limit(c->io, READ_AHEAD);
    io_drop(c->io, n);
    return true;
}

static bool step_chunks(struct conn *c)
{
    size_t used;
    int r = chunks_take(&c->x->chunks, io_in(c->io), &used);
    io_drop(c->io, used);
    if (r == 0)
        return false;
    if (r < 0)
        conn_problem(c, -r, r == -413 ? "the body is larger than this path takes" : "the body's chunks are malformed");
    else
        conn_handle(c, buf_str(&c->x->chunks.body));
    return true;
}

/* The reply has left: on to the next request, or to the end. */
static bool step_reply(struct conn *c)
{
    if (io_queued(c->io) > 0)
        return false;
    exchange_end(c);
    c->h->replies -= c->sending;
    c->sending = 0;
    c->gzip_ok = c->head_only = c->old = false;
    io_limit(c->io, READ_AHEAD);
    if (!c->close_after) {
        conn_enter(c, CONN_HEAD, c->h->conf.idle_ms);
        return true;
    }
    io_finish(c->io);
    conn_enter(c, CONN_LINGER, LINGER_MS);
    return true;
}

/* May it handle a request now? If not, it joins the queue if it has input. Time of patient connections does not count
 * against others. */
static bool conn_may(struct conn *c, bool full)
{
    bool may = !full && !c->before && c->h->spent_us[c->patient] < TURN_US;
    if (io_in(c->io).len == 0)
        return may;
    if (!may)
        queue_join(c);
    if (c->patient && !c->h->patient_since_ms && c->h->group)
        c->h->patient_since_ms = clock_mono_ms();
    return may;
}

void conn_move(struct conn *c, bool full)
{
    if (c->stepping)
        return; /* called from within: the loop below continues */
    c->stepping = true;
    c->served = false;
    for (bool more = true; more && !c->dead;) {
        switch (c->state) {
        case CONN_HEAD:
            more = conn_may(c, full) && step_head(c);
            break;
        case CONN_BODY:
            more = conn_may(c, full) && step_body(c);
            break;
        case CONN_CHUNKS:
            more = conn_may(c, full) && step_chunks(c);
            break;
        case CONN_REPLY:
            more = step_reply(c);
            break;
        case CONN_STREAM:
        case CONN_LINGER:
            io_drop(c->io, io_in(c->io).len);
            more = false;
            break;
        case CONN_LATE:
            more = false;
            break;
        }
        full |= c->served;
    }
    c->stepping = false;
    if (c->dead || (c->eof && !c->before && c->state != CONN_LATE && c->state != CONN_REPLY))
        conn_free(c);
}

static void conn_step(struct conn *c)
{
    struct httpd *h = c->h;
    int64_t begin_us = clock_mono_us(), *spent_us = &h->spent_us[c->patient];
    conn_move(c, false); /* c may be freed */
    *spent_us += clock_mono_us() - begin_us;
}

static void on_looked(void *arg)
{
    struct httpd *h = arg;
    h->looked = h->n_queued > 0;
    if (h->looked)
        return;
    h->patient_since_ms = 0;
    if (h->ops.looked)
        h->ops.looked(h->ops.arg);
}

/* Picks from the other queue than last time, if it has entries: clients do not wait behind thousands of agents, nor
 * agents behind clients. NULL: no queue has both entries and time. */
static struct conn *next_queued(struct httpd *h)
{
    for (unsigned i = 0; i < 2; i++) {
        h->served_of = !h->served_of;
        struct conn *all = &h->queue[h->served_of];
        if (all->behind != all && h->spent_us[h->served_of] < TURN_US)
            return all->behind;
    }
    return NULL;
}

/* A turn for those who wait: each once, as far as the time of its kind allows; at least one. */
static void on_again(UNUSED evutil_socket_t fd, UNUSED short what, void *arg)
{
    struct httpd *h = arg;
    struct conn *c;
    h->spent_us[0] = h->spent_us[1] = 0;
    h->stat.turns++;
    for (size_t n = h->n_queued; n > 0 && (c = next_queued(h)); n--) {
        queue_leave(c);
        conn_step(c);
    }
    if (h->n_queued > 0) {
        event_add(h->again, &(struct timeval){0});
        return;
    }
    h->patient_since_ms = 0;
    if (h->looked)
        on_looked(h);
}

void conn_end(struct conn *c)
{
    c->dead = true;
    conn_step(c);
}

static void on_io(void *arg, int words)
{
    struct conn *c = arg;
    if (words & (IO_EOF | IO_ERROR))
        c->eof = true;
    if (words & IO_ERROR)
        c->dead = true;
    if (c->eof)
        late_gone(c);
    c->dead |= c->eof && c->chunked;
    if ((words & IO_SENT) && c->chunked && !c->dead)
        chunked_reply_sent(c->chunked);
    conn_step(c);
}

/* ---- newcomers ---- */

/* May it be closed to make room? Idle connections, and those that keep us waiting for a request's head or body or that
 * receive a reply slowly. */
static bool gives_way(const struct conn *c, bool idle, int64_t now_ms)
{
    bool empty = io_in(c->io).len == 0;
    switch (c->state) {
    case CONN_LINGER:
        return true;
    case CONN_HEAD:
        return empty || (!idle && !c->before && now_ms - c->since_ms > SLOW_HEAD_MS);
    case CONN_BODY:
    case CONN_CHUNKS:
    case CONN_REPLY:
        return !idle && !c->before && now_ms - c->since_ms > SLOW_MS;
    default:
        return false;
    }
}

/* Closes the connection without input for the longest time, an idle one before others. False: none found. */
static bool make_room(struct httpd *h)
{
    int64_t now_ms = clock_mono_ms();
    for (int idle = 1; idle >= 0; idle--) {
        int looked = 0;
        for (struct conn *c = h->ring.prev; c != &h->ring && looked < 256; c = c->prev, looked++)
            if (gives_way(c, idle, now_ms)) {
                conn_end(c);
                return true;
            }
    }
    return false;
}

/* Descriptors ran out: our own needs come first, so some connections are closed, and the maximum is lower for a
 * while. */
static bool on_full(void *arg)
{
    struct httpd *h = arg;
    size_t made = 0;
    while (made < FULL_GO && make_room(h))
        made++;
    h->max_now = MAX(h->stat.connections, FULL_GO);
    return made > 0;
}

void httpd_accept(struct httpd *h, int fd, const char *peer)
{
    static const char full[] = "HTTP/1.1 503 Service Unavailable\r\nConnection: close\r\nRetry-After: 5\r\n"
                               "Content-Length: 0\r\n\r\n";
    bool welcome = conn_limit_enter(h->per_address, peer, h->conf.max_per_address);
    if (!welcome || (h->stat.connections >= h->max_now && !make_room(h))) {
        if (welcome)
            conn_limit_leave(h->per_address, peer);
        h->stat.refused++;
        if (!h->tls)
            send(fd, full, sizeof(full) - 1, MSG_DONTWAIT | MSG_NOSIGNAL);
        close(fd);
        return;
    }
    struct conn *c = mem_zero(1, sizeof(*c) + h->ops.memo_size);
    c->h = h;
    c->prev = c->next = c;
    mem_copy_str(c->peer, sizeof(c->peer), peer);
    c->loopback = address_is_loopback(peer);
    h->stat.connections++;
    c->tls = h->tls != NULL;
    c->io = io_new(h->loop, fd, h->tls, on_io, c);
    conn_enter(c, CONN_HEAD, h->conf.head_ms);
}

static void on_accept(void *arg, int fd, const char *peer)
{
    httpd_accept(arg, fd, peer);
}

/* ---- the server ---- */

struct httpd *httpd_new(struct event_base *loop, const struct httpd_conf *conf, const struct httpd_ops *ops)
{
    struct httpd *h = NEW(struct httpd, .loop = loop, .conf = *conf, .ops = *ops);
    h->ring.prev = h->ring.next = &h->ring;
    for (size_t i = 0; i < ARRAY_LEN(h->queue); i++)
        h->queue[i].before = h->queue[i].behind = &h->queue[i];
    h->head = BUF_INIT((16u << 10) + COPY_MAX);
    h->again = evtimer_new(loop, on_again, h);
    h->max_now = conf->max_connections;
    h->ports = ports_new(loop, on_accept, h);
    ports_on_full(h->ports, on_full);
    h->group = io_group_new(loop, conf->group_ms, on_looked, h);
    h->per_address = conn_limit_new();
    return h;
}

void httpd_free(struct httpd *h)
{
    if (!h)
        return;
    ports_free(h->ports);
    for (struct conn *c = h->ring.next, *next; c != &h->ring; c = next) {
        next = c->next;
        conn_free(c);
    }
    event_free(h->again);
    io_group_free(h->group);
    conn_limit_free(h->per_address);
    SSL_CTX_free(h->tls);
    buf_fini(&h->head);
    free(h->spare);
    free(h);
}

void httpd_group_every(struct httpd *h, int64_t ms)
{
    io_group_every(h->group, ms);
}

int64_t httpd_patient_wait_ms(const struct httpd *h)
{
    return h && h->patient_since_ms ? MAX(clock_mono_ms() - h->patient_since_ms, 1) : 0;
}

struct ports *httpd_ports(struct httpd *h)
{
    return h->ports;
}

void httpd_set_tls(struct httpd *h, struct ssl_ctx_st *tls)
{
    if (tls)
        SSL_CTX_up_ref(tls);
    SSL_CTX_free(h->tls);
    h->tls = tls;
}

void httpd_set_max(struct httpd *h, size_t max_connections, size_t max_per_address)
{
    h->conf.max_connections = h->max_now = max_connections;
    h->conf.max_per_address = max_per_address;
}

void httpd_stat(const struct httpd *h, struct httpd_stat *ret)
{
    *ret = h->stat;
    ret->max = h->conf.max_connections;
    ret->waiting = h->n_queued;
}

size_t httpd_busy(const struct httpd *h)
{
    size_t n = 0;
    for (const struct conn *c = h->ring.next; c != &h->ring; c = c->next)
        n += c->state == CONN_LATE || c->state == CONN_REPLY;
    return n;
}

/* A stream has no end, but what is queued must move. */
static bool stream_stuck(struct conn *c, int64_t now_ms)
{
    size_t queued = io_queued(c->io);
    if (queued == 0 || queued < c->queued)
        c->deadline_ms = now_ms + c->h->conf.write_ms;
    c->queued = queued;
    return now_ms > c->deadline_ms;
}

void httpd_tick(struct httpd *h)
{
    int64_t now_ms = clock_mono_ms();
    struct conn *c = h->ring.next, *next;
    ports_resume(h->ports);
    h->max_now += h->max_now < h->conf.max_connections;
    if (now_ms <= h->soonest_ms)
        return;
    h->soonest_ms = INT64_MAX;
    for (; c != &h->ring; c = next) {
        next = c->next;
        if (c->before || /* it waits for us, not we for it */
            (c->state == CONN_STREAM ? !stream_stuck(c, now_ms) : now_ms <= c->deadline_ms)) {
            keep_soonest(c);
            continue;
        }
        if (c->state != CONN_LINGER)
            h->stat.timeouts++;
        if ((c->state == CONN_HEAD && io_in(c->io).len > 0) || c->state == CONN_BODY || c->state == CONN_CHUNKS) {
            conn_problem(c, 408, "the request did not arrive in time");
            conn_step(c);
        } else {
            conn_end(c);
        }
    }
}
