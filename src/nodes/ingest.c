/*
 * ingest.c: ingests agents' requests: decodes a batch once, shows it immediately, stores it, and responds when it is
 * durable. A node's token decides what it may send, before anything is applied.
 */
#include <errno.h>

#include "access/tokens.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/plain.h"
#include "base/rand.h"
#include "hub/record_fetch.h"
#include "nodes/feature.h"
#include "nodes/named.h"
#include "nodes/pace.h"

#define IN_FLIGHT    16             /* requests of one node that wait for the disk */
#define REQUEST_COST (16 << 10)     /* cost of a request itself, as bytes to unpack */
#define COST_MAX     (48 << 20)     /* per request */
#define EVENTS_SAID  8              /* events per request that are logged */
#define AHEAD_MS     10000          /* times further ahead are errors */
#define PAST_MS      946684800000ll /* 2000-01-01: so are earlier ones */
#define ALIVE_MS     30000
#define GONE_MS      90000 /* down before the hub started; a stored last report is up to 60 s old */
#define REFUSED_MS   60000
#define SHIFT_SLACK  1000 /* the delay of the exchange is not a clock difference */

/* One request in progress. */
struct post {
    struct hub *h;
    struct request *rq;
    struct reply *rp;
    struct hello hello;
    struct str hello_frame;
    char key[NODE_KEY_MAX];
    struct peer *peer;  /* NULL until known */
    struct node_now *n; /* the same */
    int64_t now_ms;
    size_t n_frames, n_batches, n_stored, n_need, n_said;
    int64_t work; /* bytes unpacked from its batches so far */
    struct frame *frames;
    struct named_blobs *named; /* NULL: none */
    struct store_batch *append;
    uint64_t need[64];
    /* the newest blobs of this request, decoded */
    uint64_t facts_id, procs_id;
    struct node_fact facts;
    struct proc_list procs;
    struct late_procs late;
    char token[64];
    char from[NODE_KEY_MAX]; /* the previous id of the node with this token; empty: the same id */
    bool events;             /* it contained events */
    struct batch last;       /* decoded; valid until the next one is */
};

/* The state kept while the disk works. */
struct waiting {
    struct hub *h;
    struct late *late;
    char key[NODE_KEY_MAX], token[64];
    size_t n_stored, n_need;
    uint64_t need[64];
    struct {
        uint64_t run, number;
    } stored[];
};

/* ---- responses ---- */

bool log_ratelimit(struct hub *h, const char *about, int64_t now_ms)
{
    int64_t *said_ms = &h->said_ms[fnv64(about, strlen(about)) % ARRAY_LEN(h->said_ms)];
    if (now_ms - *said_ms < REFUSED_MS && now_ms >= *said_ms)
        return false;
    *said_ms = now_ms;
    return true;
}

static const struct nodes_settings *settings_of(const struct hub *h)
{
    return feature_settings(&h->conf, &nodes_feature);
}

static void answer_reply(struct waiting *w, struct reply *rp)
{
    struct hub *h = w->h;
    struct answer *a = &h->answer;
    a->time_ms = clock_wall_ms();
    a->n_stored = w->n_stored;
    for (size_t i = 0; i < w->n_stored; i++) {
        a->stored[i].run = w->stored[i].run;
        a->stored[i].number = w->stored[i].number;
    }
    a->n_need = w->n_need;
    memcpy(a->need, w->need, w->n_need * sizeof(w->need[0]));
    a->interval_ms = pace_interval_ms(h, a->time_ms);
    a->phase_ms = pace_phase_ms(h, w->key, a->interval_ms);
    a->retry_ms = 0;
    mem_copy_str(a->token, sizeof(a->token), w->token);
    rp->type = "text/plain; charset=utf-8";
    rp->no_gzip = true;
    rp->body = BUF_INIT(256u << 10);
    answer_write(&rp->body, a);
}

