/*
 * live.c: the list of nodes, by key and name, sorted, and identified by what their agents send. node.c stores the
 * values of a batch, then judge.c decides the state. A node is judged again only when it reports or when time alone
 * can change its state (next_ms).
 */
#include "now/live.h"

#include "base/clock.h"
#include "base/order.h"
#include "model/labels.h"
#include "model/names.h"
#include "now/gpu_index.h"
#include "now/node_order.h"
#include "now/sites.h"

#define CLOCK_OFF_MS 5000  /* smaller differences are ignored */
#define RUN_ALIVE_MS 30000 /* a run that reported within this time is alive */
#define REFUSED_MS   60000 /* how long a refused duplicate is shown */
/* Agents retry within a minute. The same as the delay of alerts (docs/alerts.md), and at least down_after. */
#define CHANCE_MAX_MS 120000

struct live {
    struct state_rule rule;
    struct names *names; /* NULL: none */
    live_event_fn *on_event;
    void *arg;
    live_who_fn *who;
    void *who_arg;
    live_price_fn *price; /* NULL: no prices */
    const void *price_arg;
    char currency[16];
    uint64_t version;
    int64_t tick_ms;
    size_t n, cap; /* nodes in no order */
    struct live_node **v;
    struct lookup by_key, by_name, gpus;
    uint64_t ranks, n_named; /* number given so far */
    uint64_t renames;
    bool unsorted;
    size_t n_sorted, n_shown;
    const struct node_now **sorted, **shown; /* by name; all, and those not retired */
    struct sites sites;
    bool every_old; /* a node of this hub was added or removed */
    size_t n_every[2];
    const struct node_now **every[2]; /* the same with nodes of sites; [1]: all */
    char notice[NOTICE_MAX];
};

static struct live_node *own(struct node_now *n)
{
    return (struct live_node *)n;
}

/* Nodes are removed or renamed. */
static void unsort(struct live *l)
{
    l->unsorted = l->every_old = true;
}

/* The node or its devices are renamed. */
static void named(struct live *l, struct live_node *n)
{
    n->now.named = ++l->n_named;
}

static void changed(struct live *l, struct live_node *n)
{
    n->now.version = ++l->version;
}

static void tell(struct live *l, struct live_node *n, enum event_kind kind, int64_t at_ms, int64_t code,
                 const char *what, int64_t span_ms)
{
    struct node_event e = {.at_ms = at_ms, .kind = (uint16_t)kind, .code = code};
    char span[24];

    if (!l->on_event)
        return;
    snprintf(e.text, sizeof(e.text), "%s%s", what, span_ms ? clock_span(span_ms, span) : "");
    l->on_event(l->arg, &n->now, &e);
}

/* ---- lookup ---- */

static void index_add(struct live *l, struct live_node *n)
{
    lookup_add(&l->by_key, lookup_hash(n->now.key), n);
    lookup_add(&l->by_name, lookup_hash(n->now.name), n);
    l->every_old = true;
}

static void index_remove(struct live *l, struct live_node *n)
{
    lookup_drop(&l->by_key, lookup_hash(n->now.key), n);
    lookup_drop(&l->by_name, lookup_hash(n->now.name), n);
    unsort(l);
}

static struct live_node *find_key(const struct live *l, const char *key)
{
    return lookup_named(&l->by_key, key, offsetof(struct live_node, now.key));
}

/* The next node with this name, like lookup_next. */
static struct live_node *next_name(const struct live *l, const char *name, size_t *at)
{
    return lookup_next_named(&l->by_name, name, offsetof(struct live_node, now.name), at);
}

struct node_now *live_find(const struct live *l, const char *key_or_name)
{
    struct live_node *best = find_key(l, key_or_name);
    size_t at = 0;

    if (best)
        return &best->now;
    /* Two nodes may share a name: prefer the one in service, then the last one seen. */
    for (struct live_node *n; (n = next_name(l, key_or_name, &at));)
        if (!best || n->now.retired < best->now.retired ||
            (n->now.retired == best->now.retired && n->now.at_ms > best->now.at_ms))
            best = n;
    return best ? &best->now : NULL;
}

