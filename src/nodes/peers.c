/* peers.c: nodes by key, their records, and the processes on their devices from start to end. */
#include "nodes/peers.h"

#include "base/lookup.h"
#include "model/usage.h"

#define SAVE_MS      60000 /* the stored last report is at most this old */
#define PEER_PROCS   4096  /* running processes per node */
#define WORK_MAX     (64ll << 20)
#define WORK_RATE    (8ll << 20) /* bytes a second */
#define EVENTS_MAX   4096
#define EVENTS_RATE  10
#define LOOKED_MAX   (1u << 20) /* comparisons per batch: no real agent needs more */
#define SAVE_PROC_MS 600000     /* the same for a long process */
#define WATCHED_MS   120000     /* first seen within this time after its node: it ran before */

struct peers {
    struct store *store;
    struct lookup by_key;
    void (*changed)(void *arg, const char *node, int64_t from_ms, int64_t to_ms);
    void *arg;
    int64_t (*counted)(void *arg, const char *node, int64_t then_ms);
    void *counted_arg;
    void (*seen)(void *arg, const struct proc_span *sp);
    void *seen_arg;
    void (*late)(void *arg, const char *node, int64_t from_ms, int64_t to_ms);
    void *late_arg;
    bool quiet;
};

struct peers *peers_new(struct store *store)
{
    return NEW(struct peers, .store = store);
}

void peers_watch(struct peers *p, void (*changed)(void *arg, const char *node, int64_t from_ms, int64_t to_ms),
                 void *arg)
{
    p->changed = changed;
    p->arg = arg;
}

void peers_procs(struct peers *p, void (*seen)(void *arg, const struct proc_span *sp), void *arg)
{
    p->seen = seen;
    p->seen_arg = arg;
}

void peers_late(struct peers *p, void (*late)(void *arg, const char *node, int64_t from_ms, int64_t to_ms), void *arg)
{
    p->late = late;
    p->late_arg = arg;
}

void peers_publish_late(const struct peers *p, const char *node, int64_t from_ms, int64_t to_ms)
{
    if (p->late)
        p->late(p->late_arg, node, from_ms, to_ms);
}

void peers_counted(struct peers *p, int64_t (*first_before)(void *arg, const char *node, int64_t then_ms), void *arg)
{
    p->counted = first_before;
    p->counted_arg = arg;
}

int64_t peers_counted_before(const struct peers *p, const char *node, int64_t then_ms)
{
    return p->counted ? p->counted(p->counted_arg, node, then_ms) : 0;
}

void peers_quiet(struct peers *p, bool quiet)
{
    p->quiet = quiet;
}

static void peer_free(struct peer *peer)
{
    for (size_t i = 0; i < peer->n_procs; i++)
        free(peer->procs[i].fact);
    free(peer->procs);
    proc_list_fini(&peer->told);
    free(peer);
}

void peers_free(struct peers *p)
{
    size_t at = 0;

    if (!p)
        return;
    for (struct peer *peer; (peer = lookup_each(&p->by_key, &at));)
        peer_free(peer);
    lookup_fini(&p->by_key);
    free(p);
}

struct peer *peers_find(const struct peers *p, const char *key)
{
    return lookup_named(&p->by_key, key, offsetof(struct peer, rec.key));
}

struct peer *peers_get(struct peers *p, const char *key)
{
    struct peer *peer = peers_find(p, key);
    if (peer)
        return peer;
    peer = mem_zero(1, sizeof(*peer));
    mem_copy_str(peer->rec.key, sizeof(peer->rec.key), key);
    lookup_add(&p->by_key, lookup_hash(peer->rec.key), peer);
    return peer;
}

void peers_drop(struct peers *p, const char *key)
{
    struct peer *peer = peers_find(p, key);

    if (!peer)
        return;
    lookup_drop(&p->by_key, lookup_hash(key), peer);
    peer_free(peer);
}

