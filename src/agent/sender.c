/*
 * sender.c: sends one hub's batches: one request for new ones, one for those that wait on disk. The spool belongs to
 * it; packets are shared with the other hubs' senders.
 */
#include "agent/sender.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "agent/backlog.h"
#include "agent/badge.h"
#include "base/clock.h"
#include "base/file.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/rand.h"
#include "wire/wire.h"

#define ACK_MS           1000
#define LIVE_TIMEOUT_MS  10000
#define CATCH_TIMEOUT_MS 60000
#define BACKOFF_MIN_MS   1000
#define BACKOFF_MAX_MS   60000
#define LIVE_MAX         64 /* packets in memory; more only happens when the disk fails, too */
#define LIVE_BYTES       (4u << 20)
#define NEED_TRIES       3 /* a batch whose blobs the hub asks for again and again */
#define CATCH_MAX        8 /* records in one catch-up POST */
#define CATCH_BYTES      (1u << 20)
#define CATCH_TRIES      5   /* a record the hub neither stores nor refuses */
#define KNOWN_MAX        128 /* blobs this hub is known to have */

struct entry {
    struct packet *p;
    bool spooled, sent; /* on disk; in the POST that is in flight */
    unsigned tries;     /* POSTs it went with */
};

struct lane {
    struct http_call *call;
    struct event *timer; /* when the next try is due */
    unsigned failures;
    uint64_t blobs[2 * LIVE_MAX]; /* that went with the POST in flight */
    size_t n_blobs;
};

struct sender {
    struct event_base *base;
    struct http *http;
    const struct agent_conf *conf;
    const char *hub; /* conf's */
    struct sender_hooks hooks;
    void *arg;
    struct badge *badge;
    struct backlog *backlog;
    struct event *ack;

    struct lane live, back;
    size_t n_queue;
    struct entry queue[LIVE_MAX];
    bool ok;      /* the last live POST was taken */
    bool late;    /* the POST in flight has not been answered within ACK_MS */
    bool again;   /* somebody wanted to speak while it was in flight */
    uint64_t oks; /* live POSTs with batches that were stored */

    size_t n_back, back_limit; /* records in the catch-up POST in flight; how many at most */
    struct {
        uint64_t run, number;
    } back_key[CATCH_MAX];
    uint64_t odd_run, odd_number, odd_oks; /* the record that gives trouble, and oks when it first did */
    unsigned odd_tries;
    bool catching;

    uint64_t known[KNOWN_MAX];
    size_t n_known;
    struct hub_pace pace;
    char trouble[256]; /* why it is not ok */
    struct answer answer;
};

static void send_live(struct sender *s);
static void send_back(struct sender *s);

static void arm(struct event *e, int64_t ms)
{
    struct timeval tv = {.tv_sec = ms / 1000, .tv_usec = ms % 1000 * 1000};
    event_add(e, &tv);
}

int64_t sender_backoff_ms(unsigned failures, double u)
{
    int64_t top = failures > 6 ? BACKOFF_MAX_MS : (int64_t)BACKOFF_MIN_MS << (failures ? failures - 1 : 0);

    return 50 + (int64_t)((double)(MIN(top, BACKOFF_MAX_MS) - 50) * u);
}

/* ---- blobs the hub has ---- */

static bool known_has(const struct sender *s, uint64_t id)
{
    for (size_t i = 0; i < MIN(s->n_known, (size_t)KNOWN_MAX); i++)
        if (s->known[i] == id)
            return true;
    return false;
}

static void known_add(struct sender *s, uint64_t id)
{
    if (!known_has(s, id))
        s->known[s->n_known++ % KNOWN_MAX] = id;
}

static void known_forget(struct sender *s, uint64_t id)
{
    for (size_t i = 0; i < MIN(s->n_known, (size_t)KNOWN_MAX); i++)
        if (s->known[i] == id)
            s->known[i] = 0;
}

