/* The server by itself, with routes that do as a test needs, its loop turned by hand and its clock standing still. */
#include "test.h"

#include <event2/event.h>
#include <openssl/ssl.h>
#include <signal.h>
#include <sys/socket.h>

#include "base/clock.h"
#include "base/mem.h"
#include "http/httpd.h"
#include "http/io.h"

#define NOW       1700000000000
#define HEAD_MS   10000
#define LARGE     (64u << 10)
#define READ_MOST (256 << 10) /* of a request without TLS */

static struct {
    struct event_base *loop;
    struct httpd *h;
    int64_t takes_ms; /* each request */
    bool refuses;     /* at length */
    char served[512]; /* a letter for each: its path */
    size_t n_packed;
    struct {
        void (*done)(void *arg);
        void *arg;
    } packed[8];
} t;

static bool admit(void *arg, struct request *rq, struct reply *rp)
{
    (void)arg, (void)rq;
    if (t.refuses) {
        rp->status = 403;
        rp->body = BUF_INIT(LARGE + 1);
        buf_fill(&rp->body, 'x', LARGE);
    }
    return !t.refuses;
}

static size_t max_body(void *arg, const struct request *rq)
{
    (void)arg, (void)rq;
    return 0;
}

static enum reply_mode handle(void *arg, struct request *rq, struct reply *rp)
{
    (void)arg;
    size_t n = strlen(t.served);
    char letter = rq->path.len > 1 ? rq->path.p[1] : '/';
    if (n < sizeof(t.served) - 1)
        t.served[n] = letter;
    if (letter == 'a' || letter == 'b')
        httpd_patient(rq);
    clock_set_for_test(clock_wall_ms() + t.takes_ms);
    rp->body = BUF_INIT(LARGE + 1);
    buf_fill(&rp->body, 'x', letter == 'b' ? 1 : LARGE);
    return REPLY_NOW;
}

static void problem(struct reply *rp, int status, const char *why)
{
    reply_problem(rp, status, "%s", why);
}

static bool pack(void *arg, struct blob *b, void (*done)(void *done_arg), void *done_arg)
{
    (void)arg, (void)b;
    assert_true(t.n_packed < ARRAY_LEN(t.packed));
    t.packed[t.n_packed].done = done;
    t.packed[t.n_packed++].arg = done_arg;
    return true;
}

static int setup(void **unused)
{
    static const struct httpd_conf conf = {.max_connections = 512,
                                           .max_per_address = 512,
                                           .max_bodies = 1 << 20,
                                           .max_replies = LARGE + LARGE / 2,
                                           .head_ms = HEAD_MS,
                                           .body_ms = HEAD_MS,
                                           .idle_ms = HEAD_MS,
                                           .write_ms = HEAD_MS,
                                           .late_ms = HEAD_MS,
                                           .group_ms = 10};
    static const struct httpd_ops ops = {.admit = admit,
                                         .max_body = max_body,
                                         .handle = handle,
                                         .problem = problem,
                                         .pack = pack};
    (void)unused;
    signal(SIGPIPE, SIG_IGN); /* as in a hub */
    clock_set_for_test(NOW);
    memset(&t, 0, sizeof(t));
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

static void turn(int times)
{
    while (times-- > 0)
        event_base_loop(t.loop, EVLOOP_ONCE | EVLOOP_NONBLOCK);
}

static int client(const char *ask)
{
    int pair[2];
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, pair), 0);
    httpd_accept(t.h, pair[1], "127.0.0.1");
    assert_int_equal(send(pair[0], ask, strlen(ask), MSG_NOSIGNAL), (ssize_t)strlen(ask));
    return pair[0];
}

/* What the answer begins with, after some turns; 0: there is none yet. Takes all of it. */
static int status_of(int fd)
{
    char got[16384], first[16] = "";
    ssize_t n;
    for (int i = 0; i < 20; i++) {
        turn(1);
        while ((n = recv(fd, got, sizeof(got), 0)) > 0)
            if (!first[0])
                memcpy(first, got, sizeof(first) - 1);
    }
    return first[0] ? (int)strtol(first + sizeof("HTTP/1.1"), NULL, 10) : 0;
}

static void let_packed(void)
{
    size_t n = t.n_packed;
    t.n_packed = 0;
    for (size_t i = 0; i < n; i++)
        t.packed[i].done(t.packed[i].arg);
}

