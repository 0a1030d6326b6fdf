/* strip.c: reads the data of a night strip: activity and power from history, users from process records, bookings, and
 * the times when a node or a GPU did not report. */
#include "history/strip.h"

#include <errno.h>

#include "base/buf.h"
#include "base/lookup.h"
#include "base/order.h"
#include "history/history_plan.h"
#include "history/holds.h"
#include "now/live.h"
#include "store/records.h"

#define STRIP_POINTS 340 /* bins, fewer for many GPUs: a day in 5 minutes, a week in 30 */
#define CELLS_WANTED 3000000
#define EVENTS_MAX   10000 /* the newest of the time range */
#define TOGETHER_MAX 64    /* different people on one GPU in the time range */
#define NAMES_MAX    3     /* names shown in one bin; the rest is a number */
#define SAID_MAX     200

const char *const strip_sort_words[STRIP_SORTS + 1] = {"node", "work", "idle", NULL};

enum wrong { WRONG_DOWN, WRONG_HUNG, WRONG_LOST, WRONGS };
static const char *const wrong_words[WRONGS][2] = {
    {"the node was offline", "the node is offline"},
    {"the driver did not respond", "the driver is not responding"},
    {"the GPU was missing", "the GPU is missing"},
};

/* ---- on the loop ---- */

static int8_t percent_of(int64_t v, int64_t per)
{
    return (int8_t)MAX(0, MIN(100, (v * 100 + per / 2) / per));
}

static void add_wrong(struct strip *s, struct strip_row *row, enum wrong what, int64_t from_ms, int64_t to_ms,
                      bool still)
{
    struct night_row *r = &row->drawn;

    if (to_ms <= from_ms || from_ms >= s->query->to_ms || to_ms <= s->query->from_ms || r->n_wrong == SAID_MAX)
        return;
    struct night_span *v = arena_alloc(&s->mem, r->n_wrong + 1, sizeof(*v));
    if (r->n_wrong)
        memcpy(v, r->wrong, r->n_wrong * sizeof(*v));
    v[r->n_wrong++] = (struct night_span){from_ms, to_ms, wrong_words[what][still], still};
    r->wrong = v;
}

/* What is wrong with it now. */
static void take_state(struct strip *s, struct strip_row *row, const struct node_now *n, const struct device_now *d)
{
    int64_t now = s->now_ms;
    char text[40];

    row->state = d->state;
    if (d->state != DEV_FREE && d->state < DEV_IN_SIGHT && sample_has(&d->now, M_util))
        snprintf(text, sizeof(text), "%s %d %%", dev_states[d->state].mark,
                 percent_of(d->now.v[M_util], metrics[M_util].per));
    else
        snprintf(text, sizeof(text), "%s %s", dev_states[d->state].mark, state_shown(dev_states[d->state].word));
    if (s->query->to_ms >= now)
        row->drawn.now = arena_str(&s->mem, text);
    if (n->state == NODE_DOWN && n->at_ms)
        add_wrong(s, row, WRONG_DOWN, n->at_ms, now, true);
    else if (n->state == NODE_HUNG)
        add_wrong(s, row, WRONG_HUNG, n->since_ms, now, true);
    else if (d->state == DEV_LOST)
        add_wrong(s, row, WRONG_LOST, d->since_ms, now, true);
}

static void take_rows(struct strip *s, const struct view *v)
{
    const struct history_query *q = s->query;
    struct strip_row *row;
    size_t at = 0, n = 0;

    for (size_t i = 0; i < q->n_nodes; i++)
        n += q->nodes[i].card->n_devices;
    row = s->rows = mem_zero(n + 1, sizeof(*s->rows));
    for (size_t i = 0; i < q->n_nodes; i++) {
        const struct plan_node *p = &q->nodes[i];
        while (strcmp(v->nodes[at]->key, p->card->key) != 0)
            at++; /* the query has nodes, and their devices, in the order of the view */
        const struct node_now *now = v->nodes[at];
        size_t k = 0;
        for (size_t d = 0; d < p->card->n_devices; d++) {
            const struct card_device *of = &p->card->devices[d];
            while (strcmp(now->devices[k].fact.uuid, of->uuid) != 0)
                k++;
            if (device_is_parent(now, &now->devices[k]))
                continue; /* users get its instances */
            char name[NAME_MAX_LEN + 32], place[16] = "";
            if (of->mig >= 0)
                snprintf(place, sizeof(place), ".%d", (int)of->mig);
            snprintf(name, sizeof(name), "%s:%d%s", node_shown(now), (int)of->index, place);
            *row = (struct strip_row){.drawn = {.name = arena_str(&s->mem, name)},
                                      .node = p->card->name,
                                      .node_id = p->card->key,
                                      .device = of->uuid,
                                      .model = of->model,
                                      .index = of->index,
                                      .mig = of->mig,
                                      .at = s->n};
            take_state(s, row, now, &now->devices[k]);
            row++;
            s->n++;
        }
    }
}

