/*
 * feature.c: alerts in the hub. Evaluates the rules every few seconds, stores changes, and keeps silences and recent
 * alerts.
 */
#include "alert/feature.h"

#include <errno.h>
#include <inttypes.h>

#include "alert/alert_state.h"
#include "alert/baselines.h"
#include "alert/builtin.h"
#include "alert/gpus.h"
#include "alert/notifier.h"
#include "alert/show.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/order.h"
#include "base/timer.h"
#include "format/note.h"
#include "hub/handlers.h"
#include "hub/self.h"
#include "jobs/feature.h"
#include "nodes/sources.h"
#include "notify/outbox.h"
#include "now/node_order.h"
#include "now/view.h"

#define LOOK_MS    5000
#define LOOK_MOST  30000
#define LOOK_PART  160  /* evaluation uses at most 1/LOOK_PART of a CPU; with very many nodes it runs less often */
#define TURN_US    3000 /* evaluation time per event loop iteration; very many nodes need several iterations */
#define TURN_NODES 64   /* nodes per step */
#define BEGIN_MOST 4    /* maximum starts of one evaluation: renamed nodes restart it */
#define RECENT_MS  3600000
#define WANDB_MS   86400000 /* findings of a pull are reported once, also by a hub that was down */
#define RECENT_MAX 2000
#define PAST_MAX   1000 /* resolved alerts in memory */
#define PAST_MS    (7 * 86400000ll)

struct hub_alerts {
    struct hub *h;
    struct alert_rules *rules;
    struct alert_states *watch;
    struct recent *recent;
    size_t n_recent, cap_recent;
    struct alert **past; /* ordered by the time they were resolved */
    size_t n_past, cap_past;
    const struct alert **past_list;
    struct alert_notifier *teller;
    struct channel_now *channels;
    struct baselines *baselines;
    struct gpus *gpus;
    struct alert **lost; /* copies of firing alerts about lost GPUs */
    size_t n_lost, cap_lost;
    struct silence **silences;
    size_t n_silences, cap_silences;
    int64_t last_silence, looked_ms, rest_ms;
    wandb_error_fn *wandb_error; /* NULL: not registered */
    bool led;                    /* this hub was the leader at its last evaluation */
    struct timer *turn;          /* set: an evaluation is running */
    size_t part;                 /* of the evaluation */
    int64_t spent_us;            /* by it, so far */
    struct node_place at;        /* the node it has reached */
    uint64_t renames;            /* of nodes, before it started */
    int begun;                   /* how often it started */
};

#define SETTINGS alert
#include "base/opt_def.h"

static struct alert_rules *rules_of(const struct hub_conf *conf, struct err *err)
{
    struct alert_rules *r = alert_rules_new();

    if (alert_rules_read(r, hub_conf_value(conf, "alerts"), err) == 0)
        return r;
    alert_rules_free(r);
    return NULL;
}

static void forget_lost(struct hub_alerts *d)
{
    for (size_t i = 0; i < d->n_lost; i++)
        free(d->lost[i]);
    d->n_lost = 0;
}

static bool goes_on(void *arg, const struct alert *a)
{
    return alert_run_is_active(hub_jobs_runs(arg), a);
}

static timer_fn look_on;

static void *open_alerts(struct hub *h)
{
    struct hub_alerts *d =
        NEW(struct hub_alerts, .h = h, .rules = alert_rules_new(), .watch = alert_states_new(clock_wall_ms()),
            .teller = alert_notifier_new(h), .baselines = baselines_new(h), .gpus = gpus_new());

    d->turn = timer_new(h->loop, look_on, d);
    alert_states_set_active_fn(d->watch, goes_on, h);
    return d;
}

static void close_alerts(void *self)
{
    struct hub_alerts *d = self;

    for (size_t i = 0; i < d->n_past; i++)
        free(d->past[i]);
    for (size_t i = 0; i < d->n_silences; i++)
        free(d->silences[i]);
    timer_free(d->turn);
    alert_notifier_free(d->teller);
    free(d->channels);
    baselines_free(d->baselines);
    gpus_free(d->gpus);
    forget_lost(d);
    FREE_ALL(d->lost, d->past, d->past_list, d->silences, d->recent);
    alert_states_free(d->watch);
    alert_rules_free(d->rules);
    free(d);
}

