/* agent.c: the agent's event loop: timers, signals, reload and exit. The work is in the other files of this folder. */
#include "agent/agent.h"

#include <errno.h>
#include <malloc.h>
#include <signal.h>
#include <unistd.h>

#include "agent/collector_keeper.h"
#include "agent/control.h"
#include "agent/filler.h"
#include "agent/identity.h"
#include "base/clock.h"
#include "base/file.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/notify.h"
#include "base/order.h"
#include "base/pages.h"
#include "base/timer.h"
#include "base/version.h"
#include "uplink/hubs.h"
#include "uplink/sender.h"
#include "wire/wire.h"

#define FIRST_MS     1300 /* the first batch closes early, so that a new node appears immediately */
#define LIVE_MS      10000
#define STOP_MS      3000 /* SIGTERM: time for the hub to accept the last batch */
#define PAUSE_MAX_MS (7ll * 86400000)
#define ZSTD_LEVEL   3

struct agent {
    struct event_base *base;
    struct agent_conf *conf;
    int argc;
    char **argv;
    struct node_identity id;
    struct host *host;
    struct filler *filler;
    struct keeper *keeper;
    struct http *http;
    size_t n_senders;
    struct sender *senders[HUBS_MAX];
    struct control *control;
    struct wire_enc *enc;
    struct timer *beat, *close, *watchdog, *settled, *stop;
    struct event *sig_term, *sig_int, *sig_hup;
    int64_t stop_mono;             /* 0: not stopping */
    uint64_t out_facts, out_procs; /* --stdout: blobs written last */
};

/* Notifies the service manager; the status text is the state of the devices. */
static void agent_notify(const struct agent *a, const char *word)
{
    const struct keeper_state *k = keeper_state(a->keeper);
    char text[320];

    snprintf(text, sizeof(text), "%s\nSTATUS=devices: %s%s%s", word, collect_words[k->collect], k->why[0] ? ": " : "",
             k->why);
    notify(text);
}

/* ---- output ---- */

static void agent_hello(void *arg, struct hello *ret)
{
    struct agent *a = arg;
    const struct keeper_state *k = keeper_state(a->keeper);

    *ret = (struct hello){.node = a->id.node,
                          .run = a->id.run,
                          .sent_ms = clock_wall_ms(),
                          .state_since_ms = k->since_ms,
                          .collect = (uint8_t)k->collect,
                          .stuck = (uint8_t)MIN(k->stuck, 255u)};
    mem_copy_str(ret->name, sizeof(ret->name), filler_name(a->filler));
    mem_copy_str(ret->why, sizeof(ret->why), k->why);
}

static void agent_write_out(struct agent *a, struct buf *b)
{
    int r = file_put(STDOUT_FILENO, b->p, b->len);

    if (r < 0 && r != -EPIPE)
        log_error("agent", "cannot write to standard output: %s", strerror(-r));
    if (r < 0)
        event_base_loopbreak(a->base);
}

static void agent_say_out(struct agent *a, const struct packet *p)
{
    AUTO_BUF out = BUF_INIT(WIRE_BODY_MAX);
    struct hello h;

    agent_hello(a, &h);
    wire_put_hello(&out, &h);
    if (p && p->facts && p->facts->id != a->out_facts) {
        buf_addstr(&out, buf_str(&p->facts->frame));
        a->out_facts = p->facts->id;
    }
    if (p && p->procs && p->procs->id != a->out_procs) {
        buf_addstr(&out, buf_str(&p->procs->frame));
        a->out_procs = p->procs->id;
    }
    if (p)
        buf_addstr(&out, buf_str(&p->frame));
    agent_write_out(a, &out);
}

static void on_filled(void *arg, const struct filled *f)
{
    struct agent *a = arg;
    AUTO_BUF frame = BUF_INIT(WIRE_BODY_MAX);
    int r = wire_put_batch(a->enc, &frame, &f->batch);

    if (r < 0) { /* the filler keeps below every cap: this would be our own mistake */
        log_error("agent", "a batch cannot be encoded and is lost: %s", strerror(-r));
        return;
    }
    struct packet *p = packet_new(&f->batch.key, f->at_ms, f->facts, f->procs, &frame);
    for (size_t i = 0; i < a->n_senders; i++)
        sender_push(a->senders[i], p);
    if (a->conf->to_stdout)
        agent_say_out(a, p);
    packet_unref(p);
}

