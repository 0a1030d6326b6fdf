/* feature.c: the live state (live.h) in the hub: by which rule devices are judged and what nodes are called. */
#include "base/mem.h"
#include "hub/handlers.h"
#include "hub/hub.h"
#include "model/names.h"
#include "now/streams.h"

struct now_next {
    struct state_rule rule;
    struct names *names;
};

static void drop_rule(void *next)
{
    struct now_next *n = next;
    if (n)
        names_free(n->names);
    free(n);
}

static int prepare_rule(void *self, const struct hub_conf *conf, void **next, struct err *err)
{
    struct now_next *n = *next = mem_zero(1, sizeof(*n));
    (void)self;
    int r = hub_conf_rule(conf, &n->rule, err);
    return r < 0 ? r : names_parse(conf->names.v, conf->names.n, &n->names, err);
}

static void take_rule(void *self, void *next)
{
    struct hub *h = self;
    struct now_next *n = next;
    live_set_rule(h->live, &n->rule);
    live_set_names(h->live, n->names);
    free(n);
}

static void *open_now(struct hub *h)
{
    return h;
}

/* Who listens comes again, and sees them by their new names. */
static void drop_streams(void *self, const struct news *n)
{
    if (n->kind == NEWS_PEOPLE)
        streams_reset(((struct hub *)self)->streams);
}

static void tick(void *self, int64_t now_ms)
{
    struct hub *h = self;
    live_tick(h->live, now_ms);
}

const struct feature now_feature = {
    .name = "now",
    .routes = now_routes,
    .open = open_now,
    .prepare = prepare_rule,
    .drop = drop_rule,
    .take = take_rule,
    .hear = drop_streams,
    .tick = tick,
};
