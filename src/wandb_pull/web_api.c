/*
 * web_api.c: requests wait in one list, are sent with calls of net/http.h, and return to the list for a retry. Replies
 * are interpreted in web_answer.c, the rate is limited in pace.c.
 */
#include "wandb_pull/web_api.h"

#include <errno.h>
#include <openssl/evp.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/json.h"
#include "base/mem.h"
#include "base/order.h"
#include "base/rand.h"
#include "base/timer.h"
#include "net/http.h"
#include "net/pace.h"
#include "wandb_pull/web_answer.h"

enum {
    IN_FLIGHT = 32,
    IN_FLIGHT_MAX = 256,
    TRIES = 20,
    TRY_MS = 30000,
    WAIT_MS = 2000,
    WAIT_MAX_MS = 60000,
    EASE_MS = 1000, /* after an overload reply: reduce the window at most once in this time */
    REDIRECTS = 5,
    LATER = 32, /* times in_flight: as many may wait for another try before there is no room */
    URL_MAX = 16384,
    HEADERS_MAX = 64,
    BODY_MAX = 256 << 20, /* of a request */
};
#define BYTES (64u << 20)

struct request {
    struct request *next;
    struct wandb *w;
    char *op, *method, *url;
    struct buf body;
    char **headers; /* NULL-terminated; owned */
    size_t n_headers, max;
    int64_t try_ms, due_ms; /* due: not before this */
    uint64_t part;
    int tries, redirects;
    bool question, raw, conflict_again, secret; /* secret: the key goes along */
    bool held;                                  /* its part has to wait */
    wandb_done_fn *done;
    void *arg;
    struct http_call *call; /* while it is in flight */
};

struct wandb {
    struct event_base *base;
    struct http *http;
    char *url, *key, *basic; /* url: without a trailing slash; basic: the header's value after "Basic " */
    char *auth;              /* the header, whole */
    char *ca_file, *proxy;
    int cap, tries;
    int64_t wait_ms, try_ms;
    double window;    /* maximum requests in flight: grows with replies, halves on overload */
    int64_t eased_ms; /* when it was last halved */
    struct pace_parts pace;
    struct request *waiting, **waiting_end; /* in order; some are not due yet */
    struct request *flying[IN_FLIGHT_MAX];
    struct http_call *idle[IN_FLIGHT_MAX]; /* calls that keep their connections */
    int n_flying, n_idle, n_waiting;
    struct timer *timer;
    struct wandb_count count;
};

static void pump(void *wandb);

/* ---- requests ---- */

static void request_free(struct request *q)
{
    if (!q)
        return;
    http_call_free(q->call);
    for (size_t i = 0; i < q->n_headers; i++)
        free(q->headers[i]);
    FREE_ALL(q->headers, q->op, q->method, q->url);
    buf_fini(&q->body);
    free(q);
}

static void add_header(struct request *q, const char *line)
{
    q->headers = mem_grow(q->headers, q->n_headers + 2, sizeof(*q->headers));
    q->headers[q->n_headers++] = mem_str(line);
    q->headers[q->n_headers] = NULL;
}

/* True if scheme, host and port are those of the base address. */
static bool is_home(const struct wandb *w, const char *url)
{
    size_t n = strlen(w->url), slash = 0;
    const char *host = strstr(w->url, "://");

    slash = host ? (size_t)(host + 3 - w->url) + strcspn(host + 3, "/") : n;
    return strncasecmp(url, w->url, slash) == 0 && (!url[slash] || strchr("/?#", url[slash]));
}

static bool url_ok(const char *url)
{
    struct str s = str_of(url);

    return s.len < URL_MAX && str_visible(s, "") && (str_starts(s, "http://") || str_starts(s, "https://"));
}

