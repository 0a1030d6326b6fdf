/*
 * live.c: the newest state of every node. What a batch brings is put in place, then judge.c says what it means.
 * Nothing is allocated while a node goes on as before; a node is looked at again only when it speaks or when time alone
 * can change it (next_ms).
 */
#include "live/live.h"

#include "base/clock.h"
#include "base/rand.h"
#include "live/judge.h"

#define CLOCK_OFF_MS  5000   /* below this clocks agree */
#define RUN_ALIVE_MS  30000  /* a run that spoke this lately is alive */
#define VALUE_KEEP_MS 120000 /* a value its device no longer gives is let go; slow metrics come once a minute */
#define REFUSED_MS    60000  /* how long a refused twin is shown */
#define PROC_MEM_MAX  ((int64_t)1 << 50)
#define AHEAD_MAX_MS  10000 /* times further ahead than this are somebody's mistake */

/* What live knows of a device beyond what it shows; same index as node_now.devices. */
struct live_dev {
    int64_t known_ms, work_ms;         /* newest tick that told of work or its absence, and of work */
    int64_t new_known_ms, new_work_ms; /* the same within the batch being read; 0: none */
    size_t cap_procs, cap_custom;
    enum why why; /* what reason says */
    int64_t amount;
};

struct live_node {
    struct node_now now; /* first: a node_now of ours is a live_node */
    char own_name[NAME_MAX_LEN], admin_name[NAME_MAX_LEN];
    char why_told[160]; /* the agent's words for its collector's state */
    char refused[160];  /* why another agent was turned away, shown until … */
    int64_t refused_until_ms;
    uint64_t facts, procs_id, run;
    int64_t run_ms;   /* when that run last spoke */
    int64_t first_ms; /* since when we wait for it */
    int64_t next_ms;  /* time alone changes nothing before this */
    struct proc_list procs;
    bool procs_new;            /* came since the last batch */
    bool told_down, stopped;   /* EVENT_DOWN was raised; the run said it stops */
    unsigned clock_off_streak; /* exchanges in a row with a clock off */
    size_t n_slots;            /* slots of batches; devices behind them are lost ones */
    size_t cap_custom;
    struct live_dev *devs;
    enum why why;
    int64_t amount;
    struct live_node *next_by_key, *next_by_name;
};

struct live {
    struct state_rule rule;
    live_event_fn *on_event;
    void *arg;
    uint64_t version;
    int64_t tick_ms;
    size_t n, cap; /* nodes in no order */
    struct live_node **v;
    size_t buckets; /* a power of two */
    struct live_node **by_key, **by_name;
    bool unsorted;
    size_t n_shown;
    const struct node_now **sorted, **shown; /* by name; all, and those not retired */
};

/* Times come from outside: within what can be added and subtracted. */
static int64_t sane(int64_t ms)
{
    return MAX(0, MIN(ms, (int64_t)1 << 52));
}

static struct live_node *own(struct node_now *n)
{
    return (struct live_node *)n;
}

static void changed(struct live *l, struct live_node *n)
{
    n->now.version = ++l->version;
}

static void tell(struct live *l, struct live_node *n, enum event_kind kind, int64_t at_ms, int64_t code,
                 const char *what, int64_t span_ms)
{
    struct event e = {.at_ms = at_ms, .kind = (uint16_t)kind, .code = code};
    char span[24];

    if (!l->on_event)
        return;
    snprintf(e.text, sizeof(e.text), "%s%s", what, span_ms ? clock_span(span_ms, span) : "");
    l->on_event(l->arg, &n->now, &e);
}

/* ---- finding ---- */

static size_t bucket_of(const struct live *l, const char *text)
{
    return fnv64(text, strlen(text)) & (l->buckets - 1);
}

static void index_add(struct live *l, struct live_node *n)
{
    struct live_node **key = &l->by_key[bucket_of(l, n->now.key)], **name = &l->by_name[bucket_of(l, n->now.name)];

    n->next_by_key = *key;
    *key = n;
    n->next_by_name = *name;
    *name = n;
    l->unsorted = true;
}

static void index_remove(struct live *l, struct live_node *n)
{
    struct live_node **at = &l->by_key[bucket_of(l, n->now.key)];

    while (*at != n)
        at = &(*at)->next_by_key;
    *at = n->next_by_key;
    at = &l->by_name[bucket_of(l, n->now.name)];
    while (*at != n)
        at = &(*at)->next_by_name;
    *at = n->next_by_name;
    l->unsorted = true;
}

