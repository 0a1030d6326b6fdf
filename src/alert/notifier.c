/* notifier.c: makes the due messages, stores them together with their alerts, and then adds them to the outbox. */
#include "alert/notifier.h"

#include <errno.h>

#include "alert/notify_group.h"
#include "base/log.h"
#include "base/order.h"
#include "base/zone.h"
#include "format/note.h"
#include "notify/outbox.h"

#define PASSED_MAX 1000
#define LATE_MS    86400000ll /* alerts that were over for longer before the start are not reported */

struct over { /* an alert that is over, not reported yet */
    struct alert *a;
    int64_t since_ms; /* when the hub noticed that */
};

struct passed { /* a person skipped because they have no address */
    char channel[CHANNEL_NAME_MAX + 1], person[BOOKING_PERSON_MAX];
};

struct share_sender;
struct alert_notifier {
    struct hub *h;
    struct share_sender *kept; /* could not be stored; sent after the next successful write */
    bool storing;
    struct over *over; /* to be reported */
    size_t n_over, cap_over;
    struct passed *passed;
    size_t n_passed, cap_passed;
};

struct alert_notifier *alert_notifier_new(struct hub *h)
{
    return NEW(struct alert_notifier, .h = h);
}

void alert_notifier_resolve(struct alert_notifier *t, const struct alert *a, int64_t now_ms)
{
    bool unheard = !a->told_ms && (a->notice || a->severity == SEV_CRITICAL) && now_ms - a->resolved_ms < LATE_MS;

    if (a->closed_ms || (!a->told_ms && !unheard))
        return;
    VEC_ADD(t->over, t->n_over, t->cap_over, (struct over){alert_copy(a), now_ms});
}

void alert_notifier_apply_remote(struct alert_notifier *t, const struct alert *a, int64_t now_ms)
{
    size_t i = FIRST(t->n_over, k, t->over[k].a->id == a->id);

    if (i < t->n_over) {
        free(t->over[i].a);
        t->over[i] = t->over[--t->n_over];
    }
    if (a->resolved_ms)
        alert_notifier_resolve(t, a, now_ms);
}

size_t alert_notifier_skipped_count(const struct alert_notifier *t, const char *channel)
{
    const struct channel *c = channels_find(outbox_channels(t->h->outbox), channel);
    size_t n = 0;

    for (size_t i = 0; c && i < t->n_passed; i++) /* some have an address by now */
        n += strcmp(t->passed[i].channel, channel) == 0 && !channel_address(c, t->h->api.people, t->passed[i].person);
    return n;
}

/* ---- into the store ---- */

/* Notes whose bytes are adjacent in a buffer that may move while it grows. */
struct notes {
    struct note *v;
    size_t n, cap;
    struct buf bytes;
};

struct share_sender { /* messages that are being stored, with their alerts */
    struct alert_notifier *t;
    struct alert_states *watch;
    int64_t epoch, at_ms;  /* epoch of this hub as leader, and the time */
    struct alert **before; /* alerts before this notification */
    size_t n_before, cap_before;
    struct notes w;
    struct message **v;
    size_t n, cap;
};

static void share_sender_free(struct share_sender *t)
{
    if (!t)
        return;
    for (size_t i = 0; i < t->n; i++)
        free(t->v[i]);
    for (size_t i = 0; i < t->n_before; i++)
        free(t->before[i]);
    buf_fini(&t->w.bytes);
    FREE_ALL(t->w.v, t->v, t->before, t);
}

void alert_notifier_free(struct alert_notifier *t)
{
    if (!t)
        return;
    share_sender_free(t->kept);
    for (size_t i = 0; i < t->n_over; i++)
        free(t->over[i].a);
    FREE_ALL(t->over, t->passed, t);
}

static void say(void *arg, const struct message *m)
{
    struct share_sender *t = arg;
    struct message with_id = *m;

    with_id.id = outbox_next_id(t->t->h->outbox);
    VEC_ADD(t->v, t->n, t->cap, message_copy(&with_id));
}

static void pass(void *arg, const char *channel, const char *person)
{
    struct alert_notifier *t = ((struct share_sender *)arg)->t;

    if (t->n_passed == PASSED_MAX ||
        FIND(t->passed, t->n_passed, e, strcmp(e->channel, channel) == 0 && strcmp(e->person, person) == 0))
        return;
    VEC_ROOM(t->passed, t->n_passed, t->cap_passed);
    struct passed *p = &t->passed[t->n_passed++];
    mem_copy_str(p->channel, sizeof(p->channel), channel);
    mem_copy_str(p->person, sizeof(p->person), person);
    log_info("alert", "cannot notify %s: no address for %s", person, channel);
}

static void put_told(struct share_sender *t);

/*
 * A hub without peers sends messages even if it cannot store them. A hub with peers keeps them until it can: otherwise
 * the next leader would send them again. After a change of leader (-ESTALE) the new leader sends them. Each change
 * increments the epoch: if it is one higher and this hub leads, no other hub led in between.
 */
