/*
 * crowd.c: thousands of nodes as load for a hub, made with little processor time, so that the hub on the same machine
 * has it. Actors play the trace and encode a body each interval; every node sends its actor's body in a frame of its
 * own, with its own key, facts, token, address and connection, and keeps it until it is acknowledged. Nodes send spread
 * evenly over the interval, whatever phase the hub tells. Not libevent: a socket and two buffers a node.
 */
#include "sim/crowd.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/tcp.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/mem.h"
#include "base/rand.h"
#include "sim/demo_cluster.h"
#include "wire/wire.h"

#define SLOT_MS     10 /* time goes by in steps of this: actors first, then the nodes that are due */
#define PER_POST    16
#define WAITING_MAX 64 /* batches a node keeps; then it makes no more until the hub takes some */
#define TIMEOUT_MS  15000
#define ANSWER_MAX  (64u << 10)
#define LATENCY_MAX 20000 /* ms; counted one by one */
#define SETTLE_MS   60000 /* the first minute, with everybody's enrolment, is counted apart */
#define FD_OTHERS   32

enum { FREE_RANGE = 200 }; /* 127.A.B.C: the last number of an address, so that each node has one of its own */

struct actor {
    struct demo_cluster_node cast;
    struct gather *gather;
    struct buf frame; /* the newest batch, as nobody's */
    uint64_t made, samples, procs_id, procs_seen;
};

struct kept { /* a batch not yet acknowledged, the process list it needs before it */
    uint64_t number;
    struct buf bytes;
};

struct member {
    struct member *next; /* of those that are due in the same slot */
    struct actor *actor;
    int fd; /* -1: not connected */
    bool busy, writable, send_facts;
    uint64_t took; /* the actor's batch it has */
    struct node_id id;
    uint64_t run, number, facts_id, procs_id;
    char *name, *token;
    struct buf facts, in, out;
    size_t sent; /* of out */
    int64_t sent_ms;
    size_t n_kept, cap_kept;
    struct kept *kept;
};

struct crowd {
    const struct simulate_conf *conf;
    struct sockaddr_in hub;
    char host[80];
    int epoll;
    struct wire_enc *enc;
    struct actor *actors;
    struct member *members, **due; /* due: by slot of the interval */
    size_t n_slots, tick_slots;
    int64_t slot, start_ms; /* monotonic */
    bool ending;
    struct answer answer;
    struct buf body;
    uint64_t made, stored, samples, posts, failures, connected;
    uint32_t *latency, *settled; /* settled: after SETTLE_MS */
};

static volatile sig_atomic_t asked_to_stop;

static void on_signal(int sig)
{
    (void)sig;
    asked_to_stop = 1;
}

/* ---- actors ---- */

static void actor_seal(struct crowd *c, struct actor *a)
{
    struct batch b;
    gather_batch(a->gather, &b);
    if (!b.n_ticks)
        return;
    a->samples = 0;
    for (size_t i = 0; i < b.n_columns; i++)
        for (size_t t = 0; t < b.n_ticks; t++)
            a->samples += column_has(&b.columns[i], t);
    b.key = (struct batch_key){.node = a->cast.id, .run = 1, .number = ++a->made};
    b.facts = b.procs = 1;
    buf_reset(&a->frame);
    wire_put_batch(c->enc, &a->frame, &b);
    gather_reset(a->gather);
}

static void actor_tick(struct crowd *c, struct actor *a, bool last)
{
    demo_cluster_tick(&a->cast, clock_wall_ms(), a->gather);
    if (a->procs_seen != a->cast.procs_changed || !a->procs_id) {
        AUTO_BUF scratch = BUF_INIT(WIRE_BODY_MAX);
        wire_put_procs(&scratch, &a->cast.id, &a->cast.procs, &a->procs_id);
        a->procs_seen = a->cast.procs_changed;
    }
    if (last || !a->made) /* the first batch is one tick, so that a screen fills at once */
        actor_seal(c, a);
}

/* ---- connections ---- */

static void member_hang_up(struct crowd *c, struct member *m, const char *why)
{
    if (m->busy && c->failures++ == 0)
        fprintf(stderr, "muster simulate: %s: %s; trying again\n", m->name, why);
    if (m->fd >= 0)
        close(m->fd);
    m->fd = -1;
    m->busy = m->writable = false;
    m->send_facts = true; /* a hub that died may not have kept them */
    buf_fini(&m->in);
    buf_fini(&m->out);
}