static void agent_speak(struct agent *a)
{
    filler_flush(a->filler);
    for (size_t i = 0; i < a->n_senders; i++)
        sender_beat(a->senders[i]);
    if (a->conf->to_stdout)
        agent_say_out(a, NULL);
}

/* ---- when ---- */

/* Milliseconds until the current batch closes: the shortest interval of all hubs, at the first hub's phase. */
static int64_t agent_next_close_ms(const struct agent *a)
{
    struct hub_pace p = {.interval_ms = 0, .phase_ms = -1};

    for (size_t i = 0; i < a->n_senders; i++) {
        const struct hub_pace *s = sender_pace(a->senders[i]);
        if (s->interval_ms && (!p.interval_ms || s->interval_ms < p.interval_ms))
            p.interval_ms = s->interval_ms;
        if (p.phase_ms < 0 && s->phase_ms >= 0) {
            p.phase_ms = s->phase_ms;
            p.offset_ms = s->offset_ms;
        }
    }
    if (!p.interval_ms)
        p.interval_ms = a->conf->interval;
    if (p.phase_ms < 0)
        return p.interval_ms;
    int64_t into = (clock_wall_ms() + p.offset_ms - p.phase_ms) % p.interval_ms;
    int64_t ms = p.interval_ms - (into < 0 ? into + p.interval_ms : into);
    return ms < p.interval_ms / 4 ? ms + p.interval_ms : ms; /* just closed: skip one interval */
}

static void on_close(void *arg)
{
    struct agent *a = arg;

    agent_speak(a);
    timer_after(a->close, agent_next_close_ms(a));
}

/* While the collector sends ticks no beat is needed: each tick postpones the next one. */
static void agent_arm_beat(struct agent *a, int ticks)
{
    timer_after(a->beat, ticks * MAX(a->conf->tick, 1000));
}

static void on_beat(void *arg)
{
    struct agent *a = arg;

    filler_beat(a->filler, clock_wall_ms(), clock_mono_ms());
    agent_arm_beat(a, 1);
}

static void on_watchdog(UNUSED void *arg)
{
    notify("WATCHDOG=1");
}

/* ---- hooks of the parts ---- */

static void on_pace(void *arg)
{
    struct agent *a = arg;

    if (a->stop_mono)
        return;
    timer_after(a->close, agent_next_close_ms(a));
}

static void on_dropped(void *arg, uint64_t n, const char *why)
{
    struct agent *a = arg;

    filler_event(a->filler, EVENT_DROPPED, clock_wall_ms(), (int64_t)n, why);
}

static const struct sender_hooks sender_hooks = {.hello = agent_hello, .pace = on_pace, .dropped = on_dropped};

/* The installer leaves the token for the first contact in our state folder. One for several hubs is needed further. */
static bool token_is_ours(const struct agent_conf *c)
{
    struct str rest = str_of(c->token_file);

    return c->token_file && c->state_dir && c->hub.n == 1 && str_skip(&rest, c->state_dir) && str_skip(&rest, "/") &&
           str_find(rest, "/") < 0;
}

static struct sender_conf sender_conf_of(const struct agent_conf *c, size_t i)
{
    return (struct sender_conf){.hub = c->hub.v[i],
                                .ca_file = c->ca_file,
                                .pin = c->pin,
                                .proxy = c->proxy,
                                .badge = {c->token, c->token_file, token_is_ours(c)},
                                .state_dir = c->state_dir,
                                .spool_dir = c->spool_dir,
                                .spool_max_bytes = c->spool_max_bytes,
                                .spool_max_age_ms = c->spool_max_age,
                                .spool_always = c->spool == SPOOL_ALWAYS,
                                .at_once = SENDER_MAX,
                                .timeout_ms = LIVE_MS};
}

static void on_child_start(void *arg)
{
    struct agent *a = arg;

    filler_restart(a->filler);
}

static void on_child_msg(void *arg, const struct child_msg *m)
{
    struct agent *a = arg;

    filler_msg(a->filler, m, clock_mono_ms());
    if (m->type == CHILD_TICK && !a->stop_mono)
        agent_arm_beat(a, 2);
}

