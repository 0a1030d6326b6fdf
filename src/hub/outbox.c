/* outbox.c: a queue for each channel, and whatever carries its first message: a request, or a program. */
#include "hub/outbox.h"

#include <errno.h>
#include <inttypes.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <stdlib.h>
#include <sys/wait.h>

#include "alert/channel.h"
#include "alert/note.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/zone.h"
#include "link/http.h"
#include "link/process.h"

#define EVERY_MS   1000
#define LIMIT_MS   15000 /* for an answer, and for a program */
#define ANSWER_MAX (64u << 10)
#define BODY_MAX   (256u << 10)
#define LONGEST_MS 300000 /* between two tries */
#define OLDEST_MS  (3 * 86400000ll)
#define QUEUE_MAX  1000 /* of a channel; then the oldest goes */
#define ERROR_MAX  200

struct box {
    struct outbox *o;
    char name[CHANNEL_NAME_MAX + 1];
    struct message **v; /* oldest first */
    size_t n, cap;
    int64_t sending; /* id of the one under way; 0: none */
    struct http_call *call;
    struct process *process;
    bool late;       /* the program was told to end */
    struct buf body; /* of the request under way */
    int64_t began_mono, next_mono;
    int tries;
    char error[ERROR_MAX]; /* of the last try; "": it went well, or there was none */
    int64_t since_ms;      /* it fails since */
};

struct outbox {
    struct hub *h;
    struct channels *channels;
    struct http *http;
    struct box **v;
    size_t n, cap;
    struct channel_now *now;
    int64_t last_id;
};

static struct channels *channels_of(const struct hub_conf *conf, struct err *err)
{
    struct channels *c = channels_new();

    if (channels_read(c, &conf->channels, err) == 0)
        return c;
    channels_free(c);
    return NULL;
}

int outbox_check(const struct hub_conf *conf, struct err *err)
{
    struct channels *c = channels_of(conf, err);

    channels_free(c);
    return c ? 0 : -EINVAL;
}

struct outbox *outbox_new(struct hub *h)
{
    struct outbox *o = mem_zero(1, sizeof(*o));

    o->h = h;
    o->channels = channels_new();
    return o;
}

/* What is under way is not waited for. A program is told to end and, since the loop may be gone, not listened to. */
static void box_stop(struct box *b)
{
    http_call_free(b->call);
    b->call = NULL;
    buf_fini(&b->body);
    b->sending = 0;
}

void outbox_free(struct outbox *o)
{
    if (!o)
        return;
    for (size_t i = 0; i < o->n; i++) {
        struct box *b = o->v[i];
        box_stop(b);
        for (size_t k = 0; k < b->n; k++)
            free(b->v[k]);
        free(b->v);
        if (b->process) {
            b->o = NULL; /* its end frees it */
            process_stop(b->process);
        } else {
            free(b);
        }
    }
    http_free(o->http);
    channels_free(o->channels);
    free(o->v);
    free(o->now);
    free(o);
}

static struct box *box_of(struct outbox *o, const char *name)
{
    for (size_t i = 0; i < o->n; i++)
        if (strcmp(o->v[i]->name, name) == 0)
            return o->v[i];
    VEC_ROOM(o->v, o->n, o->cap);
    struct box *b = mem_zero(1, sizeof(*b));
    b->o = o;
    mem_copy_str(b->name, sizeof(b->name), name);
    o->v[o->n++] = b;
    return b;
}

void outbox_set(struct outbox *o)
{
    struct err err = {0};
    struct channels *c = channels_of(&o->h->conf, &err);
    size_t n;

    if (!c)
        return; /* checked before: cannot be */
    channels_free(o->channels);
    o->channels = c;
    const struct channel *v = channels_all(c, &n);
    for (size_t i = 0; i < n; i++)
        box_of(o, v[i].name)->next_mono = 0; /* what failed may be mended */
}

const struct channels *outbox_channels(const struct outbox *o)
{
    return o->channels;
}

int64_t outbox_next_id(struct outbox *o)
{
    return ++o->last_id;
}

/* ---- in and out ---- */

static void gone(void *arg, int result)
{
    (void)arg;
    if (result < 0)
        log_warn("channel", "that a message was sent cannot be noted, it may come again: %s", strerror(-result));
}

static void box_drop(struct box *b, size_t at)
{
    struct note n = {.kind = NOTE_MESSAGE, .id = b->v[at]->id, .gone = true};

    store_notes_put(b->o->h->store, &n, 1, gone, NULL);
    free(b->v[at]);
    memmove(b->v + at, b->v + at + 1, (--b->n - at) * sizeof(*b->v));
}