static int request_new(struct wandb *w, const struct wandb_request *a, struct request **ret, struct err *err)
{
    struct request *q = NEW(struct request, .w = w, .op = mem_str(a->op ? a->op : "request"),
                            .method = mem_str(a->query ? "POST" : a->method), .body = BUF_INIT(BODY_MAX),
                            .max = a->max ? a->max : WANDB_ANSWER_MAX, .try_ms = a->try_ms ? a->try_ms : w->try_ms,
                            .part = a->part ? fnv64(a->part, strlen(a->part)) : 0, .question = a->query != NULL,
                            .raw = a->raw, .conflict_again = a->conflict_again);
    if (a->query) {
        struct str variables = a->variables.len ? a->variables : STR("{}");
        q->url = mem_fmt("%s/graphql", w->url);
        json_print(&q->body, "{'query':%s,'operationName':%s,'variables':%.*s}", a->query, a->op, STR_ARG(variables));
    } else {
        q->url = a->url[0] == '/' ? mem_fmt("%s%s", w->url, a->url) : mem_str(a->url);
        buf_addstr(&q->body, a->body);
    }
    if (strcmp(q->method, "POST") == 0)
        add_header(q, "Content-Type: application/json");
    bool typed = false;
    for (size_t i = 0; a->headers && a->headers[i] && i < HEADERS_MAX; i++) {
        typed = typed || strncasecmp(a->headers[i], "Content-Type:", 13) == 0;
        add_header(q, a->headers[i]);
    }
    if (strcmp(q->method, "PUT") == 0 && !typed)
        add_header(q, "Content-Type:");        /* removes the header: an unsigned type may invalidate the signature */
    q->secret = strcmp(q->method, "PUT") != 0; /* an upload's address is its own permission */
    if (q->body.err || !url_ok(q->url)) {
        int r = q->body.err ? err_set(err, -EMSGSIZE, "%s: more than %d bytes to send", q->op, BODY_MAX)
                            : err_set(err, -EINVAL, "%s: '%.100s' is not an address", q->op, q->url);
        request_free(q);
        return r;
    }
    *ret = q;
    return 0;
}

static void wait_in_line(struct wandb *w, struct request *q)
{
    q->next = NULL;
    *w->waiting_end = q;
    w->waiting_end = &q->next;
    w->n_waiting++;
}

static struct request *leave_line(struct wandb *w, struct request **at)
{
    struct request *q = *at;

    *at = q->next;
    if (!*at)
        w->waiting_end = at;
    q->next = NULL;
    w->n_waiting--;
    return q;
}

/* ---- replies ---- */

/* Nothing that a server sends back may carry the key on into a message. */
static void blot(char *text, const char *secret)
{
    char *at;

    while (secret && secret[0] && (at = strstr(text, secret)))
        memset(at, '*', strlen(secret));
}

static void finish(struct wandb *w, struct request *q, struct wandb_answer *a)
{
    a->tries = q->tries;
    blot(a->err.msg, w->key);
    blot(a->err.msg, w->basic);
    q->done(q->arg, a);
    request_free(q);
}

/* Delay before the next try: doubled each time, plus up to a quarter, so that many requests do not retry together. */
static int64_t back_off(const struct wandb *w, int tries)
{
    int64_t ms = MIN(w->wait_ms << MIN(tries - 1, 20), WAIT_MAX_MS);

    return ms + (int64_t)((double)ms / 4 * rand_unit());
}

static void ease(struct wandb *w, int64_t now)
{
    if (now - w->eased_ms < EASE_MS && w->eased_ms)
        return;
    w->eased_ms = now;
    w->window = MAX(1, w->window / 2);
}

static void try_again(struct wandb *w, struct request *q, const struct http_result *r, int64_t now)
{
    bool busy = r->status == 429 || r->status == 503;

    if (busy || r->status == 0)
        ease(w, now);
    if (busy && r->retry_after_ms)
        pace_parts_hold(&w->pace, q->part, now + r->retry_after_ms);
    q->due_ms = now + (r->retry_after_ms ? r->retry_after_ms : back_off(w, q->tries));
    wait_in_line(w, q);
}

/* A file is elsewhere: the address of it, or NULL. */
static char *moved_to(const struct wandb *w, const struct request *q, const struct http_result *r)
{
    struct str to;
    char *url = NULL;

    if (q->question || strcmp(q->method, "GET") != 0 || q->redirects >= REDIRECTS || r->status < 300 ||
        r->status >= 400 || !http_header(r, "Location", &to) || !to.len)
        return NULL;
    if (to.p[0] == '/' && is_home(w, q->url)) {
        size_t n = (size_t)(strstr(w->url, "://") + 3 - w->url);
        url = mem_fmt("%.*s%.*s", (int)(n + strcspn(w->url + n, "/")), w->url, STR_ARG(to));
    } else {
        url = mem_strn(to.p, to.len);
    }
    if (!url_ok(url)) {
        free(url);
        url = NULL;
    }
    return url;
}

