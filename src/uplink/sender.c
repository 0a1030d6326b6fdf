/*
 * sender.c: sends one node's packets to one hub: one request for new packets, one for those on disk. It owns the spool;
 * packets are shared with senders to other hubs.
 */
#include "uplink/sender.h"

#include "base/clock.h"
#include "base/file.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/rand.h"
#include "base/timer.h"
#include "uplink/backlog.h"
#include "uplink/hubs.h"
#include "uplink/packets.h"

#define CATCH_TIMEOUT_MS 60000
#define BACKOFF_MIN_MS   1000
#define BACKOFF_MAX_MS   60000
#define LIVE_BYTES       (4u << 20)
#define REFUSED_MS       1000 /* without a disk the same packets are sent again: wait this long first */
#define NEED_TRIES       3    /* requests for a batch whose blobs the hub keeps requesting; then it goes to disk */
#define WHY_MAX          320  /* of a hub's reason for refusing a request */
#define TRIES_MAX        5    /* for a batch that the hub neither stores nor refuses; then it is dropped */
#define CATCH_MAX        8    /* records in one catch-up POST */
#define CATCH_BYTES      (1u << 20)

struct lane {
    struct http_call *call;
    struct timer *timer; /* when the next try is due */
    unsigned failures;
    struct sent_blobs blobs; /* of the POST in flight */
};

struct sender {
    struct event_base *loop;
    struct http *http;
    struct sender_conf conf;
    struct sender_hooks hooks;
    void *arg;
    struct badge *badge;
    struct backlog *backlog; /* NULL: no disk */
    struct timer *ack;

    size_t n_hubs, at; /* number of redundant hubs, and the index of the current one */
    char *hub;         /* the current one */
    bool over;         /* the next request goes to the next hub */
    char *folder;

    struct lane live, back;
    struct packets queue;
    bool ok;          /* the last live POST was accepted */
    bool late;        /* the POST in flight got no reply within ANSWER_WAIT_MS */
    bool again;       /* send again after the POST in flight: a call came meanwhile, or not all fitted */
    uint64_t oks;     /* live POSTs with batches that were stored */
    uint64_t gone;    /* dropped, not reported yet: without a disk they are reported when the hub responds */
    int64_t spoke_ms; /* monotonic */

    size_t n_back, back_limit; /* records in the catch-up POST in flight; how many at most */
    struct {
        uint64_t run, number;
    } back_key[CATCH_MAX];
    uint64_t odd_run, odd_number, odd_oks; /* the record that gives trouble, and oks when it first did */
    unsigned odd_tries;
    bool catching;

    struct hub_pace pace;
    char trouble[WHY_MAX]; /* why it is not ok */
};

static void speak(void *arg);
static void send_back(void *arg);
static void sender_connect(struct sender *s);
static void sender_disconnect(struct sender *s);

/* ---- redundant hubs ---- */

static void choose_hub(struct sender *s, size_t i)
{
    s->at = i;
    s->n_hubs = hubs_count(s->conf.hub);
    s->over = false;
    struct str hub = hubs_item(s->conf.hub, i);
    free(s->hub);
    s->hub = mem_strn(hub.p, hub.len);
}

static void go_over(struct sender *s)
{
    sender_disconnect(s);
    choose_hub(s, (s->at + 1) % s->n_hubs);
    sender_connect(s);
}

/* True if there is no reply, or a reply that means that only this hub fails: another one may work. */
static bool another_may(const struct sender *s, int status)
{
    return s->n_hubs > 1 && (status == 0 || status >= 500);
}

int64_t sender_backoff_ms(unsigned failures, double u)
{
    int64_t top = failures > 6 ? BACKOFF_MAX_MS : (int64_t)BACKOFF_MIN_MS << (failures ? failures - 1 : 0);

    return 50 + (int64_t)((double)(MIN(top, BACKOFF_MAX_MS) - 50) * u);
}

/* Pauses after a failure of one of `hubs` hubs that are tried in turn. */
static void pause_lane(struct lane *l, unsigned hubs, int64_t at_least_ms)
{
    l->failures++;
    timer_after(l->timer, MAX(sender_backoff_ms((l->failures - 1) / hubs + 1, rand_unit()), at_least_ms)); /* D4 */
}

/* ---- the queue in memory ---- */

