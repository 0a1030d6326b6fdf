/* post.c: a lane of requests for each node, and which lane may send next. */
#include "uplink/post.h"

#include <errno.h>
#include <stdlib.h>

#include "base/clock.h"
#include "base/json.h"
#include "base/log.h"
#include "base/rand.h"
#include "model/labels.h"
#include "net/http.h"
#include "wire/wire.h"

#define BUSY_MAX       64 /* requests under way at once */
#define TIMEOUT_MS     20000
#define BACKOFF_MIN_MS 1000
#define BACKOFF_MAX_MS 60000
#define ZSTD_LEVEL     3
#define AT_ONCE        16           /* packets in one request */
#define LABELS_BODY    (192u << 10) /* of nodes with labels, in one request */
#define TRIES_MAX      5            /* a packet that the hub neither stores nor refuses */

struct entry {
    struct packet *p;
    bool sent;
    unsigned tries;
};

struct lane {
    struct post *post;
    struct lane_hooks hooks;
    void *arg;
    char key[NODE_KEY_MAX];
    struct http_call *call;
    size_t n, bytes;
    uint64_t gone; /* given up, not told yet: that can only be heard when the hub listens */
    struct entry queue[LANE_MAX];
    uint64_t known[4]; /* blobs the hub has: facts and processes of now, and those before */
    size_t n_known;
    unsigned failures;
    int64_t pause_until, spoke_ms, interval_ms; /* monotonic; monotonic; asked for */
    struct event *timer;
    bool wants; /* a turn; then it is in post's line */
    bool again; /* asked to speak while a request was under way */
    struct lane *next;
    char *labels;                 /* NULL: none */
    bool heard, told, telling;    /* the hub has taken something; has its labels; is being told */
    struct lane *before, *behind; /* of all */
};

struct post {
    struct event_base *loop;
    struct http *http;
    char *url, *token, *ca_file, *pin, *proxy;
    size_t busy;
    struct lane *first, *last; /* who waits for a turn */
    struct lane *all;
    bool ok;
    char trouble[256];
    struct answer answer;
    struct wire_enc *enc;
    struct wire_dec *dec;
    struct http_call *sources, *labels;
    char hub_run[32]; /* as the hub that was told of labels calls its life; empty: not known */
};

static void on_done(void *arg, const struct http_result *r);

static void forget_told(struct post *p)
{
    for (struct lane *l = p->all; l; l = l->behind)
        l->told = false;
}

/* Its answers to what is said of sources and labels name its life: {"run":"…"}. */
static void take_run(struct post *p, const struct http_result *r)
{
    static const char word[] = "{\"run\":\"";
    char run[sizeof(p->hub_run)] = "";
    struct str s = r->body;
    int end;
    if (r->status != 200 || !str_skip(&s, word) || (end = str_find(s, "\"")) <= 0 || (size_t)end >= sizeof(run))
        return;
    memcpy(run, s.p, (size_t)end);
    if (strcmp(run, p->hub_run) != 0)
        forget_told(p);
    memcpy(p->hub_run, run, sizeof(run));
}

/* That the hub is away is said by the lanes; an older hub does not know the route. */
static void on_sources(void *arg, const struct http_result *r)
{
    if (r->status >= 400)
        log_debug("relay", "the hub does not take what is said of sources: HTTP %d", r->status);
    take_run(arg, r);
}

/* A hub that was started again has forgotten every label. */
static void on_labels(void *arg, const struct http_result *r)
{
    struct post *p = arg;
    if (r->status >= 400)
        log_debug("relay", "the hub does not take labels: HTTP %d", r->status);
    take_run(p, r);
    for (struct lane *l = p->all; l; l = l->behind) {
        l->told |= l->telling && r->status >= 200 && r->status < 500;
        l->telling = false;
    }
}