static void told(void *arg, int result)
{
    struct share_sender *t = arg;
    struct hub *h = t->t->h;

    t->t->storing = false;
    if (result == -ESTALE && t->epoch > 0 && hub_epoch(h) == t->epoch + 1) {
        put_told(t);
        return;
    }
    if (result < 0)
        log_warn("alert", "cannot store that an alert was notified: %s", store_error_text(result));
    if (result < 0 && result != -ESTALE && !hub_is_alone(h)) {
        t->t->kept = t;
        return;
    }
    for (size_t i = 0; i < t->n && h->outbox && result != -ESTALE; i++)
        outbox_put(h->outbox, t->v[i]);
    for (size_t i = 0; i < t->n_before && result == -ESTALE; i++)
        alert_states_untold(t->watch, t->before[i], t->at_ms);
    share_sender_free(t);
}

/* Stores kept messages first: a newer state of the same alert must not be stored before them. */
static void tell_kept(struct alert_notifier *t)
{
    struct share_sender *kept = t->kept;
    int64_t epoch = hub_epoch(t->h);

    t->kept = NULL;
    if (epoch == kept->epoch || epoch == kept->epoch + 1)
        put_told(kept);
    else
        told(kept, -ESTALE);
}

static void note_add(struct notes *w, struct note n, size_t from)
{
    n.bytes.len = w->bytes.len - from;
    VEC_ADD(w->v, w->n, w->cap, n);
}

static void note_alert(struct notes *w, const struct alert *a)
{
    size_t from = w->bytes.len;

    alert_write(a, &w->bytes);
    note_add(w, (struct note){.kind = NOTE_ALERT, .id = a->id, .over_ms = a->resolved_ms}, from);
}

/* Stores the alerts with their new recipients and the messages in one transaction. */
static void put_told(struct share_sender *t)
{
    t->epoch = hub_epoch(t->t->h);
    t->t->storing = t->w.n > 0 && !hub_is_alone(t->t->h);
    if (t->w.n)
        store_put_led(t->t->h->store, t->epoch, STORE_NOTE, t->w.v, t->w.n, told, t);
    else
        told(t, 0);
}

static void note_messages(struct share_sender *t)
{
    struct notes *w = &t->w;

    for (size_t i = 0; i < t->n; i++) {
        size_t from = w->bytes.len;
        message_write(t->v[i], &w->bytes);
        note_add(w, (struct note){.kind = NOTE_MESSAGE, .id = t->v[i]->id}, from);
    }
    const char *at = w->bytes.p;
    for (size_t i = 0; i < w->n; i++) {
        w->v[i].bytes.p = at;
        at += w->v[i].bytes.len;
    }
}

/* ---- changes ---- */

static struct alert_change news_of(const struct alerts_now *now, const struct alert *a, int32_t kind, int64_t since_ms,
                                   int64_t now_ms)
{
    return (struct alert_change){.a = a,
                                 .kind = kind,
                                 .since_ms = since_ms,
                                 .silenced = silence_of(now, a, now_ms) != NULL};
}

/* Closes alerts that are over and due: reported, or without recipients. */
static void close_over(struct alert_notifier *t, const struct alert_change *v, struct notes *w, int64_t now_ms)
{
    size_t n = 0;

    for (size_t i = 0; i < t->n_over; i++) {
        struct over *x = &t->over[i];
        if (!v[i].due) {
            t->over[n++] = *x;
            continue;
        }
        x->a->closed_ms = now_ms;
        note_alert(w, x->a);
        free(x->a);
    }
    t->n_over = n;
}

void alert_notifier_tick(struct alert_notifier *t, const struct alerts_now *now, const struct alert_rules *rules,
                         struct alert_states *watch, int64_t now_ms)
{
    struct notify_params k = {.now_ms = now_ms,
                              .channels = outbox_channels(t->h->outbox),
                              .rules = rules,
                              .people = t->h->api.people,
                              .live = t->h->live,
                              .passed = pass};
    AUTO_FREE struct alert_change *v = mem_zero(now->n + t->n_over + 1, sizeof(*v));
    struct civil at;
    size_t n = 0;

    if (t->kept)
        tell_kept(t);
    if (t->storing || t->kept)
        return;
    for (size_t i = 0; i < t->n_over; i++) /* first: a node that is down again was up in between */
        v[n++] = news_of(now, t->over[i].a, t->over[i].a->told_ms ? MESSAGE_RESOLVED : MESSAGE_NOTICE,
                         t->over[i].since_ms, now_ms);
    for (size_t i = 0; i < now->n; i++)
        if (now->v[i]->fired_ms)
            v[n++] = news_of(now, now->v[i], now->v[i]->told_ms ? MESSAGE_REMINDER : MESSAGE_FIRED, now->v[i]->fired_ms,
                             now_ms);
    if (!n)
        return;
    zone_civil(t->h->zone, now_ms, &at);
    k.minute = at.hour * 60 + at.minute;
    struct share_sender *to =
        NEW(struct share_sender, .t = t, .watch = watch, .at_ms = now_ms, .w.bytes = BUF_INIT(256u << 20));
    alert_group_notify(&k, v, n, say, to);
    for (size_t i = t->n_over; i < n; i++)
        if (v[i].told) {
            struct alert *before = alert_copy(v[i].a);
            VEC_ADD(to->before, to->n_before, to->cap_before, before);
            note_alert(&to->w,
                       alert_states_mark_notified(watch, before->rule, before->subject, now_ms, buf_str(&v[i].who).p));
        }
    close_over(t, v, &to->w, now_ms);
    for (size_t i = 0; i < n; i++)
        buf_fini(&v[i].who);
    note_messages(to);
    put_told(to);
}
