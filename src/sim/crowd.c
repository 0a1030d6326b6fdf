/*
 * crowd.c: nodes as load for a hub, with little CPU time, which the hub on the same machine needs. Actors play the
 * trace and encode a body per interval. Every node sends its actor's body in its own frame, with its own key, facts,
 * token and connection, and keeps it until acknowledged (uplink/packets.h). Without libevent: a socket and two buffers
 * per node.
 *
 * With an actor per node (`plain`), a node sends as soon as its actor has closed a batch, in the interval set by the
 * hub. It retries soon after a failure, like an agent without the spool. With fewer actors than nodes, requests are
 * spread evenly over the interval, regardless of the hub's phase, each from its own address. With several hubs a node
 * starts with one and changes to the next after a failure. With fewer connections than nodes, nodes share them, one
 * request at a time, like agents behind a proxy.
 */
#include "sim/crowd.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netdb.h>
#include <netinet/tcp.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <unistd.h>
#include <zlib.h>

#include "base/clock.h"
#include "base/mem.h"
#include "base/rand.h"
#include "sim/demo_cluster.h"
#include "uplink/packets.h"

#define SLOT_MS     10   /* time step: actors first, then the due nodes */
#define LOOK_SLOTS  20   /* interval of checks of nodes that wait for the hub or for a retry */
#define INTERVAL_MS 5000 /* until the hub sets another */
#define PER_POST    16
#define WAITING_MAX 64 /* batches kept by a node that repeats others; then it stops until the hub accepts some */
#define TIMEOUT_MS  15000
#define ANSWER_MAX  (64u << 10)
#define LATENCY_MAX 20000 /* ms; exact counts */
#define SETTLE_MS   60000 /* the first minute, with all enrolments, is counted separately */
#define FD_OTHERS   32

enum { FREE_RANGE = 200 }; /* last number of an address 127.A.B.C, so that each node has its own */

struct actor {
    struct demo_cluster_node node;
    struct gather *gather;
    struct buf frame; /* the newest batch, without a node */
    uint64_t made, samples, procs_id, procs_seen;
};

struct member {
    struct member *next; /* next node due in the same slot */
    struct actor *actor;
    size_t hub;            /* index of its hub */
    int fd;                /* -1: not connected */
    struct member *behind; /* next in the queue for a connection */
    bool waits, busy, writable, greeted;
    uint64_t took; /* the actor's batch it has */
    struct node_id id;
    uint64_t run, number;
    char *name, *token;
    struct enclosure *facts, *procs;
    int64_t first_slot; /* it does not exist before */
    struct packets queue;
    struct sent_blobs blobs; /* of the request in flight */
    struct buf in, out;
    size_t sent;                   /* bytes sent of out */
    int64_t sent_ms, retry_ms;     /* monotonic; retry: nothing is sent before */
    int64_t began_ms, interval_ms; /* plain: first tick of the current batch, monotonic; interval set by the hub */
};

struct crowd_hub {
    const char *name;
    int port;
    struct sockaddr_storage at;
    socklen_t len; /* 0: the name is not resolved yet */
    char host[80];
};

struct crowd {
    const struct simulate_conf *conf;
    bool plain;
    struct crowd_hub hubs[CROWD_HUBS_MAX];
    size_t n_hubs;
    int epoll;
    FILE *ledger;      /* NULL: none */
    const char *token; /* initial token of the nodes */
    FILE *tokens;      /* their own tokens are written here; NULL: not written */
    int64_t story_ms;  /* of the demo: the start of its story */
    struct wire_enc *enc;
    struct actor *actors;
    struct member *members, **due; /* due: by slot of the interval; not for plain */
    size_t n_slots, tick_slots;
    int *idle; /* unused connections, a ring, oldest first; NULL: each node has its own */
    size_t n_idle, idle_at, n_open;
    struct member *queue, **queue_end; /* waiting for a connection */
    int64_t slot, start_ms;            /* monotonic */
    bool ending;
    struct answer answer;
    struct buf body;
    uint64_t made, stored, samples, posts, failures;
    uint32_t *latency, *settled; /* settled: after SETTLE_MS */
};

static volatile sig_atomic_t asked_to_stop;