void post_tell_labels(struct post *p)
{
    struct err err = {0};
    AUTO_BUF body = BUF_INIT(2 * (size_t)LABELS_BODY);
    struct json j = json_on(&body);
    bool any = false;
    if (http_busy(p->labels))
        return;
    json_obj(&j, NULL);
    json_obj(&j, "labels");
    for (struct lane *l = p->all; l; l = l->behind) {
        l->telling = l->heard && !l->told && body.len < LABELS_BODY;
        if (l->telling)
            labels_json(&j, l->key, l->labels);
        any |= l->telling;
    }
    json_end_obj(&j);
    json_end_obj(&j);
    if (any && http_post(p->labels, p->token, &body, TIMEOUT_MS, &err) < 0)
        log_debug("relay", "hub: %s", err.msg);
}

void lane_labels(struct lane *l, const char *labels)
{
    if (labels_same(l->labels, labels))
        return;
    free(l->labels);
    l->labels = labels ? mem_str(labels) : NULL;
    l->told = l->telling = false;
}

void post_tell_sources(struct post *p, struct buf *json)
{
    struct err err = {0};
    if (http_post(p->sources, p->token, json, TIMEOUT_MS, &err) < 0)
        log_debug("relay", "hub: %s", err.msg);
}

int post_open(struct post **ret, struct event_base *loop, const struct post_conf *conf, struct err *err)
{
    struct post *p = mem_zero(1, sizeof(*p));
    struct str hub = str_of(conf->hub);
    while (hub.len && hub.p[hub.len - 1] == '/')
        hub.len--;
    p->loop = loop;
    p->url = mem_fmt("%.*s/api/v1/batches?origin=", STR_ARG(hub));
    p->token = mem_str(conf->token);
    p->ca_file = mem_str(conf->ca_file);
    p->pin = mem_str(conf->pin);
    p->proxy = mem_str(conf->proxy);
    p->enc = wire_enc_new(ZSTD_LEVEL);
    p->dec = wire_dec_new();
    int r = http_new(&p->http, loop, err);
    if (r < 0) {
        post_close(p);
        return r;
    }
    AUTO_FREE char *sources = mem_fmt("%.*s/api/v1/sources", STR_ARG(hub));
    p->sources = http_call_new(p->http, &(struct http_conf){sources, p->ca_file, p->pin, p->proxy}, on_sources, p);
    p->labels = http_call_new(p->http, &(struct http_conf){sources, p->ca_file, p->pin, p->proxy}, on_labels, p);
    *ret = p;
    return 0;
}

void post_close(struct post *p)
{
    if (!p)
        return;
    if (p->sources)
        http_call_free(p->sources);
    if (p->labels)
        http_call_free(p->labels);
    http_free(p->http);
    wire_enc_free(p->enc);
    wire_dec_free(p->dec);
    if (p->token)
        explicit_bzero(p->token, strlen(p->token));
    free(p->url);
    free(p->token);
    free(p->ca_file);
    free(p->pin);
    free(p->proxy);
    free(p);
}

bool post_quiet(const struct post *p)
{
    return p->busy == 0 && !p->first;
}

struct wire_enc *post_enc(struct post *p)
{
    return p->enc;
}

struct wire_dec *post_dec(struct post *p)
{
    return p->dec;
}

/* ---- the queue ---- */

static size_t packet_bytes(const struct packet *p)
{
    return p->frame.len + (p->facts ? p->facts->frame.len : 0) + (p->procs ? p->procs->frame.len : 0);
}

static void lane_remove(struct lane *l, size_t i)
{
    l->bytes -= packet_bytes(l->queue[i].p);
    packet_unref(l->queue[i].p);
    memmove(&l->queue[i], &l->queue[i + 1], (l->n - i - 1) * sizeof(l->queue[0]));
    l->n--;
}

void lane_push(struct lane *l, struct packet *p)
{
    uint64_t gone = 0;
    size_t more = packet_bytes(p);
    while (l->n && (l->n == LANE_MAX || l->bytes + more > LANE_BYTES)) {
        lane_remove(l, 0);
        gone++;
    }
    l->queue[l->n++] = (struct entry){.p = packet_ref(p)};
    l->bytes += more;
    l->gone += gone;
}

static bool knows(const struct lane *l, uint64_t id)
{
    for (size_t i = 0; i < ARRAY_LEN(l->known); i++)
        if (l->known[i] == id)
            return true;
    return false;
}

