/*
 * notify_group.c: groups alerts by rule and kind, finds the recipients of each group, and makes one message per
 * recipient. Sentences are in wording.c.
 */
#include "alert/notify_group.h"

#include <inttypes.h>

#include "alert/notified.h"
#include "alert/wording.h"
#include "base/mem.h"
#include "base/order.h"

#define ALERTS_MAX 4000
#define LIST_MAX   (256u << 10)

/* Whether this channel accepts the alert. rule NULL: it no longer exists. */
static bool tell_takes(const struct channel *c, const struct alert_rule *rule, const struct alert *a)
{
    return rule && rule->channels[0] ? str_listed(rule->channels, str_of(c->name)) : a->severity >= c->severity;
}

/* ---- recipients ---- */

struct listener { /* an alert and one recipient */
    struct alert_change *news;
    char *to;
    char person[BOOKING_PERSON_MAX]; /* "": not for a person */
    int64_t told_ms;                 /* last notification; 0: none yet */
};

struct notify_group { /* a group that is sent through one channel */
    const struct notify_params *k;
    const struct channel *c;
    const struct alert_rule *rule;
    int32_t kind;
    struct listener *v;
    size_t n, cap;
    notify_fn *say;
    void *arg;
};

static void part_add(struct notify_group *t, struct alert_change *x, struct str to, const char *person, int64_t told_ms)
{
    VEC_ROOM(t->v, t->n, t->cap);
    struct listener *p = &t->v[t->n++];
    *p = (struct listener){.news = x, .to = mem_strn(to.p, to.len), .told_ms = told_ms};
    mem_copy_str(p->person, sizeof(p->person), person);
}

/* T6. */
static void add_persons(struct notify_group *t, struct alert_change *x)
{
    struct str rest = str_of(x->a->person), one;

    while (wording_person(&rest, &one)) {
        char name[BOOKING_PERSON_MAX];
        snprintf(name, sizeof(name), "%.*s", STR_ARG(one));
        if (!people_wants(t->k->people, name, x->a->rule))
            continue;
        const char *to = channel_address(t->c, t->k->people, name);
        if (to)
            part_add(t, x, str_of(to), name, 0);
        else if (t->k->passed)
            t->k->passed(t->arg, t->c->name, name);
    }
}

/* T4. A person who stopped causing an alert gets no resolved message about it. */
static void add_told(struct notify_group *t, struct alert_change *x)
{
    struct str rest = str_of(x->a->told_to);
    struct notified was;

    while (notified_next(&rest, &was)) {
        char name[BOOKING_PERSON_MAX];
        snprintf(name, sizeof(name), "%.*s", STR_ARG(was.person));
        if (!str_eq(was.channel, t->c->name) || (name[0] && !people_wants(t->k->people, name, x->a->rule)))
            continue;
        if (t->kind == MESSAGE_RESOLVED && name[0] && t->rule && t->rule->you && !wording_owner(t->rule, x->a, name))
            continue;
        part_add(t, x, was.to, name, was.at_ms);
    }
}

static void add(struct notify_group *t, struct alert_change *x)
{
    if (t->kind == MESSAGE_RESOLVED || t->kind == MESSAGE_REMINDER)
        add_told(t, x);
    else if (!tell_takes(t->c, t->rule, x->a))
        return;
    else if (!t->c->to_person)
        part_add(t, x, STR(""), "", 0);
    else if (t->rule && t->rule->person)
        add_persons(t, x);
}

/* ---- messages ---- */

COMPARE(by_place, struct listener,
        strcmp(x->to, y->to) ?: str_natural(x->news->a->place, y->news->a->place) ?: ORDER(x->news->a->id, y->news->a->id))

static void mark_told(const struct notify_group *t, const struct listener *p)
{
    struct alert_change *x = p->news;

    if (!x->told) {
        x->who = BUF_INIT(LIST_MAX);
        buf_adds(&x->who, x->a->told_to);
    }
    x->told = true;
    notified_add(&x->who, &(struct notified){t->k->now_ms, str_of(t->c->name), str_of(p->to), str_of(p->person)});
}

/* Makes one message of these alerts, which all have the same recipient. */
static void say_parts(const struct notify_group *t, const struct listener *v, size_t n)
{
    AUTO_FREE const struct alert **a = mem_zero(n, sizeof(*a));
    AUTO_FREE struct wording *w = mem_zero(1, sizeof(*w));
    AUTO_BUF ids = BUF_INIT(ALERTS_MAX + 100);
    int32_t severity = 0;

    for (size_t i = 0; i < n; i++) {
        a[i] = v[i].news->a;
        severity = MAX(severity, a[i]->severity);
        mark_told(t, &v[i]);
        if (ids.len < ALERTS_MAX)
            buf_addf(&ids, "%s%" PRId64, i ? "," : "", a[i]->id);
    }
    wording_of(&(struct wording_params){t->kind, t->k->now_ms, t->rule, t->k->live, v[0].person, a, n}, w);
    t->say(t->arg, &(struct message){.created_ms = t->k->now_ms,
                                     .kind = t->kind,
                                     .severity = severity,
                                     .channel = t->c->name,
                                     .to = v[0].to,
                                     .person = v[0].person,
                                     .rule = a[0]->rule,
                                     .title = w->title,
                                     .text = w->text,
                                     .alerts = buf_str(&ids).p});
}