static void packet_to_disk(struct sender *s, struct waiting_packet *w)
{
    w->spooled = w->spooled || (s->backlog && backlog_put(s->backlog, w->p));
}

static void queue_to_disk(struct sender *s)
{
    for (size_t i = 0; i < s->queue.n; i++)
        packet_to_disk(s, &s->queue.v[i]);
}

/* Leaves packets on disk to the catch-up lane. Only the newest stays here, so that the next POST has new data. */
static void queue_leave_to_disk(struct sender *s)
{
    for (size_t i = 0; i + 1 < s->queue.n;)
        if (s->queue.v[i].spooled && !s->queue.v[i].sent)
            packets_remove(&s->queue, i);
        else
            i++;
}

static void drop_oldest(struct sender *s)
{
    if (!s->backlog) {
        s->gone++;
    } else if (!s->queue.v[0].spooled) { /* neither the hub nor the disk accepted them */
        log_error("agent", "hub %s: a batch is lost: the hub is unreachable and the disk is not writable", s->hub);
        s->hooks.dropped(s->arg, 1, "neither the hub nor the disk took it");
    }
    packets_remove(&s->queue, 0);
}

void sender_push(struct sender *s, struct packet *p)
{
    size_t most = s->backlog ? SIZE_MAX : s->conf.most_bytes - MIN(s->conf.most_bytes, packet_bytes(p));

    while (s->queue.n && (s->queue.n == SENDER_MAX || s->queue.bytes > most))
        drop_oldest(s);
    packets_push(&s->queue, p);
    if (s->conf.spool_always || s->late || s->live.failures)
        queue_to_disk(s);
    if (s->live.failures)
        queue_leave_to_disk(s);
}

bool sender_idle(const struct sender *s)
{
    return !http_busy(s->live.call) && (s->queue.n == 0 || s->live.failures > 0);
}

const struct hub_pace *sender_pace(const struct sender *s)
{
    return &s->pace;
}

int64_t sender_spoke_ms(const struct sender *s)
{
    return s->spoke_ms;
}

void sender_stat(const struct sender *s, struct sender_stat *ret)
{
    *ret = (struct sender_stat){.packets = s->queue.n, .bytes = s->queue.bytes, .gone = s->gone};
}

/* ---- code shared by both lanes ---- */

enum verdict { TAKEN, REFUSED, DENIED, FAILED };

/* Cleans text of the hub for a log: short, and without our token, should the hub return it. */
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
    for (n = 0; n < line.len && n + 1 < size; n++) /* it may be the page of some proxy */
        out[n] = (line.p[n] >= 0x20 && line.p[n] < 0x7f) ? line.p[n] : '?';
    out[n] = 0;
}

static void begin_body(struct sender *s, struct lane *l, struct buf *body)
{
    struct hello h = {0};
    struct spool_stat st = {.records = s->queue.n - MIN(s->queue.n, s->conf.at_once)};

    l->blobs.n = 0;
    if (s->backlog)
        backlog_stat(s->backlog, &st);
    s->hooks.hello(s->arg, &h);
    h.backlog = (uint32_t)MIN(st.records, (size_t)UINT32_MAX);
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
    if (same_pace(&p, &s->pace))
        return;
    bool far = llabs(p.offset_ms) > 5000 && llabs(s->pace.offset_ms) <= 5000;
    s->pace = p;
    if (!s->hooks.pace)
        return;
    if (far)
        log_warn("agent", "hub %s: its clock and this node's differ by %lld ms", s->hub, (long long)p.offset_ms);
    s->hooks.pace(s->arg);
}

static void take_answer(struct sender *s, struct lane *l, const struct answer *a, int64_t took_ms)
{
    struct err err = {0};

    packets_learn(&s->queue, &l->blobs, a);
    if (a->token[0]) {
        if (badge_keep(s->badge, a->token, &err) < 0)
            log_error("agent", "hub %s: cannot keep this node's own token: %s", s->hub, err.msg);
        else
            log_info("agent", "hub %s: enrolled; this node has its own token now", s->hub);
    }
    badge_accepted(s->badge);
    take_pace(s, a, took_ms);
}

