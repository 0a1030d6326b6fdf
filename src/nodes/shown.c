/*
 * shown.c: shows batches that another hub of the same store ingested, so that this hub can show every node. The other
 * hub stores them, with records, events and usage. Missing blobs are read from the store on a worker thread; until
 * then batches are skipped, and the next one is shown.
 */
#include <errno.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/order.h"
#include "hub/record_fetch.h"
#include "nodes/feature.h"
#include "nodes/newest.h"
#include "nodes/pace.h"
#include "nodes/share.h"
#include "nodes/since.h"

#define FIRST_MS     30000 /* a hub gets all data after its start: it has none yet */
#define LATE_MS      60000
#define NEWEST_BYTES (256u << 10)
#define SINCE_BYTES  (16u << 10)
#define VALUES_MS    7500 /* minimum interval of values to a hub without clients: every second batch */

struct showing { /* a node's part of a message */
    struct hub *h;
    struct peer *peer;
    struct node_now *n;
    int64_t now_ms;
    const struct hub_share *share;
};

/* ---- blobs ---- */

struct wanted {               /* being read from the store */
    struct record_fetch read; /* first */
    struct hub *h;
    char key[NODE_KEY_MAX];
    uint64_t facts, procs;
    struct buf facts_bytes, procs_bytes;
};

static void take_facts(struct hub *h, struct node_now *n, uint64_t id, const struct frame *f, int64_t now_ms)
{
    struct node_fact facts = {0};
    if (f->type == FRAME_FACTS && wire_facts(f, &facts, NULL) == 0)
        facts_show(h, n, id, &facts, now_ms);
    node_fact_fini(&facts);
}

static void take_procs(struct hub *h, struct node_now *n, uint64_t id, const struct frame *f, int64_t now_ms)
{
    struct proc_list procs = {0};
    if (f->type == FRAME_PROCS && wire_procs(f, &procs, NULL) == 0)
        live_procs(h->live, n, id, &procs, now_ms);
    proc_list_fini(&procs);
}

static int read_wanted(struct record_fetch *r, struct store *s, UNUSED struct err *err)
{
    struct wanted *w = (struct wanted *)r;
    if (w->facts)
        store_get_blob(s, w->key, w->facts, &w->facts_bytes, NULL);
    if (w->procs)
        store_get_blob(s, w->key, w->procs, &w->procs_bytes, NULL);
    return 0;
}

static void wanted_come(struct record_fetch *r)
{
    struct wanted *w = (struct wanted *)r;
    struct peer *peer = peers_find(w->h->peers, w->key);
    struct node_now *n = peer ? live_find(w->h->live, w->key) : NULL;
    struct frame f;
    if (peer)
        peer->wanting = false;
    if (r->code == 0 && n && strcmp(n->key, w->key) == 0) {
        int64_t now_ms = n->at_ms;
        w->h->shows = true;
        if (w->facts_bytes.len && wire_one(buf_str(&w->facts_bytes), &f, NULL) == 0)
            take_facts(w->h, n, w->facts, &f, now_ms);
        if (w->procs_bytes.len && wire_one(buf_str(&w->procs_bytes), &f, NULL) == 0)
            take_procs(w->h, n, w->procs, &f, now_ms);
        w->h->shows = false;
    }
    buf_fini(&w->facts_bytes);
    buf_fini(&w->procs_bytes);
    free(w);
}

static void want_blobs(const struct showing *x, uint64_t facts, uint64_t procs)
{
    if (x->peer->wanting)
        return;
    struct wanted *w =
        NEW(struct wanted, .read = {.read = read_wanted, .done = wanted_come, .blobs = true}, .h = x->h,
            .facts = live_knows(x->n, facts, 0) ? 0 : facts, .procs = live_knows(x->n, 0, procs) ? 0 : procs);
    mem_copy_str(w->key, sizeof(w->key), x->n->key);
    x->peer->wanting = record_fetch(x->h, &w->read, NULL) == 0;
    if (!x->peer->wanting)
        free(w);
}