const struct node_now *live_only(const struct live *l, const char *key_or_name)
{
    struct live_node *only = find_key(l, key_or_name);
    size_t at = 0;

    for (struct live_node *n; (n = next_name(l, key_or_name, &at)); only = n)
        if (only && only != n)
            return NULL;
    return only ? &only->now : NULL;
}

bool live_is_older(const struct node_now *a, const struct node_now *than)
{
    return ((const struct live_node *)a)->rank < ((const struct live_node *)than)->rank;
}

/* The owner among nodes with this device: not retired, has not lost it, and came first. */
const struct device_now *live_find_device(const struct live *l, struct str uuid, const struct node_now **ret_node)
{
    const struct device_now *d = NULL;
    size_t at = 0;
    int best = -1;

    for (struct live_node *n; (n = gpu_index_find(&l->gpus, uuid, &at));) {
        const struct device_now *its = gpu_index_in(n, uuid);
        int good = 2 * !n->now.retired + !its->fact.lost;
        if (good > best || (good == best && live_is_older(&n->now, *ret_node))) {
            d = its;
            *ret_node = &n->now;
            best = good;
        }
    }
    return d;
}

/* Nodes of other hubs get this hub's names but no prices: they are not counted. */
void live_guest_call(const struct live *l, struct node_now *n)
{
    for (size_t i = 0; i < n->n_devices; i++)
        names_find(l->names, n->devices[i].fact.name, &n->devices[i].display, &n->devices[i].brief);
}

/* Applies external data about the node and its model: names and prices. */
static void call_by_names(struct live *l, struct live_node *n)
{
    const char *none;

    names_find(l->names, n->now.name, &n->now.display, &none);
    for (size_t i = 0; i < n->now.n_devices; i++) {
        struct device_now *d = &n->now.devices[i];
        names_find(l->names, d->fact.name, &d->display, &d->brief);
        d->price = l->price ? MAX(l->price(l->price_arg, d->fact.name), 0) : 0;
    }
}

/* Another node with this name, not retired. */
static struct live_node *name_holder(const struct live *l, const struct live_node *but, const char *name)
{
    struct live_node *n = find_key(l, name);

    if (n && n != but)
        return n;
    size_t at = 0;
    do
        n = next_name(l, name, &at);
    while (n && (n == but || n->now.retired));
    return n;
}

/* Its own name is taken: use "dgx1~2" until an admin sets a name or its own name changes. */
static void give_name(const struct live *l, struct live_node *n)
{
    const char *own = n->own_name[0] ? n->own_name : n->now.key;
    struct live_node *holder;

    if (n->given && !name_is_nth(own, n->admin_name)) {
        n->admin_name[0] = 0;
        n->given = false;
    }
    if (n->admin_name[0] || n->now.retired || !(holder = name_holder(l, n, own)))
        return;
    bool by_name = strcmp(holder->now.name, own) == 0; /* else it is a key */
    unsigned nth = by_name ? MAX(holder->twins, 1) : 1;
    do
        name_nth(own, ++nth, n->admin_name, sizeof(n->admin_name));
    while (name_holder(l, n, n->admin_name));
    if (by_name)
        holder->twins = nth; /* next suffix to try: many nodes may come with one name */
    n->given = true;
}

/* Sets the shown name: an admin's, else its own, else its key. Returns true if it changed. */
static bool take_name(struct live *l, struct live_node *n)
{
    give_name(l, n);
    const char *name = n->admin_name[0] ? n->admin_name : n->own_name[0] ? n->own_name : n->now.key;

    if (strcmp(name, n->now.name) == 0)
        return false;
    l->renames += n->now.name[0] != 0;
    index_remove(l, n);
    mem_copy_str(n->now.name, sizeof(n->now.name), name);
    named(l, n);
    call_by_names(l, n);
    index_add(l, n);
    node_make_remark(n);
    return true;
}

uint64_t live_renames(const struct live *l)
{
    return l->renames;
}

