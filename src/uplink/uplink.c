/* uplink.c: a node's facts, processes and batches, and the lane (post.h) they leave by. */
#include "uplink/uplink.h"

#include "base/clock.h"
#include "base/log.h"
#include "base/timer.h"
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
    int64_t since_ms, ahead_ms; /* since: wall */
    char why[160];
    struct timer *beat;
    struct device_slots slots;
    struct proc_table table;
    struct gather *g;
    size_t n_events;
    int64_t batch_ms; /* when the batch being filled began, monotonic */
    struct post *post;
    struct enclosure *facts, *procs;
    struct post_lane *lane;
    struct sender *sender; /* the lane's */
};

/* ---- batches ---- */

static void close_batch(struct uplink *t)
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
    sender_push(t->sender, p);
    packet_unref(p);
}

void uplink_send(struct uplink *t)
{
    close_batch(t);
    sender_beat(t->sender);
}

void uplink_send_due(struct uplink *t, int64_t every_ms)
{
    if (clock_mono_ms() - t->batch_ms + every_ms > sender_pace(t->sender)->interval_ms)
        uplink_send(t);
}

static void tell_event(struct uplink *t, const struct node_event *e)
{
    if (t->n_events >= EVENTS_MAX)
        close_batch(t);
    gather_event(t->g, e);
    t->n_events++;
}

static void tell(struct uplink *t, enum event_kind kind, int64_t code, const char *text)
{
    struct node_event e = {.at_ms = clock_wall_ms(), .kind = (uint16_t)kind, .code = code};
    mem_copy_str(e.text, sizeof(e.text), text);
    tell_event(t, &e);
}

/* Makes new facts or processes the current ones; first closes a batch under the old ones. */
static void renew(struct uplink *t, struct enclosure **old, uint64_t id, struct buf *frame)
{
    if (!*old || (*old)->id != id)
        close_batch(t);
    enclosure_renew(old, id, frame);
}

static void renew_facts(struct uplink *t, const struct node_fact *host)
{
    AUTO_BUF frame = BUF_INIT(FRAME_MAX);
    struct node_fact f = *host; /* all of it is borrowed */
    const struct node_fact *seen = &t->slots.facts;
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
    proc_table_fill(&t->table, &t->slots, NULL, NULL);
    if (wire_put_procs(&frame, &t->id, &t->table.procs, &id) == 0)
        renew(t, &t->procs, id, &frame);
}

void uplink_round(struct uplink *t, const struct reading *r, const struct node_fact *host, enum uplink_devices devices)
{
    device_slots_begin(&t->slots, r->at_ms);
    if (devices == UPLINK_UNKNOWN)
        device_slots_excuse(&t->slots, 0);
    else
        device_slots_take(&t->slots, 0, r);
    device_slots_end(&t->slots);
    renew_facts(t, host);
    renew_procs(t);
    gather_tick(t->g, r->at_ms);
    if (gather_ticks(t->g) == 1)
        t->batch_ms = clock_mono_ms();
    gather_sample(t->g, 0, &r->node);
    for (size_t i = 1; devices != UPLINK_KNOWN && i < t->slots.n_samples; i++)
        gather_sample(t->g, (uint16_t)i, &t->slots.samples[i]);
    for (size_t i = 0; i < t->slots.n_custom; i++)
        gather_value(t->g, t->slots.custom[i].slot, t->slots.custom[i].metric, t->slots.custom[i].v);
    for (size_t i = 0; i < t->slots.n_events; i++)
        tell_event(t, &t->slots.events[i]);
    gather_uses(t->g, t->table.uses, t->table.n_uses);
}

/* ---- batches that were made elsewhere ---- */

void uplink_next(const struct uplink *t, struct batch_key *ret)
{
    *ret = (struct batch_key){.node = t->id, .run = t->run, .number = t->number + 1};
}

