/* registry.c: the stored nodes at the hub's start, changes by admins, and events. */
#include <errno.h>

#include "access/tokens.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/order.h"
#include "hub/handlers.h"
#include "hub/self.h"
#include "nodes/before.h"
#include "nodes/feature.h"
#include "nodes/sources.h"

#define JOIN_MS    30000             /* after a start, live nodes have reported within this time */
#define RECALL_MS  120000            /* how long values are shown if newer samples do not contain them */
#define RECALL_MAX 30000             /* batches read at the start; at least one per node */
#define PROCS_BACK (30 * 86400000ll) /* processes not seen for longer ended while the hub was down */

/* Reads a blob of the store at the start; ret points into bytes. Returns false if missing or damaged. */
static bool load_blob(struct hub *h, const char *key, uint64_t id, struct buf *bytes, struct frame *ret)
{
    struct err err = {0};
    buf_fini(bytes);
    *bytes = BUF_INIT(WIRE_BODY_MAX);
    return store_get_blob(h->store, key, id, bytes, &err) == 1 && wire_one(buf_str(bytes), ret, &err) == 0;
}

static void load_node(struct hub *h, const struct store_node *rec)
{
    struct frame f;
    struct err err = {0};
    AUTO_BUF bytes = {0};
    struct node_fact facts = {0};
    struct peer *peer = peers_get(h->peers, rec->key);
    peer->rec = *rec;
    peer->saved_ms = h->started_ms;
    struct node_now *n = live_node(h->live, rec->key, rec->own_name, 0);
    n->demo = rec->demo;
    mem_copy_str(n->address, sizeof(n->address), rec->address);
    live_admin(h->live, n, rec->name, rec->retired, rec->maintenance);
    if (load_blob(h, rec->key, rec->facts, &bytes, &f) && wire_facts(&f, &facts, &err) == 0)
        live_facts(h->live, n, rec->facts, &facts, 0);
    node_fact_fini(&facts);
    n->never_sampled = rec->sampled_ms == 0;
    n->awaited = true;
    n->at_ms = rec->last_ms; /* shows "no report for 3 h", not "never reported" */
    h->newest_ms = MAX(h->newest_ms, rec->last_ms);
}

struct all_nodes {
    size_t n, cap;
    struct store_node *v;
};

static void add_node(void *arg, const struct store_node *rec)
{
    struct all_nodes *all = arg;
    VEC_ADD(all->v, all->n, all->cap, *rec);
}

COMPARE(by_age, struct store_node, ORDER(x->first_ms, y->first_ms) ?: strcmp(x->key, y->key))

/* Loads nodes, the oldest first: of two with one name it keeps the name. */
static int load_nodes(struct hub *h, struct err *err)
{
    struct all_nodes all = {0};
    int r = store_each(h->store, EACH_NODE(add_node, &all), err);
    SORT(all.v, all.n, by_age);
    for (size_t i = 0; i < all.n && r >= 0; i++)
        load_node(h, &all.v[i]);
    for (size_t i = 0; i < all.n && r >= 0; i++) { /* keep a newly given name */
        struct node_now *n = live_find(h->live, all.v[i].key);
        struct peer *peer = peers_find(h->peers, n->key);
        dup_gpus_load(h, n);
        if (strcmp(live_called(n), all.v[i].name) != 0)
            peer_save(h->peers, peer, n, true, h->started_ms);
    }
    free(all.v);
    return r;
}

/* ---- last state ---- */

struct recalling {
    struct hub *h;
    size_t batches;
};

static void recall_blobs(struct hub *h, struct node_now *n, const struct store_batch *b)
{
    struct frame f;
    struct err err = {0};
    AUTO_BUF bytes = {0};
    struct node_fact facts = {0};
    struct proc_list procs = {0};
    if (b->facts && !live_knows(n, b->facts, 0) && load_blob(h, n->key, b->facts, &bytes, &f) &&
        wire_facts(&f, &facts, &err) == 0)
        live_facts(h->live, n, b->facts, &facts, 0);
    if (b->procs && !live_knows(n, 0, b->procs) && load_blob(h, n->key, b->procs, &bytes, &f) &&
        wire_procs(&f, &procs, &err) == 0)
        live_procs(h->live, n, b->procs, &procs, 0);
    node_fact_fini(&facts);
    proc_list_fini(&procs);
}

