/* ssh_node.c: one machine over ssh: waiting for its turn to connect, connected, or trying again. */
#include "relay/ssh_node.h"

#include <errno.h>
#include <event2/event.h>
#include <stdlib.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/rand.h"
#include "collect/proc_table.h"
#include "model/gather.h"
#include "relay/remote.h"
#include "uplink/forward.h"
#include "wire/wire.h"

#define BEAT_MS      1000
#define HELLO_MS     10000
#define RETRY_MIN_MS 1000
#define RETRY_MAX_MS 300000
#define MUTE_MS      30000  /* let in, but not a line from the shell there */
#define RENEW_MS     600000 /* no nvidia-smi, or one that hangs: begin anew, something may have changed */
#define HUNG_MAX     2      /* but not for ever: each leaves a process there that may never end */
#define FRAME_MAX    (8u << 20)
#define FLOOD_MS     60000
#define FLOOD_BYTES  (16u << 20) /* in that time; sixteen GPUs with a thousand processes say less than 4 MB */
#define EVENTS_MAX   64
#define AGENT_MS     15000   /* an agent over there says something every few seconds, whatever the driver does */
#define NO_AGENT_MS  3600000 /* one that was of no use: not tried again for this long */

enum phase { AWAY, WANTING, CONNECTING, OPEN, CARRYING }; /* open: with a shell; carrying: with an agent */

struct ssh_node {
    struct event_base *loop;
    const struct ssh_node_conf *conf;
    struct ssh_node_hooks hooks;
    void *arg;
    struct relay_target to; /* its text is ours */
    char key[NODE_KEY_MAX];
    struct node_id id;
    uint64_t run, number;

    enum phase phase;
    struct ssh *ssh;
    struct remote *remote;
    struct event *beat;
    int64_t begun_ms, retry_ms, unlisted_ms; /* monotonic; retry: when to want a connection again */
    int64_t pause_ms;                        /* the last pause */
    unsigned hung_again;                     /* connections made anew because nvidia-smi hangs */
    int64_t flood_ms;                        /* said is what came since then */
    size_t said;
    uint8_t collect;
    int64_t since_ms; /* wall */
    char why[160];
    uint64_t rounds;

    struct forward carry;
    int64_t heard_ms, no_agent_ms; /* monotonic: of the agent, the last time; no agent until then */
    int64_t ahead_ms;              /* the agent's clock, against ours */
    uint64_t carried;              /* batches of this connection */

    struct reading reading;
    struct device_slots roster;
    struct proc_table crew;
    struct gather *g;
    size_t n_events;
    int64_t batch_ms; /* when the batch being filled began, monotonic */
    struct post *post;
    struct enclosure *facts, *procs;
    struct lane *lane;
};

/* ---- batches ---- */

static void flush(struct ssh_node *o)
{
    struct batch b;
    AUTO_BUF frame = BUF_INIT(FRAME_MAX);
    if (gather_ticks(o->g) == 0 && o->n_events == 0)
        return;
    gather_batch(o->g, &b);
    b.key = (struct batch_key){.node = o->id, .run = o->run, .number = ++o->number};
    b.facts = o->facts ? o->facts->id : 0;
    b.procs = o->procs ? o->procs->id : 0;
    int r = wire_put_batch(post_enc(o->post), &frame, &b);
    gather_reset(o->g);
    o->n_events = 0;
    if (r == 0) {
        struct packet *p = packet_new(&b.key, clock_wall_ms(), o->facts, o->procs, &frame);
        lane_push(o->lane, p);
        packet_unref(p);
    } else {
        log_error("relay", "%s: a batch cannot be encoded and is lost: %s", o->to.name, strerror(-r));
    }
}

static void tell_event(struct ssh_node *o, const struct node_event *e)
{
    if (o->n_events >= EVENTS_MAX)
        flush(o);
    gather_event(o->g, e);
    o->n_events++;
}

static void tell(struct ssh_node *o, enum event_kind kind, int64_t code, const char *text)
{
    struct node_event e = {.at_ms = clock_wall_ms(), .kind = (uint16_t)kind, .code = code};
    mem_copy_str(e.text, sizeof(e.text), text);
    tell_event(o, &e);
}

