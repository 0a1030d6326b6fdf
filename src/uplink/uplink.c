/* uplink.c: a node's facts, processes and batches, and the lane (post.h) they leave by. */
#include "uplink/uplink.h"

#include <event2/event.h>
#include <stdlib.h>

#include "base/clock.h"
#include "base/log.h"
#include "collect/proc_table.h"
#include "model/gather.h"
#include "wire/wire.h"

#define BEAT_MS    1000
#define HELLO_MS   10000
#define FRAME_MAX  (8u << 20)
#define EVENTS_MAX 64

struct uplink {
    char key[NODE_KEY_MAX];
    const char *name; /* of key */
    struct node_id id;
    uint64_t run, number;
    uint8_t collect;
    int64_t since_ms; /* wall */
    char why[160];
    struct event *beat;
    struct device_slots roster;
    struct proc_table crew;
    struct gather *g;
    size_t n_events;
    struct post *post;
    struct enclosure *facts, *procs;
    struct lane *lane;
};

/* ---- batches ---- */

static void flush(struct uplink *t)
{
    struct batch b;
    AUTO_BUF frame = BUF_INIT(FRAME_MAX);
    if (gather_ticks(t->g) == 0 && t->n_events == 0)
        return;
    gather_batch(t->g, &b);
    b.key = (struct batch_key){.node = t->id, .run = t->run, .number = ++t->number};
    b.facts = t->facts ? t->facts->id : 0;
    b.procs = t->procs ? t->procs->id : 0;
    int r = wire_put_batch(post_enc(t->post), &frame, &b);
    gather_reset(t->g);
    t->n_events = 0;
    if (r < 0) {
        log_error("relay", "%s: a batch cannot be encoded and is lost: %s", t->name, strerror(-r));
        return;
    }
    struct packet *p = packet_new(&b.key, clock_wall_ms(), t->facts, t->procs, &frame);
    lane_push(t->lane, p);
    packet_unref(p);
}

static void tell_event(struct uplink *t, const struct node_event *e)
{
    if (t->n_events >= EVENTS_MAX)
        flush(t);
    gather_event(t->g, e);
    t->n_events++;
}

/* Facts or processes of now become the ones in force; a batch under the old ones is closed first. */
static void renew(struct uplink *t, struct enclosure **old, uint64_t id, struct buf *frame)
{
    if (*old && (*old)->id == id)
        return;
    flush(t);
    enclosure_unref(*old);
    *old = enclosure_new(id, frame);
}

static void renew_facts(struct uplink *t, const struct node_fact *host)
{
    AUTO_BUF frame = BUF_INIT(FRAME_MAX);
    struct node_fact f = *host; /* all of it is borrowed */
    const struct node_fact *seen = &t->roster.facts;
    uint64_t id = 0;
    mem_copy_str(f.name, sizeof(f.name), t->name);
    mem_copy_str(f.driver, sizeof(f.driver), seen->driver);
    mem_copy_str(f.cuda, sizeof(f.cuda), seen->cuda);
    f.n_devices = seen->n_devices;
    f.devices = seen->devices;
    f.n_custom = seen->n_custom;
    f.custom = seen->custom;
    if (wire_put_facts(&frame, &t->id, &f, &id) == 0)
        renew(t, &t->facts, id, &frame);
}

static void renew_procs(struct uplink *t)
{
    AUTO_BUF frame = BUF_INIT(FRAME_MAX);
    uint64_t id = 0;
    proc_table_fill(&t->crew, &t->roster, NULL, NULL);
    if (wire_put_procs(&frame, &t->id, &t->crew.procs, &id) == 0)
        renew(t, &t->procs, id, &frame);
}

