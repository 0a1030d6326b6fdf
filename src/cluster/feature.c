/*
 * feature.c: joins the other hubs before the store is opened, notifies features about their changes, and shows problems
 * between hubs on every screen.
 */
#include "cluster/feature.h"

#include <errno.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/rand.h"
#include "base/version.h"
#include "cluster/member.h"
#include "cluster/place.h"
#include "hub/self.h"
#include "hub/server.h"

#define AWAY_SAID_MS 3000 /* shorter outages are not shown */
#define OWN_NAMES                                                                                                      \
    "config,listen,data,start_empty,store,store_password_file,advertise,address,host_names,log_level,log_format,tls,"  \
    "tls_cert,"                                                                                                        \
    "tls_key,hubs_ca_file,max_connections,max_per_address,sandbox,sandbox_folders"

#define SETTINGS cluster
#include "base/opt_def.h"

struct hub_cluster {
    struct hub *h;
    struct member *m; /* NULL: single hub */
    char url[256];    /* as published to the other hubs */
    bool led, away;
    size_t n;
};

struct member *cluster_member(struct hub *h)
{
    struct hub_cluster *c = feature_self(&h->features, &cluster_feature);

    return c ? c->m : NULL;
}

/* ---- settings ---- */

/* Hash of the settings that hubs have in common; settings of each single hub are excluded. */
static void conf_hash(const struct hub_conf *conf, char out[24])
{
    AUTO_BUF text = BUF_INIT(4u << 20);

    for (const struct opt *o = hub_opts; o->name; o++) {
        const struct opt one[] = {*o, {0}};
        if (!str_listed(OWN_NAMES, str_of(o->name)))
            opt_write(one, conf, &text);
    }
    snprintf(out, 24, "%016llx", (unsigned long long)fnv64(text.p, text.len));
}

static int check_settings(UNUSED void *self, const struct hub_conf *conf, UNUSED void **next, struct err *err)
{
    const struct cluster_settings *c = feature_settings(conf, &cluster_feature);

    if (!c->store)
        return c->password_file || c->advertise
                   ? err_set(err, -EINVAL,
                             "%s: it is for hubs that share a store: store: postgres://USER@HOST/DATABASE",
                             c->advertise ? "advertise" : "store_password_file")
                   : 0;
    int r = place_check(c->store, err);
    if (r == 0 && conf->start_empty)
        r = err_set(err, -EINVAL,
                    "start_empty: it is for a store in the data folder; with `store`, drop the database on the server "
                    "and make another");
    if (r == 0 && c->advertise && !str_starts(str_of(c->advertise), "http://") &&
        !str_starts(str_of(c->advertise), "https://"))
        r = err_set(err, -EINVAL, "advertise: it must be an address: http://HOST:PORT");
    return r;
}

int cluster_place(const struct hub_conf *conf, char **ret, struct err *err)
{
    const struct cluster_settings *c = feature_settings(conf, &cluster_feature);

    *ret = c->store ? place_of(c->store, c->password_file, err) : NULL;
    return c->store && !*ret ? -EINVAL : 0;
}

const char *cluster_store(const struct hub_conf *conf, const char **ret_password_file)
{
    const struct cluster_settings *c = feature_settings(conf, &cluster_feature);

    *ret_password_file = c->store ? c->password_file : NULL;
    return c->store;
}

void cluster_flags(const struct hub_conf *conf, const char *data, struct buf *out)
{
    const struct cluster_settings *c = feature_settings(conf, &cluster_feature);

    buf_addf(out, "--%s %s", c->store ? "store" : "data", c->store ? c->store : data);
    if (c->store && c->password_file)
        buf_addf(out, " --store-password-file %s", c->password_file);
}

/* ":8765"; NULL if it has no port. */
static const char *port_of(const char *url)
{
    const char *host = strstr(url, "://") + 3, *end = strrchr(host, ']');

    return strchr(end ? end : host, ':');
}

/* URL of this hub, with the port it listens on if none is configured. "": not known yet, or never. */
static void own_url(const struct hub_cluster *c, char out[256])
{
    const struct cluster_settings *s = feature_settings(&c->h->conf, &cluster_feature);
    struct str rest = buf_str(&c->h->addresses), first = {0};

    out[0] = 0;
    if (!s->advertise)
        return;
    if (port_of(s->advertise)) {
        mem_copy_str(out, 256, s->advertise);
    } else if (str_cut(&rest, '\n', &first) && first.len < 200) {
        size_t colon = first.len;
        while (colon && first.p[colon - 1] != ':')
            colon--;
        snprintf(out, 256, "%s:%.*s", s->advertise, (int)(first.len - colon), first.p + colon);
    }
}