const struct node_now *const *live_nodes(struct live *l, bool all, size_t *ret_n)
{
    size_t sorted = l->unsorted ? 0 : l->n_sorted; /* nodes behind them were added since */
    if (l->unsorted || sorted < l->n) {
        l->sorted = mem_grow(l->sorted, MAX(l->n, 1), sizeof(*l->sorted));
        l->shown = mem_grow(l->shown, MAX(l->n, 1), sizeof(*l->shown));
        for (size_t i = sorted; i < l->n; i++)
            l->sorted[i] = &l->v[i]->now;
        nodes_sort(l->sorted, sorted, l->n);
        l->n_shown = 0;
        for (size_t i = 0; i < l->n; i++)
            if (!l->sorted[i]->retired)
                l->shown[l->n_shown++] = l->sorted[i];
        l->n_sorted = l->n;
        l->unsorted = false;
    }
    *ret_n = all ? l->n : l->n_shown;
    return all ? l->sorted : l->shown;
}

struct sites *live_sites(struct live *l)
{
    return &l->sites;
}

void live_guest_changed(struct live *l, struct node_now *n)
{
    l->version++;
    if (n)
        n->version = l->version;
}

struct node_now *live_any(struct live *l, const char *key_or_name)
{
    struct node_now *n = live_find(l, key_or_name);

    return n ? n : sites_find(&l->sites, key_or_name);
}

const struct node_now *const *live_shown(struct live *l, bool all, size_t *ret_n)
{
    if (!l->sites.n)
        return live_nodes(l, all, ret_n);
    for (int i = 0; i < 2 && (l->every_old || l->sites.unsorted); i++) {
        size_t own;
        const struct node_now *const *v = live_nodes(l, i, &own);
        l->n_every[i] = own + l->sites.n;
        l->every[i] = mem_grow(l->every[i], l->n_every[i], sizeof(*v));
        for (size_t k = 0; k < own; k++)
            l->every[i][k] = v[k];
        sites_list(&l->sites, l->every[i] + own);
        nodes_sort(l->every[i], own, l->n_every[i]);
    }
    l->every_old = l->sites.unsorted = false;
    *ret_n = l->n_every[all];
    return l->every[all];
}

/* ---- judging ---- */

static void judge_again(struct live *l, struct live_node *n, bool differs, int64_t now_ms)
{
    if (now_ms > 0) /* 0: loaded from records, the first tick judges it */
        differs |= node_judge(n, &l->rule, now_ms);
    if (differs)
        changed(l, n);
}

/* Records a report of any kind. */
static void heard(struct live *l, struct live_node *n, int64_t now_ms)
{
    if (now_ms <= 0)
        return;
    int64_t silent = now_ms - (n->now.at_ms ? n->now.at_ms : n->first_ms);
    if (n->told_down && l->tick_ms - now_ms < judge_down_ms(&l->rule, &n->now)) { /* else another hub repeats it */
        n->told_down = false;
        if (!n->now.retired)
            tell(l, n, EVENT_BACK, now_ms, silent / 1000, "back after ", MAX(silent, 1));
    }
    n->now.at_ms = now_ms;
    n->now.awaited = false;
    n->spoke = true;
    n->chance_ms = 0;
}

/* ---- nodes ---- */

struct live *live_new(const struct state_rule *rule, live_event_fn *on_event, void *arg)
{
    return NEW(struct live, .rule = rule ? *rule : state_rule_default, .on_event = on_event, .arg = arg);
}

void live_free(struct live *l)
{
    if (!l)
        return;
    for (size_t i = 0; i < l->n; i++)
        node_free(l->v[i]);
    lookup_fini(&l->gpus);
    lookup_fini(&l->by_key);
    lookup_fini(&l->by_name);
    names_free(l->names);
    sites_fini(l);
    FREE_ALL(l->v, l->sorted, l->shown, l->every[0], l->every[1], l);
}

static void call_all(struct live *l)
{
    for (size_t i = 0; i < l->n; i++) {
        call_by_names(l, l->v[i]);
        judge_again(l, l->v[i], true, l->tick_ms);
    }
}

