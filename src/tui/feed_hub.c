/*
 * feed_hub.c: the rows of a hub, from its stream. A thread follows it and reads the JSON; what it made waits, the
 * newest of each node only, until the screen takes it. So neither a slow screen nor a paused one makes anything grow.
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
#include "cli/sse.h"
#include "format/render.h"
#include "tui/feed.h"

enum { QUIET_MS = 20000, AGAIN_MS = 1000, AGAIN_MAX_MS = 15000, ROWS_EVERY_MS = 5000, LANE_EVERY_MS = 10000 };

/* Nodes by key. An entry of what waits may be NULL: that node is gone. */
struct nodes {
    size_t n, cap;
    struct entry {
        char key[NODE_KEY_MAX];
        struct node_now *node;
    } * v;
};

/* Events, or alerts. */
struct hub_rows {
    atomic_bool wanted;
    int64_t asked_ms; /* the thread's: last */
    void *news;       /* under the lock: newer than v; NULL: none */
    size_t n_news;
    void *v; /* the screen's; NULL: not known yet */
    size_t n;
};

struct hub_feed {
    struct client_conf conf; /* a shallow copy */
    struct client_line *line;
    pthread_t thread;
    int wake;
    struct sse sse;   /* the thread's */
    int64_t again_ms; /* the thread's */
    struct hub_rows events, alerts;
    struct lanes_ask answered; /* the thread's: what was asked of the past, last, */
    int64_t answered_ms;       /* and when; 0: never */
    pthread_mutex_t lock;      /* of what follows */
    struct nodes waiting;
    bool whole;       /* what waits is everything: others are gone */
    bool demo;        /* as the last snapshot has it */
    int64_t clock_ms; /* the hub's clock less our monotonic one */
    bool connected;
    char notice[NOTICE_MAX], why[400];
    struct lanes_ask ask;     /* what the screen would see of the past; n 0: nothing */
    struct lanes *lanes_news; /* newer than past; NULL: none */
    /* the screen's */
    struct nodes now;
    const struct node_now **list;
    bool shown_demo;
    int64_t shown_clock_ms;
    bool ready;
    char shown_notice[NOTICE_MAX], status[460];
    char currency[16], shown_currency[16];
    struct lanes *past;
};

/* ---- nodes by key ---- */

static struct entry *nodes_find(const struct nodes *s, const char *key, size_t *ret_at)
{
    size_t at = COUNT_BEFORE(s->n, i, strcmp(s->v[i].key, key) < 0);

    if (at < s->n && strcmp(s->v[at].key, key) == 0)
        return &s->v[at];
    *ret_at = at;
    return NULL;
}

static void node_free(struct node_now *n)
{
    if (n)
        node_now_fini(n);
    free(n);
}

/* Takes node over; NULL stands for one that is gone. */
static void nodes_put(struct nodes *s, const char *key, struct node_now *node)
{
    size_t at = 0;
    struct entry *e = nodes_find(s, key, &at);

    if (!e) {
        VEC_INSERT(s->v, s->n, s->cap, at, (struct entry){0});
        e = &s->v[at];
        mem_copy_str(e->key, sizeof(e->key), key);
    }
    node_free(e->node);
    e->node = node;
}

static void nodes_reset(struct nodes *s)
{
    for (size_t i = 0; i < s->n; i++)
        node_free(s->v[i].node);
    s->n = 0;
}

static void nodes_fini(struct nodes *s)
{
    nodes_reset(s);
    free(s->v);
}

/* ---- the thread ---- */

static int take_state(struct hub_feed *f, struct str json, bool whole)
{
    struct read_state s;
    struct err err = {0};
    int r = state_parse(json, &s, &err);

    if (r < 0)
        return r;
    LOCKED(&f->lock);
    if (whole) {
        nodes_reset(&f->waiting);
        f->whole = true;
        f->demo = s.demo;
        f->clock_ms = s.at_ms - clock_mono_ms();
        f->connected = true;
        memcpy(f->notice, s.notice, NOTICE_MAX);
        memcpy(f->currency, s.currency, sizeof(f->currency));
    }
    for (size_t i = 0; i < s.n; i++) {
        struct node_now *one = mem_alloc(sizeof(*one));
        *one = s.nodes[i];
        nodes_put(&f->waiting, one->key, one);
    }
    free(s.nodes);
    return 0;
}