static void on_signal(UNUSED int sig)
{
    asked_to_stop = 1;
}

/* ---- actors ---- */

/* The checksum of one value: CRC-32 of node, time, slot, metric, value. A batch's checksum is the sum, so that order
 * does not matter. */
static uint64_t value_sum(const struct batch *b, size_t i, size_t t)
{
    char room[64];
    struct buf row = {.p = room, .cap = sizeof(room), .max = sizeof(room)};
    buf_add(&row, b->key.node.b, NODE_ID_LEN);
    buf_u64(&row, (uint64_t)b->at_ms[t]);
    buf_u16(&row, b->columns[i].slot);
    buf_u16(&row, b->columns[i].metric);
    buf_u64(&row, (uint64_t)b->columns[i].v[t]);
    return crc32(0, (const uint8_t *)row.p, (unsigned)row.len);
}

static void actor_seal(struct crowd *c, struct actor *a)
{
    struct batch b;
    uint64_t sum = 0;
    char id[33];
    gather_batch(a->gather, &b);
    if (!b.n_ticks)
        return;
    b.key = (struct batch_key){.node = a->node.id, .run = 1, .number = ++a->made};
    b.facts = b.procs = 1;
    a->samples = 0;
    for (size_t i = 0; i < b.n_columns; i++)
        for (size_t t = 0; t < b.n_ticks; t++)
            if (column_has(&b.columns[i], t)) {
                a->samples++;
                sum += c->ledger ? value_sum(&b, i, t) : 0;
            }
    if (c->ledger) /* plain: the node's numbers are its actor's */
        fprintf(c->ledger, "%s %016llx %llu %llu %016llx\n", node_id_text(&a->node.id, id),
                (unsigned long long)c->members[a - c->actors].run, (unsigned long long)a->made,
                (unsigned long long)a->samples, (unsigned long long)sum);
    buf_reset(&a->frame);
    wire_put_batch(c->enc, &a->frame, &b);
    gather_reset(a->gather);
}

static void actor_tick(struct actor *a)
{
    demo_cluster_tick(&a->node, clock_wall_ms(), a->gather);
    if (a->procs_seen != a->node.procs_changed || !a->procs_id) {
        AUTO_BUF scratch = BUF_INIT(WIRE_BODY_MAX);
        wire_put_procs(&scratch, &a->node.id, &a->node.procs, &a->procs_id);
        a->procs_seen = a->node.procs_changed;
    }
}

/* ---- connections ---- */

static void member_hang_up(struct crowd *c, struct member *m)
{
    if (m->fd >= 0) {
        close(m->fd);
        c->n_open--;
    }
    m->fd = -1;
    m->busy = m->writable = m->greeted = false;
    buf_fini(&m->in);
    buf_fini(&m->out);
}

/* status 0: no valid response. */
static void member_fail(struct crowd *c, struct member *m, int status, const char *why)
{
    bool first = m->busy && c->failures++ == 0, denied = status == 401 || status == 403;
    if (c->plain && (first || denied))
        fprintf(stderr, "muster simulate: %s: %s\n", m->name, status ? why : "no answer from the hub; trying again");
    else if (first)
        fprintf(stderr, "muster simulate: %s: %s; trying again\n", m->name, why);
    if (m->busy && c->plain)
        m->retry_ms = clock_mono_ms() + 200 + (int64_t)(rand_unit() * 600);
    if (m->busy)
        m->hub = (m->hub + 1) % c->n_hubs;
    if (denied && strcmp(m->token, c->token) != 0) { /* its own token is for another store */
        free(m->token);
        m->token = mem_str(c->token);
    }
    member_hang_up(c, m);
}

/* With the hub on this machine, each node has its own address: 127.1.0.1 and up. */
static int bind_own(const struct crowd *c, const struct crowd_hub *h, size_t no, int fd)
{
    struct sockaddr_in from = {.sin_family = AF_INET};
    uint32_t own = (127u << 24 | 1u << 16) + (uint32_t)(no / FREE_RANGE << 8) + 1 + (uint32_t)(no % FREE_RANGE);
    const struct sockaddr_in *hub = (const struct sockaddr_in *)&h->at;
    int on = 1;
    if (c->plain || ntohl(hub->sin_addr.s_addr) >> 24 != 127)
        return 0;
    from.sin_addr.s_addr = htonl(own);
    setsockopt(fd, IPPROTO_IP, IP_BIND_ADDRESS_NO_PORT, &on, sizeof(on));
    return bind(fd, (struct sockaddr *)&from, sizeof(from));
}

