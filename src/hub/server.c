/*
 * server.c: assembles the hub: store, live state, HTTP, timers, signals. One event loop; the store's writer and a few
 * readers of history have their own threads. A reload reads all settings first and then applies all of them or none.
 */
#include "hub/server.h"

#include <errno.h>
#include <event2/event.h>
#include <event2/thread.h>
#include <inttypes.h>
#include <malloc.h>
#include <openssl/ssl.h>
#include <signal.h>
#include <sys/stat.h>

#include "base/clock.h"
#include "base/file.h"
#include "base/log.h"
#include "base/notify.h"
#include "base/order.h"
#include "base/process.h"
#include "base/rand.h"
#include "base/sandbox.h"
#include "base/timer.h"
#include "base/workers.h"
#include "base/zone.h"
#include "clickhouse/clickhouse.h"
#include "http/compress.h"
#include "http/ports.h"
#include "http/room.h"
#include "http/tls.h"
#include "hub/decode.h"
#include "hub/hub.h"
#include "hub/record_fetch.h"
#include "hub/render_queue.h"
#include "hub/self.h"
#include "hub/trusted_clock.h"

#define TICK_MS     1000
#define CACHE_BYTES (128u << 20)
#define READERS     2    /* threads for queries of history, and as many for costly ones */
#define READ_QUEUE  64   /* queries that may wait for them */
#define GROUP_MAX   1000 /* maximum ms between reads of agents: they wait for the store's commit anyway */
#define GROUP_WATCH 200  /* the same while a client is connected */
#define STOP_MS     3000 /* time for requests that wait for the disk */
#define ARENAS      2    /* of malloc: one per thread would keep what each of them ever needed */
#define BIG_BYTES   (256 << 10)
#define TRIM_BYTES  (512 << 10) /* free memory at a heap's end: memory that one query needed stays for the next */
_Static_assert(2 * GROUP_MAX <= ANSWER_WAIT_MS, "an agent that gets its answer need not write to its disk");

struct server {     /* private to this file */
    struct hub hub; /* first: every hub of this file is a server */
    SSL_CTX *tls;
    char pin[64];
    char own_name[256], agent_path[600];
    size_t n_names;
    char set_name[OWN_URL_MAX]; /* of the setting address */
    const char **names;         /* host_names, our own and that */
    struct timer *tick, *watchdog;
    struct event *signals[3];
    int64_t stop_ms; /* stopping since; 0: not */
    hub_reload_fn *reload;
    void (*taken)(void *arg);
    void *reload_arg;
};

static struct server *own(struct hub *h)
{
    return (struct server *)h;
}

/* ---- calls of the routes ---- */

bool hub_ready(struct hub *h, char why[NOTICE_MAX])
{
    struct store_stat st;
    char notice[NOTICE_MAX];
    store_stat(h->store, &st);
    self_notice(h, notice);
    mem_copy_str(why, NOTICE_MAX, own(h)->stop_ms ? "stopping" : notice);
    return !own(h)->stop_ms && !st.last_error && hub_stores(h);
}

/* ---- HTTP's side ---- */

static bool admit(void *arg, struct request *rq, struct reply *rp)
{
    struct hub *h = arg;
    bool ok = api_admit(&h->api, rq, rp);
    if (!ok && rp->status)
        log_debug("http", "%s: %.*s: %d", rq->peer, (int)MIN(rq->path.len, 200u), rq->path.p, rp->status);
    return ok;
}

static size_t max_body(UNUSED void *arg, const struct request *rq)
{
    return rq->route->max_body;
}

static enum reply_mode handle(void *arg, struct request *rq, struct reply *rp)
{
    struct hub *h = arg;
    return api_handle(&h->api, rq, rp);
}

static bool pack(void *arg, struct blob *b, void (*done)(void *done_arg), void *done_arg)
{
    struct hub *h = arg;
    return h->compress && compress_add(h->compress, b, done, done_arg);
}

static bool run_compress(void *arg, struct work_job *job)
{
    struct hub *h = arg;
    return h->compress && compress_run(h->compress, job);
}

/* Batches that were read together are written together, immediately. */
static void looked(void *arg)
{
    struct hub *h = arg;
    store_nudge(h->store);
}

static void problem(struct reply *rp, int status, const char *why)
{
    reply_problem(rp, status, "%s", why);
}

/* ---- timers ---- */

/* Reads agents as often as the store commits, and more often while a client is connected, so that screens are fresh. */
static void set_group(struct hub *h, int64_t now_ms)
{
    bool watched = api_watched(&h->api, now_ms);
    httpd_group_every(h->httpd, MIN(h->conf.commit, watched ? GROUP_WATCH : GROUP_MAX));
}

