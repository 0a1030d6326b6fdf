/*
 * cmd_simulate.c: many invented nodes talking to one hub over real HTTP. Each node has its own connection, its own
 * token, numbers its batches and keeps each one until the hub has acknowledged it, as an agent does; only the spool is
 * in memory. The ledger names every batch made, with a checksum of its values, so that another program can tell what
 * must be in the store.
 */
#include "sim/cmd_simulate.h"

#include <errno.h>
#include <event2/buffer.h>
#include <event2/event.h>
#include <event2/http.h>
#include <signal.h>
#include <sys/resource.h>
#include <zlib.h>

#include "base/clock.h"
#include "base/file.h"
#include "base/mem.h"
#include "base/rand.h"
#include "cli/cli.h"
#include "cli/cmd.h"
#include "collect/trace.h"
#include "sim/crowd.h"
#include "sim/demo_cluster.h"
#include "wire/wire.h"

enum { PER_POST = 16, WAITING_MAX = 20000, TIMEOUT_S = 15 };

struct waiting { /* a batch not yet acknowledged */
    uint64_t number;
    struct buf bytes;
    struct buf procs; /* the process list it names, when no batch before it did: sent along each time */
};

struct sim_node {
    struct sim *sim;
    struct demo_cluster_node cast;
    struct gather *gather;
    uint64_t run, number, facts_id, procs_id, procs_seen;
    struct buf facts, procs; /* frames, sent when new or asked for */
    bool send_facts, send_procs, procs_fresh;
    struct waiting *waiting;
    size_t n_waiting, cap_waiting;
    struct evhttp_connection *conn;
    bool busy; /* a request is under way */
    struct event *tick, *retry;
    int64_t next_ms;  /* next tick, monotonic */
    int64_t began_ms; /* first tick of the batch being filled, monotonic */
    int64_t interval_ms, hung_since_ms;
    char *auth;
};

struct sim {
    const struct simulate_conf *conf;
    struct event_base *base;
    char *host, *path;
    int port;
    struct replay *trace;
    struct wire_enc *enc;
    struct sim_node *nodes;
    struct answer answer;
    FILE *ledger;
    int64_t end_ms, drain_ms; /* monotonic; 0: never */
    bool ending;
    uint64_t made, stored, samples, posts, failures;
};

static void send_next(struct sim_node *n);

static void after_ms(struct event *e, int64_t ms)
{
    struct timeval tv = {.tv_sec = ms / 1000, .tv_usec = ms % 1000 * 1000};
    event_add(e, &tv);
}

/* ---- batches ---- */

/* The checksum of one value: CRC-32 of node, time, slot, metric, value; a batch's is their sum, so that order does not
 * matter. */
static uint64_t value_sum(const struct sim_node *n, const struct batch *b, size_t c, size_t t)
{
    char room[64];
    struct buf row = {.p = room, .cap = sizeof(room), .max = sizeof(room)};
    buf_add(&row, n->cast.id.b, NODE_ID_LEN);
    buf_u64(&row, (uint64_t)b->at_ms[t]);
    buf_u16(&row, b->columns[c].slot);
    buf_u16(&row, b->columns[c].metric);
    buf_u64(&row, (uint64_t)b->columns[c].v[t]);
    return crc32(0, (const uint8_t *)row.p, (unsigned)row.len);
}

static void to_ledger(struct sim *s, const struct sim_node *n, const struct batch *b)
{
    uint64_t count = 0, sum = 0;
    for (size_t c = 0; c < b->n_columns; c++)
        for (size_t t = 0; t < b->n_ticks; t++)
            if (column_has(&b->columns[c], t)) {
                count++;
                sum += s->ledger ? value_sum(n, b, c, t) : 0;
            }
    s->samples += count;
    if (s->ledger) {
        char id[33];
        fprintf(s->ledger, "%s %016llx %llu %llu %016llx\n", node_id_text(&n->cast.id, id), (unsigned long long)n->run,
                (unsigned long long)b->key.number, (unsigned long long)count, (unsigned long long)sum);
    }
}

