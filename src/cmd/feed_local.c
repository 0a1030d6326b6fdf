/* feed_local.c: this machine's collector into a live state of its own, as `muster ls --watch` does, without waiting. */
#include <errno.h>
#include <stdlib.h>

#include "agent/local.h"
#include "base/clock.h"
#include "base/mem.h"
#include "cmd/feeds.h"
#include "query/view.h"

#define EVENTS_MAX 200

struct here {
    struct agent_conf agent;
    struct local *local;
    struct live *live;
    struct node_now *node;
    const struct node_now **list;
    size_t n_events;
    struct feed_event events[EVENTS_MAX]; /* newest first */
    bool ended, changed;
    char status[300];
};

static void keep_event(struct here *h, const char *node, const struct event *e)
{
    h->n_events = MIN(h->n_events + 1, (size_t)EVENTS_MAX);
    memmove(h->events + 1, h->events, (h->n_events - 1) * sizeof(*h->events));
    struct feed_event *to = &h->events[0];
    *to = (struct feed_event){.at_ms = e->at_ms};
    mem_copy_str(to->node, sizeof(to->node), node);
    mem_copy_str(to->kind, sizeof(to->kind), e->kind < EVENT_KINDS ? event_words[e->kind] : "?");
    mem_copy_str(to->text, sizeof(to->text), e->text);
}

static void on_event(void *arg, const struct node_now *n, const struct event *e)
{
    keep_event(arg, n->name, e);
}

static void take_hello(void *arg, const struct hello *m)
{
    struct here *h = arg;
    int64_t now = clock_wall_ms();

    if (!h->node)
        h->node = live_node(h->live, "local", m->name, now);
    live_hello(h->live, h->node, m, "", now);
}

static void take_facts(void *arg, uint64_t id, const struct node_fact *f)
{
    struct here *h = arg;

    if (h->node)
        live_facts(h->live, h->node, id, f, clock_wall_ms());
}

static void take_procs(void *arg, uint64_t id, const struct proc_list *l)
{
    struct here *h = arg;

    if (h->node)
        live_procs(h->live, h->node, id, l, clock_wall_ms());
}

static void take_batch(void *arg, const struct batch *b)
{
    struct here *h = arg;

    if (!h->node)
        return;
    live_batch(h->live, h->node, b, 0, clock_wall_ms());
    for (size_t i = 0; i < b->n_events; i++)
        keep_event(h, h->node->name, &b->events[i]);
    h->changed = true;
}

static int here_fd(void *arg)
{
    struct here *h = arg;

    return h->ended ? -1 : local_fd(h->local);
}

static bool here_read(void *arg)
{
    struct here *h = arg;
    struct err err = {0};
    int r = 1;

    h->changed = false;
    while (!h->ended && r > 0) {
        r = local_next(h->local, 1, &err); /* a millisecond: what is there is taken */
        if (r < 0) {
            h->ended = true;
            mem_copy_str(h->status, sizeof(h->status), err.msg);
        }
    }
    live_tick(h->live, clock_wall_ms());
    return h->changed;
}

static void here_view(void *arg, struct view *ret)
{
    struct here *h = arg;

    free(h->list);
    h->list = mem_zero(live_count(h->live) + 1, sizeof(*h->list));
    *ret = (struct view){0};
    view_of(h->live, &(struct view_ask){.show_cmd = true}, clock_wall_ms(), h->list, ret);
}

static const char *here_status(void *arg)
{
    struct here *h = arg;

    return h->ended ? h->status : h->node && h->node->at_ms ? NULL : "asking the driver…";
}

static bool here_events(void *arg, const struct feed_event **ret, size_t *ret_n)
{
    struct here *h = arg;

    *ret = h->events;
    *ret_n = h->n_events;
    return true;
}

int feed_local_open(struct feed *ret, int64_t tick_ms, struct err *err)
{
    struct here *h = mem_zero(1, sizeof(*h));
    int r = conf_default(&h->agent, err);

    if (r == 0) {
        h->agent.tick = tick_ms;
        h->live = live_new(&state_rule_default, on_event, h);
        struct local_sink sink = {h, take_hello, take_facts, take_procs, take_batch};
        r = local_open(&h->local, &h->agent, &sink, err);
    }
    struct feed f = {h, "this machine", true, here_fd, here_read, here_view, here_status, here_events, NULL};
    if (r < 0)
        feed_local_close(&f);
    else
        *ret = f;
    return r;
}

void feed_local_close(struct feed *f)
{
    struct here *h = f->arg;

    local_close(h->local);
    live_free(h->live);
    conf_fini(&h->agent);
    free(h->list);
    free(h);
}