static void index_grow(struct live *l)
{
    if (l->n < l->buckets)
        return;
    free(l->by_key);
    free(l->by_name);
    l->buckets = l->buckets ? l->buckets * 4 : 64;
    l->by_key = mem_zero(l->buckets, sizeof(*l->by_key));
    l->by_name = mem_zero(l->buckets, sizeof(*l->by_name));
    for (size_t i = 0; i < l->n; i++)
        index_add(l, l->v[i]);
}

static struct live_node *find_key(const struct live *l, const char *key)
{
    struct live_node *n = l->buckets ? l->by_key[bucket_of(l, key)] : NULL;

    while (n && strcmp(n->now.key, key) != 0)
        n = n->next_by_key;
    return n;
}

struct node_now *live_find(const struct live *l, const char *key_or_name)
{
    struct live_node *best = find_key(l, key_or_name);

    if (best || !l->buckets)
        return best ? &best->now : NULL;
    /* Two may share a name: the one in service, then the one heard last. */
    for (struct live_node *n = l->by_name[bucket_of(l, key_or_name)]; n; n = n->next_by_name) {
        if (strcmp(n->now.name, key_or_name) != 0)
            continue;
        if (!best || n->now.retired < best->now.retired ||
            (n->now.retired == best->now.retired && n->now.at_ms > best->now.at_ms))
            best = n;
    }
    return best ? &best->now : NULL;
}

/* The name it shows by: an admin's, else its own, else its key. True when that changed. */
static bool take_name(struct live *l, struct live_node *n)
{
    const char *name = n->admin_name[0] ? n->admin_name : n->own_name[0] ? n->own_name : n->now.key;

    if (strcmp(name, n->now.name) == 0)
        return false;
    index_remove(l, n);
    mem_copy_str(n->now.name, sizeof(n->now.name), name);
    index_add(l, n);
    return true;
}

/* dgx2 before dgx10: runs of digits count as numbers; leading zeros only break ties. */
static int natural_cmp(const char *a, const char *b)
{
    const char *a0 = a, *b0 = b;

    while (*a && *b) {
        if (*a >= '0' && *a <= '9' && *b >= '0' && *b <= '9') {
            a += strspn(a, "0");
            b += strspn(b, "0");
            size_t na = strspn(a, "0123456789"), nb = strspn(b, "0123456789");
            int r = na != nb ? (na < nb ? -1 : 1) : memcmp(a, b, na);
            if (r)
                return r;
            a += na;
            b += nb;
        } else if (*a != *b) {
            break;
        } else {
            a++;
            b++;
        }
    }
    int r = (unsigned char)*a - (unsigned char)*b;
    return r ? r : strcmp(a0, b0);
}

static int node_cmp(const void *pa, const void *pb)
{
    const struct node_now *a = *(const struct node_now *const *)pa, *b = *(const struct node_now *const *)pb;
    int r = natural_cmp(a->name, b->name);

    return r ? r : strcmp(a->key, b->key);
}

const struct node_now *const *live_nodes(struct live *l, bool all, size_t *ret_n)
{
    if (l->unsorted) {
        l->sorted = mem_grow(l->sorted, MAX(l->n, 1), sizeof(*l->sorted));
        l->shown = mem_grow(l->shown, MAX(l->n, 1), sizeof(*l->shown));
        for (size_t i = 0; i < l->n; i++)
            l->sorted[i] = &l->v[i]->now;
        if (l->n)
            qsort(l->sorted, l->n, sizeof(*l->sorted), node_cmp);
        l->n_shown = 0;
        for (size_t i = 0; i < l->n; i++)
            if (!l->sorted[i]->retired)
                l->shown[l->n_shown++] = l->sorted[i];
        l->unsorted = false;
    }
    *ret_n = all ? l->n : l->n_shown;
    return all ? l->sorted : l->shown;
}

/* ---- judging ---- */

static int64_t device_since(const struct node_now *n, const struct device_now *d, const struct verdict *v,
                            int64_t now_ms)
{
    if (v->state == DEV_HUNG)
        return n->collect_since_ms;
    if (v->state == DEV_STALE && d->at_ms)
        return MIN(d->at_ms, now_ms);
    return now_ms;
}