static void refresh_procs(struct sim_node *n)
{
    if (n->procs_seen == n->cast.procs_changed && n->procs_id)
        return;
    n->procs_seen = n->cast.procs_changed;
    buf_reset(&n->procs);
    wire_put_procs(&n->procs, &n->cast.id, &n->cast.procs, &n->procs_id);
    n->procs_fresh = true;
}

static void seal(struct sim_node *n)
{
    struct batch b;
    gather_batch(n->gather, &b);
    if (!b.n_ticks)
        return;
    b.key = (struct batch_key){n->cast.id, n->run, ++n->number};
    b.facts = n->facts_id;
    b.procs = n->procs_id;
    VEC_ROOM(n->waiting, n->n_waiting, n->cap_waiting);
    struct waiting *w = &n->waiting[n->n_waiting];
    *w = (struct waiting){.number = n->number, .bytes = BUF_INIT(WIRE_BODY_MAX), .procs = BUF_INIT(WIRE_BODY_MAX)};
    if (n->procs_fresh)
        buf_addstr(&w->procs, buf_str(&n->procs));
    n->procs_fresh = false;
    wire_put_batch(n->sim->enc, &w->bytes, &b);
    n->n_waiting++;
    n->sim->made++;
    to_ledger(n->sim, n, &b);
    gather_reset(n->gather);
}

static void on_tick(evutil_socket_t fd, short what, void *arg)
{
    (void)fd;
    (void)what;
    struct sim_node *n = arg;
    struct sim *s = n->sim;
    int64_t mono = clock_mono_ms();
    if (s->ending) {
        seal(n);
    } else {
        if (!gather_ticks(n->gather) && n->number)
            n->began_ms = mono; /* the first batch is one tick, so that a screen fills at once */
        demo_cluster_tick(&n->cast, clock_wall_ms(), n->gather);
        refresh_procs(n);
        if (mono + s->conf->tick - n->began_ms >= n->interval_ms || n->n_waiting > WAITING_MAX)
            seal(n);
        n->next_ms += s->conf->tick;
        int64_t wait = MAX(0, n->next_ms - mono);
        after_ms(n->tick, wait);
    }
    send_next(n);
}

/* ---- talking ---- */

static void waiting_fini(struct waiting *w)
{
    buf_fini(&w->bytes);
    buf_fini(&w->procs);
}

static void forget(struct sim_node *n, uint64_t run, uint64_t number)
{
    if (run != n->run)
        return;
    for (size_t i = 0; i < n->n_waiting; i++)
        if (n->waiting[i].number == number) {
            waiting_fini(&n->waiting[i]);
            memmove(&n->waiting[i], &n->waiting[i + 1], (n->n_waiting - i - 1) * sizeof(*n->waiting));
            n->n_waiting--;
            n->sim->stored++;
            return;
        }
}

static void on_answer(struct evhttp_request *rq, void *arg)
{
    struct sim_node *n = arg;
    struct sim *s = n->sim;
    n->busy = false;
    int status = rq ? evhttp_request_get_response_code(rq) : 0;
    struct err err = {0};
    if (status == 200) {
        struct evbuffer *in = evhttp_request_get_input_buffer(rq);
        struct str text = str_n(evbuffer_pullup(in, -1), evbuffer_get_length(in));
        if (answer_parse(text, &s->answer, &err) == 0) {
            for (size_t i = 0; i < s->answer.n_stored; i++)
                forget(n, s->answer.stored[i].run, s->answer.stored[i].number);
            for (size_t i = 0; i < s->answer.n_need; i++) {
                n->send_facts |= s->answer.need[i] == n->facts_id;
                n->send_procs |= s->answer.need[i] != n->facts_id;
            }
            if (s->answer.token[0]) {
                free(n->auth);
                n->auth = mem_fmt("Bearer %s", s->answer.token);
            }
            if (s->answer.interval_ms && !s->conf->interval)
                n->interval_ms = s->answer.interval_ms;
            if (n->n_waiting)
                send_next(n);
            return;
        }
    }
    if (s->failures++ == 0 || status == 401 || status == 403)
        fprintf(stderr, "muster simulate: %s: %s\n", n->cast.fact.name,
                status ? status == 200 ? err.msg : evhttp_request_get_response_code_line(rq)
                       : "no answer from the hub; trying again");
    n->send_facts = true; /* a hub that died may not have kept them */
    int64_t wait = 200 + (int64_t)(rand_unit() * 600);
    after_ms(n->retry, wait);
}

