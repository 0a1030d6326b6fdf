/*
 * feature.c: scheduled reports in the hub: when each is due, notes of what went out, and its messages on their way to
 * the outbox.
 */
#include "report/feature.h"

#include <errno.h>
#include <inttypes.h>
#include <jansson.h>

#include "base/clock.h"
#include "base/json.h"
#include "base/log.h"
#include "base/order.h"
#include "format/note.h"
#include "hub/handlers.h"
#include "notify/outbox.h"
#include "report/source.h"
#include "usage/routes.h"

#define LOOK_MS  1000
#define COUNT_MS 900000 /* so long it waits for the last hours to be counted */
#define AGAIN_MS 60000

struct mark { /* a report of this name: what was seen to */
    char name[SCHEDULED_NAME_MAX + 1];
    int64_t id, done_ms, sent_ms;
    bool busy;          /* one is being made or stored */
    int64_t again_ms;   /* not before */
    int64_t counted_ms; /* all of the period is counted since; 0: it is not */
    char error[200];
};

struct hub_schedules {
    struct hub *h;
    struct schedules *list;
    struct mark *marks;
    size_t n, cap;
    int64_t last_id, looked_ms;
    struct scheduled_now *now;
    const struct runs_source *source; /* NULL: none */
};

#define SETTINGS report
#include "base/opt_def.h"

static int prepare_reports(UNUSED void *self, const struct hub_conf *conf, void **next, struct err *err)
{
    const struct opt_section *section = hub_conf_value(conf, "channels");
    struct channels *c = outbox_channels_of(conf, err); /* the bot's own, too */
    struct schedules *b = *next = schedules_new();
    int r = c ? 0 : -EINVAL;

    if (r == 0) /* `config show` leaves channels out, which may hold secrets: what it prints is understood still */
        r = schedules_read(b, hub_conf_value(conf, "reports"), section->text ? c : NULL, err);
    channels_free(c);
    return r;
}

static void drop_reports(void *next)
{
    schedules_free(next);
}

static void *open_reports(struct hub *h)
{
    return NEW(struct hub_schedules, .h = h, .list = schedules_new());
}

static void close_reports(void *self)
{
    struct hub_schedules *d = self;

    schedules_free(d->list);
    FREE_ALL(d->marks, d->now, d);
}

static void take_reports(void *self, void *next)
{
    struct hub_schedules *d = self;

    schedules_free(d->list);
    d->list = next;
}

void report_take_source(struct hub *h, const struct runs_source *s)
{
    struct hub_schedules *d = feature_self(&h->features, &report_feature);
    d->source = s;
}

const struct runs_source *report_source(void *hub)
{
    const struct hub_schedules *d = feature_self(&((struct hub *)hub)->features, &report_feature);
    return d->source;
}

/* ---- what was seen to ---- */

static struct mark *mark_of(struct hub_schedules *d, const char *name)
{
    struct mark *m = FIND(d->marks, d->n, e, strcmp(e->name, name) == 0);

    if (m)
        return m;
    VEC_ADD(d->marks, d->n, d->cap, (struct mark){.id = ++d->last_id});
    m = &d->marks[d->n - 1];
    mem_copy_str(m->name, sizeof(m->name), name);
    return m;
}

static void mark_write(const struct mark *m, struct buf *out)
{
    json_print(out, "{'name':%s,'done':%lld,'sent':%lld}", m->name, (long long)m->done_ms, (long long)m->sent_ms);
}

static void load_mark(void *arg, const struct note *n)
{
    struct hub_schedules *d = arg;
    json_auto_t *o = json_loadb(n->bytes.p ? n->bytes.p : "", n->bytes.len, 0, NULL);
    const char *name = json_string_value(json_object_get(o, "name"));

    d->last_id = MAX(d->last_id, n->id);
    if (name && name[0] && strlen(name) <= SCHEDULED_NAME_MAX) {
        struct mark *m = mark_of(d, name);
        m->id = n->id;
        m->done_ms = json_integer_value(json_object_get(o, "done"));
        m->sent_ms = json_integer_value(json_object_get(o, "sent"));
    } else {
        log_warn("report", "note %" PRId64 " is not one of a report", n->id);
    }
}

