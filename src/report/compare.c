/*
 * compare.c: claims (W&B's runs) and what agents saw held (a device, a person, from when to when) -> what of each claim
 * was there. First every claim gets its node and its person; then, person by person, time is swept from one change to
 * the next and the GPUs held are dealt out to the claims. How busy what was dealt out was is in share.c.
 */
#include "report/compare.h"

#include <errno.h>
#include <strings.h>

#include "base/order.h"
#include "report/share.h"

#define NONE       UINT32_MAX
#define UTIL_FULL  10000           /* a stored unit is 0.01 % */
#define SLACK_MS   (5 * MINUTE_MS) /* a process is seen some seconds late, and W&B hears of its end some later */
#define SLACK_PART 20              /* or so many parts of what is claimed make one that may be missing */
#define IDLE_PART  20              /* idle: busy for less than one such part of the time held */
#define STOP_EVERY 1024

const char *const claim_why_words[WHY_COUNT] =
    {[WHY_AGREES] = "agrees",      [WHY_IDLE] = "idle",           [WHY_FEWER] = "fewer GPUs",
     [WHY_SHORTER] = "shorter",    [WHY_SHARED] = "shared",       [WHY_NO_PROCESS] = "no process",
     [WHY_OTHERS] = "only others", [WHY_NO_HOST] = "no such host"};

struct held {
    uint32_t host, device, person;
    int64_t from_ms, end_ms;
};

struct named { /* a host by its name up to the first dot */
    struct str start;
    const char *name;
    uint32_t host;
};

/* A claim while it is worked on. */
struct item {
    struct claim c;
    uint32_t host, person;
    int64_t from_ms, end_ms;                 /* within the days that count */
    int64_t fewer_ms, shorter_ms, shared_ms; /* GPU-time that was not there, by why */
    bool others;                             /* somebody else held something there meanwhile */
    size_t share;                            /* the last one on its host, plus 1 */
};

/* A host during a sweep. */
struct place {
    int32_t have, spare;
    int64_t need; /* GPUs claimed: what runs say of themselves, so of any size */
    uint64_t mask;
    size_t device_first; /* in `on` */
};

struct making {
    const struct runs_query *ask;
    const struct runs *seen;
    struct named *names;
    size_t n_names;
    const char **persons; /* by name, each once */
    size_t n_persons, cap_persons;
    size_t n_held;
    struct held *by_host, *by_person;
    size_t *host_first; /* in by_host; one more than hosts */
    struct item *items;
    size_t n, cap;
    struct share *shares;
    size_t n_shares, cap_shares, looked;
    struct place *at; /* by host */
    int32_t *on;      /* by device: how often it is held */
    uint32_t *there;  /* hosts of which anything is held */
    size_t n_there;
};

static int stopped(struct making *k, struct err *err)
{
    if (++k->looked % STOP_EVERY == 0 && past_stopped(k->ask->past))
        return err_set(err, -ECANCELED, "it took too long");
    return 0;
}

/* ---- hosts ---- */

static struct str short_name(const char *name)
{
    struct str s = str_of(name), start;
    return str_cut(&s, '.', &start) ? start : s;
}

static int text_order(struct str a, struct str b)
{
    int r = strncasecmp(a.p, b.p, MIN(a.len, b.len));
    return r ? r : (a.len > b.len) - (a.len < b.len);
}

COMPARE(by_start, struct named, text_order(x->start, y->start) ?: ORDER(x->host, y->host))

static void name_hosts(struct making *k)
{
    const struct runs *seen = k->seen;

    k->names = mem_zero(seen->n_hosts + 1, sizeof(*k->names));
    for (size_t i = 0; i < seen->n_hosts; i++)
        if (seen->hosts[i].name[0])
            k->names[k->n_names++] = (struct named){short_name(seen->hosts[i].name), seen->hosts[i].name, (uint32_t)i};
    SORT(k->names, k->n_names, by_start);
}