static int recall_batch(void *arg, const struct store_batch *b)
{
    struct recalling *x = arg;
    struct hub *h = x->h;
    struct frame f;
    struct batch batch;
    struct err err = {0};
    struct node_now *n = live_find(h->live, b->node);
    if (!n || strcmp(n->key, b->node) != 0 || wire_one(b->bytes, &f, &err) < 0 || f.type != FRAME_BATCH ||
        wire_batch(h->dec, &f, &batch, &err) < 0)
        return 0; /* a removed node, or damage: the next batch repairs it */
    recall_blobs(h, n, b);
    batch.facts = b->facts; /* the current ones: a GPU of two nodes has another uuid there than in the agent's facts */
    batch.procs = b->procs;
    live_recall(h->live, n, &batch, b->shift_ms, h->started_ms);
    h->newest_ms = MAX(h->newest_ms, n->at_ms);
    x->batches++;
    return 0;
}

static void note_event(void *arg, UNUSED const char *node, UNUSED const char *device, const struct node_event *e)
{
    int64_t *newest_ms = arg;
    *newest_ms = MAX(*newest_ms, e->at_ms);
}

/* The hub was last alive at its last report or event. */
static void resume(struct hub *h)
{
    struct recalling x = {.h = h};
    struct err err = {0};
    int64_t event_ms = 0;
    if (store_each_batch(h->store, &(struct newest_query){RECALL_MS, RECALL_MAX}, recall_batch, &x, &err) < 0)
        log_warn("hub", "what nodes were last seen doing is not all known: %s", err.msg);
    store_each(h->store, EACH_EVENT(note_event, &event_ms, .limit = 1), &err);
    live_resume(h->live, MIN(MAX(h->newest_ms, event_ms), h->started_ms), h->started_ms);
    before_read(h);
    log_debug("hub", "%zu nodes are known, from %zu batches", live_count(h->live), x.batches);
}

/* The usage of that period changed. */
static void tell_time(void *hub, const char *node, int64_t from_ms, int64_t to_ms)
{
    hub_time(hub, node, from_ms, to_ms, clock_wall_ms());
}

static void *open_nodes(struct hub *h)
{
    h->peers = peers_new(h->store);
    h->api.sources = source_status_new();
    peers_watch(h->peers, tell_time, h);
    return h;
}

/* An earlier version stored nodes that send to other hubs without their facts. */
static void find_facts(struct hub *h)
{
    struct err err = {0};
    int r = store_find_facts(h->store, &err);
    if (r < 0)
        log_warn("hub", "cannot restore the facts of nodes that are stored without any: %s", err.msg);
    else if (r > 0)
        log_info("hub", "restored the facts of %d nodes that were stored without any", r);
}

static int load_all(void *self, struct err *err)
{
    struct hub *h = self;
    find_facts(h);
    int r = load_nodes(h, err);
    if (r >= 0)
        r = peers_load_procs(h->peers, h->started_ms - PROCS_BACK, err);
    if (r >= 0)
        resume(h);
    if (r >= 0 && !hub_is_alone(h))
        r = share_sender_new(h, &h->telling, err);
    live_tick(h->live, clock_wall_ms());
    return r;
}

static void add_status(void *self, struct status *s)
{
    struct hub *h = self;
    if (!s->notice[0])
        share_sender_notice(h->telling, s->notice);
    if (!s->notice[0])
        source_status_notice(h->api.sources, clock_wall_ms(), s->notice);
    if (!s->notice[0])
        versions_notice(h, s->notice);
    status_metric(s, "muster_hub_batches", "batches taken from agents", true, h->batches);
    status_metric(s, "muster_hub_repeats", "batches that were stored already", true, h->repeats);
    status_metric(s, "muster_hub_refused", "requests of agents that were refused", true, h->refused);
}

/* Stores the last report of each node. */
static void save_all(void *self)
{
    struct hub *h = self;
    size_t n;
    const struct node_now *const *v = live_nodes(h->live, true, &n);
    int64_t now_ms = clock_wall_ms();
    for (size_t i = 0; i < n; i++) {
        struct peer *peer = peers_find(h->peers, v[i]->key);
        if (peer && peer->mine && v[i]->at_ms > peer->rec.last_ms)
            peer_save(h->peers, peer, v[i], true, now_ms);
    }
}

