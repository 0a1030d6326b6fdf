/* post.c: schedules the lanes' requests, logs the state of the hub, and sends the status of sources and labels. */
#include "uplink/post.h"

#include "base/json.h"
#include "base/log.h"
#include "base/order.h"
#include "model/labels.h"
#include "wire/wire.h"

#define BUSY_MAX    64 /* maximum concurrent requests */
#define TIMEOUT_MS  20000
#define ZSTD_LEVEL  3
#define AT_ONCE     16           /* packets in one request */
#define LABELS_BODY (192u << 10) /* of nodes with labels, in one request */

struct post_lane {
    struct post *post;
    struct sender *sender;
    char key[NODE_KEY_MAX];
    bool wants;                /* a turn; then it is in post's line */
    bool sending;              /* its request is one of post's busy ones */
    char *labels;              /* NULL if none */
    bool heard, told, telling; /* the hub accepted a packet; has the labels; labels are being sent */
};

struct post {
    struct event_base *loop;
    struct http *http;
    struct sender_conf conf; /* its text is ours */
    size_t busy;
    size_t n, cap, n_line, cap_line;
    struct post_lane **all, **line; /* line: lanes that wait for a turn */
    bool ok;
    char trouble[256];
    struct wire_enc *enc;
    struct wire_dec *dec;
    struct http_call *sources, *labels;
    char hub_run[32]; /* run id of the hub that got the labels; empty if unknown */
};

static void forget_told(struct post *p)
{
    for (size_t i = 0; i < p->n; i++)
        p->all[i]->told = false;
}

/* Replies to the status of sources and to labels contain the hub's run id: {"run":"…"}. */
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

/* The lanes report an unreachable hub; an older hub does not have the route. */
static void on_sources(void *arg, const struct http_result *r)
{
    if (r->status >= 400)
        log_debug("relay", "the hub refused the status of sources: HTTP %d", r->status);
    take_run(arg, r);
}

/* A hub that was started again has forgotten every label. */
static void on_labels(void *arg, const struct http_result *r)
{
    struct post *p = arg;
    if (r->status >= 400)
        log_debug("relay", "the hub does not take labels: HTTP %d", r->status);
    take_run(p, r);
    for (size_t i = 0; i < p->n; i++) {
        struct post_lane *l = p->all[i];
        l->told |= l->telling && r->status >= 200 && r->status < 500;
        l->telling = false;
    }
}

void post_send_labels(struct post *p)
{
    struct err err = {0};
    AUTO_BUF body = BUF_INIT(2 * (size_t)LABELS_BODY);
    struct json j = json_on(&body);
    bool any = false;
    if (http_busy(p->labels))
        return;
    json_obj(&j, NULL);
    json_obj(&j, "labels");
    for (size_t i = 0; i < p->n; i++) {
        struct post_lane *l = p->all[i];
        l->telling = l->heard && !l->told && body.len < LABELS_BODY;
        if (l->telling)
            labels_json(&j, l->key, l->labels);
        any |= l->telling;
    }
    json_end_obj(&j);
    json_end_obj(&j);
    if (any && http_post(p->labels, p->conf.badge.token, &body, TIMEOUT_MS, &err) < 0)
        log_debug("relay", "hub: %s", err.msg);
}

void lane_labels(struct post_lane *l, const char *labels)
{
    if (labels_same(l->labels, labels))
        return;
    free(l->labels);
    l->labels = labels ? mem_str(labels) : NULL;
    l->told = l->telling = false;
}

void post_send_sources(struct post *p, struct buf *json)
{
    struct err err = {0};
    if (http_post(p->sources, p->conf.badge.token, json, TIMEOUT_MS, &err) < 0)
        log_debug("relay", "hub: %s", err.msg);
}

int post_open(struct post **ret, struct event_base *loop, const struct post_conf *conf, struct err *err)
{
    struct post *p = mem_zero(1, sizeof(*p));
    struct str hub = str_of(conf->hub);
    while (hub.len && hub.p[hub.len - 1] == '/')
        hub.len--;
    p->loop = loop;
    p->conf = (struct sender_conf){.hub = mem_strn(hub.p, hub.len),
                                   .badge.token = mem_str(conf->token),
                                   .ca_file = mem_str(conf->ca_file),
                                   .pin = mem_str(conf->pin),
                                   .proxy = mem_str(conf->proxy),
                                   .most_bytes = LANE_BYTES,
                                   .at_once = AT_ONCE,
                                   .timeout_ms = TIMEOUT_MS};
    p->enc = wire_enc_new(ZSTD_LEVEL);
    p->dec = wire_dec_new();
    int r = sender_check(&p->conf, err); /* a lane's own cannot fail then */
    if (r == 0)
        r = http_new(&p->http, loop, err);
    if (r < 0) {
        post_close(p);
        return r;
    }
    AUTO_FREE char *sources = mem_fmt("%s/api/v1/sources", p->conf.hub);
    struct http_conf hc = {sources, p->conf.ca_file, p->conf.pin, p->conf.proxy};
    p->sources = http_call_new(p->http, &hc, on_sources, p);
    p->labels = http_call_new(p->http, &hc, on_labels, p);
    *ret = p;
    return 0;
}