size_t peers_count(const struct peers *p)
{
    return p->by_key.n;
}

static void put_node(struct peers *p, struct peer *peer, const struct node_now *n, bool named)
{
    struct store_node rec = peer->rec;

    mem_copy_str(rec.name, sizeof(rec.name), live_called(n));
    rec.retired = n->retired;
    rec.maintenance = n->maintenance;
    rec.named = named;
    if (!peer->mine)
        rec.facts = rec.procs = 0;
    if (store_put(p->store, STORE_NODE, &rec, 1, NULL, NULL) < 0 || !named)
        return;
    mem_copy_str(peer->rec.name, sizeof(peer->rec.name), rec.name);
    peer->rec.retired = rec.retired;
    peer->rec.maintenance = rec.maintenance;
}

void peer_save(struct peers *p, struct peer *peer, const struct node_now *n, bool now, int64_t now_ms)
{
    bool named = strcmp(peer->rec.name, live_called(n)) != 0 || peer->rec.retired != n->retired ||
                 peer->rec.maintenance != n->maintenance;

    if (!now && !named && now_ms - peer->saved_ms < SAVE_MS && now_ms >= peer->saved_ms)
        return;
    if (peer->rec.first_ms == 0)
        peer->rec.first_ms = now_ms;
    if (n->at_ms)
        peer->rec.last_ms = n->at_ms;
    peer->rec.sampled_ms = MAX(peer->rec.sampled_ms, n->sample_at_ms);
    mem_copy_str(peer->rec.address, sizeof(peer->rec.address), n->address);
    peer->rec.demo = n->demo;
    peer->saved_ms = now_ms;
    put_node(p, peer, n, named);
}

/* A bucket of max that empties at rate per second. A full bucket means: wait. */
static bool budget_take(struct budget *b, int64_t cost, int64_t max, int64_t rate, int64_t now_ms)
{
    int64_t passed = MIN(MAX(now_ms - b->at_ms, 0), 86400000);
    if (passed * rate >= 1000) { /* less leaves at_ms unchanged: fractions add up */
        b->spent = MAX(b->spent - passed * rate / 1000, 0);
        b->at_ms = now_ms;
    } else if (now_ms < b->at_ms) {
        b->at_ms = now_ms;
    }
    if (b->spent >= max)
        return false;
    b->spent += cost;
    return true;
}

bool peer_rate_ok(struct peer *peer, int64_t bytes, int64_t now_ms)
{
    return budget_take(&peer->work, bytes, WORK_MAX, WORK_RATE, now_ms);
}

void peer_spent(struct peer *peer, int64_t bytes)
{
    peer->work.spent += bytes;
}

bool peer_event_rate_ok(struct peer *peer, int64_t now_ms)
{
    return budget_take(&peer->events, 1, EVENTS_MAX, EVENTS_RATE, now_ms);
}

bool peer_first_seen(struct peer *peer, uint64_t run, uint64_t number)
{
    for (size_t i = 0; i < PEER_RECENT; i++)
        if (peer->recent[i].run == run && peer->recent[i].number == number)
            return false;
    peer->recent[peer->at].run = run;
    peer->recent[peer->at].number = number;
    peer->at = (peer->at + 1) % PEER_RECENT;
    return true;
}

/* ---- processes ---- */

/* The period whose usage changed: all of it if the start or the weight changed, else the new part. */
static void tell_change(struct peers *p, const struct peer *peer, struct peer_proc *t)
{
    int64_t weight = usage_weight(t->mem_max) ^ usage_weight(t->sm_n ? t->sm_sum / t->sm_n : -1) * (1 << 24);
    bool all = !t->saved_ms || t->saved_first_ms != t->first_ms || t->saved_weight != weight || !t->was_named;
    int64_t from_ms = all ? MIN(t->first_ms, t->saved_first_ms ? t->saved_first_ms : t->first_ms) : t->saved_ms;
    t->saved_first_ms = t->first_ms;
    t->saved_weight = weight;
    t->was_named = t->named;
    if (p->changed)
        p->changed(p->arg, peer->rec.key, from_ms, MAX(t->last_ms, t->saved_ms) + USAGE_LATE_MS);
}

