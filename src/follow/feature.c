/*
 * feature.c: the hubs this one follows: a reader's thread for each, whose news come into the live state a few hundred
 * nodes at a time. A hub that cannot be followed now is stale, and every screen says since when and why.
 */
#include <errno.h>

#include "base/clock.h"
#include "base/file.h"
#include "base/log.h"
#include "base/order.h"
#include "base/rand.h"
#include "base/secret.h"
#include "base/time_text.h"
#include "base/timer.h"
#include "base/zone.h"
#include "follow/conf.h"
#include "follow/guest.h"
#include "hub/handlers.h"
#include "hub/self.h"
#include "now/streams.h"
#include "stream/hub_request.h"
#include "stream/reader.h"

#define KEPT_AS       "instance" /* the setting in the store */
#define TAKE_MS       200
#define TAKE_MOST     500  /* nodes in one turn of the loop */
#define QUIET_MS      8000 /* a hub says something every 5 s: one that is cut off is known to be within 10 s */
#define AGAIN_MS      30000
#define PACE_LIMIT_MS 3000
#define EVENT_MAX     (64u << 20) /* bytes: one node */

struct follower {
    struct hub_follow *d;
    struct follow_site conf; /* its texts are ours */
    char id[STREAM_ID_MAX];  /* this hub's, for the thread */
    char key[STREAM_ID_MAX]; /* by which it says whether anybody looks here */
    char path[128];          /* of its stream */
    _Atomic bool seldom;     /* nobody does */
    bool told_seldom;        /* the thread's: so it was said */
    int64_t tell_ms;         /* the thread's: not before, monotonic */
    struct site *site;
    struct hub_reader *reader;
    struct stream_changes news; /* being taken, */
    size_t at;                  /* so far */
    struct stream_hub hub;      /* who it is */
    int64_t shift_ms;
    int64_t since_ms; /* connected, or not, since */
    bool connected;
    int code;      /* not connected: of this kind */
    char why[400]; /* not connected: why; "": it is tried for the first time */
};

struct hub_follow {
    struct hub *h;
    char id[STREAM_ID_MAX]; /* this hub's; "": not loaded yet */
    struct follow_conf *conf;
    size_t n;
    struct follower *v[SITES_MAX];
    struct timer *take;
};

/* ---- settings ---- */

#define SETTINGS follow
#include "base/opt_def.h"

static int prepare_section(UNUSED void *self, const struct hub_conf *conf, void **next, struct err *err)
{
    const struct follow_settings *s = feature_settings(conf, &follow_feature);
    struct follow_conf *c = *next = follow_conf_new();

    return follow_conf_read(c, &s->follow, err);
}

static void drop_section(void *next)
{
    follow_conf_free(next);
}

/* ---- one that is followed ---- */

/* On its thread. */
static int read_token(void *arg, struct buf *ret, struct err *err)
{
    const struct follower *f = arg;

    return f->conf.token_file ? file_read_secret(f->conf.token_file, ret, err) : 0;
}

/* On its thread: is it one to follow? */
static int meet(void *arg, const struct stream_hub *who, struct err *err)
{
    struct follower *f = arg;

    f->told_seldom = true; /* as the stream was asked for */
    f->tell_ms = 0;
    if (strcmp(who->id, f->id) == 0)
        return err_set(err, -ELOOP, "that is this hub itself, or one that has a copy of its data folder");
    if (stream_hub_has(who, f->id))
        return err_set(err, -ELOOP,
                       "that hub follows this one: hubs cannot follow each other in a circle; remove one entry");
    return 0;
}

