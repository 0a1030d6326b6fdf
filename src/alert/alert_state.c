/* alert_state.c: a table of findings by rule and subject, and their transitions from pending to firing to resolved. */
#include "alert/alert_state.h"

#include "base/lookup.h"
#include "base/mem.h"
#include "base/order.h"

struct entry {
    struct alert *a;
    uint64_t key;
    int64_t for_ms, clear_ms;
    int64_t gone_ms; /* time since when a firing alert is not found; 0: found */
    bool seen;
    bool before; /* fired before this start, and not found since */
    bool lasts;  /* copy of the rule's flag */
};

struct alert_states {
    struct entry *v;
    size_t n, cap;
    struct lookup by_key; /* indices into v */
    int64_t started_ms, now_ms, last_id;
    const struct alert **all;
    size_t cap_all;
    alert_states_goes_on_fn *goes_on;
    void *goes_on_arg;
    struct alert **old; /* loaded lasting notices: a ring of the newest, until the first evaluation; NULL: none */
    size_t n_old;       /* total number loaded */
};

static uint64_t mix(uint64_t h, const char *s)
{
    for (; *s; s++)
        h = (h ^ (unsigned char)*s) * 0x100000001b3u;
    return (h ^ 0xff) * 0x100000001b3u;
}

static uint64_t key_of(const char *rule, const char *subject)
{
    return mix(mix(0xcbf29ce484222325u, rule), subject);
}

struct alert_states *alert_states_new(int64_t now_ms)
{
    return NEW(struct alert_states, .started_ms = now_ms, .now_ms = now_ms);
}

void alert_states_free(struct alert_states *w)
{
    if (!w)
        return;
    for (size_t i = 0; i < w->n; i++)
        free(w->v[i].a);
    for (size_t i = 0; w->old && i < ALERT_STATES_LASTING; i++)
        free(w->old[i]);
    FREE_ALL(w->v, w->old);
    lookup_fini(&w->by_key);
    free(w->all);
    free(w);
}

static struct entry *find(struct alert_states *w, const char *rule, const char *subject)
{
    uint64_t key = key_of(rule, subject);
    size_t at = 0, i;

    while ((i = lookup_next_place(&w->by_key, key, &at)) != SIZE_MAX)
        if (strcmp(w->v[i].a->rule, rule) == 0 && strcmp(w->v[i].a->subject, subject) == 0)
            return &w->v[i];
    return NULL;
}

static void replace(struct entry *e, const struct alert *a)
{
    struct alert *to = alert_copy(a); /* copy first: a may borrow from e->a */

    free(e->a);
    e->a = to;
}

static struct entry *add(struct alert_states *w, const struct alert *a)
{
    uint64_t key = key_of(a->rule, a->subject);

    lookup_add_place(&w->by_key, key, w->n);
    VEC_ADD(w->v, w->n, w->cap, (struct entry){.a = alert_copy(a), .key = key});
    return &w->v[w->n - 1];
}

void alert_states_set_active_fn(struct alert_states *w, alert_states_goes_on_fn *goes_on, void *arg)
{
    w->goes_on = goes_on;
    w->goes_on_arg = arg;
}

static void keep_old(struct alert_states *w, const struct alert *a)
{
    if (!w->old)
        w->old = mem_zero(ALERT_STATES_LASTING, sizeof(struct alert *));
    struct alert **at = &w->old[w->n_old++ % ALERT_STATES_LASTING];
    free(*at);
    *at = alert_copy(a);
}

static void take_old(struct alert_states *w)
{
    for (size_t i = 0; w->old && i < ALERT_STATES_LASTING; i++) {
        struct alert *a = w->old[i];
        struct entry *e = a ? find(w, a->rule, a->subject) : NULL;
        if (e && a->fired_ms > e->a->fired_ms)
            replace(e, a);
        if (a && !e && w->n < ALERT_STATES_MAX) {
            e = add(w, a);
            e->before = e->lasts = true;
        }
        free(a);
    }
    free(w->old);
    w->old = NULL;
}

