/* now.c: small queries of the newest state, with the same result for every screen. */
#include "model/now.h"

#include <math.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/order.h"

/* Inserts a node into the list of nodes with most counted GPUs; among equals the first stays first. */
static void name_most(struct tally *t, const struct node_now *n, size_t count)
{
    size_t at = ARRAY_LEN(t->most);
    while (at > 0 && count > t->most[at - 1].n)
        at--;
    if (at == ARRAY_LEN(t->most))
        return;
    memmove(&t->most[at + 1], &t->most[at], (ARRAY_LEN(t->most) - at - 1) * sizeof(t->most[0]));
    t->most[at].n = count;
    mem_copy_str(t->most[at].name, sizeof(t->most[at].name), node_shown(n));
}

void tally_add(struct tally *t, const struct view *v, const struct node_now *n)
{
    size_t devices = t->devices, free = t->by_state[DEV_FREE];
    t->nodes++;
    for (size_t k = 0; k < n->n_devices && !n->unlisted; k++) {
        const struct device_now *d = &n->devices[k];
        if (d->state <= DEV_IN_SIGHT && sample_has(&d->now, M_power)) /* MIG instances: only the GPU reports power */
            t->power += d->now.v[M_power];
        if (device_is_parent(n, d))
            continue;
        t->devices++;
        t->by_state[d->state]++;
        if (d->state == DEV_BUSY && sample_has(&d->now, M_util)) {
            t->told++;
            t->util += d->util_mean ? d->util_mean : d->now.v[M_util];
        }
        int64_t idle_ms = device_idle_ms(d);
        if (d->state != DEV_HELD || !idle_ms || v->at_ms - idle_ms < TALLY_IDLE_MS)
            continue;
        t->idle++;
        t->idle_cost += (int64_t)((__int128)d->price * (v->at_ms - idle_ms) / HOUR_MS);
    }
    name_most(t, n, v->filter ? t->devices - devices : t->by_state[DEV_FREE] - free);
}

void view_tally(const struct view *v, struct tally *ret)
{
    *ret = (struct tally){0};
    for (size_t i = 0; i < v->n; i++)
        tally_add(ret, v, v->nodes[i]);
}

/* "750 W", "14.5 kW" */
static void add_power(struct buf *out, int64_t mw)
{
    static const char *const units[] = {"W", "kW", "MW"};
    double v = (double)mw / 1000;
    size_t i = 0;

    for (; v >= 1000 && i + 1 < ARRAY_LEN(units); i++)
        v /= 1000;
    buf_addf(out, "%.*f %s", i && v < 100 ? 1 : 0, v, units[i]);
}

int view_counts(const struct view *v, const struct tally *t, const char *first, const char *between, struct buf *out)
{
    const char *before = first;

#define PART(n, word)                                                                                                  \
    if (n) {                                                                                                           \
        buf_addf(out, "%s%zu %s", before, n, word);                                                                    \
        before = between;                                                                                              \
    }
    PART(t->by_state[DEV_BUSY], "busy")
    if (t->told)
        buf_addf(out, ", utilisation %.0f %%", round((double)t->util / (double)t->told / 100));
    PART(t->by_state[DEV_HELD], "held")
    if (t->idle)
        buf_addf(out, ", %zu idle for over 2 h", t->idle);
    if (t->idle_cost)
        buf_addf(out, ", cost so far %.2f %s", (double)t->idle_cost / 1e6, v->currency);
    for (int i = DEV_UNKNOWN; i < DEV_STATES; i++)
        PART(t->by_state[i], state_shown(dev_states[i].word))
#undef PART
    if (t->power) {
        buf_adds(out, before);
        add_power(out, t->power);
    }
    return out->err;
}

int view_answer(const struct view *v, const struct tally *t, struct buf *out)
{
    bool plain = !v->filter || strcmp(v->filter, "free") == 0;
    size_t of = v->filter ? v->of : t->devices, count = v->filter ? t->devices : t->by_state[DEV_FREE];
    if (!of)
        return buf_adds(out, t->nodes || v->filter ? "no GPUs seen yet" : "no nodes yet");
    if (count)
        buf_addf(out, "%zu of %zu ", count, of);
    else
        buf_addf(out, "none of %zu ", of);
    if (plain)
        buf_adds(out, "free");
    else
        buf_addf(out, "%s '%s'", count == 1 ? "matches" : "match", v->filter);
    if (v->words)
        buf_addf(out, " (%s)", v->words);
    for (size_t i = 0; i < ARRAY_LEN(t->most) && t->most[i].n; i++) {
        buf_addf(out, "%s%zu on %s", i ? ", " : ": ", t->most[i].n, t->most[i].name);
        count -= t->most[i].n;
    }
    if (count)
        buf_addf(out, ", %zu elsewhere", count);
    return out->err;
}