/* Facts or processes of now become the ones in force; a batch under the old ones is closed first. */
static bool renew(struct ssh_node *o, struct enclosure **old, uint64_t id, struct buf *frame)
{
    if (*old && (*old)->id == id)
        return false;
    flush(o);
    enclosure_unref(*old);
    *old = enclosure_new(id, frame);
    return true;
}

static void renew_facts(struct ssh_node *o)
{
    AUTO_BUF frame = BUF_INIT(FRAME_MAX);
    struct node_fact f = o->roster.facts; /* devices are borrowed */
    uint64_t id = 0;
    remote_fact(o->remote, &f);
    mem_copy_str(f.name, sizeof(f.name), o->to.name);
    mem_copy_str(f.collector, sizeof(f.collector), "ssh");
    f.tick_ms = (int32_t)o->conf->every_ms;
    if (wire_put_facts(&frame, &o->id, &f, &id) == 0)
        renew(o, &o->facts, id, &frame);
}

static void renew_procs(struct ssh_node *o)
{
    AUTO_BUF frame = BUF_INIT(FRAME_MAX);
    uint64_t id = 0;
    proc_table_fill(&o->crew, &o->roster, NULL, NULL);
    if (wire_put_procs(&frame, &o->id, &o->crew.procs, &id) == 0)
        renew(o, &o->procs, id, &frame);
}

/* ---- what it says of itself ---- */

static void on_hello(void *arg, struct hello *ret)
{
    struct ssh_node *o = arg;
    int64_t ahead =
        o->phase == CARRYING ? o->ahead_ms : 0; /* its batches are by its own clock, which the hub measures */
    *ret = (struct hello){.node = o->id,
                          .run = o->run,
                          .sent_ms = clock_wall_ms() + ahead,
                          .state_since_ms = o->since_ms + ahead,
                          .collect = o->collect};
    mem_copy_str(ret->name, sizeof(ret->name), o->to.name);
    mem_copy_str(ret->why, sizeof(ret->why), o->why);
}

static void on_dropped(void *arg, uint64_t n, const char *why)
{
    struct ssh_node *o = arg;
    tell(o, EVENT_DROPPED, (int64_t)n, why);
}

static const struct lane_hooks lane_hooks = {.hello = on_hello, .dropped = on_dropped};

static void set_state(struct ssh_node *o, uint8_t collect, const char *why)
{
    int64_t now = clock_wall_ms();
    uint8_t was = o->collect;
    bool same = was == collect && strcmp(o->why, why) == 0;
    char text[sizeof(o->why)];
    collect_text(text, sizeof(text), str_of(why));
    memcpy(o->why, text, sizeof(text));
    o->collect = collect;
    if (was == collect && same)
        return;
    if (was != collect) {
        if (collect == COLLECT_HUNG)
            tell(o, EVENT_HUNG, 0, why);
        else if (was == COLLECT_HUNG && collect == COLLECT_OK)
            tell(o, EVENT_ANSWERS, (now - o->since_ms) / 1000, "nvidia-smi answers again");
        o->since_ms = now;
    }
    log_line(collect == COLLECT_FAILED || collect == COLLECT_HUNG ? LOG_WARN : LOG_INFO, "relay", "%s: %s%s%s",
             o->to.name, collect_words[collect], why[0] ? ": " : "", why);
    flush(o);
    lane_speak(o->lane); /* every screen should know at once */
}

/* ---- a round ---- */

static void gather_round(struct ssh_node *o, int64_t at_ms)
{
    gather_tick(o->g, at_ms);
    if (gather_ticks(o->g) == 1)
        o->batch_ms = clock_mono_ms();
    gather_sample(o->g, 0, &o->reading.node);
    for (size_t i = 1; i < o->roster.n_samples; i++)
        gather_sample(o->g, (uint16_t)i, &o->roster.samples[i]);
    for (size_t i = 0; i < o->roster.n_events; i++)
        tell_event(o, &o->roster.events[i]);
    gather_uses(o->g, o->crew.uses, o->crew.n_uses);
}