/* A member of a small object: clock, gone, notice. */
static int take_small(struct hub_feed *f, struct str name, struct str data)
{
    json_auto_t *o = client_json(data);
    const char *id = json_string_value(json_object_get(o, "id"));
    const char *notice = json_string_value(json_object_get(o, "notice"));
    json_t *now = json_object_get(o, "now");

    LOCKED(&f->lock);
    if (str_eq(name, "clock") && json_is_integer(now) && json_integer_value(now) > 0) {
        f->clock_ms = json_integer_value(now) - clock_mono_ms();
    } else if (str_eq(name, "gone") && id && strlen(id) < NODE_KEY_MAX) {
        nodes_put(&f->waiting, id, NULL);
    } else if (str_eq(name, "notice") && notice && str_utf8_ok(str_of(notice))) {
        mem_copy_str(f->notice, sizeof(f->notice), notice);
    }
    return json_is_object(o) ? 0 : -EBADMSG;
}

static int take_event(void *arg, struct str name, struct str data)
{
    struct hub_feed *f = arg;

    if (str_eq(name, "snapshot")) {
        f->again_ms = AGAIN_MS;
        return take_state(f, data, true);
    }
    if (!str_eq(name, "node"))
        return take_small(f, name, data);
    AUTO_BUF b = BUF_INIT(SSE_EVENT_MAX + 128);
    int64_t at = f->clock_ms + clock_mono_ms(); /* only this thread writes it */
    buf_addf(&b, "{\"at\":%lld,\"nodes\":[", (long long)at);
    buf_addstr(&b, data);
    buf_adds(&b, "]}");
    return b.err ? b.err : take_state(f, buf_str(&b), false);
}

static int take_piece(void *arg, struct str piece)
{
    struct hub_feed *f = arg;
    int r = sse_take(&f->sse, piece, take_event, f);

    wake_ring(f->wake);
    return r;
}

static void event_text(const json_t *o, const char *key, char *to, size_t size)
{
    const char *s = json_string_value(json_object_get(o, key));

    if (s && str_utf8_ok(str_of(s)))
        mem_copy_str(to, size, s);
}

static json_t *ask_json(const struct client_conf *conf, const char *path)
{
    AUTO_BUF body = {0};
    struct err err = {0};

    if (client_ask(conf, "GET", path, str_of(""), &body, &err) < 0)
        return NULL;
    return client_json(buf_str(&body));
}

/* What is asked for now and then: where, at most how many, and a row of it. */
struct row_kind {
    const char *path, *member; /* member NULL: the answer itself */
    size_t max, size;
    void (*fill)(const json_t *row, void *to);
};

static void fill_event(const json_t *o, void *to)
{
    struct feed_event *e = to;

    e->at_ms = json_integer_value(json_object_get(o, "at"));
    event_text(o, "node", e->node, sizeof(e->node));
    event_text(o, "device", e->device, sizeof(e->device));
    event_text(o, "kind", e->kind, sizeof(e->kind));
    event_text(o, "text", e->text, sizeof(e->text));
}