/* A rule whose channels do not exist would notify no one. Without the section no notifications are sent (`config show`
 * omits it). */
static int check_channels(const struct alert_rules *rules, const struct hub_conf *conf, struct err *err)
{
    const struct opt_section *section = hub_conf_value(conf, "channels");
    struct channels *c = section->text ? outbox_channels_of(conf, err) : NULL;
    int r = section->text && !c ? -EINVAL : 0;
    size_t n;
    const struct alert_rule *v = alert_rules_all(rules, &n);

    for (size_t i = 0; c && i < n && r == 0; i++) {
        struct str rest = str_of(v[i].channels), one;
        while (r == 0 && str_cut(&rest, ',', &one)) {
            AUTO_FREE char *name = mem_strn(one.p, one.len);
            if (name[0] && !channels_find(c, name))
                r = err_set(err, -EINVAL, "alerts: rule '%s': there is no channel '%s' under channels", v[i].name,
                            name);
        }
    }
    channels_free(c);
    return r;
}

static int prepare_rules(UNUSED void *self, const struct hub_conf *conf, void **next, struct err *err)
{
    struct alert_rules *rules = *next = rules_of(conf, err);

    return rules ? check_channels(rules, conf, err) : -EINVAL;
}

static void drop_rules(void *next)
{
    alert_rules_free(next);
}

static void take_rules(void *self, void *next)
{
    struct hub_alerts *d = self;

    alert_rules_free(d->rules);
    d->rules = next;
}

/* ---- earlier alerts ---- */

static bool ended_before(const struct alert *a, const struct alert *b)
{
    return a->resolved_ms != b->resolved_ms ? a->resolved_ms < b->resolved_ms : a->id < b->id;
}

static void keep_past(struct hub_alerts *d, struct alert *a)
{
    if (d->n_past == PAST_MAX) {
        free(d->past[0]);
        memmove(d->past, d->past + 1, --d->n_past * sizeof(*d->past));
    }
    size_t at = d->n_past; /* loaded alerts come in the order they fired; another hub's come late */
    while (at && ended_before(a, d->past[at - 1]))
        at--;
    VEC_INSERT(d->past, d->n_past, d->cap_past, at, a);
}

/* Queues the resolved message, unless the rule sends none. */
static void keep_over(struct hub_alerts *d, const struct alert *a, int64_t now_ms)
{
    const struct alert_rule *r = alert_rules_find(d->rules, a->rule);

    if (!r || !r->no_end || !a->told_ms)
        alert_notifier_resolve(d->teller, a, now_ms);
}

static void load_alert(void *arg, const struct note *n)
{
    struct hub_alerts *d = arg;
    struct err err = {0};
    struct alert *a = alert_read(n->bytes, &err);

    alert_states_set_last(d->watch, n->id);
    if (!a) {
        log_warn("alert", "note %" PRId64 ": %s", n->id, err.msg);
        return;
    }
    bool firing = alert_state(a) == ALERT_FIRING;
    if (firing || a->notice)
        alert_states_load(d->watch, a, alert_rules_find(d->rules, a->rule));
    if (!firing && a->resolved_ms > d->h->started_ms - PAST_MS) {
        keep_over(d, a, d->h->started_ms);
        keep_past(d, a);
    } else {
        free(a);
    }
}

static void load_silence(void *arg, const struct note *n)
{
    struct hub_alerts *d = arg;
    struct silence *s = silence_read(n->bytes, NULL);

    d->last_silence = MAX(d->last_silence, n->id);
    if (s && s->until_ms > d->h->started_ms)
        VEC_ADD(d->silences, d->n_silences, d->cap_silences, s);
    else
        free(s);
}

/* For rules about events. */
static void keep_event(void *arg, const char *node, const char *device, const struct node_event *e)
{
    struct hub_alerts *d = arg;

    if (d->n_recent == RECENT_MAX)
        memmove(d->recent, d->recent + 1, --d->n_recent * sizeof(*d->recent));
    VEC_ADD(d->recent, d->n_recent, d->cap_recent, recent_of(node, device, e));
}

