/*
 * streams.c: streams in groups of readers with the same rights and filter. A group keeps the newest event of each
 * node, in the order they were made.
 */
#include "now/streams.h"

#include "access/sessions.h"
#include "base/clock.h"
#include "base/json.h"
#include "format/render.h"
#include "http/conn_limit.h"
#include "hub/hub.h"
#include "hub/render_queue.h"
#include "now/draw.h"
#include "now/outline.h"
#include "now/view.h"

#define QUEUE_MAX   (1u << 20)
#define EVENT_MAX   (64u << 20)
#define BEHIND_MS   10000 /* a reader with more than QUEUE_MAX queued for this long is dropped */
#define FIRST_MS    30000 /* the same during its snapshot */
#define SHARE_MS    5000  /* how long a snapshot is reused for new readers; later changes follow it */
#define SELDOM_MS   15000 /* interval of values of a node, if no client is connected */
#define FIRST_NODES 100
#define GONE_MS     60000 /* a `gone` is kept this long for readers that still receive their snapshot */

struct item { /* a node's newest event */
    char key[NODE_KEY_MAX];
    uint64_t version; /* of the node it was made from; 0: gone */
    uint64_t seq;
    int64_t gone_ms;
    bool present;
    uint64_t outline;     /* of the node at that time, for readers that get values rarely */
    int64_t made_ms;      /* monotonic */
    uint64_t seen, which; /* with a filter: the last checked version of the node, and the devices that matched then */
    struct blob *event;
};

struct group {
    struct group *next;
    char node[NODE_KEY_MAX]; /* empty: all */
    bool show_cmd;
    bool own;          /* for following hubs: without nodes that this hub follows */
    bool list;         /* one event per node instead of a snapshot */
    bool seldom;       /* no reader has a client */
    uint64_t old_news; /* version of live: changes up to it were not sent while no client was connected, and wait their
                          time */
    char reader[64];
    struct filter *filter; /* NULL: none */
    uint64_t seen_version; /* version of live at the last update of items */
    int64_t seen_s;
    uint64_t seq;
    size_t n, cap;
    struct item *items;
    struct streams *s;
    size_t readers;
    struct blob *snapshot; /* of snapshot_seq; NULL: no recent one */
    int64_t snapshot_ms;   /* monotonic */
    uint64_t snapshot_seq;
    struct sheet *drawing; /* the next snapshot, rendered in steps; NULL: none in progress */
    bool told;             /* a notice arrived meanwhile */
};

struct reader {
    struct reader *next;
    struct group *g;
    struct stream_conn *conn;
    uint64_t seq;
    char key[STREAM_KEY_MAX];           /* identifies a following hub that reports whether it has a client; "": none */
    bool seldom;                        /* no client */
    bool waits;                         /* for a snapshot that is being rendered */
    bool snapshot;                      /* in progress: nothing is queued behind it */
    char peer[64];                      /* source address, also behind a trusted proxy */
    char cookie[SECRET_MAX], token[20]; /* credentials: a session, or a token's id; empty: neither */
    int64_t behind_ms;                  /* too much is queued since then, monotonic; 0: not */
};

struct streams {
    struct api *api;
    size_t n, max, max_per_address;
    struct conn_limit *per_address;
    char *hub; /* description of this hub for followers; NULL: unknown yet */
    struct group *groups;
    struct reader *readers;
};

struct streams *streams_new(struct api *api)
{
    return NEW(struct streams, .api = api, .per_address = conn_limit_new());
}

void streams_set_max(struct streams *s, size_t max, size_t max_per_address)
{
    s->max = max;
    s->max_per_address = max_per_address;
}

size_t streams_count(const struct streams *s)
{
    return s->n;
}

/* ---- groups ---- */

static void group_free(struct group *g)
{
    for (size_t i = 0; i < g->n; i++)
        blob_unref(g->items[i].event);
    blob_unref(g->snapshot);
    render_queue_cancel(g->drawing);
    free(g->items);
    filter_free(g->filter);
    free(g);
}

static bool same_filter(const struct filter *a, const struct filter *b)
{
    return a && b ? strcmp(filter_key(a), filter_key(b)) == 0 : a == b;
}

/* Takes ownership of the filter. */
static struct group *group_get(struct streams *s, const char *node, bool own, bool list, bool show_cmd,
                               const char *reader, struct filter *filter)
{
    struct group *g = s->groups;
    while (g && (strcmp(g->node, node) != 0 || g->own != own || g->list != list || g->show_cmd != show_cmd ||
                 strcmp(g->reader, reader) != 0 || !same_filter(g->filter, filter)))
        g = g->next;
    if (g) {
        filter_free(filter);
        return g;
    }
    g = NEW(struct group, .next = s->groups, .s = s, .own = own, .list = list, .show_cmd = show_cmd, .filter = filter);
    mem_copy_str(g->node, sizeof(g->node), node);
    mem_copy_str(g->reader, sizeof(g->reader), reader);
    return s->groups = g;
}