static void fill_alert(const json_t *o, void *to)
{
    struct feed_alert *a = to;

    a->since_ms = json_integer_value(json_object_get(o, "since"));
    event_text(o, "node_id", a->node, sizeof(a->node));
    event_text(o, "device", a->device, sizeof(a->device));
    event_text(o, "place", a->place, sizeof(a->place));
    event_text(o, "severity", a->severity, sizeof(a->severity));
    event_text(o, "rule", a->rule, sizeof(a->rule));
    event_text(o, "text", a->text, sizeof(a->text));
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

/* With the lock: what is newer takes the place of what was borrowed. */
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

/* ---- the past ---- */

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
    const struct lanes_ask *ask = &f->answered;
    int64_t to = ask->from_ms + (int64_t)ask->bins * ask->step_ms;
    AUTO_BUF path = BUF_INIT(8000);

    f->answered_ms = clock_mono_ms();
    conf.limit_ms = 5000;
    buf_adds(&path, "/api/v1/history?metric=util&agg=avg&device=");
    for (size_t i = 0; i < ask->n; i++)
        buf_addf(&path, "%s%s", i ? "," : "", ask->devices[i]);
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

/* What is asked for has changed, or may be old by now. */
static bool past_due(struct hub_feed *f)
{
    LOCKED(&f->lock);
    bool other = f->ask.n && memcmp(&f->ask, &f->answered, sizeof(f->ask)) != 0;
    bool due = f->ask.n && (other || clock_mono_ms() - f->answered_ms >= LANE_EVERY_MS);
    if (due)
        f->answered = f->ask;
    f->ask.n = 0; /* asked for anew by each frame that shows it */
    return due;
}

static void on_tick(void *arg)
{
    struct hub_feed *f = arg;

    ask_rows(f, &f->events, &kind_events);
    ask_rows(f, &f->alerts, &kind_alerts);
    if (past_due(f))
        ask_past(f);
}

static void *follow(void *arg)
{
    struct hub_feed *f = arg;

    f->again_ms = AGAIN_MS;
    while (!client_line_stopped(f->line)) {
        struct err err = {0};
        sse_fini(&f->sse);
        f->sse = SSE_INIT;
        client_line_follow(f->line, "/api/v1/stream", QUIET_MS, take_piece, on_tick, f, &err);
        pthread_mutex_lock(&f->lock);
        f->connected = false;
        mem_copy_str(f->why, sizeof(f->why), err.msg);
        pthread_mutex_unlock(&f->lock);
        wake_ring(f->wake);
        client_line_sleep(f->line, f->again_ms);
        f->again_ms = MIN(f->again_ms * 2, AGAIN_MAX_MS);
    }
    return NULL;
}

/* ---- the screen's side ---- */

static int hub_fd(void *arg)
{
    return ((struct hub_feed *)arg)->wake;
}

COMPARE(by_name, struct node_now *const, str_natural((*x)->name, (*y)->name) ?: strcmp((*x)->key, (*y)->key))

static void apply(struct hub_feed *f, struct nodes *news, bool whole)
{
    size_t n = 0, shown = 0;

    if (whole)
        nodes_reset(&f->now);
    for (size_t i = 0; i < news->n; i++) {
        nodes_put(&f->now, news->v[i].key, news->v[i].node);
        news->v[i].node = NULL;
    }
    f->list = mem_grow(f->list, f->now.n + 1, sizeof(*f->list));
    for (size_t i = 0; i < f->now.n; i++) {
        struct entry e = f->now.v[i];
        if (!e.node)
            continue;
        f->now.v[n++] = e;
        if (!e.node->retired)
            f->list[shown++] = e.node;
    }
    f->now.n = n;
    f->list[shown] = NULL;
    qsort(f->list, shown, sizeof(*f->list), by_name);
}

static bool hub_read(void *arg)
{
    struct hub_feed *f = arg;
    struct nodes news;

    wake_clear(f->wake);
    pthread_mutex_lock(&f->lock);
    news = f->waiting;
    f->waiting = (struct nodes){0};
    bool whole = f->whole;
    f->whole = false;
    f->shown_demo = f->demo;
    f->shown_clock_ms = f->clock_ms;
    memcpy(f->shown_notice, f->notice, NOTICE_MAX);
    memcpy(f->shown_currency, f->currency, sizeof(f->currency));
    f->ready |= whole;
    if (f->connected)
        f->status[0] = 0;
    else if (f->why[0])
        snprintf(f->status, sizeof(f->status), "%s; trying again", f->why);
    else
        snprintf(f->status, sizeof(f->status), "asking %s…", client_url(&f->conf));
    bool told = take_news(&f->events);
    told |= take_news(&f->alerts);
    told |= f->lanes_news != NULL;
    if (f->lanes_news) {
        lanes_free(f->past);
        f->past = f->lanes_news;
        f->lanes_news = NULL;
    }
    pthread_mutex_unlock(&f->lock);
    bool changed = whole || news.n;
    if (changed)
        apply(f, &news, whole);
    nodes_fini(&news);
    return changed || told || f->status[0];
}

static void hub_view(void *arg, struct view *ret)
{
    struct hub_feed *f = arg;

    *ret = (struct view){.nodes = f->list, .demo = f->shown_demo, .show_cmd = true};
    while (f->list && f->list[ret->n])
        ret->n++;
    if (f->ready)
        ret->at_ms = f->shown_clock_ms + clock_mono_ms();
    ret->notice = f->shown_notice[0] ? f->shown_notice : NULL;
    ret->currency = f->shown_currency;
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

static const struct lanes *hub_past(void *arg, const struct lanes_ask *ask)
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

    client_line_stop(f->line);
    pthread_join(f->thread, NULL);
    client_line_free(f->line);
    sse_fini(&f->sse);
    pthread_mutex_destroy(&f->lock);
    nodes_fini(&f->waiting);
    nodes_fini(&f->now);
    FREE_ALL(f->list, f->events.news, f->events.v, f->alerts.news, f->alerts.v);
    lanes_free(f->past);
    lanes_free(f->lanes_news);
    close(f->wake);
    free(f);
}

int feed_hub_open(struct feed *ret, const struct client_conf *conf, struct err *err)
{
    struct hub_feed *f = NEW(struct hub_feed, .conf = *conf, .wake = wake_new());

    f->line = client_line_new(&f->conf);
    pthread_mutex_init(&f->lock, NULL);
    snprintf(f->status, sizeof(f->status), "asking %s…", client_url(conf));
    int r = f->wake < 0 ? -errno : -pthread_create(&f->thread, NULL, follow, f);
    if (r < 0) {
        client_line_free(f->line);
        free(f);
        return err_set(err, r, "cannot start: %s", strerror(-r));
    }
    *ret = (struct feed){f,          client_url(conf), false, hub_fd, hub_read,   hub_view, hub_status,
                         hub_events, hub_past,         NULL,  NULL,   hub_alerts, hub_close};
    return 0;
}