/* As many bins as its devices leave room for. */
static size_t points_of(const struct history_query *q)
{
    size_t n = 0;

    for (size_t i = 0; i < q->n_nodes; i++)
        n += q->nodes[i].card->n_devices;
    return MAX(24u, MIN(CELLS_WANTED / (2 * MAX(n, 1u)), (size_t)STRIP_POINTS));
}

int strip_new(struct history_words *words, const struct view *v, const struct state_rule *rule, int64_t now_ms,
              bool (*keep)(void *arg, const struct node_now *n, const struct device_now *d), void *arg,
              struct strip **ret, struct err *err)
{
    struct strip *s = NEW(struct strip, .now_ms = now_ms, .busy_util = rule->busy_util);
    char points[16];
    bool told = words->points.len > 0;

    if (!words->from.len && !words->to.len)
        words->from = STR("-24h");
    if (!told)
        words->points = STR("24"); /* until the devices are known */
    words->group = words->fold = words->tier = str_of("");
    words->n_aggs = 0;
    words->metrics[0] = STR("util");
    words->metrics[1] = STR("sm_active");
    words->n_metrics = 2;
    int r = history_query_new(words, v, now_ms, keep, arg, &s->query, err);
    if (r == 0 && !told) {
        size_t n = points_of(s->query);
        snprintf(points, sizeof(points), "%zu", n);
        words->points = str_of(points);
        if (s->query->chosen)
            s->query->step_ms = history_step(s->query->to_ms - s->query->from_ms, (int64_t)n);
    }
    words->metrics[0] = STR("power");
    words->n_metrics = 1;
    words->group = STR("all");
    words->fold = STR("sum");
    if (r == 0)
        r = history_query_new(words, v, now_ms, keep, arg, &s->power, err);
    if (r < 0) {
        strip_free(s);
        return r;
    }
    s->query->graphics_mem = rule->graphics_mem;
    take_rows(s, v);
    *ret = s;
    return 0;
}

void strip_free(struct strip *s)
{
    if (!s)
        return;
    history_query_free(s->query);
    history_query_free(s->power);
    arena_fini(&s->mem);
    FREE_ALL(s->rows, (void *)(uintptr_t)s->night.rows, s->watts, s->free);
    free(s);
}

/* ---- work ---- */

struct reading {
    struct strip *s;
    struct lookup rows; /* by device */
    bool *moved;        /* of the current row: bins in which it was busy, by the rule of states */
};

static void start_rows(void *arg, const struct series_frame *f)
{
    struct reading *k = arg;
    struct strip *s = k->s;

    s->night.from_ms = f->from_ms;
    s->night.to_ms = f->to_ms;
    s->step_ms = f->step_ms;
    s->night.bins = (size_t)((f->to_ms - f->from_ms) / f->step_ms);
    free(k->moved);
    k->moved = mem_zero(s->n * s->night.bins + 1, sizeof(*k->moved));
    for (size_t i = 0; i < s->n; i++) {
        s->rows[i].work = arena_alloc(&s->mem, s->night.bins + 1, 1);
        memset(s->rows[i].work, NIGHT_NONE, s->night.bins);
        s->rows[i].drawn.work = s->rows[i].work;
        s->rows[i].drawn.by_util = true;
    }
}

/* NULL: no row, as for a GPU with instances. */
static struct strip_row *row_of(const struct reading *k, const struct series *one)
{
    uint64_t hash = lookup_hash(one->device);
    size_t at = 0;
    struct strip_row *row;