/* The node a name of W&B's means: the same name first, else the same up to the dot. */
static uint32_t host_find(const struct making *k, const char *name)
{
    struct str start = name ? short_name(name) : str_of("");
    uint32_t found = NONE;

    if (!start.len)
        return NONE;
    size_t at = COUNT_BEFORE(k->n_names, i, text_order(k->names[i].start, start) < 0);
    for (; at < k->n_names && text_order(k->names[at].start, start) == 0; at++) {
        const char *node = k->names[at].name;
        if (strcasecmp(node, name) == 0)
            return k->names[at].host;
        if (found == NONE && (!strchr(node, '.') || !strchr(name, '.')))
            found = k->names[at].host;
    }
    return found;
}

/* ---- who held what ---- */

static size_t person_at(const struct making *k, const char *name)
{
    return COUNT_BEFORE(k->n_persons, i, strcmp(k->persons[i], name) < 0);
}

static bool person_known(const struct making *k, const char *name)
{
    size_t at = person_at(k, name);
    return at < k->n_persons && strcmp(k->persons[at], name) == 0;
}

static void person_add(struct making *k, const char *name)
{
    size_t at = person_at(k, name);

    if (!person_known(k, name))
        VEC_INSERT(k->persons, k->n_persons, k->cap_persons, at, name);
}

static const char *person_of(const struct making *k, const struct run_span *s)
{
    return people_person(k->ask->people, k->seen->hosts[s->host].name, s->login, s->uid);
}

COMPARE(held_by_host, struct held, ORDER(x->host, y->host) ?: ORDER(x->from_ms, y->from_ms))

COMPARE(held_by_person, struct held, ORDER(x->person, y->person) ?: held_by_host(x, y))

static void gather_held(struct making *k)
{
    const struct runs *seen = k->seen;
    size_t n = seen->n_spans;

    k->by_host = mem_zero(n + 1, sizeof(*k->by_host));
    k->by_person = mem_zero(n + 1, sizeof(*k->by_person));
    k->host_first = mem_zero(seen->n_hosts + 2, sizeof(*k->host_first));
    for (size_t i = 0; i < n; i++)
        person_add(k, person_of(k, &seen->spans[i]));
    for (size_t i = 0; i < n; i++) {
        const struct run_span *s = &seen->spans[i];
        k->by_host[i] = (struct held){.host = s->host,
                                      .device = s->device,
                                      .person = (uint32_t)person_at(k, person_of(k, s)),
                                      .from_ms = s->from_ms,
                                      .end_ms = s->until_ms + 1};
    }
    k->n_held = n;
    memcpy(k->by_person, k->by_host, n * sizeof(*k->by_host));
    SORT(k->by_host, n, held_by_host);
    SORT(k->by_person, n, held_by_person);
    for (size_t i = 0; i < n; i++)
        k->host_first[k->by_host[i].host + 1] = i + 1;
    for (size_t i = 1; i <= seen->n_hosts; i++)
        k->host_first[i] = MAX(k->host_first[i], k->host_first[i - 1]);
}

/* ---- claims ---- */

/* A day more of a run: its claims lie in one stretch from the first day that counts to the last. */
static void item_day(struct making *k, struct item *it, const struct run_day *r)
{
    const struct zone *z = k->ask->zone;
    int64_t end_ms = r->from_ms + ((r->until_ms - r->from_ms) / MINUTE_MS + 1) * MINUTE_MS;

    it->c.claimed += (int64_t)r->minutes * r->gpus;
    it->c.gpus = MAX(it->c.gpus, r->gpus);
    it->c.from_ms = MIN(it->c.from_ms, r->from_ms);
    it->c.until_ms = MAX(it->c.until_ms, r->until_ms);
    it->from_ms = MIN(it->from_ms, MAX(r->from_ms, zone_date_ms(z, r->day)));
    it->end_ms = MAX(it->end_ms, MIN(end_ms, zone_date_ms(z, r->day + 1)));
}

static bool same(const char *a, const char *b)
{
    return a == b || strcmp(a ? a : "", b ? b : "") == 0;
}