/* A page of a portal or a proxy has no word of ours in it. */
static bool answer_says(const struct answer *a)
{
    return a->n_stored || a->n_need || a->time_ms || a->interval_ms || a->phase_ms >= 0 || a->retry_ms || a->token[0];
}

/* Evaluates the result of a POST. On TAKEN *ret is the hub's reply; otherwise only its retry_ms is set. */
static enum verdict judge(const struct sender *s, const struct http_result *r, struct answer *ret, char why[WHY_MAX])
{
    struct err err = {0};
    char text[WHY_MAX - 40] = "";

    if (r->status == 200) {
        int bad = answer_parse(r->body, ret, &err);
        if (bad == 0 && (r->body.len == 0 || answer_says(ret)))
            return TAKEN;
        shown_text(s, bad ? str_of(err.msg) : r->body, text, sizeof(text));
        snprintf(why, WHY_MAX, "its answer makes no sense: %s", text);
    } else if (r->status) {
        AUTO_BUF said = BUF_INIT(r->body.len + 1);
        answer_refusal(r->body, &said);
        shown_text(s, buf_str(&said), text, sizeof(text));
        snprintf(why, WHY_MAX, "HTTP %d%s%s", r->status, text[0] ? ": " : "", text);
    } else {
        snprintf(why, WHY_MAX, "%.200s", r->error);
    }
    ret->retry_ms = r->status == 200 ? 0 : r->retry_after_ms;
    return r->status == 401 || r->status == 403                       ? DENIED
           : r->status == 400 || r->status == 413 || r->status == 422 ? REFUSED
                                                                      : FAILED;
}

/* ---- live ---- */

/* Without a disk, a batch is dropped after enough tries. */
static bool give_up(struct sender *s, const struct waiting_packet *w)
{
    bool tired = !s->backlog && w->tries >= TRIES_MAX;

    s->gone += tired;
    return tired;
}

static void tell_failed(struct sender *s, int status, const char *why)
{
    if (s->conf.peers)
        s->conf.peers->failed(s->conf.peers_arg, status, why);
    else if ((s->ok || !s->trouble[0]) && s->over)
        log_warn("agent", "hub %s does not take our batches: %s; the next is tried", s->hub, why);
    else if (s->ok || !s->trouble[0])
        log_warn("agent", "hub %s does not take our batches: %s; they wait on disk", s->hub, why);
    else if (s->over && s->live.failures + 1 == s->n_hubs)
        log_warn("agent", "hub %s does not take our batches either: %s; they wait on disk", s->hub, why);
    else if (!s->over && strcmp(s->trouble, why) != 0)
        log_info("agent", "hub %s: %s", s->hub, why);
    mem_copy_str(s->trouble, sizeof(s->trouble), why);
    s->ok = false;
}

static void live_failed(struct sender *s, int status, const char *why, int64_t retry_ms)
{
    s->over = another_may(s, status);
    tell_failed(s, status, why);
    packets_unsend(&s->queue);
    queue_to_disk(s); /* D2 */
    queue_leave_to_disk(s);
    pause_lane(&s->live, (unsigned)s->n_hubs, s->over ? 0 : retry_ms);
}

/* One packet of them may be at fault: the catch-up lane finds out which; this lane continues with new packets. */
static void live_refused(struct sender *s, int status, const char *why, int64_t retry_ms)
{
    live_failed(s, status, why, s->backlog ? retry_ms : MAX(retry_ms, REFUSED_MS));
    for (size_t i = s->queue.n; i-- > 0;)
        if (s->queue.v[i].spooled || give_up(s, &s->queue.v[i]))
            packets_remove(&s->queue, i);
}

/* Sent and not stored: it lacks a blob, or the hub could not just now. True when it stays in this lane; else it is on
 * disk, for the careful one, or given up. */
static bool live_not_stored(struct sender *s, struct waiting_packet *w, bool lacks)
{
    w->sent = false;
    if (lacks && w->tries < NEED_TRIES)
        return true;
    packet_to_disk(s, w);
    return !w->spooled && !give_up(s, w);
}

static void tell_taken(struct sender *s)
{
    struct spool_stat st;

    if (s->conf.peers) {
        s->conf.peers->taken(s->conf.peers_arg);
    } else if (!s->ok) {
        backlog_stat(s->backlog, &st);
        if (st.records)
            log_info("agent", "hub %s accepts our batches; %zu wait on disk", s->hub, st.records);
        else
            log_info("agent", "hub %s accepts our batches", s->hub);
    }
    s->ok = true;
    s->trouble[0] = 0;
}

