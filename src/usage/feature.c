/*
 * feature.c: usage in the hub: the ledger's settings and zones, the hours to count again, and data for the routes.
 */
#include <errno.h>

#include "base/clock.h"
#include "hub/handlers.h"
#include "hub/self.h"
#include "nodes/peers.h"
#include "usage/advice_cache.h"
#include "usage/ledger.h"
#include "usage/routes.h"
#include "usage/tariff.h"
#include "usage/usage_totals.h"
#include "usage/usage_trend.h"

#define SETTINGS usage
#include "base/opt_def.h"
#include "base/order.h"

struct hub_usage {
    struct hub *h;
    struct tariff *tariff;
    struct usage_totals *totals;
    struct advice_cache *advise;
};

const struct advise_made *usage_advise(struct hub *h)
{
    return advice_cache_get(((struct hub_usage *)feature_self(&h->features, &usage_feature))->advise);
}

void usage_now_of(struct hub *h, struct usage_now *ret)
{
    const struct usage_settings *c = feature_settings(&h->conf, &usage_feature);
    const struct hub_usage *d = feature_self(&h->features, &usage_feature);
    ledger_stat(h->ledger, clock_wall_ms(), &ret->stat);
    ret->tariff = d->tariff;
    ret->split = usage_split_words[c->split];
    ret->spell_ms = c->idle_spell;
}

/* Counts changed hours again. */
static void count_again(void *self, const struct hub_event *n)
{
    struct hub *h = ((struct hub_usage *)self)->h;
    usage_totals_on_event(((struct hub_usage *)self)->totals, n);
    if (n->kind == HUB_EVENT_TIME && n->node)
        ledger_mark(h->ledger, n->node, n->from_ms, n->to_ms, n->now_ms);
    else if (n->kind == HUB_EVENT_TIME)
        ledger_mark_all(h->ledger, n->from_ms, n->to_ms, n->now_ms);
    else if (n->kind == HUB_EVENT_RENAMED)
        ledger_move(h->ledger, n->was, n->node, n->now_ms);
    if (n->kind == HUB_EVENT_RECORD && n->record->kind == STORE_USAGE_MARK)
        ledger_take_mark(h->ledger, n->record->record, n->now_ms);
}

static int64_t first_before(void *arg, const char *node, int64_t then_ms)
{
    return ledger_first_before(((struct hub *)arg)->ledger, node, then_ms);
}

static int64_t epoch_now(void *arg)
{
    return hub_epoch(arg);
}

static int64_t part_now(void *arg, unsigned part)
{
    return hub_part_epoch(arg, part);
}

static struct ledger_conf ledger_conf_of(struct hub *h, const struct state_rule *rule)
{
    const struct hub_conf *c = &h->conf;
    const struct usage_settings *own = feature_settings(c, &usage_feature);
    struct ledger_conf lc = {.every_ms = own->every,
                             .epoch = epoch_now,
                             .part = hub_is_alone(h) ? NULL : part_now,
                             .epoch_arg = h,
                             .rule = {.split = (enum usage_split)own->split,
                                      .busy_util = rule->busy_util,
                                      .held_mem = rule->held_mem,
                                      .graphics_mem = rule->graphics_mem,
                                      .spell_ms = own->idle_spell}};
    if (c->keep_minute && c->keep_records)
        lc.keep_ms = MIN(c->keep_minute, c->keep_records);
    else
        lc.keep_ms = MAX(c->keep_minute, c->keep_records);
    if (c->keep_usage)
        lc.keep_ms = lc.keep_ms ? MIN(lc.keep_ms, c->keep_usage) : c->keep_usage;
    return lc;
}

/* usage.zone and usage.zones, each once. */
static int usage_zones(const struct usage_settings *conf, struct zone *ret[USAGE_ZONES], size_t *ret_n, struct err *err)
{
    size_t n = 0;
    int r = zone_load(conf->zone, &ret[n], err);

    if (r < 0)
        return err_prefix(err, r, "usage.zone");
    n++;
    for (size_t i = 0; r == 0 && i < conf->zones.n; i++) {
        struct zone *z = NULL;
        if (n == USAGE_ZONES)
            r = err_set(err, -E2BIG, "usage.zones: days are kept of at most %d zones", USAGE_ZONES);
        else
            r = zone_load(conf->zones.v[i], &z, err);
        if (r < 0)
            break;
        if (ANY(n, k, strcmp(zone_name(ret[k]), zone_name(z)) == 0))
            zone_free(z);
        else
            ret[n++] = z;
    }
    for (size_t i = 0; r < 0 && i < n; i++)
        zone_free(ret[i]);
    *ret_n = n;
    return r;
}

