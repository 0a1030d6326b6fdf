/*
 * A connection, from its bytes on: httpd.c, io.c, heads, chunks, pipelining, and behind them the routes of a whole hub
 * with its store in a folder of its own. The first byte says how often the bytes are cut, what the peer's address is
 * and how the connection ends; then come the lengths of the pieces, then the bytes. The hub is opened once and serves
 * them all, as one does. Tokens are "mst_" + role's letter eight times + "_" + 43 b: a admin, m member, g agent, e
 * enroll, y relay.
 */
#include <assert.h>
#include <errno.h>
#include <event2/event.h>
#include <fcntl.h>
#include <sched.h>
#include <sys/socket.h>

#include "base/clock.h"
#include "now/live.h"
#include "whole_hub.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define CUTS     0x1f /* of the first byte */
#define FOREIGN  0x20 /* from another machine */
#define FORWARD  0x40 /* from the proxy */
#define GONE     0x80 /* the reader does not wait for its answers */
#define TURNS    3000 /* of the loop for one input; a worker may need some of them */
#define GOT_MAX  (1u << 20)
#define SECRET_B "bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb"

static struct hub *hub;

static const struct {
    const char *text;
    enum role role;
} known[] = {{"mst_aaaaaaaa_" SECRET_B, ROLE_ADMIN},
             {"mst_mmmmmmmm_" SECRET_B, ROLE_MEMBER},
             {"mst_gggggggg_" SECRET_B, ROLE_AGENT},
             {"mst_eeeeeeee_" SECRET_B, ROLE_ENROLL},
             {"mst_yyyyyyyy_" SECRET_B, ROLE_RELAY}};

static void end(void)
{
    whole_hub_close(hub);
    hub = NULL;
}

static void put_node(void)
{
    struct device_fact d[2] = {{.uuid = "GPU-1", .name = "H200", .mig = -1},
                               {.uuid = "GPU-2", .name = "H200", .index = 1, .mig = -1}};
    struct node_fact f = {.name = "n1", .n_devices = 2, .devices = d};
    int64_t now_ms = clock_wall_ms();
    live_facts(hub->live, live_node(hub->live, "n1", "n1", now_ms), 1, &f, now_ms);
}

static void start(void)
{
    hub = whole_hub_open(
        "{read: open, max_nodes: 100, bookings: {auth: open}, vesta_token: t, proxy: {from: [10.0.0.1]}}");
    for (size_t i = 0; i < ARRAY_LEN(known); i++)
        whole_hub_token(hub, known[i].text, known[i].role, "kim", false);
    put_node();
    atexit(end);
}

/* What came back is replies, each with a head of its own; behind the last a body or a stream may be cut. */
static void check_replies(struct str got)
{
    if (got.len < 13)
        return;
    assert(str_starts(got, "HTTP/1.1 "));
    assert(got.p[9] >= '1' && got.p[9] <= '5' && got.p[12] == ' ');
}

/* One turn, and what came for the reader. False: the hub has ended the connection. */
static bool turn(int fd, struct buf *got)
{
    char piece[16384];
    ssize_t r;
    event_base_loop(hub->loop, EVLOOP_ONCE | EVLOOP_NONBLOCK);
    while ((r = recv(fd, piece, sizeof(piece), 0)) > 0)
        if (got->len < GOT_MAX)
            buf_add(got, piece, (size_t)r);
    return r != 0 && (errno == EAGAIN || errno == EINTR);
}

/* Until nothing more is to be had of what was sent: late answers, too. */
static bool settle(int fd, struct buf *got)
{
    struct httpd_stat st;
    bool on;
    int turns = TURNS;
    do {
        on = turn(fd, got);
        httpd_stat(hub->httpd, &st);
        if (st.waiting == 0)
            sched_yield(); /* to whoever works beside the loop */
    } while (on && (st.waiting > 0 || httpd_busy(hub->httpd) > 0) && turns-- > 0);
    assert(st.waiting == 0 || turns <= 0);
    return on;
}

/* How many requests the bytes are, cut into pieces of these lengths. -1: it took too long to say. */
static int64_t serve(const uint8_t *data, size_t size, const uint8_t *cuts, size_t n_cuts, uint8_t how)
{
    static const char *const peers[] = {"127.0.0.1", "203.0.113.7", "10.0.0.1", "10.0.0.1"};
    int pair[2];
    struct httpd_stat before, after;
    AUTO_BUF got = BUF_INIT(2 * GOT_MAX);
    httpd_stat(hub->httpd, &before);
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, pair) < 0)
        return -1;
    httpd_accept(hub->httpd, pair[1], peers[(how & (FOREIGN | FORWARD)) >> 5]);
    bool on = true;
    for (size_t i = 0, at = 0; on && at < size; i++) {
        size_t n = i < n_cuts && cuts[i] ? cuts[i] : size - at;
        ssize_t r = send(pair[0], data + at, MIN(n, size - at), MSG_NOSIGNAL);
        if (r < 0 && errno != EAGAIN)
            break;
        at += r > 0 ? (size_t)r : 0;
        on = how & GONE ? turn(pair[0], &got) : settle(pair[0], &got);
    }
    bool whole = httpd_busy(hub->httpd) == 0 || !on;
    if (on && !(how & GONE)) {
        shutdown(pair[0], SHUT_WR);
        settle(pair[0], &got);
    }
    check_replies(buf_str(&got));
    close(pair[0]);
    httpd_tick(hub->httpd);
    for (int turns = 0; turns < TURNS; turns++) {
        event_base_loop(hub->loop, EVLOOP_ONCE | EVLOOP_NONBLOCK);
        httpd_stat(hub->httpd, &after);
        if (after.waiting == 0 && after.connections == 0)
            break;
        sched_yield();
    }
    return whole && !(how & GONE) && after.connections == 0 ? (int64_t)(after.requests - before.requests) : -1;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size < 1 || size > (1u << 16))
        return 0;
    if (!hub)
        start();
    uint8_t how = data[0];
    size_t n_cuts = MIN((size_t)(how & CUTS), size - 1);
    const uint8_t *cuts = data + 1, *bytes = cuts + n_cuts;
    int64_t one = serve(bytes, size - 1 - n_cuts, cuts, n_cuts, how);
    if (one < 0 || n_cuts == 0)
        return 0;
    int64_t two = serve(bytes, size - 1 - n_cuts, NULL, 0, how); /* in one piece they are as many */
    assert(two < 0 || one == two);
    return 0;
}