static void on_tick(void *arg)
{
    struct server *s = arg;
    int64_t now_ms = clock_wall_ms();
    httpd_tick(s->hub.httpd);
    set_group(&s->hub, now_ms);
    self_log(&s->hub);
    cache_sweep(s->hub.api.cache, now_ms);
    costly_next(&s->hub);
    features_tick(&s->hub.features, now_ms);
    if (s->stop_ms && (httpd_busy(s->hub.httpd) == 0 || clock_mono_ms() - s->stop_ms > STOP_MS))
        event_base_loopexit(s->hub.loop, NULL);
}

static void on_watchdog(UNUSED void *arg)
{
    notify("WATCHDOG=1");
}

static struct timer *every(struct server *s, int64_t ms, timer_fn *call)
{
    struct timer *t = timer_new(s->hub.loop, call, s);
    timer_every(t, ms);
    return t;
}

/* ---- applying a configuration ---- */

/* The parts of a configuration that can fail: made first, then applied together. */
struct next {
    struct features_next features;
    SSL_CTX *tls;
    size_t n_new;
    const char **new_listen; /* addresses opened for it */
};

static int next_make(struct server *s, const struct hub_conf *conf, const char *data, struct next *ret, struct err *err)
{
    int r = features_prepare(&s->hub.features, conf, &ret->features, err);
    if (r == 0 && conf->tls_cert)
        r = tls_load(conf->tls_cert, conf->tls_key, &ret->tls, err);
    else if (r == 0 && conf->tls)
        r = tls_self_signed(data, &ret->tls, err);
    ret->new_listen = mem_zero(MAX(conf->listen.n, 1), sizeof(*ret->new_listen));
    for (size_t i = 0; r == 0 && i < conf->listen.n; i++) {
        int port;
        if (ports_has(httpd_ports(s->hub.httpd), conf->listen.v[i]))
            continue;
        r = ports_open(httpd_ports(s->hub.httpd), conf->listen.v[i], &port, err);
        if (r < 0)
            break;
        ret->new_listen[ret->n_new++] = conf->listen.v[i];
        const char *colon = strrchr(conf->listen.v[i], ':');
        struct str host = str_n(conf->listen.v[i], (size_t)(colon - conf->listen.v[i]));
        buf_addf(&s->hub.addresses, "http%s://%.*s:%d\n", ret->tls ? "s" : "",
                 STR_ARG(host.len == 0 || str_eq(host, "*") ? STR("0.0.0.0") : host), port);
    }
    return r;
}

static void next_fini(struct server *s, struct next *n, bool undo)
{
    for (size_t i = 0; undo && i < n->n_new; i++)
        ports_close(httpd_ports(s->hub.httpd), n->new_listen[i]);
    free(n->new_listen);
    features_drop(&n->features);
    SSL_CTX_free(n->tls);
}

static void set_limits(struct hub *h)
{
    struct httpd_stat st;
    size_t limit;
    httpd_stat(h->httpd, &st);
    size_t room = room_connections((size_t)h->conf.max_connections, st.connections, &limit);
    if (limit)
        log_info("hub", "the limit on open files (%zu) leaves room for %zu connections", limit, room);
    httpd_set_max(h->httpd, room, (size_t)h->conf.max_per_address);
}

/* Nothing here can fail. Takes conf. */
static void apply(struct server *s, struct hub_conf *conf, struct next *n)
{
    struct hub *h = &s->hub;
    struct api *a = &h->api;
    for (size_t i = 0; i < h->conf.listen.n; i++)
        if (!ANY(conf->listen.n, k, strcmp(conf->listen.v[k], h->conf.listen.v[i]) == 0))
            ports_close(httpd_ports(h->httpd), h->conf.listen.v[i]);
    opt_fini(hub_opts, &h->conf);
    h->conf = *conf;
    memset(conf, 0, sizeof(*conf));
    log_set_level((enum log_level)h->conf.log_level);
    log_set_json(h->conf.log_format == 1);

    httpd_set_tls(h->httpd, n->tls);
    SSL_CTX_free(s->tls);
    s->tls = n->tls;
    n->tls = NULL;
    s->pin[0] = 0;
    if (s->tls && h->conf.tls)
        tls_pin(s->tls, s->pin);
    set_limits(h);
    features_take(&s->hub.features, &n->features); /* drops streams and what was rendered */

    free(s->names);
    s->n_names = 0;
    s->names = mem_zero(h->conf.host_names.n + 3, sizeof(*s->names));
    for (size_t i = 0; i < h->conf.host_names.n; i++)
        s->names[s->n_names++] = h->conf.host_names.v[i];
    if (s->own_name[0])
        s->names[s->n_names++] = s->own_name;
    if (h->conf.address && reach_host(h->conf.address, s->set_name))
        s->names[s->n_names++] = s->set_name;
    a->address = h->conf.address;
    a->own_name = s->own_name;
    a->host_names = s->names;
    a->n_host_names = s->n_names;
    a->demo = h->conf.demo;
    a->show_cmd = h->conf.show_cmdlines;
    a->read_open = h->conf.read == READ_OPEN;
    a->name = h->conf.name ? h->conf.name : "muster";
    a->about = h->conf.page_about;
    a->colours = h->conf.page_colours ? "gpu-monitor" : NULL;
    a->pin = s->pin[0] ? s->pin : NULL;
}