static void on_stored(void *arg, const struct waiting_packet *w)
{
    struct sender *s = arg;

    if (w->spooled)
        backlog_done(s->backlog, w->p->run, w->p->number);
}

static void live_taken(struct sender *s, const struct answer *a)
{
    bool left = false;

    tell_taken(s);
    s->oks += a->n_stored > 0;
    s->live.failures = 0;
    packets_stored(&s->queue, a, on_stored, s);
    for (size_t i = 0; i < s->queue.n;)
        if (!s->queue.v[i].sent) {
            i++;
        } else if (live_not_stored(s, &s->queue.v[i], a->n_need > 0)) {
            left = true;
            i++;
        } else {
            packets_remove(&s->queue, i);
        }
    if (s->gone)
        s->hooks.dropped(s->arg, s->gone, "the hub did not take it in time");
    s->gone = 0;
    if (left && a->retry_ms == 0)
        speak(s);
    else if (left || a->retry_ms)
        timer_after(s->live.timer, MAX(a->retry_ms, 100));
    if (s->again && !http_busy(s->live.call) && !timer_is_set(s->live.timer))
        speak(s);
    if (!timer_is_set(s->back.timer))
        send_back(s);
}

static void on_live_done(void *arg, const struct http_result *r)
{
    struct sender *s = arg;
    struct answer a;
    char why[WHY_MAX] = "";
    enum verdict v = judge(s, r, &a, why);

    timer_stop(s->ack);
    s->late = false;
    if (s->conf.peers)
        s->conf.peers->done(s->conf.peers_arg);
    if (v == TAKEN) {
        take_answer(s, &s->live, &a, r->took_ms);
        live_taken(s, &a);
        return;
    }
    if (v == DENIED)
        badge_turn(s->badge);
    if (v == REFUSED)
        live_refused(s, r->status, why, a.retry_ms);
    else
        live_failed(s, r->status, why, a.retry_ms);
}

static void on_ack(void *arg)
{
    struct sender *s = arg;

    s->late = true;
    queue_to_disk(s); /* D2: removed again when the reply arrives */
}

bool sender_go(struct sender *s)
{
    AUTO_BUF body = BUF_INIT(WIRE_BODY_MAX);
    struct err err = {0};

    timer_stop(s->live.timer);
    if (s->over)
        go_over(s);
    begin_body(s, &s->live, &body);
    s->again = !packets_fill(&s->queue, &s->live.blobs, &body, s->conf.at_once, LIVE_BYTES);
    s->spoke_ms = clock_mono_ms();
    if (http_post(s->live.call, badge_now(s->badge), &body, s->conf.timeout_ms, &err) < 0) {
        live_failed(s, 0, err.msg, 0);
        return false;
    }
    if (s->backlog)
        timer_after(s->ack, ANSWER_WAIT_MS);
    return true;
}

static void speak(void *arg)
{
    struct sender *s = arg;

    if (http_busy(s->live.call))
        s->again = true;
    else if (s->conf.peers)
        s->conf.peers->turn(s->conf.peers_arg);
    else
        sender_go(s);
}

void sender_beat(struct sender *s)
{
    if (!timer_is_set(s->live.timer)) /* D4 */
        speak(s);
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
    /* D3: only if the hub has accepted others meanwhile */
    if (s->oks > s->odd_oks && s->odd_tries >= (refused ? 2 : TRIES_MAX))
        drop_record(s, run, number, why);
}

static void back_taken(struct sender *s, const struct answer *a)
{
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
    if (!any && !(a->n_need && s->odd_tries == 1)) { /* first request for the blob: immediately */
        pause_lane(&s->back, 1, a->retry_ms);
        return;
    }
    s->back.failures = 0;
    if (a->retry_ms)
        timer_after(s->back.timer, a->retry_ms);
    else
        send_back(s);
}

