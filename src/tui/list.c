/* list.c: nodes, devices, processes, users, events and alerts as lines, filtered and sorted. */
#include "tui/top.h"

#include "base/mem.h"
#include "base/order.h"

/* Sort columns of each list, the default first. */
enum order {
    BY_PLACE,
    BY_FREE,
    BY_UTIL,
    BY_MEM,
    BY_POWER,
    BY_TEMP,
    BY_STATE,
    BY_SM,
    BY_USER,
    BY_SINCE,
    BY_COMMAND,
    BY_GPUS,
    BY_IDLE
};
static const char *const order_words[] = {"place", "free", "util",    "memory",  "power", "temp", "state",
                                          "sm",    "user", "longest", "command", "gpus",  "idle"};
static const struct {
    unsigned n;
    uint8_t v[8];
} orders[LOOKS] = {
    [LOOK_OVERVIEW] = {5, {BY_PLACE, BY_FREE, BY_UTIL, BY_MEM, BY_POWER}},
    [LOOK_DEVICES] = {7, {BY_PLACE, BY_STATE, BY_UTIL, BY_MEM, BY_POWER, BY_TEMP, BY_USER}},
    [LOOK_PROCS] = {6, {BY_MEM, BY_SM, BY_USER, BY_PLACE, BY_SINCE, BY_COMMAND}},
    [LOOK_PEOPLE] = {5, {BY_GPUS, BY_MEM, BY_IDLE, BY_SINCE, BY_USER}},
    [LOOK_HISTORY] = {4, {BY_PLACE, BY_STATE, BY_UTIL, BY_USER}},
    [LOOK_EVENTS] = {1, {BY_SINCE}},
    [LOOK_ALERTS] = {1, {BY_PLACE}}, /* keep their order: the most severe first */
    [LOOK_DEVICE] = {6, {BY_MEM, BY_SM, BY_USER, BY_PLACE, BY_SINCE, BY_COMMAND}},
};

unsigned list_orders(enum top_view look)
{
    return orders[look].n;
}

static enum order order_of(const struct top *t, enum top_view look)
{
    return (enum order)orders[look].v[t->order[look] % orders[look].n];
}

const char *list_order(const struct top *t)
{
    enum top_view look = t->n_deep ? t->deep[t->n_deep - 1].look : t->look;

    return look == LOOK_EVENTS ? "time" : look == LOOK_ALERTS ? "severity" : order_words[order_of(t, look)];
}

const char *list_order_word(enum top_view look, unsigned order)
{
    return order < orders[look].n ? order_words[orders[look].v[order]] : NULL;
}

static uint64_t mix(uint64_t h, const char *s)
{
    for (; *s; s++)
        h = (h ^ (unsigned char)*s) * 0x100000001b3u;
    return (h ^ 0xff) * 0x100000001b3u;
}

static void add(struct top *t, struct item i)
{
    uint64_t h = 0xcbf29ce484222325u;

    if (i.n)
        h = mix(h, i.n->key);
    if (i.d)
        h = mix(h, i.d->fact.uuid);
    if (i.p)
        h = (h ^ (uint64_t)i.p->fact->pid) * 0x100000001b3u;
    if (i.who)
        h = mix(h, i.who->name);
    if (i.e)
        h = mix(mix((h ^ (uint64_t)i.e->at_ms) * 0x100000001b3u, i.e->node), i.e->text);
    if (i.a)
        h = mix(mix(mix(h, i.a->rule), i.a->place), i.a->device);
    i.id = h | 1;
    i.came = t->n_items;
    VEC_ADD(t->items, t->n_items, t->cap_items, i);
}

/* ---- order ---- */

/* The metric of a sort column. */
static const enum metric sorts[BY_IDLE + 1] =
    {[BY_UTIL] = M_util, [BY_MEM] = M_mem_used, [BY_POWER] = M_power, [BY_TEMP] = M_temp};

static int64_t node_value(const struct node_now *n, enum order by)
{
    int64_t sum = 0;

    if (by == BY_UTIL)
        return node_util(n);
    for (size_t i = 0; i < n->n_devices; i++) {
        const struct device_now *d = &n->devices[i];
        if (by == BY_FREE)
            sum += d->state == DEV_FREE;
        else if (sample_has(&d->now, sorts[by]))
            sum += d->now.v[sorts[by]];
    }
    return sum;
}

static int64_t device_value(const struct device_now *d, enum order by)
{
    if (by == BY_STATE)
        return -(int64_t)d->state; /* free first */
    return sample_has(&d->now, sorts[by]) ? d->now.v[sorts[by]] : INT64_MIN;
}

/* Sort key of an item as a number, largest first. */
static int64_t number(const struct item *i, enum order by)
{
    if (i->e)
        return i->e->at_ms;
    if (i->who)
        return by == BY_GPUS   ? (int64_t)i->who->n
               : by == BY_IDLE ? (int64_t)i->who->idle
               : by == BY_MEM  ? i->who->mem
                               : (i->who->since_ms ? -i->who->since_ms : INT64_MIN);
    if (i->p)
        return by == BY_MEM  ? i->p->mem
               : by == BY_SM ? i->p->sm
                             : (i->p->fact->start_ms ? -i->p->fact->start_ms : INT64_MIN);
    return i->d ? device_value(i->d, by) : node_value(i->n, by);
}