static void put_hello(struct sim_node *n, struct buf *out)
{
    struct hello h = {.node = n->cast.id,
                      .run = n->run,
                      .sent_ms = clock_wall_ms(),
                      .collect = COLLECT_OK,
                      .state_since_ms = n->cast.boot_ms,
                      .backlog = (uint32_t)n->n_waiting};
    mem_copy_str(h.name, sizeof(h.name), n->cast.fact.name);
    if (n->cast.trouble == DEMO_CLUSTER_HUNG) {
        h.collect = COLLECT_HUNG;
        h.state_since_ms = n->hung_since_ms;
        mem_copy_str(h.why, sizeof(h.why), "driver does not answer");
    }
    wire_put_hello(out, &h);
}

static void send_next(struct sim_node *n)
{
    struct sim *s = n->sim;
    if (n->busy || evtimer_pending(n->retry, NULL) ||
        (!n->n_waiting && n->cast.trouble != DEMO_CLUSTER_HUNG && !n->send_facts))
        return;
    AUTO_BUF body = BUF_INIT(WIRE_BODY_MAX);
    wire_start(&body);
    put_hello(n, &body);
    if (n->send_facts)
        buf_addstr(&body, buf_str(&n->facts));
    if (n->send_procs)
        buf_addstr(&body, buf_str(&n->procs));
    n->send_facts = n->send_procs = false;
    for (size_t i = 0; i < n->n_waiting && i < PER_POST; i++) {
        buf_addstr(&body, buf_str(&n->waiting[i].procs));
        buf_addstr(&body, buf_str(&n->waiting[i].bytes));
    }
    struct evhttp_request *rq = evhttp_request_new(on_answer, n);
    struct evkeyvalq *head = evhttp_request_get_output_headers(rq);
    evhttp_add_header(head, "Host", s->host);
    evhttp_add_header(head, "Content-Type", "application/x-muster");
    evhttp_add_header(head, "Authorization", n->auth);
    evbuffer_add(evhttp_request_get_output_buffer(rq), body.p, body.len);
    n->busy = true;
    s->posts++;
    if (evhttp_make_request(n->conn, rq, EVHTTP_REQ_POST, s->path)) {
        n->busy = false;
        after_ms(n->retry, 1000);
    }
}

static void on_retry(evutil_socket_t fd, short what, void *arg)
{
    (void)fd;
    (void)what;
    send_next(arg);
}

/* ---- the whole ---- */

static size_t waiting_all(const struct sim *s)
{
    size_t n = 0;
    for (int64_t i = 0; i < s->conf->nodes; i++)
        n += s->nodes[i].n_waiting;
    return n;
}

static void begin_end(struct sim *s)
{
    s->ending = true;
    s->drain_ms = clock_mono_ms() + s->conf->drain;
    for (int64_t i = 0; i < s->conf->nodes; i++)
        if (s->nodes[i].cast.trouble != DEMO_CLUSTER_DOWN)
            event_active(s->nodes[i].tick, EV_TIMEOUT, 1);
}

static void on_second(evutil_socket_t fd, short what, void *arg)
{
    (void)fd;
    (void)what;
    struct sim *s = arg;
    static int seconds;
    int64_t mono = clock_mono_ms();
    if (!s->ending && s->end_ms && mono >= s->end_ms)
        begin_end(s);
    if (s->ending && (waiting_all(s) == 0 || mono > s->drain_ms))
        event_base_loopbreak(s->base);
    if (++seconds % 10 == 0 && !s->conf->quiet)
        fprintf(stderr,
                "muster simulate: %llu batches made, %llu stored, %zu waiting, %llu samples, %llu requests, %llu "
                "failed\n",
                (unsigned long long)s->made, (unsigned long long)s->stored, waiting_all(s),
                (unsigned long long)s->samples, (unsigned long long)s->posts, (unsigned long long)s->failures);
}