static void put_proc(struct peers *p, const struct peer *peer, struct peer_proc *t, bool ended)
{
    struct proc_span sp = {.node = peer->rec.key,
                           .device = t->device,
                           .first_ms = t->first_ms,
                           .last_ms = t->last_ms,
                           .mem_max = t->mem_max,
                           .ended = ended,
                           .kind = t->kind,
                           .sm = t->sm_n ? (int32_t)(t->sm_sum / t->sm_n) : -1};
    record_unpack(&proc_wire, t->fact, &sp.fact);
    if (p->seen)
        p->seen(p->seen_arg, &sp);
    if (!p->quiet)
        tell_change(p, peer, t);
    t->saved_ms = t->last_ms;
    if (p->quiet)
        return;
    store_put(p->store, STORE_PROC, &sp, 1, NULL, NULL);
}

/* A walk over a batch's uses: likely index of the next one, and comparisons so far. */
struct walk {
    size_t hint, looked;
};

/* Processes come in the same order each time. */
static struct peer_proc *find_proc(struct peer_proc *v, size_t n, const char *device, int32_t pid, int64_t start_ms,
                                   struct walk *w)
{
    for (size_t i = 0; i < n; i++, w->looked++) {
        size_t at = (w->hint + i) % n;
        struct peer_proc *t = &v[at];
        if (t->pid == pid && t->start_ms == start_ms && strcmp(t->device, device) == 0) {
            w->hint = at + 1;
            return t;
        }
    }
    return NULL;
}

static void keep_fact(struct peer_proc *t, const struct proc_fact *fact)
{
    free(t->fact);
    t->fact = mem_alloc(record_pack(&proc_wire, fact, NULL));
    record_pack(&proc_wire, fact, t->fact);
    t->named = fact->user[0] != 0;
}

static void fill_proc(struct peer_proc *t, const char *device, const struct proc_fact *fact)
{
    *t = (struct peer_proc){.pid = fact->pid, .start_ms = fact->start_ms, .mem_max = -1};
    keep_fact(t, fact);
    mem_copy_str(t->device, sizeof(t->device), device);
}

static void see_more(struct peer_proc *t, uint8_t kind, int32_t sm)
{
    t->kind |= kind;
    t->sm_sum += MAX(sm, 0);
    t->sm_n += sm >= 0;
}

static struct peer_proc *add_proc(struct peer *peer, const char *device, const struct proc_fact *fact)
{
    if (peer->n_procs >= PEER_PROCS)
        return NULL;
    VEC_ROOM(peer->procs, peer->n_procs, peer->cap_procs);
    struct peer_proc *t = &peer->procs[peer->n_procs++];
    fill_proc(t, device, fact);
    return t;
}

int64_t held_since_ms(int64_t watched_ms, int64_t start_ms, int64_t first_ms)
{
    bool ran_before = start_ms > 0 && start_ms < first_ms && first_ms <= watched_ms + WATCHED_MS;
    return ran_before ? start_ms : first_ms;
}

int64_t peer_watched_ms(const struct peer *peer)
{
    return peer->sampled_from_ms ? MIN(peer->rec.first_ms, peer->sampled_from_ms) : peer->rec.first_ms;
}

