/* outbox.c: a queue per channel and recipient, and which of its messages is being sent. Carriers send them. */
#include "notify/outbox.h"

#include <errno.h>
#include <inttypes.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/order.h"
#include "base/rand.h"
#include "base/zone.h"
#include "format/note.h"
#include "hub/handlers.h"
#include "hub/self.h"
#include "net/http.h"
#include "notify/carrier.h"
#include "notify/channel.h"
#include "notify/digest.h"

#define EVERY_MS      1000
#define LONGEST_MS    300000 /* between two tries */
#define OLDEST_MS     (3 * 86400000ll)
#define SHOWN_MS      600000 /* how long a failure of a recipient is shown */
#define QUEUE_MAX     1000   /* per box; the oldest message is dropped */
#define UNDER_WAY_MAX 8      /* per channel */
#define FEW           5      /* more waiting messages are joined */
#define LONG_MS       30000  /* only if the first has waited this long: short bursts are sent one at a time */
#define BOX_NAME_MAX  (CHANNEL_NAME_MAX + 100)

struct box {
    struct outbox *o;
    char *channel, *to;
    struct message **v; /* oldest first */
    size_t n, cap;
    int64_t sending; /* id of the message in flight; 0: none */
    const struct carrier *carrier;
    struct load *load;
    int64_t began_mono, next_mono;
    int tries;
    char error[CARRIER_ERROR_MAX]; /* of the last try; "": success, or none */
    int64_t since_ms;              /* failing since */
    int64_t held_ms; /* until then something other than the send rate delayed messages: failures, quiet hours */
};

struct channel_test {
    struct outbox *o;
    struct message *m;
    const struct carrier *carrier;
    struct load *load;
    tried_fn *done;
    void *arg;
    struct channel_test *next;
};

/* Ids of messages that must not be sent. Until they are stored, a hub that starts or becomes leader would send them. */
struct pending_cancel {
    struct pending_cancel *next;
    struct hub *h;
    size_t n;
    int64_t ids[];
};

struct outbox {
    struct carriers carriers;
    struct channel_test *tests;  /* in progress */
    struct pending_cancel *jots; /* could not be stored */
    struct channels *channels;
    size_t clear; /* this channel's secret goes to clear_host without TLS; number of channels: none */
    char clear_host[SECRET_HOST_MAX];
    struct box **v;
    size_t n, cap, turn;
    struct channel_now *now;
    int64_t last_id;
};

#define SETTINGS notify
#include "base/opt_def.h"

struct channels *outbox_channels_of(const struct hub_conf *conf, struct err *err)
{
    const struct opt_section *slack = hub_conf_value(conf, "slack");
    struct channels *c = channels_new();
    int r = channels_read(c, hub_conf_value(conf, "channels"), err);
    const struct channel *bot = slack->text ? NULL : FIND(c->v, c->n, e, e->type == CHANNEL_SLACK_BOT);

    if (r == 0 && bot)
        r = err_set(err, -EINVAL, "channel '%s': Slack's bot needs its section: slack: {token_file: FILE}", bot->name);
    if (r == 0 && slack->text)
        r = channels_add_bot(c, err);
    if (r == 0)
        return c;
    channels_free(c);
    return NULL;
}

static int prepare_channels(UNUSED void *self, const struct hub_conf *conf, void **next, struct err *err)
{
    *next = outbox_channels_of(conf, err);
    return *next ? 0 : -EINVAL;
}

static void drop_channels(void *next)
{
    channels_free(next);
}

static void *open_outbox(struct hub *h)
{
    return h->outbox = NEW(struct outbox, .carriers = {.h = h}, .channels = channels_new());
}

/* Does not wait for a message in flight. */
static void box_free(struct box *b)
{
    if (b->load)
        b->carrier->stop(b->load);
    for (size_t i = 0; i < b->n; i++)
        free(b->v[i]);
    FREE_ALL(b->v, b->channel, b->to);
    free(b);
}

static void end_test(struct channel_test *t, const struct delivery_state *r)
{
    struct channel_test **at = &t->o->tests;

    while (*at != t)
        at = &(*at)->next;
    *at = t->next;
    t->done(t->arg, t->m->channel, r);
    free(t->m);
    free(t);
}