/* True when it must go with this POST; it is then noted as gone with it. */
static bool lane_wants(const struct sender *s, struct lane *l, uint64_t id)
{
    if (id == 0 || known_has(s, id))
        return false;
    for (size_t i = 0; i < l->n_blobs; i++)
        if (l->blobs[i] == id)
            return false;
    if (l->n_blobs < ARRAY_LEN(l->blobs))
        l->blobs[l->n_blobs++] = id;
    return true;
}

static void entry_to_disk(struct sender *s, struct entry *e)
{
    e->spooled = e->spooled || backlog_put(s->backlog, e->p);
}

static void queue_to_disk(struct sender *s)
{
    for (size_t i = 0; i < s->n_queue; i++)
        entry_to_disk(s, &s->queue[i]);
}

/* ---- the queue in memory ---- */

static void queue_remove(struct sender *s, size_t i)
{
    packet_unref(s->queue[i].p);
    memmove(&s->queue[i], &s->queue[i + 1], (s->n_queue - i - 1) * sizeof(s->queue[0]));
    s->n_queue--;
}

static bool queue_has(const struct sender *s, uint64_t run, uint64_t number)
{
    for (size_t i = 0; i < s->n_queue; i++)
        if (s->queue[i].p->run == run && s->queue[i].p->number == number)
            return true;
    return false;
}

/* What is on disk is the catch-up lane's; only the newest stays here, so that the next POST has news in it. */
static void queue_leave_to_disk(struct sender *s)
{
    for (size_t i = 0; i + 1 < s->n_queue;)
        if (s->queue[i].spooled && !s->queue[i].sent)
            queue_remove(s, i);
        else
            i++;
}

void sender_push(struct sender *s, struct packet *p)
{
    if (s->n_queue == LIVE_MAX) { /* neither the hub nor the disk took them */
        if (!s->queue[0].spooled) {
            log_error("agent", "hub %s: a batch is lost: the hub is away and the disk cannot be written", s->hub);
            s->hooks.dropped(s->arg, 1, "neither the hub nor the disk took it");
        }
        queue_remove(s, 0);
    }
    s->queue[s->n_queue++] = (struct entry){.p = packet_ref(p)};
    if (s->conf->spool == SPOOL_ALWAYS || s->late || s->live.failures)
        queue_to_disk(s);
    if (s->live.failures)
        queue_leave_to_disk(s);
}

bool sender_idle(const struct sender *s)
{
    return !http_busy(s->live.call) && (s->n_queue == 0 || s->live.failures > 0);
}

const struct hub_pace *sender_pace(const struct sender *s)
{
    return &s->pace;
}

/* ---- what both lanes share ---- */

enum verdict { TAKEN, REFUSED, DENIED, BUSY, FAILED };

/* Text from the hub, for a log: short, and never a token, whoever sends one back to us. */
static void shown_text(const struct sender *s, struct str text, char *out, size_t size)
{
    struct str line = STR("");
    size_t n;

    text = str_trim(text);
    if (badge_in(s->badge, text)) {
        snprintf(out, size, "(not shown: it repeats a token)");
        return;
    }
    str_line(&text, &line);
    for (n = 0; n < line.len && n + 1 < MIN(size, 160u); n++) /* problem JSON and HTML alike, without a parser */
        out[n] = (line.p[n] >= 0x20 && line.p[n] < 0x7f) ? line.p[n] : '?';
    out[n] = 0;
}

static void begin_body(struct sender *s, struct lane *l, struct buf *body)
{
    struct hello h = {0};
    struct spool_stat st;

    l->n_blobs = 0;
    backlog_stat(s->backlog, &st);
    s->hooks.hello(s->arg, &h);
    h.backlog = (uint32_t)MIN(st.records, (size_t)UINT32_MAX);
    h.sent_ms = clock_wall_ms();
    wire_start(body);
    wire_put_hello(body, &h);
}