static void close_nodes(void *self)
{
    struct hub *h = self;
    share_sender_free(h->telling);
    peers_free(h->peers);
    source_status_free(h->api.sources);
    share_enable(h, false);
}

/* Refuses a name that another node has: both would be hard to select. A retired node keeps only its key. */
static bool name_taken(struct hub *h, const struct node_now *n, const char *name)
{
    const struct node_now *other = live_find(h->live, name);
    return other && other != n && (!other->retired || strcmp(other->key, name) == 0);
}

void registry_labels(struct hub *h, const char *key, const char *labels)
{
    struct node_now *n = live_find(h->live, key);
    if (n && strcmp(n->key, key) == 0) /* not another node by its name */
        live_labels(h->live, n, labels);
}

int registry_admin(struct hub *h, const char *key_or_name, const char *rename, int retired, int maintenance,
                   struct err *err)
{
    struct node_now *n = live_find(h->live, key_or_name);
    struct peer *peer = n ? peers_find(h->peers, n->key) : NULL;
    if (!peer)
        return -ENOENT;
    if (rename && rename[0] && name_taken(h, n, rename))
        return err_set(err, -EEXIST, "another node is called '%s' already", rename);
    if (retired == 0 && n->retired && live_called(n)[0] && name_taken(h, n, n->name))
        return err_set(err, -EEXIST, "another node is called '%s' by now: rename one of the two first", n->name);
    live_admin(h->live, n, rename ? rename : live_called(n), retired < 0 ? n->retired : retired > 0,
               maintenance < 0 ? n->maintenance : maintenance > 0);
    if (retired >= 0)
        dup_gpus_invalidate(h, n, clock_wall_ms());
    peer_save(h->peers, peer, n, true, clock_wall_ms());
    log_info("hub", "node %s: now called %s%s%s", n->key, n->name, n->retired ? ", retired" : "",
             n->maintenance ? ", under maintenance" : "");
    return 0;
}

void registry_move(struct hub *h, struct node_now *n, struct node_now *old, int64_t now_ms)
{
    struct peer *peer = peers_find(h->peers, n->key), *was = peers_find(h->peers, old->key);
    char key[NODE_KEY_MAX];
    mem_copy_str(key, sizeof(key), old->key);
    log_info("hub", "node %s (%s) replaces %s (%s) and takes over its history, usage and bookings", n->name, n->key,
             old->name, key);
    hub_publish(h, &(struct hub_event){.kind = HUB_EVENT_RENAMED, .now_ms = now_ms, .node = n->key, .was = key});
    store_take_over(h->store, key, n->key);
    if (was && was->rec.first_ms)
        peer->rec.first_ms = peer->rec.first_ms ? MIN(peer->rec.first_ms, was->rec.first_ms) : was->rec.first_ms;
    if (was && was->rec.sampled_ms)
        n->never_sampled = false;
    peer->rec.sampled_ms = MAX(peer->rec.sampled_ms, was ? was->rec.sampled_ms : 0);
    memset(peer->facts, 0, sizeof(peer->facts));
    peers_drop(h->peers, key);
    live_join(h->live, n, old, now_ms);
    hub_publish(h, &(struct hub_event){.kind = HUB_EVENT_DEVICES, .now_ms = now_ms, .node = n->key});
    peer_save(h->peers, peer, n, true, now_ms);
}

/* Period of a node's samples. Returns false if it has none. */
static bool sampled(struct hub *h, const struct peer *peer, const struct node_now *n, int64_t *first_ms,
                    int64_t *last_ms)
{
    /* The first contact, which only peers.c has. Its data may be older: since the hub's start the time is exact, else
     * to the hour. */
    *first_ms = peer_watched_ms(peer);
    int64_t hour_ms = peers_counted_before(h->peers, n->key, *first_ms);
    if (hour_ms)
        *first_ms = hour_ms;
    *last_ms = MAX(peer->rec.sampled_ms, n->sample_at_ms);
    return !n->never_sampled;
}