static void on_signal(evutil_socket_t fd, short what, void *arg)
{
    (void)fd;
    (void)what;
    struct sim *s = arg;
    if (s->ending)
        event_base_loopbreak(s->base);
    else
        begin_end(s);
}

static int parse_hub(struct sim *s, struct err *err)
{
    const char *url = s->conf->hub && s->conf->hub[0] ? s->conf->hub : "http://127.0.0.1:8765";
    struct evhttp_uri *u = evhttp_uri_parse(url);
    const char *scheme = u ? evhttp_uri_get_scheme(u) : NULL, *host = u ? evhttp_uri_get_host(u) : NULL;
    if (!scheme || strcmp(scheme, "http") != 0 || !host || !host[0]) {
        if (u)
            evhttp_uri_free(u);
        return err_set(err, -EINVAL, "--hub: '%s' is not an http:// address", url);
    }
    s->host = mem_str(host);
    s->port = evhttp_uri_get_port(u) > 0 ? evhttp_uri_get_port(u) : 80;
    s->path = mem_str("/api/v1/batches");
    evhttp_uri_free(u);
    return 0;
}

static void start_node(struct sim *s, int64_t i, const char *token)
{
    struct sim_node *n = &s->nodes[i];
    int64_t now = clock_wall_ms(), mono = clock_mono_ms();
    n->sim = s;
    if (s->conf->demo)
        demo_cluster_init_demo(&n->cast, s->trace, (unsigned)i, now);
    else
        demo_cluster_init(&n->cast, s->trace, s->conf->prefix, (unsigned)i, (unsigned)s->conf->gpus,
                          (uint64_t)s->conf->seed, (unsigned)s->conf->people, now);
    n->cast.fact.tick_ms = (int32_t)s->conf->tick;
    n->hung_since_ms = now - INT64_C(4) * 60000;
    n->gather = gather_new();
    n->run = rand_u64();
    n->auth = mem_fmt("Bearer %s", token);
    n->interval_ms = s->conf->interval ? s->conf->interval : 5000;
    n->facts = n->procs = BUF_INIT(WIRE_BODY_MAX);
    wire_put_facts(&n->facts, &n->cast.id, &n->cast.fact, &n->facts_id);
    n->send_facts = true;
    refresh_procs(n);
    n->tick = evtimer_new(s->base, on_tick, n);
    n->retry = evtimer_new(s->base, on_retry, n);
    n->conn = evhttp_connection_base_new(s->base, NULL, s->host, (unsigned short)s->port);
    evhttp_connection_set_timeout(n->conn, TIMEOUT_S);
    if (n->cast.trouble == DEMO_CLUSTER_DOWN)
        return;
    /* Spread over one tick, so that nodes arrive evenly. */
    int64_t wait = s->conf->tick * i / s->conf->nodes;
    n->next_ms = mono + wait;
    n->began_ms = mono - n->interval_ms;
    after_ms(n->tick, wait);
}

static void stop_node(struct sim_node *n)
{
    if (n->conn)
        evhttp_connection_free(n->conn);
    if (n->tick)
        event_free(n->tick);
    if (n->retry)
        event_free(n->retry);
    for (size_t i = 0; i < n->n_waiting; i++)
        waiting_fini(&n->waiting[i]);
    free(n->waiting);
    buf_fini(&n->facts);
    buf_fini(&n->procs);
    gather_free(n->gather);
    demo_cluster_fini(&n->cast);
    free(n->auth);
}