static void on_round(struct ssh_node *o)
{
    int64_t at_ms = clock_wall_ms(), mono_ms = clock_mono_ms();
    bool bare = remote_bare(o->remote);
    reading_reset(&o->reading);
    o->reading.at_ms = at_ms;
    if (!remote_read(o->remote, at_ms, mono_ms, &o->reading))
        return;
    device_slots_begin(&o->roster, at_ms);
    if (bare)
        device_slots_excuse(&o->roster, 0);
    else
        device_slots_take(&o->roster, 0, &o->reading);
    device_slots_end(&o->roster);
    renew_facts(o);
    renew_procs(o);
    gather_round(o, at_ms);
    o->rounds++;
    o->pause_ms = 0; /* O3 */
    o->hung_again = 0;
    if (bare)
        set_state(o, COLLECT_NONE, remote_why(o->remote));
    else if (o->reading.n_devices == 0 && remote_why(o->remote)[0]) /* a tool that tells of no GPU */
        set_state(o, COLLECT_FAILED, remote_why(o->remote));
    else
        set_state(o, COLLECT_OK, "");
    int64_t interval = lane_interval_ms(o->lane);
    if (mono_ms - o->batch_ms + o->conf->every_ms > interval) {
        flush(o);
        lane_speak(o->lane);
    }
}

/* ---- the connection ---- */

static void settle(struct ssh_node *o, enum phase next)
{
    bool was = o->phase == CONNECTING;
    o->phase = next;
    if (was)
        o->hooks.settled(o->arg, o);
}

static void away(struct ssh_node *o, int64_t pause_ms)
{
    ssh_stop(o->ssh);
    o->ssh = NULL;
    o->retry_ms = clock_mono_ms() + pause_ms;
    settle(o, AWAY);
}

static void want(struct ssh_node *o)
{
    o->phase = WANTING;
    o->hooks.want(o->arg, o);
}

static int64_t next_pause(struct ssh_node *o)
{
    o->pause_ms = o->pause_ms ? MIN(o->pause_ms * 2, RETRY_MAX_MS) : RETRY_MIN_MS;
    return o->pause_ms - (int64_t)((double)o->pause_ms * rand_unit() / 2);
}

static void failed(struct ssh_node *o, const char *why)
{
    set_state(o, COLLECT_FAILED, why);
    away(o, next_pause(o));
}

static void begin_carrying(struct ssh_node *o)
{
    flush(o);
    o->phase = CARRYING;
    o->heard_ms = clock_mono_ms();
    o->carried = 0;
    forward_begin(&o->carry);
    ssh_bytes(o->ssh);
}

/* What is there is too old, broken, or no agent at all: the shell does without it. */
static void no_agent(struct ssh_node *o, const char *why)
{
    log_warn("relay", "%s: its muster-agent is of no use, a shell reads it: %s", o->to.name, why);
    o->no_agent_ms = clock_mono_ms() + NO_AGENT_MS;
    away(o, 0);
    want(o);
}

static void on_news(struct ssh_node *o, enum remote_news news)
{
    switch (news) {
    case REMOTE_NONE:
        break;
    case REMOTE_TICK:
        on_round(o);
        break;
    case REMOTE_AGAIN:
        away(o, 0);
        want(o);
        break;
    case REMOTE_FAILED:
        if (remote_hung(o->remote))
            set_state(o, COLLECT_HUNG, remote_why(o->remote));
        else if (remote_bare(o->remote))
            set_state(o, COLLECT_NONE, remote_why(o->remote));
        else
            failed(o, remote_why(o->remote));
        break;
    case REMOTE_AGENT:
        begin_carrying(o);
        break;
    }
}

static bool flooded(struct ssh_node *o, size_t bytes, int64_t now)
{
    if (now - o->flood_ms > FLOOD_MS) {
        o->flood_ms = now;
        o->said = 0;
    }
    o->said += bytes;
    return o->said > FLOOD_BYTES;
}