static bool same_pace(const struct hub_pace *a, const struct hub_pace *b)
{
    return a->interval_ms == b->interval_ms && a->phase_ms == b->phase_ms && llabs(a->offset_ms - b->offset_ms) < 50;
}

static void take_pace(struct sender *s, const struct answer *a, int64_t took_ms)
{
    struct hub_pace p = s->pace;

    if (a->interval_ms > 0)
        p.interval_ms = MIN(MAX(a->interval_ms, 200), 600000);
    if (a->phase_ms >= 0)
        p.phase_ms = a->phase_ms;
    if (a->time_ms > 0)
        p.offset_ms = a->time_ms - (clock_wall_ms() - took_ms / 2);
    if (llabs(p.offset_ms) > 5000 && llabs(s->pace.offset_ms) <= 5000)
        log_warn("agent", "hub %s: its clock and this node's differ by %lld ms", s->hub, (long long)p.offset_ms);
    if (same_pace(&p, &s->pace))
        return;
    s->pace = p;
    s->hooks.pace(s->arg);
}

static void take_answer(struct sender *s, struct lane *l, const struct http_result *r)
{
    const struct answer *a = &s->answer;
    struct err err = {0};

    for (size_t i = 0; i < l->n_blobs; i++)
        known_add(s, l->blobs[i]);
    for (size_t i = 0; i < a->n_need; i++)
        known_forget(s, a->need[i]);
    if (a->token[0]) {
        if (badge_keep(s->badge, a->token, &err) < 0)
            log_error("agent", "hub %s: cannot keep this node's own token: %s", s->hub, err.msg);
        else
            log_info("agent", "hub %s: enrolled; this node has a token of its own now", s->hub);
    }
    badge_taken(s->badge);
    take_pace(s, a, r->took_ms);
}

/* A page of a portal or a proxy has no word of ours in it. */
static bool answer_says(const struct answer *a)
{
    return a->n_stored || a->n_need || a->time_ms || a->interval_ms || a->phase_ms >= 0 || a->retry_ms || a->token[0];
}

/* Read the outcome of a POST; s->answer holds the hub's words when TAKEN, and zeroes otherwise. */
static enum verdict judge(struct sender *s, const struct http_result *r, char why[256])
{
    struct err err = {0};
    char text[200] = "";

    s->answer.n_stored = s->answer.n_need = 0;
    s->answer.retry_ms = 0;
    if (r->status == 0) {
        snprintf(why, 256, "%.200s", r->error);
        return FAILED;
    }
    if (r->status == 200) {
        int bad = answer_parse(r->body, &s->answer, &err);
        if (bad == 0 && (r->body.len == 0 || answer_says(&s->answer)))
            return TAKEN;
        s->answer.n_stored = s->answer.n_need = 0;
        s->answer.retry_ms = 0;
        shown_text(s, bad ? str_of(err.msg) : r->body, text, sizeof(text));
        snprintf(why, 256, "its answer makes no sense: %s", text);
        return FAILED;
    }
    shown_text(s, r->body, text, sizeof(text));
    snprintf(why, 256, "HTTP %d%s%s", r->status, text[0] ? ": " : "", text);
    s->answer.retry_ms = r->retry_after_ms;
    if (r->status == 401 || r->status == 403)
        return DENIED;
    if (r->status == 408 || r->status == 409 || r->status == 429 || r->status == 503)
        return BUSY;
    if (r->status == 400 || r->status == 413 || r->status == 422)
        return REFUSED;
    return FAILED;
}

/* ---- live ---- */

static void live_failed(struct sender *s, const char *why)
{
    int64_t ms;

    if (s->ok || !s->trouble[0])
        log_warn("agent", "hub %s does not take our batches: %s; they wait on disk", s->hub, why);
    else if (strcmp(s->trouble, why) != 0)
        log_info("agent", "hub %s: %s", s->hub, why);
    mem_copy_str(s->trouble, sizeof(s->trouble), why);
    s->ok = false;
    s->live.failures++;
    for (size_t i = 0; i < s->n_queue; i++)
        s->queue[i].sent = false;
    queue_to_disk(s); /* D2 */
    queue_leave_to_disk(s);
    ms = sender_backoff_ms(s->live.failures, rand_unit());
    arm(s->live.timer, MAX(ms, s->answer.retry_ms));
}