static bool group_view(struct streams *s, const struct group *g, int64_t now_ms, struct view *ret)
{
    struct view_query ask = {.node = g->node[0] ? g->node : NULL,
                             .sites = !g->own,
                             .demo = s->api->demo,
                             .show_cmd = g->show_cmd,
                             .reader = g->reader};
    if (view_of(s->api->live, &ask, now_ms, ret) == 0)
        return true;
    *ret = (struct view){.at_ms = now_ms};
    return false;
}

static struct blob *node_event(const struct view *v, const struct node_now *n)
{
    struct buf b = BUF_INIT(EVENT_MAX);
    draw_list_node(&b, v, n);
    if (b.err) {
        buf_reset(&b);
        buf_adds(&b, ": a node too large to send\n\n");
    }
    return blob_new(&b);
}

static struct blob *gone_event(const char *key)
{
    struct buf b = BUF_INIT(1024);
    buf_addf(&b, "event: gone\ndata: {\"id\":\"%s\"}\n\n", key);
    return blob_new(&b);
}

static struct item *item_find(struct group *g, const char *key, size_t *hint)
{
    for (size_t i = 0; i < g->n; i++) { /* both lists keep their order: the next one is nearly always right */
        struct item *it = &g->items[(*hint + i) % g->n];
        if (strcmp(it->key, key) == 0) {
            *hint = (size_t)(it - g->items) + 1;
            return it;
        }
    }
    return NULL;
}

static void item_gone(struct group *g, struct item *it, int64_t now_ms)
{
    it->version = 0;
    it->gone_ms = now_ms;
    it->seq = ++g->seq;
    blob_unref(it->event);
    it->event = gone_event(it->key);
}

/* The part of n that matches the group's filter; NULL if nothing matches. */
static const struct node_now *group_node(const struct group *g, const struct item *it, const struct node_now *n,
                                         int64_t now_ms, struct arena *a, uint64_t *ret_which)
{
    *ret_which = it->which;
    if (!g->filter || (it->seen == n->version && !filter_is_timed(g->filter)))
        return !g->filter || it->version ? n : NULL;
    arena_reset(a);
    return view_node(g->filter, n, now_ms, a, ret_which);
}

/* Whether the event can wait: only values changed, no client is connected, and the last event is recent. */
static bool can_wait(const struct group *g, const struct item *it, const struct node_now *n, uint64_t outline,
                     int64_t mono_ms)
{
    return it->version && (g->seldom || n->version <= g->old_news) && outline == it->outline &&
           mono_ms - it->made_ms < SELDOM_MS;
}

/* Updates the items. quiet: only remember the versions, since a snapshot follows. */
static void group_update(struct streams *s, struct group *g, int64_t now_ms, bool quiet)
{
    struct view v;
    size_t hint = 0;
    bool first = g->n == 0; /* no search needed */
    int64_t mono_ms = clock_mono_ms();
    AUTO_ARENA arena = {0};
    group_view(s, g, now_ms, &v);
    for (size_t i = 0; i < g->n; i++)
        g->items[i].present = false;
    for (size_t i = 0; i < v.n; i++) {
        const struct node_now *n = v.nodes[i];
        struct item *it = first ? NULL : item_find(g, n->key, &hint);
        if (!it) {
            VEC_ROOM(g->items, g->n, g->cap);
            it = &g->items[g->n++];
            *it = (struct item){.seq = g->seq};
            mem_copy_str(it->key, sizeof(it->key), n->key);
        }
        it->present = true;
        uint64_t which;
        const struct node_now *shown = group_node(g, it, n, now_ms, &arena, &which);
        it->seen = n->version;
        if (!shown && it->version)
            item_gone(g, it, now_ms);
        if (!shown || (it->version == n->version && it->which == which))
            continue;
        uint64_t outline = g->own ? node_outline(n) : 0;
        if (g->own && can_wait(g, it, n, outline, mono_ms))
            continue;
        it->outline = outline;
        it->made_ms = mono_ms;
        it->version = n->version;
        it->which = which;
        blob_unref(it->event);
        it->event = quiet ? NULL : node_event(&v, shown);
        if (!quiet)
            it->seq = ++g->seq;
    }
    for (size_t i = g->n; i-- > 0;) {
        struct item *it = &g->items[i];
        if (!it->present && it->version) {
            item_gone(g, it, now_ms);
        } else if (!it->present && now_ms - it->gone_ms > GONE_MS) {
            blob_unref(it->event);
            g->items[i] = g->items[--g->n];
        }
    }
    g->seen_version = v.version;
    g->seen_s = now_ms / 1000;
}