static void on_child_state(void *arg, const struct keeper_state *was, const struct keeper_state *now)
{
    struct agent *a = arg;
    int64_t at = clock_wall_ms();

    if (was->collect != now->collect || strcmp(was->why, now->why) != 0) {
        enum log_level level = now->collect == COLLECT_HUNG || now->collect == COLLECT_FAILED ? LOG_WARN : LOG_INFO;
        log_line(level, "agent", "devices: %s%s%s", collect_words[now->collect], now->why[0] ? ": " : "", now->why);
        agent_notify(a, "");
    }
    if (was->collect != COLLECT_HUNG && now->collect == COLLECT_HUNG)
        filler_event(a->filler, EVENT_HUNG, at, 0, now->why);
    if (was->collect == COLLECT_HUNG && now->collect != COLLECT_HUNG && now->collect != COLLECT_PAUSED)
        filler_event(a->filler, EVENT_ANSWERS, at, (at - was->since_ms) / 1000, "the driver answers again");
    if (was->collect != now->collect && !a->stop_mono && was->collect != COLLECT_STARTING)
        agent_speak(a); /* viewers see it immediately */
}

static const struct keeper_hooks keeper_hooks = {.start = on_child_start, .msg = on_child_msg, .state = on_child_state};

/* ---- control commands ---- */

static void agent_status(struct agent *a, struct buf *out)
{
    const struct keeper_state *k = keeper_state(a->keeper);
    char id[33], span[24];

    buf_addf(out, "node %s, id %s, run %016llx\n", filler_name(a->filler), node_id_text(&a->id.node, id),
             (unsigned long long)a->id.run);
    buf_addf(out, "version %s, process %d, collector process ", muster_agent_build, (int)getpid());
    if (keeper_pid(a->keeper) > 0)
        buf_addf(out, "%d\n", (int)keeper_pid(a->keeper));
    else
        buf_adds(out, "none\n");
    buf_addf(out, "devices %s for %s", collect_words[k->collect], clock_span(clock_wall_ms() - k->since_ms, span));
    buf_addf(out, "%s%s\n", k->why[0] ? ": " : "", k->why);
    if (k->stuck)
        buf_addf(out, "stuck in the kernel: %u collector processes\n", k->stuck);
    for (size_t i = 0; i < a->n_senders; i++)
        sender_status(a->senders[i], out);
}

static int on_asked(void *arg, struct str line, struct buf *out)
{
    struct agent *a = arg;
    struct str word = STR("");
    int64_t ms;

    str_word(&line, &word);
    struct str value = str_trim(line);
    if (str_eq(word, "status") && !value.len) {
        agent_status(a, out);
        return 0;
    }
    if (str_eq(word, "resume") && !value.len) {
        keeper_resume(a->keeper);
        log_info("agent", "resumed on request");
        buf_adds(out, "reading devices again\n");
        return 0;
    }
    if (str_eq(word, "pause")) {
        char at[32];
        if (!str_duration_ms(value, &ms) || ms < 1000 || ms > PAUSE_MAX_MS) {
            buf_adds(out, "pause: expected a time from 1s to 7d, such as 10m");
            return -EINVAL;
        }
        keeper_pause(a->keeper, ms);
        buf_addf(out, "the driver is released until %s, or until `muster-agent resume`\n",
                 clock_iso(keeper_paused_until_ms(a->keeper), at));
        return 0;
    }
    buf_adds(out, "unknown request; there are pause TIME, resume and status");
    return -EINVAL;
}

/* ---- reload ---- */

/* Rejects changes that need a restart. */
static int agent_check_reload(const struct agent_conf *was, const struct agent_conf *now, struct err *err)
{
    if (opt_differ(agent_opts, "state_dir spool_dir spool_max_bytes spool_max_age", was, now))
        return err_set(err, -EBUSY, "state_dir, spool_dir and the spool's bounds need a restart");
    if (was->to_stdout != now->to_stdout || (!now->to_stdout && now->hub.n == 0))
        return err_set(err, -EINVAL, "no hub is given any more");
    return 0;
}

/* The sender that has this folder. */
static struct sender *agent_find_sender(const struct agent *a, const struct sender_conf *conf)
{
    AUTO_BUF want = BUF_INIT(1024);

    hubs_folder(conf->hub, conf->state_dir, &want);
    for (size_t i = 0; i < a->n_senders; i++)
        if (sender_has_folder(a->senders[i], buf_str(&want)))
            return a->senders[i];
    return NULL;
}

