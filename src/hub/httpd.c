/*
 * httpd.c: connections and their requests. A connection is always in one state; conn_step moves it on as far as the
 * bytes at hand allow, and is the only one that ends it. Timers: one deadline per connection, looked at once a second.
 */
#include "hub/httpd.h"

#include <assert.h>
#include <event2/buffer.h>
#include <openssl/ssl.h>
#include <sys/socket.h>
#include <time.h>

#include "base/clock.h"
#include "hub/guests.h"
#include "hub/head.h"
#include "hub/io.h"
#include "hub/ports.h"

#define LINGER_MS  2000 /* after an early error: read and forget what still comes, or the error never arrives */
#define READ_AHEAD (64u << 10)
#define COPY_MAX   (4u << 10) /* smaller bodies are copied behind the head */
#define GZIP_LEAST 1024
#define GZIP_BIG   (256u << 10)
#define PACK_LEAST (1u << 20)  /* larger ones are compressed beside the loop */
#define RATE       64          /* bytes per ms a client must manage, both ways */
#define BODY_SMALL (64u << 10) /* smaller ones do not count as one address's */

enum conn_state {
    CONN_HEAD,   /* waiting for a request's head */
    CONN_BODY,   /* and its body */
    CONN_CHUNKS, /* the same, chunked */
    CONN_LATE,   /* somebody will answer */
    CONN_REPLY,  /* the answer is on its way */
    CONN_STREAM,
    CONN_LINGER, /* answered and ended; forgetting what still comes */
};

enum chunk_part { CHUNK_SIZE, CHUNK_DATA, CHUNK_END, CHUNK_TRAILER };

/* One request being read or answered. Its own allocation: most connections are idle most of the time. */
struct exchange {
    struct request rq;
    struct head head;
    size_t counted; /* of httpd.bodies */
    size_t max_body;
    enum chunk_part part;
    size_t part_left, trailers;
    struct buf chunks;
    char *text; /* the head, and behind it what is decoded of it */
};

struct conn {
    struct conn *prev, *next; /* in the order of what moved on last */
    struct httpd *h;
    struct io *io;
    enum conn_state state;
    bool tls, loopback, eof, dead, stepping, close_after;
    bool gzip_ok, head_only, old; /* what the answer needs of the request, which may be gone by then */
    size_t scanned;               /* of the head, for its end */
    int64_t deadline_ms;
    size_t queued;  /* stream: at the last tick */
    size_t sending; /* of httpd.replies */
    struct exchange *x;
    struct late *late;
    struct stream_conn *stream;
    struct token_memo memo;
    char peer[64];
};

struct late {
    struct conn *c; /* NULL: the reader left, or is the hub itself: */
    void (*take)(void *arg, struct reply *rp);
    void *take_arg;
    void (*gone)(void *arg);
    void *arg;
};

struct stream_conn {
    struct conn *c;
    bool gz;
    void (*closed)(void *arg);
    void *arg;
};

struct httpd {
    struct event_base *loop;
    struct httpd_conf conf;
    struct httpd_ops ops;
    struct conn ring; /* ring.next moved on last, ring.prev longest ago */
    SSL_CTX *tls;
    struct ports *ports;
    struct io_group *group; /* of patient connections */
    struct guests *guests;
    size_t bodies, replies;
    struct exchange *spare;
    int64_t date_s; /* what date says */
    char date[40];
    struct httpd_stat stat;
};

/* ---- connections ---- */

static void conn_enter(struct conn *c, enum conn_state state, int64_t for_ms)
{
    struct conn *ring = &c->h->ring;
    c->state = state;
    c->deadline_ms = clock_mono_ms() + for_ms;
    c->prev->next = c->next;
    c->next->prev = c->prev;
    c->prev = ring;
    c->next = ring->next;
    ring->next->prev = c;
    ring->next = c;
}

static struct exchange *exchange_new(struct httpd *h)
{
    struct exchange *x = h->spare ? h->spare : mem_alloc(sizeof(*x));
    h->spare = NULL;
    memset(x, 0, offsetof(struct exchange, head));
    x->head.n = 0;
    memset(&x->counted, 0, sizeof(*x) - offsetof(struct exchange, counted));
    return x;
}