static void what_waits_to_be_compressed_counts_until_it_has_left(void **unused)
{
    static const char ask[] = "GET / HTTP/1.1\r\nHost: localhost\r\nAccept-Encoding: gzip\r\n\r\n";
    (void)unused;
    for (int leaves = 0; leaves < 2; leaves++) {
        int one = client(ask);
        assert_int_equal(status_of(one), 0);
        assert_int_equal(t.n_packed, 1);
        int two = client(ask);
        assert_int_equal(status_of(two), 503);
        if (leaves) { /* its bytes stay while they are read beside the loop */
            close(one);
            turn(2);
        }
        int three = client(ask);
        assert_int_equal(status_of(three), 503);
        assert_int_equal(t.n_packed, 1);
        let_packed();
        if (!leaves)
            assert_int_equal(status_of(one), 200);
        int four = client(ask); /* nothing is counted any more */
        assert_int_equal(status_of(four), 0);
        assert_int_equal(t.n_packed, 1);
        let_packed();
        assert_int_equal(status_of(four), 200);
        if (!leaves)
            close(one);
        close(two);
        close(three);
        close(four);
    }
}

static void a_request_that_waits_its_turn_is_not_late(void **unused)
{
    static const char ask[] = "GET / HTTP/1.1\r\nHost: localhost\r\n\r\n";
    struct httpd_stat st;
    (void)unused;
    t.takes_ms = 3 * HEAD_MS;
    int one = client(ask), two = client(ask);
    for (st.waiting = 0; st.waiting == 0; httpd_stat(t.h, &st))
        turn(1);
    assert_int_equal(st.requests, 1);
    httpd_tick(t.h);
    assert_int_equal(status_of(one), 200);
    assert_int_equal(status_of(two), 200);
    close(one);
    close(two);
    int late = client("GET / HT"); /* which is not all of it */
    turn(2);
    clock_set_for_test(clock_wall_ms() + 2 * HEAD_MS);
    httpd_tick(t.h);
    assert_int_equal(status_of(late), 408);
    close(late);
}

static void a_refusal_that_is_compressed_comes_before_the_next_request(void **unused)
{
#define ASK "GET / HTTP/1.1\r\nHost: localhost\r\nAccept-Encoding: gzip\r\n\r\n"
    (void)unused;
    t.refuses = true;
    int fd = client(ASK ASK);
    for (int i = 0; i < 2; i++) {
        assert_int_equal(status_of(fd), 0);
        assert_int_equal(t.n_packed, 1);
        let_packed();
        assert_int_equal(status_of(fd), 403);
    }
    close(fd);
#undef ASK
}

/* Two agents and a reader, each with a second request behind the first: they take turns. */
static void a_reader_does_not_wait_behind_all_agents(void **unused)
{
#define ASK(path) "GET /" path " HTTP/1.1\r\nHost: localhost\r\n\r\n"
    (void)unused;
    int fds[] = {client(ASK("a") ASK("a")), client(ASK("b") ASK("b")), client(ASK("r") ASK("r"))};
    for (int i = 0; i < 40 && strlen(t.served) < 6; i++) {
        char got[16384];
        turn(1);
        for (size_t k = 0; k < ARRAY_LEN(fds); k++)
            while (recv(fds[k], got, sizeof(got), 0) > 0)
                ;
    }
    assert_int_equal(strlen(t.served), 6);
    assert_int_equal(t.served[4], 'r');
    for (size_t k = 0; k < ARRAY_LEN(fds); k++)
        close(fds[k]);
#undef ASK
}

static void ask_again(int fd, const char *ask)
{
    char got[16384];
    while (recv(fd, got, sizeof(got), 0) > 0)
        ;
    assert_int_equal(send(fd, ask, strlen(ask), MSG_NOSIGNAL), (ssize_t)strlen(ask));
}

/* So many were served by now; it is waited for. */
static void wait_served(size_t n)
{
    for (int i = 0; i < 100000 && strlen(t.served) < n; i++)
        turn(1);
    assert_true(strlen(t.served) >= n);
}

