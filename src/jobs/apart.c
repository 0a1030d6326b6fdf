/* apart.c: which GPUs are of one run, and which of them is apart: that is put into the live state. */
#include "jobs/apart.h"

#include "base/order.h"
#include "jobs/auto_run.h"
#include "verdict/straggler.h"

enum { SLICES = 60 }; /* seconds for one scan of all nodes */

struct part { /* a GPU of a run */
    uint64_t run;
    struct node_now *n;
    size_t device;
};
struct parts {
    struct part *v;
    size_t n, cap;
};

/* A label, as those of a Slurm job, is of one node; the launch is of all of them. */
static uint64_t run_of(const struct auto_run *r)
{
    return r->launch ? r->launch->hash : (uint64_t)auto_shown(r);
}

static void add_run(struct parts *p, struct live *l, const struct auto_run *r)
{
    struct node_now *n = live_find(l, r->node->key);
    for (size_t i = 0; n && i < n->n_devices; i++)
        if (ANY(r->n_devices, k, strcmp(r->devices[k], n->devices[i].fact.uuid) == 0) && live_sibling(n, i))
            VEC_ADD(p->v, p->n, p->cap, (struct part){run_of(r), n, i});
}

/* Compares the GPUs of one run. */
static void look_at(const struct part *v, size_t n, int64_t now_ms)
{
    struct advice a;
    AUTO_FREE const struct sibling **g = mem_zero(n, sizeof(*g));
    for (size_t i = 0; i < n; i++)
        g[i] = live_sibling(v[i].n, v[i].device);
    int found = straggler_find(g, n, &a);
    for (size_t i = 0; i < n; i++)
        live_apart(v[i].n, v[i].device, (int)i == found ? &a : NULL, now_ms);
}

COMPARE(by_run, struct part, ORDER(x->run, y->run))

static void look_at_all(struct parts *p, int64_t now_ms)
{
    SORT(p->v, p->n, by_run);
    for (size_t from = 0, to; from < p->n; from = to) {
        for (to = from + 1; to < p->n && p->v[to].run == p->v[from].run;)
            to++;
        if (to - from >= STRAGGLER_LEAST)
            look_at(p->v + from, to - from, now_ms);
    }
    free(p->v);
}

/* A slice is a range of the table, so that a pass need not visit the other nodes. */
void stragglers_update(const struct auto_runs *a, struct live *l, int64_t now_ms)
{
    size_t slice = (size_t)(now_ms / 1000 % SLICES), cap = a->by_node.cap;
    size_t from = cap * slice / SLICES, end = cap * (slice + 1) / SLICES, at = slice ? from : 0;
    struct parts launched = {0};
    for (const struct auto_node *n; (slice == 0 || at < end) && (n = lookup_each(&a->by_node, &at));) {
        bool its_turn = at - 1 >= from && at - 1 < end;
        struct parts here = {0};
        for (size_t i = 0; i < n->n && (its_turn || slice == 0); i++) {
            const struct auto_run *r = n->runs[i];
            if (!r->n_active)
                continue;
            if (r->launch && slice == 0) /* it may be on other nodes, too */
                add_run(&launched, l, r);
            else if (!r->launch && its_turn && r->n_devices >= STRAGGLER_LEAST)
                add_run(&here, l, r);
        }
        look_at_all(&here, now_ms);
    }
    look_at_all(&launched, now_ms);
}