static void error_reply(struct hub *h, int result, struct reply *rp)
{
    struct store_stat st;
    store_stat(h->store, &st);
    snprintf(rp->extra, sizeof(rp->extra), "Retry-After: %d", result == -EAGAIN ? 2 : 10);
    if (result == -ENOSPC)
        reply_problem(rp, 507, "the hub's disk is full: keep the batch and send it again");
    else if (result == -EAGAIN)
        reply_problem(rp, 503, "the hub's disk does not keep up: keep the batch and send it again");
    else
        reply_problem(rp, 503, "the hub cannot store: %s", st.error[0] ? st.error : store_error_text(result));
    h->refused++;
}

static void on_stored(void *arg, int result)
{
    struct waiting *w = arg;
    struct hub *h = w->h;
    struct reply rp = {0};
    struct peer *peer = peers_find(h->peers, w->key);
    if (peer && peer->in_flight > 0)
        peer->in_flight--;
    if (result == 0 && w->token[0] && w->n_stored == 0) { /* it only waited for records */
        struct store_stat st;
        store_stat(h->store, &st);
        result = st.last_error;
    }
    if (result < 0)
        error_reply(h, result, &rp);
    else
        answer_reply(w, &rp);
    httpd_late_reply(w->late, &rp);
    free(w);
}

/* ---- identity and token ---- */

struct peer *ingest_node(struct hub *h, const char *key, const char *name, int64_t now_ms, struct node_now **ret)
{
    if (!peers_find(h->peers, key) && peers_count(h->peers) >= (size_t)settings_of(h)->max_nodes)
        return NULL;
    struct peer *peer = peers_get(h->peers, key);
    *ret = live_node(h->live, key, name, now_ms);
    (*ret)->demo = h->conf.demo;
    mem_copy_str(peer->rec.own_name, sizeof(peer->rec.own_name), name);
    return peer;
}

/*
 * A node that lost its id still has its token. If the token is bound to a node that does not report, and the request
 * contains that node's GPUs, it is that node. A token never moves data of other nodes.
 */
static bool post_moves(struct post *p)
{
    const char *from = p->rq->who->token.node;
    struct node_now *old = from[0] && strcmp(from, p->key) != 0 ? live_find(p->h->live, from) : NULL;
    struct node_fact facts = {0};
    struct err err = {0};
    bool brings = false;
    if (!old || strcmp(old->key, from) != 0 || old->retired || !live_silent(old, p->now_ms) ||
        (p->n && !p->n->never_sampled))
        return false;
    for (size_t i = 0; i < p->n_frames && !brings; i++)
        if (p->frames[i].type == FRAME_FACTS && wire_facts(&p->frames[i], &facts, &err) == 0) {
            brings = live_has_gpus_of(old, &facts);
            node_fact_fini(&facts);
        }
    if (brings)
        mem_copy_str(p->from, sizeof(p->from), from);
    return brings;
}

/* Whether the node is alive: it reports, or the hub started so recently that it had no time to, and it reported
 * before. */
static bool post_alive(const struct post *p)
{
    int64_t up_ms = p->now_ms - p->h->started_ms;
    if (!p->peer || !p->n)
        return false;
    if (p->peer->heard)
        return p->now_ms - p->n->at_ms < ALIVE_MS;
    return up_ms >= 0 && up_ms < ALIVE_MS && p->h->newest_ms - p->n->at_ms < GONE_MS;
}

/* Whether it got a token in this run but not the response, and its enroll token is still valid. */
static bool was_enrolled(const struct post *p)
{
    const struct peer *known = p->peer;
    const char *with = p->rq->who->token.id;
    struct token enroll;
    return known && known->minted[0] && known->minted_for == p->hello.run && strcmp(known->minted_with, with) == 0 &&
           tokens_find(p->h->tokens, with, &enroll) && !enroll.revoked;
}