static void exchange_end(struct conn *c)
{
    struct exchange *x = c->x;
    if (!x)
        return;
    c->x = NULL;
    c->h->bodies -= x->counted;
    buf_fini(&x->chunks);
    free(x->text);
    if (c->h->spare)
        free(x);
    else
        c->h->spare = x;
}

/* Whoever works for this reader need not go on. */
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
    exchange_end(c);
    c->h->replies -= c->sending;
    c->prev->next = c->next;
    c->next->prev = c->prev;
    c->h->stat.connections--;
    guests_leave(c->h->guests, c->peer);
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
    return head_get(&c->x->head, name);
}

/* ---- replies ---- */

static void unref_blob(const void *p, size_t n, void *blob)
{
    (void)p, (void)n;
    blob_unref(blob);
}

static void free_bytes(const void *p, size_t n, void *own)
{
    (void)p, (void)n;
    free(own);
}

static void head_line(struct buf *b, const char *name, const char *value)
{
    if (!value[0])
        return;
    buf_adds(b, name);
    buf_adds(b, value);
    buf_add(b, "\r\n", 2);
}

/* "Sun, 15 Nov 2026 10:46:12 GMT", made once a second. */
static const char *date_now(struct httpd *h)
{
    static const char days[] = "SunMonTueWedThuFriSat", months[] = "JanFebMarAprMayJunJulAugSepOctNovDec";
    int64_t s = clock_wall_ms() / 1000;
    struct tm tm;
    time_t t = (time_t)s;
    if (s != h->date_s && gmtime_r(&t, &tm)) {
        snprintf(h->date, sizeof(h->date), "%.3s, %02d %.3s %d %02d:%02d:%02d GMT", days + 3 * (size_t)tm.tm_wday,
                 tm.tm_mday, months + 3 * (size_t)tm.tm_mon, tm.tm_year + 1900, tm.tm_hour, tm.tm_min, tm.tm_sec);
        h->date_s = s;
    }
    return h->date;
}

static void reply_head(struct buf *b, const struct conn *c, const struct reply *rp, int status, size_t length, bool gz)
{
    buf_adds(b, "HTTP/1.1 ");
    buf_addu(b, (uint64_t)status);
    buf_addc(b, ' ');
    buf_adds(b, status_words(status));
    if (status != 204 && status != 304) {
        buf_adds(b, "\r\nContent-Length: ");
        buf_addu(b, length);
        buf_adds(b, "\r\nContent-Type: ");
        buf_adds(b, rp->type ? rp->type : "application/json");
    }
    buf_adds(b, gz ? "\r\nContent-Encoding: gzip\r\n" : "\r\n");
    head_line(b, "Date: ", date_now(c->h));
    if (!rp->no_gzip)
        buf_adds(b, "Vary: Accept-Encoding\r\n");
    head_line(b, "ETag: ", rp->etag);
    head_line(b, "Cache-Control: ", rp->cache[0] ? rp->cache : "no-store");
    head_line(b, "Location: ", rp->location);
    head_line(b, "Set-Cookie: ", rp->cookie);
    head_line(b, "", rp->extra);
    buf_adds(b, "X-Content-Type-Options: nosniff\r\n");
    if (c->close_after)
        buf_adds(b, "Connection: close\r\n");
    else if (c->old)
        buf_adds(b, "Connection: keep-alive\r\n");
    buf_add(b, "\r\n", 2);
}

/* The bytes to send: the plain ones, or their gzip (made's, or kept in the blob). */
static struct str reply_bytes(struct conn *c, struct reply *rp, struct buf *made, bool *ret_gz)
{
    struct str plain = rp->blob ? buf_str(&rp->blob->plain) : buf_str(&rp->body), gz;
    *ret_gz = false;
    if (!c->gzip_ok || rp->no_gzip || plain.len < GZIP_LEAST)
        return plain;
    if (rp->blob) {
        gz = blob_gzip(rp->blob);
    } else {
        *made = BUF_INIT(plain.len + (64u << 10));
        gzip(plain, plain.len > GZIP_BIG ? 1 : 6, made);
        gz = buf_str(made);
    }
    *ret_gz = gz.len > 0;
    return gz.len ? gz : plain;
}