/* Applies blobs that came with the batch. */
static void take_brought(const struct showing *x, uint64_t facts, uint64_t procs)
{
    for (size_t i = 0; i < x->share->n; i++) {
        struct frame f;
        if (wire_one(x->share->v[i].whole, &f, NULL) < 0)
            continue;
        if (f.type == FRAME_FACTS && f.id == facts && !live_knows(x->n, facts, 0))
            take_facts(x->h, x->n, facts, &f, x->now_ms);
        if (f.type == FRAME_PROCS && f.id == procs && !live_knows(x->n, 0, procs))
            take_procs(x->h, x->n, procs, &f, x->now_ms);
    }
}

static void put_share(struct hub *h, struct buf *to, const struct hub_share *t, int64_t now_ms)
{
    if (to->max == 0) {
        *to = BUF_INIT(SHARE_MAX);
        share_start(to);
    }
    if (share_put(to, t) < 0 && log_ratelimit(h, "shared", now_ms))
        log_warn("hub", "more was ingested than can be forwarded to the other hubs: they show it later");
}

/* ---- batches ---- */

/* Publishes the events to features here (alerts, streams); the other hub stores them. */
static void tell_events(const struct showing *x, const struct batch *b, int64_t shift_ms)
{
    for (size_t i = 0; i < b->n_events; i++) {
        struct node_event e = b->events[i];
        if (e.kind >= EVENT_BOOKED || !peer_event_rate_ok(x->peer, x->now_ms))
            continue;
        bool device = e.slot >= 1 && (size_t)e.slot <= live_slots(x->n);
        e.at_ms = MIN(e.at_ms + shift_ms, x->now_ms);
        hub_event(x->h, x->n->key, device ? x->n->devices[e.slot - 1].fact.uuid : NULL, &e);
    }
}

static void show_decoded(const struct showing *x, const struct share_frame *t, struct batch b)
{
    int64_t newest_ms = b.n_ticks ? b.at_ms[b.n_ticks - 1] + t->shift_ms : 0;
    if (newest_ms <= x->n->sample_at_ms) {
        if (b.n_ticks && b.n_uses)
            peers_publish_late(x->h->peers, x->n->key, b.at_ms[0] + t->shift_ms, newest_ms);
        return;
    }
    if (x->peer->mine) {
        x->peer->mine = false;
        memset(x->peer->facts, 0, sizeof(x->peer->facts)); /* the next batch here sends them again */
    }
    if (!live_knows(x->n, t->facts, t->procs))
        take_brought(x, t->facts, t->procs);
    if (!live_knows(x->n, t->facts, t->procs))
        want_blobs(x, t->facts, t->procs);
    b.facts = t->facts; /* as stored: see registry.c */
    b.procs = t->procs;
    tell_events(x, &b, t->shift_ms);
    live_batch(x->h->live, x->n, &b, t->shift_ms, x->now_ms);
    if (live_knows(x->n, t->facts, t->procs) && x->n->collect != COLLECT_HUNG)
        peer_track(x->h->peers, x->peer, x->n, newest_ms);
}

static void show_batch(const struct showing *x, const struct share_frame *t, const struct frame *f)
{
    struct batch b;
    if (peer_first_seen(x->peer, f->key.run, f->key.number) && wire_batch(x->h->dec, f, &b, NULL) == 0)
        show_decoded(x, t, b);
}

static void show_newest(const struct showing *x, const struct share_frame *t)
{
    struct batch b;
    void *mem;
    if (newest_get(t->whole, &b, &mem, NULL) == 0 && peer_first_seen(x->peer, b.key.run, b.key.number))
        show_decoded(x, t, b);
    free(mem);
}

