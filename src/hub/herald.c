/* herald.c: news into messages, and both into the store together; then into the outbox. */
#include "hub/herald.h"

#include "alert/note.h"
#include "alert/tell.h"
#include "base/log.h"
#include "hub/outbox.h"

struct over { /* an alert that is over, of which somebody was told */
    struct alert *a;
    int64_t since_ms; /* when that was seen */
};

struct herald {
    struct hub *h;
    struct over *over; /* to be told of */
    size_t n_over, cap_over;
};

struct herald *herald_new(struct hub *h)
{
    struct herald *t = mem_zero(1, sizeof(*t));

    t->h = h;
    return t;
}

void herald_free(struct herald *t)
{
    if (!t)
        return;
    for (size_t i = 0; i < t->n_over; i++)
        free(t->over[i].a);
    free(t->over);
    free(t);
}

void herald_over(struct herald *t, const struct alert *a, int64_t now_ms)
{
    if ((!a->told_ms && !a->notice) || a->closed_ms)
        return;
    VEC_ROOM(t->over, t->n_over, t->cap_over);
    t->over[t->n_over++] = (struct over){alert_copy(a), now_ms};
}

/* ---- into the store ---- */

struct telling { /* messages that are being stored, with the alerts they are of */
    struct hub *h;
    struct message **v;
    size_t n, cap;
};

static void say(void *arg, const struct message *m)
{
    struct telling *t = arg;
    struct message with_id = *m;

    with_id.id = outbox_next_id(t->h->outbox);
    VEC_ROOM(t->v, t->n, t->cap);
    t->v[t->n++] = message_copy(&with_id);
}

/* What cannot be stored is told all the same. */
static void told(void *arg, int result)
{
    struct telling *t = arg;

    if (result < 0)
        log_warn("alert", "that an alert is told cannot be stored: %s", strerror(-result));
    for (size_t i = 0; i < t->n; i++) {
        if (t->h->outbox)
            outbox_put(t->h->outbox, t->v[i]);
        free(t->v[i]);
    }
    free(t->v);
    free(t);
}

/* Notes whose bytes stand one behind the other in a buffer that may move while it grows. */
struct notes {
    struct note *v;
    size_t n, cap;
    struct buf bytes;
};

static void note_add(struct notes *w, struct note n, size_t from)
{
    n.bytes.len = w->bytes.len - from;
    VEC_ROOM(w->v, w->n, w->cap);
    w->v[w->n++] = n;
}

static void note_alert(struct notes *w, const struct alert *a)
{
    size_t from = w->bytes.len;

    alert_write(a, &w->bytes);
    note_add(w, (struct note){.kind = NOTE_ALERT, .id = a->id, .over_ms = a->resolved_ms}, from);
}

/* Alerts as they are now that somebody is told of them, and the messages: all of it or nothing. */
static void put_told(struct telling *t, struct notes *w)
{
    const char *at;

    for (size_t i = 0; i < t->n; i++) {
        size_t from = w->bytes.len;
        message_write(t->v[i], &w->bytes);
        note_add(w, (struct note){.kind = NOTE_MESSAGE, .id = t->v[i]->id}, from);
    }
    at = w->bytes.p;
    for (size_t i = 0; i < w->n; i++) {
        w->v[i].bytes.p = at;
        at += w->v[i].bytes.len;
    }
    if (w->n)
        store_notes_put(t->h->store, w->v, w->n, told, t);
    else
        told(t, 0);
    free(w->v);
    buf_fini(&w->bytes);
}

/* ---- news ---- */

void herald_tick(struct herald *t, const struct alerts_now *now, const struct alert_rules *rules, struct lookout *watch,
                 int64_t now_ms)
{
    struct tell_ask k = {now_ms, outbox_channels(t->h->outbox), rules};
    struct notes w = {.bytes = BUF_INIT(256u << 20)};
    AUTO_FREE struct news *v = mem_zero(now->n + t->n_over + 1, sizeof(*v));
    size_t n = 0, n_over = 0;

    for (size_t i = 0; i < now->n; i++)
        if (now->v[i]->fired_ms && !now->v[i]->told_ms)
            v[n++] = (struct news){now->v[i], now->v[i]->fired_ms, silence_of(now, now->v[i], now_ms) != NULL, false};
    size_t n_firing = n;
    for (size_t i = 0; i < t->n_over; i++)
        v[n++] = (struct news){t->over[i].a, t->over[i].since_ms, silence_of(now, t->over[i].a, now_ms) != NULL, false};
    if (!n)
        return;
    struct telling *to = mem_zero(1, sizeof(*to));
    to->h = t->h;
    tell(&k, v, n, say, to);
    for (size_t i = 0; i < n_firing; i++)
        if (v[i].told) {
            lookout_told(watch, v[i].a->id, now_ms);
            note_alert(&w, v[i].a);
        }
    for (size_t i = 0; i < t->n_over; i++) {
        struct over *x = &t->over[i];
        if (!v[n_firing + i].told && now_ms - x->since_ms < TELL_GROUP_MS) {
            t->over[n_over++] = *x;
            continue;
        }
        x->a->closed_ms = now_ms; /* told, or nobody wants to know */
        note_alert(&w, x->a);
        free(x->a);
    }
    t->n_over = n_over;
    put_told(to, &w);
}