static int play(struct sim *s, const char *token, struct err *err)
{
    s->base = event_base_new();
    if (!s->base)
        return err_set(err, -ENOMEM, "cannot start an event loop");
    struct rlimit files;
    if (getrlimit(RLIMIT_NOFILE, &files) == 0) {
        files.rlim_cur = files.rlim_max;
        setrlimit(RLIMIT_NOFILE, &files);
    }
    s->nodes = mem_zero((size_t)s->conf->nodes, sizeof(*s->nodes));
    for (int64_t i = 0; i < s->conf->nodes; i++)
        start_node(s, i, token);
    if (s->conf->duration)
        s->end_ms = clock_mono_ms() + s->conf->duration;
    struct event *second = event_new(s->base, -1, EV_PERSIST, on_second, s);
    struct event *term = evsignal_new(s->base, SIGTERM, on_signal, s),
                 *intr = evsignal_new(s->base, SIGINT, on_signal, s);
    after_ms(second, 1000);
    evsignal_add(term, NULL);
    evsignal_add(intr, NULL);
    event_base_dispatch(s->base);
    size_t left = waiting_all(s);
    for (int64_t i = 0; i < s->conf->nodes; i++)
        stop_node(&s->nodes[i]);
    event_free(second);
    event_free(term);
    event_free(intr);
    event_base_free(s->base);
    free(s->nodes);
    if (!s->conf->quiet)
        fprintf(stderr, "muster simulate: %llu batches made, %llu stored, %llu samples\n", (unsigned long long)s->made,
                (unsigned long long)s->stored, (unsigned long long)s->samples);
    if (left)
        return err_set(err, -ETIMEDOUT, "%zu batches were not acknowledged", left);
    return 0;
}

int simulate_run(const struct simulate_conf *conf, struct err *err)
{
    struct sim s = {.conf = conf};
    AUTO_BUF token = BUF_INIT(4096);
    if (conf->token && conf->token[0])
        buf_adds(&token, conf->token);
    else if (conf->token_file && conf->token_file[0]) {
        int r = file_read_secret(conf->token_file, &token, err);
        if (r < 0)
            return r;
    } else {
        return err_set(err, -EINVAL, "a token is needed: `muster token new --role enroll` makes one that fits");
    }
    int r = parse_hub(&s, err);
    if (!r && conf->actors && conf->ledger && conf->ledger[0])
        r = err_set(err, -EINVAL, "--actors and --ledger do not go together: nodes that repeat others have no ledger");
    if (!r)
        r = replay_load(&s.trace, trace_text(), "the recorded trace", err);
    if (!r && conf->ledger && conf->ledger[0] && !(s.ledger = fopen(conf->ledger, "we")))
        r = err_set(err, -errno, "cannot open '%s': %s", conf->ledger, strerror(errno));
    if (!r && conf->actors) {
        r = crowd_run(conf, s.trace, s.host, s.port, token.p, err);
    } else if (!r) {
        s.enc = wire_enc_new(3);
        r = play(&s, token.p, err);
        wire_enc_free(s.enc);
    }
    if (s.ledger && fclose(s.ledger) && !r)
        r = err_set(err, -errno, "cannot write '%s': %s", conf->ledger, strerror(errno));
    replay_free(s.trace);
    free(s.host);
    free(s.path);
    return r;
}

/* ---- the command ---- */

