/* on_devices.c: gathers processes by the person who owns them. */
#include "history/on_devices.h"

#include "base/order.h"

static struct person_now *person(struct on_devices *p, const char *name)
{
    size_t at = FIRST(p->n, i, strcmp(p->v[i].name, name) == 0);

    if (at == p->n)
        VEC_ADD(p->v, p->n, p->cap, (struct person_now){.name = name});
    return &p->v[at];
}

static void see_login(struct person_now *p, const char *login)
{
    if (p->n_logins < PERSON_LOGINS && login[0] && !ANY(p->n_logins, i, strcmp(p->logins[i], login) == 0))
        p->logins[p->n_logins++] = login;
}

static void see(struct on_devices *people, const struct node_now *n, const struct device_now *d,
                const struct proc_now *use)
{
    if (!proc_person(use)[0] && use->fact->user[0])
        return; /* unowned */
    struct person_now *p = person(people, proc_person(use));
    see_login(p, use->fact->user);
    struct device_user *h = p->n ? &p->v[p->n - 1] : NULL;
    if (!h || h->device != d) {
        VEC_ADD(p->v, p->n, p->cap,
                (struct device_user){.node = n, .device = d, .mem = -1, .program = use->fact->name});
        h = &p->v[p->n - 1];
        p->idle += d->state == DEV_HELD;
    }
    int64_t since_ms = proc_since_ms(use);
    if (use->mem >= 0) {
        h->mem = MAX(h->mem, 0) + use->mem;
        p->mem += use->mem;
    }
    if (since_ms && (!h->since_ms || since_ms < h->since_ms)) {
        h->since_ms = since_ms;
        h->program = use->fact->name;
    }
    if (since_ms && (!p->since_ms || since_ms < p->since_ms))
        p->since_ms = since_ms;
    h->n_procs++;
}

/* Splits a device among the persons on it. */
static void share(struct on_devices *people, const struct device_now *d)
{
    int64_t all = 0;
    size_t n = 0;
    for (size_t i = 0; i < d->n_procs; i++)
        if (proc_person(&d->procs[i])[0]) {
            all += MAX(d->procs[i].mem, 0);
            n++;
        }
    for (size_t i = 0; i < d->n_procs; i++) {
        const struct proc_now *p = &d->procs[i];
        if (proc_person(p)[0])
            person(people, proc_person(p))->used += all > 0 ? (double)MAX(p->mem, 0) / (double)all : 1.0 / (double)n;
    }
}

COMPARE(by_devices, struct person_now, ORDER(y->n, x->n) ?: strcmp(x->name, y->name))

void on_devices_of(const struct view *v, struct on_devices *ret)
{
    *ret = (struct on_devices){0};
    for (size_t i = 0; i < v->n; i++)
        for (size_t k = 0; k < v->nodes[i]->n_devices; k++) {
            const struct device_now *d = &v->nodes[i]->devices[k];
            for (size_t u = 0; u < d->n_procs; u++)
                see(ret, v->nodes[i], d, &d->procs[u]);
            if (d->state <= DEV_IN_SIGHT) /* else whether it is used is unknown */
                share(ret, d);
        }
    SORT(ret->v, ret->n, by_devices);
}

void on_devices_fini(struct on_devices *p)
{
    for (size_t i = 0; i < p->n; i++)
        free(p->v[i].v);
    free(p->v);
    *p = (struct on_devices){0};
}

/* ---- the past ---- */

struct taking {
    const struct span_query *ask;
    struct spans *to;
};

/* The span of the same person on the same device that this one continues; NULL: it starts a new one. */
static struct span *touching(const struct taking *k, const struct proc_span *p)
{
    for (size_t i = k->to->n; i-- > 0;) {
        struct span *s = &k->to->v[i];
        if (strcmp(s->device, p->device) != 0 || strcmp(s->node, p->node) != 0)
            return NULL; /* records come by node, device, start */
        if (strcmp(s->user, p->fact.user) == 0)
            return p->first_ms <= s->last_ms + k->ask->gap_ms ? s : NULL;
    }
    return NULL;
}

static void take(void *arg, const struct proc_span *p)
{
    struct taking *k = arg;
    const struct span_query *a = k->ask;
    if (p->first_ms >= a->to_ms || p->last_ms < a->from_ms || (a->device && strcmp(a->device, p->device) != 0) ||
        (a->user && strcmp(a->user, p->fact.user) != 0) || (a->keep && !a->keep(a->arg, p)))
        return;
    struct span *s = a->by_user ? touching(k, p) : NULL;
    if (s) {
        s->ended = p->last_ms > s->last_ms ? p->ended : p->last_ms < s->last_ms ? s->ended : s->ended && p->ended;
        s->last_ms = MAX(s->last_ms, p->last_ms);
        s->mem = MAX(s->mem, p->mem_max);
        s->start_ms = s->start_ms ? MIN(s->start_ms, p->fact.start_ms) : p->fact.start_ms;
        s->procs++;
        return;
    }
    if (k->to->n >= a->limit) {
        k->to->more = true;
        return;
    }
    VEC_ROOM(k->to->v, k->to->n, k->to->cap);
    s = &k->to->v[k->to->n++];
    *s = (struct span){.pid = a->by_user ? 0 : p->fact.pid,
                       .ended = p->ended,
                       .first_ms = p->first_ms,
                       .start_ms = p->fact.start_ms,
                       .uid = p->fact.uid,
                       .last_ms = p->last_ms,
                       .mem = p->mem_max,
                       .procs = 1};
    mem_copy_str(s->node, sizeof(s->node), p->node);
    mem_copy_str(s->device, sizeof(s->device), p->device);
    mem_copy_str(s->user, sizeof(s->user), p->fact.user);
    mem_copy_str(s->program, sizeof(s->program), p->fact.name);
}

int spans_of(const struct span_query *ask, const struct past_source *past, struct spans *ret, struct err *err)
{
    *ret = (struct spans){0};
    struct taking k = {ask, ret};
    return past_each(past, EACH_PROC(take, &k, .node = ask->node, .from_ms = ask->from_ms), err);
}

void spans_fini(struct spans *s)
{
    free(s->v);
    *s = (struct spans){0};
}