/* Another hub may have restarted, and this one not. */
static void show_since(struct hub *h, const char *key, const struct hub_share *t, const struct share_frame *f,
                       bool better, int64_t now_ms)
{
    struct node_now *n = live_find(h->live, key);

    if (!n || strcmp(n->key, key) != 0 || since_show(h->live, n, f->whole, better) != 1 || !h->tells)
        return;
    AUTO_BUF since = BUF_INIT(SINCE_BYTES);
    if (since_put(&since, n, 0) < 0)
        return;
    struct hub_share back = {t->key, t->address, 1, {{.whole = buf_str(&since)}}};
    put_share(h, &h->shared, &back, now_ms);
    if (h->tells_all)
        put_share(h, &h->shared_all, &back, now_ms);
}

/* All hubs use the time at which the ingesting hub received the node's data; a hub of an older version does not send
 * it. Returns enum since_flag. */
static unsigned find_heard(const struct hub_share *t, int64_t *heard_ms, int64_t now_ms)
{
    size_t i = FIRST(t->n, k, since_is(t->v[k].whole));
    unsigned how = i < t->n ? since_parse(t->v[i].whole, heard_ms) : 0;

    *heard_ms = how && *heard_ms > 0 && *heard_ms < now_ms + LATE_MS ? *heard_ms : now_ms;
    return how;
}

/* Data that another hub sends again is new here: this hub was not running when the node sent it. */
static bool is_better(struct hub *h, const char *key, int64_t heard_ms)
{
    const struct node_now *n = live_find(h->live, key);

    return !n || strcmp(n->key, key) != 0 || n->awaited || n->at_ms < heard_ms;
}

static void show(struct hub *h, const struct hub_share *t, int64_t now_ms)
{
    struct showing x = {.h = h, .share = t};
    unsigned how = find_heard(t, &x.now_ms, now_ms);
    char key[NODE_KEY_MAX], address[64];
    struct frame f;
    struct hello hello;

    snprintf(key, sizeof(key), "%.*s", (int)t->key.len, t->key.p);
    snprintf(address, sizeof(address), "%.*s", (int)t->address.len, t->address.p);
    bool again = how & SINCE_AGAIN, better = again && is_better(h, key, x.now_ms);
    for (size_t i = 0; i < t->n; i++) {
        if (newest_is(t->v[i].whole) && x.n)
            show_newest(&x, &t->v[i]);
        if (since_is(t->v[i].whole))
            show_since(h, key, t, &t->v[i], better, now_ms);
        if (again && !better)
            continue;
        if (newest_is(t->v[i].whole) || since_is(t->v[i].whole) || wire_one(t->v[i].whole, &f, NULL) < 0)
            continue;
        if (f.type == FRAME_HELLO && !x.n && wire_hello(&f, &hello, NULL) == 0) {
            x.peer = ingest_node(h, key, hello.name, x.now_ms, &x.n);
            if (!x.peer)
                return;
            live_hello(h->live, x.n, &hello, address, x.now_ms);
            x.peer->heard = true;
        } else if (f.type == FRAME_BATCH && x.n) {
            show_batch(&x, &t->v[i], &f);
        }
    }
}

enum reply_mode post_shared(struct api *a, struct request *rq, struct reply *rp)
{
    struct hub *h = a->hub;
    struct rd r = rd_of(rq->body.p, rq->body.len);
    struct err err = {0};
    struct hub_share t;
    size_t n = 0;
    int got = share_check_start(&r, &err);

    h->shows = true;
    peers_quiet(h->peers, true);
    while (got >= 0 && (got = share_next(&r, &t, &err)) == 1) {
        show(h, &t, rq->now_ms);
        n++;
    }
    peers_quiet(h->peers, false);
    h->shows = false;
    live_tick(h->live, rq->now_ms); /* data sent again is old, and is judged by its own time */
    if (got < 0)
        return reply_problem(rp, 400, "%s", err.msg);
    struct json j = reply_object(rp, 256);
    json_int(&j, "nodes", (int64_t)n);
    json_bool(&j, "watched",
              pace_watched(h, rq->now_ms) || api_scraped(&h->api.scraping, rq->now_ms) ||
                  rq->now_ms - h->started_ms < FIRST_MS);
    return reply_object_end(rp, &j);
}