static void member_watch(struct crowd *c, struct member *m, int op, bool out)
{
    struct epoll_event e = {.events = EPOLLIN | (out ? EPOLLOUT : 0), .data.ptr = m};
    epoll_ctl(c->epoll, op, m->fd, &e);
    m->writable = out;
}

static bool resolve_hub(struct crowd_hub *h)
{
    struct addrinfo hints = {.ai_socktype = SOCK_STREAM}, *found = NULL;
    char port[16];
    snprintf(port, sizeof(port), "%d", h->port);
    if (!h->len && getaddrinfo(h->name, port, &hints, &found) == 0 && found->ai_addrlen <= sizeof(h->at)) {
        memcpy(&h->at, found->ai_addr, found->ai_addrlen);
        h->len = found->ai_addrlen;
    }
    if (found)
        freeaddrinfo(found);
    return h->len;
}

static bool member_connect(struct crowd *c, struct member *m)
{
    struct crowd_hub *h = &c->hubs[m->hub];
    int on = 1, fd = resolve_hub(h) ? socket(h->at.ss_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0) : -1;
    if (fd < 0)
        return false;
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
    if (bind_own(c, h, (size_t)(m - c->members), fd) < 0 ||
        (connect(fd, (struct sockaddr *)&h->at, h->len) < 0 && errno != EINPROGRESS)) {
        close(fd);
        return false;
    }
    m->fd = fd;
    c->n_open++;
    member_watch(c, m, EPOLL_CTL_ADD, false);
    return true;
}

/* Gets a connection for one request. Returns false if it must wait, or on failure. */
static bool member_connected(struct crowd *c, struct member *m)
{
    if (m->fd >= 0)
        return true;
    if (!c->idle || (!c->n_idle && c->n_open < (size_t)c->conf->connections))
        return member_connect(c, m);
    if (!c->n_idle && !m->waits) {
        m->waits = true;
        *c->queue_end = m;
        c->queue_end = &m->behind;
    }
    if (!c->n_idle)
        return false;
    m->fd = c->idle[c->idle_at];
    c->idle_at = (c->idle_at + 1) % (size_t)c->conf->connections;
    c->n_idle--;
    member_watch(c, m, EPOLL_CTL_ADD, false);
    return true;
}

/* Releases the connection. */
static void member_lends(struct crowd *c, struct member *m)
{
    if (!c->idle || m->busy || m->fd < 0)
        return;
    epoll_ctl(c->epoll, EPOLL_CTL_DEL, m->fd, NULL);
    c->idle[(c->idle_at + c->n_idle++) % (size_t)c->conf->connections] = m->fd;
    m->fd = -1;
}

static void member_write(struct crowd *c, struct member *m)
{
    while (m->sent < m->out.len) {
        ssize_t r = send(m->fd, m->out.p + m->sent, m->out.len - m->sent, MSG_NOSIGNAL);
        if (r < 0 && (errno == EAGAIN || errno == EINTR || errno == ENOTCONN))
            break;
        if (r < 0) {
            member_fail(c, m, 0, strerror(errno));
            return;
        }
        m->sent += (size_t)r;
    }
    bool more = m->sent < m->out.len;
    if (!more)
        buf_fini(&m->out);
    if (more != m->writable)
        member_watch(c, m, EPOLL_CTL_MOD, more);
}

/* ---- requests ---- */