bool view_shows_cmd(const struct view *v, const struct proc_now *p)
{
    return v->show_cmd ||
           (v->reader[0] && (strcmp(v->reader, p->fact->user) == 0 || strcmp(v->reader, proc_person(p)) == 0));
}

int64_t device_age_ms(const struct device_now *d, int64_t now_ms)
{
    return d->at_ms ? MAX(0, now_ms - d->at_ms) : -1;
}

int64_t device_held_ms(const struct device_now *d)
{
    int64_t first_ms = 0;
    for (size_t i = 0; i < d->n_procs; i++) {
        int64_t since_ms = proc_since_ms(&d->procs[i]);
        if (since_ms && (!first_ms || since_ms < first_ms))
            first_ms = since_ms;
    }
    return first_ms;
}

int64_t device_idle_ms(const struct device_now *d)
{
    return d->idle_since_ms && d->state == DEV_HELD ? MAX(d->idle_since_ms, device_held_ms(d)) : d->idle_since_ms;
}

int64_t device_since_ms(const struct device_now *d)
{
    int64_t held_ms = d->state == DEV_HELD || d->state == DEV_BUSY ? device_held_ms(d) : 0;
    return held_ms ? held_ms : d->since_ms;
}

const char *const identity_words[IDENTITY_GROUPS] = {"teams", "projects", "companies"};

size_t device_user_names(const struct device_now *d, const char *ret[DEVICE_USERS])
{
    int64_t mem[DEVICE_USERS];
    size_t n = 0;
    for (size_t i = 0; i < d->n_procs; i++) {
        const struct proc_now *p = &d->procs[i];
        const char *who = proc_person(p)[0] ? proc_person(p) : p->fact->user; /* unowned: use the login */
        if (!who[0])
            continue;
        size_t k = FIRST(n, e, strcmp(ret[e], who) == 0);
        if (k == DEVICE_USERS)
            continue;
        if (k == n) {
            ret[n] = who;
            mem[n++] = 0;
        }
        mem[k] += MAX(p->mem, 0);
    }
    for (size_t i = 1; i < n; i++) {
        const char *name = ret[i];
        int64_t most = mem[i];
        size_t k = i;
        for (; k > 0 && most > mem[k - 1]; k--) {
            mem[k] = mem[k - 1];
            ret[k] = ret[k - 1];
        }
        mem[k] = most;
        ret[k] = name;
    }
    return n;
}

int device_users(const struct device_now *d, struct buf *out)
{
    const char *name[DEVICE_USERS];
    size_t n = device_user_names(d, name);
    for (size_t i = 0; i < n; i++)
        buf_addf(out, "%s%s", i ? ", " : "", name[i]);
    return out->err;
}

bool node_is_silent(const struct node_now *n)
{
    return n->state == NODE_DOWN || n->state == NODE_HUNG ||
           (n->collect == COLLECT_FAILED && node_origin_ok(str_of(n->key)));
}

bool device_has_dead_process(const struct device_now *d)
{
    return ANY(d->n_procs, i, strcmp(d->procs[i].fact->user, PROC_GONE) == 0);
}

bool device_is_parent(const struct node_now *n, const struct device_now *d)
{
    return d->split ||
           ANY(n->n_devices, i, n->devices[i].fact.parent[0] && strcmp(n->devices[i].fact.parent, d->fact.uuid) == 0);
}

size_t node_gpus(const struct node_now *n)
{
    size_t count = 0;
    for (size_t i = 0; i < n->n_devices; i++)
        count += !device_is_parent(n, &n->devices[i]);
    return count;
}

size_t node_counts(const struct node_now *n)
{
    return n->unlisted ? 0 : node_gpus(n);
}

void device_now_fini(struct device_now *d)
{
    if (!d)
        return;
    FREE_ALL(d->procs, d->custom, d->advice, d->booking, d->next);
    *d = (struct device_now){0};
}

void node_now_fini(struct node_now *n)
{
    if (!n)
        return;
    for (size_t i = 0; i < n->n_devices; i++)
        device_now_fini(&n->devices[i]);
    FREE_ALL(n->devices, n->custom, n->labels);
    node_fact_fini(&n->fact);
    *n = (struct node_now){0};
}
