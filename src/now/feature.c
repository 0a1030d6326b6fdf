/* feature.c: the live state (live.h) in the hub: by which rule devices are judged and what nodes are called. */
#include <errno.h>

#include "base/mem.h"
#include "hub/handlers.h"
#include "hub/hub.h"
#include "model/names.h"
#include "now/streams.h"

#define SETTINGS now
#include "base/opt_def.h"

static int read_rule(const struct now_settings *conf, struct state_rule *ret, struct err *err)
{
    struct state_rule rule;
    const char *preset = conf->preset ? conf->preset : "muster";
    if (state_rule_preset(preset, &rule) < 0)
        return err_set(err, -EINVAL,
                       "rule.preset '%s' is not known: there are muster, web-gpu-monitor, gpu-monitor and strict",
                       preset);
    const struct {
        const char *name, *text;
        enum opt_type type;
        bool off;
        int64_t *to;
    } all[] = {
        {"rule.util", conf->util, OPT_PERCENT, false, &rule.busy_util},
        {"rule.mem_util", conf->mem_util, OPT_PERCENT, true, &rule.busy_mem_util},
        {"rule.held_mem", conf->held_mem, OPT_BYTES, true, &rule.held_mem},
        {"rule.graphics_mem", conf->graphics_mem, OPT_BYTES, false, &rule.graphics_mem},
        {"rule.stale_after", conf->stale_after, OPT_DURATION, false, &rule.stale_after_ms},
        {"rule.down_after", conf->down_after, OPT_DURATION, false, &rule.down_after_ms},
        {"rule.hung_after", conf->hung_after, OPT_DURATION, false, &rule.hung_after_ms},
    };
    for (size_t i = 0; i < ARRAY_LEN(all); i++) {
        struct opt o = {.name = all[i].name, .type = all[i].type, .max = INT64_MAX / 4};
        bool off = all[i].off && all[i].text && strcmp(all[i].text, "off") == 0;
        int r = off || !all[i].text ? 0 : opt_set(&o, all[i].to, str_of(all[i].text), err);
        if (r < 0)
            return err_prefix(err, r, "%s", all[i].name);
        if (off)
            *all[i].to = -1;
    }
    *ret = rule;
    return 0;
}

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
    const struct now_settings *c = feature_settings(conf, &now_feature);
    struct now_next *n = *next = mem_zero(1, sizeof(*n));
    (void)self;
    int r = read_rule(c, &n->rule, err);
    return r < 0 ? r : names_parse(c->names.v, c->names.n, &n->names, err);
}

static void take_rule(void *self, void *next)
{
    struct hub *h = self;
    const struct now_settings *c = feature_settings(&h->conf, &now_feature);
    struct now_next *n = next;
    struct httpd_stat st;
    httpd_stat(h->httpd, &st);
    /* Readers stay connected: they have half of what room there is, or nobody else would come in. */
    streams_set_max(h->streams, MIN((size_t)c->max_streams, st.max / 2), (size_t)c->max_streams_per_address);
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
    FEATURE_SETTINGS(now),
    .routes = now_routes,
    .open = open_now,
    .prepare = prepare_rule,
    .drop = drop_rule,
    .take = take_rule,
    .hear = drop_streams,
    .tick = tick,
};