static void on_line(void *arg, struct str line)
{
    struct ssh_node *o = arg;
    int64_t now = clock_mono_ms();
    if (o->phase == CONNECTING)
        settle(o, OPEN);
    if (flooded(o, line.len + 1, now))
        failed(o, "its shell prints more than anybody can read");
    else
        on_news(o, remote_line(o->remote, line, now));
}

static void keep_enclosure(struct enclosure **mine, struct enclosure *b)
{
    enclosure_ref(b);
    enclosure_unref(*mine);
    *mine = b;
}

static void on_packet(struct ssh_node *o, struct packet *p)
{
    keep_enclosure(&o->facts, p->facts);
    keep_enclosure(&o->procs, p->procs);
    lane_push(o->lane, p);
    packet_unref(p);
    o->number++;
    o->carried++;
    o->rounds++;
    o->pause_ms = 0; /* O3 */
    if (clock_mono_ms() - lane_spoke_ms(o->lane) + o->conf->every_ms > lane_interval_ms(o->lane))
        lane_speak(o->lane);
}

static void on_bytes(void *arg, struct str bytes)
{
    struct ssh_node *o = arg;
    struct err err = {0};
    struct packet *p = NULL;
    int got = FORWARD_HELLO;
    o->heard_ms = clock_mono_ms();
    forward_add(&o->carry, bytes);
    while (got > 0 && o->phase == CARRYING) {
        struct batch_key next = {.node = o->id, .run = o->run, .number = o->number + 1};
        got = forward_next(&o->carry, post_dec(o->post), &next, &p, &err);
        if (got == FORWARD_HELLO) {
            o->ahead_ms = o->carry.hello.sent_ms - clock_wall_ms();
            set_state(o, o->carry.hello.collect, o->carry.hello.why);
        } else if (got == FORWARD_PACKET) {
            on_packet(o, p);
        }
    }
    if (got < 0)
        no_agent(o, err.msg);
    else if (flooded(o, bytes.len, o->heard_ms))
        no_agent(o, "it says more than anybody can read");
}

static void on_ended(void *arg, const char *sentence, int status)
{
    struct ssh_node *o = arg;
    o->ssh = NULL;
    if (o->phase != CARRYING || status != REMOTE_AGENT_ENDED)
        failed(o, sentence);
    else if (o->carried)
        failed(o, "muster-agent has ended there");
    else
        no_agent(o, sentence);
}

void ssh_node_connect(struct ssh_node *o)
{
    static const struct ssh_calls calls = {.line = on_line, .bytes = on_bytes, .ended = on_ended};
    AUTO_BUF script = BUF_INIT(64u << 10);
    struct ssh_target to = {.host = o->to.host, .user = o->to.user, .port = o->to.port};
    struct err err = {0};
    o->phase = CONNECTING;
    if (o->unlisted_ms) {
        settle(o, AWAY);
        return;
    }
    o->begun_ms = clock_mono_ms();
    o->flood_ms = o->begun_ms;
    o->said = 0;
    remote_begin(o->remote, o->begun_ms);
    remote_script(o->remote, o->begun_ms >= o->no_agent_ms, &script);
    if (ssh_start(&o->ssh, o->loop, &o->conf->ssh, &to, buf_str(&script), &calls, o, &err) < 0) {
        o->ssh = NULL;
        failed(o, err.msg);
    }
}

static void beat_open(struct ssh_node *o, int64_t now)
{
    if (o->phase == CONNECTING && now - o->begun_ms > o->conf->ssh.connect_ms + MUTE_MS)
        failed(o, "ssh: connected, but the shell there does not say a word");
    else if (o->phase == OPEN)
        on_news(o, remote_wait(o->remote, now));
    else if (o->phase == CARRYING && now - o->heard_ms > AGENT_MS + 2 * o->conf->every_ms)
        no_agent(o, "it does not say a word");
    bool again = o->collect == COLLECT_NONE || (o->collect == COLLECT_HUNG && o->hung_again < HUNG_MAX);
    if (o->phase == OPEN && now - o->begun_ms > RENEW_MS && again) {
        o->hung_again += o->collect == COLLECT_HUNG;
        away(o, 0);
    }
}