/* Senders for now's hubs, in order. New ones are made first: should one fail, nothing has changed. */
static int agent_take_hubs(struct agent *a, const struct agent_conf *now, struct err *err)
{
    struct sender *next[HUBS_MAX] = {0};
    bool fresh[HUBS_MAX] = {0};
    int r = 0;

    for (size_t i = 0; i < now->hub.n && r == 0; i++) {
        struct sender_conf conf = sender_conf_of(now, i);
        next[i] = agent_find_sender(a, &conf);
        fresh[i] = !next[i];
        r = fresh[i] ? sender_new(&next[i], a->base, a->http, &conf, &sender_hooks, a, err) : sender_check(&conf, err);
    }
    if (r < 0) {
        for (size_t i = 0; i < now->hub.n; i++)
            sender_free(fresh[i] ? next[i] : NULL);
        return r;
    }
    for (size_t i = 0; i < a->n_senders; i++)
        if (!ANY(now->hub.n, k, next[k] == a->senders[i]))
            sender_free(a->senders[i]);
    for (size_t i = 0; i < now->hub.n; i++) {
        struct sender_conf conf = sender_conf_of(now, i);
        if (!fresh[i])
            sender_reload(next[i], &conf);
        a->senders[i] = next[i];
    }
    a->n_senders = now->hub.n;
    return 0;
}

static void agent_log_conf(const struct agent_conf *c)
{
    log_set_level((enum log_level)c->log_level);
    log_set_json(c->log_format == 1);
}

static int agent_reload(struct agent *a, struct err *err)
{
    struct agent_conf *now = mem_zero(1, sizeof(*now)), *was = a->conf;
    int argi, r = conf_load(now, a->argc, a->argv, &argi, err);

    if (r == 0)
        r = agent_check_reload(was, now, err);
    if (r == 0)
        r = agent_take_hubs(a, now, err);
    if (r < 0) {
        conf_fini(now);
        free(now);
        return r;
    }
    a->conf = now;
    agent_log_conf(now);
    if (opt_differ(agent_opts, "name tick", was, now))
        filler_rename(a->filler, now->name, now->tick);
    bool other = opt_differ(agent_opts, "collector nvml_lib smi replay exec", was, now);
    keeper_set_conf(a->keeper, now, other || opt_differ(agent_opts, "tick cmdline", was, now), other);
    agent_arm_beat(a, 1);
    on_pace(a);
    conf_fini(was);
    free(was);
    return 0;
}

static void on_hup(UNUSED evutil_socket_t sig, UNUSED short what, void *arg)
{
    struct agent *a = arg;
    struct err err = {0};

    if (a->stop_mono)
        return;
    char text[80];
    snprintf(text, sizeof(text), "RELOADING=1\nMONOTONIC_USEC=%lld", (long long)clock_mono_us());
    notify(text);
    if (agent_reload(a, &err) < 0)
        log_error("agent", "cannot apply the settings, the old ones stay: %s", err.msg);
    else
        log_info("agent", "settings read again");
    agent_notify(a, "READY=1");
}

/* ---- the end ---- */

static void on_stop_check(void *arg)
{
    struct agent *a = arg;

    if (!ANY(a->n_senders, i, !sender_idle(a->senders[i])) || clock_mono_ms() - a->stop_mono >= STOP_MS)
        event_base_loopbreak(a->base);
    else
        timer_after(a->stop, 20);
}

static void on_term(evutil_socket_t sig, short what, void *arg)
{
    struct agent *a = arg;

    (void)what;
    if (a->stop_mono) { /* a second signal: exit now; the spool still gets the rest */
        event_base_loopbreak(a->base);
        return;
    }
    log_info("agent", "signal %d: sending the remaining samples, then stopping", (int)sig);
    notify("STOPPING=1");
    a->stop_mono = clock_mono_ms();
    timer_stop(a->close);
    timer_stop(a->beat);
    keeper_stop(a->keeper);
    filler_event(a->filler, EVENT_STOP, clock_wall_ms(), 0, "agent stopped");
    agent_speak(a);
    timer_after(a->stop, 20);
}

/* ---- start ---- */

static void on_settled(UNUSED void *arg)
{
    pages_give_back();
}