static void see_proc(struct peers *p, struct peer *peer, const char *device, struct proc_now *pn, int64_t at_ms,
                     struct walk *w)
{
    if (w->looked > LOOKED_MAX)
        return;
    struct peer_proc *t = find_proc(peer->procs, peer->n_procs, device, pn->fact->pid, pn->fact->start_ms, w);
    bool put = !t;
    if (!t && !(t = add_proc(peer, device, pn->fact)))
        return;
    if (!t->first_ms)
        t->first_ms = at_ms;
    if (!t->named && pn->fact->user[0]) { /* names come slightly later */
        keep_fact(t, pn->fact);
        put = true;
    }
    pn->since_ms = held_since_ms(peer_watched_ms(peer), t->start_ms, t->first_ms);
    t->seen = true;
    t->last_ms = MAX(t->last_ms, at_ms);
    t->mem_max = MAX(t->mem_max, pn->mem);
    see_more(t, pn->kind, pn->sm);
    if (put || t->last_ms - t->saved_ms >= SAVE_PROC_MS)
        put_proc(p, peer, t, false);
}

void peer_track(struct peers *p, struct peer *peer, const struct node_now *n, int64_t at_ms)
{
    struct walk w = {0};
    for (size_t i = 0; i < peer->n_procs; i++)
        peer->procs[i].seen = false;
    for (size_t d = 0; d < n->n_devices; d++)
        for (size_t i = 0; i < n->devices[d].n_procs; i++)
            see_proc(p, peer, n->devices[d].fact.uuid, &n->devices[d].procs[i], at_ms, &w);
    for (size_t i = peer->n_procs; i-- > 0;)
        if (!peer->procs[i].seen) {
            put_proc(p, peer, &peer->procs[i], true);
            free(peer->procs[i].fact);
            peer->procs[i] = peer->procs[--peer->n_procs];
        }
    if (peer->n_procs == 0 && peer->cap_procs) {
        free(peer->procs);
        peer->procs = NULL;
        peer->cap_procs = 0;
    }
}

void late_see(struct late_procs *l, const char *device, const struct proc_fact *fact, const struct proc_use *use,
              int64_t first_ms, int64_t last_ms)
{
    struct walk w = {l->hint, l->looked};
    struct peer_proc *t = l->looked > LOOKED_MAX ? NULL : find_proc(l->v, l->n, device, fact->pid, fact->start_ms, &w);

    l->hint = w.hint;
    l->looked = w.looked;
    if (!t) {
        if (l->n >= PEER_PROCS || l->looked > LOOKED_MAX)
            return;
        VEC_ROOM(l->v, l->n, l->cap);
        t = &l->v[l->n++];
        fill_proc(t, device, fact);
        t->first_ms = first_ms;
    }
    if (!t->named && fact->user[0])
        keep_fact(t, fact);
    t->first_ms = MIN(t->first_ms, first_ms);
    t->last_ms = MAX(t->last_ms, last_ms);
    t->mem_max = MAX(t->mem_max, use->mem);
    see_more(t, use->kind, use->sm);
}

void late_put(struct late_procs *l, struct peers *p, struct peer *peer)
{
    struct walk w = {0};

    for (size_t i = 0; i < l->n; i++) {
        struct peer_proc *t = &l->v[i];
        struct peer_proc *now = find_proc(peer->procs, peer->n_procs, t->device, t->pid, t->start_ms, &w);
        if (now)
            now->first_ms = MIN(now->first_ms, t->first_ms);
        put_proc(p, peer, t, !now);
        free(t->fact);
    }
    free(l->v);
    *l = (struct late_procs){0};
}

static void load_proc(void *arg, const struct proc_span *sp)
{
    struct peers *p = arg;
    struct peer *peer = sp->ended ? NULL : peers_find(p, sp->node);
    struct peer_proc *t = peer ? add_proc(peer, sp->device, &sp->fact) : NULL;
    if (!t)
        return;
    t->first_ms = sp->first_ms;
    t->last_ms = t->saved_ms = sp->last_ms;
    t->mem_max = sp->mem_max;
    see_more(t, sp->kind, sp->sm);
    if (p->seen)
        p->seen(p->seen_arg, sp);
}

int peers_load_procs(struct peers *p, int64_t from_ms, struct err *err)
{
    return store_each(p->store, EACH_PROC(load_proc, p, .from_ms = from_ms), err);
}