static const struct opt simulate_opts[] = {
    OPT(simulate_conf, hub, 0, OPT_STR, NULL, "URL", "the hub to send to (default http://127.0.0.1:8765)", .url = true),
    OPT(simulate_conf, token, 0, OPT_SECRET, NULL, "TOKEN", "an enroll token; better in a file: a flag shows in ps"),
    OPT(simulate_conf, token_file, 0, OPT_PATH, NULL, "FILE", "file that holds the token"),
    OPT(simulate_conf, nodes, 'n', OPT_INT, "10", "N", "nodes", .min = 1, .max = 100000),
    OPT(simulate_conf, actors, 0, OPT_INT, "0", "N",
        "invent only so many and let the other nodes repeat their values: for thousands of nodes; 0: all differ",
        .min = 0, .max = 100000),
    OPT(simulate_conf, gpus, 'g', OPT_INT, "8", "G", "GPUs per node", .min = 1, .max = DEVICES_MAX),
    OPT(simulate_conf, tick, 0, OPT_DURATION, "1s", "TIME", "time between samples", .min = 100, .max = 60000),
    OPT(simulate_conf, interval, 0, OPT_DURATION, "0", "TIME", "time between requests; 0: as the hub asks", .min = 0,
        .max = 300000),
    OPT(simulate_conf, duration, 0, OPT_DURATION, "0", "TIME", "stop after this long; 0: run until stopped", .min = 0,
        .max = 604800000),
    OPT(simulate_conf, drain, 0, OPT_DURATION, "30s", "TIME", "then wait this long for the last acknowledgements",
        .min = 0, .max = 3600000),
    OPT(simulate_conf, prefix, 0, OPT_STR, "sim", "NAME", "node names: this and a number"),
    OPT(simulate_conf, seed, 0, OPT_INT, "1", "N", "another number, another cluster"),
    OPT(simulate_conf, people, 0, OPT_INT, "0", "N", "people whose jobs run; 0: the usual eight", .min = 0,
        .max = 100000),
    OPT(simulate_conf, backfill, 0, OPT_DURATION, "0", "TIME", "make the past instead: so far back, as fast as it goes",
        .min = 0, .max = 3653ll * 86400000),
    OPT(simulate_conf, every, 0, OPT_DURATION, "10s", "TIME", "time between samples of the past", .min = 100,
        .max = 3600000),
    OPT(simulate_conf, until, 0, OPT_STR, NULL, "WHEN", "the past ends then; now unless told"),
    OPT(simulate_conf, data, 'd', OPT_PATH, NULL, "DIR", "write the past into this data folder, which no hub has open"),
    OPT(simulate_conf, ledger, 0, OPT_PATH, NULL, "FILE",
        "write a line per batch made: node, run, number, samples, checksum"),
    OPTN(simulate_conf, "cast_demo", demo, 0, OPT_BOOL, NULL, NULL, "the demo's six nodes", .hidden = true),
    OPT(simulate_conf, quiet, 'q', OPT_BOOL, NULL, NULL, "no progress lines"),
    {0},
};
const struct opt_cmd simulate_help = {
    .name = "muster simulate",
    .summary = "play many nodes from the recorded trace against a hub",
    .about =
        "Sends what N agents with G GPUs each would send, over real HTTP, one connection per node: for tests, "
        "benchmarks, and for "
        "seeing what a hub carries. Every batch is kept and sent again until the hub has acknowledged it.\n\nWith "
        "an enroll token each "
        "node gets a token of its own, as a new agent would.\n\nWith --backfill it makes history instead: the same "
        "nodes and people, so far back, into a data folder (quickest) or to a hub. The same seed and times make the "
        "same past, and what is there already is not stored twice.",
    .examples =
        "muster simulate --nodes 50 --token-file t --duration 1m  # fifty nodes for a minute\n"
        "muster simulate --nodes 10000 --actors 500 --token-file t  # ten thousand, of little work to this side\n"
        "muster simulate --backfill 30d --nodes 13 --every 10s --data DIR  # a month of 104 GPUs\n"
        "muster simulate --backfill 365d --every 1m --people 200 --nodes 13 --data DIR  # a year of 200 people",
    .opts = simulate_opts,
};

int cmd_simulate(int argc, char **argv)
{
    struct simulate_conf conf = {0};
    struct err err = {0};
    int argi, r = cli_parse(&simulate_help, &conf, argc, argv, &argi);
    if (r >= 0)
        goto out;
    if (argi != argc) {
        r = cli_fail(&simulate_help, EXIT_USAGE, "unexpected argument '%s'", argv[argi]);
        goto out;
    }
    if (conf.demo)
        conf.nodes = DEMO_CLUSTER_DEMO_NODES;
    if (conf.data && !conf.backfill)
        r = err_set(&err, -EINVAL, "--data goes with --backfill");
    else
        r = conf.backfill ? backfill_run(&conf, &err) : simulate_run(&conf, &err);
    if (r < 0)
        r = cli_fail(&simulate_help, r == -EINVAL ? EXIT_USAGE : EXIT_REACH, "%s", err.msg);
out:
    opt_fini(simulate_opts, &conf);
    return r;
}
