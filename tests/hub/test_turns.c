/*
 * Nobody who asks much keeps others waiting: a whole hub, whose loop is turned by hand. Eight connections have 512 KB
 * of pipelined requests each, for every route of the table, and /healthz on another is answered all the while. Counted
 * in turns of the loop and in requests that were answered before it, never in time.
 */
#include "test.h"

#include <errno.h>
#include <event2/event.h>
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <sys/socket.h>

#include "base/clock.h"
#include "hub/render_queue.h"
#include "now/draw.h"
#include "now/live.h"
#include "now/streams.h"
#include "whole_hub.h"

#define CROWD     8
#define EACH      (512u << 10)
#define ASKED     12 /* times /healthz is asked for each route and method */
#define FEW       (4 * CROWD)
#define NODES     40
#define MANY      600
#define TURNS_MAX 200000 /* of a route: a worker may be slow, and then most turns have nothing to do */

static struct hub *hub;
static char tokens[ROLE_COUNT][64];

static void put_token(enum role role)
{
    char id[20];
    uint8_t hash[32];
    token_new(id, hash, tokens[role]);
    whole_hub_token(hub, tokens[role], role, "", false);
}

static void put_node(int i)
{
    char key[32], uuids[8][48];
    struct device_fact d[8];
    struct node_fact f = {.n_devices = 8, .devices = d};
    memset(d, 0, sizeof(d));
    snprintf(key, sizeof(key), "node%d", i);
    mem_copy_str(f.name, sizeof(f.name), key);
    for (int k = 0; k < 8; k++) {
        snprintf(uuids[k], sizeof(uuids[k]), "GPU-%d-%d", i, k);
        mem_copy_str(d[k].uuid, sizeof(d[k].uuid), uuids[k]);
        mem_copy_str(d[k].name, sizeof(d[k].name), "NVIDIA H200");
        d[k].index = k;
        d[k].mig = -1;
    }
    live_facts(hub->live, live_node(hub->live, key, key, clock_wall_ms()), 1, &f, clock_wall_ms());
}

static int setup(void **unused)
{
    (void)unused;
    hub = whole_hub_open("read: open\n");
    put_token(ROLE_ADMIN);
    put_token(ROLE_AGENT);
    put_token(ROLE_RELAY);
    for (int i = 0; i < NODES; i++)
        put_node(i);
    return 0;
}

static int teardown(void **unused)
{
    (void)unused;
    whole_hub_close(hub);
    return 0;
}

/* ---- clients ---- */

struct client {
    int fd;
    struct str ask; /* what is to be sent, again and again */
    size_t sent, most;
    char got[4096]; /* the newest of what came */
    size_t n;
};

static void client_open(struct client *c, struct str ask, size_t most)
{
    int pair[2];
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, pair), 0);
    *c = (struct client){.fd = pair[0], .ask = ask, .most = most};
    httpd_accept(hub->httpd, pair[1], "127.0.0.1");
}

/* Send what the socket takes, and take what came. */
static void client_pump(struct client *c)
{
    ssize_t r = 1;
    while (c->sent < c->most && r > 0) {
        size_t at = c->sent % c->ask.len;
        r = send(c->fd, c->ask.p + at, MIN(c->ask.len - at, c->most - c->sent), MSG_NOSIGNAL);
        if (r > 0)
            c->sent += (size_t)r;
    }
    while ((r = recv(c->fd, c->got, sizeof(c->got), 0)) > 0)
        c->n = (size_t)r;
}

static uint64_t requests(void)
{
    struct httpd_stat st;
    httpd_stat(hub->httpd, &st);
    return st.requests;
}

/* ---- one route ---- */

/* The path of a route with something in place of its {x}. */
static void path_of(const struct route *r, char *out, size_t size)
{
    const char *brace = strchr(r->path, '{');
    if (!brace)
        snprintf(out, size, "%s", r->path);
    else
        snprintf(out, size, "%.*s%s%s", (int)(brace - r->path), r->path,
                 str_starts(str_of(r->path), "/install/") ? "muster-agent.service" : "1", strchr(brace, '}') + 1);
}