/* carrier NULL: all. */
static void stop_tests(struct outbox *o, const struct carrier *carrier)
{
    for (struct channel_test *t = o->tests, *next; t; t = next) {
        next = t->next;
        if (carrier && t->carrier != carrier)
            continue;
        t->carrier->stop(t->load);
        end_test(t, &(struct delivery_state){.how = CARRIED_AGAIN, .error = "the hub ends"});
    }
}

void outbox_carry(struct outbox *o, enum channel_type type, const struct carrier *c)
{
    const struct carrier *was = o->carriers.registered[type];

    o->carriers.registered[type] = c;
    if (!was)
        return;
    stop_tests(o, was);
    for (size_t i = 0; i < o->n; i++) {
        struct box *b = o->v[i];
        if (!b->load || b->carrier != was)
            continue;
        was->stop(b->load);
        b->load = NULL;
        b->sending = 0;
    }
}

static void close_outbox(void *self)
{
    struct outbox *o = self;

    o->carriers.h->outbox = NULL;
    stop_tests(o, NULL);
    for (struct pending_cancel *j = o->jots, *next; j; j = next) {
        next = j->next;
        free(j);
    }
    for (size_t i = 0; i < o->n; i++)
        box_free(o->v[i]);
    http_free(o->carriers.http);
    channels_free(o->channels);
    FREE_ALL(o->v, o->now, o);
}

static struct box *box_of(struct outbox *o, const char *channel, const char *to)
{
    struct box **there = FIND(o->v, o->n, e, strcmp((*e)->channel, channel) == 0 && strcmp((*e)->to, to) == 0);

    if (there)
        return *there;
    struct box *b =
        NEW(struct box, .o = o, .channel = mem_str(channel), .to = mem_str(to), .held_ms = o->carriers.h->started_ms);
    VEC_ADD(o->v, o->n, o->cap, b);
    return b;
}

/* Name for logs: the channel and the recipient, unless that is a reply address, which would be a secret. */
static const char *box_name(const struct box *b, char out[BOX_NAME_MAX])
{
    bool shown = b->to[0] && !strstr(b->to, "://");

    snprintf(out, BOX_NAME_MAX, "%s%s%.80s", b->channel, shown ? " to " : "", shown ? b->to : "");
    return out;
}

static void take_channels(void *self, void *next)
{
    struct outbox *o = self;

    channels_free(o->channels);
    o->channels = next;
    const struct channels *c = o->channels;
    o->clear = FIRST(c->n, i, channel_in_clear(&c->v[i], o->clear_host)); /* reads files: once per settings */
    for (size_t i = 0; i < o->n; i++)
        o->v[i]->next_mono = 0; /* the error may be fixed */
}

const struct channels *outbox_channels(const struct outbox *o)
{
    return o->channels;
}

int64_t outbox_next_id(struct outbox *o)
{
    int64_t id = hub_next_id(o->carriers.h, IDS_NOTE, o->last_id + 1);

    if (!id) /* no id from the server: use a unique one, not stored either */
        id = o->last_id + 1 + (int64_t)(rand_u64() >> 24);
    o->last_id = MAX(o->last_id, id);
    return id;
}

/* ---- in and out ---- */

static void changed(UNUSED void *arg, int result)
{
    if (result < 0)
        log_warn("channel", "a message cannot be changed in the store: %s", store_error_text(result));
}

static void jotted(void *arg, int result)
{
    struct pending_cancel *j = arg;

    if (result == 0 || !j->h->outbox) {
        free(j);
        return;
    }
    log_warn("channel", "that a message was sent cannot be noted yet: %s", store_error_text(result));
    j->next = j->h->outbox->jots;
    j->h->outbox->jots = j;
}

/* first: a note to write in the same transaction; may be NULL. */
static void jot_put(struct pending_cancel *j, const struct note *first)
{
    AUTO_FREE struct note *v = mem_zero(j->n + 1, sizeof(*v));
    size_t n = 0;

    if (first)
        v[n++] = *first;
    for (size_t i = 0; i < j->n; i++)
        v[n++] = (struct note){.kind = NOTE_MESSAGE, .id = j->ids[i], .over_ms = NOTE_GONE};
    store_put(j->h->store, STORE_NOTE, v, n, jotted, j);
}

