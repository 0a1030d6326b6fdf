/*
 * share_sender.c: forwards data that this hub ingested to the other hubs of the same store (share.h). A hub with
 * clients (as reported in its responses) gets everything twice a second; one without gets changes once a second. A new
 * hub, or one that missed a message, first gets the data of each node (share_state.h).
 */
#include <errno.h>
#include <event2/event.h>

#include "access/auth.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/order.h"
#include "net/http.h"
#include "nodes/feature.h"
#include "nodes/share.h"
#include "nodes/share_state.h"

#define EVERY_MS       500
#define SELDOM_MS      900 /* without clients: every second round */
#define TIMEOUT_MS     5000
#define AGAIN_MS       2000 /* after a failure */
#define FAILED_SAID_MS 1500 /* shorter failures are not logged */
#define KEEP_BYTES     (4u << 20)
#define TOKEN_NAME     "hub_token" /* the setting with the token shared by all hubs */

enum { NO_ANSWER = 1, UNTRUSTED };

struct listener { /* another hub */
    struct peer_hub hub;
    struct http_call *call;
    struct buf waiting;
    int64_t again_ms; /* monotonic, like the others; after a failure */
    int64_t sent_ms;
    int64_t failed_ms; /* failing since; 0: it responds */
    int failure;       /* NO_ANSWER, UNTRUSTED or an HTTP status */
    char why[100];     /* the reason of that failure */
    bool unwatched;    /* it has no clients, as it reported */
    bool takes_all;    /* data kept for it since the last round is complete */
    bool knows;        /* it missed nothing since it got the data of each node */
};

struct share_sender {
    struct hub *h;
    struct http *http;
    struct event *timer;
    char token[64];
    struct listener *v[OTHER_HUBS_MAX];
    size_t n;
};

/* ---- the token ---- */

/* Created by the first hub of a store. Two hubs that start at the same time may create two; both are valid. */
static int own_token(struct hub *h, char text[64], struct err *err)
{
    AUTO_BUF known = BUF_INIT(256);
    struct store_token t = {.created_ms = clock_wall_ms()};
    int r = store_get(h->store, GET_SETTING(TOKEN_NAME, &known), err);

    if (r == 1 && known.len < 64) {
        memcpy(text, known.p, known.len);
        text[known.len] = 0;
        return 0;
    }
    if (r < 0)
        return r;
    token_new(t.id, t.hash, text);
    mem_copy_str(t.role, sizeof(t.role), role_words[ROLE_HUB]);
    mem_copy_str(t.note, sizeof(t.note), "hubs of this store, for each other");
    r = store_put_now(h->store, STORE_TOKEN, &t, err);
    if (r == 0)
        r = store_put_now(h->store, STORE_SETTING, &(struct store_setting){TOKEN_NAME, str_of(text)}, err);
    return r;
}

/* ---- one listener ---- */

static void listener_free(struct listener *l)
{
    http_call_free(l->call);
    buf_fini(&l->waiting);
    free(l);
}

/* Logs a failure when its kind changes: texts of one kind may differ in times. */
static void note_failure(struct listener *l, const struct http_result *r)
{
    int failure = r->status ? r->status : r->untrusted ? UNTRUSTED : NO_ANSWER;
    struct str body = r->body, line = STR("");

    if (failure == l->failure)
        return;
    l->failure = failure;
    str_line(&body, &line);
    if (r->status)
        snprintf(l->why, sizeof(l->why), "HTTP %d: %.*s", r->status, (int)MIN(line.len, 80u), line.p);
    else if (strstr(r->error, "pinned")) /* libcurl's text for CURLE_SSL_PINNEDPUBKEYNOTMATCH */
        snprintf(l->why, sizeof(l->why), "its public key is not the one that it published in the store");
    else
        snprintf(l->why, sizeof(l->why), "%.99s", r->error);
    log_warn("cluster", "cannot forward samples to hub %s: %s", l->hub.url, l->why);
}

static void on_told(void *arg, const struct http_result *r)
{
    struct listener *l = arg;
    bool failed = r->status != 200;

    if (failed) {
        note_failure(l, r);
    } else if (l->failure) {
        log_info("cluster", "forwarding samples to hub %s works again", l->hub.url);
        l->failure = 0;
    }
    l->knows &= !failed;
    l->unwatched = !failed && str_find(r->body, "\"watched\":false") >= 0;
    l->failed_ms = !failed ? 0 : l->failed_ms ? l->failed_ms : clock_mono_ms();
    l->again_ms = failed ? clock_mono_ms() + AGAIN_MS : 0;
}

static void listener_add(struct listener *l, struct str message)
{
    if (l->waiting.len + message.len > KEEP_BYTES) {
        buf_reset(&l->waiting);
        l->knows = false;
    }
    if (l->waiting.max == 0)
        l->waiting = BUF_INIT(SHARE_MAX);
    buf_addstr(&l->waiting, l->waiting.len ? str_drop(message, SHARE_START) : message);
}

