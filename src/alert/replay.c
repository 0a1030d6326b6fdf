/*
 * replay.c: replays the history of all nodes minute by minute, evaluates the rules for each minute, and collects the
 * alerts.
 */
#include "alert/replay.h"

#include <errno.h>

#include "alert/alert_state.h"
#include "alert/baseline.h"
#include "alert/replay_node.h"
#include "base/mem.h"
#include "base/order.h"
#include "book/pick.h"
#include "now/view.h"
#include "people/identities.h"

#define RECENT_MS  HOUR_MS /* as in feature.c */
#define HOLDS_MAX  BOOK_MAX
#define STOP_EVERY 64 /* minutes */

/* Findings about usage, by day and by hour. */
struct usage_past {
    char zone_name[ZONE_NAME_MAX];
    struct zone *zone;
    struct usage_baseline_query ask;
    struct arena mem;            /* their text */
    bool days, hours;            /* whether to check them */
    int32_t day;                 /* checked last */
    struct usage_baseline of[2]; /* of the day; of the hour */
    struct usage_finding *v;
    size_t n;
};

struct alert_replay {
    struct state_rule rule;
    struct usage_past usage;
    struct people *people;
    struct alert_rules *rules;
    const struct zone *zone;
    int64_t start_ms;
    struct alert_replay_result said;
    size_t cap_alerts; /* of said.v, which is a ring once it is full */
    struct alert_replay_node **played;
    size_t n_played;
    struct alert_replay_node_params ask;
    /* events and bookings */
    struct recent *events; /* by time */
    size_t n_events, cap_events, first_event, next_event;
    struct booking **holds; /* by creation time */
    size_t n_holds, cap_holds, next_booking;
    /* replayed state */
    struct live *live;
    struct book *book;
    struct identities *identities;
    struct alert_states *states;
    uint8_t (*days)[(ALERT_REPLAY_DAYS_MAX + 8) / 8 + 1]; /* a bit per day, from first_day */
    int32_t first_day;
};

static bool wanted(const struct alert_rules *rules, const char *name)
{
    const struct alert_rule *r = alert_rules_find(rules, name);

    return r && !r->off;
}

static void usage_begin(struct usage_past *u, const struct alert_replay_params *ask)
{
    const struct view *v = ask->view;

    mem_copy_str(u->zone_name, sizeof(u->zone_name), ask->usage_zone ? ask->usage_zone : "");
    u->days = wanted(ask->rules, "usage-low");
    u->hours = wanted(ask->rules, "usage-unusual");
    u->ask.sums =
        (struct sums_query){.people = ask->people, .nodes = sums_nodes(&u->mem, v->nodes, v->n), .n_nodes = v->n};
}

static void usage_end(struct usage_past *u)
{
    zone_free(u->zone);
    arena_fini(&u->mem);
    usage_baseline_fini(&u->of[0]);
    usage_baseline_fini(&u->of[1]);
    free(u->v);
}

struct alert_replay *alert_replay_new(const struct alert_replay_params *ask)
{
    struct alert_replay *r = NEW(struct alert_replay, .rule = *ask->rule, .people = people_ref(ask->people),
                                 .rules = ask->rules, .zone = ask->zone);
    int64_t before = HOUR_MS;
    size_t n;
    const struct alert_rule *v = alert_rules_all(ask->rules, &n);

    r->said.to_ms = ask->to_ms / MINUTE_MS * MINUTE_MS;
    r->said.from_ms = MAX(ask->from_ms / MINUTE_MS * MINUTE_MS, r->said.to_ms - ALERT_REPLAY_DAYS_MAX * DAY_MS);
    r->said.rules = mem_zero(n + 1, sizeof(*r->said.rules));
    r->days = mem_zero(n + 1, sizeof(*r->days));
    for (size_t i = 0; i < n; i++) {
        if (v[i].off)
            continue;
        r->said.rules[r->said.n_rules++].rule = &v[i];
        before = MAX(before, v[i].for_ms + 10 * MINUTE_MS);
    }
    r->start_ms = MAX(r->said.from_ms - MIN(before, DAY_MS), 0) / MINUTE_MS * MINUTE_MS;
    r->said.until_ms = r->said.from_ms;
    r->first_day = r->zone ? zone_date(r->zone, r->said.from_ms) : (int32_t)(r->said.from_ms / DAY_MS);
    r->played = mem_zero(ask->view->n + 1, sizeof(*r->played));
    for (size_t i = 0; i < ask->view->n; i++)
        if (!ask->view->nodes[i]->retired)
            r->played[r->n_played++] = alert_replay_node_new(ask->view->nodes[i]);
    r->said.nodes = r->n_played;
    usage_begin(&r->usage, ask);
    alert_replay_node_params_init(&r->ask, r->rules, &r->rule);
    return r;
}