static bool same_run(const struct claim *c, const struct run_day *r)
{
    return same(c->id, r->run_id) && same(c->project, r->project) && same(c->team, r->team);
}

static int gather_claims(struct making *k, const struct run_day *said, size_t n, struct err *err)
{
    size_t n_companies;
    const struct company *companies = people_companies(k->ask->people, &n_companies), *co = NULL;
    const struct run_day *last = NULL;

    for (size_t i = 0; i < n; i++) {
        const struct run_day *r = &said[i];
        int code = stopped(k, err);
        if (code < 0)
            return code;
        if (!last || !same(last->team, r->team) || !same(last->company, r->company))
            co = report_company(companies, n_companies, r);
        last = r;
        if (!co || r->ignored || r->until_ms < r->from_ms || r->day < k->ask->from || r->day > k->ask->to ||
            (k->ask->company && strcmp(k->ask->company, co->name) != 0) || company_nodes_on(co, r->day) <= 0 ||
            !company_counts(co, r->project))
            continue;
        if (!k->n || !same_run(&k->items[k->n - 1].c, r))
            VEC_ADD(k->items, k->n, k->cap,
                    (struct item){.c = {.company = co,
                                        .team = r->team,
                                        .project = r->project,
                                        .id = r->run_id,
                                        .host = r->host,
                                        .user = r->user,
                                        .from_ms = INT64_MAX,
                                        .until_ms = INT64_MIN},
                                  .host = NONE,
                                  .person = NONE,
                                  .from_ms = INT64_MAX,
                                  .end_ms = INT64_MIN});
        item_day(k, &k->items[k->n - 1], r);
    }
    return 0;
}

/* Whose processes they may be: W&B's user, when we know somebody of that name. */
static uint32_t person_told(struct making *k, const char *user)
{
    const char *name = user ? people_person(k->ask->people, NULL, user, -1) : "";

    if (!name[0] || !(person_known(k, name) || people_find(k->ask->people, name)))
        return NONE;
    return person_known(k, name) ? (uint32_t)person_at(k, name) : NONE - 1; /* told of, and held nothing anywhere */
}

/* Else the one who held the most there meanwhile; of equals the first by name. */
static void person_meet(struct making *k, struct item *it, int64_t *sums)
{
    size_t first = k->host_first[it->host], end = k->host_first[it->host + 1];
    uint32_t best = NONE;

    for (size_t i = first; i < end && k->by_host[i].from_ms < it->end_ms; i++) {
        const struct held *h = &k->by_host[i];
        int64_t both = MIN(h->end_ms, it->end_ms) - MAX(h->from_ms, it->from_ms);
        if (both <= 0)
            continue;
        it->others |= h->person != it->person;
        sums[h->person] += both;
        if (best == NONE || sums[h->person] > sums[best] || (sums[h->person] == sums[best] && h->person < best))
            best = h->person;
    }
    for (size_t i = first; i < end && k->by_host[i].from_ms < it->end_ms; i++)
        sums[k->by_host[i].person] = 0;
    if (it->person == NONE)
        it->person = best;
}

static int meet(struct making *k, struct err *err)
{
    AUTO_FREE int64_t *sums = mem_zero(k->n_persons + 1, sizeof(*sums));
    const char *user = NULL;
    uint32_t told = NONE;
    int r = 0;

    for (size_t i = 0; i < k->n && r == 0; i++) {
        struct item *it = &k->items[i];
        if (!user || !same(user, it->c.user))
            told = person_told(k, it->c.user);
        user = it->c.user;
        it->host = host_find(k, it->c.host);
        it->person = told;
        if (it->host == NONE)
            continue;
        person_meet(k, it, sums);
        r = stopped(k, err);
    }
    return r;
}

/* ---- dealing out ---- */

/* Within a company. */
static int claim_order(const struct claim *x, const struct claim *y)
{
    int team = strcmp(x->team ? x->team : "", y->team ? y->team : "");
    int project = strcmp(x->project ? x->project : "", y->project ? y->project : "");

    return team ?: project ?: strcmp(x->id, y->id);
}

