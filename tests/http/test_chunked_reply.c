/* Replies that are made while they are sent: in chunks, compressed, to readers that are slow, that leave, or that know
 * no chunks. The loop and the worker are turned by hand. */
#include "test.h"

#include <event2/event.h>
#include <signal.h>
#include <sys/socket.h>
#include <zlib.h>

#include "base/clock.h"
#include "base/mem.h"
#include "base/workers.h"
#include "http/chunked_reply.h"

#define NOW     1700000000000
#define WAIT_MS 10000
#define PIECE   (100u << 10)

static struct {
    struct event_base *loop;
    struct httpd *h;
    struct chunked_reply *r; /* the one that is being made */
    struct work_job *job;    /* what the worker has to do */
    size_t events;
    int left;  /* pieces to be made */
    char next; /* letter of the next piece */
} t;

static bool admit(void *arg, struct request *rq, struct reply *rp)
{
    (void)arg, (void)rq, (void)rp;
    return true;
}

static size_t max_body(void *arg, const struct request *rq)
{
    (void)arg, (void)rq;
    return 0;
}

static void on_event(void *arg)
{
    (void)arg;
    t.events++;
}

static enum reply_mode handle(void *arg, struct request *rq, struct reply *rp)
{
    (void)arg;
    if (rq->path.len > 1) {
        rp->body = BUF_INIT(10);
        buf_adds(&rp->body, "next");
        return REPLY_NOW;
    }
    rp->type = "text/plain";
    t.r = chunked_reply_new(rq, rp, on_event, NULL);
    return REPLY_LATER;
}

static void problem(struct reply *rp, int status, const char *why)
{
    reply_problem(rp, status, "%s", why);
}

static bool run(void *arg, struct work_job *job)
{
    (void)arg;
    assert_null(t.job);
    t.job = job;
    return true;
}

static int setup(void **unused)
{
    static const struct httpd_conf conf = {.max_connections = 8,
                                           .max_per_address = 8,
                                           .max_bodies = 1 << 20,
                                           .max_replies = 1 << 20,
                                           .head_ms = WAIT_MS,
                                           .body_ms = WAIT_MS,
                                           .idle_ms = WAIT_MS,
                                           .write_ms = WAIT_MS,
                                           .late_ms = WAIT_MS,
                                           .group_ms = 10};
    static const struct httpd_ops ops = {.admit = admit,
                                         .max_body = max_body,
                                         .handle = handle,
                                         .problem = problem,
                                         .run = run};
    (void)unused;
    signal(SIGPIPE, SIG_IGN); /* as in a hub */
    clock_set_for_test(NOW);
    memset(&t, 0, sizeof(t));
    t.next = 'a';
    t.loop = event_base_new();
    t.h = httpd_new(t.loop, &conf, &ops);
    return 0;
}

static int teardown(void **unused)
{
    (void)unused;
    httpd_free(t.h);
    event_base_free(t.loop);
    clock_set_for_test(-1);
    return 0;
}

static int client(const char *ask)
{
    int pair[2];
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, pair), 0);
    httpd_accept(t.h, pair[1], "127.0.0.1");
    assert_int_equal(send(pair[0], ask, strlen(ask), MSG_NOSIGNAL), (ssize_t)strlen(ask));
    return pair[0];
}

/* One turn: the loop, the worker, and as many pieces as there is room for. */
static void turn(void)
{
    struct work_job *job = t.job;
    event_base_loop(t.loop, EVLOOP_ONCE | EVLOOP_NONBLOCK);
    t.job = NULL;
    if (job) {
        job->run(job);
        job->ran = true;
        job->done(job);
    }
    while (t.r && t.left > 0 && chunked_reply_has_room(t.r)) {
        AUTO_BUF piece = BUF_INIT(PIECE + 1);
        buf_fill(&piece, t.next++, PIECE);
        chunked_reply_add(t.r, &piece);
        t.left--;
    }
}

static void finish(bool whole)
{
    chunked_reply_end(t.r, whole);
    t.r = NULL;
}

/* All that comes while n pieces are made. False: the connection is open still. */
static bool read_all(int fd, int n, struct buf *got)
{
    char part[65536];
    ssize_t r = 1;
    t.left = n;
    for (int i = 0; i < 400 && r != 0; i++) {
        turn();
        if (t.r && !t.left)
            finish(true);
        while ((r = recv(fd, part, sizeof(part), 0)) > 0)
            buf_add(got, part, (size_t)r);
    }
    return r == 0;
}

