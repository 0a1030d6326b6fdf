/* http.c: libcurl's multi interface on libevent, by its socket and timer callbacks. Knows nothing of hubs or batches.
 */
#include "net/http.h"

#include <errno.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/mem.h"
#include "base/timer.h"
#include "net/curl_lib.h"

#define CONNECT_MS 5000

struct http {
    struct curl_lib curl;
    struct event_base *base;
    CURLM *multi;
    struct timer *timer;
    size_t held, held_max, held_peak; /* bytes of answers that are not done with */
    struct http_call *lead;           /* the one that may read on although there is no room */
    struct http_call *paused;         /* the one that waits longest first */
};

struct http_call {
    struct http *http;
    const struct curl_lib *curl; /* http's */
    CURL *easy;
    struct curl_slist *headers;
    struct buf body, answer, head;
    char error[CURL_ERROR_SIZE];
    int64_t begun_mono;
    size_t held;
    bool busy, paused;
    struct http_call *next; /* of those that are paused */
    http_done_fn *done;
    void *arg;
};

/* ---- how much is held ---- */

static void call_pause(struct http_call *c)
{
    struct http_call **at = &c->http->paused;

    while (*at)
        at = &(*at)->next;
    *at = c;
    c->paused = true;
}

/* It is not under way any more; its bytes may still be held. */
static void call_stop(struct http_call *c)
{
    struct http_call **at = &c->http->paused;

    if (!c->busy)
        return;
    c->busy = false;
    c->curl->multi_remove_handle(c->http->multi, c->easy);
    if (c->http->lead == c)
        c->http->lead = NULL;
    if (!c->paused)
        return;
    while (*at != c)
        at = &(*at)->next;
    *at = c->next;
    c->next = NULL;
    c->paused = false;
}

/* Whoever waits for room reads on; it is paused again when there is none after all, and another one leads. */
static void http_resume(struct http *h)
{
    struct http_call *c;
    int n = 0;

    for (c = h->paused; c; c = c->next)
        n++;
    while (n-- > 0 && (c = h->paused) && (h->held < h->held_max || !h->lead)) {
        h->paused = c->next;
        c->next = NULL;
        c->paused = false;
        h->curl.easy_pause(c->easy, CURLPAUSE_CONT);
    }
}

void http_hold(struct http *h, size_t bytes)
{
    h->held_max = bytes;
}

size_t http_held_peak(const struct http *h)
{
    return h->held_peak;
}

/* ---- finished transfers ---- */

static bool is_untrusted(CURLcode code)
{
    return code == CURLE_PEER_FAILED_VERIFICATION || code == CURLE_SSL_PINNEDPUBKEYNOTMATCH ||
           code == CURLE_SSL_CONNECT_ERROR || code == CURLE_SSL_CACERT_BADFILE;
}

static void call_finish(struct http_call *c, CURLcode code)
{
    struct http_result r = {.took_ms = clock_mono_ms() - c->begun_mono};
    struct http *h = c->http;
    curl_off_t after = 0;
    long status = 0;

    call_stop(c);
    if (code == CURLE_OK && !c->answer.err) {
        c->curl->easy_getinfo(c->easy, CURLINFO_RESPONSE_CODE, &status);
        r.status = (int)status;
        if (c->curl->easy_getinfo(c->easy, CURLINFO_RETRY_AFTER, &after) == CURLE_OK && after > 0)
            r.retry_after_ms = (int64_t)MIN(after, 3600) * 1000;
    } else if (c->answer.err) {
        r.too_long = true;
        snprintf(r.error, sizeof(r.error), "the answer is longer than %zu bytes", c->answer.max);
    } else {
        r.untrusted = is_untrusted(code);
        snprintf(r.error, sizeof(r.error), "%s", curl_lib_reason(c->curl, code, c->error));
    }
    AUTO_BUF answer = c->answer; /* ours, and gone when it is done with: a large one is not kept for the next */
    size_t held = c->held;
    c->answer = BUF_INIT(answer.max);
    c->held = 0;
    r.body = buf_str(&answer);
    r.head = buf_str(&c->head);
    buf_fini(&c->body);
    c->body = (struct buf){0};
    c->done(c->arg, &r); /* may post again, or free c */
    h->held -= held;
    http_resume(h);
}