static int load_alerts(void *self, struct err *err)
{
    struct hub_alerts *d = self;
    int r = store_each(d->h->store, EACH_NOTE(NOTE_ALERT, load_alert, d), err);

    if (r == 0)
        r = store_each(d->h->store, EACH_NOTE(NOTE_SILENCE, load_silence, d), err);
    if (r == 0)
        r = gpus_load(d->gpus, d->h->store, err);
    if (r == 0)
        r = store_each(d->h->store,
                       EACH_EVENT(keep_event, d, .from_ms = d->h->started_ms - WANDB_MS, .limit = RECENT_MAX), err);
    SORT(d->recent, d->n_recent, order_numbers);
    return MIN(r, 0);
}

/* ---- events ---- */

static size_t silence_at(const struct hub_alerts *d, int64_t id)
{
    return FIRST(d->n_silences, i, d->silences[i]->id == id);
}

/* Applies an alert of the leading hub. */
static void take_alert(struct hub_alerts *d, const struct note *n, int64_t now_ms)
{
    struct alert *a = alert_read(n->bytes, NULL);
    size_t i;

    if (!a)
        return;
    alert_states_take(d->watch, a, alert_rules_find(d->rules, a->rule));
    alert_notifier_apply_remote(d->teller, a, now_ms);
    if (a->resolved_ms) {
        i = FIRST(d->n_past, k, d->past[k]->id == a->id);
        if (i == d->n_past) {
            keep_past(d, a);
            return;
        }
        free(d->past[i]);
        d->past[i] = a;
        return;
    }
    free(a);
}

static void take_silence(struct hub_alerts *d, const struct note *n, int64_t now_ms)
{
    struct silence *s = silence_read(n->bytes, NULL);
    size_t i = s ? silence_at(d, s->id) : 0;

    d->last_silence = MAX(d->last_silence, n->id);
    if (!s)
        return;
    if (i < d->n_silences) {
        free(d->silences[i]);
        d->silences[i] = d->silences[--d->n_silences];
    }
    if (s->until_ms > now_ms)
        VEC_ADD(d->silences, d->n_silences, d->cap_silences, s);
    else
        free(s);
}

static void take_record(struct hub_alerts *d, const struct peer_record *r, int64_t now_ms)
{
    const struct note *n = r->kind == STORE_NOTE ? r->record : NULL;

    if (n && !r->gone && n->kind == NOTE_ALERT)
        take_alert(d, n, now_ms);
    else if (n && !r->gone && n->kind == NOTE_SILENCE)
        take_silence(d, n, now_ms);
    else if (n && !r->gone && n->kind == NOTE_GPUS)
        gpus_take(d->gpus, n);
}

static void hear_news(void *self, const struct hub_event *n)
{
    if (n->kind == HUB_EVENT_EVENT)
        keep_event(self, n->node, n->device, n->event);
    else if (n->kind == HUB_EVENT_RECORD)
        take_record(self, n->record, n->now_ms);
}

void hub_alerts_wandb(struct hub *h, wandb_error_fn *error)
{
    struct hub_alerts *d = feature_self(&h->features, &alert_feature);

    d->wandb_error = error;
}

static void forget_old(struct hub_alerts *d, int64_t now_ms)
{
    size_t n = 0;

    for (size_t i = 0; i < d->n_recent; i++)
        if (now_ms - d->recent[i].at_ms < (d->recent[i].kind == EVENT_WANDB ? WANDB_MS : RECENT_MS))
            d->recent[n++] = d->recent[i];
    d->n_recent = n;
    n = 0;
    for (size_t i = 0; i < d->n_silences; i++) {
        if (d->silences[i]->until_ms > now_ms)
            d->silences[n++] = d->silences[i];
        else
            free(d->silences[i]);
    }
    d->n_silences = n;
}

/* ---- evaluation ---- */

/* A failed write is not repeated: the alert would fire again after a restart. */
static void kept(UNUSED void *arg, int result)
{
    if (result < 0)
        log_warn("alert", "an alert could not be stored: %s", store_error_text(result));
}