/* T5: keeps alerts with reminders in v and returns their number; 0: no reminder is due. */
static size_t remind_of(const struct notify_group *t, struct listener *v, size_t n)
{
    bool due = false;
    size_t kept = 0;

    if (!t->rule || channel_quiet(t->c, t->k->minute))
        return 0;
    for (size_t i = 0; i < n; i++) {
        int64_t remind_ms = alert_rule_remind_ms(t->rule, v[i].news->a->severity);
        if (!remind_ms)
            continue;
        due = due || t->k->now_ms - v[i].told_ms >= remind_ms;
        struct listener p = v[i]; /* skipped ones move to the end, to be freed */
        v[i] = v[kept];
        v[kept++] = p;
    }
    return due ? kept : 0;
}

static void through(struct notify_group *t)
{
    SORT(t->v, t->n, by_place);
    for (size_t from = 0, to; from < t->n; from = to) {
        for (to = from + 1; to < t->n && !t->c->each && strcmp(t->v[from].to, t->v[to].to) == 0;)
            to++;
        size_t n = t->kind == MESSAGE_REMINDER ? remind_of(t, t->v + from, to - from) : to - from;
        if (n)
            say_parts(t, t->v + from, n);
    }
    for (size_t i = 0; i < t->n; i++)
        free(t->v[i].to);
    t->n = 0;
}

/* ---- groups ---- */

static bool alike(const struct alert_change *x, const struct alert_change *y)
{
    return x->kind == y->kind && strcmp(x->a->rule, y->a->rule) == 0;
}

/* T1. */
static bool group_due(const struct notify_params *k, const struct alert_change *first, const struct alert_change *end)
{
    bool over = first->kind == MESSAGE_RESOLVED;
    int64_t oldest_ms = INT64_MAX, newest_ms = INT64_MIN;

    for (const struct alert_change *x = first; x < end; x++)
        if (alike(first, x) && !x->silenced) {
            oldest_ms = MIN(oldest_ms, x->since_ms);
            newest_ms = MAX(newest_ms, x->since_ms);
        }
    if (newest_ms == INT64_MIN)
        return false;
    if (first->kind == MESSAGE_REMINDER)
        return true; /* each has its own interval */
    if (k->now_ms - oldest_ms >= (over ? TELL_LATEST_MS : TELL_LONGEST_MS))
        return true;
    return k->now_ms - oldest_ms >= TELL_GROUP_MS && k->now_ms - newest_ms >= (over ? TELL_RETURN_MS : TELL_CALM_MS);
}

static bool was_told(const struct channel *c, const struct alert *a)
{
    struct str rest = str_of(a->told_to);
    struct notified was;

    while (notified_next(&rest, &was))
        if (str_eq(was.channel, c->name))
            return true;
    return false;
}

/* T7. */
static bool all_each(const struct notify_params *k, const struct alert_rule *rule, const struct alert_change *x)
{
    size_t takes = 0;

    for (size_t i = 0; i < k->channels->n; i++) {
        const struct channel *c = &k->channels->v[i];
        if (!(x->kind == MESSAGE_RESOLVED ? was_told(c, x->a) : tell_takes(c, rule, x->a)))
            continue;
        if (!c->each)
            return false;
        takes++;
    }
    return takes > 0;
}

void alert_group_notify(const struct notify_params *k, struct alert_change *v, size_t n, notify_fn *say, void *arg)
{
    AUTO_FREE bool *seen = mem_zero(n + 1, sizeof(*seen));
    struct notify_group t = {.k = k, .say = say, .arg = arg};

    for (size_t first = 0; first < n; first++) {
        if (seen[first])
            continue;
        t.kind = v[first].kind;
        t.rule = alert_rules_find(k->rules, v[first].a->rule);
        bool due = group_due(k, &v[first], v + n) || all_each(k, t.rule, &v[first]);
        for (size_t at = 0; at < k->channels->n && due; at++) {
            t.c = &k->channels->v[at];
            for (size_t i = first; i < n; i++)
                if (alike(&v[first], &v[i]) && !v[i].silenced)
                    add(&t, &v[i]);
            through(&t);
        }
        for (size_t i = n; i-- > first;)
            if (alike(&v[first], &v[i])) {
                seen[i] = true;
                v[i].due = v[i].silenced ? k->now_ms - v[i].since_ms >= TELL_GROUP_MS : due;
            }
    }
    free(t.v);
}