/* Makes the node's next batch from the actor's newest, if it is new. */
static void member_make(struct crowd *c, struct member *m)
{
    struct actor *a = m->actor;
    AUTO_BUF frame = BUF_INIT(WIRE_BODY_MAX), procs = BUF_INIT(WIRE_BODY_MAX);
    uint64_t procs_id;
    if (!a->made || m->took == a->made || (!c->plain && m->queue.n >= WAITING_MAX))
        return;
    m->took = a->made;
    if (!m->procs || m->procs->id != a->procs_id) {
        wire_put_procs(&procs, &m->id, &a->node.procs, &procs_id);
        enclosure_renew(&m->procs, procs_id, &procs);
    }
    struct batch_key key = {m->id, m->run, ++m->number};
    wire_put_copy(&frame, buf_str(&a->frame), &key, m->facts->id, m->procs->id);
    struct packet *p = packet_new(&key, 0, m->facts, m->procs, &frame);
    packets_push(&m->queue, p);
    packet_unref(p);
    c->made++;
    c->samples += a->samples;
}

static void put_hello(struct crowd *c, const struct member *m)
{
    struct hello h = {.node = m->id,
                      .run = m->run,
                      .sent_ms = clock_wall_ms(),
                      .collect = COLLECT_OK,
                      .state_since_ms = m->actor->node.boot_ms,
                      .backlog = (uint32_t)m->queue.n};
    mem_copy_str(h.name, sizeof(h.name), m->name);
    if (m->actor->node.trouble == DEMO_CLUSTER_HUNG) {
        h.collect = COLLECT_HUNG;
        h.state_since_ms = m->actor->node.trouble_ms;
        mem_copy_str(h.why, sizeof(h.why), "driver does not answer");
    }
    wire_put_hello(&c->body, &h);
}

static void member_send(struct crowd *c, struct member *m)
{
    if (m->busy || (!m->queue.n && m->greeted && m->actor->node.trouble != DEMO_CLUSTER_HUNG) ||
        clock_mono_ms() < m->retry_ms)
        return;
    if (!member_connected(c, m)) {
        if (m->waits)
            return;
        char why[120];
        snprintf(why, sizeof(why), "cannot connect: %s", strerror(errno));
        m->busy = true; /* it would wait */
        member_fail(c, m, 0, why);
        return;
    }
    buf_reset(&c->body);
    wire_start(&c->body);
    put_hello(c, m);
    m->blobs.n = 0;
    if (!m->queue.n && packets_want(&m->queue, &m->blobs, m->facts->id))
        buf_addstr(&c->body, buf_str(&m->facts->frame));
    packets_fill(&m->queue, &m->blobs, &c->body, PER_POST, WIRE_BODY_MAX / 2);
    m->out = BUF_INIT(WIRE_BODY_MAX + 1024);
    m->sent = 0;
    buf_addf(&m->out,
             "POST /api/v1/batches HTTP/1.1\r\nHost: %s\r\nContent-Type: application/x-muster\r\n"
             "Authorization: Bearer %s\r\nContent-Length: %zu\r\n\r\n",
             c->hubs[m->hub].host, m->token, c->body.len);
    buf_addstr(&m->out, buf_str(&c->body));
    m->busy = m->greeted = true;
    m->sent_ms = clock_mono_ms();
    c->posts++;
    member_write(c, m);
}

static void note_token(const struct crowd *c, const struct member *m)
{
    char id[33];
    if (!c->tokens)
        return;
    fprintf(c->tokens, "%s %s\n", node_id_text(&m->id, id), m->token);
    fflush(c->tokens);
}

static void member_answered(struct crowd *c, struct member *m, struct str body)
{
    struct err err = {0};
    struct answer *a = &c->answer;
    int64_t now_ms = clock_mono_ms(), took_ms = MIN(now_ms - m->sent_ms, LATENCY_MAX);
    c->latency[took_ms]++;
    if (now_ms - c->start_ms > SETTLE_MS)
        c->settled[took_ms]++;
    if (answer_parse(body, a, &err) < 0) {
        member_fail(c, m, 200, err.msg);
        return;
    }
    m->busy = false;
    packets_learn(&m->queue, &m->blobs, a);
    c->stored += packets_stored(&m->queue, a, NULL, NULL);
    if (a->token[0]) {
        free(m->token);
        m->token = mem_str(a->token);
        note_token(c, m);
    }
    if (a->interval_ms && !c->conf->interval)
        m->interval_ms = a->interval_ms;
    if (a->n_need || m->queue.n >= (c->plain ? 1 : PER_POST) || c->ending)
        member_send(c, m);
    member_lends(c, m);
}