static const char *text(const struct item *i, enum order by)
{
    if (i->who)
        return i->who->name;
    if (i->p)
        return by == BY_USER ? proc_person(i->p) : i->p->fact->cmd[0] ? i->p->fact->cmd : i->p->fact->name;
    return i->d && i->d->n_procs ? proc_person(&i->d->procs[0]) : "~";
}

static int by_order(const void *pa, const void *pb, void *arg)
{
    const struct item *a = pa, *b = pb;
    const struct top *t = arg;
    enum top_view look = t->n_deep ? t->deep[t->n_deep - 1].look : t->look;
    enum order by = order_of(t, look);
    int r = 0;

    if (by == BY_USER || by == BY_COMMAND) {
        r = strcmp(text(a, by), text(b, by));
    } else if (by != BY_PLACE) {
        int64_t x = number(a, by), y = number(b, by);
        r = ORDER(y, x);
    }
    return (t->turned[look] ? -r : r) ?: ORDER(a->came, b->came);
}

/* Equal items keep their order: by node, then by index. */
static void sort(struct top *t)
{
    enum top_view look = top_place(t)->look;
    enum order by = order_of(t, look);

    if (by == BY_PLACE) {
        for (size_t i = 0; t->turned[look] && i < t->n_items / 2; i++) {
            struct item swap = t->items[i];
            t->items[i] = t->items[t->n_items - 1 - i];
            t->items[t->n_items - 1 - i] = swap;
        }
        return;
    }
    if (t->n_items > 1)
        qsort_r(t->items, t->n_items, sizeof(*t->items), by_order, t);
}

/* ---- items ---- */

static void add_procs(struct top *t, const struct place *p, const struct node_now *n, const struct device_now *d)
{
    for (size_t u = 0; u < d->n_procs; u++) {
        const struct proc_now *proc = &d->procs[u];
        if (p->of_user && strcmp(proc_person(proc), p->user) != 0)
            continue;
        if (t->filter && p->look != LOOK_DEVICE && !filter_match_proc(t->filter, n, d, proc, t->shown.at_ms))
            continue;
        add(t, (struct item){.n = n, .d = d, .p = proc});
    }
}

static void add_nodes(struct top *t, const struct place *p)
{
    const struct view *v = p->look == LOOK_DEVICE ? &t->all : &t->shown;

    for (size_t i = 0; i < v->n; i++) {
        const struct node_now *n = v->nodes[i];
        if (p->node[0] && strcmp(p->node, n->key) != 0)
            continue;
        if (p->look == LOOK_OVERVIEW)
            add(t, (struct item){.n = n});
        for (size_t k = 0; p->look != LOOK_OVERVIEW && k < n->n_devices; k++) {
            const struct device_now *d = &n->devices[k];
            if (p->device[0] && strcmp(p->device, d->fact.uuid) != 0)
                continue;
            if (p->look == LOOK_DEVICES || p->look == LOOK_HISTORY)
                add(t, (struct item){.n = n, .d = d});
            else
                add_procs(t, p, n, d);
        }
    }
}

/* The filter applies to devices: shows events of nodes with a device that matches. */
static bool event_shown(const struct top *t, const struct feed_event *e)
{
    return !t->filter || ANY(t->shown.n, i, strcmp(t->shown.nodes[i]->name, e->node) == 0);
}

static void add_alerts(struct top *t)
{
    const struct feed_alert *a = NULL;
    size_t n = 0;

    if (t->feed->alerts)
        a = t->feed->alerts(t->feed->arg, &n);
    t->no_alerts = t->feed->alerts && !a;
    for (size_t i = 0; a && i < n; i++)
        if (!t->filter || ANY(t->shown.n, k, strcmp(t->shown.nodes[k]->key, a[i].node) == 0))
            add(t, (struct item){.a = &a[i]});
}

static void keep_picked(struct top *t, struct place *p)
{
    size_t i = FIRST(t->n_items, k, t->items[k].id == p->picked);

    p->at = i < t->n_items ? i : MIN(p->at, t->n_items ? t->n_items - 1 : 0);
    p->picked = p->at < t->n_items && (i < t->n_items || p->picked) ? t->items[p->at].id : 0;
}

void list_make(struct top *t)
{
    struct place *p = top_place(t);

    t->n_items = 0;
    if (p->look == LOOK_PEOPLE) {
        on_devices_fini(&t->people);
        on_devices_of(&t->shown, &t->people);
        for (size_t i = 0; i < t->people.n; i++)
            add(t, (struct item){.who = &t->people.v[i]});
    } else if (p->look == LOOK_EVENTS) {
        size_t n = 0;
        const struct feed_event *e = t->feed->events(t->feed->arg, &n);
        t->no_events = !e;
        for (size_t i = 0; e && i < n; i++)
            if (event_shown(t, &e[i]))
                add(t, (struct item){.e = &e[i]});
    } else if (p->look == LOOK_ALERTS) {
        add_alerts(t);
    } else {
        add_nodes(t, p);
    }
    sort(t);
    if (t->tree && (p->look == LOOK_PROCS || p->look == LOOK_DEVICE))
        tree_make(t);
    keep_picked(t, p);
}

const struct device_now *list_device(const struct top *t, const char *uuid, const struct node_now **ret_node)
{
    for (size_t i = 0; i < t->all.n; i++)
        for (size_t k = 0; k < t->all.nodes[i]->n_devices; k++)
            if (strcmp(t->all.nodes[i]->devices[k].fact.uuid, uuid) == 0) {
                *ret_node = t->all.nodes[i];
                return &t->all.nodes[i]->devices[k];
            }
    return NULL;
}