static struct pending_cancel *jot_new(struct hub *h, size_t n)
{
    struct pending_cancel *j = mem_zero(1, sizeof(*j) + n * sizeof(j->ids[0]));

    j->h = h;
    return j;
}

static void jot_again(struct outbox *o)
{
    struct pending_cancel *list = o->jots;

    o->jots = NULL;
    for (struct pending_cancel *j = list, *next; j; j = next) {
        next = j->next;
        jot_put(j, NULL);
    }
}

static void box_take(struct box *b, size_t at)
{
    free(b->v[at]);
    memmove(b->v + at, b->v + at + 1, (--b->n - at) * sizeof(*b->v));
}

static void box_drop(struct box *b, size_t at)
{
    struct pending_cancel *j = jot_new(b->o->carriers.h, 1);

    j->ids[j->n++] = b->v[at]->id;
    jot_put(j, NULL);
    box_take(b, at);
}

static void give_up(struct box *b, size_t at, const char *why)
{
    char name[BOX_NAME_MAX];

    log_warn("channel", "%s: message %" PRId64 " is given up, %s: %s", box_name(b, name), b->v[at]->id, why,
             b->v[at]->title);
    box_drop(b, at);
}

void outbox_put(struct outbox *o, const struct message *m)
{
    struct box *b = box_of(o, m->channel, m->to ? m->to : "");

    if (b->n == QUEUE_MAX)
        give_up(b, b->sending == b->v[0]->id ? 1 : 0, "too many wait");
    VEC_ADD(b->v, b->n, b->cap, message_copy(m));
    o->last_id = MAX(o->last_id, m->id);
}

struct sending {
    struct hub *h;
    struct message *m;
    store_done_fn *done;
    void *arg;
};

static void sent_on(void *arg, int result)
{
    struct sending *s = arg;

    if (result < 0)
        log_warn("channel", "a message cannot be stored, and is lost if the hub ends now: %s",
                 store_error_text(result));
    if (s->h->outbox)
        outbox_put(s->h->outbox, s->m);
    if (s->done)
        s->done(s->arg, result);
    free(s->m);
    free(s);
}