static void changed(void *arg, const struct alert *a)
{
    struct hub_alerts *d = arg;
    AUTO_BUF b = BUF_INIT(NOTE_MAX);

    alert_write(a, &b);
    struct note n = {.kind = NOTE_ALERT, .id = a->id, .over_ms = a->resolved_ms, .bytes = buf_str(&b)};
    hub_put_once(d->h, STORE_NOTE, &n, 1, kept, NULL);
    if (a->resolved_ms) {
        keep_over(d, a, d->looked_ms);
        keep_past(d, alert_copy(a));
    }
    log_info("alert", "%s: %s: %s%s", severity_words[a->severity], a->rule, a->text,
             a->resolved_ms && !a->notice ? " (is over)" : "");
}

struct whole_scene { /* a scene and what it borrows from */
    struct alert_input s;
    struct view view;
    char wrong[SCENE_WRONGS][NOTICE_MAX];
};

/* Copies firing gpu-lost alerts, since alert_state.c replaces its alerts while the rules run. */
static void copy_lost(struct hub_alerts *d)
{
    const struct alert *a;

    forget_lost(d);
    for (size_t i = 0; (a = alert_states_at(d->watch, i)); i++)
        if (a->fired_ms && !a->resolved_ms && strcmp(a->rule, "gpu-lost") == 0)
            VEC_ADD(d->lost, d->n_lost, d->cap_lost, alert_copy(a));
}

/* Input about nodes and their GPUs. */
static void nodes_scene(struct hub_alerts *d, int64_t now_ms, struct whole_scene *w)
{
    struct hub *h = d->h;

    *w = (struct whole_scene){0};
    copy_lost(d);
    view_of(h->live, &(struct view_query){.show_cmd = false}, now_ms, &w->view);
    w->s = (struct alert_input){.now_ms = now_ms,
                                .started_ms = h->started_ms,
                                .view = &w->view,
                                .live = h->live,
                                .people = h->api.people,
                                .book = h->book,
                                .runs = hub_jobs_runs(h),
                                .gpus_had = gpus_had,
                                .gpus_arg = d->gpus,
                                .lost = (const struct alert *const *)d->lost,
                                .n_lost = d->n_lost};
}

static void scene_of(struct hub_alerts *d, int64_t now_ms, struct whole_scene *w)
{
    struct hub *h = d->h;
    struct store_stat st;

    nodes_scene(d, now_ms, w);
    store_stat(h->store, &st);
    if (st.last_error)
        snprintf(w->wrong[SCENE_STORE], NOTICE_MAX, "%s", st.error[0] ? st.error : store_error_text(st.last_error));
    snprintf(w->wrong[SCENE_DAMAGE], NOTICE_MAX, "%s", self_damage(h));
    if (h->api.sources)
        source_status_notice(h->api.sources, now_ms, w->wrong[SCENE_SOURCES]);
    outbox_notice(h->outbox, w->wrong[SCENE_CHANNELS], NOTICE_MAX);
    if (d->wandb_error)
        d->wandb_error(h, w->wrong[SCENE_WANDB]);
    w->s.recent = d->recent;
    w->s.n_recent = d->n_recent;
    for (int i = 0; i < SCENE_WRONGS; i++)
        w->s.wrong[i] = w->wrong[i][0] ? w->wrong[i] : NULL;
    w->s.usage = baselines_now(d->baselines, &w->s.n_usage);
}

/* Starts at the first node. Starts again if nodes were renamed: a renamed node may have moved to before the position.
 */
static void begin_nodes(struct hub_alerts *d)
{
    uint64_t renames = live_renames(d->h->live);

    if (d->begun && (d->renames == renames || d->begun == BEGIN_MOST))
        return;
    d->at = (struct node_place){0};
    d->renames = renames;
    d->begun++;
}

