/*
 * feature.c: the live state (live.h) in the hub: its state rule, display names, the users of processes, and streams of
 * changes.
 */
#include <errno.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/timer.h"
#include "format/words.h"
#include "hub/handlers.h"
#include "hub/self.h"
#include "model/names.h"
#include "now/feature.h"
#include "now/live.h"
#include "now/streams.h"
#include "people/identities.h"

#define PUSH_MS    200
#define BEAT_TICKS 5

#define SETTINGS now
#include "base/opt_def.h"

static int read_rule(const struct now_settings *conf, struct state_rule *ret, struct err *err)
{
    struct state_rule rule;
    const char *preset = conf->preset ? conf->preset : "muster";
    if (state_rule_preset(preset, &rule) < 0)
        return err_set(err, -EINVAL,
                       "rule.preset '%s' is not known: there are muster, web-gpu-monitor, gpu-monitor and strict",
                       preset);
    const struct {
        const char *name, *text;
        enum opt_type type;
        bool off;
        int64_t *to;
    } all[] = {
        {"rule.util", conf->util, OPT_PERCENT, false, &rule.busy_util},
        {"rule.mem_util", conf->mem_util, OPT_PERCENT, true, &rule.busy_mem_util},
        {"rule.held_mem", conf->held_mem, OPT_BYTES, true, &rule.held_mem},
        {"rule.graphics_mem", conf->graphics_mem, OPT_BYTES, false, &rule.graphics_mem},
        {"rule.stale_after", conf->stale_after, OPT_DURATION, false, &rule.stale_after_ms},
        {"rule.down_after", conf->down_after, OPT_DURATION, false, &rule.down_after_ms},
        {"rule.hung_after", conf->hung_after, OPT_DURATION, false, &rule.hung_after_ms},
    };
    for (size_t i = 0; i < ARRAY_LEN(all); i++) {
        struct opt o = {.name = all[i].name, .type = all[i].type, .max = INT64_MAX / 4};
        bool off = all[i].off && all[i].text && strcmp(all[i].text, "off") == 0;
        int r = off || !all[i].text ? 0 : opt_set(&o, all[i].to, str_of(all[i].text), err);
        if (r < 0)
            return err_prefix(err, r, "%s", all[i].name);
        if (off)
            *all[i].to = -1;
    }
    rule.down_exact = conf->down_exact;
    *ret = rule;
    return 0;
}

int state_rule_of_conf(const struct hub_conf *conf, struct state_rule *ret, struct err *err)
{
    return read_rule(feature_settings(conf, &now_feature), ret, err);
}

struct now_next {
    struct state_rule rule;
    struct names *names;
};

static void drop_rule(void *next)
{
    struct now_next *n = next;
    if (n)
        names_free(n->names);
    free(n);
}

static int prepare_rule(UNUSED void *self, const struct hub_conf *conf, void **next, struct err *err)
{
    const struct now_settings *c = feature_settings(conf, &now_feature);
    struct now_next *n = *next = mem_zero(1, sizeof(*n));
    int r = read_rule(c, &n->rule, err);
    return r < 0 ? r : names_parse(c->names.v, c->names.n, &n->names, err);
}

struct hub_now {
    struct hub *h;
    struct identities *identities; /* used by live for every process */
    int64_t next_ms;               /* next change of group memberships; INT64_MAX: never */
    struct timer *push;
    unsigned ticks;
};

static void take_rule(void *self, void *next)
{
    struct hub *h = ((struct hub_now *)self)->h;
    const struct now_settings *c = feature_settings(&h->conf, &now_feature);
    struct now_next *n = next;
    struct httpd_stat st;
    httpd_stat(h->httpd, &st);
    /* Readers stay connected: they get at most half of the connections, to leave room for other clients. */
    streams_set_max(h->streams, MIN((size_t)c->max_streams, st.max / 2), (size_t)c->max_streams_per_address);
    live_set_rule(h->live, &n->rule);
    live_set_names(h->live, n->names);
    free(n);
}

