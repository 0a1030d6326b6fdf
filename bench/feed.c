/*
 * feed.c: the invented telemetry into a hub, as enrolled agents send it: a connection, a token and numbered batches per
 * host, sent again until acknowledged.
 *
 *   feed --hub URL --token-file FILE --gpus 1000 --ticks 600 --t0 MS --batch 60     catch-up, as fast as it is taken
 *   feed --hub URL --token-file FILE --gpus 1000 --live 60s --batch 5               as time goes by, hosts arriving
 * evenly
 *
 * Catch-up: everything is encoded and every host enrolled first; then "ready" is printed and a line awaited, so that
 * whoever measures the hub sees nothing but the batches. At the end, and every second of a live run, a line of JSON.
 */
#include <errno.h>
#include <event2/buffer.h>
#include <event2/event.h>
#include <event2/http.h>
#include <sys/resource.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/file.h"
#include "base/mem.h"
#include "base/opt.h"
#include "base/rand.h"
#include "telemetry.h"
#include "wire/wire.h"

enum { TIMEOUT_S = 60, RETRY_MS = 200 };

struct conf {
    char *hub, *token_file;
    int64_t gpus, ticks, t0, step, batch, per_post, live, seed;
};

static const struct opt opts[] = {
    OPT(conf, hub, 0, OPT_STR, NULL, "URL", "the hub"),
    OPT(conf, token_file, 0, OPT_PATH, NULL, "FILE", "an enroll token"),
    OPT(conf, gpus, 'g', OPT_INT, "1000", "N", "GPUs, 8 to a host", .min = 1, .max = 80000),
    OPT(conf, ticks, 'n', OPT_INT, "600", "N", "ticks to send", .min = 1, .max = 10000000),
    OPT(conf, t0, 0, OPT_INT, NULL, "MS", "the first tick, UTC ms", .min = 0, .max = 1ll << 43),
    OPT(conf, step, 0, OPT_DURATION, "1s", "TIME", "between ticks", .min = 100, .max = 60000),
    OPT(conf, batch, 'b', OPT_INT, "60", "N", "ticks in a batch", .min = 1, .max = 600),
    OPT(conf, per_post, 0, OPT_INT, "16", "N", "batches in a request, at most", .min = 1, .max = 256),
    OPT(conf, live, 'l', OPT_DURATION, "0", "TIME", "send what is now for this long", .min = 0, .max = 86400000),
    OPT(conf, seed, 's', OPT_INT, "1", "N", "another number, other values"),
    {0},
};

struct host {
    struct feed *feed;
    int no;
    struct node_id id;
    uint64_t run, facts_id, number;
    struct buf facts, *batches; /* frames not yet acknowledged: batches[0] is number first */
    size_t n, cap;
    uint64_t first;
    struct gather *gather;
    struct evhttp_connection *conn;
    struct event *timer;
    bool busy, enrolled;
    char *auth;
};

struct feed {
    struct conf conf;
    struct event_base *base;
    char *addr;
    struct telemetry *t;
    struct wire_enc *enc;
    struct host *hosts;
    int n_hosts, n_enrolled, n_done;
    int64_t samples, power, acked, bytes, posts, again, began_ms, end_ms;
    struct answer answer;
};

static void die(const char *what)
{
    fprintf(stderr, "feed: %s\n", what);
    exit(1);
}

static void say(struct feed *f)
{
    printf("{\"samples\":%lld,\"acked_batches\":%lld,\"power\":%lld,\"bytes\":%lld,\"posts\":%lld,\"again\":%lld,"
           "\"ms\":%lld}\n",
           (long long)f->samples, (long long)f->acked, (long long)f->power, (long long)f->bytes, (long long)f->posts,
           (long long)f->again, (long long)(clock_mono_ms() - f->began_ms));
    fflush(stdout);
}

static void after_ms(struct event *e, int64_t ms)
{
    struct timeval tv = {.tv_sec = ms / 1000, .tv_usec = ms % 1000 * 1000};
    event_add(e, &tv);
}

static void seal(struct host *h)
{
    struct feed *f = h->feed;
    struct batch b;

    gather_batch(h->gather, &b);
    b.key = (struct batch_key){h->id, h->run, ++h->number};
    b.facts = h->facts_id;
    VEC_ROOM(h->batches, h->n, h->cap);
    h->batches[h->n] = BUF_INIT(WIRE_BODY_MAX);
    if (wire_put_batch(f->enc, &h->batches[h->n], &b) < 0)
        die("a batch could not be encoded");
    h->n++;
    gather_reset(h->gather);
}