/* Evaluates nodes until the time of this iteration is used up: there may be more. */
static void look_at_nodes(struct hub_alerts *d, int64_t now_ms)
{
    struct whole_scene w;
    int64_t begin_us = clock_thread_us();

    begin_nodes(d);
    nodes_scene(d, now_ms, &w);
    int64_t ready_us = clock_thread_us(); /* changed node lists are sorted first: sorting must be worth it */
    int64_t until_us = ready_us + MAX(TURN_US, ready_us - begin_us);
    const struct node_now *const *nodes = w.view.nodes;
    size_t n = w.view.n; /* the list may have changed since the last iteration */
    size_t at = nodes_after(nodes, n, &d->at);
    while (at < n) {
        w.view.nodes = nodes + at;
        w.view.n = MIN(n - at, TURN_NODES);
        gpus_learn(d->gpus, &w.view, now_ms);
        alert_rules_evaluate_nodes(d->rules, &w.s, alert_states_see, d->watch);
        at += w.view.n;
        if (clock_thread_us() >= until_us)
            break;
    }
    if (at > 0)
        node_place_set(&d->at, nodes[at - 1]);
    d->part -= at < n;
}

static void look_at_rest(struct hub_alerts *d, int64_t now_ms)
{
    struct whole_scene w;

    baselines_tick(d->baselines, now_ms);
    scene_of(d, now_ms, &w);
    alert_rules_evaluate_rest(d->rules, &w.s, alert_states_see, d->watch);
    alert_states_end(d->watch, changed, d);
}

static void tell_all(struct hub_alerts *d, int64_t now_ms)
{
    struct alerts_now now;

    hub_alerts_now(d->h, &now);
    alert_notifier_tick(d->teller, &now, d->rules, d->watch, now_ms);
}

/* Runs the next step of an evaluation. With few nodes one iteration does all. */
static void look_on(void *self)
{
    struct hub_alerts *d = self;
    int64_t now_ms = clock_wall_ms(), begin_us = clock_thread_us(), until_us = begin_us + TURN_US;
    static void (*const parts[])(struct hub_alerts * d, int64_t now_ms) = {look_at_nodes, look_at_rest, tell_all};

    if (!hub_leads(d->h)) /* no longer the leader: the next evaluation is another hub's */
        return;
    while (d->part < ARRAY_LEN(parts) && clock_thread_us() < until_us)
        parts[d->part++](d, now_ms);
    d->spent_us += clock_thread_us() - begin_us;
    if (d->part < ARRAY_LEN(parts))
        timer_after(d->turn, 0);
    d->rest_ms = MIN(d->spent_us * LOOK_PART / 1000, LOOK_MOST);
}

static void look_at_all(void *self, int64_t now_ms)
{
    struct hub_alerts *d = self;

    if (timer_is_set(d->turn) || (now_ms - d->looked_ms < MAX(LOOK_MS, d->rest_ms) && now_ms >= d->looked_ms))
        return;
    bool leads = hub_leads(d->h);
    if (leads && !d->led && !hub_is_alone(d->h))
        alert_states_settle(d->watch, now_ms);
    if (!leads && d->led)
        alert_states_follow(d->watch);
    d->led = leads;
    d->looked_ms = now_ms;
    forget_old(d, now_ms);
    if (!leads) /* the leading hub reports alerts */
        return;
    alert_states_begin(d->watch, now_ms);
    d->spent_us = 0;
    d->part = 0;
    d->begun = 0;
    look_on(d);
}

/* ---- for the API ---- */

void hub_alerts_now(struct hub *h, struct alerts_now *ret)
{
    struct hub_alerts *d = feature_self(&h->features, &alert_feature);

    *ret = (struct alerts_now){.silences = (const struct silence *const *)d->silences, .n_silences = d->n_silences};
    ret->v = alert_states_all(d->watch, &ret->n);
    d->past_list = mem_grow(d->past_list, MAX(d->n_past, 1u), sizeof(*d->past_list));
    for (size_t i = 0; i < d->n_past; i++)
        d->past_list[i] = d->past[d->n_past - 1 - i];
    ret->past = d->past_list;
    ret->n_past = d->n_past;
    const struct channel_now *c = outbox_now(d->h->outbox, &ret->n_channels);
    d->channels = mem_grow(d->channels, MAX(ret->n_channels, 1u), sizeof(*d->channels));
    for (size_t i = 0; i < ret->n_channels; i++) {
        d->channels[i] = c[i];
        d->channels[i].passed = alert_notifier_skipped_count(d->teller, c[i].name);
    }
    ret->channels = d->channels;
}