static int load_marks(void *self, struct err *err)
{
    struct hub_schedules *d = self;

    return MIN(store_each(d->h->store, EACH_NOTE(NOTE_REPORT, load_mark, d), err), 0);
}

/* Another hub saw to it. */
static void hear_news(void *self, const struct hub_event *w)
{
    const struct note *n = w->kind == HUB_EVENT_RECORD && w->record->kind == STORE_NOTE ? w->record->record : NULL;

    if (n && n->kind == NOTE_REPORT && !w->record->gone)
        load_mark(self, n);
}

static void kept(UNUSED void *arg, int result)
{
    if (result < 0)
        log_warn("report", "cannot store which report was sent: %s", store_error_text(result));
}

/* Nothing is sent: the period is seen to. */
static void pass_over(struct hub_schedules *d, struct mark *m, int64_t done_ms)
{
    AUTO_BUF b = BUF_INIT(4096);

    m->done_ms = done_ms;
    mark_write(m, &b);
    hub_put_once(d->h, STORE_NOTE, &(struct note){.kind = NOTE_REPORT, .id = m->id, .bytes = buf_str(&b)}, 1, kept,
                 NULL);
}

/* ---- messages ---- */

struct making { /* a report on its way from the worker to the outbox */
    struct hub *h;
    char name[SCHEDULED_NAME_MAX + 1];
    struct late *late; /* somebody asked for it; NULL: it was due */
    struct scheduled_due due;
    size_t n;
    char channels[SCHEDULED_CHANNELS][CHANNEL_NAME_MAX + 1];
    struct async_query *job;
    struct message *messages[SCHEDULED_CHANNELS];
};

static void making_free(struct making *k)
{
    for (size_t i = 0; i < SCHEDULED_CHANNELS; i++)
        free(k->messages[i]);
    free(k);
}

static void failed(struct making *k, int status, const char *why)
{
    struct hub_schedules *d = feature_self(&k->h->features, &report_feature);
    struct mark *m = d && !k->late ? mark_of(d, k->name) : NULL;
    struct reply rp = {0};

    if (m) {
        if (strcmp(m->error, why) != 0)
            log_warn("report", "%s could not be sent, it is tried again: %s", k->name, why);
        mem_copy_str(m->error, sizeof(m->error), why);
        m->busy = false;
        m->again_ms = clock_wall_ms() + AGAIN_MS;
    }
    if (k->late) {
        reply_problem(&rp, status, "%s", why);
        httpd_late_reply(k->late, &rp);
    }
    making_free(k);
}

static void reply_sent(struct making *k)
{
    struct reply rp = {.status = 202};
    struct json j = reply_object(&rp, 8192);

    json_cstr(&j, "name", k->name);
    json_arr(&j, "channels");
    for (size_t i = 0; i < k->n; i++)
        json_cstr(&j, NULL, k->channels[i]);
    json_end_arr(&j);
    reply_object_end(&rp, &j);
    httpd_late_reply(k->late, &rp);
}

static void stored(void *arg, int result)
{
    struct making *k = arg;
    struct hub_schedules *d = feature_self(&k->h->features, &report_feature);
    char why[160];

    if (result < 0) {
        snprintf(why, sizeof(why), "the hub cannot store it: %s", store_error_text(result));
        failed(k, result == -ENOSPC ? 507 : 503, why);
        return;
    }
    for (size_t i = 0; i < k->n && k->h->outbox; i++)
        outbox_put(k->h->outbox, k->messages[i]);
    if (d && !k->late) {
        struct mark *m = mark_of(d, k->name);
        m->busy = false;
        m->done_ms = k->due.to_ms;
        m->sent_ms = k->messages[0]->created_ms;
        m->counted_ms = 0;
        m->error[0] = 0;
        log_info("report", "%s: %s", k->name, k->messages[0]->title);
    }
    if (k->late)
        reply_sent(k);
    making_free(k);
}

