/* ssh_node.c: one machine over ssh: waiting for its turn to connect, connected, or trying again. */
#include "relay/ssh_node.h"

#include "base/clock.h"
#include "base/log.h"
#include "base/rand.h"
#include "base/timer.h"
#include "relay/remote.h"
#include "uplink/forward.h"
#include "uplink/uplink.h"

#define BEAT_MS      1000
#define RETRY_MIN_MS 1000
#define RETRY_MAX_MS 300000
#define MUTE_MS      30000  /* logged in, but no line from the shell */
#define RENEW_MS     600000 /* no nvidia-smi, or it hangs: start again after this time, something may have changed */
#define HUNG_MAX     2      /* but at most this often: each time leaves a process there that may never end */
#define FLOOD_MS     60000
#define FLOOD_BYTES  (16u << 20) /* in that time; sixteen GPUs with a thousand processes print less than 4 MB */
#define AGENT_MS     15000       /* an agent there sends something every few seconds, whatever the driver does */
#define NO_AGENT_MS  3600000     /* an unusable agent is not tried again for this time */

enum phase { AWAY, WANTING, CONNECTING, OPEN, CARRYING }; /* open: with a shell; carrying: with an agent */

struct ssh_node {
    struct event_base *loop;
    const struct ssh_node_conf *conf;
    struct ssh_node_hooks hooks;
    void *arg;
    struct relay_target to; /* its text is ours */
    struct uplink *up;

    enum phase phase;
    struct ssh *ssh;
    struct remote *remote;
    struct timer *beat;
    int64_t begun_ms, retry_ms, unlisted_ms; /* monotonic; retry: when to want a connection again */
    int64_t pause_ms;                        /* the last pause */
    unsigned hung_again;                     /* reconnections because nvidia-smi hangs */
    int64_t flood_ms;                        /* said: bytes received since then */
    size_t said;
    uint64_t rounds;

    struct forward carry;
    int64_t heard_ms, no_agent_ms; /* monotonic: of the agent, the last time; no agent until then */
    uint64_t carried;              /* batches of this connection */

    struct reading reading;
    struct post *post;
};

/* ---- a round ---- */

static void on_round(struct ssh_node *o)
{
    struct node_fact host;
    bool bare = remote_bare(o->remote);
    reading_reset(&o->reading);
    o->reading.at_ms = clock_wall_ms();
    if (!remote_read(o->remote, o->reading.at_ms, clock_mono_ms(), &o->reading))
        return;
    remote_fact(o->remote, &host);
    host.tick_ms = (int32_t)o->conf->every_ms;
    mem_copy_str(host.collector, sizeof(host.collector), "ssh");
    uplink_round(o->up, &o->reading, &host, bare ? UPLINK_UNKNOWN : UPLINK_READ);
    o->rounds++;
    o->pause_ms = 0; /* O3 */
    o->hung_again = 0;
    if (bare)
        uplink_state(o->up, COLLECT_NONE, remote_error(o->remote));
    else if (o->reading.n_devices == 0 && remote_error(o->remote)[0]) /* a tool that lists no GPU */
        uplink_state(o->up, COLLECT_FAILED, remote_error(o->remote));
    else
        uplink_state(o->up, COLLECT_OK, "");
    uplink_send_due(o->up, o->conf->every_ms);
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
    uplink_ahead(o->up, 0);
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
    uplink_state(o->up, COLLECT_FAILED, why);
    away(o, next_pause(o));
}

static void begin_carrying(struct ssh_node *o)
{
    uplink_send(o->up); /* flush the values read so far, before the agent's */
    o->phase = CARRYING;
    o->heard_ms = clock_mono_ms();
    o->carried = 0;
    forward_begin(&o->carry);
    ssh_bytes(o->ssh);
}

/* The agent is too old, broken, or not an agent: read the machine with the shell instead. */
static void no_agent(struct ssh_node *o, const char *why)
{
    log_warn("relay", "%s: its muster-agent is of no use, a shell reads it: %s", o->to.name, why);
    o->no_agent_ms = clock_mono_ms() + NO_AGENT_MS;
    away(o, 0);
    want(o);
}

static void on_news(struct ssh_node *o, enum remote_event news)
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
        if (remote_hung(o->remote) || remote_bare(o->remote))
            uplink_state(o->up, remote_hung(o->remote) ? COLLECT_HUNG : COLLECT_NONE, remote_error(o->remote));
        else
            failed(o, remote_error(o->remote));
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