/* Head and body apart; the body without its chunks. False: it has no end. */
static bool take_apart(struct str got, struct str *head, struct buf *body)
{
    int at = str_find(got, "\r\n\r\n");
    assert_true(at > 0);
    *head = str_n(got.p, (size_t)at + 2);
    struct str rest = str_n(got.p + at + 4, got.len - (size_t)at - 4);
    if (str_find(*head, "Transfer-Encoding: chunked\r\n") < 0) {
        buf_addstr(body, rest);
        return true;
    }
    while (rest.len > 2) {
        char *end;
        size_t n = strtoul(rest.p, &end, 16), skip = (size_t)(end - rest.p) + 2;
        if (n == 0)
            return rest.len == 5; /* "0", and an empty line: nothing behind it */
        assert_true(rest.len >= skip + n + 2);
        buf_add(body, rest.p + skip, n);
        rest = str_n(rest.p + skip + n + 2, rest.len - skip - n - 2);
    }
    return false;
}

static void unzip(struct buf *body)
{
    z_stream z = {.next_in = (Bytef *)body->p, .avail_in = (uInt)body->len};
    struct buf out = BUF_INIT(16 << 20);
    char *room = buf_room(&out, (16 << 20) - 1);
    assert_int_equal(inflateInit2(&z, 15 + 16), Z_OK);
    z.next_out = (Bytef *)room;
    z.avail_out = (16 << 20) - 1;
    assert_int_equal(inflate(&z, Z_FINISH), Z_STREAM_END); /* with the right length and sum */
    assert_int_equal(z.avail_in, 0);
    buf_appended(&out, z.total_out);
    inflateEnd(&z);
    buf_fini(body);
    *body = out;
}

static void assert_pieces(const struct buf *body, int n)
{
    assert_int_equal(body->len, n * PIECE);
    for (size_t i = 0; i < body->len; i++)
        assert_int_equal(body->p[i], 'a' + (int)(i / PIECE));
}

static void a_body_comes_in_chunks_to_whoever_reads_it(void **unused)
{
    static const struct {
        const char *ask;
        int pieces;
        bool chunked, gz, ends;
    } cases[] = {
        {"GET / HTTP/1.1\r\nHost: x\r\n\r\n", 20, true, false, false},
        {"GET / HTTP/1.1\r\nHost: x\r\nAccept-Encoding: gzip\r\n\r\n", 20, true, true, false},
        {"GET / HTTP/1.1\r\nHost: x\r\nAccept-Encoding: gzip\r\n\r\n", 0, true, true, false},
        {"GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n", 1, true, false, true},
        {"GET / HTTP/1.0\r\nHost: x\r\nConnection: keep-alive\r\n\r\n", 20, false, false, true},
        {"GET / HTTP/1.0\r\nHost: x\r\nAccept-Encoding: gzip\r\n\r\n", 20, false, true, true},
    };
    (void)unused;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        AUTO_BUF got = BUF_INIT(16 << 20);
        AUTO_BUF body = BUF_INIT(16 << 20);
        struct str head;
        print_message("%s", cases[i].ask);
        t.next = 'a';
        int fd = client(cases[i].ask);
        assert_int_equal(read_all(fd, cases[i].pieces, &got), cases[i].ends);
        assert_true(take_apart(buf_str(&got), &head, &body));
        assert_int_equal(str_find(head, "Transfer-Encoding: chunked") > 0, cases[i].chunked);
        assert_int_equal(str_find(head, "Content-Encoding: gzip") > 0, cases[i].gz);
        assert_true(str_find(head, "Content-Length") < 0);
        if (cases[i].gz)
            unzip(&body);
        assert_pieces(&body, cases[i].pieces);
        close(fd);
        turn();
    }
}

static void the_next_request_is_answered_behind_it(void **unused)
{
    AUTO_BUF got = BUF_INIT(16 << 20);
    (void)unused;
    int fd = client("GET / HTTP/1.1\r\nHost: x\r\nAccept-Encoding: gzip\r\n\r\nGET /next HTTP/1.1\r\nHost: x\r\n\r\n");
    assert_false(read_all(fd, 5, &got));
    assert_true(str_ends(buf_str(&got), "\r\n\r\nnext"));
    close(fd);
}

static void a_head_has_no_body(void **unused)
{
    AUTO_BUF got = BUF_INIT(1 << 20);
    (void)unused;
    int fd = client("HEAD / HTTP/1.1\r\nHost: x\r\n\r\nGET /next HTTP/1.1\r\nHost: x\r\n\r\n");
    assert_false(read_all(fd, 0, &got));
    assert_null(t.r);
    int at = str_find(buf_str(&got), "\r\n\r\n");
    assert_true(str_starts(str_n(got.p + at + 4, got.len - (size_t)at - 4), "HTTP/1.1 200"));
    assert_true(str_ends(buf_str(&got), "\r\n\r\nnext"));
    close(fd);
}