static void listener_send(struct hub *h, struct listener *l, const char *token)
{
    if (http_busy(l->call) || clock_mono_ms() < l->again_ms)
        return;
    if (l->unwatched && clock_mono_ms() - l->sent_ms < SELDOM_MS)
        return;
    if (!l->waiting.len && (!l->knows || clock_mono_ms() - l->sent_ms >= AGAIN_MS)) { /* is it running? */
        l->waiting = BUF_INIT(SHARE_MAX);
        share_start(&l->waiting);
    }
    if (!l->waiting.len)
        return;
    l->sent_ms = clock_mono_ms();
    if (!l->knows) {
        nodes_share_state(h, &l->waiting);
        l->knows = true;
    }
    if (http_post(l->call, token, &l->waiting, TIMEOUT_MS, NULL) < 0) {
        l->again_ms = clock_mono_ms() + AGAIN_MS;
        l->knows = false;
    }
    buf_fini(&l->waiting);
    l->waiting = (struct buf){0};
}

/* ---- all of them ---- */

/* A hub has a new key after a reload: then the same listener gets another call. */
static void listener_connect(struct share_sender *t, struct listener *l, const struct peer_hub *hub)
{
    const struct nodes_settings *s = feature_settings(&t->h->conf, &nodes_feature);
    AUTO_FREE char *url = mem_fmt("%s/api/v1/shared", hub->url);
    const char *pin = hub->pin[0] && !s->hubs_ca_file ? hub->pin : NULL;
    const struct http_conf conf = {.url = url, .ca_file = s->hubs_ca_file, .pin = pin, .proxy = "none"};

    http_call_free(l->call);
    l->call = http_call_new(t->http, &conf, on_told, l);
    l->hub = *hub;
}

static struct listener *listener_new(struct share_sender *t, const struct peer_hub *hub)
{
    struct listener *l = NEW(struct listener);

    listener_connect(t, l, hub);
    return l;
}

static const struct peer_hub *find_hub(const struct peer_hub *v, size_t n, const struct peer_hub *hub)
{
    return FIND(v, n, x, x->id == hub->id && strcmp(x->url, hub->url) == 0);
}

/* Updates the list of hubs, with addresses and keys. */
static void look_around(struct share_sender *t)
{
    struct peer_hub now[OTHER_HUBS_MAX];
    size_t n = hub_list_peers(t->h, now, OTHER_HUBS_MAX), kept = 0;

    for (size_t i = 0; i < t->n; i++) {
        struct listener *l = t->v[i];
        const struct peer_hub *hub = find_hub(now, n, &l->hub);
        if (hub && strcmp(hub->pin, l->hub.pin) != 0)
            listener_connect(t, l, hub);
        if (hub)
            t->v[kept++] = l;
        else
            listener_free(l);
    }
    t->n = kept;
    for (size_t i = 0; i < n && t->n < OTHER_HUBS_MAX; i++)
        if (now[i].url[0] && !ANY(t->n, k, t->v[k]->hub.id == now[i].id))
            t->v[t->n++] = listener_new(t, &now[i]);
}

static void on_timer(UNUSED evutil_socket_t fd, UNUSED short what, void *arg)
{
    struct share_sender *t = arg;
    AUTO_BUF changes = {0}, all = {0};

    look_around(t);
    if (t->h->tells != (t->n > 0))
        share_enable(t->h, t->n > 0);
    nodes_take_shared(t->h, false, &changes);
    nodes_take_shared(t->h, true, &all);
    t->h->tells_all = false;
    for (size_t i = 0; i < t->n; i++) {
        struct listener *l = t->v[i];
        const struct buf *message = l->takes_all ? &all : &changes;
        if (message->len)
            listener_add(l, buf_str(message));
        listener_send(t->h, l, t->token);
        l->takes_all = !l->unwatched;
        t->h->tells_all |= l->takes_all;
    }
}

void share_sender_notice(const struct share_sender *t, char out[NOTICE_MAX])
{
    for (size_t i = 0; t && i < t->n && !out[0]; i++) {
        const struct listener *l = t->v[i];
        if (!l->failed_ms || clock_mono_ms() - l->failed_ms <= FAILED_SAID_MS)
            continue;
        if (l->failure == NO_ANSWER)
            snprintf(out, NOTICE_MAX, "hub %.64s does not answer this hub: it does not show what nodes send here",
                     l->hub.url);
        else
            snprintf(out, NOTICE_MAX, "hub %.64s does not show what nodes send here: %s%s", l->hub.url,
                     l->failure == UNTRUSTED ? "this hub refuses its certificate: " : "it answers ", l->why);
    }
}

int share_sender_new(struct hub *h, struct share_sender **ret, struct err *err)
{
    const struct timeval every = {.tv_usec = EVERY_MS * 1000L};
    struct share_sender *t = NEW(struct share_sender, .h = h);
    int r = own_token(h, t->token, err);

    if (r == 0)
        r = http_new(&t->http, h->loop, err);
    t->timer = r == 0 ? event_new(h->loop, -1, EV_PERSIST, on_timer, t) : NULL;
    if (r == 0 && (!t->timer || event_add(t->timer, &every) < 0))
        r = err_set(err, -ENOMEM, "cannot start a timer");
    if (r < 0) {
        share_sender_free(t);
        return r;
    }
    *ret = t; /* data is kept only while there are other hubs */
    return 0;
}

void share_sender_free(struct share_sender *t)
{
    if (!t)
        return;
    for (size_t i = 0; i < t->n; i++)
        listener_free(t->v[i]);
    if (t->timer)
        event_free(t->timer);
    if (t->http)
        http_free(t->http);
    free(t);
}