static void ask_of(const struct route *r, const char *method, struct buf *out)
{
    char path[256];
    enum role role = r->need == ROLE_AGENT || r->need == ROLE_RELAY ? r->need : ROLE_ADMIN;
    path_of(r, path, sizeof(path));
    buf_addf(out, "%s %s HTTP/1.1\r\nHost: localhost\r\nAccept-Encoding: gzip\r\nAuthorization: Bearer %s\r\n", method,
             path, tokens[role]);
    if (r->max_body && strcmp(method, "GET") != 0 && strcmp(method, "HEAD") != 0)
        buf_adds(out, "Content-Length: 2\r\n\r\n{}");
    else
        buf_adds(out, "\r\n");
}

/* The most requests of others that were answered in one turn, and between a question of /healthz and its answer. */
struct seen_turns {
    uint64_t in_turn, before_answer, turns;
};

static struct seen_turns ask_health_among(struct str ask)
{
    struct client crowd[CROWD], one;
    struct seen_turns seen = {0};
    struct str health = STR("GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n");
    size_t answers = 0;
    uint64_t since = 0, turns = 0;
    for (size_t i = 0; i < CROWD; i++)
        client_open(&crowd[i], ask, EACH);
    client_open(&one, health, 0);
    for (int turn = 0; answers < ASKED; turn++) {
        assert_true(turn < TURNS_MAX);
        for (size_t i = 0; i < CROWD; i++)
            client_pump(&crowd[i]);
        if (one.most == one.sent && turn > 0 && one.n == 0) {
            since = requests();
            turns = 0;
            one.most += health.len;
        }
        client_pump(&one);
        uint64_t before = requests();
        event_base_loop(hub->loop, EVLOOP_ONCE | EVLOOP_NONBLOCK);
        uint64_t served = requests() - before;
        seen.in_turn = MAX(seen.in_turn, served);
        turns += served > 0;
        if (served == 0)
            sched_yield();
        client_pump(&one);
        if (one.n > 0 && one.most == one.sent) {
            assert_memory_equal(one.got, "HTTP/1.1 200", 12);
            seen.before_answer = MAX(seen.before_answer, requests() - since);
            seen.turns = MAX(seen.turns, turns);
            one.n = 0;
            one.sent = one.most = 0;
            answers++;
        }
    }
    for (size_t i = 0; i < CROWD; i++)
        close(crowd[i].fd);
    close(one.fd);
    for (struct httpd_stat st = {.connections = 1}; st.connections > 0; httpd_stat(hub->httpd, &st)) {
        event_base_loop(hub->loop, EVLOOP_ONCE | EVLOOP_NONBLOCK);
        sched_yield();
    }
    return seen;
}

static void health_is_answered_whatever_is_pipelined(void **unused)
{
    static const struct {
        enum method m;
        const char *word;
    } words[] = {{METHOD_GET, "GET"}, {METHOD_HEAD, "HEAD"},   {METHOD_POST, "POST"},
                 {METHOD_PUT, "PUT"}, {METHOD_PATCH, "PATCH"}, {METHOD_DELETE, "DELETE"}};
    bool bad = false;
    (void)unused;
    for (const struct route *const *all = routes_all(), *r; (r = *all); all++)
        for (size_t i = 0; i < ARRAY_LEN(words); i++) {
            AUTO_BUF ask = BUF_INIT(4096);
            if (!(r->methods & (int)words[i].m))
                continue;
            ask_of(r, words[i].word, &ask);
            struct seen_turns seen = ask_health_among(buf_str(&ask));
            bool fine = seen.in_turn <= FEW && seen.before_answer <= FEW && seen.turns <= FEW;
            print_message("%s %s %s: %llu requests in a turn, %llu in %llu turns before an answer\n",
                          fine ? "ok" : "TOO MANY", words[i].word, r->path, (unsigned long long)seen.in_turn,
                          (unsigned long long)seen.before_answer, (unsigned long long)seen.turns);
            bad |= !fine;
        }
    assert_false(bad);
}