static void add_tick(struct host *h, int64_t at_ms)
{
    struct feed *f = h->feed;

    telemetry_gather(f->t, h->no, at_ms, h->gather, &f->power);
    f->samples += (int64_t)telemetry_gpus_of(f->t, h->no) * TELEMETRY_METRICS;
    if (gather_ticks(h->gather) >= (size_t)f->conf.batch)
        seal(h);
}

static void forget(struct host *h, uint64_t run, uint64_t number)
{
    if (run != h->run || number < h->first || number >= h->first + h->n || !h->batches[number - h->first].len)
        return;
    buf_fini(&h->batches[number - h->first]);
    h->feed->acked++;
    size_t gone = 0;
    while (gone < h->n && !h->batches[gone].len)
        gone++;
    memmove(h->batches, h->batches + gone, (h->n - gone) * sizeof(*h->batches));
    h->n -= gone;
    h->first += gone;
}

static void send_next(struct host *h);

static void on_answer(struct evhttp_request *rq, void *arg)
{
    struct host *h = arg;
    struct feed *f = h->feed;
    struct err err = {0};
    int status = rq ? evhttp_request_get_response_code(rq) : 0;

    h->busy = false;
    if (status != 200) {
        if (status && status != 429 && status != 503)
            die(evhttp_request_get_response_code_line(rq));
        f->again++;
        after_ms(h->timer, RETRY_MS);
        return;
    }
    struct evbuffer *in = evhttp_request_get_input_buffer(rq);
    if (answer_parse(str_n(evbuffer_pullup(in, -1), evbuffer_get_length(in)), &f->answer, &err) < 0)
        die(err.msg);
    for (size_t i = 0; i < f->answer.n_stored; i++)
        forget(h, f->answer.stored[i].run, f->answer.stored[i].number);
    if (f->answer.token[0]) {
        free(h->auth);
        h->auth = mem_fmt("Bearer %s", f->answer.token);
    }
    if (!h->enrolled) {
        h->enrolled = true;
        if (++f->n_enrolled == f->n_hosts)
            event_base_loopbreak(f->base);
        return;
    }
    if (h->n)
        send_next(h);
    else if (!f->conf.live && ++f->n_done == f->n_hosts)
        event_base_loopbreak(f->base);
}

static void send_next(struct host *h)
{
    struct feed *f = h->feed;
    struct hello hello = {.node = h->id, .run = h->run, .sent_ms = clock_wall_ms(), .collect = COLLECT_OK};
    AUTO_BUF body = BUF_INIT(WIRE_BODY_MAX);

    if (h->busy)
        return;
    hello.backlog = (uint32_t)h->n;
    hello.state_since_ms = hello.sent_ms;
    snprintf(hello.name, sizeof(hello.name), "node%04d", h->no);
    wire_start(&body);
    wire_put_hello(&body, &hello);
    if (!h->enrolled)
        buf_addstr(&body, buf_str(&h->facts));
    for (size_t i = 0; h->enrolled && i < h->n && i < (size_t)f->conf.per_post; i++)
        buf_addstr(&body, buf_str(&h->batches[i]));
    if (body.err)
        die("a request is too large");
    struct evhttp_request *rq = evhttp_request_new(on_answer, h);
    struct evkeyvalq *head = evhttp_request_get_output_headers(rq);
    evhttp_add_header(head, "Host", f->addr);
    evhttp_add_header(head, "Content-Type", "application/x-muster");
    evhttp_add_header(head, "Authorization", h->auth);
    evbuffer_add(evhttp_request_get_output_buffer(rq), body.p, body.len);
    h->busy = true;
    f->posts++;
    f->bytes += (int64_t)body.len;
    if (evhttp_make_request(h->conn, rq, EVHTTP_REQ_POST, "/api/v1/batches"))
        die("a request could not be made");
}

/* Catch-up: a pause is over. Live: the moment of this host has come. */
static void on_timer(evutil_socket_t fd, short what, void *arg)
{
    struct host *h = arg;
    struct feed *f = h->feed;
    int64_t span = f->conf.batch * f->conf.step, mono = clock_mono_ms();

    (void)fd;
    (void)what;
    if (f->conf.live && h->enrolled) {
        int64_t now = clock_wall_ms();
        for (int64_t i = f->conf.batch; i > 0; i--)
            add_tick(h, now - (i - 1) * f->conf.step);
        int64_t next = f->began_ms + span * h->no / f->n_hosts; /* its phase, some spans from now */
        after_ms(h->timer, span - (mono - next) % span);
    }
    if (h->n || !h->enrolled)
        send_next(h);
}