static void on_answer(void *arg, const struct http_result *r)
{
    struct request *q = arg;
    struct wandb *w = q->w;
    int64_t now = clock_mono_ms();
    struct wandb_answer a = {.status = r->status, .bytes = r->body.len};
    struct str left = {0}, reset = {0};
    char *url;

    size_t at = FIRST((size_t)w->n_flying, i, w->flying[i] == q);
    if (at < (size_t)w->n_flying)
        w->flying[at] = w->flying[--w->n_flying];
    pace_parts_back(&w->pace, q->part);
    w->idle[w->n_idle++] = q->call; /* its next use is by the next request; r is read before that */
    q->call = NULL;
    if (http_header(r, "RateLimit-Remaining", &left) && http_header(r, "RateLimit-Reset", &reset))
        pace_parts_update(&w->pace, q->part, now, left, reset);
    if (!r->too_long && q->tries < w->tries && wandb_is_retryable(r->status, q->conflict_again)) {
        try_again(w, q, r, now);
    } else if ((url = moved_to(w, q, r))) {
        free(q->url);
        q->url = url;
        q->redirects++;
        q->tries--; /* not a failure */
        wait_in_line(w, q);
    } else {
        if (r->too_long)
            err_set(&a.err, -EMSGSIZE, "%s: %s", q->op, r->error);
        else if (r->status == 0)
            err_set(&a.err, -ETIMEDOUT, "%s: %s (%d %s)", q->op, r->error, q->tries, q->tries == 1 ? "try" : "tries");
        else if (q->question && !q->raw)
            wandb_answer_data(q->op, r->status, r->body, &a.data, &a.err);
        else
            wandb_answer_status(q->op, r->status, r->body, &a.err);
        if (!q->question || q->raw)
            a.body = r->body;
        if (a.err.code == 0)
            w->window = MIN(w->cap, w->window + 1 / w->window);
        finish(w, q, &a);
        json_decref(a.data);
    }
    pump(w);
}

/* ---- sending ---- */

static void fly(struct wandb *w, struct request *q, int64_t now)
{
    struct http_conf conf = {.url = q->url, .ca_file = w->ca_file, .proxy = w->proxy};
    const char *lines[HEADERS_MAX + 3];
    size_t n = 0;
    struct err err = {0};

    for (; n < q->n_headers && n < HEADERS_MAX + 1; n++)
        lines[n] = q->headers[n];
    if (w->auth && q->secret && is_home(w, q->url))
        lines[n++] = w->auth;
    lines[n] = NULL;
    q->tries++;
    q->call = w->n_idle ? w->idle[--w->n_idle] : http_call_new(w->http, &conf, NULL, NULL);
    http_call_for(q->call, on_answer, q);
    w->count.sent++;
    w->count.again += q->tries > 1;
    pace_parts_sent(&w->pace, q->part, now);
    if (http_send(q->call,
                  &(struct http_request){.method = q->method,
                                         .url = q->url,
                                         .headers = lines,
                                         .body = buf_str(&q->body),
                                         .body_max = q->max,
                                         .timeout_ms = q->try_ms,
                                         .unpack = true},
                  &err) < 0) {
        w->idle[w->n_idle++] = q->call;
        q->call = NULL;
        pace_parts_back(&w->pace, q->part);
        q->due_ms = now + back_off(w, q->tries);
        wait_in_line(w, q);
        return;
    }
    w->flying[w->n_flying++] = q;
    w->count.in_flight_peak = MAX(w->count.in_flight_peak, w->n_flying);
}

static void pump(void *wandb)
{
    struct wandb *w = wandb;
    int64_t now = clock_mono_ms(), wake = INT64_MAX;
    struct request **at = &w->waiting;

    while (*at && w->n_flying < (int)w->window) {
        if ((*at)->due_ms > now) {
            wake = MIN(wake, (*at)->due_ms);
            at = &(*at)->next;
            continue;
        }
        int64_t wait = pace_parts_wait(&w->pace, (*at)->part, now);
        (*at)->held = wait > 0;
        if (wait > 0) {
            wake = MIN(wake, now + wait);
            if (w->pace.one)
                break;
            at = &(*at)->next; /* others may go */
            continue;
        }
        fly(w, leave_line(w, at), now);
    }
    if (wake == INT64_MAX)
        return; /* the next reply wakes us */
    timer_after(w->timer, MAX(1, wake - now));
}

int wandb_send(struct wandb *w, const struct wandb_request *a, wandb_done_fn *done, void *arg, struct err *err)
{
    struct request *q = NULL;
    int r = request_new(w, a, &q, err);

    if (!q)
        return r;
    q->done = done;
    q->arg = arg;
    wait_in_line(w, q);
    pump(w);
    return 0;
}

void wandb_cancel(struct wandb *w)
{
    struct wandb_answer a = {0};

    err_set(&a.err, -ECANCELED, "given up");
    while (w->waiting)
        finish(w, leave_line(w, &w->waiting), &a);
    while (w->n_flying) {
        struct request *q = w->flying[--w->n_flying];
        pace_parts_back(&w->pace, q->part);
        finish(w, q, &a);
    }
}