static void tell_event(void *arg, const struct node_now *n, const struct node_event *e)
{
    if (e->kind != EVENT_DOWN || hub_leads(arg)) /* all hubs notice it; the leader reports it */
        hub_event(arg, n->key, NULL, e);
    log_info("hub", "%s (%s): %s: %s", n->name, n->key, event_words[e->kind], e->text);
}

static void on_push(void *arg)
{
    struct hub_now *n = arg;
    if (streams_count(n->h->streams) > 0)
        streams_push(n->h->streams, clock_wall_ms());
    else
        timer_stop(n->push); /* until a tick finds a reader */
}

static void *open_now(struct hub *h)
{
    struct hub_now *n = NEW(struct hub_now, .h = h, .next_ms = INT64_MAX);
    n->push = timer_new(h->loop, on_push, n);
    h->live = h->api.live = live_new(NULL, tell_event, h);
    h->streams = streams_new(&h->api);
    return n;
}

/* For live: the identity of a login on this node. */
static const struct identity *who_is(void *arg, const struct node_now *n, const struct proc_fact *f)
{
    return identities_find(((struct hub_now *)arg)->identities, n->name, f);
}

/* Maps all processes again. Frees the old identities last: live borrows them until then. */
static void meet(struct hub_now *n)
{
    struct people *c = n->h->api.people;
    struct identities *before = n->identities;
    int64_t now_ms = clock_wall_ms();
    n->identities = identities_new(c, now_ms);
    n->next_ms = people_next_change(c, now_ms);
    live_set_identity_fn(n->h->live, people_knows(c) ? who_is : NULL, n);
    identities_free(before);
}

/* Readers reconnect and see the new names. */
static void drop_streams(void *self, const struct hub_event *w)
{
    struct hub_now *n = self;
    if (w->kind == HUB_EVENT_PEOPLE)
        meet(n);
    if (w->kind == HUB_EVENT_PEOPLE || w->kind == HUB_EVENT_END)
        streams_reset(n->h->streams);
}

/* Sets the hub's status message for all screens. Logs it if nothing else does. */
static void say_notice(struct hub *h)
{
    char notice[NOTICE_MAX];
    const char *was = live_notice(h->live);
    self_notice(h, notice);
    if (strcmp(notice, was ? was : "") == 0)
        return;
    if (notice[0] && !h->store_said)
        log_warn("hub", "%s", notice);
    live_set_notice(h->live, notice);
    streams_set_notice(h->streams, notice);
}

static void tick(void *self, int64_t now_ms)
{
    struct hub_now *n = self;
    struct hub *h = n->h;
    if (now_ms >= n->next_ms) /* memberships start and end at day boundaries */
        meet(n);
    say_notice(h);
    live_tick(h->live, now_ms);
    if (streams_lookers(h->streams) > 0)
        h->api.watched_ms = now_ms;
    if (streams_count(h->streams) > 0 && !timer_is_set(n->push))
        timer_every(n->push, PUSH_MS);
    if (++n->ticks % BEAT_TICKS == 0)
        streams_beat(h->streams, now_ms);
}

static void add_status(void *self, struct status *s)
{
    const struct streams *streams = ((struct hub_now *)self)->h->streams;
    status_metric(s, "muster_hub_streams", "live readers now", false, streams_count(streams));
    status_metric(s, "muster_hub_streams_seldom", "of these, following hubs without a connected client", false,
                  streams_count(streams) - streams_lookers(streams));
}

static void stop_streams(void *self)
{
    streams_reset(((struct hub_now *)self)->h->streams);
}

static void close_now(void *self)
{
    struct hub_now *n = self;
    streams_free(n->h->streams);
    live_free(n->h->live);
    identities_free(n->identities);
    timer_free(n->push);
    free(n);
}

const struct feature now_feature = {
    .name = "now",
    FEATURE_SETTINGS(now),
    .routes = now_routes,
    .open = open_now,
    .prepare = prepare_rule,
    .drop = drop_rule,
    .take = take_rule,
    .hear = drop_streams,
    .tick = tick,
    .status = add_status,
    .stop = stop_streams,
    .close = close_now,
};
