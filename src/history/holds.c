/* holds.c: turns records of processes into bits over the bins of a query: was this user on that device then? */
#include "history/holds.h"

#include <errno.h>

#include "base/order.h"
#include "people/people.h"
#include "store/records.h"

#define SEEN_LATELY_MS 600000 /* when a process was last seen is written down this often */

#define TEAMS_MAX 32 /* of one person at a time */

struct reading {
    struct holds *h;
    const struct history_query *q;
    const struct plan_node *p;
    const struct series_frame *f;
    size_t n_bins;
    int64_t now_ms;
    int code;
};

static void holds_reset(struct holds *h)
{
    for (size_t i = 0; i < h->n; i++)
        free(h->v[i].bins);
    h->n = 0;
}

void holds_fini(struct holds *h)
{
    holds_reset(h);
    for (size_t i = 0; i < h->n_users; i++)
        free(h->users[i]);
    free(h->users);
    free(h->v);
    *h = (struct holds){0};
}

static const char *user_of(struct holds *h, const char *name)
{
    for (size_t i = 0; i < h->n_users; i++)
        if (strcmp(h->users[i], name) == 0)
            return h->users[i];
    if (h->n_users == HOLDS_USERS_MAX)
        return NULL;
    VEC_ROOM(h->users, h->n_users, h->cap_users);
    return h->users[h->n_users++] = mem_str(name);
}

/* Records come by device: the pair is among the last. */
static struct user_hold *booking_of(struct reading *k, size_t device, const char *name)
{
    struct holds *h = k->h;

    for (size_t i = h->n; i-- > 0 && h->v[i].device == device;)
        if (strcmp(h->v[i].user, name) == 0)
            return &h->v[i];
    const char *user = h->n < HOLDS_MAX ? user_of(h, name) : NULL;
    if (!user) {
        k->code = -E2BIG;
        return NULL;
    }
    VEC_ADD(h->v, h->n, h->cap, (struct user_hold){user, device, mem_zero((k->n_bins + 63) / 64, sizeof(uint64_t))});
    return &h->v[h->n - 1];
}

static void set_bins(uint64_t *bins, size_t from, size_t to)
{
    for (; from <= to && from % 64; from++)
        bins[from / 64] |= 1ull << from % 64;
    for (; from + 63 <= to; from += 64)
        bins[from / 64] = UINT64_MAX;
    for (; from <= to; from++)
        bins[from / 64] |= 1ull << from % 64;
}

/* The names under which a record counts. Teams are those at its start, or at the start of the query. */
static size_t names_of(const struct reading *k, const struct proc_span *p, const char *names[TEAMS_MAX])
{
    const struct people *c = k->q->people;

    names[0] = p->fact.user;
    if (k->q->group == GROUP_USER)
        return 1;
    if (people_ignored(c, k->p->card->name, p->fact.user, p->fact.uid))
        return 0;
    names[0] = people_person(c, k->p->card->name, p->fact.user, p->fact.uid);
    if (k->q->group == GROUP_PERSON)
        return 1;
    size_t n = people_groups(c, GROUP_TEAM, names[0], MAX(p->first_ms, k->f->from_ms), names, TEAMS_MAX);
    if (n == 0)
        names[0] = "";
    return MAX(1u, MIN(n, TEAMS_MAX));
}

static void take_record(void *arg, const struct proc_span *p)
{
    struct reading *k = arg;
    const struct series_frame *f = k->f;
    bool still = !p->ended && p->last_ms >= k->now_ms - SEEN_LATELY_MS;
    int64_t last_ms = still ? MAX(k->now_ms, p->last_ms) : p->last_ms;
    const char *names[TEAMS_MAX];

    if (k->code < 0 || p->first_ms >= f->to_ms || last_ms < f->from_ms ||
        proc_only_draws(p->kind, p->mem_max, k->q->graphics_mem))
        return;
    size_t d = FIRST(k->p->card->n_devices, i, strcmp(k->p->card->devices[i].uuid, p->device) == 0);
    size_t n = d < k->p->card->n_devices ? names_of(k, p, names) : 0;
    for (size_t i = 0; i < n; i++) {
        struct user_hold *h = booking_of(k, d, names[i]);
        if (h)
            set_bins(h->bins, (size_t)((MAX(p->first_ms, f->from_ms) - f->from_ms) / f->step_ms),
                     (size_t)((MIN(last_ms, f->to_ms - 1) - f->from_ms) / f->step_ms));
    }
}

int holds_read(struct holds *h, const struct past_source *past, const struct history_query *q, size_t node,
               const struct series_frame *f, struct err *err)
{
    const struct plan_node *p = &q->nodes[node];
    struct reading k = {h, q, p, f, (size_t)((f->to_ms - f->from_ms) / f->step_ms), q->now_ms, 0};

    holds_reset(h);
    int r =
        past_each(past, EACH_PROC(take_record, &k, .node = p->card->key, .from_ms = f->from_ms - SEEN_LATELY_MS), err);
    if (r >= 0 && k.code < 0)
        r = err_set(err, k.code, "too many users: request fewer devices or a shorter period");
    return MIN(r, 0);
}