/* Memory that stays taken until these bytes have left. */
static size_t reply_holds(const struct reply *rp, struct str bytes)
{
    return bytes.len <= COPY_MAX ? 0 : rp->blob ? rp->blob->plain.len + rp->blob->gz.len : bytes.len;
}

/* A reply that waits for its compressed form. */
struct packed {
    struct late *late;
    struct reply rp;
};

static void on_packed(void *arg)
{
    struct packed *k = arg;
    k->rp.no_gzip |= k->rp.blob->gz.len == 0; /* it could not be made: as it is, then */
    httpd_late_reply(k->late, &k->rp);
    free(k);
}

/* True: it is on its way to be compressed and comes back as a late reply. Takes rp then. */
static bool conn_pack(struct conn *c, struct reply *rp)
{
    struct httpd *h = c->h;
    if (!c->gzip_ok || c->head_only || rp->no_gzip || !rp->blob || rp->blob->gz.len ||
        rp->blob->plain.len < PACK_LEAST || !h->ops.pack)
        return false;
    struct packed *k = mem_alloc(sizeof(*k));
    *k = (struct packed){.late = mem_zero(1, sizeof(struct late)), .rp = *rp};
    k->late->c = c;
    if (!h->ops.pack(h->ops.arg, rp->blob, on_packed, k)) {
        free(k->late);
        free(k);
        return false;
    }
    c->late = k->late;
    *rp = (struct reply){0};
    return true;
}

/* Send the whole reply; conn_step goes on when it has left. Empties rp. */
static void conn_reply(struct conn *c, struct reply *rp)
{
    if (conn_pack(c, rp))
        return;
    AUTO_BUF head = BUF_INIT(16u << 10), made = {0};
    struct httpd *h = c->h;
    struct evbuffer *out = io_out(c->io);
    bool gz, bare = rp->status == 204 || rp->status == 304 || c->head_only;
    if (rp->close)
        c->close_after = true;
    struct str bytes = reply_bytes(c, rp, &made, &gz);
    size_t holds = bare ? 0 : reply_holds(rp, bytes);
    if (holds && h->replies && h->replies + holds > h->conf.max_replies) {
        h->stat.refused++;
        h->ops.problem(rp, 503, "too many large answers are on their way; try again in a moment");
        bytes = buf_str(&rp->body);
        gz = false;
        holds = 0;
    }
    reply_head(&head, c, rp, rp->status ? rp->status : 200, bytes.len, gz);
    evbuffer_add(out, head.p, head.len);
    if (!holds) {
        evbuffer_add(out, bytes.p, bare ? 0 : bytes.len);
    } else if (rp->blob) {
        evbuffer_add_reference(out, bytes.p, bytes.len, unref_blob, blob_ref(rp->blob));
    } else {
        char *own = buf_take(gz ? &made : &rp->body);
        evbuffer_add_reference(out, own, bytes.len, free_bytes, own);
    }
    h->replies += c->sending = holds;
    conn_enter(c, CONN_REPLY, h->conf.write_ms + (int64_t)(bytes.len / RATE));
    io_send(c->io);
    reply_fini(rp);
}

static void conn_problem(struct conn *c, int status, const char *why)
{
    struct reply rp = {.close = true};
    c->h->ops.problem(&rp, status, why);
    conn_reply(c, &rp);
}

/* ---- one request: each step says whether there may be more to do at once ---- */

static void conn_handle(struct conn *c, struct str body)
{
    struct reply rp = {0};
    c->x->rq.body = body;
    c->h->stat.requests++;
    conn_enter(c, CONN_LATE, c->h->conf.late_ms);
    if (c->h->ops.handle(c->h->ops.arg, &c->x->rq, &rp) == REPLY_NOW)
        conn_reply(c, &rp);
    else
        reply_fini(&rp);
    exchange_end(c);
}