/* Whether the token permits this node to send. Otherwise fills the response and returns false. */
static bool post_allowed(struct post *p)
{
    struct err err = {0};
    struct hub *h = p->h;
    struct peer *known = p->peer;
    int r = 0, retry_s = 10;
    if (p->rq->who->role == ROLE_RELAY)
        return true;
    if (p->rq->who->role == ROLE_AGENT) {
        r = post_moves(p) ? tokens_move(h->tokens, p->rq->who->token.id, p->key, p->now_ms, &err)
                          : tokens_use(h->tokens, p->rq->who->token.id, p->key, p->now_ms, &err);
        if (r == 0 && known)
            known->minted[0] = 0;
    } else if (was_enrolled(p)) {
        mem_copy_str(p->token, sizeof(p->token), known->minted); /* the same token again */
    } else {
        r = tokens_enroll(h->tokens, p->rq->who->token.id, p->key, post_alive(p), p->now_ms, p->token, &retry_s, &err);
        if (r == 0)
            log_info("hub", "node %s (%s, from %s) is enrolled", p->hello.name, p->key, p->rq->peer);
    }
    if (r == 0)
        return true;
    h->refused++;
    if (r == -EBUSY || r == -EUSERS)
        snprintf(p->rp->extra, sizeof(p->rp->extra), "Retry-After: %d", retry_s);
    if (log_ratelimit(h, p->rq->peer, p->now_ms))
        log_warn("hub", "refused %s from %s: %s", p->hello.name, p->rq->peer, err.msg);
    return reply_refuse(p->rp,
                        r == -EACCES || r == -EDQUOT ? 403
                        : r == -EBUSY                ? 409
                        : r == -EUSERS               ? 429
                                                     : 503,
                        "%s", err.msg);
}

/* Two runs with one id: the first one keeps it; the reason is shown to all users. */
static bool post_conflict(struct post *p)
{
    struct node_now *n = p->n;
    struct peer *peer = p->peer;
    if (!n || !peer || !live_run_conflict(p->h->live, n, p->hello.run, p->now_ms))
        return false;
    p->h->refused++;
    if (p->now_ms - peer->refused_ms >= REFUSED_MS) {
        struct node_event e = {.at_ms = p->now_ms, .kind = EVENT_REFUSED};
        snprintf(e.text, sizeof(e.text), "a second agent with this node's id was refused; it is %.48s at %.45s",
                 p->hello.name, p->rq->peer);
        peer->refused_ms = p->now_ms;
        live_refused(p->h->live, n, e.text, p->now_ms);
        hub_event(p->h, n->key, NULL, &e);
        log_warn("hub", "%s (%s): %s", n->name, n->key, e.text);
    }
    snprintf(p->rp->extra, sizeof(p->rp->extra), "Retry-After: 10");
    reply_problem(p->rp, 409,
                  "another agent of node %s (%s) is alive at %s: a copied state folder? Remove it on one of the two",
                  n->name, n->key, n->address);
    return true;
}

/* ---- frames ---- */

static bool bad_frames(struct post *p, const char *why)
{
    p->h->refused++;
    return reply_refuse(p->rp, 400, "%s", why);
}

/* The node's key: its id, or its source as given by a relay. */
static bool post_key(struct post *p)
{
    struct str origin = request_query(p->rq, "origin");
    struct node_id id;
    if (p->rq->who->role != ROLE_RELAY) {
        node_id_text(&p->hello.node, p->key);
        return origin.len == 0 || bad_frames(p, "only a relay says where a node comes from");
    }
    if (!node_origin_ok(origin))
        return bad_frames(p, "a relay says where a node comes from: origin=ssh:NAME or file:NAME");
    node_origin_id(origin, &id);
    if (memcmp(&id, &p->hello.node, sizeof(id)) != 0)
        return bad_frames(p, "the frames are not of the node that origin names");
    snprintf(p->key, sizeof(p->key), "%.*s", STR_ARG(origin));
    return true;
}

/* Reads all frames and checks that they are complete and from this node, before any of them is applied. */
static bool post_read(struct post *p)
{
    struct err err = {0};
    struct rd r = rd_of(p->rq->body.p, p->rq->body.len);
    struct frame f;
    size_t blobs = 0, cap = 0;
    if (wire_check_start(&r, &err) < 0)
        return bad_frames(p, err.msg);
    int got = wire_next(&r, &f, &err);
    if (got < 0)
        return bad_frames(p, err.msg);
    if (got == 0 || f.type != FRAME_HELLO)
        return bad_frames(p, "the first frame must be HELLO");
    if (wire_hello(&f, &p->hello, &err) < 0)
        return bad_frames(p, err.msg);
    p->hello_frame = f.whole;
    if (!post_key(p))
        return false;
    while ((got = wire_next(&r, &f, &err)) == 1) {
        if (f.type == FRAME_HELLO)
            return bad_frames(p, "one HELLO is enough");
        if (memcmp(&f.node, &p->hello.node, sizeof(f.node)) != 0)
            return bad_frames(p, "a frame is of another node than its HELLO");
        if (f.type == FRAME_BATCH ? ++p->n_batches > ANSWER_KEYS : ++blobs > BLOBS_MAX)
            return bad_frames(p, "too many frames in one request");
        VEC_ADD(p->frames, p->n_frames, cap, f);
    }
    return got == 0 || bad_frames(p, err.msg);
}