/* On its thread: whether anybody looks here, when that has changed. An older hub does not know of it. */
static void tell_pace(void *arg, UNUSED int64_t clock_ms)
{
    struct follower *f = arg;
    bool seldom = f->seldom;
    AUTO_BUF token = BUF_INIT(4096);
    struct hub_request_conf ask = {.url = f->conf.url,
                                   .shown = f->conf.url,
                                   .ca_file = f->conf.ca_file,
                                   .pin = f->conf.pin};
    char path[128];

    if (seldom == f->told_seldom || clock_mono_ms() < f->tell_ms || read_token(f, &token, NULL) < 0)
        return;
    ask.token = token.p;
    snprintf(path, sizeof(path), "/api/v1/pace?key=%s&seldom=%d", f->key, seldom);
    if (hub_request_get(&ask, path, PACE_LIMIT_MS, NULL) == 0)
        f->told_seldom = seldom;
    else
        f->tell_ms = clock_mono_ms() + AGAIN_MS;
}

static void follower_free(struct follower *f)
{
    if (!f)
        return;
    hub_reader_free(f->reader);
    stream_nodes_fini(&f->news.nodes);
    if (f->site)
        site_close(f->d->h->live, f->site);
    FREE_ALL((char *)f->conf.name, (char *)f->conf.url, (char *)f->conf.page, (char *)f->conf.token_file,
             (char *)f->conf.ca_file, (char *)f->conf.pin, f);
}

static struct follower *follower_new(struct hub_follow *d, const struct follow_site *s)
{
    struct follower *f = NEW(struct follower, .d = d, .since_ms = clock_wall_ms(), .seldom = true);
    struct err err = {0};
    uint8_t bytes[16];

    f->conf = (struct follow_site){.name = mem_str(s->name),
                                   .url = mem_str(s->url),
                                   .page = mem_str(s->page),
                                   .token_file = mem_str(s->token_file),
                                   .ca_file = mem_str(s->ca_file),
                                   .pin = mem_str(s->pin)};
    mem_copy_str(f->id, sizeof(f->id), d->id);
    rand_bytes(bytes, sizeof(bytes));
    hex_text(bytes, sizeof(bytes), f->key);
    snprintf(f->path, sizeof(f->path), "/api/v1/stream?own=1&seldom=1&key=%s", f->key);
    f->site = site_open(d->h->live, s->name, s->page);
    struct hub_reader_conf how = {
        .line = {.ask = {.url = s->url, .shown = s->url, .ca_file = s->ca_file, .pin = s->pin},
                 .token = read_token,
                 .token_arg = f},
        .path = f->path,
        .own = true,
        .max_nodes = SITE_NODES_MAX,
        .event_max = EVENT_MAX,
        .quiet_ms = QUIET_MS,
        .again_max_ms = AGAIN_MS,
        .tick = tell_pace,
        .meet = meet,
        .arg = f,
    };
    if (hub_reader_new(&how, &f->reader, &err) < 0)
        mem_copy_str(f->why, sizeof(f->why), err.msg);
    return f;
}

/* "the site munich is not followed since 2026-11-17 14:02 CET: ..." */
static void away_words(const struct follower *f, char *out, size_t size)
{
    char at[MOMENT_TEXT];

    snprintf(out, size, "the site %s is not followed since %s: %s", f->conf.name,
             time_text_zoned(f->since_ms, f->d->h->zone, at), f->why);
}

static void set_connected(struct follower *f, const struct reader_result *said, int64_t now_ms)
{
    char words[480];

    if (said->connected) {
        if (!f->connected)
            log_info("follow", "%s: followed at %s", f->conf.name, f->conf.url);
        if (!f->connected)
            f->since_ms = now_ms;
        f->connected = true;
        f->why[0] = 0;
        return;
    }
    if (!said->why[0] || (!f->connected && f->why[0] && said->code == f->code)) /* not tried yet, or the same again */
        return;
    if (f->connected)
        f->since_ms = now_ms;
    f->connected = false;
    f->code = said->code;
    mem_copy_str(f->why, sizeof(f->why), said->why);
    away_words(f, words, sizeof(words));
    site_away(f->d->h->live, f->site, f->since_ms, words);
}

static void take_node(struct follower *f, struct stream_node *e)
{
    struct live *l = f->d->h->live;
    char key[NODE_KEY_MAX];

    if (!e->node) {
        guest_key(f->conf.name, e->key, key);
        site_removed(l, key);
        return;
    }
    guest_make(e->node, f->conf.name, f->shift_ms);
    site_put(l, f->site, e->node); /* one too many stays out: the reader has a limit, too */
}