void alert_replay_free(struct alert_replay *r)
{
    if (!r)
        return;
    for (size_t i = 0; i < r->n_played; i++)
        alert_replay_node_free(r->played[i]);
    for (size_t i = 0; i < r->n_holds; i++)
        free(r->holds[i]);
    for (size_t i = 0; i < r->said.n; i++)
        free(r->said.v[i]);
    alert_states_free(r->states);
    usage_end(&r->usage);
    live_free(r->live);
    book_free(r->book);
    identities_free(r->identities);
    FREE_ALL(r->events, r->said.v, r->played, r->holds, r->said.rules, r->days);
    alert_rules_free(r->rules);
    people_unref(r->people);
    free(r);
}

/* ---- findings ---- */

static void found(struct alert_replay *r, const struct alert *a)
{
    struct alert_replay_rule *t = FIND(r->said.rules, r->said.n_rules, e, strcmp(e->rule->name, a->rule) == 0);
    int64_t end = a->resolved_ms ? a->resolved_ms : r->said.until_ms;

    if (end < r->said.from_ms || !t)
        return; /* ended before the requested period */
    int32_t day = r->zone ? zone_date(r->zone, MAX(a->fired_ms, r->said.from_ms))
                          : (int32_t)(MAX(a->fired_ms, r->said.from_ms) / DAY_MS);
    size_t bit = (size_t)MAX(day - r->first_day, 0);
    uint8_t *days = r->days[t - r->said.rules];
    t->alerts++;
    t->firing += !a->resolved_ms;
    t->longest_ms = a->notice ? 0 : MAX(t->longest_ms, end - a->since_ms);
    if (bit / 8 < sizeof(*r->days) && !(days[bit / 8] >> bit % 8 & 1)) {
        days[bit / 8] |= (uint8_t)(1u << bit % 8);
        t->days++;
    }
    r->said.alerts++;
    if (r->said.n == ALERT_REPLAY_ALERTS_MAX) { /* replace the oldest */
        size_t at = (r->said.alerts - 1) % ALERT_REPLAY_ALERTS_MAX;
        free(r->said.v[at]);
        r->said.v[at] = alert_copy(a);
        return;
    }
    VEC_ADD(r->said.v, r->said.n, r->cap_alerts, alert_copy(a));
}

static void on_change(void *arg, const struct alert *a)
{
    if (a->resolved_ms)
        found(arg, a);
}

COMPARE(by_fired, struct alert *const, ORDER((*x)->fired_ms, (*y)->fired_ms) ?: ORDER((*x)->id, (*y)->id))

/* ---- events and bookings ---- */

static void take_event(void *arg, const char *node, const char *device, const struct node_event *e)
{
    struct alert_replay *r = arg;

    if (e->at_ms <= r->said.to_ms)
        VEC_ADD(r->events, r->n_events, r->cap_events, recent_of(node, device, e));
}

COMPARE(by_key, struct alert_replay_node *const, strcmp(alert_replay_node_key(*x), alert_replay_node_key(*y)))

static struct alert_replay_node *reel_of(struct alert_replay *r, const char *key)
{
    size_t at = COUNT_BEFORE(r->n_played, i, strcmp(alert_replay_node_key(r->played[i]), key) < 0);

    return at < r->n_played && strcmp(alert_replay_node_key(r->played[at]), key) == 0 ? r->played[at] : NULL;
}

/* As it was to be when it was over: one that was given back ends there. Changes of one are not on record. */
static void take_booking(void *arg, const struct booking *h)
{
    struct alert_replay *r = arg;
    struct booking one = *h;

    one.until_ms = booking_end_ms(h);
    one.released_ms = 0;
    if (one.until_ms <= one.from_ms || r->n_holds == HOLDS_MAX)
        return;
    VEC_ADD(r->holds, r->n_holds, r->cap_holds, booking_copy(&one));
}