/* Serves waiting nodes while connections are available. */
static void serve_queue(struct crowd *c)
{
    while (c->queue && (c->n_idle || c->n_open < (size_t)c->conf->connections)) {
        struct member *m = c->queue;
        c->queue = m->behind;
        c->queue_end = c->queue ? c->queue_end : &c->queue;
        m->behind = NULL;
        m->waits = false;
        member_send(c, m);
    }
}

/* Handles a complete response. */
static void member_read(struct crowd *c, struct member *m)
{
    char room[4096];
    uint64_t length = 0;
    ssize_t r = recv(m->fd, room, sizeof(room), 0);
    if (r < 0 && (errno == EAGAIN || errno == EINTR))
        return;
    if (r <= 0 || m->in.len + (size_t)r > ANSWER_MAX) {
        member_fail(c, m, 0, r == 0 ? "the hub closed the connection" : r < 0 ? strerror(errno) : "too long an answer");
        return;
    }
    if (m->in.max == 0)
        m->in = BUF_INIT(ANSWER_MAX);
    buf_add(&m->in, room, (size_t)r);
    struct str in = buf_str(&m->in), line, name;
    const char *end = memmem(in.p, in.len, "\r\n\r\n", 4);
    if (!end)
        return;
    struct str head = str_n(in.p, (size_t)(end - in.p)), body = str_n(end + 4, in.len - (size_t)(end + 4 - in.p));
    while (str_line(&head, &line))
        if (str_cut(&line, ':', &name) && str_eq_nocase(name, "Content-Length")) /* a proxy sends it in lower case */
            str_uint(str_trim(line), &length);
    if (body.len < length)
        return;
    if (!str_starts(in, "HTTP/1.1 200")) {
        struct str first;
        char why[200];
        uint64_t status = 0;
        str_line(&in, &first);
        if (first.len > 12)
            str_uint(str_n(first.p + 9, 3), &status);
        if (c->plain && first.len > 13) /* only the text */
            first = str_n(first.p + 13, first.len - 13);
        snprintf(why, sizeof(why), "%.*s", (int)MIN(first.len, 80u), first.p);
        member_fail(c, m, (int)status, why);
        return;
    }
    struct buf whole = m->in; /* the response may start the next request */
    m->in = (struct buf){0};
    member_answered(c, m, str_n(body.p, (size_t)length));
    buf_fini(&whole);
}

/* ---- time ---- */

/* plain: an actor and its node. */
static void plain_pass(struct crowd *c, struct actor *a)
{
    struct member *m = &c->members[a - c->actors];
    int64_t mono = clock_mono_ms();
    if (a->node.trouble == DEMO_CLUSTER_DOWN)
        return;
    if (!gather_ticks(a->gather) && a->made)
        m->began_ms = mono; /* the first batch is one tick, so that a screen shows data immediately */
    actor_tick(a);
    if (mono + c->conf->tick - m->began_ms >= m->interval_ms)
        actor_seal(c, a);
    member_make(c, m);
    member_send(c, m);
}

/* Checks nodes that wait for a response or a retry. */
static void member_look(struct crowd *c, struct member *m)
{
    if (m->busy && clock_mono_ms() - m->sent_ms > TIMEOUT_MS)
        member_fail(c, m, 0, "no answer from the hub");
    if (m->queue.n)
        member_send(c, m);
}

static void slot_pass(struct crowd *c)
{
    const struct simulate_conf *conf = c->conf;
    size_t at = (size_t)c->slot % c->n_slots, tick = (size_t)c->slot % c->tick_slots;
    bool last = at + c->tick_slots >= c->n_slots;
    for (size_t i = tick; !c->ending && i < (size_t)conf->actors; i += c->tick_slots) {
        struct actor *a = &c->actors[i];
        if (c->plain) {
            plain_pass(c, a);
            continue;
        }
        actor_tick(a);
        if (last || !a->made)
            actor_seal(c, a);
    }
    for (struct member *m = c->due[at]; m; m = m->next) {
        if (c->slot < m->first_slot)
            continue;
        if (!c->ending)
            member_make(c, m);
        member_look(c, m);
        member_send(c, m);
    }
    for (int64_t i = 0; c->plain && c->slot % LOOK_SLOTS == 0 && i < conf->nodes; i++)
        member_look(c, &c->members[i]);
    c->slot++;
}