/* Sent and not stored: it lacks a blob, or the hub could not just now. True when it stays in this lane; else it is on
 * disk, for the careful one. */
static bool live_not_stored(struct sender *s, struct entry *e)
{
    e->sent = false;
    if (s->answer.n_need && e->tries < NEED_TRIES)
        return true;
    entry_to_disk(s, e);
    return !e->spooled;
}

static void live_taken(struct sender *s)
{
    const struct answer *a = &s->answer;
    bool left = false;

    if (!s->ok) {
        struct spool_stat st;
        backlog_stat(s->backlog, &st);
        if (st.records)
            log_info("agent", "hub %s takes our batches; %zu wait on disk", s->hub, st.records);
        else
            log_info("agent", "hub %s takes our batches", s->hub);
    }
    s->ok = true;
    s->oks += a->n_stored > 0;
    s->trouble[0] = 0;
    s->live.failures = 0;
    for (size_t k = 0; k < a->n_stored; k++)
        for (size_t i = 0; i < s->n_queue; i++)
            if (s->queue[i].p->run == a->stored[k].run && s->queue[i].p->number == a->stored[k].number) {
                if (s->queue[i].spooled)
                    backlog_done(s->backlog, a->stored[k].run, a->stored[k].number);
                queue_remove(s, i);
                break;
            }
    for (size_t i = 0; i < s->n_queue;)
        if (!s->queue[i].sent) {
            i++;
        } else if (live_not_stored(s, &s->queue[i])) {
            left = true;
            i++;
        } else {
            queue_remove(s, i);
        }
    if (left && a->retry_ms == 0)
        send_live(s);
    else if (left || a->retry_ms)
        arm(s->live.timer, MAX(a->retry_ms, 100));
    if (s->again && !http_busy(s->live.call) && !event_pending(s->live.timer, EV_TIMEOUT, NULL))
        send_live(s);
    if (!event_pending(s->back.timer, EV_TIMEOUT, NULL))
        send_back(s);
}

static void on_live_done(void *arg, const struct http_result *r)
{
    struct sender *s = arg;
    char why[256] = "";

    event_del(s->ack);
    s->late = false;
    switch (judge(s, r, why)) {
    case TAKEN:
        take_answer(s, &s->live, r);
        live_taken(s);
        return;
    case REFUSED: /* one of them may be at fault: the catch-up lane finds out which, this one goes on with fresh ones */
        live_failed(s, why);
        for (size_t i = s->n_queue; i-- > 0;)
            if (s->queue[i].spooled)
                queue_remove(s, i);
        return;
    case DENIED:
        badge_turn(s->badge);
        live_failed(s, why);
        return;
    case BUSY:
    case FAILED:
        live_failed(s, why);
        return;
    }
}

static void on_ack(evutil_socket_t fd, short what, void *arg)
{
    struct sender *s = arg;

    (void)fd;
    (void)what;
    s->late = true;
    queue_to_disk(s); /* D2: removed again when the answer comes */
}

static void send_live(struct sender *s)
{
    AUTO_BUF body = BUF_INIT(WIRE_BODY_MAX);
    struct err err = {0};

    if (http_busy(s->live.call)) {
        s->again = true;
        return;
    }
    s->again = false;
    event_del(s->live.timer);
    begin_body(s, &s->live, &body);
    for (size_t i = 0; i < s->n_queue; i++) {
        struct packet *p = s->queue[i].p;
        if (i && body.len + p->frame.len > LIVE_BYTES) {
            s->again = true;
            break;
        }
        if (p->facts && lane_wants(s, &s->live, p->facts->id))
            buf_addstr(&body, buf_str(&p->facts->frame));
        if (p->procs && lane_wants(s, &s->live, p->procs->id))
            buf_addstr(&body, buf_str(&p->procs->frame));
        buf_addstr(&body, buf_str(&p->frame));
        s->queue[i].sent = true;
        s->queue[i].tries++;
    }
    if (http_post(s->live.call, badge_now(s->badge), &body, LIVE_TIMEOUT_MS, &err) < 0) {
        s->answer.retry_ms = 0;
        live_failed(s, err.msg);
        return;
    }
    arm(s->ack, ACK_MS);
}