static void take_settings(void *self, UNUSED void *next)
{
    struct hub_cluster *c = self;
    char hash[24], pin[64] = "";

    if (!c->m)
        return;
    conf_hash(&c->h->conf, hash);
    own_url(c, c->url);
    hub_local_pin(c->h, pin);
    member_publish(c->m, c->url, hash, pin);
}

/* ---- joining ---- */

static bool ask_leads(void *arg, int64_t *ret_epoch)
{
    return member_leads(arg, ret_epoch);
}

static int64_t ask_part(void *arg, unsigned part)
{
    return member_part(arg, part);
}

static bool ask_leads_now(void *arg)
{
    int64_t epoch;

    return member_leads(arg, &epoch);
}

static bool ask_gone(void *arg, int64_t hub)
{
    return member_has_left(arg, hub);
}

static int64_t ask_id(void *arg, enum hub_ids of)
{
    return member_next_id(arg, of);
}

static size_t ask_there(void *arg, struct peer_hub *ret, size_t max)
{
    struct member_stat st;
    size_t n = 0;

    member_stat(arg, &st);
    for (size_t i = 0; i < st.n && n < max; i++)
        if (st.hubs[i].id != member_id(arg)) {
            ret[n].id = st.hubs[i].id;
            mem_copy_str(ret[n].url, sizeof(ret->url), st.hubs[i].url);
            mem_copy_str(ret[n++].pin, sizeof(ret->pin), st.hubs[i].pin);
        }
    return n;
}

static bool ask_stores(void *arg)
{
    struct member_stat st;

    member_stat(arg, &st);
    return st.away_ms <= AWAY_SAID_MS && !st.full;
}

static void leave(void *arg)
{
    member_close(arg);
}

static int join_others(struct hub *h, const struct hub_conf *conf, struct store_conf *store, struct err *err)
{
    const struct cluster_settings *c = feature_settings(conf, &cluster_feature);
    struct member_conf mc = {0};
    struct member *m = NULL;
    AUTO_FREE char *place = NULL;
    int r = cluster_place(conf, &place, err);

    if (!place)
        return r;
    mc.place = place;
    if (c->advertise && port_of(c->advertise)) /* otherwise it is set once the hub listens */
        mem_copy_str(mc.self.url, sizeof(mc.self.url), c->advertise);
    gethostname(mc.self.name, sizeof(mc.self.name) - 1);
    mem_copy_str(mc.self.version, sizeof(mc.self.version), muster_hub_build);
    conf_hash(conf, mc.self.conf);
    r = member_open(&m, &mc, err);
    if (r < 0)
        return r;
    h->others = (struct hub_peers){.leads = ask_leads,
                                   .next_id = ask_id,
                                   .part = ask_part,
                                   .there = ask_there,
                                   .stores = ask_stores,
                                   .leave = leave,
                                   .arg = m};
    store->url = member_place(m);
    store->hub = member_id(m);
    store->leads = ask_leads_now;
    store->gone = ask_gone;
    store->cluster = m;
    return 0;
}

static void *open_cluster(struct hub *h)
{
    return NEW(struct hub_cluster, .h = h, .m = h->others.arg);
}

static void tell_change(void *arg, const struct peer_record *r)
{
    hub_publish(arg, &(struct hub_event){.kind = HUB_EVENT_RECORD, .now_ms = clock_wall_ms(), .record = r});
}

/* Before the other features load: they are notified about all changes from now on. */
static int follow_others(void *self, struct err *err)
{
    struct hub_cluster *c = self;

    if (!c->m)
        return 0;
    log_info("cluster", "this is hub %lld of those on one PostgreSQL server", (long long)member_id(c->m));
    return member_follow(c->m, c->h->loop, tell_change, c->h, err);
}

/* ---- status ---- */

static void say_changes(void *self, UNUSED int64_t now_ms)
{
    struct hub_cluster *c = self;
    struct member_stat st;
    char url[sizeof(c->url)];

    if (!c->m)
        return;
    own_url(c, url);
    if (strcmp(url, c->url) != 0) /* the port is known once the hub listens */
        take_settings(self, NULL);
    member_stat(c->m, &st);
    bool away = st.away_ms > AWAY_SAID_MS;
    if (st.leads != c->led)
        log_info("cluster", st.leads ? "this hub leads from now on" : "this hub does not lead any more");
    if (away != c->away)
        log_warn("cluster", "%s", away ? st.why : "the PostgreSQL server is reachable again");
    if (!away && st.n != c->n)
        log_info("cluster", "%zu hub%s there", st.n, st.n == 1 ? " is" : "s are");
    c->led = st.leads;
    c->away = away;
    c->n = away ? c->n : st.n;
}