void uplink_round(struct uplink *t, const struct reading *r, const struct node_fact *host, bool devices)
{
    device_slots_begin(&t->roster, r->at_ms);
    device_slots_take(&t->roster, 0, r);
    device_slots_end(&t->roster);
    renew_facts(t, host);
    renew_procs(t);
    gather_tick(t->g, r->at_ms);
    gather_sample(t->g, 0, &r->node);
    for (size_t i = 1; devices && i < t->roster.n_samples; i++)
        gather_sample(t->g, (uint16_t)i, &t->roster.samples[i]);
    for (size_t i = 0; i < t->roster.n_custom; i++)
        gather_value(t->g, t->roster.custom[i].slot, t->roster.custom[i].metric, t->roster.custom[i].v);
    for (size_t i = 0; i < t->roster.n_events; i++)
        tell_event(t, &t->roster.events[i]);
    gather_uses(t->g, t->crew.uses, t->crew.n_uses);
    flush(t);
    lane_speak(t->lane);
}

/* ---- what it says of itself ---- */

static void on_hello(void *arg, struct hello *ret)
{
    struct uplink *t = arg;
    *ret = (struct hello){.node = t->id,
                          .run = t->run,
                          .sent_ms = clock_wall_ms(),
                          .state_since_ms = t->since_ms,
                          .collect = t->collect};
    mem_copy_str(ret->name, sizeof(ret->name), t->name);
    mem_copy_str(ret->why, sizeof(ret->why), t->why);
}

static void on_dropped(void *arg, uint64_t n, const char *why)
{
    struct uplink *t = arg;
    struct node_event e = {.at_ms = clock_wall_ms(), .kind = EVENT_DROPPED, .code = (int64_t)n};
    mem_copy_str(e.text, sizeof(e.text), why);
    tell_event(t, &e);
}

static const struct lane_hooks lane_hooks = {.hello = on_hello, .dropped = on_dropped};

void uplink_state(struct uplink *t, enum collect_state collect, const char *why)
{
    char text[sizeof(t->why)];
    collect_text(text, sizeof(text), str_of(why));
    bool same = strcmp(t->why, text) == 0;
    if (t->collect == collect && same)
        return;
    if (t->collect != collect)
        t->since_ms = clock_wall_ms();
    t->collect = (uint8_t)collect;
    memcpy(t->why, text, sizeof(text));
    log_line(collect == COLLECT_FAILED ? LOG_WARN : LOG_INFO, "relay", "%s: %s%s%s", t->name, collect_words[collect],
             text[0] ? ": " : "", text);
    flush(t);
    lane_speak(t->lane);
}

enum collect_state uplink_collect(const struct uplink *t)
{
    return (enum collect_state)t->collect;
}

static void on_beat(evutil_socket_t fd, short what, void *arg)
{
    struct uplink *t = arg;
    (void)fd, (void)what;
    if (clock_mono_ms() - lane_spoke_ms(t->lane) < HELLO_MS)
        return;
    flush(t);
    lane_speak(t->lane);
}

/* ---- beginning and end ---- */

struct uplink *uplink_new(struct event_base *loop, struct post *post, const char *key, uint64_t run, const char *why)
{
    struct uplink *t = mem_zero(1, sizeof(*t));
    struct timeval tv = {.tv_sec = BEAT_MS / 1000};
    mem_copy_str(t->key, sizeof(t->key), key);
    t->name = strchr(t->key, ':') + 1;
    node_origin_id(str_of(t->key), &t->id);
    t->run = run;
    t->collect = COLLECT_STARTING;
    t->since_ms = clock_wall_ms();
    mem_copy_str(t->why, sizeof(t->why), why);
    t->g = gather_new();
    t->post = post;
    t->lane = lane_new(post, t->key, &lane_hooks, t);
    t->beat = event_new(loop, -1, EV_PERSIST, on_beat, t);
    event_add(t->beat, &tv);
    lane_speak(t->lane);
    return t;
}

void uplink_labels(struct uplink *t, const char *labels)
{
    lane_labels(t->lane, labels);
}

void uplink_free(struct uplink *t)
{
    if (!t)
        return;
    event_free(t->beat);
    lane_free(t->lane);
    device_slots_fini(&t->roster);
    proc_table_fini(&t->crew);
    gather_free(t->g);
    enclosure_unref(t->facts);
    enclosure_unref(t->procs);
    free(t);
}
