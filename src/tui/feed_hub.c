/*
 * feed_hub.c: data from a hub's stream. A thread reads the stream and parses the JSON; results wait, only the newest
 * per node, until the screen takes them. So a slow or paused screen needs no more memory.
 */
#include <errno.h>
#include <jansson.h>
#include <stdatomic.h>

#include "base/clock.h"
#include "base/lock.h"
#include "base/mem.h"
#include "base/order.h"
#include "base/thread.h"
#include "cli/client.h"
#include "stream/reader.h"
#include "tui/feed.h"

enum { QUIET_MS = 20000, AGAIN_MAX_MS = 15000, ROWS_EVERY_MS = 5000, LANE_EVERY_MS = 10000 };

/* Events or alerts. */
struct hub_rows {
    atomic_bool wanted;
    int64_t asked_ms; /* of the thread: last request */
    void *news;       /* protected by the lock: newer than v; NULL: none */
    size_t n_news;
    void *v; /* of the screen; NULL: not known yet */
    size_t n;
};

struct hub_feed {
    struct client_conf conf; /* a shallow copy */
    struct hub_reader *reader;
    int wake;
    struct hub_rows events, alerts;
    int64_t clock_ms;            /* of the thread: the hub's clock minus the monotonic clock */
    struct lanes_query answered; /* of the thread: the last history query, ... */
    int64_t answered_ms;         /* ... and its time; 0: never */
    pthread_mutex_t lock;        /* protects the following members */
    struct lanes_query ask;      /* history range needed by the screen; n 0: none */
    struct lanes *lanes_news;    /* newer than past; NULL: none */
    /* of the screen */
    struct stream_changes now; /* all nodes, and the last status data */
    const struct node_now **list;
    bool ready, listing;
    char status[460];
    struct lanes *past;
};

/* ---- the thread ---- */

static void copy_text(const json_t *o, const char *key, char *to, size_t size)
{
    const char *s = json_string_value(json_object_get(o, key));

    if (s && str_utf8_ok(str_of(s)))
        mem_copy_str(to, size, s);
}

static json_t *ask_json(const struct client_conf *conf, const char *path)
{
    AUTO_BUF body = {0};
    struct err err = {0};

    if (client_request(conf, "GET", path, str_of(""), &body, &err) < 0)
        return NULL;
    return client_json(buf_str(&body));
}

/* Lists that are polled: path, maximum length, and row parser. */
struct row_kind {
    const char *path, *member; /* member NULL: the response itself */
    size_t max, size;
    void (*fill)(const json_t *row, void *to);
};

static void fill_event(const json_t *o, void *to)
{
    struct feed_event *e = to;

    e->at_ms = json_integer_value(json_object_get(o, "at"));
    copy_text(o, "node", e->node, sizeof(e->node));
    copy_text(o, "device", e->device, sizeof(e->device));
    copy_text(o, "kind", e->kind, sizeof(e->kind));
    copy_text(o, json_object_get(o, "about") ? "about" : "text", e->text, sizeof(e->text)); /* old hubs: text */
}

static void fill_alert(const json_t *o, void *to)
{
    struct feed_alert *a = to;

    a->since_ms = json_integer_value(json_object_get(o, "since"));
    copy_text(o, "node_id", a->node, sizeof(a->node));
    copy_text(o, "device", a->device, sizeof(a->device));
    copy_text(o, "place", a->place, sizeof(a->place));
    copy_text(o, "severity", a->severity, sizeof(a->severity));
    copy_text(o, "rule", a->rule, sizeof(a->rule));
    copy_text(o, "text", a->text, sizeof(a->text));
    a->critical = strcmp(a->severity, "critical") == 0;
    a->warning = strcmp(a->severity, "warning") == 0;
    a->silenced = json_is_object(json_object_get(o, "silenced"));
}

static const struct row_kind kind_events = {"/api/v1/events?limit=300", NULL, 300, sizeof(struct feed_event),
                                            fill_event};
static const struct row_kind kind_alerts = {"/api/v1/alerts", "rows", 1000, sizeof(struct feed_alert), fill_alert};

static void ask_rows(struct hub_feed *f, struct hub_rows *r, const struct row_kind *kind)
{
    struct client_conf conf = f->conf;

    if (!r->wanted || (r->asked_ms && clock_mono_ms() - r->asked_ms < ROWS_EVERY_MS))
        return;
    r->asked_ms = clock_mono_ms();
    conf.limit_ms = 3000;
    json_auto_t *body = ask_json(&conf, kind->path);
    const json_t *rows = kind->member ? json_object_get(body, kind->member) : body;
    if (!json_is_array(rows))
        return;
    size_t n = MIN(json_array_size(rows), kind->max);
    char *v = mem_zero(MAX(n, 1u), kind->size);
    for (size_t i = 0; i < n; i++)
        kind->fill(json_array_get(rows, i), v + i * kind->size);
    pthread_mutex_lock(&f->lock);
    free(r->news);
    r->news = v;
    r->n_news = n;
    pthread_mutex_unlock(&f->lock);
    wake_ring(f->wake);
}