/* Unpacked size of this frame, from its header: a small frame can unpack to a large one. */
static int64_t frame_cost(const struct frame *f)
{
    size_t fixed = f->type == FRAME_BATCH ? NODE_ID_LEN + 4 * 8 : NODE_ID_LEN + 8;
    struct rd r = rd_of(f->payload.p, f->payload.len);
    rd_bytes(&r, fixed + 1);
    int64_t bytes = rd_u32(&r);
    return MIN(bytes, (int64_t)WIRE_RAM_MAX);
}

static int64_t post_cost(const struct post *p)
{
    int64_t sum = REQUEST_COST + (int64_t)p->rq->body.len;
    for (size_t i = 0; i < p->n_frames; i++)
        sum += frame_cost(&p->frames[i]);
    return sum;
}

static bool post_blob(struct post *p, const struct frame *f)
{
    struct err err = {0};
    enum blob_kind kind = f->type == FRAME_FACTS ? BLOB_FACTS : BLOB_PROCS;
    if (kind == BLOB_FACTS) {
        struct node_fact facts = {0};
        if (wire_facts(f, &facts, &err) < 0)
            return bad_frames(p, err.msg);
        node_fact_fini(&p->facts);
        p->facts = facts;
        p->facts_id = f->id;
        if (!plain_typed(str_of(facts.name)))
            return bad_frames(p, "the name of a node must be text without " CONTROLS);
    } else {
        struct proc_list procs = {0};
        if (wire_procs(f, &procs, &err) < 0)
            return bad_frames(p, err.msg);
        proc_list_fini(&p->procs);
        p->procs = procs;
        p->procs_id = f->id;
    }
    store_put_blob(p->h->store, p->key, kind, f->id, f->whole);
    return true;
}

/* A blob of this request, or of an earlier one. */
static bool find_blob(const struct post *p, enum frame_type type, uint64_t id, struct frame *ret)
{
    for (size_t i = 0; i < p->n_frames; i++)
        if (p->frames[i].type == type && p->frames[i].id == id) {
            *ret = p->frames[i];
            return true;
        }
    return named_find(p->named, type, id, ret);
}

/* Loads these facts into p->facts, from the store if another request had them. Returns false if they cannot be read. */
static bool have_facts(struct post *p, uint64_t id)
{
    struct frame blob;
    struct node_fact facts = {0};
    struct err err = {0};
    if (p->facts_id == id)
        return true;
    if (!find_blob(p, FRAME_FACTS, id, &blob) || wire_facts(&blob, &facts, &err) < 0)
        return false;
    node_fact_fini(&p->facts);
    p->facts = facts;
    p->facts_id = id;
    return true;
}

/* The current facts for the agent's id. */
static uint64_t facts_of(struct post *p, uint64_t id)
{
    struct peer *peer = p->peer;
    uint64_t own = dup_gpus_cached(p->h, peer, p->n, id, p->now_ms);
    if (own || !id || !have_facts(p, id))
        return own ? own : id;
    p->facts_id = dup_gpus_resolve_facts(p->h, peer, p->n, id, &p->facts, p->now_ms);
    peer->facts[1] = peer->facts[0];
    peer->facts[0].told = id;
    peer->facts[0].own = p->facts_id;
    peer->sight = peer->shares ? dup_gpus_hash(p->h, p->n, p->now_ms) : 0;
    return p->facts_id;
}

/* A list that came before its batch waits for it. */
static void keep_procs(struct post *p)
{
    if (!p->procs_id || live_knows(p->n, 0, p->procs_id))
        return;
    proc_list_fini(&p->peer->told);
    p->peer->told_procs = p->procs_id;
    p->peer->told = p->procs;
    p->procs = (struct proc_list){0};
}