static void *open_usage(struct hub *h)
{
    struct hub_usage *d = NEW(struct hub_usage, .h = h);
    peers_counted(h->peers, first_before, h);
    h->api.get_spans = get_spans;
    return d;
}

static int prepare_tariff(UNUSED void *self, const struct hub_conf *conf, void **next, struct err *err)
{
    const struct usage_settings *c = feature_settings(conf, &usage_feature);
    struct tariff *t = *next = mem_zero(1, sizeof(*t));
    return tariff_parse(c->price.v, c->price.n, c->currency, c->co2, t, err);
}

static void drop_tariff(void *next)
{
    if (next)
        tariff_fini(next);
    free(next);
}

static int64_t price_of(const void *tariff, const char *model)
{
    return tariff_price(tariff, model);
}

static void take_tariff(void *self, void *next)
{
    struct hub_usage *d = self;
    struct hub *h = d->h;
    struct ledger_conf lc = ledger_conf_of(h, live_rule(h->live));
    drop_tariff(d->tariff);
    d->tariff = next;
    live_set_prices(h->live, price_of, d->tariff, d->tariff->n ? d->tariff->currency : "");
    ledger_set(h->ledger, &lc);
}

static int load_ledger(void *self, struct err *err)
{
    struct hub_usage *d = self;
    struct hub *h = d->h;
    struct ledger_conf lc = ledger_conf_of(h, live_rule(h->live));
    struct zone *zones[USAGE_ZONES];
    size_t n = 0;
    int r = usage_zones(feature_settings(&h->conf, &usage_feature), zones, &n, err);
    if (r < 0)
        return r;
    h->ledger = ledger_new(h->loop, h->store, h->place, h->live, zones, n, &lc);
    if (!h->ledger)
        return err_set(err, -EAGAIN, "cannot start a thread");
    r = ledger_load(h->ledger, clock_wall_ms(), err);
    d->totals = usage_totals_new(h);
    d->advise = advice_cache_new(h);
    h->usage_trend = usage_trend_new(h); /* knows then whether hours wait to be counted */
    return r;
}

static void tick(void *self, int64_t now_ms)
{
    struct hub_usage *d = self;
    struct hub *h = d->h;
    ledger_tick(h->ledger, now_ms);
    if (hub_leads(h))
        usage_totals_tick(d->totals, now_ms);
    usage_trend_tick(h->usage_trend, now_ms);
    advice_cache_tick(d->advise, now_ms);
}

static void add_status(void *self, struct status *s)
{
    status_metric(s, "muster_hub_usage_counts", "hours of nodes whose usage was counted", true,
                  ledger_counted(((struct hub_usage *)self)->h->ledger));
    usage_totals_prom(((struct hub_usage *)self)->totals, s->metrics, s->openmetrics);
}

/* The ledger counts on its own thread, from the store. */
static void stop_ledger(void *self)
{
    struct hub *h = ((struct hub_usage *)self)->h;
    ledger_free(h->ledger);
    h->ledger = NULL; /* late results must not use it */
}

static void close_usage(void *self)
{
    struct hub_usage *d = self;
    usage_trend_free(d->h->usage_trend);
    usage_totals_free(d->totals);
    advice_cache_free(d->advise);
    drop_tariff(d->tariff);
    free(d);
}

const struct feature usage_feature = {
    .name = "usage",
    FEATURE_SETTINGS(usage),
    .routes = usage_routes,
    .open = open_usage,
    .prepare = prepare_tariff,
    .drop = drop_tariff,
    .take = take_tariff,
    .load = load_ledger,
    .hear = count_again,
    .tick = tick,
    .status = add_status,
    .stop = stop_ledger,
    .close = close_usage,
};