COMPARE(item_order, struct item,
        ORDER(x->person, y->person) ?: ORDER(x->from_ms, y->from_ms) ?: claim_order(&x->c, &y->c))

/* A moment at which something begins or ends. */
struct turn {
    int64_t at_ms;
    bool end, claim;
    size_t of; /* item, or by_person */
};

COMPARE(by_time, struct turn,
        ORDER(x->at_ms, y->at_ms) ?: ORDER(x->claim, y->claim) ?: ORDER(x->of, y->of) ?: x->end - y->end)

/* The one before goes on. */
static bool share_grow(struct share *last, uint32_t host, uint64_t mask, int64_t from_ms, int64_t end_ms,
                       int64_t gpu_ms)
{
    if (last->host != host || last->end_ms != from_ms || last->mask != mask)
        return false;
    last->end_ms = end_ms;
    last->gpu_ms += gpu_ms;
    return true;
}

static int share_add(struct making *k, size_t item, uint32_t host, int64_t from_ms, int64_t end_ms, int64_t gpu_ms,
                     struct err *err)
{
    struct item *it = &k->items[item];
    struct share s =
        {.host = host, .item = item, .from_ms = from_ms, .end_ms = end_ms, .gpu_ms = gpu_ms, .mask = k->at[host].mask};

    it->c.held_ms += gpu_ms;
    if (!k->ask->util || (it->share && share_grow(&k->shares[it->share - 1], host, s.mask, from_ms, end_ms, gpu_ms)))
        return 0;
    if (k->n_shares == COMPARE_SHARES_MAX)
        return err_set(err, -E2BIG, "too much to compare in that period: request a shorter one");
    VEC_ADD(k->shares, k->n_shares, k->cap_shares, s);
    if (host == it->host)
        it->share = k->n_shares;
    return 0;
}

/* GPUs of the same person elsewhere that no claim there needs. */
static int borrow(struct making *k, size_t item, int64_t from_ms, int64_t end_ms, int64_t *missing_ms, struct err *err)
{
    int64_t dt = end_ms - from_ms;
    int r = 0;

    for (size_t i = 0; i < k->n_there && *missing_ms >= dt && r == 0; i++) {
        uint32_t h = k->there[i];
        int64_t n = MIN(*missing_ms / dt, k->at[h].spare);
        if (h == k->items[item].host || n <= 0)
            continue;
        k->at[h].spare -= (int32_t)n;
        *missing_ms -= n * dt;
        r = share_add(k, item, h, from_ms, end_ms, n * dt, err);
    }
    return r;
}

/* What each of these claims gets of what is held between two turns. */
static int deal(struct making *k, const size_t *active, size_t n, int64_t from_ms, int64_t end_ms, struct err *err)
{
    int64_t dt = end_ms - from_ms;
    int r = 0;

    for (size_t i = 0; i < n; i++)
        k->at[k->items[active[i]].host].need += k->items[active[i]].c.gpus;
    for (size_t i = 0; i < k->n_there; i++) {
        struct place *p = &k->at[k->there[i]];
        p->spare = (int32_t)MAX(p->have - p->need, 0);
    }
    for (size_t i = 0; i < n && r == 0; i++) {
        struct item *it = &k->items[active[i]];
        int64_t have = k->at[it->host].have, need = k->at[it->host].need, gpus = it->c.gpus;
        int64_t got = need <= have ? gpus * dt : (int64_t)((__int128)have * gpus * dt / need);
        int64_t missing = gpus * dt - got;
        if (got > 0)
            r = share_add(k, active[i], it->host, from_ms, end_ms, got, err);
        if (missing > 0 && have < gpus && r == 0)
            r = borrow(k, active[i], from_ms, end_ms, &missing, err);
        if (have >= gpus)
            it->shared_ms += missing;
        else if (got > 0)
            it->fewer_ms += missing;
        else
            it->shorter_ms += missing;
    }
    for (size_t i = 0; i < n; i++)
        k->at[k->items[active[i]].host].need = 0;
    return r;
}