void alert_states_load(struct alert_states *w, const struct alert *a, const struct alert_rule *r)
{
    w->last_id = MAX(w->last_id, a->id);
    if (a->notice && a->fired_ms <= w->started_ms - ALERT_STATES_NOTICE_MS) {
        if (r && r->lasts)
            keep_old(w, a);
        return;
    }
    struct entry *e = find(w, a->rule, a->subject);
    /* Two leaders can store the same alert when the leader changes. Every hub keeps the same one: the newest reported,
     * then the highest id. */
    bool later = e && a->since_ms == e->a->since_ms && a->id > e->a->id;
    if (e && a->notice && (a->since_ms > e->a->since_ms || !e->a->fired_ms || later)) {
        replace(e, a);
    } else if (e && !a->notice && e->before && alert_state(a) == ALERT_FIRING && a->id > e->a->id) {
        replace(e, a);
    } else if (!e && (a->notice || alert_state(a) == ALERT_FIRING) && w->n < ALERT_STATES_MAX) {
        e = add(w, a);
        e->before = true;
        e->lasts = r && r->lasts;
        e->clear_ms = r ? r->clear_ms : 0;
    }
}

static void index_entries(struct alert_states *w)
{
    lookup_fini(&w->by_key);
    for (size_t i = 0; i < w->n; i++)
        lookup_add_place(&w->by_key, w->v[i].key, i);
}

/* Removes an alert that another hub resolved. */
static void drop_entry(struct alert_states *w, struct entry *e)
{
    free(e->a);
    *e = w->v[--w->n];
    index_entries(w);
}

void alert_states_take(struct alert_states *w, const struct alert *a, const struct alert_rule *r)
{
    struct entry *e = find(w, a->rule, a->subject);

    w->last_id = MAX(w->last_id, a->id);
    if (a->notice || !e)
        alert_states_load(w, a, r);
    else if (!a->resolved_ms && a->id >= e->a->id && (a->id > e->a->id || a->tells >= e->a->tells))
        replace(e, a); /* ignore late states from before a notification */
    else if (a->resolved_ms && a->id == e->a->id)
        drop_entry(w, e);
}

void alert_states_settle(struct alert_states *w, int64_t now_ms)
{
    w->started_ms = now_ms;
    for (size_t i = 0; i < w->n; i++)
        w->v[i].before = w->v[i].a->fired_ms != 0;
}

void alert_states_follow(struct alert_states *w)
{
    size_t kept = 0;

    for (size_t i = 0; i < w->n; i++)
        if (w->v[i].a->fired_ms)
            w->v[kept++] = w->v[i];
        else
            free(w->v[i].a);
    w->n = kept;
    index_entries(w);
}

void alert_states_set_last(struct alert_states *w, int64_t id)
{
    w->last_id = MAX(w->last_id, id);
}

void alert_states_begin(struct alert_states *w, int64_t now_ms)
{
    w->now_ms = now_ms;
    take_old(w);
    for (size_t i = 0; i < w->n; i++)
        w->v[i].seen = false;
}

void alert_states_see(void *states, const struct alert_rule *r, const struct alert_finding *f)
{
    struct alert_states *w = states;
    struct entry *e = find(w, r->name, f->subject);
    struct alert a = {.severity = r->severity,
                      .since_ms = f->since_ms ? MIN(f->since_ms, w->now_ms) : w->now_ms,
                      .rule = r->name,
                      .subject = f->subject,
                      .node = f->node,
                      .place = f->place,
                      .device = f->device,
                      .person = f->person,
                      .text = f->text,
                      .advice = r->advice,
                      .notice = r->notice,
                      .told_to = ""};

    if (e && e->seen)
        return; /* found twice in one evaluation */
    if (f->weak && !(e && e->a->fired_ms))
        return;
    if (e && a.notice) {
        if (a.since_ms <= (r->lasts ? MAX(e->a->fired_ms, e->a->since_ms) : e->a->since_ms)) {
            e->seen = true; /* reported before, and still there */
            return;
        }
        replace(e, &a);
    } else if (e) { /* its text may have changed */
        a.id = e->a->id;
        a.fired_ms = e->a->fired_ms;
        a.told_ms = e->a->told_ms;
        a.tells = e->a->tells;
        a.told_to = e->a->told_to;
        a.since_ms = MIN(a.since_ms, e->a->since_ms);
        replace(e, &a);
    } else if (w->n < ALERT_STATES_MAX) {
        e = add(w, &a);
    } else {
        return;
    }
    e->seen = true;
    e->before = false;
    e->gone_ms = 0;
    e->lasts = r->lasts;
    e->for_ms = r->for_ms;
    e->clear_ms = r->clear_ms;
}