/* The head's n bytes are in x->text. 0: admitted; else it was answered. */
static int conn_admit(struct conn *c, struct exchange *x, size_t n)
{
    struct err err = {0};
    struct reply rp = {0};
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
    x->rq.memo = &c->memo;
    x->rq.header = exchange_header;
    x->rq.tls = c->tls;
    x->rq.now_ms = clock_wall_ms();
    memcpy(x->rq.peer, c->peer, sizeof(x->rq.peer));
    x->rq.loopback = c->loopback;
    if (request_target(&x->rq, x->head.target, x->text + n, &err) < 0) {
        conn_problem(c, 400, err.msg);
        return -1;
    }
    if (!c->h->ops.admit(c->h->ops.arg, &x->rq, &rp)) {
        rp.close = x->head.length != 0; /* whatever body comes is not ours to read */
        conn_reply(c, &rp);
        return -1;
    }
    return 0;
}

/* Room for a body: in all, and for this address, or one bad sender could keep everybody else's out. */
static bool body_fits(const struct conn *c, size_t room)
{
    const struct httpd *h = c->h;
    size_t mine = room, share = h->conf.max_bodies / 4;
    if (h->bodies > 0 && h->bodies + room > h->conf.max_bodies)
        return false;
    if (room <= BODY_SMALL || h->bodies + room <= share)
        return true;
    for (const struct conn *o = h->ring.next; o != &h->ring; o = o->next)
        if (o->x && strcmp(o->peer, c->peer) == 0)
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
        x->chunks = BUF_INIT(x->max_body + 1);
    else
        io_limit(c->io, (size_t)x->head.length + READ_AHEAD);
}

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
    if (conn_admit(c, x, n) < 0)
        return true;
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

/* One size, data, end or trailer piece off the input. 1: took it, 0: needs more, 2: all done, or a negative status. */
static int take_chunk(struct exchange *x, struct io *io)
{
    struct str in = io_in(io), digits;
    uint64_t size;
    if (x->part == CHUNK_DATA) {
        size_t n = MIN(in.len, x->part_left);
        buf_add(&x->chunks, in.p, n);
        io_drop(io, n);
        if ((x->part_left -= n) == 0)
            x->part = CHUNK_END;
        return n > 0;
    }
    const char *end = memmem(in.p, in.len, "\r\n", 2);
    if (!end)
        return in.len > 1024 ? -400 : 0;
    struct str line = str_n(in.p, (size_t)(end - in.p));
    int r = 1;
    if (x->part == CHUNK_SIZE) {
        if (!str_cut(&line, ';', &digits) || digits.len > 8 || str_find(digits, "x") >= 0 || !str_hex(digits, &size))
            return -400;
        if (x->chunks.len + size > x->max_body)
            return -413;
        x->part_left = (size_t)size;
        x->part = size ? CHUNK_DATA : CHUNK_TRAILER;
    } else if (x->part == CHUNK_END) {
        if (line.len)
            return -400;
        x->part = CHUNK_SIZE;
    } else if (line.len == 0) {
        r = 2;
    } else if (++x->trailers > HEADERS_MAX) {
        return -431;
    }
    io_drop(io, (size_t)(end - in.p) + 2);
    return r;
}