static bool have_procs(struct post *p, uint64_t id)
{
    struct frame blob;
    struct proc_list procs = {0};
    struct err err = {0};
    if (p->procs_id == id)
        return true;
    if (p->peer->told_procs == id) {
        procs = p->peer->told;
        p->peer->told = (struct proc_list){0};
        p->peer->told_procs = 0;
    } else if (!find_blob(p, FRAME_PROCS, id, &blob) || wire_procs(&blob, &procs, &err) < 0) {
        return false;
    }
    proc_list_fini(&p->procs);
    p->procs = procs;
    p->procs_id = id;
    return true;
}

/* Makes the batch's facts and processes the current ones. */
static void post_in_force(struct post *p, const struct frame *f)
{
    bool known = p->peer->mine && live_knows(p->n, f->facts, 0); /* another hub's may be current, but not in rec */
    p->peer->mine = true;
    if (f->facts && !known && have_facts(p, f->facts))
        facts_take(p->h, p->peer, p->n, f->facts, &p->facts, p->now_ms);
    if (f->procs && !live_knows(p->n, 0, f->procs) && have_procs(p, f->procs)) {
        live_procs(p->h->live, p->n, f->procs, &p->procs, p->now_ms);
        p->peer->rec.procs = f->procs;
    }
}

/* A time of the node, in the hub's clock. */
static int64_t stamp(const struct post *p, int64_t at_ms)
{
    return MAX(0, MIN(at_ms + p->peer->shift_ms, p->now_ms + AHEAD_MS));
}

/*
 * The shift of a batch's times. If the node's clock was set since (at boot, for example), the current shift may be
 * wrong: a batch in the future, or before GPUs existed, is shifted to end now.
 */
static int64_t shift_of(const struct post *p, const struct batch *b)
{
    int64_t shift = p->peer->shift_ms;
    if (!b->n_ticks)
        return shift;
    int64_t first = b->at_ms[0] + shift, last = b->at_ms[b->n_ticks - 1] + shift;
    return last > p->now_ms + AHEAD_MS || first < PAST_MS ? p->now_ms - b->at_ms[b->n_ticks - 1] : shift;
}

/* Meaning of a batch's slots, by its facts: n of the devices of one of the two. */
struct slots {
    size_t n;
    const struct device_now *shown;
    const struct device_fact *told;
};

/* Without devices if the facts cannot be read. Valid until p->facts or the node changes. */
static struct slots slots_of(struct post *p, uint64_t facts)
{
    if (facts && live_knows(p->n, facts, 0))
        return (struct slots){.n = live_slots(p->n), .shown = p->n->devices};
    if (!facts || !have_facts(p, facts))
        return (struct slots){0};
    return (struct slots){.n = p->facts.n_devices, .told = p->facts.devices};
}

/* NULL: the node itself, or no such device. */
static const char *slot_uuid(const struct slots *s, size_t slot)
{
    if (slot < 1 || slot > s->n)
        return NULL;
    return s->shown ? s->shown[slot - 1].fact.uuid : s->told[slot - 1].uuid;
}

/* Records the processes of a late batch: live has newer ones. */
static void post_late(struct post *p, const struct frame *f, const struct batch *b)
{
    const struct proc_list *procs = live_knows(p->n, 0, f->procs) ? live_proc_list(p->n) : &p->procs;
    if (!b->n_uses || !b->n_ticks || !f->procs || (procs == &p->procs && !have_procs(p, f->procs)))
        return;
    struct slots slots = slots_of(p, f->facts);
    int64_t shift = shift_of(p, b), first_ms = b->at_ms[0] + shift, last_ms = b->at_ms[b->n_ticks - 1] + shift;
    for (size_t i = 0; i < b->n_uses; i++) {
        const struct proc_use *u = &b->uses[i];
        const char *device = slot_uuid(&slots, u->slot);
        if (device && u->proc < procs->n)
            late_see(&p->late, device, &procs->v[u->proc], u, first_ms, last_ms);
    }
}