/* ---- readers ---- */

/* Sets the group's pace: slow unless a reader has a client. When it becomes fast, delayed values still wait their
 * time. */
static void group_pace(struct group *g)
{
    bool any = false;
    for (const struct reader *r = g->s->readers; r; r = r->next)
        any |= r->g == g && !r->seldom;
    if (g->seldom && any)
        g->old_news = live_version(g->s->api->live);
    g->seldom = !any;
}

static void reader_free(void *arg)
{
    struct reader *r = arg;
    struct group *g = r->g;
    struct streams *s = g->s;
    struct reader **at = &s->readers;
    while (*at != r)
        at = &(*at)->next;
    *at = r->next;
    s->n--;
    conn_limit_leave(s->per_address, r->peer);
    free(r);
    if (--g->readers) {
        group_pace(g);
        return;
    }
    struct group **gat = &s->groups;
    while (*gat != g)
        gat = &(*gat)->next;
    *gat = g->next;
    group_free(g);
}

static void reader_drop(struct reader *r)
{
    httpd_stream_end(r->conn);
    reader_free(r);
}

/* Sends the hub's time: readers compute ages with it and see that the connection is alive. */
static void reader_clock(const struct reader *r, int64_t now_ms)
{
    char text[64];
    int n = snprintf(text, sizeof(text), "event: clock\ndata: {\"now\":%lld}\n\n", (long long)now_ms);
    httpd_stream_write(r->conn, text, (size_t)n);
}

/* Sends this hub's description to a following hub. */
static void reader_hub(const struct reader *r)
{
    const char *hub = r->g->own ? r->g->s->hub : NULL;
    AUTO_BUF b = BUF_INIT(16384);
    if (!hub)
        return;
    buf_addf(&b, "event: hub\ndata: %s\n\n", hub);
    httpd_stream_write(r->conn, b.p, b.len);
}

void streams_hub(struct streams *s, const char *json)
{
    if (s->hub && strcmp(s->hub, json) == 0)
        return;
    free(s->hub);
    s->hub = mem_str(json);
    for (struct reader *r = s->readers; r; r = r->next)
        reader_hub(r);
}

static void reader_notice(const struct reader *r, const char *notice)
{
    AUTO_BUF b = BUF_INIT(4096);
    buf_adds(&b, "event: notice\ndata: {\"notice\":");
    json_escape(&b, str_of(notice));
    buf_adds(&b, "}\n\n");
    httpd_stream_write(r->conn, b.p, b.len);
}

static void reader_snapshot(struct reader *r, struct blob *snapshot)
{
    r->waits = false;
    r->snapshot = true;
    r->behind_ms = clock_mono_ms();
    httpd_stream_blob(r->conn, snapshot);
}

/* The snapshot is rendered: sends it to all waiting readers. */
static void on_drawn(void *arg, struct blob *b)
{
    struct group *g = arg;
    const char *notice = live_notice(g->s->api->live);
    bool told = g->told;
    g->drawing = NULL;
    g->told = false;
    if (b && !told) { /* otherwise its notice is outdated */
        g->snapshot = blob_ref(b);
        g->snapshot_ms = clock_mono_ms();
    }
    for (struct reader *r = g->s->readers, *next; r; r = next) {
        next = r->next;
        if (r->g != g || !r->waits)
            continue;
        if (!b) {
            reader_drop(r); /* the last reader also frees the group */
            continue;
        }
        reader_snapshot(r, b);
        if (told)
            reader_notice(r, notice ? notice : "");
        httpd_stream_flush(r->conn);
    }
}

/* Returns the group's recent snapshot, or makes one: many readers may connect at the same time, for example after a
 * restart. NULL: it is being rendered. Later changes follow it, so the order of rendering does not matter. */