static bool step_chunks(struct conn *c)
{
    int r;
    while ((r = take_chunk(c->x, c->io)) == 1)
        ;
    if (r == 0)
        return false;
    if (r < 0)
        conn_problem(c, -r, r == -413 ? "the body is larger than this path takes" : "the body's chunks are malformed");
    else
        conn_handle(c, buf_str(&c->x->chunks));
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

/* c may be gone when this returns. */
static void conn_step(struct conn *c)
{
    if (c->stepping)
        return; /* called from within: the loop below goes on */
    c->stepping = true;
    for (bool more = true; more && !c->dead;) {
        switch (c->state) {
        case CONN_HEAD:
            more = step_head(c);
            break;
        case CONN_BODY:
            more = step_body(c);
            break;
        case CONN_CHUNKS:
            more = step_chunks(c);
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
    }
    c->stepping = false;
    if (c->dead || (c->eof && c->state != CONN_LATE && c->state != CONN_REPLY))
        conn_free(c);
}

static void conn_end(struct conn *c)
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
    conn_step(c);
}

/* ---- late replies and streams ---- */

void httpd_patient(struct request *rq)
{
    struct conn *c = rq->conn;
    io_join(c->io, c->h->group);
}

struct late *httpd_late(struct request *rq)
{
    struct conn *c = rq->conn;
    struct late *l = mem_zero(1, sizeof(*l));
    l->c = c;
    l->take = rq->take;
    l->take_arg = rq->take_arg;
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
    if (was.take)
        was.take(was.take_arg, rp);
    if (!c) {
        reply_fini(rp);
        return;
    }
    c->late = NULL;
    conn_reply(c, rp);
    conn_step(c);
}

struct stream_conn *httpd_stream(struct request *rq, const char *type, void (*closed)(void *arg), void *arg)
{
    struct conn *c = rq->conn;
    struct stream_conn *s = mem_zero(1, sizeof(*s));
    *s = (struct stream_conn){.c = c, .gz = c->gzip_ok, .closed = closed, .arg = arg};
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
    evbuffer_add_reference(io_out(s->c->io), bytes.p, bytes.len, unref_blob, blob_ref(b));
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

/* ---- newcomers ---- */

/* Room for one more: the connection that has been idle longest gives way. */
static bool make_room(struct httpd *h)
{
    int looked = 0;
    if (h->stat.connections < h->conf.max_connections)
        return true;
    for (struct conn *c = h->ring.prev; c != &h->ring && looked < 256; c = c->prev, looked++)
        if (c->state == CONN_LINGER || (c->state == CONN_HEAD && io_in(c->io).len == 0)) {
            conn_end(c);
            return true;
        }
    return false;
}

static void on_accept(void *arg, int fd, const char *peer)
{
    static const char full[] = "HTTP/1.1 503 Service Unavailable\r\nConnection: close\r\nRetry-After: 5\r\n"
                               "Content-Length: 0\r\n\r\n";
    struct httpd *h = arg;
    bool welcome = guests_enter(h->guests, peer, h->conf.max_per_address);
    if (!welcome || !make_room(h)) {
        if (welcome)
            guests_leave(h->guests, peer);
        h->stat.refused++;
        if (!h->tls)
            send(fd, full, sizeof(full) - 1, MSG_DONTWAIT | MSG_NOSIGNAL);
        close(fd);
        return;
    }
    struct conn *c = mem_zero(1, sizeof(*c));
    c->h = h;
    c->prev = c->next = c;
    mem_copy_str(c->peer, sizeof(c->peer), peer);
    c->loopback = address_is_loopback(peer);
    h->stat.connections++;
    c->tls = h->tls != NULL;
    c->io = io_new(h->loop, fd, h->tls, on_io, c);
    conn_enter(c, CONN_HEAD, h->conf.head_ms);
}

/* ---- the server ---- */

struct httpd *httpd_new(struct event_base *loop, const struct httpd_conf *conf, const struct httpd_ops *ops)
{
    struct httpd *h = mem_zero(1, sizeof(*h));
    h->loop = loop;
    h->conf = *conf;
    h->ops = *ops;
    h->ring.prev = h->ring.next = &h->ring;
    h->ports = ports_new(loop, on_accept, h);
    h->group = io_group_new(loop, conf->group_ms);
    h->guests = guests_new();
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
    io_group_free(h->group);
    guests_free(h->guests);
    SSL_CTX_free(h->tls);
    free(h->spare);
    free(h);
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
    h->conf.max_connections = max_connections;
    h->conf.max_per_address = max_per_address;
}

void httpd_stat(const struct httpd *h, struct httpd_stat *ret)
{
    *ret = h->stat;
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
    for (; c != &h->ring; c = next) {
        next = c->next;
        if (c->state == CONN_STREAM ? !stream_stuck(c, now_ms) : now_ms <= c->deadline_ms)
            continue;
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