static void post_events(struct post *p, const struct batch *b)
{
    if (!b->n_events)
        return;
    p->events = true;
    struct slots slots = slots_of(p, b->facts);
    for (size_t i = 0; i < b->n_events; i++) {
        struct node_event e = b->events[i];
        if (e.kind >= EVENT_BOOKED) /* only the hub makes these events */
            continue;
        const char *device = slot_uuid(&slots, e.slot);
        if (e.slot > slots.n && log_ratelimit(p->h, p->key, p->now_ms))
            log_warn("hub", "%s sent an event of GPU %d but has %zu GPUs: it is stored as an event of the node",
                     p->n->name, e.slot, slots.n);
        if (!peer_event_rate_ok(p->peer, p->now_ms)) {
            if (log_ratelimit(p->h, p->key, p->now_ms))
                log_warn("hub", "%s sends too many events: some are kept only in its batches", p->n->name);
            break;
        }
        e.at_ms = stamp(p, e.at_ms);
        hub_event(p->h, p->key, device, &e);
        if ((e.kind == EVENT_XID || e.kind == EVENT_ECC || e.kind == EVENT_LOST) && p->n_said++ < EVENTS_SAID) {
            AUTO_BUF about = BUF_INIT(512);
            event_about(&e, &about);
            log_warn("hub", "%s: %s: %s", p->n->name, event_words[e.kind], about.p ? about.p : "");
        }
    }
}

static void add_need(struct post *p, uint64_t id)
{
    for (size_t i = 0; i < p->n_need; i++)
        if (p->need[i] == id)
            return;
    if (p->n_need < ARRAY_LEN(p->need))
        p->need[p->n_need++] = id;
}

/* Cost of a batch: few bytes can contain many values. */
static int64_t batch_work(const struct batch *b)
{
    return (int64_t)(b->n_ticks * b->n_columns * sizeof(int64_t) + b->n_uses * sizeof(*b->uses) +
                     b->n_events * sizeof(*b->events));
}

/* Whether this blob of f is stored, or in an earlier frame. A blob found on disk counts as known from here on. */
static bool is_kept(const struct post *p, const struct frame *f, enum blob_kind kind, uint64_t id)
{
    if (!id || store_get_blob(p->h->store, p->key, id, NULL, NULL) == 1)
        return true;
    for (const struct frame *g = p->frames; g < f; g++)
        if (g->type != FRAME_BATCH && g->id == id)
            return true;
    struct frame blob;
    if (!named_find(p->named, kind == BLOB_FACTS ? FRAME_FACTS : FRAME_PROCS, id, &blob))
        return false;
    store_put_blob(p->h->store, p->key, kind, id, blob.whole);
    return true;
}

static bool post_batch(struct post *p, struct frame *f, size_t *n_append, size_t *n_keys, struct batch_key *keys)
{
    struct hub *h = p->h;
    struct err err = {0};
    struct batch b;
    bool facts = is_kept(p, f, BLOB_FACTS, f->facts), procs = is_kept(p, f, BLOB_PROCS, f->procs);
    if (!facts)
        add_need(p, f->facts);
    if (!procs)
        add_need(p, f->procs);
    if (!facts || !procs || p->work > COST_MAX) /* a key without a response is sent again */
        return true;
    keys[(*n_keys)++] = f->key;
    if (store_has(h->store, p->key, f->key.run, f->key.number)) {
        h->repeats++;
        return true;
    }
    node_expect(p->n);
    if (wire_batch(h->dec, f, &b, &err) < 0)
        return bad_frames(p, err.msg);
    b.facts = f->facts = facts_of(p, f->facts);
    p->work += batch_work(&b);
    peer_spent(p->peer, batch_work(&b));
    int64_t shift = shift_of(p, &b);
    p->append[(*n_append)++] = (struct store_batch){.node = p->key,
                                                    .run = f->key.run,
                                                    .number = f->key.number,
                                                    .facts = f->facts,
                                                    .procs = f->procs,
                                                    .at_ms = b.n_ticks ? b.at_ms[0] + shift : p->now_ms,
                                                    .shift_ms = shift,
                                                    .bytes = f->whole};
    if (b.n_ticks)
        hub_time(h, p->key, b.at_ms[0] + shift, b.at_ms[b.n_ticks - 1] + shift, p->now_ms);
    if (!peer_first_seen(p->peer, f->key.run, f->key.number))
        return true;
    h->batches++;
    if (b.n_ticks && (!p->peer->sampled_from_ms || b.at_ms[0] + shift < p->peer->sampled_from_ms))
        p->peer->sampled_from_ms = b.at_ms[0] + shift;
    int64_t newest_ms = b.n_ticks ? b.at_ms[b.n_ticks - 1] + shift : 0;
    bool newer = newest_ms > p->n->sample_at_ms;
    if (newer)
        post_in_force(p, f);
    else
        post_late(p, f, &b);
    post_events(p, &b);
    p->last = b;
    live_batch(h->live, p->n, &b, shift, p->now_ms);
    if (newer && live_knows(p->n, f->facts, f->procs) &&
        p->n->collect != COLLECT_HUNG) /* or its processes are unknown */
        peer_track(h->peers, p->peer, p->n, newest_ms);
    return true;
}

