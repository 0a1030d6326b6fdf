/* cmd_local.c: applies the output of this machine's collector (agent/local.h) to a live state, like a hub. */
#include "now/cmd_local.h"

#include "base/clock.h"

#define FIRST_MS 8000 /* time for the driver to respond */

static void on_event(void *arg, const struct node_now *n, const struct node_event *e)
{
    struct local_view *h = arg;

    if (h->event)
        h->event(h->arg, n->name, e);
}

static void take_hello(void *arg, const struct hello *m)
{
    struct local_view *h = arg;
    int64_t now = clock_wall_ms();

    if (!h->node)
        h->node = live_node(h->live, "local", m->name, now);
    live_hello(h->live, h->node, m, "", now);
}

static void take_facts(void *arg, uint64_t id, const struct node_fact *f)
{
    struct local_view *h = arg;

    if (h->node)
        live_facts(h->live, h->node, id, f, clock_wall_ms());
}

static void take_procs(void *arg, uint64_t id, const struct proc_list *l)
{
    struct local_view *h = arg;

    if (h->node)
        live_procs(h->live, h->node, id, l, clock_wall_ms());
}

static void take_batch(void *arg, const struct batch *b)
{
    struct local_view *h = arg;

    if (!h->node)
        return;
    live_batch(h->live, h->node, b, 0, clock_wall_ms());
    for (size_t i = 0; i < b->n_events && h->event; i++)
        h->event(h->arg, h->node->name, &b->events[i]);
    h->changed = true;
}

static int begin(struct local_view *h, int64_t tick_ms, struct local_sink *ret, struct err *err)
{
    int r = conf_default(&h->agent, err);

    if (r < 0)
        return r;
    h->conf = true;
    if ((r = opt_env(agent_opts, &h->agent, err)) < 0) /* MUSTER_COLLECTOR and similar, like the agent */
        return r;
    if (tick_ms)
        h->agent.tick = tick_ms;
    h->live = live_new(&state_rule_default, on_event, h);
    *ret = (struct local_sink){h, take_hello, take_facts, take_procs, take_batch};
    return 0;
}

int local_view_open(struct local_view *h, int64_t tick_ms, struct err *err)
{
    struct local_sink sink;
    int r = begin(h, tick_ms, &sink, err);

    return r < 0 ? r : local_open(&h->local, &h->agent, &sink, err);
}

int local_view_once(struct local_view *h, struct err *err)
{
    struct local_sink sink;
    int r = begin(h, 0, &sink, err);

    return r < 0 ? r : local_snapshot(&h->agent, FIRST_MS, &sink, err);
}

void local_view_close(struct local_view *h)
{
    local_close(h->local);
    live_free(h->live);
    if (h->conf)
        conf_fini(&h->agent);
    h->local = NULL;
    h->live = NULL;
    h->node = NULL;
    h->conf = false;
}