void post_close(struct post *p)
{
    if (!p)
        return;
    http_call_free(p->sources);
    http_call_free(p->labels);
    http_free(p->http);
    wire_enc_free(p->enc);
    wire_dec_free(p->dec);
    if (p->conf.badge.token)
        explicit_bzero((char *)p->conf.badge.token, strlen(p->conf.badge.token));
    const char *text[] = {p->conf.hub, p->conf.badge.token, p->conf.ca_file, p->conf.pin, p->conf.proxy};
    for (size_t i = 0; i < ARRAY_LEN(text); i++)
        free((char *)text[i]);
    FREE_ALL(p->all, p->line, p);
}

struct wire_enc *post_enc(struct post *p)
{
    return p->enc;
}

struct wire_dec *post_dec(struct post *p)
{
    return p->dec;
}

/* ---- turns ---- */

/* Out of a list that it is in. */
static void drop_lane(struct post_lane **v, size_t *n, const struct post_lane *l)
{
    size_t at = FIRST(*n, i, v[i] == l);
    memmove(&v[at], &v[at + 1], (--*n - at) * sizeof(*v));
}

static void post_turns(struct post *p)
{
    while (p->n_line && p->busy < BUSY_MAX) {
        struct post_lane *l = p->line[0];
        drop_lane(p->line, &p->n_line, l);
        l->wants = false;
        l->sending = sender_go(l->sender);
        p->busy += l->sending;
    }
}

static void on_turn(void *arg)
{
    struct post_lane *l = arg;
    struct post *p = l->post;
    if (l->wants)
        return;
    l->wants = true;
    VEC_ADD(p->line, p->n_line, p->cap_line, l);
    post_turns(p);
}

static void on_done(void *arg)
{
    struct post_lane *l = arg;
    l->post->busy -= l->sending;
    l->sending = false;
    post_turns(l->post);
}

/* ---- replies of the hub ---- */

/* Failures of the hub as a whole are logged once, not by every lane. */
static void on_failed(void *arg, int status, const char *why)
{
    struct post_lane *l = arg;
    struct post *p = l->post;
    char code[32];
    if (status == 400 || status == 413 || status == 422) { /* it rejects only this one */
        log_warn("relay", "%s: the hub refuses it: %s", l->key, why);
        return;
    }
    snprintf(code, sizeof(code), "HTTP %d", status);
    if (status)
        why = code;
    if (strcmp(p->trouble, why) != 0)
        log_warn("relay", "the hub does not take our batches: %s; the newest few minutes are kept", why);
    mem_copy_str(p->trouble, sizeof(p->trouble), why);
    p->ok = l->heard = false;
}

static void on_taken(void *arg)
{
    struct post_lane *l = arg;
    struct post *p = l->post;
    if (!p->ok) {
        log_info("relay", "the hub accepts our batches");
        forget_told(p); /* it may have been started again */
    }
    p->ok = l->heard = true;
    p->trouble[0] = 0;
}

/* ---- lanes ---- */

struct post_lane *lane_new(struct post *p, const char *key, const struct sender_hooks *hooks, void *arg)
{
    static const struct sender_peers peers = {.turn = on_turn, .done = on_done, .taken = on_taken, .failed = on_failed};
    struct post_lane *l = mem_zero(1, sizeof(*l));
    struct sender_conf conf = p->conf;
    struct err err = {0};
    l->post = p;
    mem_copy_str(l->key, sizeof(l->key), key);
    conf.origin = l->key;
    conf.peers = &peers;
    conf.peers_arg = l;
    sender_new(&l->sender, p->loop, p->http, &conf, hooks, arg, &err);
    VEC_ADD(p->all, p->n, p->cap, l);
    return l;
}

void lane_free(struct post_lane *l)
{
    if (!l)
        return;
    struct post *p = l->post;
    if (l->wants)
        drop_lane(p->line, &p->n_line, l);
    drop_lane(p->all, &p->n, l);
    p->busy -= l->sending;
    sender_free(l->sender);
    free(l->labels);
    free(l);
}

struct sender *lane_sender(struct post_lane *l)
{
    return l->sender;
}