struct alert_rules *hub_alerts_rules_copy(struct hub *h)
{
    struct err err = {0};
    struct alert_rules *r = rules_of(&h->conf, &err);

    return r ? r : alert_rules_new(); /* checked before: cannot fail */
}

const struct alert_rules *hub_alerts_rules(struct hub *h)
{
    const struct hub_alerts *d = feature_self(&h->features, &alert_feature);
    return d->rules;
}

void hub_alerts_test(struct hub *h, see_fn *see, void *arg)
{
    struct hub_alerts *d = feature_self(&h->features, &alert_feature);
    struct whole_scene w;

    scene_of(d, clock_wall_ms(), &w);
    alert_rules_evaluate(d->rules, &w.s, see, arg);
}

struct writing {
    struct hub *h;
    struct late *late;
    struct silence *s;
    bool over; /* the silence has ended */
};

/* The write is done. d NULL: the hub stops. */
static void settle_silence(struct hub_alerts *d, struct writing *w)
{
    size_t i = d ? silence_at(d, w->s->id) : 0;

    if (d && !w->over) {
        VEC_ADD(d->silences, d->n_silences, d->cap_silences, w->s);
        w->s = NULL;
    } else if (d && i < d->n_silences) {
        free(d->silences[i]);
        d->silences[i] = d->silences[--d->n_silences];
    }
}

static void written(void *arg, int result)
{
    struct writing *w = arg;
    struct reply rp = {.status = w->over ? 200 : 201};

    if (result < 0) {
        reply_problem(&rp, result == -ENOSPC ? 507 : 503, "the hub cannot store it, nothing was changed: %s",
                      store_error_text(result));
    } else {
        rp.body = BUF_INIT(65536);
        struct json j = json_on(&rp.body);
        if (w->over)
            buf_addf(&rp.body, "{\"id\":%" PRId64 "}", w->s->id);
        else
            silence_json(&j, w->s);
        buf_addc(&rp.body, '\n');
        settle_silence(feature_self(&w->h->features, &alert_feature), w);
    }
    httpd_late_reply(w->late, &rp);
    free(w->s);
    free(w);
}

static enum reply_mode put_silence(struct hub *h, struct request *rq, const struct silence *s, bool over)
{
    AUTO_BUF b = BUF_INIT(NOTE_MAX);
    struct writing *w = NEW(struct writing, .h = h, .late = httpd_late(rq), .s = silence_copy(s), .over = over);

    silence_write(s, &b);
    struct note n = {.kind = NOTE_SILENCE, .id = s->id, .over_ms = s->until_ms, .bytes = buf_str(&b)};
    store_put(h->store, STORE_NOTE, &n, 1, written, w);
    return REPLY_LATER;
}

enum reply_mode hub_alerts_silence(struct hub *h, struct request *rq, struct reply *rp, const struct silence *s)
{
    struct hub_alerts *d = feature_self(&h->features, &alert_feature);
    struct silence to = *s;

    to.id = d->last_silence = hub_next_id(h, IDS_NOTE, d->last_silence + 1);
    if (!to.id)
        return reply_problem(rp, 503, "the hub's PostgreSQL server is unreachable, nothing was changed: try again");
    return put_silence(h, rq, &to, false);
}

enum reply_mode hub_alerts_unsilence(struct hub *h, struct request *rq, struct reply *rp, int64_t id)
{
    struct hub_alerts *d = feature_self(&h->features, &alert_feature);
    size_t i = silence_at(d, id);

    if (i == d->n_silences)
        return reply_problem(rp, 404, "there is no silence %" PRId64 "; /api/v1/silences lists them", id);
    struct silence over = *d->silences[i];
    over.until_ms = rq->now_ms; /* kept, so that its id is not reused after a restart */
    return put_silence(h, rq, &over, true);
}

const struct feature alert_feature = {
    .name = "alert",
    FEATURE_SETTINGS(alert),
    .routes = alert_routes,
    .open = open_alerts,
    .prepare = prepare_rules,
    .drop = drop_rules,
    .take = take_rules,
    .load = load_alerts,
    .hear = hear_news,
    .tick = look_at_all,
    .close = close_alerts,
};