static int agent_open(struct agent *a, struct err *err)
{
    const struct agent_conf *c = a->conf;
    int r;

    if (c->to_stdout) {
        identity_peek(&a->id, c->state_dir);
    } else {
        if (!c->state_dir)
            return err_set(err, -ENOENT, "no folder for lasting state: set state_dir, or HOME");
        if ((r = identity_open(&a->id, c->state_dir, err)) < 0)
            return r;
    }
    a->base = event_base_new();
    if (!a->base)
        return err_set(err, -ENOMEM, "cannot make an event loop");
    a->enc = wire_enc_new(ZSTD_LEVEL);
    a->host = host_new("/proc");
    a->filler = filler_new(&a->id.node, a->id.run, c->name, c->tick, a->host, on_filled, a);
    a->keeper = keeper_new(a->base, c, &keeper_hooks, a);
    a->beat = timer_new(a->base, on_beat, a);
    a->close = timer_new(a->base, on_close, a);
    a->watchdog = timer_new(a->base, on_watchdog, a);
    a->settled = timer_new(a->base, on_settled, a);
    a->stop = timer_new(a->base, on_stop_check, a);
    a->sig_term = evsignal_new(a->base, SIGTERM, on_term, a);
    a->sig_int = evsignal_new(a->base, SIGINT, on_term, a);
    a->sig_hup = evsignal_new(a->base, SIGHUP, on_hup, a);
    if (c->to_stdout)
        return 0;
    if ((r = http_new(&a->http, a->base, err)) < 0 || (r = agent_take_hubs(a, c, err)) < 0)
        return r;
    struct err quiet = {0};
    if (control_open(&a->control, a->base, c->state_dir, on_asked, a, &quiet) < 0)
        log_warn("agent", "%s; pause, resume and status will not work", quiet.msg);
    return 0;
}

static void agent_start(struct agent *a)
{
    char id[33], started[64];
    int64_t watch = notify_watchdog_ms();

    event_add(a->sig_term, NULL);
    event_add(a->sig_int, NULL);
    event_add(a->sig_hup, NULL);
    if (watch)
        timer_every(a->watchdog, watch);
    log_info("agent", "muster-agent %s on %s, node %s%s, tick %lld ms, %zu hub%s", muster_agent_build,
             filler_name(a->filler), node_id_text(&a->id.node, id), a->id.fresh ? " (new)" : "",
             (long long)a->conf->tick, a->n_senders, a->n_senders == 1 ? "" : "s");
    snprintf(started, sizeof(started), "muster-agent %s", muster_build);
    filler_event(a->filler, EVENT_START, clock_wall_ms(), 0, started);
    if (a->conf->to_stdout) {
        AUTO_BUF out = BUF_INIT(64);
        wire_start(&out);
        agent_write_out(a, &out);
    }
    keeper_start(a->keeper);
    agent_arm_beat(a, 1);
    timer_after(a->settled, PAGES_SETTLED_MS);
    timer_after(a->close, MIN(a->conf->interval, FIRST_MS));
    for (size_t i = 0; i < a->n_senders; i++)
        sender_beat(a->senders[i]); /* a HELLO immediately; samples follow */
    agent_notify(a, "READY=1");
}

static void agent_close(struct agent *a)
{
    struct timer *timers[] = {a->beat, a->close, a->watchdog, a->settled, a->stop};
    struct event *events[] = {a->sig_term, a->sig_int, a->sig_hup};

    control_close(a->control);
    keeper_free(a->keeper);
    for (size_t i = 0; i < a->n_senders; i++)
        sender_free(a->senders[i]);
    a->n_senders = 0;
    http_free(a->http);
    filler_free(a->filler);
    host_free(a->host);
    wire_enc_free(a->enc);
    for (size_t i = 0; i < ARRAY_LEN(timers); i++)
        timer_free(timers[i]);
    for (size_t i = 0; i < ARRAY_LEN(events); i++)
        if (events[i])
            event_free(events[i]);
    if (a->base)
        event_base_free(a->base);
    identity_close(&a->id);
    for (int i = 0; i < a->argc; i++) {
        explicit_bzero(a->argv[i], strlen(a->argv[i])); /* a token may be among them */
        free(a->argv[i]);
    }
    free(a->argv);
    conf_fini(a->conf);
    free(a->conf);
}

int agent_run(struct agent_conf *conf, int argc, char **argv, struct err *err)
{
    struct agent a = {.id.lock_fd = -1, .argc = argc, .conf = mem_zero(1, sizeof(*conf))};

    *a.conf = *conf;
    *conf = (struct agent_conf){0};
    a.argv = mem_zero((size_t)argc + 1, sizeof(*a.argv));
    for (int i = 0; i < argc; i++)
        a.argv[i] = mem_str(argv[i]);
    mallopt(M_ARENA_MAX, 1); /* helper threads need no separate heaps */
    signal(SIGPIPE, SIG_IGN);
    agent_log_conf(a.conf);
    int r = agent_open(&a, err);
    if (r == 0) {
        agent_start(&a);
        event_base_dispatch(a.base);
        log_info("agent", "ended");
    }
    agent_close(&a);
    return r;
}
