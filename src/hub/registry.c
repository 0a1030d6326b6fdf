/* registry.c: the nodes a hub knows from before it started, what admins do to them, and what happened to them. */
#include <errno.h>

#include "base/clock.h"
#include "base/json.h"
#include "base/log.h"
#include "hub/alerts.h"

#define SETTLE_MS  90000             /* after a start nodes come back one by one: that is not news */
#define PROCS_BACK (30 * 86400000ll) /* processes not seen for longer ended when nobody looked */

static bool load_blob(struct hub *h, const char *key, uint64_t id, struct frame *ret)
{
    struct err err = {0};
    if (!id)
        return false;
    buf_fini(&h->scratch);
    h->scratch = BUF_INIT(WIRE_BODY_MAX);
    if (store_get_blob(h->store, key, id, &h->scratch, &err) != 1)
        return false;
    return wire_one(buf_str(&h->scratch), ret, &err) == 0;
}

static void load_node(void *arg, const struct store_node *rec)
{
    struct hub *h = arg;
    bool is_new;
    struct frame f;
    struct err err = {0};
    struct node_fact facts = {0};
    struct peer *peer = peers_get(h->peers, rec->key, &is_new);
    peer->rec = *rec;
    peer->saved_ms = h->started_ms;
    struct node_now *n = live_node(h->live, rec->key, rec->own_name, 0);
    n->demo = rec->demo;
    mem_copy_str(n->address, sizeof(n->address), rec->address);
    live_admin(h->live, n, rec->name, rec->retired, rec->maintenance);
    if (load_blob(h, rec->key, rec->facts, &f) && wire_facts(&f, &facts, &err) == 0)
        live_facts(h->live, n, rec->facts, &facts, 0);
    node_fact_fini(&facts);
    n->never_sampled = rec->sampled_ms == 0;
    n->at_ms = rec->last_ms; /* "no news for 3 h", not "never heard of" */
    h->newest_ms = MAX(h->newest_ms, rec->last_ms);
}

int registry_load(struct hub *h, struct err *err)
{
    int r = store_nodes(h->store, load_node, h, err);
    if (r >= 0)
        r = peers_load_procs(h->peers, h->started_ms - PROCS_BACK, err);
    return r;
}

/* A name that another node answers to already would make both hard to ask for. */
static bool name_taken(struct hub *h, const struct node_now *n, const char *name)
{
    const struct node_now *other = live_find(h->live, name);
    return other && other != n;
}

void registry_labels(void *hub, const char *key, const char *labels)
{
    struct hub *h = hub;
    struct node_now *n = live_find(h->live, key);
    if (n && strcmp(n->key, key) == 0) /* not another one by its name */
        live_labels(h->live, n, labels);
}

int registry_admin(void *hub, const char *key_or_name, const char *rename, int retired, int maintenance,
                   struct err *err)
{
    struct hub *h = hub;
    struct node_now *n = live_find(h->live, key_or_name);
    struct peer *peer = n ? peers_find(h->peers, n->key) : NULL;
    if (!peer)
        return -ENOENT;
    if (rename && rename[0] && name_taken(h, n, rename))
        return err_set(err, -EEXIST, "another node is called '%s' already", rename);
    if (rename)
        mem_copy_str(peer->rec.name, sizeof(peer->rec.name), rename);
    live_admin(h->live, n, peer->rec.name, retired < 0 ? n->retired : retired > 0,
               maintenance < 0 ? n->maintenance : maintenance > 0);
    peer_save(h->peers, peer, n, true, clock_wall_ms());
    log_info("hub", "node %s: now called %s%s%s", n->key, n->name, n->retired ? ", retired" : "",
             n->maintenance ? ", under maintenance" : "");
    return 0;
}

int registry_delete(void *hub, const char *key_or_name, struct err *err)
{
    struct hub *h = hub;
    struct node_now *n = live_find(h->live, key_or_name);
    char key[NODE_KEY_MAX];
    if (!n || !peers_find(h->peers, n->key))
        return -ENOENT;
    if (!n->never_sampled)
        return err_set(err, -EEXIST, "%s has sent samples: retire it instead, which keeps its history", n->name);
    mem_copy_str(key, sizeof(key), n->key);
    log_info("hub", "node %s (%s) never sent a sample and is deleted, its token too", n->name, key);
    store_drop_node(h->store, key);
    tokens_forget(h->tokens, key);
    peers_drop(h->peers, key);
    live_drop(h->live, key);
    return 0;
}

void hub_event(struct hub *h, const char *node, const char *device, const struct event *e)
{
    store_put_event(h->store, node, device, e);
    alerts_desk_event(h->alerts, node, device, e);
}

void registry_on_event(void *hub, const struct node_now *n, const struct event *e)
{
    struct hub *h = hub;
    struct peer *peer = peers_find(h->peers, n->key);
    bool waking = (e->kind == EVENT_DOWN || e->kind == EVENT_BACK) && e->at_ms - h->started_ms < SETTLE_MS &&
                  !(peer && peer->heard);
    if (waking)
        return;
    hub_event(h, n->key, NULL, e);
    log_info("hub", "%s (%s): %s: %s", n->name, n->key, event_words[e->kind], e->text);
}

/* ---- events out ---- */

struct listing {
    struct hub *h;
    struct json j;
    size_t left; /* to be listed */
    bool (*keep)(void *arg, const struct node_now *n, const char *device);
    void *arg;
};

static void list_event(void *arg, const char *node, const char *device, const struct event *e)
{
    struct listing *l = arg;
    const struct node_now *n = live_find(l->h->live, node);
    if (l->left == 0 || (l->keep && !l->keep(l->arg, n, device)))
        return;
    l->left--;
    json_obj(&l->j, NULL);
    json_int(&l->j, "at", e->at_ms);
    json_cstr(&l->j, "node", n ? n->name : node);
    json_cstr(&l->j, "node_id", node);
    json_cstr(&l->j, "device", device && device[0] ? device : NULL);
    json_cstr(&l->j, "kind", e->kind < EVENT_KINDS ? event_words[e->kind] : "?");
    json_int(&l->j, "code", e->code);
    if (e->kind == EVENT_XID && e->code >= 0 && e->code < 100000 && xid_words((unsigned)e->code))
        json_cstr(&l->j, "meaning", xid_words((unsigned)e->code));
    json_cstr(&l->j, "text", e->text);
    json_end_obj(&l->j);
}

int registry_events(void *hub, const char *node, int64_t from_ms, size_t limit,
                    bool (*keep)(void *arg, const struct node_now *n, const char *device), void *arg, struct buf *out,
                    struct err *err)
{
    struct listing l = {.h = hub, .j = json_on(out), .left = limit, .keep = keep, .arg = arg};
    json_arr(&l.j, NULL);
    int r = store_events(l.h->store, node, from_ms, keep ? EVENTS_LOOK : limit, list_event, &l, err);
    json_end_arr(&l.j);
    return r < 0 ? r : 0;
}