int wandb_room(const struct wandb *w)
{
    int64_t now = clock_mono_ms();
    int due = 0;

    if (w->n_waiting >= LATER * w->cap)
        return 0;
    /* Requests that wait for a retry, or for the rate limit of their part only, do not block others. */
    for (const struct request *q = w->waiting; q; q = q->next)
        due += q->due_ms <= now && (w->pace.one || !q->held);
    return MAX(0, (int)w->window - w->n_flying - due);
}

struct wandb_count wandb_counts(const struct wandb *w)
{
    struct wandb_count c = w->count;

    c.bytes_peak = http_held_peak(w->http);
    return c;
}

/* ---- waited for ---- */

struct waited {
    bool done;
    json_t **data;
    struct buf *body;
    struct err *err;
    int r;
};

static void on_waited(void *arg, const struct wandb_answer *a)
{
    struct waited *d = arg;

    d->done = true;
    d->r = a->err.code;
    if (d->r < 0) {
        err_set(d->err, d->r, "%s", a->err.msg);
        return;
    }
    if (d->data)
        *d->data = json_incref(a->data);
    if (d->body) {
        d->body->max = MAX(d->body->max, a->body.len + 1);
        buf_addstr(d->body, a->body);
    }
}

int wandb_wait(struct wandb *w, const struct wandb_request *q, json_t **ret_data, struct buf *ret_body, struct err *err)
{
    struct waited d = {.data = ret_data, .body = ret_body, .err = err};
    int r = wandb_send(w, q, on_waited, &d, err);

    while (r == 0 && !d.done)
        if (event_base_loop(w->base, EVLOOP_ONCE) != 0)
            return err_set(err, -EIO, "%s: the event loop ended", q->op);
    return r < 0 ? r : d.r;
}

/* ---- the client ---- */

static void set_key(struct wandb *w, const char *key)
{
    AUTO_FREE char *plain = mem_fmt("api:%s", key);
    size_t n = strlen(plain);

    w->key = mem_str(key);
    w->basic = mem_alloc(n / 3 * 4 + 5);
    EVP_EncodeBlock((unsigned char *)w->basic, (const unsigned char *)plain, (int)n);
    w->auth = mem_fmt("Authorization: Basic %s", w->basic);
    explicit_bzero(plain, n);
}

static void wipe(char *text)
{
    if (text)
        explicit_bzero(text, strlen(text));
    free(text);
}

struct event_base *wandb_base(const struct wandb *w)
{
    return w->base;
}

int wandb_new(struct wandb **ret, struct event_base *base, const struct wandb_conf *conf, struct err *err)
{
    struct http *http = NULL;

    if (!conf->base || !url_ok(conf->base) || strchr(conf->base, '@') || strpbrk(conf->base, "?#"))
        return err_set(err, -EINVAL, "'%.100s' is not the address of a W&B server, as https://api.wandb.ai",
                       conf->base && !strchr(conf->base, '@') ? conf->base : "");
    int r = http_new(&http, base, err);
    if (r < 0)
        return r;
    size_t n = strlen(conf->base);
    while (n > 0 && conf->base[n - 1] == '/')
        n--;
    struct wandb *w =
        NEW(struct wandb, .base = base, .http = http, .url = mem_strn(conf->base, n), .ca_file = mem_str(conf->ca_file),
            .proxy = mem_str(conf->proxy), .cap = MIN(conf->in_flight > 0 ? conf->in_flight : IN_FLIGHT, IN_FLIGHT_MAX),
            .tries = conf->tries > 0 ? conf->tries : TRIES, .wait_ms = conf->wait_ms > 0 ? conf->wait_ms : WAIT_MS,
            .try_ms = conf->try_ms > 0 ? conf->try_ms : TRY_MS);
    w->waiting_end = &w->waiting;
    w->window = w->cap;
    if (conf->key && conf->key[0])
        set_key(w, conf->key);
    pace_parts_init(&w->pace, conf->rate);
    http_hold(http, conf->bytes ? conf->bytes : BYTES);
    w->timer = timer_new(base, pump, w);
    *ret = w;
    return 0;
}

void wandb_free(struct wandb *w)
{
    if (!w)
        return;
    while (w->waiting)
        request_free(leave_line(w, &w->waiting));
    for (int i = 0; i < w->n_flying; i++)
        request_free(w->flying[i]);
    for (int i = 0; i < w->n_idle; i++)
        http_call_free(w->idle[i]);
    http_free(w->http);
    timer_free(w->timer);
    pace_parts_fini(&w->pace);
    wipe(w->key);
    wipe(w->basic);
    wipe(w->auth);
    FREE_ALL(w->url, w->ca_file, w->proxy);
    free(w);
}