static void settle_clock(struct post *p)
{
    int64_t want = -p->n->clock_off_ms, diff = want - p->peer->shift_ms;
    if (want == 0 || diff > SHIFT_SLACK || diff < -SHIFT_SLACK)
        p->peer->shift_ms = want;
}

/* Applies a valid request. Responds now or when the disk is done. */
static enum reply_mode post_take(struct post *p)
{
    struct hub *h = p->h;
    size_t n_append = 0, n_keys = 0;
    AUTO_FREE struct batch_key *keys = mem_zero(MAX(p->n_batches, 1), sizeof(*keys));
    p->append = mem_zero(MAX(p->n_batches, 1), sizeof(*p->append));
    live_hello(h->live, p->n, &p->hello, p->rq->peer, p->now_ms);
    p->peer->heard = true;
    settle_clock(p);
    for (size_t i = 0; i < p->n_frames; i++)
        if (p->frames[i].type == FRAME_BATCH ? !post_batch(p, &p->frames[i], &n_append, &n_keys, keys)
                                             : !post_blob(p, &p->frames[i]))
            return REPLY_NOW;
    p->peer->mine |= p->n_batches == 0;
    if (p->facts_id && p->n_batches == 0) { /* a node without a sample is shown, too */
        uint64_t id = facts_of(p, p->facts_id);
        if (have_facts(p, id))
            facts_take(h, p->peer, p->n, id, &p->facts, p->now_ms);
    }
    keep_procs(p);
    /* a token is durable with its node's record; a node with samples cannot be deleted */
    bool save = p->token[0] || (!p->n->never_sampled && !p->peer->rec.sampled_ms);
    peer_save(h->peers, p->peer, p->n, save, p->now_ms);
    struct waiting *w = mem_alloc(sizeof(*w) + n_keys * sizeof(w->stored[0]));
    *w = (struct waiting){.h = h, .n_stored = n_keys, .n_need = p->n_need};
    memcpy(w->key, p->key, sizeof(w->key));
    memcpy(w->token, p->token, sizeof(w->token));
    memcpy(w->need, p->need, sizeof(w->need));
    for (size_t i = 0; i < n_keys; i++) {
        w->stored[i].run = keys[i].run;
        w->stored[i].number = keys[i].number;
    }
    if (n_append == 0 && !p->token[0]) {
        answer_reply(w, p->rp);
        free(w);
        return REPLY_NOW;
    }
    if (h->tells)
        nodes_share(h,
                    &(struct ingest_request){p->key, p->rq->peer, p->hello_frame, p->frames, p->n_frames, n_append,
                                             p->append, p->peer, p->n, p->events,
                                             n_append == 1 && p->last.n_ticks ? &p->last : NULL},
                    p->now_ms);
    p->peer->in_flight++;
    httpd_patient(p->rq);
    w->late = httpd_late(p->rq);
    store_append(h->store, p->append, n_append, on_stored, w);
    return REPLY_LATER;
}

/* Another node's token cannot read anything of this one. Returns false after filling the response. */
static bool post_own(struct post *p)
{
    const struct asker *who = p->rq->who;
    bool other = who->role == ROLE_AGENT && who->token.node[0] && strcmp(who->token.node, p->key) != 0;
    return !other || post_moves(p) || post_allowed(p); /* fails unless the token moved meanwhile */
}