/* ---- data to forward ---- */

static void drop_shared(struct buf *b)
{
    buf_fini(b);
    *b = (struct buf){0};
}

void share_enable(struct hub *h, bool tell)
{
    drop_shared(&h->shared);
    drop_shared(&h->shared_all);
    h->tells = tell;
}

void nodes_take_shared(struct hub *h, bool all, struct buf *ret)
{
    struct buf *from = all ? &h->shared_all : &h->shared;

    *ret = *from;
    *from = (struct buf){0};
}

/* A hash of the node's visible state: processes of its devices, and device states. */
static uint64_t state_of_node(const struct ingest_request *p)
{
    const struct store_batch *newest = &p->batches[p->n_batches - 1];
    uint64_t sum = newest->facts ^ newest->procs * 31 ^ (uint64_t)p->n->collect;

    for (size_t i = 0; i < p->n->n_devices; i++)
        sum = sum * 0x9e3779b97f4a7c15u + (uint64_t)p->n->devices[i].state * 4096 + p->n->devices[i].n_procs;
    return sum;
}

/* Whether a hub without clients must get this now. Values alone are sent at intervals, but before they are too old. */
static bool is_news(const struct hub *h, const struct ingest_request *p, int64_t now_ms)
{
    if (!p->n_batches)
        return true;
    uint64_t state = state_of_node(p);
    int64_t age_ms = now_ms - p->peer->others.at_ms, most_ms = MIN(VALUES_MS, live_rule(h->live)->stale_after_ms / 2);
    bool same = state == p->peer->others.state && age_ms >= 0 && age_ms < most_ms;
    bool late =
        p->n && ANY(p->n_batches, i, p->batches[i].at_ms < p->n->sample_at_ms - LATE_MS); /* runs are made of it */
    if (same && p->n_frames == p->n_batches && !p->events && !late)
        return false;
    p->peer->others.at_ms = now_ms;
    p->peer->others.state = state;
    return true;
}

void nodes_share(struct hub *h, const struct ingest_request *p, int64_t now_ms)
{
    struct hub_share t = {.key = str_of(p->key), .address = str_of(p->address)};
    size_t first = p->n_batches > SHARE_BATCHES ? p->n_batches - SHARE_BATCHES : 0;
    bool news = is_news(h, p, now_ms);

    if (!news && !h->tells_all)
        return;
    t.v[t.n++] = (struct share_frame){.whole = p->hello};
    for (size_t i = 0; i < p->n_frames && t.n < SHARE_FRAMES - SHARE_BATCHES - 1; i++)
        if (p->frames[i].type != FRAME_BATCH)
            t.v[t.n++] = (struct share_frame){.whole = p->frames[i].whole};
    for (size_t i = first; i < p->n_batches; i++)
        t.v[t.n++] =
            (struct share_frame){p->batches[i].facts, p->batches[i].procs, p->batches[i].shift_ms, p->batches[i].bytes};
    AUTO_BUF since = BUF_INIT(SINCE_BYTES);
    if (p->n && since_put(&since, p->n, SINCE_TAKES) == 0)
        t.v[t.n++] = (struct share_frame){.whole = buf_str(&since)};
    if (h->tells_all)
        put_share(h, &h->shared_all, &t, now_ms);
    if (!news)
        return;
    AUTO_BUF newest = BUF_INIT(NEWEST_BYTES);
    if (p->n_frames == 1 && p->batch && !p->events && newest_put(&newest, p->batch, live_rule(h->live)) == 0)
        t.v[1].whole = buf_str(&newest);
    put_share(h, &h->shared, &t, now_ms);
}