/* ---- signals ---- */

static int do_reload(struct server *s, struct err *err)
{
    struct hub_conf conf = {0};
    struct next n = {0};
    char data[sizeof(s->hub.data)];
    size_t addresses = s->hub.addresses.len;
    int r = s->reload ? s->reload(s->reload_arg, &conf, err) : err_set(err, -ENOSYS, "there is nothing to read again");
    if (r == 0)
        r = hub_conf_data(&conf, data, sizeof(data), err);
    if (r == 0 && strcmp(data, s->hub.data) != 0)
        r = err_set(err, -EINVAL, "the data folder cannot change while the hub runs: start it again");
    const struct opt *fixed = r == 0 ? opt_fixed_differs(hub_opts, &conf, &s->hub.conf) : NULL;
    if (fixed)
        r = err_set(err, -EINVAL, "%s cannot change while the hub runs: start it again", fixed->name);
    if (r == 0)
        r = next_make(s, &conf, s->hub.data, &n, err);
    if (r == 0)
        apply(s, &conf, &n);
    else
        buf_cut(&s->hub.addresses, addresses);
    next_fini(s, &n, r < 0);
    opt_fini(hub_opts, &conf);
    return r;
}

static void on_signal(evutil_socket_t sig, UNUSED short what, void *arg)
{
    struct server *s = arg;
    struct err err = {0};
    char state[80];
    if (sig == SIGHUP) {
        snprintf(state, sizeof(state), "RELOADING=1\nMONOTONIC_USEC=%lld", (long long)clock_mono_us());
        notify(state);
        if (do_reload(s, &err) < 0) {
            log_error("hub", "reload: nothing was changed: %s", err.msg);
        } else {
            log_info("hub", "reloaded");
            if (s->taken)
                s->taken(s->reload_arg);
        }
        notify("READY=1");
        return;
    }
    if (s->stop_ms) { /* second signal: immediately */
        event_base_loopbreak(s->hub.loop);
        return;
    }
    notify("STOPPING=1");
    log_info("hub", "stopping");
    s->stop_ms = clock_mono_ms();
    ports_close(httpd_ports(s->hub.httpd), NULL);
    hub_publish(&s->hub, &(struct hub_event){.kind = HUB_EVENT_END});
    if (httpd_busy(s->hub.httpd) == 0)
        event_base_loopexit(s->hub.loop, NULL);
}

/* ---- from start to end ---- */

/* Looks for the agent to hand out next to our own binary. */
static void find_agent(struct server *s)
{
    char self[512];
    ssize_t n = readlink("/proc/self/exe", self, sizeof(self) - 1);
    if (n <= 0)
        return;
    self[n] = 0;
    char *slash = strrchr(self, '/');
    if (slash)
        *slash = 0;
    snprintf(s->agent_path, sizeof(s->agent_path), "%s/muster-agent", self);
}

/* The files in it are 0600. The rule is PostgreSQL's for its data directory: 0750 or less. */
static void check_folder_mode(const char *dir)
{
    struct stat st;

    if (stat(dir, &st) == 0 && st.st_mode & (S_IWGRP | S_IRWXO))
        log_warn("hub", "other users have access to the data folder (mode %04o): chmod 700 '%s'", st.st_mode & 07777,
                 dir);
}

