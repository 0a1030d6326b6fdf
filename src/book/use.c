/* use.c: checks whether a booking's devices are used by its person or by others. */
#include "book/use.h"

#include "base/buf.h"
#include "base/order.h"

const char *const use_words[USES] = {NULL, "unused", "own", "others", "shared"};

struct seen {
    bool own, others, unknown;
    const char **names;
    size_t n;
};

static void see_person(struct seen *s, const char *person, const char *owner)
{
    if (!person[0]) {
        s->unknown = true;
        return;
    }
    if (strcmp(person, owner) == 0) {
        s->own = true;
        return;
    }
    s->others = true;
    if (s->n < USE_NAMES && !ANY(s->n, i, strcmp(s->names[i], person) == 0))
        s->names[s->n++] = person;
}

static void see_device(struct seen *s, const struct state_rule *rule, const struct people *c, const struct node_now *n,
                       const struct device_now *d, const char *owner)
{
    size_t holders = 0;

    if (d->state != DEV_FREE && d->state != DEV_HELD && d->state != DEV_BUSY)
        s->unknown = true;
    for (size_t i = 0; i < d->n_procs; i++) {
        const struct proc_fact *f = d->procs[i].fact;
        if (!state_rule_holds(rule, &d->procs[i]) || people_ignored(c, n->key, f->user, f->uid))
            continue;
        holders++;
        see_person(s, people_person(c, n->key, f->user, f->uid), owner);
    }
    if (!holders && (d->state == DEV_BUSY || live_held_memory(rule, d)))
        s->unknown = true;
}

static const char *owner_of(const struct people *c, const struct booking *h)
{
    const char *owner = people_person(c, NULL, h->person, -1);
    return owner[0] ? owner : h->person;
}

static void see_place(struct seen *s, struct live *l, const struct people *c, const struct pick_device *p,
                      const char *owner)
{
    if (p->d)
        see_device(s, live_rule(l), c, p->n, p->d, owner);
    else
        s->unknown = true;
}

static enum booking_use use_of(const struct seen *s)
{
    if (s->own && s->others)
        return USE_SHARED;
    return s->others ? USE_OTHERS : s->own ? USE_OWN : s->unknown ? USE_UNKNOWN : USE_UNUSED;
}

enum booking_use booking_use_at(struct live *l, const struct people *c, const struct booking *h,
                                const struct pick_device *at, const char *others[USE_NAMES], size_t *ret_n)
{
    struct seen s = {.names = others};

    see_place(&s, l, c, at, owner_of(c, h));
    *ret_n = s.n;
    return use_of(&s);
}

enum booking_use booking_use(struct live *l, const struct people *c, const struct booking *h,
                             const char *others[USE_NAMES], size_t *ret_n)
{
    struct seen s = {.names = others};
    const char *owner = owner_of(c, h);

    for (struct pick_device p = {.rest = str_of(h->devices)}; pick_next(l, &p);)
        see_place(&s, l, c, &p, owner);
    *ret_n = s.n;
    return use_of(&s);
}

void booking_conflicts_text(struct live *l, const struct people *c, const struct booking *h, struct buf *ret)
{
    AUTO_BUF uuids = BUF_INIT(BOOKING_DEVICES * (size_t)UUID_MAX);
    const char *others[USE_NAMES];
    size_t n;

    for (struct pick_device p = {.rest = str_of(h->devices)}; pick_next(l, &p);) {
        enum booking_use use = booking_use_at(l, c, h, &p, others, &n);
        if (use == USE_OTHERS || use == USE_SHARED)
            buf_addf(&uuids, "%s%.*s", uuids.len ? "," : "", STR_ARG(p.uuid));
    }
    pick_places(l, buf_str(&uuids), ret);
}