static const struct hub_row *find_leader(const struct member_stat *st)
{
    for (size_t i = 0; i < st->n; i++)
        if (st->hubs[i].leads)
            return &st->hubs[i];
    return NULL;
}

/* Removes the action and the server from the message. */
static const char *reason_of(const char *why)
{
    const char *at = strstr(why, "': "), *failed = strstr(why, " failed: ");

    return failed ? failed + 9 : at ? at + 3 : why;
}

/* "03:41:55 UTC": a time, because a duration would change the notice every second. */
static const char *time_of(int64_t wall_ms, char out[32])
{
    char iso[32];

    clock_iso(wall_ms, iso);
    snprintf(out, 32, "%.8s UTC", iso + 11);
    return out;
}

static const char *name_of(const struct hub_row *h)
{
    return h->url[0] ? h->url : h->name;
}

/* Shown after problems that an operator must repair: an upgrade of one hub at a time passes through this state. */
static void version_notice(const struct member_stat *st, const struct hub_row *leader, char out[NOTICE_MAX])
{
    struct build first, other;

    for (size_t i = 0; i < st->n && build_parse(leader->version, &first); i++)
        if (build_parse(st->hubs[i].version, &other) && build_differs(&first, &other)) {
            snprintf(out, NOTICE_MAX,
                     "hubs of different versions run: %.64s has %.40s, and the hub that leads has %.40s",
                     name_of(&st->hubs[i]), st->hubs[i].version, leader->version);
            return;
        }
}

static void notice_of(const struct hub_cluster *c, const struct member_stat *st, char out[NOTICE_MAX])
{
    const struct hub_row *leader = find_leader(st), *own = NULL;
    char at[32];

    for (size_t i = 0; i < st->n; i++)
        if (st->hubs[i].id == member_id(c->m))
            own = &st->hubs[i];
    if (st->away_ms > AWAY_SAID_MS)
        snprintf(out, NOTICE_MAX,
                 "PostgreSQL is unreachable since %s: nothing can be stored or booked, agents keep their samples: "
                 "%.100s",
                 time_of(st->away_wall_ms, at), reason_of(st->why));
    else if (st->full)
        snprintf(out, NOTICE_MAX,
                 "PostgreSQL's disk is full: what finds no room there is not stored, agents keep their samples");
    else if (!leader)
        snprintf(out, NOTICE_MAX, "no hub leads: alerts, messages and reports wait until one does");
    else if (own && strcmp(own->conf, leader->conf) != 0)
        snprintf(out, NOTICE_MAX,
                 "the settings of this hub differ from those of the hub that leads (%.64s), whose count",
                 name_of(leader));
    else if (st->missed.id)
        snprintf(out, NOTICE_MAX, "hub %.64s is away since %s, and did not end in order: the others do its work",
                 name_of(&st->missed), time_of(st->missed_wall_ms, at));
    else
        for (size_t i = 0; i < st->n && !out[0]; i++)
            if (strcmp(st->hubs[i].conf, leader->conf) != 0)
                snprintf(out, NOTICE_MAX, "the settings of hub %.64s differ from those of the hub that leads",
                         name_of(&st->hubs[i]));
    if (!out[0] && leader)
        version_notice(st, leader, out);
}

static void cluster_status(void *self, struct status *s)
{
    struct hub_cluster *c = self;
    struct member_stat st;

    if (!c->m)
        return;
    member_stat(c->m, &st);
    if (!s->notice[0])
        notice_of(c, &st, s->notice);
    if (member_open_way(c->m))
        status_clear(s, "the password for PostgreSQL and all samples", member_open_way(c->m),
                     "add sslmode=verify-full to the address of the store");
    status_metric(s, "muster_hub_leads", "1 on the hub that does what must happen once", false, st.leads);
    status_metric(s, "muster_hub_hubs", "hubs on this store that are there", false, st.n);
    status_metric(s, "muster_hub_changes", "records that other hubs changed", true, st.changes);
    status_metric(s, "muster_hub_store_away_seconds", "how long the PostgreSQL server does not answer", false,
                  (uint64_t)st.away_ms / 1000);
}

static void stop_following(void *self)
{
    struct hub_cluster *c = self;

    if (c->m)
        member_unfollow(c->m);
}

static void close_cluster(void *self)
{
    free(self);
}

const struct feature cluster_feature = {
    .name = "cluster",
    FEATURE_SETTINGS(cluster),
    .routes = cluster_routes,
    .join = join_others,
    .open = open_cluster,
    .prepare = check_settings,
    .take = take_settings,
    .load = follow_others,
    .tick = say_changes,
    .status = cluster_status,
    .stop = stop_following,
    .close = close_cluster,
};