static void give_up(struct box *b, size_t at, const char *why)
{
    log_warn("channel", "%s: message %" PRId64 " is given up, %s: %s", b->name, b->v[at]->id, why, b->v[at]->title);
    box_drop(b, at);
}

void outbox_put(struct outbox *o, const struct message *m)
{
    struct box *b = box_of(o, m->channel);

    if (b->n == QUEUE_MAX)
        give_up(b, b->sending == b->v[0]->id ? 1 : 0, "too many wait");
    VEC_ROOM(b->v, b->n, b->cap);
    b->v[b->n++] = message_copy(m);
    o->last_id = MAX(o->last_id, m->id);
}

static void load_message(void *arg, const struct note *n)
{
    struct outbox *o = arg;
    struct err err = {0};
    AUTO_FREE struct message *m = message_read(n->bytes, &err);

    o->last_id = MAX(o->last_id, n->id);
    if (m)
        outbox_put(o, m);
    else
        log_warn("channel", "note %" PRId64 ": %s", n->id, err.msg);
}

int outbox_load(struct outbox *o, struct err *err)
{
    o->last_id = MAX(o->last_id, o->h->started_ms * 1000); /* those that are gone had lower numbers */
    return MIN(store_notes(o->h->store, NOTE_MESSAGE, true, load_message, o, err), 0);
}

/* ---- how it went ---- */

static size_t box_find(const struct box *b, int64_t id)
{
    size_t i = 0;

    while (i < b->n && b->v[i]->id != id)
        i++;
    return i;
}

static void went_well(struct box *b)
{
    size_t at = box_find(b, b->sending);

    b->sending = 0;
    b->next_mono = b->began_mono + EVERY_MS;
    b->tries = 0;
    if (b->error[0])
        log_info("channel", "%s works again", b->name);
    b->error[0] = 0;
    if (at < b->n)
        box_drop(b, at);
}

/* wait_ms: what it asked for; 0: nothing. */
static void went_wrong(struct box *b, const char *error, int64_t wait_ms, bool refused)
{
    size_t at = box_find(b, b->sending);
    int64_t back_ms = MIN(EVERY_MS << MIN(b->tries, 20), LONGEST_MS);

    if (!b->error[0])
        b->since_ms = clock_wall_ms();
    if (strcmp(b->error, error) != 0)
        log_warn("channel", "%s fails: %s", b->name, error);
    mem_copy_str(b->error, sizeof(b->error), error);
    b->tries++;
    b->sending = 0;
    b->next_mono = clock_mono_ms() + MAX(back_ms, wait_ms);
    if (refused && at < b->n) {
        b->tries = 0;
        give_up(b, at, "it was refused");
    }
}

/* An answer's text is not repeated, since it may repeat the address: but for one word, as Slack says it. */
static void answer_words(const struct channel *c, const struct http_result *r, char out[ERROR_MAX])
{
    struct str word = str_trim(r->body);
    bool plain = c && c->type == CHANNEL_SLACK && word.len > 0 && word.len < 50;

    for (size_t i = 0; i < word.len && plain; i++)
        plain = (word.p[i] >= 'a' && word.p[i] <= 'z') || word.p[i] == '_';
    if (r->status >= 300 && r->status < 400)
        snprintf(out, ERROR_MAX, "it answers with a redirect (%d), which is not followed", r->status);
    else
        snprintf(out, ERROR_MAX, "it answers with status %d%s%.*s", r->status, plain ? ": " : "",
                 plain ? (int)word.len : 0, word.len ? word.p : "");
}

static void on_answer(void *arg, const struct http_result *r)
{
    struct box *b = arg;
    char error[ERROR_MAX];

    if (r->status >= 200 && r->status < 300) {
        went_well(b);
    } else if (r->status) {
        answer_words(channels_find(b->o->channels, b->name), r, error);
        went_wrong(b, error, r->retry_after_ms, r->status == 400 || r->status == 413 || r->status == 422);
    } else {
        mem_copy_str(error, sizeof(error), r->error);
        went_wrong(b, error, 0, false);
    }
    box_stop(b);
}

static void on_out(void *arg, struct str bytes)
{
    (void)arg, (void)bytes; /* nobody asked */
}

static void on_ended(void *arg, int status)
{
    struct box *b = arg;
    char error[ERROR_MAX], said[120];

    if (!b->o) { /* nobody waits any more */
        free(b);
        return;
    }
    process_last_words(process_said(b->process), said, sizeof(said));
    b->process = NULL;
    if (b->late)
        snprintf(error, sizeof(error), "the command did not end within %d s", LIMIT_MS / 1000);
    else if (WIFSIGNALED(status))
        snprintf(error, sizeof(error), "the command was ended by signal %d", WTERMSIG(status));
    else
        snprintf(error, sizeof(error), "the command ended with status %d%s%s", WEXITSTATUS(status), said[0] ? ": " : "",
                 said);
    if (status == 0 && !b->late)
        went_well(b);
    else
        went_wrong(b, error, 0, false);
}