static void on_beat(evutil_socket_t fd, short what, void *arg)
{
    struct ssh_node *o = arg;
    int64_t now = clock_mono_ms();
    (void)fd, (void)what;
    if (o->phase == AWAY && !o->unlisted_ms && now >= o->retry_ms) {
        want(o);
    } else if (o->phase != AWAY && o->phase != WANTING) {
        beat_open(o, now);
    }
    if (now - lane_spoke_ms(o->lane) >= HELLO_MS) { /* O2 */
        flush(o);
        lane_speak(o->lane);
    }
}

/* ---- beginning and end ---- */

struct ssh_node *ssh_node_new(struct event_base *loop, struct post *post, const struct ssh_node_conf *conf,
                              const struct relay_target *to, uint64_t run, const struct ssh_node_hooks *hooks,
                              void *arg)
{
    struct ssh_node *o = mem_zero(1, sizeof(*o));
    struct timeval tv = {.tv_sec = BEAT_MS / 1000};
    *o = (struct ssh_node){.loop = loop, .conf = conf, .hooks = *hooks, .arg = arg, .to = *to, .run = run};
    o->to.host = mem_str(to->host);
    o->to.user = mem_str(to->user);
    o->to.labels = NULL; /* its lane has them */
    snprintf(o->key, sizeof(o->key), "ssh:%s", to->name);
    node_origin_id(str_of(o->key), &o->id);
    forward_init(&o->carry, &o->id, o->to.name);
    o->remote = remote_new(conf->every_ms);
    o->g = gather_new();
    o->post = post;
    o->lane = lane_new(post, o->key, &lane_hooks, o);
    o->beat = event_new(loop, -1, EV_PERSIST, on_beat, o);
    o->collect = COLLECT_STARTING;
    o->since_ms = clock_wall_ms();
    mem_copy_str(o->why, sizeof(o->why), "connecting over ssh");
    event_add(o->beat, &tv);
    lane_speak(o->lane);
    want(o);
    return o;
}

void ssh_node_free(struct ssh_node *o)
{
    if (!o)
        return;
    ssh_stop(o->ssh);
    settle(o, AWAY);
    event_free(o->beat);
    lane_free(o->lane);
    remote_free(o->remote);
    forward_fini(&o->carry);
    reading_fini(&o->reading);
    device_slots_fini(&o->roster);
    proc_table_fini(&o->crew);
    gather_free(o->g);
    enclosure_unref(o->facts);
    enclosure_unref(o->procs);
    free(o->to.host);
    free(o->to.user);
    free(o);
}

const char *ssh_node_name(const struct ssh_node *o)
{
    return o->to.name;
}

bool ssh_node_same(const struct ssh_node *o, const struct relay_target *to)
{
    return strcmp(o->to.name, to->name) == 0 && strcmp(o->to.host, to->host) == 0 && o->to.port == to->port &&
           !o->to.user == !to->user && (!to->user || strcmp(o->to.user, to->user) == 0);
}

void ssh_node_unlist(struct ssh_node *o)
{
    if (o->unlisted_ms)
        return;
    o->unlisted_ms = MAX(clock_mono_ms(), 1);
    set_state(o, COLLECT_PAUSED, "unlisted: it is no longer in the list of nodes");
    if (o->phase != WANTING)
        away(o, 0);
}

void ssh_node_list(struct ssh_node *o)
{
    if (!o->unlisted_ms)
        return;
    o->unlisted_ms = 0;
    set_state(o, COLLECT_STARTING, "connecting over ssh");
}

void ssh_node_labels(struct ssh_node *o, const char *labels)
{
    lane_labels(o->lane, labels);
}

int64_t ssh_node_unlisted_ms(const struct ssh_node *o)
{
    return o->unlisted_ms;
}

void ssh_node_stat(const struct ssh_node *o, struct ssh_node_stat *ret)
{
    *ret = (struct ssh_node_stat){.collect = o->collect,
                                  .why = o->why,
                                  .rounds = o->rounds,
                                  .skipped = remote_skipped(o->remote)};
}