/* With the lock: replaces borrowed data by newer data. */
static bool take_news(struct hub_rows *r)
{
    if (!r->news)
        return false;
    free(r->v);
    r->v = r->news;
    r->n = r->n_news;
    r->news = NULL;
    return true;
}

/* ---- history ---- */

static void take_series(struct lanes *p, const json_t *body)
{
    size_t i, k;
    json_t *one, *v;

    json_array_foreach (json_object_get(body, "series"), i, one) {
        const char *device = json_string_value(json_object_get(one, "device"));
        struct lane *r = device ? (struct lane *)lanes_find(p, device) : NULL;
        int64_t shift = (json_integer_value(json_object_get(body, "from")) - p->from_ms) / p->step_ms;
        json_array_foreach (json_object_get(one, "v"), k, v) {
            int64_t at = (int64_t)k + shift;
            if (r && json_is_number(v) && at >= 0 && at < (int64_t)p->bins)
                r->util[at] = (uint8_t)MIN(MAX(json_number_value(v) * 100 + 0.5, 0), 100);
        }
    }
}

static void take_spans(struct lanes *p, const json_t *body, int64_t now_ms)
{
    size_t i;
    json_t *one;

    json_array_foreach (json_object_get(body, "spans"), i, one) {
        const char *device = json_string_value(json_object_get(one, "device"));
        const char *user = json_string_value(json_object_get(one, "user"));
        bool ended = json_is_true(json_object_get(one, "ended"));
        int64_t first = json_integer_value(json_object_get(one, "first"));
        int64_t last = ended ? json_integer_value(json_object_get(one, "last")) : now_ms;
        if (device)
            lanes_held(p, device, user && str_utf8_ok(str_of(user)) ? user : "", first, last);
    }
}

static void ask_past(struct hub_feed *f)
{
    struct client_conf conf = f->conf;
    const struct lanes_query *ask = &f->answered;
    int64_t to = ask->from_ms + (int64_t)ask->bins * ask->step_ms;
    AUTO_BUF path = BUF_INIT(8000);

    f->answered_ms = clock_mono_ms();
    conf.limit_ms = 5000;
    buf_adds(&path, "/api/v1/history?metric=util&agg=avg&device=");
    size_t asked = 0;
    for (size_t i = 0; i < ask->n; i++)
        if (!strchr(ask->devices[i], '/')) /* nodes of a site: its own hub has the history */
            buf_addf(&path, "%s%s", asked++ ? "," : "", ask->devices[i]);
    if (!asked)
        return;
    buf_addf(&path, "&from=%lld&to=%lld&step=%lldms", (long long)ask->from_ms, (long long)to, (long long)ask->step_ms);
    json_auto_t *series = path.err ? NULL : ask_json(&conf, path.p);
    buf_reset(&path);
    buf_addf(&path, "/api/v1/processes?by=user&limit=20000&from=%lld&to=%lld", (long long)ask->from_ms, (long long)to);
    json_auto_t *spans = series ? ask_json(&conf, path.p) : NULL;
    if (spans) {
        struct lanes *p = lanes_new(ask);
        take_series(p, series);
        take_spans(p, spans, f->clock_ms + clock_mono_ms());
        pthread_mutex_lock(&f->lock);
        lanes_free(f->lanes_news);
        f->lanes_news = p;
        pthread_mutex_unlock(&f->lock);
        wake_ring(f->wake);
    }
}

/* Whether the query has changed, or its data may be outdated. */
static bool past_due(struct hub_feed *f)
{
    LOCKED(&f->lock);
    bool other = f->ask.n && memcmp(&f->ask, &f->answered, sizeof(f->ask)) != 0;
    bool due = f->ask.n && (other || clock_mono_ms() - f->answered_ms >= LANE_EVERY_MS);
    if (due)
        f->answered = f->ask;
    f->ask.n = 0; /* set again by each frame that shows it */
    return due;
}

static void on_tick(void *arg, int64_t clock_ms)
{
    struct hub_feed *f = arg;

    f->clock_ms = clock_ms;
    ask_rows(f, &f->events, &kind_events);
    ask_rows(f, &f->alerts, &kind_alerts);
    if (past_due(f))
        ask_past(f);
}

static void ring(void *arg)
{
    wake_ring(((struct hub_feed *)arg)->wake);
}

static int find_token(void *arg, struct buf *ret, struct err *err)
{
    return client_token(arg, ret, err);
}

/* ---- functions of the screen ---- */

static int hub_fd(void *arg)
{
    return ((struct hub_feed *)arg)->wake;
}

COMPARE(by_name, struct node_now *const, str_natural((*x)->name, (*y)->name) ?: strcmp((*x)->key, (*y)->key))