static bool judge_one(struct live *l, struct live_node *n, size_t i, int64_t now_ms)
{
    struct device_now *d = &n->now.devices[i];
    struct live_dev *ld = &n->devs[i];
    struct verdict v = judge_device(&l->rule, &n->now, d, now_ms);
    bool moved = (int)d->state != v.state;

    n->next_ms = MIN(n->next_ms, v.until_ms);
    if (moved || !d->since_ms)
        d->since_ms = device_since(&n->now, d, &v, now_ms);
    if (!moved && ld->why == v.why && ld->amount == v.amount)
        return false;
    d->state = (enum dev_state)v.state;
    ld->why = v.why;
    ld->amount = v.amount;
    judge_words(&v, v.why == WHY_UNREADABLE || v.why == WHY_PAUSED ? n->why_told : d->fact.note, d->reason);
    return true;
}

/* Everything a node is, judged again; true when a screen would show a difference. */
static bool judge_all(struct live *l, struct live_node *n, int64_t now_ms)
{
    struct verdict v = judge_node(&l->rule, &n->now, n->stopped, now_ms);
    bool moved = (int)n->now.state != v.state, differs = moved || n->why != v.why || n->amount != v.amount;

    if (moved || !n->now.since_ms)
        n->now.since_ms = v.state == NODE_DOWN && n->now.at_ms ? n->now.at_ms
                          : v.state == NODE_HUNG               ? n->now.collect_since_ms
                                                               : now_ms;
    n->next_ms = v.until_ms;
    if (n->refused[0] && now_ms >= n->refused_until_ms) {
        n->refused[0] = 0;
        differs = true;
    }
    if (differs) {
        n->now.state = (enum node_state)v.state;
        n->why = v.why;
        n->amount = v.amount;
        judge_words(&v, n->why_told, n->now.reason);
    }
    if (n->refused[0]) {
        mem_copy_str(n->now.reason, sizeof(n->now.reason), n->refused);
        n->next_ms = MIN(n->next_ms, n->refused_until_ms);
    }
    for (size_t i = 0; i < n->now.n_devices; i++) /* instances first: their GPU is judged by them */
        if (n->now.devices[i].fact.parent[0])
            differs |= judge_one(l, n, i, now_ms);
    for (size_t i = 0; i < n->now.n_devices; i++)
        if (!n->now.devices[i].fact.parent[0])
            differs |= judge_one(l, n, i, now_ms);
    return differs;
}

static void judge_again(struct live *l, struct live_node *n, bool differs, int64_t now_ms)
{
    if (now_ms > 0) /* 0: read back from records, the first tick judges it */
        differs |= judge_all(l, n, now_ms);
    if (differs)
        changed(l, n);
}

/* News of any kind. */
static void heard(struct live *l, struct live_node *n, int64_t now_ms)
{
    if (now_ms <= 0)
        return;
    if (n->told_down) {
        int64_t silent = now_ms - (n->now.at_ms ? n->now.at_ms : n->first_ms);
        n->told_down = false;
        if (!n->now.retired)
            tell(l, n, EVENT_BACK, now_ms, silent / 1000, "back after ", MAX(silent, 1));
    }
    n->now.at_ms = now_ms;
}

/* ---- nodes ---- */

struct live *live_new(const struct state_rule *rule, live_event_fn *on_event, void *arg)
{
    struct live *l = mem_zero(1, sizeof(*l));

    l->rule = rule ? *rule : state_rule_default;
    l->on_event = on_event;
    l->arg = arg;
    return l;
}

static void node_free(struct live_node *n)
{
    node_now_fini(&n->now);
    proc_list_fini(&n->procs);
    free(n->devs);
    free(n);
}

void live_free(struct live *l)
{
    if (!l)
        return;
    for (size_t i = 0; i < l->n; i++)
        node_free(l->v[i]);
    free(l->v);
    free(l->by_key);
    free(l->by_name);
    free(l->sorted);
    free(l->shown);
    free(l);
}

void live_set_rule(struct live *l, const struct state_rule *rule)
{
    l->rule = *rule;
    for (size_t i = 0; i < l->n; i++)
        l->v[i]->next_ms = 0; /* at the next tick */
}

