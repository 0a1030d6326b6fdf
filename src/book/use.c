/* use.c: looks who is on a booking's devices: its own person, or others. */
#include "book/use.h"

#include "base/order.h"
#include "book/pick.h"

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

enum booking_use booking_use(struct live *l, const struct people *c, const struct booking *h,
                             const char *others[USE_NAMES], size_t *ret_n)
{
    struct seen s = {.names = others};
    const char *owner = people_person(c, NULL, h->person, -1);

    if (!owner[0])
        owner = h->person;
    for (struct pick_device p = {.rest = str_of(h->devices)}; pick_next(l, &p);)
        if (p.d)
            see_device(&s, live_rule(l), c, p.n, p.d, owner);
        else
            s.unknown = true;
    *ret_n = s.n;
    if (s.own && s.others)
        return USE_SHARED;
    return s.others ? USE_OTHERS : s.own ? USE_OWN : s.unknown ? USE_UNKNOWN : USE_UNUSED;
}