/* Bytes of pieces that there is room for while nothing is read, or the worker does nothing. */
static size_t fill_up(bool works)
{
    size_t n = 0;
    for (int i = 0; i < 100; i++) {
        if (works)
            turn();
        while (chunked_reply_has_room(t.r)) {
            AUTO_BUF piece = BUF_INIT(PIECE + 1);
            buf_fill(&piece, 'a', PIECE);
            chunked_reply_add(t.r, &piece);
            n += PIECE;
        }
    }
    return n;
}

static void a_slow_reader_holds_the_maker_up(void **unused)
{
    static const char *const asks[] = {"GET / HTTP/1.1\r\nHost: x\r\n\r\n",
                                       "GET / HTTP/1.1\r\nHost: x\r\nAccept-Encoding: gzip\r\n\r\n"};
    (void)unused;
    for (int gz = 0; gz < 2; gz++) {
        AUTO_BUF got = BUF_INIT(64 << 20);
        AUTO_BUF body = BUF_INIT(64 << 20);
        struct str head;
        char part[65536];
        ssize_t r;
        int fd = client(asks[gz]);
        turn();
        turn();
        assert_in_range(fill_up(!gz), 1 << 20, 4 << 20); /* gzip would make them small: there the worker is slow */
        size_t events = t.events;
        for (int i = 0; i < 50; i++) {
            turn();
            while ((r = recv(fd, part, sizeof(part), 0)) > 0)
                buf_add(&got, part, (size_t)r);
        }
        assert_true(t.events > events);
        assert_true(chunked_reply_has_room(t.r));
        assert_false(read_all(fd, 0, &got));
        assert_true(take_apart(buf_str(&got), &head, &body));
        close(fd);
        turn();
    }
}

static void a_reader_that_leaves_is_reported(void **unused)
{
    (void)unused;
    for (int gz = 0; gz < 2; gz++) {
        int fd = client(gz ? "GET / HTTP/1.1\r\nHost: x\r\nAccept-Encoding: gzip\r\n\r\n"
                           : "GET / HTTP/1.1\r\nHost: x\r\n\r\n");
        struct httpd_stat st;
        t.left = 3;
        turn();
        turn();
        size_t events = t.events;
        close(fd);
        for (int i = 0; i < 5; i++)
            event_base_loop(t.loop, EVLOOP_ONCE | EVLOOP_NONBLOCK);
        assert_true(t.events > events);
        assert_true(chunked_reply_is_closed(t.r));
        finish(false); /* while the worker may have some of it still */
        turn();
        httpd_stat(t.h, &st);
        assert_int_equal(st.connections, 0);
    }
}

static void a_body_that_is_not_whole_has_no_end(void **unused)
{
    (void)unused;
    for (int gz = 0; gz < 2; gz++) {
        AUTO_BUF got = BUF_INIT(16 << 20);
        AUTO_BUF body = BUF_INIT(16 << 20);
        struct str head;
        int fd = client(gz ? "GET / HTTP/1.1\r\nHost: x\r\nAccept-Encoding: gzip\r\n\r\n"
                           : "GET / HTTP/1.1\r\nHost: x\r\n\r\n");
        t.left = 2;
        for (int i = 0; i < 6; i++)
            turn();
        finish(false);
        assert_true(read_all(fd, 0, &got));
        assert_false(take_apart(buf_str(&got), &head, &body));
        close(fd);
    }
}

static void take(void *arg, struct reply *rp)
{
    buf_addf(arg, "%d %.*s", rp->status, STR_ARG(buf_str(&rp->body)));
    reply_fini(rp);
}

static void the_programs_own_request_gets_it_whole(void **unused)
{
    (void)unused;
    for (int whole = 0; whole < 2; whole++) {
        AUTO_BUF got = BUF_INIT(1 << 20);
        AUTO_BUF piece = BUF_INIT(10);
        struct request rq = {.take = take, .take_arg = &got};
        struct reply rp = {.type = "text/plain"};
        t.r = chunked_reply_new(&rq, &rp, on_event, NULL);
        buf_adds(&piece, "abc");
        chunked_reply_add(t.r, &piece);
        buf_adds(&piece, "def");
        chunked_reply_add(t.r, &piece);
        finish(whole);
        if (whole)
            assert_string_equal(got.p, "0 abcdef");
        else
            assert_true(str_starts(buf_str(&got), "503 {"));
    }
}

#define WITH(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
TESTS(WITH(a_body_comes_in_chunks_to_whoever_reads_it), WITH(the_next_request_is_answered_behind_it),
      WITH(a_head_has_no_body), WITH(a_slow_reader_holds_the_maker_up), WITH(a_reader_that_leaves_is_reported),
      WITH(a_body_that_is_not_whole_has_no_end), WITH(the_programs_own_request_gets_it_whole))