struct node_now *live_node(struct live *l, const char *key, const char *name, int64_t now_ms)
{
    struct live_node *n = find_key(l, key);

    if (n) {
        if (name && name[0] && strcmp(n->own_name, name) != 0) {
            mem_copy_str(n->own_name, sizeof(n->own_name), name);
            if (take_name(l, n))
                changed(l, n);
        }
        return &n->now;
    }
    n = mem_zero(1, sizeof(*n));
    mem_copy_str(n->now.key, sizeof(n->now.key), key);
    mem_copy_str(n->own_name, sizeof(n->own_name), name ? name : "");
    mem_copy_str(n->now.name, sizeof(n->now.name), n->own_name[0] ? n->own_name : n->now.key);
    n->now.state = NODE_DOWN;
    n->first_ms = now_ms;
    VEC_ROOM(l->v, l->n, l->cap);
    index_grow(l);
    l->v[l->n++] = n;
    index_add(l, n);
    judge_again(l, n, true, now_ms);
    if (now_ms > 0)
        tell(l, n, EVENT_NEW, now_ms, 0, "seen for the first time", 0);
    return &n->now;
}

void live_drop(struct live *l, const char *key)
{
    struct live_node *n = find_key(l, key);
    size_t i = 0;

    if (!n)
        return;
    while (l->v[i] != n)
        i++;
    index_remove(l, n);
    l->v[i] = l->v[--l->n];
    l->version++;
    node_free(n);
}

void live_admin(struct live *l, struct node_now *now, const char *name, bool retired, bool maintenance)
{
    struct live_node *n = own(now);

    mem_copy_str(n->admin_name, sizeof(n->admin_name), name ? name : "");
    take_name(l, n);
    if (now->retired != retired)
        l->unsorted = true;
    now->retired = retired;
    now->maintenance = maintenance;
    judge_again(l, n, true, l->tick_ms);
}

/* More than half of old's GPUs are among facts. */
static bool brings_gpus(const struct live_node *old, const struct node_fact *facts)
{
    size_t gpus = 0, brought = 0;

    for (size_t i = 0; i < old->now.n_devices; i++) {
        const struct device_fact *d = &old->now.devices[i].fact;
        if (d->parent[0])
            continue;
        gpus++;
        for (size_t k = 0; k < facts->n_devices; k++)
            if (strcmp(d->uuid, facts->devices[k].uuid) == 0) {
                brought++;
                break;
            }
    }
    return brought * 2 > gpus;
}

bool live_takeover(struct live *l, const char *new_key, const struct node_fact *facts, int64_t now_ms,
                   char old_key[NODE_KEY_MAX])
{
    struct live_node *heir = find_key(l, new_key), *old = NULL;

    if (heir && heir->now.n_devices)
        return false; /* known with GPUs of its own: not a new id */
    for (size_t i = 0; i < l->n && !old; i++) {
        struct live_node *n = l->v[i];
        bool silent = !n->now.at_ms || now_ms - n->now.at_ms >= RUN_ALIVE_MS || n->stopped;
        if (n != heir && silent && !n->now.retired && brings_gpus(n, facts))
            old = n;
    }
    if (!old)
        return false;
    mem_copy_str(old_key, NODE_KEY_MAX, old->now.key);
    if (!heir) { /* the old one goes on under the new key */
        index_remove(l, old);
        mem_copy_str(old->now.key, sizeof(old->now.key), new_key);
        index_add(l, old);
        old->run = 0;
        changed(l, old);
        return true;
    }
    mem_copy_str(heir->admin_name, sizeof(heir->admin_name), old->admin_name);
    heir->now.maintenance |= old->now.maintenance;
    live_drop(l, old->now.key);
    take_name(l, heir);
    changed(l, heir);
    return true;
}

/* ---- what agents say ---- */

bool live_run_conflict(const struct live *l, const struct node_now *now, uint64_t run, int64_t now_ms)
{
    const struct live_node *n = (const struct live_node *)now;

    (void)l;
    return n->run && n->run != run && !n->stopped && now_ms - n->run_ms < RUN_ALIVE_MS;
}

void live_refused(struct live *l, struct node_now *now, const char *why, int64_t now_ms)
{
    struct live_node *n = own(now);

    mem_copy_str(n->refused, sizeof(n->refused), why);
    n->refused_until_ms = now_ms + REFUSED_MS;
    judge_again(l, n, true, now_ms);
}