void live_set_names(struct live *l, struct names *names)
{
    names_free(l->names);
    l->names = names;
    call_all(l);
    sites_call(l);
}

void live_set_prices(struct live *l, live_price_fn *price, const void *arg, const char *currency)
{
    l->price = price;
    l->price_arg = arg;
    mem_copy_str(l->currency, sizeof(l->currency), currency);
    call_all(l);
}

const char *live_currency(const struct live *l)
{
    return l->currency;
}

void live_set_rule(struct live *l, const struct state_rule *rule)
{
    l->rule = *rule;
    for (size_t i = 0; i < l->n; i++)
        l->v[i]->next_ms = 0; /* at the next tick */
}

const struct state_rule *live_rule(const struct live *l)
{
    return &l->rule;
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
    n = NEW(struct live_node, .now.state = NODE_DOWN, .now.never_sampled = true, .rank = ++l->ranks,
            .first_ms = now_ms);
    mem_copy_str(n->now.key, sizeof(n->now.key), key);
    mem_copy_str(n->own_name, sizeof(n->own_name), name ? name : "");
    mem_copy_str(n->now.name, sizeof(n->now.name), n->own_name[0] ? n->own_name : n->now.key);
    named(l, n);
    call_by_names(l, n);
    VEC_ADD(l->v, l->n, l->cap, n);
    index_add(l, n);
    take_name(l, n);
    judge_again(l, n, true, now_ms);
    if (now_ms > 0)
        tell(l, n, EVENT_NEW, now_ms, 0, "seen for the first time", 0);
    return &n->now;
}

void live_drop(struct live *l, const char *key)
{
    struct live_node *n = find_key(l, key);

    if (!n)
        return;
    index_remove(l, n);
    gpu_index_remove(&l->gpus, n);
    l->v[FIRST(l->n, i, l->v[i] == n)] = l->v[l->n - 1];
    l->n--;
    l->version++;
    node_free(n);
}

void live_admin(struct live *l, struct node_now *now, const char *name, bool retired, bool maintenance)
{
    struct live_node *n = own(now);

    mem_copy_str(n->admin_name, sizeof(n->admin_name), name ? name : "");
    n->given = name_is_nth(n->own_name, n->admin_name);
    if (now->retired != retired)
        unsort(l);
    now->retired = retired;
    take_name(l, n);
    node_make_remark(n);
    now->maintenance = maintenance;
    judge_again(l, n, true, l->tick_ms);
}

bool live_silent(const struct node_now *now, int64_t now_ms)
{
    const struct live_node *n = (const struct live_node *)now;

    return !n->spoke || now_ms - now->at_ms >= RUN_ALIVE_MS || n->stopped;
}

const struct node_now *live_find_dup_gpu(const struct live *l, const char *uuid, const struct node_now *but,
                                         int64_t now_ms)
{
    const struct node_now *twin = NULL;
    size_t at = 0;

    for (struct live_node *n; (n = gpu_index_find(&l->gpus, str_of(uuid), &at));)
        if (&n->now != but && !n->now.retired && !gpu_index_in(n, str_of(uuid))->fact.lost &&
            (!twin || (live_silent(twin, now_ms) && (!live_silent(&n->now, now_ms) || live_is_older(&n->now, twin)))))
            twin = &n->now;
    return twin;
}

bool live_has_gpu(const struct live *l, const char *uuid)
{
    size_t at = 0;

    return gpu_index_find(&l->gpus, str_of(uuid), &at) != NULL;
}

void live_rename_gpu(struct live *l, struct node_now *now, const char *from, const char *to)
{
    struct live_node *n = own(now);

    gpu_index_remove(&l->gpus, n);
    for (size_t i = 0; i < now->n_devices; i++) {
        struct device_fact *d = &now->devices[i].fact;
        if (strcmp(d->uuid, from) == 0)
            mem_copy_str(d->uuid, sizeof(d->uuid), to);
        if (strcmp(d->parent, from) == 0)
            mem_copy_str(d->parent, sizeof(d->parent), to);
    }
    gpu_index_add(&l->gpus, n);
    named(l, n);
    changed(l, n);
}