/* The messages, and that the period is seen to: all of it or nothing. */
static void put(struct making *k)
{
    struct note notes[SCHEDULED_CHANNELS + 1];
    struct buf bytes[SCHEDULED_CHANNELS + 1];
    size_t n = 0;

    for (; n < k->n; n++) {
        bytes[n] = BUF_INIT((size_t)2 * NOTE_MAX);
        message_write(k->messages[n], &bytes[n]);
        notes[n] = (struct note){.kind = NOTE_MESSAGE, .id = k->messages[n]->id, .bytes = buf_str(&bytes[n])};
    }
    if (!k->late) {
        struct mark m = *mark_of(feature_self(&k->h->features, &report_feature), k->name);
        m.done_ms = k->due.to_ms;
        m.sent_ms = k->messages[0]->created_ms;
        bytes[n] = BUF_INIT(4096);
        mark_write(&m, &bytes[n]);
        notes[n] = (struct note){.kind = NOTE_REPORT, .id = m.id, .bytes = buf_str(&bytes[n])};
        n++;
    }
    if (k->late) /* somebody asked this hub for it */
        store_put(k->h->store, STORE_NOTE, notes, n, stored, k);
    else
        hub_put_once(k->h, STORE_NOTE, notes, n, stored, k);
    for (size_t i = 0; i < n; i++)
        buf_fini(&bytes[i]);
}

static void made(void *arg, struct reply *rp)
{
    struct making *k = arg;
    size_t n = 0;

    if (!k->h->outbox || !feature_self(&k->h->features, &report_feature) || rp->status) {
        json_auto_t *o = json_loadb(rp->body.p ? rp->body.p : "", rp->body.len, 0, NULL);
        const char *detail = json_string_value(json_object_get(o, "detail"));
        failed(k, rp->status ? rp->status : 503, detail ? detail : "the hub stops");
        return;
    }
    for (size_t i = 0; i < k->n; i++) { /* a channel may be gone since */
        const struct channel *c = channels_find(outbox_channels(k->h->outbox), k->channels[i]);
        if (!c)
            continue;
        k->messages[n] =
            scheduled_message(scheduled_made(k->job), k->name, c, outbox_next_id(k->h->outbox), clock_wall_ms());
        memmove(k->channels[n++], c->name, strlen(c->name) + 1);
    }
    k->n = n;
    k->job = NULL; /* it ends after this */
    if (n)
        put(k);
    else
        failed(k, 409, "its channels are not there");
}

/* ---- when ---- */

static const struct zone *zone_for(struct hub_schedules *d, const struct scheduled *b)
{
    struct usage_now now;

    if (b->zone)
        return b->zone;
    usage_now_of(d->h, &now);
    return now.stat.zone;
}

static int begin(struct hub_schedules *d, const struct scheduled *b, const struct scheduled_due *due, uint32_t missed,
                 const char *channel, struct request *rq, int64_t now_ms)
{
    struct making *k = NEW(struct making, .h = d->h, .due = *due);

    mem_copy_str(k->name, sizeof(k->name), b->name);
    k->n = channel[0] ? 1 : b->n_channels;
    for (size_t i = 0; i < k->n; i++)
        mem_copy_str(k->channels[i], sizeof(k->channels[i]), channel[0] ? channel : b->channels[i]);
    k->job = scheduled_query(&d->h->api, b, zone_for(d, b), due, missed, "", now_ms);
    int r = query_async_internal(d->h, k->job, made, k);
    if (r < 0) {
        k->job->end(k->job);
        free(k);
        return r;
    }
    if (rq)
        k->late = httpd_late(rq);
    return 0;
}

/* What arrived last is in the numbers: all of the period is counted, and what was counted is on disk; or it was waited
 * for long enough. */
static bool is_counted(struct hub_schedules *d, const struct scheduled *b, const struct scheduled_due *due,
                       struct mark *m, int64_t now_ms)
{
    struct usage_now now;