static void on_back_done(void *arg, const struct http_result *r)
{
    struct sender *s = arg;
    struct answer a;
    char why[WHY_MAX] = "";
    enum verdict v = judge(s, r, &a, why);

    if (v == TAKEN) {
        take_answer(s, &s->back, &a, r->took_ms);
        back_taken(s, &a);
        return;
    }
    if (v == REFUSED && s->n_back > 1) {
        s->back_limit = s->n_back / 2;
        timer_after(s->back.timer, 50);
        return;
    }
    if (v == REFUSED)
        record_is_odd(s, true, why);
    else /* the live lane deals with tokens */
        log_debug("agent", "hub %s: catching up: %s", s->hub, why);
    pause_lane(&s->back, 1, a.retry_ms);
}

/* Add the record's blobs that this hub may lack, then the record itself. */
static int add_record(struct sender *s, struct buf *body, const struct spool_rec *rec, struct buf *frame)
{
    for (size_t i = 0; i < ARRAY_LEN(rec->blobs); i++) {
        AUTO_BUF blob = BUF_INIT(WIRE_BODY_MAX);
        if (!packets_want(&s->queue, &s->back.blobs, rec->blobs[i]))
            continue;
        if (backlog_blob(s->backlog, rec->blobs[i], &blob))
            buf_addstr(body, buf_str(&blob));
        else
            s->back.blobs.n--; /* not sent after all: the hub may have it from before */
    }
    return buf_addstr(body, buf_str(frame));
}

static size_t fill_back(struct sender *s, struct buf *body)
{
    AUTO_BUF frame = BUF_INIT(WIRE_BODY_MAX);
    struct spool_rec rec;
    size_t n = 0;

    for (size_t i = 0; n < s->back_limit && i < n + SENDER_MAX + 1; i++) {
        if (!backlog_peek(s->backlog, i, &rec))
            break;
        if (packets_have(&s->queue, rec.run, rec.number))
            continue; /* on its way in the live lane */
        if (n && body->len + rec.bytes.len > CATCH_BYTES)
            break;
        buf_reset(&frame);
        buf_addstr(&frame, rec.bytes); /* invalidates rec.bytes */
        add_record(s, body, &rec, &frame);
        s->back_key[n].run = rec.run;
        s->back_key[n++].number = rec.number;
    }
    return n;
}

static void send_back(void *arg)
{
    struct sender *s = arg;
    AUTO_BUF body = BUF_INIT(WIRE_BODY_MAX);
    struct err err = {0};
    struct spool_stat st;

    if (!s->backlog || !s->ok || http_busy(s->back.call))
        return; /* live_taken calls this again */
    backlog_stat(s->backlog, &st);
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
        pause_lane(&s->back, 1, 0);
}

/* ---- life ---- */

bool sender_has_folder(const struct sender *s, struct str folder)
{
    return str_eq(folder, s->folder);
}

/* NULL if nothing is kept on disk. */
static char *sender_dir(const struct sender_conf *c, const char *folder, bool spool)
{
    if (!c->state_dir)
        return NULL;
    if (spool && c->spool_dir)
        return mem_fmt("%s/%s", c->spool_dir, folder);
    return mem_fmt("%s/hubs/%s%s", c->state_dir, folder, spool ? "/spool" : "");
}

static void sender_connect(struct sender *s)
{
    AUTO_BUF url = BUF_INIT(4096);
    struct str key = s->conf.pin ? hubs_item(s->conf.pin, s->at) : STR("");
    AUTO_FREE char *pin = key.len ? mem_strn(key.p, key.len) : NULL;
    struct http_conf hc = {.ca_file = s->conf.ca_file, .pin = pin, .proxy = s->conf.proxy};

    buf_addf(&url, "%s/api/v1/batches", s->hub);
    if (s->conf.origin) {
        buf_adds(&url, "?origin=");
        buf_addurl(&url, str_of(s->conf.origin));
    }
    hc.url = url.p;
    s->live.call = http_call_new(s->http, &hc, on_live_done, s);
    if (s->backlog)
        s->back.call = http_call_new(s->http, &hc, on_back_done, s);
}

static void sender_disconnect(struct sender *s)
{
    http_call_free(s->live.call);
    http_call_free(s->back.call);
    s->live.call = s->back.call = NULL;
}