static void http_sweep(struct http *h)
{
    CURLMsg *m;
    int left;

    while ((m = h->curl.multi_info_read(h->multi, &left))) {
        struct http_call *c = NULL;
        if (m->msg != CURLMSG_DONE)
            continue;
        CURLcode code = m->data.result;
        h->curl.easy_getinfo(m->easy_handle, CURLINFO_PRIVATE, (char **)&c);
        call_finish(c, code);
    }
}

/* ---- libcurl's wishes, as events ---- */

static void on_socket(evutil_socket_t fd, short what, void *arg)
{
    struct http *h = arg;
    int running, bits = (what & EV_READ ? CURL_CSELECT_IN : 0) | (what & EV_WRITE ? CURL_CSELECT_OUT : 0);

    h->curl.multi_socket_action(h->multi, fd, bits, &running);
    http_sweep(h);
}

static void on_timer(void *arg)
{
    struct http *h = arg;
    int running;

    h->curl.multi_socket_action(h->multi, CURL_SOCKET_TIMEOUT, 0, &running);
    http_sweep(h);
}

static int want_socket(UNUSED CURL *easy, curl_socket_t fd, int what, void *arg, void *socketp)
{
    struct http *h = arg;
    struct event *e = socketp;
    short bits = (short)(EV_PERSIST | (what & CURL_POLL_IN ? EV_READ : 0) | (what & CURL_POLL_OUT ? EV_WRITE : 0));

    if (e) {
        event_free(e);
        h->curl.multi_assign(h->multi, fd, NULL);
    }
    if (what != CURL_POLL_REMOVE) {
        e = event_new(h->base, fd, bits, on_socket, h);
        h->curl.multi_assign(h->multi, fd, e);
        event_add(e, NULL);
    }
    return 0;
}

static int want_timer(UNUSED CURLM *multi, long ms, void *arg)
{
    struct http *h = arg;

    if (ms >= 0)
        timer_after(h->timer, ms);
    else
        timer_stop(h->timer);
    return 0;
}

int http_new(struct http **ret, struct event_base *base, struct err *err)
{
    struct http *h = mem_zero(1, sizeof(*h));
    int r = curl_lib_load(&h->curl, err);

    if (r == 0 && (h->curl.global_init(CURL_GLOBAL_DEFAULT) != 0 || !(h->multi = h->curl.multi_init())))
        r = err_set(err, -ENOMEM, "cannot start libcurl");
    if (r < 0) {
        free(h);
        return r;
    }
    h->base = base;
    h->timer = timer_new(base, on_timer, h);
    h->curl.multi_setopt(h->multi, CURLMOPT_SOCKETFUNCTION, want_socket);
    h->curl.multi_setopt(h->multi, CURLMOPT_SOCKETDATA, h);
    h->curl.multi_setopt(h->multi, CURLMOPT_TIMERFUNCTION, want_timer);
    h->curl.multi_setopt(h->multi, CURLMOPT_TIMERDATA, h);
    h->curl.multi_setopt(h->multi, CURLMOPT_MAXCONNECTS, 64L);
    *ret = h;
    return 0;
}

void http_free(struct http *h)
{
    if (!h)
        return;
    h->curl.multi_cleanup(h->multi); /* closes kept connections, which calls want_socket */
    timer_free(h->timer);
    h->curl.global_cleanup();
    free(h);
}

/* ---- calls ---- */

static size_t take_answer(char *p, size_t size, size_t n, void *arg)
{
    struct http_call *c = arg;
    struct http *h = c->http;

    if (h->held_max && h->held + size * n > h->held_max) {
        if (!h->lead)
            h->lead = c;
        if (h->lead != c) {
            call_pause(c);
            return CURL_WRITEFUNC_PAUSE;
        }
    }
    if (buf_add(&c->answer, p, size * n) < 0)
        return 0;
    c->held += size * n;
    h->held += size * n;
    h->held_peak = MAX(h->held_peak, h->held);
    return size * n;
}