void live_hello(struct live *l, struct node_now *now, const struct hello *h, const char *address, int64_t now_ms)
{
    struct live_node *n = own(now);
    int64_t off = sane(h->sent_ms) - now_ms, since;
    bool differs = false;

    if (off <= CLOCK_OFF_MS && off >= -CLOCK_OFF_MS)
        off = 0;
    heard(l, n, now_ms);
    n->run = h->run;
    n->run_ms = now_ms;
    n->stopped = false;
    if (h->name[0] && strcmp(n->own_name, h->name) != 0) {
        mem_copy_str(n->own_name, sizeof(n->own_name), h->name);
        differs |= take_name(l, n);
    }
    if (address && strcmp(now->address, address) != 0) {
        mem_copy_str(now->address, sizeof(now->address), address);
        differs = true;
    }
    /* One late exchange looks like a clock behind; two in a row are told. */
    n->clock_off_streak = off ? n->clock_off_streak + 1 : 0;
    if (n->clock_off_streak == 2)
        tell(l, n, EVENT_CLOCK, now_ms, off, off < 0 ? "clock behind by " : "clock ahead by ", off < 0 ? -off : off);
    differs |= off / 1000 != now->clock_off_ms / 1000;
    now->clock_off_ms = off;
    since = MAX(MIN(sane(h->state_since_ms) - off, now_ms), 1);
    differs |= now->backlog != h->backlog || now->collect != (enum collect_state)h->collect;
    if (strcmp(n->why_told, h->why) != 0) {
        mem_copy_str(n->why_told, sizeof(n->why_told), h->why);
        n->why = WHY_NOT_YET; /* words are made again */
        for (size_t i = 0; i < now->n_devices; i++)
            n->devs[i].why = WHY_NOT_YET;
    }
    now->backlog = h->backlog;
    if (now->collect != (enum collect_state)h->collect || since < now->collect_since_ms - 2000 ||
        since > now->collect_since_ms + 2000)
        now->collect_since_ms = since; /* small differences are the exchange's, not the agent's */
    now->collect = h->collect < COLLECT_STATES ? (enum collect_state)h->collect : COLLECT_FAILED;
    judge_again(l, n, differs, now_ms);
}

bool live_knows(const struct node_now *now, uint64_t facts, uint64_t procs)
{
    const struct live_node *n = (const struct live_node *)now;

    return (facts == 0 || n->facts == facts) && (procs == 0 || n->procs_id == procs);
}

/* A device of before that facts no longer list: gone, unless it was a MIG instance (they come and go) or another card
 * sits in its place. */
static bool is_missed(const struct device_now *d, const struct node_fact *f)
{
    if (d->fact.parent[0])
        return false;
    for (size_t k = 0; k < f->n_devices; k++)
        if (d->fact.pci[0] && strcmp(d->fact.pci, f->devices[k].pci) == 0)
            return false;
    return true;
}

/* The devices of facts in their order, each with what was known of it, then those that are missed. */
static void take_devices(struct live_node *n, const struct node_fact *f)
{
    size_t had = n->now.n_devices, cap = f->n_devices + had, count = f->n_devices;
    struct device_now *to = mem_zero(MAX(cap, 1), sizeof(*to));
    struct live_dev *devs = mem_zero(MAX(cap, 1), sizeof(*devs));

    for (size_t i = 0; i < f->n_devices; i++) {
        for (size_t k = 0; k < had; k++) {
            struct device_now *d = &n->now.devices[k];
            if (!d->fact.uuid[0] || strcmp(d->fact.uuid, f->devices[i].uuid) != 0)
                continue;
            to[i] = *d;
            devs[i] = n->devs[k];
            *d = (struct device_now){0}; /* moved */
            break;
        }
        if (!to[i].fact.uuid[0])
            to[i].state = DEV_STALE; /* until its first sample */
        to[i].fact = f->devices[i];
        devs[i].why = WHY_NOT_YET;
    }
    for (size_t k = 0; k < had; k++) {
        struct device_now *d = &n->now.devices[k];
        if (d->fact.uuid[0] && is_missed(d, f) && count < DEVICES_MAX) {
            to[count] = *d;
            devs[count] = n->devs[k];
            devs[count].why = WHY_NOT_YET;
            to[count].fact.lost |= f->n_devices > 0; /* none at all: the driver is away, not the GPU */
            to[count].n_procs = 0;
            count++;
        } else {
            device_now_fini(d);
        }
    }
    free(n->now.devices);
    free(n->devs);
    n->now.devices = to;
    n->now.n_devices = count;
    n->devs = devs;
    n->n_slots = f->n_devices;
}