/* ---- sending ---- */

static int send_command(struct box *b, const struct channel *c, const struct message *m, struct err *err)
{
    static const struct process_calls calls = {.out = on_out, .ended = on_ended};
    AUTO_BUF body = BUF_INIT(BODY_MAX);

    channel_body(c, m, &body);
    int r = process_start(&b->process, b->o->h->loop, c->argv, buf_str(&body), &calls, b, err);
    if (r == 0)
        process_input_ends(b->process);
    return r;
}

/* What goes with it besides the body. lines have room for 4. */
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

static int send_http(struct box *b, const struct channel *c, const struct message *m, struct err *err)
{
    AUTO_BUF url = {0}, secret = {0}, line = BUF_INIT(8192);
    const char *lines[5];
    int r = b->o->http ? 0 : http_new(&b->o->http, b->o->h->loop, err);

    if (r == 0)
        r = channel_url(c, &url, err);
    if (r == 0)
        r = channel_secret(c, &secret, err);
    if (r < 0)
        return r;
    b->body = BUF_INIT(BODY_MAX);
    channel_body(c, m, &b->body);
    headers_of(c, m, buf_str(&secret), buf_str(&b->body), &line, lines);
    b->call = http_call_new(b->o->http, &(struct http_conf){.url = url.p}, on_answer, b);
    struct http_request q = {.method = "POST",
                             .headers = lines,
                             .body = buf_str(&b->body),
                             .body_max = ANSWER_MAX,
                             .timeout_ms = LIMIT_MS};
    return http_send(b->call, &q, err);
}

/* The first that may go now, or NULL. */
static const struct message *first_due(const struct box *b, const struct channel *c, int64_t now_ms)
{
    struct civil at;

    zone_civil(b->o->h->zone, now_ms, &at);
    bool quiet = channel_quiet(c, at.hour * 60 + at.minute);
    for (size_t i = 0; i < b->n; i++)
        if (!quiet || b->v[i]->severity == SEV_CRITICAL)
            return b->v[i];
    return NULL;
}

static void box_tick(struct box *b, int64_t now_ms)
{
    const struct channel *c = channels_find(b->o->channels, b->name);
    int64_t mono_ms = clock_mono_ms();
    struct err err = {0};

    if (b->process && !b->late && mono_ms - b->began_mono > LIMIT_MS) {
        b->late = true;
        process_stop(b->process);
    }
    if (b->sending || b->process)
        return;
    while (b->n && now_ms - b->v[0]->created_ms > OLDEST_MS)
        give_up(b, 0, c ? "after three days" : "its channel is not there any more");
    const struct message *m = c && mono_ms >= b->next_mono ? first_due(b, c, now_ms) : NULL;
    if (!m)
        return;
    b->sending = m->id;
    b->began_mono = mono_ms;
    b->late = false;
    if ((c->type == CHANNEL_COMMAND ? send_command(b, c, m, &err) : send_http(b, c, m, &err)) < 0) {
        went_wrong(b, err.msg, 0, false);
        box_stop(b);
    }
}

void outbox_tick(struct outbox *o, int64_t now_ms)
{
    for (size_t i = 0; i < o->n; i++)
        box_tick(o->v[i], now_ms);
}

/* ---- how it stands ---- */

const struct channel_now *outbox_now(struct outbox *o, size_t *ret_n)
{
    size_t n;
    const struct channel *v = channels_all(o->channels, &n);

    o->now = mem_grow(o->now, MAX(n, 1u), sizeof(*o->now));
    for (size_t i = 0; i < n; i++) {
        const struct box *b = box_of(o, v[i].name);
        o->now[i] = (struct channel_now){.name = v[i].name,
                                         .type = channel_words[v[i].type],
                                         .error = b->error,
                                         .since_ms = b->since_ms,
                                         .waiting = b->n};
    }
    *ret_n = n;
    return o->now;
}

void outbox_notice(struct outbox *o, char *out, size_t size)
{
    size_t n, at = 0;
    const struct channel_now *v = outbox_now(o, &n);

    out[0] = 0;
    for (size_t i = 0; i < n; i++)
        if (v[i].error[0] && at + 100 < size)
            at += (size_t)snprintf(out + at, size - at, "%s%.60s", at ? ", " : "nobody is told through ", v[i].name);
}