void sender_beat(struct sender *s)
{
    if (event_pending(s->live.timer, EV_TIMEOUT, NULL))
        return; /* D4 */
    send_live(s);
}

static void on_live_timer(evutil_socket_t fd, short what, void *arg)
{
    (void)fd;
    (void)what;
    send_live(arg);
}

/* ---- catch-up ---- */

static void drop_record(struct sender *s, uint64_t run, uint64_t number, const char *why)
{
    char text[160];

    log_error("agent", "hub %s: batch %016llx/%llu is given up: %s", s->hub, (unsigned long long)run,
              (unsigned long long)number, why);
    snprintf(text, sizeof(text), "the hub would not take it: %.100s", why);
    backlog_done(s->backlog, run, number);
    s->odd_tries = 0;
    s->hooks.dropped(s->arg, 1, text);
}

/* The first record of the POST was not stored: is it its own fault? */
static void record_is_odd(struct sender *s, bool refused, const char *why)
{
    uint64_t run = s->back_key[0].run, number = s->back_key[0].number;

    if (s->odd_tries == 0 || s->odd_run != run || s->odd_number != number) {
        s->odd_run = run;
        s->odd_number = number;
        s->odd_tries = 0;
        s->odd_oks = s->oks;
    }
    s->odd_tries++;
    /* D3: only when the hub has taken others meanwhile */
    if (s->oks > s->odd_oks && s->odd_tries >= (refused ? 2 : CATCH_TRIES))
        drop_record(s, run, number, why);
}

static void back_later(struct sender *s, int64_t at_least_ms)
{
    s->back.failures++;
    arm(s->back.timer, MAX(sender_backoff_ms(s->back.failures, rand_unit()), at_least_ms));
}

static void back_taken(struct sender *s)
{
    const struct answer *a = &s->answer;
    bool first = false, any = a->n_stored > 0;

    for (size_t k = 0; k < a->n_stored; k++) {
        backlog_done(s->backlog, a->stored[k].run, a->stored[k].number);
        first |= a->stored[k].run == s->back_key[0].run && a->stored[k].number == s->back_key[0].number;
    }
    if (!first && a->n_need == 0)
        record_is_odd(s, false, "it is neither stored nor refused");
    else if (!first)
        record_is_odd(s, false, "the hub lacks its facts, and so do we");
    s->back_limit = MIN(s->back_limit * 2, (size_t)CATCH_MAX);
    if (!any && !(a->n_need && s->odd_tries == 1)) { /* a blob asked for the first time goes at once */
        back_later(s, a->retry_ms);
        return;
    }
    s->back.failures = 0;
    if (a->retry_ms)
        arm(s->back.timer, a->retry_ms);
    else
        send_back(s);
}

static void on_back_done(void *arg, const struct http_result *r)
{
    struct sender *s = arg;
    char why[256] = "";

    switch (judge(s, r, why)) {
    case TAKEN:
        take_answer(s, &s->back, r);
        back_taken(s);
        return;
    case REFUSED:
        if (s->n_back > 1) {
            s->back_limit = s->n_back / 2;
            arm(s->back.timer, 50);
            return;
        }
        record_is_odd(s, true, why);
        back_later(s, s->answer.retry_ms);
        return;
    case DENIED: /* the live lane deals with tokens */
    case BUSY:
    case FAILED:
        log_debug("agent", "hub %s: catching up: %s", s->hub, why);
        back_later(s, s->answer.retry_ms);
        return;
    }
}