void live_facts(struct live *l, struct node_now *now, uint64_t id, const struct node_fact *f, int64_t now_ms)
{
    struct live_node *n = own(now);
    struct node_fact flat = *f;

    heard(l, n, now_ms);
    if (id && id == n->facts) {
        judge_again(l, n, false, now_ms);
        return;
    }
    n->facts = id;
    if (f->n_custom != now->fact.n_custom ||
        (f->n_custom && memcmp(f->custom, now->fact.custom, f->n_custom * sizeof(*f->custom)) != 0)) {
        now->n_custom = 0; /* positions mean other metrics now */
        for (size_t i = 0; i < now->n_devices; i++)
            now->devices[i].n_custom = 0;
    }
    flat.n_devices = 0;
    node_fact_copy(&now->fact, &flat);
    take_devices(n, f);
    judge_again(l, n, true, now_ms);
}

void live_procs(struct live *l, struct node_now *now, uint64_t id, const struct proc_list *p, int64_t now_ms)
{
    struct live_node *n = own(now);

    heard(l, n, now_ms);
    if (id && id == n->procs_id)
        return;
    n->procs_id = id;
    n->procs_new = true;
    proc_list_copy(&n->procs, p);
}

/* ---- batches ---- */

/* A batch's column against where its values go. */
struct target {
    struct sample *now;
    int64_t *v_at_ms, *at_ms;
    struct custom_now **custom;
    size_t *n_custom, *cap_custom;
};

static bool target_of(struct live_node *n, uint16_t slot, struct target *ret)
{
    struct node_now *now = &n->now;

    if (slot > n->n_slots)
        return false;
    if (slot == 0) {
        *ret = (struct target){&now->now, now->v_at_ms, &now->now.at_ms, &now->custom, &now->n_custom, &n->cap_custom};
        return true;
    }
    struct device_now *d = &now->devices[slot - 1];
    *ret = (struct target){&d->now, d->v_at_ms, &d->at_ms, &d->custom, &d->n_custom, &n->devs[slot - 1].cap_custom};
    return true;
}

static int64_t tick_at(const struct batch *b, size_t i, int64_t shift_ms, int64_t now_ms)
{
    return MIN(sane(b->at_ms[i]) + shift_ms, now_ms + AHEAD_MAX_MS);
}

/* The newest tick of c with a value, or false. */
static bool newest_tick(const struct batch *b, const struct column *c, size_t *ret)
{
    for (size_t i = b->n_ticks; i-- > 0;)
        if (column_has(c, i)) {
            *ret = i;
            return true;
        }
    return false;
}

static void take_custom(const struct target *t, uint16_t metric, int64_t v, int64_t at_ms)
{
    struct custom_now *list = *t->custom;
    size_t i = 0;

    while (i < *t->n_custom && list[i].metric < metric)
        i++;
    if (i == *t->n_custom || list[i].metric != metric) {
        if (*t->n_custom >= CUSTOM_MAX)
            return;
        VEC_ROOM(*t->custom, *t->n_custom, *t->cap_custom);
        list = *t->custom;
        memmove(&list[i + 1], &list[i], (*t->n_custom - i) * sizeof(*list));
        (*t->n_custom)++;
        list[i] = (struct custom_now){.metric = metric};
    }
    if (at_ms > list[i].at_ms) {
        list[i].v = v;
        list[i].at_ms = at_ms;
    }
}

/* When work was seen, and when it would have been: over every tick that is new. */
static void watch_work(const struct state_rule *rule, struct live_dev *ld, const struct batch *b,
                       const struct column *c, enum metric m, size_t newest, int64_t shift_ms, int64_t now_ms)
{
    int64_t at = tick_at(b, newest, shift_ms, now_ms);

    if (at <= ld->known_ms)
        return;
    ld->new_known_ms = MAX(ld->new_known_ms, at);
    for (size_t i = newest + 1; i-- > 0;) {
        at = tick_at(b, i, shift_ms, now_ms);
        if (at <= ld->known_ms || at <= ld->new_work_ms)
            return;
        if (column_has(c, i) && judge_is_work(rule, m, c->v[i])) {
            ld->new_work_ms = at;
            return;
        }
    }
}

