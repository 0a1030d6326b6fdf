/*
 * before.c: loads the last day of each GPU at the hub's start, so that "idle for" and "free for" do not restart. Reads
 * the newest minute with work from the minute tier, and the end of the last process from the process records.
 */
#include "nodes/before.h"

#include "base/clock.h"
#include "base/workers.h"
#include "hub/hub.h"
#include "now/live.h"
#include "store/records.h"
#include "store/samples.h"

#define BACK_MS  86400000ll
#define LIMIT_MS 60000
#define SLICE    64 /* nodes per read, and per event loop iteration */
#define GAP_MAX  10 /* minutes without data: earlier work is ignored */

struct before_node {
    char key[NODE_KEY_MAX];
    size_t n;
    const char **uuids;
    struct live_before *v;
};

struct before {
    struct work_job job; /* first */
    struct hub *h;
    struct arena mem;
    struct before_node *nodes;
    size_t n, told, at; /* told: live has the data of nodes before this index. at: the current node */
    char dir[HUB_PLACE_MAX];
    int64_t now_ms, busy_util;
};

/* Searches back from the newest minute with data to the newest one with work. */
static void look_back(const struct before *k, const struct history *h, size_t device, struct live_before *ret)
{
    const struct bin *v = h->v + device * h->n;
    size_t gap = 0;

    for (size_t i = h->n; i-- > 0 && !ret->work_ms && gap <= GAP_MAX;) {
        int64_t at_ms = h->from_ms + (int64_t)i * h->step_ms, end_ms = MIN(at_ms + h->step_ms, k->now_ms);
        gap = v[i].count ? 0 : gap + 1;
        if (!v[i].count)
            continue;
        ret->known_ms = ret->known_ms ? ret->known_ms : end_ms;
        ret->idle_ms = at_ms;
        if (v[i].max >= k->busy_util)
            ret->idle_ms = ret->work_ms = end_ms;
    }
}

static void see_left(void *arg, const struct proc_span *p)
{
    struct before *k = arg;
    struct before_node *n = &k->nodes[k->at];

    for (size_t i = 0; i < n->n; i++)
        if (p->ended && strcmp(n->uuids[i], p->device) == 0)
            n->v[i].left_ms = MAX(n->v[i].left_ms, p->last_ms);
}

static void run_slice(struct work_job *j)
{
    static const char *const metric[] = {"util"};
    struct before *k = (struct before *)j;
    struct store *beside = NULL;

    if (store_open_tools(&beside, k->dir, NULL, NULL) < 0) {
        k->n = 0; /* the next read would fail, too */
        return;
    }
    for (size_t to = MIN(k->at + SLICE, k->n); k->at < to && !job_stopped(j); k->at++) {
        struct before_node *n = &k->nodes[k->at];
        struct history h = {0};
        struct bins_query ask = {.node = n->key,
                                 .devices = n->uuids,
                                 .metrics = metric,
                                 .n_devices = n->n,
                                 .n_metrics = 1,
                                 .from_ms = k->now_ms - BACK_MS,
                                 .to_ms = k->now_ms,
                                 .step_ms = MINUTE_MS,
                                 .fields = BIN_MAX,
                                 .tier = TIER_MINUTE,
                                 .stop = job_stopped,
                                 .arg = j,
                                 .once = true};
        if (store_history(k->h->store, &ask, &h, NULL) == 0)
            for (size_t i = 0; i < n->n; i++)
                look_back(k, &h, i, &n->v[i]);
        history_fini(&h);
        store_each(beside, EACH_PROC(see_left, k, .node = n->key, .from_ms = k->now_ms - BACK_MS), NULL);
    }
    store_close(beside);
}

static void tell_live(struct hub *h, const struct before_node *b)
{
    struct node_now *n = live_find(h->live, b->key);

    for (size_t d = 0; n && d < n->n_devices; d++)
        for (size_t e = 0; e < b->n; e++)
            if (strcmp(n->devices[d].fact.uuid, b->uuids[e]) == 0)
                live_before(h->live, n, d, &b->v[e], clock_wall_ms());
}

static void read_slice(struct before *k)
{
    if (k->at < k->n && work_add(k->h->own_work, &k->job, LIMIT_MS) == 0)
        return;
    arena_fini(&k->mem);
    free(k);
}

/* The read may have hit its time limit: the next slice starts with the remaining nodes. */
static void slice_done(struct work_job *j)
{
    struct before *k = (struct before *)j;

    for (; k->told < k->at; k->told++)
        tell_live(k->h, &k->nodes[k->told]);
    read_slice(k);
}

void before_read(struct hub *h)
{
    struct before *k = NEW(struct before, .job = {.run = run_slice, .done = slice_done}, .h = h,
                           .now_ms = clock_wall_ms(), .busy_util = live_rule(h->live)->busy_util);
    size_t n;
    const struct node_now *const *v = live_nodes(h->live, false, &n);

    mem_copy_str(k->dir, sizeof(k->dir), h->place);
    k->nodes = arena_alloc(&k->mem, n + 1, sizeof(*k->nodes));
    for (size_t i = 0; i < n; i++) {
        struct before_node *to = &k->nodes[k->n];
        if (!v[i]->n_devices)
            continue;
        to->n = v[i]->n_devices;
        mem_copy_str(to->key, sizeof(to->key), v[i]->key);
        to->uuids = arena_alloc(&k->mem, to->n, sizeof(*to->uuids));
        to->v = arena_alloc(&k->mem, to->n, sizeof(*to->v));
        for (size_t d = 0; d < to->n; d++)
            to->uuids[d] = arena_str(&k->mem, v[i]->devices[d].fact.uuid);
        k->n++;
    }
    read_slice(k);
}