static int open_store(struct hub *h, const struct hub_conf *conf, struct err *err)
{
    struct store_conf sc = {.dir = h->data,
                            .commit_ms = conf->commit + conf->commit / 4, /* looked() triggers the commit before */
                            .keep_raw_ms = conf->keep_raw,
                            .keep_minute_ms = conf->keep_minute,
                            .keep_hour_ms = conf->keep_hour,
                            .keep_records_ms = conf->keep_records,
                            .keep_usage_ms = conf->keep_usage,
                            .keep_audit_ms = conf->keep_audit,
                            .decoder = &hub_decoder,
                            .keep_bytes = conf->keep_bytes,
                            .rotate_ms = conf->rotate,
                            .now_ms = trusted_clock_now_ms};
    struct err warn = {0};
    struct click_conf samples = {conf->samples, conf->samples_password_file, conf->keep_samples};
    int r = file_mkdirs(h->data, 0700, err);
    if (r == 0)
        check_folder_mode(h->data);
    if (r == 0 && conf->sandbox)
        r = sandbox_start("hub", h->data, &conf->sandbox_folders, err); /* the first thread is the store's */
    if (r == 0)
        r = features_join(features, h, conf, &sc, err);
    if (r == 0 && conf->samples)
        r = clickhouse_open(&h->archive, &samples, err);
    if (r < 0)
        return r;
    sc.archive = h->archive;
    h->place = mem_str(sc.url ? sc.url : h->data);
    r = store_open(&h->store, &sc, h->loop, &warn);
    if (r < 0)
        return err_set(err, r, "%s", warn.msg);
    if (warn.msg[0])
        log_warn("store", "%s", warn.msg);
    return 0;
}

static void make_api(struct server *s)
{
    struct hub *h = &s->hub;
    h->api = (struct api){
        .cache = cache_new(CACHE_BYTES),
        .version = MUSTER_VERSION,
        .nonce = (uint32_t)rand_u64(),
        .agent_path = s->agent_path[0] ? s->agent_path : NULL,
        .hub = h,
        .zone = h->zone,
    };
}

/* Blocks SIGHUP before we have a handler, so that it waits instead of ending us. */
static void hold_reload(bool hold)
{
    sigset_t hup;

    sigemptyset(&hup);
    sigaddset(&hup, SIGHUP);
    pthread_sigmask(hold ? SIG_BLOCK : SIG_UNBLOCK, &hup, NULL);
}

static int open_parts(struct server *s, struct hub_conf *conf, struct err *err)
{
    const struct httpd_conf limits = {.max_connections = 1024,
                                      .max_per_address = 1024,
                                      .max_bodies = 256u << 20,
                                      .max_replies = 512u << 20,
                                      .head_ms = 10000,
                                      .body_ms = 10000,
                                      .idle_ms = 75000,
                                      .write_ms = 30000,
                                      .late_ms = 120000,
                                      .group_ms = MIN(conf->commit, GROUP_MAX)};
    struct hub *h = &s->hub;
    struct next n = {0};
    const struct httpd_ops ops = {.arg = h,
                                  .who_size = sizeof(struct asker),
                                  .memo_size = sizeof(struct token_memo),
                                  .admit = admit,
                                  .max_body = max_body,
                                  .handle = handle,
                                  .problem = problem,
                                  .pack = pack,
                                  .run = run_compress,
                                  .looked = looked};
    gethostname(s->own_name, sizeof(s->own_name) - 1);
    for (char *c = s->own_name; *c; c++)
        *c = *c >= 'A' && *c <= 'Z' ? (char)(*c + 32) : *c;
    find_agent(s);
    s->hub.addresses = BUF_INIT(64u << 10);
    h->started_ms = clock_wall_ms();
    int r = zone_load(NULL, &h->zone, err);
    if (r < 0)
        h->zone = zone_utc(); /* an unreadable zone must not stop the hub */
    make_api(s);
    h->httpd = httpd_new(h->loop, &limits, &ops);
    h->easel = render_queue_new(h);
    h->dec = wire_dec_new();
    h->enc = wire_enc_new(3);
    r = hub_conf_data(conf, h->data, sizeof(h->data), err);
    if (r == 0)
        r = open_store(h, conf, err);
    if (r == 0 && (!(h->work = work_new(h->loop, READERS, READ_QUEUE)) ||
                   !(h->costly_work = work_new(h->loop, READERS, READ_QUEUE)) ||
                   !(h->own_work = work_new(h->loop, 1, READ_QUEUE)) || !(h->looks = record_fetcher_new(h)) ||
                   !(h->blob_looks = record_fetcher_new(h))))
        r = err_set(err, -EAGAIN, "cannot start a thread");
    if (r == 0)
        h->compress = compress_new(h->loop);
    if (r == 0) {
        features_open(&h->features, features, h);
        r = next_make(s, conf, h->data, &n, err);
    }
    if (r == 0) {
        apply(s, conf, &n);
        r = store_explain_damage(h->place, features_load(&h->features, err), err);
    }
    if (r == 0) {
        store_loaded(h->store);
        trusted_clock_start(h->newest_ms);
    }
    next_fini(s, &n, r < 0);
    return r;
}