static void take_columns(struct live *l, struct live_node *n, const struct batch *b, int64_t shift_ms, int64_t now_ms)
{
    for (size_t k = 0; k < b->n_columns; k++) {
        const struct column *c = &b->columns[k];
        struct target t;
        size_t i;

        if (!target_of(n, c->slot, &t) || !newest_tick(b, c, &i))
            continue;
        int64_t at = tick_at(b, i, shift_ms, now_ms);
        *t.at_ms = MAX(*t.at_ms, at);
        if (c->metric >= METRIC_CUSTOM) {
            if ((size_t)(c->metric - METRIC_CUSTOM) < n->now.fact.n_custom)
                take_custom(&t, c->metric, c->v[i], at);
            continue;
        }
        int m = metric_by_no(c->metric);
        if (m < 0)
            continue; /* a newer agent's */
        if (at > t.v_at_ms[m]) {
            sample_set(t.now, (enum metric)m, c->v[i]);
            t.v_at_ms[m] = at;
        }
        if (c->slot && judge_tells((enum metric)m))
            watch_work(&l->rule, &n->devs[c->slot - 1], b, c, (enum metric)m, i, shift_ms, now_ms);
    }
}

/* Values that newer samples no longer bring are not shown as if they were news. */
static void let_go(struct sample *now, const int64_t *v_at_ms, int64_t at_ms, int64_t keep_ms)
{
    for (size_t w = 0; w < ARRAY_LEN(now->have.w); w++)
        for (uint64_t left = now->have.w[w]; left; left &= left - 1) {
            unsigned m = (unsigned)(w * 64) + (unsigned)__builtin_ctzll(left);
            if (at_ms - v_at_ms[m] > keep_ms)
                bits_clear(&now->have, m);
        }
}

static void let_go_custom(struct custom_now *v, size_t *n, int64_t at_ms, int64_t keep_ms)
{
    size_t kept = 0;

    for (size_t i = 0; i < *n; i++)
        if (at_ms - v[i].at_ms <= keep_ms)
            v[kept++] = v[i];
    *n = kept;
}

static void settle_device(struct device_now *d, struct live_dev *ld, int64_t keep_ms)
{
    d->now.at_ms = d->at_ms;
    if (ld->new_known_ms) {
        if (ld->new_work_ms) {
            ld->work_ms = ld->new_work_ms;
            if (d->state != DEV_BUSY) { /* seen at work within this batch: busy from there on; judged next */
                d->state = DEV_BUSY;
                d->since_ms = ld->new_work_ms;
                ld->why = WHY_NOT_YET;
            }
        }
        ld->known_ms = ld->new_known_ms;
        if (ld->work_ms == ld->known_ms)
            d->idle_since_ms = 0;
        else if (ld->work_ms)
            d->idle_since_ms = ld->work_ms;
        else if (!d->idle_since_ms)
            d->idle_since_ms = ld->known_ms;
        ld->new_known_ms = ld->new_work_ms = 0;
    }
    let_go(&d->now, d->v_at_ms, d->at_ms, keep_ms);
    if (d->n_custom)
        let_go_custom(d->custom, &d->n_custom, d->at_ms, keep_ms);
}