static struct blob *snapshot_get(struct streams *s, struct group *g, const char *peer, int64_t now_ms)
{
    struct view v;
    struct buf b = BUF_INIT(512u << 20);
    AUTO_ARENA arena = {0};
    if (g->snapshot && clock_mono_ms() - g->snapshot_ms < SHARE_MS)
        return g->snapshot;
    if (g->drawing)
        return NULL;
    group_update(s, g, now_ms, !g->readers); /* the others get it as events */
    group_view(s, g, now_ms, &v);
    g->snapshot_seq = g->seq;
    blob_unref(g->snapshot);
    g->snapshot = NULL;
    if (v.n >= DRAW_NODES) {
        struct render_queue *e = ((struct hub *)s->api->hub)->easel;
        g->drawing = render_queue_submit_internal(e, peer, draw_snapshot(&v, g->filter, g->list), on_drawn, g);
        return NULL;
    }
    if (g->filter)
        view_filter(&v, g->filter, &arena);
    if (g->list) {
        draw_list_begin(&b, &v);
        for (size_t i = 0; i < v.n; i++)
            draw_list_node(&b, &v, v.nodes[i]);
        draw_list_end(&b);
    } else {
        buf_adds(&b, "retry: 2000\nevent: snapshot\ndata: ");
        render_state(&b, &v);
        while (b.len && b.p[b.len - 1] == '\n')
            buf_cut(&b, b.len - 1);
        buf_adds(&b, "\n\n");
    }
    g->snapshot = blob_new(&b);
    g->snapshot_ms = clock_mono_ms();
    return g->snapshot;
}

/* Sends the first nodes while a long list is rendered, so that a screen has something to show. */
static void reader_first(const struct reader *r, int64_t now_ms)
{
    struct view v;
    struct buf b = BUF_INIT(EVENT_MAX);
    if (r->g->filter || !group_view(r->g->s, r->g, now_ms, &v))
        return;
    draw_list_begin(&b, &v);
    for (size_t i = 0; i < MIN(v.n, (size_t)FIRST_NODES); i++)
        draw_list_node(&b, &v, v.nodes[i]);
    if (b.err) {
        buf_fini(&b);
        return;
    }
    struct blob *first = blob_new(&b);
    httpd_stream_blob(r->conn, first);
    blob_unref(first);
}

/* Only a hub that can change the pace later gets values rarely. */
static void read_key(const struct request *rq, struct reader *r)
{
    struct str key = request_query(rq, "key");
    if (!r->g->own || !key.len || key.len >= sizeof(r->key) || !str_letters(key, ""))
        return;
    memcpy(r->key, key.p, key.len);
    r->seldom = request_flag(rq, "seldom");
}

bool streams_pace(struct streams *s, struct str key, bool seldom)
{
    struct reader *r = s->readers;
    while (r && (!r->key[0] || !str_eq(key, r->key)))
        r = r->next;
    if (!r)
        return false;
    r->seldom = seldom;
    group_pace(r->g);
    return true;
}

size_t streams_lookers(const struct streams *s)
{
    size_t n = 0;
    for (const struct reader *r = s->readers; r; r = r->next)
        n += !r->seldom;
    return n;
}

enum reply_mode streams_open(struct streams *s, struct request *rq, struct reply *rp)
{
    char node[NAME_MAX_LEN];
    struct str name = request_query(rq, "node");
    bool show_cmd = s->api->show_cmd || rq->who->role == ROLE_ADMIN, own = request_flag(rq, "own");
    bool list = own || request_flag(rq, "list");
    if (s->n >= s->max) {
        snprintf(rp->extra, sizeof(rp->extra), "Retry-After: 30");
        return reply_problem(rp, 503, "%zu readers are connected, as many as max_streams allows", s->n);
    }
    if (rq->method == METHOD_HEAD) {
        rp->type = "text/event-stream";
        return REPLY_NOW;
    }
    memcpy(node, name.len ? name.p : "", MIN(name.len, sizeof(node) - 1)); /* the route has checked that it exists */
    node[MIN(name.len, sizeof(node) - 1)] = 0;
    if (node[0]) { /* by key: a rename must not end the stream */
        struct view v;
        struct view_query ask = {.node = node, .sites = !own};
        if (view_of(s->api->live, &ask, rq->now_ms, &v) < 0)
            return reply_problem(rp, 404, "no node is called '%s'", node);
        mem_copy_str(node, sizeof(node), v.nodes[0]->key);
    }
    struct filter *filter;
    if (!request_filter(rq, rp, &filter))
        return REPLY_NOW;
    if (!conn_limit_enter(s->per_address, rq->peer, s->max_per_address)) {
        filter_free(filter);
        snprintf(rp->extra, sizeof(rp->extra), "Retry-After: 30");
        return reply_problem(rp, 503,
                             "%zu readers are connected from your address, as many as max_streams_per_address allows",
                             s->max_per_address);
    }
    struct group *g = group_get(s, node, own, list, show_cmd,
                                rq->who->role == ROLE_MEMBER && !show_cmd ? rq->who->token.person : "", filter);
    struct reader *r = NEW(struct reader, .g = g);
    mem_copy_str(r->peer, sizeof(r->peer), rq->peer);
    read_key(rq, r);
    if (rq->who->by_cookie) {
        struct str cookie = cookie_session(rq->header(rq, "Cookie"), request_by_tls(rq));
        memcpy(r->cookie, cookie.p, MIN(cookie.len, sizeof(r->cookie) - 1));
    } else {
        mem_copy_str(r->token, sizeof(r->token), rq->who->token.id);
    }
    struct blob *snapshot = snapshot_get(s, g, rq->peer, rq->now_ms);
    r->next = s->readers;
    s->readers = r;
    g->readers++;
    s->n++;
    r->seq = g->snapshot_seq;
    r->waits = !snapshot;
    group_pace(g);
    r->conn = httpd_stream(rq, "text/event-stream", reader_free, r);
    reader_hub(r);
    reader_clock(r, rq->now_ms);
    if (snapshot)
        reader_snapshot(r, snapshot);
    else if (list && !own)
        reader_first(r, rq->now_ms);
    httpd_stream_flush(r->conn);
    return REPLY_STREAM;
}