static void begin_end(struct crowd *c)
{
    c->ending = true;
    for (int64_t i = 0; c->plain && i < c->conf->nodes; i++) {
        actor_seal(c, &c->actors[i]);
        member_make(c, &c->members[i]);
        member_look(c, &c->members[i]);
    }
}

static size_t kept_all(const struct crowd *c)
{
    size_t n = 0;
    for (int64_t i = 0; i < c->conf->nodes; i++)
        n += c->members[i].queue.n;
    return n;
}

static int64_t latency_at(const uint32_t *latency, double part)
{
    uint64_t all = 0, sum = 0;
    for (size_t i = 0; i <= LATENCY_MAX; i++)
        all += latency[i];
    for (size_t i = 0; i <= LATENCY_MAX; i++)
        if ((sum += latency[i]) >= (uint64_t)((double)all * part) && sum)
            return (int64_t)i;
    return 0;
}

static void say(const struct crowd *c)
{
    fprintf(stderr,
            "muster simulate: %llu batches made, %llu stored, %zu waiting, %llu samples, %llu requests, %llu failed",
            (unsigned long long)c->made, (unsigned long long)c->stored, kept_all(c), (unsigned long long)c->samples,
            (unsigned long long)c->posts, (unsigned long long)c->failures);
    if (!c->plain)
        fprintf(stderr,
                "; acknowledged after %lld ms (median), %lld ms (99 %%), %lld ms (all), %lld ms (99 %% after the first "
                "minute)",
                (long long)latency_at(c->latency, 0.5), (long long)latency_at(c->latency, 0.99),
                (long long)latency_at(c->latency, 1), (long long)latency_at(c->settled, 0.99));
    fputc('\n', stderr);
}

static void run(struct crowd *c)
{
    struct epoll_event events[256];
    int64_t next_say = 10000, end = c->conf->duration, drain = 0;
    for (;;) {
        int64_t now = clock_mono_ms() - c->start_ms;
        int n = epoll_wait(c->epoll, events, ARRAY_LEN(events), (int)MAX(0, (c->slot + 1) * SLOT_MS - now));
        for (int i = 0; i < n; i++) {
            struct member *m = events[i].data.ptr;
            if (m->fd >= 0 && (events[i].events & EPOLLOUT))
                member_write(c, m);
            if (m->fd >= 0 && (events[i].events & (EPOLLIN | EPOLLHUP | EPOLLERR)))
                member_read(c, m);
        }
        now = clock_mono_ms() - c->start_ms;
        while ((c->slot + 1) * SLOT_MS <= now)
            slot_pass(c);
        serve_queue(c);
        if (!c->ending && (asked_to_stop || (end && now >= end))) {
            asked_to_stop = 0;
            begin_end(c);
            drain = now + c->conf->drain;
        }
        if (c->ending && (asked_to_stop || now >= drain || c->stored == c->made))
            return;
        if (now >= next_say) {
            if (!c->conf->quiet)
                say(c);
            next_say += 10000;
        }
    }
}

/* ---- from start to end ---- */

static int allow_files(int64_t nodes, struct err *err)
{
    struct rlimit rl;
    rlim_t want = (rlim_t)nodes + FD_OTHERS;
    if (getrlimit(RLIMIT_NOFILE, &rl) < 0 || rl.rlim_cur >= want)
        return 0;
    struct rlimit more = {want, MAX(rl.rlim_max, want)}, most = {rl.rlim_max, rl.rlim_max};
    if (setrlimit(RLIMIT_NOFILE, &more) == 0) /* root may raise it */
        return 0;
    setrlimit(RLIMIT_NOFILE, &most);
    return err_set(err, -EMFILE,
                   "%lld nodes need as many open files, and this process may have fewer: raise `ulimit -n`",
                   (long long)nodes);
}