COMPARE(by_made, struct booking *const, ORDER((*x)->created_ms, (*y)->created_ms) ?: ORDER((*x)->id, (*y)->id))

static int load_records(struct alert_replay *r, const struct past_source *past, struct err *err)
{
    int64_t from_ms = r->start_ms - RECENT_MS;
    int code = past_each(past, EACH_EVENT(take_event, r, .from_ms = from_ms, .limit = ALERT_REPLAY_EVENTS_MAX), err);

    if (code >= 0)
        code = past_each(past, EACH_BOOKING(take_booking, r, .from_ms = r->start_ms, .to_ms = r->said.to_ms), err);
    SORT(r->events, r->n_events, order_numbers);
    SORT(r->holds, r->n_holds, by_made);
    SORT(r->played, r->n_played, by_key);
    for (size_t i = 0; i < r->n_events; i++) {
        struct alert_replay_node *of = reel_of(r, r->events[i].node);
        if (of)
            alert_replay_node_event(of, &r->events[i]);
    }
    size_t procs = ALERT_REPLAY_PROCS_MAX;
    for (size_t i = 0; i < r->n_played && code >= 0; i++) {
        code = past->stop && past->stop(past->stop_arg)
                   ? -ECANCELED
                   : alert_replay_node_begin(r->played[i], past, r->start_ms, r->said.to_ms, procs, err);
        procs -= code > 0 ? (size_t)code : 0;
    }
    return MIN(code, 0);
}

/* ---- bookings ---- */

static void show_booking(struct alert_replay *r, const struct booking *h, int64_t at_ms)
{
    for (struct pick_device p = {.rest = str_of(h->devices)}; pick_next(r->live, &p);) {
        const struct booking *now, *next;
        struct booking_now a, b;
        if (!p.d)
            continue;
        book_of_device(r->book, p.uuid, at_ms, &now, &next);
        live_book(r->live, live_find(r->live, p.n->key), (size_t)(p.d - p.n->devices), pick_booking(now, &a),
                  pick_booking(next, &b), booking_end_ms(h), at_ms);
    }
}

static void turned(void *arg, const struct booking *h, UNUSED enum booking_state to)
{
    struct alert_replay *r = arg;

    show_booking(r, h, r->said.until_ms);
}

static void play_holds(struct alert_replay *r, int64_t at_ms)
{
    size_t first = r->next_booking;

    for (; r->next_booking < r->n_holds && r->holds[r->next_booking]->created_ms <= at_ms; r->next_booking++)
        book_load(r->book, r->holds[r->next_booking], at_ms);
    for (size_t i = first; i < r->next_booking; i++)
        show_booking(r, r->holds[i], at_ms);
    book_tick(r->book, at_ms, turned, r);
}

/* ---- minute by minute ---- */

static const struct identity *who(void *arg, const struct node_now *n, const struct proc_fact *f)
{
    return identities_find(arg, n->key, f);
}

/* Like the hub's worker, once an hour. */
static int play_usage(struct usage_past *u, const struct past_source *past, int64_t at_ms, struct err *err)
{
    struct usage_baseline_query *ask = &u->ask;
    int64_t hour_ms = u->zone ? usage_baseline_hour(u->zone, at_ms) : 0, before_ms = ask->hour_ms;
    int r = 0;

    if (!past->each || hour_ms == before_ms)
        return 0;
    ask->hour_ms = hour_ms;
    int32_t day = zone_date(u->zone, hour_ms + HOUR_MS);
    for (int i = 0; i < 2 && r == 0; i++) {
        if (i == 0 ? !u->days || (day == u->day && before_ms) : !u->hours)
            continue;
        ask->skip_hours = i == 0;
        ask->skip_day = i == 1;
        usage_baseline_fini(&u->of[i]);
        r = usage_baseline_run(ask, &u->of[i], err);
    }
    u->day = day;
    u->n = 0;
    u->v = mem_grow(u->v, u->of[0].n + u->of[1].n + 1, sizeof(*u->v));
    for (int i = 0; i < 2; i++)
        for (size_t k = 0; k < u->of[i].n; k++)
            u->v[u->n++] = u->of[i].v[k];
    return r;
}