/* So many nodes at most; true: there are more. */
static bool take_some(struct follower *f)
{
    struct stream_changes *n = &f->news;
    size_t end = MIN(n->nodes.n, f->at + TAKE_MOST);

    while (f->at < end)
        take_node(f, n->nodes.v[f->at++]);
    if (f->at < n->nodes.n)
        return true;
    if (n->whole)
        site_end(f->d->h->live, f->site);
    stream_nodes_fini(&n->nodes);
    n->begun = n->whole = false;
    f->at = 0;
    return false;
}

static void take_news(struct follower *f, int64_t now_ms)
{
    struct reader_result said;

    if (f->news.nodes.n) { /* what came before */
        take_some(f);
        return;
    }
    if (!f->reader)
        return;
    hub_reader_take(f->reader, &f->news, &said);
    f->hub = f->news.hub;
    if (f->news.clock_ms)
        f->shift_ms = guest_shift(f->shift_ms, now_ms, f->news.clock_ms + clock_mono_ms());
    if (f->news.begun && said.connected)
        site_begin(f->site);
    if (said.connected)
        take_some(f);
    else
        stream_nodes_fini(&f->news.nodes);
    set_connected(f, &said, now_ms);
}

/* ---- all of them ---- */

/* Who we are and whom we follow, to those who follow us. */
static void tell_followers(struct hub_follow *d)
{
    struct stream_hub own = {0};
    AUTO_BUF b = BUF_INIT(16384);

    mem_copy_str(own.id, sizeof(own.id), d->id);
    for (size_t i = 0; i < d->n; i++) {
        const struct stream_hub *hub = &d->v[i]->hub;
        stream_hub_add(&own, hub->id, 1);
        for (size_t k = 0; k < hub->n; k++)
            if (strcmp(hub->follows[k].id, d->id) != 0)
                stream_hub_add(&own, hub->follows[k].id, hub->follows[k].hops + 1);
    }
    stream_hub_render(&own, &b);
    streams_hub(d->h->streams, b.p);
}

static void on_take(void *arg)
{
    struct hub_follow *d = arg;
    int64_t now_ms = clock_wall_ms();

    for (size_t i = 0; i < d->n; i++) {
        d->v[i]->seldom = !api_watched(&d->h->api, now_ms);
        take_news(d->v[i], now_ms);
    }
    tell_followers(d);
}

/* What is not as it was before is begun anew. */
static void follow_all(struct hub_follow *d)
{
    const struct follow_conf *c = d->conf;
    size_t n = 0;

    for (size_t i = 0; i < d->n; i++)
        if (ANY(c->n, k, follow_site_same(&c->v[k], &d->v[i]->conf)))
            d->v[n++] = d->v[i];
        else
            follower_free(d->v[i]);
    d->n = n;
    for (size_t i = 0; i < c->n; i++)
        if (!ANY(n, k, follow_site_same(&c->v[i], &d->v[k]->conf)))
            d->v[d->n++] = follower_new(d, &c->v[i]);
    tell_followers(d);
    if (d->n)
        timer_every(d->take, TAKE_MS);
    else
        timer_stop(d->take);
}

static void *open_follow(struct hub *h)
{
    struct hub_follow *d = NEW(struct hub_follow, .h = h);

    d->take = timer_new(h->loop, on_take, d);
    return d;
}

static void take_section(void *self, void *next)
{
    struct hub_follow *d = self;

    follow_conf_free(d->conf);
    d->conf = next;
    if (d->id[0])
        follow_all(d);
}