    while ((row = lookup_next(&k->rows, hash, &at)))
        if (strcmp(row->device, one->device) == 0 && strcmp(row->node_id, one->node_id) == 0)
            break;
    return row;
}

/* util comes first, then sm_active if known. */
static void take_series(void *arg, const struct series *one)
{
    struct reading *k = arg;
    struct strip *s = k->s;
    bool util = strcmp(one->metric, "util") == 0;

    struct strip_row *row = one->device && one->device[0] ? row_of(k, one) : NULL;
    if (!row)
        return;
    for (size_t i = 0; i < MIN(one->n, s->night.bins); i++) {
        if (one->v[i] == SERIES_NONE)
            continue;
        row->work[i] = percent_of(one->v[i], one->per);
        k->moved[row->at * s->night.bins + i] |= one->v[i] * 10000 >= s->busy_util * one->per;
        row->drawn.by_util &= util;
    }
}

static void start_power(void *arg, const struct series_frame *f)
{
    struct strip *s = arg;

    free(s->watts);
    s->watts = f->step_ms == s->step_ms ? mem_alloc((s->night.bins + 1) * sizeof(*s->watts)) : NULL;
    for (size_t i = 0; s->watts && i < s->night.bins; i++)
        s->watts[i] = NIGHT_NONE;
}

static void take_power(void *arg, const struct series *one)
{
    struct strip *s = arg;

    for (size_t i = 0; s->watts && i < MIN(one->n, s->night.bins); i++)
        if (one->v[i] != SERIES_NONE)
            s->watts[i] = one->v[i] / one->per;
}

static void take_end(UNUSED void *arg, UNUSED const struct series_frame *f) {}

/* ---- who ---- */

/* Names of those in set, at most a few. */
static const char *names_of(struct strip *s, const struct holds *h, const size_t *who, size_t n, uint64_t set)
{
    AUTO_BUF b = BUF_INIT(512);
    size_t all = (size_t)__builtin_popcountll(set), said = 0;

    for (size_t i = 0; i < n && said < NAMES_MAX; i++)
        if (set >> i & 1) {
            const char *name = h->v[who[i]].user;
            buf_addf(&b, "%s%s", said++ ? ", " : "", name[0] || all == 1 ? name : "unknown");
        }
    if (all > said)
        buf_addf(&b, " +%zu", all - said);
    return arena_strn(&s->mem, b.p ? b.p : "", b.len);
}

static void add_stretch(struct strip *s, struct night_stretch **v, size_t *n, size_t *cap, size_t from, size_t to,
                        const char *who)
{
    if (*n == *cap) {
        struct night_stretch *more = arena_alloc(&s->mem, *cap ? 2 * *cap : 4, sizeof(*more));
        if (*n)
            memcpy(more, *v, *n * sizeof(*more));
        *cap = *cap ? 2 * *cap : 4;
        *v = more;
    }
    (*v)[(*n)++] = (struct night_stretch){(uint32_t)from, (uint32_t)to, who};
}

/* The users on the device of a row, bin by bin; an empty set for unknown bins. */
static void fill_sets(const struct strip *s, const struct strip_row *row, const struct holds *h, const size_t *who,
                      size_t n, uint64_t *sets)
{
    size_t bins = s->night.bins;

    memset(sets, 0, bins * sizeof(*sets));
    for (size_t k = 0; k < n; k++)
        for (size_t i = 0; i < bins; i++)
            if (row->work[i] != NIGHT_NONE && user_hold_has(&h->v[who[k]], i))
                sets[i] |= 1ull << k;
    for (size_t i = 1; i + 1 < bins; i++) /* one went and another came within the bin: it is the other's */
        if (sets[i] != sets[i - 1] && sets[i - 1] && sets[i + 1] && sets[i] == (sets[i - 1] | sets[i + 1]))
            sets[i] = sets[i + 1];
}