/* Whether the reader has room for more. Drops a reader without room for too long. */
static bool reader_has_room(struct reader *r, int64_t mono_ms)
{
    if (httpd_stream_queued(r->conn) <= (r->snapshot ? 0 : QUEUE_MAX)) {
        r->snapshot = false;
        r->behind_ms = 0;
        return true;
    }
    if (!r->behind_ms)
        r->behind_ms = mono_ms;
    if (mono_ms - r->behind_ms > (r->snapshot ? FIRST_MS : BEHIND_MS))
        reader_drop(r);
    return false;
}

static void reader_push(struct reader *r, int64_t mono_ms)
{
    struct group *g = r->g;
    if (r->waits || !reader_has_room(r, mono_ms) || r->seq == g->seq)
        return;
    for (size_t i = 0; i < g->n; i++)
        if (g->items[i].seq > r->seq && g->items[i].event)
            httpd_stream_blob(r->conn, g->items[i].event);
    r->seq = g->seq;
    httpd_stream_flush(r->conn);
}

void streams_push(struct streams *s, int64_t now_ms)
{
    int64_t mono_ms = clock_mono_ms();
    for (struct group *g = s->groups; g; g = g->next) {
        if (g->snapshot && mono_ms - g->snapshot_ms >= SHARE_MS) {
            blob_unref(g->snapshot);
            g->snapshot = NULL;
        }
        bool later = g->filter && filter_is_timed(g->filter) && g->seen_s != now_ms / 1000;
        if (g->seldom && g->seen_s == now_ms / 1000)
            continue;
        if (g->seen_version != live_version(s->api->live) || later)
            group_update(s, g, now_ms, false);
    }
    for (struct reader *r = s->readers, *next; r; r = next) {
        next = r->next;
        reader_push(r, mono_ms); /* may drop it, and with the last reader the group */
    }
}

/* Whether its session ended or its token was revoked. */
static bool reader_is_over(const struct reader *r, int64_t now_ms)
{
    struct api *a = r->g->s->api;
    struct token t;
    if (r->cookie[0])
        return !sessions_find(a->hub->sessions, str_of(r->cookie), now_ms, &t);
    return r->token[0] && (!tokens_find(a->hub->tokens, r->token, &t) || t.revoked);
}

void streams_beat(struct streams *s, int64_t now_ms)
{
    for (struct reader *r = s->readers, *next; r; r = next) {
        next = r->next;
        if (reader_is_over(r, now_ms)) {
            reader_drop(r);
            continue;
        }
        reader_clock(r, now_ms);
        httpd_stream_flush(r->conn);
    }
}

void streams_set_notice(struct streams *s, const char *notice)
{
    for (struct group *g = s->groups; g; g = g->next) {
        blob_unref(g->snapshot); /* the snapshot contains it, too */
        g->snapshot = NULL;
        g->told = g->drawing != NULL;
    }
    for (struct reader *r = s->readers, *next; r; r = next) {
        next = r->next;
        if (r->waits)
            continue; /* it follows the snapshot */
        reader_notice(r, notice);
        httpd_stream_flush(r->conn);
    }
}

void streams_reset(struct streams *s)
{
    for (struct reader *r = s->readers, *next; r; r = next) {
        next = r->next;
        reader_drop(r); /* the last reader also frees the group */
    }
}

void streams_free(struct streams *s)
{
    if (!s)
        return;
    streams_reset(s);
    conn_limit_free(s->per_address);
    FREE_ALL(s->hub, s);
}