void live_set_replaced(struct live *l, struct node_now *now, const struct node_now *old, int64_t now_ms)
{
    if (strcmp(now->was_id, old ? old->key : "") == 0 && strcmp(now->was, old ? old->name : "") == 0)
        return;
    mem_copy_str(now->was_id, sizeof(now->was_id), old ? old->key : "");
    mem_copy_str(now->was, sizeof(now->was), old ? old->name : "");
    node_make_remark(own(now));
    judge_again(l, own(now), true, now_ms);
}

void live_join(struct live *l, struct node_now *now, struct node_now *old, int64_t now_ms)
{
    struct live_node *heir = own(now);
    char name[NAME_MAX_LEN];

    mem_copy_str(name, sizeof(name), own(old)->given ? "" : own(old)->admin_name);
    now->maintenance |= old->maintenance;
    heir->rank = MIN(heir->rank, own(old)->rank);
    live_drop(l, old->key);
    if (name[0] || heir->given) { /* an admin's name of the old node; else its own, which is free now */
        mem_copy_str(heir->admin_name, sizeof(heir->admin_name), name);
        heir->given = false;
    }
    take_name(l, heir);
    now->was_id[0] = now->was[0] = 0;
    node_make_remark(heir);
    judge_again(l, heir, true, now_ms);
}

/* ---- reports of agents ---- */

bool live_run_conflict(UNUSED const struct live *l, const struct node_now *now, uint64_t run, int64_t now_ms)
{
    const struct live_node *n = (const struct live_node *)now;

    return run == n->twin && run != n->run && !n->stopped && now_ms - n->run_ms < RUN_ALIVE_MS;
}

/* Makes run the current run of the node. */
static void take_run(struct live_node *n, uint64_t run, int64_t now_ms)
{
    if (n->run && run != n->run) {
        bool both = run == n->elder && !n->stopped && now_ms - n->run_ms < RUN_ALIVE_MS;
        n->twin = both ? n->run : 0;
        n->elder = both ? 0 : n->run;
    }
    n->run = run;
    n->run_ms = now_ms;
    n->stopped = false;
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
    int64_t off = node_sane_ms(h->sent_ms) - now_ms, since;
    bool differs = false, again = now->state != NODE_UP; /* this report may end that state */

    if (off <= CLOCK_OFF_MS && off >= -CLOCK_OFF_MS)
        off = 0;
    heard(l, n, now_ms);
    take_run(n, h->run, now_ms);
    if (h->name[0] && strcmp(n->own_name, h->name) != 0) {
        mem_copy_str(n->own_name, sizeof(n->own_name), h->name);
        differs |= take_name(l, n);
    }
    if (address && strcmp(now->address, address) != 0) {
        mem_copy_str(now->address, sizeof(now->address), address);
        differs = true;
    }
    /* One late exchange looks like a slow clock; two in a row raise an event. */
    n->clock_off_streak = off ? n->clock_off_streak + 1 : 0;
    if (n->clock_off_streak == 2)
        tell(l, n, EVENT_CLOCK, now_ms, off, off < 0 ? "clock behind by " : "clock ahead by ", off < 0 ? -off : off);
    differs |= off / 1000 != now->clock_off_ms / 1000;
    now->clock_off_ms = off;
    since = MAX(MIN(node_sane_ms(h->state_since_ms) - off, now_ms), 1);
    differs |= now->backlog != h->backlog || now->collect != (enum collect_state)h->collect;
    if (strcmp(n->why_told, h->why) != 0) {
        mem_copy_str(n->why_told, sizeof(n->why_told), h->why);
        again = true;
        n->why = WHY_NOT_YET; /* make the text again */
        for (size_t i = 0; i < now->n_devices; i++)
            n->devs[i].why = WHY_NOT_YET;
    }
    now->backlog = h->backlog;
    if (now->collect != (enum collect_state)h->collect || since < now->collect_since_ms - 2000 ||
        since > now->collect_since_ms + 2000) {
        now->collect_since_ms = since; /* small differences come from the exchange, not from the agent */
        again = true;
    }
    now->collect = h->collect < COLLECT_STATES ? (enum collect_state)h->collect : COLLECT_FAILED;
    if (differs || again || now_ms >= n->next_ms) /* else a hello has nothing new, and a batch usually follows */
        judge_again(l, n, differs, now_ms);
}