static void there_set(struct making *k, uint32_t host, bool on)
{
    size_t at = FIRST(k->n_there, i, k->there[i] >= host);

    memmove(k->there + at + on, k->there + at + !on, (k->n_there - at - !on) * sizeof(*k->there));
    if (on)
        k->there[at] = host;
    k->n_there += on ? 1 : (size_t)-1;
}

static void device_turn(struct making *k, const struct held *h, bool end)
{
    struct place *p = &k->at[h->host];
    int32_t *on = &k->on[p->device_first + h->device];
    uint64_t bit = h->device < SHARE_DEVICES ? 1ull << h->device : 0;

    *on += end ? -1 : 1;
    if (!end && *on == 1) {
        p->mask |= bit;
        if (p->have++ == 0)
            there_set(k, h->host, true);
    } else if (end && *on == 0) {
        p->mask &= ~bit;
        if (--p->have == 0)
            there_set(k, h->host, false);
    }
}

/* One person: items [i, i_end), held [h, h_end). */
static int sweep(struct making *k, size_t i, size_t i_end, size_t h, size_t h_end, struct err *err)
{
    size_t n = 0, n_active = 0;
    AUTO_FREE struct turn *turns = mem_zero((i_end - i + h_end - h) * 2 + 1, sizeof(*turns));
    AUTO_FREE size_t *active = mem_zero(i_end - i + 1, sizeof(*active));
    int r = 0;

    for (size_t c = i; c < i_end; c++) {
        if (k->items[c].host == NONE || k->items[c].c.gpus <= 0)
            continue;
        turns[n++] = (struct turn){k->items[c].from_ms, false, true, c};
        turns[n++] = (struct turn){k->items[c].end_ms, true, true, c};
    }
    if (!n)
        return 0;
    for (; h < h_end; h++) {
        turns[n++] = (struct turn){k->by_person[h].from_ms, false, false, h};
        turns[n++] = (struct turn){k->by_person[h].end_ms, true, false, h};
    }
    qsort(turns, n, sizeof(*turns), by_time);
    for (size_t t = 0; t < n && r == 0; t++) {
        if (n_active && turns[t].at_ms > turns[t - 1].at_ms)
            r = deal(k, active, n_active, turns[t - 1].at_ms, turns[t].at_ms, err);
        if (!turns[t].claim)
            device_turn(k, &k->by_person[turns[t].of], turns[t].end);
        else if (!turns[t].end)
            active[n_active++] = turns[t].of;
        for (size_t a = 0; turns[t].claim && turns[t].end && a < n_active; a++)
            if (active[a] == turns[t].of) {
                memmove(active + a, active + a + 1, (n_active - a - 1) * sizeof(*active));
                n_active--;
            }
        r = r ?: stopped(k, err);
    }
    return r;
}

static int sweep_all(struct making *k, struct err *err)
{
    size_t n_hosts = k->seen->n_hosts, n_devices = 0, h = 0;
    int r = 0;

    k->at = mem_zero(n_hosts + 1, sizeof(*k->at));
    k->there = mem_zero(n_hosts + 1, sizeof(*k->there));
    for (size_t i = 0; i < n_hosts; i++) {
        k->at[i].device_first = n_devices;
        n_devices += k->seen->hosts[i].n_devices;
    }
    k->on = mem_zero(n_devices + 1, sizeof(*k->on));
    SORT(k->items, k->n, item_order);
    for (size_t i = 0, end; i < k->n && r == 0; i = end) {
        uint32_t person = k->items[i].person;
        end = i + FIRST(k->n - i, e, k->items[i + e].person != person);
        while (h < k->n_held && k->by_person[h].person < person)
            h++;
        size_t h_end = h + FIRST(k->n_held - h, e, k->by_person[h + e].person != person);
        if (person < k->n_persons)
            r = sweep(k, i, end, h, h_end, err);
    }
    return r;
}