/* Add the record's blobs that this hub may lack, then the record itself. */
static int add_record(struct sender *s, struct buf *body, const struct spool_rec *rec, struct buf *frame)
{
    for (size_t i = 0; i < ARRAY_LEN(rec->blobs); i++) {
        AUTO_BUF blob = BUF_INIT(WIRE_BODY_MAX);
        if (!lane_wants(s, &s->back, rec->blobs[i]))
            continue;
        if (backlog_blob(s->backlog, rec->blobs[i], &blob))
            buf_addstr(body, buf_str(&blob));
        else
            s->back.n_blobs--; /* not sent after all: the hub may have it from before */
    }
    return buf_addstr(body, buf_str(frame));
}

static size_t fill_back(struct sender *s, struct buf *body)
{
    AUTO_BUF frame = BUF_INIT(WIRE_BODY_MAX);
    struct spool_rec rec;
    size_t n = 0;

    for (size_t i = 0; n < s->back_limit && i < n + LIVE_MAX + 1; i++) {
        if (!backlog_peek(s->backlog, i, &rec))
            break;
        if (queue_has(s, rec.run, rec.number))
            continue; /* on its way in the live lane */
        if (n && body->len + rec.bytes.len > CATCH_BYTES)
            break;
        buf_reset(&frame);
        buf_addstr(&frame, rec.bytes); /* asking for blobs ends rec.bytes */
        add_record(s, body, &rec, &frame);
        s->back_key[n].run = rec.run;
        s->back_key[n++].number = rec.number;
    }
    return n;
}

static void send_back(struct sender *s)
{
    AUTO_BUF body = BUF_INIT(WIRE_BODY_MAX);
    struct err err = {0};
    struct spool_stat st;

    backlog_stat(s->backlog, &st);
    if (!s->ok || http_busy(s->back.call))
        return; /* live_taken comes back here */
    begin_body(s, &s->back, &body);
    s->n_back = st.records ? fill_back(s, &body) : 0;
    if (s->n_back == 0) {
        if (s->catching && st.records == 0)
            log_info("agent", "hub %s has everything that waited on disk", s->hub);
        s->catching = s->catching && st.records;
        return;
    }
    s->catching = true;
    if (http_post(s->back.call, badge_now(s->badge), &body, CATCH_TIMEOUT_MS, &err) < 0)
        back_later(s, 0);
}

static void on_back_timer(evutil_socket_t fd, short what, void *arg)
{
    (void)fd;
    (void)what;
    send_back(arg);
}

/* ---- life ---- */

static char *sender_dir(const struct agent_conf *c, const char *hub, bool spool)
{
    AUTO_BUF leaf = BUF_INIT(1024);

    conf_hub_leaf(hub, &leaf);
    if (spool && c->spool_dir)
        return mem_fmt("%s/%s", c->spool_dir, leaf.p);
    return mem_fmt("%s/hubs/%s%s", c->state_dir, leaf.p, spool ? "/spool" : "");
}

static void sender_connect(struct sender *s, struct http *http)
{
    AUTO_FREE char *url = mem_fmt("%s/api/v1/batches", s->hub);
    struct http_conf hc = {.url = url, .ca_file = s->conf->ca_file, .pin = s->conf->pin, .proxy = s->conf->proxy};

    s->live.call = http_call_new(http, &hc, on_live_done, s);
    s->back.call = http_call_new(http, &hc, on_back_done, s);
}

static int sender_open(struct sender *s, struct err *err)
{
    const struct agent_conf *c = s->conf;
    AUTO_FREE char *dir = sender_dir(c, s->hub, false), *spool = sender_dir(c, s->hub, true);
    int r;

    if ((r = file_mkdirs(dir, 0700, err)) < 0 || (r = file_mkdirs(spool, 0700, err)) < 0)
        return r;
    if ((r = badge_open(&s->badge, c, dir, err)) < 0)
        return r;
    struct spool_conf sc = {.dir = spool, .max_bytes = c->spool_max_bytes, .max_age_ms = c->spool_max_age};
    return backlog_open(&s->backlog, s->base, &sc, s->hub, s->hooks.dropped, s->arg, err);
}