static void on_second(evutil_socket_t fd, short what, void *arg)
{
    struct feed *f = arg;

    (void)fd;
    (void)what;
    say(f);
    if (clock_mono_ms() >= f->end_ms)
        event_base_loopbreak(f->base);
}

static void host_init(struct feed *f, int no, const char *token, const char *host, int port)
{
    struct host *h = &f->hosts[no];
    struct node_fact facts;

    *h = (struct host){.feed = f, .no = no, .run = rand_u64(), .first = 1};
    snprintf((char *)h->id.b, sizeof(h->id.b), "feed%08d", no);
    h->auth = mem_fmt("Bearer %s", token);
    h->facts = BUF_INIT(WIRE_BODY_MAX);
    telemetry_facts(f->t, no, &facts);
    if (wire_put_facts(&h->facts, &h->id, &facts, &h->facts_id) < 0)
        die("facts could not be encoded");
    node_fact_fini(&facts);
    h->gather = gather_new();
    h->timer = evtimer_new(f->base, on_timer, h);
    h->conn = evhttp_connection_base_new(f->base, NULL, host, (unsigned short)port);
    evhttp_connection_set_timeout(h->conn, TIMEOUT_S);
}

static void catch_up(struct feed *f)
{
    char line[16];

    for (int i = 0; i < f->n_hosts; i++) {
        struct host *h = &f->hosts[i];
        for (int64_t k = 0; k < f->conf.ticks; k++)
            add_tick(h, telemetry_at_ms(f->t, i, k));
        if (gather_ticks(h->gather))
            seal(h);
        gather_free(h->gather);
        h->gather = NULL;
        send_next(h);
    }
    event_base_dispatch(f->base);
    printf("ready\n");
    fflush(stdout);
    if (!fgets(line, sizeof(line), stdin))
        die("nobody said go");
    f->began_ms = clock_mono_ms();
    f->bytes = f->posts = 0;
    for (int i = 0; i < f->n_hosts; i++)
        send_next(&f->hosts[i]);
    event_base_dispatch(f->base);
    say(f);
}

static void live(struct feed *f)
{
    struct event *second = event_new(f->base, -1, EV_PERSIST, on_second, f);

    for (int i = 0; i < f->n_hosts; i++)
        send_next(&f->hosts[i]);
    event_base_dispatch(f->base);
    f->began_ms = clock_mono_ms();
    f->end_ms = f->began_ms + f->conf.live;
    for (int i = 0; i < f->n_hosts; i++)
        after_ms(f->hosts[i].timer, f->conf.batch * f->conf.step * (i + 1) / f->n_hosts);
    after_ms(second, 1000);
    event_base_dispatch(f->base);
    event_free(second);
}

int main(int argc, char **argv)
{
    struct feed f = {0};
    struct err err = {0};
    struct rlimit files;
    AUTO_BUF token = BUF_INIT(4096);
    int argi;

    opt_defaults(opts, &f.conf);
    int r = opt_args(opts, &f.conf, argc, argv, &argi, &err);
    struct evhttp_uri *u = f.conf.hub ? evhttp_uri_parse(f.conf.hub) : NULL;
    if (r || argi != argc || !u || !evhttp_uri_get_host(u) || !f.conf.token_file || (!f.conf.live && !f.conf.t0)) {
        struct opt_cmd face = {.name = "feed", .summary = "invented telemetry into a hub", .opts = opts};
        AUTO_BUF help = BUF_INIT(1 << 16);
        opt_help(&face, &help);
        fprintf(stderr, "%s%s%s", help.p, err.msg, err.msg[0] ? "\n" : "");
        return 2;
    }
    if (file_read_secret(f.conf.token_file, &token, &err) < 0)
        die(err.msg);
    if (getrlimit(RLIMIT_NOFILE, &files) == 0) {
        files.rlim_cur = files.rlim_max;
        setrlimit(RLIMIT_NOFILE, &files);
    }
    f.addr = mem_str(evhttp_uri_get_host(u));
    f.base = event_base_new();
    f.t = telemetry_new((int)f.conf.gpus, f.conf.t0, f.conf.step, (uint64_t)f.conf.seed);
    f.enc = wire_enc_new(3);
    f.n_hosts = telemetry_hosts(f.t);
    f.hosts = mem_zero((size_t)f.n_hosts, sizeof(*f.hosts));
    for (int i = 0; i < f.n_hosts; i++)
        host_init(&f, i, token.p, f.addr, evhttp_uri_get_port(u));
    if (f.conf.live)
        live(&f);
    else
        catch_up(&f);
    return 0; /* the process ends here: what it holds goes with it */
}