static void forget(struct lane *l, uint64_t id)
{
    for (size_t i = 0; i < ARRAY_LEN(l->known); i++)
        if (l->known[i] == id)
            l->known[i] = 0;
}

/* ---- sending ---- */

/* A blob that this hub may not have; taken for known from now on: it says so when it lacks one. */
static void put_blob(struct lane *l, struct buf *body, const struct enclosure *b)
{
    if (!b || knows(l, b->id))
        return;
    buf_addstr(body, buf_str(&b->frame));
    l->known[l->n_known++ % ARRAY_LEN(l->known)] = b->id;
}

static void lane_send(struct lane *l)
{
    struct post *p = l->post;
    struct hello h = {0};
    struct buf body = BUF_INIT(WIRE_BODY_MAX);
    struct err err = {0};
    l->again = false;
    l->hooks.hello(l->arg, &h);
    h.backlog = (uint32_t)(l->n > AT_ONCE ? l->n - AT_ONCE : 0);
    wire_start(&body);
    wire_put_hello(&body, &h);
    for (size_t i = 0; i < l->n && i < AT_ONCE; i++) {
        struct entry *e = &l->queue[i];
        put_blob(l, &body, e->p->facts);
        put_blob(l, &body, e->p->procs);
        buf_addstr(&body, buf_str(&e->p->frame));
        e->sent = true;
        e->tries++;
    }
    l->spoke_ms = clock_mono_ms();
    if (http_post(l->call, p->token, &body, TIMEOUT_MS, &err) == 0) {
        p->busy++;
    } else {
        log_warn("relay", "hub: %s", err.msg);
        for (size_t i = 0; i < l->n; i++)
            l->queue[i].sent = false;
    }
    buf_fini(&body);
}

static void post_turns(struct post *p)
{
    while (p->first && p->busy < BUSY_MAX) {
        struct lane *l = p->first;
        p->first = l->next;
        if (!p->first)
            p->last = NULL;
        l->next = NULL;
        l->wants = false;
        lane_send(l);
    }
}

void lane_speak(struct lane *l)
{
    struct post *p = l->post;
    l->again |= http_busy(l->call); /* what is under way may not say it yet */
    if (l->wants || http_busy(l->call) || clock_mono_ms() < l->pause_until)
        return;
    l->wants = true;
    if (p->last)
        p->last->next = l;
    else
        p->first = l;
    p->last = l;
    post_turns(p);
}

static void on_timer(evutil_socket_t fd, short what, void *arg)
{
    struct lane *l = arg;
    (void)fd, (void)what;
    l->pause_until = 0;
    lane_speak(l);
}

static void lane_pause(struct lane *l, int64_t least_ms)
{
    int64_t top = BACKOFF_MIN_MS << MIN(l->failures, 6u);
    int64_t ms = MAX(least_ms, 50 + (int64_t)((double)MIN(top, BACKOFF_MAX_MS) * rand_unit()));
    struct timeval tv = {.tv_sec = ms / 1000, .tv_usec = ms % 1000 * 1000};
    l->failures++;
    l->pause_until = clock_mono_ms() + ms;
    event_add(l->timer, &tv);
}

/* ---- what the hub says ---- */

/* Of the hub as a whole: said once, not by every lane. */
static void post_trouble(struct post *p, const char *why)
{
    if (strcmp(p->trouble, why) != 0)
        log_warn("relay", "the hub does not take our batches: %s; the newest few minutes are kept", why);
    mem_copy_str(p->trouble, sizeof(p->trouble), why);
    p->ok = false;
}

static void post_fine(struct post *p)
{
    if (!p->ok) {
        log_info("relay", "the hub takes our batches");
        forget_told(p); /* it may have been started again */
    }
    p->ok = true;
    p->trouble[0] = 0;
}

/* Sent and not stored: it lacks a blob, which comes with the next try, or it cannot be stored at all. */
static void lane_left(struct lane *l)
{
    uint64_t gone = 0;
    for (size_t i = 0; i < l->n;)
        if (l->queue[i].sent && l->queue[i].tries >= TRIES_MAX) {
            lane_remove(l, i);
            gone++;
        } else {
            l->queue[i++].sent = false;
        }
    l->gone += gone;
}