/* What is behind a request that is refused, or answered late, or ends the connection, comes in its turn as well. */
static void pipelined_requests_are_all_answered_in_order(void **unused)
{
    static const char ask[] = "GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n"
                              "GET /api/v1/usage HTTP/1.1\r\nHost: localhost\r\n\r\n"
                              "GET /nowhere HTTP/1.1\r\nHost: localhost\r\n\r\n"
                              "POST /api/v1/login HTTP/1.1\r\nHost: localhost\r\nContent-Length: 2\r\n\r\n{}"
                              "POST /api/v1/login HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n"
                              "2\r\n{}\r\n0\r\n\r\n"
                              "HEAD /install HTTP/1.1\r\nHost: localhost\r\n\r\n"
                              "GET /readyz HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n";
    static const char *const want[] = {"200", "200", "404", "400", "400", "200", "200"};
    (void)unused;
    for (size_t step = 1; step < sizeof(ask); step += step < 8 ? 1 : 97) { /* however it is cut */
        struct client c;
        AUTO_BUF got = BUF_INIT(1 << 20);
        char piece[4096];
        ssize_t r = 1;
        client_open(&c, STR(ask), 0);
        for (int turn = 0; r != 0; turn++) {
            assert_true(turn < TURNS_MAX);
            if (c.most < sizeof(ask) - 1)
                c.most = MIN(c.most + step, sizeof(ask) - 1);
            while (c.sent < c.most && (r = send(c.fd, ask + c.sent, c.most - c.sent, MSG_NOSIGNAL)) > 0)
                c.sent += (size_t)r;
            event_base_loop(hub->loop, EVLOOP_ONCE | EVLOOP_NONBLOCK);
            while ((r = recv(c.fd, piece, sizeof(piece), 0)) > 0)
                buf_add(&got, piece, (size_t)r);
            sched_yield();
        }
        struct str rest = buf_str(&got);
        for (size_t i = 0; i < ARRAY_LEN(want); i++) {
            int at = str_find(rest, "HTTP/1.1 ");
            assert_true(at >= 0);
            rest = str_n(rest.p + at + 9, rest.len - (size_t)at - 9);
            print_message("%zu bytes at a time, reply %zu: %.3s\n", step, i, rest.p);
            assert_memory_equal(rest.p, want[i], 3);
        }
        assert_true(str_find(rest, "HTTP/1.1 ") < 0);
        close(c.fd);
    }
}

/* ---- streams ---- */

static void take_all(const struct client *c, struct buf *got)
{
    char piece[65536];
    ssize_t r;
    event_base_loop(hub->loop, EVLOOP_ONCE | EVLOOP_NONBLOCK);
    while ((r = recv(c->fd, piece, sizeof(piece), 0)) > 0)
        buf_add(got, piece, (size_t)r);
}

static void read_until(const struct client *c, struct buf *got, const char *words)
{
    for (int turn = 0; str_find(buf_str(got), words) < 0; turn++) {
        assert_true(turn < TURNS_MAX);
        take_all(c, got);
    }
}

static int times(struct str in, const char *words)
{
    int n = 0;
    for (int at; (at = str_find(in, words)) >= 0; n++)
        in = str_n(in.p + at + 1, in.len - (size_t)at - 1);
    return n;
}

/* What happens while a snapshot is drawn comes behind it, for each who waits for it. */
static void a_streams_snapshot_is_drawn_in_pieces(void **unused)
{
    static const char *const events[] = {"event: clock",        "event: snapshot", "event: notice",
                                         "\"notice\":\"full\"", "event: node",     "\"id\":\"late\""};
    struct str ask = STR("GET /api/v1/stream HTTP/1.1\r\nHost: localhost\r\n\r\n");
    struct client one, two, left;
    struct buf got[] = {BUF_INIT(64 << 20), BUF_INIT(64 << 20)};
    (void)unused;
    for (int i = NODES; i < MANY; i++)
        put_node(i);
    client_open(&one, ask, ask.len);
    client_open(&left, ask, ask.len);
    client_pump(&one);
    client_pump(&left);
    read_until(&one, &got[0], "event: clock");
    for (int turn = 0; render_queue_piece_count(hub->easel) == 0; turn++) {
        assert_true(turn < TURNS_MAX);
        take_all(&one, &got[0]);
    }
    assert_int_equal(times(buf_str(&got[0]), "event: snapshot"), 0);
    close(left.fd);
    client_open(&two, ask, ask.len);
    client_pump(&two);
    read_until(&two, &got[1], "event: clock");
    live_node(hub->live, "late", "late", clock_wall_ms());
    live_set_notice(hub->live, "full");
    streams_set_notice(hub->streams, "full");
    streams_push(hub->streams, clock_wall_ms());
    for (int i = 0; i < 2; i++) {
        read_until(i ? &two : &one, &got[i], "event: notice");
        streams_push(hub->streams, clock_wall_ms());
        read_until(i ? &two : &one, &got[i], "\"late\"");
        struct str rest = buf_str(&got[i]);
        assert_int_equal(times(rest, "event: snapshot"), 1);
        assert_int_equal(times(rest, "\"id\":\"node"), MANY);
        for (size_t k = 0; k < ARRAY_LEN(events); k++) { /* in this order */
            int at = str_find(rest, events[k]);
            print_message("%s at %d\n", events[k], at);
            assert_true(at >= 0);
            rest = str_n(rest.p + at, rest.len - (size_t)at);
        }
    }
    assert_true(render_queue_piece_count(hub->easel) > 2);
    assert_true(render_queue_piece_count(hub->easel) < 20); /* once for both */
    buf_fini(&got[0]);
    buf_fini(&got[1]);
    client_open(&left, ask, ask.len); /* and one is under way when the hub ends */
    client_pump(&left);
    for (int i = 0; i < 3; i++)
        event_base_loop(hub->loop, EVLOOP_ONCE | EVLOOP_NONBLOCK);
    close(one.fd);
    close(two.fd);
    close(left.fd);
}