/* The lines of the last answer: one that only says to go on, or a proxy's, comes before it. */
static size_t take_head(char *p, size_t size, size_t n, void *arg)
{
    struct http_call *c = arg;

    if (str_starts(str_n(p, size * n), "HTTP/"))
        buf_reset(&c->head);
    buf_add(&c->head, p, size * n);
    return size * n;
}

static void call_trust(struct http_call *c, const struct http_conf *conf)
{
    if (conf->ca_file)
        c->curl->easy_setopt(c->easy, CURLOPT_CAINFO, conf->ca_file);
    if (!conf->pin)
        return;
    /* The key itself is the proof: who signed the certificate and which name it has do not matter then. */
    c->curl->easy_setopt(c->easy, CURLOPT_PINNEDPUBLICKEY, conf->pin);
    if (!conf->ca_file) {
        c->curl->easy_setopt(c->easy, CURLOPT_SSL_VERIFYPEER, 0L);
        c->curl->easy_setopt(c->easy, CURLOPT_SSL_VERIFYHOST, 0L);
    }
}

struct http_call *http_call_new(struct http *h, const struct http_conf *conf, http_done_fn *done, void *arg)
{
    CURL *e = h->curl.easy_init();
    struct http_call *c = NEW(struct http_call, .http = h, .curl = &h->curl, .easy = e, .done = done, .arg = arg,
                              .answer = BUF_INIT(HTTP_BODY_MAX), .head = BUF_INIT(HTTP_HEAD_MAX));

    if (!e)
        abort(); /* out of memory, as in base/mem.c */
    h->curl.easy_setopt(e, CURLOPT_PRIVATE, c);
    h->curl.easy_setopt(e, CURLOPT_URL, conf->url);
    h->curl.easy_setopt(e, CURLOPT_ERRORBUFFER, c->error);
    h->curl.easy_setopt(e, CURLOPT_NOSIGNAL, 1L);
    h->curl.easy_setopt(e, CURLOPT_NOPROGRESS, 1L);
    h->curl.easy_setopt(e, CURLOPT_USERAGENT, "muster-agent/" MUSTER_VERSION);
    h->curl.easy_setopt(e, CURLOPT_WRITEFUNCTION, take_answer);
    h->curl.easy_setopt(e, CURLOPT_WRITEDATA, c);
    h->curl.easy_setopt(e, CURLOPT_CONNECTTIMEOUT_MS, (long)CONNECT_MS);
    h->curl.easy_setopt(e, CURLOPT_TCP_KEEPALIVE, 1L);
    h->curl.easy_setopt(e, CURLOPT_TCP_NODELAY, 1L);
    h->curl.easy_setopt(e, CURLOPT_HTTP_VERSION, (long)CURL_HTTP_VERSION_1_1);
    h->curl.easy_setopt(e, CURLOPT_FOLLOWLOCATION, 0L);
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored                                                                                         \
    "-Wdeprecated-declarations" /* its successor is newer than the oldest libcurl we run on */
    h->curl.easy_setopt(e, CURLOPT_PROTOCOLS, (long)(CURLPROTO_HTTP | CURLPROTO_HTTPS));
#pragma GCC diagnostic pop
    if (conf->proxy)
        h->curl.easy_setopt(e, CURLOPT_PROXY, strcmp(conf->proxy, "none") == 0 ? "" : conf->proxy);
    call_trust(c, conf);
    return c;
}

void http_call_for(struct http_call *c, http_done_fn *done, void *arg)
{
    c->done = done;
    c->arg = arg;
}

void http_call_free(struct http_call *c)
{
    if (!c)
        return;
    http_cancel(c);
    c->curl->easy_cleanup(c->easy);
    c->curl->slist_free_all(c->headers);
    buf_fini(&c->answer);
    buf_fini(&c->head);
    free(c);
}

bool http_busy(const struct http_call *c)
{
    return c->busy;
}

void http_cancel(struct http_call *c)
{
    call_stop(c);
    c->http->held -= c->held;
    c->held = 0;
    buf_fini(&c->body);
    c->body = (struct buf){0};
    http_resume(c->http);
}