int sender_new(struct sender **ret, struct event_base *base, struct http *http, const struct agent_conf *conf,
               const char *hub, const struct sender_hooks *hooks, void *arg, struct err *err)
{
    struct sender *s = mem_zero(1, sizeof(*s));

    s->base = base;
    s->http = http;
    s->conf = conf;
    s->hub = hub;
    s->hooks = *hooks;
    s->arg = arg;
    s->pace.phase_ms = -1;
    s->back_limit = CATCH_MAX;
    int r = sender_open(s, err);
    if (r < 0) {
        sender_free(s);
        return err_prefix(err, r, "hub %s", hub);
    }
    s->live.timer = evtimer_new(base, on_live_timer, s);
    s->back.timer = evtimer_new(base, on_back_timer, s);
    s->ack = evtimer_new(base, on_ack, s);
    sender_connect(s, http);
    *ret = s;
    return 0;
}

int sender_check(const struct agent_conf *conf, const char *hub, struct err *err)
{
    AUTO_FREE char *dir = sender_dir(conf, hub, false);
    struct badge *badge = NULL;
    int r = badge_open(&badge, conf, dir, err);

    badge_free(badge);
    return r < 0 ? err_prefix(err, r, "hub %s", hub) : 0;
}

void sender_reload(struct sender *s, const struct agent_conf *conf, const char *hub)
{
    AUTO_FREE char *dir = sender_dir(conf, hub, false);
    struct badge *badge = NULL;
    struct err err = {0};

    if (badge_open(&badge, conf, dir, &err) == 0) { /* else it vanished since sender_check: keep what we have */
        badge_free(s->badge);
        s->badge = badge;
    }
    http_call_free(s->live.call);
    http_call_free(s->back.call);
    event_del(s->live.timer);
    event_del(s->back.timer);
    event_del(s->ack);
    s->conf = conf;
    s->hub = hub;
    backlog_name(s->backlog, hub);
    s->live.failures = s->back.failures = 0;
    s->late = false;
    for (size_t i = 0; i < s->n_queue; i++)
        s->queue[i].sent = false;
    sender_connect(s, s->http);
    send_live(s);
}

const char *sender_hub(const struct sender *s)
{
    return s->hub;
}

void sender_free(struct sender *s)
{
    if (!s)
        return;
    if (s->live.call) {
        queue_to_disk(s); /* D1 */
        http_call_free(s->live.call);
        http_call_free(s->back.call);
        event_free(s->live.timer);
        event_free(s->back.timer);
        event_free(s->ack);
    }
    while (s->n_queue)
        queue_remove(s, s->n_queue - 1);
    backlog_close(s->backlog);
    badge_free(s->badge);
    free(s);
}

void sender_status(const struct sender *s, struct buf *out)
{
    struct spool_stat st;
    char age[24];

    backlog_stat(s->backlog, &st);
    buf_addf(out, "hub %s\n", s->hub);
    if (s->ok)
        buf_addf(out, "  takes our batches\n");
    else
        buf_addf(out, "  %s\n", s->trouble[0] ? s->trouble : "not asked yet");
    buf_addf(out, "  on disk: %zu batches, %lld bytes", st.records, (long long)st.bytes);
    if (st.records)
        buf_addf(out, ", the oldest of %s ago", clock_span(clock_wall_ms() - st.oldest_ms, age));
    buf_addc(out, '\n');
    if (st.dropped || st.damaged)
        buf_addf(out, "  given up since the start: %llu; damaged: %llu\n", (unsigned long long)st.dropped,
                 (unsigned long long)st.damaged);
}