/* Agents all at once: who asks when their first have had their turn does not wait for the last. */
static void a_burst_of_agents_is_taken_in_parts(void **unused)
{
    static const char brings[] = "GET /b HTTP/1.1\r\nHost: localhost\r\n\r\n";
    static const char asks[] = "GET /r HTTP/1.1\r\nHost: localhost\r\n\r\n";
    int fds[400], reader = client(asks);
    (void)unused;
    for (size_t i = 0; i < ARRAY_LEN(fds); i++)
        fds[i] = client(brings);
    wait_served(ARRAY_LEN(fds) + 1);
    memset(t.served, 0, sizeof(t.served));
    for (size_t i = 0; i < ARRAY_LEN(fds); i++)
        ask_again(fds[i], brings);
    wait_served(1);
    ask_again(reader, asks);
    wait_served(ARRAY_LEN(fds) + 1);
    assert_true(strchr(t.served, 'r') < t.served + ARRAY_LEN(fds) - 1);
    for (size_t i = 0; i < ARRAY_LEN(fds); i++)
        close(fds[i]);
    close(reader);
}

/* An agent's request took all the time that there is in a turn: the next one waits, a reader does not. */
static void what_agents_take_is_not_held_against_a_reader(void **unused)
{
    static const char brings[] = "GET /b HTTP/1.1\r\nHost: localhost\r\n\r\n";
    static const char asks[] = "GET /r HTTP/1.1\r\nHost: localhost\r\n\r\n";
    struct httpd_stat before, after;
    (void)unused;
    int one = client(brings), two = client(brings);
    wait_served(2);
    t.takes_ms = 1000;
    ask_again(one, brings);
    ask_again(two, brings);
    httpd_stat(t.h, &before);
    for (after = before; after.waiting == 0; httpd_stat(t.h, &after))
        turn(1);
    assert_int_equal(after.requests, before.requests + 1);
    int reader = client(asks);
    wait_served(5);
    assert_string_equal(t.served, "bbbrb");
    close(reader);
    close(one);
    close(two);
}

static void on_io(void *arg, int words)
{
    *(int *)arg |= words;
}

static ssize_t take_all(int fd)
{
    static char piece[64 << 10];
    ssize_t all = 0, n;
    while ((n = recv(fd, piece, sizeof(piece), MSG_DONTWAIT)) > 0)
        all += n;
    return all;
}

/* A client sends HTTP to the TLS port and does not stop: the hub reads a part of it, answers and ends. */
static void a_request_without_tls_is_read_in_part(void **unused)
{
    static const char text[16384] = "POST / HTTP/1.1\r\nHost: localhost\r\n\r\n";
    char answer[16] = "";
    ssize_t sent = 0, n;
    int words = 0, pair[2], room = 1 << 20;
    (void)unused;
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, pair), 0);
    setsockopt(pair[0], SOL_SOCKET, SO_SNDBUF, &room, sizeof(room)); /* as much as the system allows */
    while ((n = send(pair[0], text, sizeof(text), MSG_NOSIGNAL)) > 0)
        sent += n;
    int kept = dup(pair[1]); /* it outlives the hub's: the rest can be counted */
    SSL_CTX *tls = SSL_CTX_new(TLS_server_method());
    struct io *io = io_new(t.loop, pair[1], tls, on_io, &words);
    io_limit(io, LARGE);
    for (int i = 0; i < 1000 && !(words & IO_ERROR); i++)
        turn(1);
    assert_true(words & IO_ERROR);
    assert_int_equal(recv(pair[0], answer, sizeof(answer) - 1, 0), sizeof(answer) - 1);
    assert_string_equal(answer, "HTTP/1.1 400 Ba");
    n = take_all(kept);
    print_message("sent %zd, left %zd\n", sent, n);
    assert_true(n >= sent - (READ_MOST + 16384)); /* OpenSSL took some, too */
    io_free(io);
    SSL_CTX_free(tls);
    close(kept);
    close(pair[0]);
    if (sent <= READ_MOST + 16384)
        skip(); /* little room in sockets here */
}

#define WITH(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
TESTS(WITH(what_waits_to_be_compressed_counts_until_it_has_left), WITH(a_request_that_waits_its_turn_is_not_late),
      WITH(a_refusal_that_is_compressed_comes_before_the_next_request), WITH(a_reader_does_not_wait_behind_all_agents),
      WITH(a_burst_of_agents_is_taken_in_parts), WITH(what_agents_take_is_not_held_against_a_reader),
      WITH(a_request_without_tls_is_read_in_part))