/* A node has an address of its own where the hub is on this machine: 127.1.0.1 and up. */
static int bind_own(const struct crowd *c, size_t no, int fd)
{
    struct sockaddr_in from = {.sin_family = AF_INET};
    uint32_t own = (127u << 24 | 1u << 16) + (uint32_t)(no / FREE_RANGE << 8) + 1 + (uint32_t)(no % FREE_RANGE);
    int on = 1;
    if (ntohl(c->hub.sin_addr.s_addr) >> 24 != 127)
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

static bool member_connect(struct crowd *c, struct member *m)
{
    int on = 1, fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (fd < 0)
        return false;
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
    if (bind_own(c, (size_t)(m - c->members), fd) < 0 ||
        (connect(fd, (struct sockaddr *)&c->hub, sizeof(c->hub)) < 0 && errno != EINPROGRESS)) {
        close(fd);
        return false;
    }
    m->fd = fd;
    member_watch(c, m, EPOLL_CTL_ADD, false);
    return true;
}

static void member_write(struct crowd *c, struct member *m)
{
    while (m->sent < m->out.len) {
        ssize_t r = send(m->fd, m->out.p + m->sent, m->out.len - m->sent, MSG_NOSIGNAL);
        if (r < 0 && (errno == EAGAIN || errno == EINTR || errno == ENOTCONN))
            break;
        if (r < 0) {
            member_hang_up(c, m, strerror(errno));
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

static void member_make(struct crowd *c, struct member *m)
{
    struct actor *a = m->actor;
    if (!a->made || m->took == a->made || m->n_kept >= WAITING_MAX)
        return;
    m->took = a->made;
    VEC_ROOM(m->kept, m->n_kept, m->cap_kept);
    struct kept *k = &m->kept[m->n_kept++];
    *k = (struct kept){.number = ++m->number, .bytes = BUF_INIT(WIRE_BODY_MAX)};
    if (m->procs_id != a->procs_id)
        wire_put_procs(&k->bytes, &m->id, &a->cast.procs, &m->procs_id);
    struct batch_key key = {m->id, m->run, m->number};
    wire_put_again(&k->bytes, buf_str(&a->frame), &key, m->facts_id, m->procs_id);
    c->made++;
    c->samples += a->samples;
}

static void member_send(struct crowd *c, struct member *m)
{
    if (m->busy || (!m->n_kept && !m->send_facts))
        return;
    if (m->fd < 0 && !member_connect(c, m)) {
        if (c->failures++ == 0)
            fprintf(stderr, "muster simulate: %s: cannot connect: %s\n", m->name, strerror(errno));
        return;
    }
    struct hello h = {.node = m->id,
                      .run = m->run,
                      .sent_ms = clock_wall_ms(),
                      .collect = COLLECT_OK,
                      .state_since_ms = m->actor->cast.boot_ms,
                      .backlog = (uint32_t)m->n_kept};
    mem_copy_str(h.name, sizeof(h.name), m->name);
    buf_reset(&c->body);
    wire_start(&c->body);
    wire_put_hello(&c->body, &h);
    if (m->send_facts)
        buf_addstr(&c->body, buf_str(&m->facts));
    m->send_facts = false;
    for (size_t i = 0; i < m->n_kept && i < PER_POST; i++)
        buf_addstr(&c->body, buf_str(&m->kept[i].bytes));
    m->out = BUF_INIT(WIRE_BODY_MAX + 1024);
    m->sent = 0;
    buf_adds(&m->out, "POST /api/v1/batches HTTP/1.1\r\nHost: ");
    buf_adds(&m->out, c->host);
    buf_adds(&m->out, "\r\nContent-Type: application/x-muster\r\nAuthorization: Bearer ");
    buf_adds(&m->out, m->token);
    buf_adds(&m->out, "\r\nContent-Length: ");
    buf_addu(&m->out, c->body.len);
    buf_adds(&m->out, "\r\n\r\n");
    buf_addstr(&m->out, buf_str(&c->body));
    m->busy = true;
    m->sent_ms = clock_mono_ms();
    c->posts++;
    member_write(c, m);
}

static void member_forget(struct crowd *c, struct member *m, uint64_t number)
{
    for (size_t i = 0; i < m->n_kept; i++)
        if (m->kept[i].number == number) {
            buf_fini(&m->kept[i].bytes);
            memmove(&m->kept[i], &m->kept[i + 1], (m->n_kept - i - 1) * sizeof(*m->kept));
            m->n_kept--;
            c->stored++;
            return;
        }
}

static void member_due(struct crowd *c, struct member *m, size_t slot)
{
    m->next = c->due[slot];
    c->due[slot] = m;
}

static void member_answered(struct crowd *c, struct member *m, struct str body)
{
    struct err err = {0};
    struct answer *a = &c->answer;
    int64_t now_ms = clock_mono_ms(), took_ms = MIN(now_ms - m->sent_ms, LATENCY_MAX);
    c->latency[took_ms]++;
    if (now_ms - c->start_ms > SETTLE_MS)
        c->settled[took_ms]++;
    m->busy = false;
    if (answer_parse(body, a, &err) < 0) {
        member_hang_up(c, m, err.msg);
        return;
    }
    for (size_t i = 0; i < a->n_stored; i++)
        if (a->stored[i].run == m->run)
            member_forget(c, m, a->stored[i].number);
    for (size_t i = 0; i < a->n_need; i++)
        m->send_facts |= a->need[i] == m->facts_id;
    if (a->token[0]) {
        free(m->token);
        m->token = mem_str(a->token);
    }
    if (m->send_facts || m->n_kept >= PER_POST || c->ending)
        member_send(c, m);
}

/* A whole answer, when it is there. */
static void member_read(struct crowd *c, struct member *m)
{
    char room[4096];
    uint64_t length = 0;
    ssize_t r = recv(m->fd, room, sizeof(room), 0);
    if (r < 0 && (errno == EAGAIN || errno == EINTR))
        return;
    if (r <= 0 || m->in.len + (size_t)r > ANSWER_MAX) {
        member_hang_up(c, m, r == 0 ? "the hub closed the connection" : r < 0 ? strerror(errno) : "too long an answer");
        return;
    }
    if (m->in.max == 0)
        m->in = BUF_INIT(ANSWER_MAX);
    buf_add(&m->in, room, (size_t)r);
    struct str in = buf_str(&m->in), line;
    const char *end = memmem(in.p, in.len, "\r\n\r\n", 4);
    if (!end)
        return;
    struct str head = str_n(in.p, (size_t)(end - in.p)), body = str_n(end + 4, in.len - (size_t)(end + 4 - in.p));
    while (str_line(&head, &line))
        if (str_skip(&line, "Content-Length: "))
            str_uint(str_trim(line), &length);
    if (body.len < length)
        return;
    if (!str_starts(in, "HTTP/1.1 200")) {
        struct str first;
        char why[200];
        str_line(&in, &first);
        snprintf(why, sizeof(why), "%.*s", (int)MIN(first.len, 80u), first.p);
        member_hang_up(c, m, why);
        return;
    }
    struct buf whole = m->in; /* the answer may bring the next request */
    m->in = (struct buf){0};
    member_answered(c, m, str_n(body.p, (size_t)length));
    buf_fini(&whole);
}

/* ---- time ---- */

static void slot_pass(struct crowd *c)
{
    const struct simulate_conf *conf = c->conf;
    size_t at = (size_t)c->slot % c->n_slots, tick = (size_t)c->slot % c->tick_slots;
    bool last = at + c->tick_slots >= c->n_slots;
    for (size_t i = tick; !c->ending && i < (size_t)conf->actors; i += c->tick_slots)
        actor_tick(c, &c->actors[i], last);
    for (struct member *m = c->due[at]; m; m = m->next) {
        if (m->busy && clock_mono_ms() - m->sent_ms > TIMEOUT_MS)
            member_hang_up(c, m, "no answer from the hub");
        if (!c->ending)
            member_make(c, m);
        member_send(c, m);
    }
    c->slot++;
}

static size_t kept_all(const struct crowd *c)
{
    size_t n = 0;
    for (int64_t i = 0; i < c->conf->nodes; i++)
        n += c->members[i].n_kept;
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

static void say(const struct crowd *c, size_t waiting)
{
    fprintf(stderr,
            "muster simulate: %llu batches made, %llu stored, %zu waiting, %llu samples, %llu requests, %llu failed; "
            "acknowledged after %lld ms (median), %lld ms (99 %%), %lld ms (all), %lld ms (99 %% after the first "
            "minute)\n",
            (unsigned long long)c->made, (unsigned long long)c->stored, waiting, (unsigned long long)c->samples,
            (unsigned long long)c->posts, (unsigned long long)c->failures, (long long)latency_at(c->latency, 0.5),
            (long long)latency_at(c->latency, 0.99), (long long)latency_at(c->latency, 1),
            (long long)latency_at(c->settled, 0.99));
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
        if (!c->ending && (asked_to_stop || (end && now >= end))) {
            asked_to_stop = 0;
            c->ending = true;
            drain = now + c->conf->drain;
        }
        if (c->ending && (asked_to_stop || now >= drain || c->stored == c->made))
            return;
        if (now >= next_say) {
            if (!c->conf->quiet)
                say(c, kept_all(c));
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
    rl.rlim_cur = want;
    rl.rlim_max = MAX(rl.rlim_max, want); /* root may */
    if (setrlimit(RLIMIT_NOFILE, &rl) == 0)
        return 0;
    return err_set(err, -EMFILE,
                   "%lld nodes need as many open files, and this process may have fewer: raise `ulimit -n`",
                   (long long)nodes);
}

static void member_start(struct crowd *c, int64_t i, const char *token)
{
    struct member *m = &c->members[i];
    struct demo_cluster_node own;
    demo_cluster_init(&own, c->actors[0].cast.trace, c->conf->prefix, (unsigned)i, (unsigned)c->conf->gpus,
                      (uint64_t)c->conf->seed, (unsigned)c->conf->people, clock_wall_ms());
    own.fact.tick_ms = (int32_t)c->conf->tick;
    *m = (struct member){.fd = -1,
                         .id = own.id,
                         .run = rand_u64(),
                         .send_facts = true,
                         .actor = &c->actors[i % c->conf->actors],
                         .name = mem_str(own.fact.name),
                         .token = mem_str(token),
                         .facts = BUF_INIT(WIRE_BODY_MAX)};
    wire_put_facts(&m->facts, &m->id, &own.fact, &m->facts_id);
    demo_cluster_fini(&own);
    member_due(c, m, (size_t)i * c->n_slots / (size_t)c->conf->nodes);
}

static void member_stop(struct member *m)
{
    if (m->fd >= 0)
        close(m->fd);
    for (size_t i = 0; i < m->n_kept; i++)
        buf_fini(&m->kept[i].bytes);
    free(m->kept);
    free(m->name);
    free(m->token);
    buf_fini(&m->facts);
    buf_fini(&m->in);
    buf_fini(&m->out);
}

static void start(struct crowd *c, const struct replay *trace, const char *token)
{
    int64_t interval = c->conf->interval ? c->conf->interval : 5000;
    c->n_slots = (size_t)MAX(1, interval / SLOT_MS);
    c->tick_slots = (size_t)MAX(1, MIN(c->conf->tick, interval) / SLOT_MS);
    c->due = mem_zero(c->n_slots, sizeof(*c->due));
    c->latency = mem_zero(LATENCY_MAX + 1, sizeof(*c->latency));
    c->settled = mem_zero(LATENCY_MAX + 1, sizeof(*c->settled));
    c->body = BUF_INIT(WIRE_BODY_MAX);
    c->enc = wire_enc_new(3);
    c->actors = mem_zero((size_t)c->conf->actors, sizeof(*c->actors));
    for (int64_t i = 0; i < c->conf->actors; i++) {
        struct actor *a = &c->actors[i];
        demo_cluster_init(&a->cast, trace, c->conf->prefix, (unsigned)i, (unsigned)c->conf->gpus,
                          (uint64_t)c->conf->seed, (unsigned)c->conf->people, clock_wall_ms());
        a->gather = gather_new();
        a->frame = BUF_INIT(WIRE_BODY_MAX);
    }
    c->members = mem_zero((size_t)c->conf->nodes, sizeof(*c->members));
    for (int64_t i = 0; i < c->conf->nodes; i++)
        member_start(c, i, token);
    c->start_ms = clock_mono_ms();
}

static void stop(struct crowd *c)
{
    for (int64_t i = 0; i < c->conf->nodes; i++)
        member_stop(&c->members[i]);
    for (int64_t i = 0; i < c->conf->actors; i++) {
        gather_free(c->actors[i].gather);
        demo_cluster_fini(&c->actors[i].cast);
        buf_fini(&c->actors[i].frame);
    }
    wire_enc_free(c->enc);
    buf_fini(&c->body);
    free(c->actors);
    free(c->members);
    free(c->due);
    free(c->latency);
    free(c->settled);
    close(c->epoll);
}

int crowd_run(const struct simulate_conf *conf, const struct replay *trace, const char *host, int port,
              const char *token, struct err *err)
{
    struct simulate_conf own = *conf;
    struct crowd *c = mem_zero(1, sizeof(*c));
    struct sigaction act = {.sa_handler = on_signal};
    own.actors = MIN(own.actors, own.nodes);
    c->conf = &own;
    c->hub = (struct sockaddr_in){.sin_family = AF_INET, .sin_port = htons((uint16_t)port)};
    snprintf(c->host, sizeof(c->host), "%.60s:%d", host, port);
    int r = allow_files(own.nodes, err);
    if (r == 0 && inet_pton(AF_INET, strcmp(host, "localhost") == 0 ? "127.0.0.1" : host, &c->hub.sin_addr) != 1)
        r = err_set(err, -EINVAL, "--actors wants the hub's IPv4 address, and '%s' is none", host);
    c->epoll = r == 0 ? epoll_create1(EPOLL_CLOEXEC) : -1;
    if (r == 0 && c->epoll < 0)
        r = err_set(err, -errno, "cannot wait for sockets: %s", strerror(errno));
    if (r == 0) {
        sigaction(SIGTERM, &act, NULL);
        sigaction(SIGINT, &act, NULL);
        start(c, trace, token);
        run(c);
        size_t left = kept_all(c);
        if (!own.quiet)
            say(c, left);
        stop(c);
        if (left)
            r = err_set(err, -ETIMEDOUT, "%zu batches were not acknowledged", left);
    }
    free(c);
    return r;
}
