/*
 * carrier_http.c: sends a message with one POST: to Slack's incoming webhook, another webhook, or ntfy. Does not
 * follow redirects.
 */
#include <openssl/evp.h>
#include <openssl/hmac.h>

#include "net/http.h"
#include "notify/carrier.h"

#define ANSWER_MAX (64u << 10)
#define BODY_MAX   (256u << 10)

struct load {
    enum channel_type type;
    struct http_call *call;
    struct buf body;
    carried_fn *done;
    void *arg;
};

static void load_stop(struct load *l)
{
    if (!l)
        return;
    http_call_free(l->call);
    buf_fini(&l->body);
    free(l);
}

/* Describes the error without the response text, which may contain the address. Exception: one word from Slack. */
static void answer_words(enum channel_type type, const struct http_result *r, char out[CARRIER_ERROR_MAX])
{
    struct str word = str_trim(r->body);
    bool plain = type == CHANNEL_SLACK && word.len > 0 && word.len < 50;

    for (size_t i = 0; i < word.len && plain; i++)
        plain = (word.p[i] >= 'a' && word.p[i] <= 'z') || word.p[i] == '_';
    if (r->status >= 300 && r->status < 400)
        snprintf(out, CARRIER_ERROR_MAX, "it answers with a redirect (%d), which is not followed", r->status);
    else
        snprintf(out, CARRIER_ERROR_MAX, "it answers with status %d%s%.*s", r->status, plain ? ": " : "",
                 plain ? (int)word.len : 0, word.len ? word.p : "");
}

static void on_answer(void *arg, const struct http_result *r)
{
    struct load *l = arg, was = *l;
    struct delivery_state c = {.how = CARRIED_AGAIN, .wait_ms = r->retry_after_ms};
    char error[CARRIER_ERROR_MAX] = "";

    if (r->status >= 200 && r->status < 300)
        c.how = CARRIED_SENT;
    else if (r->status)
        answer_words(l->type, r, error);
    else
        mem_copy_str(error, sizeof(error), r->error);
    if (r->status == 400 || r->status == 413 || r->status == 422)
        c.how = CARRIED_REFUSED;
    c.error = error;
    load_stop(l);
    was.done(was.arg, &c);
}

/* Additional headers. lines must have room for 4. */
static void headers_of(const struct channel *c, const struct message *m, struct str secret, struct str body,
                       struct buf *line, const char **lines)
{
    static const char *const priority[SEVERITIES] = {"Priority: 2", "Priority: 3", "Priority: 5"};
    unsigned char mac[EVP_MAX_MD_SIZE];
    unsigned n = 0;
    size_t at = 0;

    lines[at++] = c->type == CHANNEL_NTFY ? "Content-Type: text/plain; charset=utf-8"
                                          : "Content-Type: application/json; charset=utf-8";
    if (c->type == CHANNEL_NTFY)
        lines[at++] = priority[m->severity];
    if (c->type == CHANNEL_WEBHOOK && secret.len &&
        HMAC(EVP_sha256(), secret.p, (int)secret.len, (const unsigned char *)body.p, body.len, mac, &n)) {
        buf_adds(line, "X-Muster-Signature: sha256=");
        buf_addx(line, mac, n);
        lines[at++] = line->p;
    } else if (c->type == CHANNEL_NTFY && secret.len) {
        buf_addf(line, "Authorization: Bearer %.*s", STR_ARG(secret));
        lines[at++] = line->p;
    }
    lines[at] = NULL;
}

static int load_send(struct load **ret, struct carriers *s, const struct channel *c, const struct message *m,
                     carried_fn *done, void *arg, struct err *err)
{
    AUTO_BUF url = {0}, secret = {0}, line = BUF_INIT(8192);
    const char *lines[5];
    int r = s->http ? 0 : http_new(&s->http, s->h->loop, err);

    if (r == 0)
        r = channel_url(c, &url, err);
    if (r == 0)
        r = channel_secret(c, &secret, err);
    if (r < 0)
        return r;
    struct load *l = NEW(struct load, .type = c->type, .body = BUF_INIT(BODY_MAX), .done = done, .arg = arg);
    channel_body(c, m, &l->body);
    headers_of(c, m, buf_str(&secret), buf_str(&l->body), &line, lines);
    l->call = http_call_new(s->http, &(struct http_conf){.url = url.p, .ca_file = c->ca_file}, on_answer, l);
    struct http_request q = {.method = "POST",
                             .headers = lines,
                             .body = buf_str(&l->body),
                             .body_max = ANSWER_MAX,
                             .timeout_ms = CARRIER_LIMIT_MS};
    r = http_send(l->call, &q, err);
    if (r < 0)
        load_stop(l);
    else
        *ret = l;
    return r;
}

const struct carrier carrier_http = {.send = load_send, .stop = load_stop};