static void lane_taken(struct lane *l, const struct answer *a)
{
    post_fine(l->post);
    l->failures = 0;
    l->heard = true;
    if (a->interval_ms > 0)
        l->interval_ms = a->interval_ms;
    for (size_t i = 0; i < a->n_need; i++)
        forget(l, a->need[i]);
    for (size_t k = 0; k < a->n_stored; k++)
        for (size_t i = 0; i < l->n; i++)
            if (l->queue[i].p->run == a->stored[k].run && l->queue[i].p->number == a->stored[k].number) {
                lane_remove(l, i);
                break;
            }
    lane_left(l);
    if (l->gone)
        l->hooks.dropped(l->arg, l->gone, "the hub did not take it in time");
    l->gone = 0;
    if (a->retry_ms)
        lane_pause(l, a->retry_ms);
    else if (l->n || l->again)
        lane_speak(l);
}

/* The hub takes others but not this: its frames are no good, or it is more than it can take. */
static void lane_refused(struct lane *l, const struct http_result *r)
{
    char text[160];
    snprintf(text, sizeof(text), "%.*s", (int)MIN(r->body.len, 120u), r->body.p);
    log_warn("relay", "%s: the hub refuses it: HTTP %d: %s", l->key, r->status, text);
    lane_left(l);
    memset(l->known, 0, sizeof(l->known));
    lane_pause(l, 1000);
}

static void on_done(void *arg, const struct http_result *r)
{
    struct lane *l = arg;
    struct post *p = l->post;
    struct err err = {0};
    char why[256];
    p->busy--;
    if (r->status == 200 && answer_parse(r->body, &p->answer, &err) == 0) {
        lane_taken(l, &p->answer);
    } else if (r->status == 400 || r->status == 413 || r->status == 422) {
        lane_refused(l, r);
    } else {
        if (r->status == 0)
            snprintf(why, sizeof(why), "%.200s", r->error);
        else
            snprintf(why, sizeof(why), "HTTP %d", r->status);
        post_trouble(p, why);
        l->heard = false;
        memset(l->known, 0, sizeof(l->known));
        for (size_t i = 0; i < l->n; i++)
            l->queue[i].sent = false;
        lane_pause(l, r->retry_after_ms);
    }
    post_turns(p);
}

/* ---- lanes ---- */

struct lane *lane_new(struct post *p, const char *key, const struct lane_hooks *hooks, void *arg)
{
    struct lane *l = mem_zero(1, sizeof(*l));
    AUTO_BUF url = BUF_INIT(4096);
    buf_adds(&url, p->url);
    buf_addurl(&url, str_of(key));
    struct http_conf hc = {.url = url.p, .ca_file = p->ca_file, .pin = p->pin, .proxy = p->proxy};
    l->post = p;
    l->hooks = *hooks;
    l->arg = arg;
    mem_copy_str(l->key, sizeof(l->key), key);
    l->call = http_call_new(p->http, &hc, on_done, l);
    l->timer = evtimer_new(p->loop, on_timer, l);
    l->behind = p->all;
    if (p->all)
        p->all->before = l;
    p->all = l;
    return l;
}

void lane_free(struct lane *l)
{
    if (!l)
        return;
    struct post *p = l->post;
    for (struct lane **at = &p->first, *before = NULL; *at; before = *at, at = &(*at)->next)
        if (*at == l) {
            *at = l->next;
            if (p->last == l)
                p->last = before;
            break;
        }
    if (http_busy(l->call))
        p->busy--;
    if (l->behind)
        l->behind->before = l->before;
    *(l->before ? &l->before->behind : &p->all) = l->behind;
    free(l->labels);
    http_call_free(l->call);
    event_free(l->timer);
    while (l->n)
        lane_remove(l, l->n - 1);
    free(l);
}

void lane_stat(const struct lane *l, struct lane_stat *ret)
{
    *ret = (struct lane_stat){.packets = l->n, .bytes = l->bytes, .gone = l->gone};
}

int64_t lane_interval_ms(const struct lane *l)
{
    return l->interval_ms;
}

int64_t lane_spoke_ms(const struct lane *l)
{
    return l->spoke_ms;
}