static int sender_open(struct sender *s, struct err *err)
{
    AUTO_FREE char *dir = sender_dir(&s->conf, s->folder, false), *spool = sender_dir(&s->conf, s->folder, true);
    int r;

    if (dir && ((r = file_mkdirs(dir, 0700, err)) < 0 || (r = file_mkdirs(spool, 0700, err)) < 0))
        return r;
    if ((r = badge_open(&s->badge, &s->conf.badge, dir, err)) < 0 || !dir)
        return r;
    struct spool_conf sc = {.dir = spool, .max_bytes = s->conf.spool_max_bytes, .max_age_ms = s->conf.spool_max_age_ms};
    return backlog_open(&s->backlog, s->loop, &sc, s->conf.hub, s->hooks.dropped, s->arg, err);
}

int sender_new(struct sender **ret, struct event_base *loop, struct http *http, const struct sender_conf *conf,
               const struct sender_hooks *hooks, void *arg, struct err *err)
{
    struct sender *s = NEW(struct sender, .loop = loop, .http = http, .conf = *conf, .hooks = *hooks, .arg = arg,
                           .pace.phase_ms = -1, .back_limit = CATCH_MAX);
    AUTO_BUF folder = BUF_INIT(1024);

    hubs_folder(conf->hub, conf->state_dir, &folder);
    s->folder = mem_str(buf_str(&folder).p);
    choose_hub(s, 0);
    int r = sender_open(s, err);
    if (r < 0) {
        sender_free(s);
        return err_prefix(err, r, "hub %s", conf->hub);
    }
    s->live.timer = timer_new(loop, speak, s);
    s->back.timer = timer_new(loop, send_back, s);
    s->ack = timer_new(loop, on_ack, s);
    sender_connect(s);
    *ret = s;
    return 0;
}

int sender_check(const struct sender_conf *conf, struct err *err)
{
    AUTO_BUF folder = BUF_INIT(1024);
    struct badge *badge = NULL;

    hubs_folder(conf->hub, conf->state_dir, &folder);
    AUTO_FREE char *dir = sender_dir(conf, folder.p, false);
    int r = badge_open(&badge, &conf->badge, dir, err);

    badge_free(badge);
    return r < 0 ? err_prefix(err, r, "hub %s", conf->hub) : 0;
}

void sender_reload(struct sender *s, const struct sender_conf *conf)
{
    AUTO_FREE char *dir = sender_dir(conf, s->folder, false);
    struct badge *badge = NULL;
    struct err err = {0};

    if (badge_open(&badge, &conf->badge, dir, &err) == 0) { /* else keep the current badge */
        badge_free(s->badge);
        s->badge = badge;
    }
    sender_disconnect(s);
    timer_stop(s->back.timer);
    timer_stop(s->ack);
    s->conf = *conf;
    choose_hub(s, hubs_find(conf->hub, s->hub));
    backlog_name(s->backlog, conf->hub);
    s->live.failures = s->back.failures = 0;
    s->late = false;
    packets_unsend(&s->queue);
    sender_connect(s);
    speak(s);
}

void sender_free(struct sender *s)
{
    if (!s)
        return;
    queue_to_disk(s); /* D1 */
    sender_disconnect(s);
    timer_free(s->live.timer);
    timer_free(s->back.timer);
    timer_free(s->ack);
    free(s->live.blobs.v);
    free(s->back.blobs.v);
    packets_fini(&s->queue);
    backlog_close(s->backlog);
    badge_free(s->badge);
    free(s->folder);
    free(s->hub);
    free(s);
}

void sender_status(const struct sender *s, struct buf *out)
{
    struct spool_stat st;
    char age[24];

    backlog_stat(s->backlog, &st);
    buf_addf(out, "hub %s\n", s->hub);
    if (s->n_hubs > 1)
        buf_addf(out, "  one of %s\n", s->conf.hub);
    if (s->ok)
        buf_addf(out, "  takes our batches\n");
    else
        buf_addf(out, "  %s\n", s->trouble[0] ? s->trouble : "not contacted yet");
    buf_addf(out, "  on disk: %zu batches, %lld bytes", st.records, (long long)st.bytes);
    if (st.records)
        buf_addf(out, ", the oldest of %s ago", clock_span(clock_wall_ms() - st.oldest_ms, age));
    buf_addc(out, '\n');
    if (st.dropped || st.damaged)
        buf_addf(out, "  given up since the start: %llu; damaged: %llu\n", (unsigned long long)st.dropped,
                 (unsigned long long)st.damaged);
}