/* Whether a notice that was not found can be forgotten. Adds to n_lasting if it is old and must be kept. */
static bool is_past(const struct alert_states *w, const struct entry *e, size_t *n_lasting)
{
    if (w->now_ms - e->a->fired_ms < ALERT_STATES_NOTICE_MS)
        return false;
    if (!e->lasts || *n_lasting >= ALERT_STATES_LASTING)
        return true;
    bool unheard = e->before && w->now_ms - w->started_ms < ALERT_STATES_HEAR_MS;
    bool lasts = unheard || (w->goes_on && w->goes_on(w->goes_on_arg, e->a));
    *n_lasting += lasts;
    return !lasts;
}

void alert_states_end(struct alert_states *w, alert_states_change_fn *change, void *arg)
{
    bool settling = w->now_ms - w->started_ms < ALERT_STATES_SETTLE_MS;
    size_t kept = 0, before = w->n, n_lasting = 0;

    for (size_t i = 0; i < w->n; i++) {
        struct entry *e = &w->v[i];
        bool over = false;
        if (e->seen && !e->a->fired_ms && w->now_ms - e->a->since_ms >= e->for_ms) {
            e->a->fired_ms = w->now_ms;
            e->a->resolved_ms = e->a->notice ? w->now_ms : 0;
            e->a->id = ++w->last_id;
            change(arg, e->a);
        } else if (!e->seen && !e->a->fired_ms) {
            over = true;
        } else if (e->a->notice) { /* keep it, to avoid a second notification */
            over = !e->seen && is_past(w, e, &n_lasting);
        } else if (!e->seen && !(e->before && settling)) {
            e->gone_ms = e->gone_ms ? e->gone_ms : w->now_ms;
            if (w->now_ms - e->gone_ms >= e->clear_ms) {
                e->a->resolved_ms = e->gone_ms;
                change(arg, e->a);
                over = true;
            }
        }
        if (over)
            free(e->a);
        else
            w->v[kept++] = *e;
    }
    w->n = kept;
    if (kept != before)
        index_entries(w);
}

COMPARE(newest_first, struct alert *const,
        ORDER((*y)->severity, (*x)->severity) ?: ORDER((*y)->since_ms, (*x)->since_ms)
            ?: strcmp((*x)->rule, (*y)->rule) ?: str_natural((*x)->place, (*y)->place))

const struct alert *const *alert_states_all(struct alert_states *w, size_t *ret_n)
{
    VEC_LEAST(w->all, w->cap_all, w->cap);
    size_t n = 0;
    for (size_t i = 0; i < w->n; i++)
        if (!w->v[i].a->resolved_ms)
            w->all[n++] = w->v[i].a;
    SORT(w->all, n, newest_first);
    *ret_n = n;
    return w->all;
}

const struct alert *alert_states_at(const struct alert_states *w, size_t i)
{
    return i < w->n ? w->v[i].a : NULL;
}

const struct alert *alert_states_mark_notified(struct alert_states *w, const char *rule, const char *subject,
                                               int64_t now_ms, const char *told_to)
{
    struct entry *e = find(w, rule, subject);

    if (!e)
        return NULL;
    struct alert a = *e->a;
    a.told_ms = now_ms;
    a.tells++;
    a.told_to = told_to;
    replace(e, &a);
    return e->a;
}

void alert_states_untold(struct alert_states *w, const struct alert *before, int64_t told_ms)
{
    struct entry *e = find(w, before->rule, before->subject);

    if (!e || e->a->id != before->id || e->a->told_ms != told_ms)
        return;
    struct alert a = *e->a;
    a.told_ms = before->told_ms;
    a.tells = before->tells;
    a.told_to = before->told_to;
    replace(e, &a);
}