void live_facts(struct live *l, struct node_now *now, uint64_t id, const struct node_fact *f, int64_t now_ms)
{
    struct live_node *n = own(now);
    bool same = id && id == n->facts;

    heard(l, n, now_ms);
    if (!same) {
        gpu_index_remove(&l->gpus, n);
        node_take_facts(n, id, f);
        gpu_index_add(&l->gpus, n);
        named(l, n);
        call_by_names(l, n);
        node_make_remark(n);
    }
    judge_again(l, n, !same, now_ms);
}

void live_procs(struct live *l, struct node_now *now, uint64_t id, const struct proc_list *p, int64_t now_ms)
{
    struct live_node *n = own(now);

    heard(l, n, now_ms);
    if (id && id == n->procs_id)
        return;
    n->procs_id = id;
    n->procs_new = true;
    proc_list_copy(&n->procs_next, p);
}

static void ask_who(struct live *l, struct live_node *n)
{
    for (size_t i = 0; i < n->now.n_devices; i++)
        for (size_t k = 0; k < n->now.devices[i].n_procs; k++) {
            struct proc_now *p = &n->now.devices[i].procs[k];
            p->who = l->who ? l->who(l->who_arg, &n->now, p->fact) : NULL;
        }
}

/* The agent reports that it stops. */
static bool has_stop(const struct batch *b)
{
    return ANY(b->n_events, i, b->events[i].kind == EVENT_STOP);
}

void live_batch(struct live *l, struct node_now *now, const struct batch *b, int64_t shift_ms, int64_t now_ms)
{
    struct live_node *n = own(now);

    heard(l, n, now_ms);
    n->stopped |= b->key.run == n->run && has_stop(b);
    bool newest = node_take_batch(n, &l->rule, b, shift_ms, now_ms);
    if (newest && l->who)
        ask_who(l, n);
    judge_again(l, n, newest, now_ms);
}

void live_recall(struct live *l, struct node_now *now, const struct batch *b, int64_t shift_ms, int64_t now_ms)
{
    struct live_node *n = own(now);
    bool newest = node_take_batch(n, &l->rule, b, shift_ms, now_ms);

    now->at_ms = MAX(now->at_ms, MIN(now->sample_at_ms, now_ms));
    if (!newest)
        return;
    n->stopped = has_stop(b);
    ask_who(l, n);
    changed(l, n);
}

void live_before(struct live *l, struct node_now *now, size_t device, const struct live_before *b, int64_t now_ms)
{
    struct live_node *n = own(now);
    struct device_now *d = &now->devices[device];
    struct live_dev *ld = &n->devs[device];
    bool seen = ld->known_ms > b->known_ms;

    if (!b->known_ms || now_ms - b->known_ms > LATELY_MS)
        return;
    if (!seen) {
        ld->known_ms = b->known_ms;
        ld->from_before = true;
    }
    int64_t least_ms = ld->idle_told ? MINUTE_MS : 1; /* the other hub has the exact time */
    if (!ld->work_ms && (!d->idle_since_ms || b->idle_ms + least_ms <= d->idle_since_ms)) { /* no work since either */
        ld->work_ms = b->work_ms;
        d->idle_since_ms = b->idle_ms;
    }
    if (seen && d->state == DEV_HELD && ld->work_ms && now_ms - ld->work_ms < BUSY_KEEP_MS) {
        d->state = DEV_BUSY; /* judged next */
        ld->why = WHY_NOT_YET;
    }
    if (d->state > DEV_IN_SIGHT)
        ld->left_ms = b->left_ms;
    else if (d->state == DEV_FREE && b->left_ms)
        d->since_ms = MIN(d->since_ms, b->left_ms);
    judge_again(l, n, true, now_ms);
}