static void play_minute(struct alert_replay *r, int64_t at_ms)
{
    struct view view;

    r->said.until_ms = at_ms;
    for (size_t i = 0; i < r->n_played; i++)
        alert_replay_node_play(r->played[i], r->live, at_ms);
    live_tick(r->live, at_ms);
    play_holds(r, at_ms);
    while (r->first_event < r->n_events && r->events[r->first_event].at_ms <= at_ms - RECENT_MS)
        r->first_event++;
    r->next_event = MAX(r->next_event, r->first_event);
    while (r->next_event < r->n_events && r->events[r->next_event].at_ms <= at_ms)
        r->next_event++;
    view_of(r->live, &(struct view_query){.show_cmd = false}, at_ms, &view);
    struct alert_input s = {.now_ms = at_ms,
                            .view = &view,
                            .live = r->live,
                            .people = r->people,
                            .book = r->book,
                            .recent = r->events ? r->events + r->first_event : NULL,
                            .n_recent = r->next_event - r->first_event,
                            .usage = r->usage.v,
                            .n_usage = r->usage.n};
    alert_states_begin(r->states, at_ms);
    alert_rules_evaluate(r->rules, &s, alert_states_see, r->states);
    alert_states_end(r->states, on_change, r);
}

/* Maximum period per load: part of a day, since the store keeps minutes by day. */
static int64_t stretch(const struct alert_replay *r)
{
    static const int64_t hours[] = {24, 12, 6, 4, 3, 2, 1};
    size_t bytes = 0;

    for (size_t i = 0; i < r->n_played; i++)
        bytes += alert_replay_node_minute_bytes(r->played[i], &r->ask);
    return hours[FIRST(ARRAY_LEN(hours) - 1, i, bytes * 60 * (size_t)hours[i] <= ALERT_REPLAY_LOAD_BYTES)] * HOUR_MS;
}

static int play(struct alert_replay *r, const struct past_source *past, struct err *err)
{
    int64_t step = stretch(r), at_ms = r->start_ms;
    int code = 0;

    while (at_ms < r->said.to_ms && code == 0) {
        int64_t end_ms = MIN((at_ms / step + 1) * step, r->said.to_ms);
        for (size_t i = 0; i < r->n_played && code == 0; i++)
            code = alert_replay_node_load(r->played[i], &r->ask, past, at_ms, end_ms, err);
        struct identities *before = r->identities; /* group membership is that of this time */
        r->identities = identities_new(r->people, at_ms);
        live_set_identity_fn(r->live, who, r->identities);
        identities_free(before);
        for (size_t k = 0; at_ms < end_ms && code == 0; k++) {
            at_ms += MINUTE_MS;
            code = play_usage(&r->usage, past, at_ms, err);
            play_minute(r, at_ms);
            if (k % STOP_EVERY == 0 && past->stop && past->stop(past->stop_arg))
                code = -ECANCELED;
        }
    }
    return code;
}

int alert_replay_run(struct alert_replay *r, const struct past_source *past, struct err *err)
{
    size_t n;
    int code = load_records(r, past, err);

    if (code == 0 && past->each && (r->usage.days || r->usage.hours))
        code = zone_load(r->usage.zone_name, &r->usage.zone, err);
    struct sums_query *sums = &r->usage.ask.sums;
    sums->zone = r->usage.zone;
    sums->each = past->each;
    sums->arg = past->arg;
    sums->stop = past->stop;
    sums->stop_arg = past->stop_arg;
    r->live = live_new(&r->rule, NULL, NULL);
    r->book = book_new();
    r->states = alert_states_new(r->start_ms);
    if (code == 0)
        code = play(r, past, err);
    const struct alert *const *v = alert_states_all(r->states, &n);
    for (size_t i = 0; i < n; i++)
        if (v[i]->fired_ms)
            found(r, v[i]);
    SORT(r->said.v, r->said.n, by_fired);
    r->said.until_ms = MAX(r->said.until_ms, r->said.from_ms);
    r->said.events_cut = r->n_events >= ALERT_REPLAY_EVENTS_MAX;
    return code == -ECANCELED ? 0 : code;
}

const struct alert_replay_result *alert_replay_result(const struct alert_replay *r)
{
    return &r->said;
}