static void init_node(const struct crowd *c, struct demo_cluster_node *ret, const struct replay *trace, int64_t i)
{
    const struct simulate_conf *conf = c->conf;
    if (conf->demo)
        demo_cluster_init_demo(ret, trace, (unsigned)i, c->story_ms);
    else
        demo_cluster_init(ret, trace, conf->prefix, (unsigned)i, (unsigned)conf->gpus, (uint64_t)conf->seed,
                          (unsigned)conf->people, clock_wall_ms());
    ret->fact.tick_ms = (int32_t)conf->tick;
    ret->tells |= conf->work;
}

static void member_start(struct crowd *c, int64_t i, const char *token)
{
    struct member *m = &c->members[i];
    struct demo_cluster_node own;
    AUTO_BUF facts = BUF_INIT(WIRE_BODY_MAX);
    uint64_t facts_id;
    init_node(c, &own, c->actors[0].node.trace, i);
    wire_put_facts(&facts, &own.id, &own.fact, &facts_id);
    *m = (struct member){.hub = (size_t)i % c->n_hubs,
                         .fd = -1,
                         .id = own.id,
                         .run = rand_u64(),
                         .actor = &c->actors[i % c->conf->actors],
                         .name = mem_str(own.fact.name),
                         .token = mem_str(token),
                         .facts = enclosure_new(facts_id, &facts),
                         .interval_ms = c->conf->interval ? c->conf->interval : INTERVAL_MS};
    demo_cluster_fini(&own);
    if (c->plain) {
        m->began_ms = clock_mono_ms() - m->interval_ms;
    } else {
        m->first_slot =
            (int64_t)(i * 2654435761u % (uint64_t)c->conf->nodes) * c->conf->arrive / SLOT_MS / c->conf->nodes;
        struct member **due = &c->due[(size_t)i * c->n_slots / (size_t)c->conf->nodes];
        m->next = *due;
        *due = m;
    }
}

static void member_stop(struct crowd *c, struct member *m)
{
    member_hang_up(c, m);
    packets_fini(&m->queue);
    enclosure_unref(m->facts);
    enclosure_unref(m->procs);
    FREE_ALL(m->blobs.v, m->name, m->token);
}

static void start(struct crowd *c, const struct replay *trace, const char *token)
{
    int64_t interval = c->conf->interval ? c->conf->interval : INTERVAL_MS;
    c->n_slots = (size_t)MAX(1, interval / SLOT_MS);
    c->tick_slots = (size_t)MAX(1, (c->plain ? c->conf->tick : MIN(c->conf->tick, interval)) / SLOT_MS);
    c->due = mem_zero(c->n_slots, sizeof(*c->due));
    c->latency = mem_zero(LATENCY_MAX + 1, sizeof(*c->latency));
    c->settled = mem_zero(LATENCY_MAX + 1, sizeof(*c->settled));
    c->body = BUF_INIT(WIRE_BODY_MAX);
    c->enc = wire_enc_new(3);
    c->actors = mem_zero((size_t)c->conf->actors, sizeof(*c->actors));
    for (int64_t i = 0; i < c->conf->actors; i++) {
        struct actor *a = &c->actors[i];
        init_node(c, &a->node, trace, i);
        if (c->conf->demo)
            demo_cluster_catch_up(&a->node, clock_wall_ms());
        a->gather = gather_new();
        a->frame = BUF_INIT(WIRE_BODY_MAX);
    }
    c->members = mem_zero((size_t)c->conf->nodes, sizeof(*c->members));
    c->queue_end = &c->queue;
    if (c->conf->connections)
        c->idle = mem_zero((size_t)c->conf->connections, sizeof(*c->idle));
    for (int64_t i = 0; i < c->conf->nodes; i++)
        member_start(c, i, token);
    c->start_ms = clock_mono_ms();
}

static void stop(struct crowd *c)
{
    for (int64_t i = 0; i < c->conf->nodes; i++)
        member_stop(c, &c->members[i]);
    for (size_t i = 0; i < c->n_idle; i++)
        close(c->idle[(c->idle_at + i) % (size_t)c->conf->connections]);
    for (int64_t i = 0; i < c->conf->actors; i++) {
        gather_free(c->actors[i].gather);
        demo_cluster_fini(&c->actors[i].node);
        buf_fini(&c->actors[i].frame);
    }
    wire_enc_free(c->enc);
    buf_fini(&c->body);
    FREE_ALL(c->actors, c->members, c->due, c->idle, c->latency, c->settled);
    close(c->epoll);
    if (c->tokens)
        fclose(c->tokens);
}