static void fill_row(struct strip *s, struct strip_row *row, const struct holds *h, size_t device, const bool *moved,
                     uint64_t *sets)
{
    struct night_row *r = &row->drawn;
    size_t who[TOGETHER_MAX], n = 0, bins = s->night.bins, held_cap = 0, idle_cap = 0;

    for (size_t i = 0; i < h->n && n < TOGETHER_MAX; i++)
        if (h->v[i].device == device && strcmp(h->v[i].user, PROC_GONE) != 0)
            who[n++] = i;
    fill_sets(s, row, h, who, n, sets);
    r->n_held = r->n_idle = 0;
    for (size_t i = 0, to; i < bins; i = to) {
        for (to = i + 1; to < bins && sets[to] == sets[i];)
            to++;
        if (sets[i])
            add_stretch(s, &r->held, &r->n_held, &held_cap, i, to, names_of(s, h, who, n, sets[i]));
    }
    for (size_t i = 0; i < bins; i++) {
        bool idle = sets[i] && !moved[i];
        row->worked += MAX(row->work[i], 0);
        row->idle += idle;
        if (idle && r->n_idle && r->idle[r->n_idle - 1].to == i)
            r->idle[r->n_idle - 1].to++;
        else if (idle)
            add_stretch(s, &r->idle, &r->n_idle, &idle_cap, i, i + 1, NULL);
        if (row->work[i] == NIGHT_NONE)
            continue;
        s->free[i] = MAX(s->free[i], 0) + (!sets[i] && !moved[i]);
    }
}

static int read_people(struct strip *s, const struct past_source *past, const bool *moved, struct err *err)
{
    struct series_frame f = {.from_ms = s->night.from_ms, .to_ms = s->night.to_ms, .step_ms = s->step_ms};
    AUTO_FREE uint64_t *sets = mem_zero(s->night.bins + 1, sizeof(*sets));
    struct holds h = {0};
    struct strip_row *row = s->rows;
    int r = 0;

    s->query->group = GROUP_PERSON; /* from here on: series were read as they are */
    for (size_t i = 0; r == 0 && i < s->query->n_nodes; i++) {
        const struct plan_node *p = &s->query->nodes[i];
        r = holds_read(&h, past, s->query, i, &f, err);
        for (size_t d = 0; r == 0 && d < p->card->n_devices; d++)
            if (row < s->rows + s->n && row->device == p->card->devices[d].uuid) {
                fill_row(s, row, &h, d, moved + row->at * s->night.bins, sets);
                row++;
            }
        if (r == 0 && past_stopped(past))
            r = err_set(err, -ECANCELED, "stopped");
    }
    holds_fini(&h);
    return r;
}

/* ---- what was booked, what was wrong ---- */

/* Rows by device, or by node: to find those a record is about. */
struct index {
    struct strip *s;
    struct strip_row **v;
    struct upset *upsets; /* of each row, by its place */
};
COMPARE(by_device, struct strip_row *const, strcmp((*x)->device, (*y)->device))
COMPARE(by_node, struct strip_row *const, strcmp((*x)->node_id, (*y)->node_id))

static void take_booking(void *arg, const struct booking *h)
{
    struct index *k = arg;
    struct strip *s = k->s;
    struct str left = str_of(h->devices), one;

    if (h->kind != BOOKING_FIRM || !booking_overlaps(h, s->night.from_ms, s->night.to_ms))
        return;
    while (str_cut(&left, ',', &one)) {
        AUTO_FREE char *uuid = mem_strn(one.p, one.len);
        struct strip_row sought = {.device = uuid}, *seek = &sought;
        struct strip_row **at = bsearch(&seek, k->v, s->n, sizeof(*k->v), by_device);
        if (!at || (*at)->drawn.n_booked == SAID_MAX)
            continue;
        struct night_row *r = &(*at)->drawn;
        struct night_span *v = arena_alloc(&s->mem, r->n_booked + 1, sizeof(*v));
        if (r->n_booked)
            memcpy(v, r->booked, r->n_booked * sizeof(*v));
        v[r->n_booked++] = (struct night_span){h->from_ms, booking_end_ms(h), arena_str(&s->mem, h->person), false};
        r->booked = v;
    }
}

/* Events come newest first: an end comes before its start. */
struct upset {
    int64_t down, hung, lost; /* of a row: end of the current problem; 0: no end seen */
};