/* Who is on the devices, as the newest batch says. Facts of a process are copied when it is new there. */
static void take_uses(struct live_node *n, const struct batch *b)
{
    if (b->procs && b->procs != n->procs_id)
        return; /* a list we have not got: keep what we know */
    for (size_t i = 0; i < n->n_slots; i++) {
        n->now.devices[i].n_procs = 0;
        for (size_t k = 0; n->procs_new && k < n->devs[i].cap_procs; k++)
            n->now.devices[i].procs[k].fact.pid = 0; /* of the old list: nothing of it is reused */
    }
    for (size_t i = 0; i < b->n_uses; i++) {
        const struct proc_use *u = &b->uses[i];
        if (u->slot == 0 || u->slot > n->n_slots || u->proc >= n->procs.n)
            continue;
        struct device_now *d = &n->now.devices[u->slot - 1];
        struct live_dev *ld = &n->devs[u->slot - 1];
        const struct proc_fact *f = &n->procs.v[u->proc];
        if (d->n_procs >= PROCS_MAX)
            continue;
        size_t had = ld->cap_procs;
        VEC_ROOM(d->procs, d->n_procs, ld->cap_procs);
        if (ld->cap_procs > had)
            memset(&d->procs[had], 0, (ld->cap_procs - had) * sizeof(*d->procs));
        struct proc_now *p = &d->procs[d->n_procs++];
        if (p->fact.pid != f->pid || p->fact.start_ms != f->start_ms) /* else it is there from the last batch */
            p->fact = *f;
        p->kind = u->kind;
        p->mem = MAX(-1, MIN(u->mem, PROC_MEM_MAX)); /* so that sums of them fit */
        p->sm = u->sm;
    }
    n->procs_new = false;
}

/* The hub's clock was set back: what we hold must not shut out what comes. */
static void forget_future(struct live_node *n, int64_t now_ms)
{
    struct node_now *now = &n->now;

    if (now->sample_at_ms <= now_ms + AHEAD_MAX_MS)
        return;
    now->sample_at_ms = now->now.at_ms = 0;
    memset(now->v_at_ms, 0, sizeof(now->v_at_ms));
    now->n_custom = 0;
    for (size_t i = 0; i < now->n_devices; i++) {
        struct device_now *d = &now->devices[i];
        d->at_ms = d->now.at_ms = 0;
        d->idle_since_ms = MIN(d->idle_since_ms, now_ms);
        d->since_ms = MIN(d->since_ms, now_ms);
        memset(d->v_at_ms, 0, sizeof(d->v_at_ms));
        d->n_custom = 0;
        n->devs[i].known_ms = n->devs[i].work_ms = 0;
    }
}

void live_batch(struct live *l, struct node_now *now, const struct batch *b, int64_t shift_ms, int64_t now_ms)
{
    struct live_node *n = own(now);
    bool differs = false;

    heard(l, n, now_ms);
    for (size_t i = 0; i < b->n_events; i++)
        if (b->events[i].kind == EVENT_STOP && b->key.run == n->run)
            n->stopped = true;
    if (b->n_ticks && b->facts == n->facts) {
        int64_t keep_ms = MAX(VALUE_KEEP_MS, 3 * (int64_t)now->fact.tick_ms);
        int64_t at = tick_at(b, b->n_ticks - 1, shift_ms, now_ms);
        forget_future(n, now_ms);
        take_columns(l, n, b, shift_ms, now_ms);
        for (size_t i = 0; i < n->n_slots; i++)
            settle_device(&now->devices[i], &n->devs[i], keep_ms);
        let_go(&now->now, now->v_at_ms, now->now.at_ms, keep_ms);
        if (now->n_custom)
            let_go_custom(now->custom, &now->n_custom, now->now.at_ms, keep_ms);
        if (at > now->sample_at_ms) {
            take_uses(n, b);
            now->sample_at_ms = at;
            differs = true;
        }
    }
    judge_again(l, n, differs, now_ms);
}

/* ---- time ---- */

void live_tick(struct live *l, int64_t now_ms)
{
    bool back = now_ms < l->tick_ms; /* the clock was set back: every deadline is void */

    l->tick_ms = now_ms;
    for (size_t i = 0; i < l->n; i++) {
        struct live_node *n = l->v[i];
        if (!n->first_ms)
            n->first_ms = now_ms;
        int64_t from = n->now.at_ms ? n->now.at_ms : n->first_ms;
        int64_t down_ms = MAX(l->rule.down_after_ms, 3 * (int64_t)n->now.fact.tick_ms);
        if (!n->told_down && now_ms - from >= down_ms) {
            n->told_down = true;
            if (!n->now.retired)
                tell(l, n, EVENT_DOWN, now_ms, (now_ms - from) / 1000, "no news for ", now_ms - from);
        }
        if ((back || now_ms >= n->next_ms) && judge_all(l, n, now_ms))
            changed(l, n);
    }
}

uint64_t live_version(const struct live *l)
{
    return l->version;
}

size_t live_count(const struct live *l)
{
    return l->n;
}