static void on_packet(struct ssh_node *o, struct packet *p)
{
    o->carried++;
    o->rounds++;
    o->pause_ms = 0; /* O3 */
    uplink_pass(o->up, p, o->conf->every_ms);
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
        struct batch_key next;
        uplink_next(o->up, &next);
        got = forward_next(&o->carry, post_dec(o->post), &next, &p, &err);
        if (got == FORWARD_HELLO) {
            uplink_ahead(o->up, o->carry.hello.sent_ms - clock_wall_ms());
            uplink_state(o->up, (enum collect_state)o->carry.hello.collect, o->carry.hello.why);
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
    enum collect_state state = uplink_collect(o->up);
    bool again = state == COLLECT_NONE || (state == COLLECT_HUNG && o->hung_again < HUNG_MAX);
    if (o->phase == OPEN && now - o->begun_ms > RENEW_MS && again) {
        o->hung_again += state == COLLECT_HUNG;
        away(o, 0);
    }
}

static void on_beat(void *arg)
{
    struct ssh_node *o = arg;
    int64_t now = clock_mono_ms();
    if (o->phase == AWAY && !o->unlisted_ms && now >= o->retry_ms)
        want(o);
    else if (o->phase != AWAY && o->phase != WANTING)
        beat_open(o, now);
}

/* ---- start and end ---- */

struct ssh_node *ssh_node_new(struct event_base *loop, struct post *post, const struct ssh_node_conf *conf,
                              const struct relay_target *to, uint64_t run, const struct ssh_node_hooks *hooks,
                              void *arg)
{
    struct ssh_node *o =
        NEW(struct ssh_node, .loop = loop, .conf = conf, .hooks = *hooks, .arg = arg, .to = *to, .post = post);
    char key[NODE_KEY_MAX];
    struct node_id id;
    o->to.host = mem_str(to->host);
    o->to.user = mem_str(to->user);
    o->to.labels = NULL; /* its uplink has them */
    snprintf(key, sizeof(key), "ssh:%s", to->name);
    node_origin_id(str_of(key), &id);
    forward_init(&o->carry, &id, o->to.name);
    o->remote = remote_new(conf->every_ms);
    o->up = uplink_new(loop, post, key, run, "connecting over ssh");
    o->beat = timer_new(loop, on_beat, o);
    timer_every(o->beat, BEAT_MS);
    want(o);
    return o;
}

void ssh_node_free(struct ssh_node *o)
{
    if (!o)
        return;
    ssh_stop(o->ssh);
    settle(o, AWAY);
    timer_free(o->beat);
    uplink_free(o->up);
    remote_free(o->remote);
    forward_fini(&o->carry);
    reading_fini(&o->reading);
    FREE_ALL(o->to.host, o->to.user, o);
}

const char *ssh_node_name(const struct ssh_node *o)
{
    return o->to.name;
}

bool ssh_node_same(const struct ssh_node *o, const struct relay_target *to)
{
    return strcmp(o->to.name, to->name) == 0 && strcmp(o->to.host, to->host) == 0 && o->to.port == to->port &&
           str_same(o->to.user, to->user);
}

void ssh_node_unlist(struct ssh_node *o)
{
    if (o->unlisted_ms)
        return;
    o->unlisted_ms = MAX(clock_mono_ms(), 1);
    uplink_state(o->up, COLLECT_PAUSED, UNLISTED "it is no longer in the list of nodes");
    if (o->phase != WANTING)
        away(o, 0);
}

void ssh_node_list(struct ssh_node *o)
{
    if (!o->unlisted_ms)
        return;
    o->unlisted_ms = 0;
    uplink_state(o->up, COLLECT_STARTING, "connecting over ssh");
}

void ssh_node_labels(struct ssh_node *o, const char *labels)
{
    uplink_labels(o->up, labels);
}

int64_t ssh_node_unlisted_ms(const struct ssh_node *o)
{
    return o->unlisted_ms;
}

void ssh_node_stat(const struct ssh_node *o, struct ssh_node_stat *ret)
{
    *ret = (struct ssh_node_stat){.collect = uplink_collect(o->up), .rounds = o->rounds};
}