static void list_nodes(struct hub_feed *f)
{
    size_t shown = 0;

    stream_nodes_tidy(&f->now.nodes);
    f->list = mem_grow(f->list, f->now.nodes.n + 1, sizeof(*f->list));
    for (size_t i = 0; i < f->now.nodes.n; i++)
        if (!f->now.nodes.v[i]->node->retired)
            f->list[shown++] = f->now.nodes.v[i]->node;
    f->list[shown] = NULL;
    qsort(f->list, shown, sizeof(*f->list), by_name);
}

static bool hub_read(void *arg)
{
    struct hub_feed *f = arg;
    struct stream_changes news;
    struct reader_result said;

    wake_clear(f->wake);
    hub_reader_take(f->reader, &news, &said);
    bool changed = news.begun || news.nodes.n;
    f->ready |= news.begun;
    f->listing = (f->listing || news.begun) && !news.whole;
    stream_changes_merge(&f->now, &news);
    if (said.connected && f->listing)
        snprintf(f->status, sizeof(f->status), "%zu nodes; receiving more", f->now.nodes.n);
    else if (said.connected)
        f->status[0] = 0;
    else if (said.why[0])
        snprintf(f->status, sizeof(f->status), "%s; trying again", said.why);
    else
        snprintf(f->status, sizeof(f->status), "connecting to %s…", client_url(&f->conf));
    pthread_mutex_lock(&f->lock);
    bool told = take_news(&f->events);
    told |= take_news(&f->alerts);
    told |= f->lanes_news != NULL;
    if (f->lanes_news) {
        lanes_free(f->past);
        f->past = f->lanes_news;
        f->lanes_news = NULL;
    }
    pthread_mutex_unlock(&f->lock);
    if (changed)
        list_nodes(f);
    return changed || told || f->status[0];
}

static void hub_view(void *arg, struct view *ret)
{
    struct hub_feed *f = arg;

    *ret = (struct view){.nodes = f->list, .demo = f->now.demo, .show_cmd = true};
    while (f->list && f->list[ret->n])
        ret->n++;
    if (f->ready)
        ret->at_ms = f->now.clock_ms + clock_mono_ms();
    ret->notice = f->now.notice[0] ? f->now.notice : NULL;
    ret->currency = f->now.currency;
}

static const char *hub_status(void *arg)
{
    struct hub_feed *f = arg;

    return f->status[0] ? f->status : NULL;
}

static const void *want_rows(struct hub_rows *r, size_t *ret_n)
{
    r->wanted = true;
    *ret_n = r->n;
    return r->v;
}

static const struct feed_event *hub_events(void *arg, size_t *ret_n)
{
    return want_rows(&((struct hub_feed *)arg)->events, ret_n);
}

static const struct feed_alert *hub_alerts(void *arg, size_t *ret_n)
{
    return want_rows(&((struct hub_feed *)arg)->alerts, ret_n);
}

static const struct lanes *hub_past(void *arg, const struct lanes_query *ask)
{
    struct hub_feed *f = arg;

    LOCKED(&f->lock);
    if (ask)
        f->ask = *ask;
    return f->past;
}

static void hub_close(void *arg)
{
    struct hub_feed *f = arg;

    hub_reader_free(f->reader);
    pthread_mutex_destroy(&f->lock);
    stream_nodes_fini(&f->now.nodes);
    FREE_ALL(f->list, f->events.news, f->events.v, f->alerts.news, f->alerts.v);
    lanes_free(f->past);
    lanes_free(f->lanes_news);
    close(f->wake);
    free(f);
}

int feed_hub_open(struct feed *ret, const struct client_conf *conf, struct err *err)
{
    struct hub_feed *f = NEW(struct hub_feed, .conf = *conf, .wake = wake_new());

    struct hub_reader_conf how = {.line = {.ask = client_hub_conf(&f->conf),
                                           .token = find_token,
                                           .token_arg = &f->conf},
                                  .path = "/api/v1/stream?list=1", /* an older hub ignores list=1 */
                                  .event_max = SSE_EVENT_MAX,
                                  .quiet_ms = QUIET_MS,
                                  .again_max_ms = AGAIN_MAX_MS,
                                  .wake = ring,
                                  .tick = on_tick,
                                  .arg = f};
    pthread_mutex_init(&f->lock, NULL);
    snprintf(f->status, sizeof(f->status), "connecting to %s…", client_url(conf));
    int r =
        f->wake < 0 ? err_set(err, -errno, "cannot start: %s", strerror(errno)) : hub_reader_new(&how, &f->reader, err);
    if (r < 0) {
        free(f);
        return r;
    }
    *ret = (struct feed){f,          client_url(conf), false, hub_fd, hub_read,   hub_view, hub_status,
                         hub_events, hub_past,         NULL,  NULL,   hub_alerts, hub_close};
    return 0;
}