void outbox_send(struct outbox *o, const struct message *m, const struct note *with, store_done_fn *done, void *arg)
{
    struct sending *s = NEW(struct sending, o->carriers.h, message_copy(m), done, arg);
    AUTO_BUF b = BUF_INIT(NOTE_MAX);
    s->m->id = outbox_next_id(o);
    message_write(s->m, &b);
    struct note v[2];
    size_t n = 0;
    if (!b.err) /* an incomplete one would be invalid */
        v[n++] = (struct note){.kind = NOTE_MESSAGE, .id = s->m->id, .bytes = buf_str(&b)};
    if (with)
        v[n++] = *with;
    if (n)
        store_put(s->h->store, STORE_NOTE, v, n, sent_on, s);
    else
        sent_on(s, -EMSGSIZE);
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

static int load_messages(void *self, struct err *err)
{
    struct outbox *o = self;
    struct hub *h = o->carriers.h;

    o->last_id = MAX(o->last_id, h->started_ms * 1000); /* ids of removed messages are lower */
    return MIN(store_each(h->store, EACH_NOTE(NOTE_MESSAGE, load_message, o, .open = true), err), 0);
}

/* ---- changes by other hubs ---- */

/* Unless it is in flight here. */
static void forget_message(struct outbox *o, int64_t id)
{
    for (size_t i = 0; i < o->n; i++) {
        struct box *b = o->v[i];
        size_t at = FIRST(b->n, k, b->v[k]->id == id);
        if (at < b->n && b->sending != id)
            box_take(b, at);
    }
}

static bool is_under_way(const struct outbox *o, int64_t id)
{
    return ANY(o->n, i, o->v[i]->sending == id);
}

/* Messages that another hub queued or sent. */
static void hear_news(void *self, const struct hub_event *w)
{
    struct outbox *o = self;
    const struct note *n = w->kind == HUB_EVENT_RECORD && w->record->kind == STORE_NOTE ? w->record->record : NULL;

    if (!n || n->kind != NOTE_MESSAGE || is_under_way(o, n->id))
        return;
    forget_message(o, n->id);
    if (!w->record->gone)
        load_message(o, n);
}

/* ---- results ---- */

/* Sets the result as the channel's state. A message that some recipients did not get is shown as well. */
static void box_note(struct box *b, const char *error, bool sent)
{
    char name[BOX_NAME_MAX];

    if (error[0] && !b->error[0])
        b->since_ms = clock_wall_ms();
    if (error[0] && strcmp(b->error, error) != 0)
        log_warn("channel", "%s %s: %s", box_name(b, name), sent ? "does not reach everybody" : "fails", error);
    else if (!error[0] && b->error[0])
        log_info("channel", "%s works again", box_name(b, name));
    mem_copy_str(b->error, sizeof(b->error), error);
}

/* Moves a partly delivered message to a separate box with the remaining recipients. */
static void readdress(struct box *b, size_t at, const struct delivery_state *r)
{
    struct outbox *o = b->o;
    struct message m = *b->v[at];
    AUTO_BUF bytes = BUF_INIT(NOTE_MAX);

    m.to = r->rest;
    message_write(&m, &bytes);
    struct note n = {.kind = NOTE_MESSAGE, .id = m.id, .bytes = buf_str(&bytes)};
    store_put(o->carriers.h->store, STORE_NOTE, &n, 1, changed, NULL);
    outbox_put(o, &m);
    struct box *rest = box_of(o, m.channel, m.to);
    rest->next_mono = MAX(rest->next_mono, clock_mono_ms() + r->wait_ms);
    box_take(b, at);
}

static void on_carried(void *arg, const struct delivery_state *r)
{
    struct box *b = arg;
    size_t at = FIRST(b->n, i, b->v[i]->id == b->sending);
    int64_t back_ms = MIN(EVERY_MS << MIN(b->tries, 20), LONGEST_MS);

    b->load = NULL;
    b->sending = 0;
    box_note(b, r->error ? r->error : "", r->how == CARRIED_SENT);
    if (b->tries || r->how == CARRIED_AGAIN)
        b->held_ms = clock_wall_ms();
    b->tries = r->how == CARRIED_AGAIN ? b->tries + 1 : 0;
    b->next_mono = r->how == CARRIED_SENT ? b->began_mono + EVERY_MS : clock_mono_ms() + MAX(back_ms, r->wait_ms);
    if (at == b->n)
        return;
    if (r->rest && strcmp(r->rest, b->to) != 0)
        readdress(b, at, r);
    else if (r->how == CARRIED_SENT)
        box_drop(b, at);
    else if (r->how == CARRIED_REFUSED)
        give_up(b, at, "it was refused");
}

/* ---- sending ---- */

/* A reply, or a message that a person waits for. */
static bool asked_for(const struct message *m)
{
    return m->kind == MESSAGE_ANSWER || (m->kind == MESSAGE_NOTICE && m->person[0]);
}

/* Messages that may be sent now, oldest first, as indices. */
static size_t due(const struct box *b, const struct channel *c, int64_t now_ms, size_t ret[QUEUE_MAX])
{
    struct civil at;
    size_t n = 0;

    zone_civil(b->o->carriers.h->zone, now_ms, &at);
    bool quiet = channel_quiet(c, at.hour * 60 + at.minute);
    for (size_t i = 0; i < b->n; i++)
        if (!quiet || b->v[i]->severity == SEV_CRITICAL || asked_for(b->v[i]))
            ret[n++] = i;
    return n;
}

/* With one message per alert, the send rate alone joins none. */
static bool may_join(const struct box *b, const struct channel *c, const struct message *m)
{
    return digest_accepts(m) && (!c->each || b->held_ms - m->created_ms >= LONG_MS);
}

/*
 * Replaces many waiting messages by one, in the place of the first, in one transaction. Not after a failure, since the
 * message of the failed try may have arrived.
 */
static void join(struct box *b, const struct channel *c, const size_t *at, size_t n, int64_t now_ms)
{
    const struct message *v[QUEUE_MAX];
    AUTO_BUF bytes = BUF_INIT(NOTE_MAX);
    char name[BOX_NAME_MAX];
    size_t k = 0, taken, kept = 0;

    while (k < n && may_join(b, c, b->v[at[k]])) {
        v[k] = b->v[at[k]];
        k++;
    }
    if (b->tries || k <= FEW || !channel_joins(c) || now_ms - v[0]->created_ms < LONG_MS)
        return;
    struct message *one = digest_of(v, k, channel_joins(c), b->o->carriers.h->zone, &taken);
    message_write(one, &bytes);
    if (taken < 2 || bytes.err) {
        free(one);
        return;
    }
    struct pending_cancel *j = jot_new(b->o->carriers.h, taken);
    for (size_t i = 1; i < taken; i++)
        j->ids[j->n++] = v[i]->id;
    jot_put(j, &(struct note){.kind = NOTE_MESSAGE, .id = v[0]->id, .bytes = buf_str(&bytes)});
    log_info("channel", "%s: %zu messages that waited are one now", box_name(b, name), taken);
    for (size_t i = 0, next = 0; i < b->n; i++) {
        if (next < taken && i == at[next]) {
            free(b->v[i]);
            if (next++ == 0)
                b->v[kept++] = one;
        } else {
            b->v[kept++] = b->v[i];
        }
    }
    b->n = kept;
}

/* Number of messages in flight of this channel. */
static size_t under_way(const struct outbox *o, const char *channel)
{
    size_t n = 0;

    for (size_t i = 0; i < o->n; i++)
        n += o->v[i]->sending && strcmp(o->v[i]->channel, channel) == 0;
    return n;
}

static void box_send(struct box *b, const struct channel *c, const struct carrier *carrier, const struct message *m)
{
    struct err err = {0};

    b->carrier = carrier;
    int r = carrier->send(&b->load, &b->o->carriers, c, m, on_carried, b, &err);
    if (r < 0)
        on_carried(b,
                   &(struct delivery_state){.how = r == -EBADMSG ? CARRIED_REFUSED : CARRIED_AGAIN, .error = err.msg});
}

/* The claim is stored as leader: this hub may send the message. */
static void claimed(void *arg, int result)
{
    struct box *b = arg;
    const struct channel *c = channels_find(b->o->channels, b->channel);
    const struct carrier *carrier = c ? carrier_of(&b->o->carriers, c->type) : NULL;
    size_t at = FIRST(b->n, i, b->v[i]->id == b->sending);

    if (result == 0 && carrier && at < b->n && hub_leads(b->o->carriers.h))
        box_send(b, c, carrier, b->v[at]);
    else
        b->sending = 0;
}

/* Of several hubs only the leader sends a message, and first stores the claim. After its death the message is sent
 * again. */
static void box_claim(struct box *b, const struct message *m)
{
    AUTO_BUF bytes = BUF_INIT(NOTE_MAX);

    message_write(m, &bytes);
    struct note n = {.kind = NOTE_MESSAGE, .id = m->id, .bytes = buf_str(&bytes)};
    hub_put_once(b->o->carriers.h, STORE_NOTE, &n, 1, claimed, b);
}

static void box_tick(struct box *b, int64_t now_ms)
{
    const struct channel *c = channels_find(b->o->channels, b->channel);
    const struct carrier *carrier = c ? carrier_of(&b->o->carriers, c->type) : NULL;
    int64_t mono_ms = clock_mono_ms();

    if (b->sending)
        return;
    while (b->n && now_ms - b->v[0]->created_ms > OLDEST_MS)
        give_up(b, 0, c ? "after three days" : "its channel is not there any more");
    if (!carrier || !b->n || mono_ms < b->next_mono || under_way(b->o, b->channel) >= UNDER_WAY_MAX)
        return;
    size_t at[QUEUE_MAX], n = due(b, c, now_ms, at);
    if (!n) {
        b->held_ms = now_ms;
        return;
    }
    join(b, c, at, n, now_ms);
    const struct message *m = b->v[at[0]];
    b->sending = m->id;
    b->began_mono = mono_ms;
    if (hub_is_alone(b->o->carriers.h))
        box_send(b, c, carrier, m);
    else
        box_claim(b, m);
}

/* A recipient's box exists while it has messages, or shows a recent failure. */
static bool box_over(const struct box *b)
{
    return b->to[0] && !b->n && !b->sending && clock_mono_ms() - b->began_mono > (b->error[0] ? SHOWN_MS : EVERY_MS);
}

static void send_due(void *self, int64_t now_ms)
{
    struct outbox *o = self;
    size_t n = 0;

    jot_again(o);
    for (size_t i = 0; i < o->n && hub_leads(o->carriers.h); i++) /* rotates the first box */
        box_tick(o->v[(i + o->turn) % o->n], now_ms);
    o->turn++;
    for (size_t i = 0; i < o->n; i++) {
        if (box_over(o->v[i]))
            box_free(o->v[i]);
        else
            o->v[n++] = o->v[i];
    }
    o->n = n;
}

/* ---- single test message ---- */

static void on_tried(void *arg, const struct delivery_state *r)
{
    struct channel_test *t = arg;

    for (size_t i = 0; i < t->o->n && r->how == CARRIED_SENT; i++)
        if (strcmp(t->o->v[i]->channel, t->m->channel) == 0)
            t->o->v[i]->next_mono = MIN(t->o->v[i]->next_mono, clock_mono_ms() + EVERY_MS); /* the error is fixed */
    end_test(t, r);
}

void outbox_try(struct outbox *o, const struct channel *c, const struct message *m, tried_fn *done, void *arg)
{
    struct channel_test *t =
        NEW(struct channel_test, .o = o, .m = message_copy(m), .carrier = carrier_of(&o->carriers, c->type),
            .done = done, .arg = arg, .next = o->tests);
    struct err err = {0};

    t->m->id = outbox_next_id(o);
    o->tests = t;
    if (!t->carrier || t->carrier->send(&t->load, &o->carriers, c, t->m, on_tried, t, &err) < 0)
        end_test(t, &(struct delivery_state){.how = CARRIED_AGAIN, .error = err.msg});
}

/* ---- state ---- */

/* State of a channel: its own box and those of its recipients; the error that has lasted longest. */
static struct channel_now now_of(const struct outbox *o, const struct channel *c)
{
    struct channel_now now = {.name = c->name, .type = channel_words[c->type], .error = ""};

    for (size_t i = 0; i < o->n; i++) {
        const struct box *b = o->v[i];
        if (strcmp(b->channel, c->name) != 0)
            continue;
        now.waiting += b->n;
        if (b->error[0] && (!now.error[0] || b->since_ms < now.since_ms)) {
            now.error = b->error;
            now.since_ms = b->since_ms;
        }
    }
    const struct carrier *carrier = carrier_of(&o->carriers, c->type);
    if (!now.error[0] && strcmp(c->name, CHANNEL_BOT) == 0 && carrier && carrier->error)
        now.error = carrier->error(&o->carriers, &now.since_ms);
    return now;
}

const struct channel_now *outbox_now(struct outbox *o, size_t *ret_n)
{
    const struct channels *c = o->channels;

    o->now = mem_grow(o->now, MAX(c->n, 1u), sizeof(*o->now));
    for (size_t i = 0; i < c->n; i++)
        o->now[i] = now_of(o, &c->v[i]);
    *ret_n = c->n;
    return o->now;
}

void outbox_notice(struct outbox *o, char *out, size_t size)
{
    size_t n, at = 0;
    const struct channel_now *v = outbox_now(o, &n);

    out[0] = 0;
    for (size_t i = 0; i < n; i++) /* a recipient who cannot be reached does not make the channel fail */
        if (v[i].error[0] && (v[i].waiting || !o->channels->v[i].to_person) && at + 100 < size)
            at += (size_t)snprintf(out + at, size - at, "%s%.60s", at ? ", " : "not delivered through ", v[i].name);
}

static void add_status(void *self, struct status *s)
{
    const struct outbox *o = self;
    char what[CHANNEL_NAME_MAX + 40];

    if (o->clear >= o->channels->n)
        return;
    const struct channel *c = &o->channels->v[o->clear];
    snprintf(what, sizeof(what), "the secret of the channel %s", c->name);
    status_clear(s, what, o->clear_host,
                 c->type == CHANNEL_MAIL ? "leave out tls: off" : "use https:// in its address");
}

const struct feature notify_feature = {
    .name = "notify",
    FEATURE_SETTINGS(notify),
    .routes = notify_routes,
    .open = open_outbox,
    .prepare = prepare_channels,
    .drop = drop_channels,
    .take = take_channels,
    .load = load_messages,
    .hear = hear_news,
    .tick = send_due,
    .status = add_status,
    .close = close_outbox,
};