int hub_open(struct hub **ret, struct hub_conf *conf, struct err *err)
{
    struct server *s = mem_zero(1, sizeof(*s));
    signal(SIGPIPE, SIG_IGN);
    hold_reload(true);
    mallopt(M_ARENA_MAX, ARENAS);
    mallopt(M_MMAP_THRESHOLD,
            BIG_BYTES); /* returns large buffers to the system; malloc would raise this limit by itself */
    mallopt(M_TRIM_THRESHOLD, TRIM_BYTES);
    evthread_use_pthreads(); /* the store's writer wakes the loop */
    s->hub.loop = event_base_new();
    int r = open_parts(s, conf, err);
    if (r < 0) {
        hub_close(&s->hub);
        return r;
    }
    *ret = &s->hub;
    return 0;
}

int hub_addresses(const struct hub *h, struct buf *out)
{
    return buf_addstr(out, buf_str(&h->addresses));
}

enum reach hub_reach(const struct hub *h, char url[OWN_URL_MAX], struct buf *command)
{
    enum reach r = reach_url(&h->api, NULL, url);
    if (r == REACH_OK)
        reach_command(&h->api, url, "TOKEN", command);
    return r;
}

const char *hub_pin(const struct hub *h)
{
    const struct server *s = (const struct server *)h;
    return s->pin[0] ? s->pin : NULL;
}

bool hub_local_pin(const struct hub *h, char out[64])
{
    const struct server *s = (const struct server *)h;
    return s->tls && tls_pin(s->tls, out) == 0;
}

int hub_run(struct hub *h, hub_reload_fn *reload, void (*taken)(void *arg), void *arg)
{
    static const int signals[] = {SIGTERM, SIGINT, SIGHUP};
    struct server *s = own(h);
    int64_t watchdog_ms = notify_watchdog_ms();
    s->reload = reload;
    s->taken = taken;
    s->reload_arg = arg;
    for (size_t i = 0; i < ARRAY_LEN(signals); i++) {
        s->signals[i] = evsignal_new(h->loop, signals[i], on_signal, s);
        event_add(s->signals[i], NULL);
    }
    hold_reload(false);
    s->tick = every(s, TICK_MS, on_tick);
    if (watchdog_ms)
        s->watchdog = every(s, watchdog_ms, on_watchdog);
    notify("READY=1");
    return event_base_dispatch(h->loop) < 0 ? -EIO : 0;
}

/* Tests check this line. */
static void say_waits(const struct hub *h)
{
    struct store_stat st = {0};
    if (h->store)
        store_stat(h->store, &st);
    if (st.waits)
        log_error("hub", "the loop waited for the disk %" PRIu64 " times: this is a mistake in muster", st.waits);
}

void hub_close(struct hub *h)
{
    struct server *s = own(h);
    if (!h)
        return;
    work_free(h->work); /* they read from the store */
    h->work = NULL;     /* late results start no more queries */
    work_free(h->costly_work);
    h->costly_work = NULL;
    costly_next(h); /* refuses the rest */
    work_free(h->own_work);
    h->own_work = NULL;
    record_fetcher_free(h->looks);
    h->looks = NULL;
    record_fetcher_free(h->blob_looks);
    h->blob_looks = NULL;
    compress_free(h->compress);
    h->compress = NULL; /* late replies are sent uncompressed */
    features_stop(&s->hub.features);
    say_waits(h);
    render_queue_free(h->easel);
    h->easel = NULL;
    store_close(h->store); /* every done is called: late replies go out or away */
    clickhouse_close(h->archive);
    h->store = NULL;
    features_close(&s->hub.features);
    if (h->others.leave)
        h->others.leave(h->others.arg);
    httpd_free(h->httpd);
    zone_free(h->zone);
    cache_free(h->api.cache);
    for (size_t i = 0; i < WEB_LANGUAGES; i++)
        blob_unref(h->api.pages[i].blob);
    wire_dec_free(h->dec);
    wire_enc_free(h->enc);
    timer_free(s->tick);
    timer_free(s->watchdog);
    for (size_t i = 0; i < ARRAY_LEN(s->signals); i++)
        if (s->signals[i])
            event_free(s->signals[i]);
    process_end_all(h->loop); /* processes that the features stopped above */
    event_base_free(h->loop);
    SSL_CTX_free(s->tls);
    free(s->names);
    buf_fini(&s->hub.addresses);
    opt_fini(hub_opts, &h->conf);
    free(h->place);
    free(s);
}