static void keep_enclosure(struct enclosure **mine, struct enclosure *b)
{
    enclosure_ref(b);
    enclosure_unref(*mine);
    *mine = b;
}

void uplink_pass(struct uplink *t, struct packet *p, int64_t every_ms)
{
    keep_enclosure(&t->facts, p->facts);
    keep_enclosure(&t->procs, p->procs);
    sender_push(t->sender, p);
    packet_unref(p);
    t->number++;
    if (clock_mono_ms() - sender_spoke_ms(t->sender) + every_ms > sender_pace(t->sender)->interval_ms)
        sender_beat(t->sender);
}

/* ---- state of the node ---- */

static void on_hello(void *arg, struct hello *ret)
{
    struct uplink *t = arg;
    *ret = (struct hello){.node = t->id,
                          .run = t->run,
                          .sent_ms = clock_wall_ms() + t->ahead_ms,
                          .state_since_ms = t->since_ms + t->ahead_ms,
                          .collect = t->collect};
    mem_copy_str(ret->name, sizeof(ret->name), t->name);
    mem_copy_str(ret->why, sizeof(ret->why), t->why);
}

static void on_dropped(void *arg, uint64_t n, const char *why)
{
    tell(arg, EVENT_DROPPED, (int64_t)n, why);
}

static const struct sender_hooks sender_hooks = {.hello = on_hello, .dropped = on_dropped};

void uplink_state(struct uplink *t, enum collect_state collect, const char *why)
{
    enum collect_state was = (enum collect_state)t->collect;
    int64_t now = clock_wall_ms();
    char text[sizeof(t->why)] = "";
    collect_text(text, sizeof(text), str_of(why));
    if (was == collect && strcmp(t->why, text) == 0)
        return;
    if (was != collect && collect == COLLECT_HUNG)
        tell(t, EVENT_HUNG, 0, text);
    else if (was == COLLECT_HUNG && collect == COLLECT_OK)
        tell(t, EVENT_ANSWERS, (now - t->since_ms) / 1000, "nvidia-smi answers again");
    if (was != collect)
        t->since_ms = now;
    t->collect = (uint8_t)collect;
    memcpy(t->why, text, sizeof(text));
    log_line(collect == COLLECT_FAILED || collect == COLLECT_HUNG ? LOG_WARN : LOG_INFO, "relay", "%s: %s%s%s", t->name,
             collect_words[collect], text[0] ? ": " : "", text);
    uplink_send(t); /* viewers see it immediately */
}

void uplink_ahead(struct uplink *t, int64_t ms)
{
    t->ahead_ms = ms;
}

enum collect_state uplink_collect(const struct uplink *t)
{
    return (enum collect_state)t->collect;
}

static void on_beat(void *arg)
{
    struct uplink *t = arg;
    if (clock_mono_ms() - sender_spoke_ms(t->sender) >= HELLO_MS)
        uplink_send(t);
}

/* ---- start and end ---- */

struct uplink *uplink_new(struct event_base *loop, struct post *post, const char *key, uint64_t run, const char *why)
{
    struct uplink *t = NEW(struct uplink, .run = run, .collect = COLLECT_STARTING, .since_ms = clock_wall_ms(),
                           .g = gather_new(), .post = post);
    mem_copy_str(t->key, sizeof(t->key), key);
    t->name = strchr(t->key, ':') + 1;
    node_origin_id(str_of(t->key), &t->id);
    mem_copy_str(t->why, sizeof(t->why), why);
    t->lane = lane_new(post, t->key, &sender_hooks, t);
    t->sender = lane_sender(t->lane);
    t->beat = timer_new(loop, on_beat, t);
    timer_every(t->beat, BEAT_MS);
    sender_beat(t->sender);
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
    timer_free(t->beat);
    lane_free(t->lane);
    device_slots_fini(&t->slots);
    proc_table_fini(&t->table);
    gather_free(t->g);
    enclosure_unref(t->facts);
    enclosure_unref(t->procs);
    free(t);
}