/* This hub's id: made once, and kept with what it keeps. */
static int load_id(struct hub_follow *d, struct err *err)
{
    AUTO_BUF b = {0};
    int r = store_get(d->h->store, GET_SETTING(KEPT_AS, &b), err);

    if (r < 0)
        return r;
    if (r == 1 && b.len < sizeof(d->id) && str_letters(buf_str(&b), "")) {
        mem_copy_str(d->id, sizeof(d->id), b.p);
        return 0;
    }
    uint8_t bytes[16];
    rand_bytes(bytes, sizeof(bytes));
    hex_text(bytes, sizeof(bytes), d->id);
    return store_put(d->h->store, STORE_SETTING, &(struct store_setting){KEPT_AS, str_of(d->id)}, 1, NULL, NULL);
}

static int load_follow(void *self, struct err *err)
{
    struct hub_follow *d = self;
    int r = load_id(d, err);

    if (r == 0)
        follow_all(d);
    return r;
}

static void add_status(void *self, struct status *s)
{
    struct hub_follow *d = self;
    const struct follower *first = NULL;
    size_t away = 0, nodes = 0;
    char words[480];

    for (size_t i = 0; i < d->n; i++) {
        nodes += d->v[i]->site->n;
        if (d->v[i]->connected || !d->v[i]->why[0])
            continue;
        first = first ? first : d->v[i];
        away++;
    }
    for (size_t i = 0; i < d->n; i++)
        if (d->v[i]->conf.token_file && secret_in_clear(d->v[i]->conf.url, words)) {
            char what[64];
            snprintf(what, sizeof(what), "the token for the hub %s", d->v[i]->conf.name);
            status_clear(s, what, words, "use https:// in follow");
        }
    if (!d->n)
        return;
    status_metric(s, "muster_hub_sites", "hubs that are followed", false, d->n);
    status_metric(s, "muster_hub_sites_away", "of these, those that do not answer", false, away);
    status_metric(s, "muster_hub_sites_nodes", "nodes of hubs that are followed", false, nodes);
    if (!first || s->notice[0])
        return;
    away_words(first, words, sizeof(words));
    snprintf(s->notice, NOTICE_MAX, "%.*s", NOTICE_MAX - 40, words);
    if (away > 1)
        snprintf(s->notice + strlen(s->notice), 40, "; and %zu more sites", away - 1);
}

static void stop_follow(void *self)
{
    struct hub_follow *d = self;

    timer_stop(d->take);
    for (size_t i = 0; i < d->n; i++)
        follower_free(d->v[i]);
    d->n = 0;
}

static void close_follow(void *self)
{
    struct hub_follow *d = self;

    timer_free(d->take);
    follow_conf_free(d->conf);
    free(d);
}

/* ---- over HTTP ---- */

static enum reply_mode get_sites(struct api *a, UNUSED struct request *rq, struct reply *rp)
{
    const struct hub_follow *d = feature_self(&a->hub->features, &follow_feature);
    struct json j = reply_object(rp, 1u << 20);

    json_cstr(&j, "id", d->id);
    json_arr(&j, "rows");
    for (size_t i = 0; i < d->n; i++) {
        const struct follower *f = d->v[i];
        json_obj(&j, NULL);
        json_cstr(&j, "name", f->conf.name);
        json_cstr(&j, "url", f->conf.page);
        json_bool(&j, "connected", f->connected);
        json_int(&j, "since", f->since_ms);
        json_some(&j, "why", f->why);
        json_uint(&j, "nodes", f->site->n);
        if (f->shift_ms)
            json_int(&j, "clock_off_ms", -f->shift_ms);
        json_end_obj(&j);
    }
    json_end_arr(&j);
    return reply_object_end(rp, &j);
}

/* clang-format off */
const struct route follow_routes[] = {
    {GET, "/api/v1/sites", ROLE_NONE, .summary = "Other hubs that this one follows: whether they answer, since when, and why not (docs/follow.md)", .handle = get_sites},
    {0},
};
/* clang-format on */

const struct feature follow_feature = {
    .name = "follow",
    FEATURE_SETTINGS(follow),
    .routes = follow_routes,
    .open = open_follow,
    .prepare = prepare_section,
    .drop = drop_section,
    .take = take_section,
    .load = load_follow,
    .status = add_status,
    .stop = stop_follow,
    .close = close_follow,
};