bool live_since(struct live *l, struct node_now *now, struct device_now *device, const struct live_since *s)
{
    bool differs = false, earlier = node_take_since(own(now), device, s, &differs);
    if (differs)
        changed(l, own(now));
    return earlier;
}

bool live_saw_work(const struct node_now *n, size_t device)
{
    return ((const struct live_node *)n)->devs[device].work_ms != 0;
}

void live_resume(struct live *l, int64_t alive_ms, int64_t now_ms)
{
    for (size_t i = 0; i < l->n; i++) {
        struct live_node *n = l->v[i];
        int64_t down_ms = judge_down_ms(&l->rule, &n->now);
        n->first_ms = now_ms;
        n->told_down = n->now.at_ms && alive_ms - n->now.at_ms >= down_ms; /* it was reported as down */
        n->chance_ms = n->told_down ? 0 : now_ms + MIN(2 * down_ms, MAX(down_ms, CHANCE_MAX_MS));
    }
}

void live_set_identity_fn(struct live *l, live_who_fn *who, void *arg)
{
    l->who = who;
    l->who_arg = arg;
    for (size_t i = 0; i < l->n; i++) {
        ask_who(l, l->v[i]);
        changed(l, l->v[i]);
    }
}

/* ---- time ---- */

void live_tick(struct live *l, int64_t now_ms)
{
    bool back = now_ms < l->tick_ms; /* the clock was set back: every deadline is invalid */

    l->tick_ms = now_ms;
    for (size_t i = 0; i < l->n; i++) {
        struct live_node *n = l->v[i];
        if (!n->first_ms)
            n->first_ms = now_ms;
        int64_t from = n->now.at_ms ? n->now.at_ms : n->first_ms;
        int64_t down_ms = judge_down_ms(&l->rule, &n->now);
        if (!n->told_down && now_ms >= n->chance_ms &&
            now_ms - MAX(from, n->first_ms) >= down_ms) { /* the hub was not running before */
            n->told_down = true;
            if (!n->now.retired)
                tell(l, n, EVENT_DOWN, now_ms, (now_ms - from) / 1000, "no data for ", now_ms - from);
        }
        if ((back || now_ms >= n->next_ms) && node_judge(n, &l->rule, now_ms))
            changed(l, n);
    }
}

void live_labels(struct live *l, struct node_now *node, const char *labels)
{
    if (labels_same(node->labels, labels))
        return;
    free(node->labels);
    node->labels = labels && labels[0] ? mem_str(labels) : NULL;
    changed(l, own(node));
}

void live_book(struct live *l, struct node_now *node, size_t device, const struct booking_now *booking,
               const struct booking_now *next, int64_t ended_ms, int64_t now_ms)
{
    struct live_node *n = own(node);
    struct device_now *d = &node->devices[device];
    bool differs = node_set_booking(&d->booking, booking);

    if (differs && n->devs[device].why == WHY_BOOKED) {
        n->devs[device].why = WHY_NOT_YET; /* its text has changed */
        n->devs[device].left_ms = booking ? 0 : MIN(ended_ms, now_ms);
    }
    differs |= node_set_booking(&d->next, next);
    if (differs)
        judge_again(l, n, true, now_ms);
}

const struct sibling *live_sibling(const struct node_now *now, size_t device)
{
    return gpu_watch_sibling(((const struct live_node *)now)->devs[device].watch);
}

void live_first(struct node_now *now, size_t device, const struct sibling *first)
{
    gpu_watch_first(own(now)->devs[device].watch, first);
}

void live_apart(struct node_now *now, size_t device, const struct advice *a, int64_t now_ms)
{
    gpu_watch_apart(own(now)->devs[device].watch, a, now_ms);
}

void live_set_notice(struct live *l, const char *text)
{
    if (strcmp(l->notice, text ? text : "") == 0)
        return;
    mem_copy_str(l->notice, sizeof(l->notice), text ? text : "");
    l->version++;
}

const char *live_notice(const struct live *l)
{
    return l->notice[0] ? l->notice : NULL;
}

uint64_t live_version(const struct live *l)
{
    return l->version;
}

size_t live_count(const struct live *l)
{
    return l->n;
}