/* Lines "node token"; later ones replace earlier ones. */
static void read_tokens(struct crowd *c, struct str text)
{
    struct str line, node;
    while (str_line(&text, &line)) {
        bool both = str_cut(&line, ' ', &node) && line.len;
        for (int64_t i = 0; both && i < c->conf->nodes; i++) {
            struct member *m = &c->members[i];
            char id[33];
            if (str_eq(node, node_id_text(&m->id, id))) {
                free(m->token);
                m->token = mem_strn(line.p, line.len);
            }
        }
    }
}

static int keep_tokens(struct crowd *c, struct err *err)
{
    const char *path = c->conf->tokens;
    AUTO_BUF known = BUF_INIT(64u << 20);
    int fd = path ? open(path, O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC, 0600) : -1;
    if (!path)
        return 0;
    if (fd < 0 || buf_read_fd(&known, fd) < 0 || !(c->tokens = fdopen(fd, "a"))) {
        int code = -errno;
        if (fd >= 0)
            close(fd);
        return err_set(err, code, "cannot open '%s': %s", path, strerror(-code));
    }
    read_tokens(c, buf_str(&known));
    return 0;
}

static int set_hub(const struct crowd *c, struct crowd_hub *h, const struct crowd_place *at, struct err *err)
{
    struct in_addr ip;
    h->name = strcmp(at->host, "localhost") == 0 && !c->plain ? "127.0.0.1" : at->host;
    h->port = at->port;
    snprintf(h->host, sizeof(h->host), "%.60s:%d", at->host, at->port);
    if (!c->plain && inet_pton(AF_INET, h->name, &ip) != 1)
        return err_set(err, -EINVAL, "--actors wants the hub's IPv4 address, and '%s' is none", at->host);
    return 0;
}

int crowd_run(const struct simulate_conf *conf, const struct replay *trace, const struct crowd_place *hubs, size_t n,
              const char *token, FILE *ledger, struct err *err)
{
    struct simulate_conf own = *conf;
    struct crowd *c = NEW(struct crowd, .conf = &own, .plain = own.actors == 0, .n_hubs = MIN(n, CROWD_HUBS_MAX),
                          .ledger = ledger, .token = token, .story_ms = clock_wall_ms());
    struct sigaction act = {.sa_handler = on_signal};
    own.actors = c->plain ? own.nodes : MIN(own.actors, own.nodes);
    own.connections = c->plain || own.connections >= own.nodes ? 0 : own.connections;
    int r = allow_files(own.connections ? own.connections : own.nodes, err);
    if (c->plain)
        r = 0; /* continue with what is allowed */
    if (r == 0 && own.until && clock_parse(own.until, strlen(own.until), &c->story_ms) < 0)
        r = err_set(err, -EINVAL, "--until: '%s' is not a time", own.until);
    for (size_t i = 0; i < c->n_hubs && r == 0; i++)
        r = set_hub(c, &c->hubs[i], &hubs[i], err);
    c->epoll = r == 0 ? epoll_create1(EPOLL_CLOEXEC) : -1;
    if (r == 0 && c->epoll < 0)
        r = err_set(err, -errno, "cannot wait for sockets: %s", strerror(errno));
    if (r == 0) {
        sigaction(SIGTERM, &act, NULL);
        sigaction(SIGINT, &act, NULL);
        start(c, trace, token);
        r = keep_tokens(c, err);
    }
    if (r == 0) {
        run(c);
        size_t left = kept_all(c);
        if (!own.quiet && !c->plain)
            say(c);
        else if (!own.quiet)
            fprintf(stderr, "muster simulate: %llu batches made, %llu stored, %llu samples\n",
                    (unsigned long long)c->made, (unsigned long long)c->stored, (unsigned long long)c->samples);
        stop(c);
        if (left)
            r = err_set(err, -ETIMEDOUT, "%zu batches were not acknowledged", left);
    }
    free(c);
    return r;
}