static void take_event_of(struct strip *s, struct strip_row *row, struct upset *u, const struct node_event *e)
{
    switch (e->kind) {
    case EVENT_BACK:
    case EVENT_START:
        u->down = u->lost = e->at_ms;
        break;
    case EVENT_ANSWERS:
        u->hung = e->at_ms;
        break;
    case EVENT_DOWN: /* code: seconds without a report by then */
        add_wrong(s, row, WRONG_DOWN, e->at_ms - MIN(MAX(e->code, 0), 3600) * 1000, u->down, false);
        u->down = 0;
        break;
    case EVENT_HUNG:
        add_wrong(s, row, WRONG_HUNG, e->at_ms, u->hung ?: u->down, false);
        u->hung = 0;
        break;
    case EVENT_LOST:
        add_wrong(s, row, WRONG_LOST, e->at_ms, u->lost, false);
        u->lost = 0;
        break;
    default:
        break;
    }
}

static void take_event(void *arg, const char *node, const char *device, const struct node_event *e)
{
    struct index *k = arg;
    struct strip *s = k->s;
    struct strip_row sought = {.node_id = node}, *seek = &sought;

    if (e->kind < EVENT_LOST || e->kind > EVENT_DOWN)
        return;
    struct strip_row **at = bsearch(&seek, k->v, s->n, sizeof(*k->v), by_node);
    while (at && at > k->v && strcmp(at[-1]->node_id, node) == 0)
        at--;
    for (; at && at < k->v + s->n && strcmp((*at)->node_id, node) == 0; at++)
        if (!device || !device[0] || strcmp((*at)->device, device) == 0)
            take_event_of(s, *at, &k->upsets[(*at)->at], e);
}

static int read_records(struct strip *s, const struct past_source *past, struct err *err)
{
    AUTO_FREE struct strip_row **v = mem_zero(s->n + 1, sizeof(*v));
    AUTO_FREE struct upset *upsets = mem_zero(s->n + 1, sizeof(*upsets));
    struct index k = {s, v, upsets};
    int64_t from = s->night.from_ms, to = s->night.to_ms;

    for (size_t i = 0; i < s->n; i++) {
        v[i] = &s->rows[i];
        if (to < s->now_ms && !v[i]->drawn.n_wrong) /* it may have ended later; a problem that continues now is already
                                                     * listed */
            upsets[v[i]->at].down = upsets[v[i]->at].lost = to;
    }
    SORT(v, s->n, by_device);
    int r = past_each(past, EACH_BOOKING(take_booking, &k, .from_ms = from, .to_ms = to), err);
    SORT(v, s->n, by_node);
    if (r >= 0)
        r = past_each(past, EACH_EVENT(take_event, &k, .from_ms = from, .to_ms = to, .limit = EVENTS_MAX), err);
    return MIN(r, 0);
}

/* ---- all of it ---- */

COMPARE(by_work, struct strip_row, ORDER(y->worked, x->worked) ?: ORDER(x->at, y->at))
COMPARE(by_idle, struct strip_row, ORDER(y->idle, x->idle) ?: ORDER(x->at, y->at))

static void settle(struct strip *s)
{
    struct night_row *rows = mem_zero(s->n + 1, sizeof(*rows));

    if (s->sort == STRIP_BY_WORK)
        SORT(s->rows, s->n, by_work);
    else if (s->sort == STRIP_BY_IDLE)
        SORT(s->rows, s->n, by_idle);
    for (size_t i = 0; i < s->n; i++)
        rows[i] = s->rows[i].drawn;
    s->night.rows = rows;
    s->night.n = s->n;
    s->night.power = s->watts;
    s->night.free = s->free;
}

int strip_run(struct strip *s, const struct past_source *past, struct err *err)
{
    struct reading k = {.s = s};

    for (size_t i = 0; i < s->n; i++)
        lookup_add(&k.rows, lookup_hash(s->rows[i].device), &s->rows[i]);
    int r = history_query_run(s->query, past, &(struct series_out){&k, start_rows, take_series, take_end}, err);
    lookup_fini(&k.rows);
    if (r >= 0)
        r = history_query_run(s->power, past, &(struct series_out){s, start_power, take_power, take_end}, err);
    s->free = mem_alloc((s->night.bins + 1) * sizeof(*s->free));
    for (size_t i = 0; i < s->night.bins; i++)
        s->free[i] = NIGHT_NONE;
    if (r >= 0)
        r = read_people(s, past, k.moved, err);
    if (r >= 0)
        r = read_records(s, past, err);
    free(k.moved);
    if (r >= 0)
        settle(s);
    return r;
}