/* Whether its node may cause this cost now. Otherwise fills the response and returns false. */
static bool post_affords(struct post *p, int64_t cost)
{
    if (!p->peer || peer_rate_ok(p->peer, cost, p->now_ms))
        return true;
    snprintf(p->rp->extra, sizeof(p->rp->extra), "Retry-After: 1");
    return reply_refuse(p->rp, 429, "this node sends too many batches: wait a second");
}

/* Gets every blob its batches need, before anything is applied. Returns false and sets *how if it must wait or failed.
 */
static bool post_blobs(struct post *p, enum reply_mode *how)
{
    struct naming ask = {p->h, p->peer, p->n, p->key, p->frames, p->n_frames, p->now_ms};
    int r = named_fetch(&ask, p->rq, &p->named);
    *how = reply_mode_of_fetch(r);
    if (r < 0 && r != -EINPROGRESS)
        error_reply(p->h, r, p->rp);
    return r == 0;
}

static void post_fini(struct post *p)
{
    if (!p->rq->kept)
        named_free(p->named);
    free(p->frames);
    free(p->append);
    node_fact_fini(&p->facts);
    proc_list_fini(&p->procs);
    if (p->peer)
        late_put(&p->late, p->h->peers, p->peer);
}

/* Finds the node, and checks everything except the token, before a token is bound or created. Otherwise fills the
 * response and returns false. */
static bool post_fits(struct post *p)
{
    struct peer *known = p->peer = peers_find(p->h->peers, p->key);
    p->n = known ? live_find(p->h->live, p->key) : NULL;
    if (p->n && strcmp(p->n->key, p->key) != 0)
        p->n = NULL; /* another node has this name */
    if (!known && peers_count(p->h->peers) >= (size_t)settings_of(p->h)->max_nodes) {
        reply_problem(p->rp, 503, "this hub holds %lld nodes, its max_nodes", (long long)settings_of(p->h)->max_nodes);
    } else if (post_cost(p) > COST_MAX) {
        reply_problem(p->rp, 413, "these batches unpack to too much: send fewer at once");
    } else if (known && known->in_flight >= IN_FLIGHT) {
        snprintf(p->rp->extra, sizeof(p->rp->extra), "Retry-After: 1");
        reply_problem(p->rp, 429, "too many requests of this node are waiting for the disk");
    } else {
        return true;
    }
    p->h->refused++;
    return false;
}

/* The node found by post_fits, or a new one. */
static bool post_node(struct post *p)
{
    if (p->peer && p->n)
        mem_copy_str(p->peer->rec.own_name, sizeof(p->peer->rec.own_name), p->hello.name);
    else
        p->peer = ingest_node(p->h, p->key, p->hello.name, p->now_ms, &p->n);
    return p->peer != NULL;
}

enum reply_mode post_batches(struct api *a, struct request *rq, struct reply *rp)
{
    struct hub *h = a->hub;
    struct post p = {.h = h, .rq = rq, .rp = rp, .now_ms = rq->now_ms};
    enum reply_mode how = REPLY_NOW;
    /* A token of another node must not be bound to this one while another run is alive. */
    bool bound = rq->who->role == ROLE_AGENT && rq->who->token.node[0];
    if (post_read(&p) && post_fits(&p) && post_own(&p) && post_affords(&p, 0) && post_blobs(&p, &how) &&
        (bound ? post_allowed(&p) && !post_conflict(&p) : !post_conflict(&p) && post_allowed(&p)) && post_node(&p)) {
        struct node_now *old = p.from[0] ? live_find(h->live, p.from) : NULL;
        if (old)
            registry_move(h, p.n, old, p.now_ms);
        if (p.token[0]) {
            memcpy(p.peer->minted, p.token, sizeof(p.peer->minted));
            mem_copy_str(p.peer->minted_with, sizeof(p.peer->minted_with), rq->who->token.id);
            p.peer->minted_for = p.hello.run;
        }
        if (post_affords(&p, post_cost(&p)))
            how = post_take(&p);
    }
    post_fini(&p);
    return how;
}