static int call_begin(struct http_call *c, int64_t timeout_ms, struct err *err)
{
    buf_reset(&c->answer);
    buf_reset(&c->head);
    c->error[0] = 0;
    c->curl->easy_setopt(c->easy, CURLOPT_TIMEOUT_MS, (long)timeout_ms);
    c->begun_mono = clock_mono_ms();
    CURLMcode code = c->curl->multi_add_handle(c->http->multi, c->easy);
    if (code != CURLM_OK)
        return err_set(err, -EIO, "%s", c->curl->multi_strerror(code));
    c->busy = true;
    return 0;
}

/* What is asked, but for whom it is from. */
static int call_send(struct http_call *c, const struct http_request *q, struct err *err)
{
    bool get = strcmp(q->method, "GET") == 0;

    c->answer.max = q->body_max;
    c->curl->slist_free_all(c->headers);
    c->headers = NULL;
    for (size_t i = 0; q->headers && q->headers[i]; i++)
        c->headers = c->curl->slist_append(c->headers, q->headers[i]);
    if (!get)
        c->headers = c->curl->slist_append(c->headers, "Expect:"); /* no round trip to ask whether we may */
    c->curl->easy_setopt(c->easy, CURLOPT_HTTPHEADER, c->headers);
    if (get) {
        c->curl->easy_setopt(c->easy, CURLOPT_HTTPGET, 1L);
    } else {
        c->curl->easy_setopt(c->easy, CURLOPT_POST, 1L);
        c->curl->easy_setopt(c->easy, CURLOPT_POSTFIELDS, q->body.len ? q->body.p : "");
        c->curl->easy_setopt(c->easy, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)q->body.len);
    }
    c->curl->easy_setopt(c->easy, CURLOPT_CUSTOMREQUEST, get ? NULL : q->method);
    c->curl->easy_setopt(c->easy, CURLOPT_ACCEPT_ENCODING, q->unpack ? "" : NULL);
    if (q->url)
        c->curl->easy_setopt(c->easy, CURLOPT_URL, q->url);
    return call_begin(c, q->timeout_ms, err);
}

int http_post(struct http_call *c, const char *token, struct buf *body, int64_t timeout_ms, struct err *err)
{
    AUTO_FREE char *bearer = token ? mem_fmt("Authorization: Bearer %s", token) : NULL;
    const char *const headers[] = {"Content-Type: application/octet-stream", "Accept: text/plain", bearer, NULL};

    http_cancel(c);
    c->body = *body;
    *body = (struct buf){.max = body->max};
    return call_send(c,
                     &(struct http_request){.method = "POST",
                                            .headers = headers,
                                            .body = buf_str(&c->body),
                                            .body_max = HTTP_BODY_MAX,
                                            .timeout_ms = timeout_ms},
                     err);
}

int http_send(struct http_call *c, const struct http_request *q, struct err *err)
{
    http_cancel(c);
    c->curl->easy_setopt(c->easy, CURLOPT_USERAGENT, "muster/" MUSTER_VERSION);
    c->curl->easy_setopt(c->easy, CURLOPT_HEADERFUNCTION, take_head);
    c->curl->easy_setopt(c->easy, CURLOPT_HEADERDATA, c);
    return call_send(c, q, err);
}

int http_get(struct http_call *c, const char *url, const char *const *headers, size_t body_max, int64_t timeout_ms,
             struct err *err)
{
    return http_send(c,
                     &(struct http_request){.method = "GET",
                                            .url = url,
                                            .headers = headers,
                                            .body_max = body_max,
                                            .timeout_ms = timeout_ms},
                     err);
}

bool http_header(const struct http_result *r, const char *name, struct str *ret)
{
    struct str rest = r->head, line;

    while (str_line(&rest, &line)) {
        int colon = str_find(line, ":");
        if (colon > 0 && str_eq_nocase(str_n(line.p, (size_t)colon), name)) {
            *ret = str_trim(str_n(line.p + colon + 1, line.len - (size_t)colon - 1));
            return true;
        }
    }
    return false;
}