/* ---- utilisation ---- */

/* Where some of its devices tell it, or for some of the time, so much of the share is known. */
static void add_work(struct claim_work *to, const struct share *s, const struct share_mean *m)
{
    __int128 all_ms = (__int128)__builtin_popcountll(s->mask) * (s->end_ms - s->from_ms);

    if (!m->ms)
        return;
    to->of_ms += (int64_t)(s->gpu_ms * (__int128)m->ms / all_ms);
    to->ms += (int64_t)((__int128)s->gpu_ms * m->sum / (all_ms * UTIL_FULL));
}

static int measure(struct making *k, struct err *err)
{
    int r = shares_measure(k->ask, k->seen, k->shares, k->n_shares, err);

    for (size_t i = 0; i < k->n_shares && r == 0; i++) {
        const struct share *s = &k->shares[i];
        struct claim *c = &k->items[s->item].c;
        for (size_t w = 0; w < WORK_KINDS; w++)
            add_work(&c->work[w], s, &s->work[w]);
        if (!s->util.ms)
            continue;
        c->measured_ms += s->gpu_ms;
        c->busy_ms += (int64_t)((__int128)s->gpu_ms * s->util.sum / ((__int128)s->util.ms * UTIL_FULL));
    }
    return r;
}

/* ---- the whole ---- */

static enum claim_reason why(const struct item *it)
{
    const struct claim *c = &it->c;
    int64_t claimed_ms = c->claimed * MINUTE_MS, missing = claimed_ms - c->held_ms;

    if (it->host == NONE)
        return WHY_NO_HOST;
    if (c->held_ms == 0 && claimed_ms)
        return it->others ? WHY_OTHERS : WHY_NO_PROCESS;
    if (missing > MAX(claimed_ms / SLACK_PART, c->gpus * SLACK_MS))
        return it->shared_ms >= MAX(it->fewer_ms, it->shorter_ms) ? WHY_SHARED
               : it->fewer_ms >= it->shorter_ms                   ? WHY_FEWER
                                                                  : WHY_SHORTER;
    return c->measured_ms && c->busy_ms < c->measured_ms / IDLE_PART ? WHY_IDLE : WHY_AGREES;
}

COMPARE(by_name, struct claim, strcmp(x->company->name, y->company->name) ?: claim_order(x, y))

static void tell(struct making *k, struct comparison *ret)
{
    *ret = (struct comparison){.n = k->n, .v = mem_zero(k->n + 1, sizeof(*ret->v))};
    for (size_t i = 0; i < k->n; i++) {
        struct item *it = &k->items[i];
        it->c.held_ms = MIN(it->c.held_ms, it->c.claimed * MINUTE_MS);
        for (struct claim_work *w = it->c.work; w < it->c.work + WORK_KINDS; w++) {
            w->of_ms = MIN(w->of_ms, it->c.held_ms);
            w->ms = MIN(w->ms, w->of_ms);
        }
        it->c.person = it->person < k->n_persons && it->c.held_ms ? k->persons[it->person] : NULL;
        it->c.why = why(it);
        ret->v[i] = it->c;
    }
    SORT(ret->v, k->n, by_name);
}

int compare_runs(const struct runs_query *ask, const struct runs *seen, const struct run_day *said, size_t n,
                 struct comparison *ret, struct err *err)
{
    struct making k = {.ask = ask, .seen = seen};
    int r = gather_claims(&k, said, n, err);

    if (r == 0) {
        name_hosts(&k);
        gather_held(&k);
        r = meet(&k, err);
    }
    r = r ?: sweep_all(&k, err);
    if (r == 0 && ask->util)
        r = measure(&k, err);
    if (r == 0)
        tell(&k, ret);
    FREE_ALL(k.names, k.persons, k.by_host, k.by_person, k.host_first, k.items, k.shares, k.at, k.on, k.there);
    return r;
}

void comparison_fini(struct comparison *c)
{
    if (!c)
        return;
    free(c->v);
    *c = (struct comparison){0};
}