    if (b->status || now_ms - MAX(due->at_ms, d->h->started_ms) > COUNT_MS)
        return true;
    usage_now_of(d->h, &now);
    if (now.stat.waiting || now.stat.counted_to_ms < due->to_ms)
        m->counted_ms = 0;
    else if (!m->counted_ms || m->counted_ms > now_ms)
        m->counted_ms = now_ms;
    return m->counted_ms && now_ms - m->counted_ms > 2 * d->h->conf.commit + LOOK_MS;
}

static void look(struct hub_schedules *d, const struct scheduled *b, int64_t now_ms)
{
    struct mark *m = mark_of(d, b->name);
    struct scheduled_due due;
    uint32_t missed;

    if (m->busy)
        return;
    enum scheduled_step step = scheduled_step(b, zone_for(d, b), m->done_ms, now_ms, &due, &missed);
    if (step == SCHEDULED_SEND) {
        if ((now_ms < m->again_ms && m->again_ms - now_ms <= AGAIN_MS) || !is_counted(d, b, &due, m, now_ms))
            return;
        if (missed)
            log_warn("report", "%s: %u earlier reports were not sent, the hub was off", b->name, missed);
        m->busy = begin(d, b, &due, missed, "", NULL, now_ms) == 0;
        return;
    }
    if (step == SCHEDULED_RESET)
        log_warn("report", "the last time of %s lies in the future because a clock was wrong: it starts again",
                 b->name);
    if (step == SCHEDULED_SKIP) {
        log_warn("report", "%s was due more than a day ago, and %u before it: left out", b->name, missed);
        m->error[0] = 0;
    }
    if (step != SCHEDULED_WAIT)
        pass_over(d, m, due.to_ms);
}

static void send_due(void *self, int64_t now_ms)
{
    struct hub_schedules *d = self;

    if (now_ms - d->looked_ms < LOOK_MS && now_ms >= d->looked_ms)
        return;
    d->looked_ms = now_ms;
    for (size_t i = 0; i < d->list->n && hub_leads(d->h); i++)
        if (d->list->v[i].n_channels)
            look(d, &d->list->v[i], now_ms);
}

/* ---- for the API ---- */

const struct scheduled_now *hub_schedules_now(struct hub *h, int64_t now_ms, size_t *ret_n)
{
    struct hub_schedules *d = feature_self(&h->features, &report_feature);
    const struct scheduled *v = d->list->v;

    *ret_n = d->list->n;
    d->now = mem_grow(d->now, MAX(*ret_n, 1u), sizeof(*d->now));
    for (size_t i = 0; i < *ret_n; i++)
        mark_of(d, v[i].name); /* all of them are there before one is pointed at */
    for (size_t i = 0; i < *ret_n; i++) {
        const struct mark *m = mark_of(d, v[i].name);
        d->now[i] =
            (struct scheduled_now){.b = &v[i], .zone = zone_for(d, &v[i]), .sent_ms = m->sent_ms, .error = m->error};
        scheduled_times(&v[i], d->now[i].zone, now_ms, &d->now[i].last, &d->now[i].next);
    }
    return d->now;
}

enum reply_mode hub_schedules_send(struct hub *h, struct request *rq, struct reply *rp, const char *name,
                                   const char *channel)
{
    struct hub_schedules *d = feature_self(&h->features, &report_feature);
    const struct scheduled *b = schedules_find(d->list, name);
    struct scheduled_due last, next;

    if (!b)
        return reply_problem(rp, 404, "there is no report '%.100s'", name);
    if (channel[0] && !channels_find(outbox_channels(d->h->outbox), channel))
        return reply_problem(rp, 404, "there is no channel '%.60s' under channels", channel);
    scheduled_times(b, zone_for(d, b), rq->now_ms, &last, &next);
    if (begin(d, b, &last, 0, channel, rq, rq->now_ms) < 0)
        return reply_problem(rp, 503, "too many queries at the same time; try again in a few seconds");
    return REPLY_LATER;
}

const struct feature report_feature = {
    .name = "report",
    FEATURE_SETTINGS(report),
    .routes = report_routes,
    .open = open_reports,
    .prepare = prepare_reports,
    .drop = drop_reports,
    .take = take_reports,
    .load = load_marks,
    .hear = hear_news,
    .tick = send_due,
    .close = close_reports,
};