int registry_join(struct hub *h, const char *new_one, const char *old_one, struct err *err)
{
    struct node_now *n = live_find(h->live, new_one), *old = live_find(h->live, old_one);
    struct peer *peer = n ? peers_find(h->peers, n->key) : NULL, *was = old ? peers_find(h->peers, old->key) : NULL;
    int64_t now_ms = clock_wall_ms(), first_ms, last_ms, old_first_ms, old_last_ms;
    if (!peer || !was)
        return err_set(err, -ENOENT, "no node is called '%s'; /api/v1/nodes lists them", peer ? old_one : new_one);
    if (n == old)
        return err_set(err, -EINVAL, "%s is one node: there is nothing to join", n->name);
    if (!live_silent(old, now_ms))
        return err_set(err, -EBUSY, "%s is reporting: a node that is replaced must not report for half a minute",
                       old->name);
    if (sampled(h, peer, n, &first_ms, &last_ms) && sampled(h, was, old, &old_first_ms, &old_last_ms) &&
        first_ms <= old_last_ms && old_first_ms <= last_ms)
        return err_set(err, -EBUSY, "%s and %s sent samples at the same time: they are two machines", n->name,
                       old->name);
    if (!was->heard && now_ms >= h->started_ms && now_ms - h->started_ms < JOIN_MS)
        return err_set(err, -EBUSY, "the hub has just started: in half a minute it knows whether %s is alive",
                       old->name);
    registry_move(h, n, old, now_ms);
    return 0;
}

int registry_delete(struct hub *h, const char *key_or_name, struct err *err)
{
    struct node_now *n = live_find(h->live, key_or_name);
    char key[NODE_KEY_MAX];
    if (!n || !peers_find(h->peers, n->key))
        return -ENOENT;
    if (!n->never_sampled)
        return err_set(err, -EEXIST, "%s has sent samples: retire it instead, which keeps its history", n->name);
    mem_copy_str(key, sizeof(key), n->key);
    log_info("hub", "node %s (%s) never sent a sample and is deleted, its token too", n->name, key);
    store_take_over(h->store, key, "");
    tokens_forget(h->tokens, key);
    peers_drop(h->peers, key);
    live_drop(h->live, key);
    return 0;
}

/* Another hub saw a node first, or an admin renamed it there. Its data comes with its batches. */
static void take_node(struct hub *h, const struct store_node *rec)
{
    struct node_now *n = live_find(h->live, rec->key);
    struct peer *peer = peers_find(h->peers, rec->key);
    if (!n || !peer || strcmp(n->key, rec->key) != 0) {
        load_node(h, rec);
        return;
    }
    bool admin =
        strcmp(peer->rec.name, rec->name) != 0 || n->retired != rec->retired || n->maintenance != rec->maintenance;
    if (!peer->mine)
        peer->rec = *rec;
    mem_copy_str(peer->rec.name, sizeof(peer->rec.name), rec->name);
    peer->rec.retired = rec->retired;
    peer->rec.maintenance = rec->maintenance;
    if (!admin)
        return;
    live_admin(h->live, n, rec->name, rec->retired, rec->maintenance);
    dup_gpus_invalidate(h, n, clock_wall_ms());
}

static void drop_node(struct hub *h, const char *key)
{
    const struct node_now *n = live_find(h->live, key);
    const struct peer *peer = peers_find(h->peers, key);
    if (!n || !peer || peer->mine || strcmp(n->key, key) != 0)
        return; /* it sends to this hub: it is alive */
    peers_drop(h->peers, key);
    live_drop(h->live, key);
}

static void hear_news(void *self, const struct hub_event *w)
{
    if (w->kind != HUB_EVENT_RECORD || w->record->kind != STORE_NODE)
        return;
    if (w->record->gone)
        drop_node(self, ((const struct store_node *)w->record->record)->key);
    else
        take_node(self, w->record->record);
}

const struct feature nodes_feature = {.name = "nodes",
                                      FEATURE_SETTINGS(nodes),
                                      .routes = nodes_routes,
                                      .open = open_nodes,
                                      .load = load_all,
                                      .hear = hear_news,
                                      .status = add_status,
                                      .stop = save_all,
                                      .close = close_nodes};