/* Asks for a path of MANY nodes until its answer is there. How many turns it was drawn in. */
static uint64_t turns_to_draw(const char *path, const char *answer)
{
    AUTO_BUF ask = BUF_INIT(1024);
    AUTO_BUF got = BUF_INIT(64 << 20);
    uint64_t before = render_queue_piece_count(hub->easel);
    struct client c;
    buf_addf(&ask, "GET %s HTTP/1.0\r\nHost: localhost\r\nAccept: application/openmetrics-text\r\n\r\n",
             path); /* without chunks */
    client_open(&c, buf_str(&ask), ask.len);
    client_pump(&c);
    read_until(&c, &got, answer);
    close(c.fd);
    return render_queue_piece_count(hub->easel) - before;
}

static void what_looks_at_all_nodes_takes_turns(void **unused)
{
    static const struct {
        const char *path, *answer;
        unsigned walks; /* over all nodes; /metrics: one for each family */
    } cases[] = {{"/api/v1/state?filter=host:nobody", "\"nodes\":[]", 2},
                 {"/metrics?filter=host:nobody", "# EOF", M_COUNT + 10},
                 {"/api/v1/summary", "none of 4800 free", 2},
                 {"/api/v1/summary?filter=node7+or+node8",
                  "16 of 4800 match 'node7 or node8' (node7: node, node8: node): 8 on node7, 8 on node8", 2}};
    (void)unused;
    for (int i = NODES; i < MANY; i++)
        put_node(i);
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        uint64_t turns = turns_to_draw(cases[i].path, cases[i].answer);
        print_message("%s: %llu turns\n", cases[i].path, (unsigned long long)turns);
        assert_in_range(turns, MANY / DRAW_NODES, cases[i].walks * MANY / DRAW_NODES);
    }
}

static void a_snapshot_with_a_filter_begins_once(void **unused)
{
    struct str ask = STR("GET /api/v1/stream?filter=node7 HTTP/1.1\r\nHost: localhost\r\n\r\n");
    AUTO_BUF got = BUF_INIT(64 << 20);
    struct client c;
    (void)unused;
    for (int i = NODES; i < MANY; i++)
        put_node(i);
    client_open(&c, ask, ask.len);
    client_pump(&c);
    read_until(&c, &got, "\"words\":\"node7: node\"");
    assert_int_equal(times(buf_str(&got), "event: snapshot"), 1);
    assert_int_equal(times(buf_str(&got), "\"filter\":\"node7\",\"of\":4800,"), 1);
    assert_int_equal(times(buf_str(&got), "\"id\":\"node"), 1);
    close(c.fd);
}

#define WITH(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
TESTS(WITH(health_is_answered_whatever_is_pipelined), WITH(pipelined_requests_are_all_answered_in_order),
      WITH(a_streams_snapshot_is_drawn_in_pieces), WITH(what_looks_at_all_nodes_takes_turns),
      WITH(a_snapshot_with_a_filter_begins_once))
